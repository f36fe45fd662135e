//! libdevice: NVIDIA's mathematics, instead of the device library's.
//!
//! Where a program requests it, its functions replace those that it has and whose results differ
//! between libraries, under the names that they have there:
//! ```llvm
//!   %y = call double @__nv_asin(double %x)
//! ```
//! LLVM answers what it asks the code generator (`__nvvm_reflect`: the processor, whether subnormal
//! numbers are kept).

use std::collections::HashSet;

use schism_passes::spec::target_library::PREFIX;

use crate::JitError;
use crate::common::module::Module;
use crate::common::{devicelib, image};
use schism_llvm::{Context, Value};

/// The prefix of a function's name in C, in the name of libdevice's.
const VENDOR: &str = "__nv_";

/// The `f64` functions that may be replaced by the vendor's; those of `f32` end in `f`. Functions
/// with one correct result are not among them.
const OF_VENDOR: [&str; 26] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "exp10", "expm1", "hypot", "log", "log10", "log1p", "log2", "pow",
    "sin", "sinh", "tan", "tanh",
];

/// Has a module call the vendor's functions in place of those of the device library that the bitcode
/// `libdevice` has.
pub fn call<'c>(
    context: &'c Context,
    module: &Module<'c>,
    libdevice: &'c [u8],
) -> Result<(), JitError> {
    let called = devicelib::called(module);
    if libdevice.is_empty() || called.is_empty() {
        return Ok(());
    }
    let wrong = |reason| JitError::InvalidRequest(format!("libdevice: {reason}"));
    replace(context, module, &called, libdevice).map_err(wrong)
}

/// Replaces these functions by the vendor's, where it has them.
fn replace<'c>(
    context: &'c Context,
    module: &Module<'c>,
    called: &[Value],
    libdevice: &'c [u8],
) -> Result<(), String> {
    let library = Module::from_bitcode_lazily(context, libdevice)?;
    let own: HashSet<String> = module.functions().into_iter().map(Value::name).collect();
    if let Some(name) = own.iter().find(|name| name.starts_with(VENDOR)) {
        return Err(format!("the image has its own `{name}`"));
    }
    for function in called {
        let name = function.name();
        let name = name.strip_prefix(PREFIX).unwrap_or_default();
        if !OF_VENDOR.iter().any(|known| name == *known || name.strip_suffix('f') == Some(known)) {
            continue;
        }
        let theirs = format!("{VENDOR}{name}");
        let Some(found) = library.function(&theirs).filter(|theirs| !theirs.is_declaration())
        else {
            continue;
        };
        if found.value_type() != function.value_type() {
            return Err(format!("its `{theirs}` has another type"));
        }
        module.declare_as(found);
        let declared = module.function(&theirs).ok_or("a function is gone")?;
        function.replace_uses(declared);
        function.delete_function();
    }
    library.set_target_of(module);
    library.strip_debug_info();
    library.make_optional();
    module.link(context, library)?;
    module.internalise_optional();
    for function in module.functions() {
        if !function.is_declaration() && !own.contains(&function.name()) {
            function.remove_unwinding();
            image::normalise(function);
            function.add_function_attribute("nounwind", 0);
        }
    }
    module.verify()
}
