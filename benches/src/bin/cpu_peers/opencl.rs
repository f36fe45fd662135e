//! The workloads by an OpenCL runtime.

use std::error::Error;

use schism_bench::cpu::{Ask, Workload};
use schism_bench::opencl::{Buffer, Device, Kernel};

use crate::twins::twin;

/// Quotients and roots as exact as the host's. Contraction is off in the source.
const OPTIONS: &str = "-cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt";

/// A processor with the kernels of `benches/cpu`.
pub(crate) fn load(library: &str, source: &str) -> Result<Device, Box<dyn Error>> {
    Device::load(library, source, OPTIONS, false)
}

/// Makes a workload's memory.
fn try_open(device: Device, name: &str) -> Result<Option<Workload>, Box<dyn Error>> {
    let Some(twin) = twin(name) else { return Ok(None) };
    let zeros = twin.outputs.iter().map(|&size| vec![0; size]);
    let all = twin.inputs.iter().cloned().chain(zeros);
    let buffers: Vec<Buffer> = all.map(|bytes| device.buffer(&bytes)).collect::<Result<_, _>>()?;
    let kernel = |stage: &crate::twins::Stage| device.kernel(stage.kernel, &buffers, &[]);
    let kernels: Vec<Kernel> = twin.stages.iter().map(kernel).collect::<Result<_, _>>()?;
    Ok(Some(Box::new(move |ask| {
        let run = || {
            if ask == Ask::Result {
                return device.read(buffers.last().ok_or("a workload has a result")?);
            }
            for (stage, kernel) in twin.stages.iter().zip(&kernels) {
                device.launch(kernel, stage.global, stage.local)?;
            }
            device.finish().map(|()| Vec::new())
        };
        run().unwrap_or_else(|error| {
            eprintln!("error: {error}");
            std::process::exit(1);
        })
    })))
}

/// The same, where an error ends the program.
pub(crate) fn open(device: Device, name: &str) -> Option<Workload> {
    try_open(device, name).unwrap_or_else(|error| {
        eprintln!("error: {name}: {error}");
        std::process::exit(1)
    })
}
