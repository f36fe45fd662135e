//! How long stage 2 takes to make SPIR-V of a kernel, beside PTX of the same kernel.

use std::path::Path;
use std::time::Instant;

use cargo_schism::error::{Error, FileContext, Result};
use cargo_schism::{hcf, stage2};
use schism_jit_abi::library::{CompileRequest, LaunchAssumptions, Stage2};

use crate::bench::gpu::table::seconds;

/// The processor of the PTX.
const PROCESSOR: &str = "sm_90";

/// How often each kernel is compiled for each; the least time counts.
const TIMES: usize = 3;

/// The greatest ratio of the times that a kernel is to have.
const GOAL: f64 = 2.0;

/// Compiles a program's kernels with `part` in their names, and prints the times of each, or of
/// those that took too long, and the sums.
pub fn print(program: &Path, library: &Path, part: &str, each: bool) -> Result<()> {
    let contents = std::fs::read(program).at("read", program)?;
    let found = hcf::containers(&contents, program, None)?;
    let problem = |problem: String| Error::Container { path: library.to_owned(), problem };
    let stage2 = stage2::open(library).map_err(problem)?;
    let (mut count, mut sums, mut slow) = (0, [0.0; 2], Vec::new());
    println!("{:62} {:>10} {:>10}  ratio", "stage 2, to", "SPIR-V", "PTX");
    for (_, record) in &found {
        for kernel in record.kernels() {
            if !kernel.display_name.contains(part) {
                continue;
            }
            let Some(image) = record.generic_ir(kernel, false) else { continue };
            let wanted = CompileRequest { image: image.data, kernel, flags: 0, links: &[] };
            let times = measure(stage2, wanted).map_err(|reason| Error::Container {
                path: program.to_owned(),
                problem: format!("`{}`: {reason}", kernel.display_name),
            })?;
            let ratio = times[0] / times[1];
            let verdict = if ratio > GOAL { '!' } else { ' ' };
            let [spirv, ptx] = times.map(|time| seconds(Some(time)));
            let line = format!("{:62} {spirv} {ptx}  {ratio:.2}{verdict}", kernel.display_name);
            if each {
                println!("{line}");
            } else if ratio > GOAL {
                slow.push(line);
            }
            count += 1;
            sums[0] += times[0];
            sums[1] += times[1];
        }
    }
    slow.iter().for_each(|line| println!("{line}"));
    let [spirv, ptx] = sums.map(|time| seconds(Some(time)));
    let all = format!("{count} kernels of {}", program.file_name().unwrap_or_default().display());
    println!("{all:62} {spirv} {ptx}  {:.2}", sums[0] / sums[1]);
    println!("goal: each at most {GOAL:.0}; ! is above");
    Ok(())
}

/// The seconds that SPIR-V and PTX take.
fn measure(stage2: Stage2, wanted: CompileRequest<'_>) -> std::result::Result<[f64; 2], String> {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..TIMES {
        for (least, is_ptx) in least.iter_mut().zip([false, true]) {
            let start = Instant::now();
            let made = if is_ptx {
                stage2.compile_ptx(wanted, PROCESSOR, LaunchAssumptions::default())
            } else {
                stage2.compile_spirv(wanted)
            };
            made.map_err(|refused| refused.reason)?;
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}
