//! Specialization constants: statics of, or with, the runtime's type `SpecConst` that kernels
//! reach.
//!
//! A constant may belong to this crate or to another. The passes and the container need its value
//! and its identity (the location of its declaration, and the type of the value). Both are in the
//! bytes of its initialiser, which the compiler keeps for statics of every crate, and in its type.
//!
//! For the passes a static is one range of bytes, which stage 2 replaces by those of the launch. So
//! kernels can index an array of constants dynamically.

use rustc_abi::{FieldsShape, Size, TyAbiInterface, Variants};
use rustc_hir::def::DefKind;
use rustc_middle::mir::interpret::{ConstAllocation, GlobalAlloc};
use rustc_middle::ty::layout::{HasTyCtxt, LayoutCx, TyAndLayout};
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_span::def_id::DefId;
use schism_hcf::SpecPart;

use crate::kernels::names;
use crate::kernels::runtime_items::RuntimeItems;
use crate::rustc::as_written;

/// The maximum number of values in one static. The container has some lines for each.
pub(crate) const MOST_PARTS: usize = 1024;

/// A static with constants.
#[derive(Clone, Debug)]
pub(crate) struct SpecConstant {
    /// Its symbol.
    pub symbol: String,
    /// Its path, for people.
    pub path: String,
    /// Bytes of the static.
    pub static_size: u64,
    /// Alignment of the static in bytes.
    pub align: u64,
    /// The bytes of its value, or of all its values and the padding between.
    pub default: Vec<u8>,
    /// The values that a launch can replace.
    pub parts: Vec<SpecPart>,
}

/// The constants of a static; `None` for nearly every static, and for one that contains anything
/// else that is mutable or a reference.
pub(crate) fn of_static(
    tcx: TyCtxt<'_>,
    def_id: DefId,
    runtime: &[RuntimeItems],
) -> Option<SpecConstant> {
    // Such a static has neither a type nor a declaration.
    if is_nested_static(tcx, def_id) {
        return None;
    }
    let ty = as_written(tcx.type_of(def_id).instantiate_identity());
    let env = ty::TypingEnv::fully_monomorphized();
    if ty.is_freeze(tcx, env) || tcx.is_mutable_static(def_id) {
        return None;
    }
    let layout: TyAndLayout<'_> = tcx.layout_of(env.as_query_input(ty)).ok()?;
    let mut finder = Finder { cx: LayoutCx::new(tcx, env), runtime, found: Vec::new() };
    finder.visit(layout, Size::ZERO, String::new())?;
    let bytes = Bytes { tcx, allocation: tcx.eval_static_initializer(def_id).ok()? };

    let is_one = matches!(finder.found[..], [Found { ref path, .. }] if path.is_empty());
    let mut default = bytes.range(Size::ZERO, layout.size)?;
    let mut parts = Vec::new();
    let mut for_the_host = Vec::new();
    for Found { layout, base, path } in finder.found {
        // The value, then name, line and column, in the order of the source: the type is `repr(C)`.
        let FieldsShape::Arbitrary { .. } = layout.fields else { return None };
        let field = |index| base + layout.fields.offset(index);
        let value_ty = layout.ty.walk().filter_map(|argument| argument.as_type()).nth(1)?;
        let size = tcx.layout_of(env.as_query_input(value_ty)).ok()?.size;
        for_the_host.push(field(1));
        default[(base + size).bytes_usize()..(base + layout.size).bytes_usize()].fill(0);
        if is_one {
            default.truncate(size.bytes_usize());
        }
        if size == Size::ZERO {
            continue;
        }
        parts.push(SpecPart {
            path,
            place: bytes.text(field(1))?,
            line: bytes.number(field(2), 4)? as u32,
            column: bytes.number(field(3), 4)? as u32,
            type_id: tcx.type_id_hash(value_ty).as_u128().to_le_bytes(),
            offset: base.bytes(),
            size: size.bytes(),
        });
    }
    // Addresses differ on a device: only those of the names are allowed, because they are not used
    // there.
    let provenance = bytes.allocation.inner().provenance();
    if provenance.ptrs().keys().any(|at| !for_the_host.contains(at)) {
        return None;
    }
    parts.sort_by_key(|part| part.offset);
    Some(SpecConstant {
        symbol: tcx.symbol_name(Instance::mono(tcx, def_id)).name.to_owned(),
        path: full_path(tcx, def_id),
        static_size: layout.size.bytes(),
        align: layout.align.abi.bytes(),
        default,
        parts,
    })
}

/// The static in the source that a static belongs to: usually itself. Mutable memory that the value
/// of a static refers to, as in `static A: &AtomicU32 = &AtomicU32::new(0)`, is a static of the
/// compiler's own below it, which has neither a type nor a location.
pub(crate) fn declared_static(tcx: TyCtxt<'_>, mut def_id: DefId) -> DefId {
    while is_nested_static(tcx, def_id) {
        def_id = tcx.parent(def_id);
    }
    def_id
}

/// Whether the compiler made a static for memory that another static refers to.
fn is_nested_static(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    matches!(tcx.def_kind(def_id), DefKind::Static { nested: true, .. })
}

/// Whether values of a type contain constants at any depth.
pub(crate) fn are_in<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, runtime: &[RuntimeItems]) -> bool {
    let env = ty::TypingEnv::fully_monomorphized();
    if ty.is_freeze(tcx, env) {
        return false;
    }
    match ty.kind() {
        ty::Adt(adt, _) if runtime.iter().any(|items| items.spec_const == Some(adt.did())) => true,
        ty::Adt(adt, args) => adt.all_fields().any(|field| {
            let field = tcx.normalize_erasing_regions(env, field.ty(tcx, args));
            are_in(tcx, field, runtime)
        }),
        ty::Tuple(parts) => parts.iter().any(|part| are_in(tcx, part, runtime)),
        ty::Array(element, _) => are_in(tcx, *element, runtime),
        _ => false,
    }
}

/// A value of the type `SpecConst` in a static.
struct Found<'tcx> {
    layout: TyAndLayout<'tcx>,
    base: Size,
    /// What follows the static's path.
    path: String,
}

/// Finds them in a static's type.
struct Finder<'a, 'tcx> {
    cx: LayoutCx<'tcx>,
    runtime: &'a [RuntimeItems],
    found: Vec<Found<'tcx>>,
}

impl<'tcx> Finder<'_, 'tcx> {
    /// `None` if anything else is mutable, if their offsets depend on values, or if there are too
    /// many.
    fn visit(&mut self, layout: TyAndLayout<'tcx>, base: Size, path: String) -> Option<()> {
        let (tcx, env) = (self.cx.tcx(), self.cx.typing_env);
        if layout.ty.is_freeze(tcx, env) {
            return Some(());
        }
        if let ty::Adt(adt, _) = layout.ty.kind()
            && self.runtime.iter().any(|items| items.spec_const == Some(adt.did()))
        {
            self.found.push(Found { layout, base, path });
            return (self.found.len() <= MOST_PARTS).then_some(());
        }
        if !matches!(layout.variants, Variants::Single { .. }) {
            return None;
        }
        match (layout.ty.kind(), &layout.fields) {
            (ty::Array(..), FieldsShape::Array { stride, count }) => {
                let element = TyAbiInterface::ty_and_layout_field(layout, &self.cx, 0);
                for index in 0..*count {
                    self.visit(element, base + *stride * index, format!("{path}[{index}]"))?;
                }
            }
            (ty::Tuple(_), FieldsShape::Arbitrary { .. }) => {
                for index in 0..layout.fields.count() {
                    let field = TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
                    let at = base + layout.fields.offset(index);
                    self.visit(field, at, format!("{path}.{index}"))?;
                }
            }
            (ty::Adt(adt, _), FieldsShape::Arbitrary { .. })
                if adt.is_struct() && !adt.is_unsafe_cell() =>
            {
                for (field_def, index) in adt.non_enum_variant().fields.iter().zip(0..) {
                    let field = TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
                    let at = base + layout.fields.offset(index);
                    self.visit(field, at, format!("{path}.{}", field_def.name))?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

fn full_path(tcx: TyCtxt<'_>, def_id: DefId) -> String {
    let path = names::path_of(tcx, def_id);
    if def_id.is_local() { format!("{}::{path}", tcx.crate_name(def_id.krate)) } else { path }
}

/// The bytes of an initialiser.
struct Bytes<'tcx> {
    tcx: TyCtxt<'tcx>,
    allocation: ConstAllocation<'tcx>,
}

impl Bytes<'_> {
    /// A range of the bytes; uninitialised ones are zero.
    fn range(&self, begin: Size, size: Size) -> Option<Vec<u8>> {
        let inner = self.allocation.inner();
        let (begin, end) = (begin.bytes_usize(), (begin + size).bytes_usize());
        if end > inner.len() {
            return None;
        }
        let bytes = inner.inspect_with_uninit_and_ptr_outside_interpreter(begin..end);
        let has_value = |at: usize| inner.init_mask().get(Size::from_bytes(at as u64));
        Some(
            bytes
                .iter()
                .zip(begin..)
                .map(|(byte, at)| if has_value(at) { *byte } else { 0 })
                .collect(),
        )
    }

    /// A number of `size` bytes.
    fn number(&self, at: Size, size: u64) -> Option<u64> {
        let bytes = self.range(at, Size::from_bytes(size))?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// What a `&'static str` refers to.
    fn text(&self, at: Size) -> Option<String> {
        let (offset, len) = (self.number(at, 8)?, self.number(at + Size::from_bytes(8), 8)?);
        if len == 0 {
            return Some(String::new());
        }
        let provenance = *self.allocation.inner().provenance().ptrs().get(&at)?;
        let GlobalAlloc::Memory(allocation) = self.tcx.global_alloc(provenance.alloc_id()) else {
            return None;
        };
        let text = Bytes { tcx: self.tcx, allocation }
            .range(Size::from_bytes(offset), Size::from_bytes(len))?;
        String::from_utf8(text).ok()
    }
}
