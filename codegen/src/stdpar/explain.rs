//! `--stdpar=explain`: a note for each pipeline, at its place in the source.

use std::collections::HashSet;

use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_session::Session;
use rustc_span::Span;

use crate::kernels;
use crate::runtime_items::RuntimeItems;
use crate::rustc::MonoItem;
use crate::stdpar;
use crate::stdpar::{inject, sorts};

/// Of a type in a note, as many characters.
const LONGEST: usize = 200;

/// Whether the build is to say of each pipeline what becomes of it.
pub(crate) fn is_asked() -> bool {
    std::env::var(inject::MODE).is_ok_and(|mode| mode == inject::EXPLAIN)
}

/// Where a pipeline is.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its first closure that stands in the crate.
    closure: Option<Span>,
    /// Its producer's type, which says of what items it is.
    producer: String,
    is_sort: bool,
}

impl Place {
    /// The place of the pipeline that a kernel is made of.
    pub(crate) fn of<'tcx>(tcx: TyCtxt<'tcx>, entry: Instance<'tcx>) -> Self {
        let kernel = entry.args.type_at(0);
        Self {
            closure: local_closure(tcx, kernel.walk()),
            producer: stdpar::pipeline_of(tcx, kernel)
                .map_or_else(String::new, |args| in_words(args.type_at(0))),
            is_sort: sorts::is_kernel(tcx, kernel),
        }
    }

    /// The place of a sort, by the function that sorts on the host.
    fn of_sort<'tcx>(tcx: TyCtxt<'tcx>, function: Instance<'tcx>) -> Self {
        Self {
            closure: function.args.types().find_map(|ty| local_closure(tcx, ty.walk())),
            producer: in_words(function.args.type_at(0)),
            is_sort: true,
        }
    }
}

/// The first closure or function of the crate among the parts of a type.
fn local_closure<'tcx>(
    tcx: TyCtxt<'tcx>,
    parts: impl IntoIterator<Item = ty::GenericArg<'tcx>>,
) -> Option<Span> {
    parts.into_iter().find_map(|argument| match *argument.as_type()?.kind() {
        ty::Closure(def_id, _) | ty::FnDef(def_id, _) if def_id.is_local() => {
            Some(tcx.def_span(def_id))
        }
        _ => None,
    })
}

/// A type's beginning.
fn in_words(ty: Ty<'_>) -> String {
    let text = with_no_trimmed_paths!(ty.to_string());
    if text.chars().count() > LONGEST {
        return text.chars().take(LONGEST).chain("...".chars()).collect();
    }
    text
}

/// Prints a note for each pipeline that became a kernel, and for each that did not, with why.
pub(crate) fn tell<'p>(
    sess: &Session,
    became: impl Iterator<Item = (&'p Place, Option<&'p str>)>,
    refused: impl Iterator<Item = (&'p Place, &'p String)>,
) {
    let mut told: HashSet<Span> = HashSet::new();
    for (place, only_in_process) in became {
        if place.closure.is_none_or(|span| told.insert(span)) {
            match only_in_process {
                None => note(sess, place, "becomes a kernel"),
                Some(why) => note(sess, place, &format!("becomes a kernel on `cpu` only: {why}")),
            }
        }
    }
    // `collect` has a second way with the same closure, for iterators without a length, which never
    // runs for others.
    for (place, why) in refused {
        if place.closure.is_none_or(|span| told.insert(span)) {
            note(sess, place, &format!("stays with rayon: {why}"));
        }
    }
}

/// Prints a note for each pipeline that types exclude, if the build asks for it.
pub(crate) fn tell_types(tcx: TyCtxt<'_>, runtime: &[RuntimeItems]) {
    const WHY: &str = "it has no kernel";
    const SORT: &str =
        "its elements are dropped, may change while they are compared, or are not `Sync`";
    if !is_asked() {
        return;
    }
    let mut told: HashSet<Span> = HashSet::new();
    let mut tell = |place: &Place| {
        if place.closure.is_none_or(|span| told.insert(span)) {
            let why = if place.is_sort { SORT } else { WHY };
            note(tcx.sess, place, &format!("stays with rayon: {why}"));
        }
    };
    let units = tcx.collect_and_partition_mono_items(()).codegen_units;
    for (marker, _) in units.iter().flat_map(|unit| kernels::markers_of(unit, runtime)) {
        let is_told = !stdpar::is_secondary(tcx, marker.args.type_at(0));
        if is_told && !stdpar::may_be_kernel(tcx, marker) {
            tell(&Place::of(tcx, marker));
        }
    }
    for item in units.iter().flat_map(|unit| unit.items().keys()) {
        if let MonoItem::Fn(function) = item
            && sorts::is_of_host_only(tcx, *function)
        {
            tell(&Place::of_sort(tcx, *function));
        }
    }
}

fn note(sess: &Session, place: &Place, text: &str) {
    let what = if place.is_sort { "sort" } else { "iterator" };
    let text = format!("this parallel {what} {text}");
    match place.closure {
        Some(span) => sess.dcx().struct_span_note(span, text).emit(),
        None if place.is_sort => {
            sess.dcx().note(format!("{text}: its elements are `{}`", place.producer));
        }
        None => sess.dcx().note(format!("{text}: its producer is `{}`", place.producer)),
    }
}
