//! `--stdpar=explain`: a note for each pipeline, at its place in the source.

use std::collections::HashSet;

use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_session::Session;
use rustc_span::Span;
use rustc_span::def_id::{DefId, LOCAL_CRATE};
use rustc_target::spec::PanicStrategy;

use crate::kernels::runtime_items::RuntimeItems;
use crate::kernels::{self, names};
use crate::rayon::types::{CRATE, RAYON, pipeline_of};
use crate::rayon::{self, inject, sorts};
use crate::rustc::MonoItem;
use crate::variables::STDPAR_BUILD;

/// Of a type in a note, as many characters.
const LONGEST: usize = 200;

/// Whether the build is to say of each pipeline what becomes of it.
pub(crate) fn is_asked() -> bool {
    std::env::var(STDPAR_BUILD).is_ok_and(|mode| mode == inject::EXPLAIN)
}

/// Where a pipeline is.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its first closure or function that is not of rayon, of the crate itself before others.
    closure: Option<ClosurePlace>,
    /// Its producer's type, which says of what items it is.
    producer: String,
    is_sort: bool,
}

/// A closure of a pipeline.
#[derive(Debug)]
struct ClosurePlace {
    span: Span,
    /// Tells its instances apart, and functions that one macro has made.
    of: u128,
    /// Its path with the types of the generic function around it, if there are any.
    instance: Option<String>,
}

impl Place {
    /// The place of the pipeline that a kernel is made of.
    pub(crate) fn of<'tcx>(tcx: TyCtxt<'tcx>, entry: Instance<'tcx>) -> Self {
        let kernel = entry.args.type_at(0);
        Self {
            closure: closure_place(tcx, || kernel.walk()),
            producer: pipeline_of(tcx, kernel)
                .map_or_else(String::new, |args| in_words(args.type_at(0))),
            is_sort: sorts::is_kernel(tcx, kernel),
        }
    }

    /// Whether it is that of a sort.
    pub(crate) const fn is_sort(&self) -> bool {
        self.is_sort
    }

    /// Whether both are of one closure.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let of = |place: &Self| place.closure.as_ref().map(|closure| closure.of);
        of(self).is_some() && of(self) == of(other)
    }

    /// The place of a sort, by the function that sorts on the host.
    fn of_sort<'tcx>(tcx: TyCtxt<'tcx>, function: Instance<'tcx>) -> Self {
        Self {
            closure: closure_place(tcx, || function.args.types().flat_map(Ty::walk)),
            producer: in_words(function.args.type_at(0)),
            is_sort: true,
        }
    }
}

/// The first closure or function of the crate among the parts of a type, or else the first one that
/// another crate has given to rayon: a generic function of that has the pipeline.
fn closure_place<'tcx, P: Iterator<Item = ty::GenericArg<'tcx>>>(
    tcx: TyCtxt<'tcx>,
    parts: impl Fn() -> P,
) -> Option<ClosurePlace> {
    let first = |is_of: &dyn Fn(DefId) -> bool| {
        parts().find_map(|part| match *part.as_type()?.kind() {
            ty::Closure(def_id, args) | ty::FnDef(def_id, args) if is_of(def_id) => {
                Some((part, def_id, args))
            }
            _ => None,
        })
    };
    let is_of_user = |def_id: DefId| {
        let name = tcx.crate_name(def_id.krate);
        !names::is_std(name) && !name.as_str().starts_with("rayon") && name.as_str() != CRATE
    };
    let (part, def_id, args) = first(&|def_id| def_id.is_local()).or_else(|| first(&is_of_user))?;
    let path = names::path_with_args(tcx, def_id, args);
    Some(ClosurePlace {
        span: tcx.def_span(def_id),
        of: tcx.type_id_hash(part.as_type()?).as_u128(),
        instance: (path != names::path_of(tcx, def_id)).then_some(path),
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
    let mut told: HashSet<u128> = HashSet::new();
    let mut is_new = |place: &Place| place.closure.as_ref().is_none_or(|at| told.insert(at.of));
    for (place, only_in_process) in became {
        if is_new(place) {
            match only_in_process {
                None => note(sess, place, "becomes a kernel"),
                Some(why) => note(sess, place, &format!("becomes a kernel on `cpu` only: {why}")),
            }
        }
    }
    // `collect` has a second way with the same closure, for iterators without a length, which never
    // runs for others.
    for (place, why) in refused {
        if is_new(place) {
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
    let mut told: HashSet<u128> = HashSet::new();
    let mut tell = |place: &Place| {
        if place.closure.as_ref().is_none_or(|at| told.insert(at.of)) {
            let why = if place.is_sort { SORT } else { WHY };
            note(tcx.sess, place, &format!("stays with rayon: {why}"));
        }
    };
    let units = tcx.collect_and_partition_mono_items(()).codegen_units;
    for (marker, _) in units.iter().flat_map(|unit| kernels::markers_of(unit, runtime)) {
        let is_told = !rayon::is_secondary(tcx, marker.args.type_at(0));
        if is_told && !rayon::may_be_kernel(tcx, marker) {
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

/// Says that nothing of a crate becomes a kernel for how it ends panics, if it could otherwise and the
/// build asks for it.
pub(crate) fn tell_aborts(tcx: TyCtxt<'_>) {
    let sess = tcx.sess;
    let given_rayon = || {
        let crates = tcx.crates(()).iter();
        crates.copied().any(|krate| {
            tcx.crate_name(krate).as_str() == RAYON
                && tcx.extern_crate(krate).is_some_and(|by| by.is_direct())
        })
    };
    let own = tcx.crate_name(LOCAL_CRATE);
    if is_asked()
        && sess.opts.output_types.should_codegen()
        && sess.panic_strategy() != PanicStrategy::Unwind
        && inject::library().is_some()
        && inject::is_worth_a_kernel(own.as_str(), tcx.crate_types())
        && given_rayon()
    {
        let mut note = sess.dcx().struct_note(format!(
            "no parallel iterator of `{own}` becomes a kernel, because of `panic = \"abort\"`"
        ));
        note.help(
            "a kernel's panic continues in the thread that waits for it: leave `panic` out of the profile in Cargo.toml",
        );
        note.emit();
    }
}

fn note(sess: &Session, place: &Place, text: &str) {
    let what = if place.is_sort { "sort" } else { "iterator" };
    let text = format!("this parallel {what} {text}");
    match &place.closure {
        Some(ClosurePlace { span, instance: None, .. }) => {
            sess.dcx().struct_span_note(*span, text).emit();
        }
        Some(ClosurePlace { span, instance: Some(instance), .. }) => {
            sess.dcx().struct_span_note(*span, format!("{text} (`{instance}`)")).emit();
        }
        None if place.is_sort => {
            sess.dcx().note(format!("{text}: its elements are `{}`", place.producer));
        }
        None => sess.dcx().note(format!("{text}: its producer is `{}`", place.producer)),
    }
}
