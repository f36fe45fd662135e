//! Gives specialization constants their values and folds what reads them. Runs in stage 2, before
//! anything else.
//!
//! Before, as [`crate::frontend::fold_constants`] has left it:
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

use schism_llvm::{ContextRef, Linkage, ModuleRef, TypeKind, Value};
use thiserror::Error;

use crate::llvm_passes;

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

/// Gives the constants in `values` those bytes, makes all constants of the module plain ones, and
/// folds.
///
/// # Errors
/// The first value that fits no constant.
pub fn run(module: ModuleRef<'_>, values: &[(String, Vec<u8>)]) -> Result<(), SpecialiseError> {
    for (symbol, value) in values {
        let Some(global) = module.global(symbol).filter(|&global| is_constant(global)) else {
            return Err(SpecialiseError::Unknown { symbol: symbol.clone() });
        };
        let ty = global.value_type();
        let expected = ty.array_length();
        if value.len() as u64 > expected {
            let (symbol, found) = (symbol.clone(), value.len());
            return Err(SpecialiseError::Size { symbol, expected, found });
        }
        global.set_initializer(bytes(module.context(), value, expected));
    }
    let mut touched = BTreeSet::new();
    for global in module.globals() {
        if is_constant(global) {
            global.set_externally_initialized(false);
            global.set_linkage(Linkage::Internal);
            global.functions_using(&mut touched);
        }
    }
    for function in touched {
        function.run_passes(llvm_passes::FOLD_LOADED_CONSTANTS).map_err(SpecialiseError::Llvm)?;
    }
    Ok(())
}

/// Whether a global is a specialization constant: bytes that are not final before stage 2.
pub fn is_constant(global: Value<'_>) -> bool {
    if !global.is_externally_initialized()
        || global.is_declaration()
        || !global.is_global_constant()
    {
        return false;
    }
    let ty = global.value_type();
    ty.kind() == TypeKind::Array && ty.array_length() <= LARGEST && {
        let element = ty.element_type();
        element.kind() == TypeKind::Integer && element.int_width() == 8
    }
}

/// `[size x i8]`: the value, and zeros.
pub(crate) fn bytes<'m>(context: ContextRef<'m>, value: &[u8], size: u64) -> Value<'m> {
    let mut padded = value.to_vec();
    padded.resize(size as usize, 0);
    context.const_bytes(&padded)
}
