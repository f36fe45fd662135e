//! Both languages, parsed to one construct.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprRange, Ident, LitInt, Meta, RangeLimits, Result, Token,
    parenthesized,
};

use crate::mapping::Mapping;
use crate::motion::{self, Motion};
use crate::nearest::unknown;
use crate::offload::{Clauses, Verb};

/// The language of a directive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Acc,
    Offload,
}

/// What a directive makes of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A launch; the loops must be shown to be independent, or asserted.
    Parallel,
    /// A launch of each loop: what is not independent runs in order.
    Kernels,
    /// A launch of one work-item.
    Serial,
    /// A region in which arrays stay on the device.
    Data,
    /// A region to the end of the block.
    Declare,
    /// As `Declare`, or to `ExitData`.
    EnterData,
    /// The end of what `EnterData` has begun.
    ExitData,
    /// Copies between the host and what regions keep.
    Update,
    /// Addresses of what regions keep, for foreign libraries.
    HostData,
    /// Waits for launches.
    Wait,
    /// Chooses the device, or begins or ends its use.
    Init,
    Shutdown,
    Set,
    /// Nothing: the function can be called by kernels, as all can.
    Routine,
}

impl Kind {
    /// Whether it does something by itself, before the statement.
    pub(crate) const fn is_statement(self) -> bool {
        matches!(
            self,
            Self::ExitData | Self::Update | Self::Wait | Self::Init | Self::Shutdown | Self::Set
        )
    }

    /// Those up to this one.
    const fn and_before(self) -> &'static [Self] {
        DIRECTIVES.split_at(self as usize + 1).0
    }

    pub(crate) const fn is_to_the_end_of_the_block(self) -> bool {
        matches!(self, Self::Declare | Self::EnterData)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Kernels => "kernels",
            Self::Serial => "serial",
            Self::Data => "data",
            Self::Declare => "declare",
            Self::EnterData => "enter_data",
            Self::ExitData => "exit_data",
            Self::Update => "update",
            Self::HostData => "host_data",
            Self::Wait => "wait",
            Self::Init => "init",
            Self::Shutdown => "shutdown",
            Self::Set => "set",
            Self::Routine => "routine",
        }
    }
}

/// An operator of reductions: its type in `schism::__private::directives`.
pub(crate) const OPERATORS: [(&str, &str); 9] = [
    ("+", "Sum"),
    ("*", "Product"),
    ("max", "Max"),
    ("min", "Min"),
    ("&", "BitAnd"),
    ("|", "BitOr"),
    ("^", "BitXor"),
    ("&&", "And"),
    ("||", "Or"),
];

/// What a directive asks for, in either language.
#[derive(Clone)]
pub(crate) struct Construct {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
    pub(crate) collapse: usize,
    pub(crate) is_independent: bool,
    /// Operators, by their types, and variables.
    pub(crate) reductions: Vec<(&'static str, Ident)>,
    pub(crate) private: Vec<Ident>,
    pub(crate) data: Vec<(Motion, Expr)>,
    pub(crate) condition: Option<Expr>,
    /// The variable that has the condition's value.
    pub(crate) is_on_device: Option<Ident>,
    pub(crate) is_default_none: bool,
    /// Whether arrays that no clause names have to be on the device.
    pub(crate) is_default_present: bool,
    pub(crate) mapping: Mapping,
    /// Numbers of queues that are launched in, or waited for, in order.
    pub(crate) queues: Vec<Expr>,
    /// Whether what it launches may be waited for later.
    pub(crate) is_async: bool,
    /// Whether earlier launches are waited for.
    pub(crate) waits: bool,
    /// Whether what is not on the device is left alone.
    pub(crate) if_present: bool,
    /// Whether what was entered several times is left.
    pub(crate) is_final: bool,
    /// The number of the device.
    pub(crate) device: Option<Expr>,
    /// What only offload has.
    pub(crate) offload: Option<Clauses>,
    /// Whether an offload is around its launches, which learns of their errors.
    pub(crate) is_in_offload: bool,
}

impl Construct {
    const fn new(span: Span, kind: Kind) -> Self {
        Self {
            span,
            kind,
            collapse: 1,
            is_independent: false,
            reductions: Vec::new(),
            private: Vec::new(),
            data: Vec::new(),
            condition: None,
            is_on_device: None,
            is_default_none: false,
            is_default_present: false,
            mapping: Mapping::new(),
            queues: Vec::new(),
            is_async: false,
            waits: false,
            if_present: false,
            is_final: false,
            device: None,
            offload: None,
            is_in_offload: false,
        }
    }

    /// That of a loop in its block.
    pub(crate) fn for_loop(&self) -> Self {
        Self {
            is_independent: self.is_independent,
            reductions: self.reductions.clone(),
            private: self.private.clone(),
            mapping: self.mapping.clone(),
            is_async: self.is_async,
            is_in_offload: self.is_in_offload,
            is_default_present: self.is_default_present,
            is_on_device: self.is_on_device.clone(),
            ..Self::new(self.span, self.kind)
        }
    }
}

/// That of a loop in a block, whose directive is a `loop` and takes the block's clauses as well.
pub(crate) fn inner(attribute: &Attribute, around: &Construct) -> Result<Construct> {
    let mut construct = around.for_loop();
    let list = attribute.meta.require_list()?;
    for clause in clauses.parse2(list.tokens.clone())? {
        add(&mut construct, &clause, Language::Acc)?;
    }
    Ok(construct)
}

/// A clause as it is written.
struct Clause {
    name: Ident,
    arguments: Option<TokenStream>,
}

/// What a clause is, and which constructs take it.
struct Row {
    name: &'static str,
    languages: &'static [Language],
    kinds: &'static [Kind],
    arguments: Arguments,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    None,
    Required,
    Optional,
}

macro_rules! kinds {
    ($($kind:ident)*) => { &[$(Kind::$kind),*] };
}

/// The directives of OpenACC, in the order of their kinds.
const DIRECTIVES: &[Kind] = kinds! {
    Parallel Kernels Serial Data Declare EnterData ExitData Update HostData Wait Init Shutdown Set Routine
};
const LAUNCHES: &[Kind] = Kind::Serial.and_before();
const LOOPS: &[Kind] = Kind::Kernels.and_before();
const WITH_DATA: &[Kind] = Kind::Data.and_before();
const REGIONS: &[Kind] = Kind::Declare.and_before();
const INTO: &[Kind] = Kind::EnterData.and_before();
const OUT_OF: &[Kind] = kinds!(Parallel Kernels Serial Data Declare ExitData);
const EXIT: &[Kind] = kinds!(ExitData);
const UPDATE: &[Kind] = kinds!(Update);
const HOST_DATA: &[Kind] = kinds!(HostData);
const OF_PRESENT: &[Kind] = kinds!(Update HostData);
const DEVICES: &[Kind] = kinds!(Init Shutdown Set);
const CONDITIONAL: &[Kind] = kinds! {
    Parallel Kernels Serial Data EnterData ExitData Update HostData Wait Init Shutdown Set
};
const QUEUED: &[Kind] = kinds!(Parallel Kernels Serial Data EnterData ExitData Update Wait);
const ACC: &[Language] = &[Language::Acc];

macro_rules! rows {
    ($($($name:literal)+ $languages:ident $kinds:ident $arguments:ident;)*) => {
        &[$($(Row { name: $name, languages: $languages, kinds: $kinds, arguments: Arguments::$arguments }),+),*]
    };
}

const OFFLOAD: &[Language] = &[Language::Offload];
const BOTH: &[Language] = &[Language::Acc, Language::Offload];

const CLAUSES: &[Row] = rows! {
    "loop" ACC LAUNCHES None;
    "gang" "worker" "vector" ACC LOOPS Optional;
    "num_gangs" "num_workers" "vector_length" "tile" "cache" ACC LOOPS Required;
    "device_type" "dtype" ACC LAUNCHES Required;
    "self" ACC LAUNCHES Optional;
    "independent" "auto" "seq" ACC LOOPS None;
    "unsafe" "collapse" "reduction" BOTH LOOPS Required;
    "private" "firstprivate" BOTH LAUNCHES Required;
    "default" "no_create" ACC WITH_DATA Required;
    "if" BOTH CONDITIONAL Required;
    "copy" "pcopy" "present_or_copy" "present" ACC REGIONS Required;
    "copyin" "pcopyin" "present_or_copyin" ACC INTO Required;
    "copyout" "pcopyout" "present_or_copyout" ACC OUT_OF Required;
    "create" "pcreate" "present_or_create" ACC INTO Required;
    "delete" ACC EXIT Required;
    "finalize" ACC EXIT None;
    "self" "host" "device" ACC UPDATE Required;
    "if_present" ACC OF_PRESENT None;
    "use_device" ACC HOST_DATA Required;
    "async" "wait" ACC QUEUED Optional;
    "device_num" ACC DEVICES Required;
    "in" "out" "inout" "nocopy" "pin" "target" "status" "signal" "wait" "stream" OFFLOAD WITH_DATA Required;
    "optional" "mandatory" OFFLOAD WITH_DATA None;
};

/// Whether an attribute is a directive.
pub(crate) fn is_directive(attribute: &Attribute) -> bool {
    language(attribute).is_some()
}

/// The language of an attribute that is a directive.
pub(crate) fn language(attribute: &Attribute) -> Option<Language> {
    let name = &attribute.path().segments.last()?.ident;
    match &*name.to_string() {
        "acc" => Some(Language::Acc),
        name if Verb::named(name).is_some() => Some(Language::Offload),
        _ => None,
    }
}

/// The construct of a directive before a statement.
pub(crate) fn construct(attribute: &Attribute, language: Language) -> Result<Construct> {
    match &attribute.meta {
        Meta::List(list) => {
            let name = &list.path.segments[list.path.segments.len() - 1].ident;
            let mut construct = parse(list.tokens.clone(), name.span(), language)?;
            if let Some(clauses) = &mut construct.offload {
                clauses.verb = Verb::named(&name.to_string()).unwrap_or_default();
            }
            if let Some(clauses) = &construct.offload {
                clauses.check(name.span())?;
            }
            Ok(construct)
        }
        other => {
            Err(Error::new_spanned(other, "which directive? For example `#[acc(parallel, loop)]`"))
        }
    }
}

fn clauses(input: ParseStream<'_>) -> Result<Vec<Clause>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        let name = input.call(Ident::parse_any)?;
        let arguments = if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            Some(inside.parse()?)
        } else {
            None
        };
        all.push(Clause { name, arguments });
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

/// The construct of a directive's tokens.
pub(crate) fn parse(tokens: TokenStream, span: Span, language: Language) -> Result<Construct> {
    let all = clauses.parse2(tokens)?;
    let mut construct = Construct::new(span, Kind::Kernels);
    if language == Language::Offload {
        construct.offload = Some(Clauses::default());
        construct.is_in_offload = true;
    }
    let mut rest = &all[..];
    if language == Language::Acc {
        let Some((first, others)) = all.split_first() else {
            return Err(Error::new(span, "which directive? For example `#[acc(parallel, loop)]`"));
        };
        rest = others;
        let name = first.name.to_string();
        construct.kind = match DIRECTIVES.iter().find(|kind| kind.name() == name) {
            Some(kind) => *kind,
            None if name == "atomic" => {
                let text = "`atomic` stands before a statement of a loop that is a kernel";
                return Err(Error::new(first.name.span(), text));
            }
            None if name == "loop" => {
                let text = "a `loop` by itself belongs inside of `parallel` or `kernels`, which make the loop around it a kernel: `#[acc(parallel, loop)]`";
                return Err(Error::new(first.name.span(), text));
            }
            None => {
                let words: Vec<&str> = DIRECTIVES.iter().map(|kind| kind.name()).collect();
                return Err(unknown(&first.name, &name, &words, "directive"));
            }
        };
        match (construct.kind, &first.arguments) {
            (Kind::Wait, Some(_)) => add(&mut construct, first, language)?,
            (_, Some(_)) => {
                let text = format!("`{name}` takes nothing in parentheses");
                return Err(Error::new(first.name.span(), text));
            }
            _ => {}
        }
    }
    for clause in rest {
        add(&mut construct, clause, language)?;
    }
    Ok(construct)
}

fn add(construct: &mut Construct, clause: &Clause, language: Language) -> Result<()> {
    let name = clause.name.to_string();
    let at = clause.name.span();
    let of_language = || CLAUSES.iter().filter(|row| row.languages.contains(&language));
    let named = || of_language().filter(|row| row.name == name);
    let taken = named().find(|row| row.kinds.contains(&construct.kind));
    let Some(row) = taken.or_else(|| named().next()) else {
        let words: Vec<&str> = of_language().map(|row| row.name).collect();
        return Err(unknown(&clause.name, &name, &words, "clause"));
    };
    let kind = construct.kind;
    if !row.kinds.contains(&kind) {
        let takers: Vec<&str> = row.kinds.iter().map(|kind| kind.name()).collect();
        let text = format!(
            "`{}` takes no clause `{name}`; it belongs to {}",
            kind.name(),
            takers.join(", ")
        );
        return Err(Error::new(at, text));
    }
    match (row.arguments, &clause.arguments) {
        (Arguments::None, Some(_)) => {
            return Err(Error::new(at, format!("`{name}` takes nothing in parentheses")));
        }
        (Arguments::Required, None) => {
            return Err(Error::new(at, format!("`{name}` needs something in parentheses")));
        }
        _ => {}
    }
    construct.mapping.check(&clause.name)?;
    let arguments = clause.arguments.clone().unwrap_or_default();
    match &*name {
        "loop" => {}
        "gang" | "worker" | "vector" | "auto" | "num_gangs" | "num_workers" | "vector_length"
        | "tile" | "device_type" | "dtype" => {
            let loops = construct.mapping.add(&clause.name, arguments)?;
            construct.collapse = construct.collapse.max(loops.unwrap_or(1));
        }
        "cache" => {
            // The caches of devices need no hint.
            Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments)?;
        }
        "self" if kind != Kind::Update && arguments.is_empty() => {
            construct.condition = Some(syn::parse_quote!(false))
        }
        "self" if kind != Kind::Update => {
            let condition: Expr = syn::parse2(arguments)?;
            construct.condition = Some(syn::parse_quote!(!(#condition)));
        }
        "independent" => {
            let text = "that iterations are independent is for schism to show; `unsafe(independent)` asserts it where it cannot";
            return Err(Error::new(at, text));
        }
        "unsafe" => {
            let word: Ident = syn::parse2(arguments)?;
            if word != "independent" {
                return Err(Error::new(word.span(), "what is asserted is `independent`"));
            }
            construct.is_independent = true;
        }
        "seq" => construct.kind = Kind::Serial,
        "collapse" => {
            let number: LitInt = syn::parse2(arguments)?;
            construct.collapse = number.base10_parse()?;
            if !(1..=6).contains(&construct.collapse) {
                return Err(Error::new(number.span(), "1 to 6 loops become one launch"));
            }
        }
        "reduction" => reduction(construct, arguments)?,
        "private" | "firstprivate" => {
            let names = Punctuated::<Ident, Token![,]>::parse_terminated.parse2(arguments)?;
            construct.private.extend(names);
        }
        "default" => {
            let word: Ident = syn::parse2(arguments)?;
            match &*word.to_string() {
                "none" => construct.is_default_none = true,
                "present" if construct.kind != Kind::Data => construct.is_default_present = true,
                _ => {
                    let text = "the default is `none`, `present` of what launches, or not given";
                    return Err(Error::new(word.span(), text));
                }
            }
        }
        "if" => construct.condition = Some(syn::parse2(arguments)?),
        _ if language == Language::Offload => {
            let clauses = construct.offload.get_or_insert_default();
            clauses.add(&mut construct.data, &clause.name, arguments)?;
        }
        "async" | "wait" => {
            let numbers = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments)?;
            construct.queues.extend(numbers);
            construct.is_async |= name == "async";
            construct.waits |= name == "wait" && construct.kind != Kind::Wait;
        }
        "if_present" => construct.if_present = true,
        "finalize" => construct.is_final = true,
        "device_num" => construct.device = Some(syn::parse2(arguments)?),
        _ => {
            let motion = motion::named(&name).expect("a clause that names arrays");
            for place in Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments)? {
                check_place(&place)?;
                construct.data.push((motion, place));
            }
        }
    }
    Ok(())
}

/// What a data clause names: a variable, a field of one, or a part of such, which is a range.
fn check_place(place: &Expr) -> Result<()> {
    let (array, part) = array_and_part(place);
    let is_bounded = |part: &ExprRange| matches!(part.limits, RangeLimits::HalfOpen(_));
    if matches!(array, Expr::Path(_) | Expr::Field(_)) && part.is_none_or(is_bounded) {
        return Ok(());
    }
    let text = "a variable, or a field of one, or a part of such, as in `a[begin..end]`";
    Err(Error::new_spanned(place, text))
}

/// The array that a data clause names, and which part of it.
pub(crate) fn array_and_part(place: &Expr) -> (&Expr, Option<&ExprRange>) {
    match place {
        Expr::Index(part) => match &*part.index {
            Expr::Range(range) => (&part.expr, Some(range)),
            _ => (place, None),
        },
        _ => (place, None),
    }
}

/// `+: a, b`
fn reduction(construct: &mut Construct, arguments: TokenStream) -> Result<()> {
    let parse = |input: ParseStream<'_>| {
        let begin = input.span();
        let mut operator = String::new();
        while !input.peek(Token![:]) && !input.is_empty() {
            operator += &input.parse::<proc_macro2::TokenTree>()?.to_string();
        }
        let found = OPERATORS.iter().find(|(text, _)| *text == operator);
        let Some((_, ty)) = found else {
            let all: Vec<&str> = OPERATORS.iter().map(|(text, _)| *text).collect();
            let text = format!("the operator of a reduction is one of `{}`", all.join("` `"));
            return Err(Error::new(begin, text));
        };
        input.parse::<Token![:]>()?;
        let names = Punctuated::<Ident, Token![,]>::parse_terminated(input)?;
        Ok(names.into_iter().map(|name| (*ty, name)).collect::<Vec<_>>())
    };
    construct.reductions.extend(parse.parse2(arguments)?);
    Ok(())
}
