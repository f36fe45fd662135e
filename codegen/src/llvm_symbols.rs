//! Symbols that inkwell refers to and LLVM's shared library does not define.
//!
//! They are C inline functions in LLVM's headers, for programs that initialise LLVM's targets.
//! rustc has done that before any code of this plugin runs, and nothing here calls them; but a Rust
//! `dylib` keeps all code of its crates, so the symbols must exist. Each returns 1, which means
//! "not available" for such functions in LLVM.

macro_rules! unavailable {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> std::ffi::c_int {
                1
            }
        )*
    };
}

unavailable! {
    LLVM_InitializeAllAsmParsers
    LLVM_InitializeAllAsmPrinters
    LLVM_InitializeAllDisassemblers
    LLVM_InitializeAllTargetInfos
    LLVM_InitializeAllTargetMCs
    LLVM_InitializeAllTargets
    LLVM_InitializeNativeAsmParser
    LLVM_InitializeNativeAsmPrinter
    LLVM_InitializeNativeDisassembler
    LLVM_InitializeNativeTarget
}
