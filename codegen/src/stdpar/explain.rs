//! `--stdpar=explain`: a note for each pipeline, at its place in the source.

use std::collections::HashSet;

use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, TyCtxt};
use rustc_session::Session;
use rustc_span::Span;

use crate::kernels;
use crate::runtime_items::RuntimeItems;
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
        let closure = kernel.walk().find_map(|argument| match *argument.as_type()?.kind() {
            ty::Closure(def_id, _) | ty::FnDef(def_id, _) if def_id.is_local() => {
                Some(tcx.def_span(def_id))
            }
            _ => None,
        });
        let producer = stdpar::pipeline_of(tcx, kernel).map(|args| args.type_at(0));
        let mut producer = producer
            .map_or_else(String::new, |producer| with_no_trimmed_paths!(producer.to_string()));
        if producer.chars().count() > LONGEST {
            producer = producer.chars().take(LONGEST).chain("...".chars()).collect();
        }
        Self { closure, producer, is_sort: sorts::is_kernel(tcx, kernel) }
    }
}

/// Prints a note for each pipeline that became a kernel, and for each that did not, with why.
pub(crate) fn tell<'p>(
    sess: &Session,
    became: impl Iterator<Item = &'p Place>,
    refused: impl Iterator<Item = (&'p Place, &'p String)>,
) {
    let mut told: HashSet<Span> = HashSet::new();
    for place in became {
        if place.closure.is_none_or(|span| told.insert(span)) {
            note(sess, place, "becomes a kernel");
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
    const WHY: &str = "its values may hold functions, and those of a kernel are not the host's";
    const SORT: &str =
        "its elements are dropped, may hold functions, or may change while they are compared";
    if !is_asked() {
        return;
    }
    let units = tcx.collect_and_partition_mono_items(()).codegen_units;
    let mut told: HashSet<Span> = HashSet::new();
    for (marker, _) in units.iter().flat_map(|unit| kernels::markers_of(unit, runtime)) {
        let is_told = !stdpar::is_secondary(tcx, marker.args.type_at(0));
        if is_told && !stdpar::may_be_kernel(tcx, marker) {
            let place = Place::of(tcx, marker);
            if place.closure.is_none_or(|span| told.insert(span)) {
                note(
                    tcx.sess,
                    &place,
                    &format!("stays with rayon: {}", if place.is_sort { SORT } else { WHY }),
                );
            }
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
