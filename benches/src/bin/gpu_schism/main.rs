//! The kernels of `cargo schism bench gpu`, one module each, in the style of a user's program.
//!
//! Every kernel has a baseline in CUDA C++ (`benches/gpu/*.cuh`): the same algorithm, sizes, data
//! and groups. Both programs print the same lines, see [`measure`]. By itself this program runs on
//! any device:
//!
//! ```text
//! SCHISM_DEVICE=cpu cargo schism run --release --package schism-bench --bin gpu_schism -- --small --check
//! ```

mod black_scholes;
mod breadth;
mod copies;
mod histogram;
mod launch;
mod mandelbrot;
mod measure;
mod nbody;
mod real;
mod reduction;
mod scan;
mod sgemm;
mod spmv;
mod stencil;
mod stream;
mod transpose;

use std::error::Error;

use schism::Queue;
use schism_bench::gpu::{data, settings};

use crate::measure::Bench;
use crate::settings::{Settings, Suite};

/// How this program reports errors.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Result<(), schism::Report> {
    Ok(run()?)
}

fn run() -> Outcome {
    let settings = Settings::read(std::env::args().skip(1))?;
    let queue = Queue::new()?;
    println!("device {} ({})", queue.device(), queue.device().description());
    let bench = Bench::new(queue, settings);
    if bench.settings().has(Suite::Tuned) {
        tuned(&bench)?;
    }
    if bench.settings().has(Suite::Breadth) {
        breadth::run(&bench)?;
    }
    bench.end()
}

fn tuned(bench: &Bench) -> Outcome {
    launch::run(bench)?;
    copies::run(bench)?;
    stream::run::<f32>(bench)?;
    stream::run::<f64>(bench)?;
    reduction::run(bench)?;
    scan::run(bench)?;
    transpose::run(bench)?;
    nbody::run(bench)?;
    sgemm::run(bench)?;
    stencil::run(bench)?;
    histogram::run(bench)?;
    mandelbrot::run(bench)?;
    black_scholes::run(bench)?;
    spmv::run(bench)
}
