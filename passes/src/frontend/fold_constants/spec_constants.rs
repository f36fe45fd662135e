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
//! [`crate::specialize::spec_constants`] puts the launch's values in. What a constant has beside
//! its value (where it is declared) is for the host: zeros take its place.
//!
//! A constant of another crate comes in as a declaration and gets its default here, too.

use schism_llvm::ModuleRef;

use crate::spec::kernel::SpecConstant;
use crate::specialize::spec_constants;

/// Declares the constants that the module has.
pub(super) fn declare(module: ModuleRef<'_>, constants: &[SpecConstant]) {
    constants.iter().for_each(|constant| declare_one(module, constant));
}

fn declare_one(module: ModuleRef<'_>, constant: &SpecConstant) {
    let symbol = constant.symbol.as_str();
    let Some(old) = module.global(symbol) else { return };
    let size = constant.static_size;
    let bytes = spec_constants::bytes(module.context(), &constant.default, size);
    let global = module.add_global(bytes.ty(), "");
    global.set_initializer(bytes);
    global.set_global_constant(true);
    global.set_externally_initialized(true);
    global.set_alignment(constant.align as u32);
    old.replace_uses(global);
    old.delete_global();
    global.set_name(symbol);
}
