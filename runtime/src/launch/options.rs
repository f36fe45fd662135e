//! What a launch says beside its kernel and its range: values of specialization constants, how precise its mathematics is.

use std::any::Any;
use std::arch::asm;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use crate::kernel::element::Element;
use crate::kernel::spec_place::{ConstantPlace, TypeIdentity};

/// How precise floating-point results are.
///
/// On the device `native` they are always precise: the program's own code runs there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Math {
    /// What the same code computes on the host, bit for bit.
    #[default]
    Precise,
    /// Rounding may differ. Sums may be taken in another order, a multiplication and an addition may become one operation, a
    /// division a multiplication by the reciprocal; functions may be approximated, and zeros lose their sign. Infinities and NaNs
    /// keep their meaning. (LLVM's flags `reassoc contract arcp afn nsz`.)
    Relaxed,
    /// As [`Relaxed`](Self::Relaxed), for computations in which nothing is ever infinite or NaN: if something is, the numbers that come
    /// of it mean nothing. They are numbers all the same: a kernel of safe code has no undefined behaviour, and an index that is computed
    /// of them is checked. (So LLVM's flags `nnan ninf` are not used, by which such a value would be none; today all devices compute
    /// what they compute for [`Relaxed`](Self::Relaxed).)
    RelaxedFinite,
}

/// The options of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    values: Vec<Value>,
    pub(crate) math: Math,
}

/// The value that a launch gives a constant.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Where the constant is in the host's memory.
    address: usize,
    pub(crate) place: ConstantPlace,
    pub(crate) type_id: TypeIdentity,
    value: Arc<dyn Any + Send + Sync>,
    pub(crate) bytes: Box<[u8]>,
}

impl Options {
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Replaces the value of the constant at an address.
    pub(crate) fn set<T: Element>(
        &mut self,
        address: usize,
        place: ConstantPlace,
        type_id: TypeIdentity,
        value: T,
    ) {
        self.values.retain(|other| other.address != address);
        let bytes = bytes_of(value);
        self.values.push(Value { address, place, type_id, value: Arc::new(value), bytes });
    }
}

/// The bytes of a value, with those that its type leaves open as they happen to be.
pub(crate) fn bytes_of<T: Copy>(value: T) -> Box<[u8]> {
    let mut bytes = vec![0_u8; size_of::<T>()];
    let to = bytes.as_mut_ptr();
    // SAFETY: there is room for a `T`, whatever its alignment.
    unsafe { to.cast::<T>().write_unaligned(value) };
    // SAFETY: a comment does nothing. But as far as the compiler knows it has written all of the bytes, also those between the
    // fields of `T`, which nobody else has: from here on they have values.
    unsafe { asm!("/* {0} */", in(reg) to, options(nostack, preserves_flags)) };
    bytes.into_boxed_slice()
}

thread_local! {
    /// The options of the launch whose work-items this thread runs as the host half's own body.
    static CURRENT: Cell<*const Options> = const { Cell::new(ptr::null()) };
}

/// While this lives, the thread runs work-items of a launch with some options.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    before: *const Options,
    #[expect(dead_code, reason = "it only keeps the options borrowed")]
    options: Option<&'a Options>,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Work-items that this thread runs from now on are of a launch with these options.
#[inline]
pub(crate) fn enter(options: Option<&Options>) -> Entered<'_> {
    let before = CURRENT.replace(options.map_or(ptr::null(), ptr::from_ref));
    Entered { before, options }
}

/// The value that the running launch gives the constant at an address, if it does.
pub(crate) fn value_at<T: Element>(address: usize) -> Option<T> {
    // The thread's locals may be gone when a destructor of another local asks.
    let options = CURRENT.try_with(Cell::get).ok()?;
    // SAFETY: null, or set by `enter`, whose result borrows the options and takes the pointer back on this thread.
    let options = unsafe { options.as_ref() }?;
    let value = options.values.iter().find(|value| value.address == address)?;
    value.value.downcast_ref::<T>().copied()
}
