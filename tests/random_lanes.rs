//! Random work-items, run one after the other and in the lanes of vectors.
//!
//! [`generate`] writes a loop over work-items with branches, `switch`es, loops with breaks, smallest keys
//! and their items, private arrays, loads at any index, clamped ones, divisions and index checks, in any depth. [`check`] vectorises it
//! for 4, 8, 16 and 32 lanes and compares all that is left in memory.

use std::fmt::Write;

use schism_passes::opt;

use crate::random_ir::{Random, results};
use crate::random_loops::{AROUND, pick};

/// Work-items: some are left behind the last whole vector.
const ITEMS: usize = 53;

/// Words that each stores.
const WORDS: usize = 4;

/// Items of a row, where a work-item has a row of them.
const ROW: usize = 17;

/// Variables of 32 bits, of 64, and floating-point ones.
const NARROW: [&str; 4] = ["a", "b", "c", "d"];
const WIDE: [&str; 2] = ["k", "l"];
const FLOATS: [&str; 2] = ["x", "y"];

struct Writer<'a> {
    random: &'a mut Random,
    o: String,
    /// How many names there are yet.
    names: usize,
    /// How many statements may still come.
    budget: usize,
    /// Where `break` and `continue` lead to.
    loops: Vec<(String, String)>,
    /// Whether there are index checks.
    checks: bool,
    /// Whether the array is read in halves, too: then its lanes cannot lie side by side.
    halves: bool,
    /// Whether a work-item has a row of items. Nothing says that these are independent.
    rows: bool,
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}.{}", self.names)
    }

    fn line(&mut self, text: &str) {
        self.o += "  ";
        self.o += text;
        self.o += "\n";
    }

    fn block(&mut self, name: &str) {
        self.o += name;
        self.o += ":\n";
    }

    /// Makes a value by an instruction.
    fn value(&mut self, text: &str) -> String {
        let name = self.name("%v");
        self.line(&format!("{name} = {text}"));
        name
    }

    fn narrow(&mut self) -> String {
        match self.random.below(10) {
            0 => format!("{}", self.random.below(17) as i64 - 5),
            1 => "%item.narrow".to_owned(),
            2 => "%u32".to_owned(),
            _ => {
                let variable = pick(self.random, &NARROW);
                self.value(&format!("load i32, ptr %{variable}"))
            }
        }
    }

    fn wide(&mut self) -> String {
        match self.random.below(8) {
            0 => format!("{}", self.random.below(100)),
            1 => "%item".to_owned(),
            2 => "%u64".to_owned(),
            _ => {
                let variable = pick(self.random, &WIDE);
                self.value(&format!("load i64, ptr %{variable}"))
            }
        }
    }

    fn float(&mut self) -> String {
        let variable = pick(self.random, &FLOATS);
        self.value(&format!("load float, ptr %{variable}"))
    }

    /// An index below a power of two.
    fn index(&mut self, below: u32) -> String {
        let value = match self.random.below(3) {
            0 => self.wide(),
            _ => {
                let value = self.narrow();
                self.value(&format!("zext i32 {value} to i64"))
            }
        };
        self.value(&format!("and i64 {value}, {}", below - 1))
    }

    /// One condition, or two that are joined.
    fn condition(&mut self) -> String {
        let first = self.one_condition();
        if self.random.below(3) != 0 {
            return first;
        }
        let second = self.one_condition();
        match self.random.below(5) {
            0 => self.value(&format!("select i1 {first}, i1 true, i1 {second}")),
            1 => self.value(&format!("select i1 {first}, i1 {second}, i1 false")),
            2 => self.value(&format!("xor i1 {first}, {second}")),
            3 => self.value(&format!("and i1 {first}, {second}")),
            _ => self.value(&format!("or i1 {first}, {second}")),
        }
    }

    fn one_condition(&mut self) -> String {
        match self.random.below(9) {
            // Divides the range, if each work-item reaches it.
            8 => {
                let number = pick(self.random, &["%item", "%item.behind"]);
                let how = pick(self.random, &["ult", "ule", "ugt", "uge", "eq", "ne"]);
                let limit = self.random.below(ITEMS + 9);
                self.value(&format!("icmp {how} i64 {number}, {limit}"))
            }
            0 => {
                let (a, b) = (self.float(), self.float());
                let how = pick(self.random, &["olt", "oge", "une", "ult", "ord"]);
                self.value(&format!("fcmp {how} float {a}, {b}"))
            }
            1 => {
                let (a, b) = (self.wide(), self.wide());
                let how = pick(self.random, &["ult", "sge", "ne"]);
                self.value(&format!("icmp {how} i64 {a}, {b}"))
            }
            // The same for all work-items.
            2 => {
                let bit = self.random.below(5);
                let bits = self.value(&format!("lshr i32 %u32, {bit}"));
                self.value(&format!("trunc i32 {bits} to i1"))
            }
            _ => {
                let (a, b) = (self.narrow(), self.narrow());
                let how = pick(self.random, &["ult", "sgt", "eq", "slt", "ne"]);
                self.value(&format!("icmp {how} i32 {a}, {b}"))
            }
        }
    }

    fn compute(&mut self) {
        match self.random.below(17) {
            16 => self.extreme(),
            3 | 4 if self.rows => {
                let (a, b) = (self.narrow(), self.narrow());
                let value = self.value(&format!("xor i32 {a}, {b}"));
                self.set_narrow(&value);
            }
            0 => {
                let index = if self.rows { self.checked_index() } else { self.index(64) };
                let at = self.value(&format!("getelementptr i32, ptr %in, i64 {index}"));
                let value = self.value(&format!("load i32, ptr {at}, align 4"));
                self.set_narrow(&value);
            }
            1 if self.random.below(2) == 0 => {
                let index = self.clamped_index();
                let at = self.value(&format!("getelementptr i32, ptr %in, i64 {index}"));
                let value = self.value(&format!("load i32, ptr {at}, align 4"));
                self.set_narrow(&value);
            }
            1 => {
                let offset = self.random.below(8);
                let place = self.value(&format!("add i64 %item, {offset}"));
                let at = self.value(&format!("getelementptr i32, ptr %in, i64 {place}"));
                let value = self.value(&format!("load i32, ptr {at}, align 4"));
                self.set_narrow(&value);
            }
            2 => {
                let offset = self.random.below(3);
                let place = self.value("mul i64 %item, 3");
                let place = self.value(&format!("add i64 {place}, {offset}"));
                let at = self.value(&format!("getelementptr i16, ptr %in, i64 {place}"));
                let value = self.value(&format!("load i16, ptr {at}, align 2"));
                let value = self.value(&format!("sext i16 {value} to i32"));
                self.set_narrow(&value);
            }
            3 => {
                let index = self.index(8);
                if self.halves && self.random.below(3) == 0 {
                    let at = self.value(&format!("getelementptr i16, ptr %array, i64 {index}"));
                    let value = self.value(&format!("load i16, ptr {at}, align 2"));
                    let value = self.value(&format!("zext i16 {value} to i32"));
                    self.set_narrow(&value);
                    return;
                }
                let array = pick(self.random, &["%array", "%bytes"]);
                let ty = if array == "%array" { "i32" } else { "i8" };
                let at = self.value(&format!("getelementptr {ty}, ptr {array}, i64 {index}"));
                let value = self.value(&format!("load {ty}, ptr {at}"));
                let value = match ty {
                    "i8" => self.value(&format!("sext i8 {value} to i32")),
                    _ => value,
                };
                self.set_narrow(&value);
            }
            4 => {
                let (value, index) = (self.narrow(), self.index(8));
                if self.random.below(2) == 0 {
                    let at = self.value(&format!("getelementptr i32, ptr %array, i64 {index}"));
                    self.line(&format!("store i32 {value}, ptr {at}"));
                } else {
                    let byte = self.value(&format!("trunc i32 {value} to i8"));
                    let at = self.value(&format!("getelementptr i8, ptr %bytes, i64 {index}"));
                    self.line(&format!("store i8 {byte}, ptr {at}"));
                }
            }
            5 => {
                let (a, b) = (self.narrow(), self.narrow());
                let b = self.value(&format!("and i32 {b}, 1023"));
                let b = self.value(&format!("or i32 {b}, 1"));
                let operation = pick(self.random, &["udiv", "urem", "sdiv", "srem"]);
                let value = self.value(&format!("{operation} i32 {a}, {b}"));
                self.set_narrow(&value);
            }
            6 => {
                let a = self.wide();
                let value = self.quotient(&a);
                self.set_wide(&value);
            }
            7 => {
                let (a, b) = (self.wide(), self.wide());
                let operation = pick(self.random, &["add", "sub", "mul", "xor"]);
                let value = self.value(&format!("{operation} i64 {a}, {b}"));
                self.set_wide(&value);
            }
            8 => {
                let (a, b) = (self.float(), self.float());
                let operation = pick(self.random, &["fadd", "fsub", "fmul"]);
                let value = self.value(&format!("{operation} float {a}, {b}"));
                let variable = pick(self.random, &FLOATS);
                self.line(&format!("store float {value}, ptr %{variable}"));
            }
            9 => {
                let value = self.float();
                let name = pick(self.random, &["fptosi", "fptoui"]);
                let value =
                    self.value(&format!("call i32 @llvm.{name}.sat.i32.f32(float {value})"));
                self.set_narrow(&value);
            }
            10 => {
                let value = self.narrow();
                let value = self.value(&format!("and i32 {value}, 1023"));
                let value = self.value(&format!("sitofp i32 {value} to float"));
                let variable = pick(self.random, &FLOATS);
                self.line(&format!("store float {value}, ptr %{variable}"));
            }
            11 => {
                let (a, b) = (self.narrow(), self.narrow());
                let pair = self.value(&format!(
                    "call {{i32, i1}} @llvm.sadd.with.overflow.i32(i32 {a}, i32 {b})"
                ));
                let sum = self.value(&format!("extractvalue {{i32, i1}} {pair}, 0"));
                let over = self.value(&format!("extractvalue {{i32, i1}} {pair}, 1"));
                let value = self.value(&format!("select i1 {over}, i32 77, i32 {sum}"));
                self.set_narrow(&value);
            }
            12 => {
                let name = pick(self.random, &["umin", "smax", "usub.sat"]);
                let (a, b) = (self.narrow(), self.narrow());
                let value = self.value(&format!("call i32 @llvm.{name}.i32(i32 {a}, i32 {b})"));
                self.set_narrow(&value);
            }
            _ => {
                let (a, b) = (self.narrow(), self.narrow());
                let operation = pick(
                    self.random,
                    &["add", "sub", "mul", "xor", "and", "or", "add nsw", "add nuw"],
                );
                // A promise that is kept.
                let value = match operation {
                    "add nsw" | "add nuw" => {
                        let a = self.value(&format!("and i32 {a}, 65535"));
                        let b = self.value(&format!("and i32 {b}, 65535"));
                        self.value(&format!("{operation} i32 {a}, {b}"))
                    }
                    _ => self.value(&format!("{operation} i32 {a}, {b}")),
                };
                self.set_narrow(&value);
            }
        }
    }

    /// A quotient of 64 bits, or what is left: by a number that is known, or not.
    fn quotient(&mut self, of: &str) -> String {
        let operation = pick(self.random, &["udiv", "urem", "udiv", "urem", "sdiv", "srem"]);
        let divisor = match self.random.below(3) {
            0 => pick(self.random, &["3", "7", "8", "1000", "4294967297", "-5"]).to_owned(),
            _ => {
                let divisor = self.wide();
                let divisor = match operation {
                    // The smallest number is divided by no -1.
                    "sdiv" | "srem" => self.value(&format!("and i64 {divisor}, 1048575")),
                    _ => divisor,
                };
                self.value(&format!("or i64 {divisor}, 1"))
            }
        };
        self.value(&format!("{operation} i64 {of}, {divisor}"))
    }

    /// A key of some width, of one that was loaded.
    fn key(&mut self, ty: &str) -> String {
        let index = self.index(64);
        let at = self.value(&format!("getelementptr i32, ptr %in, i64 {index}"));
        let value = self.value(&format!("load i32, ptr {at}, align 4"));
        let value = self.value(&format!("zext i32 {value} to i64"));
        let value = self.value(&format!("mul i64 {value}, 1311768467463790321"));
        let value = if self.random.below(3) == 0 { value } else { self.quotient(&value) };
        match ty {
            "i64" => value,
            "i128" => self.value(&format!("sext i64 {value} to i128")),
            _ => self.value(&format!("trunc i64 {value} to {ty}")),
        }
    }

    /// The smallest key of a few, or the largest, and which one it is: `min_by_key`. As long as there
    /// is none, the key is not defined.
    fn extreme(&mut self) {
        let ty = pick(self.random, &["i8", "i16", "i32", "i64", "i64", "i64"]);
        // Has no form for vectors.
        let ty = if self.random.below(24) == 0 { "i128" } else { ty };
        let [counter, key, best] = ["%count", "%key", "%best"].map(|name| self.name(name));
        let locals = format!(
            "  ; counters\n  {counter} = alloca i32\n  {key} = alloca {ty}\n  {best} = alloca i64\n"
        );
        self.o = self.o.replacen("  ; counters\n", &locals, 1);
        let most = match self.random.below(3) {
            0 => self.value("and i32 %u32, 7"),
            1 => format!("{}", self.random.below(20)),
            _ => {
                let value = self.narrow();
                self.value(&format!("and i32 {value}, 7"))
            }
        };
        let [head, body, done] = ["head", "body", "done"].map(|name| self.name(name));
        self.line(&format!("store i32 0, ptr {counter}"));
        self.line(&format!("store {ty} undef, ptr {key}"));
        self.line(&format!("store i64 -1, ptr {best}"));
        self.line(&format!("br label %{head}"));
        self.block(&head);
        let count = self.value(&format!("load i32, ptr {counter}"));
        let more = self.value(&format!("icmp ult i32 {count}, {most}"));
        self.line(&format!("br i1 {more}, label %{body}, label %{done}"));
        self.block(&body);
        let item = self.value(&format!("zext i32 {count} to i64"));
        let own = self.key(ty);
        let old = self.value(&format!("load {ty}, ptr {key}"));
        let old_item = self.value(&format!("load i64, ptr {best}"));
        let is_first = self.value(&format!("icmp eq i64 {old_item}, -1"));
        let how = pick(self.random, &["ugt", "ult", "uge", "sgt", "slt"]);
        let mut is_new = self.value(&format!("icmp {how} {ty} {old}, {own}"));
        if self.random.below(3) == 0 {
            // The later one of two equal keys.
            let is_same = self.value(&format!("icmp eq {ty} {old}, {own}"));
            let is_later = self.value(&format!("icmp ugt i64 {item}, {old_item}"));
            let both = self.value(&format!("select i1 {is_same}, i1 {is_later}, i1 false"));
            is_new = self.value(&format!("select i1 {is_new}, i1 true, i1 {both}"));
        }
        if self.random.below(2) == 0 {
            // `undef` is no `poison`: either may decide.
            let is_new = match self.random.below(2) {
                0 => self.value(&format!("or i1 {is_first}, {is_new}")),
                _ => self.value(&format!("select i1 {is_first}, i1 true, i1 {is_new}")),
            };
            let new = self.value(&format!("select i1 {is_new}, {ty} {own}, {ty} {old}"));
            let new_item = self.value(&format!("select i1 {is_new}, i64 {item}, i64 {old_item}"));
            self.line(&format!("store {ty} {new}, ptr {key}"));
            self.line(&format!("store i64 {new_item}, ptr {best}"));
        } else {
            let [other, take, next] = ["other", "take", "next"].map(|name| self.name(name));
            self.line(&format!("br i1 {is_first}, label %{take}, label %{other}"));
            self.block(&other);
            self.line(&format!("br i1 {is_new}, label %{take}, label %{next}"));
            self.block(&take);
            self.line(&format!("store {ty} {own}, ptr {key}"));
            self.line(&format!("store i64 {item}, ptr {best}"));
            self.line(&format!("br label %{next}"));
            self.block(&next);
        }
        let count = self.value(&format!("add i32 {count}, 1"));
        self.line(&format!("store i32 {count}, ptr {counter}"));
        self.line(&format!("br label %{head}"));
        self.block(&done);
        let item = self.value(&format!("load i64, ptr {best}"));
        let is_there = self.value(&format!("icmp ne i64 {item}, -1"));
        let own = self.value(&format!("load {ty}, ptr {key}"));
        let own = self.value(&format!("select i1 {is_there}, {ty} {own}, {ty} 77"));
        let own = match ty {
            "i64" => own,
            "i128" => self.value(&format!("trunc i128 {own} to i64")),
            _ => self.value(&format!("zext {ty} {own} to i64")),
        };
        self.set_wide(&own);
        self.set_wide(&item);
        let item = self.value(&format!("trunc i64 {item} to i32"));
        self.set_narrow(&item);
    }

    /// An index near the work-item's, clamped in one way or another.
    fn clamped_index(&mut self) -> String {
        let mut place = "%item".to_owned();
        let is_cut = self.random.below(3) == 0;
        let ty = if is_cut { "i32" } else { "i64" };
        if self.random.below(4) == 0 {
            place = self.value(&format!("add i64 {place}, %u64"));
        }
        if is_cut {
            place = self.value(&format!("trunc i64 {place} to i32"));
        }
        for _ in 0..1 + self.random.below(4) {
            if self.random.below(2) == 0 {
                let more = self.random.below(11) as i64 - 5;
                place = self.value(&format!("add {ty} {place}, {more}"));
            }
            let how = pick(
                self.random,
                &["umin", "umin", "smin", "smax", "umax", "usub.sat", "uadd.sat"],
            );
            let limit = match self.random.below(5) {
                0 if !is_cut => "%u64".to_owned(),
                0 => "%u32".to_owned(),
                1 => format!("{}", self.random.below(9) as i64 - 4),
                2 => format!("{}", self.random.below(5)),
                _ => format!("{}", self.random.below(ITEMS + 9)),
            };
            let sides = match how {
                "usub.sat" => format!("{ty} {place}, {ty} {limit}"),
                _ if self.random.below(2) == 0 => format!("{ty} {place}, {ty} {limit}"),
                _ => format!("{ty} {limit}, {ty} {place}"),
            };
            place = self.value(&format!("call {ty} @llvm.{how}.{ty}({sides})"));
        }
        if is_cut {
            let how = pick(self.random, &["sext", "zext"]);
            place = self.value(&format!("{how} i32 {place} to i64"));
        }
        self.value(&format!("call i64 @llvm.umin.i64(i64 {place}, i64 255)"))
    }

    fn set_narrow(&mut self, value: &str) {
        let variable = pick(self.random, &NARROW);
        self.line(&format!("store i32 {value}, ptr %{variable}"));
    }

    fn set_wide(&mut self, value: &str) {
        let variable = pick(self.random, &WIDE);
        self.line(&format!("store i64 {value}, ptr %{variable}"));
    }

    fn store(&mut self) {
        let value = self.narrow();
        let place = self.value(&format!("mul i64 %item, {WORDS}"));
        let word = self.random.below(WORDS);
        let place = self.value(&format!("add i64 {place}, {word}"));
        let at = self.value(&format!("getelementptr i32, ptr %out, i64 {place}"));
        self.line(&format!("store i32 {value}, ptr {at}, align 4"));
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        match self.random.below(if depth == 0 { 8 } else { 16 }) {
            0 if !self.checks || self.random.below(4) == 0 => self.store(),
            1 if self.checks => {
                self.checked_index();
            }
            0..8 => self.compute(),
            8..12 => self.branch(depth),
            12 => self.switch(depth),
            13..15 => self.a_loop(depth),
            _ => self.leave(),
        }
    }

    /// An index, below a length or the work-item ends.
    fn checked_index(&mut self) -> String {
        let index = self.index(256);
        let most = ["256", "256", "255", "%len"][self.random.below(4)];
        let (fine, wrong) = (self.name("fine"), self.name("wrong"));
        let is_fine = self.value(&format!("icmp ult i64 {index}, {most}"));
        self.line(&format!("br i1 {is_fine}, label %{fine}, label %{wrong}"));
        self.block(&wrong);
        self.line(&format!("call void @panic(ptr %mem, i64 %item, i64 {index})"));
        self.line("ret void");
        self.block(&fine);
        index
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition();
        let [then, other, join] = ["then", "else", "join"].map(|name| self.name(name));
        self.line(&format!("br i1 {condition}, label %{then}, label %{other}"));
        self.block(&then);
        self.statements(depth - 1);
        self.line(&format!("br label %{join}"));
        self.block(&other);
        if self.random.below(2) == 0 {
            self.statements(depth - 1);
        }
        self.line(&format!("br label %{join}"));
        self.block(&join);
    }

    fn switch(&mut self, depth: usize) {
        let value = self.narrow();
        let value = self.value(&format!("and i32 {value}, 7"));
        let [one, two, other, join] = ["one", "two", "other", "join"].map(|name| self.name(name));
        self.line(&format!(
            "switch i32 {value}, label %{other} \
             [ i32 0, label %{one} i32 3, label %{one} i32 1, label %{two} ]"
        ));
        self.block(&one);
        self.statements(depth - 1);
        // Falls through, sometimes.
        let next = if self.random.below(3) == 0 { two.clone() } else { join.clone() };
        self.line(&format!("br label %{next}"));
        self.block(&two);
        self.statements(depth - 1);
        self.line(&format!("br label %{join}"));
        self.block(&other);
        self.line(&format!("br label %{join}"));
        self.block(&join);
    }

    fn a_loop(&mut self, depth: usize) {
        let most = if self.random.below(3) == 0 {
            self.value("and i32 %u32, 7")
        } else {
            let value = self.narrow();
            self.value(&format!("and i32 {value}, 7"))
        };
        let counter = self.name("%count");
        let [head, body, next, done] = ["head", "body", "next", "done"].map(|name| self.name(name));
        // The counters are in memory, as all variables are.
        self.o = self.o.replacen(
            "  ; counters\n",
            &format!("  ; counters\n  {counter} = alloca i32\n"),
            1,
        );
        self.line(&format!("store i32 0, ptr {counter}"));
        self.line(&format!("br label %{head}"));
        self.block(&head);
        let count = self.value(&format!("load i32, ptr {counter}"));
        let more = self.value(&format!("icmp ult i32 {count}, {most}"));
        self.line(&format!("br i1 {more}, label %{body}, label %{done}"));
        self.block(&body);
        self.loops.push((done.clone(), next.clone()));
        self.statements(depth - 1);
        self.loops.pop();
        self.line(&format!("br label %{next}"));
        self.block(&next);
        let count = self.value(&format!("load i32, ptr {counter}"));
        let count = self.value(&format!("add i32 {count}, 1"));
        self.line(&format!("store i32 {count}, ptr {counter}"));
        self.line(&format!("br label %{head}"));
        self.block(&done);
    }

    /// Leaves a loop, its iteration, or the work-item.
    fn leave(&mut self) {
        let condition = self.condition();
        let stay = self.name("stay");
        let all: Vec<String> = match self.loops.last() {
            Some((done, next)) => vec![done.clone(), next.clone(), "end".to_owned()],
            None => vec!["end".to_owned()],
        };
        let to = &all[self.random.below(all.len())];
        self.line(&format!("br i1 {condition}, label %{to}, label %{stay}"));
        self.block(&stay);
    }
}

/// Writes the module of a seed; with rows, what is stored may be what others load.
#[must_use]
pub fn generate(seed: u64, rows: bool) -> String {
    let mut random = Random::new(seed);
    let checks = random.below(3) == 0;
    let halves = random.below(3) == 0;
    let budget = 8 + random.below(30);
    let words = ITEMS * WORDS;
    let len = 250 + random.below(7);
    let from = match random.below(4) {
        // Elements that items store, or that lie directly before or behind those.
        0 if rows => format!("getelementptr i32, ptr @out, i64 {}", random.below(2 * words)),
        _ => "getelementptr i32, ptr @in, i64 0".to_owned(),
    };
    let [items, item, item_end, mark, row_mark] = if rows {
        let items = format!(
            "  br label %rows
rows:
  %row = phi i64 [ 0, %start ], [ %row.next, %row.end ]
  call void @panic(ptr %mem, i64 %row, i64 -1)
  %row.begin = mul i64 %row, {ROW}
  %row.behind = add i64 %row.begin, {ROW}
  %row.limit = call i64 @llvm.umin.i64(i64 %row.behind, i64 %end)"
        );
        let last = "row.end:
  %row.next = add i64 %row, 1
  %row.more = icmp ult i64 %row.behind, %end
  br i1 %row.more, label %rows, label %exit, !llvm.loop !0";
        [&items, "[ %row.begin, %rows ]", "%row.limit", "", last].map(str::to_owned)
    } else {
        ["", "[ %begin, %start ]", "%end", ", !llvm.loop !0", ""].map(str::to_owned)
    };
    let left = if rows { "row.end" } else { "exit" };
    let fills = if rows {
        ""
    } else {
        "  call void @llvm.memset.p0.i64(ptr %array, i8 0, i64 32, i1 false)
  call void @llvm.memset.p0.i64(ptr %bytes, i8 3, i64 8, i1 false)
"
    };
    let most = [1000, 20][random.below(2)];
    let (u32, u64) = (random.below(1 << 20), random.below(most));
    // In two parts, as threads do.
    let parts = if rows { vec![0, ITEMS] } else { vec![0, random.below(ITEMS), ITEMS] };
    let call = |part: &[usize]| {
        let [begin, end] = [part[0], part[1]];
        format!(
            "  call void @f(ptr %mem, i64 {begin}, i64 {end}, i32 {u32}, i64 {u64}, ptr %from.in, ptr @out, i64 {len})"
        )
    };
    let calls = parts.windows(2).map(call).collect::<Vec<_>>().join("\n");
    let mut writer = Writer {
        random: &mut random,
        o: String::new(),
        names: 0,
        budget,
        loops: Vec::new(),
        checks,
        halves,
        rows,
    };
    writer.o = format!(
        "{AROUND}
@in = internal global [256 x i32] zeroinitializer
@out = internal global [1024 x i32] zeroinitializer
define internal void @f(ptr %mem, i64 %begin, i64 %end, i32 %u32, i64 %u64, ptr %in, ptr %out, i64 %len) noinline {{
start:
  %a = alloca i32
  %b = alloca i32
  %c = alloca i32
  %d = alloca i32
  %k = alloca i64
  %l = alloca i64
  %x = alloca float
  %y = alloca float
  %array = alloca [8 x i32]
  %bytes = alloca [8 x i8]
  ; counters
{items}
  br label %items
items:
  %item = phi i64 {item}, [ %item.next, %end.of.item ]
  %item.more = icmp ult i64 %item, {item_end}
  br i1 %item.more, label %body, label %{left}
body:
  %item.narrow = trunc i64 %item to i32
  %item.behind = add nuw i64 %item, 5
  %hash = mul i32 %item.narrow, -1640531527
  %hash.high = lshr i32 %hash, 20
  store i32 %hash.high, ptr %a
  store i32 %item.narrow, ptr %b
  store i32 %u32, ptr %c
  store i32 7, ptr %d
  store i64 %item, ptr %k
  store i64 %u64, ptr %l
  %item.float = uitofp i32 %hash.high to float
  store float %item.float, ptr %x
  store float 3.5, ptr %y
{fills}"
    );
    while writer.budget > 0 {
        writer.statement(3);
    }
    let mut o = writer.o.replace("label %end,", "label %end.of.item,");
    o += "  br label %end.of.item\nend.of.item:\n";
    let mut last = String::new();
    for (at, name) in NARROW.iter().enumerate() {
        writeln!(
            last,
            "  %last.{name} = load i32, ptr %{name}
               %place.{name} = mul i64 %item, {WORDS}
               %word.{name} = add i64 %place.{name}, {at}
               %at.{name} = getelementptr i32, ptr %out, i64 %word.{name}
               %old.{name} = load i32, ptr %at.{name}, align 4
               %new.{name} = add i32 %old.{name}, %last.{name}
               store i32 %new.{name}, ptr %at.{name}, align 4"
        )
        .expect("writing to a string");
    }
    o += &last;
    write!(
        o,
        "  %item.next = add i64 %item, 1
  br label %items{mark}
{row_mark}
exit:
  ret void
}}
define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {{
start:
  br label %fill
fill:
  %i = phi i64 [ 0, %start ], [ %i.next, %fill ]
  %h = mul i64 %i, 2654435761
  %h.high = lshr i64 %h, 9
  %value = trunc i64 %h.high to i32
  %at = getelementptr i32, ptr @in, i64 %i
  store i32 %value, ptr %at
  %i.next = add i64 %i, 1
  %filled = icmp eq i64 %i.next, 256
  br i1 %filled, label %run, label %fill
run:
  %from.in = {from}
{calls}
  br label %sum
sum:
  %j = phi i64 [ 0, %run ], [ %j.next, %sum ]
  %from = getelementptr i32, ptr @out, i64 %j
  %word = load i32, ptr %from
  %wide = sext i32 %word to i64
  call void @panic(ptr %mem, i64 %j, i64 %wide)
  %j.next = add i64 %j, 1
  %summed = icmp eq i64 %j.next, {words}
  br i1 %summed, label %done, label %sum
done:
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i32 @llvm.fptoui.sat.i32.f32(float)
declare {{i32, i1}} @llvm.sadd.with.overflow.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
!0 = distinct !{{!0, !1}}
!1 = !{{!\"schism.work_item_loop\"}}
"
    )
    .expect("writing to a string");
    o
}

/// Vectorises the module of a seed, with rows of items or without, and compares what it does. Says whether it could be vectorised.
///
/// # Errors
/// What went wrong, with the module.
pub fn check(seed: u64, rows: bool) -> Result<bool, String> {
    let source = generate(seed, rows);
    let fail =
        |lanes: u32, what: String| Err(format!("seed {seed}, {lanes} lanes: {what}\n\n{source}"));
    let expected = match results(&source) {
        Ok(expected) => expected,
        Err(what) => return fail(0, what),
    };
    let mut is_made = false;
    for lanes in [4, 8, 16, 32] {
        let line = format!("lanes: 256 {lanes}");
        let result = opt::read(source.as_bytes(), &[line])
            .and_then(|input| opt::run(&input, "split-clamps,vectorize"));
        let output = match result {
            Ok(output) => output,
            Err(error) => return fail(lanes, error.to_string()),
        };
        is_made |= output.contains("vector.loop:");
        match results(&output) {
            Ok(found) if found == expected => {}
            other => return fail(lanes, format!("{expected:?} became {other:?}\n{output}\nof")),
        }
    }
    Ok(is_made)
}
