//! Random device modules, run before and after passes.
//!
//! [`generate`] writes a module with one kernel in two forms: the one that rustc gives stage 1, and
//! one in which the kernel is there already, which can be run as it is. [`check`] runs passes over
//! them, in their own order and in random orders, and compares what the kernel does to memory with
//! what it did before. Branches to panics are in the modules and are never taken. The same seed
//! gives the same module.

mod gpu;
pub mod spirv;

use std::ffi::{CString, c_void};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use llvm_sys::core::*;
use llvm_sys::execution_engine::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use schism_passes::opt;
use schism_passes::spec::target;

/// Words of memory that a kernel works on.
const WORDS: usize = 8;

/// Passes that may run in any order over a module that has its kernel, and change nothing that it
/// does.
const ANY_ORDER: [&str; 16] = [
    "prepare-module",
    "lower-unwind",
    "fold-constants",
    "lower-panics",
    "kernel-reachability",
    "launch-offset",
    "simplify",
    "remove-refused",
    "capabilities",
    "split-images",
    "loop-versioning",
    "merge-checks",
    "superblocks",
    "narrow-integers",
    "demote-private-atomics",
    "expand-mem-intrinsics",
];

/// A module in both forms.
#[derive(Clone, Debug)]
pub struct Generated {
    /// For stage 1: an entry function, and no kernel.
    pub source: String,
    /// With the kernel.
    pub with_kernel: String,
}

/// Random numbers (SplitMix64): the same for the same seed, on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that a seed gives.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

const HEADER: &str = "\
; SPEC kernel: kernel entry 32 8
; SPEC param: 0 8 8 pointer
; SPEC param: 8 8 8 integer
; SPEC param: 16 8 8 integer
; SPEC param: 24 8 8 integer
; SPEC constant: is_device 1
; SPEC panic: panic_bounds \"out of bounds\" located
; SPEC part: kernel kernel_with_offset
";

const DECLARATIONS: &str = "\
@place = private constant i8 0
@ring = internal constant { ptr, i64 } { ptr @ring, i64 7 }
declare void @panic_bounds(i64, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
declare i64 @__schism_global_id_x()
declare i64 @__schism_global_id_y()
declare i64 @__schism_global_id_z()
declare i64 @__schism_global_range_x()
declare i64 @__schism_global_range_y()
declare i64 @__schism_global_range_z()
declare i64 @__schism_global_offset_x()
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
!0 = !{!\"branch_weights\", i32 2000, i32 1}
!1 = !{!\"branch_weights\", i32 1, i32 2000}
!2 = !{!\"branch_weights\", i32 2, i32 1}
";

const KERNEL: &str = "\
define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {
  %closure = alloca [32 x i8], align 8
  store ptr %mem, ptr %closure
  %n.at = getelementptr i8, ptr %closure, i64 8
  store i64 %n, ptr %n.at
  %v.at = getelementptr i8, ptr %closure, i64 16
  store i64 %v, ptr %v.at
  %never.at = getelementptr i8, ptr %closure, i64 24
  store i64 %never, ptr %never.at
  %x = call i64 @__schism_global_id_x()
  %y = call i64 @__schism_global_id_y()
  %z = call i64 @__schism_global_id_z()
  %nx = call i64 @__schism_global_range_x()
  %ny = call i64 @__schism_global_range_y()
  %nz = call i64 @__schism_global_range_z()
  call void @entry(ptr %closure, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz)
  ret void
}
";

/// Writes the module of a seed.
pub fn generate(seed: u64) -> Generated {
    let mut random = Random::new(seed);
    let mut text = String::new();
    let count = 2 + random.below(4);
    let row = |random: &mut Random| format!("i32 {}", random.below(1000));
    let cells: Vec<String> = (0..4).map(|_| row(&mut random)).collect();
    writeln!(text, "@table = internal constant [4 x i32] [{}]", cells.join(", ")).expect("text");
    writeln!(text, "@functions = internal constant [2 x ptr] [ptr @f0, ptr @f1]").expect("text");
    for number in 0..count {
        writeln!(
            text,
            "define internal i64 @f{number}(ptr %mem, i64 %a, i64 %never) personality ptr @rust_eh_personality {{"
        )
        .expect("text");
        let mut body = Body::new(&mut random, number, vec!["%a".to_owned(), "42".to_owned()]);
        body.statements(6);
        let result = body.all();
        text += &body.text;
        writeln!(text, "  ret i64 {result}\n}}").expect("text");
    }
    text += "define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @rust_eh_personality {\n";
    text += "  %mem = load ptr, ptr %k\n";
    for (name, offset) in [("n", 8), ("v", 16), ("never", 24)] {
        writeln!(text, "  %{name}.at = getelementptr i8, ptr %k, i64 {offset}").expect("text");
        writeln!(text, "  %{name} = load i64, ptr %{name}.at").expect("text");
    }
    let mut values = vec!["%x".to_owned(), "%nx".to_owned()];
    // A closure may have captures that are not read.
    values.extend(["%n", "%v"].into_iter().filter(|_| random.below(3) > 0).map(str::to_owned));
    let mut body = Body::new(&mut random, count, values);
    body.statements(10);
    for number in 0..count {
        let argument = body.value();
        body.define(&format!("call i64 @f{number}(ptr %mem, i64 {argument}, i64 %never)"));
    }
    let result = body.all();
    let address = body.address("%mem", WORDS);
    writeln!(body.text, "  store i64 {result}, ptr {address}").expect("text");
    text += &body.text;
    text += "  ret void\n}\n";
    let constant =
        |definition: &str| format!("{HEADER}@is_device = {definition}\n{DECLARATIONS}{text}");
    Generated {
        source: constant("external global i8"),
        with_kernel: constant("internal constant i8 1") + KERNEL,
    }
}

/// The body of a function, as it grows.
struct Body<'r> {
    random: &'r mut Random,
    text: String,
    /// Functions with a smaller number may be called.
    number: usize,
    next: usize,
    /// What can be used here.
    values: Vec<String>,
    depth: usize,
    block: String,
}

impl<'r> Body<'r> {
    fn new(random: &'r mut Random, number: usize, values: Vec<String>) -> Self {
        let text = "  %local = alloca [4 x i64], align 8\n  %other = alloca [4 x i64], align 8\n  \
                    %large = alloca [32 x i64], align 8\n  %wide = alloca [32 x i64], align 8\n  \
                    %tile = alloca [4 x i64], align 8\n  \
                    %shared = addrspacecast ptr %tile to ptr addrspace(3)\n  \
                    %global = addrspacecast ptr %mem to ptr addrspace(1)\n  \
                    call void @llvm.memset.p0.i64(ptr %local, i8 3, i64 32, i1 false)\n  \
                    call void @llvm.memset.p0.i64(ptr %tile, i8 5, i64 32, i1 false)\n  \
                    call void @llvm.memset.p0.i64(ptr align 8 %large, i8 7, i64 256, i1 false)\n  \
                    call void @llvm.memset.p0.i64(ptr align 8 %wide, i8 9, i64 256, i1 false)\n  \
                    br label %start\nstart:\n"
            .to_owned();
        let block = "start".to_owned();
        Body { random, text, number, next: 0, values, depth: 0, block }
    }

    fn name(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn value(&mut self) -> String {
        let index = self.random.below(self.values.len());
        self.values[index].clone()
    }

    /// An instruction whose result can be used from here on.
    fn define(&mut self, instruction: &str) -> String {
        let name = format!("%v{}", self.name());
        writeln!(self.text, "  {name} = {instruction}").expect("text");
        self.values.push(name.clone());
        name
    }

    fn label(&mut self, name: &str) {
        writeln!(self.text, "{name}:").expect("text");
        name.clone_into(&mut self.block);
    }

    fn statements(&mut self, most: usize) {
        for _ in 0..1 + self.random.below(most) {
            self.statement();
        }
    }

    /// The address of a word that a value names.
    fn address(&mut self, base: &str, words: usize) -> String {
        let value = self.value();
        let id = self.name();
        writeln!(self.text, "  %i{id} = and i64 {value}, {}", words - 1).expect("text");
        writeln!(self.text, "  %p{id} = getelementptr i64, ptr {base}, i64 %i{id}").expect("text");
        format!("%p{id}")
    }

    fn store(&mut self) {
        let address = self.address("%mem", WORDS);
        let value = self.value();
        writeln!(self.text, "  store i64 {value}, ptr {address}").expect("text");
    }

    /// A value to which all values that can be used here contribute, so that a wrong one shows.
    fn all(&mut self) -> String {
        let mut sum = "1".to_owned();
        for value in self.values.clone() {
            let product = self.define(&format!("mul i64 {sum}, 31"));
            sum = self.define(&format!("add i64 {product}, {value}"));
        }
        sum
    }

    fn statement(&mut self) {
        let (a, b) = (self.value(), self.value());
        let kinds = if self.depth < 3 { 25 } else { 18 };
        match self.random.below(kinds) {
            0..=2 => {
                let operations = ["add", "sub", "mul", "xor", "and", "or"];
                let operation = operations[self.random.below(operations.len())];
                self.define(&format!("{operation} i64 {a}, {b}"));
            }
            3 => self.store(),
            4 => {
                let address = self.address("%mem", WORDS);
                self.define(&format!("load i64, ptr {address}"));
            }
            5 => {
                let address = self.address("%local", 4);
                writeln!(self.text, "  store i64 {a}, ptr {address}").expect("text");
                let address = self.address("%local", 4);
                self.define(&format!("load i64, ptr {address}"));
            }
            6 => {
                let id = self.name();
                writeln!(self.text, "  %t{id} = and i64 {a}, 3").expect("text");
                writeln!(self.text, "  %q{id} = getelementptr i32, ptr @table, i64 %t{id}")
                    .expect("text");
                writeln!(self.text, "  %w{id} = load i32, ptr %q{id}").expect("text");
                self.define(&format!("zext i32 %w{id} to i64"));
            }
            7 => {
                let builtins = ["global_id_x", "global_range_y", "global_offset_x"];
                // Where the launch begins is refused in functions whose address is taken, the first
                // two.
                let known = if self.number < 2 { 2 } else { 3 };
                let builtin = builtins[self.random.below(known)];
                self.define(&format!("call i64 @__schism_{builtin}()"));
            }
            8 => {
                let id = self.name();
                writeln!(self.text, "  %d{id} = sitofp i64 {a} to double").expect("text");
                writeln!(self.text, "  %e{id} = fmul double %d{id}, 1.5").expect("text");
                self.define(&format!("call i64 @llvm.fptosi.sat.i64.f64(double %e{id})"));
            }
            9 => {
                text_memcpy(&mut self.text);
                let address = self.address("%other", 4);
                self.define(&format!("load i64, ptr {address}"));
            }
            10 => {
                let id = self.name();
                let (one, other) = (self.address("%mem", WORDS), self.address("%local", 4));
                writeln!(self.text, "  %c{id} = icmp ult i64 {a}, {b}").expect("text");
                let weights = self.random.below(3);
                writeln!(
                    self.text,
                    "  %s{id} = select i1 %c{id}, ptr {one}, ptr {other}, !prof !{weights}"
                )
                .expect("text");
                self.define(&format!("load i64, ptr %s{id}"));
            }
            11 => {
                let id = self.name();
                writeln!(self.text, "  %f{id} = load i8, ptr @is_device").expect("text");
                writeln!(self.text, "  %g{id} = icmp ne i8 %f{id}, 0").expect("text");
                self.define(&format!("select i1 %g{id}, i64 {a}, i64 {b}"));
            }
            12 => {
                writeln!(self.text, "  store ptr @ring, ptr %other").expect("text");
                self.define("load i64, ptr getelementptr (i8, ptr @ring, i64 8)");
            }
            13 => self.tile(),
            14 => self.large(),
            15 => self.atomic(),
            16 => self.products(),
            17 => self.trip_counts(),
            18 => self.call(&a),
            19 => self.panic(&a, &b),
            20 => self.choose(&a, &b),
            21 => self.repeat(&a),
            22 => self.rare_cases(),
            23 => self.checks(&a, &b),
            _ => self.switch(&a),
        }
    }

    fn call(&mut self, argument: &str) {
        if self.number == 0 {
            return;
        }
        let arguments = format!("(ptr %mem, i64 {argument}, i64 %never)");
        let callee = self.random.below(self.number);
        let id = self.name();
        match self.random.below(3) {
            0 if self.number >= 2 => {
                writeln!(self.text, "  %m{id} = and i64 {argument}, 1").expect("text");
                writeln!(self.text, "  %o{id} = getelementptr ptr, ptr @functions, i64 %m{id}")
                    .expect("text");
                writeln!(self.text, "  %h{id} = load ptr, ptr %o{id}").expect("text");
                self.define(&format!("call i64 %h{id}{arguments}"));
            }
            1 => {
                writeln!(
                    self.text,
                    "  %r{id} = invoke i64 @f{callee}{arguments} to label %ok{id} unwind label %pad{id}\n\
                     pad{id}:\n  %l{id} = landingpad {{ ptr, i32 }} cleanup\n  resume {{ ptr, i32 }} %l{id}"
                )
                .expect("text");
                self.label(&format!("ok{id}"));
                self.values.push(format!("%r{id}"));
            }
            _ => drop(self.define(&format!("call i64 @f{callee}{arguments}"))),
        }
    }

    fn panic(&mut self, a: &str, b: &str) {
        let id = self.name();
        writeln!(
            self.text,
            "  %n{id} = icmp eq i64 %never, 1\n  br i1 %n{id}, label %bad{id}, label %good{id}\n\
             bad{id}:\n  call void @panic_bounds(i64 {a}, i64 {b}, ptr @place)\n  unreachable"
        )
        .expect("text");
        self.label(&format!("good{id}"));
    }

    /// Statements in a block of their own, which ends in a branch; the value and the block that
    /// they end with.
    fn nested(&mut self, label: &str, next: &str) -> (String, String) {
        let known = self.values.len();
        self.depth += 1;
        self.label(label);
        self.statements(3);
        let value = self.value();
        self.depth -= 1;
        self.values.truncate(known);
        writeln!(self.text, "  br label %{next}").expect("text");
        (value, self.block.clone())
    }

    fn choose(&mut self, a: &str, b: &str) {
        let id = self.name();
        let end = format!("end{id}");
        writeln!(self.text, "  %k{id} = icmp slt i64 {a}, {b}").expect("text");
        // What a branch nearly always does is only said, and may be wrong.
        let weights = self.random.below(3);
        writeln!(self.text, "  br i1 %k{id}, label %then{id}, label %else{id}, !prof !{weights}")
            .expect("text");
        let (one, from_one) = self.nested(&format!("then{id}"), &end);
        let (other, from_other) = self.nested(&format!("else{id}"), &end);
        self.label(&end);
        self.define(&format!("phi i64 [ {one}, %{from_one} ], [ {other}, %{from_other} ]"));
    }

    /// Rare cases in a row, with nothing but arithmetic in and between them. The weights say that
    /// few values take them, or that most do.
    fn rare_cases(&mut self) {
        for _ in 0..2 + self.random.below(3) {
            let (a, b, id) = (self.value(), self.value(), self.name());
            let (near, far) = (format!("near{id}"), format!("far{id}"));
            let weights = self.random.below(2);
            writeln!(self.text, "  %k{id} = icmp slt i64 {a}, {b}").expect("text");
            let form = self.random.below(4);
            if form == 0 {
                self.define(&format!("select i1 %k{id}, i64 {a}, i64 {b}, !prof !{weights}"));
                continue;
            }
            // Both sides have a block, or one of them goes straight on.
            let before = self.block.clone();
            let end = format!("join{id}");
            let first = if form == 1 { &end } else { &near };
            let second = if form == 2 { &end } else { &far };
            writeln!(
                self.text,
                "  br i1 %k{id}, label %{first}, label %{second}, !prof !{weights}"
            )
            .expect("text");
            let mut incoming = Vec::new();
            for (label, used, operation) in [(&near, first, "add"), (&far, second, "xor")] {
                if used == &end {
                    incoming.push(format!("[ {a}, %{before} ]"));
                    continue;
                }
                self.label(label);
                writeln!(self.text, "  %{label}.x = {operation} i64 {a}, {b}\n  br label %{end}")
                    .expect("text");
                incoming.push(format!("[ %{label}.x, %{label} ]"));
            }
            self.label(&end);
            self.define(&format!("phi i64 {}", incoming.join(", ")));
        }
    }

    /// Checks of near indices against a length of 32 bits, joined, and accesses where they hold.
    fn checks(&mut self, a: &str, b: &str) {
        let (length, far, id) = (self.value(), self.value(), self.name());
        let mut code = |line: String| writeln!(self.text, "  {line}").expect("text");
        code(format!("%len{id}.low = trunc i64 {length} to i32"));
        code(format!("%len{id}.32 = and i32 %len{id}.low, {}", WORDS - 1));
        code(format!("%len{id} = zext nneg i32 %len{id}.32 to i64"));
        code(format!("%far{id}.low = trunc i64 {far} to i32"));
        let step = if self.random.below(2) == 0 {
            "and i32 %far{}.low, 3"
        } else {
            "lshr i32 %far{}.low, 1"
        };
        code(format!("%far{id}.32 = {}", step.replace("{}", &id.to_string())));
        code(format!("%far{id} = zext nneg i32 %far{id}.32 to i64"));
        let mask = if self.random.below(3) == 0 { -1 } else { WORDS as i64 - 1 };
        code(format!("%at{id}.0 = and i64 {a}, {mask}"));
        let near = if self.random.below(2) == 0 { "add" } else { "sub" };
        code(format!("%at{id}.1 = {near} i64 %at{id}.0, %far{id}"));
        code(format!("%at{id}.2 = add i64 %at{id}.1, {}", self.random.below(3) as i64 - 1));
        for at in 0..3 {
            code(format!("%in{id}.{at} = icmp ult i64 %at{id}.{at}, %len{id}"));
        }
        code(format!("%in{id}.3 = select i1 %in{id}.0, i1 %in{id}.1, i1 false"));
        code(format!("%in{id}.4 = and i1 %in{id}.3, %in{id}.2"));
        // Whether one is the last, which needs no more than 32 bits.
        code(format!("%last{id} = add nsw i64 %len{id}, -1"));
        let comparison = ["eq", "ne", "slt"][self.random.below(3)];
        code(format!("%is{id} = icmp {comparison} i64 %last{id}, %far{id}"));
        code(format!("%is{id}.wide = zext i1 %is{id} to i64"));
        code(format!("br i1 %in{id}.4, label %yes{id}, label %no{id}"));
        writeln!(self.text, "yes{id}:").expect("text");
        let mut code = |line: String| writeln!(self.text, "  {line}").expect("text");
        for at in 0..3 {
            code(format!("%el{id}.{at} = getelementptr i64, ptr %mem, i64 %at{id}.{at}"));
        }
        code(format!("%x{id} = load i64, ptr %el{id}.1"));
        code(format!("%w{id} = load i64, ptr %el{id}.2"));
        code(format!("%xw{id} = sub i64 %x{id}, %w{id}"));
        code(format!("store i64 %xw{id}, ptr %el{id}.0"));
        code(format!("br label %no{id}"));
        let before = self.block.clone();
        self.label(&format!("no{id}"));
        self.define(&format!("phi i64 [ %xw{id}, %yes{id} ], [ {b}, %{before} ]"));
        self.values.push(format!("%is{id}.wide"));
    }

    fn switch(&mut self, a: &str) {
        let id = self.name();
        let end = format!("out{id}");
        writeln!(
            self.text,
            "  %u{id} = and i64 {a}, 3\n  switch i64 %u{id}, label %case{id}.0 [ i64 1, label %case{id}.1 i64 2, label %case{id}.2 ]"
        )
        .expect("text");
        let mut incoming = Vec::new();
        for case in 0..3 {
            let (value, from) = self.nested(&format!("case{id}.{case}"), &end);
            incoming.push(format!("[ {value}, %{from} ]"));
        }
        self.label(&end);
        self.define(&format!("phi i64 {}", incoming.join(", ")));
    }

    fn repeat(&mut self, a: &str) {
        let id = self.name();
        let (before, times) = (self.block.clone(), 1 + self.random.below(4));
        writeln!(self.text, "  br label %loop{id}").expect("text");
        self.label(&format!("loop{id}"));
        // The back edge's block is not known yet: it is filled in below.
        writeln!(self.text, "  %j{id} = phi i64 [ 0, %{before} ], [ %jn{id}, %@{id}@ ]")
            .expect("text");
        writeln!(self.text, "  %y{id} = phi i64 [ {a}, %{before} ], [ %yn{id}, %@{id}@ ]")
            .expect("text");
        let known = self.values.len();
        self.values.extend([format!("%j{id}"), format!("%y{id}")]);
        self.depth += 1;
        self.statements(3);
        self.depth -= 1;
        let value = self.value();
        self.values.truncate(known);
        let back = self.block.clone();
        self.text = self.text.replace(&format!("@{id}@"), &back);
        writeln!(
            self.text,
            "  %jn{id} = add i64 %j{id}, 1\n  %yn{id} = add i64 {value}, %j{id}\n  %z{id} = icmp ult i64 %jn{id}, {times}\n  \
             br i1 %z{id}, label %loop{id}, label %done{id}"
        )
        .expect("text");
        self.label(&format!("done{id}"));
        self.values.push(format!("%yn{id}"));
    }
}

fn text_memcpy(text: &mut String) {
    text.push_str("  call void @llvm.memcpy.p0.p0.i64(ptr %other, ptr %local, i64 32, i1 false)\n");
}

/// Runs passes over the module of a seed, and compares.
///
/// # Errors
/// What went wrong, with the module and the passes.
pub fn check(seed: u64) -> Result<(), String> {
    let module = generate(seed);
    let mut random = Random::new(!seed);
    let fail = |passes: &str, source: &str, what: String| {
        Err(format!("seed {seed}, passes {passes}: {what}\n\n{source}"))
    };
    let expected: Vec<Memory> = match [0, 5]
        .into_iter()
        .map(|offset| execute(&module.with_kernel, "kernel", offset, None))
        .collect()
    {
        Ok(expected) => expected,
        Err(what) => return fail("none", &module.with_kernel, what),
    };
    let mut runs = vec![("stage1".to_owned(), &module.source)];
    for _ in 0..3 {
        let order: Vec<&str> =
            (0..1 + random.below(6)).map(|_| ANY_ORDER[random.below(ANY_ORDER.len())]).collect();
        // What copies functions relies on there being no landing pads.
        runs.push((format!("lower-unwind,{}", order.join(",")), &module.with_kernel));
    }
    runs.push(("stage1,dead-arguments".to_owned(), &module.source));
    for (passes, source) in &runs {
        let result = opt::read(source.as_bytes(), &[]).and_then(|input| opt::run(&input, passes));
        let output = match result {
            Ok(output) => output,
            Err(error) => return fail(passes, source, error.to_string()),
        };
        let line =
            output.lines().find(|line| line.starts_with("; kernel kernel:")).unwrap_or_default();
        let kept = line.split_once("passes [").map(|(_, rest)| {
            let list = rest.split(']').next().unwrap_or_default();
            list.split(", ").filter_map(|index| index.parse().ok()).collect::<Vec<usize>>()
        });
        let variant = output.contains("define void @kernel_with_offset(");
        let after = execute(&output, "kernel", 0, kept.as_deref());
        if after.as_ref() != Ok(&expected[0]) {
            return fail(passes, source, format!("{:?} became {after:?}", expected[0]));
        }
        if variant && kept.is_none() {
            let after = execute(&output, "kernel_with_offset", 5, None);
            if after.as_ref() != Ok(&expected[1]) {
                return fail(passes, source, format!("from 5: {:?} became {after:?}", expected[1]));
            }
        }
    }
    for target in ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"] {
        let passes = "stage1,lower-local-memory,address-spaces,dead-arguments";
        let spec = [format!("target: {target}")];
        let result =
            opt::read(module.source.as_bytes(), &spec).and_then(|input| opt::run(&input, passes));
        if let Err(error) = result {
            return fail(passes, &module.source, format!("{target}: {error}"));
        }
    }
    Ok(())
}

/// What the kernel of a module leaves in memory.
///
/// # Errors
/// The module cannot be compiled.
pub fn results(with_kernel: &str) -> Result<[u64; WORDS], String> {
    execute(with_kernel, "kernel", 0, None)
}

type Memory = [u64; WORDS];

static OFFSET: AtomicU64 = AtomicU64::new(0);

extern "C" fn three() -> u64 {
    3
}

extern "C" fn seventeen() -> u64 {
    17
}

extern "C" fn offset() -> u64 {
    OFFSET.load(Ordering::Relaxed)
}

extern "C" fn never() {
    eprintln!("a branch that is never taken was taken");
    std::process::abort();
}

/// Compiles a module in this process and runs one of its kernels. `kept` are the parameters that
/// the kernel has left.
fn execute(ir: &str, kernel: &str, begin: u64, kept: Option<&[usize]>) -> Result<Memory, String> {
    /// One at a time: the builtins answer from statics.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    OFFSET.store(begin, Ordering::Relaxed);
    target::initialise();
    let mut memory: Memory = std::array::from_fn(|index| index as u64 * 0x0101_0101);
    let all = [memory.as_mut_ptr() as u64, 9, 0xdead_beef, 0];
    let mut arguments: Vec<u64> = match kept {
        Some(kept) => kept.iter().map(|&index| all[index]).collect(),
        None => all.to_vec(),
    };
    if kernel.ends_with("_with_offset") {
        arguments.extend([begin, 0, 0]);
    }
    arguments.resize(7, 0);
    let text = CString::new(ir).map_err(|error| error.to_string())?;
    let name = CString::new(kernel).map_err(|error| error.to_string())?;
    // SAFETY: context, module and engine are made and disposed of here; the engine takes the
    // module. All zeros are valid options, which LLVM then fills in. The kernel takes up to seven
    // words, which the System V calling convention passes in six registers and on the stack:
    // passing more than it takes is harmless there. It writes to `memory` alone, as generated.
    unsafe {
        LLVMLinkInMCJIT();
        let context = LLVMContextCreate();
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr(), ir.len(), c"ir".as_ptr());
        let (mut module, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        let failed = LLVMParseIRInContext2(context, buffer, &mut module, &mut error);
        LLVMDisposeMemoryBuffer(buffer);
        if failed != 0 {
            let message = std::ffi::CStr::from_ptr(error).to_string_lossy().into_owned();
            LLVMDisposeMessage(error);
            LLVMContextDispose(context);
            return Err(message);
        }
        // Compiled without optimisation: fast, and LLVM's own optimiser is not what is tested.
        let size = size_of::<LLVMMCJITCompilerOptions>();
        let mut options = std::mem::MaybeUninit::<LLVMMCJITCompilerOptions>::zeroed().assume_init();
        LLVMInitializeMCJITCompilerOptions(&mut options, size);
        options.OptLevel = 0;
        let mut engine = std::ptr::null_mut();
        let failed =
            LLVMCreateMCJITCompilerForModule(&mut engine, module, &mut options, size, &mut error);
        if failed != 0 {
            let message = std::ffi::CStr::from_ptr(error).to_string_lossy().into_owned();
            LLVMDisposeMessage(error);
            LLVMContextDispose(context);
            return Err(message);
        }
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            let mut length = 0;
            let data = LLVMGetValueName2(function, &mut length);
            let name = std::slice::from_raw_parts(data.cast::<u8>(), length);
            let address: Option<*mut c_void> = match name {
                b"__schism_global_offset_x" => Some(offset as *mut c_void),
                b"panic_bounds" | b"__schism_panic" | b"rust_eh_personality" => {
                    Some(never as *mut c_void)
                }
                name if name.starts_with(b"__schism_global_id") => Some(three as *mut c_void),
                name if name.starts_with(b"__schism_global_range") => {
                    Some(seventeen as *mut c_void)
                }
                _ => None,
            };
            if let Some(address) = address.filter(|_| LLVMIsDeclaration(function) != 0) {
                LLVMAddGlobalMapping(engine, function, address);
            }
            function = LLVMGetNextFunction(function);
        }
        let address = LLVMGetFunctionAddress(engine, name.as_ptr());
        let result = if address == 0 {
            Err(format!("there is no {kernel}"))
        } else {
            let run: extern "C" fn(u64, u64, u64, u64, u64, u64, u64) =
                std::mem::transmute(address as usize);
            let [a, b, c, d, e, f, g] = arguments[..] else { unreachable!("seven words") };
            run(a, b, c, d, e, f, g);
            Ok(memory)
        };
        LLVMDisposeExecutionEngine(engine);
        LLVMContextDispose(context);
        result
    }
}
