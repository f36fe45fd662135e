//! Whether the host can show what a message refers to: by the descriptions of the types, and by
//! what is known of the locals.

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use schism_message::{ARGUMENT_SIZE, Kind, MAGIC, recorder};

use super::{Bytes, DEPTH, Message};

impl Message {
    /// Whether the host can show an argument.
    ///
    /// # Safety
    /// As for [`Self::of`].
    pub(super) unsafe fn shows_argument(&self, index: u64) -> bool {
        let at = index * ARGUMENT_SIZE as u64;
        let Bytes::Local(arguments, _) = self.head[1] else { return false };
        // SAFETY: as promised by the caller.
        unsafe {
            match (self.content(arguments, at), self.content(arguments, at + 8)) {
                // A number that is a width has no address.
                (Some(Bytes::Constant(value)), Some(_)) if LLVMIsNull(value) != 0 => true,
                (Some(Bytes::Constant(_)), Some(Bytes::Constant(described))) => {
                    Described::of(described).is_some()
                }
                (Some(Bytes::Local(local, offset)), Some(Bytes::Constant(described))) => {
                    self.shows(described, local, offset, DEPTH)
                }
                _ => false,
            }
        }
    }

    /// Whether the host can show a value in a local.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn shows(&self, described: LLVMValueRef, local: usize, at: u64, depth: u32) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let Some(of) = Described::of(described).filter(|_| depth != 0) else { return false };
            if of.is_flat(depth) {
                return true;
            }
            match of.kind {
                Kind::Reference => {
                    let Some((_, to)) = of.part(0) else { return false };
                    let kind = Described::of(to).map(|to| to.kind);
                    let described = match (kind, self.content(local, at + 8)) {
                        (Some(Kind::Dyn), Some(Bytes::Constant(vtable))) => {
                            initializer(vtable).and_then(|vtable| element(vtable, 3))
                        }
                        (Some(Kind::Dyn), _) => None,
                        (Some(Kind::Slice), _) => {
                            Described::of(to).and_then(|to| to.part(0)).map(|part| part.1)
                        }
                        _ => Some(to),
                    };
                    let Some(described) = described else { return false };
                    match self.content(local, at) {
                        Some(Bytes::Constant(_)) => Described::of(described).is_some(),
                        Some(Bytes::Local(..)) if kind == Some(Kind::Slice) => {
                            Described::of(described).is_some_and(|of| of.is_flat(depth))
                        }
                        Some(Bytes::Local(local, at)) => {
                            self.shows(described, local, at, depth - 1)
                        }
                        _ => false,
                    }
                }
                Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper => of.all_parts(|part| {
                    at.checked_add(part.0)
                        .is_some_and(|at| self.shows(part.1, local, at, depth - 1))
                }),
                _ => false,
            }
        }
    }
}

/// A description of a type, as a constant of the module.
#[derive(Clone, Copy)]
struct Described {
    kind: Kind,
    /// The list of its parts, or null.
    parts: LLVMValueRef,
    count: u64,
}

impl Described {
    /// # Safety
    /// It is a live value.
    unsafe fn of(described: LLVMValueRef) -> Option<Self> {
        // SAFETY: as promised by the caller.
        unsafe {
            let value = initializer(described)?;
            let number = |index| {
                let number = element(value, index)?;
                (!LLVMIsAConstantInt(number).is_null()).then(|| LLVMConstIntGetZExtValue(number))
            };
            if number(1)? != u64::from(MAGIC) {
                return None;
            }
            let kind = Kind::from_number(number(0)? as u8)?;
            Some(Self { kind, parts: element(value, 4)?, count: number(5)? })
        }
    }

    /// A part's number and what describes it.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn part(self, index: u64) -> Option<(u64, LLVMValueRef)> {
        // SAFETY: as promised by the caller.
        unsafe {
            if index >= self.count {
                return None;
            }
            let part = element(initializer(self.parts)?, u32::try_from(index).ok()?)?;
            let value = element(part, 0)?;
            if LLVMIsAConstantInt(value).is_null() {
                return None;
            }
            Some((LLVMConstIntGetZExtValue(value), element(part, 1)?))
        }
    }

    /// # Safety
    /// The module is live.
    unsafe fn all_parts(self, holds: impl Fn((u64, LLVMValueRef)) -> bool) -> bool {
        // SAFETY: as promised by the caller.
        (0..self.count).all(|index| unsafe { self.part(index) }.is_some_and(&holds))
    }

    /// Whether a value of the type is all in its own bytes.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn is_flat(self, depth: u32) -> bool {
        // SAFETY: as promised by the caller.
        let flat = |(_, part): (u64, LLVMValueRef)| unsafe {
            LLVMIsNull(part) != 0
                || depth != 0 && Self::of(part).is_some_and(|part| part.is_flat(depth - 1))
        };
        match self.kind {
            Kind::Opaque => true,
            Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper | Kind::Enum => {
                // SAFETY: as promised by the caller.
                unsafe { self.all_parts(flat) }
            }
            // SAFETY: as promised by the caller.
            Kind::Array => unsafe { self.part(0) }.is_some_and(flat),
            kind => recorder::is_plain(kind),
        }
    }
}

/// What a constant is.
///
/// # Safety
/// It is a live value.
unsafe fn initializer(global: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: as promised by the caller; only a global variable is asked.
    unsafe {
        if LLVMIsAGlobalVariable(global).is_null() || LLVMIsGlobalConstant(global) == 0 {
            return None;
        }
        let value = LLVMGetInitializer(global);
        (!value.is_null()).then_some(value)
    }
}

/// An element of a constant struct or array.
///
/// # Safety
/// It is a live constant.
unsafe fn element(value: LLVMValueRef, index: u32) -> Option<LLVMValueRef> {
    // SAFETY: as promised by the caller.
    unsafe {
        let kind = LLVMGetTypeKind(LLVMTypeOf(value));
        if !matches!(kind, LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind) {
            return None;
        }
        let element = LLVMGetAggregateElement(value, index);
        (!element.is_null()).then_some(element)
    }
}
