//! Prepares the device library, so that a kernel that calls it has little to read and nothing to
//! clean up.
//!
//! rustc's bitcode of `libm` has a thousand functions, most of which are one operation, and a
//! function of C calls dozens of them. Reading their names, inlining those that a kernel needs one
//! by one, and simplifying that took stage 2 longer than the rest of an average kernel. Here that
//! is done once, where it is the same for all devices. Before:
//!
//! ```llvm
//! define double @schism.lib.cbrt(double %x) {
//!   %r = call double @_RNvNtNtCs…_4libm4math4cbrt4cbrt(double %x)
//!   ret double %r
//! }
//! define double @_RNvNtNtCs…_4libm4math4cbrt4cbrt(double %x) {
//!   %bits = call i64 @_RNvMNtCs…_4core3f64d7to_bits(double %x)
//!   …
//! ```
//!
//! After, in its own module:
//!
//! ```llvm
//! define double @schism.lib.cbrt(double %x) {
//!   %1 = bitcast double %x to i64
//!   …                                              ; its arithmetic, and no calls
//! ```
//!
//! Each exported function gets a module with everything that it needs: what several functions share
//! is in the modules of all of them (`linkonce_odr`), and linked once. Only other exported
//! functions are declared, not defined: those that some devices compute by themselves with correct
//! rounding. They are called by their exported names.
//!
//! **Stage 2 still decides** what depends on the device: unrolling, vectorisation, and whether
//! large or rare code is its own function. No operation is relaxed: LLVM's passes keep
//! results, bit for bit, unless an instruction allows otherwise, and none does.

use std::ffi::CStr;
use std::fmt::Write;
use std::path::Path;

use super::llvm::{Linkage, Llvm, Module, Value};

/// The prefix of a function's name in C, in the name of its symbol.
const PREFIX: &str = "schism.lib.";

/// Functions that some devices compute by themselves with correct rounding. Each is a function of
/// `libm`, by its module and its name, and has an exported one that only calls it.
const CORRECTLY_ROUNDED: [&str; 7] = ["sqrt", "fma", "floor", "ceil", "trunc", "rint", "round"];

/// The path of `libm`'s functions, in their symbols.
const MATH: &str = "_4libm4math";

/// Functions that few arguments need, by the ends of their symbols: the remainder of large angles.
/// Its loops, unrolled into each sine, would be ten times the rest. Stage 2 does not optimise it
/// (`optnone`): that took longer than everything else in a kernel with a sine, and on GPUs the
/// driver's assembler generates equally good code.
const RARE: [&str; 1] = ["_4libm4math14rem_pio2_large14rem_pio2_large"];

/// The value of LLVM's attribute `memory` for `argmem: readwrite`: two bits are for the memory of
/// arguments, and the others for all else.
const OF_ARGUMENTS: u64 = 0b11;

/// The data layout of all devices, with the integers that all of them support.
const LAYOUT: &CStr = c"e-i64:64-i128:128-n32:64";

/// LLVM's options: the size up to which a function is inlined everywhere, in LLVM's measure, which
/// is 5 for most instructions. `exp` and `log` may be inlined, `pow` not.
pub const OPTIONS: [&CStr; 2] = [c"-inline-threshold=800", c"-inline-cold-callsite-threshold=800"];

/// From callees to callers: inlines functions that are small or called once, and simplifies them.
/// Jump threading runs before anything becomes a `select`, as in stage 2. Loops over the few
/// coefficients of a polynomial are unrolled.
const SIMPLIFY: &CStr = c"always-inline,cgscc(inline,function(lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,correlated-propagation,instcombine<no-verify-fixpoint>,simplifycfg,loop(indvars,loop-deletion,loop-unroll-full),sroa,instcombine<no-verify-fixpoint>,simplifycfg)),globaldce,cgscc(function-attrs)";

/// Turns definitions of other modules into declarations, and removes what is unused.
const TRIM: &CStr = c"elim-avail-extern,globaldce,strip-dead-prototypes";

/// Writes one file for each exported function from the bitcode of the library's two crates, to an
/// existing folder, and a Rust expression: the table for `schism-jit`.
pub fn prepare(llvm: &Llvm, exports: &Path, libm: &Path, folder: &Path) -> String {
    let library = llvm.read(exports);
    library.link(llvm.read(libm));
    library.set_layout(LAYOUT);
    hide(&library);
    export_correctly_rounded(&library);
    simplify(&library);
    split(&library, folder)
}

/// Hides everything that is not exported, and removes what depends on the compiling machine.
fn hide(library: &Module<'_>) {
    let rare = library.functions().into_iter().filter(is_rare).count();
    assert!(rare == RARE.len(), "the device library has {rare} rare functions");
    for function in library.functions() {
        for name in ["target-cpu", "target-features", "tune-cpu", "probe-stack", "stack-probe-size"]
        {
            function.remove_text_attribute(name);
        }
        for name in ["uwtable", "nonlazybind", "ssp", "sspstrong", "sspreq"] {
            function.remove_attribute(name);
        }
        if function.is_declaration() {
            // The crates do not panic. Where the optimiser cannot prove that, the panic must not
            // need anything.
            if !function.has_attribute("noreturn") {
                continue;
            }
            function.remove_attribute("noinline");
            function.remove_attribute_of_calls("noinline");
            function.add_attribute("alwaysinline");
            library.define_as_trap(function);
        }
        function.remove_personality();
        // `libm` reads numbers that it does not need, to have the processor note how they are rounded.
        // Rust does not know of these notes, and no device keeps them.
        function.forget_volatile();
        if !function.name().starts_with(PREFIX) {
            function.set_linkage(Linkage::Internal);
        }
        if is_rare(&function) {
            // Its callers are what they are because of it, and LLVM does not see that its loops end.
            let all = [
                "noinline",
                "optsize",
                "minsize",
                "cold",
                "nounwind",
                "willreturn",
                "nosync",
                "nofree",
            ];
            for name in all {
                function.add_attribute(name);
            }
            function.add_attribute_with("memory", OF_ARGUMENTS);
        }
    }
}

/// Calls what some devices compute by themselves by its exported name.
fn export_correctly_rounded(library: &Module<'_>) {
    for name in CORRECTLY_ROUNDED {
        for (suffix, length) in [("", name.len()), ("f", name.len() + 1)] {
            let exported = format!("{PREFIX}{name}{suffix}");
            let end = format!("{MATH}{}{name}{length}{name}{suffix}", name.len());
            let found = library.functions().into_iter().find(|f| f.name().ends_with(&end));
            let (Some(own), Some(wrapper)) = (found, library.function(&exported)) else {
                panic!("the device library has no `{exported}` over `…{end}`");
            };
            wrapper.delete_for(own);
            own.set_name(&exported);
            own.set_linkage(Linkage::External);
            // LLVM cannot infer this from a declaration: the result depends on nothing else, and
            // there are no side effects.
            for attribute in ["memory", "nofree", "nosync", "willreturn"] {
                own.add_attribute(attribute);
            }
        }
    }
}

/// Whether few arguments need a function.
fn is_rare(function: &Value<'_>) -> bool {
    RARE.iter().any(|rare| function.name().ends_with(rare))
}

/// Whether an instruction may replace a function, exported or not.
fn is_correctly_rounded(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|name| {
        CORRECTLY_ROUNDED
            .iter()
            .any(|known| name == *known || name.strip_suffix('f') == Some(known))
    })
}

/// Inlines and simplifies, so that no correctly rounded function is lost.
fn simplify(library: &Module<'_>) {
    let found = |function: &Value<'_>| is_correctly_rounded(&function.name());
    let functions: Vec<_> = library.functions().into_iter().filter(found).collect();
    for function in &functions {
        function.add_attribute("noinline");
    }
    library.run_passes(SIMPLIFY);
    for function in functions {
        function.remove_attribute("noinline");
    }
}

/// Writes a module for each exported function.
fn split(library: &Module<'_>, folder: &Path) -> String {
    let defined = library.functions().into_iter().filter(|function| !function.is_declaration());
    let mut names = Vec::new();
    for function in defined {
        let symbol = function.name();
        match symbol.strip_prefix(PREFIX) {
            Some(name) => names.push(name.to_owned()),
            None => function.set_name(&format!("{PREFIX}{symbol}")),
        }
    }
    names.sort();
    let mut table =
        format!("Library {{\n    correctly_rounded: &{CORRECTLY_ROUNDED:?},\n    functions: &[\n");
    for name in &names {
        let part = part(library, name, &names);
        let file = folder.join(format!("{name}.bc"));
        std::fs::write(&file, part.bitcode())
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        writeln!(table, "        ({name:?}, include_bytes!({file:?})),")
            .expect("writing to a string");
    }
    table + "    ],\n}\n"
}

/// The module for one of the exported functions.
fn part<'l>(library: &Module<'l>, name: &str, exported: &[String]) -> Module<'l> {
    let part = library.clone();
    part.set_name(&format!("{PREFIX}{name}"));
    let others = |symbol: &str| {
        let other = symbol.strip_prefix(PREFIX);
        other.is_some_and(|other| other != name && exported.iter().any(|name| name == other))
    };
    for function in part.functions().into_iter().filter(|function| !function.is_declaration()) {
        if others(&function.name()) {
            function.set_linkage(Linkage::Elsewhere);
        }
    }
    part.run_passes(TRIM);
    // Functions called once in this module, but also in others, are inlined now.
    part.run_passes(SIMPLIFY);
    for function in part.functions().into_iter().filter(is_rare) {
        // LLVM does not allow both.
        function.remove_attribute("optsize");
        function.remove_attribute("minsize");
        function.add_attribute("optnone");
    }
    for value in part.functions().into_iter().chain(part.globals()) {
        if !value.is_declaration() && value.name().strip_prefix(PREFIX) != Some(name) {
            value.set_linkage(Linkage::Optional);
        }
    }
    part.verify();
    part
}
