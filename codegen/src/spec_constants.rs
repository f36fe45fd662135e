//! Specialization constants: statics of the runtime's type `SpecConst` that kernels reach.
//!
//! A constant may be of this crate or of another. What the passes and the container need of it (its value, and where it is
//! declared, which is what the host knows it by) is in the bytes of its initialiser, which the compiler keeps of statics of every
//! crate.

use rustc_abi::{FieldsShape, Size};
use rustc_middle::mir::interpret::{ConstAllocation, GlobalAlloc};
use rustc_middle::ty::layout::TyAndLayout;
use rustc_middle::ty::{self, Instance, TyCtxt};
use rustc_span::def_id::DefId;

use crate::runtime_items::RuntimeItems;
use crate::{collect, kernels};

/// One constant.
#[derive(Clone, Debug)]
pub(crate) struct SpecConstant {
    /// Its symbol.
    pub symbol: String,
    /// Its path, for people.
    pub path: String,
    /// The name or the file that its declaration gives it.
    pub place: String,
    /// The line of the declaration, or 0.
    pub line: u32,
    /// The column of the declaration, or 0.
    pub column: u32,
    /// Bytes of the static.
    pub static_size: u64,
    /// Alignment of the static in bytes.
    pub align: u64,
    /// The bytes of its value.
    pub default: Vec<u8>,
}

/// The constant that a static is; `None` for nearly every static.
pub(crate) fn of_static(
    tcx: TyCtxt<'_>,
    def_id: DefId,
    runtime: &[RuntimeItems],
) -> Option<SpecConstant> {
    // Such a static has no type of its own, and no declaration.
    if collect::is_nested_static(tcx, def_id) {
        return None;
    }
    let ty = tcx.type_of(def_id).instantiate_identity();
    let ty::Adt(adt, _) = *ty.kind() else { return None };
    if !runtime.iter().any(|items| items.spec_const == Some(adt.did())) {
        return None;
    }
    let env = ty::TypingEnv::fully_monomorphized();
    let layout: TyAndLayout<'_> = tcx.layout_of(env.as_query_input(ty)).ok()?;
    // The value, then name, line and column, in the order of the source: the type is `repr(C)`.
    let FieldsShape::Arbitrary { .. } = layout.fields else { return None };
    let field = |index| layout.fields.offset(index);
    let value_ty = ty.walk().filter_map(|argument| argument.as_type()).nth(1)?;
    let value_size = tcx.layout_of(env.as_query_input(value_ty)).ok()?.size;
    let bytes = Bytes { tcx, allocation: tcx.eval_static_initializer(def_id).ok()? };
    Some(SpecConstant {
        symbol: tcx.symbol_name(Instance::mono(tcx, def_id)).name.to_owned(),
        path: full_path(tcx, def_id),
        place: bytes.text(field(1))?,
        line: bytes.number(field(2), 4)? as u32,
        column: bytes.number(field(3), 4)? as u32,
        static_size: layout.size.bytes(),
        align: layout.align.abi.bytes(),
        default: bytes.range(Size::ZERO, value_size)?,
    })
}

fn full_path(tcx: TyCtxt<'_>, def_id: DefId) -> String {
    let path = kernels::path_of(tcx, def_id);
    if def_id.is_local() { format!("{}::{path}", tcx.crate_name(def_id.krate)) } else { path }
}

/// The bytes of an initialiser.
struct Bytes<'tcx> {
    tcx: TyCtxt<'tcx>,
    allocation: ConstAllocation<'tcx>,
}

impl Bytes<'_> {
    /// Some of the bytes; those that have no value are zero.
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
