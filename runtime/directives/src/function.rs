//! The walk over a function: directives before statements are replaced by what they stand for.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Error, Expr, ExprForLoop, Item, Result, Stmt};

use crate::clause::{self, Construct, Kind, Language};
use crate::offload::Verb;
use crate::{atomic, launch, region, statement};

/// An item with its directives replaced. If it is an error, the item is there without them, so that
/// it is the only error.
pub(crate) fn expand(clauses: TokenStream, item: TokenStream, language: Language) -> TokenStream {
    let mut walk = Walk { resident: Vec::new(), errors: Vec::new() };
    if !clauses.is_empty() {
        let span = proc_macro2::Span::call_site();
        match clause::parse(clauses, span, language) {
            Ok(construct) if construct.kind == Kind::Routine => {}
            Ok(_) => walk.errors.push(Error::new(
                span,
                "a directive stands before a loop or a block, inside of a function that has `#[acc]` before it",
            )),
            Err(error) => walk.errors.push(error),
        }
    }
    let mut parsed: Item = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    walk.visit_item_mut(&mut parsed);
    let errors = walk.errors.iter().map(Error::to_compile_error);
    quote!(#(#errors)* #parsed)
}

struct Walk {
    /// What the regions around keep on the device.
    resident: Vec<String>,
    errors: Vec<Error>,
}

/// The attributes of statements that directives may stand before.
fn attributes(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
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
        _ => None,
    }
}

fn taken(attributes: &mut Vec<Attribute>) -> Option<(Attribute, Language)> {
    let at = attributes.iter().position(clause::is_directive)?;
    let attribute = attributes.remove(at);
    let language = clause::language(&attribute)?;
    Some((attribute, language))
}

impl VisitMut for Walk {
    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        while let Some((attribute, _)) = taken(&mut local.attrs) {
            let text = "a directive stands before a loop or a block";
            self.errors.push(Error::new_spanned(attribute, text));
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Some((attribute, language)) = attributes(expr).and_then(taken) else {
            if let Some((attribute, _)) = atomic::leftmost(expr).and_then(taken) {
                let text = "`atomic` stands before a statement of a loop that is a kernel, and other directives before a loop or a block";
                self.errors.push(Error::new_spanned(attribute, text));
            }
            return visit_mut::visit_expr_mut(self, expr);
        };
        let plain = expr.clone();
        let lowered = clause::construct(&attribute, language)
            .and_then(|construct| self.lower(&construct, expr, plain.clone()));
        match lowered {
            Ok(tokens) => *expr = Expr::Verbatim(tokens),
            Err(error) => {
                self.errors.push(error);
                *expr = plain;
                without_directives(expr);
            }
        }
    }
}

/// Takes the directives out of an expression.
fn without_directives(expr: &mut Expr) {
    struct Plain;
    impl VisitMut for Plain {
        fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
            attributes.retain(|attribute| !clause::is_directive(attribute));
        }
    }
    Plain.visit_expr_mut(expr);
}

impl Walk {
    fn lower(
        &mut self,
        construct: &Construct,
        expr: &mut Expr,
        mut plain: Expr,
    ) -> Result<TokenStream> {
        without_directives(&mut plain);
        if construct.offload.is_some() {
            return self.offload(construct, expr, &plain);
        }
        let lowered = match construct.kind {
            Kind::Data => self.region(construct, expr)?,
            Kind::Routine => {
                return Err(Error::new(construct.span, "`routine` stands before a function"));
            }
            _ => self.launches(construct, expr)?,
        };
        let Some(condition) = &construct.condition else { return Ok(lowered) };
        if !self.resident.is_empty() {
            let text = "inside of a region the host has no arrays to run this with: put `if` on the region";
            return Err(Error::new_spanned(condition, text));
        }
        Ok(quote!(if #condition { #lowered } else { #plain }))
    }

    fn offload(
        &mut self,
        construct: &Construct,
        expr: &mut Expr,
        plain: &Expr,
    ) -> Result<TokenStream> {
        let verb = construct.offload.as_ref().map(|clauses| clauses.verb).unwrap_or_default();
        let is_empty = matches!(plain, Expr::Block(own) if own.block.stmts.is_empty());
        let body = match verb {
            Verb::Offload => self.launches(construct, expr)?,
            _ if is_empty => TokenStream::new(),
            _ => {
                let text = "this has no statement: an empty block `{}` stands in its place";
                return Err(Error::new(construct.span, text));
            }
        };
        let written = launch::written(plain);
        statement::around(construct, &statement::Statement { body, plain, written })
    }

    fn region(&mut self, construct: &Construct, expr: &mut Expr) -> Result<TokenStream> {
        let arrays = region::arrays(construct, &self.resident)?;
        let outer = self.resident.len();
        self.resident.extend(arrays.iter().map(|(_, name)| name.to_string()));
        self.visit_expr_mut(expr);
        self.resident.truncate(outer);
        region::around(construct, &arrays, expr)
    }

    fn launches(&mut self, construct: &Construct, expr: &mut Expr) -> Result<TokenStream> {
        atomic::replace(expr)?;
        match expr {
            Expr::ForLoop(inner) => {
                region::check_present(construct, &self.resident)?;
                launch::of_loop(construct, inner)
            }
            Expr::Block(inner) if construct.kind == Kind::Serial => {
                region::check_present(construct, &self.resident)?;
                launch::of_block(construct, &inner.block)
            }
            Expr::Block(inner) => self.block(construct, &mut inner.block),
            other => Err(Error::new_spanned(
                other,
                "a directive that launches stands before a `for` loop or a block",
            )),
        }
    }

    /// A block whose loops are launches each, and whose other statements are the host's.
    fn block(&mut self, construct: &Construct, block: &mut Block) -> Result<TokenStream> {
        // Those of an offload are around it already.
        let arrays = match construct.offload {
            Some(_) => Vec::new(),
            None => region::arrays(construct, &self.resident)?,
        };
        let outer = self.resident.len();
        self.resident.extend(arrays.iter().map(|(_, name)| name.to_string()));
        let mut loops = 0;
        for statement in &mut block.stmts {
            if let Stmt::Expr(Expr::ForLoop(inner), _) = statement {
                let lowered = self.inner_loop(construct, inner)?;
                *statement = Stmt::Expr(Expr::Verbatim(lowered), None);
                loops += 1;
            } else {
                self.visit_stmt_mut(statement);
            }
        }
        self.resident.truncate(outer);
        if loops == 0 {
            return Err(Error::new_spanned(block, "there is no loop in this block to launch"));
        }
        if arrays.is_empty() {
            return Ok(block.to_token_stream());
        }
        let body = Expr::Verbatim(block.to_token_stream());
        region::around(construct, &arrays, &body)
    }

    /// A loop of such a block, which may have clauses for itself.
    fn inner_loop(&mut self, around: &Construct, inner: &mut ExprForLoop) -> Result<TokenStream> {
        let construct = match taken(&mut inner.attrs) {
            None => around.for_loop(),
            Some((attribute, _)) => clause::inner(&attribute, around)?,
        };
        launch::of_loop(&construct, inner)
    }
}
