//! Refuses exported functions that ask for what only a kernel has.
//!
//! Before:
//! ```llvm
//! define float @scale(float %x) { %lane = call i64 @__schism_local_id_x() ... }
//! declare i64 @__schism_local_id_x()
//! ```
//! After: a [`Violation`] that names `__schism_local_id_x` and its use.
//!
//! An exported function is compiled with its own crate and linked to kernels of others. What the
//! container says of those (whether they need work-groups, how much local memory they have, which
//! specialization constants they read, whether they are told where the launch begins) is found out
//! when their crate is compiled, and cannot depend on a body that is not known at that time.

use inkwell::module::Module;
use schism_llvm::{IntoValue, Value};

use crate::analysis::uses::uses_of;
use crate::frontend::kernel_reachability;
use crate::spec::builtins;
use crate::spec::device::DeviceSpec;
use crate::spec::report::{Violation, ViolationKind};

/// Runs the pass.
pub fn run(module: &Module<'_>, spec: &DeviceSpec) -> Vec<Violation> {
    if spec.exports.is_empty() {
        return Vec::new();
    }
    let builtins = builtins::of_groups().chain(builtins::GLOBAL_OFFSET);
    let functions = builtins.filter_map(|name| Some(module.get_function(name)?.value()));
    let constants = spec
        .spec_constants
        .iter()
        .filter_map(|constant| Some(module.get_global(&constant.symbol)?.value()));
    let is_exported = |object: Value<'_>| {
        kernel_reachability::functions_reaching(object)
            .into_iter()
            .any(|function| spec.exports.contains(&function.name()))
    };
    functions
        .chain(constants)
        .filter(|object| is_exported(*object))
        .map(|object| {
            let what = ViolationKind::OfKernels(object.name());
            Violation { what, uses: uses_of(object) }
        })
        .collect()
}
