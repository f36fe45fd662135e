//! Gives specialization constants their values and folds what reads them. Runs in stage 2, before
//! anything else.
//!
//! Before, as [`crate::frontend::declare_spec_constants`] has left it:
//! ```llvm
//! @TILE = externally_initialized constant [16 x i8] c"\10\00..."
//!   %tile = load i32, ptr @TILE
//!   %even = urem i32 %tile, 2
//! ```
//! After, with the value 32 for `TILE`:
//! ```llvm
//! @TILE = internal constant [16 x i8] c"\20\00..."
//!   %even = 0
//! ```
//!
//! A constant for which there is no value keeps the one of the image.

use std::collections::BTreeSet;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};
use thiserror::Error;

use crate::ir;

/// Why a constant could not be given its value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecialiseError {
    /// There is no constant of that name.
    #[error("the image has no specialization constant `{symbol}`")]
    Unknown {
        /// The symbol that was asked for.
        symbol: String,
    },
    /// The value is larger than the constant.
    #[error(
        "the specialization constant `{symbol}` has {expected} bytes, and its value has {found}"
    )]
    Size {
        /// The constant's symbol.
        symbol: String,
        /// Bytes of the constant.
        expected: u64,
        /// Bytes of the value.
        found: usize,
    },
    /// LLVM's own passes failed.
    #[error("folding specialization constants failed: {0}")]
    Llvm(String),
}

/// No constant has more bytes than this: an image may claim any size.
const LARGEST: u64 = 1 << 30;

/// Runs the pass over a module.
///
/// # Errors
/// The first value that fits no constant.
pub fn run_on(module: &Module<'_>, values: &[(String, Vec<u8>)]) -> Result<(), SpecialiseError> {
    // SAFETY: the module is live and held by the caller.
    unsafe { run(module.as_mut_ptr(), values) }
}

/// Gives the constants in `values` those bytes, makes all constants of the module plain ones, and folds.
///
/// # Errors
/// The first value that fits no constant.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn run(
    module: LLVMModuleRef,
    values: &[(String, Vec<u8>)],
) -> Result<(), SpecialiseError> {
    for (symbol, value) in values {
        // SAFETY: as promised by the caller; the name is passed with its length.
        unsafe {
            let global = LLVMGetNamedGlobalWithLength(module, symbol.as_ptr().cast(), symbol.len());
            if global.is_null() || !is_constant(global) {
                return Err(SpecialiseError::Unknown { symbol: symbol.clone() });
            }
            let ty = LLVMGlobalGetValueType(global);
            let expected = LLVMGetArrayLength2(ty);
            if value.len() as u64 > expected {
                let (symbol, found) = (symbol.clone(), value.len());
                return Err(SpecialiseError::Size { symbol, expected, found });
            }
            LLVMSetInitializer(global, bytes(LLVMGetModuleContext(module), value, expected));
        }
    }
    let mut touched = BTreeSet::new();
    // SAFETY: the module is live, and the walk changes no list of globals.
    unsafe {
        let mut global = LLVMGetFirstGlobal(module);
        while !global.is_null() {
            if is_constant(global) {
                LLVMSetExternallyInitialized(global, 0);
                LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
                ir::functions_using(global, &mut touched);
            }
            global = LLVMGetNextGlobal(global);
        }
    }
    for function in touched {
        // SAFETY: `function` holds an instruction, so it is a definition of the live module.
        unsafe { ir::run_llvm_passes_on(function, "early-cse,sccp,instsimplify,simplifycfg,dce") }
            .map_err(SpecialiseError::Llvm)?;
    }
    Ok(())
}

/// Whether a global is a specialization constant: bytes that are not final before stage 2.
///
/// # Safety
/// `global` is a live global variable.
pub unsafe fn is_constant(global: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller; the element's type is asked of an array only.
    unsafe {
        if LLVMIsExternallyInitialized(global) == 0
            || LLVMIsDeclaration(global) != 0
            || LLVMIsGlobalConstant(global) == 0
        {
            return false;
        }
        let ty = LLVMGlobalGetValueType(global);
        LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMArrayTypeKind
            && LLVMGetArrayLength2(ty) <= LARGEST
            && {
                let element = LLVMGetElementType(ty);
                LLVMGetTypeKind(element) == LLVMTypeKind::LLVMIntegerTypeKind
                    && LLVMGetIntTypeWidth(element) == 8
            }
    }
}

/// `[size x i8]`: the value, and zeros.
///
/// # Safety
/// `context` is live.
pub(crate) unsafe fn bytes(context: LLVMContextRef, value: &[u8], size: u64) -> LLVMValueRef {
    let mut padded = value.to_vec();
    padded.resize(size as usize, 0);
    // SAFETY: as promised by the caller; the bytes are passed with their length.
    unsafe { LLVMConstStringInContext2(context, padded.as_ptr().cast(), padded.len(), 1) }
}
