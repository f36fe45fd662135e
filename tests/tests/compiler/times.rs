//! `SCHISM_TIME_PASSES`: the time of each pass, and nothing without it.

use schism_passes::pipeline::{self, Step};
use schism_tests::lab::{Lab, clean_command, output, source};

#[test]
fn each_pass_has_its_line() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("times");
    let stderr = |value: Option<&str>, running: bool| {
        let mut command = if running {
            clean_command(folder.join("plugged"))
        } else {
            let mut rustc = lab.rustc_with_runtime(&folder);
            rustc.arg(source("crates/plugged.rs"));
            rustc
        };
        command.env("SCHISM_DEVICE", "cpu");
        if let Some(value) = value {
            command.env("SCHISM_TIME_PASSES", value);
        }
        let output = output(&mut command);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let compiling = stderr(Some("1"), false);
    let mut rest = compiling.as_str();
    for step in pipeline::STAGE1 {
        let line = format!("\tstage 1 of plugged\t{}\n", step.name());
        let at = rest.find(&line).unwrap_or_else(|| panic!("no {line:?} in\n{compiling}"));
        rest = &rest[at + line.len()..];
    }
    let running = stderr(Some("1"), true);
    let steps = pipeline::CPU.iter().map(Step::name).filter(|name| !name.is_empty());
    for step in ["target", "load", "emit"].into_iter().chain(steps) {
        let seen =
            running.lines().any(|line| line.contains("\tstage 2 of ") && line.ends_with(step));
        assert!(seen, "no {step} in\n{running}");
    }
    for value in [None, Some("0"), Some("")] {
        assert!(!stderr(value, false).contains("time:"));
        assert!(!stderr(value, true).contains("time:"));
    }
}
