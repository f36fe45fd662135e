//! Formatting functions, and type descriptions for messages.
//!
//! A device formats nothing. A message's arguments keep their values; their formatting functions
//! are replaced by descriptions of the types, with which the host formats. Described are scalars,
//! strings, references, tuples, arrays and slices, and types with a derived `Debug`, from rustc's
//! own layouts. Other types are shown by name.

use rustc_abi::{TagEncoding, Variants};
use rustc_data_structures::fx::FxHashMap;
use rustc_hir::def::{CtorKind, DefKind};
use rustc_middle::ty::layout::{LayoutCx, TyAndLayout as TcxLayout};
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_span::def_id::DefId;
use rustc_span::sym;
use schism_passes::{Kind, Trait, TypeDescription, TypePart};

use crate::kernels::addresses;
use crate::kernels::names::own_path_of;
use crate::rustc::{as_written, reified, to_normalize};

/// The maximum number of descriptions: types may contain ever larger ones.
const MOST: usize = 4096;

/// The function that formats messages.
pub(crate) const WRITER: &str = "core::fmt::write";

/// Whether a function passes values to be formatted.
pub(crate) fn makes_formatters(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    tcx.crate_name(def_id.krate) == sym::core
        && matches!(
            own_path_of(tcx, def_id).as_str(),
            WRITER
                | "core::fmt::Formatter::<'a>::new"
                | "core::fmt::FormattingOptions::create_formatter"
        )
}

/// Describes types, each once for each trait.
pub(crate) struct Formatters<'tcx> {
    tcx: TyCtxt<'tcx>,
    /// The formatting traits that this compiler's standard library has.
    traits: FxHashMap<DefId, Trait>,
    known: FxHashMap<(Ty<'tcx>, Trait), usize>,
    /// The descriptions, for the passes.
    pub types: Vec<TypeDescription>,
}

impl<'tcx> Formatters<'tcx> {
    pub(crate) fn new(tcx: TyCtxt<'tcx>) -> Self {
        // They are in one module; some have no other attribute.
        let module = tcx.get_diagnostic_item(sym::Debug).map(|debug| tcx.parent(debug));
        let traits = module
            .into_iter()
            .flat_map(|module| tcx.module_children(module))
            .filter_map(|child| {
                let def_id =
                    child.res.opt_def_id().filter(|&id| tcx.def_kind(id) == DefKind::Trait)?;
                let name = child.ident.name;
                let by = Trait::ALL.iter().find(|by| format!("{by:?}") == name.as_str())?;
                Some((def_id, *by))
            })
            .collect();
        Self { tcx, traits, known: FxHashMap::default(), types: Vec::new() }
    }

    /// The type and the trait of a formatting function: the method of an implementation of one of
    /// the traits.
    pub(crate) fn formatter(&self, instance: Instance<'tcx>) -> Option<(Ty<'tcx>, Trait)> {
        let tcx = self.tcx;
        // With checks of the types of functions that are called by address, such a function may be
        // a shim that only calls it.
        let def_id = match instance.def {
            ty::InstanceKind::Item(def_id) => def_id,
            _ => reified(instance)?,
        };
        let of = tcx.impl_of_assoc(def_id)?;
        let by = *self.traits.get(&tcx.impl_opt_trait_id(of)?)?;
        let implemented = as_written(tcx.impl_trait_ref(of).instantiate(tcx, instance.args));
        let env = ty::TypingEnv::fully_monomorphized();
        let ty = tcx.normalize_erasing_regions(env, to_normalize(implemented.self_ty()));
        (tcx.item_name(def_id).as_str() == "fmt").then_some((ty, by))
    }

    /// Whether a function gets values to format, and so may format them.
    pub(crate) fn takes_messages(&self, def_id: DefId) -> bool {
        let tcx = self.tcx;
        if !matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn) {
            return false;
        }
        let signature = tcx.fn_sig(def_id).skip_binder().skip_binder();
        signature.inputs().iter().flat_map(|input| input.walk()).any(|part| {
            part.as_type().is_some_and(|ty| match *ty.kind() {
                ty::Adt(adt, _) => tcx.lang_items().format_arguments() == Some(adt.did()),
                ty::Dynamic(predicates, _) => predicates
                    .principal_def_id()
                    .is_some_and(|principal| self.traits.contains_key(&principal)),
                _ => false,
            })
        })
    }

    /// The index of a type's description.
    pub(crate) fn describe(&mut self, ty: Ty<'tcx>, by: Trait) -> usize {
        if let Some(&known) = self.known.get(&(ty, by)) {
            return known;
        }
        let index = self.types.len();
        self.known.insert((ty, by), index);
        let name = with_no_trimmed_paths!(ty.to_string());
        self.types.push(TypeDescription { kind: Kind::Opaque, by, name, parts: Vec::new() });
        if index < MOST
            && let Some((kind, name, parts)) = self.kind(ty, by)
        {
            self.types[index] = TypeDescription { kind, by, name, parts };
        }
        index
    }

    /// A description that belongs to no type.
    pub(crate) fn special(&mut self, kind: Kind) -> usize {
        let by = Trait::Display;
        self.types.push(TypeDescription { kind, by, name: String::new(), parts: Vec::new() });
        self.types.len() - 1
    }

    /// How a type is shown, unless only by its name.
    fn kind(&mut self, ty: Ty<'tcx>, by: Trait) -> Option<(Kind, String, Vec<TypePart>)> {
        let tcx = self.tcx;
        let only = |kind| Some((kind, String::new(), Vec::new()));
        match *ty.kind() {
            ty::RawPtr(..) | ty::Ref(..) if by == Trait::Pointer => only(Kind::Pointer),
            ty::RawPtr(to, _) if to.is_sized(tcx, ty::TypingEnv::fully_monomorphized()) => {
                only(Kind::Pointer)
            }
            ty::Ref(_, to, _) => Some((Kind::Reference, String::new(), vec![self.part(0, to, by)])),
            ty::Bool => only(Kind::Bool),
            ty::Char => only(Kind::Char),
            ty::Str => only(Kind::Str),
            ty::Int(of) => only(match of.normalize(64) {
                ty::IntTy::I8 => Kind::I8,
                ty::IntTy::I16 => Kind::I16,
                ty::IntTy::I32 => Kind::I32,
                ty::IntTy::I64 => Kind::I64,
                ty::IntTy::I128 => Kind::I128,
                ty::IntTy::Isize => return None,
            }),
            ty::Uint(of) => only(match of.normalize(64) {
                ty::UintTy::U8 => Kind::U8,
                ty::UintTy::U16 => Kind::U16,
                ty::UintTy::U32 => Kind::U32,
                ty::UintTy::U64 => Kind::U64,
                ty::UintTy::U128 => Kind::U128,
                ty::UintTy::Usize => return None,
            }),
            ty::Float(ty::FloatTy::F32) => only(Kind::F32),
            ty::Float(ty::FloatTy::F64) => only(Kind::F64),
            ty::Dynamic(predicates, _) => {
                let principal = predicates.principal_def_id()?;
                if self.traits.get(&principal) == Some(&by) { only(Kind::Dyn) } else { None }
            }
            ty::Tuple(fields) if by == Trait::Debug => {
                if fields.is_empty() {
                    return only(Kind::Unit);
                }
                let parts = self.fields(self.layout(ty)?, by, |_| String::new())?;
                Some((Kind::Tuple, String::new(), parts))
            }
            ty::Array(element, _) if by == Trait::Debug => {
                let len = self.layout(ty)?.fields.count() as u64;
                let list = self.list(element, len)?;
                Some((Kind::Array, String::new(), list))
            }
            ty::Slice(element) if by == Trait::Debug => {
                Some((Kind::Slice, String::new(), self.list(element, 0)?))
            }
            ty::Adt(adt, args) => self.adt(ty, adt, args, by),
            _ => None,
        }
    }

    fn adt(
        &mut self,
        ty: Ty<'tcx>,
        adt: ty::AdtDef<'tcx>,
        args: ty::GenericArgsRef<'tcx>,
        by: Trait,
    ) -> Option<(Kind, String, Vec<TypePart>)> {
        let tcx = self.tcx;
        let no_name = String::new();
        if tcx.lang_items().format_arguments() == Some(adt.did()) {
            return Some((Kind::Arguments, no_name, Vec::new()));
        }
        if ty.is_box_global(tcx) {
            return Some((Kind::Reference, no_name, vec![self.part(0, args.type_at(0), by)]));
        }
        match own_path_of(tcx, adt.did()).as_str() {
            "core::num::wrapping::Wrapping"
            | "core::num::saturating::Saturating"
            | "core::num::nonzero::NonZero" => {
                let parts = vec![self.part(0, args.type_at(0), by)];
                return Some((Kind::Wrapper, no_name, parts));
            }
            "core::ops::range::Range" if by == Trait::Debug => {
                let parts = self.fields(self.layout(ty)?, by, |_| String::new())?;
                return Some((Kind::Range, no_name, parts));
            }
            _ => {}
        }
        if by != Trait::Debug || adt.is_union() || !self.is_derived(ty) {
            return None;
        }
        let layout = self.layout(ty)?;
        if adt.is_struct() {
            return self.variant(layout, adt.non_enum_variant());
        }
        let cx = LayoutCx::new(tcx, ty::TypingEnv::fully_monomorphized());
        match &layout.variants {
            Variants::Empty => None,
            Variants::Single { index } => self.variant(layout, adt.variant(*index)),
            Variants::Multiple { tag, tag_encoding, tag_field, variants } => {
                let size = tag.size(&tcx);
                if size.bytes() > 8 {
                    return None;
                }
                let tag_of = |index| match tag_encoding {
                    TagEncoding::Direct => Some(ty.discriminant_for_variant(tcx, index)?.val),
                    TagEncoding::Niche { untagged_variant, niche_variants, niche_start } => {
                        if index == *untagged_variant || !niche_variants.contains(&index) {
                            return None;
                        }
                        let distance = index.as_u32() - addresses::ends(niche_variants).0;
                        Some(niche_start.wrapping_add(u128::from(distance)))
                    }
                };
                let mut parts = vec![TypePart {
                    value: layout.fields.offset(tag_field.as_usize()).bytes(),
                    size: size.bytes(),
                    ..TypePart::default()
                }];
                for index in variants.indices() {
                    let of_variant = layout.for_variant(&cx, index);
                    if of_variant.is_uninhabited() {
                        continue;
                    }
                    let (kind, name, fields) = self.variant(of_variant, adt.variant(index))?;
                    self.types.push(TypeDescription { kind, by, name, parts: fields });
                    let described = Some(self.types.len() - 1);
                    match tag_of(index) {
                        Some(tag) => parts.push(TypePart {
                            value: size.truncate(tag) as u64,
                            ty: described,
                            ..TypePart::default()
                        }),
                        None => parts[0].ty = described,
                    }
                }
                Some((Kind::Enum, no_name, parts))
            }
        }
    }

    /// A struct or a variant.
    fn variant(
        &mut self,
        layout: TcxLayout<'tcx>,
        variant: &ty::VariantDef,
    ) -> Option<(Kind, String, Vec<TypePart>)> {
        let name = variant.name.to_string();
        match variant.ctor_kind() {
            Some(CtorKind::Const) => Some((Kind::Tuple, name, Vec::new())),
            Some(CtorKind::Fn) => {
                Some((Kind::Tuple, name, self.fields(layout, Trait::Debug, |_| String::new())?))
            }
            None => {
                let names: Vec<String> =
                    variant.fields.iter().map(|field| field.name.to_string()).collect();
                let parts = self.fields(layout, Trait::Debug, |index| names[index].clone())?;
                Some((Kind::Struct, name, parts))
            }
        }
    }

    fn fields(
        &mut self,
        layout: TcxLayout<'tcx>,
        by: Trait,
        name: impl Fn(usize) -> String,
    ) -> Option<Vec<TypePart>> {
        let cx = LayoutCx::new(self.tcx, ty::TypingEnv::fully_monomorphized());
        let fields = (0..layout.fields.count()).map(|index| {
            let field = layout.field(&cx, index).ty;
            let part = self.part(layout.fields.offset(index).bytes(), field, by);
            Some(TypePart { name: name(index), ..part })
        });
        fields.collect()
    }

    fn list(&mut self, element: Ty<'tcx>, len: u64) -> Option<Vec<TypePart>> {
        let stride = self.layout(element)?.size.bytes();
        let second = TypePart { value: stride, ..TypePart::default() };
        Some(vec![self.part(len, element, Trait::Debug), second])
    }

    fn part(&mut self, value: u64, ty: Ty<'tcx>, by: Trait) -> TypePart {
        TypePart { value, ty: Some(self.describe(ty, by)), ..TypePart::default() }
    }

    fn layout(&self, ty: Ty<'tcx>) -> Option<TcxLayout<'tcx>> {
        let env = ty::TypingEnv::fully_monomorphized();
        self.tcx.layout_of(env.as_query_input(ty)).ok()
    }

    /// Whether the type's `Debug` is what `derive` makes.
    fn is_derived(&self, ty: Ty<'tcx>) -> bool {
        let tcx = self.tcx;
        let by_debug = self.traits.iter().find(|(_, by)| **by == Trait::Debug);
        let Some(method) =
            by_debug.and_then(|(&debug, _)| tcx.associated_item_def_ids(debug).first().copied())
        else {
            return false;
        };
        let env = ty::TypingEnv::fully_monomorphized();
        let args = tcx.mk_args(&[ty.into()]);
        let Ok(Some(found)) = Instance::try_resolve(tcx, env, method, args) else { return false };
        tcx.impl_of_assoc(found.def_id()).is_some_and(|of| tcx.is_automatically_derived(of))
    }
}
