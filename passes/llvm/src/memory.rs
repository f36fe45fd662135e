//! Accesses to memory and fences: orders, scopes, alignments.

use llvm_sys::core::*;

use crate::{AtomicOrdering, AtomicRMWBinOp, Opcode, Value};

impl<'m> Value<'m> {
    /// Whether this is an access that can be volatile.
    #[track_caller]
    fn check_access(self) {
        use Opcode::*;
        let is_one = matches!(self.opcode(), Some(Load | Store | AtomicRMW | AtomicCmpXchg));
        self.check(is_one, "access to memory");
    }

    #[track_caller]
    fn check_ordered(self) {
        use Opcode::*;
        let is_one =
            matches!(self.opcode(), Some(Load | Store | AtomicRMW | AtomicCmpXchg | Fence));
        self.check(is_one, "access to memory, or fence");
    }

    /// Whether an access to memory is volatile.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn is_volatile(self) -> bool {
        self.check_access();
        // SAFETY: it is an access to memory.
        unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// Says whether an access to memory is volatile.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn set_volatile(self, is_so: bool) {
        self.check_access();
        // SAFETY: it is an access to memory.
        unsafe { LLVMSetVolatile(self.raw(), is_so.into()) };
    }

    /// The order of an access or a fence; of a compare-exchange that of success.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn ordering(self) -> AtomicOrdering {
        self.check_ordered();
        if self.opcode() == Some(Opcode::AtomicCmpXchg) {
            // SAFETY: it is a compare-exchange.
            return unsafe { LLVMGetCmpXchgSuccessOrdering(self.raw()) }.into();
        }
        // SAFETY: it is another access or a fence.
        unsafe { LLVMGetOrdering(self.raw()) }.into()
    }

    /// Gives a load, a store, an `atomicrmw` or a fence another order.
    ///
    /// # Panics
    /// If this is none of these.
    #[track_caller]
    pub fn set_ordering(self, ordering: AtomicOrdering) {
        self.check_ordered();
        self.check(self.opcode() != Some(Opcode::AtomicCmpXchg), "access with one order");
        // SAFETY: it is one of these.
        unsafe { LLVMSetOrdering(self.raw(), ordering.into()) };
    }

    /// Whether a load or a store is atomic; `atomicrmw` and `cmpxchg` always are.
    ///
    /// # Panics
    /// If this is no access to memory.
    #[track_caller]
    pub fn is_atomic(self) -> bool {
        self.ordering() != AtomicOrdering::NotAtomic
    }

    /// The address that a load or a store is at, and the value that it loads or stores.
    pub fn loaded_or_stored(self) -> Option<(Value<'m>, Value<'m>)> {
        match self.opcode()? {
            Opcode::Load => Some((self.operand(0), self)),
            Opcode::Store => Some((self.operand(1), self.operand(0))),
            _ => None,
        }
    }

    /// Whether an access to memory is neither volatile nor atomic.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn is_simple(self) -> bool {
        !self.is_volatile() && !self.is_atomic()
    }

    /// Who an atomic access or a fence orders, as LLVM numbers it.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn sync_scope(self) -> u32 {
        self.check_ordered();
        self.check(self.is_atomic(), "atomic access or fence");
        // SAFETY: it is an atomic access or a fence.
        unsafe { LLVMGetAtomicSyncScopeID(self.raw()) }
    }

    /// Whether an atomic access or a fence orders those that a `syncscope` names.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn has_sync_scope(self, name: &str) -> bool {
        self.sync_scope() == self.context().sync_scope(name)
    }

    /// Says who an atomic access or a fence orders, by LLVM's number for it.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn set_sync_scope(self, scope: u32) {
        self.check_ordered();
        self.check(self.is_atomic(), "atomic access or fence");
        // SAFETY: it is an atomic access or a fence.
        unsafe { LLVMSetAtomicSyncScopeID(self.raw(), scope) };
    }

    /// Says whether an access or a fence orders its own thread only.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn set_single_thread(self, is_so: bool) {
        self.check_ordered();
        // SAFETY: it is an access or a fence.
        unsafe { LLVMSetAtomicSingleThread(self.raw(), is_so.into()) };
    }

    /// What an `atomicrmw` does.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn rmw_operation(self) -> AtomicRMWBinOp {
        self.check_is(Opcode::AtomicRMW, "atomicrmw");
        // SAFETY: it is an `atomicrmw`.
        unsafe { LLVMGetAtomicRMWBinOp(self.raw()) }.into()
    }

    #[track_caller]
    fn check_aligned(self) {
        use Opcode::*;
        let is_one = self.is_global_object()
            || matches!(self.opcode(), Some(Alloca | Load | Store | AtomicRMW | AtomicCmpXchg));
        self.check(is_one, "value with an alignment");
    }

    /// The alignment of a function, a global variable, an `alloca` or an access, in bytes; 0 if it
    /// is left to LLVM.
    ///
    /// # Panics
    /// If this is none of these.
    #[track_caller]
    pub fn alignment(self) -> u32 {
        self.check_aligned();
        // SAFETY: it is one of these.
        unsafe { LLVMGetAlignment(self.raw()) }
    }

    /// Gives a function, a global variable, an `alloca` or an access another alignment, in bytes; 0
    /// leaves it to LLVM where it may be.
    ///
    /// # Panics
    /// If this is none of these, or the alignment no power of two that LLVM knows.
    #[track_caller]
    pub fn set_alignment(self, align: u32) {
        self.check_aligned();
        let is_left = align == 0 && self.is_global_object();
        self.check(is_left || align.is_power_of_two(), "value with such an alignment");
        // SAFETY: it is one of these, and the alignment one that it can have.
        unsafe { LLVMSetAlignment(self.raw(), align) };
    }
}
