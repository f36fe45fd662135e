//! Dry air in layers with a warm bubble in it: what the example `weather` begins with.

use std::f64::consts::PI;

/// Metres by seconds squared.
pub const GRAVITY: f64 = 9.8;
/// Heat of dry air at constant pressure.
pub const CP: f64 = 1004.0;
/// At constant volume.
pub const CV: f64 = 717.0;
/// The gas constant of dry air.
pub const RD: f64 = 287.0;
/// The pressure of potential temperatures.
pub const P0: f64 = 1e5;
/// The pressure is `C0 * heat.powf(GAMMA)`, with the heat as density times potential temperature.
pub const C0: f64 = 27.562_941_092_972_594;
/// See [`C0`].
pub const GAMMA: f64 = 1.400_278_940_027_894;
/// How much of the third differences is smoothed away.
pub const HYPERVISCOSITY: f64 = 0.05;
/// Metres.
const WIDTH: f64 = 2e4;
/// Metres.
const HEIGHT: f64 = 1e4;
/// Cells around the grid, on each side.
pub const HALO: usize = 2;

/// The deviation of density from the air at rest; the first quantity of the state.
pub const DENSITY: usize = 0;
/// The momentum across.
pub const ACROSS: usize = 1;
/// The momentum upwards.
pub const UP: usize = 2;
/// The deviation of heat.
pub const HEAT: usize = 3;

/// The grid, the air at rest in it, and the state.
#[derive(Clone, Debug)]
pub struct Air {
    /// Cells across.
    pub nx: usize,
    /// Cells upwards.
    pub nz: usize,
    /// Seconds of a step.
    pub dt: f64,
    /// The size of a cell: across, upwards.
    pub cell: [f64; 2],
    /// Density and heat of the air at rest in the rows of cells, and no pressure.
    pub rest: [Vec<f64>; 3],
    /// Density, heat and pressure at the edges of rows.
    pub edge: [Vec<f64>; 3],
    /// The quantities, each of all cells and those around.
    pub state: Vec<f64>,
}

/// Density and potential temperature of the air at rest.
fn at_rest(z: f64) -> (f64, f64) {
    let temperature = 300.0;
    let pressure = P0 * (1.0 - GRAVITY * z / (CP * temperature)).powf(CP / RD);
    ((pressure / C0).powf(1.0 / GAMMA) / temperature, temperature)
}

/// How much warmer the bubble is.
fn bubble(x: f64, z: f64) -> f64 {
    let across = (x - WIDTH / 2.0) / 2000.0;
    let distance = across.hypot((z - 2000.0) / 2000.0) * PI / 2.0;
    if distance <= PI / 2.0 { 3.0 * distance.cos().powi(2) } else { 0.0 }
}

impl Air {
    /// Air in so many cells, each the mean of three times three points.
    #[must_use]
    pub fn new(nx: usize, nz: usize) -> Self {
        let (dx, dz) = (WIDTH / nx as f64, HEIGHT / nz as f64);
        let (row, rows) = (nx + 2 * HALO, nz + 2 * HALO);
        let root = 0.6_f64.sqrt() / 2.0;
        let points = [(0.5 - root, 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.5 + root, 5.0 / 18.0)];
        let place = |cell: usize, size: f64, point: f64| (cell as f64 - HALO as f64 + point) * size;
        let mut state = vec![0.0; 4 * row * rows];
        let mut rest = [const { Vec::new() }; 3].map(|_: Vec<f64>| vec![0.0; rows]);
        for k in 0..rows {
            for (z, weight) in points.map(|(point, weight)| (place(k, dz, point), weight)) {
                let (density, temperature) = at_rest(z);
                rest[0][k] += density * weight;
                rest[1][k] += density * temperature * weight;
                for i in 0..row {
                    for (x, own) in points.map(|(point, own)| (place(i, dx, point), own)) {
                        state[(HEAT * rows + k) * row + i] += density * bubble(x, z) * own * weight;
                    }
                }
            }
        }
        let edges = (0..=nz).map(|k| at_rest(k as f64 * dz));
        let mut edge = [const { Vec::new() }; 3];
        for (density, temperature) in edges {
            edge[0].push(density);
            edge[1].push(density * temperature);
            edge[2].push(C0 * (density * temperature).powf(GAMMA));
        }
        Self { nx, nz, dt: dx.min(dz) / 450.0 * 1.5, cell: [dx, dz], rest, edge, state }
    }
}
