//! Replaces inline assembly of one well-known instruction by LLVM's intrinsic for it.
//!
//! Libraries of mathematics that do without the standard library have no other way to the
//! instruction for a root. Before:
//! ```llvm
//!   %root = call float asm inteldialect "sqrtss ${0}, ${0}", "=&x,0"(float %x)
//! ```
//! After:
//! ```llvm
//!   %root = call float @llvm.sqrt.f32(float %x)
//! ```
//! The instruction rounds as IEEE 754 says, and the intrinsic does on every device. What else
//! assembly does is unknown: the [device check](crate::check::device_check) refuses it.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, Opcode, Type, TypeKind, Value, intrinsic_id};

/// Instructions with one operand and a result, the type of both, and the intrinsic.
const INSTRUCTIONS: [(&str, TypeKind, &str); 4] = [
    ("sqrtss", TypeKind::Float, "llvm.sqrt"),
    ("sqrtsd", TypeKind::Double, "llvm.sqrt"),
    ("vsqrtss", TypeKind::Float, "llvm.sqrt"),
    ("vsqrtsd", TypeKind::Double, "llvm.sqrt"),
];

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    let module = module.handle();
    for call in module.functions().iter().flat_map(|function| function.instructions()) {
        if let Some((argument, intrinsic)) = known(call) {
            let function = module.intrinsic(intrinsic_id(intrinsic), &[call.ty()]);
            call.replace_with(Builder::before(call).call_function(function, &[argument]));
        }
    }
}

/// The operand of an instruction's assembly, and the intrinsic that does the same.
fn known(call: Value<'_>) -> Option<(Value<'_>, &'static str)> {
    if call.opcode() != Some(Opcode::Call) || call.num_args() != 1 {
        return None;
    }
    let called = call.called_value();
    if !called.is_inline_assembly() {
        return None;
    }
    let (argument, kind) = (call.operand(0), call.ty().kind());
    let same_type = |ty: Type<'_>| ty == call.ty();
    let text = called.assembly_text();
    let mnemonic = mnemonic(std::str::from_utf8(&text).ok()?)?;
    let (_, _, intrinsic) = INSTRUCTIONS
        .iter()
        .find(|(name, of, _)| *name == mnemonic && *of == kind && same_type(argument.ty()))?;
    Some((argument, intrinsic))
}

/// The instruction of a text that has one, whose operands are all the assembly's own.
fn mnemonic(text: &str) -> Option<&str> {
    let text = text.trim();
    let (mnemonic, operands) = text.split_once(char::is_whitespace)?;
    let is_own = |operand: &str| {
        let operand = operand.trim().strip_prefix('$').unwrap_or_default();
        let inside = operand.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let number = inside.unwrap_or(operand).split(':').next().unwrap_or_default();
        ["0", "1"].contains(&number)
    };
    operands.split(',').all(is_own).then_some(mnemonic)
}

#[cfg(test)]
mod tests {
    use super::mnemonic;

    #[test]
    fn one_instruction_with_own_operands() {
        for text in ["sqrtss $0, $0", " sqrtss ${0}, ${0:x}\n", "sqrtss $0,$1"] {
            assert_eq!(mnemonic(text), Some("sqrtss"), "{text}");
        }
        for text in ["nop", "sqrtss xmm0, $0", "sqrtss $0, $0\n nop", "sqrtss $0, [$1]", ""] {
            assert_eq!(mnemonic(text), None, "{text}");
        }
    }
}
