//! LLVM's enumerations that inkwell has no public form for.

use llvm_sys::{
    LLVMInlineAsmDialect, LLVMTailCallKind, LLVMTypeKind, LLVMUnnamedAddr, LLVMValueKind,
    LLVMVisibility,
};

macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident: $llvm:ident { $($(#[$each:meta])* $variant:ident = $theirs:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$each])* $variant,)*
        }

        impl From<$llvm> for $name {
            fn from(kind: $llvm) -> Self {
                match kind {
                    $($llvm::$theirs => Self::$variant,)*
                }
            }
        }

        impl From<$name> for $llvm {
            fn from(kind: $name) -> Self {
                match kind {
                    $($name::$variant => Self::$theirs,)*
                }
            }
        }
    };
}

mirror! {
    /// What a type is.
    TypeKind: LLVMTypeKind {
        /// `void`.
        Void = LLVMVoidTypeKind,
        /// `half`.
        Half = LLVMHalfTypeKind,
        /// `bfloat`.
        BFloat = LLVMBFloatTypeKind,
        /// `float`.
        Float = LLVMFloatTypeKind,
        /// `double`.
        Double = LLVMDoubleTypeKind,
        /// `x86_fp80`.
        X86Fp80 = LLVMX86_FP80TypeKind,
        /// `fp128`.
        Fp128 = LLVMFP128TypeKind,
        /// `ppc_fp128`.
        PpcFp128 = LLVMPPC_FP128TypeKind,
        /// A basic block's.
        Label = LLVMLabelTypeKind,
        /// `iN`.
        Integer = LLVMIntegerTypeKind,
        /// A function's.
        Function = LLVMFunctionTypeKind,
        /// `{ … }`.
        Struct = LLVMStructTypeKind,
        /// `[N x T]`.
        Array = LLVMArrayTypeKind,
        /// `ptr`.
        Pointer = LLVMPointerTypeKind,
        /// `<N x T>`.
        Vector = LLVMVectorTypeKind,
        /// Metadata that is a call's argument.
        Metadata = LLVMMetadataTypeKind,
        /// `token`.
        Token = LLVMTokenTypeKind,
        /// `<vscale x N x T>`.
        ScalableVector = LLVMScalableVectorTypeKind,
        /// `x86_amx`.
        X86Amx = LLVMX86_AMXTypeKind,
        /// A target's own.
        TargetExtension = LLVMTargetExtTypeKind,
    }
}

mirror! {
    /// Whether a global's address means something.
    UnnamedAddress: LLVMUnnamedAddr {
        /// It does.
        No = LLVMNoUnnamedAddr,
        /// Not in this module: LLVM's `local_unnamed_addr`.
        Local = LLVMLocalUnnamedAddr,
        /// Nowhere: LLVM's `unnamed_addr`.
        Global = LLVMGlobalUnnamedAddr,
    }
}

mirror! {
    /// How visible a global is outside of the linked object.
    Visibility: LLVMVisibility {
        /// As the linkage says.
        Default = LLVMDefaultVisibility,
        /// Not at all.
        Hidden = LLVMHiddenVisibility,
        /// It is, and cannot be replaced.
        Protected = LLVMProtectedVisibility,
    }
}

mirror! {
    /// Whether a call may reuse its caller's frame.
    TailCallKind: LLVMTailCallKind {
        /// Nothing is said.
        None = LLVMTailCallKindNone,
        /// It may.
        Tail = LLVMTailCallKindTail,
        /// It must.
        MustTail = LLVMTailCallKindMustTail,
        /// It must not.
        NoTail = LLVMTailCallKindNoTail,
    }
}

mirror! {
    /// How inline assembly is written.
    AsmDialect: LLVMInlineAsmDialect {
        /// As AT&T does, and all targets but x86.
        Att = LLVMInlineAsmDialectATT,
        /// As Intel does.
        Intel = LLVMInlineAsmDialectIntel,
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A parameter of a function.
    Argument,
    /// A function.
    Function,
    /// An instruction.
    Instruction,
    /// An integer that is a constant.
    ConstantInt,
    /// An operation on constants that stays one until the module is linked.
    ConstantExpr,
    /// A null pointer.
    ConstantPointerNull,
    /// `poison`.
    Poison,
    /// `undef`.
    Undef,
    /// Something else.
    Other,
}

impl From<LLVMValueKind> for ValueKind {
    fn from(kind: LLVMValueKind) -> Self {
        match kind {
            LLVMValueKind::LLVMArgumentValueKind => Self::Argument,
            LLVMValueKind::LLVMFunctionValueKind => Self::Function,
            LLVMValueKind::LLVMInstructionValueKind => Self::Instruction,
            LLVMValueKind::LLVMConstantIntValueKind => Self::ConstantInt,
            LLVMValueKind::LLVMConstantExprValueKind => Self::ConstantExpr,
            LLVMValueKind::LLVMConstantPointerNullValueKind => Self::ConstantPointerNull,
            LLVMValueKind::LLVMPoisonValueKind => Self::Poison,
            LLVMValueKind::LLVMUndefValueValueKind => Self::Undef,
            _ => Self::Other,
        }
    }
}
