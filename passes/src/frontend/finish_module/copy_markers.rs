//! Lets kernels use copies of small values that they refer to, where that is not observable.
//!
//! Before:
//! ```llvm
//!   %own = alloca [64 x i8]                            ; has what %original points to
//!   %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
//!   %value = load i64, ptr %which
//! ```
//! After:
//! ```llvm
//!   %value = load i64, ptr %own
//! ```
//!
//! A parallel iterator's closure refers to the locals that it captures. They are on the host's
//! stack, and a GPU would read them over the link, each sub-group anew. So launches bring copies of
//! such values, which nothing changes meanwhile. With the copy's address in the place of the
//! original's, LLVM's passes make parameters of what is read.
//!
//! The two addresses differ. Where a kernel stores the address, or compares it with another one, all
//! its markers become the original's address, and nothing is gained. Whether that is so is looked
//! at in a copy of the module that is inlined: comparisons before the copies are in place
//! (`check::address_identity`), stores afterwards, when most of these variables are no more.

use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{IntoValue, Opcode, Value};

use crate::check::{address_identity, capabilities, host_memory, recursion};
use crate::frontend::{kernel_reachability, simplify};
use crate::spec::builtins::COPY_OF;
use crate::spec::image::KernelImage;

/// What names of variables begin with that have copies. LLVM keeps that of parts of a variable.
const NAME: &str = "schism.copy";

/// Lowers the markers of a module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub(super) fn lower(module: &Module<'_>, kernels: &[KernelImage]) -> Result<(), String> {
    if markers(module).is_empty() {
        return Ok(());
    }
    let inlined = module.clone();
    let with_copies = inline_marked(&inlined, kernels)?;
    for marker in markers(&inlined) {
        let variable = marker.operand(0);
        variable.set_name(NAME);
        marker.replace_with(variable);
    }
    simplify::promote(&inlined)?;
    let may_use_copies = |kernel: &KernelImage| {
        let functions = capabilities::reached_from(&entries(&inlined, kernel));
        let is_copy = |instruction: &Value<'_>| {
            instruction.opcode() == Some(Opcode::Alloca) && instruction.name().starts_with(NAME)
        };
        let instructions = functions.iter().flat_map(|function| function.instructions());
        let variables: Vec<Value<'_>> = instructions.filter(is_copy).collect();
        with_copies.contains(&kernel.name)
            && !host_memory::can_be_told_apart(&functions, &variables)
    };
    let mut uses_copies: HashMap<Value<'_>, bool> = HashMap::new();
    for kernel in kernels {
        let may = may_use_copies(kernel);
        for function in capabilities::reached_from(&entries(module, kernel)) {
            *uses_copies.entry(function).or_insert(true) &= may;
        }
    }
    for marker in markers(module) {
        let uses_copy = uses_copies.get(&marker.parent_function()).is_some_and(|uses| *uses);
        marker.replace_with(marker.operand(if uses_copy { 0 } else { 1 }));
    }
    Ok(())
}

/// Inlines all that kernels with markers call. Returns those of them that do not compare what the
/// markers return, and do not call themselves in a circle.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
fn inline_marked<'k>(
    module: &Module<'_>,
    kernels: &'k [KernelImage],
) -> Result<HashSet<&'k String>, String> {
    let marked: HashSet<Value<'_>> =
        markers(module).into_iter().map(|marker| marker.parent_function()).collect();
    let mut found: HashSet<&String> = HashSet::new();
    let mut roots: HashSet<&str> = HashSet::new();
    for kernel in kernels {
        let entries = entries(module, kernel);
        let functions = capabilities::reached_from(&entries);
        if !functions.iter().any(|function| marked.contains(function))
            || recursion::has_circle(&functions)
        {
            continue;
        }
        found.insert(&kernel.name);
        roots.extend(
            [Some(&kernel.name), kernel.offset_variant.as_ref()]
                .into_iter()
                .flatten()
                .map(String::as_str),
        );
        let is_inlined = |function: &&Value<'_>| {
            !entries.contains(function)
                && !function.is_declaration()
                && !function.has_function_attribute("cold")
        };
        for function in functions.iter().filter(is_inlined) {
            function.remove_function_attribute("noinline");
            function.remove_function_attribute("optnone");
            function.add_function_attribute("alwaysinline", 0);
        }
    }
    kernel_reachability::run(module, &roots)?;
    simplify::run(module)?;
    let all = markers(module);
    for kernel in kernels {
        let functions = capabilities::reached_from(&entries(module, kernel));
        let own = all.iter().filter(|marker| functions.contains(&marker.parent_function()));
        if address_identity::is_observed(&functions, &own.copied().collect::<Vec<_>>()) {
            found.remove(&kernel.name);
        }
    }
    Ok(found)
}

/// The functions of a kernel that a launch may begin with.
fn entries<'m>(module: &'m Module<'_>, kernel: &KernelImage) -> Vec<Value<'m>> {
    let names = [Some(&kernel.name), kernel.offset_variant.as_ref()];
    let functions = names.into_iter().flatten().filter_map(|name| module.get_function(name));
    functions.map(|function| function.value()).collect()
}

/// The calls of the marker.
fn markers<'m>(module: &'m Module<'_>) -> Vec<Value<'m>> {
    let Some(function) = module.get_function(COPY_OF).map(|function| function.value()) else {
        return Vec::new();
    };
    function.users().into_iter().filter(|user| user.callee() == Some(function)).collect()
}
