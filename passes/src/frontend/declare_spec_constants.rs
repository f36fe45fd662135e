//! Turns specialization constants into bytes that stay open until stage 2.
//!
//! Before, for `static TILE: SpecConst<u32> = SpecConst::new(16)`:
//! ```llvm
//! @TILE = constant <{ [4 x i8], [4 x i8], ptr, ... }> <{ [4 x i8] c"\10\00\00\00", ... }>, align 8
//!   %tile = load i32, ptr @TILE
//! ```
//! After:
//! ```llvm
//! @TILE = externally_initialized constant [32 x i8] c"\10\00\00\00\00...", align 8
//!   %tile = load i32, ptr @TILE
//! ```
//!
//! `externally_initialized` is LLVM's own word for a value that may change before the program
//! starts, so no pass folds a load of it. The image keeps the default;
//! [`crate::specialize::spec_constants`] or [`crate::specialize::constant_buffer`] puts the
//! launch's values in. What a constant has beside its value (where it is declared) is for the host:
//! zeros take its place.
//!
//! A constant of another crate comes in as a declaration and gets its default here, too.

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::spec::kernel::SpecConstant;
use crate::specialize::spec_constants;

/// Runs the pass for the constants that the module has.
pub fn run(module: &Module<'_>, constants: &[SpecConstant]) {
    for constant in constants {
        // SAFETY: the module is live and held by the caller.
        unsafe { declare(module.as_mut_ptr(), constant) };
    }
}

/// # Safety
/// `module` is a live module that nobody else changes during the call.
unsafe fn declare(module: LLVMModuleRef, constant: &SpecConstant) {
    let symbol = constant.symbol.as_str();
    // SAFETY: as promised by the caller; the old global is deleted after its last use has been replaced.
    unsafe {
        let old = LLVMGetNamedGlobalWithLength(module, symbol.as_ptr().cast(), symbol.len());
        if old.is_null() {
            return;
        }
        let size = constant.static_size;
        let bytes = spec_constants::bytes(LLVMGetModuleContext(module), &constant.default, size);
        let global = LLVMAddGlobal(module, LLVMTypeOf(bytes), c"".as_ptr());
        LLVMSetInitializer(global, bytes);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetExternallyInitialized(global, 1);
        LLVMSetAlignment(global, constant.align as u32);
        LLVMReplaceAllUsesWith(old, global);
        LLVMDeleteGlobal(old);
        LLVMSetValueName2(global, symbol.as_ptr().cast(), symbol.len());
    }
}
