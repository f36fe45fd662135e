//! References to small values in pipelines: closures capture locals by reference, and rayon's adaptors
//! refer to closures.
//!
//! `schism-stdpar` has launches bring copies of such values. Where the references are, it asks with
//! two functions, calls of which resolve to others that have the answer as constants after the
//! types of producer and consumer: a number for each reference. A third one asks in the same way what the pipeline
//! [changes](Changes).

use rustc_abi::{FieldsShape, Size, TyAbiInterface, Variants};
use rustc_middle::ty::layout::{HasTyCtxt, LayoutCx, TyAndLayout};
use rustc_middle::ty::{self, GenericArg, GenericArgsRef, Ty, TyCtxt, TypeVisitableExt};
use rustc_span::def_id::DefId;

use crate::rayon::functions::{CAPTURE_FUNCTIONS, CHANGES, known};
use crate::rayon::types::{is_constant, is_copied, is_plain, pipeline_of};
use crate::rustc;

/// References that have a number.
const MOST: usize = 8;

/// Exclusive references that have one.
const MOST_EXCLUSIVE: usize = 4;

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
    let (producer, consumer) = (args.type_at(0), args.type_at(1));
    let codes = if tcx.item_name(function).as_str() == CHANGES {
        // A pipeline that cannot begin again has no kernel that allocates.
        Changes::of(tcx, producer, consumer).unwrap_or_default().encode().to_vec()
    } else {
        References::of(tcx, producer, consumer).encode().to_vec()
    };
    let codes =
        codes.into_iter().map(|code| GenericArg::from(ty::Const::from_target_usize(tcx, code)));
    Some((replacement, tcx.mk_args_from_iter(args.iter().chain(codes))))
}

/// What a kernel changes besides its result, by its types; `None` if it may change what a launch cannot restore.
/// Each work-item has a copy of the pipeline, so that only what this refers to exclusively can be changed.
pub(crate) fn changes_of<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> Option<Changes> {
    let args = pipeline_of(tcx, kernel).filter(|_| is_copied(tcx, kernel))?;
    Changes::of(tcx, args.type_at(0), args.type_at(1))
}

/// The exclusive references of a pipeline, to plain values or slices of them.
#[derive(Default)]
pub(crate) struct Changes {
    found: Vec<Change>,
}

struct Change {
    parent: usize,
    offset: u64,
    /// Bytes of the value, or of an element.
    size: u64,
    is_slice: bool,
}

impl Changes {
    /// `None` if a pipeline may change anything else.
    fn of<'tcx>(tcx: TyCtxt<'tcx>, producer: Ty<'tcx>, consumer: Ty<'tcx>) -> Option<Self> {
        let types = Layouts(LayoutCx::new(tcx, ty::TypingEnv::fully_monomorphized()));
        let mut this = Self::default();
        for (root, ty) in [(PRODUCER, producer), (CONSUMER, consumer)] {
            this.visit(&types, types.of(ty)?, Size::ZERO, root)?;
        }
        Some(this)
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn encode(&self) -> [u64; MOST_EXCLUSIVE] {
        let mut codes = [0; MOST_EXCLUSIVE];
        for (code, change) in codes.iter_mut().zip(&self.found) {
            let flags = change.parent as u64 | u64::from(change.is_slice) << 1;
            *code = change.offset | flags << 16 | change.size << 18;
        }
        codes
    }

    /// Looks for exclusive references in a value, at `base` in the producer or the consumer.
    fn visit<'tcx>(
        &mut self,
        types: &Layouts<'tcx>,
        layout: TyAndLayout<'tcx>,
        base: Size,
        parent: usize,
    ) -> Option<()> {
        let Layouts(cx) = types;
        if is_constant(cx.tcx(), layout.ty) {
            return Some(());
        }
        match *layout.ty.kind() {
            ty::Ref(_, pointee, ty::Mutability::Mut) => {
                self.reference(types, pointee, base.bytes(), parent)
            }
            ty::Adt(adt, _) if !adt.is_struct() || adt.is_box() => None,
            ty::Adt(..) | ty::Tuple(_) | ty::Closure(..)
                if layout.ty.is_freeze(cx.tcx(), cx.typing_env) =>
            {
                let FieldsShape::Arbitrary { .. } = layout.fields else { return None };
                (0..layout.fields.count()).try_for_each(|index| {
                    let field = TyAbiInterface::ty_and_layout_field(layout, cx, index);
                    self.visit(types, field, base + layout.fields.offset(index), parent)
                })
            }
            _ => None,
        }
    }

    fn reference<'tcx>(
        &mut self,
        types: &Layouts<'tcx>,
        pointee: Ty<'tcx>,
        offset: u64,
        parent: usize,
    ) -> Option<()> {
        let (element, is_slice) = match *pointee.kind() {
            ty::Slice(element) => (element, true),
            _ => (pointee, false),
        };
        let layout = types.of(element).filter(|it| it.is_sized())?;
        let size = layout.size.bytes();
        if !is_plain(types.0.tcx(), element) {
            return None;
        }
        if size != 0 {
            let has_number = self.found.len() < MOST_EXCLUSIVE
                && offset <= u64::from(u16::MAX)
                && size < 1 << 40;
            has_number.then(|| self.found.push(Change { parent, offset, size, is_slice }))?;
        }
        Some(())
    }
}

/// The layouts of a program's types.
struct Layouts<'tcx>(LayoutCx<'tcx>);

impl<'tcx> Layouts<'tcx> {
    fn of(&self, ty: Ty<'tcx>) -> Option<TyAndLayout<'tcx>> {
        let (tcx, env) = (self.0.tcx(), self.0.typing_env);
        let ty = tcx.try_normalize_erasing_regions(env, rustc::to_normalize(ty)).ok()?;
        tcx.layout_of(env.as_query_input(ty)).ok()
    }
}

/// A reference.
struct Reference {
    parent: usize,
    offset: u64,
    size: u64,
}

/// The references of a pipeline, each after what it is in.
struct References<'tcx> {
    types: Layouts<'tcx>,
    found: Vec<Reference>,
}

impl<'tcx> References<'tcx> {
    fn of(tcx: TyCtxt<'tcx>, producer: Ty<'tcx>, consumer: Ty<'tcx>) -> Self {
        let types = Layouts(LayoutCx::new(tcx, ty::TypingEnv::fully_monomorphized()));
        let mut this = Self { types, found: Vec::new() };
        for (root, ty) in [(PRODUCER, producer), (CONSUMER, consumer)] {
            if let Some(layout) = this.types.of(ty) {
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
                    let field = TyAbiInterface::ty_and_layout_field(layout, &self.types.0, index);
                    self.visit(field, base + layout.fields.offset(index), parent);
                }
            }
            _ => {}
        }
    }

    /// Adds a reference, if what it refers to is small, and stays as it is.
    fn reference(&mut self, pointee: Ty<'tcx>, base: Size, parent: usize) {
        let (tcx, env) = (self.types.0.tcx(), self.types.0.typing_env);
        if self.found.len() == MOST
            || base.bytes() > u64::from(u16::MAX)
            || !pointee.is_sized(tcx, env)
            || !pointee.is_freeze(tcx, env)
        {
            return;
        }
        let Some(layout) = self.types.of(pointee) else { return };
        let size = layout.size.bytes();
        if size == 0 || size > LARGEST || layout.align.abi.bytes() > MOST_ALIGNED {
            return;
        }
        let number = self.found.len();
        self.found.push(Reference { parent, offset: base.bytes(), size });
        self.visit(layout, Size::ZERO, number + FIRST_VALUE);
    }
}
