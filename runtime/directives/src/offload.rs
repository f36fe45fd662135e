//! The clauses of Intel's offload.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, Result, Token, parenthesized};

use crate::motion::Motion;
use crate::nearest::unknown;

/// What an attribute of offload asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    #[default]
    Offload,
    Transfer,
    Wait,
}

impl Verb {
    /// That of an attribute with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "offload" => Some(Self::Offload),
            "offload_transfer" => Some(Self::Transfer),
            "offload_wait" => Some(Self::Wait),
            _ => None,
        }
    }
}

/// `target(kind: number)`
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: Ident,
    pub(crate) number: Option<Expr>,
}

/// An array of a clause, and its modifiers.
#[derive(Clone)]
pub(crate) struct Array {
    pub(crate) motion: Motion,
    pub(crate) place: Expr,
    /// What of it goes there and back.
    pub(crate) extent: Option<Expr>,
    pub(crate) length: Option<Expr>,
    pub(crate) alloc_if: Option<Expr>,
    pub(crate) free_if: Option<Expr>,
    pub(crate) align: Option<Expr>,
    pub(crate) alloc_extent: Option<Expr>,
}

/// A copy from one array of the host's to another.
#[derive(Clone)]
pub(crate) struct Into {
    pub(crate) from: Expr,
    pub(crate) from_extent: Option<Expr>,
    pub(crate) to: Expr,
    pub(crate) to_extent: Option<Expr>,
}

/// What the clauses of an offload say that no other language has.
#[derive(Clone, Default)]
pub(crate) struct Clauses {
    pub(crate) verb: Verb,
    pub(crate) target: Option<Target>,
    pub(crate) is_optional: bool,
    pub(crate) is_mandatory: bool,
    pub(crate) status: Option<Expr>,
    pub(crate) signal: Option<(Span, Expr)>,
    pub(crate) wait: Option<Span>,
    pub(crate) waits: Vec<Expr>,
    pub(crate) stream: Option<Expr>,
    pub(crate) arrays: Vec<Array>,
    /// Before the statement, and after it.
    pub(crate) into_before: Vec<Into>,
    pub(crate) into_after: Vec<Into>,
}

impl Clauses {
    /// Adds a clause that only offload has, with what it has in parentheses, and its arrays to `data`.
    pub(crate) fn add(
        &mut self,
        data: &mut Vec<(Motion, Expr)>,
        name: &Ident,
        arguments: TokenStream,
    ) -> Result<()> {
        add(self, data, name, arguments)
    }

    /// What clauses ask of each other.
    pub(crate) fn check(&self, span: Span) -> Result<()> {
        check(self, span)
    }
}

/// The kinds of targets.
const KINDS: [&str; 7] = ["any", "gpu", "cpu", "native", "cuda", "hip", "opencl"];

/// The modifiers of arrays.
const MODIFIERS: [&str; 8] =
    ["length", "alloc_if", "free_if", "align", "extent", "alloc_extent", "into", "into_extent"];

fn add(
    clauses: &mut Clauses,
    data: &mut Vec<(Motion, Expr)>,
    name: &Ident,
    arguments: TokenStream,
) -> Result<()> {
    let text = name.to_string();
    match &*text {
        "target" => clauses.target = Some(target.parse2(arguments)?),
        "optional" | "mandatory" => {
            let (this, other) = match &*text {
                "optional" => (&mut clauses.is_optional, clauses.is_mandatory),
                _ => (&mut clauses.is_mandatory, clauses.is_optional),
            };
            if other {
                let text = "`optional` has the host run what `mandatory` forbids it: choose one";
                return Err(Error::new(name.span(), text));
            }
            *this = true;
        }
        "status" => clauses.status = Some(syn::parse2(arguments)?),
        "signal" => clauses.signal = Some((name.span(), syn::parse2(arguments)?)),
        "wait" => {
            clauses.wait = Some(name.span());
            clauses
                .waits
                .extend(Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments)?);
        }
        "stream" => clauses.stream = Some(syn::parse2(arguments)?),
        _ => {
            let motion = match &*text {
                "in" => Motion::In,
                "out" => Motion::Out,
                "nocopy" => Motion::Create,
                _ => Motion::Both,
            };
            arrays(clauses, data, motion, name, arguments)?;
        }
    }
    Ok(())
}

/// `gpu: n`
fn target(input: ParseStream<'_>) -> Result<Target> {
    let kind: Ident = input.parse()?;
    let name = kind.to_string();
    if !KINDS.contains(&&*name) {
        let text = match &*name {
            "gfx" | "mic" => "`gpu`, `cpu` and `any` are the targets: did you mean `gpu`?",
            _ => {
                "a target is `any`, `gpu`, `cpu`, `native`, `cuda`, `hip` or `opencl`, with or without a number: `target(gpu: 1)`"
            }
        };
        return Err(Error::new(kind.span(), text));
    }
    let number = if input.peek(Token![:]) {
        input.parse::<Token![:]>()?;
        Some(input.parse()?)
    } else {
        None
    };
    Ok(Target { kind, number })
}

/// A modifier and what it has in parentheses.
type Modifier = (Ident, TokenStream);

/// `a, b[lo..hi]: length(n), alloc_if(c)`
fn listed(input: ParseStream<'_>) -> Result<(Vec<Expr>, Vec<Modifier>)> {
    let (mut places, mut modifiers) = (Vec::new(), Vec::new());
    while !input.is_empty() && !input.peek(Token![:]) {
        places.push(input.parse()?);
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        }
    }
    if input.peek(Token![:]) {
        input.parse::<Token![:]>()?;
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            let inside;
            parenthesized!(inside in input);
            modifiers.push((name, inside.parse()?));
            if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
            }
        }
    }
    Ok((places, modifiers))
}

/// The array and the part of it that an item of a list names.
fn divided(item: Expr) -> Result<(Expr, Option<Expr>)> {
    let (place, part) = match item {
        Expr::Index(part) if matches!(&*part.index, Expr::Range(_)) => {
            (*part.expr, Some(*part.index))
        }
        other => (other, None),
    };
    if matches!(place, Expr::Path(_) | Expr::Field(_)) {
        return Ok((place, part));
    }
    let text = "a variable, a field of one, or a range of its elements: `y[lo..hi]`";
    Err(Error::new_spanned(place, text))
}

fn arrays(
    clauses: &mut Clauses,
    data: &mut Vec<(Motion, Expr)>,
    motion: Motion,
    clause: &Ident,
    arguments: TokenStream,
) -> Result<()> {
    let (items, modifiers) = listed.parse2(arguments)?;
    let (mut into, mut into_extent) = (None, None);
    let begin = clauses.arrays.len();
    let count = items.len();
    for item in items {
        let (place, extent) = divided(item)?;
        clauses.arrays.push(Array {
            motion,
            place,
            extent,
            length: None,
            alloc_if: None,
            free_if: None,
            align: None,
            alloc_extent: None,
        });
    }
    for (name, tokens) in modifiers {
        let text = name.to_string();
        for array in &mut clauses.arrays[begin..] {
            let tokens = tokens.clone();
            match &*text {
                "length" => array.length = Some(syn::parse2(tokens)?),
                "alloc_if" => array.alloc_if = Some(syn::parse2(tokens)?),
                "free_if" => array.free_if = Some(syn::parse2(tokens)?),
                "align" => array.align = Some(syn::parse2(tokens)?),
                "extent" => array.extent = Some(syn::parse2(tokens)?),
                "alloc_extent" => array.alloc_extent = Some(syn::parse2(tokens)?),
                "into" => into = Some((name.span(), syn::parse2::<Expr>(tokens)?)),
                "into_extent" => into_extent = Some(syn::parse2(tokens)?),
                other => {
                    let words: Vec<&str> = MODIFIERS.to_vec();
                    return Err(unknown(&name, other, &words, "modifier"));
                }
            }
        }
    }
    if let Some((at, target)) = into {
        if !matches!(motion, Motion::In | Motion::Out) {
            let text = format!("`into` belongs to `in` and `out`: `{clause}` has one array");
            return Err(Error::new(at, text));
        }
        let ([own], 1) = (&mut clauses.arrays[begin..], count) else {
            return Err(Error::new(at, "`into` takes one array in its clause"));
        };
        let (to, part) = divided(target)?;
        if part.is_some() && into_extent.is_some() {
            return Err(Error::new(at, "either a range, or `into_extent`"));
        }
        let to_extent = part.or(into_extent);
        let (from, from_extent) = (own.place.clone(), section(own));
        let copy = Into { from, from_extent, to, to_extent };
        if motion == Motion::In {
            // The statement uses the array that the values go into.
            own.place = copy.to.clone();
            own.extent = copy.to_extent.clone();
            own.length = None;
            clauses.into_before.push(copy);
        } else {
            clauses.into_after.push(copy);
        }
    } else if let Some(extent) = into_extent {
        return Err(Error::new_spanned(extent, "`into_extent` is of the array that `into` names"));
    }
    let named: Vec<Expr> =
        clauses.arrays[begin..].iter().map(|array| array.place.clone()).collect();
    merge(&mut clauses.arrays);
    for place in named {
        add_data(data, motion, place);
    }
    Ok(())
}

/// The text that tells arrays apart.
fn key(place: &Expr) -> String {
    place.to_token_stream().to_string()
}

/// One that is in and out is both.
const fn both(a: Motion, b: Motion) -> Motion {
    match (a, b) {
        (Motion::In, Motion::In) => Motion::In,
        (Motion::Out, Motion::Out) => Motion::Out,
        (Motion::Create, other) | (other, Motion::Create) => other,
        _ => Motion::Both,
    }
}

fn add_data(data: &mut Vec<(Motion, Expr)>, motion: Motion, place: Expr) {
    match data.iter_mut().find(|(_, known)| key(known) == key(&place)) {
        Some((known, _)) => *known = both(*known, motion),
        None => data.push((motion, place)),
    }
}

fn merge(arrays: &mut Vec<Array>) {
    let mut merged: Vec<Array> = Vec::new();
    for array in std::mem::take(arrays) {
        match merged.iter_mut().find(|known| key(&known.place) == key(&array.place)) {
            Some(known) => {
                known.motion = both(known.motion, array.motion);
                known.extent = known.extent.take().or(array.extent);
                known.length = known.length.take().or(array.length);
                known.alloc_if = known.alloc_if.take().or(array.alloc_if);
                known.free_if = known.free_if.take().or(array.free_if);
                known.align = known.align.take().or(array.align);
                known.alloc_extent = known.alloc_extent.take().or(array.alloc_extent);
            }
            None => merged.push(array),
        }
    }
    *arrays = merged;
}

/// The range that goes there and back, if it is not all.
pub(crate) fn section(array: &Array) -> Option<Expr> {
    match (&array.extent, &array.length) {
        (Some(extent), _) => Some(extent.clone()),
        (None, Some(length)) => Some(syn::parse_quote!(0..#length)),
        (None, None) => None,
    }
}

fn check(clauses: &Clauses, span: Span) -> Result<()> {
    let has_number = clauses.target.as_ref().is_some_and(|target| target.number.is_some());
    let synchronized = clauses.signal.as_ref().map(|(at, _)| (*at, "signal"));
    let synchronized = synchronized.or(clauses.wait.map(|at| (at, "wait")));
    if let Some((at, name)) = synchronized
        && !has_number
        && clauses.stream.is_none()
    {
        let text = format!("`{name}` is of one target, whose number it needs: `target(gpu: 0)`");
        return Err(Error::new(at, text));
    }
    if clauses.verb == Verb::Wait {
        if clauses.wait.is_none() {
            return Err(Error::new(span, "which tags? `offload_wait` needs `wait(tag, …)`"));
        }
        if let Some((at, _)) = &clauses.signal {
            return Err(Error::new(*at, "`offload_wait` has nothing to signal"));
        }
        if let Some(array) = clauses.arrays.first() {
            let text = "`offload_wait` moves no arrays: `offload_transfer` does";
            return Err(Error::new_spanned(&array.place, text));
        }
    }
    Ok(())
}
