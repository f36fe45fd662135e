//! Where addresses are in a captured value, from rustc's own layouts.
//!
//! A device with separate memory needs other addresses than the closure contains, so the launch
//! must know which of the closure's bytes are addresses. A field's type determines that. In an enum
//! it depends on the variant, which the tag determines: a number, or a niche of a field. In a
//! union, or in the state of a coroutine across a suspension, an address need not be there, and
//! nothing tells: such an address is *uncertain*.

use std::ops::{Bound, RangeBounds};

use rustc_abi::{
    BackendRepr, FieldsShape, PointerKind, Primitive, Scalar, Size, TagEncoding, TyAbiInterface,
    VariantIdx, Variants,
};
use rustc_middle::ty;
use rustc_middle::ty::layout::{HasTyCtxt, LayoutCx, TyAndLayout};
use schism_hcf::{Address, AddressItem};

use crate::rustc;

/// The addresses in a value of some type.
pub(crate) fn of<'tcx>(cx: &LayoutCx<'tcx>, layout: TyAndLayout<'tcx>) -> Vec<AddressItem> {
    let mut items = Vec::new();
    visit(cx, layout, Size::ZERO, false, &mut items);
    items
}

/// Adds the addresses of a value at `base`.
fn visit<'tcx>(
    cx: &LayoutCx<'tcx>,
    layout: TyAndLayout<'tcx>,
    base: Size,
    uncertain: bool,
    items: &mut Vec<AddressItem>,
) {
    if layout.is_zst() || layout.is_uninhabited() {
        return;
    }
    let field = |index| TyAbiInterface::ty_and_layout_field(layout, cx, index);
    if let Variants::Multiple { tag_field, .. } = layout.variants {
        let tag_field = tag_field.as_usize();
        // The fields that all variants of a coroutine have.
        for index in (0..layout.fields.count()).filter(|index| *index != tag_field) {
            visit(cx, field(index), base + layout.fields.offset(index), uncertain, items);
        }
        return variants(cx, layout, base, uncertain, items);
    }
    let is_scalar =
        matches!(layout.ty.kind(), ty::Ref(..) | ty::RawPtr(..) | ty::FnPtr(..) | ty::Pat(..));
    match layout.fields {
        FieldsShape::Primitive => scalars(cx, layout, base, uncertain, items),
        _ if is_scalar => scalars(cx, layout, base, uncertain, items),
        FieldsShape::Union(count) => {
            let mut found = Vec::new();
            for index in 0..count.get() {
                visit(cx, field(index), base, true, &mut found);
            }
            items.extend(distinct(found));
        }
        FieldsShape::Array { stride, count } => {
            let mut element = Vec::new();
            visit(cx, field(0), Size::ZERO, uncertain, &mut element);
            match count {
                _ if element.is_empty() => {}
                1 => items.extend(element.into_iter().map(|item| moved(item, base.bytes()))),
                _ => items.push(AddressItem::Array {
                    offset: base.bytes(),
                    count,
                    stride: stride.bytes(),
                    items: element,
                }),
            }
        }
        FieldsShape::Arbitrary { .. } => {
            for index in 0..layout.fields.count() {
                visit(cx, field(index), base + layout.fields.offset(index), uncertain, items);
            }
        }
    }
}

/// Adds the addresses of an enum's or a coroutine's variants.
fn variants<'tcx>(
    cx: &LayoutCx<'tcx>,
    layout: TyAndLayout<'tcx>,
    base: Size,
    uncertain: bool,
    items: &mut Vec<AddressItem>,
) {
    let Variants::Multiple { tag, ref tag_encoding, tag_field, ref variants } = layout.variants
    else {
        return;
    };
    // Which values are live across a suspension is unknown here.
    let is_coroutine = matches!(layout.ty.kind(), ty::Coroutine(..));
    let found: Vec<(VariantIdx, Vec<AddressItem>)> = variants
        .indices()
        .map(|index| {
            let mut found = Vec::new();
            let variant: TyAndLayout<'tcx> =
                TyAbiInterface::ty_and_layout_for_variant(layout, cx, index);
            visit(cx, variant, base, uncertain || is_coroutine, &mut found);
            (index, found)
        })
        .filter(|(_, found)| !found.is_empty())
        .collect();
    if uncertain {
        // The tag itself may be uninitialised.
        let all = found.into_iter().flat_map(|(_, found)| untagged(found));
        return items.extend(distinct(all.collect()));
    }
    let size = tag.size(&cx.tcx().data_layout);
    let offset = (base + layout.fields.offset(tag_field.as_usize())).bytes();
    let most = u128::MAX >> (128 - size.bits());
    let alone = found.len() == 1;
    for (index, found) in found {
        let (first, last) = match tag_encoding {
            TagEncoding::Direct => {
                let discriminant = layout.ty.discriminant_for_variant(cx.tcx(), index);
                let value = discriminant.map_or(0, |discriminant| discriminant.val & most);
                (value, value)
            }
            TagEncoding::Niche { untagged_variant, niche_variants, niche_start } => {
                let (begin, end) = ends(niche_variants);
                let value = |index: u32| {
                    niche_start.wrapping_add(u128::from(index.wrapping_sub(begin))) & most
                };
                if index == *untagged_variant {
                    // All values outside the niche.
                    let after = value(end).wrapping_add(1) & most;
                    (after, niche_start.wrapping_sub(1) & most)
                } else {
                    (value(index.as_u32()), value(index.as_u32()))
                }
            }
        };
        // `Option<&T>`: the address is its own tag, and null is never translated.
        let is_own_tag = match found[..] {
            [AddressItem::Address(address)] => address.offset == offset && size.bytes() == 8,
            _ => false,
        };
        if alone && is_own_tag && (first, last) == (1, most) {
            items.extend(found);
        } else {
            items.push(AddressItem::Tagged {
                offset,
                size: size.bytes(),
                first,
                last,
                items: found,
            });
        }
    }
}

/// The first and the last of a range of variants. Its type is another one since rustc 1.98.
pub(crate) fn ends(variants: &impl RangeBounds<VariantIdx>) -> (u32, u32) {
    match (variants.start_bound(), variants.end_bound()) {
        (Bound::Included(first), Bound::Included(last)) => (first.as_u32(), last.as_u32()),
        _ => unreachable!("a layout's range of variants includes its ends"),
    }
}

/// Adds the addresses among a value's scalars: a reference, a pointer, the two words of fat
/// pointers.
fn scalars<'tcx>(
    cx: &LayoutCx<'tcx>,
    layout: TyAndLayout<'tcx>,
    base: Size,
    uncertain: bool,
    items: &mut Vec<AddressItem>,
) {
    let dl = &cx.tcx().data_layout;
    let mut scalar = |offset: Size, scalar: Scalar| {
        if let Primitive::Pointer(_) = scalar.primitive() {
            let read_only = is_read_only(cx, layout, offset);
            let offset = (base + offset).bytes();
            items.push(AddressItem::Address(Address { offset, read_only, uncertain }));
        }
    };
    match layout.backend_repr {
        BackendRepr::Scalar(only) => scalar(Size::ZERO, only),
        BackendRepr::ScalarPair(first, second) => {
            scalar(Size::ZERO, first);
            scalar(first.size(dl).align_to(rustc::alignment(second, dl)), second);
        }
        _ => {}
    }
}

/// Whether nothing changes what an address in a value refers to, as long as the value exists.
fn is_read_only<'tcx>(cx: &LayoutCx<'tcx>, layout: TyAndLayout<'tcx>, offset: Size) -> bool {
    let info: Option<rustc_abi::PointeeInfo> =
        TyAbiInterface::ty_and_layout_pointee_info_at(layout, cx, offset);
    let safe = info.and_then(|info| info.safe);
    matches!(safe, Some(PointerKind::SharedRef { frozen: true }))
}

/// The items of variants, whichever is active.
fn untagged(items: Vec<AddressItem>) -> Vec<AddressItem> {
    let one = |item| match item {
        AddressItem::Tagged { items, .. } => untagged(items),
        other => vec![other],
    };
    items.into_iter().flat_map(one).collect()
}

/// Merges items that may be at the same offset. If one of them may be written through, the result
/// may be.
fn distinct(items: Vec<AddressItem>) -> Vec<AddressItem> {
    let mut distinct: Vec<AddressItem> = Vec::new();
    for item in items {
        let same = distinct.iter_mut().find_map(|known| match (known, &item) {
            (AddressItem::Address(known), AddressItem::Address(item))
                if known.offset == item.offset =>
            {
                Some((known, *item))
            }
            _ => None,
        });
        match same {
            Some((known, item)) => known.read_only &= item.read_only,
            None => distinct.push(item),
        }
    }
    distinct
}

/// An item at a higher offset. Items within arrays and variants have separate offsets.
fn moved(item: AddressItem, by: u64) -> AddressItem {
    match item {
        AddressItem::Address(address) => {
            AddressItem::Address(Address { offset: address.offset + by, ..address })
        }
        AddressItem::Array { offset, count, stride, items } => {
            AddressItem::Array { offset: offset + by, count, stride, items }
        }
        AddressItem::Tagged { offset, size, first, last, items } => {
            let items = items.into_iter().map(|item| moved(item, by)).collect();
            AddressItem::Tagged { offset: offset + by, size, first, last, items }
        }
    }
}

/// Whether a value consists of scalars whose kinds always determine which of them are addresses.
pub(crate) fn are_scalars<'tcx>(
    cx: &LayoutCx<'tcx>,
    layout: TyAndLayout<'tcx>,
    items: &[AddressItem],
) -> bool {
    let mut by_kind = Vec::new();
    scalars(cx, layout, Size::ZERO, false, &mut by_kind);
    let offsets = |items: &[AddressItem]| {
        let certain = |item: &AddressItem| match item {
            AddressItem::Address(address) if !address.uncertain => Some(address.offset),
            _ => None,
        };
        items.iter().map(certain).collect::<Option<Vec<u64>>>()
    };
    let (mut by_kind, mut by_type) = (offsets(&by_kind), offsets(items));
    [&mut by_kind, &mut by_type].into_iter().flatten().for_each(|offsets| offsets.sort_unstable());
    by_kind.is_some() && by_kind == by_type
}
