//! The clauses that say how iterations become work-items: gangs, workers, vectors, tiles, and for which
//! kind of device.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Result, Token};

use crate::names::words;

/// Kinds of devices by OpenACC's names, and what names of devices begin with.
const KINDS: [(&str, &[&str]); 5] = [
    ("nvidia", &["cuda"]),
    ("radeon", &["hip"]),
    ("opencl", &["opencl"]),
    ("host", &["cpu", "native"]),
    ("default", &[]),
];

/// Clauses that may be for one kind of device.
const OF_KINDS: &[&str] = words! {
    num_gangs num_workers vector_length gang worker vector auto tile device_type
};

/// Sizes for some kinds of devices.
#[derive(Clone, Default)]
struct Sizes {
    /// What names of devices begin with; all others if there are none.
    kinds: Vec<&'static str>,
    gangs: Option<Expr>,
    /// Work-items of a block, multiplied.
    block: Vec<Expr>,
}

/// How iterations become work-items.
#[derive(Clone, Default)]
pub(crate) struct Mapping {
    sizes: Vec<Sizes>,
    is_of_kinds: bool,
}

impl Mapping {
    pub(crate) const fn new() -> Self {
        Self { sizes: Vec::new(), is_of_kinds: false }
    }

    fn last(&mut self) -> &mut Sizes {
        if self.sizes.is_empty() {
            self.sizes.push(Sizes::default());
        }
        self.sizes.last_mut().expect("there is one")
    }

    /// Whether a clause may be where it is.
    pub(crate) fn check(&self, name: &Ident) -> Result<()> {
        if !self.is_of_kinds || OF_KINDS.contains(&&*name.to_string()) {
            return Ok(());
        }
        let text = format!(
            "`{name}` is for all devices: it stands before `device_type`, after which there are sizes for one kind of device"
        );
        Err(Error::new(name.span(), text))
    }

    /// Adds a clause; how many loops it takes, if that is said.
    pub(crate) fn add(&mut self, name: &Ident, arguments: TokenStream) -> Result<Option<usize>> {
        let is_empty = arguments.is_empty();
        match &*name.to_string() {
            "auto" => {}
            "gang" | "worker" | "vector" if is_empty => {}
            "gang" => {
                for (word, value) in named.parse2(arguments)? {
                    match word.as_ref().map(ToString::to_string).as_deref() {
                        None | Some("num") => self.last().gangs = Some(value),
                        Some("static") => {}
                        Some(other) => {
                            return Err(no_word(word.as_ref(), other, "`num` or `static`"));
                        }
                    }
                }
            }
            "worker" | "vector" => {
                let own = if name == "worker" { "num" } else { "length" };
                for (word, value) in named.parse2(arguments)? {
                    match word.as_ref().map(ToString::to_string) {
                        Some(other) if other != own => {
                            return Err(no_word(word.as_ref(), &other, &format!("`{own}`")));
                        }
                        _ => self.last().block.push(value),
                    }
                }
            }
            "num_gangs" => self.last().gangs = Some(syn::parse2(arguments)?),
            "num_workers" | "vector_length" => self.last().block.push(syn::parse2(arguments)?),
            "tile" => {
                let sizes = tiles.parse2(arguments)?;
                let count = sizes.len();
                self.last().block.extend(sizes.into_iter().flatten());
                return Ok(Some(count));
            }
            _ => {
                self.is_of_kinds = true;
                let kinds = kinds.parse2(arguments)?;
                self.sizes.push(Sizes { kinds, ..Sizes::default() });
            }
        }
        Ok(None)
    }

    /// A queue as it is for so many iterations.
    pub(crate) fn sized(&self, queue: TokenStream, iterations: &TokenStream) -> TokenStream {
        let is_empty = |own: &Sizes| own.gangs.is_none() && own.block.is_empty();
        if self.sizes.iter().all(is_empty) {
            return queue;
        }
        let sizes = self.sizes.iter().map(|own| {
            let kinds = &own.kinds;
            let gangs =
                option(own.gangs.as_ref().map(|gangs| quote_spanned!(gangs.span()=> #gangs)));
            let block = &own.block;
            let block = option((!block.is_empty()).then(|| quote!(1 #(* (#block))*)));
            quote!(::schism::__private::directives::Sizes::new(&[#(#kinds),*], #gangs, #block))
        });
        quote!(::schism::__private::directives::sized(&#queue, #iterations, &[#(#sizes),*]))
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn no_word(word: Option<&Ident>, name: &str, known: &str) -> Error {
    let at = word.map_or_else(Span::call_site, Ident::span);
    Error::new(at, format!("there is no `{name}` here, but {known}"))
}

/// `num: 4, static: 2`, or values alone.
fn named(input: ParseStream<'_>) -> Result<Vec<(Option<Ident>, Expr)>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        let is_named =
            input.peek(Ident::peek_any) && input.peek2(Token![:]) && !input.peek2(Token![::]);
        let word = if is_named {
            let word = input.call(Ident::parse_any)?;
            input.parse::<Token![:]>()?;
            Some(word)
        } else {
            None
        };
        // `*` leaves the choice to the runtime.
        if input.peek(Token![*]) && (input.peek2(Token![,]) || input.peek2(syn::parse::End)) {
            input.parse::<Token![*]>()?;
        } else {
            all.push((word, input.parse()?));
        }
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

/// Sizes of tiles; `*` leaves one to the runtime.
fn tiles(input: ParseStream<'_>) -> Result<Vec<Option<Expr>>> {
    let size = |input: ParseStream<'_>| {
        if input.peek(Token![*]) {
            input.parse::<Token![*]>()?;
            return Ok(None);
        }
        input.parse().map(Some)
    };
    let all = Punctuated::<_, Token![,]>::parse_terminated_with(input, size)?;
    if !(1..=3).contains(&all.len()) {
        return Err(input.error("`tile` has a size for each of 1 to 3 loops"));
    }
    Ok(all.into_iter().collect())
}

fn kinds(input: ParseStream<'_>) -> Result<Vec<&'static str>> {
    if input.peek(Token![*]) {
        input.parse::<Token![*]>()?;
        return Ok(Vec::new());
    }
    let names = Punctuated::<Ident, Token![,]>::parse_terminated_with(input, Ident::parse_any)?;
    let mut all = Vec::new();
    for name in names {
        let text = name.to_string();
        let Some((_, kinds)) = KINDS.iter().find(|(known, _)| *known == text) else {
            let words: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
            return Err(crate::nearest::unknown(&name, &text, &words, "kind of device"));
        };
        all.extend_from_slice(kinds);
    }
    Ok(all)
}
