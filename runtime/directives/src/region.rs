//! Regions in which arrays stay on the device: guards in variables that no other code can name, and the
//! array's name for what the guard gives.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Expr, ExprRange, Ident, Result};

use crate::body::{kernel_name, key};
use crate::clause::{Construct, Kind, array_and_part};
use crate::iteration::{lints_of_types, own};
use crate::motion::Motion;
use crate::names::in_arguments;

/// An array of a region.
pub(crate) struct Array {
    pub(crate) motion: Motion,
    place: Expr,
    part: Option<ExprRange>,
    /// What the block calls it.
    pub(crate) name: Ident,
}

impl Array {
    /// Whether the block may change it.
    pub(crate) const fn is_mut(&self) -> bool {
        !matches!(self.motion, Motion::In)
    }

    /// Whether it is not all of the array.
    pub(crate) const fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Whether a guard keeps it, and the block has what that gives.
    const fn is_kept(&self) -> bool {
        matches!(self.motion, Motion::Both | Motion::In | Motion::Out | Motion::Create)
    }
}

/// The arrays that the clauses of a construct name.
pub(crate) fn arrays(construct: &Construct) -> Result<Vec<Array>> {
    let mut arrays: Vec<Array> = Vec::new();
    for (motion, written) in &construct.data {
        let (place, part) = array_and_part(written);
        let name = kernel_name(place);
        let is_twice = arrays.iter().any(|other| other.name == name);
        if is_twice && matches!(construct.kind, Kind::Data | Kind::Declare | Kind::EnterData) {
            let text = format!("a clause names `{}` already", key(place).replace(' ', ""));
            return Err(Error::new_spanned(written, text));
        }
        let (place, part) = (place.clone(), part.cloned());
        arrays.push(Array { motion: *motion, place, part, name });
    }
    Ok(arrays)
}

/// Gives the fields that a region keeps the names that the guards' values have.
pub(crate) fn rename_fields(arrays: &[Array], rename: impl FnOnce(&mut dyn VisitMut)) {
    struct Rename<'a>(&'a [Array]);
    impl VisitMut for Rename<'_> {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            let is_field = matches!(expr, Expr::Field(_));
            match self.0.iter().find(|array| is_field && key(&array.place) == key(expr)) {
                Some(array) => {
                    let name = &array.name;
                    *expr = syn::parse_quote!(#name);
                }
                None => visit_mut::visit_expr_mut(self, expr),
            }
        }

        fn visit_attribute_mut(&mut self, attribute: &mut syn::Attribute) {
            if !crate::clause::is_directive(attribute) {
                return;
            }
            if let syn::Meta::List(list) = &mut attribute.meta {
                list.tokens = renamed(list.tokens.clone(), self.0);
            }
        }

        fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
            in_arguments(call, self);
        }
    }
    let fields =
        arrays.iter().any(|array| array.is_kept() && matches!(array.place, Expr::Field(_)));
    if fields {
        rename(&mut Rename(arrays));
    }
}

/// The clauses of directives inside, with the names of fields.
fn renamed(tokens: TokenStream, arrays: &[Array]) -> TokenStream {
    use proc_macro2::{Group, TokenTree};
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut to = TokenStream::new();
    let mut at = 0;
    while at < all.len() {
        let field = arrays.iter().find_map(|array| {
            let Expr::Field(_) = array.place else { return None };
            let own: Vec<String> =
                array.place.to_token_stream().into_iter().map(|token| token.to_string()).collect();
            let found = all.get(at..at + own.len())?.iter().map(ToString::to_string);
            // `a.b.c` is no `b.c`.
            let is_begin = at == 0 || all[at - 1].to_string() != ".";
            (is_begin && found.eq(own.iter().cloned())).then_some((&array.name, own.len()))
        });
        match (field, &all[at]) {
            (Some((name, length)), _) => {
                to.extend(quote!(#name));
                at += length;
                continue;
            }
            (None, TokenTree::Group(group)) => {
                let mut inside = Group::new(group.delimiter(), renamed(group.stream(), arrays));
                inside.set_span(group.span());
                to.extend([TokenTree::Group(inside)]);
            }
            (None, other) => to.extend([other.clone()]),
        }
        at += 1;
    }
    to
}

/// What is done first: numbers of queues are computed, and launches waited for. `None` if nothing is.
pub(crate) fn before(construct: &Construct) -> Option<TokenStream> {
    if construct.queues.is_empty() && !construct.waits {
        return None;
    }
    let queues = construct
        .queues
        .iter()
        .map(|number| quote_spanned!(number.span()=> let _: i64 = (#number) as i64;));
    let waits = construct.waits.then(
        || quote_spanned!(construct.span=> ::schism::__private::directives::acc::wait_all();),
    );
    Some(quote! {
        #[allow(trivial_numeric_casts, clippy::cast_lossless, clippy::unnecessary_cast)]
        { #(#queues)* #waits }
    })
}

/// `present(place)`
pub(crate) fn check_present(place: &Expr) -> TokenStream {
    quote_spanned! {place.span()=>
        ::schism::__private::directives::check_present((#place).__array());
    }
}

/// The statements that begin a region. Variables have the number in their names.
pub(crate) fn begin(construct: &Construct, arrays: &[Array], number: usize) -> TokenStream {
    let before = before(construct);
    let own = |what: &str| own(&format!("{what}_{number}"));
    let (queue, condition) = (own("queue"), own("is_kept"));
    let is_kept = construct.condition.as_ref().map_or_else(|| quote!(true), |is| quote!(#is));
    let is_dynamic = construct.kind == Kind::EnterData;
    let mut all = quote! {
        #[allow(unused_imports)]
        use ::schism::__private::directives::{Elements as _, ElementsMut as _};
        #before
        let #queue = ::schism::__private::directives::queue();
        let #condition: bool = #is_kept;
    };
    let mut inside = TokenStream::new();
    for (position, array) in arrays.iter().enumerate() {
        let (place, name, at) = (&array.place, &array.name, array.place.span());
        let kept = format_ident!("__region_{number}_{position}", span = queue.span());
        let part = match &array.part {
            None => quote!(::core::option::Option::None),
            Some(range) => {
                let begin = range.start.as_ref().map_or_else(|| quote!(0), |begin| quote!(#begin));
                let end = range
                    .end
                    .as_ref()
                    .map_or_else(|| quote!((#place).__elements().__count()), |end| quote!(#end));
                quote!(::core::option::Option::Some(#begin..#end))
            }
        };
        let clause = quote! {
            ::schism::__private::directives::MapClause {
                is_kept: #condition,
                part: #part,
                is_dynamic: #is_dynamic,
            }
        };
        let array_of = format_ident!("__array_{number}_{position}", span = queue.span());
        let clause_of = format_ident!("__clause_{number}_{position}", span = queue.span());
        if !array.is_kept() {
            all.extend(match array.motion {
                Motion::Present => {
                    let check = check_present(place);
                    quote!(if #condition { #check })
                }
                _ => quote_spanned!(at=> let _ = &#place;),
            });
            continue;
        }
        let (ty, borrowed, mutable) = if array.is_mut() {
            (quote!(Region), quote_spanned!(at=> (#place).__array_mut()), Some(quote!(mut)))
        } else {
            (quote!(SharedRegion), quote_spanned!(at=> (#place).__array()), None)
        };
        let new = quote_spanned!(construct.span=> new);
        all.extend(quote! {
            let #clause_of = {
                #[allow(unused_imports)]
                use ::schism::__private::directives::Part as _;
                #clause
            };
            let #array_of = #borrowed;
            // No code can name the variable, so it is not forgotten.
            let #mutable #kept =
                ::schism::__private::directives::#ty::#new(&#queue, #array_of, #clause_of);
        });
        inside.extend(quote! {
            #[allow(unused_variables, unused_mut)]
            let #mutable #name = #kept.inside();
        });
    }
    quote!(#all #inside)
}

/// A region around what is lowered already.
pub(crate) fn around(
    construct: &Construct,
    arrays: &[Array],
    number: usize,
    body: &Expr,
) -> TokenStream {
    let begin = begin(construct, arrays, number);
    let (value, lints) = (own("value"), lints_of_types());
    match body {
        Expr::ForLoop(_) | Expr::While(_) => quote!({ #begin #[allow(#lints)] { #body } }),
        _ => quote! {{
            #begin
            #[allow(unreachable_code, clippy::let_unit_value, #lints)]
            {
                let #value = #body;
                #value
            }
        }},
    }
}

/// What a directive does that is a statement by itself.
pub(crate) fn statement(
    construct: &Construct,
    known: &dyn Fn(&str) -> Option<bool>,
) -> Result<TokenStream> {
    let if_present = construct.if_present;
    let mut all = TokenStream::new();
    for array in arrays(construct)? {
        let (place, at) = (&array.place, array.place.span());
        let place = match &array.part {
            None => quote!((#place)),
            Some(part) => quote!((#place)[#part]),
        };
        // Of what is only read, the host has what the device has.
        if known(&array.name.to_string()) == Some(false) {
            all.extend(quote_spanned!(at=> let _ = &#place;));
            continue;
        }
        let (call, flag) = match array.motion {
            Motion::ToHost => ("update_self", if_present),
            Motion::ToDevice => ("update_device", if_present),
            _ => ("exit", construct.is_final),
        };
        let call = Ident::new(call, at);
        all.extend(quote_spanned! {at=>
            ::schism::__private::directives::#call(#place.__array_mut(), #flag);
        });
    }
    let device = construct.device.as_ref();
    let number = device.map(|number| quote!((#number) as usize));
    all.extend(match (construct.kind, number) {
        (Kind::Init, None) => quote_spanned! {construct.span=>
            ::schism::__private::directives::chosen(::schism::__private::directives::acc::init());
        },
        (Kind::Init | Kind::Set, Some(number)) => quote_spanned! {device.span()=>
            ::schism::__private::directives::chosen(
                ::schism::__private::directives::acc::set_device(#number),
            );
        },
        (Kind::Wait, _) => quote!(::schism::__private::directives::acc::wait_all();),
        (Kind::Shutdown, _) => quote!(::schism::__private::directives::acc::shutdown();),
        (Kind::Set, None) => {
            return Err(Error::new(construct.span, "`set` needs `device_num(n)`"));
        }
        _ => TokenStream::new(),
    });
    let before = before(construct);
    let all = match &construct.condition {
        None => all,
        Some(condition) => quote!(if #condition { #all }),
    };
    Ok(quote! {
        #before
        #[allow(unused_imports, clippy::cast_lossless, clippy::unnecessary_cast)]
        {
            use ::schism::__private::directives::{Elements as _, ElementsMut as _};
            #all
        }
    })
}

/// A block that has addresses in the place of arrays.
pub(crate) fn with_addresses(
    construct: &Construct,
    body: &Expr,
    known: &dyn Fn(&str) -> Option<bool>,
) -> Result<TokenStream> {
    let condition = construct.condition.as_ref().map_or_else(|| quote!(true), |is| quote!(#is));
    let is_used = own("is_used");
    let mut addresses = TokenStream::new();
    for array in arrays(construct)? {
        let (place, name, at) = (&array.place, &array.name, array.place.span());
        if known(&name.to_string()) == Some(false) {
            let text = "its address is one to write to: the region that keeps it says `copy`";
            return Err(Error::new_spanned(place, text));
        }
        let if_present = construct.if_present;
        addresses.extend(quote_spanned! {at=>
            let #name = ::schism::__private::directives::device_ptr_mut(
                (#place).__array_mut(), #is_used, #if_present,
            );
        });
    }
    Ok(quote! {{
        #[allow(unused_imports)]
        use ::schism::__private::directives::{Elements as _, ElementsMut as _};
        let #is_used: bool = #condition;
        #addresses
        #body
    }})
}
