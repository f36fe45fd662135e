//! `for_each` over all element types and sizes, against a host loop.

use std::fmt::Debug;

use schism::{AtomicElement, Element, prelude::*};

/// Around the widths of vectors and intervals, and one that all threads share.
const SIZES: [usize; 7] = [0, 1, 31, 32, 33, 1000, (1 << 20) + 7];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pixel {
    red: u8,
    green: u16,
    blue: f32,
}

/// Inputs are made by `make`; kernels and the host loop apply `combine`.
fn check<T: Element + Debug + PartialEq>(
    make: impl Fn(usize) -> T,
    combine: impl Fn(T, T) -> T + Copy + Send + Sync + Capture,
) {
    let queue = Queue::new().expect("a device");
    for size in SIZES {
        let host_x: Vec<T> = (0..size).map(&make).collect();
        let host_y: Vec<T> = (0..size).map(|i| make(i.wrapping_mul(7).wrapping_add(3))).collect();
        let expected: Vec<T> = host_x.iter().zip(&host_y).map(|(x, y)| combine(*x, *y)).collect();

        let x = Buffer::from_slice(&queue, &host_x).expect("memory");
        let mut y = Buffer::from_slice(&queue, &host_y).expect("memory");
        queue.for_each((&mut y, &x), move |(y, x)| *y = combine(*x, *y)).expect("a launch");
        assert!(y.to_vec() == expected, "in place, {size}");

        y.write(&host_y).expect("the same length");
        let view = x.view();
        queue.for_each((0.., &mut y), move |(i, y)| *y = combine(view[i], *y)).expect("a launch");
        assert!(y.to_vec() == expected, "captured view, {size}");

        y.write(&host_y).expect("the same length");
        queue
            .for_each((y.chunks_mut(5), x.chunks(5)), move |(y, x)| {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = combine(*x, *y);
                }
            })
            .expect("a launch");
        assert!(y.to_vec() == expected, "chunks, {size}");

        y.write(&host_y).expect("the same length");
        let (source, target) = (x.view(), y.view_mut());
        queue
            .parallel_for(size, move |item| {
                let i = item.x();
                // SAFETY: i < size, and each work-item has its own element.
                unsafe { target.set_unchecked(i, combine(source[i], target.get_unchecked(i))) }
            })
            .expect("a launch");
        assert!(y.to_vec() == expected, "exclusive view, {size}");
    }
}

#[test]
fn bytes() {
    check(|i| i as u8, u8::wrapping_mul);
}

#[test]
fn signed() {
    check(|i| i as i32 - 500, |x, y| x.wrapping_mul(31).wrapping_sub(y));
}

#[test]
fn wide() {
    check(|i| (i as u64) << 33 | 5, |x, y| x.rotate_left(9) ^ y);
}

#[test]
fn single_precision() {
    check(|i| i as f32 * 0.25 - 3.0, |x, y| 2.5 * x + y);
}

#[test]
fn double_precision() {
    check(|i| i as f64 / 3.0, |x, y| (x - y) / (x + 1.0));
}

#[test]
fn structs() {
    let make = |i| Pixel { red: i as u8, green: i as u16, blue: i as f32 };
    check(make, |x, y| Pixel { red: x.red ^ y.red, green: y.green, blue: x.blue - y.blue });
}

#[test]
fn tuples() {
    check(|i| (i as i16, i as f64), |x, y| (x.0.wrapping_add(y.0), x.1 * y.1));
}

#[test]
fn elements_without_bytes() {
    check(|_| (), |(), ()| ());
}

#[test]
fn eight_sources() {
    let queue = Queue::new().expect("a device");
    let n = 100;
    let buffers: Vec<_> =
        (0..6).map(|k| Buffer::filled(&queue, n, 10_usize.pow(k)).expect("memory")).collect();
    let [a, b, c, d, e, f] = &buffers[..] else { unreachable!() };
    let mut sum = Buffer::with_len(&queue, n).expect("memory");
    queue
        .for_each((&mut sum, a, b, c, d, e, f, 5..n + 5), |(sum, a, b, c, d, e, f, i)| {
            *sum = a + b + c + d + e + f + 1_000_000 * i;
        })
        .expect("a launch");
    assert!(sum.to_vec().iter().enumerate().all(|(i, sum)| *sum == 111_111 + 1_000_000 * (i + 5)));
}

#[test]
fn parts_of_buffers() {
    let queue = Queue::new().expect("a device");
    let mut data = Buffer::from_slice(&queue, &[1, 2, 3, 4, 5, 6]).expect("memory");
    let (low, high) = data.view_mut().split_at(3).expect("inside");
    queue.for_each((low, high), |(low, high)| std::mem::swap(low, high)).expect("a launch");
    assert_eq!(data.to_vec(), [4, 5, 6, 1, 2, 3]);

    queue.for_each(data.slice_mut(1..=2).expect("inside"), |x| *x = 0).expect("a launch");
    assert_eq!(data.to_vec(), [4, 0, 0, 1, 2, 3]);

    let mut view = data.view_mut();
    queue.for_each(&mut view, |x| *x += 1).expect("a launch");
    queue.for_each(&mut view, |x| *x *= 2).expect("a launch");
    assert_eq!(data.to_vec(), [10, 2, 2, 4, 6, 8]);
}

fn count_all<T: AtomicElement + From<u8> + PartialEq + Debug>(
    add: impl Fn(&T::Atomic) + Copy + Send + Sync + Capture,
) {
    let queue = Queue::new().expect("a device");
    let mut counts = Buffer::filled(&queue, 3, T::from(0)).expect("memory");
    let bins = counts.atomic_view();
    queue.parallel_for(300, move |item| add(&bins[item.x() % 3])).expect("a launch");
    assert_eq!(counts.to_vec(), [T::from(100), T::from(100), T::from(100)]);
}

#[test]
fn atomics() {
    use std::sync::atomic::Ordering::Relaxed;
    count_all::<u8>(|x| _ = x.fetch_add(1, Relaxed));
    count_all::<u32>(|x| _ = x.fetch_add(1, Relaxed));
    count_all::<i32>(|x| _ = x.fetch_add(1, Relaxed));
    count_all::<u64>(|x| _ = x.fetch_add(1, Relaxed));
    count_all::<i64>(|x| _ = x.fetch_add(1, Relaxed));
    count_all::<usize>(|x| _ = x.fetch_add(1, Relaxed));
}
