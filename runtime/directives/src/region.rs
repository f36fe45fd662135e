//! A region in which arrays stay on the device: `Queue::resident`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, Ident, Result};

use crate::clause::Construct;
use crate::motion::Motion;
use crate::names;

/// What a clause says is on the device must be there.
pub(crate) fn check_present(construct: &Construct, resident: &[String]) -> Result<()> {
    let present = construct.data.iter().filter(|(motion, _)| *motion == Motion::Present);
    for (_, place) in present {
        let name = place.to_token_stream().to_string();
        if !resident.contains(&name) {
            let text = format!("no region around this keeps `{name}` on the device");
            return Err(Error::new_spanned(place, text));
        }
    }
    Ok(())
}

/// The arrays of a region by their names. Those of a region around it are there already.
pub(crate) fn arrays<'a>(
    construct: &'a Construct,
    resident: &[String],
) -> Result<Vec<(Motion, &'a Ident)>> {
    check_present(construct, resident)?;
    let mut arrays = Vec::new();
    for (motion, place) in &construct.data {
        let name = match place {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let Some(name) = name else {
            let text = "a region keeps variables: bind the field to one before";
            return Err(Error::new_spanned(place, text));
        };
        if !resident.contains(&name.to_string()) {
            arrays.push((*motion, name));
        }
    }
    Ok(arrays)
}

/// A region around what is lowered already.
pub(crate) fn around(
    construct: &Construct,
    arrays: &[(Motion, &Ident)],
    body: &Expr,
) -> Result<TokenStream> {
    if let Some(jump) = names::leaving(body) {
        let text = "this leaves the region, which ends at its last statement: use a variable, and leave after the region";
        return Err(Error::new(jump, text));
    }
    if arrays.is_empty() {
        return Ok(quote!({ #body }));
    }
    let (mut kept, mut names) = (Vec::new(), Vec::new());
    for (motion, name) in arrays {
        let at = name.span();
        kept.push(match motion {
            Motion::In | Motion::Present => quote_spanned!(at=> &(#name).__elements()),
            _ => quote_spanned!(at=> &mut (#name).__elements_mut()),
        });
        names.push(match motion {
            Motion::In | Motion::Present => quote!(#name),
            _ => quote!(mut #name),
        });
    }
    let (kept, names) = (crate::launch::pairs(kept), crate::launch::pairs(names));
    let done = quote_spanned!(construct.span.resolved_at(Span::call_site())=> ::schism::__private::directives::ended(__outcome));
    Ok(quote! {{
        #[allow(unused_imports)]
        use ::schism::__private::directives::{Elements as _, ElementsMut as _};
        let __queue = ::schism::__private::directives::queue();
        // What loops only read need not be `mut`.
        #[allow(unused_mut)]
        let __outcome = __queue.resident(#kept, |#names| {
            { #body };
            ::core::result::Result::Ok(())
        });
        #done
    }})
}
