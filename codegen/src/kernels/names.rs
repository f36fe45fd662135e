//! Names: paths of items for people, and symbols.

use rustc_hir::def::DefKind;
use rustc_middle::ty::print::{with_no_trimmed_paths, with_no_visible_paths};
use rustc_middle::ty::{self, GenericArg, GenericArgsRef, TyCtxt};
use rustc_span::def_id::{CrateNum, DefId};
use rustc_span::{RemapPathScopeComponents, Span, Symbol, sym};

/// The full path of an item: rustc's short paths are only for errors that will be emitted.
pub(crate) fn path_of(tcx: TyCtxt<'_>, def_id: DefId) -> String {
    with_no_trimmed_paths!(tcx.def_path_str(def_id))
}

/// The path of an item where it is defined, whatever shorter ones there are.
pub(crate) fn own_path_of(tcx: TyCtxt<'_>, def_id: DefId) -> String {
    with_no_trimmed_paths!(with_no_visible_paths!(tcx.def_path_str(def_id)))
}

/// File and line of a span, as `core::panic::Location` has them: of what a macro makes, where the
/// user calls it; the file as `--remap-path-prefix` names it in programs.
pub(super) fn location_of(tcx: TyCtxt<'_>, span: Span) -> Option<String> {
    if span.is_dummy() {
        return None;
    }
    let topmost = span.ctxt().outer_expn().expansion_cause().unwrap_or(span);
    let place = tcx.sess.source_map().lookup_char_pos(topmost.lo());
    let file = place.file.name.display(RemapPathScopeComponents::MACRO);
    Some(format!("{}:{}", file.to_string_lossy(), place.line))
}

/// Of a type in a name, as many characters.
const LONGEST_TYPE: usize = 48;

/// The path of a closure, or of a function, with the types that the generic function around it has
/// in this instance: `twice::<f32>::{closure#0}`. Those tell instances with one place apart.
pub(crate) fn path_with_args<'tcx>(
    tcx: TyCtxt<'tcx>,
    def_id: DefId,
    args: GenericArgsRef<'tcx>,
) -> String {
    let path = path_of(tcx, def_id);
    let function = tcx.typeck_root_def_id(def_id);
    let count = tcx.generics_of(function).count();
    let shown: Vec<String> = args
        .iter()
        .take(count)
        .filter(|argument| argument.as_region().is_none())
        .map(|argument| argument_in_words(tcx, argument))
        .collect();
    let around = path_of(tcx, function);
    match path.strip_prefix(&around) {
        Some(inside) if !shown.is_empty() => format!("{around}::<{}>{inside}", shown.join(", ")),
        _ => path,
    }
}

/// A type or a constant, or as much of it as fits: of a closure the end of its place, of others the
/// beginning.
fn argument_in_words<'tcx>(tcx: TyCtxt<'tcx>, argument: GenericArg<'tcx>) -> String {
    if let Some(ty) = argument.as_type()
        && let ty::Closure(def_id, _) = *ty.kind()
        && let Some(place) = location_of(tcx, tcx.def_span(def_id))
    {
        let left_out = place.chars().count().saturating_sub(LONGEST_TYPE);
        let dots = if left_out > 0 { "..." } else { "" };
        return format!("{{closure@{dots}{}}}", place.chars().skip(left_out).collect::<String>());
    }
    let text = with_no_trimmed_paths!(argument.to_string());
    if text.chars().count() <= LONGEST_TYPE {
        return text;
    }
    text.chars().take(LONGEST_TYPE).chain("...".chars()).collect()
}

/// The path of the module that an item stands in.
pub(super) fn module_of(tcx: TyCtxt<'_>, mut def_id: DefId) -> String {
    while tcx.def_kind(def_id) != DefKind::Mod {
        def_id = tcx.parent(def_id);
    }
    path_of(tcx, def_id)
}

/// Whether a crate is one of the standard library's.
pub(crate) fn is_std(krate: Symbol) -> bool {
    matches!(krate, sym::core | sym::alloc | sym::std)
}

/// Identifies a crate among all crates of a program, in symbols.
pub(crate) fn crate_id(tcx: TyCtxt<'_>, krate: CrateNum) -> String {
    format!("{:016x}", tcx.stable_crate_id(krate).as_u64())
}

/// The symbol of the first byte of a crate's container.
pub(crate) fn container_begin(crate_id: &str) -> String {
    format!("__schism_hcf_{crate_id}")
}

/// The symbol after the last byte of a crate's container.
pub(crate) fn container_end(crate_id: &str) -> String {
    format!("__schism_hcf_{crate_id}_end")
}

/// A symbol as a readable path.
pub(crate) fn readable(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

/// Whether a symbol is an allocation function.
pub(crate) fn is_allocator(symbol: &str) -> bool {
    ["__rust_alloc", "__rust_realloc"].iter().any(|name| symbol.contains(name))
}
