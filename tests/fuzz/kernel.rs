//! A whole kernel: its types, functions and tables, what it captures, and how it is launched.

use super::generator::{Function, Generator, Trait, Var};
use super::groups::Groups;
use super::node::Node;
use super::stores;
use super::types::{Adt, AdtKind, Type, U64, USIZE};

/// A generated kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Its number under the run's seed.
    pub(crate) number: u64,
    /// The text of its module.
    pub(crate) source: Node,
    /// The structs and enums, for those who replace expressions.
    pub(crate) adts: Vec<Adt>,
}

/// The seed of a kernel: any two numbers give unrelated ones.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut x =
        seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_add(0x2545_F491_4F6C_DD1D);
    for _ in 0..2 {
        x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    }
    x ^ (x >> 31)
}

impl Kernel {
    /// The kernel with a number, under a seed: always the same.
    pub(crate) fn generate(seed: u64, number: u64) -> Self {
        let mut generator = Generator::new(mixed(seed, number));
        let source = generator.module(number);
        Self { number, source, adts: generator.adts }
    }
}

impl Generator {
    fn module(&mut self, number: u64) -> Node {
        let mut items = Vec::new();
        for _ in 0..self.rng.u32(..4) {
            items.push(self.adt());
        }
        for _ in 0..self.rng.u32(..3) {
            items.push(self.table());
        }
        if self.uses(32) {
            for _ in 0..self.rng.u32(..2) {
                items.push(self.trait_item());
            }
        }
        for _ in 0..self.rng.u32(..4) {
            items.push(self.function());
        }
        if self.uses(33) && self.chance(30) {
            items.push(self.recursive_function());
        }
        let launch = self.launch();
        Node::group(
            &format!("mod k{number} {{\nuse super::*;\n$pub fn run(h: &mut Harness) {{\n$}}\n}}\n"),
            [Node::Group(items), launch],
        )
    }

    fn adt(&mut self) -> Node {
        let name = format!("T{}", self.adts.len());
        let derive = "#[derive(Clone, Copy, PartialEq)]\n";
        if self.chance(55) {
            let packed = self.chance(12);
            let count = self.rng.usize(1..5);
            let fields: Vec<Type> = (0..count)
                .map(|_| if packed { self.random_prim() } else { self.random_type(1) })
                .collect();
            let representation = match self.rng.u32(..6) {
                _ if packed => "#[repr(C, packed)]\n",
                0 => "#[repr(C)]\n",
                1 => "#[repr(align(32))]\n",
                _ => "",
            };
            let list = |each: &dyn Fn(usize, &Type) -> String| -> String {
                fields.iter().enumerate().map(|(i, ty)| each(i, ty)).collect()
            };
            let declared = list(&|i, ty| format!("f{i}: {}, ", ty.name(&self.adts)));
            let digest = list(&|i, _| format!("{{ self.f{i} }}.digest(to); "));
            let make = list(&|i, _| format!("f{i}: Make::make(rng), "));
            let text = format!(
                "{derive}{representation}struct {name} {{ {declared}}}\n\
                 impl Digest for {name} {{ fn digest(&self, to: &mut Vec<u8>) {{ {digest}}} }}\n\
                 impl Make for {name} {{ fn make(rng: &mut Random) -> Self {{ {name} {{ {make}}} }} }}\n"
            );
            self.adts.push(Adt { name, kind: AdtKind::Struct { fields, packed } });
            return Node::part(&text, []);
        }
        let count = self.rng.usize(1..6);
        let variants: Vec<Vec<Type>> = (0..count)
            .map(|_| {
                let fields = self.rng.usize(..3);
                (0..fields).map(|_| self.random_type(1)).collect()
            })
            .collect();
        let representation =
            ["", "", "#[repr(u8)]\n", "#[repr(i64)]\n", "#[repr(C)]\n"][self.rng.usize(..5)];
        let (mut declared, mut digest, mut make) = (String::new(), String::new(), String::new());
        for (i, fields) in variants.iter().enumerate() {
            let types: Vec<String> = fields.iter().map(|ty| ty.name(&self.adts)).collect();
            let names: Vec<String> = (0..fields.len()).map(|i| format!("a{i}")).collect();
            let parenthesised = |inner: String| {
                if fields.is_empty() { inner } else { format!("({inner})") }
            };
            declared += &format!("V{i}{}, ", parenthesised(types.join(", ")));
            let digests: String = names.iter().map(|name| format!("{name}.digest(to); ")).collect();
            digest += &format!(
                "Self::V{i}{} => {{ to.push({i}); {digests}}}\n",
                parenthesised(names.join(", "))
            );
            let makes = vec!["Make::make(rng)"; fields.len()].join(", ");
            make += &format!("{i} => Self::V{i}{},\n", parenthesised(makes));
        }
        let text = format!(
            "{derive}{representation}enum {name} {{ {declared}}}\n\
             impl Digest for {name} {{ fn digest(&self, to: &mut Vec<u8>) {{ match self {{\n{digest}}} }} }}\n\
             impl Make for {name} {{ fn make(rng: &mut Random) -> Self {{ match rng.below({count}) {{\n{make}_ => unreachable!() }} }} }}\n"
        );
        self.adts.push(Adt { name, kind: AdtKind::Enum { variants } });
        Node::part(&text, [])
    }

    /// A constant or a static.
    fn table(&mut self) -> Node {
        let mut ty = self.random_type(1);
        if self.chance(60) {
            ty = Type::Array(Box::new(ty), self.rng.usize(2..9));
        }
        let keyword = ["const", "static"][self.rng.usize(..2)];
        let (name, value) = (self.fresh("S"), self.literal(&ty));
        let written = self.name_of(&ty);
        self.vars.push(Var { name: name.clone(), ty, mutable: false });
        Node::part(&format!("{keyword} {name}: {written} = $;\n"), [value])
    }

    /// The body of a function, and the list of its parameters.
    fn function_body(&mut self, parameters: &[Type], result: &Type, budget: i32) -> (String, Node) {
        self.budget = budget;
        let parameters: Vec<(String, Type)> =
            parameters.iter().map(|ty| (self.fresh("a"), ty.clone())).collect();
        let list: Vec<String> = parameters
            .iter()
            .map(|(name, ty)| format!("mut {name}: {}", self.name_of(ty)))
            .collect();
        let count = self.rng.u32(..4);
        let body = self.inside(result, |this| {
            for (name, ty) in &parameters {
                this.vars.push(Var { name: name.clone(), ty: ty.clone(), mutable: true });
            }
            this.body_of(result, count, 3)
        });
        (list.join(", "), body)
    }

    fn function(&mut self) -> Node {
        let count = self.rng.usize(..4);
        let parameters: Vec<Type> = (0..count).map(|_| self.random_type(1)).collect();
        let result = self.random_type(1);
        let (list, body) = self.function_body(&parameters, &result, 40);
        let name = self.fresh("f");
        let attribute =
            ["", "", "#[inline(never)]\n", "#[inline]\n", "#[cold]\n"][self.rng.usize(..5)];
        let written = self.name_of(&result);
        self.functions.push(Function { name: name.clone(), parameters, result });
        let template = format!(
            "{attribute}fn {name}({list}) -> {written} {{\nlet trace = &Cell::new(0);\n$\n}}\n"
        );
        Node::part(&template, [body])
    }

    fn recursive_function(&mut self) -> Node {
        let (argument, result) = (self.random_prim(), self.random_prim());
        self.budget = 25;
        let (name, x, inner) = (self.fresh("f"), self.fresh("a"), self.fresh("a"));
        let (base, next, value) = self.inside(&result, |this| {
            this.bind(&x, &argument);
            let (base, next) = (this.expr(&result, 2), this.expr(&argument, 2));
            this.bind(&inner, &result);
            (base, next, this.expr(&result, 3))
        });
        let (argument_name, result_name) = (self.name_of(&argument), self.name_of(&result));
        let most = self.rng.u32(1..12);
        let template = format!(
            "fn {name}(left: u8, {x}: {argument_name}) -> {result_name} {{\nlet trace = &Cell::new(0);\n\
             if left == 0 || left > {most} {{ return $; }}\nlet {inner} = {name}(left - 1, $);\n$\n}}\n"
        );
        self.functions.push(Function {
            name,
            parameters: vec![super::types::U8, argument],
            result,
        });
        Node::part(&template, [base, next, value])
    }

    fn trait_item(&mut self) -> Node {
        let name = self.fresh("Tr");
        let (parameter, result) = (self.random_prim(), self.random_prim());
        let (parameter_name, result_name) = (self.name_of(&parameter), self.name_of(&result));
        let mut implementors: Vec<Type> = Vec::new();
        let mut blocks = Vec::new();
        for _ in 0..self.rng.u32(1..4) {
            let ty = self.random_type(1);
            if implementors.contains(&ty) {
                continue;
            }
            self.budget = 12;
            let body = self.inside(&result, |this| {
                this.bind("(*self)", &ty);
                this.bind("x", &parameter);
                this.body_of(&result, 1, 2)
            });
            let written = self.name_of(&ty);
            blocks.push(Node::group(
                &format!(
                    "impl {name} for {written} {{ fn go(&self, x: {parameter_name}) -> {result_name} {{\nlet trace = &Cell::new(0);\n$\n}} }}\n"
                ),
                [body],
            ));
            implementors.push(ty);
        }
        self.traits.push(Trait { name: name.clone(), parameter, result, implementors });
        let head = format!(
            "trait {name} {{ fn go(&self, x: {parameter_name}) -> {result_name};\n\
             fn twice(&self, x: {parameter_name}) -> {result_name} {{ let _ = self.go(x); self.go(x) }} }}\n"
        );
        Node::part("$$", [Node::text(head), Node::Group(blocks)])
    }

    /// The host's data, the kernel's function, and its launch.
    fn launch(&mut self) -> Node {
        let form = self.rng.u32(..15).min(STORES);
        let groups = (GROUPS..STORES).contains(&form).then(|| Groups::random(self));
        if form == STORES {
            self.risk = self.risk.max(4);
        }
        let mut captures = Vec::new();
        for _ in 0..self.rng.u32(..6) {
            let mut ty = self.random_type(2);
            if self.chance(5) {
                ty = Type::Array(Box::new(ty), 40);
            }
            captures.push((self.fresh("c"), ty));
        }
        let (element, table) = (self.random_type(1), self.random_type(1));
        let result = if self.chance(60) {
            let count = self.rng.usize(2..5);
            Type::Tuple((0..count).map(|_| self.random_type(1)).collect())
        } else {
            self.random_type(2)
        };
        let result = if form == ATOMIC { U64 } else { result };
        // In place: what comes in is of the type of what goes out.
        let element =
            if form == IN_PLACE { Type::Tuple(vec![result.clone(), U64]) } else { element };
        let size = [1, 2, 5, 16, 33, 64, 70][self.rng.usize(..7)];
        let range: [usize; 3] = match form {
            _ if groups.is_some() => groups.map_or([1; 3], |groups| groups.range()),
            2 | 9 => [self.rng.usize(1..12), self.rng.usize(1..9), 1],
            3 => [self.rng.usize(1..6), self.rng.usize(1..5), self.rng.usize(1..5)],
            _ if self.chance(2) => [0, 1, 1],
            _ => [size, 1, 1],
        };
        let table_size = self.rng.usize(..20);
        self.budget = 110;
        let count = self.rng.u32(1..8);
        // A specialization constant, and whether the launch replaces it.
        let constant = (self.uses(34) && self.chance(40)).then(|| self.random_type(1));
        let replaced = self.chance(70);
        let body = self.inside(&result, |this| {
            if let Some(ty) = &constant {
                this.bind("sc", ty);
            }
            for (name, ty) in &captures {
                this.bind(name, ty);
            }
            this.bind("i", &USIZE);
            this.bind("id", &Type::Array(Box::new(USIZE), 3));
            this.bind("e", &element);
            this.bind("v", &Type::Slice(Box::new(table.clone())));
            this.memory = form == STORES;
            let body = this.body_of(&result, count + if this.memory { 3 } else { 0 }, 4);
            this.memory = false;
            body
        });
        let names = [self.name_of(&element), self.name_of(&table), self.name_of(&result)];
        let [element, table, result] = names;
        let made: String = captures
            .iter()
            .enumerate()
            .map(|(i, (name, ty))| {
                let seed = self.rng.u32(..) ^ i as u32;
                let ty = ty.name(&self.adts);
                format!("let {name}: {ty} = make_one({seed});\n")
            })
            .collect();
        let n = range[0] * range[1] * range[2];
        let (seed, filler) = (self.rng.u32(..), self.rng.u32(..));
        let [x, y, z] = range;
        let declared = constant.as_ref().map(|ty| {
            let default = ty.literal(&self.adts, &mut self.rng, false);
            let ty = ty.name(&self.adts);
            let value = if replaced { format!("make_one({filler})") } else { "SC.get()".to_owned() };
            (ty.clone(), format!("static SC: SpecConst<{ty}> = SpecConst::new({default});\nlet sc: {ty} = {value};\n"))
        });
        let (parameter, declared) = match declared {
            Some((ty, declared)) => (format!("sc: {ty}, "), declared),
            None => (String::new(), String::new()),
        };
        let head = format!(
            "let (n, range) = ({n}_usize, [{x}_usize, {y}, {z}]);\n\
             let es: Vec<{element}> = make_all({seed}, n);\n\
             let vs: Vec<{table}> = make_all({filler}, {table_size});\n{declared}{made}"
        );
        let memory = if form == STORES { ", mem: &mut [u64]" } else { "" };
        let function = Node::group(
            &format!(
                "let f = move |{parameter}i: usize, id: [usize; 3], e: {element}, v: &[{table}]{memory}| -> ({result}, u64) {{\n\
                 let trace = &Cell::new(0);\nlet r = (|| -> {result} {{\n$\n}})();\n(r, trace.get())\n}};\n"
            ),
            [body],
        );
        let (more, mut launch) = match groups {
            Some(groups) => self.group_launch(groups, &captures, &result),
            None => (Node::text(""), launch_form(form, &result, filler)),
        };
        if constant.is_some() {
            launch = with_constant(&launch, replaced);
        }
        Node::group(&format!("{head}$$$"), [function, more, Node::text(launch)])
    }
}

/// A launch of a function that takes a specialization constant's value first.
fn with_constant(launch: &str, replaced: bool) -> String {
    let begin = "h.compare(&mut |queue| {\n";
    let Some((host, device)) = launch.split_once(begin) else { return launch.to_owned() };
    let calls = |text: &str, value: &str| {
        ["f(i, ", "f(item.linear_id(), "].iter().fold(text.to_owned(), |text, call| {
            text.replace(call, &call.replace("f(", &format!("f({value}, ")))
        })
    };
    let with = if replaced { "let queue = &queue.with_constant(&SC, sc);\n" } else { "" };
    format!("{}{begin}{with}{}", calls(host, "sc"), calls(device, "SC.get()"))
}

/// Forms of launches that say something about types.
const ATOMIC: u32 = 5;
const IN_PLACE: u32 = 6;
/// This one, and the one above.
const GROUPS: u32 = 11;
/// Work-items store to memory while they compute.
const STORES: u32 = 13;

/// The end of a kernel's `run`: the host's results, then a launch.
fn launch_form(form: u32, result: &str, filler: u32) -> String {
    let row = 1 + filler as usize % 5;
    let bins = 1 + filler as usize % 7;
    let item = "[item.x(), item.y(), item.z()]";
    let oracle = "h.expect(range, &mut |i, id, to| f(i, id, es[i], &vs).digest(to));\n";
    let inputs =
        "let (eb, vb) = (Buffer::from_slice(queue, &es)?, Buffer::from_slice(queue, &vs)?);\n";
    let out = format!(
        "let mut out = Buffer::filled(queue, n, make_one::<({result}, u64)>({filler}))?;\n"
    );
    let (oracle, launch) = match form {
        0 => (
            oracle.to_owned(),
            format!(
                "{inputs}{out}let status = queue.for_each((0.., &mut out, &eb, whole(&vb)), move |(i, o, e, v)| *o = f(i, [i, 0, 0], *e, v));\n\
                 Ok((status, digests(&out.to_vec())))"
            ),
        ),
        1 => (
            oracle.to_owned(),
            format!(
                "{inputs}{out}let (ev, vv, to) = (eb.view(), vb.view(), out.view_mut());\n\
                 let status = queue.parallel_for(n, move |item| {{ let i = item.x(); let r = f(i, [i, 0, 0], ev[i], &vv);\n\
                 unsafe {{ to.set_unchecked(i, r) }} }});\nOk((status, digests(&out.to_vec())))"
            ),
        ),
        2 => (
            oracle.to_owned(),
            format!(
                "{inputs}{out}let vv = vb.view();\n\
                 let status = queue.for_each_in([range[1], range[0]], (&mut out, &eb), move |item, (o, e)| *o = f(item.linear_id(), {item}, *e, &vv));\n\
                 Ok((status, digests(&out.to_vec())))"
            ),
        ),
        3 => (
            oracle.to_owned(),
            format!(
                "{inputs}{out}let (ev, vv, to) = (eb.view(), vb.view(), out.view_mut());\n\
                 let status = queue.parallel_for([range[2], range[1], range[0]], move |item| {{ let i = item.linear_id();\n\
                 let r = f(i, {item}, ev[i], &vv); unsafe {{ to.set_unchecked(i, r) }} }});\nOk((status, digests(&out.to_vec())))"
            ),
        ),
        4 => (
            format!("h.chunks({row});\n{oracle}"),
            format!(
                "{inputs}{out}let vv = vb.view();\n\
                 let status = queue.for_each((0.., out.chunks_mut({row}), eb.chunks({row})), move |(c, os, es)| {{\n\
                 for (j, (o, e)) in os.iter_mut().zip(es).enumerate() {{ let i = c * {row} + j; *o = f(i, [i, 0, 0], *e, &vv); }} }});\n\
                 Ok((status, digests(&out.to_vec())))"
            ),
        ),
        ATOMIC => {
            let (method, host) = [
                ("fetch_add", "old.wrapping_add(with)"),
                ("fetch_xor", "old ^ with"),
                ("fetch_max", "old.max(with)"),
                ("fetch_min", "old.min(with)"),
            ][filler as usize % 4];
            let integer = ["u32", "u64", "i32", "i64", "u8", "i16"][filler as usize % 6];
            (
                format!(
                    "let mut bins = vec![0_{integer}; {bins}];\n\
                     h.expect(range, &mut |i, id, to| {{ let r = f(i, id, es[i], &vs); let at = (r.1 as usize ^ i) % {bins};\n\
                     let (old, with) = (bins[at], r.0 as {integer}); bins[at] = {host}; r.digest(to) }});\nh.outputs(digests(&bins));\n"
                ),
                format!(
                    "{inputs}let mut out = Buffer::filled(queue, {bins}, 0_{integer})?;\n\
                     let (ev, vv, to) = (eb.view(), vb.view(), out.atomic_view());\n\
                     let status = queue.parallel_for(n, move |item| {{ let i = item.x(); let r = f(i, [i, 0, 0], ev[i], &vv);\n\
                     to[(r.1 as usize ^ i) % {bins}].{method}(r.0 as {integer}, Relaxed); }});\n\
                     Ok((status, digests(&out.to_vec())))"
                ),
            )
        }
        IN_PLACE => (
            oracle.to_owned(),
            "let mut out = Buffer::from_slice(queue, &es)?;\nlet vb = Buffer::from_slice(queue, &vs)?;\n\
             let status = queue.for_each((&mut out, 0.., whole(&vb)), move |(x, i, v)| *x = f(i, [i, 0, 0], *x, v));\n\
             Ok((status, digests(&out.to_vec())))"
                .to_owned(),
        ),
        7 => (
            oracle.to_owned(),
            format!(
                "{inputs}let mut first = Buffer::filled(queue, n, make_one::<{result}>({filler}))?;\n\
                 let mut second = Buffer::filled(queue, n, 0_u64)?;\nlet vv = vb.slice(..)?;\n\
                 let status = queue.for_each((&mut first, &mut second, eb.view(), 0..n), move |(a, b, e, i)| (*a, *b) = f(i, [i, 0, 0], *e, &vv));\n\
                 let both: Vec<_> = first.to_vec().into_iter().zip(second.to_vec()).collect();\n\
                 Ok((status, digests(&both)))"
            ),
        ),
        9 => (
            format!("h.begin_at([{bins}, {row}, 0]);\n{oracle}"),
            format!(
                "{inputs}{out}let vv = vb.view();\n\
                 let status = queue.for_each_in([{row}..{row} + range[1], {bins}..{bins} + range[0]], (&mut out, &eb), move |item, (o, e)| *o = f(item.linear_id(), {item}, *e, &vv));\n\
                 Ok((status, digests(&out.to_vec())))"
            ),
        ),
        10 => (
            format!("h.begin_at([{filler}, 0, 0]);\n{oracle}"),
            format!(
                "{inputs}{out}let (ev, vv, to) = (eb.view(), vb.view(), out.view_mut());\n\
                 let status = queue.parallel_for({filler}..{filler} + n, move |item| {{ let i = item.x() - item.offset()[0];\n\
                 let r = f(i, {item}, ev[i], &vv); unsafe {{ to.set_unchecked(i, r) }} }});\nOk((status, digests(&out.to_vec())))"
            ),
        ),
        STORES => {
            let words = stores::LEN;
            (
                format!(
                    "h.expect(range, &mut |i, id, to| {{ let mut mem = [{filler}_u64; {words}];\n\
                     let r = catch_unwind(AssertUnwindSafe(|| f(i, id, es[i], &vs, &mut mem)));\n\
                     match r {{\nOk(r) => {{ r.digest(to); mem.digest(to) }}\n\
                     Err(e) => {{ make_one::<({result}, u64)>({filler}).digest(to); mem.digest(to); resume_unwind(e) }}\n}} }});\n"
                ),
                format!(
                    "{inputs}{out}let mut memory = Buffer::filled(queue, n, [{filler}_u64; {words}])?;\n\
                     let status = queue.for_each((0.., &mut out, &mut memory, &eb, whole(&vb)), move |(i, o, m, e, v)| *o = f(i, [i, 0, 0], *e, v, m));\n\
                     let all: Vec<_> = out.to_vec().into_iter().zip(memory.to_vec()).collect();\nOk((status, digests(&all)))"
                ),
            )
        }
        _ => (
            oracle.to_owned(),
            format!(
                "{inputs}{out}let mut status = Ok(());\n\
                 queue.scope(|scope| {{ let mut out = scope.lend(&mut out);\n\
                 let event = scope.for_each((&mut out, &eb, 0.., whole(&vb)), move |(o, e, i, v)| *o = f(i, [i, 0, 0], *e, v))?;\n\
                 status = event.wait(); Ok(()) }}).ok();\n\
                 Ok((status, digests(&out.to_vec())))"
            ),
        ),
    };
    format!("{oracle}h.compare(&mut |queue| {{\n{launch}\n}});\n")
}
