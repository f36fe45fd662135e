//! Clones kernels that read the launch offset, with the offset as parameters.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %out) {
//!   call void @work(ptr %out)
//!   ret void
//! }
//! define internal void @work(ptr %out) {
//!   %begin = call i64 @__schism_global_offset_x()
//!   ...
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %out) {
//!   call void @work(ptr %out)
//!   ret void
//! }
//! define internal void @work(ptr %out) {
//!   ...                                               ; with 0 for %begin
//! }
//! define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
//!   call void @work_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
//!   ret void
//! }
//! define internal void @work_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
//!   ...                                               ; with %offset.x for %begin
//! }
//! ```
//!
//! So a launch that begins at zero pays nothing: the runtime takes the variant where a component is
//! not zero. Three numbers, not a pointer to them: they stay in registers, or where a target keeps
//! parameters, without a copy in private memory, and they have all 64 bits.
//!
//! Functions that do not read the offset are shared by both. One that does and whose address is
//! taken is refused: a call through a pointer does not know whether to pass the offset.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, Linkage, ModuleRef, TypeKind, Value};

use crate::analysis::uses::violation_of_use;
use crate::ir::parameters::{ByAddress, Copies, only_calls, with_callers};
use crate::spec::builtins::{GLOBAL_OFFSET, OFFSET_SUFFIX};
use crate::spec::image::KernelImage;
use crate::spec::report::{Violation, ViolationKind};

/// Runs the pass, and notes each kernel's variant.
///
/// Returns what it refuses; there are no variants then.
pub fn run(module: &Module<'_>, kernels: &mut [KernelImage]) -> Vec<Violation> {
    make_variants(module.handle(), kernels)
}

fn make_variants(module: ModuleRef<'_>, kernels: &mut [KernelImage]) -> Vec<Violation> {
    let mut builtins = Vec::new();
    for (name, axis) in GLOBAL_OFFSET.into_iter().zip(0..) {
        if let Some(function) = module.function(name).filter(|&function| is_builtin(function)) {
            builtins.push((function, axis));
        }
    }
    let axis_of = |call: Value<'_>| {
        let callee = call.callee()?;
        builtins.iter().find(|(builtin, _)| *builtin == callee).map(|(_, axis)| *axis)
    };

    let mut reads = Vec::new();
    for &(builtin, _) in &builtins {
        for user in builtin.users() {
            if !only_calls(user, builtin) {
                return refuse(builtin);
            }
            if !user.is_used() {
                user.erase();
            } else {
                reads.push(user);
            }
        }
    }

    let readers: HashSet<Value<'_>> = reads.iter().map(|read| read.parent_function()).collect();
    let functions = match with_callers(module, readers) {
        Ok(functions) => functions,
        Err(ByAddress(function)) => return refuse(function),
    };
    let long = module.context().int_type(64);
    let added = [("offset.x", long), ("offset.y", long), ("offset.z", long)];
    let copies = Copies::declare(module, &functions, OFFSET_SUFFIX, &added);
    for &function in &functions {
        copies.fill(function, |instruction, offset| Some(offset[axis_of(instruction)?]));
    }
    for read in reads {
        read.replace_uses(long.zero());
        read.erase();
    }
    for (builtin, _) in builtins {
        builtin.delete_function();
    }
    for kernel in kernels.iter_mut() {
        let function = module.function(&kernel.name);
        let copy = function.and_then(|function| copies.of(function));
        kernel.offset_variant = copy.map(Value::name);
    }
    for &function in &functions {
        let name = function.name();
        if let Some(copy) = copies.of(function)
            && !kernels.iter().any(|kernel| kernel.name == name)
        {
            copy.set_linkage(Linkage::Internal);
        }
    }
    Vec::new()
}

/// Whether a function of a builtin's name is one: declared, of type `i64 ()`.
fn is_builtin(function: Value<'_>) -> bool {
    let ty = function.value_type();
    let returns = ty.return_type();
    function.is_declaration()
        && ty.num_param_types() == 0
        && !ty.is_variadic()
        && returns.kind() == TypeKind::Integer
        && returns.int_width() == 64
}

/// The violation of a function that reads the offset and can be called by those who do not know it.
fn refuse(function: Value<'_>) -> Vec<Violation> {
    let what = ViolationKind::OffsetByAddress(function.name());
    let user = function.users().into_iter().find(|user| !only_calls(*user, function));
    vec![violation_of_use(user.unwrap_or(function), what)]
}
