//! Which numbers do not go up by a constant from work-item to work-item.
//!
//! A driver for processors computes neighbouring work-items in the lanes of a vector. Elements whose
//! places are such numbers it loads one by one.

use std::collections::HashMap;

use schism_llvm::{Opcode, Value};

use crate::spec::target::THREAD_ID;

/// A work-item's place in its group.
const TID: &str = "llvm.nvvm.read.ptx.sreg.tid.x";

/// What limits a number to another one.
const LIMITS: [&str; 2] = ["llvm.umin.", "llvm.umax."];

/// What was found out of a function's values.
#[derive(Default)]
pub(super) struct Irregular<'m> {
    varies: HashMap<Value<'m>, bool>,
    is_irregular: HashMap<Value<'m>, bool>,
}

impl<'m> Irregular<'m> {
    /// Whether a number certainly differs between work-items, and not by a constant.
    pub fn is_irregular(&mut self, value: Value<'m>) -> bool {
        if let Some(&known) = self.is_irregular.get(&value) {
            return known;
        }
        // What depends on itself is what else it depends on.
        self.is_irregular.insert(value, false);
        let operands: Vec<Value<'m>> = match value.opcode() {
            Some(Opcode::Phi) => value.incoming_edges().into_iter().map(|it| it.0).collect(),
            Some(_) => value.operands().collect(),
            None => return false,
        };
        let is_so = match value.opcode() {
            Some(Opcode::Load) => self.varies(value.operand(0)),
            Some(
                Opcode::LShr
                | Opcode::AShr
                | Opcode::UDiv
                | Opcode::SDiv
                | Opcode::URem
                | Opcode::SRem
                | Opcode::And
                | Opcode::Xor,
            ) => operands.into_iter().any(|it| self.varies(it)),
            Some(Opcode::Select) => {
                self.varies(operands[0]) || operands.into_iter().any(|it| self.is_irregular(it))
            }
            Some(Opcode::Call) => {
                let limits = |callee: Value<'m>| {
                    let name = callee.name();
                    LIMITS.iter().any(|intrinsic| name.starts_with(intrinsic))
                };
                value.callee().is_some_and(limits)
                    && operands.into_iter().any(|it| self.is_irregular(it))
            }
            Some(
                Opcode::Add
                | Opcode::Sub
                | Opcode::Mul
                | Opcode::Shl
                | Opcode::Or
                | Opcode::ZExt
                | Opcode::SExt
                | Opcode::Trunc
                | Opcode::Freeze
                | Opcode::Phi,
            ) => operands.into_iter().any(|it| self.is_irregular(it)),
            _ => false,
        };
        self.is_irregular.insert(value, is_so);
        is_so
    }

    /// Whether a value depends on a work-item's place.
    fn varies(&mut self, value: Value<'m>) -> bool {
        if let Some(&known) = self.varies.get(&value) {
            return known;
        }
        self.varies.insert(value, false);
        let is_so = match value.opcode() {
            None => false,
            Some(Opcode::Phi) => {
                value.incoming_edges().into_iter().any(|(value, _)| self.varies(value))
            }
            Some(Opcode::Call) => {
                let axis = value.args().first().and_then(|axis| axis.as_unsigned());
                value.callee().is_some_and(|callee| match &*callee.name() {
                    TID => true,
                    THREAD_ID => axis == Some(0),
                    _ => value.args().into_iter().any(|it| self.varies(it)),
                })
            }
            Some(_) => value.operands().collect::<Vec<_>>().into_iter().any(|it| self.varies(it)),
        };
        self.varies.insert(value, is_so);
        is_so
    }
}
