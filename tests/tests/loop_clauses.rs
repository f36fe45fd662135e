//! Clauses of loops, and atomic statements in them, on every device, beside the same loops without them.

#![allow(clippy::needless_range_loop, reason = "loops over indices are what is tested")]
#![allow(clippy::assign_op_pattern, reason = "`atomic` has both forms")]

use fastrand::Rng;
use schism::directives::{acc, offload, with_queue};
use schism::prelude::*;
use schism_tests::devices::{copies, with_copies};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in with_copies() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is there");
        with_queue(&queue, || test(&queue));
    }
}

const SIZES: [usize; 5] = [0, 1, 31, 1000, 4099];

#[acc]
fn smooth(width: usize, from: &[i64], to: &mut [i64], weight: i64) {
    #[acc(parallel, loop, collapse(2), async)]
    for y in 1..from.len() / width - 1 {
        for x in 1..width - 1 {
            let at = y * width + x;
            let around = from[at - 1] + from[at + 1] + from[at - width] + from[at + width];
            to[at] = (around * weight + from[at]) % 1_000_003;
        }
    }
}

fn smooth_plain(width: usize, from: &[i64], to: &mut [i64], weight: i64) {
    for y in 1..from.len() / width - 1 {
        for x in 1..width - 1 {
            let at = y * width + x;
            let around = from[at - 1] + from[at + 1] + from[at - width] + from[at + width];
            to[at] = (around * weight + from[at]) % 1_000_003;
        }
    }
}

#[acc]
fn repeat(random: &mut Rng) {
    let (mut from, mut to) = (vec![1_i64; 900], vec![0_i64; 900]);
    let (mut plain_from, mut plain_to) = (from.clone(), to.clone());
    for round in 0..40 {
        #[acc(data, copy(from), copy(to))]
        {
            for _ in 0..8 {
                // Of one size more often than of others.
                let width = [30, 30, 30, 15, 20][random.usize(..5)];
                let rows = random.usize(3..30);
                let len = if random.bool() { 900 } else { rows * width }.min(900);
                let weight = random.i64(0..3);
                smooth(width, &from[..len], &mut to[..len], weight);
                smooth_plain(width, &plain_from[..len], &mut plain_to[..len], weight);
                if random.bool() {
                    smooth(width, &to[..len], &mut from[..len], weight);
                    smooth_plain(width, &plain_to[..len], &mut plain_from[..len], weight);
                }
            }
        }
        assert_eq!((&from, &to), (&plain_from, &plain_to), "round {round}");
        for own in [&mut from, &mut to, &mut plain_from, &mut plain_to] {
            own.iter_mut().for_each(|own| *own %= 1000);
        }
        if round % 5 == 4 {
            std::mem::swap(&mut from, &mut to);
            std::mem::swap(&mut plain_from, &mut plain_to);
        }
    }
}

/// A loop that runs again and again, with other arrays, lengths, strides and numbers, or with the same.
#[test]
fn loops_run_again() {
    on_every_device(|_| repeat(&mut Rng::with_seed(11)));
}

#[acc]
fn histogram(text: &[u8], counts: &mut [u32], weights: &mut [f64], last: &mut [usize]) {
    #[acc(parallel, loop)]
    for i in 0..text.len() {
        let at = text[i] as usize;
        #[acc(atomic)]
        counts[at] += 1;
        #[acc(atomic(update))]
        weights[at] += 0.5;
        #[acc(atomic, update)]
        last[at] = last[at].max(i);
    }
}

#[test]
fn atomic_updates_count_everything() {
    on_every_device(|_| {
        let mut random = Rng::with_seed(3);
        for size in SIZES {
            let text: Vec<u8> = (0..size).map(|_| random.u8(..9)).collect();
            let (mut counts, mut weights, mut last) = ([7; 9], [1.0; 9], [0; 9]);
            histogram(&text, &mut counts, &mut weights, &mut last);
            for at in 0..9 {
                let own = text.iter().filter(|own| usize::from(**own) == at).count();
                assert_eq!(counts[at], 7 + own as u32);
                assert_eq!(weights[at], 1.0 + 0.5 * own as f64);
                let found = text.iter().rposition(|own| usize::from(*own) == at);
                assert_eq!(last[at], found.unwrap_or(0));
            }
        }
    });
}

#[acc]
fn operators(x: &[i32], all: &mut [i32], floats: &mut [f32]) {
    #[acc(parallel, loop)]
    for i in 0..x.len() {
        #[acc(atomic)]
        all[0] -= x[i];
        #[acc(atomic)]
        all[1] *= 3;
        #[acc(atomic)]
        all[2] &= !(1 << (i % 31));
        #[acc(atomic)]
        all[3] |= 1 << (i % 31);
        #[acc(atomic)]
        all[4] ^= x[i];
        #[acc(atomic)]
        all[5] = x[i] + all[5];
        #[acc(atomic)]
        all[6] = all[6].min(x[i]);
        #[acc(atomic)]
        all[7] /= 2;
        #[acc(atomic)]
        all[8] <<= 1;
        #[acc(atomic)]
        all[9] >>= 1;
        #[acc(atomic)]
        all[10] %= 1000;
        #[acc(atomic)]
        floats[0] = floats[0].max(x[i] as f32);
        #[acc(atomic)]
        floats[1] = floats[1].min(x[i] as f32);
        #[acc(atomic)]
        floats[2] *= 2.0;
        #[acc(atomic)]
        floats[3] -= 1.0;
        #[acc(atomic)]
        floats[4] /= 2.0;
    }
}

#[test]
fn atomics_have_all_operators() {
    on_every_device(|_| {
        let x: Vec<i32> = (0..40).map(|i| (i * 37) % 101 - 50).collect();
        let start = [1, 1, !0, 0, 5, 6, 7, i32::MAX, 1, i32::MAX, 123_456];
        let (mut all, mut floats) = (start, [0.0, 0.0, 1.0, 0.0, 1.0]);
        operators(&x[..20], &mut all, &mut floats);
        let x = &x[..20];
        let sum: i32 = x.iter().sum();
        let bits = (0..20).fold(0, |all, i| all | (1 << i));
        let xor = x.iter().fold(5, |all, own| all ^ own);
        let three = 3_i32.pow(19).wrapping_mul(3);
        let expected = [
            1 - sum,
            three,
            !bits,
            bits,
            xor,
            6 + sum,
            -50,
            i32::MAX >> 20,
            1 << 20,
            i32::MAX >> 20,
            456,
        ];
        assert_eq!(all, expected);
        let most = *x.iter().max().expect("one") as f32;
        assert_eq!(floats, [most, -50.0, 1_048_576.0, -20.0, 1.0 / 1_048_576.0]);
    });
}

#[acc]
fn captured(
    n: usize,
    next: &mut [u32],
    places: &mut [u32],
    owners: &mut [usize],
    seen: &mut [u32],
) {
    #[acc(parallel, loop)]
    for i in 0..n {
        let place;
        #[acc(atomic(capture))]
        {
            place = next[0];
            next[0] += 1;
        }
        places[i] = place;
        let after;
        #[acc(atomic(capture))]
        {
            next[1] -= 1;
            after = next[1];
        }
        seen[i] = after;
        let before;
        #[acc(atomic(capture))]
        {
            before = owners[0];
            owners[0] = i + 1;
        }
        #[acc(atomic(write))]
        owners[1 + i] = before;
        #[acc(atomic(read))]
        let kept = owners[1 + i];
        #[acc(atomic)]
        owners[1 + i] += kept;
    }
}

/// Each iteration has another number, and each predecessor is that of one.
#[test]
fn atomic_captures_tell_what_was_there() {
    on_every_device(|_| {
        for n in SIZES {
            let (mut next, mut places, mut seen) = ([10, 9_000], vec![0; n], vec![0; n]);
            let mut owners = vec![0; n + 1];
            captured(n, &mut next, &mut places, &mut owners, &mut seen);
            assert_eq!(next, [10 + n as u32, 9_000 - n as u32]);
            places.sort_unstable();
            assert!(places.iter().zip(10..).all(|(place, own)| *place == own));
            seen.sort_unstable();
            assert!(seen.iter().zip(next[1]..).all(|(place, own)| *place == own));
            let mut before: Vec<usize> = owners.iter().map(|own| own / 2).skip(1).collect();
            before.push(owners[0]);
            before.sort_unstable();
            assert!(before.iter().copied().eq(0..=n), "{before:?}");
        }
    });
}

#[offload]
fn offloaded(x: &[u8], counts: &mut [u64]) {
    #[offload(target(any), in(x), inout(counts))]
    for own in x.iter() {
        #[offload(atomic)]
        counts[*own as usize] += 1;
    }
}

#[acc]
fn in_order(x: &[u8], counts: &mut [u64]) {
    #[acc(serial, copyin(x), copy(counts))]
    {
        for own in x.iter() {
            #[acc(atomic)]
            counts[*own as usize] += 1;
        }
    }
}

#[test]
fn atomics_are_in_every_kind_of_kernel() {
    on_every_device(|_| {
        let x: Vec<u8> = (0..1000).map(|i| (i % 7) as u8).collect();
        for run in [offloaded, in_order] {
            let mut counts = [0; 7];
            run(&x, &mut counts);
            assert_eq!(counts, [143, 143, 143, 143, 143, 143, 142]);
        }
    });
}

#[acc]
fn mapped(x: &[u32], y: &mut [u32], width: usize, gangs: usize) {
    #[acc(parallel, loop, num_gangs(gangs), cache(x))]
    for i in 0..x.len() {
        y[i] = x[i] + 1;
    }
    #[acc(parallel, loop, gang(num: gangs, static: 4), worker(2), vector(length: 16))]
    for i in 0..x.len() {
        y[i] *= 2;
    }
    let height = x.len() / width;
    #[acc(parallel, loop, tile(4, *))]
    for i in 0..height {
        for j in 0..width {
            y[i * width + j] += x[i * width + j];
        }
    }
    #[acc(
        parallel,
        loop,
        vector_length(64),
        device_type(nvidia, radeon),
        vector_length(128),
        device_type(host),
        num_gangs(3)
    )]
    for i in 0..x.len() {
        y[i] += 5;
    }
    #[acc(kernels, num_workers(32))]
    {
        #[acc(loop, gang, auto)]
        for i in 0..x.len() {
            y[i] ^= 1;
        }
    }
}

/// Whatever the sizes are, each iteration runs once.
#[test]
fn sizes_change_no_results() {
    on_every_device(|_| {
        for size in SIZES {
            for gangs in [0, 1, 7, 10_000] {
                let x: Vec<u32> = (0..size as u32).collect();
                let mut y = vec![0; size];
                let width = if size % 31 == 0 { 31 } else { 1 };
                mapped(&x, &mut y, width, gangs);
                assert!(x.iter().zip(&y).all(|(x, y)| *y == (3 * x + 7) ^ 1));
            }
        }
    });
}

#[acc]
fn on_host_if(x: &mut [u32], is_small: bool) {
    #[acc(parallel, loop, self(is_small))]
    for i in 0..x.len() {
        x[i] += 1;
    }
    #[acc(serial, self)]
    {
        x[0] += 1;
    }
}

#[test]
fn self_runs_on_the_host() {
    on_every_device(|queue| {
        for is_small in [true, false] {
            let mut x = vec![1; 100];
            let ((), reports) =
                queue.report(|queue| with_queue(queue, || on_host_if(&mut x, is_small)));
            // Where a region of another test keeps elements, the host's loop is a launch, too.
            let on_device = reports.iter().filter(|report| !report.why.contains("condition"));
            assert_eq!(on_device.count(), usize::from(!is_small));
            assert!(x[0] == 3 && x[1..].iter().all(|own| *own == 2));
        }
    });
}

#[acc]
fn deep(n: [usize; 6], to: &mut [u32]) -> (u64, u32) {
    let (mut sum, mut most) = (0, 0);
    let [a, b, c, d, e, f] = n;
    #[acc(parallel, loop, collapse(4))]
    for i in 0..a {
        for j in 0..b {
            for k in (0..c).rev() {
                for l in 0..d {
                    to[((i * b + j) * c + k) * d + l] = (1000 * i + 100 * j + 10 * k + l) as u32;
                }
            }
        }
    }
    #[acc(parallel, loop, collapse(6), reduction(+: sum), reduction(max: most))]
    for i in 0..a {
        for j in 0..b {
            for k in 0..c {
                for l in 0..d {
                    for m in 1..=e {
                        for o in 0..f {
                            let own = to[((i * b + j) * c + k) * d + l] * (m + o) as u32;
                            sum += u64::from(own);
                            most = most.max(own);
                        }
                    }
                }
            }
        }
    }
    (sum, most)
}

#[acc]
fn deeper(n: [usize; 5], to: &mut [u32]) {
    let [a, b, c, d, e] = n;
    #[acc(parallel, loop, collapse(5))]
    for i in 0..a {
        for j in 0..b {
            for k in 0..c {
                for l in 0..d {
                    for m in (0..e).step_by(2) {
                        to[(((i * b + j) * c + k) * d + l) * e + m] += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn nests_of_many_loops_are_one_launch() {
    on_every_device(|queue| {
        for n in [[1; 6], [2, 3, 4, 5, 2, 3], [3, 1, 7, 2, 4, 1], [2, 0, 4, 5, 2, 3]] {
            let [a, b, c, d, e, f] = n;
            let mut to = vec![7; a * b * c * d];
            let (sum, most) = deep(n, &mut to);
            let mut expected = (Vec::new(), 0_u64, 0);
            for i in 0..a {
                for j in 0..b {
                    for k in 0..c {
                        for l in 0..d {
                            let own = (1000 * i + 100 * j + 10 * k + l) as u32;
                            expected.0.push(own);
                            for m in 1..=e {
                                for o in 0..f {
                                    let own = own * (m + o) as u32;
                                    expected.1 += u64::from(own);
                                    expected.2 = expected.2.max(own);
                                }
                            }
                        }
                    }
                }
            }
            assert_eq!((to, sum, most), expected);
            let mut to = vec![0; a * b * c * d * e];
            let ((), reports) =
                queue.report(|queue| with_queue(queue, || deeper([a, b, c, d, e], &mut to)));
            assert_eq!(reports.len(), usize::from(a * b * c * d * e != 0));
            let last = |at: usize| if e == 0 { 0 } else { at % e };
            assert!(to.iter().enumerate().all(|(at, own)| *own == u32::from(last(at) % 2 == 0)));
        }
    });
}

#[acc]
fn integers(bytes: &mut [u8], wide: &mut [i64]) -> (u64, i64) {
    let (mut sum, mut least) = (0, 0);
    #[acc(parallel, loop)]
    for i in 0..=255_u8 {
        bytes[i as usize] = i;
    }
    #[acc(parallel, loop, reduction(+: sum))]
    for i in (3_u16..=60_000).rev().step_by(7) {
        sum += u64::from(i);
    }
    #[acc(parallel, loop, reduction(min: least))]
    for i in (-50_i64..50).step_by(3) {
        least = least.min(i);
    }
    #[acc(parallel, loop)]
    for i in (0_i64..100).step_by(3) {
        wide[i as usize] = i - 50;
    }
    (sum, least)
}

#[test]
fn loops_count_all_integers() {
    on_every_device(|_| {
        let (mut bytes, mut wide) = ([1; 256], [9; 100]);
        let (sum, least) = integers(&mut bytes, &mut wide);
        assert!(bytes.iter().enumerate().all(|(i, own)| usize::from(*own) == i));
        assert_eq!(sum, (3_u64..=60_000).rev().step_by(7).sum::<u64>());
        assert_eq!(least, -50);
        for i in 0..100 {
            assert_eq!(wide[i], if i % 3 == 0 { i as i64 - 50 } else { 9 });
        }
    });
}

#[acc]
fn private_arrays(x: &[u32], y: &mut [u32], table: [u32; 4]) -> [u32; 4] {
    // Each iteration changes a copy.
    #[allow(unused_mut)]
    let mut own = [1, 2, 3, 4];
    #[acc(parallel, loop, private(own), firstprivate(table))]
    for i in 0..x.len() {
        for k in 0..4 {
            own[k] += x[i] * table[k];
        }
        own.reverse();
        y[i] = own[0] - own[3];
    }
    own
}

/// Each iteration has another array, and none is copied.
#[test]
fn private_arrays_are_each_iterations_own() {
    on_every_device(|queue| {
        for size in SIZES {
            let x: Vec<u32> = (0..size as u32).collect();
            let mut y = vec![0; size];
            let (own, reports) = queue
                .report(|queue| with_queue(queue, || private_arrays(&x, &mut y, [1, 1, 1, 3])));
            assert!(x.iter().zip(&y).all(|(x, y)| *y == 2 * x + 3));
            assert_eq!(own, [1, 2, 3, 4]);
            let bytes: u64 = reports.iter().map(|report| report.bytes_to).sum();
            let expected = if copies(queue.device()) { 8 * size as u64 } else { 0 };
            assert_eq!(bytes, expected);
        }
    });
}

#[acc]
fn both_are_kept(x: &mut [u32], y: &[u32]) {
    #[acc(data, copy(x), copyin(y))]
    {
        #[acc(parallel, loop, default(present))]
        for i in 0..x.len() {
            x[i] += y[i];
        }
    }
}

#[acc]
fn one_is_kept(x: &mut [u32], y: &[u32]) {
    #[acc(data, copy(x))]
    {
        #[acc(kernels, default(present))]
        for i in 0..x.len() {
            x[i] += y[i];
        }
    }
}

/// By default, arrays have to be where the device has them.
#[test]
fn arrays_are_present_by_default() {
    on_every_device(|queue| {
        let (mut x, y) = (vec![1; 100], vec![2; 100]);
        both_are_kept(&mut x, &y);
        assert_eq!(x, vec![3; 100]);
        let run = std::panic::AssertUnwindSafe(|| one_is_kept(&mut x, &y));
        let result = std::panic::catch_unwind(run);
        assert_eq!(result.is_err(), copies(queue.device()));
        if let Err(payload) = result {
            let text = payload.downcast::<String>().expect("a text");
            assert!(text.contains("not on device"), "{text}");
        }
        assert_eq!(x, vec![if copies(queue.device()) { 3 } else { 5 }; 100]);
    });
}

#[acc]
fn float_sum(n: u32) -> (f64, f32, u128) {
    let (mut sum, mut most, mut product) = (0.5, -1.0, 1);
    #[acc(parallel, loop, reduction(+: sum), reduction(max: most), reduction(*: product))]
    for i in 0..n {
        sum += 1.0 / f64::from(i + 1);
        most = f32::max(most, (i % 1001) as f32);
        product *= if i % 1000 == 0 { 2 } else { 1_u128 };
    }
    (sum, most, product)
}

/// A reduction is one launch, and another one for each variable if the values are many. Nothing is copied
/// there, and few values come back. The result is the same each time.
#[test]
fn reductions_copy_few_values() {
    on_every_device(|queue| {
        for n in [0, 1, 1000, 100_000] {
            let (found, reports) = queue.report(|queue| with_queue(queue, || float_sum(n)));
            assert_eq!(found.0, float_sum(n).0);
            let sum: f64 = (1..=n).map(|i| 1.0 / f64::from(i)).sum();
            assert!((found.0 - 0.5 - sum).abs() < 1e-9, "{found:?}");
            let most = (0..n).map(|i| i % 1001).max();
            assert_eq!(found.1, most.map_or(-1.0, |most| most as f32));
            assert_eq!(found.2, 2_u128.pow(n.div_ceil(1000)));
            let launches = if n == 0 { 0..1 } else { 1..5 };
            assert!(launches.contains(&reports.len()), "{reports:?}");
            let items: u64 = reports.iter().map(|own| own.bytes_from / (8 + 4 + 16)).sum();
            assert!(items <= u64::from(n).next_multiple_of(32).min(1 << 13), "{reports:?}");
            assert!(reports.iter().all(|own| own.bytes_to == 0), "{reports:?}");
        }
    });
}

/// Half of the steps are not waited for one by one.
#[acc]
fn diffused(from: &mut [f32], to: &mut [f32], steps: usize) -> f32 {
    let n = from.len();
    let mut least = f32::MAX;
    #[acc(data, copy(from), create(to))]
    {
        for step in 0..steps {
            #[acc(parallel, loop, async)]
            for i in 1..n - 1 {
                to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
            }
            #[acc(parallel, loop, async(step))]
            for i in 1..n - 1 {
                from[i] = to[i];
            }
            if step % 1000 == 7 {
                least = f32::MAX;
                #[acc(parallel, loop, reduction(min: least), async)]
                for i in 0..n {
                    least = least.min(from[i]);
                }
            }
        }
        #[acc(wait)]
        {}
        assert!(acc::async_test_all());
    }
    least
}

#[test]
fn asynchronous_launches_keep_their_order() {
    on_every_device(|_| {
        for (size, steps) in [(3, 1), (100, 8), (1000, 600)] {
            let begin: Vec<f32> = (0..size).map(|i| (i * 37 % 101) as f32).collect();
            let mut own = begin.clone();
            let least = diffused(&mut own, &mut vec![0.0; size], steps);
            let (mut from, mut to, mut expected) = (begin.clone(), begin, f32::MAX);
            for step in 0..steps {
                for i in 1..size - 1 {
                    to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
                }
                from[1..size - 1].copy_from_slice(&to[1..size - 1]);
                if step % 1000 == 7 {
                    expected = from.iter().copied().fold(f32::MAX, f32::min);
                }
            }
            assert_eq!((own, least), (from, expected));
        }
    });
}

/// After asynchronous launches, all that uses their array by other ways.
#[acc]
fn used_elsewhere(numbers: &mut [u32], other: &Queue, way: usize) -> u32 {
    let mut seen = 0;
    #[acc(data, copy(numbers))]
    {
        for _ in 0..20 {
            #[acc(parallel, loop, async)]
            for i in 0..numbers.len() {
                numbers[i] += 1;
            }
        }
        match way {
            0 => {
                #[acc(update, self(numbers))]
                seen = numbers[0];
            }
            1 => {
                seen = schism::algorithms::reduce(other, &*numbers, 0, u32::max).expect("a launch")
            }
            2 => other.for_each(&mut *numbers, |own| *own *= 2).expect("a launch"),
            3 => std::thread::scope(|scope| {
                let numbers = &mut *numbers;
                scope.spawn(|| with_queue(other, || doubled(numbers)));
            }),
            4 => with_queue(other, || doubled(numbers)),
            5 =>
            {
                #[acc(parallel, loop, if(false))]
                for i in 0..numbers.len() {
                    numbers[i] *= 2;
                }
            }
            _ => {}
        }
    }
    seen
}

#[acc]
fn doubled(numbers: &mut [u32]) {
    #[acc(parallel, loop, async)]
    for own in numbers.iter_mut() {
        *own *= 2;
    }
}

#[test]
fn what_follows_asynchronous_launches_sees_their_results() {
    on_every_device(|queue| {
        let same = Queue::on(queue.device()).expect("a device that is there");
        for device in with_copies() {
            let second = Queue::on(&device).expect("a device that is there");
            for other in [queue, &same, &second] {
                for way in 0..7 {
                    let mut numbers = vec![1; 5000];
                    let seen = used_elsewhere(&mut numbers, other, way);
                    let (value, expected) = match way {
                        0 | 1 => (21, 21),
                        2..=5 => (42, 0),
                        _ => (21, 0),
                    };
                    assert_eq!(seen, expected, "way {way} on {device}");
                    assert!(numbers.iter().all(|own| *own == value), "way {way} on {device}");
                }
            }
        }
    });
}

#[acc]
fn fails_later(numbers: &mut [u32], limit: u32, is_waited_for: bool) {
    #[acc(data, copy(numbers))]
    {
        #[acc(parallel, loop, async)]
        for i in 0..numbers.len() {
            assert!(numbers[i] != limit, "the limit");
            numbers[i] += 1;
        }
        if is_waited_for {
            acc::wait_all();
            unreachable!("it has failed");
        }
    }
}

#[test]
fn failures_of_asynchronous_launches_arrive() {
    on_every_device(|_| {
        for is_waited_for in [true, false] {
            let mut numbers: Vec<u32> = (0..1000).collect();
            let run = std::panic::AssertUnwindSafe(|| {
                fails_later(&mut numbers, 500, is_waited_for);
            });
            let payload = std::panic::catch_unwind(run).expect_err("it fails");
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text = text.expect("a message");
            assert!(text.contains("the limit"), "{text}");
            assert_eq!(numbers[500], 500);
            // Later launches are not theirs.
            diffused(&mut [1.0; 100], &mut [0.0; 100], 3);
        }
    });
}
