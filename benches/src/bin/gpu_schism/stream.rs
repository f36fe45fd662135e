//! BabelStream's kernels: copy, mul, add, triad, dot.

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::measure::{Bench, Case, submit};
use crate::real::Real;
use crate::reduction::{GROUP, groups, sum_group};

/// The initial values of the vectors.
const START: [f64; 3] = [0.1, 0.2, 0.0];

/// The factor of mul and triad.
const SCALAR: f64 = 0.4;

/// Measures the five. Each result depends only on the kernels before, however often each one runs.
pub fn run<T: Real>(bench: &Bench) -> Outcome {
    if !bench.wants(&["copy", "mul", "add", "triad", "dot"]) {
        return Ok(());
    }
    let n = bench.settings().elements();
    let queue = bench.queue();
    let mut a = Buffer::filled(queue, n, T::of(START[0]))?;
    let mut b = Buffer::filled(queue, n, T::of(START[1]))?;
    let mut c = Buffer::filled(queue, n, T::of(START[2]))?;
    let case = |kernel, vectors: usize| Case {
        kernel,
        element: T::NAME,
        size: n,
        bytes: vectors * n * size_of::<T>(),
    };

    for run in bench.runs(case("copy", 2)) {
        let times = run
            .time(|| submit(&run.queue, |scope| scope.for_each((&mut c, &a), |(c, a)| *c = *a)))?;
        run.report(&times, &c)?;
        run.check(&c, 0.0, || a.to_vec());
    }
    for run in bench.runs(case("mul", 2)) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut b, &c), |(b, c)| *b = T::of(SCALAR) * *c)
            })
        })?;
        run.report(&times, &b)?;
        run.check(&b, 1e-6, || c.to_vec().iter().map(|c| T::of(SCALAR) * *c).collect());
    }
    for run in bench.runs(case("add", 3)) {
        let times = run.time(|| {
            submit(&run.queue, |scope| scope.for_each((&mut c, &a, &b), |(c, a, b)| *c = *a + *b))
        })?;
        run.report(&times, &c)?;
        run.check(&c, 1e-6, || a.to_vec().iter().zip(b.to_vec()).map(|(a, b)| *a + b).collect());
    }
    for run in bench.runs(case("triad", 3)) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut a, &b, &c), |(a, b, c)| *a = *b + T::of(SCALAR) * *c)
            })
        })?;
        run.report(&times, &a)?;
        run.check(&a, 1e-6, || {
            b.to_vec().iter().zip(c.to_vec()).map(|(b, c)| *b + T::of(SCALAR) * c).collect()
        });
    }
    dot(bench, case("dot", 2), &a, &b)
}

/// Each group sums a share of the products; the host sums the groups' sums.
fn dot<T: Real>(bench: &Bench, case: Case, a: &Buffer<T>, b: &Buffer<T>) -> Outcome {
    let groups = groups(bench);
    let mut sums = Buffer::with_len(bench.queue(), groups)?;
    let range = NdRange::new(groups * GROUP, GROUP)?;
    for run in bench.runs(case) {
        let times = run.time(|| {
            let sources = (whole(a), whole(b), per_group(&mut sums));
            submit(&run.queue, |scope| {
                scope.for_each_in(range, sources, |item, (a, b, group_sum)| {
                    let b = &b[..a.len()];
                    let [stride] = item.global_range();
                    let mut sum = T::default();
                    let mut place = item.x();
                    while place < a.len() {
                        sum = sum + a[place] * b[place];
                        place += stride;
                    }
                    let sum = sum_group(&item, local_array!(item, T; GROUP), sum);
                    if let Some(group_sum) = group_sum {
                        *group_sum = sum;
                    }
                })
            })
        })?;
        let sum = sums.to_vec().into_iter().fold(T::default(), |sum, group| sum + group);
        run.report_values(&times, &[sum]);
        run.check_near(&[sum], if T::NAME == "f32" { 1e-4 } else { 1e-9 }, || {
            let products = a.to_vec().into_iter().zip(b.to_vec());
            vec![T::of(products.map(|(a, b)| a.value() * b.value()).sum())]
        });
    }
    Ok(())
}
