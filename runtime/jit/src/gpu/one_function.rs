//! Steps of targets whose kernels are one function: where only that function knows some values, and
//! only its return ends a work-item.

use schism_llvm::Value;
use schism_passes::llvm_passes;
use schism_passes::spec::target_library::PREFIX;

use super::builtins::DEVICE_EXIT;
use crate::JitError;
use crate::common::image::KERNEL;
use crate::common::module::Module;

/// Has every function inlined that is not recursive: values that only the entry has reach others
/// not at all.
pub(crate) fn inline_all(module: &Module<'_>) {
    for function in module.functions() {
        let name = function.name();
        // The library's own functions need no such values, and are large.
        if function.is_declaration() || name == KERNEL || name.starts_with(PREFIX) {
            continue;
        }
        always_inline(function);
    }
    for call in module.functions().into_iter().flat_map(Value::instructions) {
        if call.is_call() {
            call.remove_call_attribute("noinline");
        }
    }
}

/// Inlines into the entry what may end a work-item.
pub(crate) fn end_work_items(module: &Module<'_>, entry: &str) -> Result<(), JitError> {
    let Some(exit) = module.function(DEVICE_EXIT) else { return Ok(()) };
    let mut ending: Vec<Value> = Vec::new();
    let mut open = vec![exit];
    while let Some(callee) = open.pop() {
        for call in callee.users().into_iter().filter(|user| user.is_call()) {
            call.remove_call_attribute("noinline");
            let caller = call.parent_function();
            if caller.name() != entry && !ending.contains(&caller) {
                ending.push(caller);
                open.push(caller);
            }
        }
    }
    ending.into_iter().for_each(always_inline);
    module.run_passes(llvm_passes::INLINE_BODIES, None).map_err(JitError::Internal)
}

fn always_inline(function: Value<'_>) {
    for name in ["noinline", "optnone"] {
        function.remove_function_attribute(name);
    }
    function.add_function_attribute("alwaysinline", 0);
}
