//! Operations of sub-groups: what LLVM has as intrinsics of a GPU whose warps have 32 lanes.
//!
//! ```llvm
//!   %other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 %mask, i32 31)
//! ```
//! becomes
//! ```text
//!   %lane = OpLoad %uint %SubgroupLocalInvocationId Aligned 4
//!     %60 = OpBitwiseXor %uint %lane %mask
//!     %61 = OpULessThan %bool %60 %uint_32
//!   %from = OpSelect %uint %61 %60 %lane
//!  %other = OpGroupNonUniformShuffle %uint %Subgroup %value %from
//! ```
//! The entry requires sub-groups of 32 lanes of its device. A lane that has no partner gets its own
//! value, as on that GPU.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{
    BuiltIn, Capability, ExecutionMode, MemoryAccess, MemorySemantics, Op, Scope, Word,
};
use schism_llvm::Value;

use super::{Lowered, Lowering, refuse};
use crate::gpu::builtins::{
    DEVICE_BALLOT, DEVICE_LANE, DEVICE_SHUFFLE, DEVICE_SHUFFLE_DOWN, DEVICE_SHUFFLE_UP,
    DEVICE_SHUFFLE_XOR, DEVICE_SUB_GROUP_BARRIER,
};

/// The lanes of a sub-group.
const LANES: u64 = 32;

/// The version of SPIR-V that has these operations.
const VERSION: (u8, u8) = (1, 3);

const SHUFFLES: [&str; 4] =
    [DEVICE_SHUFFLE, DEVICE_SHUFFLE_XOR, DEVICE_SHUFFLE_UP, DEVICE_SHUFFLE_DOWN];

impl<'m> Lowering<'m> {
    /// Whether an intrinsic is one of this file.
    pub fn is_sub_group_operation(name: &str) -> bool {
        [DEVICE_BALLOT, DEVICE_SUB_GROUP_BARRIER, DEVICE_LANE].contains(&name)
            || SHUFFLES.contains(&name)
    }

    /// Lowers an intrinsic of this file.
    pub fn sub_group_operation(&mut self, it: Value<'m>, name: &str) -> Lowered<Option<Word>> {
        self.out.at_least(VERSION);
        if name == DEVICE_LANE {
            return self.lane().map(Some);
        }
        if name == DEVICE_SUB_GROUP_BARRIER {
            self.barrier(Scope::Subgroup, MemorySemantics::SUBGROUP_MEMORY);
            return Ok(None);
        }
        let scope = self.number(32, Scope::Subgroup as u64);
        // The mask of who takes part is always full.
        if name == DEVICE_BALLOT {
            self.out.require(Capability::GroupNonUniformBallot);
            let word = self.int(32);
            let four = self.vector(word, 4)?;
            let flag = self.value(it.operand(1))?;
            let operands = vec![Operand::IdScope(scope), Operand::IdRef(flag)];
            let all = self.emit(Op::GroupNonUniformBallot, four, operands);
            let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(0)];
            return Ok(Some(self.emit(Op::CompositeExtract, word, operands)));
        }
        let (value, argument) = (self.value(it.operand(1))?, self.value(it.operand(2))?);
        let from = self.partner(name, argument)?;
        let word = self.int(32);
        self.out.require(Capability::GroupNonUniformShuffle);
        let operands = vec![Operand::IdScope(scope), Operand::IdRef(value), Operand::IdRef(from)];
        Ok(Some(self.emit(Op::GroupNonUniformShuffle, word, operands)))
    }

    /// The lane that a shuffle reads from.
    fn partner(&mut self, shuffle: &str, argument: Word) -> Lowered<Word> {
        let (word, bool) = (self.int(32), self.bool());
        let lanes = self.number(32, LANES);
        if shuffle == DEVICE_SHUFFLE {
            let mask = self.number(32, LANES - 1);
            return Ok(self.emit_of(Op::BitwiseAnd, word, &[argument, mask]));
        }
        let lane = self.lane()?;
        let (other, is_there) = match shuffle {
            DEVICE_SHUFFLE_XOR => {
                let other = self.emit_of(Op::BitwiseXor, word, &[lane, argument]);
                (other, self.emit_of(Op::ULessThan, bool, &[other, lanes]))
            }
            DEVICE_SHUFFLE_DOWN => {
                // The distance may be any number.
                let other = self.emit_of(Op::IAdd, word, &[lane, argument]);
                let left = self.emit_of(Op::ISub, word, &[lanes, lane]);
                (other, self.emit_of(Op::ULessThan, bool, &[argument, left]))
            }
            DEVICE_SHUFFLE_UP => {
                let other = self.emit_of(Op::ISub, word, &[lane, argument]);
                (other, self.emit_of(Op::ULessThanEqual, bool, &[argument, lane]))
            }
            _ => return refuse(format!("the shuffle `{shuffle}`")),
        };
        Ok(self.emit_of(Op::Select, word, &[is_there, other, lane]))
    }

    /// The work-item's place in its sub-group.
    fn lane(&mut self) -> Lowered<Word> {
        let word = self.int(32);
        let variable = self.input(BuiltIn::SubgroupLocalInvocationId, word);
        let operands = vec![
            Operand::IdRef(variable),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(4),
        ];
        Ok(self.emit(Op::Load, word, operands))
    }

    /// The entry requires sub-groups of this many lanes, if it has operations of them.
    pub fn require_sub_groups(&mut self, entry: Word) {
        if !self.sub_groups {
            return;
        }
        for capability in [Capability::GroupNonUniform, Capability::SubgroupDispatch] {
            self.out.require(capability);
        }
        let mode = vec![
            Operand::IdRef(entry),
            Operand::ExecutionMode(ExecutionMode::SubgroupSize),
            Operand::LiteralBit32(LANES as u32),
        ];
        let mode = Instruction::new(Op::ExecutionMode, None, None, mode);
        self.out.module.execution_modes.push(mode);
    }
}
