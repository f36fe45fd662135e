//! Launches under conditions: `Queue::when`, `optional` and `mandatory`, on every device and on a fake
//! driver's GPUs, `crates/conditions.rs`; GPUs by numbers; the device of programs that choose none.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism::algorithms;
use schism::prelude::*;
use schism_tests::devices::listed;
use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// The program, the same that aborts at panics, and the fake driver beside them.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
        let folder = lab.folder("conditions");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "-O"]);
        text(rustc.arg(source("crates/fake_cuda.rs")));
        for (name, panic) in [("program", "unwind"), ("aborting", "abort")] {
            let mut rustc = lab.rustc_with_runtime(&folder);
            rustc.args(["--crate-name=conditions", "-o", name, "-C"]);
            text(rustc.arg(format!("panic={panic}")).arg(source("crates/conditions.rs")));
        }
        Some(folder.join("program"))
    };
    PROGRAM.get_or_init(compile).as_deref()
}

/// A run of the program, or of the one beside it with this name.
fn command(program: &Path, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = clean_command(program.with_file_name(name));
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    command.args(arguments).envs(variables.iter().copied());
    command
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) {
    let Some(program) = program() else { return };
    let said = text(&mut command(program, "program", arguments, variables));
    assert_eq!(said, "as it should be\n");
}

/// On every device, over slices, buffers and both: a launch whose condition is false is the host's.
#[test]
fn a_condition_chooses_between_device_and_host() {
    for device in listed() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is listed");
        for condition in [true, false] {
            let handle = queue.when(condition).expect("the host");
            let is_host = |name: &str| matches!(name, "cpu" | "native");
            assert!(condition || is_host(handle.device().name()));
            let mut slice: Vec<u32> = (0..1000).collect();
            let mut buffer = Buffer::filled(&queue, 1000, 1_u32).expect("memory");
            let (outcome, reports) = handle.report(|queue| {
                queue.for_each((&mut slice, &mut buffer), |(x, y)| {
                    *x += *y;
                    *y = 2 * *x;
                })?;
                queue.for_each_in(NdRange::new(1000, 8)?, &mut buffer, |item, y| {
                    *y += item.reduce_add(1_u32);
                })
            });
            outcome.expect("it runs");
            assert!(slice.iter().zip(1..).all(|(x, i)| *x == i));
            assert!(buffer.to_vec().iter().zip(1..).all(|(y, i)| *y == 2 * i + 8));
            assert_eq!(reports.len(), 2);
            for report in reports {
                let is_false = report.why == "the condition of `when` is false";
                assert_eq!(is_false, !condition, "{}", report.why);
                assert!(if condition {
                    report.device == device.name()
                } else {
                    is_host(&report.device)
                });
            }
            algorithms::sort(&handle, &mut slice, |a, b| b.cmp(a)).expect("it runs");
            algorithms::inclusive_scan(&handle, &slice, &mut buffer, |a, b| a.wrapping_add(b))
                .expect("it runs");
            let sum = algorithms::reduce(&handle, &slice, 0, |a, b| a + b).expect("it runs");
            assert_eq!((slice[0], buffer.get(999), sum), (1000, Some(500_500), 500_500));
        }
    }
}

/// Where nothing is refused, neither changes anything.
#[test]
fn optional_and_mandatory_launches_are_launches() {
    for device in listed() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut numbers = Buffer::filled(&queue, 1000, 1_u32).expect("memory");
        for handle in [queue.optional(), queue.mandatory(), queue.optional().mandatory()] {
            let (outcome, reports) =
                handle.report(|queue| queue.for_each(&mut numbers, |x| *x *= 2));
            outcome.expect("it runs");
            assert_eq!(reports[0].device, device.name());
        }
        assert_eq!(numbers.to_vec(), [8; 1000]);
        let wished = Device::optional(device.name()).expect("it is there");
        assert_eq!(wished, device);
    }
}

#[test]
fn the_host_has_slices_in_place_and_copies_of_buffers() {
    run(&["when"], &[("FAKE_CUDA_DEVICES", "2")]);
}

/// A region on one of them, and launches in it on the other and on the host.
#[test]
fn regions_of_a_gpu_are_used_elsewhere() {
    run(&["regions"], &[("FAKE_CUDA_DEVICES", "2")]);
}

/// What a device refuses is the host's if it is optional, and an error if it is mandatory, however the
/// device was chosen.
#[test]
fn refused_launches_are_optional_or_mandatory() {
    let refused = ("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:*=218");
    run(&["refused"], &[refused, ("FAKE_CUDA_MEMORY", "67108864")]);
}

/// What the program prints, and how it ends.
fn ended(
    program: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (String, String, Output) {
    let mut command = command(program, "program", &[&["matrix"], arguments].concat(), variables);
    let ended = output(&mut command);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    (said, describe(&command, &ended), ended)
}

const BY_DEVICE: &str = "[101, 102, 103, 104]";
const BY_HOST: &str = "[2, 3, 4, 5]";
const THERE: [(&str, &str); 1] = [("FAKE_CUDA_DEVICES", "1")];
const ABSENT: [(&str, &str); 1] = [("FAKE_CUDA_DEVICES", "0")];

/// Optional, without a report: the host runs what the device does not, and says nothing of it.
#[test]
fn optional_without_a_report() {
    let Some(program) = program() else { return };
    for (variables, condition, result) in
        [(THERE, "true", BY_DEVICE), (ABSENT, "true", BY_HOST), (THERE, "false", BY_HOST)]
    {
        let (said, report, ended) = ended(program, &["optional", "none", condition], &variables);
        assert_eq!(said, format!("{result}\n"), "{report}");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
    }
}

/// Optional, with a report: that says where and why.
#[test]
fn optional_with_a_report() {
    let Some(program) = program() else { return };
    for (variables, condition, result) in [
        (THERE, "true", format!("{BY_DEVICE} on cuda:0: it is the first of cuda:0, cpu, native")),
        (ABSENT, "true", format!("{BY_HOST} on cpu: cuda:0: the driver finds no GPU")),
        (THERE, "false", format!("{BY_HOST} on cpu: the condition of `when` is false")),
    ] {
        let (said, report, ended) = ended(program, &["optional", "report", condition], &variables);
        assert!(said.starts_with(&result), "{report}");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
    }
}

/// Mandatory, without a look at the result: the launch is left out, and the error ends the process.
#[test]
fn mandatory_without_a_report() {
    let Some(program) = program() else { return };
    for (condition, result) in [("true", BY_DEVICE), ("false", BY_HOST)] {
        let (said, report, ended) = ended(program, &["mandatory", "none", condition], &THERE);
        assert_eq!(said, format!("{result}\n"), "{report}");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
    }
    let (said, report, ended) = ended(program, &["mandatory", "none", "true"], &ABSENT);
    assert_eq!((&*said, ended.status.code()), ("", Some(1)), "{report}");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(
        error.contains("the device `cuda:0` was asked for, but the driver finds no GPU"),
        "{report}"
    );
}

/// Mandatory, with a look at the result: the launch is left out, and the program continues.
#[test]
fn mandatory_with_a_report() {
    let Some(program) = program() else { return };
    for (variables, condition, result) in [
        (THERE, "true", format!("{BY_DEVICE} on cuda:0: it was asked for by name")),
        (ABSENT, "true", "skipped: the device `cuda:0` was asked for, but".to_owned()),
        (THERE, "false", format!("{BY_HOST} on cpu: the condition of `when` is false")),
    ] {
        let (said, report, ended) = ended(program, &["mandatory", "report", condition], &variables);
        assert!(said.starts_with(&result), "{report}");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
    }
}

/// A GPU's number is one modulo their number: of four, 2 and 6 are the third, and 1000 is the first.
#[test]
fn numbers_of_gpus_are_modulo_their_number() {
    for count in ["1", "3", "4"] {
        run(&["numbers", count], &[("FAKE_CUDA_DEVICES", count)]);
    }
}

/// Who has no number gets the default device, also where there is no GPU.
#[test]
fn without_a_number_the_device_is_the_default() {
    run(&["numbers", "0"], &ABSENT);
    run(&["numbers", "2"], &[("FAKE_CUDA_DEVICES", "2")]);
}

/// Six threads use four GPUs at a time.
#[test]
fn threads_use_several_gpus() {
    run(&["threads"], &[("FAKE_CUDA_DEVICES", "4")]);
}

/// A program that aborts at panics has the same default device as another.
#[test]
fn the_default_device_of_programs_that_abort() {
    let Some(program) = program() else { return };
    for (variables, expected) in [
        ([("SCHISM_CUDA", "/no/such/driver.so")], "cpu\n"),
        ([("CUDA_VISIBLE_DEVICES", "")], "cpu\n"),
        ([("FAKE_CUDA_FAULTS", "cuInit:*=304")], "cpu\n"),
        (THERE, "cuda:0\n"),
    ] {
        let mut command = command(program, "aborting", &["default"], &variables);
        let ended = output(&mut command);
        let report = describe(&command, &ended);
        assert_eq!(String::from_utf8_lossy(&ended.stdout), expected, "{report}");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
    }
}
