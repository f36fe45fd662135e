//! Names in patterns and in tokens.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Ident, Pat, PatIdent};

struct Bound<'a>(Vec<&'a PatIdent>);

impl<'a> Visit<'a> for Bound<'a> {
    fn visit_pat_ident(&mut self, name: &'a PatIdent) {
        self.0.push(name);
        visit::visit_pat_ident(self, name);
    }
}

fn bound(pattern: &Pat) -> Vec<&PatIdent> {
    let mut bound = Bound(Vec::new());
    bound.visit_pat(pattern);
    bound.0
}

/// The names that a pattern binds.
pub(crate) fn in_pattern(pattern: &Pat) -> Vec<Ident> {
    bound(pattern).iter().map(|name| name.ident.clone()).collect()
}

/// Whether a pattern binds a name as a variable that may change.
pub(crate) fn is_mutable(pattern: &Pat, name: &Ident) -> bool {
    bound(pattern).iter().any(|own| own.ident == *name && own.mutability.is_some())
}

/// Whether a name is among tokens.
pub(crate) fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(own) => own == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}
