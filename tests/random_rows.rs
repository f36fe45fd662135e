//! Random bodies of pipelines over rows, and the program that runs each by rayon's `for_each` and row by row.
//!
//! A nest is a function of one row: of its elements, perhaps of those of another row and of a total, and of
//! what all rows read. It is a sequence of loops, reductions, nested loops and single stores. Some index out
//! of bounds, some carry values from one iteration to the next, some end early.

use std::fmt::Write;
use std::ops::Range;

use fastrand::Rng;

/// Types of a row's elements, and of what it reads.
const TYPES: [[&str; 2]; 10] = [
    ["f32", "f32"],
    ["f64", "f64"],
    ["i32", "i32"],
    ["u64", "u32"],
    ["u32", "u8"],
    ["i16", "i64"],
    ["u8", "f64"],
    ["f32", "u32"],
    ["i64", "f32"],
    ["f64", "u64"],
];

/// Pipelines whose items have a row, and what else: another row, a total.
const PIPELINES: [(&str, bool, bool); 8] = [
    (
        "a.par_chunks_mut(n).enumerate().for_each(|(y, row)| body(y, row, NONE, NO_TOTAL, READS))",
        false,
        false,
    ),
    (
        "a.par_chunks_exact_mut(n).zip(c.par_chunks_exact_mut(n)).enumerate()\
         .for_each(|(y, (row, other))| body(y, row, other, NO_TOTAL, READS))",
        true,
        false,
    ),
    (
        "totals.par_iter_mut().zip(a.par_chunks_mut(n)).enumerate()\
         .for_each(|(y, (total, row))| body(y, row, NONE, total, READS))",
        false,
        true,
    ),
    (
        "a.par_chunks_mut(n).zip(c.par_chunks_mut(n)).zip(totals).enumerate()\
         .for_each(|(y, ((row, other), total))| body(y, row, other, total, READS))",
        true,
        true,
    ),
    (
        "(0..totals.len()).into_par_iter().zip(a.par_chunks_mut(n))\
         .for_each(|(y, row)| body(y, row, NONE, NO_TOTAL, READS))",
        false,
        false,
    ),
    (
        "let mut rows: Vec<Vec<A>> = a.chunks(n).map(<[A]>::to_vec).collect();\n\
         let run = AssertUnwindSafe(|| rows.par_iter_mut().zip(totals).enumerate()\
         .for_each(|(y, (row, total))| body(y, row, NONE, total, READS)));\n\
         let ran = catch_unwind(run);\n\
         for (to, from) in a.chunks_mut(n).zip(rows) { to.copy_from_slice(&from); }\n\
         if let Err(payload) = ran { resume_unwind(payload); }",
        false,
        true,
    ),
    (
        "a.par_chunks_mut(2 * n).enumerate().for_each(|(z, block)| \
         for (k, row) in block.chunks_mut(n).enumerate() { body(2 * z + k, row, NONE, NO_TOTAL, READS); })",
        false,
        false,
    ),
    (
        "a.par_chunks_mut(n).enumerate().zip(c.par_chunks_mut(n))\
         .for_each(|((y, row), other)| body(y, row, other, NO_TOTAL, READS))",
        true,
        false,
    ),
];

fn one_of<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

fn is_float(ty: &str) -> bool {
    ty.starts_with('f')
}

/// An expression and its type.
type Typed = (String, &'static str);

/// A slice that a body can write.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    ty: &'static str,
}

/// The body of a nest while it is written.
struct Body {
    random: Rng,
    /// Of the row's elements, and of what is read.
    types: [&'static str; 2],
    has_other: bool,
    has_total: bool,
    text: String,
    /// What loops have computed.
    results: Vec<Typed>,
    /// Names that are given.
    names: usize,
}

impl Body {
    fn one_in(&mut self, number: usize) -> bool {
        self.random.usize(..number) == 0
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        one_of(&mut self.random, of)
    }

    fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}", line.as_ref());
    }

    fn target(&mut self) -> Target {
        let [row, read] = self.types;
        if self.has_other && self.random.bool() {
            Target { name: "other", ty: read }
        } else {
            Target { name: "row", ty: row }
        }
    }

    /// The row that is not the target, or a copy of what all rows read.
    fn source(&mut self, target: Target) -> Typed {
        let [row, read] = self.types;
        let all = match target.name {
            "other" => vec![("row", row), ("own", read), ("q", read), ("lookup", "u32")],
            _ if self.has_other => {
                vec![("other", read), ("own", read), ("q", read), ("lookup", "u32")]
            }
            _ => vec![("own", read), ("own", read), ("q", read), ("lookup", "u32")],
        };
        let (name, ty) = all[self.random.usize(..all.len())];
        (name.to_owned(), ty)
    }

    /// An expression of numbers.
    fn value(&mut self, ty: &'static str, atoms: &[Typed]) -> String {
        self.value_within(ty, atoms, 3)
    }

    fn value_within(&mut self, ty: &'static str, atoms: &[Typed], depth: usize) -> String {
        if depth == 0 || self.one_in(4) {
            return self.leaf(ty, atoms);
        }
        let form = if is_float(ty) {
            self.one_of(&[
                "(X + Y)",
                "(X - Y)",
                "(X * 0.75)",
                "(X * Y)",
                "(X / 3.0)",
                "X.max(Y)",
                "X.min(Y)",
                "(if X < Y { X } else { Y })",
                "X.abs()",
                "X.abs().sqrt()",
                "(X + 0.5).floor()",
                "(-X)",
                "(X % 7.0)",
            ])
        } else if self.one_in(25) {
            self.one_of(&["(X + Y)", "(X - Y)", "(X * Y)", "(X / Y)", "(X % Y)"])
        } else {
            self.one_of(&[
                "X.wrapping_add(Y)",
                "X.wrapping_sub(Y)",
                "X.wrapping_mul(Y)",
                "(X ^ Y)",
                "(X & Y)",
                "(X | Y)",
                "X.max(Y)",
                "X.min(Y)",
                "X.rotate_left(3)",
                "X.wrapping_shr(2)",
                "(X % 61 + Y % 61)",
                "(X / 3)",
                "(if X > Y { X } else { Y })",
                "X.saturating_add(Y)",
                "(!X)",
                "X.abs_diff(Y) as TY",
                "X.wrapping_add(Y)",
                "(X.count_ones() as TY)",
            ])
        };
        let form = form.replace("TY", ty);
        let (x, y) =
            (self.value_within(ty, atoms, depth - 1), self.value_within(ty, atoms, depth - 1));
        let parts: Vec<String> = form.split('X').map(|part| part.replace('Y', &y)).collect();
        format!("({})", parts.join(&x))
    }

    fn leaf(&mut self, ty: &'static str, atoms: &[Typed]) -> String {
        let results = self.results.len();
        match self.random.usize(..9) {
            0 => format!("({} as {ty})", self.random.u8(..120)),
            1 => format!("(y as {ty})"),
            2 => format!("(s as {ty})"),
            3 if results > 0 => {
                let (name, _) = &self.results[self.random.usize(..results)];
                format!("({name} as {ty})")
            }
            _ if atoms.is_empty() => format!("(n as {ty})"),
            _ => {
                let (atom, own) = &atoms[self.random.usize(..atoms.len())];
                if *own == ty { format!("({atom})") } else { format!("({atom} as {ty})") }
            }
        }
    }

    fn condition(&mut self, atoms: &[Typed]) -> String {
        let ty = self.one_of(&["u32", "i64", "f32", self.types[0]]);
        let [x, y] = [1, 1].map(|depth| self.value_within(ty, atoms, depth));
        let comparison = self.one_of(&["X > Y", "X < Y", "X <= Y", "X != Y", "(X % LIT) == Y"]);
        let limit = if is_float(ty) { "3.0" } else { "3" };
        let parts: Vec<String> =
            comparison.replace("LIT", limit).split('X').map(|part| part.replace('Y', &y)).collect();
        parts.join(&x)
    }

    /// What may be done between an iterator and what it is for.
    fn adaptors(&mut self) -> String {
        let mut all = String::new();
        for _ in 0..2 {
            all += match self.random.usize(..12) {
                0 => ".rev()",
                1 => ".step_by(2)",
                2 => ".step_by(s % 3 + 1)",
                3 => ".skip(1)",
                4 => ".take(n / 2)",
                5 => ".skip(s % 5)",
                _ => "",
            };
        }
        all
    }

    /// Numbers for a counter of a loop, which are indices of a slice of `len` elements, mostly.
    fn range(&mut self, len: &str) -> String {
        let low = self.one_of(&["0", "0", "0", "1", "s % 3"]);
        let high = match self.random.usize(..10) {
            0 => format!("{len} / 2"),
            1 => format!("{len}.saturating_sub(1)"),
            2 => "n".to_owned(),
            3 => format!("{len}.min(s * 5)"),
            _ => len.to_owned(),
        };
        match self.random.usize(..10) {
            0 => format!("({low}..{high}).rev()"),
            1 => format!("({low}..{high}).step_by(2)"),
            2 => format!("({low}..{high}).step_by(s % 4 + 1)"),
            _ => format!("{low}..{high}"),
        }
    }

    /// What a loop reads at an index.
    fn reads(&mut self, target: Target, index: &str) -> Vec<Typed> {
        let [row, read] = self.types;
        let name = target.name;
        let own = (format!("{name}[{index}]"), target.ty);
        let mut all = vec![(index.to_owned(), "usize"), own.clone()];
        for _ in 0..2 {
            all.push(match self.random.usize(..24) {
                0 | 1 => (format!("b[y * n + {index}]"), read),
                2 => (format!("own[({index} + 2).min(own.len() - 1)]"), read),
                3 => (format!("own[{index}.saturating_sub(1)]"), read),
                4 => (format!("own[({index} * 7 + s) % own.len()]"), read),
                5 => (format!("lookup[{index}]"), "u32"),
                6 => (format!("b[lookup[{index}] as usize % b.len()]"), read),
                7 => (format!("q[{index} * m]"), read),
                8 => (format!("q[{index}]"), read),
                9 => (format!("{name}[({index} + 1) % {name}.len()]"), target.ty),
                10 => (format!("{name}[{index}.saturating_sub(1)]"), target.ty),
                11 => (format!("{name}[0]"), target.ty),
                12 => (format!("row[{index} / 2]"), row),
                13 if self.has_other => (format!("other[{index}]"), read),
                14 => (format!("own.get({index} + 3).copied().unwrap_or_default()"), read),
                15 => (format!("b[{index}]"), read),
                16 => (format!("lookup[{index} + 2]"), "u32"),
                17 => (format!("(if {index} > 0 {{ own[{index} - 1] }} else {{ own[0] }})"), read),
                18 | 19 => (format!("own[{index}]"), read),
                // Some panic.
                20 if self.one_in(6) => (format!("own[{index} + 1]"), read),
                21 if self.one_in(6) => (format!("lookup[{index} * 2]"), "u32"),
                _ => own.clone(),
            });
        }
        all
    }

    /// Changes an element, in one of the ways in which loops do.
    fn change(&mut self, element: &str, ty: &'static str, atoms: &[Typed]) {
        let value = self.value(ty, atoms);
        match self.random.usize(..9) {
            0 => {
                let condition = self.condition(atoms);
                self.line(format!("if {condition} {{ {element} = {value}; }}"));
            }
            1 => {
                let condition = self.condition(atoms);
                let other = self.value(ty, atoms);
                self.line(format!(
                    "if {condition} {{ {element} = {value}; }} else {{ {element} = {other}; }}"
                ));
            }
            2 => {
                let (other, of) = (self.value(ty, atoms), self.leaf("u32", atoms));
                self.line(format!(
                    "match {of} % 3 {{ 0 => {element} = {value}, 1 => {{}} _ => {element} = {other} }}"
                ));
            }
            3 => {
                let condition = self.condition(atoms);
                self.line(format!("if {condition} {{ continue; }}"));
                self.line(format!("{element} = {value};"));
            }
            4 if self.one_in(2) => {
                let condition = self.condition(atoms);
                self.line(format!("if {condition} {{ break; }}"));
                self.line(format!("{element} = {value};"));
            }
            5 => {
                let name = self.nested(atoms);
                self.line(format!("{element} = {value};"));
                let again = self.value(ty, &[name, (element.to_owned(), ty)]);
                self.line(format!("{element} = {again};"));
            }
            _ => self.line(format!("{element} = {value};")),
        }
    }

    /// A loop inside of a loop; what it has computed.
    fn nested(&mut self, atoms: &[Typed]) -> Typed {
        let [row, read] = self.types;
        let ty = self.one_of_types(&[row, read, "u64", "f32"]);
        let sum = self.name("s");
        // The counter of the loop around it, if there is one.
        let at = atoms.iter().find(|(_, ty)| *ty == "usize").map_or("0", |(name, _)| name);
        let at = at.to_owned();
        if self.one_in(3) {
            let form = self.one_of(&[
                "own.iter().zip(&q[AT * m..][..m]).map(|(p, r)| *p as TY * *r as TY).sum::<TY>()",
                "q[AT * m..AT * m + m].iter().map(|p| *p as TY).sum::<TY>()",
                "q.chunks_exact(n).zip(own).map(|(p, r)| (p[AT] as TY) * (*r as TY)).sum::<TY>()",
                "q.iter().skip(AT).step_by(n).fold(0 as TY, |s, p| if *p as TY > s { *p as TY } else { s })",
                "own.iter().take(m).map(|p| *p as TY).fold(1 as TY, |s, p| s.max(p))",
                "(0..m).map(|k| q[k * n + AT] as TY).sum::<TY>()",
                "(0..m).filter(|k| q[AT * m + k] as TY > 20 as TY).count() as TY",
            ]);
            let form = form.replace("TY", ty).replace("AT", &at);
            self.line(format!("let {sum} = {form};"));
            return (sum, ty);
        }
        self.line(format!("let mut {sum}: {ty} = 0 as {ty};"));
        let k = self.name("k");
        let head = self.one_of(&[
            "for K in 0..m",
            "for K in 0..m",
            "for K in 0..5",
            "for K in (0..m).rev()",
            "for K in 0..own.len()",
            "for K in 0..AT",
            "for K in (0..m).step_by(3)",
        ]);
        self.line(format!("{} {{", head.replace('K', &k).replace("AT", &at)));
        let read_at = match self.random.usize(..7) {
            0 | 1 => format!("q[{k} * n + {at}]"),
            2 | 3 => format!("q[{at} * m + {k}]"),
            4 => format!("q[{k}]"),
            5 => format!("own[({at} + {k}).min(own.len() - 1)]"),
            _ => format!("b[(y * n + {k} + {at}) % b.len()]"),
        };
        // `own` and others may be longer than what is read by it.
        let read_at =
            match head.contains("own.len()") || head.contains("0..5") || head.contains("AT") {
                true => format!("own[({k} + {at}) % own.len()]"),
                false => read_at,
            };
        let mut inner = atoms.to_vec();
        inner.extend([(read_at.clone(), read), (k.clone(), "usize"), (read_at, read)]);
        if self.one_in(8) {
            let condition = self.condition(&inner);
            self.line(format!("if {condition} {{ break; }}"));
        }
        let value = self.value_within(ty, &inner, 2);
        let step = self.accumulated(&sum, ty, &value);
        self.line(step);
        self.line("}");
        (sum, ty)
    }

    fn one_of_types(&mut self, of: &[&'static str]) -> &'static str {
        of[self.random.usize(..of.len())]
    }

    /// One step of a reduction.
    fn accumulated(&mut self, sum: &str, ty: &str, value: &str) -> String {
        let form = if is_float(ty) {
            self.one_of(&[
                "S += V;",
                "S += V;",
                "S = S.max(V);",
                "S = S.min(V);",
                "if V > S { S = V; }",
                "S = S * 0.5 + V;",
            ])
        } else {
            self.one_of(&[
                "S = S.wrapping_add(V);",
                "S = S.wrapping_add(V);",
                "S = S.wrapping_mul(V | 1);",
                "S ^= V;",
                "S |= V;",
                "S &= V;",
                "S = S.max(V);",
                "S = S.min(V);",
                "if V > S { S = V; }",
                "S = S.wrapping_mul(3) ^ V;",
                "S += V & 3;",
                "if V % 5 < 3 { S = S.wrapping_add(1); }",
                "S = S.wrapping_sub(V);",
            ])
        };
        let parts: Vec<String> = form.split('V').map(|part| part.replace('S', sum)).collect();
        parts.join(&format!("({value})"))
    }

    /// A loop over elements, by an iterator.
    fn by_iterator(&mut self) {
        let target = self.target();
        let (name, it) = (target.name, self.name("it"));
        let element = format!("*{it}");
        let own = (element.clone(), target.ty);
        let adaptors = self.adaptors();
        let atoms = match self.random.usize(..4) {
            0 => {
                self.line(format!("for {it} in {name}.iter_mut(){adaptors} {{"));
                vec![own]
            }
            1 => {
                let x = self.name("x");
                self.line(format!("for ({x}, {it}) in {name}.iter_mut().enumerate(){adaptors} {{"));
                vec![own, (x.clone(), "usize"), (x, "usize")]
            }
            _ => {
                let (source, ty) = self.source(target);
                let from = self.name("from");
                let which = self.one_of(&["", "", "", ".skip(1)", ".rev()", ".step_by(2)"]);
                self.line(format!(
                    "for ({it}, {from}) in {name}.iter_mut(){adaptors}.zip({source}.iter(){which}) {{"
                ));
                vec![own, (format!("*{from}"), ty), (format!("*{from}"), ty)]
            }
        };
        self.change(&element, target.ty, &atoms);
        self.line("}");
    }

    /// A loop over indices.
    fn by_index(&mut self) {
        let target = self.target();
        let (name, x) = (target.name, self.name("x"));
        let range = self.range(&format!("{name}.len()"));
        self.line(format!("for {x} in {range} {{"));
        for _ in 0..self.random.usize(1..3) {
            let target = if self.one_in(4) { self.target() } else { target };
            let name = target.name;
            let atoms = self.reads(target, &x);
            let index = match self.random.usize(..14) {
                0 => format!("{x} / 2"),
                1 => format!("({x} * 5 + 1) % {name}.len()"),
                2 => format!("lookup[{x}] as usize % {name}.len()"),
                3 => format!("{name}.len() - 1 - {x}"),
                _ => x.clone(),
            };
            self.change(&format!("{name}[{index}]"), target.ty, &atoms);
        }
        self.line("}");
    }

    /// A reduction over a row, for what follows.
    fn reduction(&mut self) {
        let [row, read] = self.types;
        let target = self.target();
        let (source, own) = match self.one_in(2) {
            true => (target.name.to_owned(), target.ty),
            false => self.source(target),
        };
        let name = self.name("r");
        let ty = self.one_of_types(&[row, read, "u64", "i64", "u32", own]);
        let atoms = [("(*v)".to_owned(), own), ("(*v)".to_owned(), own)];
        let value = self.value_within(ty, &atoms, 1);
        match self.random.usize(..9) {
            0 => self.line(format!("let {name} = {source}.iter().map(|v| {value}).sum::<{ty}>();")),
            1 if !is_float(ty) => {
                let which = self.one_of(&["max", "min"]);
                self.line(format!(
                    "let {name} = {source}.iter().map(|v| {value}).{which}().unwrap_or_default();"
                ));
            }
            2 => {
                let condition = self.condition(&atoms);
                let form = self.one_of(&[
                    "filter(|&v| C).count()",
                    "any(|v| C) as u8",
                    "all(|v| C) as u8",
                ]);
                let form = form.replace('C', &condition);
                self.line(format!("let {name} = ({source}.iter().{form}) as {ty};"));
            }
            3 => {
                let condition = self.condition(&atoms);
                self.line(format!(
                    "let {name} = {source}.iter().position(|v| {condition}).unwrap_or(n) as {ty};"
                ));
            }
            4 | 5 => {
                let begin = self.random.u8(..9);
                self.line(format!("let mut {name}: {ty} = {begin} as {ty};"));
                self.line(format!("for v in {source}.iter() {{"));
                let step = self.accumulated(&name, ty, &value);
                self.line(step);
                self.line("}");
            }
            6 => {
                let step = self.accumulated("s", ty, &value);
                self.line(format!(
                    "let {name} = {source}.iter().fold(2 as {ty}, |mut s, v| {{ {step} s }});"
                ));
            }
            _ => {
                let x = self.name("x");
                let range = self.range(&format!("{}.len()", target.name));
                let mut atoms = self.reads(target, &x);
                let begin = self.random.u8(..9);
                self.line(format!("let mut {name}: {ty} = {begin} as {ty};"));
                self.line(format!("for {x} in {range} {{"));
                if self.one_in(4) {
                    atoms.push(self.nested(&atoms.clone()));
                }
                let value = self.value(ty, &atoms);
                let step = self.accumulated(&name, ty, &value);
                self.line(step);
                if self.one_in(4) {
                    self.change(&format!("{}[{x}]", target.name), target.ty, &atoms);
                }
                self.line("}");
            }
        }
        self.results.push((name, ty));
    }

    /// What rows are used for otherwise.
    fn other(&mut self) {
        let Target { name, ty } = self.target();
        let atoms = [("y".to_owned(), "usize")];
        let value = self.value(ty, &atoms);
        let forms = [
            "if let Some(last) = ROW.last_mut() { *last = V; }",
            "if ROW.len() > 2 { ROW[1] = V; ROW.swap(0, 2); }",
            "ROW.fill(V);",
            "for pair in ROW.chunks_exact_mut(2) { pair.swap(0, 1); pair[0] = V; }",
            "for pair in ROW.chunks_mut(3) { let first = pair[0]; for it in pair { *it = first; } }",
            "let half = ROW.len() / 2; let (p, r) = ROW.split_at_mut(half); for (p, r) in p.iter_mut().zip(r) { std::mem::swap(p, r); }",
            "let half = ROW.len() / 2; let (p, r) = ROW.split_at_mut(half); for (p, r) in p.iter_mut().zip(r.iter()) { *p = *r; }",
            "ROW.reverse();",
            "let len = ROW.len() / 2; ROW.copy_within(..len, len / 2);",
            "ROW.rotate_left(ROW.len() / 3);",
            "for (it, w) in ROW.iter_mut().zip(own.windows(3)) { *it = (w[0] as TY) + (w[2] as TY) / (2 as TY); }",
            "let mut counts = [0_u8; 8]; for it in ROW.iter() { let at = *it as usize % 8; counts[at] = counts[at].wrapping_add(1); } for (x, it) in ROW.iter_mut().enumerate() { *it = counts[x % 8] as TY; }",
            "for x in 1..ROW.len() { ROW[x] = ROW[x - 1]; }",
            "for x in 0..ROW.len().saturating_sub(1) { ROW[x] = ROW[x + 1]; }",
            "for x in 2..ROW.len() { if ROW[x] < ROW[x - 2] { ROW.swap(x, x - 2); } }",
            "for (it, k) in ROW.iter_mut().zip(1..) { if k % 4 == 3 { *it = V; } }",
            "let (mut t, mut k) = (1_u64, 0); while t < 5000 && k < 40 { t = t * 3 + s as u64; k += 1; } if !ROW.is_empty() { ROW[0] = k as TY; }",
        ];
        let form = one_of(&mut self.random, &forms);
        let parts: Vec<String> =
            form.split('V').map(|part| part.replace("ROW", name).replace("TY", ty)).collect();
        let text = parts.join(&value);
        self.line(format!("{{ {text} }}"));
    }

    /// Nested loops in which the outer one has more than one element, or none.
    fn nest(&mut self) {
        let target = self.target();
        let Target { name, ty } = target;
        let x = self.name("x");
        let index = (x.clone(), "usize");
        match self.random.usize(..5) {
            // A matrix product, in the order of its loops.
            0 => {
                let k = self.name("k");
                self.line(format!("for {k} in 0..m {{"));
                self.line(format!("let left = own.get({k}).copied().unwrap_or_default();"));
                self.line(format!("for ({x}, it) in {name}.iter_mut().enumerate() {{"));
                let read = (format!("q[{k} * n + {x}]"), self.types[1]);
                let value = self.value_within(
                    ty,
                    &[read, ("left".to_owned(), self.types[1]), ("*it".to_owned(), ty)],
                    2,
                );
                self.line(format!("*it = {value};"));
                self.line("}}");
            }
            1 | 2 => {
                self.line(format!("for {x} in 0..{name}.len() {{"));
                let first = self.nested(std::slice::from_ref(&index));
                let mut atoms = vec![index, first];
                if self.one_in(2) {
                    atoms.push(self.nested(&atoms.clone()));
                }
                let value = self.value(ty, &atoms);
                self.line(format!("{name}[{x}] = {value};"));
                self.line("}");
            }
            3 => {
                self.line(format!("for ({x}, it) in {name}.iter_mut().enumerate() {{"));
                let first = self.nested(std::slice::from_ref(&index));
                let mut atoms = vec![index, ("*it".to_owned(), ty), first];
                if self.one_in(2) {
                    atoms.push(self.nested(&atoms.clone()));
                }
                self.change("*it", ty, &atoms);
                self.line("}");
            }
            // Blocks of a row.
            _ => {
                self.line(format!("for ({x}, part) in {name}.chunks_mut(m).enumerate() {{"));
                let k = self.name("k");
                self.line(format!("for ({k}, it) in part.iter_mut().enumerate() {{"));
                let atoms = [index, (k, "usize"), ("*it".to_owned(), ty)];
                self.change("*it", ty, &atoms);
                self.line("}}");
            }
        }
    }

    /// Keeps what was computed.
    fn end(&mut self) {
        let results = self.results.clone();
        if self.has_total {
            for (name, _) in &results {
                self.line(format!("total.1 = total.1.rotate_left(7) ^ ({name} as u64);"));
            }
            let value = self.value(self.types[0], &[("total.0".to_owned(), self.types[0])]);
            self.line(format!("total.0 = {value};"));
        } else if !results.is_empty() {
            let value = self.value(self.types[0], &results);
            self.line(format!("if let Some(first) = row.first_mut() {{ *first = {value}; }}"));
        }
    }
}

/// The module of a nest.
fn nest(seed: u64, number: usize) -> String {
    let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let types = TYPES[random.usize(..TYPES.len())];
    let (pipeline, has_other, has_total) = PIPELINES[random.usize(..PIPELINES.len())];
    let count = random.usize(1..4);
    let mut body = Body {
        random,
        types,
        has_other,
        has_total,
        text: String::new(),
        results: Vec::new(),
        names: 0,
    };
    for _ in 0..count {
        match body.random.usize(..12) {
            0..4 => body.by_iterator(),
            4..7 => body.by_index(),
            7..9 => body.reduction(),
            9 | 10 => body.nest(),
            _ => body.other(),
        }
    }
    body.end();
    let [a, b] = types;
    let pipeline = pipeline
        .replace("NONE", "&mut []")
        .replace("NO_TOTAL", "&mut (0 as A, 0)")
        .replace("READS", "reads");
    format!(
        "mod n{number} {{\nuse super::*;\ntype A = {a};\ntype B = {b};\n\
         #[inline(always)]\nfn body(y: usize, row: &mut [A], other: &mut [B], total: &mut (A, u64), reads: &Reads<B>) {{\n\
         let Reads {{ n, m, s, b, q, lookup }} = *reads;\n\
         let own = &b[(y * n).min(b.len())..((y + 1) * n).min(b.len())];\n{text}}}\n\
         fn run(a: &mut [A], c: &mut [B], totals: &mut [(A, u64)], reads: &Reads<B>) {{\nlet n = reads.n;\n{pipeline};\n}}\n\
         pub fn check(case: &Case) -> Outcome {{ super::check(case, run, body) }}\n}}\n",
        text = body.text,
    )
}

/// A program with nests by their numbers.
#[must_use]
pub fn program(seed: u64, numbers: Range<usize>) -> String {
    let mut text = include_str!("random_rows/main.rs").to_owned();
    let mut table = String::new();
    for number in numbers {
        text += &nest(seed, number);
        let _ = write!(table, "({number}, n{number}::check), ");
    }
    let _ = writeln!(text, "static NESTS: &[(usize, fn(&Case) -> Outcome)] = &[{table}];");
    text
}
