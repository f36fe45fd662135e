//! Group operations: barriers, and the operations of sub-groups.
//!
//! Each builtin becomes a call of a function of the process that loads the code, with the group as
//! the first argument; one function runs all sub-group operations:
//! ```llvm
//! define i32 @schism.meet.__schism_shuffle(ptr %group, i32 %value, i32 %argument) alwaysinline convergent nounwind {
//!   %result = call i32 @__schism_cpu_sub_group(ptr %group, i32 0, i32 %value, i32 %argument)
//!   ret i32 %result
//! }
//! ```
//! In the loop function the group is a parameter; elsewhere it is read from the work-item's context
//! ([`super::out_of_line_builtins`]).

use schism_jit_abi as abi;
use schism_jit_abi::code;

use schism_passes::cpu::split_at_barriers;

use super::work_loop::calls_in;
use crate::JitError;
use crate::common::entry_text::LOOP;
use crate::common::image::{
    BALLOT, BARRIER, REDUCE_ADD, REDUCE_LEAST, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR,
    SUB_GROUP_BARRIER, group_operation_builtins,
};
use crate::common::module::Module;
use schism_llvm::{Builder, Context, Value};

/// The pass's names and numbers are those of the interface.
const _: () = {
    assert!(split_at_barriers::RUN_DIVERGED == abi::RUN_DIVERGED);
    assert!(split_at_barriers::RUN_NO_MEMORY == abi::RUN_NO_MEMORY);
};

/// Declarations of the two functions.
const DECLARATIONS: [&str; 2] = [
    "declare void @__schism_cpu_barrier(ptr) nounwind\n",
    "declare i32 @__schism_cpu_sub_group(ptr, i32, i32, i32) nounwind\n",
];

/// The functions at which work-items may wait.
const FUNCTIONS: [&str; 2] = [code::BARRIER, code::SUB_GROUP];

/// The runtime's function for a builtin.
enum GroupOperation {
    Barrier,
    /// A sub-group operation, with its number of operands and whether it has a result.
    SubGroup {
        operation: u32,
        takes: usize,
        gives: bool,
    },
}

impl GroupOperation {
    fn of(builtin: &str) -> Self {
        let operation = |operation, takes| Self::SubGroup { operation, takes, gives: takes > 0 };
        match builtin {
            BARRIER => Self::Barrier,
            SHUFFLE => operation(abi::SUB_GROUP_SHUFFLE, 2),
            SHUFFLE_XOR => operation(abi::SUB_GROUP_SHUFFLE_XOR, 2),
            SHUFFLE_UP => operation(abi::SUB_GROUP_SHUFFLE_UP, 2),
            SHUFFLE_DOWN => operation(abi::SUB_GROUP_SHUFFLE_DOWN, 2),
            BALLOT => operation(abi::SUB_GROUP_BALLOT, 1),
            SUB_GROUP_BARRIER => operation(abi::SUB_GROUP_BARRIER, 0),
            REDUCE_ADD => operation(abi::SUB_GROUP_ADD, 1),
            name if name == REDUCE_LEAST[0] => operation(abi::SUB_GROUP_MIN, 1),
            name if name == REDUCE_LEAST[1] => operation(abi::SUB_GROUP_MAX, 1),
            name if name == REDUCE_LEAST[2] => operation(abi::SUB_GROUP_UMIN, 1),
            name if name == REDUCE_LEAST[3] => operation(abi::SUB_GROUP_UMAX, 1),
            other => unreachable!("`{other}` is no builtin that work-items call together"),
        }
    }

    fn takes(&self) -> usize {
        match self {
            Self::Barrier => 0,
            Self::SubGroup { takes, .. } => *takes,
        }
    }

    fn result(&self) -> &'static str {
        match self {
            Self::SubGroup { gives: true, .. } => "i32",
            _ => "void",
        }
    }

    /// The body of a builtin with the group in `%group` and its operands named by [`NAMES`].
    fn body(&self) -> String {
        match self {
            Self::Barrier => {
                format!("  call void @{}(ptr %group)\n  ret void\n", code::BARRIER)
            }
            Self::SubGroup { operation, takes, gives } => {
                let number = |at: usize| {
                    if at < *takes { format!("%{}", NAMES[at]) } else { "0".to_owned() }
                };
                let call = format!(
                    "  %result = call i32 @{}(ptr %group, i32 {operation}, i32 {}, i32 {})\n",
                    code::SUB_GROUP,
                    number(0),
                    number(1)
                );
                call + if *gives { "  ret i32 %result\n" } else { "  ret void\n" }
            }
        }
    }
}

/// The names of an operation's operands.
const NAMES: [&str; 2] = ["value", "argument"];

/// Whether the loop function was cut at its barriers, so that it runs whole groups.
pub fn is_cut(module: &Module<'_>) -> bool {
    module.function(LOOP).is_some_and(|outer| {
        outer.string_attribute(schism_llvm::FUNCTION_INDEX, split_at_barriers::CUT).is_some()
    })
}

/// Whether a kernel may wait: then its work-items run on stacks of their own.
pub fn waits(module: &Module<'_>) -> bool {
    let uses = |name: &str| module.function(name).is_some_and(|f| !f.users().is_empty());
    FUNCTIONS.into_iter().chain(group_operation_builtins()).any(uses)
}

/// Definitions of all builtins; `group` are the lines that find the group.
pub fn bodies_text(find_group: &str) -> String {
    let mut out = DECLARATIONS.concat();
    for builtin in group_operation_builtins() {
        let operation = GroupOperation::of(builtin);
        let numbers = NAMES.map(|name| format!("i32 %{name}"));
        out += &format!(
            "define {} @{builtin}({}) nounwind {{\n{find_group}{}}}\n",
            operation.result(),
            numbers[..operation.takes()].join(", "),
            operation.body()
        );
    }
    out
}

/// Replaces the builtins in the loop function by calls of functions that take the group.
pub fn resolve<'c, 'm>(
    context: &'c Context,
    module: &'m Module<'c>,
    outer: Value<'m>,
    group: impl Fn() -> Result<Value<'m>, JitError>,
) -> Result<(), JitError> {
    let used: Vec<&str> =
        group_operation_builtins().filter(|name| module.function(name).is_some()).collect();
    if used.is_empty() {
        return Ok(());
    }
    let mut text = DECLARATIONS.concat();
    for builtin in &used {
        let operation = GroupOperation::of(builtin);
        let numbers = NAMES.map(|name| format!(", i32 %{name}"));
        text += &format!(
            "define {} @schism.meet.{builtin}(ptr %group{}) alwaysinline convergent nounwind {{\n{}}}\n",
            operation.result(),
            numbers[..operation.takes()].concat(),
            operation.body()
        );
    }
    let bodies = Module::from_text(context, &text).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::InvalidImage)?;
    for builtin in used {
        let name = format!("schism.meet.{builtin}");
        let missing = || JitError::Internal(format!("`{name}` is gone"));
        let (Some(from), Some(to)) = (module.function(builtin), module.function(&name)) else {
            return Err(missing());
        };
        to.set_internal();
        for call in calls_in(outer, from) {
            let operands =
                (0..GroupOperation::of(builtin).takes() as u32).map(|at| call.get_operand(at));
            let mut arguments = vec![group()?];
            arguments.extend(operands.collect::<Option<Vec<Value>>>().ok_or_else(missing)?);
            let new = Builder::before(call).call_function(to, &arguments);
            call.replace_uses(new);
            call.erase();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_calls_functions_of_the_interface() {
        assert_eq!(split_at_barriers::GROUP_MEMORY, code::GROUP_MEMORY);
        assert_eq!(split_at_barriers::AGREE, code::AGREE);
    }
}
