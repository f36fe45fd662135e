//! Finds kernels that use no thread-local variables on the host.
//!
//! On the device `native` the work-items of a group share a thread where they can, and switch at
//! barriers. They can if no work-item sees thread-local state of another: if nothing that a kernel
//! reaches uses a thread-local variable. The walk over what kernels reach determines this, if it
//! sees everything: for a kernel that calls through a pointer, or a function without MIR, or
//! contains assembly, it is unknown.
//!
//! Excepted are
//!
//! - the runtime's own variables, which are made for work-items that share a thread;
//! - the standard library's own (whether the thread panics, seeds of hash
//!   maps): each is a number, or is set and reset while no user code runs. Which thread this is counts,
//!   where a function of the library is asked for it. Variables that a program
//!   declares by `thread_local!` are in its functions, which the walk sees. What the library
//!   does by system calls and assembly does not matter.

use rustc_data_structures::fx::{FxHashMap, FxHashSet};
use rustc_middle::mir::{Body, SourceInfo};
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_span::def_id::{CrateNum, DefId};

use crate::kernels::names::{is_std, own_path_of};
use crate::kernels::runtime_items;
use crate::rustc::{MonoItem, as_written, called_pointer};

/// The standard library's type of what `thread_local!` declares. Its methods call the function that it
/// contains, which belongs to the declaring crate, and is found where the variable is named.
const LOCAL_KEY: &str = "std::thread::local::LocalKey";

/// The module of the standard library with what a thread knows of itself.
const THREADS: &str = "std::thread::";

/// Whether a function is of that module.
fn is_of_threads(tcx: TyCtxt<'_>, function: DefId) -> bool {
    is_std(tcx.crate_name(function.krate)) && own_path_of(tcx, function).starts_with(THREADS)
}

/// The results, function by function and static by static.
pub(crate) struct ThreadLocals<'tcx> {
    tcx: TyCtxt<'tcx>,
    runtimes: Vec<CrateNum>,
    /// The current item, and the function that the location belongs to: another one, where that was
    /// inlined.
    current: Option<MonoItem<'tcx>>,
    owner: Option<DefId>,
    /// What each item refers to.
    uses: FxHashMap<MonoItem<'tcx>, FxHashSet<MonoItem<'tcx>>>,
    /// Items that use thread-local variables, or may.
    may: FxHashSet<MonoItem<'tcx>>,
}

impl<'tcx> ThreadLocals<'tcx> {
    pub(crate) fn new(tcx: TyCtxt<'tcx>) -> Self {
        let runtimes = runtime_items::find(tcx).iter().map(|items| items.is_device.krate).collect();
        let (uses, may) = (FxHashMap::default(), FxHashSet::default());
        Self { tcx, runtimes, current: None, owner: None, uses, may }
    }

    /// The walk enters a function's body, or a static's value.
    pub(crate) fn enter(&mut self, item: MonoItem<'tcx>) {
        self.current = Some(item);
        self.owner = Some(item.def_id());
        // The shim that calls through a pointer; another one calls a known function.
        if let MonoItem::Fn(instance) = item
            && called_pointer(instance).is_some_and(|ty| ty.is_fn_ptr())
        {
            self.may.insert(item);
        }
    }

    /// The walk reaches a location in the body.
    pub(crate) fn at(&mut self, body: &Body<'tcx>, source: SourceInfo) {
        let scopes = &body.source_scopes;
        let scope = &scopes[source.scope];
        let inlined = scope.inlined.or_else(|| scopes[scope.inlined_parent_scope?].inlined);
        let inlined = inlined.map(|(instance, _)| instance.def_id());
        self.owner = inlined.or_else(|| self.current.map(|current| current.def_id()));
    }

    /// The walk leaves the item.
    pub(crate) fn leave(&mut self) {
        (self.current, self.owner) = (None, None);
    }

    /// The current item refers to something.
    pub(crate) fn reaches(&mut self, item: MonoItem<'tcx>) {
        if let Some(current) = self.current {
            self.uses.entry(current).or_default().insert(item);
        }
    }

    /// The location refers to a thread-local variable.
    pub(crate) fn variable(&mut self, def_id: DefId) {
        if !self.is_trusted(def_id.krate) {
            self.may.extend(self.current);
        }
    }

    /// The location does something unknown.
    pub(crate) fn unknown(&mut self) {
        if !self.owner.is_some_and(|owner| self.is_trusted(owner.krate)) {
            self.may.extend(self.current);
        }
    }

    /// The location calls a function that it does not name: a user's function, even if the location
    /// is not.
    pub(crate) fn unknown_call(&mut self) {
        if !self
            .owner
            .is_some_and(|owner| self.is_runtime(owner.krate) || self.is_of_local_key(owner))
        {
            self.may.extend(self.current);
        }
    }

    /// A function has no body to examine.
    pub(crate) fn unseen(&mut self, instance: Instance<'tcx>) {
        // Which thread this is, is what a thread-local variable says.
        if is_of_threads(self.tcx, instance.def_id()) {
            self.may.extend(self.current);
        }
        let by_trusted = self.owner.is_some_and(|owner| self.is_trusted(owner.krate));
        if !by_trusted && !self.is_trusted(instance.def_id().krate) {
            self.may.extend(self.current);
        }
    }

    /// The location refers to a function that formats a value of a type, for a message, which the
    /// walk does not enter. It is excepted for types of the standard library and of the runtime.
    pub(crate) fn formats(&mut self, ty: Ty<'tcx>) {
        let is_strange = |ty: Ty<'tcx>| match *ty.kind() {
            ty::Adt(adt, _) => !self.is_trusted(adt.did().krate),
            ty::Bool
            | ty::Char
            | ty::Int(_)
            | ty::Uint(_)
            | ty::Float(_)
            | ty::Str
            | ty::Array(..)
            | ty::Slice(_)
            | ty::RawPtr(..)
            | ty::Ref(..)
            | ty::Tuple(_)
            | ty::Never => false,
            _ => true,
        };
        if ty.walk().filter_map(|part| part.as_type()).any(is_strange) {
            self.may.extend(self.current);
        }
    }

    /// Whether nothing that a function reaches uses thread-local variables.
    pub(crate) fn uses_none(&self, entry: Instance<'tcx>) -> bool {
        let entry = MonoItem::Fn(entry);
        let mut seen = FxHashSet::from_iter([entry]);
        let mut next = vec![entry];
        while let Some(item) = next.pop() {
            if self.may.contains(&item) {
                return false;
            }
            let uses = self.uses.get(&item).into_iter().flatten();
            next.extend(uses.copied().filter(|used| seen.insert(*used)));
        }
        true
    }

    fn is_runtime(&self, krate: CrateNum) -> bool {
        self.runtimes.contains(&krate)
    }

    fn is_trusted(&self, krate: CrateNum) -> bool {
        self.is_runtime(krate) || is_std(self.tcx.crate_name(krate))
    }

    fn is_of_local_key(&self, function: DefId) -> bool {
        let tcx = self.tcx;
        let function = tcx.typeck_root_def_id(function);
        let Some(of) = tcx.inherent_impl_of_assoc(function) else { return false };
        let ty::Adt(adt, _) = *as_written(tcx.type_of(of).instantiate_identity()).kind() else {
            return false;
        };
        is_std(tcx.crate_name(adt.did().krate)) && own_path_of(tcx, adt.did()) == LOCAL_KEY
    }
}
