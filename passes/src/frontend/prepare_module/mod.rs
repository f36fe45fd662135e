//! Removes what means something to the host's build alone: what an instrumented build adds to code
//! (`instrumentation.rs`), and attributes, assembly and hints for the host's code generator
//! (`host_attributes.rs`). Lowers the markers in inline assembly that LLVM's passes would remove:
//! barriers become [convergent](mark_convergent), loops get their [unroll hints](lower_unroll_markers).
//!
//! Before:
//! ```llvm
//! define internal void @f() unnamed_addr #0 {
//!   call void @llvm.instrprof.increment(ptr @__profn_f, i64 1, i32 1, i32 0)
//!   ret void
//! }
//! attributes #0 = { noinline sspstrong uwtable "target-cpu"="x86-64" }
//! ```
//! After:
//! ```llvm
//! define internal void @f() unnamed_addr {
//!   ret void
//! }
//! ```

mod host_attributes;
mod instrumentation;
pub mod lower_unroll_markers;
pub mod mark_convergent;

pub(crate) use instrumentation::is_counter;

use inkwell::module::Module;

/// Runs the pass over the module. Code for the program's own process (`in_process`) keeps what a
/// function needs of the processor.
pub fn run(module: &Module<'_>, in_process: bool) {
    instrumentation::remove(module);
    host_attributes::remove(module, in_process);
    mark_convergent::run(module);
    lower_unroll_markers::run(module);
}
