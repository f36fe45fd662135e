//! Directives before ordinary loops, on every device, beside the same loops without them.

#![allow(clippy::needless_range_loop, reason = "loops over indices are what is tested")]

use fastrand::Rng;
use schism::LaunchReport;
use schism::directives::{acc, offload, with_queue};
use schism::prelude::*;
use schism_tests::devices::{copies, with_copies};

/// Runs a test on every device.
fn on_every_device(test: impl Fn()) {
    for device in with_copies() {
        println!("on {device}");
        with_queue(&Queue::on(&device).expect("a device that is listed"), &test);
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

const SIZES: [usize; 6] = [0, 1, 31, 1000, 4099, (1 << 18) + 1];

#[acc]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    #[acc(parallel, loop)]
    for i in 0..x.len() {
        y[i] += a * x[i];
    }
}

/// Slices, vectors, arrays and boxed slices.
#[test]
fn a_loop_over_indices_is_a_launch() {
    on_every_device(|| {
        for size in SIZES {
            let x: Vec<f32> = (0..size).map(|i| (i % 100) as f32).collect();
            let mut y = vec![1.0; size];
            saxpy(2.0, &x, &mut y);
            assert!((0..size).all(|i| y[i] == 1.0 + 2.0 * (i % 100) as f32));
        }
    });
}

#[acc]
fn without_directives(x: &[u32], y: &mut [u32]) {
    for i in 0..x.len() {
        y[i] = x[i] + 1;
    }
    for own in y.iter_mut() {
        *own *= 2;
    }
}

/// Only a directive makes a launch of a loop.
#[test]
fn loops_without_a_directive_are_the_hosts() {
    on_every_device(|| {
        let mut y = [0; 3];
        let queue = Queue::new().expect("a device");
        let run = |queue: &Queue| with_queue(queue, || without_directives(&[4, 5, 6], &mut y));
        let ((), reports) = queue.report(run);
        assert_eq!((y, reports.len()), ([10, 12, 14], 0));
    });
}

static WEIGHTS: [u32; 4] = [4, 3, 2, 1];
const OFFSETS: [usize; 2] = [1, 2];

/// Statics and constants are arrays, steps keep neighbours apart, and quotients are known before.
#[acc]
fn named_by_others(y: &mut [u32], z: &mut [u32], n: usize) {
    #[acc(parallel, loop)]
    for i in 0..y.len() {
        y[i] = WEIGHTS[i % WEIGHTS.len()] + OFFSETS[i % 2] as u32;
    }
    #[acc(parallel, loop)]
    for i in (0..n).step_by(3).rev() {
        z[i] += y[i + 1];
        z[i + 1] = 7;
    }
    #[acc(parallel, loop)]
    for i in 0..n / 2 {
        y[i + n / 2] += z[i];
    }
}

#[test]
fn arrays_are_statics_and_indices_have_steps_and_quotients() {
    on_every_device(|| {
        for n in [0, 1, 31, 1000] {
            let (mut y, mut z) = (vec![0; n + 3], vec![1; n + 3]);
            named_by_others(&mut y, &mut z, n);
            let before = |i: usize| WEIGHTS[i % 4] + OFFSETS[i % 2] as u32;
            let is_step = |i: usize| i < n && i.is_multiple_of(3);
            let of_z = |i: usize| match i {
                i if is_step(i) => 1 + before(i + 1),
                i if i > 0 && is_step(i - 1) => 7,
                _ => 1,
            };
            assert!((0..n + 3).all(|i| z[i] == of_z(i)), "{z:?}");
            let added = |i: usize| (n / 2..n / 2 * 2).contains(&i).then(|| z[i - n / 2]);
            assert!((0..n + 3).all(|i| y[i] == before(i) + added(i).unwrap_or(0)), "{y:?}");
        }
    });
}

#[acc]
fn kinds(n: usize) -> (Vec<u32>, [u32; 40], Box<[u32]>) {
    let x: Vec<u32> = (0..n as u32).collect();
    let mut array = [0; 40];
    let mut boxed: Box<[u32]> = vec![7; n].into();
    let mut vector = vec![1; n];
    #[acc(parallel, loop)]
    for i in 0..n.min(40) {
        array[i] = 3 * x[n - 1 - i];
        boxed[i] += x.len() as u32;
        vector[i] = array[i] ^ boxed[i];
    }
    (vector, array, boxed)
}

#[test]
fn every_kind_of_array_is_taken() {
    on_every_device(|| {
        for n in [1_usize, 31, 40, 300] {
            let (vector, array, boxed) = kinds(n);
            for i in 0..n.min(40) {
                assert_eq!(array[i], 3 * (n - 1 - i) as u32);
                assert_eq!(boxed[i], 7 + n as u32);
                assert_eq!(vector[i], array[i] ^ boxed[i]);
            }
            assert!(vector[n.min(40)..].iter().all(|own| *own == 1));
        }
    });
}

#[acc]
fn strides(n: usize, step: usize, from: &[i64], to: &mut [i64]) {
    #[acc(parallel, loop)]
    for i in (0..n).rev() {
        to[step * i + 2] = from[i] + i as i64;
    }
    #[acc(parallel, loop)]
    for i in (1..=n as i32).step_by(3) {
        let at = 2 * i as usize;
        to[at] -= to[at + 1];
        to[at + 1] = i64::from(i);
    }
}

/// Steps, reversed ranges, other integers, and several elements for an iteration.
#[test]
fn indices_are_sums_of_multiples() {
    on_every_device(|| {
        for n in [0_usize, 1, 2, 31, 1000] {
            for step in [1, 2, 7] {
                let from: Vec<i64> = (0..n as i64).map(|i| 1000 * i).collect();
                let mut to = vec![-1_i64; 2 * n + step * n + 3];
                let mut expected = to.clone();
                strides(n, step, &from, &mut to);
                for i in 0..n {
                    expected[step * i + 2] = from[i] + i as i64;
                }
                for i in (1..=n as i32).step_by(3) {
                    let at = 2 * i as usize;
                    expected[at] -= expected[at + 1];
                    expected[at + 1] = i64::from(i);
                }
                assert_eq!(to, expected);
            }
        }
    });
}

#[acc]
fn multiply(m: usize, n: usize, p: usize, a: &[u32], b: &[u32], c: &mut [u32]) {
    #[acc(parallel, loop)]
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = 0;
            for k in 0..p {
                c[i * n + j] += a[i * p + k] * b[k * n + j];
            }
        }
    }
}

#[acc]
fn multiply_collapsed(m: usize, n: usize, p: usize, a: &[u32], b: &[u32], c: &mut [u32]) {
    #[acc(parallel, loop, gang, vector, collapse(2))]
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0;
            for k in 0..p {
                if k == 5 {
                    continue;
                }
                sum += a[i * p + k] * b[k * n + j];
            }
            if sum == 0 {
                continue;
            }
            c[i * n + j] = sum;
        }
    }
}

#[acc]
fn box_sums(planes: usize, h: usize, w: usize, from: &[u16], to: &mut [u16]) {
    #[acc(parallel, loop, collapse(3))]
    for z in 1..planes {
        for y in 0..h {
            for x in (1..w - 1).rev() {
                let at = (z * h + y) * w + x;
                to[at] = from[at - 1] ^ from[at + 1] ^ from[at - h * w];
            }
        }
    }
}

#[test]
fn nests_of_loops_are_launches() {
    on_every_device(|| {
        let mut random = Rng::with_seed(1);
        for (m, n, p) in [(1, 1, 1), (7, 33, 12), (65, 20, 3), (0, 4, 4), (4, 0, 4)] {
            let a: Vec<u32> = (0..m * p).map(|_| random.u32(..999)).collect();
            let b: Vec<u32> = (0..p * n).map(|_| random.u32(..999)).collect();
            let (mut c, mut d) = (vec![5; m * n], vec![5; m * n]);
            multiply(m, n, p, &a, &b, &mut c);
            multiply_collapsed(m, n, p, &a, &b, &mut d);
            for i in 0..m {
                for j in 0..n {
                    let sum = |skip| {
                        (0..p)
                            .filter(|k| *k != skip)
                            .map(|k| a[i * p + k] * b[k * n + j])
                            .sum::<u32>()
                    };
                    assert_eq!(c[i * n + j], sum(usize::MAX));
                    assert_eq!(d[i * n + j], if sum(5) == 0 { 5 } else { sum(5) });
                }
            }
        }
        let (planes, h, w) = (5, 6, 7);
        let from: Vec<u16> = (0..planes * h * w).map(|_| random.u16(..)).collect();
        let mut to = from.clone();
        box_sums(planes, h, w, &from, &mut to);
        let mut expected = from.clone();
        for z in 1..planes {
            for y in 0..h {
                for x in 1..w - 1 {
                    let at = (z * h + y) * w + x;
                    expected[at] = from[at - 1] ^ from[at + 1] ^ from[at - h * w];
                }
            }
        }
        assert_eq!(to, expected);
    });
}

#[acc]
fn side_by_side(out: &mut [u32], inp: &[u32], rows: &mut [u32], w: usize) {
    #[acc(parallel, loop)]
    for (o, i) in out.iter_mut().zip(inp) {
        *o = 2 * i;
    }
    #[acc(parallel, loop)]
    for (y, row) in rows.chunks_mut(w).enumerate() {
        for (x, own) in row.iter_mut().enumerate() {
            *own = (100 * y + x) as u32 + inp[0];
        }
    }
    #[acc(parallel, loop)]
    for (i, own) in (3..9_usize).zip(&mut rows[2..]) {
        *own += out[i - 3];
    }
    // The second number is what indices are not made of.
    #[acc(parallel, loop)]
    for (i, j) in (0..3_usize).zip(4..8_usize) {
        rows[i] += 1000 * j as u32;
    }
}

#[test]
fn iterators_side_by_side_are_launches() {
    on_every_device(|| {
        for (n, w) in [(6_usize, 5_usize), (100, 7), (1000, 1)] {
            let inp: Vec<u32> = (0..n as u32).collect();
            let (mut out, mut rows) = (vec![1; n + 3], vec![0; 10 * w + 3]);
            side_by_side(&mut out, &inp, &mut rows, w);
            for i in 0..n + 3 {
                assert_eq!(out[i], if i < n { 2 * i as u32 } else { 1 });
            }
            for i in 0..10 * w + 3 {
                let more = if (2..8).contains(&i) { out[i - 2] } else { 0 };
                let more = more + if i < 3 { 1000 * (i as u32 + 4) } else { 0 };
                assert_eq!(rows[i], (100 * (i / w) + i % w) as u32 + more);
            }
        }
    });
}

#[acc]
fn reductions(numbers: &[i64], out: &mut [i64], width: usize) -> (i64, i64, i64, u64, bool) {
    let (mut sum, mut least, mut most, mut bits, mut all) = (5, 9, -9, 1, true);
    let height = numbers.len() / width;
    #[acc(parallel, loop, reduction(+: sum), reduction(min: least), reduction(max: most))]
    for i in 0..numbers.len() {
        sum += numbers[i];
        least = least.min(numbers[i]);
        most = most.max(numbers[i]);
        out[i] = -numbers[i];
    }
    #[acc(parallel, loop, collapse(2), reduction(^: bits), reduction(&&: all))]
    for y in 0..height {
        for x in 0..width {
            bits ^= (numbers[y * width + x] as u64).rotate_left(y as u32);
            all = all && x < width;
        }
    }
    (sum, least, most, bits, all)
}

#[test]
fn reductions_begin_at_the_value_before_and_have_odd_sizes() {
    on_every_device(|| {
        for size in SIZES {
            let numbers: Vec<i64> = (0..size as i64).map(|i| (i * 7919) % 10_007 - 5000).collect();
            let mut out = vec![0; size];
            let (sum, least, most, bits, all) = reductions(&numbers, &mut out, 31);
            assert_eq!(sum, 5 + numbers.iter().sum::<i64>());
            assert_eq!(least, *numbers.iter().chain(&[9]).min().expect("one"));
            assert_eq!(most, *numbers.iter().chain(&[-9]).max().expect("one"));
            let rows = numbers.chunks_exact(31).enumerate();
            let expected = rows
                .flat_map(|(y, row)| row.iter().map(move |x| (*x as u64).rotate_left(y as u32)));
            assert_eq!(bits, expected.fold(1, |all, own| all ^ own));
            assert!(all && numbers.iter().zip(&out).all(|(a, b)| *a == -b));
        }
    });
}

struct Grid {
    cells: Vec<f64>,
    next: Vec<f64>,
    width: usize,
    factor: f64,
}

#[acc]
impl Grid {
    fn step(&mut self) {
        #[acc(parallel, loop, collapse(2))]
        for y in 1..self.cells.len() / self.width - 1 {
            for x in 1..self.width - 1 {
                let at = y * self.width + x;
                self.next[at] = self.factor * (self.cells[at - 1] + self.cells[at + self.width]);
            }
        }
    }
}

#[test]
fn fields_are_arrays_and_numbers() {
    on_every_device(|| {
        let cells: Vec<f64> = (0..70).map(f64::from).collect();
        let mut grid = Grid { next: cells.clone(), cells, width: 7, factor: 0.5 };
        grid.step();
        for at in 0..70 {
            let inner = (1..9).contains(&(at / 7)) && (1..6).contains(&(at % 7));
            let expected =
                if inner { 0.5 * (grid.cells[at - 1] + grid.cells[at + 7]) } else { at as f64 };
            assert_eq!(grid.next[at], expected);
        }
    });
}

#[acc]
fn scatter(order: &[usize], from: &[u8], to: &mut [u8]) {
    #[acc(parallel, loop, unsafe(independent))]
    for i in 0..order.len() {
        to[order[i]] = from[i];
    }
}

#[acc]
fn rows_of(counts: &[usize], to: &mut [u8], width: usize) {
    #[acc(parallel, loop)]
    for y in 0..counts.len() {
        for x in 0..counts[y] {
            to[y * width + x] = x as u8;
        }
    }
}

#[test]
fn what_is_asserted_is_not_checked_and_what_is_not_is() {
    on_every_device(|| {
        let order: Vec<usize> = (0..1000).map(|i| (i * 7) % 1000).collect();
        let from: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
        let mut to = vec![0; 1000];
        scatter(&order, &from, &mut to);
        assert!((0..1000).all(|i| to[order[i]] == from[i]));

        let mut to = vec![9; 50];
        rows_of(&[3, 5, 0, 1, 5], &mut to, 5);
        assert_eq!(to[..11], [0, 1, 2, 9, 9, 0, 1, 2, 3, 4, 9]);
        let failed = std::panic::catch_unwind(move || rows_of(&[3, 6, 0], &mut to, 5));
        let text = *failed.expect_err("rows overlap").downcast::<String>().expect("a text");
        assert!(text.contains("this iteration owns 5 elements from index 5"), "{text}");
        let failed = std::panic::catch_unwind(|| multiply(3, 3, 1, &[0; 3], &[0; 3], &mut [0; 8]));
        let text = *failed.expect_err("too short").downcast::<String>().expect("a text");
        assert!(text.contains("the len is 8 but the index is 8"), "{text}");
    });
}

#[acc]
fn jacobi(a: &mut [f32], new: &mut [f32], n: usize, steps: usize) -> f32 {
    let mut error = f32::MAX;
    #[acc(data, copy(a), create(new))]
    for _ in 0..steps {
        error = 0.0;
        #[acc(parallel, loop, gang, vector, collapse(2), reduction(max: error))]
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                new[y * n + x] = 0.25
                    * (a[(y - 1) * n + x]
                        + a[(y + 1) * n + x]
                        + a[y * n + x - 1]
                        + a[y * n + x + 1]);
                error = error.max((new[y * n + x] - a[y * n + x]).abs());
            }
        }
        #[acc(parallel, loop, collapse(2), present(a, new))]
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                a[y * n + x] = new[y * n + x];
            }
        }
    }
    error
}

fn plain_jacobi(a: &mut [f32], new: &mut [f32], n: usize, steps: usize) -> f32 {
    let mut error = f32::MAX;
    for _ in 0..steps {
        error = 0.0;
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                new[y * n + x] = 0.25
                    * (a[(y - 1) * n + x]
                        + a[(y + 1) * n + x]
                        + a[y * n + x - 1]
                        + a[y * n + x + 1]);
                error = error.max((new[y * n + x] - a[y * n + x]).abs());
            }
        }
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                a[y * n + x] = new[y * n + x];
            }
        }
    }
    error
}

/// The launches of a region copy nothing, however many there are.
#[test]
fn a_region_keeps_arrays_on_the_device() {
    on_every_device(|| {
        for (n, steps) in [(2, 1), (3, 5), (40, 11), (67, 2)] {
            let start: Vec<f32> = (0..n * n).map(|i| ((i * 37) % 101) as f32).collect();
            let (mut a, mut b) = (start.clone(), start);
            let (mut new_a, mut new_b) = (vec![0.0; n * n], vec![0.0; n * n]);
            let error = jacobi(&mut a, &mut new_a, n, steps);
            assert_eq!(error, plain_jacobi(&mut b, &mut new_b, n, steps));
            assert!(a == b);
        }
    });
}

#[test]
fn launches_of_a_region_copy_nothing() {
    for device in with_copies() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let n = 40;
        let (mut a, mut new) = (vec![1.0; n * n], vec![0.0; n * n]);
        let ((), reports) = queue.report(|queue| {
            with_queue(queue, || {
                jacobi(&mut a, &mut new, n, 7);
            });
        });
        // A reduction is one launch, of which no more than a value of each iteration comes back.
        assert_eq!(reports.len(), 14);
        let all = |bytes: fn(&LaunchReport) -> u64| -> u64 { reports.iter().map(bytes).sum() };
        let plate = if copies(&device) { 4 * (n * n) as u64 } else { 0 };
        assert_eq!(all(|report| report.bytes_to), 2 * plate);
        assert!(all(|report| report.bytes_from) <= (2 + 7) * plate, "{reports:?}");
    }
}

#[acc]
fn kernels(x: &[u32], y: &mut [u32], sums: &mut [u32]) -> u32 {
    let mut total = 3;
    #[acc(kernels)]
    {
        for i in 0..x.len() {
            y[i] = x[i] ^ 5;
        }
        // In order: each needs the one before.
        for i in 1..x.len() {
            sums[i] = sums[i - 1] + y[i];
            total += sums[i] % 7;
        }
        #[acc(loop, reduction(+: total))]
        for own in x.iter() {
            total += own % 2;
        }
    }
    total
}

#[acc]
fn serial(x: &[u32], y: &mut [u32]) -> u32 {
    let mut last = 0;
    #[acc(serial)]
    {
        let mut seen = 1;
        for i in 0..x.len() {
            seen = (seen * 31 + x[i]) % 1009;
            y[x.len() - 1 - i] = seen;
        }
        last = seen;
    }
    #[acc(parallel, loop, seq)]
    for i in 1..x.len() {
        y[i] ^= y[i - 1];
    }
    last
}

#[test]
fn what_depends_on_other_iterations_runs_in_order() {
    on_every_device(|| {
        for n in [0_usize, 1, 31, 1000] {
            let x: Vec<u32> = (0..n as u32).map(|i| (i * 7919) % 1000).collect();
            let (mut y, mut sums) = (vec![0; n], vec![2; n]);
            let total = kernels(&x, &mut y, &mut sums);
            let mut expected = (vec![2; n], 3 + x.iter().map(|x| x % 2).sum::<u32>());
            for i in 1..n {
                expected.0[i] = expected.0[i - 1] + (x[i] ^ 5);
                expected.1 += expected.0[i] % 7;
            }
            assert_eq!((sums, total), expected);

            let last = serial(&x, &mut y);
            let mut seen = 1;
            let mut all: Vec<u32> = x
                .iter()
                .map(|x| {
                    seen = (seen * 31 + x) % 1009;
                    seen
                })
                .collect();
            all.reverse();
            for i in 1..n {
                all[i] ^= all[i - 1];
            }
            assert_eq!((y, last), (all, if n == 0 { 1 } else { seen }));
        }
    });
}

#[offload]
fn offloaded(x: &[f64], y: &mut [f64], is_large: bool) {
    #[offload(in(x), inout(y), if(is_large))]
    {
        for i in 0..x.len() {
            y[i] += 2.0 * x[i];
        }
        for (own, x) in y.iter_mut().zip(x) {
            *own -= x;
        }
    }
}

#[acc]
fn on_either(y: &mut [u32], is_large: bool) -> u64 {
    let mut sum = 0;
    #[acc(parallel, loop, vector_length(64), if(is_large), reduction(+: sum), default(none), copy(y))]
    for i in 0..y.len() {
        y[i] += 1;
        sum += u64::from(y[i]);
    }
    sum
}

#[test]
fn a_condition_chooses_the_device_or_the_host() {
    on_every_device(|| {
        for is_large in [false, true] {
            let (x, mut y) = (vec![3.0; 100], vec![1.0; 100]);
            offloaded(&x, &mut y, is_large);
            assert_eq!(y, [4.0; 100]);
            let mut y = vec![6; 1000];
            assert_eq!((on_either(&mut y, is_large), y), (7000, vec![7; 1000]));
        }
    });
}

#[acc]
fn affine(to: &mut [u64], [m, n]: [usize; 2], [a, b, c]: [usize; 3], by: usize) -> u64 {
    let mut sum = 0;
    #[acc(parallel, loop, collapse(2), reduction(+: sum))]
    for i in (0..m).step_by(by) {
        for j in (1..=n).rev() {
            to[a * i + b * j + c] = (i * 1000 + j) as u64;
            sum += to[a * i + c + b * j];
        }
    }
    sum
}

/// Random bounds, steps and multiples against the plain loop. What is refused could meet, or leaves
/// no more room than its sum of steps. `SCHISM_TEST_DIRECTIVES` is how many.
#[test]
fn random_nests_are_plain_loops() {
    let count = std::env::var("SCHISM_TEST_DIRECTIVES")
        .map_or(300, |count| count.parse().expect("a number"));
    on_every_device(|| {
        let (mut random, mut refused) = (Rng::with_seed(7), 0);
        for _ in 0..count {
            let [m, n] = [random.usize(..9), random.usize(..9)];
            let [a, b, c] = [random.usize(..24), random.usize(..24), random.usize(..3)];
            let by = random.usize(1..4);
            let mut to = vec![0; a * m + b * n + c + 1];
            let (mut expected, mut sum) = (to.clone(), 0);
            for i in (0..m).step_by(by) {
                for j in (1..=n).rev() {
                    expected[a * i + b * j + c] = (i * 1000 + j) as u64;
                    sum += expected[a * i + b * j + c];
                }
            }
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                affine(&mut to, [m, n], [a, b, c], by)
            }));
            match result {
                Ok(found) => assert_eq!((found, &to), (sum, &expected)),
                Err(payload) => {
                    let text = payload.downcast::<String>().expect("a text");
                    assert!(text.contains("two iterations may access the same element"), "{text}");
                    let (i, j) = (a * by * (m.div_ceil(by) - 1), b * (n - 1));
                    let is_apart = |large, small| large > small;
                    let apart_i = m.div_ceil(by) > 1 && is_apart(a * by, j) && (n < 2 || b > 0);
                    let apart_j = n > 1 && is_apart(b, i) && (m.div_ceil(by) < 2 || a > 0);
                    assert!(!apart_i && !apart_j, "{m} {n} {a} {b} {by}");
                    refused += 1;
                }
            }
        }
        assert!(refused < count * 2 / 3, "{refused} of {count} refused");
    });
}

#[acc]
fn three_more(x: &mut [u32]) {
    #[acc(parallel, loop)]
    for own in x.iter_mut() {
        *own += 3;
    }
}

#[acc]
fn shadowed(x: &[u32], queue: &Queue) -> (u32, Vec<u32>) {
    let mut before = 0;
    #[acc(data, copyin(x))]
    {
        // Another array, which launches change.
        let mut x = x.to_vec();
        let mut entered = with_queue(queue, || acc::copyin(&mut x)).expect("memory");
        {
            let x = &mut *entered;
            three_more(&mut x[..]);
            #[acc(update, self(x))]
            {}
            before += x[0];
        }
        drop(entered);
        (before, x)
    }
}

/// An `update` of a variable that has the name of an array that is only read is one of that variable.
#[test]
fn names_that_shadow_arrays_are_other_arrays() {
    for device in with_copies() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let found = with_queue(&queue, || shadowed(&[1, 2], &queue));
        assert_eq!(found, (4, vec![4, 5]), "{device}");
    }
}
