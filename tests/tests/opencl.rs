//! Devices of OpenCL: on a driver, where tests know of one, and on a fake one with faults.
//!
//! `SCHISM_TEST_OPENCL` names the driver; `cargo schism test` sets it where Intel's driver for
//! processors is in schism's home, and fetches that if the variable is `install`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, output, source, text};
use schism_tests::rayon_programs::{build, name_of, project, run_in, target};

/// The program, and the fake driver beside it.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
        let folder = lab.folder("opencl");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "-O"]);
        text(rustc.arg(source("crates/fake_opencl.rs")));
        let mut rustc = lab.rustc_with_runtime(&folder);
        text(rustc.args(["-O", "-o", "program"]).arg(source("crates/opencl.rs")));
        Some(folder.join("program"))
    };
    PROGRAM.get_or_init(compile).as_deref()
}

/// A driver for which kernels can be compiled and that runs them.
fn driver() -> Option<PathBuf> {
    let named = ["SCHISM_TEST_OPENCL", "SCHISM_OPENCL"].map(std::env::var_os);
    let found = named.into_iter().flatten().map(PathBuf::from).find(|path| path.is_absolute());
    if found.is_none() {
        schism_tests::skip::say(
            "tests know no driver of OpenCL; SCHISM_TEST_OPENCL=install cargo schism test fetches one",
        );
    }
    found
}

/// What the program says on the fake driver.
fn on_fake(arguments: &[&str], faults: &str, device: &str) -> Option<String> {
    let program = program()?;
    let mut command = clean_command(program);
    command.env("SCHISM_OPENCL", program.with_file_name("libfake_opencl.so"));
    command.env("SCHISM_DEVICE", device).env("FAKE_OPENCL", faults).args(arguments);
    Some(text(&mut command).trim_end().to_owned())
}

#[track_caller]
fn expect(arguments: &[&str], faults: &str, device: &str, part: &str) {
    let Some(said) = on_fake(arguments, faults, device) else { return };
    assert!(said.contains(part), "{arguments:?} {faults}: {said}");
}

fn on_driver(program: &Path, driver: &Path) -> Command {
    let mut command = clean_command(program);
    command.env("SCHISM_OPENCL", driver).env("SCHISM_DEVICE", "opencl:0");
    // What the program compares with is to have the same library of mathematics.
    command.env("SCHISM_CPU_MATH", "portable");
    command
}

#[test]
fn kernels_run_on_a_driver() {
    let (Some(driver), Some(program)) = (driver(), program()) else { return };
    let said = text(on_driver(program, &driver).arg("run"));
    assert_eq!(said, "opencl is as it should be\n");
}

#[test]
fn panics_and_prints_arrive_from_a_driver() {
    let Some(driver) = driver() else { return };
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("opencl-panics");
    text(lab.rustc_with_runtime(&folder).arg(source("crates/panics.rs")));
    let program = folder.join("panics");
    let mut on_cpu = clean_command(&program);
    let expected = text(on_cpu.env("SCHISM_DEVICE", "cpu"));
    assert_eq!(text(&mut on_driver(&program, &driver)), expected);
}

#[test]
fn devices_have_numbers_and_names() {
    for name in ["opencl", "opencl:0", "opencl:paper one", "opencl:Acme", "opencl:fakes"] {
        expect(&["device"], "", name, "opencl:0");
    }
    expect(&["device"], "", "opencl:1", "opencl:1");
    expect(&["device"], "", "opencl:two", "opencl:1");
    let all = "the drivers have only opencl:0 (Paper One of Fakes, 1.0 1.0), opencl:1 (Paper Two";
    expect(&["device"], "", "opencl:2", all);
    expect(&["device"], "", "opencl:Unknown", all);
    expect(&["device"], "", "opencl:", all);
    expect(&["device"], "", "openclx", "no device `openclx`");
    expect(&["names"], "", "cpu", r#"["opencl:0", "opencl:1"]"#);
    expect(&["names"], "no-device", "cpu", "[]");
}

#[test]
fn no_device() {
    let has_none = "OpenCL has no device that can be used";
    expect(&["device"], "no-device", "opencl:0", has_none);
    expect(&["device"], "no-spirv", "opencl:0", "`Paper One` has no SPIR-V");
    expect(&["device"], "no-memory", "opencl:0", "has no memory that host and device share");
    let Some(program) = program() else { return };
    let cases = [
        ("", "SCHISM_OPENCL is empty"),
        ("/no/such/driver.so", "/no/such/driver.so cannot be opened: No such file"),
        ("libc.so.6", "OpenCL's loader has no `clGetPlatformIDs`"),
    ];
    for (library, part) in cases {
        let mut command = clean_command(program);
        command.env("SCHISM_OPENCL", library).env("SCHISM_DEVICE", "opencl:0").arg("device");
        let said = text(&mut command);
        assert!(said.contains(part) && said.contains("use SCHISM_DEVICE=cpu"), "{said}");
    }
}

#[test]
fn what_a_device_lacks_fails_by_name() {
    let kinds = ["plain", "doubles", "long-atomics", "sub-groups", "local-memory", "groups"];
    let cases = [
        ("", "", ""),
        ("svm", "", ""),
        ("no-doubles", "doubles", "floating-point numbers of 64 bits"),
        ("no-long-atomics", "long-atomics", "atomic accesses of 64 bits"),
        ("no-sub-groups", "sub-groups", "sub-groups of 32 work-items"),
    ];
    for (faults, lacking, what) in cases {
        for kind in kinds {
            let part = if kind == lacking { what } else { "ok" };
            expect(&["launch", kind], faults, "opencl:0", part);
        }
    }
    let limit = "16384 bytes";
    expect(&["launch", "local-memory"], "small", "opencl:0", limit);
    expect(&["launch", "plain"], "small", "opencl:0", "ok");
    expect(&["launch", "groups"], "small", "opencl:0", "16");
}

#[test]
fn what_opencl_lacks_fails_by_name() {
    expect(&["launch", "clock"], "", "opencl:0", "uses a clock, which the opencl device does not");
    expect(&["launch", "time"], "", "opencl:0", "uses a clock, which the opencl device does not");
    expect(&["launch", "recursion"], "", "opencl:0", "uses recursion (`");
    for kind in ["clock", "time", "recursion"] {
        expect(&["launch", kind], "", "cpu", "ok");
    }
}

#[test]
fn platforms_of_one_name_are_told_apart_by_numbers() {
    let all = r#"["opencl:0", "opencl:1", "opencl:2", "opencl:3"]"#;
    expect(&["names"], "two-platforms", "cpu", all);
    for (name, device) in [("opencl:fakes", "opencl:0"), ("opencl:3", "opencl:3")] {
        expect(&["device"], "two-platforms", name, device);
        expect(&["launch", "plain"], "two-platforms", name, "ok");
    }
    expect(&["device"], "two-platforms", "opencl:4", "opencl:3 (Paper Two of Fakes, 1.0 1.0)");
}

#[test]
fn a_loader_without_a_good_driver_has_no_device() {
    for faults in ["no-platforms", "null-platform"] {
        expect(&["names"], faults, "cpu", "[]");
        expect(&["launch", "plain"], faults, "cpu", "ok");
        expect(&["device"], faults, "opencl:0", "the device `opencl:0` was asked for, but");
    }
    expect(&["device"], "no-platforms", "opencl:0", "clGetPlatformIDs");
}

#[test]
fn a_device_that_vanishes_is_an_error_each_time() {
    let Some(said) = on_fake(&["launch", "twice"], "gone", "opencl:0") else { return };
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("clWaitForEvents"), "{said}");
    assert!(lines[1].contains("clEnqueueNDRangeKernel"), "{said}");
    assert!(lines[1].contains("CL_DEVICE_NOT_AVAILABLE"), "{said}");
}

#[test]
fn failures_of_a_driver_are_errors() {
    for (call, name) in [
        ("context", "clCreateContext"),
        ("queue", "clCreateCommandQueueWithProperties"),
        ("allocation", "has no room for a buffer"),
        ("program", "clCreateProgramWithIL"),
    ] {
        expect(&["launch", "plain"], call, "opencl:0", name);
    }
    expect(&["launch", "plain"], "build", "opencl:0", "CL_BUILD_PROGRAM_FAILURE");
    expect(&["launch", "plain"], "build", "opencl:0", "paper jam in line 7");
    for (call, name) in [
        ("kernel", "clCreateKernel"),
        ("launch", "clEnqueueNDRangeKernel"),
        ("wait", "clWaitForEvents"),
    ] {
        expect(&["launch", "plain"], call, "opencl:0", name);
    }
}

/// Parallel iterators use the program's memory. They are kernels where the driver says that kernels
/// can, and stay with rayon elsewhere, which the report tells.
#[test]
fn parallel_iterators_ask_for_the_hosts_memory() {
    let Some(driver) = program().map(|program| program.with_file_name("libfake_opencl.so")) else {
        return;
    };
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let increments = r#"
        use rayon::prelude::*;

        fn main() {
            let mut numbers = vec![1_u64; 100_000];
            numbers.par_iter_mut().for_each(|number| *number += 1);
            println!("{}", numbers.iter().sum::<u64>());
        }
    "#;
    let folder = project(lab, "opencl-stdpar", increments);
    build(lab, &folder, &["--stdpar"]);
    let run = |faults: &str| {
        let variables = [
            ("SCHISM_DEVICE", "opencl:0"),
            ("SCHISM_STDPAR", "always"),
            ("SCHISM_STDPAR_REPORT", "1"),
            ("FAKE_OPENCL", faults),
        ];
        let schism = target(lab, "schism");
        let mut increments = run_in(&schism, name_of(&folder), "debug", &variables);
        let ran = output(increments.env("SCHISM_OPENCL", &driver));
        let [out, report] = [ran.stdout, ran.stderr].map(String::from_utf8);
        (out.expect("a number"), report.expect("a report"))
    };
    for faults in ["", "svm"] {
        let (sum, report) = run(faults);
        assert_eq!(sum, "200000\n", "{report}");
        let why =
            "1 refused, because the device `opencl:0` cannot use all of this program's memory";
        assert!(report.contains(why), "{report}");
        assert!(report.contains("CL_DEVICE_SVM_FINE_GRAIN_SYSTEM"), "{report}");
    }
    for faults in ["svm,svm-system", "svm-system", "usm-system"] {
        let (sum, report) = run(faults);
        // The fake driver runs no kernels.
        assert_eq!(sum, "100000\n", "{report}");
        assert!(report.contains("schism: 1 as a kernel: 1 runs"), "{report}");
    }
}
