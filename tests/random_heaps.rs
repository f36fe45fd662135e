//! Random pipelines of rayon whose closures allocate: vectors of vectors, boxes, strings, counted references; what
//! they collect owns memory, and the host changes it and drops it, and gives it to the next pipeline. Some change slices.
//!
//! A pipeline is a function that returns what it has computed as text. A program prints the text of each, so it
//! says the same by plain rustc.

use std::fmt::Write;
use std::ops::Range;

use fastrand::Rng;

/// What every program begins with.
const PRELUDE: &str = r#"
#![allow(unused)]
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

static DROPS: AtomicUsize = AtomicUsize::new(0);

/// Counts its drops, where the host drops it.
struct Counted(Box<u64>);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPS.fetch_add(*self.0 as usize % 7 + 1, Ordering::Relaxed);
    }
}

/// What pipelines share.
struct Shared {
    numbers: Vec<u32>,
    words: Vec<String>,
    rows: Vec<Vec<u32>>,
}

fn shared() -> Shared {
    let numbers: Vec<u32> = (0..600_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let words = numbers.iter().map(|n| format!("{n:x}-{}", n % 97)).collect();
    let rows = (0..500).map(|i| numbers[i..i + i % 23].to_vec()).collect();
    Shared { numbers, words, rows }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned(u64);
"#;

/// A closure's body under construction.
struct Body<'r> {
    random: &'r mut Rng,
    text: String,
    /// Vectors, strings and numbers that are there.
    vectors: Vec<String>,
    strings: Vec<String>,
    numbers: Vec<String>,
    next: usize,
}

impl Body<'_> {
    fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    fn number(&mut self) -> String {
        let known = self.numbers[self.random.usize(..self.numbers.len())].clone();
        match self.random.usize(..4) {
            0 => format!(
                "{known}.wrapping_mul({}) ^ {}",
                self.random.u32(1..99),
                self.random.u32(..1000)
            ),
            1 => format!(
                "{known}.wrapping_add({}) % {}",
                self.random.u32(..99),
                self.random.u32(2..500)
            ),
            _ => known,
        }
    }

    fn vector(&mut self) -> Option<String> {
        let count = self.vectors.len();
        (count > 0).then(|| self.vectors[self.random.usize(..count)].clone())
    }

    fn string(&mut self) -> Option<String> {
        let count = self.strings.len();
        (count > 0).then(|| self.strings[self.random.usize(..count)].clone())
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "        {text}");
    }

    /// A new vector.
    fn make_vector(&mut self) {
        let (name, number, least) = (self.name("v"), self.number(), self.random.u32(1..40));
        let of = format!("({number}) % {least}");
        let text = match self.random.usize(..7) {
            0 => format!(
                "let mut {name} = Vec::new(); for i in 0..{of} {{ {name}.push(i ^ {number}); }}"
            ),
            1 => format!("let mut {name} = vec![{number}; ({of}) as usize];"),
            2 => format!(
                "let mut {name}: Vec<u32> = Vec::with_capacity(({of}) as usize + 1); {name}.push({number});"
            ),
            3 => format!(
                "let mut {name}: Vec<u32> = (0..{of}).map(|i| i.wrapping_mul({number})).collect();"
            ),
            4 => format!(
                "let mut {name}: Vec<u32> = (0..{of}).filter(|i| (i ^ ({number})) % 3 != 0).collect();"
            ),
            5 => match self.vector() {
                Some(other) => format!("let mut {name} = {other}.clone();"),
                None => format!("let mut {name} = vec![0_u32; {least}];"),
            },
            _ => format!(
                "let mut {name} = vec![0_u32; {least}]; {name}[({of}) as usize] = {number};"
            ),
        };
        self.line(&text);
        self.vectors.push(name);
    }

    fn make_string(&mut self) {
        let (name, number) = (self.name("s"), self.number());
        let text = match self.random.usize(..4) {
            0 => format!(
                "let mut {name} = String::new(); for i in 0..({number}) % 19 {{ {name}.push((b'a' + (i % 26) as u8) as char); }}"
            ),
            1 => format!(
                "let mut {name} = String::from(\"süß\"); {name}.push((b'A' + (({number}) % 26) as u8) as char);"
            ),
            2 => match self.string() {
                Some(other) => format!("let mut {name}: String = {other}.chars().rev().collect();"),
                None => {
                    format!("let mut {name} = String::with_capacity(({number}) as usize % 100);")
                }
            },
            _ => match self.string() {
                Some(other) => {
                    format!("let mut {name} = {other}.clone(); {name}.push_str(\"xyz\");")
                }
                None => format!("let mut {name} = \"ab\".repeat((({number}) % 9) as usize);"),
            },
        };
        self.line(&text);
        self.strings.push(name);
    }

    fn statement(&mut self) {
        let number = self.number();
        match self.random.usize(..15) {
            0..=2 => self.make_vector(),
            3 => self.make_string(),
            4 => {
                let name = self.name("b");
                let text = match self.random.usize(..4) {
                    0 => format!("let {name} = *Box::new({number});"),
                    1 => format!(
                        "let {name} = Box::new([{number}; 9]); let {name} = {name}[(({number}) % 9) as usize];"
                    ),
                    2 => format!(
                        "let {name} = Box::new(Aligned(u64::from({number}))); let {name} = (({name}.0 + (&raw const *{name}).addr() as u64 % 64) % 1000) as u32;"
                    ),
                    _ => format!(
                        "let {name} = Some(Box::new({number})).filter(|it| **it % 2 == 0); let {name} = {name}.map_or(5, |it| *it);"
                    ),
                };
                self.line(&text);
                self.numbers.push(name);
            }
            5 => {
                let (rows, sum, least) = (self.name("n"), self.name("m"), self.random.u32(1..9));
                self.line(&format!("let mut {rows}: Vec<Vec<u32>> = Vec::new(); for i in 0..({number}) % {least} {{ {rows}.push(vec![i; (i % 5) as usize]); }}"));
                if let Some(vector) = self.vector() {
                    self.line(&format!("{rows}.push({vector}.clone());"));
                }
                self.line(&format!("let {sum} = {rows}.iter().map(|row| row.iter().fold(row.len() as u32, |a, b| a.wrapping_mul(31).wrapping_add(*b))).fold(0_u32, u32::wrapping_add);"));
                self.numbers.push(sum);
            }
            6 => {
                let (queue, front) = (self.name("q"), self.name("f"));
                self.line(&format!("let mut {queue} = VecDeque::new(); for i in 0..({number}) % 21 {{ {queue}.push_back(i); if i % 3 == 0 {{ {queue}.pop_front(); }} }}"));
                self.line(&format!(
                    "let {front} = {queue}.iter().fold(1_u32, |a, b| a.wrapping_mul(7) ^ *b);"
                ));
                self.numbers.push(front);
            }
            7 => {
                if let Some(vector) = self.vector() {
                    let (one, len) = (self.name("r"), self.name("l"));
                    self.line(&format!("let {one} = Rc::new({vector}.clone()); let {len} = {{ let other = Rc::clone(&{one}); (other.len() + Rc::strong_count(&{one})) as u32 }};"));
                    self.numbers.push(len);
                }
            }
            8 => {
                if let Some(string) = self.string() {
                    let name = self.name("h");
                    self.line(&format!("let {name} = {string}.bytes().fold({string}.len() as u32, |a, b| a.wrapping_mul(33) ^ u32::from(b));"));
                    self.numbers.push(name);
                }
            }
            9 if self.vectors.len() > 1 => {
                let place = self.random.usize(..self.vectors.len());
                let gone = self.vectors.swap_remove(place);
                self.line(&format!("drop({gone});"));
            }
            _ => {
                if let Some(vector) = self.vector() {
                    let (a, b) = (self.random.usize(..9), self.random.usize(..30));
                    let text = match self.random.usize(..12) {
                        0 => format!("{vector}.push({number});"),
                        1 => format!("{vector}.truncate({a});"),
                        2 => format!("{vector}.insert({vector}.len() / 2, {number});"),
                        3 => format!("if !{vector}.is_empty() {{ {vector}.swap_remove(0); }}"),
                        4 => format!("{vector}.shrink_to_fit();"),
                        5 => format!("{vector}.reverse();"),
                        6 => format!("{vector}.extend_from_slice(&[{a}, {b}, 3]);"),
                        7 => format!("{vector}.retain(|y| y % 2 == 0);"),
                        8 => format!("{vector}.resize({b}, {a});"),
                        9 => format!("{vector}.reserve({b}); {vector}.dedup();"),
                        10 => format!(
                            "let mut tail = {vector}.split_off({vector}.len() / 3); tail.push(1); {vector}.append(&mut tail);"
                        ),
                        _ => {
                            format!("{vector} = {vector}.iter().rev().map(|y| y ^ {a}).collect();")
                        }
                    };
                    self.line(&text);
                }
            }
        }
    }

    /// A number of all that there is.
    fn digest(&mut self) -> String {
        let mut text = "x".to_owned();
        for vector in self.vectors.clone() {
            text = format!(
                "{vector}.iter().fold(({text}).wrapping_add({vector}.len() as u32), |a, b| a.wrapping_mul(31).wrapping_add(*b))"
            );
        }
        for string in self.strings.clone() {
            text = format!("({text}).wrapping_add({string}.len() as u32 * 3)");
        }
        for number in self.numbers.clone() {
            text = format!("({text}) ^ {number}");
        }
        text
    }
}

/// The function of a pipeline.
#[must_use]
pub fn source(seed: u64, number: usize) -> String {
    let mut random = Rng::with_seed(seed.wrapping_mul(1 << 32).wrapping_add(number as u64));
    let count = random.usize(2..600);
    let sources = [
        format!("(0..{count}_u32).into_par_iter()"),
        "shared.numbers.par_iter().copied()".to_owned(),
        format!("shared.numbers.par_chunks({}).map(|c| c.iter().fold(c.len() as u32, |a, b| a ^ b))", random.usize(1..40)),
        "shared.words.par_iter().map(|w| w.len() as u32 * 17)".to_owned(),
        "shared.rows.par_iter().map(|row| { let mut row = row.clone(); row.push(4); row.iter().fold(0_u32, |a, b| a.wrapping_add(*b)) })".to_owned(),
        "shared.rows.par_iter().zip(shared.numbers.par_iter()).map(|(row, n)| row.len() as u32 ^ n)".to_owned(),
    ];
    let items = sources[random.usize(..sources.len())].clone();
    let mut body = Body {
        random: &mut random,
        text: String::new(),
        vectors: Vec::new(),
        strings: Vec::new(),
        numbers: vec!["x".to_owned()],
        next: 0,
    };
    for _ in 0..body.random.usize(2..9) {
        body.statement();
    }
    if body.vectors.is_empty() {
        body.make_vector();
    }
    let digest = body.digest();
    let vector = body.vector().unwrap_or_default();
    if body.strings.is_empty() {
        body.make_string();
    }
    let string = body.string().unwrap_or_default();
    let text = body.text;
    let closure = |result: &str| format!("|x| {{\n{text}        {result}\n    }}");
    let sum = "u64::from";
    let changing = format!(
        "let mut out = shared.numbers[..{count}].to_vec();\n    let mut other: Vec<u64> = (0..{count}).collect();"
    );
    let rest = match random.usize(..15) {
        0 | 1 => format!("let out: u64 = {items}.map({}).map({sum}).sum();", closure(&digest)),
        2 => format!("let out: Vec<u32> = {items}.map({}).collect();", closure(&digest)),
        3 | 4 => format!(
            "let mut out: Vec<Vec<u32>> = {items}.map({}).collect();\n    \
             out.iter_mut().for_each(|row| {{ row.push(9); row.extend(0..3); }}); out.truncate(out.len() / 2 + 1);\n    \
             let next: Vec<u64> = out.par_iter().map(|row| {{ let mut twice = row.clone(); twice.extend(row); twice.iter().map(|y| u64::from(*y)).sum() }}).collect();\n    \
             let out = (out, next);",
            closure(&vector)
        ),
        5 => format!("let out: Vec<String> = {items}.map({}).collect();", closure(&string)),
        6 => format!(
            "let out: Vec<(Vec<u32>, Option<Box<u32>>, String)> = {items}.map({}).collect();",
            closure(&format!(
                "{{ let d = {digest}; ({vector}, (d % 2 == 0).then(|| Box::new(d)), {string}) }}"
            ))
        ),
        7 => format!(
            "let out: Vec<u32> = {items}.filter_map({}).collect();",
            closure(&format!("{{ let d = {digest}; (d % 3 != 0).then_some(d) }}"))
        ),
        8 => format!(
            "let out: Vec<u32> = {items}.map({}).reduce(Vec::new, |mut a, b| {{ a.extend(b); a.truncate(400); a }});",
            closure(&vector)
        ),
        9 => format!("let out: Vec<u32> = {items}.flat_map_iter({}).collect();", closure(&vector)),
        10 => format!(
            "let out: Vec<Counted> = {items}.map({}).collect();\n    let len = out.len();\n    \
             let before = DROPS.load(Ordering::Relaxed); drop(out);\n    let out = (len, DROPS.load(Ordering::Relaxed) - before);",
            closure(&format!("Counted(Box::new(u64::from({digest})))"))
        ),
        11 => format!(
            "{changing}\n    \
             out.par_iter_mut().enumerate().for_each(|(i, y)| {{ let x = *y ^ i as u32; *y = x;\n{text}        *y = {digest};\n    }});\n    \
             let out = (out, other);"
        ),
        12 => format!(
            "{changing}\n    \
             out.par_chunks_mut({}).zip(&mut other).for_each(|(chunk, z)| {{ let x = chunk.iter().fold(3_u32, |a, b| a.wrapping_mul(31) ^ b); *z += 7;\n{text}        \
             for (y, v) in chunk.iter_mut().zip(&{vector}) {{ *y ^= v; }} chunk[0] = {digest}; *z ^= u64::from(chunk[0]);\n    }});\n    \
             let out = (out, other);",
            random.usize(1..20)
        ),
        13 => format!(
            "{changing}\n    \
             let all: Vec<Vec<u32>> = out.par_iter_mut().zip(other.par_iter_mut()).map(|(y, z)| {{ let x = *y ^ *z as u32; *z += 1;\n{text}        *y = {digest}; {vector} }}).collect();\n    \
             let out = (out, other, all);"
        ),
        _ => format!(
            "let mut out: Vec<u32> = {items}.fold(Vec::new, |mut all: Vec<u32>, x| {{ let one = ({})(x); all.push(one); all }}).reduce(Vec::new, |mut a, mut b| {{ a.append(&mut b); a }});",
            closure(&digest).replacen("|x|", "|x: u32|", 1)
        ),
    };
    format!(
        "fn p{number}(shared: &Shared) -> String {{\n    {rest}\n    format!(\"{{out:?}}\")\n}}\n"
    )
}

/// The program with some pipelines: it prints a line for each.
#[must_use]
pub fn program(seed: u64, numbers: Range<usize>) -> String {
    let mut text = PRELUDE.to_owned();
    numbers.clone().for_each(|number| text += &source(seed, number));
    text += "fn main() {\n    let shared = shared();\n";
    for number in numbers {
        let _ = writeln!(text, "    println!(\"{number} {{}}\", p{number}(&shared));");
    }
    text + "}\n"
}
