//! Loops by directives, and the same as launches by hand, on the default device. Arrays are on the
//! device before the clock starts.

use schism::algorithms;
use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism_bench::directives::{
    AIR, C0, GAMMA, HALO, LENGTH, ROWS, SIDE, air, floats, matrix, numbers, print, timed,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new()?;
    println!("device: {}, {}", queue.device().name(), queue.device().description());
    with_queue(&queue, || {
        saxpy();
        dot();
        jacobi();
        sparse();
        weather();
    });
    launch_saxpy(&queue)?;
    launch_dot(&queue)?;
    launch_jacobi(&queue)?;
    launch_sparse(&queue)?;
    launch_weather(&queue)?;
    Ok(())
}

#[acc]
fn saxpy() {
    let (x, mut y) = (floats(LENGTH), floats(LENGTH));
    let seconds;
    #[acc(data, copyin(x), copy(y))]
    {
        seconds = timed(|| {
            #[acc(parallel, loop)]
            for i in 0..LENGTH {
                y[i] += 0.5 * x[i];
            }
        });
    }
    print("saxpy", "directives", seconds, &y);
}

fn launch_saxpy(queue: &Queue) -> Result<(), schism::Error> {
    let (x, mut y) = (floats(LENGTH), floats(LENGTH));
    let seconds = queue.resident((&x, &mut y), |(x, mut y)| {
        Ok(timed(|| {
            queue.for_each((&mut y, x), |(y, x)| *y += 0.5 * x).expect("a launch");
        }))
    })?;
    print("saxpy", "launches", seconds, &y);
    Ok(())
}

#[acc]
fn dot() {
    let (x, y) = (numbers(LENGTH), numbers(LENGTH));
    let seconds;
    let mut sum = 0.0;
    #[acc(data, copyin(x, y))]
    {
        seconds = timed(|| {
            sum = 0.0;
            #[acc(parallel, loop, reduction(+: sum))]
            for i in 0..LENGTH {
                sum += x[i] * y[i];
            }
        });
    }
    print("dot", "directives", seconds, &[sum]);
}

fn launch_dot(queue: &Queue) -> Result<(), schism::Error> {
    let (x, y) = (numbers(LENGTH), numbers(LENGTH));
    let mut sum = 0.0;
    let seconds = queue.resident((&x, &y), |(x, y)| {
        Ok(timed(|| {
            let (add, product) = (|a: f64, b: f64| a + b, |x: f64, y: f64| x * y);
            let made = algorithms::transform_reduce_zip(queue, &x, &y, 0.0, add, product);
            sum = made.expect("a launch");
        }))
    })?;
    print("dot", "launches", seconds, &[sum]);
    Ok(())
}

#[acc]
fn jacobi() {
    let n = SIDE;
    let (mut plate, mut next) = (floats(n * n), vec![0.0; n * n]);
    let seconds;
    #[acc(data, copy(plate), create(next))]
    {
        seconds = timed(|| {
            #[acc(parallel, loop, collapse(2), async)]
            for y in 1..n - 1 {
                for x in 1..n - 1 {
                    let at = y * n + x;
                    let around = plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1];
                    next[at] = 0.25 * around;
                }
            }
            #[acc(parallel, loop, collapse(2), async)]
            for y in 1..n - 1 {
                for x in 1..n - 1 {
                    plate[y * n + x] = next[y * n + x];
                }
            }
            #[acc(wait)]
            {}
        });
    }
    print("jacobi", "directives", seconds, &plate);
}

fn launch_jacobi(queue: &Queue) -> Result<(), schism::Error> {
    let n = SIDE;
    let (mut plate, mut next) = (floats(n * n), vec![0.0; n * n]);
    let inner = [1..n - 1, 1..n - 1];
    let seconds = queue.resident((&mut plate, &mut next), |(mut plate, mut next)| {
        Ok(timed(|| {
            let to = next.reborrow().rectangle_mut(n, inner.clone()).expect("a part");
            let sweep = queue.for_each_in(
                inner.clone(),
                (to, whole(plate.reborrow().into_view())),
                move |item, (to, plate)| {
                    let at = item.y() * n + item.x();
                    *to = 0.25 * (plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1]);
                },
            );
            sweep.expect("a launch");
            let to = plate.reborrow().rectangle_mut(n, inner.clone()).expect("a part");
            let from = next.reborrow().rectangle_mut(n, inner.clone()).expect("a part");
            queue
                .for_each_in(inner.clone(), (to, from), |_, (to, from)| *to = *from)
                .expect("a launch");
        }))
    })?;
    print("jacobi", "launches", seconds, &plate);
    Ok(())
}

#[acc]
fn sparse() {
    let (begins, columns, values) = matrix();
    let (p, mut q) = (numbers(ROWS), vec![0.0; ROWS]);
    let seconds;
    #[acc(data, copyin(begins, columns, values, p), copyout(q))]
    {
        seconds = timed(|| {
            #[acc(parallel, loop)]
            for row in 0..ROWS {
                let mut sum = 0.0;
                for k in begins[row]..begins[row + 1] {
                    sum += values[k] * p[columns[k] as usize];
                }
                q[row] = sum;
            }
        });
    }
    print("sparse", "directives", seconds, &q);
}

fn launch_sparse(queue: &Queue) -> Result<(), schism::Error> {
    let (begins, columns, values) = matrix();
    let (p, mut q) = (numbers(ROWS), vec![0.0; ROWS]);
    let arrays = (&begins, &columns, &values, &p, &mut q);
    let seconds = queue.resident(arrays, |(begins, columns, values, p, mut q)| {
        Ok(timed(|| {
            let matrix = (whole(begins), whole(columns), whole(values), whole(p));
            let launch =
                queue.for_each((0.., &mut q, matrix), |(row, q, (begins, columns, values, p))| {
                    let row: usize = row;
                    let mut sum = 0.0;
                    for k in begins[row]..begins[row + 1] {
                        sum += values[k] * p[columns[k] as usize];
                    }
                    *q = sum;
                });
            launch.expect("a launch");
        }))
    })?;
    print("sparse", "launches", seconds, &q);
    Ok(())
}

#[acc]
fn weather() {
    let ((state, density, heat), [nz, nx]) = (air(), AIR);
    let (row, plane) = (nx + 2 * HALO, (nx + 2 * HALO) * (nz + 2 * HALO));
    let faces = nz * (nx + 1);
    let (mut flux, mut tend) = (vec![0.0; 4 * faces], vec![0.0; 4 * nz * nx]);
    let seconds;
    #[acc(data, copyin(state, density, heat), create(flux), copyout(tend))]
    {
        seconds = timed(|| {
            #[acc(parallel, loop, collapse(2), async)]
            for k in 0..nz {
                for i in 0..nx + 1 {
                    let (mut mean, mut third) = ([0.0; 4], [0.0; 4]);
                    for q in 0..4 {
                        let at = q * plane + (k + HALO) * row + i;
                        let [a, b, c, d] = [state[at], state[at + 1], state[at + 2], state[at + 3]];
                        mean[q] = 7.0 / 12.0 * (b + c) - (a + d) / 12.0;
                        third[q] = d - a + 3.0 * (b - c);
                    }
                    let r = mean[0] + density[k + HALO];
                    let (u, w) = (mean[1] / r, mean[2] / r);
                    let theta = (mean[3] + heat[k + HALO]) / r;
                    let pressure = C0 * (r * theta).powf(GAMMA);
                    let face = k * (nx + 1) + i;
                    flux[face] = r * u + 0.1 * third[0];
                    flux[faces + face] = r * u * u + pressure + 0.1 * third[1];
                    flux[2 * faces + face] = r * u * w + 0.1 * third[2];
                    flux[3 * faces + face] = r * u * theta + 0.1 * third[3];
                }
            }
            #[acc(parallel, loop, collapse(2), async)]
            for own in 0..4 * nz {
                for i in 0..nx {
                    let face = own * (nx + 1) + i;
                    tend[own * nx + i] = (flux[face] - flux[face + 1]) / 50.0;
                }
            }
            #[acc(wait)]
            {}
        });
    }
    print("weather", "directives", seconds, &tend);
}

fn launch_weather(queue: &Queue) -> Result<(), schism::Error> {
    let ((state, density, heat), [nz, nx]) = (air(), AIR);
    let (row, plane) = (nx + 2 * HALO, (nx + 2 * HALO) * (nz + 2 * HALO));
    let faces = nz * (nx + 1);
    let (mut flux, mut tend) = (vec![0.0; 4 * faces], vec![0.0; 4 * nz * nx]);
    let arrays = (&state, &density, &heat, &mut flux, &mut tend);
    let seconds = queue.resident(arrays, |(state, density, heat, mut flux, mut tend)| {
        Ok(timed(|| {
            let (left, right) = flux.reborrow().split_at(2 * faces).expect("four planes");
            let (left, right) = (left.split_at(faces), right.split_at(faces));
            let ((f0, f1), (f2, f3)) = (left.expect("two planes"), right.expect("two planes"));
            let air = (whole(state), whole(density), whole(heat));
            let launch =
                queue.for_each_in([nz, nx + 1], (f0, f1, f2, f3, air), move |item, own| {
                    let (f0, f1, f2, f3, (state, density, heat)) = own;
                    let (k, i) = (item.y(), item.x());
                    let (mut mean, mut third) = ([0.0; 4], [0.0; 4]);
                    for q in 0..4 {
                        let at = q * plane + (k + HALO) * row + i;
                        let [a, b, c, d] = [state[at], state[at + 1], state[at + 2], state[at + 3]];
                        mean[q] = 7.0 / 12.0 * (b + c) - (a + d) / 12.0;
                        third[q] = d - a + 3.0 * (b - c);
                    }
                    let r = mean[0] + density[k + HALO];
                    let (u, w) = (mean[1] / r, mean[2] / r);
                    let theta = (mean[3] + heat[k + HALO]) / r;
                    let pressure = C0 * (r * theta).powf(GAMMA);
                    *f0 = r * u + 0.1 * third[0];
                    *f1 = r * u * u + pressure + 0.1 * third[1];
                    *f2 = r * u * w + 0.1 * third[2];
                    *f3 = r * u * theta + 0.1 * third[3];
                });
            launch.expect("a launch");
            let sources = (&mut tend, whole(flux.reborrow().into_view()));
            let launch = queue.for_each_in([4 * nz, nx], sources, move |item, (tend, flux)| {
                let face = item.y() * (nx + 1) + item.x();
                *tend = (flux[face] - flux[face + 1]) / 50.0;
            });
            launch.expect("a launch");
        }))
    })?;
    print("weather", "launches", seconds, &tend);
    Ok(())
}
