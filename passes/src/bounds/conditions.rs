//! Emits, in front of a loop, the conditions under which facts hold in all of its iterations.

use llvm_sys::LLVMIntPredicate::{self, *};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::scev::{self, AddRec, Emit, Step};
use crate::analysis::trip_count::TripCount;

/// What must hold in all iterations.
pub(crate) enum Fact {
    /// A condition that is the same in all iterations, or its opposite.
    Condition(LLVMValueRef, bool),
    Compare(LLVMIntPredicate, AddRec, AddRec),
}

impl Fact {
    /// Whether it does not depend on the iteration.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Fact::Condition(..) => true,
            Fact::Compare(_, a, b) => {
                [a, b].iter().all(|side| side.is_fixed() && side.no_wrap.is_empty())
            }
        }
    }
}

/// The conditions that are collected, and what makes them.
pub(crate) struct Conditions<'a> {
    pub(crate) emit: &'a mut Emit,
    pub(crate) all: Option<LLVMValueRef>,
}

impl Conditions<'_> {
    pub(crate) unsafe fn and(&mut self, condition: LLVMValueRef) {
        let all = self.all.map(|all| {
            // SAFETY: as promised by the callers: both are conditions, and neither is poison.
            unsafe { LLVMBuildAnd(self.emit.builder(), all, condition, c"".as_ptr()) }
        });
        self.all = Some(all.unwrap_or(condition));
    }

    pub(crate) unsafe fn compare(
        &mut self,
        predicate: LLVMIntPredicate,
        a: LLVMValueRef,
        b: LLVMValueRef,
    ) {
        // SAFETY: as promised by the callers: both are numbers of the same type.
        unsafe {
            let condition = LLVMBuildICmp(self.emit.builder(), predicate, a, b, c"".as_ptr());
            self.and(condition);
        }
    }

    unsafe fn not(&mut self, overflows: LLVMValueRef) {
        // SAFETY: as promised by the callers: it is a condition.
        unsafe {
            let condition = LLVMBuildNot(self.emit.builder(), overflows, c"".as_ptr());
            self.and(condition);
        }
    }

    /// The iteration in which the loop ends at the latest.
    pub(crate) unsafe fn end(&mut self, trip_count: &TripCount) -> LLVMValueRef {
        let TripCount { predicate, value, step, bound, .. } = trip_count;
        let (bits, step) = (value.bits(), *step);
        let name = c"".as_ptr();
        let most = match predicate {
            LLVMIntSLT | LLVMIntSLE => u64::MAX >> (65 - bits),
            _ => u64::MAX >> (64 - bits),
        };
        // SAFETY: as promised by the caller; all numbers are of 64 bits, and steps are no 0.
        unsafe {
            let size = self.emit.number(64, step);
            if *predicate == LLVMIntNE {
                // The first multiple of the step that is the distance is the distance, if it is a multiple.
                let up = matches!(value.step, Step::Up(_));
                // A loop often compares the value of the next iteration. Then all iterations are counted, and one is subtracted again:
                // LLVM knows of a slice that it is not empty, and not how much is left of it behind its first element.
                let before = scev::before(&value.base, step).filter(|_| up);
                let first = before.as_ref().unwrap_or(&value.base);
                let distance = match up {
                    true => scev::difference(bound, first),
                    false => scev::difference(first, bound),
                };
                let distance = self.emit.wide(&distance);
                let mut iterations = distance;
                if step != 1 {
                    let rest = LLVMBuildURem(self.emit.builder(), distance, size, name);
                    let none = self.emit.number(64, 0);
                    self.compare(LLVMIntEQ, rest, none);
                    iterations = LLVMBuildUDiv(self.emit.builder(), distance, size, name);
                }
                if before.is_some() {
                    let one = self.emit.number(64, 1);
                    self.compare(LLVMIntUGE, iterations, one);
                    iterations = LLVMBuildSub(self.emit.builder(), iterations, one, name);
                }
                return iterations;
            }
            let first = self.emit.wide(&value.base);
            let mut bound = self.emit.wide(bound);
            // The value in the iteration that ends the loop must not have wrapped.
            let distance = match predicate {
                LLVMIntUGT => {
                    let least = self.emit.number(64, step - 1);
                    self.compare(LLVMIntUGE, bound, least);
                    self.emit.intrinsic("llvm.usub.sat", first, bound)
                }
                _ => {
                    let through = matches!(predicate, LLVMIntULE | LLVMIntSLE);
                    let room = if through { step } else { step - 1 };
                    let limit = self.emit.number(64, most.wrapping_sub(room));
                    self.compare(LLVMIntULE, bound, limit);
                    if matches!(predicate, LLVMIntSLT | LLVMIntSLE) {
                        let limit = self.emit.number(64, most);
                        self.compare(LLVMIntULE, first, limit);
                    }
                    if through {
                        let one = self.emit.number(64, 1);
                        bound = LLVMBuildAdd(self.emit.builder(), bound, one, name);
                    }
                    self.emit.intrinsic("llvm.usub.sat", bound, first)
                }
            };
            if step == 1 {
                return distance;
            }
            let up = self.emit.number(64, step - 1);
            let rounded = LLVMBuildAdd(self.emit.builder(), distance, up, name);
            LLVMBuildUDiv(self.emit.builder(), rounded, size, name)
        }
    }

    /// A value in an iteration, in 64 bits. Adds the conditions under which it has wrapped neither there nor in any iteration before.
    pub(crate) unsafe fn last(&mut self, value: &AddRec, iteration: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the caller; all numbers are of 64 bits.
        unsafe {
            let first = self.emit.wide(&value.base);
            let (size, up) = match &value.step {
                Step::None => return first,
                Step::Up(size) => (size, true),
                Step::Down(size) => (size, false),
            };
            let way = if scev::known(size) == Some(1) {
                iteration
            } else {
                let size = self.emit.wide(size);
                self.checked("llvm.umul.with.overflow", iteration, size)
            };
            if !up {
                self.compare(LLVMIntUGE, first, way);
                return LLVMBuildSub(self.emit.builder(), first, way, c"".as_ptr());
            }
            let last = self.checked("llvm.uadd.with.overflow", first, way);
            if value.bits() < 64 {
                let most = self.emit.number(64, u64::MAX >> (64 - value.bits()));
                self.compare(LLVMIntULE, last, most);
            }
            last
        }
    }

    /// Arithmetic that must not overflow.
    unsafe fn checked(
        &mut self,
        intrinsic: &str,
        a: LLVMValueRef,
        b: LLVMValueRef,
    ) -> LLVMValueRef {
        let both = self.emit.intrinsic(intrinsic, a, b);
        // SAFETY: the intrinsic gives the result, and whether it overflows.
        unsafe {
            let builder = self.emit.builder();
            let overflows = LLVMBuildExtractValue(builder, both, 1, c"".as_ptr());
            self.not(overflows);
            LLVMBuildExtractValue(builder, both, 0, c"".as_ptr())
        }
    }

    /// Adds what makes a fact hold in all iterations up to `iteration`.
    pub(crate) unsafe fn fact(&mut self, fact: &Fact, iteration: LLVMValueRef) {
        // SAFETY: as promised by the caller; numbers that are compared are of the same type.
        unsafe {
            let (predicate, a, b) = match fact {
                Fact::Condition(condition, wanted) => {
                    let condition = self.emit.condition(*condition);
                    if *wanted {
                        self.and(condition)
                    } else {
                        self.not(condition)
                    };
                    return;
                }
                Fact::Compare(predicate, a, b) => (*predicate, a, b),
            };
            for inner in a.no_wrap.iter().chain(&b.no_wrap) {
                self.last(inner, iteration);
            }
            if a.is_fixed() && b.is_fixed() {
                let (a, b) = (self.emit.value(&a.base), self.emit.value(&b.base));
                return self.compare(predicate, a, b);
            }
            let (a_last, b_last) = (self.last(a, iteration), self.last(b, iteration));
            let (a_first, b_first) = (self.emit.wide(&a.base), self.emit.wide(&b.base));
            if a.step == b.step {
                // Both go on by the same amount, so they compare as they did first.
                return self.compare(predicate, a_first, b_first);
            }
            // The worst that each can be.
            let least = |value: &AddRec, first, last| match value.step {
                Step::Down(_) => last,
                _ => first,
            };
            let most = |value: &AddRec, first, last| match value.step {
                Step::Up(_) => last,
                _ => first,
            };
            let (a, b) = match predicate {
                LLVMIntULT | LLVMIntULE => (most(a, a_first, a_last), least(b, b_first, b_last)),
                _ => (least(a, a_first, a_last), most(b, b_first, b_last)),
            };
            self.compare(predicate, a, b);
        }
    }
}
