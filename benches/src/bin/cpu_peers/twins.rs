//! What the kernels of `benches/cpu` get: memory, and ranges.

use schism_bench::cpu::{
    ACROSS, BLOCKS, BODIES, Bytes, COUNT, DOWN, HEIGHT, ROWS, STREAM, WIDTH, options, sparse,
    spheres, table, units, weights, words,
};
use schism_bench::{GROUP, SCANNED, SIDE, TILE, blur_weights, image, keys, matrices};
use schism_examples::gravity::disc;

/// A kernel's launch.
pub(crate) struct Stage {
    /// Its function.
    pub kernel: &'static str,
    /// Its work-items, across and down.
    pub global: [usize; 2],
    /// The work-items of a group, if the kernel needs such.
    pub local: Option<[usize; 2]>,
    /// Parts of the range that stay together, where it is divided among threads.
    pub grain: usize,
}

/// A workload's memory and launches. Each kernel gets all memory, the result last.
pub(crate) struct Twin {
    pub inputs: Vec<Vec<u8>>,
    /// Memory between launches, and for the result, in bytes.
    pub outputs: Vec<usize>,
    pub stages: Vec<Stage>,
}

/// A kernel of work-items in a line.
fn line(kernel: &'static str, count: usize) -> Vec<Stage> {
    vec![Stage { kernel, global: [count, 1], local: None, grain: 16 }]
}

/// A kernel of a work-item for each pixel.
fn picture(kernel: &'static str, across: usize, down: usize) -> Stage {
    Stage { kernel, global: [across, down], local: None, grain: across }
}

/// A kernel of groups in a line.
fn groups(kernel: &'static str, count: usize) -> Vec<Stage> {
    vec![Stage { kernel, global: [count, 1], local: Some([GROUP, 1]), grain: GROUP }]
}

/// A kernel of tiles of a matrix.
fn tiles(kernel: &'static str) -> Vec<Stage> {
    let (global, local) = ([SIDE, SIDE], Some([TILE, TILE]));
    vec![Stage { kernel, global, local, grain: SIDE * TILE }]
}

/// The workload of this name.
pub(crate) fn twin(name: &str) -> Option<Twin> {
    let (inputs, outputs, stages) = match name {
        "launch_1" => (vec![], vec![4], line("add_two", 1)),
        "launch_million" => (vec![], vec![4_000_000], line("add_two", 1_000_000)),
        "saxpy" => (vec![units(STREAM, 0).bytes()], vec![4 * STREAM], line("saxpy", STREAM)),
        "triad" => {
            let inputs = vec![units(STREAM, 0).bytes(), units(STREAM, 1).bytes()];
            (inputs, vec![4 * STREAM], line("triad", STREAM))
        }
        "mandelbrot" => (vec![], vec![4 * WIDTH * HEIGHT], line("mandelbrot", WIDTH * HEIGHT)),
        "nbody" => (vec![disc(BODIES).bytes()], vec![28 * BODIES], line("nbody", BODIES)),
        "black_scholes" => {
            let inputs = options().map(|values| values.bytes()).to_vec();
            (inputs, vec![8 * COUNT], line("black_scholes", COUNT))
        }
        "image_filter" => {
            let size = ACROSS * DOWN;
            let mut stages = line("luminance", size);
            let rows = ["blur_x", "blur_y", "sobel"];
            stages.extend(rows.map(|kernel| picture(kernel, ACROSS, DOWN)));
            (
                vec![image().bytes(), blur_weights().bytes()],
                vec![4 * size, 4 * size, 3 * size],
                stages,
            )
        }
        "convolution" => {
            let size = WIDTH * HEIGHT;
            let inputs = vec![units(size, 0).bytes(), weights().bytes()];
            (inputs, vec![4 * size], vec![picture("convolution", WIDTH, HEIGHT)])
        }
        "ray_spheres" => {
            let size = WIDTH * HEIGHT;
            (vec![spheres().bytes()], vec![4 * size], line("ray_spheres", size))
        }
        "sha256" => (vec![], vec![4 * BLOCKS], line("sha256", BLOCKS)),
        "spmv" => {
            let matrix = sparse();
            let numbers = [matrix.starts.bytes(), matrix.columns.bytes()];
            let inputs = [&numbers[..], &[matrix.values.bytes(), matrix.x.bytes()]].concat();
            (inputs, vec![4 * ROWS], line("spmv", ROWS))
        }
        "binary_search" => {
            let inputs = vec![words().bytes(), table().bytes()];
            (inputs, vec![4 * COUNT], line("binary_search", COUNT))
        }
        "reduction" => {
            let inputs = vec![keys(SCANNED).bytes()];
            (inputs, vec![4 * SCANNED / GROUP], groups("reduction", SCANNED))
        }
        "scan" => (vec![keys(SCANNED).bytes()], vec![4 * SCANNED], groups("scan", SCANNED)),
        "transpose" => (vec![matrices().0.bytes()], vec![4 * SIDE * SIDE], tiles("transpose")),
        "sgemm" => {
            let (a, b) = matrices();
            (vec![a.bytes(), b.bytes()], vec![4 * SIDE * SIDE], tiles("sgemm"))
        }
        "histogram" => {
            let mut stages = line("clear", 256);
            stages.extend(groups("histogram", COUNT));
            (vec![words().bytes()], vec![4 * 256], stages)
        }
        _ => return None,
    };
    Some(Twin { inputs, outputs, stages })
}
