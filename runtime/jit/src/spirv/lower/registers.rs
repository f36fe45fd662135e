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
use schism_llvm::Value;

use super::{Lowered, Lowering, refuse};

/// What LLVM's names of special registers begin with.
const REGISTER: &str = "llvm.nvvm.read.ptx.sreg.";

/// The barrier of a group, and the end of a work-item.
const BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";
const EXIT: &str = "llvm.nvvm.exit";

/// The parameters of an entry that is launched in one dimension: the sizes of its groups, and how
/// many groups there are, each a 32-bit number for x, y and z.
pub const SIZES: usize = 6;

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
        it.callee().is_some_and(|callee| callee.name() == EXIT)
    }

    /// Lowers an intrinsic of this file; `None` for all others.
    pub fn register(&mut self, name: &str) -> Lowered<Option<Word>> {
        if name == BARRIER {
            self.barrier();
            return Ok(None);
        }
        let Some((register, axis)) =
            name.strip_prefix(REGISTER).and_then(|name| name.rsplit_once('.'))
        else {
            return Ok(None);
        };
        let builtin = match register {
            "tid" => BuiltIn::LocalInvocationId,
            "ctaid" => BuiltIn::WorkgroupId,
            "ntid" => BuiltIn::WorkgroupSize,
            "nctaid" => BuiltIn::NumWorkgroups,
            _ => return refuse(format!("the register `{register}`")),
        };
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            _ => 2,
        };
        if let Some(sizes) = self.sizes {
            return self.place_in_line(builtin, axis, sizes).map(Some);
        }
        self.axis_of(builtin, axis).map(Some)
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
        let mut rest = self.axis_of(of_which, 0)?;
        for &size in &sizes[..axis as usize] {
            rest = self.emit_of(Op::UDiv, word, &[rest, size]);
        }
        match sizes.get(axis as usize) {
            Some(&size) => Ok(self.emit_of(Op::UMod, word, &[rest, size])),
            None => Ok(rest),
        }
    }

    /// One number of a variable in which the device leaves three.
    fn axis_of(&mut self, builtin: BuiltIn, axis: u32) -> Lowered<Word> {
        let (word, long) = (self.int(32), self.int(64));
        let three = self.vector(long, 3)?;
        let variable = self.input(builtin, three);
        let operands = vec![
            Operand::IdRef(variable),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(32),
        ];
        let all = self.emit(Op::Load, three, operands);
        let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(axis)];
        let one = self.emit(Op::CompositeExtract, long, operands);
        Ok(self.emit_of(Op::UConvert, word, &[one]))
    }

    /// Whether an intrinsic is one of this file.
    pub fn is_register(name: &str) -> bool {
        name == BARRIER || name.starts_with(REGISTER)
    }

    fn barrier(&mut self) {
        let scope = self.number(32, Scope::Workgroup as u64);
        let semantics = MemorySemantics::SEQUENTIALLY_CONSISTENT
            | MemorySemantics::WORKGROUP_MEMORY
            | MemorySemantics::CROSS_WORKGROUP_MEMORY;
        let semantics = self.number(32, u64::from(semantics.bits()));
        let operands = vec![
            Operand::IdScope(scope),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(semantics),
        ];
        self.emit_void(Op::ControlBarrier, operands);
    }
}
