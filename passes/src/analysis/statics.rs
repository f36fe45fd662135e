//! Which globals a program may change.

use schism_llvm::Value;

/// Whether a global has a value here that can change.
pub(crate) fn is_mutable(global: Value<'_>) -> bool {
    !global.is_declaration() && !global.is_global_constant()
}

/// Whether each thread has its own.
pub(crate) fn is_thread_local(global: Value<'_>) -> bool {
    global.is_thread_local()
}
