//! Atomic accesses and fences, of 32 and 64 bits.

use rspirv::spirv::{Capability, MemorySemantics, Op, Scope, Word};
use schism_llvm::{AtomicOrdering, AtomicRMWBinOp, Type, TypeKind, Value};

use super::types::bits_of;
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// Who an access is for.
    fn scope(&mut self, it: Value<'m>) -> Word {
        let scope = if it.has_sync_scope("singlethread") {
            Scope::Invocation
        } else if ["block", "workgroup", "subgroup"].iter().any(|name| it.has_sync_scope(name)) {
            Scope::Workgroup
        } else if it.has_sync_scope("device") {
            Scope::Device
        } else {
            Scope::CrossDevice
        };
        self.number(32, scope as u64)
    }

    /// What an access orders.
    fn semantics(&mut self, order: AtomicOrdering, space: u32) -> Word {
        let order = match order {
            AtomicOrdering::Acquire => MemorySemantics::ACQUIRE,
            AtomicOrdering::Release => MemorySemantics::RELEASE,
            AtomicOrdering::AcquireRelease => MemorySemantics::ACQUIRE_RELEASE,
            AtomicOrdering::SequentiallyConsistent => MemorySemantics::SEQUENTIALLY_CONSISTENT,
            _ => MemorySemantics::RELAXED,
        };
        let of = match (order, space) {
            (MemorySemantics::RELAXED, 1) => MemorySemantics::CROSS_WORKGROUP_MEMORY,
            (MemorySemantics::RELAXED, 3) => MemorySemantics::WORKGROUP_MEMORY,
            _ => MemorySemantics::CROSS_WORKGROUP_MEMORY | MemorySemantics::WORKGROUP_MEMORY,
        };
        self.number(32, u64::from((order | of).bits()))
    }

    pub fn fence(&mut self, it: Value<'m>) -> Lowered<()> {
        let scope = self.scope(it);
        let semantics = self.semantics(it.ordering(), 0);
        self.emit_void(
            Op::MemoryBarrier,
            vec![
                rspirv::dr::Operand::IdScope(scope),
                rspirv::dr::Operand::IdMemorySemantics(semantics),
            ],
        );
        Ok(())
    }

    /// The integer that an access accesses: its type, and the address as one of it.
    fn cell(&mut self, address: Value<'m>, ty: Type<'m>) -> Lowered<(Word, u32, Word)> {
        let bits = match ty.kind() {
            TypeKind::Pointer => 64,
            _ if ty.is_vector() => 0,
            _ => bits_of(ty)?,
        };
        if !matches!(bits, 32 | 64) {
            return refuse(format!("an atomic access of type `{}`", ty.text()));
        }
        if bits == 64 {
            self.out.require(Capability::Int64Atomics);
        }
        let int = self.int(bits);
        let pointer = self.value(address)?;
        let pointer = self.typed(pointer, address.ty().address_space(), int)?;
        Ok((int, bits, pointer))
    }

    /// A value as the integer of its bits.
    fn as_cell(&mut self, value: Value<'m>, int: Word) -> Lowered<Word> {
        let id = self.value(value)?;
        Ok(match value.ty().kind() {
            TypeKind::Integer => id,
            TypeKind::Pointer => self.emit_of(Op::ConvertPtrToU, int, &[id]),
            _ => self.emit_of(Op::Bitcast, int, &[id]),
        })
    }

    /// The value with the bits of an integer.
    fn of_cell(&mut self, id: Word, ty: Type<'m>) -> Lowered<Word> {
        let own = self.ty(ty)?;
        Ok(match ty.kind() {
            TypeKind::Integer => id,
            TypeKind::Pointer => self.emit_of(Op::ConvertUToPtr, own, &[id]),
            _ => self.emit_of(Op::Bitcast, own, &[id]),
        })
    }

    pub fn atomic_load(&mut self, it: Value<'m>) -> Lowered<Word> {
        let address = it.operand(0);
        let (int, _, pointer) = self.cell(address, it.ty())?;
        let scope = self.scope(it);
        let semantics = self.semantics(it.ordering(), address.ty().address_space());
        let value = self.emit_of(Op::AtomicLoad, int, &[pointer, scope, semantics]);
        self.of_cell(value, it.ty())
    }

    pub fn atomic_store(&mut self, it: Value<'m>) -> Lowered<()> {
        let (value, address) = (it.operand(0), it.operand(1));
        let (int, _, pointer) = self.cell(address, value.ty())?;
        let scope = self.scope(it);
        let semantics = self.semantics(it.ordering(), address.ty().address_space());
        let value = self.as_cell(value, int)?;
        let operands = [pointer, scope, semantics, value].map(rspirv::dr::Operand::IdRef);
        self.emit_void(Op::AtomicStore, operands.to_vec());
        Ok(())
    }

    pub fn update(&mut self, it: Value<'m>) -> Lowered<Word> {
        use AtomicRMWBinOp::*;
        let (address, value) = (it.operand(0), it.operand(1));
        let operation = it.rmw_operation();
        let op = match operation {
            Xchg => Op::AtomicExchange,
            Add => Op::AtomicIAdd,
            Sub => Op::AtomicISub,
            And => Op::AtomicAnd,
            Or => Op::AtomicOr,
            Xor => Op::AtomicXor,
            Max => Op::AtomicSMax,
            Min => Op::AtomicSMin,
            UMax => Op::AtomicUMax,
            UMin => Op::AtomicUMin,
            other => return refuse(format!("the atomic operation {other:?}")),
        };
        let (int, _, pointer) = self.cell(address, value.ty())?;
        let scope = self.scope(it);
        let semantics = self.semantics(it.ordering(), address.ty().address_space());
        let new = self.as_cell(value, int)?;
        let old = self.emit_of(op, int, &[pointer, scope, semantics, new]);
        self.of_cell(old, value.ty())
    }

    /// A compare-exchange: what was there, and whether it was what was expected.
    pub fn exchange(&mut self, it: Value<'m>) -> Lowered<Word> {
        let [address, expected, new] = [0, 1, 2].map(|index| it.operand(index));
        let ty = new.ty();
        let (int, _, pointer) = self.cell(address, ty)?;
        let scope = self.scope(it);
        let space = address.ty().address_space();
        let success = self.semantics(it.ordering(), space);
        let failure = match it.ordering() {
            AtomicOrdering::SequentiallyConsistent => AtomicOrdering::SequentiallyConsistent,
            AtomicOrdering::AcquireRelease | AtomicOrdering::Acquire => AtomicOrdering::Acquire,
            _ => AtomicOrdering::Monotonic,
        };
        let failure = self.semantics(failure, space);
        let new = self.as_cell(new, int)?;
        let expected = self.as_cell(expected, int)?;
        let operands = [pointer, scope, success, failure, new, expected];
        let found = self.emit_of(Op::AtomicCompareExchange, int, &operands);
        let bool = self.bool();
        let same = self.emit_of(Op::IEqual, bool, &[found, expected]);
        let found = self.of_cell(found, ty)?;
        let pair = self.ty(it.ty())?;
        Ok(self.emit_of(Op::CompositeConstruct, pair, &[found, same]))
    }
}
