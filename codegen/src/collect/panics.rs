//! The panic functions of the standard library, and their messages.

use rustc_data_structures::fx::FxIndexMap;
use rustc_hir::def::DefKind;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_span::sym;
use rustc_target::callconv::PassMode;
use schism_passes::frontend::message_template;
use schism_passes::{Kind, PanicFunction, PanicMessage, PanicValue, Trait};

use crate::collect::encoded_mir;
use crate::collect::formatters::Formatters;
use crate::kernels::names::own_path_of;
use crate::rustc::as_written;

/// Messages that functions make of their arguments: path, message, and another one for when the
/// last argument is present.
const TEMPLATES: &[(&str, &str, Option<&str>)] = &[
    (
        "core::panicking::panic_bounds_check",
        "index out of bounds: the len is {1} but the index is {0}",
        None,
    ),
    (
        "core::panicking::panic_misaligned_pointer_dereference",
        "misaligned pointer dereference: address must be a multiple of {0:#x} but is {1:#x}",
        None,
    ),
    (
        "core::panicking::panic_invalid_enum_construction",
        "trying to construct an enum from an invalid value {0:#x}",
        None,
    ),
    (
        "core::panicking::assert_failed_inner",
        "assertion `left {0} right` failed\n  left: {1:?}\n right: {2:?}",
        Some("assertion `left {0} right` failed: {3}\n  left: {1:?}\n right: {2:?}"),
    ),
    ("core::result::unwrap_failed", "{0}: {1:?}", None),
    (
        "core::slice::copy_from_slice_impl::len_mismatch_fail",
        "copy_from_slice: source slice length ({1}) does not match destination slice length ({0})",
        None,
    ),
    (
        "core::num::from_ascii_radix_panic",
        "from_ascii_radix: radix must lie in the range `[2, 36]` - found {0}",
        None,
    ),
];

/// Messages with other rules for their arguments.
const SPECIAL: &[(&str, Kind)] = &[
    ("core::slice::index::slice_index_fail", Kind::SliceIndex),
    ("core::str::slice_error_fail", Kind::StrSlice),
];

/// Messages that are always the same.
const TEXTS: &[(&str, &str)] = &[
    ("core::cell::panic_already_borrowed", "RefCell already borrowed"),
    ("core::cell::panic_already_mutably_borrowed", "RefCell already mutably borrowed"),
    ("core::cell::lazy::panic_poisoned", "LazyCell instance has previously been poisoned"),
    ("core::option::unwrap_failed", "called `Option::unwrap()` on a `None` value"),
    (
        "core::num::int_log10::panic_for_nonpositive_argument",
        "argument of integer logarithm must be positive",
    ),
    (
        "core::num::int_sqrt::panic_for_negative_argument",
        "argument of integer square root cannot be negative",
    ),
    (
        "core::slice::sort::shared::smallsort::panic_on_ord_violation",
        "user-provided comparison function does not correctly implement a total order",
    ),
    ("core::panicking::panic_null_pointer_dereference", "null pointer dereference occurred"),
    ("alloc::alloc::handle_alloc_error", "memory allocation failed"),
    ("alloc::raw_vec::capacity_overflow", "capacity overflow"),
];

/// The same of functions that are called where nothing may unwind.
const ABORTS: &[(&str, &str)] = &[
    ("core::panicking::panic_cannot_unwind", "panic in a function that cannot unwind"),
    ("core::panicking::panic_in_cleanup", "panic in a destructor during cleanup"),
];

/// Functions of operators: the part of their path after the last `::panic_const_` or of
/// `core::num::overflow_panic`.
const OPERATORS: &[(&str, &str)] = &[
    ("add_overflow", "attempt to add with overflow"),
    ("sub_overflow", "attempt to subtract with overflow"),
    ("mul_overflow", "attempt to multiply with overflow"),
    ("div_overflow", "attempt to divide with overflow"),
    ("rem_overflow", "attempt to calculate the remainder with overflow"),
    ("neg_overflow", "attempt to negate with overflow"),
    ("shr_overflow", "attempt to shift right with overflow"),
    ("shl_overflow", "attempt to shift left with overflow"),
    ("div_by_zero", "attempt to divide by zero"),
    ("rem_by_zero", "attempt to calculate the remainder with a divisor of zero"),
];

/// The standard library's message for a payload that is no text.
const PAYLOAD: &str = "Box<dyn Any>";

/// The panic functions that were found, by symbol.
#[derive(Default)]
pub(crate) struct Panics {
    known: FxIndexMap<String, PanicFunction>,
}

impl Panics {
    /// All of them, by symbol.
    pub(crate) fn sorted(self) -> Vec<PanicFunction> {
        let mut all: Vec<_> = self.known.into_values().collect();
        all.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        all
    }

    /// Records a function if calling it is a panic: one of the standard library that does not
    /// return, except those that end a process, assert that they are never called, or have a body
    /// to follow.
    pub(crate) fn note<'tcx>(
        &mut self,
        tcx: TyCtxt<'tcx>,
        formatters: &mut Formatters<'tcx>,
        instance: Instance<'tcx>,
    ) -> bool {
        let Some(message) = message(tcx, formatters, instance) else { return false };
        let symbol = tcx.symbol_name(instance).name.to_owned();
        let located = instance.def.requires_caller_location(tcx);
        self.known.insert(symbol.clone(), PanicFunction { symbol, message, located });
        true
    }
}

fn message<'tcx>(
    tcx: TyCtxt<'tcx>,
    formatters: &mut Formatters<'tcx>,
    instance: Instance<'tcx>,
) -> Option<PanicMessage> {
    let ty::InstanceKind::Item(def_id) = instance.def else { return None };
    if !matches!(tcx.crate_name(def_id.krate), sym::core | sym::alloc | sym::std)
        || !matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
        || tcx.intrinsic(def_id).is_some()
    {
        return None;
    }
    let signature = as_written(tcx.fn_sig(def_id).instantiate(tcx, instance.args));
    let signature = tcx.instantiate_bound_regions_with_erased(signature);
    if !signature.output().is_never() {
        return None;
    }
    let name = tcx.item_name(def_id);
    let path = own_path_of(tcx, def_id);
    if matches!(name.as_str(), "unreachable_unchecked" | "exit" | "abort")
        || path.starts_with("std::process")
        || path.contains("::sys::")
    {
        return None;
    }
    let of = |text: &str| Some(PanicMessage::Static(text.to_owned()));
    let path = path.as_str();
    if let Some((_, plain, other)) = TEMPLATES.iter().find(|(known, ..)| *known == path) {
        let arguments = Arguments { tcx, instance, inputs: signature.inputs() };
        return Some(
            arguments
                .template(formatters, plain, *other)
                .unwrap_or_else(|| PanicMessage::Static(name.as_str().replace('_', " "))),
        );
    }
    if let Some((_, kind)) = SPECIAL.iter().find(|(known, _)| *known == path) {
        let arguments = Arguments { tcx, instance, inputs: signature.inputs() };
        return Some(
            arguments
                .special(formatters, *kind)
                .unwrap_or_else(|| PanicMessage::Static(name.as_str().replace('_', " "))),
        );
    }
    if let Some((_, text)) = TEXTS.iter().find(|(known, _)| *known == path) {
        return of(text);
    }
    if let Some((_, text)) = ABORTS.iter().find(|(known, _)| *known == path) {
        return Some(PanicMessage::Abort((*text).to_owned()));
    }
    let operator =
        path.strip_prefix("core::num::overflow_panic::").map(|of| format!("{of}_overflow"));
    let operator = operator.as_deref().or_else(|| name.as_str().strip_prefix("panic_const_"));
    if let Some((_, text)) = OPERATORS.iter().find(|(known, _)| Some(*known) == operator) {
        return of(text);
    }
    let is_text = |ty: Ty<'_>| ty.peel_refs().is_str();
    match (path, signature.inputs()) {
        (
            "std::panic::panic_any" | "std::panicking::begin_panic" | "std::rt::begin_panic",
            [payload],
        ) => Some(if is_text(*payload) {
            PanicMessage::Text
        } else {
            PanicMessage::Static(PAYLOAD.to_owned())
        }),
        ("std::panic::resume_unwind", _) => of(PAYLOAD),
        (_, [text])
            if is_text(*text) && !matches!(text.kind(), ty::Ref(_, to, _) if to.is_ref()) =>
        {
            Some(PanicMessage::Text)
        }
        (_, [first, ..])
            if first
                .ty_adt_def()
                .is_some_and(|adt| Some(adt.did()) == tcx.lang_items().format_arguments()) =>
        {
            Some(PanicMessage::Arguments)
        }
        // Its own body makes the message.
        _ if encoded_mir::carried(tcx, def_id) => None,
        _ => Some(PanicMessage::Static(name.as_str().replace('_', " "))),
    }
}

/// The arguments of a panic function, as its calls pass them.
struct Arguments<'a, 'tcx> {
    tcx: TyCtxt<'tcx>,
    instance: Instance<'tcx>,
    inputs: &'a [Ty<'tcx>],
}

impl<'tcx> Arguments<'_, 'tcx> {
    /// The index of an argument's first word in LLVM's call, and how many words it is; `None` if it
    /// is passed in another way.
    fn place(&self, argument: usize) -> Option<(u32, u32)> {
        let env = ty::TypingEnv::fully_monomorphized();
        let input = env.as_query_input((self.instance, ty::List::empty()));
        let abi = self.tcx.fn_abi_of_instance(input).ok()?;
        let words = |mode: &PassMode| match mode {
            PassMode::Ignore => Some(0),
            PassMode::Direct(_) => Some(1),
            PassMode::Pair(..) => Some(2),
            PassMode::Cast { .. } | PassMode::Indirect { .. } => None,
        };
        let mut first = 0;
        for before in abi.args.get(..argument)? {
            first += words(&before.mode)?;
        }
        Some((first, words(&abi.args.get(argument)?.mode)?))
    }

    fn template(
        &self,
        formatters: &mut Formatters<'tcx>,
        plain: &str,
        other: Option<&str>,
    ) -> Option<PanicMessage> {
        let mut values = Vec::new();
        let mut known: Vec<(usize, Trait)> = Vec::new();
        let mut encode = |text: &str| {
            message_template::encode(text, |argument, by| {
                let index = known.iter().position(|value| *value == (argument, by));
                let index = match index {
                    Some(index) => index,
                    None => {
                        let (first, words) = self.place(argument)?;
                        let ty = self.describe(formatters, *self.inputs.get(argument)?, by);
                        values.push(PanicValue { argument: first, arguments: words, ty });
                        known.push((argument, by));
                        known.len() - 1
                    }
                };
                u16::try_from(index).ok()
            })
        };
        let template = encode(plain)?;
        let unless_null = match other {
            Some(other) => {
                let last = self.inputs.len() - 1;
                Some((self.place(last)?.0, encode(other)?))
            }
            None => None,
        };
        Some(PanicMessage::Template { template, unless_null, values })
    }

    fn describe(&self, formatters: &mut Formatters<'tcx>, ty: Ty<'tcx>, by: Trait) -> usize {
        let adt = ty.ty_adt_def();
        if adt.is_some_and(|adt| self.tcx.item_name(adt.did()).as_str() == "AssertKind") {
            return formatters.special(Kind::AssertKind);
        }
        // `Some` of a message is the message; the template is for calls with one.
        if let ty::Adt(adt, args) = *ty.kind()
            && Some(adt.did()) == self.tcx.lang_items().option_type()
        {
            return formatters.describe(args.type_at(0), by);
        }
        formatters.describe(ty, by)
    }

    /// A message of one value that consists of all arguments.
    fn special(&self, formatters: &mut Formatters<'tcx>, kind: Kind) -> Option<PanicMessage> {
        let (first, words) = self.place(self.inputs.len() - 1)?;
        let values = vec![PanicValue {
            argument: 0,
            arguments: first + words,
            ty: formatters.special(kind),
        }];
        Some(PanicMessage::Template {
            template: message_template::encode("{0}", |_, _| Some(0))?,
            unless_null: None,
            values,
        })
    }
}
