//! The workloads of `cargo schism bench cpu` by others, compiled by plain rustc.
//!
//! `cpu_peers rayon`, `cpu_peers ispc LIBRARY`, `cpu_peers opencl LIBRARY SOURCE`, and `cpu_peers
//! limits`, which prints what the machine can do. The first line that a peer prints is its name.

mod ispc;
mod limits;
mod opencl;
mod rayon;
mod twins;

use std::error::Error;

use schism_bench::cpu::serve;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["rayon"] => {
            println!("rayon");
            serve(rayon::open)?;
        }
        ["ispc", library] => {
            let library = ispc::Kernels::load(library)?;
            println!("ispc");
            serve(|name| library.open(name))?;
        }
        ["opencl", library, source] => {
            let device = opencl::load(library, &std::fs::read_to_string(source)?)?;
            println!("{}", device.name());
            serve(|name| opencl::open(device, name))?;
        }
        ["limits"] => limits::print(),
        _ => return Err("cpu_peers rayon | ispc LIBRARY | opencl LIBRARY SOURCE | limits".into()),
    }
    Ok(())
}
