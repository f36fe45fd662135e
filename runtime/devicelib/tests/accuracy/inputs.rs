//! The numbers that functions are called with.

use fastrand::Rng;

use crate::functions::Function;

/// Numbers that make trouble.
const SPECIAL: &[f64] = &[
    0.0,
    f64::MIN_POSITIVE,
    5e-324,
    1e-310,
    1e-40,
    1.2e-38,
    1e-8,
    0.25,
    0.5,
    0.75,
    1.0,
    1.0 + f64::EPSILON,
    1.0 - f64::EPSILON / 2.0,
    1.000_000_1,
    1.5,
    2.0,
    2.5,
    3.0,
    std::f64::consts::E,
    std::f64::consts::PI,
    std::f64::consts::FRAC_PI_2,
    std::f64::consts::FRAC_PI_4,
    std::f64::consts::LN_2,
    10.0,
    88.7,
    89.0,
    103.9,
    127.5,
    128.0,
    149.0,
    170.6,
    171.7,
    709.7,
    709.8,
    745.1,
    1023.5,
    1024.0,
    1074.5,
    8_388_607.5,
    16_777_217.0,
    4_503_599_627_370_495.5,
    9_007_199_254_740_993.0,
    1e22,
    f32::MAX as f64,
    1e300,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

/// All special numbers, or for functions of several all pairs of them and some triples; then random
/// ones, the same in each run.
pub fn of(function: &Function, count: usize) -> Vec<Vec<f64>> {
    let special: Vec<f64> = SPECIAL.iter().flat_map(|&x| [x, -x]).collect();
    let mut inputs: Vec<Vec<f64>> = match function.arguments {
        1 => special.iter().map(|&x| vec![x]).collect(),
        2 => special.iter().flat_map(|&x| special.iter().map(move |&y| vec![x, y])).collect(),
        _ => {
            let few = special.iter().step_by(5);
            few.clone()
                .flat_map(|&x| few.clone().map(move |&y| (x, y)))
                .flat_map(|(x, y)| few.clone().map(move |&z| vec![x, y, z]))
                .collect()
        }
    };
    if function.arguments == 2 && count < 1_000 {
        // Each pair takes the truth a millisecond.
        inputs = inputs.into_iter().step_by(7).collect();
    }
    let mut random =
        Rng::with_seed(function.name.bytes().fold(1, |seed, byte| seed * 31 + u64::from(byte)));
    for _ in 0..count {
        let near = |index: usize| function.near[index.min(function.near.len() - 1)];
        inputs.push((0..function.arguments).map(|i| number(&mut random, near(i))).collect());
    }
    inputs
}

/// A random number: mostly where the function is most itself, else of any size.
fn number(random: &mut Rng, (low, high): (f64, f64)) -> f64 {
    match random.u32(0..8) {
        0 => {
            let wide = f64::from_bits(random.u64(..));
            if wide.is_nan() { 1.0 } else { wide }
        }
        1 => f64::from(f32::from_bits(random.u32(..) & 0xfeff_ffff)),
        2 => (low + random.f64() * (high - low)).round(),
        3 => 1.0 + (random.f64() - 0.5) * 2.0_f64.powi(-random.i32(0..40)),
        4 => (random.f64() - 0.5) * 2.0_f64.powi(-random.i32(0..60)),
        _ => low + random.f64() * (high - low),
    }
}
