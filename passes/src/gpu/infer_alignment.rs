//! Raises the alignment of accesses at addresses that advance by constant steps. Runs in stage 2,
//! for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! begin:
//!   %row = and i64 %any, -16
//!   %first = getelementptr float, ptr align 16 %p, i64 %row
//! loop:
//!   %at = phi ptr [ %first, %begin ], [ %at.next, %loop ]
//!   %a = load float, ptr %at, align 4
//!   %at.1 = getelementptr i8, ptr %at, i64 4
//!   %b = load float, ptr %at.1, align 4
//!   ...
//!   %at.next = getelementptr i8, ptr %at, i64 64
//! ```
//! After:
//! ```llvm
//!   %a = load float, ptr %at, align 64
//!   %b = load float, ptr %at.1, align 4
//! ```
//!
//! LLVM's code generator makes one access of neighbours where it knows the first one's alignment,
//! but does not look for it behind a phi.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, Opcode, Value};

use crate::analysis::scev;
use crate::ir::cfg::Cfg;

/// How many steps of arithmetic are looked through.
const DEPTH: u32 = 8;

/// No access asks for more: 2⁶ bytes.
const MOST: u32 = 6;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
pub fn run_on(function: Value<'_>) {
    if function.blocks().is_empty() {
        return;
    }
    let cfg = Cfg::of(function);
    let loops = cfg.loops();
    let mut known = Known { phis: HashMap::new() };
    // Loops come before those inside of them: what those begin at may be a phi of theirs.
    let mut order: Vec<_> = loops.iter().collect();
    order.sort_by_key(|one| std::cmp::Reverse(one.blocks.len()));
    for one in order {
        for phi in cfg.blocks[one.header].phis() {
            let (first, next) =
                (phi.incoming(cfg.blocks[one.preheader]), phi.incoming(cfg.blocks[one.latch]));
            let (Some(first), Some(next)) = (first, next) else { continue };
            if let Some((base, step)) = constant_step(next)
                && base == phi
                && scev::is_pointer(phi)
            {
                let zeros = known.of_address(first, DEPTH).min(zeros_of(step));
                known.phis.insert(phi, zeros);
            }
        }
    }
    if known.phis.is_empty() {
        return;
    }
    for access in function.instructions() {
        let place = match access.opcode() {
            Some(Opcode::Load) => 0,
            Some(Opcode::Store) => 1,
            _ => continue,
        };
        let address = access.operand(place);
        let Some((base, offset)) = constant_step(address) else { continue };
        let Some(&zeros) = known.phis.get(&base) else { continue };
        let bytes = 1 << zeros.min(zeros_of(offset)).min(MOST);
        if bytes > access.alignment() {
            access.set_alignment(bytes);
        }
    }
}

/// What is known of a function's values: how many of their lowest bits are zero at least.
struct Known<'m> {
    /// Of addresses that go on by steps.
    phis: HashMap<Value<'m>, u32>,
}

impl<'m> Known<'m> {
    /// Of an address.
    fn of_address(&self, address: Value<'m>, depth: u32) -> u32 {
        if let Some(&zeros) = self.phis.get(&address) {
            return zeros;
        }
        if let Some((base, index, size)) = element(address).filter(|_| depth > 0) {
            let offset = self.of_number(index, depth - 1).saturating_add(size.trailing_zeros());
            return self.of_address(base, depth - 1).min(offset);
        }
        if let Some(align) = address.parameter_attribute("align") {
            return align.value().trailing_zeros();
        }
        match address.opcode() {
            Some(Opcode::AddrSpaceCast) if depth > 0 => {
                self.of_address(address.operand(0), depth - 1)
            }
            _ => 0,
        }
    }

    /// Of an integer.
    fn of_number(&self, value: Value<'m>, depth: u32) -> u32 {
        if value.is_constant_int() && value.ty().int_width() <= 64 {
            return zeros_of(value.sext_value());
        }
        let operand = |index| match depth {
            0 => 0,
            _ => self.of_number(value.operand(index), depth - 1),
        };
        let amount = || {
            let amount = value.operand(1);
            match !amount.is_constant_int() {
                true => 0,
                false => amount.zext_value().try_into().unwrap_or(u32::MAX),
            }
        };
        match value.opcode() {
            Some(Opcode::Add | Opcode::Sub | Opcode::Or | Opcode::Xor) => {
                operand(0).min(operand(1))
            }
            Some(Opcode::And) => operand(0).max(operand(1)),
            Some(Opcode::Mul) => operand(0).saturating_add(operand(1)),
            Some(Opcode::Shl) => operand(0).saturating_add(amount()),
            Some(Opcode::ZExt | Opcode::SExt | Opcode::Trunc) => operand(0),
            _ => 0,
        }
    }
}

/// The lowest bits of a number that are zero; all of them, of zero.
const fn zeros_of(number: i64) -> u32 {
    number.trailing_zeros()
}

/// The parts of an address, and not of several, that is another one and one index.
fn element(address: Value<'_>) -> Option<(Value<'_>, Value<'_>, u64)> {
    address.element().filter(|_| scev::is_pointer(address))
}

/// What an address is made of: another one that is not made so itself, and a constant number of bytes.
fn constant_step(mut address: Value<'_>) -> Option<(Value<'_>, i64)> {
    let mut bytes = 0_i64;
    while let Some((base, index, size)) = element(address) {
        let index = {
            if !index.is_constant_int() {
                return Some((address, bytes));
            }
            index.sext_value()
        };
        bytes = bytes.checked_add(index.checked_mul(size.try_into().ok()?)?)?;
        address = base;
    }
    Some((address, bytes))
}
