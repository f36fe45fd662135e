//! Links functions without MIR from the standard library's bitcode.
//!
//! Before:
//! ```llvm
//! define void @kernel() { call void @core::str::converts::from_utf8(...) ... }
//! declare void @core::str::converts::from_utf8(ptr, ptr, i64)
//! ```
//! After:
//! ```llvm
//! define void @kernel() { call void @core::str::converts::from_utf8(...) ... }
//! define internal void @core::str::converts::from_utf8(ptr, ptr, i64) { ... }
//! ```
//!
//! The [`StdBodies`] knows which functions and constants of the standard library a kernel can have.
//! Only what is declared and in use is linked, with what that reaches in turn; a module of which
//! nothing is needed is not read. What comes in is the host's code, so it is shaped as the rest of
//! the module has been before: [`prepare_module`], [`lower_unwind`], [`lower_panics`], and so on.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, IntoValue, Linkage, Value, collect_errors};
use thiserror::Error;

use crate::analysis::cleanup::has_pads;
use crate::frontend::freeze_initialisers;
use crate::frontend::kernel_reachability;
use crate::frontend::lower_panics;
use crate::frontend::lower_unwind;
use crate::frontend::prepare_module;
use crate::frontend::simplify;
use crate::frontend::std_bodies::build_index::PERSONALITY;
use crate::spec::std_bodies::bodies::StdBodies;
use crate::spec::std_bodies::index::Index;
use crate::spec::std_bodies::module::{ModuleRef, StdBodiesError};

/// Why bodies cannot be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// Their std_bodies has none after all.
    #[error(transparent)]
    StdBodies(#[from] StdBodiesError),
    /// LLVM cannot link a module.
    #[error("{} cannot be linked: {message}", path.display())]
    Link {
        /// Where the module is from.
        path: std::path::PathBuf,
        /// LLVM's message.
        message: String,
    },
    /// A pass of LLVM failed.
    #[error("{0}")]
    Pass(String),
}

/// Runs the pass; `kernels` are the names of the kernel functions. It stands after the cleanup, so
/// that nothing comes in for code that is dead, and cleans up after itself.
///
/// # Errors
/// See [`ImportError`].
pub fn run(
    module: &Module<'_>,
    std_bodies: Option<&StdBodies>,
    kernels: &HashSet<&str>,
) -> Result<(), ImportError> {
    let declared = declared_and_used(module);
    let Some(std_bodies) = std_bodies.filter(|_| !declared.is_empty()) else { return Ok(()) };
    let index = std_bodies.index()?;
    let functions = module.handle().functions().into_iter();
    let unwinding: HashSet<Value<'_>> = functions.filter(|&function| has_pads(function)).collect();
    if !declared.iter().any(|name| index.bodies.contains_key(name)) {
        return Ok(());
    }
    // Messages are formatted by descriptions; formatting functions come only to code that formats.
    let formats = |declared: &[String]| declared.contains(&index.special.writer);
    let formatters = index.special.formatters.iter().map(|formatter| &*formatter.symbol);
    let panics = index.special.panics.iter().map(|panic| &*panic.symbol).chain([PERSONALITY]);
    if !formats(&declared) {
        let held = hold_back(module, panics.clone().chain(formatters));
        link_all(module, index, &mut |declared| !formats(declared))?;
        release(held);
    }
    if formats(&declared_and_used(module)) {
        let held = hold_back(module, panics);
        link_all(module, index, &mut |_| true)?;
        release(held);
    }
    prepare_module::run(module, false);
    lower_unwind::run_except(module.handle(), &unwinding).map_err(ImportError::Pass)?;
    let special = &index.special;
    lower_panics::run(module, &special.formatters, &special.panics, &special.types);
    kernel_reachability::run(module, kernels).map_err(ImportError::Pass)?;
    freeze_initialisers::run(module);
    simplify::run(module).map_err(ImportError::Pass)
}

/// The names of functions and globals without a body that something uses.
fn declared_and_used(module: &Module<'_>) -> Vec<String> {
    let functions = module.get_functions().map(|function| function.value());
    let globals = module.get_globals().map(|global| global.value());
    functions
        .chain(globals)
        .filter(|&object| object.is_declaration() && object.is_used())
        .map(Value::name)
        .filter(|name| !name.starts_with("llvm."))
        .collect()
}

/// Links what is declared, module by module, for as long as `go_on` says so of what is declared.
fn link_all(
    module: &Module<'_>,
    index: &Index,
    go_on: &mut dyn FnMut(&[String]) -> bool,
) -> Result<(), ImportError> {
    for (number, source) in index.modules.iter().enumerate() {
        // What earlier modules brought in may need this one.
        let needs = |name: &String| index.bodies.get(name) == Some(&number);
        let declared = declared_and_used(module);
        if !go_on(&declared) {
            break;
        }
        if declared.iter().any(needs) {
            link(module, source, index)?;
        }
    }
    Ok(())
}

/// Gives the functions that shall not come in a body for as long as others do: the linker keeps it.
fn hold_back<'a, 'm>(
    module: &'m Module<'_>,
    names: impl Iterator<Item = &'a str>,
) -> Vec<Value<'m>> {
    let mut held = Vec::new();
    let context = module.handle().context();
    for name in names {
        let function = module.handle().function(name).unwrap_or_else(|| {
            module.handle().add_function(name, context.void_type().function(&[], false))
        });
        if function.num_blocks() == 0 {
            Builder::at_end(function.append_block("")).unreachable();
            held.push(function);
        }
    }
    held
}

/// Takes the bodies of [`hold_back`] away again.
fn release(functions: Vec<Value<'_>>) {
    for function in functions {
        function.entry().delete();
        if !function.is_used() {
            function.delete_function();
        }
    }
}

/// Links what `module` declares and `source` defines, and what that needs.
fn link(module: &Module<'_>, source: &ModuleRef, index: &Index) -> Result<(), ImportError> {
    let mut unwanted = declared_and_used(module);
    unwanted.retain(|name| !index.bodies.contains_key(name));
    let bitcode = source.bitcode()?;
    let target = module.handle();
    let (is_linked, messages) = collect_errors(target.context(), || {
        let parsed =
            schism_llvm::Module::from_bitcode_lazily(target.context(), &bitcode, c"provided");
        let Some(parsed) = parsed else { return false };
        make_optional(parsed.handle());
        hide(parsed.handle(), &unwanted);
        target.link(parsed)
    });
    if !is_linked {
        return Err(ImportError::Link {
            path: source.path().to_owned(),
            message: messages.join("; "),
        });
    }
    Ok(())
}

/// Lets the linker leave out what is not used.
fn make_optional(source: schism_llvm::ModuleRef<'_>) {
    let mut lists = Vec::new();
    for global in source.globals() {
        if global.name().starts_with("llvm.") {
            // What the host's linker must keep says nothing about what a kernel reaches.
            lists.push(global);
        } else {
            relink(global);
        }
    }
    lists.into_iter().for_each(|list| list.delete_global());
    for function in source.functions() {
        relink(function);
    }
    source.aliases().into_iter().for_each(relink);
    source.remove_inline_assembly();
}

/// Gives what a kernel cannot have another name, so that the linker does not take it for what is
/// declared. Nothing that is wanted needs it.
fn hide(source: schism_llvm::ModuleRef<'_>, names: &[String]) {
    for name in names {
        for object in [source.function(name), source.global(name)].into_iter().flatten() {
            object.set_name("schism.hidden");
        }
    }
}

fn relink(object: Value<'_>) {
    if !object.is_declaration() && !object.is_local() {
        object.set_linkage(Linkage::LinkOnceODR);
    }
}
