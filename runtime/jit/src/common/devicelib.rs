//! The device library: C's mathematics for devices that have none.
//!
//! The crate `schism-devicelib` and its base, the crate `libm`, are embedded in this library as
//! LLVM bitcode: a module for each function with its dependencies, simplified where that is the
//! same for all devices (see `build/library.rs`). The pass `device-library` inserts calls where a
//! device needs them; called functions are linked into the kernel's module as internal functions
//! and optimised with the kernel. What a device computes by itself with correct rounding replaces
//! the library's function, inside the library, too:
//!
//! ```llvm
//! define void @schism.kernel(ptr %out, double %x) {
//!   %y = call double @schism.lib.asin(double %x)
//!   …
//! define internal double @schism.lib.asin(double %x) {
//!   …
//!   %root = call double @llvm.sqrt.f64(double %z)             ; there: a call of `schism.lib.sqrt`
//!   …
//! ```
//!
//! A target may call a vendor's library instead, between [`insert_calls`] and [`link`].
//!
//! None of its operations may be relaxed, so each function gives the same bits on all devices that
//! use it. That holds for launches with relaxed mathematics, too: they relax only the kernel's own
//! operations.

use schism_passes::spec::target_library::{PREFIX, TargetLibraryInfo};

use crate::JitError;
use crate::common::module::Module;
use schism_llvm::{Context, Value};

/// The library, as the build script prepared it.
struct Library {
    /// Functions that a device may compute by itself: names in C, of the 64-bit functions. Library
    /// functions call them by their exported names.
    correctly_rounded: &'static [&'static str],
    /// The functions by their names in C, sorted, and a module for each: it defines the function
    /// and everything that it needs, except what a device may compute by itself.
    functions: &'static [(&'static str, &'static [u8])],
}

static LIBRARY: Library = include!(concat!(env!("OUT_DIR"), "/library.rs"));

impl Library {
    /// The module of the function that has this name in C.
    fn function(&self, name: &str) -> Option<&'static [u8]> {
        let found = self.functions.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.functions[found].1)
    }
}

/// Defines the functions that a module's device lacks. Called before anything is inlined; the
/// module's own functions are internal already, or known by name.
pub fn supply<'c>(
    context: &'c Context,
    module: &Module<'c>,
    device: &TargetLibraryInfo,
) -> Result<(), JitError> {
    insert_calls(module, device)?;
    link(context, module, device)
}

/// Inserts calls of the library's functions where a module needs what its device lacks.
pub fn insert_calls(module: &Module<'_>, device: &TargetLibraryInfo) -> Result<(), JitError> {
    if module.functions().iter().any(|function| function.name().starts_with(PREFIX)) {
        return Err(JitError::InvalidImage(format!("it has functions called `{PREFIX}…`")));
    }
    module.call_library(device);
    Ok(())
}

/// The library's functions that a module has.
pub fn called<'m>(module: &'m Module<'_>) -> Vec<Value<'m>> {
    let functions = module.functions().into_iter();
    functions.filter(|function| function.name().starts_with(PREFIX)).collect()
}

/// Links the library's functions that a module calls.
pub fn link<'c>(
    context: &'c Context,
    module: &Module<'c>,
    device: &TargetLibraryInfo,
) -> Result<(), JitError> {
    if called(module).is_empty() {
        return Ok(());
    }
    link_declared(context, module, device).map_err(JitError::Internal)
}

/// Links the library's functions that are declared, transitively; or uses the device's own instead.
fn link_declared<'c>(
    context: &'c Context,
    module: &Module<'c>,
    device: &TargetLibraryInfo,
) -> Result<(), String> {
    loop {
        let declared = module.functions().into_iter().filter(|function| function.is_declaration());
        let declared: Vec<String> =
            declared.map(Value::name).filter(|name| name.starts_with(PREFIX)).collect();
        if declared.is_empty() {
            break;
        }
        for symbol in declared {
            let name = symbol.strip_prefix(PREFIX).unwrap_or_default();
            if let Some((intrinsic, bits)) = correctly_rounded_intrinsic(name, device) {
                let function = module.function(&symbol).ok_or("a function is gone")?;
                let intrinsic = module.float_intrinsic(intrinsic, bits)?;
                function.replace_uses(intrinsic);
                function.delete_function();
                continue;
            }
            let bitcode = LIBRARY.function(name);
            let bitcode = bitcode.ok_or_else(|| format!("the device library has no `{name}`"))?;
            let part = Module::from_bitcode_lazily(context, bitcode)?;
            part.set_target_of(module);
            module.link(context, part)?;
        }
    }
    module.internalise_optional();
    for function in module.functions() {
        if function.name().starts_with(PREFIX) {
            function.set_internal();
        }
    }
    Ok(())
}

/// The intrinsic that is the same as a function of the library, if the device computes it with
/// correct rounding, and its number of bits.
fn correctly_rounded_intrinsic(
    name: &str,
    device: &TargetLibraryInfo,
) -> Option<(&'static str, u32)> {
    LIBRARY
        .correctly_rounded
        .iter()
        .filter(|name| device.correctly_rounded.contains(name))
        .find_map(|known| match name.strip_prefix(known)? {
            "" => Some((*known, 64)),
            "f" => Some((*known, 32)),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use schism_passes::spec::target_library;

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
        for name in target_library::functions() {
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
        for device in [TargetLibraryInfo::NOTHING, TargetLibraryInfo::CPU, TargetLibraryInfo::PTX] {
            let context = Context::new();
            let module = Module::from_text(&context, &calls()).expect("good text");
            module.verify().expect("a good module");
            supply(&context, &module, &device).expect("all functions");
            module.verify().expect("a good module");
            for function in module.functions() {
                let name = function.name();
                let own = device.functions.contains(&&*name) || name.starts_with("llvm.");
                assert!(
                    own || !function.is_declaration() || function.users().is_empty(),
                    "{name} has no body"
                );
            }
            module.run_passes("default<O3>", None).expect("optimised");
            // The crate does not panic, and the optimiser proves that.
            for function in module.functions().iter().filter(|function| !function.is_declaration())
            {
                let traps =
                    |call: &Value| call.direct_callee().is_some_and(|f| f.name() == "llvm.trap");
                assert!(
                    !function.instructions().iter().any(traps),
                    "{} can panic",
                    function.name()
                );
            }
            let text = module.print();
            for forbidden in ["libm-0", "asm ", "target-cpu", "personality"] {
                let found = text.lines().find(|line| line.contains(forbidden));
                assert_eq!(found, None, "{forbidden} for {device:?}");
            }
            assert_eq!(text.contains("@llvm.sqrt.f64"), !device.correctly_rounded.is_empty());
        }
    }

    #[test]
    fn the_passes_know_what_the_crate_has() {
        let mut ours = target_library::functions();
        let mut its: Vec<String> =
            schism_devicelib::NAMES.iter().map(|name| (*name).to_owned()).collect();
        ours.sort();
        its.sort();
        assert_eq!(ours, its);
        assert_eq!(PREFIX, schism_devicelib::PREFIX);
    }

    #[test]
    fn every_function_has_a_module() {
        let names: Vec<&str> = LIBRARY.functions.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
        for name in schism_devicelib::NAMES {
            assert!(LIBRARY.function(name).is_some(), "{name}");
        }
        assert!(LIBRARY.function("sincos").is_none());
    }

    #[test]
    fn what_devices_compute_by_themselves_can_be_exchanged() {
        for device in [TargetLibraryInfo::NOTHING, TargetLibraryInfo::CPU, TargetLibraryInfo::PTX] {
            let missing = device
                .correctly_rounded
                .iter()
                .find(|name| !LIBRARY.correctly_rounded.contains(name));
            assert_eq!(missing, None, "{device:?}");
        }
    }

    /// The names of the functions that are defined in a module after it was linked.
    fn supplied(text: &str, device: &TargetLibraryInfo) -> Vec<String> {
        let context = Context::new();
        let module = Module::from_text(&context, text).expect("good text");
        supply(&context, &module, device).expect("linked");
        module.verify().expect("a good module");
        let defined = module.functions().into_iter().filter(|function| !function.is_declaration());
        defined.map(Value::name).collect()
    }

    /// A function that calls these, one after the other, each with the result of the one before.
    fn chain(names: &[&str]) -> String {
        let declare = |name: &&str| format!("declare double @{name}(double)\n");
        let mut text: String = names.iter().map(declare).collect();
        text += "define double @f(double %x0) {\n";
        for (index, name) in names.iter().enumerate() {
            text += &format!("  %x{} = call double @{name}(double %x{index})\n", index + 1);
        }
        text + &format!("  ret double %x{}\n}}\n", names.len())
    }

    /// Whether a function reduces large angles.
    fn is_reduction(name: &str) -> bool {
        name.contains("rem_pio2_large")
    }

    #[test]
    fn only_what_is_called_comes() {
        let text =
            chain(&["sin"]) + "define double @sin.of.ours(double %x) {\n  ret double %x\n}\n";
        let names = supplied(&text, &TargetLibraryInfo::PTX);
        assert_eq!(names[..3], ["f", "sin.of.ours", "schism.lib.sin"]);
        // What reduces large angles is apart.
        let is_for_large = |name: &String| name.contains("large_sin") || is_reduction(name);
        assert!(names.len() == 5 && names[3..].iter().all(is_for_large), "{names:?}");
        let without = supplied("define void @f() {\n  ret void\n}\n", &TargetLibraryInfo::PTX);
        assert_eq!(without, ["f"]);
    }

    #[test]
    fn a_function_comes_simplified() {
        let text =
            "define float @f(float %x, float %y) {\n  %r = frem float %x, %y\n  ret float %r\n}\n";
        assert_eq!(supplied(text, &TargetLibraryInfo::PTX), ["f", "schism.lib.fmodf"]);
    }

    #[test]
    fn what_two_functions_share_comes_once() {
        let names = supplied(&chain(&["sin", "cos", "tan"]), &TargetLibraryInfo::PTX);
        assert_eq!(names.iter().filter(|name| is_reduction(name)).count(), 1, "{names:?}");
        // Each of the three has a function for large angles besides.
        assert_eq!(names.len(), 1 + 2 * 3 + 1, "{names:?}");
    }

    #[test]
    fn what_a_device_has_does_not_come() {
        let text = chain(&["asin", "sqrt"]);
        assert_eq!(supplied(&text, &TargetLibraryInfo::PTX), ["f", "schism.lib.asin"]);
        assert_eq!(
            supplied(&text, &TargetLibraryInfo::NOTHING),
            ["f", "schism.lib.asin", "schism.lib.sqrt"]
        );
        // Functions that only the library calls, too.
        let alone = supplied(&chain(&["asin"]), &TargetLibraryInfo::NOTHING);
        assert_eq!(alone, ["f", "schism.lib.asin", "schism.lib.sqrt"]);
    }

    #[test]
    fn names_of_the_library_in_an_image_are_refused() {
        let context = Context::new();
        let text = "define double @schism.lib.sin(double %x) {\n  ret double %x\n}\n";
        let module = Module::from_text(&context, text).expect("good text");
        let error = supply(&context, &module, &TargetLibraryInfo::PTX).expect_err("a name of ours");
        assert!(matches!(error, JitError::InvalidImage(_)), "{error}");
    }
}
