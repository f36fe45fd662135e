//! Random functions with small private arrays, run before and after the pass that keeps these in
//! registers.
//!
//! [`generate`] writes an array of rows and one row beside it, and accesses of elements, of several
//! elements at once, and copies between rows. Their indices are constants, chosen by conditions, by
//! where the control flow came from, or anything inside of the array. [`check`] compares what is in
//! the arrays at the end, and a sum of all that was read.

use std::fmt::Write;

use crate::random_ir::Random;
use crate::random_loops::{AROUND, compare, pick};

/// How often the function is called.
const CALLS: usize = 12;

/// The function that is being written.
struct Writer {
    random: Random,
    text: String,
    /// Values so far.
    values: usize,
    blocks: usize,
    /// The name of the sum so far, an `i64`.
    sum: String,
    /// Elements are integers of that many bytes.
    bytes: usize,
    rows: usize,
    columns: usize,
    /// The address space of addresses in arrays.
    space: &'static str,
}

/// Writes the module of a seed.
#[must_use]
pub fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let bytes = [1, 2, 4, 8][random.below(4)];
    let (rows, columns) = (1 + random.below(4), 1 + random.below(5));
    let space = pick(&mut random, &["0", "5"]).to_owned();
    let space = if space == "0" { "ptr" } else { "ptr addrspace(5)" };
    let mut writer = Writer {
        random,
        text: AROUND.to_owned(),
        values: 0,
        blocks: 0,
        sum: "%v".to_owned(),
        bytes,
        rows,
        columns,
        space,
    };
    writer.function().expect("writing to a string");
    let Writer { mut random, mut text, .. } = writer;
    text += "define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {\n";
    for _ in 0..CALLS {
        let seed = random.below(1 << 30);
        writeln!(text, "  call void @f(ptr %mem, i64 {seed})").expect("writing to a string");
    }
    text + "  ret void\n}\n"
}

impl Writer {
    fn element(&self) -> String {
        format!("i{}", 8 * self.bytes)
    }

    /// Writes an instruction with a result, and returns its name.
    fn value(&mut self, instruction: &str) -> String {
        self.values += 1;
        let name = format!("%t{}", self.values);
        writeln!(self.text, "  {name} = {instruction}").expect("writing to a string");
        name
    }

    fn function(&mut self) -> std::fmt::Result {
        let (rows, columns, element) = (self.rows, self.columns, self.element());
        writeln!(self.text, "define internal void @f(ptr %mem, i64 %v) {{\nbegin:")?;
        writeln!(self.text, "  %rows = alloca [{rows} x [{columns} x {element}]], align 8")?;
        writeln!(self.text, "  %row = alloca [{columns} x {element}], align 8")?;
        let (all, one) = match self.space {
            "ptr" => ("%rows".to_owned(), "%row".to_owned()),
            space => (
                self.value(&format!("addrspacecast ptr %rows to {space}")),
                self.value(&format!("addrspacecast ptr %row to {space}")),
            ),
        };
        for place in 0..rows * columns {
            let at = self.constant(&all, place);
            let number = self.random.below(100);
            writeln!(self.text, "  store {element} {number}, {} {at}", self.space)?;
        }
        for place in 0..columns {
            let at = self.constant(&one, place);
            writeln!(self.text, "  store {element} {place}, {} {at}", self.space)?;
        }
        let turns = match self.random.below(3) {
            0 => Some(1 + self.random.below(4)),
            _ => None,
        };
        if let Some(turns) = turns {
            writeln!(self.text, "  br label %loop\nloop:")?;
            writeln!(self.text, "  %k = phi i64 [ 0, %begin ], [ %k.next, %again ]")?;
            writeln!(self.text, "  %sum = phi i64 [ %v, %begin ], [ %sum.next, %again ]")?;
            "%sum".clone_into(&mut self.sum);
            self.operations(&all, &one)?;
            let sum = &self.sum;
            writeln!(self.text, "  br label %again\nagain:\n  %sum.next = add i64 {sum}, 0")?;
            writeln!(self.text, "  %k.next = add i64 %k, 1")?;
            writeln!(self.text, "  %more = icmp ult i64 %k.next, {turns}")?;
            writeln!(self.text, "  br i1 %more, label %loop, label %done\ndone:")?;
            "%sum.next".clone_into(&mut self.sum);
        } else {
            self.operations(&all, &one)?;
        }
        for (array, count) in [(&all, rows * columns), (&one, columns)] {
            for place in 0..count {
                let at = self.constant(array, place);
                self.load(&at);
                let sum = &self.sum;
                writeln!(self.text, "  call void @panic(ptr %mem, i64 {place}, i64 {sum})")?;
            }
        }
        writeln!(self.text, "  ret void\n}}")
    }

    fn operations(&mut self, all: &str, one: &str) -> std::fmt::Result {
        for _ in 0..4 + self.random.below(12) {
            self.operation(all, one)?;
        }
        Ok(())
    }

    /// The address of an element that is known.
    fn constant(&mut self, array: &str, place: usize) -> String {
        let (space, element) = (self.space, self.element());
        self.value(&format!("getelementptr inbounds {element}, {space} {array}, i64 {place}"))
    }

    /// A condition that depends on what was read so far.
    fn condition(&mut self) -> String {
        let bit = self.random.below(24);
        let sum = self.sum.clone();
        let shifted = self.value(&format!("lshr i64 {sum}, {bit}"));
        self.value(&format!("trunc i64 {shifted} to i1"))
    }

    /// An index below a limit.
    fn index(&mut self, limit: usize) -> String {
        let mut number = || self.random.below(limit).to_string();
        let (a, b) = (number(), number());
        match self.random.below(7) {
            0 => a,
            1 | 2 => {
                let condition = self.condition();
                self.value(&format!("select i1 {condition}, i64 {a}, i64 {b}"))
            }
            3 => {
                let (inner, rest) = (self.index(limit), self.condition());
                self.value(&format!("select i1 {rest}, i64 {a}, i64 {inner}"))
            }
            4 if limit > 1 => {
                let condition = self.condition();
                self.value(&format!("zext i1 {condition} to i64"))
            }
            5 => {
                let condition = self.condition();
                self.blocks += 1;
                let block = self.blocks;
                let name = format!("%p{block}");
                write!(
                    self.text,
                    "  br i1 {condition}, label %a{block}, label %b{block}\na{block}:\n  br label %c{block}\n\
                     b{block}:\n  br label %c{block}\nc{block}:\n  {name} = phi i64 [ {a}, %a{block} ], [ {b}, %b{block} ]\n",
                )
                .expect("writing to a string");
                name
            }
            _ => {
                let sum = self.sum.clone();
                let shifted = self.value(&format!("lshr i64 {sum}, 3"));
                self.value(&format!("urem i64 {shifted}, {limit}"))
            }
        }
    }

    /// The address of a row.
    fn row(&mut self, all: &str) -> String {
        let (space, element, columns) = (self.space, self.element(), self.columns);
        let rows = self.rows;
        if self.random.below(6) == 0 {
            let [a, b] = [0, 1].map(|_| self.random.below(rows) * columns);
            let [a, b] = [a, b].map(|place| self.constant(all, place));
            let condition = self.condition();
            return self.value(&format!("select i1 {condition}, {space} {a}, {space} {b}"));
        }
        let index = self.index(rows);
        let ty = format!("[{columns} x {element}]");
        self.value(&format!("getelementptr inbounds {ty}, {space} {all}, i64 {index}"))
    }

    /// Adds what an address holds to the sum.
    fn load(&mut self, at: &str) {
        let (space, element) = (self.space, self.element());
        let value = self.value(&format!("load {element}, {space} {at}, align {}", self.bytes));
        let wide = match self.bytes {
            8 => value,
            _ => self.value(&format!("zext {element} {value} to i64")),
        };
        self.add(&wide);
    }

    fn add(&mut self, wide: &str) {
        let sum = self.sum.clone();
        let mixed = self.value(&format!("mul i64 {sum}, 1099511628211"));
        self.sum = self.value(&format!("xor i64 {mixed}, {wide}"));
    }

    fn operation(&mut self, all: &str, one: &str) -> std::fmt::Result {
        let (space, element, columns, bytes) =
            (self.space, self.element(), self.columns, self.bytes);
        let row = self.row(all);
        let length = columns * bytes;
        let suffix = if space == "ptr" { "p0" } else { "p5" };
        let column = self.index(columns);
        let at = format!("getelementptr inbounds {element}, {space} {row}, i64 {column}");
        match self.random.below(8) {
            0 | 1 => {
                let at = self.value(&at);
                self.load(&at);
            }
            2 | 3 => {
                let at = self.value(&at);
                let sum = self.sum.clone();
                let value = match bytes {
                    8 => sum,
                    _ => self.value(&format!("trunc i64 {sum} to {element}")),
                };
                writeln!(self.text, "  store {element} {value}, {space} {at}, align {bytes}")?;
            }
            4 => {
                let (to, from) =
                    if self.random.below(2) == 0 { (&row[..], one) } else { (one, &row[..]) };
                writeln!(
                    self.text,
                    "  call void @llvm.memcpy.{suffix}.{suffix}.i64({space} {to}, {space} {from}, i64 {length}, i1 false)"
                )?;
            }
            5 => {
                let other = self.row(all);
                writeln!(
                    self.text,
                    "  call void @llvm.memmove.{suffix}.{suffix}.i64({space} {row}, {space} {other}, i64 {length}, i1 false)"
                )?;
            }
            6 => {
                let byte = self.random.below(3);
                writeln!(
                    self.text,
                    "  call void @llvm.memset.{suffix}.i64({space} {row}, i8 {byte}, i64 {length}, i1 false)"
                )?;
            }
            _ if columns > 1 => {
                let wide = format!("i{}", 16 * bytes);
                if self.random.below(2) == 0 {
                    let value = self.value(&format!("load {wide}, {space} {row}, align 1"));
                    let low = match bytes {
                        1 | 2 => self.value(&format!("zext {wide} {value} to i64")),
                        4 => value,
                        _ => {
                            let high = self.value(&format!("lshr {wide} {value}, 37"));
                            self.value(&format!("trunc {wide} {high} to i64"))
                        }
                    };
                    self.add(&low);
                } else {
                    let sum = self.sum.clone();
                    let value = match bytes {
                        1 | 2 => self.value(&format!("trunc i64 {sum} to {wide}")),
                        4 => sum,
                        _ => {
                            let value = self.value(&format!("zext i64 {sum} to {wide}"));
                            self.value(&format!("mul {wide} {value}, 18446744073709551629"))
                        }
                    };
                    writeln!(self.text, "  store {wide} {value}, {space} {row}, align 1")?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Runs a seed's module before and after the pass. Returns whether an array is gone.
///
/// # Errors
/// What differs, with the module.
pub fn check(seed: u64) -> Result<bool, String> {
    let arrays = |output: &str| output.matches("alloca [").count();
    compare(seed, &generate(seed), &["select-elements"], |output| arrays(output) < 2)
}
