//! NVIDIA GPUs, tested without one: the runtime calls a fake driver, `crates/fake_cuda.rs`.
//!
//! Each test is a run of the program `crates/cuda/`, which the environment gives devices and
//! faults.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};

/// The program, and the fake driver beside it.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
        let folder = lab.folder("cuda");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "-O"]);
        text(rustc.arg(source("crates/fake_cuda.rs")));
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
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    command.args(arguments).envs(variables.iter().copied());
    check(&mut command, arguments[0]);
}

fn check(command: &mut Command, what: &str) {
    assert_eq!(text(command), format!("{what} is as it should be\n"));
}

#[test]
fn two_devices() {
    run(&["devices"], &[("FAKE_CUDA_DEVICES", "2")]);
}

#[test]
fn no_device() {
    run(&["no-device", "finds no GPU"], &[("FAKE_CUDA_DEVICES", "0")]);
    run(&["no-device", "SCHISM_CUDA is empty"], &[("SCHISM_CUDA", "")]);
    let path = "/no/such/driver.so";
    run(
        &["no-device", "/no/such/driver.so cannot be opened: No such file"],
        &[("SCHISM_CUDA", path)],
    );
    // A library, but none of the driver's functions.
    run(&["no-device", "`cuInit`"], &[("SCHISM_CUDA", "libc.so.6")]);
    run(&["no-device", "`cuInit` failed"], &[("FAKE_CUDA_FAULTS", "cuInit:1=999")]);
    run(&["no-device", "finds no GPU"], &[("FAKE_CUDA_FAULTS", "cuDeviceGetCount:1=100")]);
    let refused = "finds no GPU that can be used: `cuDeviceGet` failed: invalid device ordinal";
    run(&["no-device", refused], &[("FAKE_CUDA_FAULTS", "cuDeviceGet:*=101")]);
    // Older than all processors that there is code for.
    run(&["no-device", "no code can be made for sm_61"], &[("FAKE_CUDA_CAPABILITY", "61")]);
}

/// Programs that choose no device: with a GPU they have it, and without one that can be used the
/// processor, and no error.
#[test]
fn the_default_device() {
    let default = |name: &str, why: &str, variables: &[(&str, &str)]| {
        run(&["default", name, why], variables);
    };
    let first = "it is the first of cuda, hip, opencl, cpu, native";
    default("cuda:0", first, &[]);
    // No driver, one that is only linked with, one that lacks functions.
    default("cpu", "/no/such/driver.so cannot be opened", &[("SCHISM_CUDA", "/no/such/driver.so")]);
    default("cpu", "`cuInit` failed", &[("FAKE_CUDA_FAULTS", "cuInit:*=34")]);
    default("cpu", "it is too old, or none", &[("SCHISM_CUDA", "libc.so.6")]);
    // No device, none that programs may see, none that they may use, none that there is code for.
    default("cpu", "cuda: the driver finds no GPU", &[("FAKE_CUDA_DEVICES", "0")]);
    default("cpu", "`cuInit` failed", &[("FAKE_CUDA_FAULTS", "cuInit:*=100")]);
    default("cpu", "CUDA_VISIBLE_DEVICES is empty", &[("CUDA_VISIBLE_DEVICES", "")]);
    default("cuda:0", first, &[("CUDA_VISIBLE_DEVICES", "0")]);
    default("cpu", "`cuInit` failed", &[("FAKE_CUDA_FAULTS", "cuInit:*=304")]);
    default("cpu", "no code can be made for sm_61", &[("FAKE_CUDA_CAPABILITY", "61")]);
    default("cpu", "cuda: SCHISM_CUDA is empty; hip: ", &[("SCHISM_CUDA", "")]);
    // Without a compiler there is no code for any of them.
    default("native", "there is no compiler", &[("SCHISM_JIT", "/no/such/library.so")]);
    run(&["default-forked"], &[]);
    run(&["no-context"], &[("FAKE_CUDA_FAULTS", "cuCtxCreate_v2:*=46")]);
}

/// `SCHISM_DEVICE` with one name is a demand; with several it is a wish, and the last one is demanded.
#[test]
fn an_order_of_devices() {
    let two = ("FAKE_CUDA_DEVICES", "2");
    let none = ("FAKE_CUDA_DEVICES", "0");
    let orders = [
        ("cuda:1, cpu", two, "cuda:1", "it is the first of cuda:1, cpu"),
        ("hip,cuda,cpu", two, "cuda:0", "hip: "),
        ("cuda:2,cuda:1,cpu", two, "cuda:1", "cuda:2: the driver finds only"),
        ("cuda,cpu", none, "cpu", "by name"),
        ("cuda,native", none, "native", "by name"),
        ("cuda,cpu,native", none, "cpu", "cuda: the driver finds no GPU"),
        ("native,cuda", two, "native", "it is the first of native, cuda"),
        (" , ", two, "cuda:0", "it is the first of cuda, hip"),
        (",cpu,", two, "cpu", "by name"),
    ];
    for (order, devices, name, why) in orders {
        run(&["default", name, why], &[("SCHISM_DEVICE", order), devices]);
    }
    let failures = [
        ("cuda", none, "the driver finds no GPU"),
        ("hip,cuda", none, "the driver finds no GPU"),
        ("cuda:7", two, "the driver finds only cuda:0, cuda:1"),
        ("tpu,cpu", two, "no device `tpu`"),
        ("hip,tpu", two, "no device `tpu`"),
    ];
    for (order, devices, error) in failures {
        run(&["default-fails", error], &[("SCHISM_DEVICE", order), devices]);
    }
}

/// A kernel that the default device cannot have runs on the processor, and its buffers stay usable.
#[test]
fn launches_that_the_default_device_refuses() {
    let refused = [("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:*=218")];
    run(&["refused-default"], &refused);
    run(&["two-queues"], &refused);
    run(&["refused-default"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:*=2")]);
    let some = "cuModuleLoadDataEx:1=218,cuModuleLoadDataEx:3=218";
    run(&["refused-once"], &[("FAKE_CUDA_FAULTS", some)]);
    run(&["no-room-for-default"], &[("FAKE_CUDA_MEMORY", "67108864")]);
}

/// The user is told once, and not that there is no GPU.
#[test]
fn what_is_said_of_the_default_device() {
    let Some(program) = program() else { return };
    let said = |what: &[&str], variables: &[(&str, &str)]| {
        let mut command = clean_command(program);
        command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
        let ended = output(command.args(what).envs(variables.iter().copied()));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{said}");
        said
    };
    let refused = said(&["refused-default"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:*=218")]);
    let told = "runs on the device `cpu`, with copies of its buffers: on `cuda:0` ";
    assert_eq!(refused.matches(told).count(), 1, "{refused}");
    let absent = [("FAKE_CUDA_DEVICES", "0")];
    let arguments = ["default", "cpu", "finds no GPU"];
    assert_eq!(said(&arguments, &absent), "");
}

#[test]
fn no_compiler() {
    run(&["stage2"], &[("SCHISM_JIT", "/no/such/library.so")]);
}

#[test]
fn what_no_gpu_has() {
    let Some(program) = program() else { return };
    let lab = Lab::open(env!("CARGO_TARGET_TMPDIR")).expect("there is a program");
    let folder = lab.folder("cuda-floats");
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/unstable_floats.rs")));
    let mut command = clean_command(folder.join("unstable_floats"));
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    let ended = output(command.env("SCHISM_DEVICE", "cuda:0"));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(said.contains("Lacks { what: \"floating-point numbers of 128 bits\" }"), "{said}");
    // It has no other kernels, so the GPU is not chosen.
    let mut command = clean_command(folder.join("unstable_floats"));
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    assert_eq!(text(&mut command), "cpu\n");
    command.env("SCHISM_DEVICE", "cuda,native");
    assert_eq!(text(&mut command), "native\n");
}

#[test]
fn copies() {
    run(&["memory"], &[]);
}

#[test]
fn large_copies() {
    run(&["large-copies"], &[]);
    run(&["large-copies-plain"], &[("FAKE_CUDA_FAULTS", "cuMemHostAlloc:*=2")]);
    let faults = "cuMemcpyHtoDAsync_v2:7=1,cuMemcpyDtoHAsync_v2:9=1";
    run(&["large-copies-fail"], &[("FAKE_CUDA_FAULTS", faults)]);
    run(&["large-copies-lost"], &[("FAKE_CUDA_FAULTS", "cuEventSynchronize:3=700")]);
}

#[test]
fn views_on_the_host() {
    run(&["host_copies"], &[]);
}

#[test]
fn memory_is_used_again() {
    run(&["pool"], &[]);
}

#[test]
fn not_enough_memory() {
    run(&["out-of-memory"], &[("FAKE_CUDA_MEMORY", "67108864")]);
}

#[test]
fn algorithms() {
    run(&["algorithms"], &[]);
    run(&["no-memory-for-algorithms"], &[("FAKE_CUDA_MEMORY", "67108864")]);
}

#[test]
fn parameters() {
    run(&["parameters"], &[]);
}

/// A stream that keeps what it was given tells when its kernels ran.
#[test]
fn timelines() {
    let Some(program) = program() else { return };
    let file = program.with_file_name("timeline.json");
    run(&["order"], &[("SCHISM_TIMELINE", file.to_str().expect("the folder's name is text"))]);
    let text = std::fs::read_to_string(&file).expect("the program has written a file");
    let all: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    let kernels = all.iter().filter(|event| event["cat"] == "kernel");
    let (by_device, others): (Vec<_>, Vec<_>) =
        kernels.partition(|event| event["args"]["clock"] == "device");
    assert_eq!((by_device.len(), others.len()), (204, 0));
    // The driver that is none says the same of any two events.
    assert!(by_device.iter().all(|event| event["dur"] == 0.0 && event["ts"] == by_device[0]["ts"]));
}

/// Each launch is as it should be, and most are made as one before.
#[test]
fn launches_that_are_made_again() {
    for adaptivity in ["off", "basic", "full"] {
        let Some(program) = program() else { return };
        let mut command = clean_command(program);
        command.arg("repeated").env("SCHISM_ADAPTIVITY", adaptivity).env("SCHISM_TRACE", "1");
        command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
        let ended = output(&mut command);
        assert!(ended.status.success(), "{}", describe(&command, &ended));
        let trace = String::from_utf8_lossy(&ended.stderr);
        let count = |again: &str| trace.lines().filter(|line| line.contains(again)).count();
        let (again, anew) = (count("again=true"), count("again=false"));
        assert!(again > 2 * anew, "{again} launches again, {anew} anew with {adaptivity}");
        assert_eq!(again + anew, 1300 + 6, "launches with {adaptivity}");
    }
}

#[test]
fn shapes_of_launches() {
    run(&["shapes"], &[]);
}

#[test]
fn a_lost_context() {
    // The first waits are those of copies: two buffers, and one that is read.
    run(&["lost"], &[("FAKE_CUDA_FAULTS", "cuStreamSynchronize:4=700")]);
}

#[test]
fn refused_launches() {
    let faults = "cuLaunchKernel:1=1,cuLaunchKernel:3=12345";
    run(&["refused-launch"], &[("FAKE_CUDA_FAULTS", faults)]);
}

/// A driver that has no memory for code has some later, and is not asked for it a thousand times.
#[test]
fn no_memory_for_code_once() {
    run(&["no-memory-once"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:1=2")]);
    run(&["no-memory"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:*=2")]);
}

#[test]
fn forked_processes() {
    run(&["forked"], &[]);
    run(&["forked-before"], &[]);
}

#[test]
fn refused_code() {
    run(&["refused-code"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:1=218")]);
}

/// Processors and drivers that are newer than what code can be made for, and a driver that is older
/// than its processor.
#[test]
fn processors_that_nobody_knows() {
    for (capability, driver, what) in [
        ("90", "12040", ["sm_90", "sm_90", "8.4"]),
        ("110", "13000", ["sm_110", "sm_110", "9.0"]),
        ("120", "12080", ["sm_120", "sm_120", "8.7"]),
        ("121", "13020", ["sm_121", "sm_121", "9.0"]),
        ("121", "12080", ["sm_121", "sm_120", "8.7"]),
        ("122", "13000", ["sm_122", "sm_121", "9.0"]),
        ("150", "17030", ["sm_150", "sm_121", "9.0"]),
        ("91", "12040", ["sm_91", "sm_90", "8.4"]),
        ("90", "11040", ["sm_90", "sm_87", "7.4"]),
    ] {
        let variables = [("FAKE_CUDA_CAPABILITY", capability), ("FAKE_CUDA_VERSION", driver)];
        run(&["processor", what[0], what[1], what[2]], &variables);
    }
}

#[test]
fn one_of_two_devices_fails() {
    let variables = [("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_FAULTS", "cuDeviceGet@0:*=101")];
    run(&["first-fails"], &variables);
    let variables = [("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_FAULTS", "cuLaunchKernel@1:*=719")];
    run(&["second-lost"], &variables);
    let variables = [("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_FAULTS", "cuCtxCreate_v2@1:*=101")];
    run(&["second-fails"], &variables);
}

#[test]
fn buffers_of_other_devices() {
    run(&["foreign"], &[("FAKE_CUDA_DEVICES", "2")]);
}

#[test]
fn what_code_is_made_for() {
    run(&["assumptions"], &[]);
}

#[test]
fn groups_of_many_sizes() {
    run(&["group-sizes"], &[]);
}

#[test]
fn what_hot_kernels_know() {
    run(&["background"], &[]);
    run(&["background-fails"], &[("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:2=218")]);
}

#[test]
fn nothing_is_adapted() {
    run(&["off"], &[("SCHISM_ADAPTIVITY", "off")]);
}

/// What a driver reads may be something else to the next one.
#[test]
fn what_is_kept_is_for_one_version_of_the_driver() {
    let Some(program) = program() else { return };
    let folder = program.with_file_name("kept");
    let kept = |version: &str| {
        let folder = folder.to_str().expect("UTF-8");
        let cache = [("SCHISM_CACHE", "1"), ("SCHISM_CACHE_DIR", folder)];
        let variables = [("FAKE_CUDA_VERSION", version), cache[0], cache[1]];
        run(&["driver-version"], &variables);
        let files = std::fs::read_dir(folder).expect("something is kept");
        files.filter(|file| file.as_ref().is_ok_and(|file| file.path().is_file())).count()
    };
    let _ = std::fs::remove_dir_all(&folder);
    // Both read the same version of PTX.
    let first = kept("12050");
    assert!(first > 0);
    assert_eq!(kept("12050"), first);
    assert_eq!(kept("12060"), first + 1);
    assert_eq!(kept("12050"), first + 1);
}

#[test]
fn what_a_launch_asks_of_the_driver() {
    run(&["driver-calls"], &[("FAKE_CUDA_DEVICES", "2")]);
}

/// The lines of the source of a program that is compiled for them. Other programs have none, as the
/// fake driver sees to.
#[test]
fn lines_of_the_source() {
    let Some(program) = program() else { return };
    let lab = Lab::open(env!("CARGO_TARGET_TMPDIR")).expect("there is a program");
    let folder = lab.folder("cuda_lines");
    let mut rustc = lab.rustc_with_runtime(&folder);
    rustc.env("SCHISM_LINES", "1").arg("-Cdebuginfo=line-tables-only");
    text(rustc.args(["--crate-name=cuda", "-o", "program"]).arg(source("crates/cuda/main.rs")));
    let mut command = clean_command(folder.join("program"));
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    check(command.arg("lines"), "lines");
}

#[test]
fn mathematics_of_the_vendor() {
    let Some(program) = program() else { return };
    // What is not there is told, and schism's own stays.
    let mut command = clean_command(program);
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    let ended = output(command.arg("own-mathematics").env("SCHISM_LIBDEVICE", "/no/such/library"));
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() && told.contains("/no/such/library"), "{told}");
    assert_eq!(told.matches("schism's own mathematics").count(), 1, "{told}");
    let file = program.with_file_name("libdevice.bc");
    std::fs::write(&file, b"BC\xC0\xDE and nothing that makes sense").expect("written");
    run(&["no-libdevice"], &[("SCHISM_LIBDEVICE", file.to_str().expect("UTF-8"))]);
}

#[test]
fn scopes() {
    run(&["order"], &[]);
}

#[test]
fn panics() {
    run(&["panics"], &[]);
    // The copies for location and shape; not the one behind, of a buffer.
    let faults = "cuMemcpyDtoHAsync_v2:1=1,cuMemcpyDtoHAsync_v2:2=1";
    run(&["panics-unread"], &[("FAKE_CUDA_FAULTS", faults)]);
}
