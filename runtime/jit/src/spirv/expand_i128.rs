//! Operations on integers of more than 64 bits that the lowering does not write itself: divisions,
//! conversions from and to floating-point numbers, and intrinsics. They become calls of functions
//! of additions, shifts and comparisons.
//!
//! ```llvm
//!   %q = udiv i100 %a, %b
//! ```
//! becomes
//! ```llvm
//!   %a.wide = zext i100 %a to i128
//!   %b.wide = zext i100 %b to i128
//!   %q.wide = call i128 @schism.wide.udiv(i128 %a.wide, i128 %b.wide)
//!   %q = trunc i128 %q.wide to i100
//! ```
//! Runs after optimisation. Intrinsics are known for 128 bits only, which is what Rust has.

use std::collections::BTreeSet;

use schism_llvm::{Builder, Context, Opcode, Type, TypeKind, Value};
use schism_passes::llvm_passes;

use crate::JitError;
use crate::common::module::Module;

/// The functions.
const BODIES: &str = include_str!("expand_i128.ll");

/// Replaces the operations by calls.
pub fn expand<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let instructions = module.functions().into_iter().flat_map(Value::instructions);
    let found: Vec<_> = instructions.filter_map(|it| Some((it, Change::of(it)?))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let bodies = Module::from_text(context, BODIES).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    let names: BTreeSet<String> = bodies
        .functions()
        .into_iter()
        .filter(|function| !function.is_declaration())
        .map(|function| function.name())
        .collect();
    module.link(context, bodies).map_err(JitError::Internal)?;
    for (it, change) in found {
        let gone = || JitError::Internal(format!("`{}` is gone", change.function));
        let function = module.function(&change.function).ok_or_else(gone)?;
        change.make(it, function);
    }
    for function in names.iter().filter_map(|name| module.function(name)) {
        function.set_internal();
    }
    module.run_passes(llvm_passes::GLOBAL_DCE, None).map_err(JitError::Internal)
}

/// A call that replaces an instruction.
struct Change {
    function: String,
    /// Whether numbers of fewer bits are extended by their sign.
    signed: bool,
}

impl Change {
    fn new(function: impl AsRef<str>, signed: bool) -> Option<Self> {
        Some(Self { function: format!("schism.wide.{}", function.as_ref()), signed })
    }

    /// What replaces an instruction; `None` for those that stay.
    fn of(it: Value<'_>) -> Option<Self> {
        use Opcode::*;
        let opcode = it.opcode()?;
        match opcode {
            UDiv | URem | SDiv | SRem if is_wide(it.ty()) => {
                let (name, signed) = match opcode {
                    UDiv => ("udiv", false),
                    URem => ("urem", false),
                    SDiv => ("sdiv", true),
                    _ => ("srem", true),
                };
                Self::new(name, signed)
            }
            UIToFP | SIToFP if is_wide(it.operand(0).ty()) => {
                let signed = opcode == SIToFP;
                let name = if signed { "sitofp" } else { "uitofp" };
                Self::new(format!("{name}.{}", float(it.ty())?), signed)
            }
            FPToUI | FPToSI if is_wide(it.ty()) => {
                let name = if opcode == FPToSI { "fptosi" } else { "fptoui" };
                Self::new(format!("{name}.{}", float(it.operand(0).ty())?), false)
            }
            Call => {
                let name = it.callee()?.name();
                let name = name.strip_prefix("llvm.")?;
                let name = name.strip_suffix(".i128").or_else(|| {
                    let (name, from) = name.rsplit_once(".i128.")?;
                    name.ends_with(".sat").then_some(()).filter(|()| from.starts_with('f'))?;
                    Some(name)
                })?;
                // The type of the result follows, and all bits of it are in one of 128.
                for kind in ["scmp", "ucmp"] {
                    if name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.')) {
                        return Self::new(kind, false);
                    }
                }
                let known = name.starts_with("fpto");
                if known {
                    return Self::new(format!("{name}.{}", float(it.operand(0).ty())?), false);
                }
                const KNOWN: [&str; 22] = [
                    "abs",
                    "bitreverse",
                    "bswap",
                    "ctlz",
                    "ctpop",
                    "cttz",
                    "fshl",
                    "fshr",
                    "sadd.sat",
                    "sadd.with.overflow",
                    "smax",
                    "smin",
                    "smul.with.overflow",
                    "ssub.sat",
                    "ssub.with.overflow",
                    "uadd.sat",
                    "uadd.with.overflow",
                    "umax",
                    "umin",
                    "umul.with.overflow",
                    "usub.sat",
                    "usub.with.overflow",
                ];
                KNOWN.contains(&name).then(|| Self::new(name, false)).flatten()
            }
            _ => None,
        }
    }

    fn make(&self, it: Value<'_>, function: Value<'_>) {
        let builder = Builder::before(it);
        let params = function.value_type().param_types();
        let operands = match it.opcode() {
            Some(Opcode::Call) => it.args(),
            _ => it.operands().collect(),
        };
        // Intrinsics may have arguments that only tell what is undefined.
        let args: Vec<_> = operands
            .into_iter()
            .zip(params)
            .map(|(value, ty)| resize(&builder, value, ty, self.signed))
            .collect();
        let result = builder.call_function(function, &args);
        let result = resize(&builder, result, it.ty(), false);
        it.replace_with(result);
    }
}

/// A value as one of another type, if both are integers.
fn resize<'m>(builder: &Builder<'m>, value: Value<'m>, ty: Type<'m>, signed: bool) -> Value<'m> {
    if value.ty() == ty || ty.kind() != TypeKind::Integer {
        return value;
    }
    builder.int_cast(value, ty, signed)
}

fn is_wide(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Integer && (65..=128).contains(&ty.int_width())
}

/// How names of functions say which floating-point number they take or give.
fn float(ty: Type<'_>) -> Option<&'static str> {
    match ty.kind() {
        TypeKind::Float => Some("f32"),
        TypeKind::Double => Some("f64"),
        _ => None,
    }
}
