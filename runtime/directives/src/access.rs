//! Accesses of the host to arrays that a region keeps on a device. The host has the values from before the
//! region until an `update`, so an access without one is an error: the program would compute something
//! else with the directives than without them.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Error, Expr, Pat, Stmt, Token, parse_quote};

use crate::body::{changes, is_assignment};
use crate::clause::{self, Construct, Kind, array_and_part};
use crate::motion::Motion;
use crate::names::{in_pattern, mentions, peeled, words};

/// Methods that give parts, or say nothing of the elements.
const OF_PARTS: &[&str] = words! {
    len is_empty as_ptr as_mut_ptr as_slice as_mut_slice as_ref as_mut split_at split_at_mut
    chunks_mut chunks_exact_mut
};

/// The errors of statements in a region that keeps these arrays, some of them in part.
pub(crate) fn check(statements: &[Stmt], arrays: &[String], in_part: &[String]) -> Vec<Error> {
    if arrays.is_empty() && in_part.is_empty() {
        return Vec::new();
    }
    let mut walk = Walk {
        names: vec![arrays.iter().map(|name| (name.clone(), Some(name.clone()))).collect()],
        in_part,
        state: State::default(),
        writes: Vec::new(),
        errors: Vec::new(),
        is_silent: false,
    };
    statements.iter().for_each(|statement| walk.visit_stmt(statement));
    let sorry = walk.writes.iter().map(|write| {
        let array = &write.array;
        let text = format!(
            "the device does not get this value of `{array}`, which the region keeps there: after it write `#[acc(update, device({array}))] {{}}`"
        );
        Error::new(write.span, text)
    });
    walk.errors.extend(sorry);
    walk.errors
}

/// The statements of a block whose loops are launches, with a directive before each of these.
pub(crate) fn of_kernels(block: &Block) -> Vec<Stmt> {
    let mut statements = block.stmts.clone();
    for statement in &mut statements {
        if let Stmt::Expr(Expr::ForLoop(inner), _) = statement
            && !inner.attrs.iter().any(clause::is_directive)
        {
            inner.attrs.push(parse_quote!(#[acc(kernels)]));
        }
    }
    statements
}

/// A change by the host that no `update` has followed.
struct Write {
    array: String,
    span: Span,
    /// Whether the host had the device's values.
    was_current: bool,
}

/// One of several ways through the code.
type Way<'w, 'a> = Box<dyn FnOnce(&mut Walk<'a>) + 'w>;

/// What is so wherever control comes from.
#[derive(Clone, Default)]
struct State {
    /// Arrays of which the host has the device's values.
    current: BTreeSet<String>,
    /// Arrays that have left the device.
    ended: BTreeSet<String>,
}

impl State {
    /// What is so in both.
    fn join(&mut self, other: &Self) {
        self.current.retain(|array| other.current.contains(array));
        self.ended.retain(|array| other.ended.contains(array));
    }
}

struct Walk<'a> {
    /// Which names stand for which arrays, or for none of these.
    names: Vec<BTreeMap<String, Option<String>>>,
    /// Arrays of which a part is kept.
    in_part: &'a [String],
    state: State,
    writes: Vec<Write>,
    errors: Vec<Error>,
    /// In the first of two walks over a loop.
    is_silent: bool,
}

impl<'a> Walk<'a> {
    /// The array that a name stands for.
    fn array(&self, expr: &Expr) -> Option<String> {
        let Expr::Path(path) = peeled(expr) else { return None };
        let name = path.path.get_ident()?.to_string();
        let array = self.names.iter().rev().find_map(|scope| scope.get(&name))?.clone()?;
        (!self.state.ended.contains(&array)).then_some(array)
    }

    /// The array that an expression is all of or a part of, without reading elements.
    fn part_of(&self, expr: &Expr) -> Option<String> {
        match peeled(expr) {
            Expr::Reference(reference) => self.part_of(&reference.expr),
            Expr::Index(part) if matches!(peeled(&part.index), Expr::Range(_)) => {
                self.part_of(&part.expr)
            }
            Expr::MethodCall(call) if OF_PARTS.contains(&&*call.method.to_string()) => {
                self.part_of(&call.receiver)
            }
            other => self.array(other),
        }
    }

    /// What such an expression computes besides.
    fn visit_part(&mut self, expr: &Expr) {
        match peeled(expr) {
            Expr::Reference(reference) => self.visit_part(&reference.expr),
            Expr::Index(part) => {
                self.visit_part(&part.expr);
                self.visit_expr(&part.index);
            }
            Expr::MethodCall(call) => {
                self.visit_part(&call.receiver);
                call.args.iter().for_each(|argument| self.visit_expr(argument));
            }
            _ => {}
        }
    }

    fn read(&mut self, array: &str, span: Span) {
        if self.is_silent || self.state.current.contains(array) {
            return;
        }
        let text = format!(
            "the host may have older values of `{array}` than the device, where the region keeps it: before this write `#[acc(update, self({array}))] {{}}`"
        );
        self.errors.push(Error::new(span, text));
    }

    fn write(&mut self, array: &str, span: Span) {
        if !self.is_silent {
            let was_current = self.state.current.contains(array);
            self.writes.push(Write { array: array.to_owned(), span, was_current });
        }
    }

    /// The device may change an array.
    fn changes_there(&mut self, array: &str) {
        self.state.current.remove(array);
    }

    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.names.push(BTreeMap::new());
        walk(self);
        self.names.pop();
    }

    fn bind(&mut self, pattern: &Pat, array: Option<&String>) {
        let scope = self.names.last_mut().expect("a scope");
        for name in in_pattern(pattern) {
            scope.insert(name.to_string(), array.cloned());
        }
    }

    /// What runs any number of times: what is current when it begins was so each time.
    fn repeated(&mut self, mut walk: impl FnMut(&mut Self)) {
        let (before, silent) = (self.state.clone(), self.is_silent);
        self.is_silent = true;
        walk(self);
        self.is_silent = silent;
        self.state.join(&before);
        walk(self);
        self.state.join(&before);
    }

    /// One of several ways.
    fn branches(&mut self, ways: Vec<Way<'_, 'a>>) {
        let before = self.state.clone();
        let mut after: Option<State> = None;
        for way in ways {
            self.state.clone_from(&before);
            way(self);
            match &mut after {
                None => after = Some(self.state.clone()),
                Some(after) => after.join(&self.state),
            }
        }
        self.state = after.unwrap_or(before);
    }

    /// A place is changed.
    fn changed(&mut self, place: &Expr, reads: bool) {
        match peeled(place) {
            Expr::Index(index) => match self.part_of(&index.expr) {
                Some(array) => {
                    if reads {
                        self.read(&array, place.span());
                    }
                    self.write(&array, place.span());
                    self.visit_part(&index.expr);
                    self.visit_expr(&index.index);
                }
                None => {
                    self.changed(&index.expr, reads);
                    self.visit_expr(&index.index);
                }
            },
            Expr::Field(field) => self.changed(&field.base, reads),
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|place| self.changed(place, reads)),
            other => match self.array(other) {
                Some(array) => self.write(&array, place.span()),
                None => self.visit_expr(other),
            },
        }
    }

    /// An argument, or the value of a variable: parts of arrays are passed on.
    fn passed(&mut self, expr: &Expr) -> Option<String> {
        let Some(array) = self.part_of(expr) else {
            match expr {
                Expr::Tuple(all) => all.elems.iter().for_each(|part| drop(self.passed(part))),
                other => self.visit_expr(other),
            }
            return None;
        };
        self.visit_part(expr);
        Some(array)
    }

    fn argument(&mut self, expr: &Expr) {
        let is_shared =
            matches!(peeled(expr), Expr::Reference(inner) if inner.mutability.is_none());
        if let Some(array) = self.passed(expr)
            && !is_shared
        {
            self.changes_there(&array);
        }
    }

    /// What a directive makes of its statement; `false` if the statement is the host's nevertheless.
    fn directive(&mut self, construct: &Construct, inside: Option<&Expr>) -> bool {
        let named = |walk: &Self, place: &Expr| walk.array(array_and_part(place).0);
        match construct.kind {
            Kind::Update => {
                for (motion, place) in &construct.data {
                    let Some(array) = named(self, place) else { continue };
                    if *motion == Motion::ToHost {
                        self.state.current.insert(array);
                    } else {
                        self.sent(&array, array_and_part(place).1.is_none());
                    }
                }
                false
            }
            Kind::ExitData => {
                for (_, place) in &construct.data {
                    self.state.ended.extend(named(self, place));
                }
                false
            }
            Kind::HostData => {
                let places = construct.data.iter().map(|(_, place)| array_and_part(place).0);
                let arrays: Vec<String> = places.filter_map(|place| self.array(place)).collect();
                arrays.iter().for_each(|array| self.changes_there(array));
                self.scoped(|walk| {
                    let scope = walk.names.last_mut().expect("a scope");
                    scope.extend(arrays.into_iter().map(|array| (array, None)));
                    if let Some(expr) = inside {
                        visit_plain(walk, expr);
                    }
                });
                true
            }
            Kind::Kernels if matches!(inside, Some(Expr::Block(_))) => {
                if let Some(Expr::Block(inner)) = inside {
                    let statements = of_kernels(&inner.block);
                    self.scoped(|walk| statements.iter().for_each(|own| walk.visit_stmt(own)));
                }
                true
            }
            Kind::Parallel | Kind::Kernels | Kind::Serial => {
                let Some(expr) = inside else { return true };
                self.check_parts(expr);
                let names = self.names.iter().flatten();
                let arrays: Vec<String> = names
                    .filter(|(name, _)| changes_array(expr, name))
                    .filter_map(|(_, array)| array.clone())
                    .collect();
                arrays.iter().for_each(|array| self.changes_there(array));
                true
            }
            _ => false,
        }
    }

    /// Refuses loops over all of an array of which a part is kept.
    fn check_parts(&mut self, expr: &Expr) {
        struct Find<'a> {
            names: &'a [String],
            found: Vec<(String, Span)>,
        }
        impl<'ast> Visit<'ast> for Find<'_> {
            fn visit_expr_index(&mut self, access: &'ast syn::ExprIndex) {
                if let Expr::Path(path) = peeled(&access.expr)
                    && let Some(name) = path.path.get_ident().map(ToString::to_string)
                    && self.names.contains(&name)
                    && !matches!(&*access.index, Expr::Range(_))
                {
                    self.found.push((name, access.span()));
                }
                visit::visit_expr_index(self, access);
            }
        }
        let mut find = Find { names: self.in_part, found: Vec::new() };
        find.visit_expr(expr);
        if self.is_silent {
            return;
        }
        for (name, span) in find.found {
            let text = format!(
                "a loop with this is given all of `{name}`, and the region keeps a part: bind the part before the region, `let part = &mut {name}[begin..end];`, and keep that"
            );
            self.errors.push(Error::new(span, text));
        }
    }

    /// The device gets the host's values.
    fn sent(&mut self, array: &str, is_whole: bool) {
        if self.is_silent {
            return;
        }
        for write in self.writes.extract_if(.., |write| write.array == array) {
            if is_whole && !write.was_current {
                let text = format!(
                    "`update device({array})` would also send the older values that the host has of the other elements: name the part that changes, or write `#[acc(update, self({array}))] {{}}` before this"
                );
                self.errors.push(Error::new(write.span, text));
            }
        }
    }

    /// The directive among attributes.
    fn construct(attributes: &[Attribute]) -> Option<Construct> {
        let attribute = attributes.iter().find(|attribute| clause::is_directive(attribute))?;
        clause::construct(attribute, clause::language(attribute)?).ok()
    }
}

/// An expression whose own directive has been seen.
fn visit_plain(walk: &mut Walk<'_>, expr: &Expr) {
    let mut expr = expr.clone();
    if let Some(attributes) = crate::attributes::attributes(&mut expr) {
        attributes.retain(|attribute| !clause::is_directive(attribute));
    }
    walk.visit_expr(&expr);
}

/// Whether the loops of an expression may change an array of this name.
fn changes_array(expr: &Expr, name: &str) -> bool {
    let mut find = FindChange { name, found: false };
    find.visit_expr(expr);
    find.found
}

/// Whether statements, or what directives among them bring from the device, may change an array.
pub(crate) fn is_changed(statements: &[Stmt], name: &str) -> bool {
    let mut find = FindChange { name, found: false };
    statements.iter().for_each(|statement| find.visit_stmt(statement));
    find.found
}

struct FindChange<'a> {
    name: &'a str,
    found: bool,
}

impl FindChange<'_> {
    fn place(&mut self, place: &impl ToTokens) {
        self.found |= mentions(place.to_token_stream(), self.name);
    }
}

impl<'ast> Visit<'ast> for FindChange<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let construct = clause::language(attribute)
            .and_then(|language| clause::construct(attribute, language).ok());
        for (motion, place) in construct.iter().flat_map(|construct| &construct.data) {
            if matches!(motion, Motion::Both | Motion::Out | Motion::ToHost | Motion::ToDevice) {
                self.place(place);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Assign(assign) => self.place(&assign.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.place(&binary.left),
            Expr::Reference(reference) if reference.mutability.is_some() => {
                self.place(&reference.expr);
            }
            Expr::MethodCall(call) if changes(&call.method.to_string()) => {
                self.place(&call.receiver);
            }
            Expr::Macro(call) => self.found |= mentions(call.mac.tokens.clone(), self.name),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_block(&mut self, block: &'ast Block) {
        self.scoped(|walk| visit::visit_block(walk, block));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(construct) = Self::construct(&local.attrs) {
            self.directive(&construct, None);
        }
        let mut array = None;
        if let Some(init) = &local.init {
            array = self.passed(&init.expr).filter(|_| {
                // The length is no part.
                !matches!(peeled(&init.expr), Expr::MethodCall(call) if call.method == "len" || call.method == "is_empty")
            });
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.bind(&local.pat, array.as_ref());
    }

    fn visit_stmt_macro(&mut self, call: &'ast syn::StmtMacro) {
        if let Some(construct) = Self::construct(&call.attrs) {
            self.directive(&construct, None);
        }
        self.visit_macro(&call.mac);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.scoped(|walk| {
            walk.bind(&arm.pat, None);
            if let Some((_, guard)) = &arm.guard {
                walk.visit_expr(guard);
            }
            walk.visit_expr(&arm.body);
        });
    }

    fn visit_expr_let(&mut self, binding: &'ast syn::ExprLet) {
        let array = self.passed(&binding.expr);
        self.bind(&binding.pat, array.as_ref());
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.scoped(|walk| {
            closure.inputs.iter().for_each(|pattern| walk.bind(pattern, None));
            walk.repeated(|walk| walk.visit_expr(&closure.body));
        });
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        self.visit_expr(&choice.expr);
        let arms = choice.arms.iter();
        self.branches(
            arms.map(|arm| -> Way<'_, '_> { Box::new(|walk| walk.visit_arm(arm)) }).collect(),
        );
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.scoped(|walk| {
            walk.visit_expr(&branch.cond);
            walk.branches(vec![
                Box::new(|walk: &mut Self| walk.visit_block(&branch.then_branch)),
                Box::new(|walk: &mut Self| {
                    if let Some((_, other)) = &branch.else_branch {
                        walk.visit_expr(other);
                    }
                }),
            ]);
        });
    }

    fn visit_expr_while(&mut self, inner: &'ast syn::ExprWhile) {
        self.scoped(|walk| {
            walk.repeated(|walk| {
                walk.visit_expr(&inner.cond);
                walk.visit_block(&inner.body);
            });
        });
    }

    fn visit_expr_loop(&mut self, inner: &'ast syn::ExprLoop) {
        self.repeated(|walk| walk.visit_block(&inner.body));
    }

    fn visit_expr_for_loop(&mut self, inner: &'ast syn::ExprForLoop) {
        // Parts that a loop goes through are passed on to its body.
        let is_parts = matches!(peeled(&inner.expr), Expr::MethodCall(call) if OF_PARTS.contains(&&*call.method.to_string()));
        let array = if is_parts {
            self.passed(&inner.expr)
        } else {
            match self.part_of(&inner.expr) {
                Some(array) => {
                    let span = inner.expr.span();
                    self.read(&array, span);
                    if matches!(peeled(&inner.expr), Expr::Reference(own) if own.mutability.is_some())
                    {
                        self.write(&array, span);
                    }
                }
                None => self.visit_expr(&inner.expr),
            }
            None
        };
        self.scoped(|walk| {
            walk.bind(&inner.pat, array.as_ref());
            walk.repeated(|walk| walk.visit_block(&inner.body));
        });
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let parse = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(parse) {
            for argument in &arguments {
                let is_length = matches!(peeled(argument), Expr::MethodCall(call) if call.method == "len" || call.method == "is_empty");
                match self.part_of(argument).filter(|_| !is_length) {
                    Some(array) => {
                        self.read(&array, argument.span());
                        self.visit_part(argument);
                    }
                    None => self.visit_expr(argument),
                }
                self.visit_format(argument);
            }
            return;
        }
        let names: Vec<(String, String)> = self
            .names
            .iter()
            .flatten()
            .filter_map(|(name, array)| Some((name.clone(), array.clone()?)))
            .collect();
        for (name, array) in names {
            if mentions(call.tokens.clone(), &name) && !self.state.ended.contains(&array) {
                self.read(&array, call.path.span());
            }
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let mut own = expr.clone();
        let construct =
            crate::attributes::attributes(&mut own).and_then(|all| Self::construct(all));
        if let Some(construct) = construct
            && self.directive(&construct, Some(expr))
        {
            return;
        }
        match expr {
            Expr::Assign(assign) => {
                self.visit_expr(&assign.right);
                self.changed(&assign.left, false);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                self.visit_expr(&binary.right);
                self.changed(&binary.left, true);
            }
            Expr::Reference(reference) if reference.mutability.is_some() => {
                match self.part_of(&reference.expr) {
                    Some(array) => {
                        self.visit_part(&reference.expr);
                        self.changes_there(&array);
                    }
                    None => self.changed(&reference.expr, true),
                }
            }
            Expr::Call(call) => {
                if !matches!(&*call.func, Expr::Path(_)) {
                    self.visit_expr(&call.func);
                }
                call.args.iter().for_each(|argument| self.argument(argument));
            }
            Expr::MethodCall(call) => {
                let method = call.method.to_string();
                match self.part_of(&call.receiver) {
                    Some(_) if OF_PARTS.contains(&&*method) => self.visit_part(&call.receiver),
                    Some(array) => {
                        self.visit_part(&call.receiver);
                        let is_fill = method == "fill" || method == "copy_from_slice";
                        if !is_fill {
                            self.read(&array, call.span());
                        }
                        if changes(&method) {
                            self.write(&array, call.span());
                        }
                    }
                    None => self.visit_expr(&call.receiver),
                }
                call.args.iter().for_each(|argument| self.argument(argument));
            }
            Expr::Index(index) => match self.part_of(&index.expr) {
                Some(array) => {
                    self.visit_part(&index.expr);
                    self.visit_expr(&index.index);
                    self.read(&array, expr.span());
                }
                None => visit::visit_expr(self, expr),
            },
            // The address of an element says nothing of it.
            Expr::RawAddr(address) => match peeled(&address.expr) {
                Expr::Index(index) if self.part_of(&index.expr).is_some() => {
                    self.visit_part(&index.expr);
                    self.visit_expr(&index.index);
                }
                other => self.visit_expr(other),
            },
            Expr::Struct(value) => {
                value.fields.iter().for_each(|field| drop(self.passed(&field.expr)));
                if let Some(rest) = &value.rest {
                    self.visit_expr(rest);
                }
            }
            Expr::Tuple(_) => drop(self.passed(expr)),
            Expr::Reference(reference) => {
                if self.passed(&reference.expr).is_none() {
                    // What is inside has been visited.
                }
            }
            other => match self.array(other) {
                Some(array) => self.read(&array, other.span()),
                None => visit::visit_expr(self, expr),
            },
        }
    }
}

impl Walk<'_> {
    /// Names in the text of a format.
    fn visit_format(&mut self, argument: &Expr) {
        let Expr::Lit(literal) = argument else { return };
        let syn::Lit::Str(text) = &literal.lit else { return };
        let value = text.value();
        for piece in value.split('{').skip(1) {
            let name: String =
                piece.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Ok(name) = syn::parse_str::<Expr>(&name) else { continue };
            if let Some(array) = self.array(&name) {
                self.read(&array, text.span());
            }
        }
    }
}
