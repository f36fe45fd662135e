//! Programs with `panic = "abort"`: a kernel's panic is an error on the device `cpu`, and ends the
//! process on `native`, which says so.

use std::os::unix::process::ExitStatusExt;

use schism_tests::lab::{Lab, clean_command, describe, output, text};

const SIGABRT: i32 = 6;

const MANIFEST: &str = "[package]\nname = \"aborting\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
     [dependencies]\n@RUNTIME@\n[profile.dev]\npanic = \"abort\"\n[workspace]\n";

const SOURCE: &str = "\
use schism::prelude::*;
fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    let result = queue.parallel_for(1000, |item| assert!(item.x() != 77, \"item {}\", item.x()));
    println!(\"{}\", result.expect_err(\"a panic\"));
    Ok(())
}
";

#[test]
fn a_panic_is_an_error_or_is_shown_before_the_process_ends() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("aborting");
    lab.project(&folder, &[("Cargo.toml", MANIFEST), ("src/main.rs", SOURCE)]);
    text(lab.cargo_with_runtime(&folder).args(["build", "--offline"]));
    let run = |device: &str| {
        let mut program = clean_command(lab.target().join("debug/aborting"));
        let ended = output(program.env("SCHISM_DEVICE", device));
        (describe(&program, &ended), ended)
    };
    let (report, ended) = run("native");
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{report}");
    for part in ["src/main.rs:4:", "item 77", "panic = \"abort\"", "`native`"] {
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(errors.contains(part), "`{part}` is not said: {report}");
    }
    if std::env::var_os("SCHISM_JIT").is_none() {
        return;
    }
    let (report, ended) = run("cpu");
    assert!(ended.status.success(), "{report}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("item 77"), "{report}");
}
