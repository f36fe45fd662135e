//! Statements of Intel's offload: on every device, and on a fake driver's GPUs or none,
//! `crates/offload.rs`.

#![allow(clippy::needless_range_loop, reason = "loops over indices are what is tested")]
#![allow(clippy::manual_memcpy, reason = "as above")]

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism::DeviceKind;
use schism::directives::{
    OffloadError, OffloadResult, OffloadStatus, Stream, acc, offload, with_queue,
};
use schism::prelude::*;
use schism_tests::devices::{copies, with_copies};
use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Device)) {
    for device in with_copies() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is there");
        with_queue(&queue, || test(&device));
    }
}

/// The program, and the folder of the fake driver.
fn program() -> Option<&'static (PathBuf, PathBuf)> {
    static PROGRAM: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let compile = || {
        let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
        let folder = lab.folder("offload");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "-O"]);
        text(rustc.arg(source("crates/fake_cuda.rs")));
        let manifest = "[package]\nname = \"offloaded\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
             [dependencies]\n@RUNTIME@\n[features]\nall = [\"schism/directives\", \"schism/trace\"]\n[workspace]\n";
        let file = |name: &str| std::fs::read_to_string(source(name)).expect("a readable file");
        let (main, fake) = (file("crates/offload.rs"), file("crates/cuda/fake.rs"));
        let files = [("Cargo.toml", manifest), ("src/main.rs", &main), ("src/cuda/fake.rs", &fake)];
        lab.project(&folder, &files);
        let mut cargo = lab.cargo_with_runtime(&folder);
        text(cargo.args(["build", "--offline", "--features", "all"]));
        Some((lab.target().join("debug/offloaded"), folder.join("libfake_cuda.so")))
    };
    PROGRAM.get_or_init(compile).as_ref()
}

fn command(
    (program, driver): &(PathBuf, PathBuf),
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Command {
    let mut command = clean_command(program);
    command.env("SCHISM_CUDA", driver).args(arguments).envs(variables.iter().copied());
    command
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) {
    let Some(program) = program() else { return };
    let said = text(&mut command(program, arguments, variables));
    assert_eq!(said, "as it should be\n");
}

/// What the program prints, and how it ends.
fn ended(
    program: &(PathBuf, PathBuf),
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (String, String, Output) {
    let mut command = command(program, arguments, variables);
    let ended = output(&mut command);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    (said, describe(&command, &ended), ended)
}

const THERE: [(&str, &str); 1] = [("FAKE_CUDA_DEVICES", "1")];
const ABSENT: [(&str, &str); 1] = [("FAKE_CUDA_DEVICES", "0")];
const BY_DEVICE: &str = "[101, 102, 103, 104]";
const BY_HOST: &str = "[2, 3, 4, 5]";

/// Directives of OpenACC on the same devices.
#[test]
fn loops_that_run_again_reach_what_they_are_given() {
    for adaptivity in ["off", "basic"] {
        let adapts = ("SCHISM_ADAPTIVITY", adaptivity);
        run(&["repeated"], &[("FAKE_CUDA_DEVICES", "2"), ("SCHISM_DEVICE", "cuda:0"), adapts]);
    }
}

/// A program that prints this, says nothing else, and ends well.
fn says(arguments: &[&str], variables: &[(&str, &str)], begin: &str) {
    let Some(program) = program() else { return };
    let (said, report, ended) = ended(program, arguments, variables);
    assert!(said.starts_with(begin), "{begin}\n{report}");
    assert!(ended.status.success() && ended.stderr.is_empty(), "{report}");
}

#[test]
fn optional_without_a_status_runs_on_the_host() {
    for (variables, condition, result) in
        [(THERE, "true", BY_DEVICE), (ABSENT, "true", BY_HOST), (THERE, "false", BY_HOST)]
    {
        says(&["matrix", "optional", "none", condition], &variables, &format!("{result}\n"));
    }
}

#[test]
fn optional_with_a_status_runs_on_the_host_and_says_why() {
    for (variables, condition, result) in [
        (THERE, "true", "[101, 102, 103, 104] Success on 0, 16 sent, 16 received\n"),
        (
            ABSENT,
            "true",
            "[2, 3, 4, 5] Unavailable on -1, 0 sent, 0 received: the device `cuda` was asked for, but the driver finds no GPU",
        ),
        (THERE, "false", "[2, 3, 4, 5] Disabled on -1, 0 sent, 0 received\n"),
    ] {
        says(&["matrix", "optional", "status", condition], &variables, result);
    }
}

#[test]
fn mandatory_without_a_status_ends_the_program() {
    for (condition, result) in [("true", BY_DEVICE), ("false", BY_HOST)] {
        says(&["matrix", "mandatory", "none", condition], &THERE, &format!("{result}\n"));
    }
    let Some(program) = program() else { return };
    let (said, report, ended) = ended(program, &["matrix", "mandatory", "none", "true"], &ABSENT);
    assert_eq!((&*said, ended.status.code()), ("", Some(1)), "{report}");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(error.contains("was asked for, but the driver finds no GPU"), "{report}");
    assert!(error.contains("`optional` has the host run the statement"), "{report}");
}

#[test]
fn mandatory_with_a_status_leaves_the_statement_out() {
    for (variables, condition, result) in [
        (THERE, "true", "[101, 102, 103, 104] Success on 0, 16 sent, 16 received\n"),
        (
            ABSENT,
            "true",
            "[1, 2, 3, 4] Unavailable on -1, 0 sent, 0 received: the device `cuda` was asked for",
        ),
        (THERE, "false", "[2, 3, 4, 5] Disabled on -1, 0 sent, 0 received\n"),
    ] {
        says(&["matrix", "mandatory", "status", condition], &variables, result);
    }
}

/// Of four targets, 2 and 6 are the third, and 1000 is the first; -1 is any, and less is an error.
#[test]
fn numbers_of_targets_are_modulo_their_number() {
    for count in ["0", "1", "3", "4"] {
        run(&["numbers", count], &[("FAKE_CUDA_DEVICES", count)]);
    }
}

/// What is signalled on one target is not known of another; of three targets, 3 is the first.
#[test]
fn tags_and_streams_are_of_their_target() {
    run(&["tags"], &[("FAKE_CUDA_DEVICES", "2")]);
}

/// A target without memory, and one that is lost.
#[test]
fn a_status_has_what_failed() {
    let memory = [("FAKE_CUDA_DEVICES", "1"), ("FAKE_CUDA_FAULTS", "cuMemAlloc_v2:*=2")];
    let no_memory = |begin: &str| {
        format!("{begin} OutOfMemory on -1, 0 sent, 0 received: device `cuda:0` has no room")
    };
    says(&["failure", "optional", "none"], &memory, &format!("{BY_HOST}\n"));
    says(&["failure", "optional", "status"], &memory, &no_memory("[2, 3, 4, 5]"));
    says(&["failure", "mandatory", "status"], &memory, &no_memory("[1, 2, 3, 4]"));
    let lost = [("FAKE_CUDA_DEVICES", "1"), ("FAKE_CUDA_FAULTS", "cuLaunchKernel:*=700")];
    let Some(program) = program() else { return };
    for (variables, text) in [(memory, "has no room"), (lost, "was lost")] {
        let (said, report, ended) = ended(program, &["failure", "mandatory", "none"], &variables);
        assert_eq!((&*said, ended.status.code()), ("", Some(1)), "{report}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains(text), "{report}");
    }
    let (said, report, ended) = ended(program, &["failure", "mandatory", "status"], &lost);
    assert!(said.contains("ProcessDied on -1"), "{report}");
    assert!(ended.status.success(), "{report}");
}

/// Where loops are checked for races, the host runs them in order, whatever their target.
#[test]
fn statements_are_checked_for_races() {
    let checked = [("FAKE_CUDA_DEVICES", "1"), ("SCHISM_CHECK_RACES", "1")];
    says(&["matrix", "mandatory", "none", "true"], &checked, &format!("{BY_HOST}\n"));
    says(&["host"], &checked, "");
}

/// Each of the thirteen steps once, in order.
#[test]
fn the_steps_of_a_statement_are_traced() {
    let Some(program) = program() else { return };
    let variables = [("SCHISM_TRACE", "1"), ("SCHISM_CUDA", "")];
    let (_, report, ended) = ended(program, &["host"], &variables);
    assert!(ended.status.success(), "{report}");
    let said = String::from_utf8_lossy(&ended.stderr);
    let steps: Vec<usize> = said
        .lines()
        .filter(|line| line.contains("offload: ") && !line.contains("offload: end"))
        .map(|line| {
            let (_, rest) = line.split_once("step=").expect("a step has a number");
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            number.parse().expect("a number")
        })
        .collect();
    let mut expected: Vec<usize> = (1..=13).collect();
    // The second one has no condition.
    expected.extend((1..=13).filter(|step| *step != 2));
    assert_eq!(steps, expected, "{report}");
}

#[test]
fn a_report_has_what_was_asked_for() {
    let Some(program) = program() else { return };
    for (level, lines, bytes) in [("1", 2, false), ("2", 2, true), ("3", 27, true)] {
        let variables = [("SCHISM_OFFLOAD_REPORT", level), ("SCHISM_CUDA", "")];
        let (_, report, ended) = ended(program, &["host"], &variables);
        assert!(ended.status.success(), "{report}");
        let said = String::from_utf8_lossy(&ended.stderr);
        let own: Vec<_> = said.lines().filter(|line| line.contains("offload at ")).collect();
        assert_eq!(own.len(), lines, "{report}");
        let last = own[lines - 1];
        assert!(last.contains("main.rs:") && last.contains(": on cpu"), "{report}");
        assert_eq!(last.contains("0 bytes sent, 0 received"), bytes, "{report}");
    }
}

#[offload]
fn moved(x: &[u32], y: &mut [u32], z: &mut [u32], scratch: &mut [u32]) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(in(x), inout(y), out(z), nocopy(scratch), status(status))]
    {
        for i in 0..x.len() {
            scratch[i] = x[i] + y[i];
        }
        for i in 0..x.len() {
            y[i] = scratch[i] + 1;
            z[i] = 2 * scratch[i];
        }
    }
    status
}

/// What is in goes there, what is out comes back, and what is not copied does neither; where memory is
/// shared, nothing moves.
#[test]
fn clauses_say_what_goes_where() {
    on_every_device(|device| {
        for n in [0, 1, 31, 1000, 4099] {
            let x: Vec<u32> = (0..n).collect();
            let len = x.len();
            let (mut y, mut z, mut scratch) = (vec![5; len], vec![7; len], vec![9; len]);
            let status = moved(&x, &mut y, &mut z, &mut scratch);
            assert!(x.iter().zip(&y).all(|(x, y)| *y == x + 6));
            assert!(x.iter().zip(&z).all(|(x, z)| *z == 2 * (x + 5)));
            assert_eq!((status.result, status.device_number), (OffloadResult::Success, 0));
            let bytes = if copies(device) { 8 * u64::from(n) } else { 0 };
            assert_eq!((status.data_sent, status.data_received), (bytes, bytes));
        }
    });
}

#[offload]
fn parts(x: &[i32], y: &mut [i32], [lo, hi]: [usize; 2], n: usize) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(in(x: length(n)), inout(y[lo..hi]), status(status))]
    for i in lo..hi {
        y[i] += x[i];
    }
    status
}

#[test]
fn parts_of_arrays_are_sent_and_received() {
    on_every_device(|device| {
        let x: Vec<i32> = (0..100).collect();
        for [lo, hi] in [[0, 100], [10, 60], [0, 0], [99, 100]] {
            let mut y = vec![1000; 100];
            let status = parts(&x, &mut y, [lo, hi], 80.max(hi));
            for i in 0..100 {
                assert_eq!(y[i], 1000 + if (lo..hi).contains(&i) { i as i32 } else { 0 });
            }
            let [sent, received] = [80.max(hi) + hi - lo, hi - lo].map(|len| 4 * len as u64);
            let expected = if copies(device) { (sent, received) } else { (0, 0) };
            assert_eq!((status.data_sent, status.data_received), expected);
        }
        let status = parts(&x, &mut [0; 100], [0, 1], 101);
        assert_eq!(status.result, OffloadResult::Error);
        assert!(matches!(status.error(), Some(OffloadError::Buffer(_))), "{status:?}");
    });
}

#[offload]
fn steps(field: &mut [f32], count: usize) -> Vec<OffloadStatus> {
    let mut all = Vec::new();
    let mut status = OffloadStatus::init();
    #[offload_transfer(target(any: 0), in(field: alloc_if(true), free_if(false)), status(status))]
    {}
    all.push(status.clone());
    for _ in 0..count {
        #[offload(target(any: 0), nocopy(field: alloc_if(false), free_if(false)), status(status))]
        for i in 0..field.len() {
            field[i] = 2.0 * field[i] + 1.0;
        }
        all.push(status.clone());
    }
    #[offload_transfer(target(any: 0), out(field: alloc_if(false), free_if(true)), status(status))]
    {}
    all.push(status);
    all
}

#[offload]
fn without_memory(field: &mut [f32]) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(nocopy(field: alloc_if(false)), status(status))]
    for i in 0..field.len() {
        field[i] = 0.0;
    }
    status
}

/// Allocated and sent once, used by several statements, received and freed once.
#[test]
fn targets_keep_arrays() {
    on_every_device(|device| {
        for len in [1, 31, 1000] {
            let mut field = vec![1.0; len];
            let all = steps(&mut field, 4);
            assert!(all.iter().all(|own| own.result == OffloadResult::Success), "{all:?}");
            assert_eq!(field, vec![31.0; len]);
            let bytes = if copies(device) { 4 * len as u64 } else { 0 };
            let sent: u64 = all.iter().map(|own| own.data_sent).sum();
            let received: u64 = all.iter().map(|own| own.data_received).sum();
            assert_eq!((sent, received), (bytes, bytes));
            assert_eq!((all[0].data_sent, all[5].data_received), (bytes, bytes));
            let status = without_memory(&mut field);
            if copies(device) {
                assert!(
                    matches!(
                        status.error(),
                        Some(OffloadError::NotAllocated { array: "field", .. })
                    ),
                    "{status:?}"
                );
            } else {
                assert_eq!(status.result, OffloadResult::Success);
            }
        }
    });
}

#[offload]
fn into(from: &[u16], to: &mut [u16], back: &mut [u16], on_target: bool) {
    #[offload(if(on_target), in(from: extent(2..6), into(to), into_extent(0..4)), out(to: extent(0..4), into(back), into_extent(4..8)))]
    for i in 0..4 {
        to[i] += 100;
    }
}

/// The host makes the same copies.
#[test]
fn values_go_into_other_arrays_and_come_out_into_others() {
    on_every_device(|_| {
        for on_target in [true, false] {
            let from: Vec<u16> = (0..8).collect();
            let (mut to, mut back) = ([0; 4], [9; 8]);
            into(&from, &mut to, &mut back, on_target);
            assert_eq!(to, [102, 103, 104, 105]);
            assert_eq!(back, [9, 9, 9, 9, 102, 103, 104, 105]);
        }
        let failed = catch_unwind(|| into(&[0; 8], &mut [0; 4], &mut [0; 7], true));
        let text = *failed.expect_err("too short").downcast::<String>().expect("a text");
        assert!(text.contains("are not part of 7 elements"), "{text}");
    });
}

#[offload]
fn modified(x: &mut [u8], align: usize, extent: std::ops::Range<usize>) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(inout(x[4..8]: align(align), alloc_extent(extent.clone())), status(status))]
    for i in 4..8 {
        x[i] += 1;
    }
    status
}

#[test]
fn modifiers_are_checked() {
    on_every_device(|_| {
        let mut x = [0; 10];
        assert_eq!(modified(&mut x, 64, 2..9).result, OffloadResult::Success);
        assert_eq!(x, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
        let status = modified(&mut x, 48, 2..9);
        assert!(matches!(status.error(), Some(OffloadError::Alignment { bytes: 48, .. })));
        let status = modified(&mut x, 64, 5..9);
        assert!(matches!(status.error(), Some(OffloadError::Extent { .. })), "{status:?}");
        assert_eq!(x, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
    });
}

#[offload]
fn panics(x: &[u32], y: &mut [u32]) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(in(x), inout(y), status(status))]
    for i in 0..y.len() {
        y[i] = x[i];
    }
    status
}

#[offload]
fn panics_without_a_status(x: &[u32], y: &mut [u32]) {
    #[offload(in(x), inout(y), optional)]
    for i in 0..y.len() {
        y[i] = x[i];
    }
}

/// With a status, a panic of a kernel is the death of what runs there. Otherwise it is a panic.
#[test]
fn panics_of_kernels_are_told() {
    on_every_device(|_| {
        let status = panics(&[1; 3], &mut [0; 4]);
        assert_eq!(status.result, OffloadResult::ProcessDied);
        let text = status.error().expect("a reason").to_string();
        assert!(text.contains("the len is 3 but the index is 3"), "{text}");
        let failed = catch_unwind(|| panics_without_a_status(&[1; 3], &mut [0; 4]));
        let text = *failed.expect_err("a panic").downcast::<String>().expect("a text");
        assert!(text.contains("the len is 3 but the index is 3"), "{text}");
        assert_eq!(panics(&[1; 4], &mut [0; 4]).result, OffloadResult::Success);
    });
}

#[offload]
fn synchronized(x: &mut [u32], n: i32, condition: bool) -> [OffloadStatus; 2] {
    let (mut first, mut second) = (OffloadStatus::init(), OffloadStatus::init());
    #[offload(target(any: n), inout(x), signal(&*x), if(condition), status(first))]
    for own in x.iter_mut() {
        *own += 1;
    }
    #[offload(target(any: n), inout(x), wait(&*x), status(second))]
    for own in x.iter_mut() {
        *own *= 2;
    }
    [first, second]
}

#[test]
fn statements_that_synchronize_have_a_target() {
    on_every_device(|_| {
        let mut x = vec![1; 100];
        let [first, second] = synchronized(&mut x, 5, true);
        assert_eq!((first.result, second.result), (OffloadResult::Success, OffloadResult::Success));
        assert_eq!(x, vec![4; 100]);
        // With a false condition it is an error, and nothing has run.
        let mut other = vec![1; 100];
        let [first, second] = synchronized(&mut other, 0, false);
        assert!(matches!(first.error(), Some(OffloadError::InvalidCombination)), "{first:?}");
        assert!(matches!(second.error(), Some(OffloadError::UnknownSignal { .. })), "{second:?}");
        assert_eq!(other, vec![1; 100]);
        let [first, _] = synchronized(&mut other, -1, true);
        assert!(matches!(first.error(), Some(OffloadError::NoTargetNumber)), "{first:?}");
        let [first, _] = synchronized(&mut other, -2, true);
        assert!(
            matches!(first.error(), Some(OffloadError::ReservedTargetNumber { number: -2 })),
            "{first:?}"
        );
        assert_eq!(other, vec![1; 100]);
    });
}

#[offload]
fn streams(stream: &Stream, x: &mut [u32]) {
    #[offload(stream(stream), signal(1), inout(x))]
    for own in x.iter_mut() {
        *own += 1;
    }
    #[offload(stream(stream), wait(1), pin(x))]
    for i in 0..x.len() {
        x[i] *= 3;
    }
}

#[test]
fn streams_run_in_order() {
    on_every_device(|device| {
        let stream = Stream::new(device).expect("a device that is there");
        let mut x = vec![2; 1000];
        streams(&stream, &mut x);
        assert_eq!(x, vec![9; 1000]);
    });
}

#[acc]
fn in_a_region(y: &mut [u32], [lo, hi]: [usize; 2], on_target: bool) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[acc(data, copy(y))]
    {
        #[acc(parallel, loop)]
        for i in 0..y.len() {
            y[i] += 1;
        }
        #[offload(inout(y[lo..hi]), if(on_target), status(status))]
        for i in lo..hi {
            y[i] *= 2;
        }
        #[acc(parallel, loop)]
        for i in 0..y.len() {
            y[i] += 1;
        }
    }
    status
}

/// What a region keeps is there, and the host sees what the device has made of it.
#[test]
fn statements_in_regions_use_what_these_keep() {
    on_every_device(|_| {
        for (on_target, part) in [(true, 0..100), (false, 0..100), (true, 3..50), (false, 3..50)] {
            let bounds = [part.start, part.end];
            let mut y: Vec<u32> = (0..100).collect();
            let status = in_a_region(&mut y, bounds, on_target);
            let result = if on_target { OffloadResult::Success } else { OffloadResult::Disabled };
            assert_eq!(status.result, result);
            assert_eq!((status.data_sent, status.data_received), (0, 0));
            for (i, own) in (0..).zip(y) {
                let factor = if part.contains(&i) { 2 } else { 1 };
                assert_eq!(own, factor * (i as u32 + 1) + 1);
            }
        }
    });
}

#[offload]
fn sums(x: &[u64], width: usize) -> (u64, u64) {
    let (mut sum, mut most) = (1, 0);
    #[offload(target(any), in(x), collapse(2), reduction(+: sum), reduction(max: most))]
    for i in 0..x.len() / width {
        for j in 0..width {
            sum += x[i * width + j];
            most = most.max(x[i * width + j]);
        }
    }
    (sum, most)
}

#[test]
fn statements_reduce() {
    on_every_device(|_| {
        let x: Vec<u64> = (0..1000).collect();
        assert_eq!(sums(&x, 10), (499_501, 999));
    });
}

#[offload]
fn target_of_a_kind(x: &mut [u32]) -> [OffloadStatus; 3] {
    let [mut a, mut b, mut c] = [const { OffloadStatus::init() }; 3];
    #[offload(target(native: 3), inout(x), status(a))]
    for own in x.iter_mut() {
        *own += 1;
    }
    #[offload(target(native), inout(x), status(b))]
    for own in x.iter_mut() {
        *own += 1;
    }
    #[offload(target(hip), inout(x), optional, status(c))]
    for own in x.iter_mut() {
        *own += 1;
    }
    [a, b, c]
}

#[test]
fn targets_are_of_their_kind() {
    on_every_device(|_| {
        let mut x = vec![1; 10];
        let [a, b, c] = target_of_a_kind(&mut x);
        assert_eq!(x, vec![4; 10]);
        assert_eq!([a.result, b.result], [OffloadResult::Success; 2]);
        assert_eq!([a.device_number, b.device_number], [0, 0]);
        let has_hip = Device::all().iter().any(|device| device.kind() == DeviceKind::Hip);
        assert_eq!(c.result == OffloadResult::Unavailable, !has_hip);
    });
}
