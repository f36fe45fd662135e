//! Launch options beside kernel and range: values of specialization constants, and how precise
//! floating-point results are.

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
    /// The same results as on the host, bit for bit, but for functions whose precision Rust leaves
    /// open, such as `sin`: they have the same bits on all devices.
    #[default]
    Precise,
    /// Rounding may differ. Sums may be reassociated, a multiplication and an addition may be
    /// fused, a division may become a multiplication by the reciprocal; functions may be
    /// approximated, and zeros may lose their sign. Infinities and NaNs keep their meaning. (LLVM's
    /// flags `reassoc contract arcp afn nsz`.)
    Relaxed,
    /// Like [`Relaxed`](Self::Relaxed), for computations without infinities and NaNs: where one
    /// occurs, the numbers computed from it are meaningless. They are still numbers: a kernel in
    /// safe code has no undefined behaviour, and an index computed from them is checked. (So LLVM's
    /// flags `nnan ninf`, which would make such values poison, are not used; today all devices
    /// compute the same as for [`Relaxed`](Self::Relaxed).)
    RelaxedFinite,
}

impl Math {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::RelaxedFinite as usize + 1;
}

/// The options of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    values: Vec<Value>,
    pub(crate) math: Math,
}

/// The value that a launch gives to a constant.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// The constant's address on the host.
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

/// The bytes of a value; padding has unspecified bytes.
pub(crate) fn bytes_of<T: Copy>(value: T) -> Box<[u8]> {
    let mut bytes = zeros(size_of::<T>());
    let to = bytes.as_mut_ptr();
    // SAFETY: there is room for a `T`, whatever its alignment.
    unsafe { to.cast::<T>().write_unaligned(value) };
    // SAFETY: a comment does nothing, but the compiler must assume that it has written all of the
    // bytes, including the padding of `T`: from here on they are initialised.
    unsafe { asm!("/* {0} */", in(reg) to, options(nostack, preserves_flags)) };
    bytes
}

fn zeros(len: usize) -> Box<[u8]> {
    vec![0; len].into_boxed_slice()
}

thread_local! {
    /// The options of the launch whose work-items this thread runs as the host half's own body.
    static CURRENT: Cell<*const Options> = const { Cell::new(ptr::null()) };
}

/// While this lives, the thread runs work-items of a launch with these options.
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

/// Work-items that this thread runs from now on belong to a launch with these options.
#[inline]
pub(crate) fn enter(options: Option<&Options>) -> Entered<'_> {
    let before = CURRENT.replace(options.map_or(ptr::null(), ptr::from_ref));
    Entered { before, options }
}

/// The value that the running launch gives to the constant at an address, if any.
pub(crate) fn value_at<T: Element>(address: usize) -> Option<T> {
    // The thread's locals may be gone when a destructor of another local asks.
    let options = CURRENT.try_with(Cell::get).ok()?;
    // SAFETY: null, or set by `enter`, whose result borrows the options and resets the pointer on
    // this thread.
    let options = unsafe { options.as_ref() }?;
    let value = options.values.iter().find(|value| value.address == address)?;
    value.value.downcast_ref::<T>().copied()
}
