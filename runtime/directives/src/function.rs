//! The walk over a function: directives before statements are replaced by what they stand for.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Error, Expr, ExprForLoop, Item, Pat, Result, Stmt, parse_quote};

use crate::attributes::{attributes, of_statement, taken, without_directives};
use crate::clause::{self, Construct, Kind, Language};
use crate::iteration::{lints_of_types, own};
use crate::motion::Motion;
use crate::names::in_pattern;
use crate::offload::Verb;
use crate::region::Array;
use crate::{access, atomic, launch, region, statement};

/// An item with its directives replaced. If it is an error, the item is there without them, so that
/// it is the only error.
pub(crate) fn expand(clauses: TokenStream, item: TokenStream, language: Language) -> TokenStream {
    let mut walk = Walk {
        kept: Vec::new(),
        regions: 0,
        is_async: false,
        lasts_to_the_end: false,
        binds: false,
        errors: Vec::new(),
    };
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
    /// What the regions around keep on the device, and whether the function may change it; `None` of a
    /// variable that has the name since.
    kept: Vec<(String, Option<bool>)>,
    /// How many regions there have been.
    regions: usize,
    /// Whether the code is in an `async` function or block.
    is_async: bool,
    /// Whether a region lasts to the end of a block of the function.
    lasts_to_the_end: bool,
    /// Whether a directive of the function binds names.
    binds: bool,
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

fn is_mut(kept: &[(String, Option<bool>)], name: &str) -> Option<bool> {
    kept.iter().rev().find(|(kept, _)| kept == name).and_then(|(_, is_mut)| *is_mut)
}

macro_rules! functions {
    ($($visit:ident $function:ident;)*) => {$(
        fn $visit(&mut self, function: &mut syn::$function) {
            // A function inside of another does not see its variables.
            let around = std::mem::take(&mut self.kept);
            self.in_function(function.sig.asyncness.is_some(), |walk| {
                visit_mut::$visit(walk, function);
            });
            self.allow(&mut function.attrs);
            self.kept = around;
        }
    )*};
}

impl VisitMut for Walk {
    functions! {
        visit_item_fn_mut ItemFn;
        visit_impl_item_fn_mut ImplItemFn;
        visit_trait_item_fn_mut TraitItemFn;
    }

    fn visit_expr_async_mut(&mut self, inner: &mut syn::ExprAsync) {
        self.in_function(true, |walk| visit_mut::visit_expr_async_mut(walk, inner));
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let is_async = closure.asyncness.is_some();
        self.scoped(|walk| {
            closure.inputs.iter().for_each(|pattern| walk.bind(pattern));
            walk.in_function(is_async, |walk| visit_mut::visit_expr_closure_mut(walk, closure));
        });
    }

    fn visit_expr_for_loop_mut(&mut self, inner: &mut ExprForLoop) {
        self.visit_expr_mut(&mut inner.expr);
        self.scoped(|walk| {
            walk.bind(&inner.pat);
            walk.visit_block_mut(&mut inner.body);
        });
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|walk| {
            walk.bind(&arm.pat);
            visit_mut::visit_arm_mut(walk, arm);
        });
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.scoped(|walk| {
            walk.visit_expr_mut(&mut branch.cond);
            walk.visit_block_mut(&mut branch.then_branch);
        });
        if let Some((_, other)) = &mut branch.else_branch {
            self.visit_expr_mut(other);
        }
    }

    fn visit_expr_while_mut(&mut self, inner: &mut syn::ExprWhile) {
        self.scoped(|walk| visit_mut::visit_expr_while_mut(walk, inner));
    }

    fn visit_expr_let_mut(&mut self, binding: &mut syn::ExprLet) {
        self.visit_expr_mut(&mut binding.expr);
        self.bind(&binding.pat);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.scoped(|walk| walk.statements(&mut block.stmts));
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        while let Some((attribute, _)) = taken(&mut local.attrs) {
            let text = "a directive stands before a loop or a block";
            self.errors.push(Error::new_spanned(attribute, text));
        }
        visit_mut::visit_local_mut(self, local);
        self.bind(&local.pat);
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
    /// What is bound inside is bound there alone.
    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = self.kept.len();
        walk(self);
        self.kept.truncate(outer);
    }

    /// Variables of a pattern are not what regions keep, if they have its names.
    fn bind(&mut self, pattern: &Pat) {
        for name in in_pattern(pattern).iter().map(ToString::to_string) {
            if self.kept.iter().any(|(kept, _)| *kept == name) {
                self.kept.push((name, None));
            }
        }
    }

    /// Allows what a region to the end of a block makes lints find after it: there is no expression around
    /// that, which could allow it.
    fn allow(&mut self, attributes: &mut Vec<Attribute>) {
        let lints = lints_of_types();
        if std::mem::take(&mut self.lasts_to_the_end) {
            attributes.push(parse_quote!(#[allow(#lints)]));
        }
        if std::mem::take(&mut self.binds) {
            // Arrays have their names again inside.
            attributes.push(parse_quote!(#[allow(clippy::many_single_char_names)]));
        }
    }

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
                    return region::statement(&construct, &|name| self.is_mut(name));
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

    /// Whether the code may change an array that a region keeps; `None` if no region is known that does.
    fn is_mut(&self, name: &str) -> Option<bool> {
        is_mut(&self.kept, name)
    }

    /// Begins a region to the end of a block, of which these are the statements left.
    fn open(&mut self, construct: &Construct, inside: &mut [Stmt]) -> Result<TokenStream> {
        let mut arrays = self.arrays(construct)?;
        region::rename_fields(&arrays, |rename| {
            inside.iter_mut().for_each(|statement| rename.visit_stmt_mut(statement));
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
        (self.lasts_to_the_end, self.binds) = (true, true);
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
        self.kept.extend(arrays.iter().map(|array| (array.name.to_string(), Some(array.is_mut()))));
    }

    /// Refuses accesses of the host to arrays of a region that the device may have other values of.
    fn check_host(&mut self, arrays: &[Array], inside: &[Stmt]) {
        let name = |array: &Array| array.name.to_string();
        let is_new = |array: &&Array| array.is_mut() && self.is_mut(&name(array)).is_none();
        let names: Vec<String> = arrays.iter().filter(is_new).map(name).collect();
        let in_part: Vec<String> =
            arrays.iter().filter(|array| array.is_part()).map(name).collect();
        self.errors.extend(access::check(inside, &names, &in_part));
    }

    fn lower(
        &mut self,
        construct: &Construct,
        expr: &mut Expr,
        mut plain: Expr,
    ) -> Result<TokenStream> {
        self.binds = true;
        without_directives(&mut plain);
        if construct.offload.is_some() {
            return self.offload(construct, expr, &plain);
        }
        match construct.kind {
            Kind::Data => return self.region(construct, expr),
            Kind::HostData => {
                let known = self.kept.clone();
                self.visit_expr_mut(expr);
                return region::with_addresses(construct, expr, &|name| is_mut(&known, name));
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
        region::rename_fields(&arrays, |rename| rename.visit_expr_mut(expr));
        self.check_host(&arrays, &[Stmt::Expr(expr.clone(), None)]);
        self.scoped(|walk| {
            walk.keep(&arrays);
            walk.visit_expr_mut(expr);
        });
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
        region::rename_fields(&arrays, |rename| rename.visit_block_mut(block));
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
