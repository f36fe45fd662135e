//! Small values that a pipeline refers to, such as the locals that closures capture.
//!
//! They are where the host has them, mostly on its stack, and a GPU would read them there, over the
//! link, each sub-group anew. So a launch has copies of them, and each work-item puts its copies in the place of the
//! originals ([`rebind`]); where it could tell them apart, the compiler leaves the
//! originals (`schism::__private::copy_of`).
//!
//! Where the references are, the compiler knows: calls of [`references`] and [`rebind`] resolve to
//! [`encoded`] and [`rebind_encoded`], with a number for each reference to a value of a type that
//! has no interior mutability and at most 64 bytes. The references of values that are
//! referred to are among them.

use std::mem::MaybeUninit;
use std::ops::Range;

use schism::__private::{copy_of, heap};
use schism::Queue;

/// References of a pipeline that have copies, at most.
pub const MOST: usize = 8;

/// Bytes of a value that is copied, at most.
const LARGEST: usize = 64;

/// A value's copy.
pub type Copy = MaybeUninit<[u128; LARGEST / size_of::<u128>()]>;

/// A reference: where it is, and the size of what it refers to. The compiler makes these numbers
/// (`codegen/src/rayon/captures.rs`).
struct Reference {
    /// In the producer, in the consumer, or in a value before it.
    parent: usize,
    offset: usize,
    size: usize,
}

const PRODUCER: usize = 0;
const CONSUMER: usize = 1;
const FIRST_VALUE: usize = 2;

impl Reference {
    const fn decode(code: usize) -> Self {
        Self { offset: code & 0xffff, size: code >> 16 & 0xffff, parent: code >> 32 }
    }
}

/// Copies of what a pipeline refers to.
pub(crate) struct Captures {
    values: [Copy; MOST],
}

impl Captures {
    /// The copies for a pipeline that is to run on a queue's device. `roots` are its producer and its
    /// consumer, and `references` is what [`references`] says of it.
    ///
    /// # Safety
    /// Both point to a value, and what these refer to lives.
    pub(crate) unsafe fn gather(
        queue: &Queue,
        references: [usize; MOST],
        roots: [*const u8; FIRST_VALUE],
    ) -> Self {
        // What a launch refers to is found by its words, and stale ones would be found, too.
        let mut this = Self { values: [const { Copy::zeroed() }; MOST] };
        for (number, code) in references.into_iter().enumerate() {
            if code == 0 {
                break;
            }
            let Reference { parent, offset, size } = Reference::decode(code);
            let value: *const u8 = match parent {
                PRODUCER | CONSUMER => roots[parent],
                value => this.values[value - FIRST_VALUE].as_ptr().cast(),
            };
            let to = this.values[number].as_mut_ptr().cast();
            // SAFETY: the compiler says that there is a reference, to a value of this size, which a
            // copy has room for.
            unsafe {
                let from = value.add(offset).cast::<*const u8>().read_unaligned();
                heap::read(queue, from, to, size);
            }
        }
        this
    }

    /// Copies a value, and puts the copy's address where the pipeline refers to the value.
    ///
    /// # Safety
    /// As for [`rebind`]; the reference is the one with this number.
    #[inline(always)]
    unsafe fn rebind_one<const CODE: usize, const NUMBER: usize>(
        &self,
        roots: [*mut u8; FIRST_VALUE],
        copies: &[*mut Copy; MOST],
    ) {
        // 0 stands for none; then nothing below is compiled.
        if const { CODE == 0 } {
            return;
        }
        let Reference { parent, offset, .. } = const { Reference::decode(CODE) };
        let value = if const { Reference::decode(CODE).parent < FIRST_VALUE } {
            roots[parent]
        } else {
            copies[parent.wrapping_sub(FIRST_VALUE)].cast()
        };
        // SAFETY: the compiler says that there is a reference, to a value of which there is a copy.
        unsafe {
            // As a whole: what is not used is not read, and what is used is aligned.
            copies[NUMBER].write(self.values[NUMBER]);
            let place = value.add(offset).cast::<*const u8>();
            let original = place.read_unaligned();
            place.write_unaligned(copy_of(copies[NUMBER].cast(), original));
        }
    }
}

/// The references of a pipeline: none that is known.
#[inline(never)]
pub fn references<P, C>() -> [usize; MOST] {
    [0; MOST]
}

/// What calls of [`references`] resolve to.
#[inline(always)]
pub fn encoded<
    P,
    C,
    const A: usize,
    const B: usize,
    const D: usize,
    const E: usize,
    const F: usize,
    const G: usize,
    const H: usize,
    const I: usize,
>() -> [usize; MOST] {
    [A, B, D, E, F, G, H, I]
}

/// Puts copies in the place of what a pipeline refers to: of nothing that is known.
///
/// # Safety
/// `captures` was gathered from values with the bytes of these. The copies are not used otherwise,
/// as long as the pipeline is, and each is a separate variable.
#[inline(never)]
pub unsafe fn rebind<P, C>(
    _captures: *const (),
    _producer: *mut P,
    _consumer: *mut C,
    _copies: [*mut Copy; MOST],
) {
}

/// Exclusive references of a pipeline that a launch knows of, at most.
pub const MOST_EXCLUSIVE: usize = 4;

/// What a pipeline changes besides its result, if a kernel of it may allocate: nothing that is known.
#[inline(never)]
pub fn changes<P, C>() -> [usize; MOST_EXCLUSIVE] {
    [0; MOST_EXCLUSIVE]
}

/// What calls of [`changes`] resolve to.
#[inline(always)]
pub fn changes_encoded<P, C, const A: usize, const B: usize, const D: usize, const E: usize>()
-> [usize; MOST_EXCLUSIVE] {
    [A, B, D, E]
}

/// The addresses of what a pipeline changes. `roots` are its producer and its consumer, and `changes` is what
/// [`changes`] says of it.
///
/// # Safety
/// Both point to a value.
pub(crate) unsafe fn changed(
    changes: [usize; MOST_EXCLUSIVE],
    roots: [*const u8; FIRST_VALUE],
) -> [Range<usize>; MOST_EXCLUSIVE] {
    changes.map(|code| {
        if code == 0 {
            return 0..0;
        }
        let (offset, parent, is_slice, size) =
            (code & 0xffff, code >> 16 & 1, code >> 17 & 1 == 1, code >> 18);
        // SAFETY: the compiler says that there is a reference to a value of this size, or to a slice of such.
        unsafe {
            let reference = roots[parent].add(offset).cast::<*const u8>();
            let begin = reference.read_unaligned().expose_provenance();
            let length = reference.add(1).cast::<usize>();
            let count = if is_slice { length.read_unaligned() } else { 1 };
            begin..begin + count * size
        }
    })
}

/// What calls of [`rebind`] resolve to.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn rebind_encoded<
    P,
    C,
    const A: usize,
    const B: usize,
    const D: usize,
    const E: usize,
    const F: usize,
    const G: usize,
    const H: usize,
    const I: usize,
>(
    captures: *const (),
    producer: *mut P,
    consumer: *mut C,
    copies: [*mut Copy; MOST],
) {
    let roots = [producer.cast(), consumer.cast()];
    // SAFETY: the caller's promises; values come after those that refer to them.
    unsafe {
        let captures = &*captures.cast::<Captures>();
        captures.rebind_one::<A, 0>(roots, &copies);
        captures.rebind_one::<B, 1>(roots, &copies);
        captures.rebind_one::<D, 2>(roots, &copies);
        captures.rebind_one::<E, 3>(roots, &copies);
        captures.rebind_one::<F, 4>(roots, &copies);
        captures.rebind_one::<G, 5>(roots, &copies);
        captures.rebind_one::<H, 6>(roots, &copies);
        captures.rebind_one::<I, 7>(roots, &copies);
    }
}
