//! Flattens a closure into the parameters of its kernel, from rustc's own layouts.

use std::ops::Range;

use rustc_abi::{
    BackendRepr, FieldsShape, Float, Integer, PointerKind, Primitive, Scalar, Size, TyAbiInterface,
    TyAndLayout, Variants,
};
use rustc_middle::ty::layout::{HasTyCtxt, LayoutCx, TyAndLayout as TcxLayout};
use rustc_middle::ty::{self, Ty, TyCtxt};
use rustc_span::def_id::DefId;
use schism_hcf::Addresses;
use schism_passes::{Parameter, ParameterKind};

use crate::kernels::addresses;
use crate::rustc;

/// Arrays of up to this many scalars become scalars; longer ones stay bytes.
const LARGEST_ARRAY: u64 = 16;

/// A flattened closure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closure {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// The flattened parameters, by offset.
    pub parameters: Vec<Parameter>,
    /// Where each parameter that stays bytes holds addresses.
    pub addresses: Vec<Addresses>,
}

/// Flattens the type of a kernel. `specialized` are the runtime's types whose values should be
/// constants of a launch's code.
pub(crate) fn flatten<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>, specialized: &[DefId]) -> Closure {
    let env = ty::TypingEnv::fully_monomorphized();
    let Ok(layout) = tcx.layout_of(env.as_query_input(kernel)) else {
        // The error of a type without layout has been reported.
        return Closure::default();
    };
    let mut flattener = Flattener { cx: LayoutCx::new(tcx, env), parameters: Vec::new() };
    flattener.visit(layout, Size::ZERO);
    let mut parts = Vec::new();
    if !specialized.is_empty() {
        flattener.find(layout, Size::ZERO, specialized, &mut parts);
    }
    let mut flattened = flattener.parameters;
    flattened.sort_by_key(|(parameter, _)| parameter.offset);
    let (mut parameters, addresses): (Vec<Parameter>, Vec<Addresses>) =
        flattened.into_iter().unzip();
    let (size, align) = (layout.size.bytes(), layout.align.abi.bytes());
    for (parameter, addresses) in parameters.iter_mut().zip(&addresses) {
        // Fields of a packed struct may be unaligned.
        let here = 1 << parameter.offset.trailing_zeros().min(63);
        parameter.align = parameter.align.min(align).min(here);
        let (begin, end) = (parameter.offset, parameter.offset + parameter.size);
        // On a device with separate memory, addresses differ from those in the closure.
        let is_address = matches!(parameter.kind, ParameterKind::Pointer { .. });
        parameter.specialized &= !is_address
            && addresses.is_empty()
            && parts.iter().any(|part| part.start <= begin && end <= part.end);
    }
    Closure { size, align, parameters, addresses }
}

struct Flattener<'tcx> {
    cx: LayoutCx<'tcx>,
    parameters: Vec<(Parameter, Addresses)>,
}

impl<'tcx> Flattener<'tcx> {
    fn visit(&mut self, layout: TcxLayout<'tcx>, base: Size) {
        if layout.is_zst() {
            return;
        }
        if !matches!(layout.variants, Variants::Single { .. }) {
            return self.bytes(layout, base);
        }
        let addresses = addresses::of(&self.cx, layout);
        // The scalars of a struct may be those of an enum in it, in which a scalar may be an
        // address or a number.
        let are_scalars = addresses::are_scalars(&self.cx, layout, &addresses);
        match layout.backend_repr {
            BackendRepr::Scalar(scalar) if are_scalars => {
                self.scalar(layout, Size::ZERO, scalar, base)
            }
            BackendRepr::ScalarPair(first, second) if are_scalars => {
                let dl = &self.cx.tcx().data_layout;
                let offset = first.size(dl).align_to(rustc::alignment(second, dl));
                self.scalar(layout, Size::ZERO, first, base);
                self.scalar(layout, offset, second, base);
            }
            BackendRepr::Memory { sized: true }
            | BackendRepr::Scalar(_)
            | BackendRepr::ScalarPair(..) => match layout.fields {
                FieldsShape::Arbitrary { .. } => {
                    for index in 0..layout.fields.count() {
                        let field = TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
                        self.visit(field, base + layout.fields.offset(index));
                    }
                }
                FieldsShape::Array { stride, count } if count <= LARGEST_ARRAY => {
                    let element: TyAndLayout<'tcx, Ty<'tcx>> =
                        TyAbiInterface::ty_and_layout_field(layout, &self.cx, 0);
                    for index in 0..count {
                        self.visit(element, base + stride * index);
                    }
                }
                _ => self.bytes(layout, base),
            },
            _ => self.bytes(layout, base),
        }
    }

    /// Finds values of certain types. A struct of one field is a scalar to rustc, so this looks at
    /// fields only; values in enums and in long arrays are not found.
    fn find(
        &self,
        layout: TcxLayout<'tcx>,
        base: Size,
        types: &[DefId],
        parts: &mut Vec<Range<u64>>,
    ) {
        if layout.is_zst() || !matches!(layout.variants, Variants::Single { .. }) {
            return;
        }
        if let ty::Adt(adt, _) = layout.ty.kind()
            && types.contains(&adt.did())
        {
            return parts.push(base.bytes()..(base + layout.size).bytes());
        }
        match layout.fields {
            FieldsShape::Arbitrary { .. } => {
                for index in 0..layout.fields.count() {
                    let field = TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
                    self.find(field, base + layout.fields.offset(index), types, parts);
                }
            }
            FieldsShape::Array { stride, count } if count <= LARGEST_ARRAY => {
                let element = TyAbiInterface::ty_and_layout_field(layout, &self.cx, 0);
                for index in 0..count {
                    self.find(element, base + stride * index, types, parts);
                }
            }
            _ => {}
        }
    }

    fn scalar(&mut self, layout: TcxLayout<'tcx>, offset: Size, scalar: Scalar, base: Size) {
        let dl = &self.cx.tcx().data_layout;
        let kind = match scalar.primitive() {
            Primitive::Int(Integer::I8 | Integer::I16 | Integer::I32 | Integer::I64, _) => {
                ParameterKind::Integer
            }
            Primitive::Int(Integer::I128, _) => ParameterKind::Integer,
            Primitive::Float(Float::F16 | Float::F32 | Float::F64) => ParameterKind::Float,
            Primitive::Float(Float::F128) => ParameterKind::Bytes,
            Primitive::Pointer(_) => self.pointer(layout, offset, scalar),
        };
        let parameter = Parameter {
            offset: (base + offset).bytes(),
            size: scalar.size(dl).bytes(),
            align: rustc::alignment(scalar, dl).bytes(),
            kind,
            specialized: matches!(scalar, Scalar::Initialized { .. }),
        };
        self.parameters.push((parameter, Addresses::default()));
    }

    fn pointer(&self, layout: TcxLayout<'tcx>, offset: Size, scalar: Scalar) -> ParameterKind {
        let dl = &self.cx.tcx().data_layout;
        let nonnull = !scalar.valid_range(dl).contains(0);
        let info: Option<rustc_abi::PointeeInfo> =
            TyAbiInterface::ty_and_layout_pointee_info_at(layout, &self.cx, offset);
        let Some((info, safe)) = info.and_then(|info| Some((info, info.safe?))) else {
            return ParameterKind::Pointer {
                noalias: false,
                readonly: false,
                pointee_align: 1,
                dereferenceable: 0,
                nonnull,
            };
        };
        let readonly = matches!(safe, PointerKind::SharedRef { frozen: true });
        let unique = matches!(
            safe,
            PointerKind::MutableRef { unpin: true } | PointerKind::Box { unpin: true, .. }
        );
        ParameterKind::Pointer {
            noalias: readonly || unique,
            readonly,
            pointee_align: info.align.bytes(),
            // By its type, a reference in a field may dangle by the time the kernel ends; the
            // runtime keeps the buffers of a launch alive until it has ended.
            dereferenceable: if nonnull { info.size.bytes() } else { 0 },
            nonnull,
        }
    }

    fn bytes(&mut self, layout: TcxLayout<'tcx>, base: Size) {
        let parameter = Parameter {
            offset: base.bytes(),
            size: layout.size.bytes(),
            align: layout.align.abi.bytes(),
            kind: ParameterKind::Bytes,
            specialized: self.is_full(layout),
        };
        self.parameters.push((parameter, Addresses(addresses::of(&self.cx, layout))));
    }

    /// Whether all bytes of a value are initialised. Padding, and bytes of other variants of an
    /// enum, are not.
    fn is_full(&self, layout: TcxLayout<'tcx>) -> bool {
        if let BackendRepr::Scalar(Scalar::Initialized { .. }) = layout.backend_repr {
            return true;
        }
        let field = |index| TyAbiInterface::ty_and_layout_field(layout, &self.cx, index);
        matches!(layout.variants, Variants::Single { .. })
            && match layout.fields {
                FieldsShape::Array { stride, .. } => {
                    let element: TcxLayout<'tcx> = field(0);
                    element.size == stride && self.is_full(element)
                }
                FieldsShape::Arbitrary { .. } => {
                    let fields = (0..layout.fields.count()).map(field);
                    let mut size = Size::ZERO;
                    fields.inspect(|field| size += field.size).all(|field| self.is_full(field))
                        && size == layout.size
                }
                _ => false,
            }
    }
}
