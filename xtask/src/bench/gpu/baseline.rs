//! The baselines: what they need, and how they are built.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cargo_schism::command;
use cargo_schism::error::{Error, Result};

/// Both ways of compiling: by default, and with every operation rounded.
const VARIANTS: [(&str, &[&str]); 2] =
    [("gpu_baseline_fma", &[]), ("gpu_baseline_nofma", &["-fmad=false", "-DPRECISE"])];

/// Finds nvcc, and sees that there is a GPU.
///
/// # Errors
/// What is missing, all of it.
pub fn find() -> Result<PathBuf> {
    let nvcc = find_nvcc();
    let missing = [nvcc.as_ref().err().cloned(), find_gpu().err()];
    let missing: Vec<_> = missing.into_iter().flatten().collect();
    match nvcc {
        Ok(nvcc) if missing.is_empty() => Ok(nvcc),
        _ => Err(Error::Other(format!(
            "kernels cannot be measured beside CUDA C++ here; missing:\n{}\n\
             `cargo schism bench gpu --check` compares their results with the host's on any device; \
             `cargo schism bench gpu --pack DIR` collects what another machine needs to measure",
            missing.join("\n")
        ))),
    }
}

/// nvcc is where CUDA's own variables say, in PATH, or where CUDA is usually installed.
fn find_nvcc() -> Result<PathBuf, String> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let homes = homes.map(|home| PathBuf::from(home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = PathBuf::from("/usr/local/cuda/bin");
    let found = homes
        .chain(std::env::split_paths(&path))
        .chain([usual])
        .map(|folder| folder.join("nvcc"))
        .find(|nvcc| nvcc.is_file());
    found.ok_or_else(|| {
        "  - nvcc, CUDA's compiler: not in $CUDA_HOME/bin, PATH or /usr/local/cuda/bin".to_owned()
    })
}

/// Asks the driver how many GPUs there are.
fn find_gpu() -> Result<(), String> {
    // SAFETY: the driver's library may be loaded by anybody; its constructors fill its own tables.
    let library = unsafe { libloading::Library::new("libcuda.so.1") }
        .map_err(|error| format!("  - NVIDIA's driver: {error}"))?;
    let broken = |error: libloading::Error| format!("  - NVIDIA's driver: {error}");
    // SAFETY: cuInit takes a number and gives a result code.
    let start = unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"cuInit\0") };
    let start = start.map_err(broken)?;
    // SAFETY: cuDeviceGetCount writes a number and gives a result code.
    let count =
        unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> u32>(b"cuDeviceGetCount\0") };
    let count = count.map_err(broken)?;
    let mut gpus = 0;
    // SAFETY: 0 is the only flag there is; the driver may be started by anybody, and more than
    // once.
    let mut result = unsafe { start(0) };
    if result == 0 {
        // SAFETY: the driver was started, and there is room for the number.
        result = unsafe { count(&raw mut gpus) };
    }
    // The library stays: the driver does not like to be unloaded once it was started.
    std::mem::forget(library);
    match (result, gpus) {
        (0, 1..) => Ok(()),
        (0, _) => Err("  - a GPU: the driver finds none".to_owned()),
        (code, _) => Err(format!("  - a GPU: the driver does not start, error {code}")),
    }
}

/// Builds both, at the same time.
pub fn build(nvcc: &Path, sources: &Path, work: &Path) -> Result<Vec<PathBuf>> {
    eprintln!("building the baselines");
    let programs = VARIANTS.map(|(name, _)| work.join(name));
    let mut running: Vec<(Command, std::io::Result<Child>)> = Vec::new();
    for ((_, flags), program) in VARIANTS.iter().zip(&programs) {
        let mut build = command(nvcc, sources, flags, program);
        let child = build.stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
        running.push((build, child));
    }
    for (build, child) in running {
        let ended = child.and_then(Child::wait_with_output).map_err(|source| Error::Tool {
            tool: nvcc.display().to_string(),
            purpose: "to build the baselines".to_owned(),
            hint: String::new(),
            source,
        })?;
        if !ended.status.success() {
            return Err(Error::Failed {
                what: command::describe(&build),
                status: ended.status,
                detail: format!(":\n{}", String::from_utf8_lossy(&ended.stderr)),
            });
        }
    }
    Ok(programs.into())
}

fn command(nvcc: &Path, sources: &Path, flags: &[&str], program: &Path) -> Command {
    let mut build = Command::new(nvcc);
    build.args(["-O3", "-std=c++17", "-arch=native"]).args(flags);
    build.arg("-o").arg(program).arg(sources.join("main.cu")).arg("-ldl");
    build
}

/// The last line of what nvcc says of its version.
pub fn version(nvcc: &Path) -> Result<String> {
    let mut ask = Command::new(nvcc);
    ask.arg("--version");
    let text = command::capture(ask, "to build the baselines", "")?;
    let release = text.lines().find(|line| line.contains("release")).unwrap_or_default();
    Ok(format!("nvcc {}", release.rsplit("release ").next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baselines_differ_in_contraction_alone() {
        let [fma, precise] = VARIANTS.map(|(name, flags)| {
            command::describe(&command(Path::new("nvcc"), Path::new("gpu"), flags, Path::new(name)))
        });
        assert_eq!(fma, "`nvcc -O3 -std=c++17 -arch=native -o gpu_baseline_fma gpu/main.cu -ldl`");
        let precise = precise.replace(" -fmad=false -DPRECISE", "").replace("nofma", "fma");
        assert_eq!(precise, fma);
    }
}
