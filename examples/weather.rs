//! The finite-volume core of miniWeather: a warm bubble rises in dry, stratified air. The Euler
//! equations in two dimensions, interpolation of fourth order with hyperviscosity, three Runge-Kutta
//! steps for each direction in turn. Directives make kernels of all loops.
//!
//! ```text
//! cargo schism run --release --example weather -- [CELLS_ACROSS] [SECONDS] [--check]
//! ```

#![forbid(unsafe_code)]

use std::time::Instant;

use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism_examples::air::{
    ACROSS, Air, C0, CP, CV, DENSITY, GAMMA, GRAVITY, HALO, HEAT, HYPERVISCOSITY, P0, RD, UP,
};
use schism_examples::arguments::Arguments;

/// The directions in which the air is computed in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Across = 0,
    Up = 1,
}
use Direction::{Across, Up};

/// Total mass and energy.
#[acc]
pub fn totals(air: &Air) -> (f64, f64) {
    let (nx, nz, cell) = (air.nx, air.nz, air.cell[0] * air.cell[1]);
    let (row, plane) = (nx + 2 * HALO, (nx + 2 * HALO) * (nz + 2 * HALO));
    let ([density, heat, _], state) = (&air.rest, &air.state);
    let (mut mass, mut energy) = (0.0, 0.0);
    #[acc(parallel, loop, collapse(2), reduction(+: mass, energy))]
    for k in 0..nz {
        for i in 0..nx {
            let at = (k + HALO) * row + i + HALO;
            let r = state[at] + density[k + HALO];
            let (u, w) = (state[ACROSS * plane + at] / r, state[UP * plane + at] / r);
            let theta = (state[HEAT * plane + at] + heat[k + HALO]) / r;
            let pressure = C0 * (r * theta).powf(GAMMA);
            let temperature = theta / (P0 / pressure).powf(RD / CP);
            mass += r * cell;
            energy += (r * (u * u + w * w) + r * CV * temperature) * cell;
        }
    }
    (mass, energy)
}

/// Computes until a time has passed: three Runge-Kutta steps for each direction, in turn.
#[acc]
pub fn run(air: &mut Air, seconds: f64) {
    let Air { nx, nz, dt, cell, .. } = *air;
    let ([density, heat, zero], [d, h, p]) = (&air.rest, &air.edge);
    let (stage, state) = (&mut air.state.clone()[..], &mut air.state[..]);
    let flux = &mut vec![0.0; 4 * (nx + 1) * (nz + 1)][..];
    let tend = &mut vec![0.0; 4 * nx * nz][..];
    #[acc(data, copyin(density, heat, zero, d, h, p), copy(state), create(stage, flux, tend))]
    for step in 0..(seconds / dt).ceil() as usize {
        let dt = dt.min(seconds - step as f64 * dt);
        for direction in [[Across, Up], [Up, Across]][step % 2] {
            let size = cell[direction as usize];
            for part in [3.0, 2.0, 1.0] {
                let from = if part == 3.0 { &mut *state } else { &mut *stage };
                let rest: [&[f64]; 3] = match direction {
                    Across => {
                        halo_across(nx, nz, from);
                        [&density[HALO..], &heat[HALO..], &zero[HALO..]]
                    }
                    Up => {
                        halo_up(nx, nz, density, from);
                        [d, h, p]
                    }
                };
                let viscosity = HYPERVISCOSITY * size / dt * part / 16.0;
                fluxes([nx, nz], direction, viscosity, rest, from, flux);
                tendencies([nx, nz], direction, size, from, flux, tend);
                if part == 1.0 {
                    add([nx, nz], dt, tend, state);
                } else {
                    add_to([nx, nz], dt / part, state, tend, stage);
                }
            }
        }
    }
}

/// The air that leaves at one side comes back at the other.
#[acc]
fn halo_across(nx: usize, nz: usize, state: &mut [f64]) {
    let (row, rows) = (nx + 2 * HALO, nz + 2 * HALO);
    #[acc(parallel, loop)]
    for k in 0..4 * rows {
        let at = k * row;
        for i in 0..HALO {
            state[at + i] = state[at + nx + i];
            state[at + nx + HALO + i] = state[at + HALO + i];
        }
    }
}

/// Ground and top are walls.
#[acc]
fn halo_up(nx: usize, nz: usize, density: &[f64], state: &mut [f64]) {
    let (row, rows) = (nx + 2 * HALO, nz + 2 * HALO);
    #[acc(parallel, loop, collapse(2))]
    for q in 0..4 {
        for i in 0..row {
            let at = q * rows * row + i;
            let (low, high) = (state[at + HALO * row], state[at + (nz + 1) * row]);
            let factor = |k: usize, inside: usize| match q {
                UP => 0.0,
                ACROSS => density[k] / density[inside],
                _ => 1.0,
            };
            state[at] = low * factor(0, HALO);
            state[at + row] = low * factor(1, HALO);
            state[at + (nz + HALO) * row] = high * factor(nz + HALO, nz + 1);
            state[at + (nz + HALO + 1) * row] = high * factor(nz + HALO + 1, nz + 1);
        }
    }
}

/// What flows through the edges between cells, towards the next one in a direction.
#[acc]
fn fluxes(
    [nx, nz]: [usize; 2],
    direction: Direction,
    viscosity: f64,
    [density, heat, at_rest]: [&[f64]; 3],
    state: &[f64],
    flux: &mut [f64],
) {
    let (row, rows, faces) = (nx + 2 * HALO, nz + 2 * HALO, (nx + 1) * (nz + 1));
    let is_up = direction == Up;
    let (right, up, stride) = if is_up { (HALO, 0, row) } else { (0, HALO, 1) };
    #[acc(parallel, loop, collapse(2))]
    for k in 0..nz + usize::from(is_up) {
        for i in 0..nx + usize::from(!is_up) {
            let (mut mean, mut third) = ([0.0; 4], [0.0; 4]);
            for q in 0..4 {
                let at = (q * rows + k + up) * row + i + right;
                let [a, b, c, d] = [0, 1, 2, 3].map(|cell| state[at + cell * stride]);
                mean[q] = 7.0 / 12.0 * (b + c) - (a + d) / 12.0;
                third[q] = d - a + 3.0 * (b - c);
            }
            let r = mean[DENSITY] + density[k];
            let (u, w) = (mean[ACROSS] / r, mean[UP] / r);
            let theta = (mean[HEAT] + heat[k]) / r;
            let pressure = C0 * (r * theta).powf(GAMMA) - at_rest[k];
            let mut flow = r * if is_up { w } else { u };
            // Nothing leaves by the ground or the top.
            if is_up && (k == 0 || k == nz) {
                flow = 0.0;
                third[DENSITY] = 0.0;
            }
            let (across, upwards) = if is_up { (0.0, pressure) } else { (pressure, 0.0) };
            let face = k * (nx + 1) + i;
            flux[DENSITY * faces + face] = flow + viscosity * third[DENSITY];
            flux[ACROSS * faces + face] = flow * u + across + viscosity * third[ACROSS];
            flux[UP * faces + face] = flow * w + upwards + viscosity * third[UP];
            flux[HEAT * faces + face] = flow * theta + viscosity * third[HEAT];
        }
    }
}

/// What flows into cells, by time, and the weight of the air.
#[acc]
fn tendencies(
    [nx, nz]: [usize; 2],
    direction: Direction,
    size: f64,
    state: &[f64],
    flux: &[f64],
    tend: &mut [f64],
) {
    let is_up = direction == Up;
    let (row, next) = (nx + 2 * HALO, if is_up { nx + 1 } else { 1 });
    #[acc(parallel, loop, collapse(3))]
    for q in 0..4 {
        for k in 0..nz {
            for i in 0..nx {
                let face = (q * (nz + 1) + k) * (nx + 1) + i;
                let weight = match q {
                    UP if is_up => GRAVITY * state[(k + HALO) * row + i + HALO],
                    _ => 0.0,
                };
                tend[(q * nz + k) * nx + i] = (flux[face] - flux[face + next]) / size - weight;
            }
        }
    }
}

#[acc]
fn add([nx, nz]: [usize; 2], dt: f64, tend: &[f64], state: &mut [f64]) {
    let (row, rows) = (nx + 2 * HALO, nz + 2 * HALO);
    #[acc(parallel, loop, collapse(3))]
    for q in 0..4 {
        for k in 0..nz {
            for i in 0..nx {
                let at = (q * rows + k + HALO) * row + i + HALO;
                state[at] += dt * tend[(q * nz + k) * nx + i];
            }
        }
    }
}

#[acc]
fn add_to([nx, nz]: [usize; 2], dt: f64, state: &[f64], tend: &[f64], to: &mut [f64]) {
    let (row, rows) = (nx + 2 * HALO, nz + 2 * HALO);
    #[acc(parallel, loop, collapse(3))]
    for q in 0..4 {
        for k in 0..nz {
            for i in 0..nx {
                let at = (q * rows + k + HALO) * row + i + HALO;
                to[at] = state[at] + dt * tend[(q * nz + k) * nx + i];
            }
        }
    }
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 2, "weather [CELLS_ACROSS] [SECONDS] [--check]")?;
    let nx: usize = arguments.number(0, 100)?.max(8);
    let seconds = arguments.number(1, 400.0)?;
    let mut air = Air::new(nx, nx / 2);

    let queue = Queue::new()?;
    let before = with_queue(&queue, || totals(&air));
    let start = Instant::now();
    with_queue(&queue, || run(&mut air, seconds));
    let time = start.elapsed();
    let after = with_queue(&queue, || totals(&air));
    let (mass, energy) = (after.0 / before.0 - 1.0, after.1 / before.1 - 1.0);
    println!(
        "{seconds} seconds of {nx} times {} cells on {} in {time:.2?}: mass {mass:+.2e}, energy {energy:+.2e}",
        nx / 2,
        queue.device(),
    );

    if arguments.check() {
        if mass.abs() > 1e-13 || energy.abs() > 4.5e-5 {
            return Err("mass and energy are not conserved".into());
        }
        println!("check: mass and energy are conserved");
    }
    Ok(())
}
