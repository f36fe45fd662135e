//! `fmod` and `fmodf` give the host's bits, for numbers of all kinds.

use schism_devicelib::{fmod, fmodf};

/// Numbers at which something begins or ends, without their signs.
const SPECIAL: [f64; 16] = [
    0.0,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
    f32::MIN_POSITIVE as f64,
    f32::MAX as f64,
    1.0,
    1.5,
    3.0,
    5.0,
    256.0,
    255.999_99,
    2048.0,
    16_777_216.0,
    9_007_199_254_740_992.0,
];

fn same(x: f64, y: f64) {
    let (ours, theirs) = (fmod(x, y), x % y);
    assert!(
        ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
        "{x:e} % {y:e} is {theirs:e}, not {ours:e}"
    );
}

fn same_single(x: f32, y: f32) {
    let (ours, theirs) = (fmodf(x, y), x % y);
    assert!(
        ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
        "{x:e} % {y:e} is {theirs:e}, not {ours:e}"
    );
}

/// Calls a function with all pairs of numbers next to the special ones, with both signs.
fn of_special(mut call: impl FnMut(f64, f64)) {
    let near = |x: f64| [x, x.next_up(), x.next_down()];
    let numbers: Vec<f64> = SPECIAL.into_iter().flat_map(near).flat_map(|x| [x, -x]).collect();
    for x in &numbers {
        for y in &numbers {
            call(*x, *y);
        }
    }
}

#[test]
fn special_numbers() {
    of_special(same);
    let near = |x: f64| {
        let x = x as f32;
        [x, x.next_up(), x.next_down(), -x, f32::from_bits(1), f32::from_bits(0x007f_ffff)]
    };
    of_special(|x, y| {
        for x in near(x) {
            near(y).into_iter().for_each(|y| same_single(x, y));
        }
    });
}

#[test]
fn numbers_of_all_sizes() {
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..1_000_000 {
        same(f64::from_bits(random.u64(..)), f64::from_bits(random.u64(..)));
        same_single(f32::from_bits(random.u32(..)), f32::from_bits(random.u32(..)));
    }
}

#[test]
fn numbers_of_like_sizes() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..1_000_000 {
        let y = random.u64(..);
        let x = y.wrapping_add(random.u64(..(80 << 52)));
        same(f64::from_bits(x), f64::from_bits(y));
        let y = random.u32(..);
        let x = y.wrapping_add(random.u32(..(40 << 23)));
        same_single(f32::from_bits(x), f32::from_bits(y));
    }
}

#[test]
fn multiples_leave_nothing() {
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..100_000 {
        let (y, times) = (random.u32(1..1 << 24), random.u32(..1 << 20));
        let x = f64::from(y) * f64::from(times);
        assert_eq!(fmod(x, f64::from(y)), 0.0);
        assert!(fmod(-x, f64::from(y)).is_sign_negative());
    }
}
