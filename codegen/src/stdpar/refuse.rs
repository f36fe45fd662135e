//! Kernels of pipelines that no device can have: they are taken out, and the passes run again.
//!
//! The host half has their descriptors nevertheless. A launch finds no such kernel in the
//! container, and the pipeline stays with rayon.

use std::collections::{BTreeSet, HashMap, HashSet};

use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use schism_passes::spec::image::{Capability, KernelImage};
use schism_passes::spec::report::{Report, Use, ViolationKind};

use crate::collect::walk::{self, Place, Reached};
use crate::kernels::{Kernel, KernelInfo, names};
use crate::rayon::captures::{Changes, changes_of};
use crate::rayon::types::{is_for_gpus, is_pipeline, is_search_in_order, may_be_for_devices};
use crate::rayon::{self, nested};
use crate::stdpar::explain;

/// Why a kernel is taken out by [`Pipelines::unfit`].
const DEEP: &str =
    "its functions call themselves, or others through pointers, and may need any amount of stack";
const UNWINDING: &str =
    "if it panics, a destructor changes memory of the program's, and no device runs one then";

const CHANGING: &str = "it allocates or frees memory, and may change what cannot be copied before: where a device has no memory left, it could not begin again";

const LAUNCHES: &str = "it launches kernels itself";

const NESTS: &str = "there is another parallel iterator in it, which may be a kernel";

/// What becomes of the pipelines of a crate.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// The kernels that are made of pipelines, by name, with their places if these are to be told.
    pipelines: HashMap<String, Option<explain::Place>>,
    /// The names of those that allocate.
    allocating: BTreeSet<String>,
    /// The names of those whose only effect is their result.
    without_effects: BTreeSet<String>,
    /// The names of those that change nothing else but what a launch can copy before.
    restored: BTreeSet<String>,
    /// The names of those that GPUs run in the place of others.
    for_gpus: BTreeSet<String>,
    /// The names of those that there are for the program's process.
    in_process: BTreeSet<String>,
    /// The names of those that no other device has, and why.
    refused: Vec<(String, String)>,
}

impl Pipelines {
    /// The pipelines among a crate's kernels.
    pub(crate) fn among<'tcx>(tcx: TyCtxt<'tcx>, kernels: &[Kernel<'tcx>]) -> Self {
        let pipelines = kernels.iter().filter(|kernel| is_pipeline(tcx, kernel.entry));
        // Of the kernels of a pipeline, one is told of for all devices, and perhaps one for GPUs.
        let place = |kernel: &Kernel<'tcx>| {
            let ty = kernel.entry.args.type_at(0);
            let place = || explain::Place::of(tcx, kernel.entry);
            let is_told =
                explain::is_asked() && (is_for_gpus(tcx, ty) || !rayon::is_secondary(tcx, ty));
            (kernel.info.name.clone(), is_told.then(place))
        };
        let for_gpus = pipelines
            .clone()
            .filter(|kernel| is_for_gpus(tcx, kernel.entry.args.type_at(0)))
            .map(|kernel| kernel.info.name.clone());
        let changes = pipelines.clone().filter_map(|kernel| {
            Some((kernel.info.name.clone(), changes_of(tcx, kernel.entry.args.type_at(0))?))
        });
        let (without_effects, restored): (Vec<_>, Vec<_>) =
            changes.partition(|(_, changes)| Changes::is_empty(changes));
        let names = |all: Vec<(String, Changes)>| all.into_iter().map(|(name, _)| name).collect();
        Self {
            without_effects: names(without_effects),
            restored: names(restored),
            for_gpus: for_gpus.collect(),
            pipelines: pipelines.map(place).collect(),
            ..Self::default()
        }
    }

    /// The names of all of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.pipelines.keys().map(String::as_str)
    }

    /// Notes kernels that are taken out before anything is lowered.
    pub(crate) fn refuse(&mut self, kernels: &[(String, &'static str)]) {
        let refused = kernels.iter().map(|(name, why)| (name.clone(), (*why).to_owned()));
        self.refused.extend(refused);
    }

    /// Notes which kernels there are for the program's process.
    pub(crate) fn run_in_process(&mut self, kernels: impl Iterator<Item = String>) {
        self.in_process.extend(kernels);
    }

    /// Whether all of these kernels are made of pipelines.
    pub(crate) fn are_all(&self, kernels: &[KernelInfo]) -> bool {
        kernels.iter().all(|kernel| self.pipelines.contains_key(&kernel.name))
    }

    /// The names of those whose only effect is their result.
    pub(crate) fn without_effects(&self) -> Vec<String> {
        self.without_effects.iter().cloned().collect()
    }

    /// The names of those that change nothing else but what a launch can copy before.
    pub(crate) fn restored(&self) -> Vec<String> {
        self.restored.iter().cloned().collect()
    }

    /// The names of those that are to allocate.
    pub(crate) fn allocating(&self) -> Vec<String> {
        self.allocating.iter().cloned().collect()
    }

    /// Which kernels, by their indices, are to be taken out after a failure: those that passes have
    /// found unfit, or those that a report of the device check names. Those that do nothing
    /// but allocate that no device can are [to allocate](Self::allocating), and stay for once. If
    /// there are neither, none of them is to blame: the failure is one of the program's own
    /// kernels.
    pub(crate) fn blame(
        &mut self,
        report: Option<&Report>,
        unfit: &[(usize, &'static str)],
        kernels: &[KernelInfo],
    ) -> BTreeSet<usize> {
        let mut blamed = BTreeSet::new();
        if self.pipelines.is_empty() {
            return blamed;
        }
        let of_name: HashMap<&str, usize> = kernels
            .iter()
            .enumerate()
            .map(|(index, kernel)| (kernel.name.as_str(), index))
            .collect();
        let mut reasons: HashMap<usize, String> = HashMap::new();
        let mut allocate: BTreeSet<usize> = BTreeSet::new();
        for violation in report.map(|report| report.violations.as_slice()).unwrap_or_default() {
            let report = report.expect("it has a violation");
            for name in reached_from(report, &violation.uses) {
                if self.pipelines.contains_key(name)
                    && let Some(&index) = of_name.get(name)
                {
                    let may_allocate = !self.allocating.contains(name);
                    match &violation.what {
                        ViolationKind::ExternalFunction(symbol)
                            if may_allocate && is_allocator(symbol) =>
                        {
                            if self.without_effects.contains(name) || self.restored.contains(name) {
                                allocate.insert(index);
                            } else {
                                blamed.insert(index);
                                reasons.entry(index).or_insert_with(|| CHANGING.to_owned());
                            }
                        }
                        what => {
                            blamed.insert(index);
                            reasons.entry(index).or_insert_with(|| reason(what));
                        }
                    }
                }
            }
        }
        allocate.retain(|index| !blamed.contains(index));
        self.allocating.extend(allocate.iter().map(|&index| kernels[index].name.clone()));
        if !unfit.is_empty() {
            blamed.extend(unfit.iter().map(|(index, _)| index));
            reasons.extend(unfit.iter().map(|(index, why)| (*index, (*why).to_owned())));
            return self.take_out(blamed, reasons, kernels);
        }
        // A failure that names no kernel, and is perhaps none of the program's own.
        if blamed.is_empty()
            && allocate.is_empty()
            && report.is_none_or(|report| self.no_own_kernel(report))
        {
            let pipelines = kernels.iter().enumerate();
            blamed.extend(
                pipelines
                    .filter(|(_, kernel)| self.pipelines.contains_key(&kernel.name))
                    .map(|(index, _)| index),
            );
        }
        self.take_out(blamed, reasons, kernels)
    }

    /// Whether no kernel that is not made of a pipeline reaches what is refused.
    fn no_own_kernel(&self, report: &Report) -> bool {
        let mut uses = report.violations.iter().map(|violation| violation.uses.as_slice());
        uses.all(|uses| {
            let mut kernels = reached_from(report, uses).into_iter();
            kernels.all(|name| self.pipelines.contains_key(name))
        })
    }

    fn take_out(
        &mut self,
        blamed: BTreeSet<usize>,
        mut reasons: HashMap<usize, String>,
        kernels: &[KernelInfo],
    ) -> BTreeSet<usize> {
        for &index in &blamed {
            let why = reasons.remove(&index);
            let why = why.unwrap_or_else(|| "the compiler has no device code for it".to_owned());
            self.refused.push((kernels[index].name.clone(), why));
        }
        blamed
    }

    /// The kernels of pipelines among those of a module, by their indices, that no device may have: of
    /// some it is unknown how much stack they need (rayon's threads may have been given more), and
    /// others change the program's memory while they unwind, as devices do not. Where launches allocate and can undo their changes,
    /// rayon unwinds; of that nothing is known before `are_final`.
    pub(crate) fn unfit(
        &self,
        kernels: &[KernelImage],
        are_final: bool,
    ) -> Vec<(usize, &'static str)> {
        let why = |kernel: &KernelImage| {
            let needs = |capability| kernel.capabilities.contains(&capability);
            if needs(Capability::Recursion) || needs(Capability::IndirectCalls) {
                return Some(DEEP);
            }
            if needs(Capability::HostHeap) && needs(Capability::ForgedAddresses) {
                return Some(CHANGING);
            }
            let may_be_undone =
                self.restored.contains(&kernel.name) && (needs(Capability::HostHeap) || !are_final);
            (needs(Capability::Unwinding) && !may_be_undone).then_some(UNWINDING)
        };
        let all = kernels.iter().enumerate();
        let pipelines = all.filter(|(_, kernel)| self.pipelines.contains_key(&kernel.name));
        pipelines.filter_map(|(index, kernel)| Some((index, why(kernel)?))).collect()
    }

    /// Prints a note for each pipeline at its place, if the build asks for it.
    pub(crate) fn explain(&self, sess: &Session, kernels: &[KernelInfo]) {
        let of = |name: &str| self.pipelines.get(name)?.as_ref();
        let why: HashMap<&str, &str> =
            self.refused.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
        let told = |name: &str| Some((of(name)?, why.get(name).copied()));
        // What a GPU runs tells what that lacks, if there is another kernel for the process.
        let in_process: Vec<&explain::Place> =
            self.in_process.iter().filter_map(|name| of(name)).collect();
        let of_gpus = self.for_gpus.iter().filter_map(|name| told(name));
        let of_gpus = of_gpus.filter(|(place, _)| in_process.iter().any(|it| it.is_same(place)));
        let others = kernels.iter().filter(|kernel| !self.for_gpus.contains(&kernel.name));
        // Of a sort that is a kernel, rayon's own, which has pipelines with the same closure, is not told.
        let sorts = kernels.iter().filter(|it| of(&it.name).is_some_and(explain::Place::is_sort));
        let sorts = sorts.filter_map(|kernel| told(&kernel.name));
        let became = sorts.chain(of_gpus).chain(others.filter_map(|kernel| told(&kernel.name)));
        let refused = self
            .refused
            .iter()
            .filter(|(name, _)| !self.in_process.contains(name) && !self.for_gpus.contains(name));
        let refused = refused.filter_map(|(name, why)| Some((of(name)?, why)));
        explain::tell(sess, became, refused);
    }
}

/// The kernels of pipelines that are taken out on all devices before anything is lowered, by name, and
/// why: searches in order, those that launch kernels, whose descriptors only the host half has, and
/// those with a pipeline in them that the program runs under no symbol. `all` is what they reach
/// together.
pub(crate) fn for_all<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernels: &[Kernel<'tcx>],
    all: &Reached<'tcx>,
) -> Vec<(String, &'static str)> {
    let without_symbol = nested::without_symbol(tcx, &all.nested);
    let why = |kernel: &Kernel<'tcx>| {
        if is_search_in_order(tcx, kernel.entry.args.type_at(0)) {
            return Some(
                "it looks for the first or the last item, and rayon splits it until that is found",
            );
        }
        if !all.launches && without_symbol.is_empty() {
            return None;
        }
        let reached = reached_by(tcx, kernel);
        if reached.launches {
            return Some(LAUNCHES);
        }
        reached.nested.iter().any(|pipeline| without_symbol.contains(pipeline)).then_some(NESTS)
    };
    refused(tcx, kernels, why)
}

/// The kernels of pipelines that no device but the process can have, by name, and why; `all` is
/// what they reach together. A kernel that formats allocates, or writes somewhere, and would have all
/// others format in their panics. One with a pipeline in it would run that as a loop, which may never
/// end where rayon finds something in another part of it.
pub(crate) fn for_devices<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernels: &[Kernel<'tcx>],
    all: &Reached<'tcx>,
) -> Vec<(String, &'static str)> {
    let why = |kernel: &Kernel<'tcx>| {
        if !may_be_for_devices(tcx, kernel.entry.args.type_at(0)) {
            return Some("its values may hold functions, and those of a device are not the host's");
        }
        if !all.formats && all.nested.is_empty() {
            return None;
        }
        let reached = reached_by(tcx, kernel);
        if !reached.nested.is_empty() {
            return Some(NESTS);
        }
        reached.formats.then_some("it formats")
    };
    refused(tcx, kernels, why)
}

/// What a kernel reaches by itself.
fn reached_by<'tcx>(tcx: TyCtxt<'tcx>, kernel: &Kernel<'tcx>) -> Reached<'tcx> {
    walk::reach(tcx, Place::Device, std::iter::once(kernel.entry))
}

/// Kernels of pipelines that are taken out for a reason.
fn refused<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernels: &[Kernel<'tcx>],
    why: impl Fn(&Kernel<'tcx>) -> Option<&'static str>,
) -> Vec<(String, &'static str)> {
    let pipelines = kernels.iter().filter(|kernel| is_pipeline(tcx, kernel.entry));
    pipelines.filter_map(|kernel| Some((kernel.info.name.clone(), why(kernel)?))).collect()
}

/// The kernels from which uses are reached, by their names.
fn reached_from<'r>(report: &'r Report, uses: &'r [Use]) -> Vec<&'r str> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut stack: Vec<&str> = uses.iter().map(|place| place.function.as_str()).collect();
    let mut kernels = Vec::new();
    while let Some(function) = stack.pop() {
        if !seen.insert(function) {
            continue;
        }
        if report.kernels.iter().any(|kernel| kernel == function) {
            kernels.push(function);
        }
        let callers = report.uses.get(function).into_iter().flatten();
        stack.extend(callers.map(|place| place.function.as_str()));
    }
    kernels
}

/// Whether a function is the allocator's.
fn is_allocator(symbol: &str) -> bool {
    let others = ["__rust_dealloc", "__rust_no_alloc_shim_is_unstable"];
    names::is_allocator(symbol) || others.iter().any(|name| symbol.contains(name))
}

/// Why a pipeline is no kernel, in a few words.
fn reason(what: &ViolationKind) -> String {
    let quoted = |symbol: &str| format!("`{}`", names::readable(symbol));
    match what {
        ViolationKind::ExternalFunction(symbol) if is_allocator(symbol) => {
            "it allocates or frees memory".to_owned()
        }
        ViolationKind::ExternalFunction(symbol) => {
            format!("no device has the function {}", quoted(symbol))
        }
        ViolationKind::ThreadLocal(symbol) => {
            format!("it uses the thread-local variable {}", quoted(symbol))
        }
        ViolationKind::MutableStatic(symbol) | ViolationKind::ExternalStatic(symbol) => {
            format!("the value of the static {} can change", quoted(symbol))
        }
        ViolationKind::InlineAssembly | ViolationKind::Intrinsic(_) => {
            "it uses instructions of the host's processor".to_owned()
        }
        ViolationKind::UnknownFunction | ViolationKind::HostFunction => {
            "it calls a function through a pointer of the host".to_owned()
        }
        ViolationKind::VariadicFunction(symbol)
        | ViolationKind::OffsetByAddress(symbol)
        | ViolationKind::OfKernels(symbol) => {
            format!("no device can call the function {}", quoted(symbol))
        }
        ViolationKind::Recursion(_) => "its functions call each other in a circle".to_owned(),
    }
}
