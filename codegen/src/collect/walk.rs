//! Everything that the kernels of a crate reach, as a codegen unit.
//!
//! rustc's own collector stops at functions that an upstream crate has already compiled: on the
//! host they are linked, but a device has no linker. So this walk also follows calls into other
//! crates as long as their MIR is available, and stops only at panics (which the passes lower) and
//! at functions without MIR (which stay declarations, for the passes to judge). Functions that
//! format a value are left out, too, unless kernels format themselves: messages are formatted on
//! the host.
//!
//! Both halves come from the same MIR, and the walk follows both branches of conditions that tell
//! them apart. So it also knows which kernels use no thread-local variables on the host
//! ([`crate::collect::threads`]).

use rustc_data_structures::fx::{FxHashMap, FxHashSet, FxIndexMap, FxIndexSet};
use rustc_hir::LangItem;
use rustc_hir::def::DefKind;
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::mir::interpret::{AllocId, GlobalAlloc, Scalar};
use rustc_middle::mir::visit::Visitor;
use rustc_middle::mir::{
    AssertKind, Body, CastKind, ConstOperand, ConstValue, Location, Rvalue, SourceInfo, Terminator,
    TerminatorKind, UnwindAction, traversal,
};
use rustc_middle::ty::adjustment::PointerCoercion;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, InstanceKind, Ty, TyCtxt, TypeFoldable};
use rustc_span::def_id::DefId;
use rustc_span::sym;
use schism_passes::{Formatter, PanicFunction, TypeDescription};

use crate::collect::barrier_markers;
use crate::collect::call_map::{CallMap, Edges, How, Item, ItemIndex, ItemKind};
use crate::collect::encoded_mir;
use crate::collect::formatters::{self, Formatters};
use crate::collect::panics::Panics;
use crate::collect::spec_constants::{self, declared_static};
use crate::collect::threads::ThreadLocals;
use crate::kernels::{names, runtime_items};
use crate::rayon::functions::{is_for_host_only, is_in_sight};
use crate::rustc::{CollectionMode, MonoItem, as_written, drop_glue, dropped, generic};

/// What the kernels of a crate reach.
pub(crate) struct Reached<'tcx> {
    /// Everything with a body, in the order of discovery.
    pub items: FxIndexSet<MonoItem<'tcx>>,
    /// The panic functions that are called.
    pub panics: Vec<PanicFunction>,
    /// The functions that format values and are left out.
    pub formatters: Vec<Formatter>,
    /// What messages show.
    pub types: Vec<TypeDescription>,
    /// Statics, including those of other crates, in the order of discovery.
    pub statics: FxIndexSet<DefId>,
    /// For each entry function, whether nothing that it reaches uses thread-local variables, as far
    /// as known.
    pub no_thread_locals: Vec<bool>,
    /// Functions without a body that are called, in the order of discovery.
    pub without_body: FxIndexSet<Instance<'tcx>>,
    /// Whether something formats, so that the functions which format are among the items.
    pub formats: bool,
    /// The functions that run a pipeline in another.
    pub nested: Vec<Instance<'tcx>>,
    /// Whether something launches a kernel, in a crate whose parallel iterators may become kernels.
    pub launches: bool,
}

/// Where kernels are to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On devices, which have neither the host's panics nor its formatting.
    Device,
    /// In the program's process.
    Process,
}

/// Walks from the entry functions of the kernels.
pub(crate) fn reach<'tcx>(
    tcx: TyCtxt<'tcx>,
    place: Place,
    entries: impl Iterator<Item = Instance<'tcx>>,
) -> Reached<'tcx> {
    let entries: Vec<_> = entries.collect();
    let mut walk = walk(tcx, place, entries.iter().copied(), CallMap::default());
    let no_thread_locals = entries.iter().map(|entry| walk.threads.uses_none(*entry)).collect();
    let mut formatters: Vec<Formatter> = Vec::new();
    for instance in std::mem::take(&mut walk.deferred) {
        if let Some((ty, by)) = walk.formatters.formatter(instance) {
            let symbol = tcx.symbol_name(instance).name.to_owned();
            formatters.push(Formatter { symbol, ty: walk.formatters.describe(ty, by) });
        }
    }
    let nested = walk.nested();
    let launches = is_in_sight(tcx) && walk.launches();
    Reached {
        items: walk.seen,
        panics: walk.panics.sorted(),
        formatters,
        types: walk.formatters.types,
        statics: walk.statics.into_keys().collect(),
        no_thread_locals,
        nested,
        launches,
        without_body: walk.without_body,
        formats: walk.formats,
    }
}

/// The call graph of what kernels reach, for diagnostics.
pub(crate) fn call_map<'tcx>(
    tcx: TyCtxt<'tcx>,
    entries: impl Iterator<Item = Instance<'tcx>>,
) -> CallMap {
    walk(tcx, Place::Device, entries, CallMap::with_notes()).map
}

fn walk<'tcx>(
    tcx: TyCtxt<'tcx>,
    place: Place,
    entries: impl Iterator<Item = Instance<'tcx>>,
    map: CallMap,
) -> Walk<'tcx> {
    let mut walk = Walk {
        tcx,
        place,
        seen: FxIndexSet::default(),
        panics: Panics::default(),
        formatters: Formatters::new(tcx),
        deferred: FxIndexSet::default(),
        formats: false,
        map,
        indices: FxHashMap::default(),
        statics: FxIndexMap::default(),
        threads: ThreadLocals::new(tcx),
        without_body: FxIndexSet::default(),
    };
    for entry in entries {
        walk.function(entry);
    }
    let mut next = 0;
    loop {
        let Some(&item) = walk.seen.get_index(next) else {
            // If a kernel formats for itself, formatting functions are ordinary functions.
            if !walk.formats || walk.deferred.is_empty() {
                break;
            }
            for formatter in std::mem::take(&mut walk.deferred) {
                if walk.has_body(formatter) {
                    walk.seen.insert(MonoItem::Fn(formatter));
                }
            }
            continue;
        };
        next += 1;
        match item {
            MonoItem::Fn(instance) => walk.body(instance),
            MonoItem::Static(def_id) => walk.static_value(def_id),
            MonoItem::GlobalAsm(_) => {}
        }
    }
    walk
}

struct Walk<'tcx> {
    tcx: TyCtxt<'tcx>,
    place: Place,
    seen: FxIndexSet<MonoItem<'tcx>>,
    panics: Panics,
    formatters: Formatters<'tcx>,
    /// Functions that format a value, deferred while no kernel formats.
    deferred: FxIndexSet<Instance<'tcx>>,
    /// Whether a kernel formats.
    formats: bool,
    map: CallMap,
    indices: FxHashMap<Instance<'tcx>, ItemIndex>,
    statics: FxIndexMap<DefId, ItemIndex>,
    threads: ThreadLocals<'tcx>,
    without_body: FxIndexSet<Instance<'tcx>>,
}

impl<'tcx> Walk<'tcx> {
    /// A function is called or its address is taken. `None` for instances without code.
    fn function(&mut self, instance: Instance<'tcx>) -> Option<ItemIndex> {
        let tcx = self.tcx;
        if matches!(instance.def, InstanceKind::Virtual(..)) {
            return None;
        }
        let mut instance = instance;
        if let InstanceKind::Intrinsic(def_id) = instance.def {
            let must_be_overridden =
                tcx.intrinsic(def_id).is_none_or(|intrinsic| intrinsic.must_be_overridden);
            if tcx.is_intrinsic(def_id, sym::catch_unwind) {
                return Some(self.catch(instance));
            }
            if must_be_overridden {
                return None;
            }
            // The body of an intrinsic that a backend may keep as it is.
            instance = Instance::new_raw(def_id, instance.args);
        }
        self.threads.reaches(MonoItem::Fn(instance));
        if let Some(&known) = self.indices.get(&instance) {
            // Each caller counts.
            if self.without_body.contains(&instance) {
                self.threads.unseen(instance);
            }
            return Some(known);
        }
        let index = self.remember(instance);
        self.indices.insert(instance, index);
        let has_body = self.has_body(instance);
        if self.panics.note(tcx, &mut self.formatters, instance) {
            if self.place == Place::Process && has_body {
                self.seen.insert(MonoItem::Fn(instance));
            }
            return Some(index);
        }
        let formats = self.formatters.formatter(instance);
        let is_formatter = formats.is_some();
        if let Some((ty, _)) = formats {
            self.threads.formats(ty);
        } else if !has_body {
            self.threads.unseen(instance);
        }
        self.formats |= formatters::makes_formatters(tcx, instance.def_id())
            || (!has_body && !is_formatter && self.formatters.takes_messages(instance.def_id()));
        if !self.formats && is_formatter && self.place == Place::Device {
            self.deferred.insert(instance);
        } else if has_body {
            self.seen.insert(MonoItem::Fn(instance));
        } else {
            self.without_body.insert(instance);
        }
        Some(index)
    }

    /// The pipelines that have been reached: what the host does with one is left out.
    fn nested(&self) -> Vec<Instance<'tcx>> {
        let functions = self.without_body.iter().copied();
        functions.filter(|function| is_for_host_only(self.tcx, function.def_id())).collect()
    }

    /// Whether a launch site has been reached.
    fn launches(&self) -> bool {
        let markers: Vec<DefId> =
            runtime_items::find(self.tcx).iter().map(|items| items.descriptor).collect();
        self.seen.iter().any(|item| match item {
            MonoItem::Fn(function) => markers.contains(&function.def_id()),
            _ => false,
        })
    }

    fn has_body(&self, instance: Instance<'tcx>) -> bool {
        let tcx = self.tcx;
        let InstanceKind::Item(def_id) = instance.def else {
            // The compiler makes the bodies of shims in every crate that needs them.
            return true;
        };
        !tcx.is_foreign_item(def_id)
            && !is_for_host_only(tcx, def_id)
            && (def_id.is_local()
                || encoded_mir::carried(tcx, def_id)
                || matches!(tcx.def_kind(def_id), DefKind::Ctor(..)))
    }

    fn remember(&mut self, instance: Instance<'tcx>) -> ItemIndex {
        let (tcx, def_id) = (self.tcx, instance.def_id());
        self.map.add(|map| {
            let path = match dropped(instance) {
                Some(Some(ty)) => with_no_trimmed_paths!(format!("drop of `{ty}`")),
                _ => names::path_of(tcx, def_id),
            };
            let foreign = tcx.is_foreign_item(def_id);
            let kind = match foreign {
                true => ItemKind::Foreign,
                false if is_naked(tcx, def_id) => ItemKind::Naked,
                false => ItemKind::Function,
            };
            let origin = map.origin(tcx, def_id);
            let item = Item { path, span: tcx.def_span(def_id), origin, kind };
            (tcx.symbol_name(instance).name, item)
        })
    }

    /// The function that rustc makes for the intrinsic `catch_unwind`.
    fn catch(&mut self, instance: Instance<'tcx>) -> ItemIndex {
        if let Some(&known) = self.indices.get(&instance) {
            return known;
        }
        let (tcx, def_id) = (self.tcx, instance.def_id());
        let index = self.map.add(|map| {
            let item = Item {
                path: names::path_of(tcx, def_id),
                span: tcx.def_span(def_id),
                origin: map.origin(tcx, def_id),
                kind: ItemKind::Function,
            };
            ("__rust_try", item)
        });
        self.indices.insert(instance, index);
        index
    }

    fn remember_static(&mut self, def_id: DefId) -> ItemIndex {
        if let Some(&known) = self.statics.get(&def_id) {
            return known;
        }
        let tcx = self.tcx;
        let index = self.map.add(|map| {
            let declared = declared_static(tcx, def_id);
            let ty = as_written(tcx.type_of(declared).instantiate_identity());
            let item = Item {
                path: names::path_of(tcx, declared),
                span: tcx.def_span(declared),
                origin: map.origin(tcx, declared),
                kind: ItemKind::Static {
                    mutable: tcx.is_mutable_static(declared),
                    ty: with_no_trimmed_paths!(ty.to_string()),
                    spec_constants: spec_constants::are_in(tcx, ty, &runtime_items::find(tcx)),
                },
            };
            (tcx.symbol_name(Instance::mono(tcx, def_id)).name, item)
        });
        self.statics.insert(def_id, index);
        index
    }

    fn body(&mut self, instance: Instance<'tcx>) {
        let tcx = self.tcx;
        let caller = self.function(instance).expect("only functions with a body come here");
        let body = tcx.instance_mir(instance.def);
        self.threads.enter(MonoItem::Fn(instance));
        // What the compiler's collector leaves to the linker, and every call with its location.
        let mut places = Places {
            instance,
            body,
            edges: Edges::of(tcx, body, caller),
            named: FxHashSet::default(),
            walk: self,
        };
        // The blocks in the order in which rustc lowers them, which gives calls of one function
        // their ordinals.
        for block in traversal::mono_reachable_reverse_postorder(body, tcx, instance) {
            places.visit_basic_block_data(block, &body.basic_blocks[block]);
        }
        let Places { mut edges, named, .. } = places;
        self.threads.enter(MonoItem::Fn(instance));
        // The collector's result, from its cache: the same as for the host.
        if let Ok((used, _)) = tcx.items_of_instance((instance, CollectionMode::UsedItems)) {
            for item in used {
                let index = match item.node {
                    MonoItem::Fn(used) => self.function(used),
                    MonoItem::Static(def_id) => {
                        if tcx.is_thread_local_static(def_id) {
                            self.threads.variable(def_id);
                        }
                        self.threads.reaches(item.node);
                        self.seen.insert(item.node);
                        Some(self.remember_static(def_id))
                    }
                    item @ MonoItem::GlobalAsm(_) => {
                        self.seen.insert(item);
                        None
                    }
                };
                if let Some(index) = index.filter(|index| !named.contains(index)) {
                    edges.mention(&mut self.map, index, item.span);
                }
            }
        }
        self.threads.leave();
    }

    /// An unsizing coercion to a trait object: the methods in its vtable.
    fn unsize(&mut self, source: Ty<'tcx>, target: Ty<'tcx>, named: &mut Vec<ItemIndex>) {
        let tcx = self.tcx;
        let env = ty::TypingEnv::fully_monomorphized();
        if let (Some(source), Some(target)) =
            (source.builtin_deref(true), target.builtin_deref(true))
        {
            let (source, target) = tcx.struct_lockstep_tails_for_codegen(source, target, env);
            if let ty::Dynamic(predicates, _) = *target.kind()
                && !matches!(source.kind(), ty::Dynamic(..))
            {
                let principal = predicates
                    .principal()
                    .map(|principal| tcx.instantiate_bound_regions_with_erased(principal));
                self.allocation(tcx.vtable_allocation((source, principal)), named);
            }
            return;
        }
        // A smart pointer, and the field in it that is coerced.
        if let (ty::Adt(source, from), ty::Adt(target, to)) = (source.kind(), target.kind())
            && source == target
            && source.is_struct()
        {
            for field in &source.non_enum_variant().fields {
                let normalise = |args| tcx.normalize_erasing_regions(env, field.ty(tcx, args));
                let (source, target) = (normalise(*from), normalise(*to));
                if source != target {
                    self.unsize(source, target, named);
                }
            }
        }
    }

    fn static_value(&mut self, def_id: DefId) {
        self.threads.enter(MonoItem::Static(def_id));
        if let Ok(value) = self.tcx.eval_static_initializer(def_id) {
            for &provenance in value.inner().provenance().ptrs().values() {
                self.allocation(provenance.alloc_id(), &mut Vec::new());
            }
        }
        self.threads.leave();
    }

    /// Adds what a constant refers to to `named`.
    fn allocation(&mut self, id: AllocId, named: &mut Vec<ItemIndex>) {
        let tcx = self.tcx;
        match tcx.global_alloc(id) {
            // The value of another crate's static is in its metadata.
            GlobalAlloc::Static(def_id) => {
                if tcx.is_thread_local_static(def_id) {
                    self.threads.variable(def_id);
                }
                self.threads.reaches(MonoItem::Static(def_id));
                named.push(self.remember_static(def_id));
                if !tcx.is_foreign_item(def_id) && !tcx.is_thread_local_static(def_id) {
                    self.seen.insert(MonoItem::Static(def_id));
                }
            }
            GlobalAlloc::Memory(memory) => {
                for &provenance in memory.inner().provenance().ptrs().values() {
                    self.allocation(provenance.alloc_id(), named);
                }
            }
            GlobalAlloc::Function { instance, .. } => named.extend(self.function(instance)),
            GlobalAlloc::VTable(ty, dyn_ty) => {
                let principal = dyn_ty
                    .principal()
                    .map(|principal| tcx.instantiate_bound_regions_with_erased(principal));
                self.allocation(tcx.vtable_allocation((ty, principal)), named);
            }
            GlobalAlloc::TypeId { .. } => {}
        }
    }
}

/// The calls and mentions in one body.
struct Places<'w, 'tcx> {
    walk: &'w mut Walk<'tcx>,
    instance: Instance<'tcx>,
    body: &'tcx Body<'tcx>,
    edges: Edges<'tcx, 'tcx>,
    /// Items whose location is recorded already.
    named: FxHashSet<ItemIndex>,
}

impl<'tcx> Places<'_, 'tcx> {
    fn resolve<T: TypeFoldable<TyCtxt<'tcx>>>(&self, ty: T) -> T {
        self.instance.instantiate_mir_and_normalize_erasing_regions(
            self.walk.tcx,
            ty::TypingEnv::fully_monomorphized(),
            generic(self.walk.tcx, ty),
        )
    }

    fn function(&mut self, target: Instance<'tcx>, how: How, source: SourceInfo) {
        if let Some(index) = self.walk.function(target) {
            self.named.insert(index);
            self.edges.add(&mut self.walk.map, Some(index), how, source);
        }
    }

    fn lang_item(&mut self, item: LangItem, source: SourceInfo) {
        if let Some(def_id) = self.walk.tcx.lang_items().get(item) {
            self.function(Instance::mono(self.walk.tcx, def_id), How::Call, source);
        }
    }

    fn mentions(&mut self, items: Vec<ItemIndex>, source: SourceInfo) {
        for index in items {
            if self.named.insert(index) {
                self.edges.add(&mut self.walk.map, Some(index), How::Mention, source);
            }
        }
    }
}

impl<'tcx> Visitor<'tcx> for Places<'_, 'tcx> {
    fn visit_rvalue(&mut self, rvalue: &Rvalue<'tcx>, location: Location) {
        let (tcx, env) = (self.walk.tcx, ty::TypingEnv::fully_monomorphized());
        let source = *self.body.source_info(location);
        self.walk.threads.at(self.body, source);
        match rvalue {
            Rvalue::Cast(CastKind::PointerCoercion(coercion, _), operand, target) => {
                let ty = self.resolve(operand.ty(self.body, tcx));
                match coercion {
                    PointerCoercion::ReifyFnPointer(_) => {
                        if let ty::FnDef(def_id, args) = *ty.kind()
                            && let Some(target) =
                                Instance::resolve_for_fn_ptr(tcx, env, def_id, args)
                        {
                            self.function(target, How::Mention, source);
                        }
                    }
                    PointerCoercion::Unsize => {
                        let mut named = Vec::new();
                        let target = self.resolve(*target);
                        self.walk.unsize(ty, target, &mut named);
                        self.mentions(named, source);
                    }
                    _ => {}
                }
            }
            Rvalue::ThreadLocalRef(def_id) => {
                self.walk.threads.variable(*def_id);
                let index = self.walk.remember_static(*def_id);
                self.mentions(vec![index], source);
            }
            _ => {}
        }
        self.super_rvalue(rvalue, location);
    }

    fn visit_const_operand(&mut self, constant: &ConstOperand<'tcx>, location: Location) {
        let (tcx, env) = (self.walk.tcx, ty::TypingEnv::fully_monomorphized());
        let constant = self.resolve(*constant);
        let allocation = match constant.const_.eval(tcx, env, constant.span) {
            Ok(ConstValue::Scalar(Scalar::Ptr(pointer, _))) => pointer.provenance.alloc_id(),
            Ok(ConstValue::Indirect { alloc_id, .. } | ConstValue::Slice { alloc_id, .. }) => {
                alloc_id
            }
            _ => return,
        };
        let mut named = Vec::new();
        self.walk.threads.at(self.body, *self.body.source_info(location));
        self.walk.allocation(allocation, &mut named);
        self.mentions(named, *self.body.source_info(location));
    }

    fn visit_terminator(&mut self, terminator: &Terminator<'tcx>, location: Location) {
        let tcx = self.walk.tcx;
        let source = terminator.source_info;
        self.walk.threads.at(self.body, source);
        match &terminator.kind {
            TerminatorKind::Call { func, fn_span, .. }
            | TerminatorKind::TailCall { func, fn_span, .. } => {
                let source = SourceInfo { span: *fn_span, ..source };
                let target = match *self.resolve(func.ty(self.body, tcx)).kind() {
                    ty::FnDef(def_id, args) => Instance::try_resolve(
                        tcx,
                        ty::TypingEnv::fully_monomorphized(),
                        def_id,
                        args,
                    )
                    .unwrap_or(None),
                    _ => None,
                };
                // Callers of a formatting function pass values to be formatted.
                self.walk.formats |=
                    target.is_some_and(|target| self.walk.formatters.formatter(target).is_some());
                match target {
                    Some(target) if !matches!(target.def, InstanceKind::Virtual(..)) => {
                        self.function(target, How::Call, source);
                    }
                    _ => {
                        self.walk.threads.unknown_call();
                        self.edges.add(&mut self.walk.map, None, How::Pointer, source);
                    }
                }
            }
            TerminatorKind::Drop { place, .. } => {
                let ty = self.resolve(place.ty(self.body, tcx).ty);
                let glue = drop_glue(tcx, ty);
                if ty.is_trait() {
                    self.walk.threads.unknown_call();
                }
                if dropped(glue) != Some(None) {
                    self.function(glue, How::Call, source);
                }
            }
            TerminatorKind::Assert { msg, .. } => {
                let item = match &**msg {
                    AssertKind::BoundsCheck { .. } => LangItem::PanicBoundsCheck,
                    AssertKind::MisalignedPointerDereference { .. } => {
                        LangItem::PanicMisalignedPointerDereference
                    }
                    other => other.panic_function(),
                };
                self.lang_item(item, source);
            }
            TerminatorKind::UnwindTerminate(reason) => self.lang_item(reason.lang_item(), source),
            TerminatorKind::InlineAsm { template, .. } => {
                if !barrier_markers::is_marker(template) {
                    self.walk.threads.unknown();
                }
                self.edges.add(&mut self.walk.map, None, How::Assembly, source);
            }
            _ => {}
        }
        // The code generator calls it where what runs while something unwinds may unwind itself.
        if let Some(UnwindAction::Terminate(reason)) = terminator.unwind()
            && self.walk.place == Place::Device
        {
            self.lang_item(reason.lang_item(), source);
        }
        self.super_terminator(terminator, location);
    }
}

/// Whether a function's body is assembly.
fn is_naked(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
        && tcx.codegen_fn_attrs(def_id).flags.contains(CodegenFnAttrFlags::NAKED)
}
