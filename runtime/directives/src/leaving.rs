//! Jumps out of a statement.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{
    Expr, ExprBreak, ExprClosure, ExprContinue, ExprForLoop, ExprLoop, ExprReturn, ExprTry,
    ExprWhile, Item, Label, Lifetime,
};

/// Where control leaves an expression: by `return`, by `?`, or by a jump to a loop around it.
pub(crate) fn leaving(expr: &Expr) -> Option<Span> {
    let mut find = Leaving { loops: Vec::new(), found: None };
    find.visit_expr(expr);
    find.found
}

struct Leaving {
    /// Labels of the loops inside.
    loops: Vec<Option<String>>,
    found: Option<Span>,
}

impl Leaving {
    fn jump(&mut self, label: Option<&Lifetime>, at: Span) {
        let is_inside = match label {
            None => !self.loops.is_empty(),
            Some(label) => {
                let label = label.ident.to_string();
                self.loops.iter().any(|own| own.as_ref() == Some(&label))
            }
        };
        if !is_inside {
            self.found.get_or_insert(at);
        }
    }

    fn in_loop(&mut self, label: Option<&Label>, walk: impl FnOnce(&mut Self)) {
        self.loops.push(label.map(|label| label.name.ident.to_string()));
        walk(self);
        self.loops.pop();
    }
}

impl<'a> Visit<'a> for Leaving {
    fn visit_item(&mut self, _: &'a Item) {}

    fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}

    fn visit_expr_return(&mut self, jump: &'a ExprReturn) {
        self.found.get_or_insert(jump.return_token.span);
    }

    fn visit_expr_try(&mut self, jump: &'a ExprTry) {
        self.found.get_or_insert(jump.question_token.span);
    }

    fn visit_expr_break(&mut self, jump: &'a ExprBreak) {
        self.jump(jump.label.as_ref(), jump.break_token.span);
        visit::visit_expr_break(self, jump);
    }

    fn visit_expr_continue(&mut self, jump: &'a ExprContinue) {
        self.jump(jump.label.as_ref(), jump.continue_token.span);
    }

    fn visit_expr_for_loop(&mut self, inner: &'a ExprForLoop) {
        self.in_loop(inner.label.as_ref(), |walk| visit::visit_expr_for_loop(walk, inner));
    }

    fn visit_expr_while(&mut self, inner: &'a ExprWhile) {
        self.in_loop(inner.label.as_ref(), |walk| visit::visit_expr_while(walk, inner));
    }

    fn visit_expr_loop(&mut self, inner: &'a ExprLoop) {
        self.in_loop(inner.label.as_ref(), |walk| visit::visit_expr_loop(walk, inner));
    }
}
