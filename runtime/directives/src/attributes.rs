//! The attributes of statements.

use syn::visit_mut::VisitMut;
use syn::{Attribute, Expr, Stmt};

use crate::clause::{self, Language};

/// The attributes of statements that directives may stand before.
pub(crate) fn attributes(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    macro_rules! of {
        ($($kind:ident)*) => {
            match expr {
                // They belong to what the statement begins with.
                Expr::Assign(inner) => attributes(&mut inner.left),
                Expr::Binary(inner) => attributes(&mut inner.left),
                Expr::Cast(inner) => attributes(&mut inner.expr),
                $(Expr::$kind(inner) => Some(&mut inner.attrs),)*
                _ => None,
            }
        };
    }
    of! {
        Array Async Await Block Break Call Closure Const Continue Field ForLoop If Index Lit Loop Macro Match
        MethodCall Paren Path Reference Repeat Return Struct Try TryBlock Tuple Unary Unsafe While Yield
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
