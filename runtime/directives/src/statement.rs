//! What a statement of offload becomes: `__private::directives::Offload` around its launches.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Result};

use crate::clause::Construct;
use crate::leaving::leaving;
use crate::motion::Motion;
use crate::offload::{Array, Clauses, Into, Target, Verb, section};

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
    if let Some(jump) = leaving(plain).filter(|_| matches!(plain, Expr::Block(_))) {
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
            Motion::Out => (true, "allocate", &mut outputs),
            Motion::Create if changes => (true, "keep", &mut outputs),
            Motion::Create => (false, "reuse", &mut outputs),
            Motion::Both if changes || clauses.verb == Verb::Transfer => {
                (true, "share", &mut inputs)
            }
            _ => (false, "send", &mut inputs),
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
