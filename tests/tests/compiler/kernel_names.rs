//! Kernels are named by path and place, wherever people read of them.

use std::path::{Path, PathBuf};

use schism_tests::container::containers;
use schism_tests::lab::{Lab, clean_command, describe, output, text};

/// Two kernels in one function, on the lines 6 and 7; and one that a macro makes, called on line
/// 13.
const SOURCE: &str = "\
use schism::prelude::*;
macro_rules! launch {
    ($queue:expr) => { $queue.parallel_for(1, |_| ()) };
}
fn run(queue: &Queue) {
    queue.parallel_for(10, |item| assert!(item.x() < 100)).expect(\"no panic\");
    let error = queue.parallel_for(10, |item| assert!(item.x() != 5, \"too far\"));
    println!(\"{}\", error.expect_err(\"a panic\"));
}
fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    run(&queue);
    launch!(queue)?;
    Ok(())
}
";

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// The program as a project of cargo's.
fn built_by_cargo(lab: &Lab) -> PathBuf {
    let folder = lab.folder("kernel-names");
    let manifest = "[package]\nname = \"named\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                    [dependencies]\n@RUNTIME@\n[workspace]\n";
    lab.project(&folder, &[("Cargo.toml", manifest), ("src/main.rs", SOURCE)]);
    text(lab.cargo_with_runtime(&folder).args(["build", "--offline"]));
    lab.target().join("debug/named")
}

/// The names in a program's container, sorted.
fn names(program: &Path) -> Vec<String> {
    let own = containers(program).into_iter().filter(|container| container.crate_name == "named");
    let mut names: Vec<_> =
        own.flat_map(|container| container.kernels).map(|kernel| kernel.display_name).collect();
    names.sort();
    names
}

#[test]
fn names_have_the_place() {
    let Some(lab) = lab() else { return };
    let program = built_by_cargo(lab);
    let expected = [
        "main::{closure#0} (src/main.rs:13)",
        "run::{closure#0} (src/main.rs:6)",
        "run::{closure#1} (src/main.rs:7)",
    ];
    assert_eq!(names(&program), expected);
    for device in ["cpu", "native"] {
        let mut run = clean_command(&program);
        run.env("SCHISM_DEVICE", device).env("SCHISM_TRACE", "1");
        let ended = output(&mut run);
        let report = describe(&run, &ended);
        assert!(ended.status.success(), "{report}");
        // An error of a launch.
        let said = String::from_utf8_lossy(&ended.stdout);
        let begin = "kernel `run::{closure#1} (src/main.rs:7)` panicked at src/main.rs:7:";
        assert!(said.starts_with(begin), "{report}");
        // The trace, in the lines of a launch and in those of its code.
        let trace = String::from_utf8_lossy(&ended.stderr);
        for name in expected {
            let lines = |step: &str| {
                trace.lines().filter(|line| line.contains(step) && line.contains(name)).count()
            };
            // A launch that fails ends with its error.
            assert_eq!(lines(" launched ") > 0, name != expected[2], "{name}: {report}");
            assert_eq!(lines(" version "), usize::from(device == "cpu"), "{name}: {report}");
        }
        assert!(!trace.contains("{{closure}}"), "{report}");
    }
    // Lists, and what is chosen from them.
    if std::env::var_os("SCHISM_JIT").is_none() {
        return;
    }
    let emit = |arguments: &[&str]| {
        let mut command = clean_command(lab.subcommand());
        command.args(["schism", "emit", "asm"]).arg(&program).args(arguments);
        let ended = output(&mut command);
        (describe(&command, &ended), ended)
    };
    let (report, ended) = emit(&["--kernel", "absent"]);
    let listed = format!("there are:\n  {}\n", expected.join("\n  "));
    assert!(String::from_utf8_lossy(&ended.stderr).contains(&listed), "{report}");
    let (report, ended) = emit(&["--kernel", "src/main.rs:7"]);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.starts_with("# run::{closure#1} (src/main.rs:7)\n"), "{report}");
    assert!(!said.contains("run::{closure#0}"), "{report}");
}

#[test]
fn places_are_those_that_programs_are_to_show() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("kernel-names-remapped");
    std::fs::write(folder.join("named.rs"), SOURCE).expect("a file can be written");
    let mut rustc = lab.rustc_with_runtime(&folder);
    rustc.arg(format!("--remap-path-prefix={}=/source", folder.display()));
    text(rustc.arg(folder.join("named.rs")));
    assert_eq!(
        names(&folder.join("named")),
        [
            "main::{closure#0} (/source/named.rs:13)",
            "run::{closure#0} (/source/named.rs:6)",
            "run::{closure#1} (/source/named.rs:7)",
        ]
    );
}
