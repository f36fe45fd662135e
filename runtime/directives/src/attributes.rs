//! The attributes of statements.

use syn::visit_mut::VisitMut;
use syn::{Attribute, Expr, Stmt};

use crate::clause::{self, Language};

/// The attributes of statements that directives may stand before.
pub(crate) fn attributes(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    match expr {
        Expr::ForLoop(inner) => Some(&mut inner.attrs),
        Expr::While(inner) => Some(&mut inner.attrs),
        Expr::Loop(inner) => Some(&mut inner.attrs),
        Expr::Block(inner) => Some(&mut inner.attrs),
        Expr::If(inner) => Some(&mut inner.attrs),
        Expr::Match(inner) => Some(&mut inner.attrs),
        Expr::MethodCall(inner) => Some(&mut inner.attrs),
        Expr::Call(inner) => Some(&mut inner.attrs),
        Expr::Assign(inner) => Some(&mut inner.attrs),
        Expr::Binary(inner) => Some(&mut inner.attrs),
        Expr::Macro(inner) => Some(&mut inner.attrs),
        Expr::Unsafe(inner) => Some(&mut inner.attrs),
        Expr::Return(inner) => Some(&mut inner.attrs),
        Expr::Try(inner) => Some(&mut inner.attrs),
        Expr::Await(inner) => Some(&mut inner.attrs),
        _ => None,
    }
}

/// Those of a statement.
pub(crate) fn of_statement(statement: &mut Stmt) -> Option<&mut Vec<Attribute>> {
    match statement {
        Stmt::Local(local) => Some(&mut local.attrs),
        Stmt::Macro(call) => Some(&mut call.attrs),
        Stmt::Expr(expr, _) => attributes(expr),
        Stmt::Item(_) => None,
    }
}

/// Takes the first directive out of attributes.
pub(crate) fn taken(attributes: &mut Vec<Attribute>) -> Option<(Attribute, Language)> {
    let at = attributes.iter().position(clause::is_directive)?;
    let attribute = attributes.remove(at);
    let language = clause::language(&attribute)?;
    Some((attribute, language))
}

/// Takes the directives out of an expression.
pub(crate) fn without_directives(expr: &mut Expr) {
    struct Plain;
    impl VisitMut for Plain {
        fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
            attributes.retain(|attribute| !clause::is_directive(attribute));
        }
    }
    Plain.visit_expr_mut(expr);
}
