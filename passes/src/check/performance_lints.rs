//! Finds code that works and makes kernels slow, for warnings.
//!
//! Runs when the image is whole, and changes nothing. Before and after:
//! ```llvm
//! define void @kernel(ptr %values, i64 %id, i64 %width) {
//!   call i1 @_ZN4core3fmt5write17h0E(...)      ; formatting
//!   call void @sort()
//!   %row = udiv i64 %id, %width                ; a division whose result is part of an address
//!   %place = getelementptr float, ptr %values, i64 %row
//!   ...
//! }
//! define internal void @sort() {
//!   %copy = alloca [32768 x i8]                ; more private memory than a device keeps close
//!   ...
//! }
//! ```
//! The [`Lints`] then name the three, with the instructions that they are about. [`crate::stage1`]
//! runs the passes again over a numbered module if there are any, so that these have a place in the
//! source.

use std::collections::{BTreeMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, FUNCTION_INDEX, IntoValue, Opcode, TypeKind, Value};

use crate::analysis::uses::{use_at, uses as all_uses, uses_of};
use crate::frontend::simplify;
use crate::spec::device::DeviceSpec;
use crate::spec::options::Warnings;
use crate::spec::report::{CallSite, Lint, LintKind, Lints, Use};

/// How many bytes of locals a function may have: with more, few work-items fit on a device at once.
pub const PRIVATE_BYTES: u64 = 16 * 1024;

/// How many values the search for an address looks at.
const VALUES: usize = 256;

/// Looks for what costs. `sites` are those of the module if it is numbered.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, sites: &[CallSite]) -> Result<Lints, String> {
    let wanted = spec.warnings;
    if wanted == Warnings::Off {
        return Ok(Lints::default());
    }
    let mut uses = BTreeMap::new();
    let mut findings = formatting(module, &mut uses)?;
    findings.extend(memory_and_divisions(module, spec));
    if findings.is_empty() {
        return Ok(Lints::default());
    }
    for (function, places) in all_uses(module) {
        uses.entry(function).or_insert(places);
    }
    Ok(Lints { findings, uses, sites: sites.to_vec() })
}

/// Looks for the formatting machinery, and if it is there, where functions are used.
fn formatting(
    module: &Module<'_>,
    uses: &mut BTreeMap<String, Vec<Use>>,
) -> Result<Vec<Lint>, String> {
    if formatter(module).is_none() {
        return Ok(Vec::new());
    }
    // Without optimisation, nothing but inlining shows that the arguments of a panic are dead. The
    // image stays as it is: only a copy is inlined.
    let copy = module.clone();
    if let Some(formatter) = formatter(&copy) {
        formatter.add_attribute_at(FUNCTION_INDEX, "noinline", 0);
    }
    simplify::inline(&copy)?;
    let Some(formatter) = formatter(&copy) else { return Ok(Vec::new()) };
    let places = uses_of(formatter);
    if places.is_empty() {
        return Ok(Vec::new());
    }
    *uses = all_uses(&copy);
    Ok(vec![Lint { what: LintKind::Formatting(formatter.name()), uses: places }])
}

/// The function through which all formatting goes.
fn formatter<'m>(module: &'m Module<'_>) -> Option<Value<'m>> {
    let mut functions = module.get_functions().map(|function| function.value());
    functions.find(|&function| formats(&function.name()))
}

fn memory_and_divisions(module: &Module<'_>, spec: &DeviceSpec) -> Vec<Lint> {
    let (mut findings, mut divisions) = (Vec::new(), Vec::new());
    for function in module.get_functions() {
        let (mut bytes, mut largest) = (0_u64, (0, None));
        let name = function.value().name();
        let kernel = spec.kernels.iter().find(|kernel| kernel.name == name);
        for instruction in function.value().instructions() {
            if let Some(size) = private_bytes(module, instruction) {
                bytes = bytes.saturating_add(size);
                if size > largest.0 {
                    largest = (size, Some(instruction));
                }
            } else if spec.warnings == Warnings::Perf
                && divides_by_a_variable(instruction)
                && leads_to_an_address(instruction)
            {
                divisions.push(use_at(instruction, None));
            }
        }
        if let (true, (size, Some(largest_of))) = (bytes > PRIVATE_BYTES, largest) {
            let uses = vec![use_at(largest_of, None)];
            // A kernel's function has its closure as a local.
            let what = match kernel {
                Some(kernel) if kernel.closure_size == size => LintKind::Captures { bytes: size },
                _ => LintKind::PrivateMemory { bytes },
            };
            findings.push(Lint { what, uses });
        }
    }
    if !divisions.is_empty() {
        findings.push(Lint { what: LintKind::DivisionInAddress, uses: divisions });
    }
    findings
}

/// Whether a symbol is that of `core::fmt::write`, in either way in which rustc writes symbols.
fn formats(symbol: &str) -> bool {
    const LEGACY: &str = "_ZN4core3fmt5write17h";
    const CURRENT: (&str, &str) = ("_RNvNtCs", "_4core3fmt5write");
    symbol.starts_with(LEGACY) || (symbol.starts_with(CURRENT.0) && symbol.ends_with(CURRENT.1))
}

/// How many bytes an instruction takes of a function's frame, if it does.
fn private_bytes(module: &Module<'_>, instruction: Value<'_>) -> Option<u64> {
    if instruction.opcode() != Some(Opcode::Alloca) {
        return None;
    }
    let count = instruction.operand(0);
    let count = if !count.is_constant_int() { 1 } else { count.zext_value() };
    let layout = module.handle().data_layout();
    let size = layout.abi_size(instruction.allocated_type());
    Some(size.saturating_mul(count))
}

/// Whether an instruction is a division or a remainder in 64 bits, by what is no constant.
fn divides_by_a_variable(instruction: Value<'_>) -> bool {
    if !matches!(
        instruction.opcode(),
        Some(Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem)
    ) {
        return false;
    }
    let ty = instruction.ty();
    ty.kind() == TypeKind::Integer && ty.int_width() == 64 && !instruction.operand(1).is_constant()
}

/// Whether a value becomes part of an address: through arithmetic, calls and returns.
fn leads_to_an_address(value: Value<'_>) -> bool {
    let mut seen = HashSet::from([value]);
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        if seen.len() > VALUES {
            return false;
        }
        for user in value.users() {
            let next = match user.opcode() {
                Some(Opcode::GetElementPtr) => return true,
                Some(
                    Opcode::Add
                    | Opcode::Sub
                    | Opcode::Mul
                    | Opcode::UDiv
                    | Opcode::SDiv
                    | Opcode::URem
                    | Opcode::SRem
                    | Opcode::Shl
                    | Opcode::LShr
                    | Opcode::AShr
                    | Opcode::And
                    | Opcode::Or
                    | Opcode::Xor
                    | Opcode::Trunc
                    | Opcode::ZExt
                    | Opcode::SExt
                    | Opcode::Phi
                    | Opcode::Select
                    | Opcode::Freeze
                    | Opcode::ExtractValue,
                ) => vec![user],
                Some(Opcode::Call) => into_call(user, value),
                Some(Opcode::Return) => user
                    .parent_function()
                    .users()
                    .into_iter()
                    .filter(|&call| call.callee() == Some(user.parent_function()))
                    .collect(),
                _ => Vec::new(),
            };
            stack.extend(next.into_iter().filter(|&next| seen.insert(next)));
        }
    }
    false
}

/// What a value is once it is passed to a function: its parameter, or for checked arithmetic the
/// result.
fn into_call<'m>(call: Value<'m>, value: Value<'m>) -> Vec<Value<'m>> {
    let Some(callee) = call.callee() else { return Vec::new() };
    if callee.is_declaration() {
        let is_arithmetic = call.calls_intrinsic(&["uadd.", "usub.", "umul.", "umin.", "umax."]);
        return if is_arithmetic { vec![call] } else { Vec::new() };
    }
    (0..call.num_args().min(callee.num_params()))
        .filter(|&index| call.operand(index) == value)
        .map(|index| callee.param(index))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::formats;

    #[test]
    fn the_machinery_of_formatting_is_known_in_both_manglings() {
        assert!(formats("_ZN4core3fmt5write17h0123456789abcdefE"));
        assert!(formats("_RNvNtCs6TEcjUTJJQM_4core3fmt5write"));
        for other in [
            "_ZN4core3fmt9Formatter9write_fmt17h0123456789abcdefE",
            "_RNvNtCs6TEcjUTJJQM_4mine3fmt5write",
            "core_fmt_write",
        ] {
            assert!(!formats(other), "{other}");
        }
    }
}
