//! The examples with directives, on every device.

#![allow(
    dead_code,
    missing_docs,
    reason = "the examples are programs, whose functions are called here"
)]

#[path = "../conjugate_gradient.rs"]
mod conjugate_gradient;
#[path = "../vectors.rs"]
mod vectors;
#[path = "../weather.rs"]
mod weather;

use conjugate_gradient::{Class, Matrix, smallest_eigenvalue};
use schism::directives::with_queue;
use schism::{Device, DeviceKind, Queue};
use schism_examples::air::Air;

/// Runs a test on every device. Plain rustc makes code for one: there the program is the same.
fn on_every_device(test: impl Fn()) {
    let is_there = |own: &Device| cfg!(schism_driver) || own.kind() == DeviceKind::Native;
    let copies = Device::by_name("cpu:copies").expect("every machine has it");
    for device in Device::all().into_iter().chain([copies]).filter(is_there) {
        println!("on {device}");
        with_queue(&Queue::on(&device).expect("a device that is listed"), &test);
    }
}

#[test]
fn the_eigenvalue_is_that_of_the_benchmark() {
    let classes: &[&str] = if cfg!(debug_assertions) { &["S"] } else { &["S", "W", "A"] };
    for name in classes {
        let class = Class::named(name).expect("a class");
        let matrix = Matrix::random(&class);
        on_every_device(|| {
            let (zeta, residual) = smallest_eigenvalue(&matrix, &class);
            assert!(class.is_right(zeta) && residual < 1e-13, "{name}: {zeta} {residual}");
        });
    }
}

/// Mass and energy are conserved, and the bubble has come up a little.
#[test]
fn the_air_is_conserved() {
    on_every_device(|| {
        let mut air = Air::new(40, 20);
        let (before, begin) = (weather::totals(&air), air.state.clone());
        weather::run(&mut air, 50.0);
        let after = weather::totals(&air);
        let (mass, energy) = (after.0 / before.0 - 1.0, after.1 / before.1 - 1.0);
        assert!(mass.abs() < 1e-13, "mass {mass}");
        assert!(energy != 0.0 && energy.abs() < 4.5e-5, "energy {energy}");
        let plane = air.state.len() / 4;
        let rising = air.state[2 * plane..3 * plane].iter().copied().fold(0.0, f64::max);
        assert!(rising > 0.1 && air.state != begin, "{rising}");
    });
}

#[test]
fn vectors_are_those_of_plain_loops() {
    on_every_device(|| {
        for n in [0_usize, 1, 31, 1000] {
            let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut c = vec![9.0; n];
            vectors::add_and_scale(&a, &vec![1.0; n], 2.0, &mut c);
            assert!(c.iter().zip(&a).all(|(own, a)| *own == (a + 1.0) * 2.0));
            let (all, extents) = ([a.clone(), a.clone(), a], [n, n / 2, 0]);
            let mut sums = vec![1.0; n];
            vectors::add_all(&all, &extents, &mut sums);
            let times = |i: usize| if i < n / 2 { 2.0 } else { 1.0 };
            assert!((0..n).all(|i| sums[i] == 1.0 + times(i) * i as f32));
        }
    });
}
