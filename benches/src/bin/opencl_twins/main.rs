//! The baselines of `cargo schism bench opencl`: the kernels of `gpu_schism` in OpenCL C, on the
//! processor of an OpenCL runtime.
//!
//! `opencl_twins LIBRARY SOURCE OPTIONS…` takes the options of `gpu_schism`, and prints the same
//! lines.

mod breadth;
mod measure;
mod tuned;

use std::error::Error;

use schism_bench::gpu::settings::{Settings, Suite};
use schism_bench::opencl::Device;

use crate::measure::Bench;

/// How this program reports errors.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Quotients and roots as exact as the host's. Contraction is off in the source, and nothing is
/// relaxed.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (Some(library), Some(source)) = (arguments.next(), arguments.next()) else {
        return Err("opencl_twins LIBRARY SOURCE OPTIONS…".into());
    };
    let settings = Settings::read(arguments)?;
    let device = Device::load(&library, &std::fs::read_to_string(source)?, OPTIONS, true)?;
    println!("device {}", device.name());
    let bench = Bench::new(device, settings);
    if bench.settings.has(Suite::Tuned) {
        tuned::run(&bench)?;
    }
    if bench.settings.has(Suite::Breadth) {
        breadth::run(&bench)?;
    }
    Ok(())
}
