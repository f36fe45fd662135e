//! Prepares the device library, so that a kernel that calls it has little to read and nothing to clean up.
//!
//! rustc's bitcode of `libm` is a thousand functions, most of which are one operation, and one of C's calls dozens of them. Reading what
//! all of them are called, inlining those that a kernel needs one by one, and simplifying that, took stage 2 longer than all of an average
//! kernel. Here that is done once, as far as it is the same for all devices. Before:
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
//! After, in a module of its own:
//!
//! ```llvm
//! define double @schism.lib.cbrt(double %x) {
//!   %1 = bitcast double %x to i64
//!   …                                              ; its arithmetic, and no calls
//! ```
//!
//! A module is made for each function that is exported. It has all that the function needs: what several functions share is in the
//! modules of all of them (`linkonce_odr`), and linked once. Only other exported functions are declared, not defined: those that some
//! devices compute by themselves with correct rounding. They are called by their exported names.
//!
//! **What is left to stage 2** is all that depends on the device: how long loops look, what is a vector, and whether what is large or rare
//! is a function of its own. No operation is relaxed: LLVM's passes keep results, bit for bit, unless an instruction allows
//! them not to, and none does.

use std::ffi::CStr;
use std::fmt::Write;
use std::path::Path;

use super::llvm::{Linkage, Llvm, Module, Value};

/// What comes before a function's name in C, in the name of its symbol.
const PREFIX: &str = "schism.lib.";

/// What some devices compute by themselves with correct rounding. Each is a function of `libm`, by its module and its name, and has an exported one
/// that only calls it.
const CORRECTLY_ROUNDED: [&str; 7] = ["sqrt", "fma", "floor", "ceil", "trunc", "rint", "round"];

/// Where the functions of `libm` are, in their symbols.
const MATH: &str = "_4libm4math";

/// Functions that few arguments need, by the ends of their symbols: the remainder of large angles. Its loops, unrolled into each
/// sine, would be ten times the rest. Stage 2 takes it as it is (`optnone`): to optimise it took longer than all else in a kernel with a
/// sine, and on GPUs the driver's assembler makes as good code of it.
const RARE: [&str; 1] = ["_4libm4math14rem_pio2_large14rem_pio2_large"];

/// How data lie in memory on all devices, and the integers that all of them compute with.
const LAYOUT: &CStr = c"e-i64:64-i128:128-n32:64";

/// What LLVM is opened with: how large a function may be that is inlined wherever it is called, in LLVM's measure, which is 5 for most
/// instructions. `exp` and `log` may be inlined, `pow` not.
pub const OPTIONS: [&CStr; 2] = [c"-inline-threshold=800", c"-inline-cold-callsite-threshold=800"];

/// From callees to callers: inlines what is small or called once, and simplifies it. Jumps find their way before anything is made
/// a `select`, as in stage 2. Loops over the few coefficients of a polynomial are made straight.
const SIMPLIFY: &CStr = c"always-inline,cgscc(inline,function(lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,correlated-propagation,instcombine<no-verify-fixpoint>,simplifycfg,loop(indvars,loop-deletion,loop-unroll-full),sroa,instcombine<no-verify-fixpoint>,simplifycfg)),globaldce,cgscc(function-attrs)";

/// Makes declarations of what others define, and drops what nothing uses.
const TRIM: &CStr = c"elim-avail-extern,globaldce,strip-dead-prototypes";

/// Makes of the bitcode of the library's two crates one file for each exported function, in a folder that is there, and a Rust
/// expression: what `schism-jit` knows of the library.
pub fn prepare(llvm: &Llvm, exports: &Path, libm: &Path, folder: &Path) -> String {
    let library = llvm.read(exports);
    library.link(llvm.read(libm));
    library.set_layout(LAYOUT);
    hide(&library);
    export_correctly_rounded(&library);
    simplify(&library);
    split(&library, folder)
}

/// Leaves only what is exported to be seen, and nothing that depends on the machine that compiles.
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
            // The crates do not panic. Where the optimiser does not see that, nothing must be needed for it.
            if !function.has_attribute("noreturn") {
                continue;
            }
            function.remove_attribute("noinline");
            function.remove_attribute_of_calls("noinline");
            function.add_attribute("alwaysinline");
            library.define_as_trap(function);
        }
        function.remove_personality();
        if !function.name().starts_with(PREFIX) {
            function.set_linkage(Linkage::Internal);
        }
        if is_rare(&function) {
            for name in ["noinline", "optsize", "minsize", "cold"] {
                function.add_attribute(name);
            }
        }
    }
}

/// Has what some devices compute by themselves be called by its exported name.
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
            // Where it is only declared LLVM has to be told: its result depends on nothing else, and that is all that it does.
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

/// Whether a function, exported or not, may be exchanged for an instruction.
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
    // What is called once in this module, and in others too, is inlined now.
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
