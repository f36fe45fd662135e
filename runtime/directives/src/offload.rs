//! The clauses of Intel's offload, and what its statements become: `__private::directives::Offload`
//! around the launches.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Result, Token, parenthesized};

use crate::body::key;
use crate::clause::{Construct, Motion};
use crate::names;

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
struct Target {
    kind: Ident,
    number: Option<Expr>,
}

/// An array of a clause, and its modifiers.
struct Array {
    motion: Motion,
    place: Expr,
    /// What of it goes there and back.
    extent: Option<Expr>,
    length: Option<Expr>,
    alloc_if: Option<Expr>,
    free_if: Option<Expr>,
    align: Option<Expr>,
    alloc_extent: Option<Expr>,
}

/// A copy from one array of the host's to another.
struct Into {
    from: Expr,
    from_extent: Option<Expr>,
    to: Expr,
    to_extent: Option<Expr>,
}

/// What the clauses of an offload say that no other language has.
#[derive(Default)]
pub(crate) struct Clauses {
    pub(crate) verb: Verb,
    target: Option<Target>,
    is_optional: bool,
    is_mandatory: bool,
    status: Option<Expr>,
    signal: Option<(Span, Expr)>,
    wait: Option<Span>,
    waits: Vec<Expr>,
    stream: Option<Expr>,
    arrays: Vec<Array>,
    /// Before the statement, and after it.
    into_before: Vec<Into>,
    into_after: Vec<Into>,
}

/// The kinds of targets.
const KINDS: [&str; 7] = ["any", "gpu", "cpu", "native", "cuda", "hip", "opencl"];

/// The modifiers of arrays.
const MODIFIERS: [&str; 8] =
    ["length", "alloc_if", "free_if", "align", "extent", "alloc_extent", "into", "into_extent"];

/// Adds a clause that only offload has, with what it has in parentheses.
pub(crate) fn add(construct: &mut Construct, name: &Ident, arguments: TokenStream) -> Result<()> {
    let text = name.to_string();
    let clauses = construct.offload.get_or_insert_default();
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
            arrays(construct, motion, name, arguments)?;
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
    construct: &mut Construct,
    motion: Motion,
    clause: &Ident,
    arguments: TokenStream,
) -> Result<()> {
    let (items, modifiers) = listed.parse2(arguments)?;
    let (mut into, mut into_extent) = (None, None);
    let clauses = construct.offload.get_or_insert_default();
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
                    return Err(crate::clause::unknown(&name, other, &words, "modifier"));
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
        add_data(&mut construct.data, motion, place);
    }
    Ok(())
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
fn section(array: &Array) -> Option<Expr> {
    match (&array.extent, &array.length) {
        (Some(extent), _) => Some(extent.clone()),
        (None, Some(length)) => Some(syn::parse_quote!(0..#length)),
        (None, None) => None,
    }
}

/// What clauses ask of each other.
pub(crate) fn check(construct: &Construct, span: Span) -> Result<()> {
    let Some(clauses) = &construct.offload else { return Ok(()) };
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

/// What is known of a statement whose launches are made.
pub(crate) struct Statement<'a> {
    /// With its launches.
    pub(crate) body: TokenStream,
    /// Without directives.
    pub(crate) plain: &'a Expr,
    /// The arrays that it changes.
    pub(crate) written: Vec<String>,
}

/// The place `__private::directives` in the runtime.
fn private(name: &str, at: Span) -> TokenStream {
    let name = Ident::new(name, at);
    quote_spanned!(at=> ::schism::__private::directives::#name)
}

impl Clauses {
    /// The offload, before it begins.
    fn start(&self, construct: &Construct) -> TokenStream {
        let at = construct.span;
        let (offload, target) = (private("Offload", at), private("Target", at));
        let target = match &self.target {
            None => quote!(#target::new("any", -1)),
            Some(Target { kind, number }) => {
                let text = kind.to_string();
                let number = number.as_ref().map_or_else(|| quote!(-1), ToTokens::to_token_stream);
                quote_spanned!(kind.span()=> #target::new(#text, #number))
            }
        };
        let mut start = quote_spanned!(at=> #offload::new(#target));
        if self.is_optional {
            start.extend(quote!(.optional()));
        }
        if self.is_mandatory || self.target.is_some() && !self.is_optional {
            start.extend(quote!(.mandatory()));
        }
        if self.status.is_some() {
            start.extend(quote!(.with_status()));
        }
        if let Some(stream) = &self.stream {
            start.extend(quote!(.on_stream(&#stream)));
        }
        for tag in &self.waits {
            start.extend(quote_spanned!(tag.span()=> .wait(#tag)));
        }
        if let Some((_, tag)) = &self.signal {
            start.extend(quote_spanned!(tag.span()=> .signal(#tag)));
        }
        if let Some(condition) = &construct.condition {
            start.extend(quote_spanned!(condition.span()=> .when(#condition)));
        }
        start
    }
}

impl Array {
    fn is_plain(&self) -> bool {
        let modifiers = [&self.extent, &self.length, &self.alloc_if, &self.free_if, &self.align];
        modifiers.iter().all(|modifier| modifier.is_none()) && self.alloc_extent.is_none()
    }

    /// The variable, or `None` if a field is left to the launches.
    fn variable(&self) -> Result<Option<&Ident>> {
        let name = match &self.place {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        if name.is_none() && !self.is_plain() {
            let text = "modifiers and ranges are of variables: bind the field to one before";
            return Err(Error::new_spanned(&self.place, text));
        }
        Ok(name)
    }

    fn section(&self) -> TokenStream {
        let name = self.place.to_token_stream().to_string();
        let ty = private("Section", self.place.span());
        let mut tokens = quote!(#ty::new(#name));
        if let Some(range) = section(self) {
            tokens.extend(quote_spanned!(range.span()=> .range(#range)));
        }
        if let Some(condition) = &self.alloc_if {
            tokens.extend(quote_spanned!(condition.span()=> .alloc_if(#condition)));
        }
        if let Some(condition) = &self.free_if {
            tokens.extend(quote_spanned!(condition.span()=> .free_if(#condition)));
        }
        if let Some(bytes) = &self.align {
            tokens.extend(quote_spanned!(bytes.span()=> .align(#bytes)));
        }
        if let Some(extent) = &self.alloc_extent {
            tokens.extend(quote_spanned!(extent.span()=> .alloc_extent(#extent)));
        }
        tokens
    }
}

impl Into {
    /// The copy, and what becomes of its outcome.
    fn copy(&self) -> TokenStream {
        let (from, to) = (&self.from, &self.to);
        let all = quote!(..);
        let from_extent = self.from_extent.as_ref().map_or(all.clone(), |own| quote!(#own));
        let to_extent = self.to_extent.as_ref().map_or(all, |own| quote!(#own));
        let copy = private("copy_into", to.span());
        quote_spanned! {to.span()=>
            #copy((#from).__elements(), #from_extent, (#to).__elements_mut(), #to_extent)
        }
    }
}

/// A statement with an offload around it.
pub(crate) fn around(construct: &Construct, statement: &Statement<'_>) -> Result<TokenStream> {
    let Statement { body, plain, written } = statement;
    let default = Clauses::default();
    let clauses = construct.offload.as_ref().unwrap_or(&default);
    if let Some(jump) = names::leaving(plain).filter(|_| matches!(plain, Expr::Block(_))) {
        let text = "this leaves the statement, whose results come back at its end: use a variable, and leave after it";
        return Err(Error::new(jump, text));
    }
    let (mut sections, mut views, mut inputs, mut outputs) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new(), TokenStream::new());
    let (mut bound, mut received) = (TokenStream::new(), TokenStream::new());
    for (number, array) in clauses.arrays.iter().enumerate() {
        let Some(name) = array.variable()? else { continue };
        let at = name.span();
        let [section, view, mapped] = ["section", "view", "mapped"]
            .map(|part| format_ident!("__{part}_{number}", span = Span::call_site()));
        let value = array.section();
        sections.extend(quote!(let #section = #value;));
        let changes = written.contains(&name.to_string());
        let (is_mut, method, phase) = match array.motion {
            Motion::In | Motion::Present => (false, "send", &mut inputs),
            Motion::Out => (true, "allocate", &mut outputs),
            Motion::Create if changes => (true, "keep", &mut outputs),
            Motion::Create => (false, "reuse", &mut outputs),
            Motion::Both if changes || clauses.verb == Verb::Transfer => {
                (true, "share", &mut inputs)
            }
            Motion::Both => (false, "send", &mut inputs),
        };
        let method = Ident::new(method, at);
        let elements = if is_mut {
            quote_spanned!(at=> let mut #view = (#name).__elements_mut();)
        } else {
            quote_spanned!(at=> let #view = (#name).__elements();)
        };
        views.extend(elements);
        let borrowed = if is_mut { quote!(&mut #view) } else { quote!(&#view) };
        phase.extend(quote! {
            #[allow(unused_mut)]
            let mut #mapped = match __offload.#method(#section, #borrowed) {
                ::core::result::Result::Ok(__mapped) => __mapped,
                ::core::result::Result::Err(__error) => {
                    break '__offload ::core::result::Result::Err(__error);
                }
            };
        });
        bound.extend(if is_mut {
            quote!(#[allow(unused_mut, unused_variables)] let mut #name = #mapped.view_mut();)
        } else {
            quote!(#[allow(unused_variables)] let #name = #mapped.view();)
        });
        received.extend(quote! {
            __outcome = __offload.receive(#mapped, __outcome);
        });
    }
    let before: Vec<_> = clauses.into_before.iter().map(Into::copy).collect();
    let after: Vec<_> = clauses.into_after.iter().map(Into::copy).collect();
    let host = (clauses.is_optional || construct.condition.is_some()).then(|| {
        let done = private("copied", construct.span);
        quote! {
            if __offload.is_for_host() {
                #(#done(#before);)*
                { #plain };
                #(#done(#after);)*
            }
        }
    });
    let start = clauses.start(construct);
    let finish = match &clauses.status {
        None => quote_spanned!(construct.span=> __offload.finish();),
        Some(status) => quote_spanned!(status.span()=> __offload.finish_into(&mut #status);),
    };
    let copied_first = (!before.is_empty()).then(|| {
        quote! {
            #(if let ::core::result::Result::Err(__error) = #before {
                break '__offload ::core::result::Result::Err(__error);
            })*
        }
    });
    let outcome = private("Outcome", construct.span);
    Ok(quote! {{
        #[allow(unused_imports)]
        use ::schism::__private::directives::{Elements as _, ElementsMut as _};
        #[allow(unused_mut)]
        let mut __offload = #start;
        if let ::core::option::Option::Some(__entered) = __offload.begin() {
            #[allow(unused_labels)]
            let __outcome: #outcome = '__offload: {
                #sections
                __offload.evaluated();
                #copied_first
                #views
                #inputs
                __offload.sent();
                #outputs
                __offload.allocated();
                #[allow(unused_mut)]
                let mut __outcome: #outcome = '__launches: {
                    #bound
                    #body
                    #[allow(unreachable_code)]
                    ::core::result::Result::Ok(())
                };
                __offload.ran();
                #received
                #(__outcome = __outcome.and_then(|()| #after);)*
                __outcome
            };
            ::core::mem::drop(__entered);
            __offload.ended(__outcome);
        }
        #host
        #finish
    }})
}
