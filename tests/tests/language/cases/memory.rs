//! Memory: cells, drops, `core::mem`, large arrays, buffers.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem;

use schism::Device;
use schism::Specialized;
use schism::prelude::*;

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("`Drop`, in order, also at an early return", drops),
    case("`ManuallyDrop`, `mem::forget`", manually_drop),
    case("`mem::swap`, `replace`, `take`", swaps),
    case("`size_of`, `align_of`, `offset_of!`, `size_of_val`", sizes),
    case("`transmute`", transmutes),
    case("`Cell`, `RefCell`, `OnceCell`", cells),
    case("raw pointers into own arrays", raw_pointers),
    case("`ptr::read`, `write`, `copy`, unaligned access, volatile access", pointer_functions),
    case("arrays of 16 kB on the stack", large_arrays),
    case("lists of references on the stack", lists),
    case("sub-slices, windows and chunks of captured views", views),
    case("captures that are constants of the code: `Specialized`", specialized),
    case("`core::hint`: `black_box`, `spin_loop`, `assert_unchecked`", hints),
];

fn drops() {
    struct Note<'a>(&'a Cell<u64>, u64);
    impl Drop for Note<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get().wrapping_mul(10).wrapping_add(self.1));
        }
    }
    fn work(log: &Cell<u64>, early: bool) -> u64 {
        let _one = Note(log, 1);
        let two = Note(log, 2);
        for i in 3..6 {
            let _inner = Note(log, i);
            if early && i == 4 {
                return 1;
            }
        }
        drop(two);
        let _pair = (Note(log, 7), Note(log, 8));
        2
    }
    agrees(|mut input| {
        let log = Cell::new(0);
        let result = work(&log, input.bits() % 2 == 0);
        (result, log.get())
    });
}

fn manually_drop() {
    struct Note<'a>(&'a Cell<u64>);
    impl Drop for Note<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    agrees(|input| {
        let log = Cell::new(0);
        let mut kept = mem::ManuallyDrop::new(Note(&log));
        mem::forget(Note(&log));
        if input.index % 2 == 0 {
            // SAFETY: it is dropped once, and not used afterwards.
            unsafe { mem::ManuallyDrop::drop(&mut kept) };
        }
        log.get()
    });
}

fn swaps() {
    agrees(|mut input| {
        let (mut a, mut b) = ([input.bits(), 2], [3, input.bits()]);
        mem::swap(&mut a, &mut b);
        let old = mem::replace(&mut a[0], 9);
        let taken = mem::take(&mut b);
        (a, b, old, taken)
    });
}

fn sizes() {
    #[repr(C)]
    struct S {
        a: u8,
        b: (u16, u64),
    }
    agrees(|input| {
        (
            size_of::<S>() + align_of::<S>() * 100 + mem::offset_of!(S, b) * 10_000,
            size_of::<Option<Box<u8>>>(),
            size_of_val(&[0_u16; 9][..input.index % 9]),
            mem::needs_drop::<String>(),
            mem::discriminant(&Some(1)) == mem::discriminant(&Some(input.index)),
        )
    });
}

fn transmutes() {
    agrees(|mut input| {
        let x = input.bits();
        // SAFETY: the types have the same size, and any bits are a value of each.
        unsafe {
            (
                mem::transmute::<u64, [u16; 4]>(x),
                mem::transmute::<[u16; 2], [i8; 4]>([1, x as u16]),
                mem::transmute_copy::<u64, u32>(&x),
            )
        }
    });
}

fn cells() {
    agrees(|mut input| {
        let cell = Cell::new(input.bits());
        let shared = &cell;
        let add = |x: u64| shared.set(shared.get().wrapping_add(x));
        add(1);
        add(input.index as u64);
        let list = RefCell::new([0_u32; 3]);
        list.borrow_mut()[input.below(3)] = 7;
        let blocked = {
            let _reader = list.borrow();
            list.try_borrow_mut().is_err()
        };
        let once = OnceCell::new();
        let first = *once.get_or_init(|| 5);
        let second = *once.get_or_init(|| 6);
        (cell.replace(3), cell.get(), list.into_inner(), blocked, first + second)
    });
}

fn raw_pointers() {
    agrees(|mut input| {
        let mut numbers = [1_u32, 2, 3, 4, 5];
        let start = numbers.as_mut_ptr();
        // SAFETY: all places are inside the array, which nothing else uses meanwhile.
        unsafe {
            let middle = start.add(2);
            *middle = input.bits() as u32;
            *middle.offset(-1) ^= *start.add(input.below(5));
            let distance = middle.offset_from(start);
            (numbers, distance, start.is_null())
        }
    });
}

fn pointer_functions() {
    agrees(|mut input| {
        let mut bytes = [0_u8; 24];
        let at = input.below(16);
        let x = input.bits();
        // SAFETY: all places are inside the array.
        let (back, again) = unsafe {
            let place = bytes.as_mut_ptr().add(at).cast::<u64>();
            place.write_unaligned(x);
            std::ptr::copy(bytes.as_ptr().add(at), bytes.as_mut_ptr(), 8);
            bytes.as_mut_ptr().add(23).write_volatile(5);
            (place.read_unaligned(), std::ptr::read_volatile(&raw const bytes[0]))
        };
        (back, again, bytes)
    });
}

fn large_arrays() {
    agrees(|mut input| {
        let mut sieve = [true; 16 * 1024];
        let limit = 100 + input.below(16_000);
        let mut count = 0;
        for i in 2..limit {
            if sieve[i] {
                count += 1;
                let mut j = i * i;
                while j < limit {
                    sieve[j] = false;
                    j += i;
                }
            }
        }
        count
    });
}

fn lists() {
    struct Node<'a> {
        value: u64,
        next: Option<&'a Node<'a>>,
    }
    fn sum(mut node: &Node<'_>) -> u64 {
        let mut sum = node.value;
        while let Some(next) = node.next {
            sum = sum.wrapping_mul(3) ^ next.value;
            node = next;
        }
        sum
    }
    fn build(depth: u32, tail: Option<&Node<'_>>) -> u64 {
        let node = Node { value: u64::from(depth) + 7, next: tail };
        if depth == 0 { sum(&node) } else { build(depth - 1, Some(&node)) }
    }
    agrees(|input| build(input.index as u32 % 40, None));
}

fn views() {
    let host: Vec<u32> = (0..1001_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let work = |data: &[u32], i: usize| {
        let window: u32 =
            data[i..].windows(3).take(4).map(|w| w[0] ^ w[2]).fold(0, u32::wrapping_add);
        let chunk =
            data.chunks(7).nth(i / 7).map_or(0, |chunk| chunk.iter().max().copied().unwrap_or(0));
        let (left, right) = data.split_at(i);
        (window, chunk, left.last().copied(), right.first().copied())
    };
    let expected: Vec<_> = (0..1001).map(|i| work(&host, i)).collect();
    for device in Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let data = Buffer::from_slice(&queue, &host).expect("memory");
        let mut out = Buffer::filled(&queue, 1001, (0, 0, None, None)).expect("memory");
        let view = data.view();
        queue.for_each((0.., &mut out), move |(i, out)| *out = work(&view, i)).expect("no panic");
        assert_eq!(out.to_vec(), expected, "on {device}");
    }
}

fn hints() {
    agrees(|mut input| {
        let x = std::hint::black_box(input.bits() % 10);
        std::hint::spin_loop();
        // SAFETY: a remainder of ten is less than ten.
        unsafe { std::hint::assert_unchecked(x < 10) };
        [0_u8, 1, 2, 3, 4, 5, 6, 7, 8, 9][x as usize]
    });
}

fn specialized() {
    #[derive(Clone, Copy)]
    struct Taps {
        weights: [i32; 5],
        wraps: bool,
        scale: f64,
    }
    let taps = Taps { weights: [1, -4, 6, -4, 1], wraps: false, scale: 0.1 };
    for taps in [taps, Taps { wraps: true, ..taps }, Taps { weights: [0; 5], scale: -0.0, ..taps }]
    {
        let (taps, table) = (Specialized::new(taps), Specialized::new([3_u8; 20]));
        agrees(move |input| {
            let mut sum = 0_i32;
            for (i, weight) in taps.weights.iter().enumerate() {
                let value = (input.index as i32 + i as i32) ^ i32::from(table[i]);
                let product = value.wrapping_mul(*weight);
                sum = if taps.wraps { sum.wrapping_add(product) } else { sum + product };
            }
            (sum, f64::from(sum) * taps.scale, table[input.index % 20], taps.get().weights[2])
        });
    }
}
