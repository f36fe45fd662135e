//! The walk over a function: directives before statements are replaced by what they stand for.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Error, Expr, ExprForLoop, Item, Result, Stmt};

use crate::attributes::{attributes, of_statement, taken, without_directives};
use crate::clause::{self, Construct, Kind, Language};
use crate::iteration::own;
use crate::motion::Motion;
use crate::offload::Verb;
use crate::region::Array;
use crate::{access, atomic, launch, region, statement};

/// An item with its directives replaced. If it is an error, the item is there without them, so that
/// it is the only error.
pub(crate) fn expand(clauses: TokenStream, item: TokenStream, language: Language) -> TokenStream {
    let mut walk = Walk { kept: Vec::new(), regions: 0, is_async: false, errors: Vec::new() };
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
    /// What the regions around keep on the device, and whether the function may change it.
    kept: Vec<(String, bool)>,
    /// How many regions there have been.
    regions: usize,
    /// Whether the code is in an `async` function or block.
    is_async: bool,
    errors: Vec<Error>,
}

/// Takes a directive that a statement may have before it of any kind, or that lasts to the end of the
/// block.
fn taken_of_statement(statement: &mut Stmt) -> Option<Result<Construct>> {
    let attributes = of_statement(statement)?;
    let at = attributes.iter().position(clause::is_directive)?;
    let construct = clause::construct(&attributes[at], clause::language(&attributes[at])?);
    let is_taken = construct.as_ref().is_ok_and(|construct| {
        construct.kind.is_statement() || construct.kind.is_to_the_end_of_the_block()
    });
    is_taken.then(|| {
        attributes.remove(at);
        construct
    })
}

/// Whether a statement is `{}`.
fn is_empty(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(Expr::Block(inner), _) if inner.block.stmts.is_empty())
}

impl VisitMut for Walk {
    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        self.in_function(function.sig.asyncness.is_some(), |walk| {
            visit_mut::visit_item_fn_mut(walk, function);
        });
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.in_function(function.sig.asyncness.is_some(), |walk| {
            visit_mut::visit_impl_item_fn_mut(walk, function);
        });
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        self.in_function(function.sig.asyncness.is_some(), |walk| {
            visit_mut::visit_trait_item_fn_mut(walk, function);
        });
    }

    fn visit_expr_async_mut(&mut self, inner: &mut syn::ExprAsync) {
        self.in_function(true, |walk| visit_mut::visit_expr_async_mut(walk, inner));
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let is_async = closure.asyncness.is_some();
        self.in_function(is_async, |walk| visit_mut::visit_expr_closure_mut(walk, closure));
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let outer = self.kept.len();
        self.statements(&mut block.stmts);
        self.kept.truncate(outer);
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        while let Some((attribute, _)) = taken(&mut local.attrs) {
            let text = "a directive stands before a loop or a block";
            self.errors.push(Error::new_spanned(attribute, text));
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let Some((attribute, language)) = attributes(expr).and_then(taken) else {
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

impl Walk {
    /// Code that runs elsewhere than what is around it.
    fn in_function(&mut self, is_async: bool, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_async, is_async);
        walk(self);
        self.is_async = before;
    }

    /// The statements of a block. Some directives become statements beside them.
    fn statements(&mut self, statements: &mut Vec<Stmt>) {
        let mut rest = std::mem::take(statements).into_iter();
        while let Some(mut statement) = rest.next() {
            let Some(construct) = taken_of_statement(&mut statement) else {
                self.visit_stmt_mut(&mut statement);
                statements.push(statement);
                continue;
            };
            let lowered = construct.and_then(|construct| {
                if construct.kind.is_statement() {
                    return self.statement(&construct);
                }
                if !is_empty(&statement) {
                    let text = format!(
                        "`{}` lasts to the end of the block, so it stands before a block by itself: `{{}}`",
                        construct.kind.name()
                    );
                    return Err(Error::new_spanned(&statement, text));
                }
                // What comes after it is inside.
                let mut inside: Vec<Stmt> = rest.by_ref().collect();
                let begin = self.open(&construct, &mut inside)?;
                rest = inside.into_iter();
                Ok(begin)
            });
            match lowered {
                Ok(tokens) => statements.push(Stmt::Expr(Expr::Verbatim(tokens), None)),
                Err(error) => self.errors.push(error),
            }
            if !is_empty(&statement) {
                self.visit_stmt_mut(&mut statement);
                statements.push(statement);
            }
        }
    }

    fn statement(&self, construct: &Construct) -> Result<TokenStream> {
        region::statement(construct, &|name| self.is_mut(name))
    }

    /// Whether the code may change an array that a region keeps; `None` if no region is known that does.
    fn is_mut(&self, name: &str) -> Option<bool> {
        self.kept.iter().rev().find(|(kept, _)| kept == name).map(|(_, is_mut)| *is_mut)
    }

    /// Begins a region to the end of a block, of which these are the statements left.
    fn open(&mut self, construct: &Construct, inside: &mut [Stmt]) -> Result<TokenStream> {
        let mut arrays = self.arrays(construct)?;
        region::rename_fields(&arrays, |rename| {
            struct All<'a>(&'a mut dyn FnMut(&mut Expr));
            impl VisitMut for All<'_> {
                fn visit_expr_mut(&mut self, expr: &mut Expr) {
                    (self.0)(expr);
                }
            }
            let mut all = All(rename);
            inside.iter_mut().for_each(|statement| all.visit_stmt_mut(statement));
        });
        if construct.kind == Kind::EnterData {
            for array in &mut arrays {
                if array.motion == Motion::In && access::is_changed(inside, &array.name.to_string())
                {
                    array.motion = Motion::Both;
                }
            }
        }
        self.check_host(&arrays, inside);
        self.keep(&arrays);
        self.regions += 1;
        Ok(region::begin(construct, &arrays, self.regions))
    }

    fn arrays(&self, construct: &Construct) -> Result<Vec<Array>> {
        if self.is_async {
            let text = "a region cannot be in `async` code: a future that is not polled to its end would keep it open";
            return Err(Error::new(construct.span, text));
        }
        region::arrays(construct)
    }

    fn keep(&mut self, arrays: &[Array]) {
        self.kept.extend(arrays.iter().map(|array| (array.name.to_string(), array.is_mut())));
    }

    /// Refuses accesses of the host to arrays of a region that the device may have other values of.
    fn check_host(&mut self, arrays: &[Array], inside: &[Stmt]) {
        let is_new =
            |array: &&Array| array.is_mut() && self.is_mut(&array.name.to_string()).is_none();
        let names: Vec<String> =
            arrays.iter().filter(is_new).map(|array| array.name.to_string()).collect();
        let in_part: Vec<String> = arrays
            .iter()
            .filter(|array| array.is_part())
            .map(|array| array.name.to_string())
            .collect();
        self.errors.extend(access::check(inside, &names, &in_part));
    }

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
        match construct.kind {
            Kind::Data => return self.region(construct, expr),
            Kind::HostData => {
                let known = self.kept.clone();
                self.visit_expr_mut(expr);
                let is_mut = |name: &str| {
                    known.iter().rev().find(|(kept, _)| kept == name).map(|(_, is_mut)| *is_mut)
                };
                return region::with_addresses(construct, expr, &is_mut);
            }
            Kind::Routine => {
                return Err(Error::new(construct.span, "`routine` stands before a function"));
            }
            Kind::Parallel | Kind::Kernels | Kind::Serial => {}
            kind => {
                let text = format!("`{}` stands before a statement of a block", kind.name());
                return Err(Error::new(construct.span, text));
            }
        }
        let before = region::before(construct);
        let Some(condition) = &construct.condition else {
            let lowered = self.launches(construct, expr)?;
            return Ok(match before {
                None => lowered,
                Some(before) => quote!({ #before #lowered }),
            });
        };
        // Without regions the host runs the loop as it is. With one, it may have to fetch values.
        let is_on_device = own("is_on_device");
        let mut inside = construct.clone();
        inside.is_on_device = Some(is_on_device.clone());
        let lowered = self.launches(&inside, expr)?;
        Ok(quote! {{
            #before
            let #is_on_device: bool = #condition;
            if #is_on_device || ::schism::__private::directives::is_kept_elsewhere() {
                #lowered
            } else {
                #plain
            }
        }})
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
        let arrays = self.arrays(construct)?;
        region::rename_fields(&arrays, |rename| rename(expr));
        self.check_host(&arrays, &[Stmt::Expr(expr.clone(), None)]);
        let outer = self.kept.len();
        self.keep(&arrays);
        self.visit_expr_mut(expr);
        self.kept.truncate(outer);
        self.regions += 1;
        Ok(region::around(construct, &arrays, self.regions, expr))
    }

    fn launches(&mut self, construct: &Construct, expr: &mut Expr) -> Result<TokenStream> {
        atomic::replace(expr)?;
        match expr {
            Expr::ForLoop(inner) => launch::of_loop(construct, inner),
            Expr::Block(inner) if construct.kind == Kind::Serial => {
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
        let arrays = match construct.data[..] {
            [] => Vec::new(),
            // Those of an offload are around it already.
            _ if construct.offload.is_some() => Vec::new(),
            _ => self.arrays(construct)?,
        };
        region::rename_fields(&arrays, |rename| {
            let mut expr = Expr::Block(syn::parse_quote!(#block));
            rename(&mut expr);
            if let Expr::Block(renamed) = expr {
                *block = renamed.block;
            }
        });
        self.check_host(&arrays, &access::of_kernels(block));
        let outer = self.kept.len();
        self.keep(&arrays);
        let mut loops = 0;
        for mut statement in std::mem::take(&mut block.stmts) {
            if let Stmt::Expr(Expr::ForLoop(inner), _) = &mut statement {
                let lowered = self.inner_loop(construct, inner)?;
                block.stmts.push(Stmt::Expr(Expr::Verbatim(lowered), None));
                loops += 1;
            } else {
                let mut host = vec![statement];
                self.statements(&mut host);
                block.stmts.extend(host);
            }
        }
        self.kept.truncate(outer);
        if loops == 0 {
            return Err(Error::new_spanned(block, "there is no loop in this block to launch"));
        }
        if arrays.is_empty() {
            return Ok(block.to_token_stream());
        }
        self.regions += 1;
        let body = Expr::Verbatim(block.to_token_stream());
        let mut region = construct.clone();
        region.queues.clear();
        region.waits = false;
        region.condition =
            construct.is_on_device.as_ref().map(|is_on_device| syn::parse_quote!(#is_on_device));
        Ok(region::around(&region, &arrays, self.regions, &body))
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
