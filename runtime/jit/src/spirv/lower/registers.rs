//! Where a work-item is, and barriers: what LLVM has as intrinsics of a GPU.
//!
//! ```llvm
//!   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//! ```
//! becomes
//! ```text
//!    %60 = OpLoad %v3ulong %LocalInvocationId Aligned 32
//!    %61 = OpCompositeExtract %ulong %60 0
//!   %tid = OpUConvert %uint %61
//! ```
//!
//! A kernel with operations of sub-groups and more than one dimension is launched in one: OpenCL
//! does not say which work-items of a larger group are side by side. Its real sizes are
//! [parameters](SIZES), and a place is computed of them.

use rspirv::dr::Operand;
use rspirv::spirv::{
    BuiltIn, Decoration, MemoryAccess, MemorySemantics, Op, Scope, StorageClass, Word,
};
use schism_llvm::{TypeKind, Value};

use schism_passes::spec::target::THREAD_ID;

use super::{Lowered, Lowering, SIZES, refuse};
use crate::gpu::builtins::{
    DEVICE_BARRIER, DEVICE_EXIT, DEVICE_GROUP_COUNT, DEVICE_GROUP_ID, DEVICE_GROUP_SIZE,
    DEVICE_LOCAL_ID, REGISTER,
};

/// A number that the device has.
enum Register {
    /// Of 32 bits.
    Word(Word),
    /// Of 64 bits, and below 2³².
    Long(Word),
}

/// LLVM's intrinsics for what a launch begins at, which is zero, and for the size of a group, both
/// of an axis. That of another GPU for the size promises what does not hold for all devices.
const GLOBAL_OFFSET: &str = "llvm.spv.global.offset.i64";
const GROUP_SIZE: &str = "llvm.spv.workgroup.size.i64";

/// Whether a call is the barrier of a group.
pub fn is_barrier(it: Value<'_>) -> bool {
    it.callee().is_some_and(|callee| callee.name() == DEVICE_BARRIER)
}

/// Whether a function of this name has another result for each work-item of a group.
pub fn varies(name: &str) -> bool {
    let is_id = name.strip_prefix(DEVICE_LOCAL_ID).is_some_and(|axis| axis.starts_with('.'));
    is_id || name == THREAD_ID || !name.starts_with("llvm.")
}

impl<'m> Lowering<'m> {
    /// The variable in which the device leaves a value.
    pub fn input_variable(&mut self, builtin: BuiltIn, ty: Word) -> Word {
        let pointer = self.pointer_to(StorageClass::Input, ty);
        let class = vec![Operand::StorageClass(StorageClass::Input)];
        let id = self.out.define(Op::Variable, pointer, class);
        self.out.decorate(id, Decoration::BuiltIn, vec![Operand::BuiltIn(builtin)]);
        self.out.decorate(id, Decoration::Constant, Vec::new());
        self.out.name(id, &format!("{builtin:?}"));
        id
    }

    /// Whether a call ends the work-item.
    pub fn ends_work_item(&self, it: Value<'m>) -> bool {
        it.callee().is_some_and(|callee| callee.name() == DEVICE_EXIT)
    }

    /// Lowers an intrinsic of this file; `None` for all others.
    pub fn register(&mut self, it: Value<'m>, name: &str) -> Lowered<Option<Word>> {
        if name == DEVICE_BARRIER {
            self.barrier(Scope::Workgroup, MemorySemantics::RELAXED);
            return Ok(None);
        }
        if name == THREAD_ID {
            return self.global_id(it).map(Some);
        }
        if [GLOBAL_OFFSET, GROUP_SIZE].contains(&name) {
            return self.launch_size(it, name).map(Some);
        }
        let Some(long) = self.long_register(name)? else { return Ok(None) };
        let word = self.int(32);
        Ok(Some(match long {
            Register::Word(number) => number,
            Register::Long(number) => self.emit_of(Op::UConvert, word, &[number]),
        }))
    }

    /// A special register that is extended to 64 bits, as the device has it: without ever being
    /// less. Drivers know of such a number that it is another one for each work-item beside, and of
    /// what was cut and extended again they do not.
    pub fn extended_register(&mut self, it: Value<'m>) -> Lowered<Option<Word>> {
        if it.ty().kind() != TypeKind::Integer || it.ty().int_width() != 64 {
            return Ok(None);
        }
        let Some(callee) = it.operand(0).callee() else { return Ok(None) };
        let name = callee.name();
        match self.long_register(&name)? {
            Some(Register::Long(number)) => Ok(Some(number)),
            Some(Register::Word(_)) | None => Ok(None),
        }
    }

    /// A work-item's place in the grid.
    fn global_id(&mut self, it: Value<'m>) -> Lowered<Word> {
        let Some(axis) = it.operand(0).as_unsigned() else { return refuse("an axis that varies") };
        let axis = axis as u32;
        let Some(sizes) = self.sizes else {
            return self.axis_of(BuiltIn::GlobalInvocationId, axis);
        };
        let long = self.int(64);
        let group = self.place_in_line(BuiltIn::WorkgroupId, axis, sizes)?;
        let own = self.place_in_line(BuiltIn::LocalInvocationId, axis, sizes)?;
        let [group, size, own] = [group, sizes[axis as usize], own]
            .map(|number| self.emit_of(Op::UConvert, long, &[number]));
        let first = self.emit_of(Op::IMul, long, &[group, size]);
        Ok(self.emit_of(Op::IAdd, long, &[first, own]))
    }

    /// What a launch begins at, or the size of its groups.
    fn launch_size(&mut self, it: Value<'m>, name: &str) -> Lowered<Word> {
        let Some(axis) = it.operand(0).as_unsigned() else { return refuse("an axis that varies") };
        let axis = axis as u32;
        match self.sizes.filter(|_| name == GROUP_SIZE) {
            Some(sizes) => {
                let long = self.int(64);
                Ok(self.emit_of(Op::UConvert, long, &[sizes[axis as usize]]))
            }
            None if name == GROUP_SIZE => self.axis_of(BuiltIn::WorkgroupSize, axis),
            None => self.axis_of(BuiltIn::GlobalOffset, axis),
        }
    }

    /// A special register by LLVM's name, as the device has it.
    fn long_register(&mut self, name: &str) -> Lowered<Option<Register>> {
        let of_axis = name.rsplit_once('.').filter(|(name, _)| name.starts_with(REGISTER));
        let Some((register, axis)) = of_axis else { return Ok(None) };
        let builtin = match register {
            DEVICE_LOCAL_ID => BuiltIn::LocalInvocationId,
            DEVICE_GROUP_ID => BuiltIn::WorkgroupId,
            DEVICE_GROUP_SIZE => BuiltIn::WorkgroupSize,
            DEVICE_GROUP_COUNT => BuiltIn::NumWorkgroups,
            _ => return refuse(format!("the register `{}`", &register[REGISTER.len()..])),
        };
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            _ => 2,
        };
        if let Some(sizes) = self.sizes {
            return Ok(Some(Register::Word(self.place_in_line(builtin, axis, sizes)?)));
        }
        Ok(Some(Register::Long(self.axis_of(builtin, axis)?)))
    }

    /// A register of a launch in one dimension.
    fn place_in_line(
        &mut self,
        builtin: BuiltIn,
        axis: u32,
        sizes: [Word; SIZES],
    ) -> Lowered<Word> {
        if self.function != self.entry {
            return refuse("a work-item's place in a function that is not part of the kernel");
        }
        let [x, y, z, groups @ ..] = sizes;
        let (of_which, sizes) = match builtin {
            BuiltIn::WorkgroupSize => return Ok([x, y, z][axis as usize]),
            BuiltIn::NumWorkgroups => return Ok(groups[axis as usize]),
            BuiltIn::LocalInvocationId => (builtin, [x, y]),
            _ => (builtin, [groups[0], groups[1]]),
        };
        let word = self.int(32);
        let all = self.axis_of(of_which, 0)?;
        let mut rest = self.emit_of(Op::UConvert, word, &[all]);
        for &size in &sizes[..axis as usize] {
            rest = self.emit_of(Op::UDiv, word, &[rest, size]);
        }
        match sizes.get(axis as usize) {
            Some(&size) => Ok(self.emit_of(Op::UMod, word, &[rest, size])),
            None => Ok(rest),
        }
    }

    /// One number of a variable in which the device leaves three.
    pub fn axis_of(&mut self, builtin: BuiltIn, axis: u32) -> Lowered<Word> {
        let long = self.int(64);
        let three = self.vector(long, 3)?;
        let variable = self.input(builtin, three);
        let operands = vec![
            Operand::IdRef(variable),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(32),
        ];
        let all = self.emit(Op::Load, three, operands);
        let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(axis)];
        Ok(self.emit(Op::CompositeExtract, long, operands))
    }

    /// Zero, of which no compiler knows that it is: launches have no offset of OpenCL's. Emitted
    /// where it is called.
    pub fn hidden_zero(&mut self) -> Lowered<Word> {
        self.axis_of(BuiltIn::GlobalOffset, 0)
    }

    /// Whether an intrinsic is one of this file.
    pub fn is_register(name: &str) -> bool {
        [DEVICE_BARRIER, THREAD_ID, GLOBAL_OFFSET, GROUP_SIZE].contains(&name)
            || name.starts_with(REGISTER)
    }

    /// A barrier, which orders accesses of local and of global memory, and of `more`.
    pub fn barrier(&mut self, scope: Scope, more: MemorySemantics) {
        let scope = self.number(32, scope as u64);
        let semantics = MemorySemantics::SEQUENTIALLY_CONSISTENT
            | MemorySemantics::WORKGROUP_MEMORY
            | MemorySemantics::CROSS_WORKGROUP_MEMORY
            | more;
        let semantics = self.number(32, u64::from(semantics.bits()));
        let operands = vec![
            Operand::IdScope(scope),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(semantics),
        ];
        self.emit_void(Op::ControlBarrier, operands);
    }
}
