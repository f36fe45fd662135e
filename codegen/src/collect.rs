//! Everything that the kernels of a crate reach, as a codegen unit.
//!
//! rustc's own collector stops at what an upstream crate has already compiled: on the host such a
//! function is linked, a device has no linker. So this walk also follows calls into other crates
//! as long as their MIR is at hand, and stops only at panics (which the passes lower) and at
//! functions without MIR (which stay declarations, for the passes to judge).

use std::collections::HashMap;

use rustc_data_structures::fx::FxIndexSet;
use rustc_hir::LangItem;
use rustc_hir::attrs::Linkage;
use rustc_hir::def::DefKind;
use rustc_middle::mir::interpret::{AllocId, GlobalAlloc, Scalar};
use rustc_middle::mir::mono::{CodegenUnit, CollectionMode, MonoItem, MonoItemData, Visibility};
use rustc_middle::mir::visit::Visitor;
use rustc_middle::mir::{
    AssertKind, CastKind, ConstOperand, ConstValue, Location, Rvalue, StatementKind, TerminatorKind,
};
use rustc_middle::ty::adjustment::PointerCoercion;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, InstanceKind, Ty, TyCtxt};
use rustc_span::def_id::{DefId, DefIndex};
use rustc_span::{Span, Symbol, sym};
use schism_passes::{PanicFunction, PanicMessage};

/// What the kernels of a crate reach.
pub(crate) struct Reached<'tcx> {
    /// Everything with a body, in the order in which it was found.
    pub items: FxIndexSet<MonoItem<'tcx>>,
    /// The panic functions that are called.
    pub panics: Vec<PanicFunction>,
    /// Path and place of every function by its symbol, for diagnostics.
    pub functions: HashMap<String, (String, Span)>,
    /// Statics, those of other crates too, in the order in which they were found.
    pub statics: FxIndexSet<DefId>,
}

/// The panic functions of the standard library that are no generics, in the order of their symbols:
/// also those that no MIR at hand calls.
pub(crate) fn panics_of_std(tcx: TyCtxt<'_>) -> Vec<PanicFunction> {
    let mut panics = Vec::new();
    let store = rustc_metadata::creader::CStore::from_tcx(tcx);
    for &krate in tcx.crates(()) {
        if !is_std(tcx.crate_name(krate)) {
            continue;
        }
        for index in 0..store.num_def_ids_untracked(krate) {
            let def_id = DefId { krate, index: DefIndex::from_usize(index) };
            if matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
                && !tcx.generics_of(def_id).requires_monomorphization(tcx)
            {
                panics.extend(panic_function(tcx, Instance::mono(tcx, def_id)));
            }
        }
    }
    panics.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    panics
}

/// Walks from the entry functions of the kernels.
pub(crate) fn reach<'tcx>(
    tcx: TyCtxt<'tcx>,
    entries: impl Iterator<Item = Instance<'tcx>>,
) -> Reached<'tcx> {
    let mut walk = Walk {
        tcx,
        seen: FxIndexSet::default(),
        panics: HashMap::new(),
        functions: HashMap::new(),
        statics: FxIndexSet::default(),
    };
    for entry in entries {
        walk.function(entry);
    }
    let mut next = 0;
    while let Some(&item) = walk.seen.get_index(next) {
        next += 1;
        match item {
            MonoItem::Fn(instance) => walk.body(instance),
            MonoItem::Static(def_id) => walk.static_value(def_id),
            MonoItem::GlobalAsm(_) => {}
        }
    }
    let mut panics: Vec<_> = walk.panics.into_values().collect();
    panics.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    Reached { items: walk.seen, panics, functions: walk.functions, statics: walk.statics }
}

/// The codegen unit of what was reached.
pub(crate) fn unit<'tcx>(name: Symbol, items: &FxIndexSet<MonoItem<'tcx>>) -> CodegenUnit<'tcx> {
    let mut unit = CodegenUnit::new(name);
    for &item in items {
        let data = MonoItemData {
            inlined: false,
            linkage: Linkage::External,
            visibility: Visibility::Default,
            size_estimate: 1,
        };
        unit.items_mut().insert(item, data);
    }
    unit.compute_size_estimate();
    unit
}

struct Walk<'tcx> {
    tcx: TyCtxt<'tcx>,
    seen: FxIndexSet<MonoItem<'tcx>>,
    /// By instance: generic panic functions have a symbol for each.
    panics: HashMap<Instance<'tcx>, PanicFunction>,
    functions: HashMap<String, (String, Span)>,
    statics: FxIndexSet<DefId>,
}

impl<'tcx> Walk<'tcx> {
    /// A function is called or its address is taken.
    fn function(&mut self, instance: Instance<'tcx>) {
        let tcx = self.tcx;
        if matches!(instance.def, InstanceKind::Virtual(..)) {
            return;
        }
        let mut instance = instance;
        if let InstanceKind::Intrinsic(def_id) = instance.def {
            let must_be_overridden =
                tcx.intrinsic(def_id).is_none_or(|intrinsic| intrinsic.must_be_overridden);
            if must_be_overridden {
                return;
            }
            // The body of an intrinsic that a backend may leave as it is.
            instance = Instance::new_raw(def_id, instance.args);
        }
        if self.seen.contains(&MonoItem::Fn(instance)) {
            return;
        }
        self.remember(instance);
        if let Some(panic) = panic_function(self.tcx, instance) {
            self.panics.insert(instance, panic);
            return;
        }
        if self.has_body(instance) {
            self.seen.insert(MonoItem::Fn(instance));
        }
    }

    fn has_body(&self, instance: Instance<'tcx>) -> bool {
        let tcx = self.tcx;
        let InstanceKind::Item(def_id) = instance.def else {
            // Shims have their bodies made by the compiler, in every crate that needs them.
            return true;
        };
        !tcx.is_foreign_item(def_id)
            && (def_id.is_local()
                || tcx.is_mir_available(def_id)
                || matches!(tcx.def_kind(def_id), DefKind::Ctor(..)))
    }

    fn remember(&mut self, instance: Instance<'tcx>) {
        let (tcx, def_id) = (self.tcx, instance.def_id());
        let symbol = tcx.symbol_name(instance).name;
        self.functions
            .entry(symbol.to_owned())
            .or_insert_with(|| (crate::kernels::path_of(tcx, def_id), tcx.def_span(def_id)));
    }

    fn lang_item(&mut self, item: LangItem) {
        if let Some(def_id) = self.tcx.lang_items().get(item) {
            self.function(Instance::mono(self.tcx, def_id));
        }
    }

    fn body(&mut self, instance: Instance<'tcx>) {
        let tcx = self.tcx;
        // What the compiler's collector found: the same answer as for the host, from its cache.
        if let Ok((used, _)) = tcx.items_of_instance((instance, CollectionMode::UsedItems)) {
            for item in used {
                match item.node {
                    MonoItem::Fn(used) => self.function(used),
                    item => {
                        self.seen.insert(item);
                    }
                }
            }
        }
        // And what it leaves to the linker.
        let env = ty::TypingEnv::fully_monomorphized();
        let body = tcx.instance_mir(instance.def);
        let resolve = |ty: ty::Ty<'tcx>| {
            instance.instantiate_mir_and_normalize_erasing_regions(
                tcx,
                env,
                ty::EarlyBinder::bind(ty),
            )
        };
        let mut constants = Constants(Vec::new());
        constants.visit_body(body);
        for constant in constants.0 {
            let constant = instance.instantiate_mir_and_normalize_erasing_regions(
                tcx,
                env,
                ty::EarlyBinder::bind(constant),
            );
            match constant.const_.eval(tcx, env, constant.span) {
                Ok(ConstValue::Scalar(Scalar::Ptr(pointer, _))) => {
                    self.allocation(pointer.provenance.alloc_id());
                }
                Ok(ConstValue::Indirect { alloc_id, .. } | ConstValue::Slice { alloc_id, .. }) => {
                    self.allocation(alloc_id);
                }
                _ => {}
            }
        }
        for block in body.basic_blocks.iter() {
            for statement in &block.statements {
                if let StatementKind::Assign(assign) = &statement.kind
                    && let Rvalue::Cast(CastKind::PointerCoercion(coercion, _), operand, target) =
                        &assign.1
                {
                    let source = resolve(operand.ty(body, tcx));
                    match coercion {
                        PointerCoercion::ReifyFnPointer(_) => {
                            if let ty::FnDef(def_id, args) = *source.kind()
                                && let Some(target) =
                                    Instance::resolve_for_fn_ptr(tcx, env, def_id, args)
                            {
                                self.function(target);
                            }
                        }
                        PointerCoercion::Unsize => self.unsize(source, resolve(*target)),
                        _ => {}
                    }
                }
            }
            let Some(terminator) = &block.terminator else { continue };
            match &terminator.kind {
                TerminatorKind::Call { func, .. } | TerminatorKind::TailCall { func, .. } => {
                    if let ty::FnDef(def_id, args) = *resolve(func.ty(body, tcx)).kind()
                        && let Ok(Some(target)) = Instance::try_resolve(tcx, env, def_id, args)
                    {
                        self.function(target);
                    }
                }
                TerminatorKind::Drop { place, .. } => {
                    let glue =
                        Instance::resolve_drop_in_place(tcx, resolve(place.ty(body, tcx).ty));
                    if !matches!(glue.def, InstanceKind::DropGlue(_, None)) {
                        self.function(glue);
                    }
                }
                TerminatorKind::Assert { msg, .. } => match &**msg {
                    AssertKind::BoundsCheck { .. } => self.lang_item(LangItem::PanicBoundsCheck),
                    AssertKind::MisalignedPointerDereference { .. } => {
                        self.lang_item(LangItem::PanicMisalignedPointerDereference);
                    }
                    other => self.lang_item(other.panic_function()),
                },
                TerminatorKind::UnwindTerminate(reason) => self.lang_item(reason.lang_item()),
                _ => {}
            }
        }
    }

    /// A pointer becomes one to a trait object: the methods in its vtable.
    fn unsize(&mut self, source: Ty<'tcx>, target: Ty<'tcx>) {
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
                self.allocation(tcx.vtable_allocation((source, principal)));
            }
            return;
        }
        // A smart pointer, and in it the field that is coerced.
        if let (ty::Adt(source, from), ty::Adt(target, to)) = (source.kind(), target.kind())
            && source == target
            && source.is_struct()
        {
            for field in &source.non_enum_variant().fields {
                let normalise = |args| tcx.normalize_erasing_regions(env, field.ty(tcx, args));
                let (source, target) = (normalise(*from), normalise(*to));
                if source != target {
                    self.unsize(source, target);
                }
            }
        }
    }

    fn static_value(&mut self, def_id: DefId) {
        if let Ok(value) = self.tcx.eval_static_initializer(def_id) {
            for &provenance in value.inner().provenance().ptrs().values() {
                self.allocation(provenance.alloc_id());
            }
        }
    }

    fn allocation(&mut self, id: AllocId) {
        let tcx = self.tcx;
        match tcx.global_alloc(id) {
            GlobalAlloc::Static(def_id) => {
                self.statics.insert(def_id);
                if def_id.is_local() {
                    self.seen.insert(MonoItem::Static(def_id));
                }
            }
            GlobalAlloc::Memory(memory) => {
                for &provenance in memory.inner().provenance().ptrs().values() {
                    self.allocation(provenance.alloc_id());
                }
            }
            GlobalAlloc::Function { instance, .. } => self.function(instance),
            GlobalAlloc::VTable(ty, dyn_ty) => {
                let principal = dyn_ty
                    .principal()
                    .map(|principal| tcx.instantiate_bound_regions_with_erased(principal));
                self.allocation(tcx.vtable_allocation((ty, principal)));
            }
            GlobalAlloc::TypeId { .. } => {}
        }
    }
}

/// The constants in a body.
struct Constants<'tcx>(Vec<ConstOperand<'tcx>>);

impl<'tcx> Visitor<'tcx> for Constants<'tcx> {
    fn visit_const_operand(&mut self, constant: &ConstOperand<'tcx>, _: Location) {
        self.0.push(*constant);
    }
}

fn is_std(krate: Symbol) -> bool {
    matches!(krate, sym::core | sym::alloc | sym::std)
}

/// Whether a call of this function is a panic: a function of the standard library that does
/// not return, other than those that end a process or assert that they are never called.
fn panic_function<'tcx>(tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) -> Option<PanicFunction> {
    let InstanceKind::Item(def_id) = instance.def else { return None };
    if !is_std(tcx.crate_name(def_id.krate))
        || !matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
        || tcx.intrinsic(def_id).is_some()
    {
        return None;
    }
    let signature = tcx.fn_sig(def_id).skip_binder().skip_binder();
    if !signature.output().is_never() {
        return None;
    }
    let name = tcx.item_name(def_id);
    let path = crate::kernels::path_of(tcx, def_id);
    if matches!(name.as_str(), "unreachable_unchecked" | "exit" | "abort")
        || path.starts_with("std::process")
        || path.contains("::sys::")
    {
        return None;
    }
    let first_is = |expected: &str| {
        signature
            .inputs()
            .first()
            .is_some_and(|ty| with_no_trimmed_paths!(ty.to_string()) == expected)
    };
    let message = match name.as_str() {
        "panic_bounds_check" => PanicMessage::Static("index out of bounds".to_owned()),
        _ if first_is("&'static str") || first_is("&str") => PanicMessage::Text,
        _ if signature.inputs().first().is_some_and(|ty| {
            ty.ty_adt_def()
                .is_some_and(|adt| Some(adt.did()) == tcx.lang_items().format_arguments())
        }) =>
        {
            PanicMessage::Arguments
        }
        other => PanicMessage::Static(message_of(other)),
    };
    Some(PanicFunction {
        symbol: tcx.symbol_name(instance).name.to_owned(),
        message,
        located: instance.def.requires_caller_location(tcx),
    })
}

/// A message for a panic function that has none of its own among its arguments.
fn message_of(name: &str) -> String {
    let known = match name {
        "panic_const_add_overflow" => "attempt to add with overflow",
        "panic_const_sub_overflow" => "attempt to subtract with overflow",
        "panic_const_mul_overflow" => "attempt to multiply with overflow",
        "panic_const_div_overflow" => "attempt to divide with overflow",
        "panic_const_rem_overflow" => "attempt to calculate the remainder with overflow",
        "panic_const_neg_overflow" => "attempt to negate with overflow",
        "panic_const_shr_overflow" => "attempt to shift right with overflow",
        "panic_const_shl_overflow" => "attempt to shift left with overflow",
        "panic_const_div_by_zero" => "attempt to divide by zero",
        "panic_const_rem_by_zero" => "attempt to calculate the remainder with a divisor of zero",
        "unwrap_failed" => "called `unwrap()` on a value that has none",
        "slice_index_fail" => "slice index out of range",
        "panic_misaligned_pointer_dereference" => "misaligned pointer dereference",
        "panic_null_pointer_dereference" => "null pointer dereference occurred",
        "handle_alloc_error" => "memory allocation failed",
        "capacity_overflow" => "capacity overflow",
        other => return other.replace('_', " "),
    };
    known.to_owned()
}
