//! The device library: C's mathematics for devices that have none.
//!
//! The crate `schism-devicelib` and the crate `libm` that it is over travel in this library as LLVM bitcode (see `build.rs`). The
//! pass `library-calls` makes calls of it where a device needs them; what is called, and what that calls in turn, is linked into
//! the kernel's module as internal functions and optimised with the kernel:
//!
//! ```llvm
//! define void @schism.kernel(ptr %out, double %x) {
//!   %y = call double @schism.lib.asin(double %x)
//!   …
//! define internal double @schism.lib.asin(double %x) {
//!   %y = call double @_RNvNtNtCs…_4libm4math4asin4asin(double %x)
//!   …
//! define internal double @_RNvNtNtCs…_4libm4math4asin4asin(double %x) {
//!   %root = call double @llvm.sqrt.f64(double %z)             ; the device's own, as far as it is exact
//!   …
//! ```
//!
//! A GPU's vendor has such a library, too: NVIDIA's is called libdevice. Where a program asks for it, its functions are called in place
//! of those that it has and that no two libraries compute alike, by the names that they have there:
//!
//! ```llvm
//!   %y = call double @__nv_asin(double %x)
//! ```
//!
//! What it asks of the code generator (`__nvvm_reflect`: the processor, whether subnormal numbers are kept) LLVM answers.
//!
//! No operation of it is allowed to be inexact, so each function gives the same bits on all devices that take it from here.
//! That holds for launches with inexact mathematics too: they allow what is the kernel's own.

use std::collections::HashSet;

use schism_passes::library_calls::{Native, PREFIX};

use crate::llvm::{Context, Module, Value};
use crate::{JitError, image};

/// The exported functions.
static EXPORTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schism_devicelib.bc"));

/// What they are over.
static LIBM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libm.bc"));

/// Where the functions of `libm` are, in their symbols.
const MATH: &str = "_4libm4math";

/// Functions that few arguments need, by the ends of their symbols: the remainder of large angles. Its loops, unrolled into each
/// sine, would be ten times the rest.
const RARE: [&str; 1] = ["_4libm4math14rem_pio2_large14rem_pio2_large"];

/// Gives a module the functions that its device lacks. Called before anything is inlined; the module's own functions are
/// internal already, or what is known by name.
///
/// `libdevice` is the vendor's library, as bitcode; empty, if it is not to be used.
pub fn supply<'c>(
    context: &'c Context,
    module: &Module<'c>,
    device: &Native,
    libdevice: &'c [u8],
) -> Result<(), JitError> {
    if module.functions().iter().any(|function| function.name().starts_with(PREFIX)) {
        return Err(JitError::InvalidImage(format!("it has functions called `{PREFIX}…`")));
    }
    module.call_library(device);
    let called = || -> Vec<Value> {
        let functions = module.functions().into_iter();
        functions.filter(|function| function.name().starts_with(PREFIX)).collect()
    };
    if !libdevice.is_empty() && !called().is_empty() {
        let wrong = |reason| JitError::InvalidRequest(format!("libdevice: {reason}"));
        call_vendor(context, module, &called(), libdevice).map_err(wrong)?;
    }
    let called = called();
    if called.is_empty() {
        return Ok(());
    }
    let library = library(context, module, &called, device).map_err(JitError::Internal)?;
    module.link(context, library).map_err(JitError::Internal)?;
    module.internalise_optional();
    Ok(())
}

/// What comes before a function's name in C, in the name of libdevice's.
const VENDOR: &str = "__nv_";

/// The functions of `f64` that may be the vendor's; those of `f32` end in `f`. What has one right result is not among them.
const OF_VENDOR: [&str; 26] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "exp10", "expm1", "hypot", "log", "log10", "log1p", "log2", "pow",
    "sin", "sinh", "tan", "tanh",
];

/// Has these functions be the vendor's, as far as it has them.
fn call_vendor<'c>(
    context: &'c Context,
    module: &Module<'c>,
    called: &[Value],
    libdevice: &'c [u8],
) -> Result<(), String> {
    let library = Module::from_bitcode_lazily(context, libdevice)?;
    let own: HashSet<String> = module.functions().into_iter().map(Value::name).collect();
    if let Some(name) = own.iter().find(|name| name.starts_with(VENDOR)) {
        return Err(format!("the image has a `{name}` of its own"));
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
        if found.function_type() != function.function_type() {
            return Err(format!("its `{theirs}` has another type"));
        }
        module.declare_as(found);
        let declared = module.function(&theirs).ok_or("a function is gone")?;
        function.replace_uses(declared);
        // SAFETY: nothing uses the function any more, and `called` has each one once.
        unsafe { function.delete_function() };
    }
    library.set_target_of(module);
    library.strip_debug_info();
    library.make_optional();
    module.link(context, library)?;
    module.internalise_optional();
    for function in module.functions() {
        if !function.is_declaration() && !own.contains(&function.name()) {
            function.remove_unwinding(context);
            image::normalise(context, function);
        }
    }
    module.verify()
}

/// A module with these functions and what they call, for the device.
fn library<'c>(
    context: &'c Context,
    module: &Module<'c>,
    called: &[Value],
    device: &Native,
) -> Result<Module<'c>, String> {
    let library = Module::new(context, c"schism.lib");
    library.set_target_of(module);
    for function in called {
        library.declare_as(*function);
    }
    for bitcode in [EXPORTS, LIBM] {
        if !lacks_functions(&library, device) {
            break;
        }
        let part = Module::from_bitcode_lazily(context, bitcode)?;
        part.set_target_of(module);
        part.make_optional();
        library.link(context, part)?;
        for function in library.functions().into_iter().filter(|f| !f.is_declaration()) {
            function.remove_unwinding(context);
        }
    }
    for function in library.functions() {
        if let Some((intrinsic, bits)) = exact_intrinsic(&function.name(), device) {
            let intrinsic = library.float_intrinsic(context, intrinsic, bits)?;
            function.replace_uses(intrinsic);
            // SAFETY: nothing uses the function any more, and `functions` has each one once.
            unsafe { function.delete_function() };
        } else if !function.is_declaration() {
            function.remove_function_attribute("nonlazybind");
            image::normalise(context, function);
            if RARE.iter().any(|rare| function.name().ends_with(rare)) {
                for attribute in ["noinline", "optsize", "minsize", "cold"] {
                    function.add_function_attribute(context, attribute);
                }
            }
        }
    }
    for function in library.functions() {
        if !function.is_declaration() || function.is_intrinsic() || function.users().is_empty() {
            continue;
        }
        // The crate does not panic. Where the optimiser does not see that, nothing must be needed for it.
        if !function.has_function_attribute("noreturn") {
            return Err(format!("the device library does not have `{}`", function.name()));
        }
        function.remove_function_attribute("noinline");
        function.add_function_attribute(context, "alwaysinline");
        for call in function.users() {
            if call.direct_callee() == Some(function) {
                call.remove_call_attribute("noinline");
            }
        }
        function.define_as_trap(context);
    }
    library.make_optional();
    Ok(library)
}

/// Whether a library calls what it does not have, and what is not the device's. To read what all functions of `libm` are called takes longer
/// than to optimise one of them.
fn lacks_functions(library: &Module<'_>, device: &Native) -> bool {
    library.functions().into_iter().any(|function| {
        let is_ours = || function.is_intrinsic() || function.has_function_attribute("noreturn");
        let is_called = || !function.users().is_empty() || function.name().starts_with(PREFIX);
        function.is_declaration()
            && !is_ours()
            && is_called()
            && exact_intrinsic(&function.name(), device).is_none()
    })
}

/// The intrinsic that a function of `libm` is the same as, if the device computes it exactly, and the bits of its numbers.
fn exact_intrinsic(symbol: &str, device: &Native) -> Option<(&'static str, u32)> {
    if !symbol.contains(MATH) {
        return None;
    }
    device.exact.iter().find_map(|name| {
        let length = name.len();
        let of_module = format!("{MATH}{length}{name}");
        if symbol.ends_with(&format!("{of_module}{length}{name}")) {
            return Some((*name, 64));
        }
        symbol.ends_with(&format!("{of_module}{}{name}f", length + 1)).then_some((*name, 32))
    })
}

#[cfg(test)]
mod tests {
    use schism_passes::library_calls;

    use super::*;

    /// A module that calls every function of the library.
    fn calls() -> String {
        let mut text = String::new();
        let types = |name: &str| {
            let number = if name.ends_with('f') || name == "__powisf2" || name == "lgammaf_r" {
                "float"
            } else {
                "double"
            };
            let number = if name == "erf" { "double" } else { number };
            match name.trim_end_matches('f') {
                "memcpy" | "memmove" => ("ptr", "ptr, ptr, i64".to_owned()),
                "memset" => ("ptr", "ptr, i32, i64".to_owned()),
                "memcmp" | "bcmp" => ("i32", "ptr, ptr, i64".to_owned()),
                "ldexp" | "__powidf2" | "__powisf2" => (number, format!("{number}, i32")),
                "lgamma_r" | "lgammaf_r" => (number, format!("{number}, ptr")),
                "atan2" | "fdim" | "fmod" | "hypot" | "pow" => {
                    (number, format!("{number}, {number}"))
                }
                "fma" => (number, format!("{number}, {number}, {number}")),
                _ => (number, number.to_owned()),
            }
        };
        for name in library_calls::functions() {
            let (result, parameters) = types(&name);
            text += &format!("declare {result} @{name}({parameters})\n");
            let with_names: Vec<String> = parameters
                .split(", ")
                .enumerate()
                .map(|(index, parameter)| format!("{parameter} %p{index}"))
                .collect();
            let with_names = with_names.join(", ");
            text += &format!(
                "define {result} @call.{name}({with_names}) {{\n  %r = call {result} @{name}({with_names})\n  ret {result} %r\n}}\n"
            );
        }
        text
    }

    #[test]
    fn every_function_is_there_and_needs_nothing() {
        for device in [Native::NOTHING, Native::CPU, Native::PTX] {
            let context = Context::new();
            let module = Module::from_text(&context, &calls()).expect("good text");
            module.verify().expect("a good module");
            supply(&context, &module, &device, &[]).expect("all functions");
            module.verify().expect("a good module");
            for function in module.functions() {
                let name = function.name();
                let own = device.functions.contains(&&*name) || name.starts_with("llvm.");
                assert!(
                    own || !function.is_declaration() || function.users().is_empty(),
                    "{name} has no body"
                );
            }
            module.run_passes(c"default<O3>", None).expect("optimised");
            // The crate does not panic, and the optimiser sees that, except of the checks in one function.
            for function in module.functions().iter().filter(|function| !function.is_declaration())
            {
                let traps =
                    |call: &Value| call.direct_callee().is_some_and(|f| f.name() == "llvm.trap");
                if function.instructions().iter().any(traps) {
                    assert!(function.name().contains("fmod"), "{} can panic", function.name());
                }
            }
            let text = module.print();
            for forbidden in ["libm-0", "asm ", "target-cpu", "personality"] {
                let found = text.lines().find(|line| line.contains(forbidden));
                assert_eq!(found, None, "{forbidden} for {device:?}");
            }
            assert_eq!(text.contains("@llvm.sqrt.f64"), !device.exact.is_empty());
        }
    }

    #[test]
    fn the_passes_know_what_the_crate_has() {
        let mut ours = library_calls::functions();
        let mut its: Vec<String> =
            schism_devicelib::NAMES.iter().map(|name| (*name).to_owned()).collect();
        ours.sort();
        its.sort();
        assert_eq!(ours, its);
        assert_eq!(PREFIX, schism_devicelib::PREFIX);
    }

    #[test]
    fn only_what_is_called_comes() {
        let context = Context::new();
        let text = "declare double @sin(double)\n\
            define double @f(double %x) {\n  %y = call double @sin(double %x)\n  ret double %y\n}\n\
            define double @sin.of.ours(double %x) {\n  ret double %x\n}\n";
        let module = Module::from_text(&context, text).expect("good text");
        supply(&context, &module, &Native::PTX, &[]).expect("linked");
        let count = |part: &str| {
            module.functions().iter().filter(|function| function.name().contains(part)).count()
        };
        assert_eq!((count("4math3sin3sin"), count("4math4tanh4tanh")), (1, 0));
        let without = Module::from_text(&context, "define void @f() {\n  ret void\n}\n");
        let without = without.expect("good text");
        supply(&context, &without, &Native::PTX, &[]).expect("nothing to link");
        assert_eq!(without.functions().len(), 1);
    }

    #[test]
    fn names_of_the_library_in_an_image_are_refused() {
        let context = Context::new();
        let text = "define double @schism.lib.sin(double %x) {\n  ret double %x\n}\n";
        let module = Module::from_text(&context, text).expect("good text");
        let error = supply(&context, &module, &Native::PTX, &[]).expect_err("a name of ours");
        assert!(matches!(error, JitError::InvalidImage(_)), "{error}");
    }
}
