//! Keeps rustc from duplicating barriers.
//!
//! rustc's jump threading copies a block with calls to the end of each path whose next branch it
//! knows:
//!
//! ```text
//! if id < 8 { a() }        if id < 8 { a(); barrier(); b() } else { barrier() }
//! barrier();          →
//! if id < 8 { b() }
//! ```
//!
//! On a device the work-items of a group then wait at two barriers instead of one. LLVM has an
//! attribute that forbids this (`schism_passes::frontend::prepare_module::mark_convergent`); rustc's MIR has none.
//! But jump threading stops at inline assembly. So every call that may reach a barrier is followed
//! by a marker: assembly without instructions. Markers are inserted before the first optimisation,
//! at every level, since functions of this crate may be inlined into others; both halves remove
//! them before LLVM optimises.
//!
//! Which calls may reach a barrier is unknown before monomorphisation. A barrier takes the
//! runtime's `NdItem`, and sub-group operations, which are treated in the same way, its `SubGroup`.
//! So a call is marked if one of these is among its types, as an argument or inside one; or if its
//! callee is decided later, such as a function pointer or a method of a parameter or an object,
//! unless that is one of the standard library's own. A function without such calls is not changed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use rustc_ast::{InlineAsmOptions, InlineAsmTemplatePiece};
use rustc_data_structures::steal::Steal;
use rustc_middle::mir::{
    BasicBlock, BasicBlockData, Body, InlineAsmMacro, Terminator, TerminatorKind, UnwindAction,
};
use rustc_middle::ty::{self, Ty, TyCtxt};
use rustc_middle::util::Providers;
use rustc_span::def_id::{DefId, LocalDefId};
use schism_passes::frontend::prepare_module::{lower_unroll_markers, mark_convergent};
use schism_passes::spec::builtins;

use crate::kernels::{names, runtime_items};
use crate::rustc::{as_written, terminator};

/// rustc's properties of a function's MIR before optimisation.
type Provider = for<'tcx> fn(TyCtxt<'tcx>, LocalDefId) -> &'tcx Steal<Body<'tcx>>;

/// rustc's own provider of `mir_drops_elaborated_and_const_checked`, which ours calls.
static MIR: OnceLock<Provider> = OnceLock::new();

/// Installs the provider of this module.
pub(crate) fn provide(providers: &mut Providers) {
    MIR.get_or_init(|| providers.queries.mir_drops_elaborated_and_const_checked);
    providers.queries.mir_drops_elaborated_and_const_checked =
        |tcx, def_id| insert(tcx, def_id, (MIR.get().expect("set when ours was"))(tcx, def_id));
}

/// Inserts markers after the calls of a function that may reach a barrier.
fn insert<'tcx>(
    tcx: TyCtxt<'tcx>,
    def_id: LocalDefId,
    body: &'tcx Steal<Body<'tcx>>,
) -> &'tcx Steal<Body<'tcx>> {
    // Functions that can run at compile time call no barrier. Coroutines are no kernels.
    if tcx.hir_body_const_context(def_id).is_some() || tcx.is_coroutine(def_id.to_def_id()) {
        return body;
    }
    let items = runtime_items::group_operations(tcx);
    if items.is_empty() {
        return body;
    }
    let calls: Vec<BasicBlock> = {
        let body = body.borrow();
        let mut search = Search { tcx, items: &items, seen: HashSet::new(), bounds: Vec::new() };
        search.bounds = tcx.param_env(def_id).caller_bounds().iter().collect();
        let may = |block: &BasicBlockData<'tcx>| {
            !block.is_cleanup
                && matches!(&block.terminator().kind, TerminatorKind::Call { target: Some(_), .. })
        };
        let blocks = body.basic_blocks.iter_enumerated().filter(|(_, block)| may(block));
        blocks
            .filter(|(_, block)| search.call(&body, block.terminator()))
            .map(|(index, _)| index)
            .collect()
    };
    if calls.is_empty() {
        return body;
    }
    let mut body = body.steal();
    for block in calls {
        let blocks = body.basic_blocks_mut();
        let next = blocks.next_index();
        let call = blocks[block].terminator_mut();
        let source_info = call.source_info;
        let TerminatorKind::Call { target: Some(target), .. } = &mut call.kind else { continue };
        let after = std::mem::replace(target, next);
        let text = InlineAsmTemplatePiece::String(Cow::Borrowed(mark_convergent::MARK));
        let kind = TerminatorKind::InlineAsm {
            asm_macro: InlineAsmMacro::Asm,
            template: tcx.arena.alloc_from_iter([text]),
            operands: Box::new([]),
            options: InlineAsmOptions::NOMEM
                | InlineAsmOptions::PRESERVES_FLAGS
                | InlineAsmOptions::NOSTACK,
            line_spans: tcx.arena.alloc_from_iter([source_info.span]),
            targets: Box::new([after]),
            unwind: UnwindAction::Unreachable,
        };
        blocks.push(BasicBlockData::new(Some(terminator(source_info, kind)), false));
    }
    tcx.alloc_steal_mir(body)
}

/// Whether assembly is a marker, of this file or of the runtime's `unroll`: it has no
/// instructions.
pub(crate) fn is_marker(template: &[InlineAsmTemplatePiece]) -> bool {
    match template {
        [InlineAsmTemplatePiece::String(text)] if text == mark_convergent::MARK => true,
        [InlineAsmTemplatePiece::String(text), ..] => text.starts_with(lower_unroll_markers::MARK),
        _ => false,
    }
}

/// Searches types for those with access to barriers.
struct Search<'a, 'tcx> {
    tcx: TyCtxt<'tcx>,
    /// The runtimes' `NdItem` and `SubGroup`.
    items: &'a [DefId],
    seen: HashSet<Ty<'tcx>>,
    /// What is known of the function's type parameters.
    bounds: Vec<ty::Clause<'tcx>>,
}

impl<'tcx> Search<'_, 'tcx> {
    fn call(&mut self, body: &Body<'tcx>, call: &Terminator<'tcx>) -> bool {
        let TerminatorKind::Call { func, args, .. } = &call.kind else { return false };
        let function = func.ty(body, self.tcx);
        if let ty::FnDef(def_id, _) = *function.kind()
            && self.tcx.is_foreign_item(def_id)
        {
            let name = self.tcx.item_name(def_id);
            return builtins::convergent().any(|builtin| builtin == name.as_str());
        }
        self.seen.clear();
        let mut types = vec![function];
        types.extend(args.iter().map(|argument| argument.node.ty(body, self.tcx)));
        types.into_iter().any(|ty| self.may(ty))
    }

    /// Whether a value of this type may give access to a barrier.
    fn may(&mut self, ty: Ty<'tcx>) -> bool {
        if !self.seen.insert(ty) {
            return false;
        }
        let parts: Vec<Ty<'tcx>> = ty
            .walk()
            .filter_map(|argument| argument.as_type())
            .filter(|part| *part != ty)
            .collect();
        let itself = match *ty.kind() {
            ty::FnPtr(..) => true,
            ty::Dynamic(predicates, ..) => {
                predicates.principal_def_id().is_some_and(|of| self.may_call(of))
            }
            ty::Param(_) | ty::Alias(..) => self.bounds.iter().any(|clause| {
                let Some(bound) = clause.as_trait_clause() else { return false };
                bound.self_ty().skip_binder() == ty && self.may_call(bound.def_id())
            }),
            ty::Adt(adt, arguments) => {
                self.items.contains(&adt.did())
                    || (!self.is_std(adt.did())
                        && adt
                            .all_fields()
                            .any(|field| self.may(as_written(field.ty(self.tcx, arguments)))))
            }
            _ => false,
        };
        itself || parts.into_iter().any(|part| self.may(part))
    }

    /// Whether methods of a trait may reach a barrier: those of functions, and those of users'
    /// traits.
    fn may_call(&self, of: DefId) -> bool {
        self.tcx.fn_trait_kind_from_def_id(of).is_some() || !self.is_std(of)
    }

    fn is_std(&self, def_id: DefId) -> bool {
        names::is_std(self.tcx.crate_name(def_id.krate))
    }
}
