//! AMD GPUs, tested without one: the runtime calls a fake HIP, `crates/fake_hip.rs`, with the code
//! objects that stage 2 makes.
//!
//! Each test is a run of the program `crates/cuda/`, which the environment gives devices and
//! faults. Faults are named by the functions of CUDA that HIP's correspond to.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, source, text};

/// The program, and the fake HIP beside it.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
        let folder = lab.folder("hip");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "-O"]);
        text(rustc.arg(source("crates/fake_hip.rs")));
        let mut rustc = lab.rustc_with_runtime(&folder);
        text(rustc.args(["--crate-name=cuda", "-o", "program"]).arg(source("crates/cuda/main.rs")));
        Some(folder.join("program"))
    };
    PROGRAM.get_or_init(compile).as_deref()
}

/// Has the program do something, with these variables.
fn run(arguments: &[&str], variables: &[(&str, &str)]) {
    let Some(program) = program() else { return };
    let mut command = clean_command(program);
    command.env("SCHISM_CUDA", "").env("SCHISM_HIP", program.with_file_name("libfake_hip.so"));
    command.args(arguments).envs(variables.iter().copied());
    assert_eq!(text(&mut command), format!("{} is as it should be\n", arguments[0]));
}

fn run_with(argument: &str, faults: &str) {
    run(&[argument], &[("FAKE_CUDA_FAULTS", faults)]);
}

#[test]
fn two_devices() {
    run(&["devices"], &[("FAKE_CUDA_DEVICES", "2")]);
    run(&["foreign"], &[("FAKE_CUDA_DEVICES", "2")]);
}

#[test]
fn no_device() {
    run(&["no-device", "finds no GPU"], &[("FAKE_CUDA_DEVICES", "0")]);
    run(
        &["no-device", "/no/such/hip.so cannot be opened: No such file"],
        &[("SCHISM_HIP", "/no/such/hip.so")],
    );
    run(&["no-device", "the driver has no `hipInit`"], &[("SCHISM_HIP", "libc.so.6")]);
    run(&["no-device", "`hipInit` failed"], &[("FAKE_CUDA_FAULTS", "cuInit:1=999")]);
    let refused = "finds no GPU that can be used: `hipDeviceGet` failed: invalid device ordinal";
    run(&["no-device", refused], &[("FAKE_CUDA_FAULTS", "cuDeviceGet:*=101")]);
    // A processor that there is no code for, and a library whose structure is another one.
    let unknown = "no code can be made for gfx1101, only for gfx906, gfx90a";
    run(&["no-device", unknown], &[("FAKE_HIP_PROCESSOR", "gfx1101")]);
    run(&["no-device", "it names no processor"], &[("FAKE_HIP_PROCESSOR", "?")]);
}

#[test]
fn no_compiler() {
    run(&["stage2"], &[("SCHISM_JIT", "/no/such/library.so")]);
}

#[test]
fn memory() {
    run(&["memory"], &[]);
    run(&["host_copies"], &[]);
    run(&["pool"], &[]);
    run(&["out-of-memory"], &[("FAKE_CUDA_MEMORY", "67108864")]);
}

#[test]
fn large_copies() {
    run(&["large-copies"], &[]);
    run_with("large-copies-plain", "cuMemHostAlloc:*=2");
    run_with("large-copies-fail", "cuMemcpyHtoDAsync_v2:7=1,cuMemcpyDtoHAsync_v2:9=1");
}

#[test]
fn algorithms() {
    run(&["algorithms"], &[]);
    run(&["no-memory-for-algorithms"], &[("FAKE_CUDA_MEMORY", "67108864")]);
}

#[test]
fn launches_on_every_processor() {
    for processor in ["gfx906", "gfx90a:sramecc+:xnack-", "gfx942", "gfx1030", "gfx1100"] {
        run(&["parameters"], &[("FAKE_HIP_PROCESSOR", processor)]);
    }
    run(&["shapes"], &[]);
    run(&["order"], &[]);
}

#[test]
fn what_the_driver_refuses() {
    run_with("refused-launch", "cuLaunchKernel:1=1,cuLaunchKernel:3=12345");
    run_with("refused-code", "cuModuleLoadDataEx:1=218");
    run_with("no-memory-once", "cuModuleLoadDataEx:1=2");
    run_with("no-memory", "cuModuleLoadDataEx:*=2");
}

#[test]
fn one_of_two_devices_fails() {
    let run = |argument: &str, faults: &str| {
        run(&[argument], &[("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_FAULTS", faults)]);
    };
    run("first-fails", "cuDeviceGet@0:*=101");
    run("second-fails", "cuCtxCreate_v2@1:*=101");
    // The wait for the launch: the first two are those of copies.
    run("lost-for-good", "cuStreamSynchronize@0:3=700");
}

#[test]
fn forked_processes() {
    run(&["forked"], &[]);
    run(&["forked-before"], &[]);
}
