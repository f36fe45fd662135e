//! Raises the alignment of accesses at addresses that advance by constant steps. Runs in stage 2,
//! for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! define void @rows(ptr align 16 %p, i64 %any) {
//! begin:
//!   %row = and i64 %any, -16
//!   %first = getelementptr float, ptr %p, i64 %row
//! loop:
//!   %at = phi ptr [ %first, %begin ], [ %at.next, %loop ]
//!   %a = load float, ptr %at, align 4
//!   %at.1 = getelementptr i8, ptr %at, i64 4
//!   %b = load float, ptr %at.1, align 4
//!   ...
//!   %at.next = getelementptr i8, ptr %at, i64 64
//! ```
//! After:
//! ```llvm
//!   %a = load float, ptr %at, align 16
//!   %b = load float, ptr %at.1, align 4
//! ```
//!
//! LLVM's code generator combines neighbouring accesses if it knows the alignment of the first one,
//! but does not derive it through a phi. LLVM's pass `alignment-from-assumptions` does, for
//! addresses whose base is in an assumption. So each parameter with the attribute `align` gets one
//! for as long as that pass runs:
//! ```llvm
//!   call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ]
//! ```

use schism_llvm::{Builder, ModuleRef, Value, intrinsic_id};

use crate::llvm_passes;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub fn run(function: Value<'_>) -> Result<(), String> {
    let module = function.module();
    let builder = Builder::before(function.entry().begin());
    let mut assumptions = Vec::new();
    for parameter in function.params() {
        if let Some(align) = parameter.parameter_attribute("align") {
            assumptions.push(assume_aligned(module, &builder, parameter, align.value()));
        }
    }
    if assumptions.is_empty() {
        return Ok(());
    }
    let result = function.run_passes(llvm_passes::INFER_ALIGNMENT);
    assumptions.into_iter().for_each(Value::erase);
    result
}

/// Builds an assumption that an address is a multiple of `align`.
fn assume_aligned<'m>(
    module: ModuleRef<'m>,
    builder: &Builder<'m>,
    address: Value<'m>,
    align: u64,
) -> Value<'m> {
    let context = module.context();
    let assume = module.intrinsic(intrinsic_id("llvm.assume"), &[]);
    let number = context.int_type(64).const_int(align, false);
    let holds = context.int_type(1).const_int(1, false);
    builder.call_with_bundle(assume, &[holds], "align", &[address, number])
}
