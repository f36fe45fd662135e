//! What is known of a panic's locals: who uses them, and where addresses lead.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::spec::builtins;

/// What uses a local.
pub(super) struct Uses {
    /// The instruction, the offset, the value.
    pub(super) stores: Vec<(LLVMValueRef, u64, LLVMValueRef)>,
    pub(super) is_read: bool,
    /// Locals that hold its address.
    pub(super) holders: Vec<LLVMValueRef>,
}

/// Everything that uses a local; `None` if something may do with it what is not known.
///
/// # Safety
/// It is a live `alloca` of the module.
pub(super) unsafe fn uses(module: LLVMModuleRef, alloca: LLVMValueRef) -> Option<Uses> {
    let mut found = Uses { stores: Vec::new(), is_read: false, holders: Vec::new() };
    let mut open = vec![(alloca, 0)];
    // SAFETY: as promised by the caller; operands are asked of the instructions that have them.
    unsafe {
        while let Some((address, offset)) = open.pop() {
            for user in ir::users(address) {
                match ir::opcode(user)? {
                    LLVMOpcode::LLVMGetElementPtr => {
                        open.push((user, offset_of(module, user)?.checked_add(offset)?));
                    }
                    LLVMOpcode::LLVMLoad if LLVMGetVolatile(user) == 0 => found.is_read = true,
                    LLVMOpcode::LLVMStore if LLVMGetVolatile(user) == 0 => {
                        let [value, to] = [0, 1].map(|index| LLVMGetOperand(user, index));
                        if value == address {
                            found.holders.push(local_of(module, to)?.0);
                        }
                        if to == address {
                            found.stores.push((user, offset, value));
                        }
                    }
                    LLVMOpcode::LLVMCall => {
                        let name = ir::name_of(ir::callee(user)?);
                        let reads = [builtins::PANIC_FORMAT, builtins::PRINT].contains(&&*name);
                        if !reads && !name.starts_with("llvm.lifetime.") {
                            return None;
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    found.stores.sort_unstable();
    found.stores.dedup();
    Some(found)
}

/// The local that an address lies in, and where.
///
/// # Safety
/// The address is a live value of the module.
pub(super) unsafe fn local_of(
    module: LLVMModuleRef,
    address: LLVMValueRef,
) -> Option<(LLVMValueRef, u64)> {
    let (mut address, mut offset) = (address, 0_u64);
    loop {
        // SAFETY: as promised by the caller; the first operand is what an address is computed from.
        unsafe {
            match ir::opcode(address)? {
                LLVMOpcode::LLVMAlloca => return Some((address, offset)),
                LLVMOpcode::LLVMGetElementPtr => {
                    offset = offset.checked_add(offset_of(module, address)?)?;
                    address = LLVMGetOperand(address, 0);
                }
                _ => return None,
            }
        }
    }
}

/// How many bytes an address is behind the one that it is computed from, if that is always the same.
///
/// # Safety
/// It is a live `getelementptr` of the module.
unsafe fn offset_of(module: LLVMModuleRef, gep: LLVMValueRef) -> Option<u64> {
    // SAFETY: as promised by the caller; indices are constants of the types that they lead through.
    unsafe {
        let layout = LLVMGetModuleDataLayout(module);
        let mut ty = LLVMGetGEPSourceElementType(gep);
        let mut offset = 0_u64;
        for index in 1..LLVMGetNumOperands(gep) as u32 {
            let value = LLVMGetOperand(gep, index);
            if LLVMIsAConstantInt(value).is_null() {
                return None;
            }
            let value = u64::try_from(LLVMConstIntGetSExtValue(value)).ok()?;
            if index > 1 {
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMArrayTypeKind => ty = LLVMGetElementType(ty),
                    LLVMTypeKind::LLVMStructTypeKind => {
                        let field = u32::try_from(value).ok()?;
                        offset = offset.checked_add(LLVMOffsetOfElement(layout, ty, field))?;
                        ty = LLVMStructGetTypeAtIndex(ty, field);
                        continue;
                    }
                    _ => return None,
                }
            }
            offset = offset.checked_add(value.checked_mul(LLVMABISizeOfType(layout, ty))?)?;
        }
        Some(offset)
    }
}

/// Whether an address is that of a constant, or a number; whichever it is of several.
///
/// # Safety
/// It is a live value.
pub(super) unsafe fn is_constant_memory(address: LLVMValueRef, depth: u32) -> bool {
    // SAFETY: as promised by the caller; operands are asked of what has them.
    unsafe {
        if depth == 0 {
            return false;
        }
        if LLVMIsNull(address) != 0 {
            return true;
        }
        if !LLVMIsAGlobalVariable(address).is_null() {
            return LLVMIsGlobalConstant(address) != 0;
        }
        if !LLVMIsAConstantExpr(address).is_null() {
            return match LLVMGetConstOpcode(address) {
                LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMAddrSpaceCast => {
                    is_constant_memory(LLVMGetOperand(address, 0), depth - 1)
                }
                LLVMOpcode::LLVMIntToPtr => {
                    !LLVMIsAConstantInt(LLVMGetOperand(address, 0)).is_null()
                }
                _ => false,
            };
        }
        match ir::opcode(address) {
            Some(LLVMOpcode::LLVMSelect) => [1, 2]
                .into_iter()
                .all(|index| is_constant_memory(LLVMGetOperand(address, index), depth - 1)),
            Some(LLVMOpcode::LLVMPHI) => (0..LLVMCountIncoming(address))
                .all(|index| is_constant_memory(LLVMGetIncomingValue(address, index), depth - 1)),
            _ => false,
        }
    }
}

/// The bytes of a value that becomes words; `None` for other types.
///
/// # Safety
/// The type is live.
pub(super) unsafe fn size_of_scalar(ty: LLVMTypeRef) -> Option<u64> {
    // SAFETY: as promised by the caller.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind if LLVMGetPointerAddressSpace(ty) == 0 => Some(8),
            LLVMTypeKind::LLVMDoubleTypeKind => Some(8),
            LLVMTypeKind::LLVMFloatTypeKind => Some(4),
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => Some(2),
            LLVMTypeKind::LLVMIntegerTypeKind => match LLVMGetIntTypeWidth(ty) {
                1 => Some(1),
                bits @ (8 | 16 | 32 | 64 | 128) => Some(u64::from(bits / 8)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// # Safety
/// The type is live.
pub(super) unsafe fn is_pointer(ty: LLVMTypeRef) -> bool {
    // SAFETY: as promised by the caller.
    unsafe { LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind }
}

/// Whether one instruction of a block stands in front of another one of it.
///
/// # Safety
/// Both are live instructions of one block.
pub(super) unsafe fn comes_before(first: LLVMValueRef, second: LLVMValueRef) -> bool {
    let mut next = first;
    while !next.is_null() && next != second {
        // SAFETY: as promised by the caller; the walk stays in the block.
        next = unsafe { LLVMGetNextInstruction(next) };
    }
    next == second && first != second
}
