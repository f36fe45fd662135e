//! Names in patterns and in tokens.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{Expr, Ident, Pat, PatIdent, Token, UnOp};

/// A list of names.
macro_rules! words {
    ($($word:ident)*) => { &[$(stringify!($word)),*] };
}
pub(crate) use words;

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

/// Whether an expression can be computed twice: there is no call in it but of methods that only read.
pub(crate) fn is_pure(expr: &Expr) -> bool {
    struct Impure(bool);
    impl<'a> Visit<'a> for Impure {
        fn visit_expr_call(&mut self, _: &'a syn::ExprCall) {
            self.0 = true;
        }

        fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
            let names = ["len", "min", "max", "rev", "step_by", "saturating_sub", "div_ceil"];
            let of_slices = ["iter", "iter_mut", "chunks", "chunks_mut", "zip", "enumerate"];
            let is_known = |names: &[&str]| names.iter().any(|name| call.method == name);
            self.0 |= !is_known(&names) && !is_known(&of_slices);
            visit::visit_expr_method_call(self, call);
        }

        fn visit_expr_block(&mut self, _: &'a syn::ExprBlock) {
            self.0 = true;
        }

        fn visit_macro(&mut self, _: &'a syn::Macro) {
            self.0 = true;
        }
    }
    let mut impure = Impure(false);
    impure.visit_expr(expr);
    !impure.0
}

/// The place without what does not change it.
pub(crate) fn peeled(mut expr: &Expr) -> &Expr {
    loop {
        match expr {
            Expr::Paren(inner) => expr = &inner.expr,
            Expr::Group(inner) => expr = &inner.expr,
            Expr::Unary(inner) if matches!(inner.op, UnOp::Deref(_)) => expr = &inner.expr,
            _ => return expr,
        }
    }
}

/// Walks over the arguments of a macro that takes expressions.
pub(crate) fn in_arguments(call: &mut syn::Macro, walk: &mut impl VisitMut) {
    let parse = Punctuated::<Expr, Token![,]>::parse_terminated;
    if let Ok(mut arguments) = call.parse_body_with(parse) {
        arguments.iter_mut().for_each(|argument| walk.visit_expr_mut(argument));
        call.tokens = arguments.to_token_stream();
    }
}
