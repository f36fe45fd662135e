//! Output of kernels: every device, and a build by plain rustc, prints the same lines, and no line
//! is broken up.

use std::path::Path;

use schism_tests::lab::{Lab, clean_command, source, text};

/// The lines of a run, sorted: work-items have no order.
fn lines(program: &Path, device: &str, threads: &str) -> Vec<String> {
    let mut command = clean_command(program);
    command.env("SCHISM_DEVICE", device).env("SCHISM_CPU_THREADS", threads);
    let mut lines: Vec<String> = text(&mut command).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_same_lines_on_every_device() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let mut expected: Vec<String> = (0..1000)
        .map(|i| format!("line {i} of ([{i}], 'c', \"é\"), {:.2}", i as f64 / 3.0))
        .chain((0..1000).step_by(100).map(|i| format!("helper {i:>5} {:#x}", i * 3)))
        .chain(["on the host: 2", "a", "b 1", "", "before", "after 0"].map(str::to_owned))
        .chain(["Point { x: 0.5, name: Some(\"point\") }".to_owned()])
        .collect();
    expected.sort();
    for level in ["0", "3"] {
        let folder = lab.folder(&format!("prints-{level}"));
        let mut rustc = lab.rustc_with_runtime(&folder);
        text(rustc.arg(format!("-Copt-level={level}")).arg(source("crates/prints.rs")));
        schism_tests::ptx::expect_of(&folder.join("prints"));
        for (device, threads) in [("cpu", "1"), ("cpu", "4"), ("native", "4")] {
            let found = lines(&folder.join("prints"), device, threads);
            assert_eq!(found, expected, "on {device} with {threads} threads, level {level}");
        }
    }
}
