//! Iterator chains.

use super::generator::Generator;
use super::node::Node;
use super::types::{BOOL, Prim, Type, USIZE};

/// An iterator expression, and what it can do.
struct Chain {
    node: Node,
    /// Can be reversed; `Clone` besides.
    double_ended: bool,
}

impl Generator {
    /// A closure parameter's name, and the closure's body of type `result` that may use it.
    fn body(&mut self, ty: &Type, result: &Type, depth: u32) -> (String, Node) {
        let name = self.fresh("x");
        let body = self.inside(result, |this| {
            this.bind(&name, ty);
            this.expr(result, depth)
        });
        (name, body)
    }

    /// Something of type `ty` made by an iterator; none if no consumer gives such a thing.
    pub(crate) fn iterator_result(&mut self, ty: &Type, depth: u32) -> Option<Node> {
        if depth == 0 || !self.uses(16) {
            return None;
        }
        let depth = depth - 1;
        let name = self.name_of(ty);
        if *ty == BOOL {
            let item = self.random_type(1);
            let chain = self.chain(&item, depth, 2);
            if item.is_ord() && self.chance(25) {
                let other = self.chain(&item, 0, 1);
                let how = ["($.eq($))", "($.lt($))", "($.cmp($).is_ge())"][self.rng.usize(..3)];
                return Some(Node::expr(ty, how, [chain.node, other.node]));
            }
            let (x, body) = self.body(&item, &BOOL, depth);
            let method = ["any", "all"][self.rng.usize(..2)];
            let template = format!("($.{method}(|{x}| $))");
            return Some(Node::expr(ty, &template, [chain.node, body]));
        }
        if let Type::Option(inner) = ty {
            let chain = self.chain(inner, depth, 2);
            let template = match self.rng.u32(..6) {
                0 if inner.is_ord() => "($.min())",
                1 if inner.is_ord() => "($.max())",
                2 => "($.last())",
                3 => {
                    let at = self.expr(&USIZE, 0);
                    return Some(Node::expr(ty, "($.nth($ % 4))", [chain.node, at]));
                }
                4 => {
                    let key = self.random_integer();
                    let (x, body) = self.body(inner, &key, depth);
                    let method = ["min_by_key", "max_by_key"][self.rng.usize(..2)];
                    let template = format!("($.{method}(|&{x}| $))");
                    return Some(Node::expr(ty, &template, [chain.node, body]));
                }
                _ => {
                    let (x, body) = self.body(inner, &BOOL, depth);
                    let template = format!("($.find(|&{x}| $))");
                    return Some(Node::expr(ty, &template, [chain.node, body]));
                }
            };
            return Some(Node::expr(ty, template, [chain.node]));
        }
        let item = if self.chance(50) { self.random_integer() } else { self.random_type(1) };
        match (ty.prim(), self.rng.u32(..10)) {
            (Some(prim), 0..2) if prim.integer().is_some() => {
                let chain = self.chain(&item, depth, 3);
                let template = format!("($.count() as {name})");
                Some(Node::expr(ty, &template, [chain.node]))
            }
            (Some(prim), 2) if prim.integer().is_some() => {
                let chain = self.chain(&item, depth, 2);
                let (x, body) = self.body(&item, &BOOL, depth);
                let template = format!("($.position(|{x}| $).unwrap_or(99) as {name})");
                Some(Node::expr(ty, &template, [chain.node, body]))
            }
            (Some(prim), 3..5) if prim.integer().is_some() || ty.is_float() => {
                let method = ["sum", "product"][self.rng.usize(..2)];
                if ty.is_float() || self.risky() {
                    let chain = self.chain(ty, depth, 2);
                    return Some(Node::expr(
                        ty,
                        &format!("($.{method}::<{name}>())"),
                        [chain.node],
                    ));
                }
                let chain = self.chain(ty, depth, 2);
                let template = format!(
                    "($.map(std::num::Wrapping).{method}::<std::num::Wrapping<{name}>>().0)"
                );
                Some(Node::expr(ty, &template, [chain.node]))
            }
            (_, 5) => {
                let chain = self.chain(&item, depth, 2);
                let option = Type::Option(Box::new(ty.clone()));
                let (first, or) = (self.expr(ty, depth), self.expr(ty, 0));
                let (acc, x) = (self.fresh("a"), self.fresh("x"));
                let body = self.inside(&option, |this| {
                    this.bind(&acc, ty);
                    this.bind(&x, &item);
                    this.expr(&option, depth)
                });
                let template = format!("($.try_fold($, |{acc}, {x}| $).unwrap_or($))");
                Some(Node::expr(ty, &template, [chain.node, first, body, or]))
            }
            _ => {
                let chain = self.chain(&item, depth, 3);
                let first = self.expr(ty, depth);
                let (acc, x) = (self.fresh("a"), self.fresh("x"));
                let body = self.inside(ty, |this| {
                    this.bind(&acc, ty);
                    this.bind(&x, &item);
                    this.expr(ty, depth + 1)
                });
                let template = format!("($.fold($, |{acc}, {x}| $))");
                Some(Node::expr(ty, &template, [chain.node, first, body]))
            }
        }
    }

    /// An iterator over at most some dozens of items.
    pub(crate) fn iterator(&mut self, item: &Type, depth: u32) -> Node {
        self.chain(item, depth, 2).node
    }

    fn chain(&mut self, item: &Type, depth: u32, adaptors: u32) -> Chain {
        let mut chain = self.source(item, depth);
        for _ in 0..self.rng.u32(..=adaptors) {
            if self.budget <= 0 {
                break;
            }
            chain = self.adapt(chain, item, depth);
        }
        chain
    }

    /// Where items come from.
    fn source(&mut self, item: &Type, depth: u32) -> Chain {
        let name = self.name_of(item);
        let both = |node| Chain { node, double_ended: true };
        let one_way = |node| Chain { node, double_ended: false };
        // An array or slice in scope.
        for _ in 0..2 {
            let lens = [1, 2, 3, 4, 5, 6, 7, 8];
            let array = Type::Array(Box::new(item.clone()), lens[self.rng.usize(..8)]);
            if let Some(place) = self.place(&array, false) {
                let how = ["$.into_iter()", "$.iter().copied()"][self.rng.usize(..2)];
                return both(Node::group(how, [place]));
            }
        }
        let slices: Vec<String> = self
            .vars
            .iter()
            .filter(|var| var.ty == Type::Slice(Box::new(item.clone())) && !var.name.is_empty())
            .map(|var| var.name.clone())
            .collect();
        if !slices.is_empty() && self.chance(70) {
            let slice = &slices[self.rng.usize(..slices.len())];
            let (from, size) = (self.expr(&USIZE, 0), self.rng.usize(1..4));
            return match self.rng.u32(..5) {
                0 => both(Node::group(
                    &format!("{slice}.iter().skip($ % 16).take(9).copied()"),
                    [from],
                )),
                1 => both(Node::group(
                    &format!(
                        "{slice}[($ % {slice}.len().max(1)).min({slice}.len())..].iter().take(7).copied()"
                    ),
                    [from],
                )),
                2 => {
                    both(Node::group(&format!("{slice}.windows({size}).take(9).map(|w| w[0])"), []))
                }
                3 => both(Node::group(
                    &format!("{slice}.chunks({size}).take(9).map(|c| c[c.len() - 1])"),
                    [],
                )),
                _ => both(Node::group(&format!("{slice}.iter().copied().take(8)"), [])),
            };
        }
        match self.rng.u32(..10) {
            0..4 if item.integer().is_some() => {
                let (end, low) = (self.expr(item, depth), self.rng.u32(..4));
                if self.chance(20) {
                    return both(Node::group(&format!("({low}_{name}..=($ & 7))"), [end]));
                }
                both(Node::group(&format!("({low}_{name}..($ & 15))"), [end]))
            }
            4 => {
                let first = self.expr(item, depth);
                let option = Type::Option(Box::new(item.clone()));
                let (x, body) = self.body(item, &option, depth);
                let template = format!("std::iter::successors(Some($), |&{x}| $).take(6)");
                one_way(Node::group(&template, [first, body]))
            }
            5 => {
                let value = self.expr(item, depth);
                let count = self.rng.u32(1..5);
                both(Node::group(&format!("std::iter::repeat_n($, {count})"), [value]))
            }
            6 if depth > 0 => {
                let option = Type::Option(Box::new(item.clone()));
                let value = self.expr(&option, depth - 1);
                both(Node::group("$.into_iter()", [value]))
            }
            7 => {
                let value = self.expr(item, depth);
                one_way(Node::group("std::iter::repeat($).take(3)", [value]))
            }
            8 if depth > 0 => {
                let (x, body) = self.body(&USIZE, item, depth - 1);
                let count = self.rng.u32(1..7);
                both(Node::group(&format!("(0..{count}_usize).map(|{x}| $)"), [body]))
            }
            _ => {
                let count = self.rng.usize(1..4);
                let template = format!("[{}].into_iter()", vec!["$"; count].join(", "));
                let items: Vec<Node> = (0..count).map(|_| self.expr(item, depth.min(1))).collect();
                both(Node::group(&template, items))
            }
        }
    }

    fn adapt(&mut self, chain: Chain, item: &Type, depth: u32) -> Chain {
        let Chain { node, double_ended } = chain;
        let with = |node, double_ended| Chain { node, double_ended };
        match self.rng.u32(..15) {
            0 => {
                let (x, body) = self.body(item, item, depth);
                with(Node::group(&format!("$.map(|{x}| $)"), [node, body]), double_ended)
            }
            1 => {
                let (x, body) = self.body(item, &BOOL, depth);
                with(Node::group(&format!("$.filter(|&{x}| $)"), [node, body]), double_ended)
            }
            2 | 3 if double_ended => with(Node::group("$.rev()", [node]), true),
            4 => with(Node::group(&format!("$.skip({})", self.rng.u32(..3)), [node]), false),
            5 => with(Node::group(&format!("$.take({})", self.rng.u32(1..7)), [node]), false),
            6 => with(Node::group(&format!("$.step_by({})", self.rng.u32(1..4)), [node]), false),
            7 => {
                let other = self.source(item, 0);
                let both = double_ended && other.double_ended;
                with(Node::group("$.chain($)", [node, other.node]), both)
            }
            8 => {
                let (x, body) = self.body(item, &BOOL, depth);
                let method = ["take_while", "skip_while"][self.rng.usize(..2)];
                with(Node::group(&format!("$.{method}(|&{x}| $)"), [node, body]), false)
            }
            9 if depth > 0 => {
                let state = self.random_prim();
                let first = self.expr(&state, depth - 1);
                let (s, x) = (self.fresh("s"), self.fresh("x"));
                let (next, value) = self.closed(|this| {
                    this.bind(&format!("(*{s})"), &state);
                    this.bind(&x, item);
                    (this.expr(&state, depth - 1), this.expr(item, depth - 1))
                });
                let template = format!("$.scan($, |{s}, {x}| {{ *{s} = $; Some($) }})");
                with(Node::group(&template, [node, first, next, value]), false)
            }
            10 if depth > 0 => {
                let x = self.fresh("x");
                let inner = self.closed(|this| {
                    this.bind(&x, item);
                    this.source(item, depth - 1).node
                });
                let template = format!("$.take(4).flat_map(move |{x}| $.take(4))");
                // Borrows of what the closure does not own would not live long enough.
                if inner.render().contains(".iter()") || inner.render().contains('|') {
                    return with(node, double_ended);
                }
                with(Node::group(&template, [node, inner]), false)
            }
            11 => {
                let other = self.random_prim();
                let zipped = self.source(&other, 0);
                let (x, y) = (self.fresh("x"), self.fresh("y"));
                let body = self.inside(item, |this| {
                    this.bind(&x, item);
                    this.bind(&y, &other);
                    this.expr(item, depth)
                });
                let template = format!("$.zip($).map(|({x}, {y})| $)");
                with(Node::group(&template, [node, zipped.node, body]), false)
            }
            12 => {
                let (i, x) = (self.fresh("i"), self.fresh("x"));
                let body = self.inside(item, |this| {
                    this.bind(&i, &USIZE);
                    this.bind(&x, item);
                    this.expr(item, depth)
                });
                let template = format!("$.enumerate().map(|({i}, {x})| $)");
                with(Node::group(&template, [node, body]), false)
            }
            13 => {
                let option = Type::Option(Box::new(item.clone()));
                let (x, body) = self.body(item, &option, depth);
                let method = ["filter_map", "map_while"][self.rng.usize(..2)];
                with(Node::group(&format!("$.{method}(|{x}| $)"), [node, body]), false)
            }
            14 if item.prim().is_some_and(|prim| prim != Prim::Char) => {
                with(Node::group("$.peekable().fuse()", [node]), false)
            }
            _ => with(node, double_ended),
        }
    }
}
