//! How long an iteration of a loop must take: the values that it hands on to the next one.

use std::collections::HashMap;

use schism_llvm::{Opcode, Value};

use super::intrinsics;
use super::region::{InnerLoop, Region};

/// How many values of a loop are looked at.
const VALUES: usize = 256;

/// The cycles from the begin of an iteration to that of the next one, on a processor that waits for nothing else.
pub(super) fn of_iteration<'m>(region: &Region<'m>, of: &InnerLoop) -> f64 {
    let latch = region.cfg.blocks[of.latch];
    let phis = region.cfg.blocks[of.header].phis();
    let cycles = phis.iter().filter_map(|&phi| {
        let mut paths = Paths { region, of, phi, known: HashMap::new() };
        paths.longest(phi.incoming(latch)?)
    });
    cycles.fold(0.0, f64::max)
}

/// Paths from a phi through the loop.
struct Paths<'a, 'm> {
    region: &'a Region<'m>,
    of: &'a InnerLoop,
    phi: Value<'m>,
    known: HashMap<Value<'m>, Option<f64>>,
}

impl<'m> Paths<'_, 'm> {
    /// The cycles of the longest path to a value; `None` if it does not depend on the phi.
    fn longest(&mut self, value: Value<'m>) -> Option<f64> {
        if value == self.phi {
            return Some(0.0);
        }
        let is_own =
            value.is_instruction() && self.of.blocks.contains(&self.region.cfg.block_of(value));
        if !is_own || self.known.len() > VALUES {
            return None;
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        // A cycle is that of an inner loop, or of another phi of this one.
        self.known.insert(value, None);
        let operands: Vec<Value<'m>> = match value.opcode() {
            Some(Opcode::Phi) => {
                value.incoming_edges().into_iter().map(|(value, _)| value).collect()
            }
            _ => value.operands().collect(),
        };
        let before = operands.into_iter().filter_map(|it| self.longest(it));
        let longest =
            before.fold(None, |most: Option<f64>, it| Some(most.map_or(it, |most| most.max(it))));
        let all = longest.map(|cycles| cycles + cycles_of(value));
        self.known.insert(value, all);
        all
    }
}

/// The cycles that an instruction takes from its operands to its result.
fn cycles_of(one: Value<'_>) -> f64 {
    use Opcode::*;
    match one.opcode() {
        Some(FAdd | FSub | FMul) => 4.0,
        Some(FDiv) => 12.0,
        Some(FRem | UDiv | SDiv | URem | SRem) => 15.0,
        Some(Mul) => 3.0,
        Some(Load) => 5.0,
        Some(SIToFP | UIToFP | FPToSI | FPToUI | FPTrunc | FPExt) => 4.0,
        Some(Call) => match one.callee() {
            Some(callee) if intrinsics::is_called(callee, "sqrt") => 15.0,
            Some(callee) if callee.name().starts_with("llvm.") => 4.0,
            _ => 20.0,
        },
        Some(Phi | BitCast | Freeze | PtrToInt | IntToPtr | Trunc | ZExt) => 0.0,
        _ => 1.0,
    }
}
