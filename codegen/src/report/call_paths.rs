//! Maps what the passes refuse or warn of to the call paths and source locations by which kernels
//! reach it.
//!
//! The passes know which uses remain after inlining and through which calls they came; the
//! compiler's [`CallMap`] knows the locations of those calls. A report location is the innermost
//! call on such a path in the crate's own source: what happens below it belongs to the function
//! that it calls.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use rustc_session::Session;
use rustc_span::hygiene::{ExpnKind, MacroKind};
use rustc_span::{DUMMY_SP, FileName, Pos, RemapPathScopeComponents, Span};
use schism_passes::spec::report::{CallSite, SiteKind, SourceLocation, Use};

use crate::collect::call_map::{CallMap, Origin, Step, What};
use crate::kernels::KernelInfo;
use crate::kernels::names::readable;

/// A location in the crate's own source from which a finding is reached.
#[derive(Clone, Debug)]
pub(crate) struct ReportLocation {
    /// The index of the finding.
    pub found: usize,
    /// The location; for a kernel without a line in this crate, its closure.
    pub span: Span,
    /// The macro of another crate that the user calls there, such as `println!`.
    pub by_macro: Option<String>,
    /// The steps below the location, from its callee inwards.
    pub inner: Vec<Step>,
    /// The steps of the crate itself, and of its dependencies, from the location out to the kernel.
    pub outer: Vec<Step>,
    /// The kernels that reach it, by index.
    pub kernels: Vec<usize>,
}

/// The inputs of the search.
pub(crate) struct CallPaths<'a> {
    /// The session.
    pub sess: &'a Session,
    /// Where each function is used.
    pub uses: &'a BTreeMap<String, Vec<Use>>,
    /// The call sites that indices in uses refer to.
    pub sites: &'a [CallSite],
    /// What the compiler knows.
    pub map: &'a CallMap,
    /// The crate's kernels.
    pub kernels: &'a [KernelInfo],
}

impl CallPaths<'_> {
    /// The locations of all findings, each given by its symbol, if it has one, and its uses.
    pub(crate) fn places<'u>(
        &self,
        found: impl Iterator<Item = (Option<&'u str>, &'u [Use])>,
    ) -> Vec<ReportLocation> {
        let mut places = Vec::new();
        for (index, (symbol, uses)) in found.enumerate() {
            self.places_of(index, symbol, uses, &mut places);
        }
        places
    }

    fn places_of(
        &self,
        found: usize,
        symbol: Option<&str>,
        uses: &[Use],
        places: &mut Vec<ReportLocation>,
    ) {
        let mut seen = HashSet::new();
        let mut queue: VecDeque<(Vec<Step>, &Use, Option<&str>)> =
            uses.iter().map(|place| (Vec::new(), place, symbol)).collect();
        while let Some((below, place, target)) = queue.pop_front() {
            let steps = self.steps(place, target);
            let own = steps.iter().position(|step| self.is_own(step));
            let kernel = self.kernels.iter().find(|kernel| kernel.name == place.function);
            let inner = |own: usize| {
                let mut inner = below.clone();
                inner.extend(steps[..own].iter().cloned());
                inner.reverse();
                inner
            };
            if let Some(own) = own {
                let (mut outer, kernels) = self.path_to_kernel(&place.function);
                outer.splice(0..0, steps[own + 1..].iter().cloned());
                outer.retain(|step| match step.origin {
                    Origin::Own => self.is_own(step),
                    Origin::Dependency => step.span != DUMMY_SP,
                    Origin::Std | Origin::Runtime => false,
                });
                let (span, inner) = (self.own_span(steps[own].span), inner(own));
                let by_macro = self.macro_of(steps[own].span);
                places.push(ReportLocation { found, span, by_macro, inner, outer, kernels });
            } else if let Some(kernel) = kernel {
                let (_, kernels) = self.path_to_kernel(&place.function);
                let inner = inner(steps.len());
                let (span, by_macro, outer) = (kernel.span, None, Vec::new());
                places.push(ReportLocation { found, span, by_macro, inner, outer, kernels });
            } else if seen.insert(place.function.as_str()) {
                for next in self.uses.get(&place.function).into_iter().flatten() {
                    let mut below = below.clone();
                    below.extend(steps.iter().cloned());
                    queue.push_back((below, next, Some(&place.function)));
                }
            }
        }
    }

    /// The steps from a function out to the nearest kernel, and all kernels that reach it.
    fn path_to_kernel(&self, function: &str) -> (Vec<Step>, Vec<usize>) {
        let mut came_from: Vec<(&str, Option<(&Use, usize)>)> = vec![(function, None)];
        let mut seen = HashSet::from([function]);
        let (mut next, mut nearest, mut kernels) = (0, None, BTreeSet::new());
        while let Some(&(function, _)) = came_from.get(next) {
            if let Some(kernel) = self.kernels.iter().position(|kernel| kernel.name == function) {
                nearest = nearest.or(Some(next));
                kernels.insert(kernel);
            }
            for place in self.uses.get(function).into_iter().flatten() {
                if seen.insert(&place.function) {
                    came_from.push((&place.function, Some((place, next))));
                }
            }
            next += 1;
        }
        let mut steps = Vec::new();
        let mut index = nearest.unwrap_or(0);
        while let Some((place, below)) = came_from[index].1 {
            steps.push(self.steps(place, Some(came_from[below].0)));
            index = below;
        }
        steps.reverse();
        (steps.concat(), kernels.into_iter().collect())
    }

    /// The steps of one use, innermost first, with the inlining of LLVM and MIR undone.
    fn steps(&self, place: &Use, target: Option<&str>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (depth, &site) in place.call_path.iter().enumerate() {
            let Some(site) = self.sites.get(site) else { break };
            let map = |what| self.map.steps(&site.caller, what, site.ordinal as usize);
            // Only the first site can be a use of the target; the others are calls.
            let names: Vec<&str> = if depth == 0 {
                place.through.as_deref().into_iter().chain(target).collect()
            } else {
                Vec::new()
            };
            let at_site = match &site.kind {
                SiteKind::Call(callee) => map(What::Item(callee)),
                SiteKind::CallPointer => map(What::Pointer),
                SiteKind::Assembly => map(What::Assembly),
                SiteKind::Other => None,
            };
            let known = at_site
                .or_else(|| names.iter().find_map(|name| map(What::Item(name))))
                // LLVM may have moved it out of a function that it has inlined.
                .or_else(|| names.iter().find_map(|name| self.map.path(&site.caller, name)));
            match known {
                Some(known) => steps.extend(known),
                None => steps.push(self.step_at(&site.caller, site.location.as_ref())),
            }
        }
        if steps.is_empty() {
            steps.push(self.step_at(&place.function, None));
        }
        steps
    }

    /// A step whose location is unknown to the compiler.
    fn step_at(&self, function: &str, location: Option<&SourceLocation>) -> Step {
        let item = self.map.item(function);
        let place = location.and_then(|location| span_of(self.sess, location));
        Step {
            path: item.map_or_else(|| readable(function), |item| item.path.clone()),
            origin: item.map_or(Origin::Std, |item| item.origin),
            span: place.or(item.map(|item| item.span)).unwrap_or(DUMMY_SP),
        }
    }

    /// Whether a step is in the user's own source.
    fn is_own(&self, step: &Step) -> bool {
        if step.origin != Origin::Own {
            return false;
        }
        let span = self.own_span(step.span);
        !span.is_dummy()
            && !self.sess.source_map().is_imported(span)
            && !is_of_thread_local(step.span)
    }

    /// The macro of another crate that is called where a span comes from.
    fn macro_of(&self, mut span: Span) -> Option<String> {
        let mut name = None;
        while span.from_expansion() && self.sess.source_map().is_imported(span) {
            let expansion = span.ctxt().outer_expn_data();
            if let ExpnKind::Macro(MacroKind::Bang, macro_name) = expansion.kind {
                name = Some(format!("{macro_name}!"));
            }
            span = expansion.call_site;
        }
        name
    }

    /// The location in the crate's own source where a macro of another crate was called.
    fn own_span(&self, mut span: Span) -> Span {
        while span.from_expansion() && self.sess.source_map().is_imported(span) {
            span = span.ctxt().outer_expn_data().call_site;
        }
        span
    }
}

/// Whether a span belongs to the expansion of `thread_local!`: report the user's use, not the
/// expansion.
fn is_of_thread_local(mut span: Span) -> bool {
    while span.from_expansion() {
        let expansion = span.ctxt().outer_expn_data();
        if matches!(expansion.kind, ExpnKind::Macro(_, name) if name.as_str().contains("thread_local"))
        {
            return true;
        }
        span = expansion.call_site;
    }
    false
}

/// Finds a recorded location among the files that this session has read.
fn span_of(sess: &Session, location: &SourceLocation) -> Option<Span> {
    let map = sess.source_map();
    let files = map.files();
    let file = files.iter().find(|file| match &file.name {
        FileName::Real(name) => {
            let path = name.path(RemapPathScopeComponents::DEBUGINFO);
            std::path::Path::new(&location.file).ends_with(path)
        }
        _ => false,
    })?;
    let line = location.line.checked_sub(1)? as usize;
    if line >= file.count_lines() {
        return None;
    }
    let bounds = file.line_bounds(line);
    let column = location.column.saturating_sub(1);
    let position = rustc_span::BytePos(bounds.start.to_u32().checked_add(column)?);
    (position < bounds.end).then(|| Span::with_root_ctxt(position, position))
}

/// Groups locations by span, in the order of the source.
pub(crate) fn by_span(places: Vec<ReportLocation>) -> Vec<Vec<ReportLocation>> {
    let mut groups: HashMap<(u32, u32), Vec<ReportLocation>> = HashMap::new();
    for place in places {
        groups.entry((place.span.lo().to_u32(), place.span.hi().to_u32())).or_default().push(place);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|&(span, _)| span);
    groups.into_iter().map(|(_, places)| places).collect()
}
