//! Reports what the passes refuse as rustc's own errors, and what makes kernels slow as warnings.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem::discriminant;

use rustc_errors::{Diag, EmissionGuarantee};
use rustc_session::Session;
use rustc_span::{BytePos, Span};
use schism_passes::spec::report::Report;

use crate::collect::call_map::{CallMap, ItemKind, Origin, Step};
use crate::kernels::{KernelInfo, names};
use crate::report::call_paths::{self, CallPaths, ReportLocation};
use crate::report::failure::{Failure, PerformanceLints, Stage1Failure};
use crate::report::text::{self, DiagnosticText};
use crate::variables;

/// How many kernels one error lists.
const KERNELS_LISTED: usize = 4;

/// Reports why a crate has no device half.
pub(crate) fn report(sess: &Session, failure: &Failure) {
    match &failure.cause {
        Stage1Failure::Options(error) => {
            sess.dcx().err(error.to_string());
        }
        Stage1Failure::Passes(error) => match error.report() {
            Some(report) => refuse(sess, failure, report),
            None => internal(sess, failure, &error.to_string()),
        },
        Stage1Failure::Container(error) => internal(sess, failure, &error.to_string()),
        Stage1Failure::Pipelines(_) => internal(sess, failure, "a pipeline is no kernel"),
        Stage1Failure::Aot(error) => ahead_of_time(sess, error),
        Stage1Failure::Panicked => internal(sess, failure, "a pass panicked"),
    }
}

/// Requested AOT code cannot be made.
fn ahead_of_time(sess: &Session, message: &str) {
    let mut error = sess.dcx().struct_err(format!(
        "schism could not make code of this crate's kernels ahead of time: {message}"
    ));
    error.help(format!(
        "leave a target out of `--targets` ({}) to have its code made when a kernel is first launched",
        variables::TARGETS
    ));
    error.emit();
}

/// Warns of requested AOT code that a target cannot have.
pub(crate) fn warn_of_missing(sess: &Session, (text, note, span): &(String, &'static str, Span)) {
    let mut warning = sess.dcx().struct_span_warn(*span, text.clone());
    warning.note(*note);
    warning.emit();
}

/// A defect of schism itself: no user input should lead here.
fn internal(sess: &Session, failure: &Failure, message: &str) {
    let mut error = sess
        .dcx()
        .struct_err(format!("schism could not make the device half of this crate: {message}"));
    for kernel in &failure.kernels {
        error.span_note(kernel.span, format!("kernel `{}`", kernel.display_name));
    }
    error.note("this is a defect of schism, not of the program; please report it");
    error.help("build with plain `cargo` to run the kernels on the host meanwhile");
    error.emit();
}

/// One error for each cause at each location in the user's source.
fn refuse(sess: &Session, failure: &Failure, report: &Report) {
    let Failure { map, kernels, .. } = failure;
    let paths = CallPaths { sess, uses: &report.uses, sites: &report.sites, map, kernels };
    let violations = &report.violations;
    let found = violations.iter().map(|found| (found.what.symbol(), found.uses.as_slice()));
    let mut told: Vec<(ReportLocation, DiagnosticText)> = Vec::new();
    // Details of another error at the same location: the lock in `LOCK.lock()` is no second cause
    // at the `unwrap()` after it.
    let mut explained: BTreeSet<usize> = BTreeSet::new();
    for group in call_paths::by_span(paths.places(found)) {
        let kernels = kernels_of(&group);
        let all: Vec<usize> = group.iter().map(|place| place.found).collect();
        let first = group
            .into_iter()
            .map(|place| {
                let text = text::of(&violations[place.found].what, &place, map);
                (place, text)
            })
            .min_by_key(|(place, text)| (text.rank, place.inner.len(), place.found));
        if let Some((place, text)) = first {
            if !text.detail {
                explained.extend(all.into_iter().filter(|found| *found != place.found));
            }
            told.push((ReportLocation { kernels, ..place }, text));
        }
    }
    // A value that is dropped was made: the error there is enough, unless it is not visible.
    if told.iter().any(|(_, text)| !text.only_drops) {
        told.retain(|(_, text)| !text.only_drops);
    }
    let spans: Vec<Span> = told.iter().map(|(place, _)| place.span).collect();
    told.retain(|(place, text)| {
        // `LOCK` in `LOCK.lock()`, an argument in `format!("{argument}")`.
        let belongs = |span: &Span| {
            *span != place.span
                && (span.contains(place.span)
                    || span.overlaps(place.span)
                    || place.span.hi() + BytePos(1) == span.lo())
        };
        !(text.detail && (explained.contains(&place.found) || spans.iter().any(belongs)))
    });
    for (place, text) in &told {
        let mut error = sess.dcx().struct_span_err(place.span, text.message.clone());
        error.span_label(place.span, text.label.clone());
        explain(&mut error, violations[place.found].what.symbol(), place, map, kernels);
        error.help(text.help.clone());
        error.emit();
    }
}

/// Warns of what makes kernels slow: once for each cause at each location in the user's source.
pub(crate) fn warn(sess: &Session, slow: &PerformanceLints) {
    let PerformanceLints { lints, kernels, map } = slow;
    let paths = CallPaths { sess, uses: &lints.uses, sites: &lints.sites, map, kernels };
    let findings = &lints.findings;
    let found = findings.iter().map(|found| (found.what.symbol(), found.uses.as_slice()));
    for mut group in call_paths::by_span(paths.places(found)) {
        // A generic function may have several instances: the most expensive of its kind is
        // reported.
        let what = |place: &ReportLocation| &findings[place.found].what;
        group.sort_by_key(|place| (Reverse(what(place).private_bytes()), place.inner.len()));
        while let Some(place) = group.first().cloned() {
            let kind = discriminant(what(&place));
            let (same, others) =
                group.into_iter().partition(|other| discriminant(what(other)) == kind);
            group = others;
            let place = ReportLocation { kernels: kernels_of(&same), ..place };
            let what = what(&place);
            let text = text::of_lint(what, &place);
            let mut warning = sess.dcx().struct_span_warn(place.span, text.message);
            warning.span_label(place.span, text.label);
            explain(&mut warning, what.symbol(), &place, map, kernels);
            warning.help(text.help);
            warning.note(format!("`{}=off` silences schism's warnings", variables::WARN));
            warning.emit();
        }
    }
}

/// The kernels that reach locations, each once.
fn kernels_of(places: &[ReportLocation]) -> Vec<usize> {
    let all: BTreeSet<usize> =
        places.iter().flat_map(|place| place.kernels.iter().copied()).collect();
    all.into_iter().collect()
}

/// Explains what lies below the location, and how kernels reach it.
fn explain(
    error: &mut Diag<'_, impl EmissionGuarantee>,
    symbol: Option<&str>,
    place: &ReportLocation,
    map: &CallMap,
    kernels: &[KernelInfo],
) {
    let item = symbol.and_then(|symbol| map.item(symbol));
    // Below: locations in dependencies, whose source the user may have, then the call path in text.
    for step in place.inner.iter().filter(|step| step.origin == Origin::Dependency) {
        error.span_note(step.span, format!("in `{}`", text::plain(&step.path)));
    }
    let mut names: Vec<String> = place.inner.iter().map(|step| text::plain(&step.path)).collect();
    names.extend(symbol.map(|symbol| {
        item.map_or_else(|| names::readable(symbol), |item| text::plain(&item.path))
    }));
    names.dedup();
    if names.len() > 1 {
        error.note(format!("the call path to it: {}", shortened(&names)));
    }
    if let Some(item) = item
        && item.origin == Origin::Own
    {
        let what = match item.kind {
            ItemKind::Static { .. } => "the static is defined here",
            ItemKind::Foreign => "it is declared here, and its body is somewhere else",
            ItemKind::Function | ItemKind::Naked => "it is defined here",
        };
        error.span_note(item.span, what);
    }
    for step in &place.outer {
        error.span_note(step.span, called_from(step));
    }
    for &kernel in place.kernels.iter().take(KERNELS_LISTED) {
        let KernelInfo { span, display_name, dimensions, .. } = &kernels[kernel];
        let from = match dimensions {
            0 => format!("reached from `{display_name}`, which is exported to devices"),
            _ => format!("reached from the kernel `{display_name}`"),
        };
        error.span_note(*span, from);
    }
    if let Some(more) = place.kernels.len().checked_sub(KERNELS_LISTED + 1) {
        error.note(format!("and from {} more kernel(s)", more + 1));
    }
}

fn called_from(step: &Step) -> String {
    format!("called here, in `{}`", text::plain(&step.path))
}

/// A call path in text; the middle of a long one is omitted.
fn shortened(names: &[String]) -> String {
    const ENDS: usize = 2;
    let quoted = |names: &[String]| {
        let quoted: Vec<String> = names
            .iter()
            .map(|name| if name.contains('`') { name.clone() } else { format!("`{name}`") })
            .collect();
        quoted.join(" → ")
    };
    if names.len() <= 2 * ENDS {
        return quoted(names);
    }
    let (first, last) = (&names[..ENDS], &names[names.len() - ENDS..]);
    format!("{} → … → {}", quoted(first), quoted(last))
}
