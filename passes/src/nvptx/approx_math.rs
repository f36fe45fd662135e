//! Reciprocals and square roots from approximations, rounded correctly except in rare cases.
//!
//! Before:
//! ```llvm
//!   %inverse = fdiv float 1.0, %x
//! ```
//! After, with a guard that is false in the rare cases:
//! ```llvm
//!   %near = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)
//!   %x.negative = fneg float %x
//!   %off = call float @llvm.fma.f32(float %x.negative, float %near, float 1.0)
//!   %inverse = call float @llvm.fma.f32(float %near, float %off, float %near)
//!   %off.size = call float @llvm.fabs.f32(float %off)
//!   %guard = fcmp olt float %off.size, 0x3F50000000000000
//! ```
//!
//! PTX's `rcp.rn` and `sqrt.rn` consist of an approximation, a Newton step that rounds correctly,
//! and a branch for the numbers for which the step is not right. Here the step is explicit, and one
//! comparison of its result finds those numbers. So the branch can be shared with other rare cases:
//! the pass [`superblocks`](crate::gpu::superblocks) does that, and nothing else uses this module.

use schism_llvm::{Builder, FloatPredicate, ModuleRef, Opcode, Type, TypeKind, Value};

/// An operation that rounds correctly and has a fast approximation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approximation<'m> {
    /// `1 / x`: the division.
    Reciprocal(Value<'m>),
    /// The call of `llvm.sqrt.f32`.
    Root(Value<'m>),
}

impl<'m> Approximation<'m> {
    /// The approximation of an instruction, if there is one.
    pub(crate) fn of(instruction: Value<'m>) -> Option<Self> {
        match instruction.opcode()? {
            Opcode::FDiv => {
                let over = instruction.operand(0);
                let is_one = over.as_float() == Some(1.0);
                (is_one && is_precise(instruction)).then_some(Self::Reciprocal(instruction))
            }
            Opcode::Call => {
                let callee = instruction.callee()?;
                let is_root = callee.name() == "llvm.sqrt.f32" && is_precise(instruction);
                is_root.then_some(Self::Root(instruction))
            }
            _ => None,
        }
    }

    /// The number that it is of.
    pub(crate) fn argument(self) -> Value<'m> {
        match self {
            Self::Reciprocal(division) => division.operand(1),
            Self::Root(call) => call.operand(0),
        }
    }

    /// Computes it of `x`. Returns the result, and a guard that is true where the result is right.
    pub(crate) fn expand(
        self,
        module: ModuleRef<'m>,
        builder: &Builder<'m>,
        x: Value<'m>,
    ) -> (Value<'m>, Value<'m>) {
        match self {
            Self::Reciprocal(_) => reciprocal(module, builder, x),
            Self::Root(_) => root(module, builder, x),
        }
    }
}

/// `1 / x` as `rcp.rn` computes it where `x`, its inverse and the residual are normal numbers.
/// Otherwise the residual is no small number: the approximation takes subnormal numbers for zero,
/// and gives zero for them.
fn reciprocal<'m>(
    module: ModuleRef<'m>,
    builder: &Builder<'m>,
    x: Value<'m>,
) -> (Value<'m>, Value<'m>) {
    let ty = x.ty();
    let one = ty.const_float(1.0);
    let near = call(module, builder, "llvm.nvvm.rcp.approx.ftz.f", &[x]);
    let negative = builder.fneg(x);
    let off = call(module, builder, "llvm.fma.f32", &[negative, near, one]);
    let inverse = call(module, builder, "llvm.fma.f32", &[near, off, near]);
    let size = call(module, builder, "llvm.fabs.f32", &[off]);
    let small = ty.const_float(1.0 / 1024.0);
    let predicate = FloatPredicate::OLT;
    (inverse, builder.fcmp(predicate, size, small))
}

/// The root of `x` as `sqrt.rn` computes it where `x` is a number above 2^-101, so that the
/// residual is not rounded. Otherwise the result is smaller than that one's root, or a NaN.
fn root<'m>(module: ModuleRef<'m>, builder: &Builder<'m>, x: Value<'m>) -> (Value<'m>, Value<'m>) {
    let ty = x.ty();
    let inverse = call(module, builder, "llvm.nvvm.rsqrt.approx.ftz.f", &[x]);
    let near = builder.fmul(x, inverse);
    let half = builder.fmul(inverse, ty.const_float(0.5));
    let negative = builder.fneg(near);
    let off = call(module, builder, "llvm.fma.f32", &[negative, near, x]);
    let root = call(module, builder, "llvm.fma.f32", &[off, half, near]);
    let least = ty.const_float((-50.0_f64).exp2());
    let predicate = FloatPredicate::OGE;
    (root, builder.fcmp(predicate, root, least))
}

/// Calls a function of numbers of 32 bits.
fn call<'m>(
    module: ModuleRef<'m>,
    builder: &Builder<'m>,
    name: &str,
    arguments: &[Value<'m>],
) -> Value<'m> {
    let types: Vec<Type<'m>> = arguments.iter().map(|&it| it.ty()).collect();
    let ty = types[0].function(&types, false);
    let function = module.declare_pure_builtin(name, ty);
    builder.call(ty, function, arguments)
}

/// Whether an operation is one of 32 bits and rounds correctly.
fn is_precise(operation: Value<'_>) -> bool {
    operation.ty().kind() == TypeKind::Float
        && operation.fast_math_flags() == 0
        && operation.named_kind_metadata("fpmath").is_none()
}
