//! Statements that passes for GPUs look for: address spaces, large fills and copies, atomics,
//! products, trip counts.

use std::fmt::Write;

use super::{Body, WORDS};

impl Body<'_> {
    /// Elements of local memory, and loads from global memory between them.
    pub(super) fn tile(&mut self) {
        for _ in 0..2 + self.random.below(3) {
            let (value, id) = (self.value(), self.name());
            match self.random.below(5) {
                0 | 1 => {
                    let at = self.place("%shared", 3, 4);
                    writeln!(
                        self.text,
                        "  store atomic i64 {value}, ptr addrspace(3) {at} monotonic, align 8"
                    )
                    .expect("text");
                }
                2 | 3 => {
                    let at = self.place("%global", 1, WORDS);
                    self.define(&format!("load i64, ptr addrspace(1) {at}"));
                }
                _ => {
                    let at = self.place("%shared", 3, 4);
                    writeln!(
                        self.text,
                        "  %sh{id} = load atomic i64, ptr addrspace(3) {at} monotonic, align 8"
                    )
                    .expect("text");
                    self.values.push(format!("%sh{id}"));
                }
            }
        }
    }

    /// The address of a word that a value names, in an address space.
    fn place(&mut self, base: &str, space: u32, words: usize) -> String {
        let (value, id) = (self.value(), self.name());
        writeln!(self.text, "  %i{id} = and i64 {value}, {}", words - 1).expect("text");
        writeln!(
            self.text,
            "  %p{id} = getelementptr i64, ptr addrspace({space}) {base}, i64 %i{id}"
        )
        .expect("text");
        format!("%p{id}")
    }

    /// A fill or a copy of memory that is worth a loop.
    pub(super) fn large(&mut self) {
        let length = [96, 128, 129, 200, 256][self.random.below(5)];
        let align = [1, 4, 8][self.random.below(3)];
        match self.random.below(3) {
            0 => writeln!(
                self.text,
                "  call void @llvm.memset.p0.i64(ptr align {align} %large, i8 {}, i64 {length}, i1 false)",
                self.random.below(128)
            ),
            1 => writeln!(
                self.text,
                "  call void @llvm.memcpy.p0.p0.i64(ptr align {align} %wide, ptr align 8 %large, i64 {length}, i1 false)"
            ),
            _ => {
                let (value, at) = (self.value(), self.address("%large", 32));
                writeln!(self.text, "  store i64 {value}, ptr {at}")
            }
        }
        .expect("text");
        let base = ["%large", "%wide"][self.random.below(2)];
        let at = self.address(base, 32);
        self.define(&format!("load i64, ptr {at}"));
    }

    /// Atomic accesses of the work-item's own memory, or of the launch's.
    pub(super) fn atomic(&mut self) {
        let (value, other) = (self.value(), self.value());
        let (at, id) = match self.random.below(4) {
            0 => (self.address("%mem", WORDS), self.name()),
            1 => {
                // Not `%other`, which may hold an address: that is never the same.
                let (one, two) = (self.address("%local", 4), self.address("%wide", 4));
                let id = self.name();
                writeln!(self.text, "  %ch{id} = icmp ult i64 {value}, {other}").expect("text");
                writeln!(self.text, "  %at{id} = select i1 %ch{id}, ptr {one}, ptr {two}")
                    .expect("text");
                (format!("%at{id}"), id)
            }
            _ => (self.address("%local", 4), self.name()),
        };
        let operations =
            ["add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "xchg"];
        match self.random.below(4) {
            0 => drop(self.define(&format!("load atomic i64, ptr {at} acquire, align 8"))),
            1 => {
                writeln!(self.text, "  store atomic i64 {value}, ptr {at} release, align 8")
                    .expect("text");
            }
            2 => {
                let operation = operations[self.random.below(operations.len())];
                self.define(&format!("atomicrmw {operation} ptr {at}, i64 {value} seq_cst"));
            }
            _ => {
                writeln!(
                    self.text,
                    "  %cx{id} = cmpxchg ptr {at}, i64 {value}, i64 {other} seq_cst acquire"
                )
                .expect("text");
                self.define(&format!("extractvalue {{ i64, i1 }} %cx{id}, 0"));
                writeln!(self.text, "  %did{id} = extractvalue {{ i64, i1 }} %cx{id}, 1")
                    .expect("text");
                self.define(&format!("zext i1 %did{id} to i64"));
            }
        }
    }

    /// Products of sums that differ by a constant; often one of them is a part of the sums of
    /// others.
    pub(super) fn products(&mut self) {
        for _ in 0..1 + self.random.below(2) {
            let (base, factor) = (self.value(), self.value());
            for _ in 0..2 + self.random.below(2) {
                let constant = self.random.below(9);
                let sum = match self.random.below(3) {
                    0 => base.clone(),
                    1 => {
                        let id = self.name();
                        writeln!(self.text, "  %fl{id} = and i64 {base}, -16").expect("text");
                        self.define(&format!("or disjoint i64 %fl{id}, {constant}"))
                    }
                    _ => self.define(&format!("add i64 {base}, {constant}")),
                };
                let product = match self.random.below(2) {
                    0 => format!("mul i64 {sum}, {factor}"),
                    _ => format!("mul i64 {factor}, {sum}"),
                };
                self.define(&product);
            }
        }
    }

    /// How many iterations are left to a loop, as LLVM counts them.
    pub(super) fn trip_counts(&mut self) {
        let (length, first, step, id) = (self.value(), self.value(), self.value(), self.name());
        let mut code = |line: String| writeln!(self.text, "  {line}").expect("text");
        code(format!("%tl{id}.low = trunc i64 {length} to i32"));
        code(format!("%tl{id}.32 = lshr i32 %tl{id}.low, 1"));
        code(format!("%tl{id} = zext nneg i32 %tl{id}.32 to i64"));
        code(format!("%tf{id} = lshr i64 {first}, 33"));
        code(format!("%ts{id} = or i64 {step}, 1"));
        code(format!("%tm{id} = call i64 @llvm.umax.i64(i64 %tl{id}, i64 %tf{id})"));
        code(format!("%tb{id} = icmp ult i64 %tf{id}, %tl{id}"));
        code(format!("%to{id} = zext i1 %tb{id} to i64"));
        code(format!("%te{id} = add nuw i64 %tf{id}, %to{id}"));
        code(format!("%tr{id} = sub i64 %tm{id}, %te{id}"));
        self.define(&format!("udiv i64 %tr{id}, %ts{id}"));
    }
}
