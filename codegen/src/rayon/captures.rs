//! References to small values in pipelines: closures capture locals by reference, and rayon's adaptors
//! refer to closures.
//!
//! `schism-stdpar` has launches bring copies of such values. Where the references are, it asks with
//! two functions, calls of which resolve to others that have the answer as constants after the
//! types of producer and consumer: a number for each reference.

use rustc_abi::{FieldsShape, Size, TyAbiInterface, Variants};
use rustc_middle::ty::layout::{HasTyCtxt, LayoutCx, TyAndLayout};
use rustc_middle::ty::{self, GenericArg, GenericArgsRef, Ty, TyCtxt, TypeVisitableExt};
use rustc_span::def_id::DefId;

use crate::rayon::functions::{CAPTURE_FUNCTIONS, known};
use crate::rustc;

/// References that have a number.
const MOST: usize = 8;

/// Bytes and alignment of a value that is copied, at most.
const LARGEST: u64 = 64;
const MOST_ALIGNED: u64 = 16;

/// What a reference is in: the producer, the consumer, or, from this number on, a value that is
/// referred to.
const PRODUCER: usize = 0;
const CONSUMER: usize = 1;
const FIRST_VALUE: usize = 2;

/// What stands in for a function that is called, with its parameters.
pub(crate) fn replacement<'tcx>(
    tcx: TyCtxt<'tcx>,
    function: DefId,
    args: GenericArgsRef<'tcx>,
) -> Option<(DefId, GenericArgsRef<'tcx>)> {
    let is_name = |name: &str| CAPTURE_FUNCTIONS.iter().any(|(original, _)| *original == name);
    if function.is_local() || !is_name(tcx.opt_item_name(function)?.as_str()) {
        return None;
    }
    let replacement = known(tcx, |known| {
        let mut items = known.captures.iter();
        items.find(|items| items.original == function).map(|items| items.replacement)
    })?;
    if args.has_param() {
        return None;
    }
    let codes = References::of(tcx, args.type_at(0), args.type_at(1)).encode();
    let codes = codes.map(|code| GenericArg::from(ty::Const::from_target_usize(tcx, code)));
    Some((replacement, tcx.mk_args_from_iter(args.iter().chain(codes))))
}

/// A reference.
struct Reference {
    parent: usize,
    offset: u64,
    size: u64,
}

/// The references of a pipeline, each after what it is in.
struct References<'tcx> {
    cx: LayoutCx<'tcx>,
    found: Vec<Reference>,
}

impl<'tcx> References<'tcx> {
    fn of(tcx: TyCtxt<'tcx>, producer: Ty<'tcx>, consumer: Ty<'tcx>) -> Self {
        let cx = LayoutCx::new(tcx, ty::TypingEnv::fully_monomorphized());
        let mut this = Self { cx, found: Vec::new() };
        for (root, ty) in [(PRODUCER, producer), (CONSUMER, consumer)] {
            if let Some(layout) = this.layout(ty) {
                this.visit(layout, Size::ZERO, root);
            }
        }
        this
    }

    fn encode(&self) -> [u64; MOST] {
        let mut codes = [0; MOST];
        for (code, reference) in codes.iter_mut().zip(&self.found) {
            *code = reference.offset | reference.size << 16 | (reference.parent as u64) << 32;
        }
        codes
    }

    fn layout(&self, ty: Ty<'tcx>) -> Option<TyAndLayout<'tcx>> {
        let (tcx, env) = (self.cx.tcx(), self.cx.typing_env);
        let ty = tcx.try_normalize_erasing_regions(env, rustc::to_normalize(ty)).ok()?;
        tcx.layout_of(env.as_query_input(ty)).ok()
    }

    /// Looks for references in a value, at `base` in what it is a part of. What a value of an enum
    /// or of a union has, its type does not tell.
    fn visit(&mut self, layout: TyAndLayout<'tcx>, base: Size, parent: usize) {
        if layout.is_zst() || !matches!(layout.variants, Variants::Single { .. }) {
            return;
        }
        match *layout.ty.kind() {
            ty::Ref(_, pointee, ty::Mutability::Not) => self.reference(pointee, base, parent),
            ty::Adt(adt, _) if adt.is_union() || adt.is_box() => {}
            ty::Adt(..) | ty::Tuple(_) | ty::Closure(..) => {
                let FieldsShape::Arbitrary { .. } = layout.fields else { return };
                for index in 0..layout.fields.count() {
                    let field = TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
                    self.visit(field, base + layout.fields.offset(index), parent);
                }
            }
            _ => {}
        }
    }

    /// Adds a reference, if what it refers to is small, and stays as it is.
    fn reference(&mut self, pointee: Ty<'tcx>, base: Size, parent: usize) {
        let (tcx, env) = (self.cx.tcx(), self.cx.typing_env);
        if self.found.len() == MOST
            || base.bytes() > u64::from(u16::MAX)
            || !pointee.is_sized(tcx, env)
            || !pointee.is_freeze(tcx, env)
        {
            return;
        }
        let Some(layout) = self.layout(pointee) else { return };
        let size = layout.size.bytes();
        if size == 0 || size > LARGEST || layout.align.abi.bytes() > MOST_ALIGNED {
            return;
        }
        let number = self.found.len();
        self.found.push(Reference { parent, offset: base.bytes(), size });
        self.visit(layout, Size::ZERO, number + FIRST_VALUE);
    }
}
