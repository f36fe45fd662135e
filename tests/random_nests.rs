//! Random loops with directives, and the program that compares them with the same loops without.
//!
//! A nest is a function twice, once with `#[acc]` and its directives. It changes two arrays and
//! returns two numbers. Bounds and strides come from the program: they are random there, too.

use std::fmt::Write;

use fastrand::Rng;

/// Types of elements.
const TYPES: [&str; 6] = ["i64", "u32", "f32", "f64", "u8", "i16"];

/// A loop of a nest.
struct Loop {
    name: &'static str,
    /// What it goes through, over numbers below `m0`, `m1` or `m2`.
    range: String,
    /// It as an index.
    index: String,
}

fn one_of<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

fn range(random: &mut Rng, number: usize) -> Loop {
    let name = ["i", "j", "l"][number];
    let counter = one_of(random, &["usize", "usize", "usize", "i32", "u32", "i64", "u8"]);
    let bound = match counter {
        "usize" => format!("m{number}"),
        other => format!("m{number} as {other}"),
    };
    let begin = match counter {
        "usize" => random.usize(..2).to_string(),
        other => format!("{}_{other}", random.usize(..2)),
    };
    let range = match random.usize(..9) {
        0 => format!("{begin}..={bound} - 1"),
        1 => format!("({begin}..{bound}).rev()"),
        2 => format!("({begin}..{bound}).step_by(s)"),
        // Ranges of `i64` have no exact size.
        3 if counter != "i64" => format!("({begin}..{bound}).step_by(2).rev()"),
        4 => format!("({begin}..{bound}).rev().step_by(s)"),
        _ => format!("{begin}..{bound}"),
    };
    let index = if counter == "usize" { name.to_owned() } else { format!("({name} as usize)") };
    Loop { name, range, index }
}

/// A number below 251 that depends on everything, as a type.
fn value(random: &mut Rng, loops: &[Loop], inner: &str, ty: &str) -> String {
    let mut sum = random.usize(..100).to_string();
    for own in loops {
        let _ = write!(sum, " + {} * {}", own.index, random.usize(1..20));
    }
    if !inner.is_empty() {
        let _ = write!(sum, " + {inner} * 3");
    }
    match random.usize(..3) {
        0 => {
            let place = random.usize(1..50);
            sum = format!("{sum} + x[({sum} + {place}) % x.len()] as usize");
        }
        1 => sum += " + r",
        _ => {}
    }
    // Small, so that sums of all types are exact.
    format!("((({sum}) % 61) as {ty})")
}

/// What is done to an element.
fn change(random: &mut Rng, element: &str, value: &str, ty: &str) -> String {
    match random.usize(..4) {
        0 => format!("{element} = {value};"),
        1 => format!("{element} = {value} + {element} / (2 as {ty});"),
        2 => format!("if {element} > (9 as {ty}) {{ {element} = {value}; }}"),
        _ => format!("{element} = {element} / (3 as {ty}) + {value};"),
    }
}

/// A nest over ranges, by its body; the line that begins with `@` is the directive.
fn of_ranges(random: &mut Rng, types: [&str; 2]) -> String {
    let depth = random.usize(1..4);
    let loops: Vec<Loop> = (0..depth).map(|number| range(random, number)).collect();
    let mut body = String::new();
    // How wide an iteration's part of a lane is, and how many lanes there are.
    let (width, lanes) = (random.usize(1..4), random.usize(1..4));
    let mut order: Vec<usize> = (0..depth).collect();
    random.shuffle(&mut order);
    // From the innermost in memory to the outermost, each stride is what all before it take.
    let is_proper = random.usize(..8) > 0;
    let is_within = width > 1 && random.usize(..3) == 0;
    let has_planes = !is_within && random.usize(..4) == 0;
    let lanes_are_inside = random.bool() && !is_within;
    let _ =
        writeln!(body, "let lane = {};", if lanes_are_inside { "w" } else { "w * m0 * m1 * m2" });
    let mut stride = if lanes_are_inside { format!("w * {lanes}") } else { "w".to_owned() };
    let mut strides = vec![String::new(); depth];
    for (number, own) in order.iter().enumerate() {
        let name = format!("s{own}");
        let wrong = number == 0 && !is_proper;
        let _ = writeln!(body, "let {name} = {};", if wrong { "s" } else { &stride });
        stride = format!("{name} * m{own}");
        strides[*own] = name;
    }
    let terms: Vec<String> = loops
        .iter()
        .zip(&strides)
        .map(|(own, stride)| format!("{} * {stride}", own.index))
        .collect();
    let is_kernels = random.usize(..4) == 0 && (is_proper || !(is_within || has_planes));
    let reductions = reductions(random);
    let collapse = if is_proper && !is_kernels { depth } else { random.usize(1..=depth) };
    // What only an inner loop counts is checked as it is accessed.
    let collapse = if reductions.is_empty() { collapse } else { depth };
    let (kind, clauses) = (if is_kernels { "kernels" } else { "parallel" }, reductions.clauses());
    let _ = writeln!(body, "@{kind}, loop, collapse({collapse}){clauses}");
    for own in &loops {
        let _ = writeln!(body, "for {} in {} {{", own.name, own.range);
    }
    if random.usize(..4) == 0 {
        let own = &loops[random.usize(..depth)].index;
        let _ = writeln!(body, "if {own} % 3 == 1 {{ continue; }}");
    }
    let at = terms.join(" + ");
    let is_let = random.bool();
    let at = if is_let {
        let _ = writeln!(body, "let at = {at};");
        "at".to_owned()
    } else {
        at
    };
    let _ = writeln!(body, "let r = {} % 7;", loops[0].index);
    let _ = writeln!(body, "let _ = r;");
    for _ in 0..random.usize(1..5) {
        let (name, ty) = [("a", types[0]), ("b", types[1])][random.usize(..2)];
        let lane = match random.usize(..lanes) {
            0 => String::new(),
            1 => " + lane".to_owned(),
            lane => format!(" + {lane} * lane"),
        };
        let statement = if has_planes {
            let place = random.usize(..width);
            let value = value(random, &loops, "t", ty);
            let element = format!("{name}[{at} + t * lane + {place}]");
            format!("for t in 0..{lanes} {{ {} }}", change(random, &element, &value, ty))
        } else if is_within {
            let value = value(random, &loops, "t", ty);
            let change = change(random, &format!("{name}[{at}{lane} + t]"), &value, ty);
            format!("for t in 0..w {{ {change} }}")
        } else {
            let place = random.usize(..width);
            let value = value(random, &loops, "", ty);
            change(random, &format!("{name}[{at}{lane} + {place}]"), &value, ty)
        };
        let own = &loops[random.usize(..depth)].index;
        let _ = match random.usize(..3) {
            0 => writeln!(body, "if {own} % 2 == 0 {{ {statement} }}"),
            1 => writeln!(body, "match {own} % 3 {{ 0 => {{}} _ => {{ {statement} }} }}"),
            _ => writeln!(body, "{statement}"),
        };
    }
    for (variable, statement) in &reductions.0 {
        let ty = if *variable == "u" { "u64" } else { "i64" };
        let value = value(random, &loops, "", ty);
        let _ = writeln!(body, "{}", statement.replace("VALUE", &value));
    }
    body.push_str(&"}\n".repeat(depth));
    body.insert_str(0, &format!("let w = {width};\n"));
    body
}

/// Variables and what is done to them.
struct Reductions(Vec<(&'static str, &'static str)>);

fn reductions(random: &mut Rng) -> Reductions {
    const OF: [&str; 8] = [
        "v += VALUE;",
        "v = v.max(VALUE);",
        "v = v.min(0 - VALUE);",
        "v = v.wrapping_mul(VALUE | 1);",
        "u ^= VALUE << 3;",
        "u |= VALUE;",
        "u &= !(VALUE << 8);",
        "u += VALUE;",
    ];
    let mut all = Vec::new();
    for (variable, from) in [("v", 0), ("u", 4)] {
        if random.usize(..3) == 0 {
            all.push((variable, OF[from + random.usize(..4)]));
        }
    }
    Reductions(all)
}

impl Reductions {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn clauses(&self) -> String {
        let operator = |statement: &str| match statement {
            own if own.contains("max") => "max",
            own if own.contains("min") => "min",
            own if own.contains("mul") => "*",
            own if own.contains('^') => "^",
            own if own.contains('|') => "|",
            own if own.contains("&=") => "&",
            _ => "+",
        };
        let clause = |(variable, statement): &(&str, &str)| {
            format!(", reduction({}: {variable})", operator(statement))
        };
        self.0.iter().map(clause).collect()
    }
}

/// A nest over elements.
fn of_elements(random: &mut Rng, types: [&str; 2]) -> String {
    let [ta, tb] = types;
    let (take, chunk) = (random.usize(..9), random.usize(1..6));
    let loops = [Loop { name: "i", range: String::new(), index: "i".to_owned() }];
    let value = |random: &mut Rng, inner: &str, ty: &str| value(random, &loops, inner, ty);
    let head = "@parallel, loop\n";
    match random.usize(..7) {
        0 => {
            let value = value(random, "", ta);
            format!(
                "let r = 3;\n{head}for (i, own) in a.iter_mut().enumerate() {{ *own = {value}; }}\nlet _ = r;\n"
            )
        }
        1 => format!("{head}for (own, x) in a.iter_mut().zip(x) {{ *own = (*x % 50) as {ta}; }}\n"),
        2 => {
            let value = value(random, "t", tb);
            let change = change(random, "*own", &value, tb);
            format!(
                "let r = m0;\n{head}for (i, row) in b[..m1 * m2 * 5].chunks_mut({chunk}).enumerate() {{ for (t, own) in row.iter_mut().enumerate() {{ {change} }} }}\nlet _ = r;\n"
            )
        }
        3 => format!(
            "{head}for (own, other) in a[..m0 * m1].iter_mut().zip(&mut b[{take}..]) {{ *own = (*other % (9 as {tb})) as {ta}; *other = (m2 + {take}) as {tb}; }}\n"
        ),
        4 => {
            let value = value(random, "", ta);
            format!(
                "let r = m1;\n{head}for (i, own) in ({take}..{take} + m0).zip(a.iter_mut()) {{ *own = {value}; }}\nlet _ = r;\n"
            )
        }
        5 => format!(
            "{head}for (row, part) in a.chunks_mut({chunk}).zip(x.chunks({chunk})) {{ for (own, x) in row.iter_mut().zip(part) {{ *own = (*x % 40) as {ta}; }} }}\n"
        ),
        _ => "@parallel, loop, reduction(+: u)\nfor (i, own) in b.iter().enumerate() { u += (*own as u64 + i as u64) % 17; }\n"
            .to_owned(),
    }
}

/// The module of a nest.
fn nest(seed: u64, number: usize) -> String {
    let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let types = [one_of(&mut random, &TYPES), one_of(&mut random, &TYPES)];
    let body = match random.usize(..5) {
        0 => of_elements(&mut random, types),
        _ => of_ranges(&mut random, types),
    };
    let [ta, tb] = types;
    let function = |name: &str, body: &str| {
        format!(
            "pub fn {name}(a: &mut [{ta}], b: &mut [{tb}], x: &[u16], [m0, m1, m2, s]: [usize; 4]) -> (i64, u64) {{\nlet (mut v, mut u) = (1_i64, 7_u64);\n{body}(v, u)\n}}\n"
        )
    };
    let lines = |directive: &dyn Fn(&str) -> String| -> String {
        let line =
            |line: &str| line.strip_prefix('@').map_or_else(|| format!("{line}\n"), directive);
        body.lines().map(line).collect()
    };
    let with = lines(&|clauses| format!("#[acc({clauses})]\n"));
    let plain = lines(&|_| String::new());
    format!(
        "mod n{number} {{\nuse schism::directives::acc;\n#[acc]\n{}{}pub fn check(random: &mut crate::Random) -> crate::Outcome {{ crate::check(random, with, plain) }}\n}}\n",
        function("with", &with),
        function("plain", &plain),
    )
}

/// What the program has besides nests.
const MAIN: &str = r#"
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

pub enum Outcome {
    Same,
    Refused,
    Wrong(String),
}

pub trait Number: Copy + PartialEq + std::fmt::Debug {
    fn of(number: u8) -> Self;
}
macro_rules! numbers { ($($ty:ty)*) => { $(impl Number for $ty { fn of(number: u8) -> Self { number as $ty } })* }; }
numbers!(i64 u32 f32 f64 u8 i16);

type Nest<A, B> = fn(&mut [A], &mut [B], &[u16], [usize; 4]) -> (i64, u64);

pub fn check<A: Number, B: Number>(random: &mut Random, with: Nest<A, B>, plain: Nest<A, B>) -> Outcome {
    let mut sizes = [0; 4].map(|_: i32| 1 + random.below(7));
    if random.below(6) == 0 {
        sizes[random.below(3)] = 12;
    }
    let a: Vec<A> = (0..8000).map(|_| A::of(random.below(40) as u8)).collect();
    let b: Vec<B> = (0..8000).map(|_| B::of(random.below(40) as u8)).collect();
    let x: Vec<u16> = (0..500).map(|_| random.below(60_000) as u16).collect();
    let (mut a_plain, mut b_plain) = (a.clone(), b.clone());
    let expected = plain(&mut a_plain, &mut b_plain, &x, sizes);
    let (mut a_with, mut b_with) = (a.clone(), b.clone());
    let call = std::panic::AssertUnwindSafe(|| with(&mut a_with, &mut b_with, &x, sizes));
    match std::panic::catch_unwind(call) {
        Ok(found) if found == expected && a_with == a_plain && b_with == b_plain => Outcome::Same,
        Ok(found) => {
            let place = |of: bool| if of { "the same" } else { "different" };
            let arrays = (place(a_with == a_plain), place(b_with == b_plain));
            let first = a_with.iter().zip(&a_plain).position(|(with, plain)| with != plain);
            Outcome::Wrong(format!("{sizes:?}: {found:?}, not {expected:?}; arrays {arrays:?}, first {first:?}"))
        }
        Err(payload) => {
            let text = payload.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text);
            let is_refused = text.contains("two iterations may access the same element");
            // Nothing has run then.
            if is_refused && a_with == a && b_with == b { return Outcome::Refused; }
            // Rows of an inner loop that are too short for it.
            if text.contains("another may access the one") { return Outcome::Refused; }
            Outcome::Wrong(format!("{sizes:?}: {text}"))
        }
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let devices: Vec<String> = std::env::args().skip(1).collect();
    let (mut all, mut refused, mut wrong) = (0, 0, 0);
    for name in &devices {
        let device = schism::Device::by_name(name).expect("a device");
        let queue = schism::Queue::on(&device).expect("a queue");
        schism::directives::with_queue(&queue, || {
            let mut random = Random(1);
            for (number, nest) in NESTS {
                for _ in 0..3 {
                    all += 1;
                    match nest(&mut random) {
                        Outcome::Same => {}
                        Outcome::Refused => refused += 1,
                        Outcome::Wrong(text) => {
                            println!("nest {number} on {name}: {text}");
                            wrong += 1;
                        }
                    }
                }
            }
        });
    }
    println!("{all} runs, {refused} refused, {wrong} wrong");
}
"#;

/// A program with nests by their numbers.
#[must_use]
pub fn program(seed: u64, numbers: std::ops::Range<usize>) -> String {
    let mut text = "#![allow(warnings)]\n".to_owned();
    let mut table = String::new();
    for number in numbers {
        text += &nest(seed, number);
        let _ = write!(table, "({number}, n{number}::check), ");
    }
    let _ =
        write!(text, "static NESTS: &[(usize, fn(&mut Random) -> Outcome)] = &[{table}];\n{MAIN}");
    text
}

/// One nest of a program, to read.
#[must_use]
pub fn source(seed: u64, number: usize) -> String {
    nest(seed, number)
}
