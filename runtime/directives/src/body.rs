//! The body of a loop: which arrays of outside it reads and writes, and where; what it takes by
//! value; and how it looks as a kernel.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use quote::{ToTokens, format_ident};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Error, Expr, Ident, Member, Pat, UnOp, parse_quote};

use crate::affine::{Factor, Index, Known, Polynomial, polynomial};
use crate::atomic::PREFIX;
use crate::names::{in_arguments, in_pattern, is_mutable, mentions, peeled, words};

/// What a name of inside stands for.
#[derive(Clone)]
enum Name {
    Counter(usize),
    Value(Polynomial, Expr),
    Local { mutable: bool },
}

/// An access to an element of an array of outside.
pub(crate) struct Access {
    pub(crate) array: String,
    /// The whole expression.
    pub(crate) span: Span,
    pub(crate) text: String,
    pub(crate) is_write: bool,
    /// Whether it is of a statement that is `atomic`.
    pub(crate) is_atomic: bool,
    /// `None` if the index is no such sum.
    pub(crate) index: Option<Index>,
}

/// What a body uses.
#[derive(Default)]
pub(crate) struct Uses {
    /// Arrays of outside by their text, in the order of the text.
    pub(crate) arrays: BTreeMap<String, Expr>,
    pub(crate) accesses: Vec<Access>,
    /// Variables of outside that are changed.
    pub(crate) assigned: Vec<Ident>,
    /// Variables of outside that are read, each once.
    pub(crate) scalars: BTreeMap<String, Ident>,
    /// Fields of variables of outside, which the kernel takes by value.
    pub(crate) fields: BTreeMap<String, Expr>,
    pub(crate) errors: Vec<Error>,
}

/// How accesses to an array look in the kernel.
pub(crate) enum Form {
    /// As they are.
    Same,
    /// Relative to the first element that the iteration owns in a lane: what the indices of each lane
    /// have besides multiples of what the loops count, and whether only iterations know the distance.
    /// What inner loops count may be planes of a pitch.
    Owned { lanes: Vec<(Polynomial, i128)>, is_within: bool, pitch: Option<Polynomial> },
    /// Anywhere: the texts of accesses, from a number on.
    Independent { first: usize, texts: Vec<String> },
}

/// The loops that become a launch.
pub(crate) struct Loops<'a> {
    /// Names that count, with the number of the loop.
    pub(crate) counters: Vec<(Ident, usize)>,
    /// Other names that the loops bind.
    pub(crate) bound: Vec<Ident>,
    /// Names that are each iteration's own: of reductions and `private`.
    pub(crate) own: Vec<Ident>,
    /// Arrays that a clause names.
    pub(crate) named: &'a BTreeSet<String>,
    /// The label of the innermost loop.
    pub(crate) label: Option<String>,
    /// Whether the body runs as it is, loops and all.
    pub(crate) is_whole: bool,
}

impl<'a> Loops<'a> {
    /// None of them: the body is one work-item's.
    pub(crate) fn whole(named: &'a BTreeSet<String>) -> Self {
        let (counters, bound, own) = (Vec::new(), Vec::new(), Vec::new());
        Self { counters, bound, own, named, label: None, is_whole: true }
    }
}

/// What `body` uses.
pub(crate) fn uses(body: &mut Block, loops: &Loops<'_>) -> Uses {
    let mut walk = Walk::new(loops, None);
    walk.visit_block_mut(body);
    walk.uses
}

/// Makes `body` the body of a kernel.
pub(crate) fn rewrite(body: &mut Block, loops: &Loops<'_>, forms: &BTreeMap<String, Form>) {
    Walk::new(loops, Some(forms)).visit_block_mut(body);
}

/// The name that a place of outside has in a kernel.
pub(crate) fn kernel_name(place: &Expr) -> Ident {
    if let Expr::Path(path) = place
        && let Some(ident) = path.path.get_ident()
        // A pattern with the name of a static or a constant does not bind it.
        && ident.to_string().contains(char::is_lowercase)
    {
        return ident.clone();
    }
    let text: String =
        place.to_token_stream().to_string().chars().filter(|c| !c.is_whitespace()).collect();
    let text: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    format_ident!("__{}", text, span = place.span().resolved_at(Span::mixed_site()))
}

/// The text that tells arrays apart.
pub(crate) fn key(place: &Expr) -> String {
    place.to_token_stream().to_string()
}

/// Methods of slices that read.
const OF_SLICES: &[&str] = words! {
    len iter is_empty get first last contains chunks windows binary_search as_slice chunks_exact
    to_vec concat
};

/// Whether a method changes its receiver.
pub(crate) fn changes(method: &str) -> bool {
    let names = ["swap", "fill", "sort", "copy_from_slice", "reverse", "rotate", "push", "insert"];
    method.ends_with("_mut") || names.iter().any(|name| method.starts_with(name))
}

struct Walk<'a> {
    names: Vec<BTreeMap<String, Name>>,
    loops: &'a Loops<'a>,
    /// In the second walk.
    forms: Option<&'a BTreeMap<String, Form>>,
    uses: Uses,
    /// Loops around, within the body, with their labels.
    inner_loops: Vec<Option<String>>,
    is_in_closure: bool,
    /// The next index expression is changed.
    is_written: bool,
    /// The next index expression is that of an atomic.
    is_atomic: bool,
}

impl<'a> Walk<'a> {
    fn new(loops: &'a Loops<'a>, forms: Option<&'a BTreeMap<String, Form>>) -> Self {
        let mut names = BTreeMap::new();
        for (name, number) in &loops.counters {
            names.insert(name.to_string(), Name::Counter(*number));
        }
        for name in &loops.bound {
            names.insert(name.to_string(), Name::Local { mutable: false });
        }
        for name in &loops.own {
            names.insert(name.to_string(), Name::Local { mutable: true });
        }
        Self {
            names: vec![names],
            loops,
            forms,
            uses: Uses::default(),
            inner_loops: Vec::new(),
            is_in_closure: false,
            is_written: false,
            is_atomic: false,
        }
    }

    fn find(&self, name: &str) -> Option<&Name> {
        self.names.iter().rev().find_map(|scope| scope.get(name))
    }

    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.names.push(BTreeMap::new());
        walk(self);
        self.names.pop();
    }

    fn bind(&mut self, name: String, meaning: Name) {
        // What was said in terms of the older name is not known any more.
        for scope in &mut self.names {
            for known in scope.values_mut() {
                if let Name::Value(_, expr) = known
                    && mentions(expr.to_token_stream(), &name)
                {
                    *known = Name::Local { mutable: false };
                }
            }
        }
        self.names.last_mut().expect("a scope").insert(name, meaning);
    }

    fn bind_pattern(&mut self, pattern: &Pat) {
        for name in in_pattern(pattern) {
            let mutable = is_mutable(pattern, &name);
            self.bind(name.to_string(), Name::Local { mutable });
        }
    }

    /// The root of a place of outside: a variable, or fields of one.
    fn outer_root<'e>(&self, place: &'e Expr) -> Option<&'e Ident> {
        match place {
            Expr::Path(path) => {
                let name = path.path.get_ident()?;
                self.find(&name.to_string()).is_none().then_some(name)
            }
            Expr::Field(field) => self.outer_root(peeled(&field.base)),
            _ => None,
        }
    }

    fn error(&mut self, span: impl Spanned, text: &str) {
        if self.forms.is_none() {
            self.uses.errors.push(Error::new(span.span(), text));
        }
    }

    /// Whether the loops do not change an expression, and it can be computed before they begin, even if
    /// they compute it in some iterations only.
    fn is_fixed(&self, expr: &Expr) -> bool {
        match peeled(expr) {
            Expr::Path(path) => {
                path.path.get_ident().is_none_or(|name| self.find(&name.to_string()).is_none())
            }
            place @ Expr::Field(_) => self.outer_root(place).is_some(),
            Expr::MethodCall(call) => {
                call.method == "len" && self.outer_root(peeled(&call.receiver)).is_some()
            }
            // Other operands could be 0, or too large.
            Expr::Binary(binary) => {
                let most = match binary.op {
                    BinOp::Div(_) | BinOp::Rem(_) => u64::MAX,
                    BinOp::Shr(_) => 7,
                    _ => 0,
                };
                let is_small = |lit: &syn::LitInt| {
                    lit.base10_parse().is_ok_and(|number| (1..=most).contains(&number))
                };
                let Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(lit), .. }) = peeled(&binary.right)
                else {
                    return false;
                };
                is_small(lit) && self.is_fixed(&binary.left)
            }
            _ => false,
        }
    }

    /// A place is changed.
    fn change(&mut self, place: &mut Expr) {
        match place {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|place| self.change(place)),
            Expr::Paren(inner) => self.change(&mut inner.expr),
            Expr::Index(index) if self.outer_root(peeled(&index.expr)).is_some() => {
                self.is_written = true;
                self.visit_expr_mut(place);
            }
            Expr::Index(index) => {
                self.change(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
            }
            Expr::Field(field) if self.outer_root(peeled(&field.base)).is_none() => {
                self.change(&mut field.base);
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                self.change(&mut unary.expr);
            }
            _ => {
                if let Some(root) = self.outer_root(place) {
                    let root = root.clone();
                    self.uses.assigned.push(root);
                }
                self.visit_expr_mut(place);
            }
        }
    }

    /// An element of an array of outside.
    fn element(&mut self, expr: &mut Expr) {
        let (span, text) = (expr.span(), expr.to_token_stream().to_string());
        let Expr::Index(access) = expr else { return };
        let is_write = std::mem::take(&mut self.is_written);
        let is_atomic = std::mem::take(&mut self.is_atomic);
        let place = peeled(&access.expr).clone();
        let array = key(&place);
        let index = polynomial(&access.index, &*self);
        let index = index.and_then(|all| all.by_counters(self.count()));
        let Some(forms) = self.forms else {
            self.uses.arrays.insert(array.clone(), place);
            self.uses.accesses.push(Access { array, span, text, is_write, is_atomic, index });
            self.visit_expr_mut(&mut access.index);
            return;
        };
        let name = kernel_name(&place);
        *access.expr = parse_quote!(#name);
        self.visit_expr_mut(&mut access.index);
        let (lanes, is_within, pitch, index) = match (forms.get(&array), index) {
            (Some(Form::Owned { lanes, is_within, pitch }), Some(index)) => {
                (lanes, is_within, pitch, index)
            }
            (Some(Form::Independent { first, texts }), _) => {
                let number = first + texts.iter().position(|own| *own == text).unwrap_or(0);
                let index = &access.index;
                *access.index =
                    parse_quote!(::schism::__private::directives::At::<#number>(#index));
                return;
            }
            _ => return,
        };
        let Some(lane) = lanes.iter().position(|(base, _)| base.equals(&index.base)) else {
            return;
        };
        let distance: Expr = if *is_within {
            let planes = index
                .inner
                .by_planes()
                .filter(|(own, ..)| pitch.as_ref().is_some_and(|pitch| pitch.equals(own)));
            let rest = planes.as_ref().map_or(&index.inner, |(_, _, rest)| rest);
            let tokens = rest.in_iteration(index.constant);
            let mut distance = parse_quote!(#tokens);
            self.visit_expr_mut(&mut distance);
            if let Some((_, mut number, _)) = planes {
                self.visit_expr_mut(&mut number);
                parse_quote! {
                    ::schism::__private::directives::InPlane::<#lane>((#number) as usize, #distance)
                }
            } else {
                parse_quote!(::schism::__private::directives::Within::<#lane>(#distance))
            }
        } else {
            let distance = usize::try_from(index.constant - lanes[lane].1).unwrap_or(usize::MAX);
            parse_quote!(::schism::__private::directives::Near::<#lane, #distance>)
        };
        // What the index is made of is used, and has the types that it has in the loop.
        let index = &access.index;
        *access.index = parse_quote!({ let _: usize = #index; #distance });
    }

    fn count(&self) -> usize {
        self.loops.counters.iter().map(|(_, number)| number + 1).max().unwrap_or(0)
    }

    /// The label of a jump, or the loop that it means: whether it leaves the body.
    fn leaves(&self, label: Option<&syn::Lifetime>) -> bool {
        match label {
            None => self.inner_loops.is_empty(),
            Some(label) => {
                let label = label.ident.to_string();
                !self.inner_loops.iter().any(|own| own.as_ref() == Some(&label))
            }
        }
    }

    fn in_loop(&mut self, label: Option<&syn::Label>, walk: impl FnOnce(&mut Self)) {
        self.inner_loops.push(label.map(|label| label.name.ident.to_string()));
        self.scoped(walk);
        self.inner_loops.pop();
    }

    /// Expressions that leave the body, or that a macro hides; `true` if nothing else is to be done.
    fn jump(&mut self, expr: &mut Expr) -> bool {
        if self.is_in_closure {
            return false;
        }
        let text = match expr {
            Expr::Continue(jump) if self.leaves(jump.label.as_ref()) => {
                let label = jump.label.as_ref().map(|label| label.ident.to_string());
                if self.loops.is_whole || (label.is_some() && label != self.loops.label) {
                    "this leaves the loop that becomes a kernel"
                } else {
                    if self.forms.is_some() {
                        *expr = parse_quote!(break '__iteration);
                    }
                    return true;
                }
            }
            Expr::Break(jump) if self.leaves(jump.label.as_ref()) => {
                "iterations run at the same time, so none can end the others: `break` is for inner loops; `seq` runs the loop in order"
            }
            Expr::Return(_) => "a kernel cannot return from the function around it",
            Expr::Try(_) => "a kernel cannot return from the function around it by `?`",
            _ => return false,
        };
        self.error(&*expr, text);
        true
    }
}

impl Known for Walk<'_> {
    fn polynomial(&self, expr: &Expr) -> Option<Polynomial> {
        if let Expr::Path(path) = expr
            && let Some(name) = path.path.get_ident()
        {
            return Some(match self.find(&name.to_string()) {
                Some(Name::Counter(number)) => Polynomial::of(Factor::Counter(*number)),
                Some(Name::Value(value, _)) => value.clone(),
                Some(Name::Local { .. }) => Polynomial::of(Factor::Inner(expr.clone())),
                None => Polynomial::of(Factor::Invariant(expr.clone())),
            });
        }
        // Of what a counter has no part in, the value is known.
        let tokens = || expr.to_token_stream();
        let depends = self.names.iter().flatten().any(|(name, known)| {
            matches!(known, Name::Counter(_) | Name::Value(..)) && mentions(tokens(), name)
        });
        if depends || matches!(expr, Expr::Range(_)) {
            return None;
        }
        let factor = if self.is_fixed(expr) { Factor::Invariant } else { Factor::Inner };
        Some(Polynomial::of(factor(expr.clone())))
    }
}

impl VisitMut for Walk<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.scoped(|walk| visit_mut::visit_block_mut(walk, block));
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let mut meaning = None;
        if let Some(init) = &mut local.init {
            let is_plain = matches!(&local.pat, Pat::Ident(name) if name.mutability.is_none() && name.by_ref.is_none());
            let value = polynomial(&init.expr, &*self);
            // In terms of names that stay what they are.
            let stays =
                |name: &str| !matches!(self.find(name), Some(Name::Local { mutable: true }));
            let names = self.names.iter().flat_map(BTreeMap::keys);
            let is_stable = names
                .into_iter()
                .all(|name| stays(name) || !mentions(init.expr.to_token_stream(), name));
            let is_sum = !mentions_index(&init.expr);
            if is_plain && is_stable && is_sum {
                meaning = value.map(|value| Name::Value(value, (*init.expr).clone()));
            }
            self.visit_expr_mut(&mut init.expr);
            if let Some((_, diverge)) = &mut init.diverge {
                self.visit_expr_mut(diverge);
            }
        }
        match (meaning, &local.pat) {
            (Some(meaning), Pat::Ident(name)) => {
                let name = name.ident.to_string();
                // First what it hides, then itself.
                self.bind(name.clone(), Name::Local { mutable: false });
                self.names.last_mut().expect("a scope").insert(name, meaning);
            }
            _ => self.bind_pattern(&local.pat),
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|walk| {
            walk.bind_pattern(&arm.pat);
            if let Some((_, guard)) = &mut arm.guard {
                walk.visit_expr_mut(guard);
            }
            walk.visit_expr_mut(&mut arm.body);
        });
    }

    fn visit_expr_let_mut(&mut self, binding: &mut syn::ExprLet) {
        self.visit_expr_mut(&mut binding.expr);
        self.bind_pattern(&binding.pat);
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
        self.in_loop(inner.label.as_ref(), |walk| {
            walk.visit_expr_mut(&mut inner.cond);
            walk.visit_block_mut(&mut inner.body);
        });
    }

    fn visit_expr_loop_mut(&mut self, inner: &mut syn::ExprLoop) {
        self.in_loop(inner.label.as_ref(), |walk| walk.visit_block_mut(&mut inner.body));
    }

    fn visit_expr_for_loop_mut(&mut self, inner: &mut syn::ExprForLoop) {
        inner.attrs.retain(|attribute| !crate::clause::is_directive(attribute));
        self.visit_expr_mut(&mut inner.expr);
        self.in_loop(inner.label.as_ref(), |walk| {
            walk.bind_pattern(&inner.pat);
            walk.visit_block_mut(&mut inner.body);
        });
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let before = std::mem::replace(&mut self.is_in_closure, true);
        self.scoped(|walk| {
            closure.inputs.iter().for_each(|pattern| walk.bind_pattern(pattern));
            walk.visit_expr_mut(&mut closure.body);
        });
        self.is_in_closure = before;
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        in_arguments(call, self);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if self.jump(expr) {
            return;
        }
        match expr {
            Expr::Assign(assign) => {
                self.visit_expr_mut(&mut assign.right);
                self.change(&mut assign.left);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                self.visit_expr_mut(&mut binary.right);
                self.change(&mut binary.left);
            }
            Expr::Reference(reference) if reference.mutability.is_some() => {
                self.change(&mut reference.expr);
            }
            Expr::Index(index) if self.outer_root(peeled(&index.expr)).is_some() => {
                self.element(expr);
            }
            Expr::MethodCall(call) if call.method.to_string().starts_with(PREFIX) => {
                call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
                self.is_atomic = true;
                self.is_written = call.method != "__atomic_read";
                self.visit_expr_mut(&mut call.receiver);
                self.is_atomic = false;
            }
            Expr::MethodCall(call) => {
                let method = call.method.to_string();
                let receiver = peeled(&call.receiver).clone();
                let is_array = self.outer_root(&receiver).is_some()
                    && (OF_SLICES.contains(&&*method)
                        || self.loops.named.contains(&key(&receiver)));
                if is_array && !matches!(&receiver, Expr::Path(path) if path.path.is_ident("self"))
                {
                    self.array(&receiver, &mut call.receiver);
                } else if changes(&method) {
                    self.change(&mut call.receiver);
                } else {
                    self.visit_expr_mut(&mut call.receiver);
                }
                call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            Expr::Field(field) if matches!(field.member, Member::Named(_) | Member::Unnamed(_)) => {
                if self.outer_root(expr).is_some() {
                    self.field(expr);
                } else {
                    visit_mut::visit_expr_mut(self, expr);
                }
            }
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().cloned() else { return };
                if self.find(&name.to_string()).is_some() {
                    return;
                }
                if self.loops.named.contains(&name.to_string()) {
                    self.uses.arrays.insert(name.to_string(), expr.clone());
                } else {
                    self.uses.scalars.insert(name.to_string(), name);
                }
            }
            Expr::Call(call) => {
                // The name of a function is no variable of outside.
                if !matches!(&*call.func, Expr::Path(_)) {
                    self.visit_expr_mut(&mut call.func);
                }
                call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            Expr::Struct(value) => {
                value.fields.iter_mut().for_each(|field| self.visit_expr_mut(&mut field.expr));
                if let Some(rest) = &mut value.rest {
                    self.visit_expr_mut(rest);
                }
            }
            _ => visit_mut::visit_expr_mut(self, expr),
        }
        self.is_written = false;
    }
}

impl Walk<'_> {
    /// All of an array.
    fn array(&mut self, place: &Expr, expr: &mut Expr) {
        if self.forms.is_some() {
            let name = kernel_name(place);
            *expr = parse_quote!(#name);
        } else {
            self.uses.arrays.insert(key(place), place.clone());
        }
    }

    /// A field of a variable of outside.
    fn field(&mut self, expr: &mut Expr) {
        let place = expr.clone();
        if self.loops.named.contains(&key(&place)) {
            return self.array(&place, expr);
        }
        if self.forms.is_some() {
            let name = kernel_name(&place);
            *expr = parse_quote!(#name);
        } else {
            self.uses.fields.insert(key(&place), place);
        }
    }
}

/// Whether an operator changes its left side.
pub(crate) fn is_assignment(op: &BinOp) -> bool {
    op.to_token_stream().to_string().ends_with('=')
        && !matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Le(_) | BinOp::Ge(_))
}

/// Whether an expression has an index in it, whose value may change.
fn mentions_index(expr: &Expr) -> bool {
    struct Find(bool);
    impl VisitMut for Find {
        fn visit_expr_index_mut(&mut self, _: &mut syn::ExprIndex) {
            self.0 = true;
        }
        fn visit_expr_call_mut(&mut self, _: &mut syn::ExprCall) {
            self.0 = true;
        }
        fn visit_macro_mut(&mut self, _: &mut syn::Macro) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    find.visit_expr_mut(&mut expr.clone());
    find.0
}
