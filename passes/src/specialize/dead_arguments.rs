//! Removes the parameters that a kernel does not use.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %out, i64 %len, float %unused, i32 %value) {
//!   store i32 %value, ptr %out
//!   ret void
//! }
//! ```
//! After, with the answer that parameters 0 and 3 are left:
//! ```llvm
//! define void @kernel(ptr %out, i32 %value) {
//!   store i32 %value, ptr %out
//!   ret void
//! }
//! ```
//!
//! A closure's captures become parameters before anybody knows which are needed: the length of a
//! slice whose index is known to be in bounds, a field that only the host reads. On a GPU each
//! costs a place in the launch's parameter block, which is small, and a copy at each launch. Which
//! are needed shows after inlining, so this pass belongs to stage 2, behind its optimisation; what
//! launches the kernel passes only those that are left.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{IntoValue, Value};

use crate::ir::function::{self, NewParameter};

/// The parameters that a kernel has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The kernel's name.
    pub kernel: String,
    /// Their indices among the parameters that it had.
    pub parameters: Vec<u32>,
}

/// Runs the pass; `kernels` are the names of the kernel functions. Gives the kernels that lost
/// parameters, in the module's order. A kernel that other code uses keeps its parameters.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Vec<Kept> {
    // Collected first: a changed kernel is a new function at the end of the list.
    let kernels: Vec<Value<'_>> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .map(|function| function.value())
        .filter(|&function| kernels.contains(function.name().as_str()))
        .collect();
    let mut changed = Vec::new();
    for kernel in kernels {
        changed.extend(remove_unused(kernel, |_| true));
    }
    changed
}

/// Removes those parameters of one kernel that it does not use and that `may` go. The kernel's
/// handle is good no longer if there were any.
pub fn remove_unused(kernel: Value<'_>, may: impl Fn(u32) -> bool) -> Option<Kept> {
    let count = kernel.num_params();
    let is_used = |&index: &u32| !may(index) || kernel.param(index).is_used();
    let kept: Vec<u32> = (0..count).filter(is_used).collect();
    if kept.len() == count as usize || !kernel.users().is_empty() {
        return None;
    }
    let parameters: Vec<NewParameter> = kept
        .iter()
        .map(|&index| NewParameter { ty: kernel.param(index).ty(), from: Some(index) })
        .collect();
    let new = function::with_parameters(kernel, &parameters);
    for (place, &index) in kept.iter().enumerate() {
        kernel.param(index).replace_uses(new.param(place as u32));
    }
    kernel.delete_function();
    Some(Kept { kernel: new.name(), parameters: kept })
}
