//! Statements, and the expressions that contain them.

use super::generator::{Generator, Loop, Var};
use super::node::Node;
use super::types::{AdtKind, BOOL, Prim, Type, U32, USIZE};

impl Generator {
    /// Some statements.
    pub(crate) fn statements(&mut self, count: u32, depth: u32) -> Node {
        let mut nodes = Vec::new();
        for _ in 0..count {
            if self.budget <= 0 {
                break;
            }
            nodes.push(self.statement(depth));
        }
        Node::Group(nodes)
    }

    /// A block's inside: statements, then a value.
    pub(crate) fn body_of(&mut self, ty: &Type, count: u32, depth: u32) -> Node {
        self.scoped(|this| {
            let statements = this.statements(count, depth);
            let value = this.expr(ty, depth);
            Node::Group(vec![statements, value])
        })
    }

    fn statement(&mut self, depth: u32) -> Node {
        self.budget -= 1;
        let deep = depth > 0;
        if self.memory && self.chance(45) {
            return self.store(depth);
        }
        match self.rng.u32(..42) {
            0..9 => self.let_statement(depth),
            9..17 => self.assignment(depth),
            17..20 if deep => {
                let condition = self.expr(&BOOL, depth - 1);
                let yes = self.nested(2, depth - 1);
                if self.chance(50) {
                    return Node::part("if $ {\n$}\n", [condition, yes]);
                }
                let no = self.nested(2, depth - 1);
                Node::part("if $ {\n$} else {\n$}\n", [condition, yes, no])
            }
            20..23 if deep && self.loops.len() < 2 => self.for_loop(depth - 1),
            23..25 if deep && self.loops.len() < 2 => self.while_loop(depth - 1),
            25..27 if deep => self.match_statement(depth - 1),
            27 | 28 => self.jump(depth),
            29 | 30 if self.uses(20) => self.array_statement(depth),
            31 if self.uses(21) => self.swap_statement(),
            32 if self.uses(22) => self.guard(depth),
            33 if self.uses(23) => self.cell(depth),
            34 if self.risk > 0 => self.assertion(depth),
            35 if self.uses(24) => self.let_else(depth),
            36 if self.uses(25) && deep => self.mutable_closure(depth - 1),
            37 if self.uses(26) => self.atomic(depth),
            38 if self.uses(27) => self.destructuring(depth),
            39 if self.uses(28) && deep => self.checked_loop(),
            40 if self.uses(28) && deep => self.gathering_loop(),
            _ => self.let_statement(depth),
        }
    }

    fn nested(&mut self, count: u32, depth: u32) -> Node {
        let count = self.rng.u32(1..=count);
        self.scoped(|this| this.statements(count, depth))
    }

    fn let_statement(&mut self, depth: u32) -> Node {
        let ty = self.random_type(2);
        let value = self.expr(&ty, depth.max(1));
        let mutable = self.chance(60);
        let name = self.declare("v", &ty, mutable);
        let mutability = if mutable { "mut " } else { "" };
        let written = self.name_of(&ty);
        Node::part(&format!("let {mutability}{name}: {written} = $;\n"), [value])
    }

    /// The type of something that can be assigned to.
    fn assignable(&mut self) -> Option<Type> {
        let floor = self.floor;
        let types: Vec<Type> = self
            .vars
            .iter()
            .enumerate()
            .filter(|(index, var)| var.mutable && *index >= floor && !var.name.is_empty())
            .map(|(_, var)| var.ty.clone())
            .collect();
        if types.is_empty() {
            return None;
        }
        let mut ty = types[self.rng.usize(..types.len())].clone();
        while self.chance(70) {
            ty = match ty {
                Type::Tuple(types) => types[self.rng.usize(..types.len())].clone(),
                Type::Array(inner, _) => *inner,
                Type::Adt(index) => match &self.adts[index].kind {
                    AdtKind::Struct { fields, packed: false } => {
                        fields[self.rng.usize(..fields.len())].clone()
                    }
                    _ => return Some(Type::Adt(index)),
                },
                other => return Some(other),
            };
        }
        Some(ty)
    }

    fn assignment(&mut self, depth: u32) -> Node {
        let Some(ty) = self.assignable() else { return self.let_statement(depth) };
        let Some(place) = self.place(&ty, true) else { return self.let_statement(depth) };
        let value = self.expr(&ty, depth.max(1));
        let op = match ty.prim() {
            Some(Prim::Bool) => ["=", "&=", "|=", "^="][self.rng.usize(..4)],
            Some(Prim::Float(_)) => ["=", "+=", "-=", "*=", "/="][self.rng.usize(..5)],
            Some(Prim::Char) | None => "=",
            Some(_) if self.risky() => ["+=", "-=", "*=", "/=", "%="][self.rng.usize(..5)],
            Some(_) => ["=", "&=", "|=", "^="][self.rng.usize(..4)],
        };
        Node::part(&format!("$ {op} $;\n"), [place, value])
    }

    fn enter(&mut self, value: Option<Type>) -> String {
        let label = self.fresh("'l");
        self.loops.push(Loop { label: label.clone(), value });
        label
    }

    fn for_loop(&mut self, depth: u32) -> Node {
        let item = if self.chance(60) { self.random_integer() } else { self.random_type(1) };
        let items = self.iterator(&item, depth.min(1));
        let label = self.enter(None);
        let name = self.fresh("n");
        let text = items.render();
        let borrows = ["|", ".iter()", ".windows", ".chunks"].iter().any(|how| text.contains(how));
        let write = |this: &mut Self| {
            this.bind(&name, &item);
            this.statements(3, depth)
        };
        let body = if borrows { self.frozen(write) } else { self.scoped(write) };
        self.loops.pop();
        Node::part(&format!("{label}: for {name} in $.take(12) {{\n$}}\n"), [items, body])
    }

    fn while_loop(&mut self, depth: u32) -> Node {
        let condition = self.expr(&BOOL, depth);
        let (label, fuel) = (self.enter(None), self.fresh("fuel"));
        let most = self.rng.u32(1..9);
        let body = self.scoped(|this| this.statements(3, depth));
        self.loops.pop();
        let template = format!(
            "let mut {fuel} = 0;\n{label}: while {fuel} < {most} && $ {{\n{fuel} += 1;\n$}}\n"
        );
        Node::part(&template, [condition, body])
    }

    /// A loop with a value.
    pub(crate) fn loop_expression(&mut self, ty: &Type, depth: u32) -> Node {
        if self.loops.len() >= 2 {
            return self.leaf(ty);
        }
        let (label, fuel) = (self.enter(Some(ty.clone())), self.fresh("fuel"));
        let most = self.rng.u32(1..9);
        let (body, last) = self.frozen(|this| {
            let body = this.statements(3, depth);
            (body, this.expr(ty, depth.min(1)))
        });
        self.loops.pop();
        let template = format!(
            "{{ let mut {fuel} = 0; {label}: loop {{\n{fuel} += 1;\n$if {fuel} > {most} {{ break $; }}\n}} }}"
        );
        Node::expr(ty, &format!("({template})"), [body, last])
    }

    /// `break`, `continue` or `return`, sometimes.
    fn jump(&mut self, depth: u32) -> Node {
        let condition = self.expr(&BOOL, depth.max(1));
        if !self.loops.is_empty() && self.chance(75) {
            let target = self.loops[self.rng.usize(..self.loops.len())].clone();
            if self.chance(35) && target.value.is_none() {
                return Node::part(
                    &format!("if $ {{ continue {}; }}\n", target.label),
                    [condition],
                );
            }
            let label = &target.label;
            return match &target.value {
                None => Node::part(&format!("if $ {{ break {label}; }}\n"), [condition]),
                Some(ty) => {
                    let value = self.expr(ty, depth.min(1));
                    Node::part(&format!("if $ {{ break {label} $; }}\n"), [condition, value])
                }
            };
        }
        let Some(ty) = self.result.clone() else { return self.let_statement(depth) };
        let value = self.expr(&ty, depth.min(1));
        Node::part("if $ { return $; }\n", [condition, value])
    }

    /// `{ statements; value }`.
    pub(crate) fn block_expression(&mut self, ty: &Type, depth: u32) -> Node {
        let body = self.frozen(|this| this.body_of(ty, 3, depth));
        if self.chance(20) {
            let label = self.fresh("'b");
            let (condition, early) = (self.expr(&BOOL, depth.min(1)), self.expr(ty, 0));
            let template = format!("({label}: {{\nif $ {{ break {label} $; }}\n$\n}})");
            return Node::expr(ty, &template, [condition, early, body]);
        }
        Node::expr(ty, "({\n$\n})", [body])
    }

    fn match_statement(&mut self, depth: u32) -> Node {
        let ty = self.random_type(2);
        let scrutinee = self.expr(&ty, depth);
        let arms = self.arms(&ty, depth, |this| {
            let body = this.nested(2, depth);
            Node::group("{\n$}", [body])
        });
        Node::part("match $ {\n$}\n", [scrutinee, arms])
    }

    pub(crate) fn match_expression(&mut self, ty: &Type, depth: u32) -> Node {
        let scrutinee_type = self.random_type(2);
        let scrutinee = self.expr(&scrutinee_type, depth);
        let result = ty.clone();
        let arms = self.arms(&scrutinee_type, depth, |this| this.expr(&result, depth));
        Node::expr(ty, "(match $ {\n$})", [scrutinee, arms])
    }

    /// Arms with patterns of a type, the last of them for everything.
    fn arms(&mut self, ty: &Type, depth: u32, mut body: impl FnMut(&mut Self) -> Node) -> Node {
        let mut arms = Vec::new();
        for _ in 0..self.rng.u32(1..4) {
            let arm = self.scoped(|this| {
                let pattern = this.pattern(ty, 2);
                let guard = if this.chance(30) {
                    let guard = this.frozen(|this| this.expr(&BOOL, depth.min(1)));
                    Node::group("if $ ", [guard])
                } else {
                    Node::text("")
                };
                let body = body(this);
                Node::part(&format!("{pattern} $=> $,\n"), [guard, body])
            });
            arms.push(arm);
        }
        let last = self.scoped(|this| {
            let name = this.fresh("m");
            this.bind(&name, ty);
            let body = body(this);
            Node::group(&format!("{name} => $,\n"), [body])
        });
        arms.push(last);
        Node::Group(arms)
    }

    /// A pattern that may fail; binds what it names.
    fn pattern(&mut self, ty: &Type, depth: u32) -> String {
        if depth == 0 || self.chance(15) {
            if self.chance(40) {
                return "_".to_owned();
            }
            let name = self.fresh("p");
            self.bind(&name, ty);
            return name;
        }
        match ty {
            Type::Prim(Prim::Bool) => self.rng.bool().to_string(),
            Type::Prim(Prim::Char) => {
                ["'a'..='z'", "'Z'", "'0' | '~'", "('\\u{80}'..)"][self.rng.usize(..4)].to_owned()
            }
            Type::Prim(Prim::Float(_)) => "_".to_owned(),
            Type::Prim(prim) => {
                let name = prim.name();
                let low = self.rng.u32(..20);
                let high = low + self.rng.u32(..100);
                let pattern = match self.rng.u32(..6) {
                    0 => format!("{low}_{name}..={high}_{name}"),
                    1 => format!("{name}::MIN..={low}_{name}"),
                    2 => format!("{low}_{name} | {name}::MAX"),
                    3 => format!("({high}_{name}..)"),
                    4 => format!("(..{}_{name})", low + 1),
                    _ => format!("{low}_{name}"),
                };
                if self.chance(30) {
                    let bound = self.fresh("p");
                    self.bind(&bound, ty);
                    return format!("{bound} @ ({pattern})");
                }
                pattern
            }
            Type::Tuple(types) => {
                let parts: Vec<String> =
                    types.iter().map(|ty| format!("{},", self.pattern(ty, depth - 1))).collect();
                format!("({})", parts.concat())
            }
            Type::Array(inner, len) => {
                if *len > 2 && self.chance(60) {
                    let (first, last) =
                        (self.pattern(inner, depth - 1), self.pattern(inner, depth - 1));
                    let rest = self.fresh("p");
                    self.bind(&rest, &Type::Array(inner.clone(), len - 2));
                    return format!("[{first}, {rest} @ .., {last}]");
                }
                let parts: Vec<String> =
                    (0..*len).map(|_| self.pattern(inner, depth - 1)).collect();
                format!("[{}]", parts.join(", "))
            }
            Type::Option(inner) => {
                if self.chance(30) {
                    return "None".to_owned();
                }
                format!("Some({})", self.pattern(inner, depth - 1))
            }
            Type::Result(ok, error) => {
                if self.chance(40) {
                    return format!("Err({})", self.pattern(error, depth - 1));
                }
                format!("Ok({})", self.pattern(ok, depth - 1))
            }
            Type::Adt(index) => {
                let adt = self.adts[*index].clone();
                let name = adt.name;
                match adt.kind {
                    // A guard would borrow what is bound.
                    AdtKind::Struct { packed: true, .. } => "_".to_owned(),
                    AdtKind::Struct { fields, .. } => {
                        let field = self.rng.usize(..fields.len());
                        let pattern = self.pattern(&fields[field], depth - 1);
                        format!("{name} {{ f{field}: {pattern}, .. }}")
                    }
                    AdtKind::Enum { variants } => {
                        let variant = self.rng.usize(..variants.len());
                        let parts: Vec<String> = variants[variant]
                            .iter()
                            .map(|ty| self.pattern(ty, depth - 1))
                            .collect();
                        if parts.is_empty() {
                            format!("{name}::V{variant}")
                        } else {
                            format!("{name}::V{variant}({})", parts.join(", "))
                        }
                    }
                }
            }
            Type::Slice(_) => "_".to_owned(),
        }
    }

    /// Methods of arrays that change them in place.
    fn array_statement(&mut self, depth: u32) -> Node {
        let item = if self.chance(70) { self.random_integer() } else { self.random_type(1) };
        let ty = Type::Array(Box::new(item.clone()), self.rng.usize(2..9));
        let Some(place) = self.place(&ty, true) else {
            let value = self.expr(&ty, depth.max(1));
            let name = self.declare("v", &ty, true);
            let written = self.name_of(&ty);
            return Node::part(&format!("let mut {name}: {written} = $;\n"), [value]);
        };
        let Type::Array(_, len) = ty else { return place };
        match self.rng.u32(..9) {
            0 if item.is_ord() => Node::part("$.sort_unstable();\n", [place]),
            1 => Node::part("$.reverse();\n", [place]),
            2 => {
                let by = self.expr(&USIZE, 0);
                // The argument may read the place, which is lent while a method of slices is
                // called.
                Node::part(&format!("{{ let by = $ % {len}; $.rotate_left(by); }}\n"), [by, place])
            }
            3 => {
                let value = self.expr(&item, depth);
                Node::part("{ let with = $; $.fill(with); }\n", [value, place])
            }
            4 => {
                let (a, b) = (self.rng.usize(..len), self.rng.usize(..len));
                Node::part(&format!("$.swap({a}, {b});\n"), [place])
            }
            5 => Node::part("$.copy_within(1.., 0);\n", [place]),
            6 => {
                let name = self.fresh("x");
                let value = self.closed(|this| {
                    this.bind(&format!("(*{name})"), &item);
                    this.expr(&item, depth.min(2))
                });
                // Nothing in the value may read the array that is being changed.
                let (text, array) = (value.render(), place.render());
                let root = array.split(['.', '[']).next().unwrap_or(&array).to_owned();
                if text.contains(&root) {
                    return Node::part("$.reverse();\n", [place]);
                }
                let template = format!("for {name} in $.iter_mut() {{ *{name} = $; }}\n");
                Node::part(&template, [place, value])
            }
            7 if item.is_ord() => {
                let key = self.random_integer();
                let name = self.fresh("x");
                let value = self.closed(|this| {
                    this.bind(&name, &item);
                    this.expr(&key, 1)
                });
                let (text, array) = (value.render(), place.render());
                let root = array.split(['.', '[']).next().unwrap_or(&array).to_owned();
                if text.contains(&root) {
                    return Node::part("$.sort_unstable();\n", [place]);
                }
                Node::part(
                    &format!("$.sort_unstable_by_key(|&{name}| ($, {name}));\n"),
                    [place, value],
                )
            }
            _ => {
                let middle = self.rng.usize(..=len);
                let template = format!(
                    "{{ let (a, b) = $.split_at_mut({middle}); let n = a.len().min(b.len()); a[..n].copy_from_slice(&b[..n]); }}\n"
                );
                Node::part(&template, [place])
            }
        }
    }

    fn swap_statement(&mut self) -> Node {
        let Some(ty) = self.assignable() else { return self.let_statement(1) };
        let Some(place) = self.place(&ty, true) else { return self.let_statement(1) };
        // A field of a packed struct cannot be borrowed.
        if place.render().contains(".f") {
            return self.let_statement(1);
        }
        let value = self.expr(&ty, 1);
        let name = self.fresh("v");
        self.vars.push(Var { name: name.clone(), ty, mutable: true });
        Node::part(
            &format!("let mut {name} = $;\nstd::mem::swap(&mut {name}, &mut $);\n"),
            [value, place],
        )
    }

    /// A value whose drop can be seen.
    fn guard(&mut self, depth: u32) -> Node {
        let value = self.expr(&Type::Prim(Prim::Int { signed: false, bits: 64 }), depth.min(1));
        let name = self.fresh("_g");
        let template = format!("let {name} = Guard(&trace, $);\n");
        if self.chance(20) {
            return Node::part(&format!("{template}drop({name});\n"), [value]);
        }
        Node::part(&template, [value])
    }

    fn cell(&mut self, depth: u32) -> Node {
        let ty = self.random_prim();
        let (first, second) = (self.expr(&ty, depth), self.expr(&ty, depth.min(1)));
        let cell = self.fresh("cell");
        let name = self.declare("v", &ty, true);
        let template = match self.rng.u32(..3) {
            0 => format!(
                "let {cell} = std::cell::Cell::new($);\n{cell}.set($);\nlet mut {name} = {cell}.get();\n"
            ),
            1 if self.risky() => format!(
                "let {cell} = std::cell::RefCell::new($);\nlet _b{cell} = {cell}.borrow();\n*{cell}.borrow_mut() = $;\nlet mut {name} = *{cell}.borrow();\n"
            ),
            _ => format!(
                "let {cell} = std::cell::RefCell::new($);\nif let Ok(mut b{cell}) = {cell}.try_borrow_mut() {{ *b{cell} = $; }}\nlet mut {name} = *{cell}.borrow();\n"
            ),
        };
        Node::part(&template, [first, second])
    }

    fn assertion(&mut self, depth: u32) -> Node {
        let condition = self.expr(&BOOL, depth.max(1));
        let value = self.random_integer();
        let shown = self.expr(&value, 0);
        match self.rng.u32(..6) {
            0 => Node::part("if $ && $ == 3 { panic!(\"said so\"); }\n", [condition, shown]),
            1 => Node::part("assert!($ || $ != 7);\n", [condition, shown]),
            2 => {
                let text = self.expr(&value, 0);
                Node::part("assert!($ || $ > 2, \"value {}\", $);\n", [condition, shown, text])
            }
            3 => Node::part(
                "if $ && $ == 1 { unreachable!(\"never {}\", 3); }\n",
                [condition, shown],
            ),
            4 => {
                let other = self.expr(&value, 1);
                Node::part("if $ { assert_eq!($, $); }\n", [condition, shown, other])
            }
            _ => Node::part("if $ && $ == 2 { unimplemented!(); }\n", [condition, shown]),
        }
    }

    fn let_else(&mut self, depth: u32) -> Node {
        let Some(result) = self.result.clone() else { return self.let_statement(depth) };
        let inner = self.random_type(1);
        let option = Type::Option(Box::new(inner.clone()));
        let (value, other) = (self.expr(&option, depth.max(1)), self.expr(&result, depth.min(1)));
        let name = self.declare("v", &inner, false);
        Node::part(&format!("let Some({name}) = $ else {{ return $; }};\n"), [value, other])
    }

    fn destructuring(&mut self, depth: u32) -> Node {
        let (first, second) = (self.random_type(1), self.random_prim());
        let ty = Type::Tuple(vec![first.clone(), second.clone()]);
        let value = self.expr(&ty, depth.max(1));
        let a = self.declare("v", &first, true);
        let b = self.fresh("w");
        self.bind(&b, &second);
        Node::part(&format!("let (mut {a}, {b}) = $;\n"), [value])
    }

    /// A closure that changes what it captures.
    fn mutable_closure(&mut self, depth: u32) -> Node {
        let (state, argument) = (self.random_prim(), self.random_prim());
        let first = self.expr(&state, depth);
        let (closure, x) = (self.fresh("c"), self.fresh("x"));
        let name = self.fresh("v");
        let next = self.inside(&state, |this| {
            this.bind(&name, &state);
            this.bind(&x, &argument);
            this.expr(&state, depth)
        });
        let (a, b) = (self.expr(&argument, 0), self.expr(&argument, depth));
        let written = self.name_of(&argument);
        let mode = if self.chance(30) { "move " } else { "" };
        self.vars.push(Var { name: name.clone(), ty: state, mutable: true });
        let template = format!(
            "let mut {name} = $;\nlet mut {closure} = {mode}|{x}: {written}| {{ {name} = $; {name} }};\nlet _ = {closure}($);\nlet r{closure} = {closure}($);\nif r{closure} == r{closure} {{ {name} = r{closure}; }}\n"
        );
        Node::part(&template, [first, next, a, b])
    }

    fn atomic(&mut self, depth: u32) -> Node {
        let bits = [8, 16, 32, 64][self.rng.usize(..4)];
        let signed = self.rng.bool();
        let ty = Type::Prim(Prim::Int { signed, bits });
        let (first, second) = (self.expr(&ty, depth), self.expr(&ty, depth.min(1)));
        let name = self.declare("v", &ty, true);
        let methods =
            ["fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_max", "swap"];
        let method = methods[self.rng.usize(..methods.len())];
        let atomic = format!("std::sync::atomic::Atomic{}{bits}", if signed { 'I' } else { 'U' });
        let template = format!(
            "let mut {name} = {{ let atomic = {atomic}::new($); let old = atomic.{method}($, Relaxed); old ^ atomic.load(SeqCst) }};\n"
        );
        Node::part(&template, [first, second])
    }

    /// A closure, made and called.
    pub(crate) fn closure_call(&mut self, ty: &Type, depth: u32) -> Node {
        let argument = self.random_type(1);
        let (closure, x) = (self.fresh("c"), self.fresh("x"));
        let many = self.rng.u32(..3);
        let body = self.inside(ty, |this| {
            this.bind(&x, &argument);
            this.body_of(ty, many, depth)
        });
        let (written, result) = (self.name_of(&argument), self.name_of(ty));
        let mode = if self.chance(30) { "move " } else { "" };
        let head = format!("{mode}|{x}: {written}| -> {result} {{\n$\n}}");
        let value = self.expr(&argument, depth);
        let template = match self.rng.u32(..4) {
            0 => format!("(({head})($))"),
            1 => format!("(call_dyn(&{head}, $))"),
            2 => format!("(call({head}, $))"),
            _ => {
                let again = self.expr(&argument, 0);
                let template =
                    format!("({{ let {closure} = {head}; {closure}($); {closure}($) }})");
                return Node::expr(ty, &template, [body, again, value]);
            }
        };
        Node::expr(ty, &template, [body, value])
    }

    /// A call of a function of the kernel; none if there is no such function.
    pub(crate) fn call(&mut self, ty: &Type, depth: u32) -> Option<Node> {
        if self.uses(30) && self.chance(25) && ty.prim().is_some() {
            return Some(self.generic_call(ty, depth));
        }
        if self.chance(40)
            && let Some(node) = self.method_call(ty, depth)
        {
            return Some(node);
        }
        let fitting: Vec<_> =
            self.functions.iter().filter(|function| function.result == *ty).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let function = fitting[self.rng.usize(..fitting.len())].clone();
        let arguments: Vec<Node> =
            function.parameters.iter().map(|ty| self.expr(ty, depth)).collect();
        let places = vec!["$"; arguments.len()].join(", ");
        // Those that take the same may go through a table.
        let alike: Vec<_> =
            fitting.iter().filter(|other| other.parameters == function.parameters).collect();
        if self.uses(31) && self.chance(30) {
            let names: Vec<&str> = alike.iter().map(|function| function.name.as_str()).collect();
            let parameters: Vec<String> =
                function.parameters.iter().map(|ty| self.name_of(ty)).collect();
            let (parameters, result) = (parameters.join(", "), self.name_of(ty));
            let at = self.expr(&U32, 0);
            let count = names.len() + 1;
            let template = format!(
                "({{ let table: [fn({parameters}) -> {result}; {count}] = [{}, {}]; table[$ as usize % {count}] }}({places}))",
                names.join(", "),
                names[0],
            );
            return Some(Node::expr(ty, &template, std::iter::once(at).chain(arguments)));
        }
        Some(Node::expr(ty, &format!("({}({places}))", function.name), arguments))
    }

    fn generic_call(&mut self, ty: &Type, depth: u32) -> Node {
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        let how = [
            "(mix_all($, $))",
            "(Mix::mix($, $))",
            "(Pair { a: $, b: $ }.both())",
            "(mix_dyn(&$, $))",
        ];
        let index = self.rng.usize(..how.len());
        if ty.integer().is_some() && index == 3 {
            return Node::expr(ty, "(mix_each([$, $]))", [a, b]);
        }
        Node::expr(ty, how[index.min(2)], [a, b])
    }

    /// A call of a trait's method, static or dynamic.
    fn method_call(&mut self, ty: &Type, depth: u32) -> Option<Node> {
        let fitting: Vec<_> =
            self.traits.iter().filter(|item| item.result == *ty).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let item = fitting[self.rng.usize(..fitting.len())].clone();
        let choose = |this: &mut Self| {
            let ty = item.implementors[this.rng.usize(..item.implementors.len())].clone();
            this.expr(&ty, depth.min(1))
        };
        let (first, second) = (choose(self), choose(self));
        let argument = self.expr(&item.parameter, depth);
        let name = &item.name;
        Some(match self.rng.u32(..4) {
            0 => Node::expr(ty, &format!("({name}::go(&$, $))"), [first, argument]),
            1 => Node::expr(ty, &format!("({name}::twice(&$, $))"), [first, argument]),
            2 => {
                let condition = self.expr(&BOOL, 0);
                let template = format!(
                    "({{ let (a, b) = ($, $); let d: &dyn {name} = if $ {{ &a }} else {{ &b }}; d.go($) }})"
                );
                Node::expr(ty, &template, [first, second, condition, argument])
            }
            _ => {
                let template = format!(
                    "({{ let (a, b) = ($, $); let x = $; let all: [&dyn {name}; 2] = [&a, &b]; all.iter().fold(all[0].go(x), |_, d| d.twice(x)) }})"
                );
                Node::expr(ty, &template, [first, second, argument])
            }
        })
    }
}
