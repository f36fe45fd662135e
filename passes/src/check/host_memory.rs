//! What a kernel requires that works in the program's own memory, besides seeing it.
//!
//! Changes nothing. Two things are fine where kernels run on the host and not elsewhere:
//!
//! - *updates of atomics*: the host may update the same atomic at the same time;
//! - *addresses of constants that escape*: its own device has constants, whose addresses mean
//!   nothing to the host. For
//!   ```llvm
//!   @even = private constant [4 x i8] c"even"
//!   define void @kernel(ptr %to) {
//!     store ptr @even, ptr %to
//!     ret void
//!   }
//!   ```
//!   the host would find an address of the device's in its memory. To load from `@even` is fine.
//!
//! The second is a taint analysis over def-use chains, without regard to the order of instructions.
//! A value is tainted if it may be a constant's address. A local variable in which such a value is
//! stored counts as a constant that contains addresses.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Opcode, Type, TypeKind, UnnamedAddress, Value};

use crate::analysis::effects;
use crate::ir::address::local_variable;
use crate::spec::builtins::{PANIC, PANIC_FORMAT};

/// Whether one of these functions updates an atomic.
pub(crate) fn updates_atomics(functions: &[Value<'_>]) -> bool {
    functions.iter().flat_map(|function| function.instructions()).any(|instruction| {
        matches!(instruction.opcode(), Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg))
    })
}

/// Whether a program makes an address of a number, which may be that of anything. `functions` are all that a
/// kernel reaches, before anything is inlined. The crate `alloc` makes some that nothing is behind, for blocks without bytes.
pub(crate) fn addresses_are_forged(functions: &[Value<'_>]) -> bool {
    let others = functions.iter().filter(|function| {
        let name = function.name();
        !is_of_alloc(&name) && !name.contains("without_provenance")
    });
    let mut instructions = others.flat_map(|function| function.instructions());
    instructions.any(|it| it.opcode() == Some(Opcode::IntToPtr) && !it.operand(0).is_constant())
}

/// Whether a function is one of the crate `alloc`, by its symbol in either form of mangling.
fn is_of_alloc(symbol: &str) -> bool {
    if symbol.starts_with("_R") {
        // What comes before the first crate has no names.
        let after = symbol.split_once("Cs").and_then(|(_, krate)| krate.split_once('_'));
        return after.is_some_and(|(_, name)| name.starts_with("5alloc"));
    }
    let Some(path) = symbol.strip_prefix("_ZN") else { return false };
    let first = path.trim_start_matches(|it: char| it.is_ascii_digit());
    path.starts_with("5alloc")
        || first.starts_with("_$LT$alloc..")
            && ["core", "alloc"].iter().any(|of| first.contains(&format!("$u20$as$u20${of}..")))
}

/// Whether the address of a constant may get into memory that is not a local variable. `functions`
/// are all that a kernel reaches.
pub(crate) fn constants_escape(functions: &[Value<'_>]) -> bool {
    let mut walk = Walk::over(functions, false);
    for instruction in functions.iter().flat_map(|function| function.instructions()) {
        for operand in instruction.operands() {
            if operand.is_constant() && !operand.is_function() {
                walk.constant(operand);
            }
        }
    }
    walk.escapes()
}

/// Whether the address of a static may be compared with another one, or get into memory. A device has
/// its own statics. `functions` are all that a kernel reaches.
pub(crate) fn statics_are_compared(functions: &[Value<'_>]) -> bool {
    let mut walk = Walk::over(functions, true);
    for instruction in functions.iter().flat_map(|function| function.instructions()) {
        for operand in instruction.operands().filter(|&operand| is_in_static(operand)) {
            walk.taint(operand, Behind::Data);
        }
    }
    walk.escapes()
}

/// Whether a constant is the address of a static, or of a part of one. Constants without a name have
/// addresses that mean nothing.
fn is_in_static(constant: Value<'_>) -> bool {
    let mut value = constant;
    loop {
        if value.is_global_variable() {
            return value.unnamed_address() == UnnamedAddress::No;
        }
        let is_within = value.is_constant_expression()
            && matches!(
                value.const_opcode(),
                Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast
            );
        if !is_within {
            return false;
        }
        value = value.operand(0);
    }
}

/// Whether it can be told from outside where some local variables of `functions` are: their addresses
/// get into memory, or are compared with others. `functions` are all that a kernel reaches.
pub(crate) fn can_be_told_apart<'m>(functions: &[Value<'m>], variables: &[Value<'m>]) -> bool {
    let mut walk = Walk::over(functions, true);
    for variable in variables {
        walk.taint(*variable, Behind::Data);
    }
    walk.escapes()
}

/// What memory holds to which a tainted value points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Behind {
    /// No addresses.
    Data,
    /// Perhaps addresses of constants.
    Addresses,
}

struct Walk<'m> {
    functions: HashSet<Value<'m>>,
    tainted: HashMap<Value<'m>, Behind>,
    /// Tainted values whose users are still to be looked at.
    stack: Vec<Value<'m>>,
    /// Differences of which one side is tainted. What the other one is, the end of the walk tells.
    differences: Vec<(Value<'m>, Behind)>,
    /// Whether an address escapes, too, where it is compared with one that is not tainted, or comes
    /// out of memory again.
    is_strict: bool,
}

impl<'m> Walk<'m> {
    fn over(functions: &[Value<'m>], is_strict: bool) -> Self {
        let functions = functions.iter().copied().collect();
        let (stack, differences) = (Vec::new(), Vec::new());
        Self { functions, tainted: HashMap::new(), stack, differences, is_strict }
    }

    fn taint(&mut self, value: Value<'m>, behind: Behind) {
        let known = self.tainted.get(&value);
        if known.is_none_or(|known| *known < behind) {
            self.tainted.insert(value, behind);
            self.stack.push(value);
        }
    }

    /// Taints a constant operand, if it is a constant's address or made of one.
    fn constant(&mut self, operand: Value<'m>) {
        if let Some(behind) = behind(operand) {
            self.taint(operand, behind);
        }
    }

    fn escapes(&mut self) -> bool {
        loop {
            if self.users_escape() {
                return true;
            }
            // The difference of two addresses is a number; that of an address and a number is not.
            let differences = std::mem::take(&mut self.differences);
            let is_tainted = |value| self.tainted.contains_key(&value);
            let addresses: Vec<_> = differences
                .into_iter()
                .filter(|(user, _)| !user.operands().all(is_tainted))
                .collect();
            if addresses.is_empty() {
                return false;
            }
            addresses.into_iter().for_each(|(user, behind)| self.taint(user, behind));
        }
    }

    fn users_escape(&mut self) -> bool {
        while let Some(value) = self.stack.pop() {
            let behind = self.tainted[&value];
            for user in value.users() {
                // Constants that are made of it are operands themselves, and looked at as such.
                if user.is_instruction()
                    && self.functions.contains(&user.parent_function())
                    && !self.use_is_fine(value, behind, user)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Looks at a use of a tainted value; returns `false` if the value escapes by it.
    fn use_is_fine(&mut self, value: Value<'m>, behind: Behind, user: Value<'m>) -> bool {
        match user.opcode() {
            Some(Opcode::Load) => {
                // Optimised code copies addresses as numbers.
                if behind == Behind::Addresses
                    && may_hold(user.ty(), &|ty| is_address(ty) || is_word(ty))
                {
                    if self.is_strict {
                        return false;
                    }
                    self.taint(user, Behind::Addresses);
                }
                true
            }
            // What is stored, and where.
            Some(Opcode::Store) => user.operand(0) != value || self.stored(user.operand(1)),
            Some(
                Opcode::GetElementPtr
                | Opcode::BitCast
                | Opcode::AddrSpaceCast
                | Opcode::Phi
                | Opcode::Select
                | Opcode::Freeze
                | Opcode::PtrToInt
                | Opcode::IntToPtr
                | Opcode::InsertValue
                | Opcode::ExtractValue
                | Opcode::InsertElement
                | Opcode::ExtractElement
                | Opcode::ShuffleVector
                | Opcode::Add
                | Opcode::And
                | Opcode::Or
                | Opcode::Xor
                | Opcode::Trunc
                | Opcode::ZExt,
            ) => {
                self.taint(user, behind);
                true
            }
            Some(Opcode::Sub) => {
                self.differences.push((user, behind));
                true
            }
            Some(Opcode::ICmp) => {
                let is_own = |index| {
                    let operand = user.operand(index);
                    operand.is_constant() || self.tainted.contains_key(&operand)
                };
                !self.is_strict || (0..2).all(is_own)
            }
            Some(Opcode::Switch | Opcode::Br) => true,
            Some(Opcode::Return) => {
                let function = user.parent_function();
                for call in function.users() {
                    if call.is_instruction() && call.calls(function) {
                        self.taint(call, behind);
                    }
                }
                true
            }
            Some(Opcode::Call) => self.passed(value, behind, user),
            _ => false,
        }
    }

    /// A tainted value is stored at an address: fine if that is in a local variable.
    fn stored(&mut self, address: Value<'m>) -> bool {
        let Some(variable) = local_variable(address) else { return false };
        self.taint(variable, Behind::Addresses);
        true
    }

    /// A tainted value is an argument of a call.
    fn passed(&mut self, value: Value<'m>, behind: Behind, call: Value<'m>) -> bool {
        let called = call.called_value();
        if !called.is_function() {
            return false;
        }
        let name = called.name();
        if [PANIC, PANIC_FORMAT].contains(&name.as_str()) || call.has_attribute_of_call("noreturn")
        {
            // It ends the kernel with a message, in which there are no addresses.
            return true;
        }
        if call.calls_intrinsic(&["memcpy.", "memmove."]) {
            let is_source = call.operand(1) == value;
            return !is_source || behind == Behind::Data || self.stored(call.operand(0));
        }
        if effects::keeps_no_address(call) {
            return true;
        }
        if !self.functions.contains(&called) || called.num_blocks() == 0 {
            return false;
        }
        for (index, argument) in call.args().into_iter().enumerate() {
            if argument != value {
                continue;
            }
            if index as u32 >= called.num_params() {
                return false;
            }
            self.taint(called.param(index as u32), behind);
        }
        true
    }
}

/// What is behind a constant that is the address of a global variable, or made of one.
fn behind(constant: Value<'_>) -> Option<Behind> {
    let (mut found, mut seen, mut stack) = (None, HashSet::new(), vec![constant]);
    while let Some(value) = stack.pop() {
        if !seen.insert(value) {
            continue;
        }
        if value.is_global_variable() {
            let holds =
                value.initializer().is_none_or(|initial| may_hold(initial.ty(), &is_address));
            found = found.max(Some(if holds { Behind::Addresses } else { Behind::Data }));
        } else if value.is_constant() && !value.is_function() && !is_difference(value) {
            stack.extend(value.operands());
        }
    }
    found
}

/// Whether a constant is the difference of two addresses: a number, such as the length of an array whose end is known.
fn is_difference(constant: Value<'_>) -> bool {
    let is_of =
        |value: Value<'_>, opcode| value.is_constant_expression() && value.const_opcode() == opcode;
    is_of(constant, Opcode::Sub)
        && constant.operands().all(|operand| is_of(operand, Opcode::PtrToInt))
}

pub(super) fn is_address(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Pointer
}

fn is_word(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Integer && ty.int_width() >= 64
}

/// Whether a type, or one of its parts, is such a type.
pub(super) fn may_hold<'m>(ty: Type<'m>, what: &dyn Fn(Type<'m>) -> bool) -> bool {
    match ty.kind() {
        TypeKind::Struct => (0..ty.num_fields()).any(|index| may_hold(ty.field_type(index), what)),
        TypeKind::Array | TypeKind::Vector => may_hold(ty.element_type(), what),
        _ => what(ty),
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_alloc;

    #[test]
    fn the_crate_of_a_function_is_known() {
        let own = [
            "_RNvMNtCslNYArtu3iFV_5alloc5allocNtB2_6Global18alloc_impl_runtime",
            "_ZN5alloc7raw_vec20RawVecInner$LT$A$GT$15try_allocate_in17h7780ebb08e4009d4E",
            "_ZN63_$LT$alloc..alloc..Global$u20$as$u20$core..alloc..Allocator$GT$8allocate17h0E",
        ];
        let others = [
            "_RINvCs1234_4user4takeNtNtCs99_5alloc3vec3VecE",
            "_ZN4user4take17h0E",
            "_ZN70_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$user..Forge$GT$5forge17h0E",
            "alloc",
        ];
        assert!(own.into_iter().all(is_of_alloc));
        assert!(!others.into_iter().any(is_of_alloc));
    }
}
