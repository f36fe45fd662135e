//! The device half in incremental compilation: reused while nothing changes, built again when
//! anything does.

use std::path::{Path, PathBuf};

use schism_hcf::Container;
use schism_tests::container::containers;
use schism_tests::lab::{Lab, clean_command, output, text};

const SOURCE: &str = "\
use schism::prelude::*;
mod helper;
static STEP: SpecConst<u32> = SpecConst::new(2);
fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let mut out = Buffer::from_slice(&queue, &[0_u32; 10])?;
    let to = out.view_mut();
    queue.parallel_for(10, move |item| {
        let value = helper::value(item.x()) * STEP.get();
        // SAFETY: in range, its own element.
        unsafe { to.set_unchecked(item.x(), value) }
    })?;
    tell(&out.to_vec());
    Ok(())
}
fn tell(out: &[u32]) {
    println!(\"sum {}\", out.iter().sum::<u32>());
}
";

const HELPER: &str = "pub fn value(x: usize) -> u32 { x as u32 + 1 }\n";

/// One program, compiled again and again in the same incremental directory.
struct Program<'a> {
    lab: &'a Lab,
    folder: PathBuf,
}

impl<'a> Program<'a> {
    fn new(lab: &'a Lab, name: &str) -> Self {
        Self { lab, folder: lab.folder(name) }
    }

    /// Whether the device half was made, what the program prints, and its container.
    fn build(
        &self,
        source: &str,
        helper: &str,
        variables: &[(&str, &str)],
    ) -> (bool, String, Container) {
        let stderr = self.compile(source, helper, variables);
        let program = self.folder.join("program");
        let mut run = clean_command(&program);
        let printed = text(run.env("SCHISM_DEVICE", "cpu"));
        let mut found = containers(&program);
        found.retain(|container| container.crate_name == "program");
        assert_eq!(found.len(), 1);
        (stderr.contains("(lower the device half)"), printed, found.remove(0))
    }

    /// What the compiler writes to standard error.
    fn compile(&self, source: &str, helper: &str, variables: &[(&str, &str)]) -> String {
        write(&self.folder.join("program.rs"), source);
        write(&self.folder.join("helper.rs"), helper);
        let mut rustc = self.lab.rustc_with_runtime(&self.folder);
        rustc.args(["program.rs", "-Cincremental=kept", "-Ccodegen-units=4"]);
        rustc.env("SCHISM_TIME_PASSES", "1").envs(variables.iter().copied());
        let output = output(&mut rustc);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        stderr
    }
}

fn write(path: &Path, contents: &str) {
    std::fs::write(path, contents).expect("a source can be written");
}

#[test]
fn the_device_half_is_made_when_something_that_it_is_made_of_changes() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Program::new(lab, "incremental");
    let (made, printed, first) = program.build(SOURCE, HELPER, &[]);
    assert_eq!((made, printed.as_str()), (true, "sum 110\n"));

    // Nothing changes: as often as one likes.
    for _ in 0..2 {
        let (made, printed, again) = program.build(SOURCE, HELPER, &[]);
        assert_eq!((made, printed.as_str()), (false, "sum 110\n"));
        assert_eq!(again, first);
    }
    // A function of the host alone. (A kernel is part of the function that launches it.)
    let host = SOURCE.replace("sum {}", "total {}");
    let (made, printed, again) = program.build(&host, HELPER, &[]);
    assert_eq!((made, printed.as_str()), (false, "total 110\n"));
    assert_eq!(again, first);

    // The kernel stands elsewhere, and is named so; and back.
    assert_eq!(first.kernels[0].display_name, "main::{closure#0} (program.rs:8)");
    let moved = host.replacen('\n', "\n// One line more.\n", 1);
    let (_, printed, other) = program.build(&moved, HELPER, &[]);
    assert_eq!(printed, "total 110\n");
    assert_eq!(other.kernels[0].display_name, "main::{closure#0} (program.rs:9)");
    let (_, _, again) = program.build(&host, HELPER, &[]);
    assert_eq!(again.kernels[0].display_name, first.kernels[0].display_name);

    // A function that the kernel calls, in another module; and back.
    let helper = HELPER.replace("+ 1", "+ 2");
    let (made, printed, other) = program.build(&host, &helper, &[]);
    assert_eq!((made, printed.as_str()), (true, "total 130\n"));
    assert_ne!(other.images[0].data, first.images[0].data);
    let (made, printed, again) = program.build(&host, HELPER, &[]);
    assert_eq!((made, printed.as_str()), (true, "total 110\n"));
    assert_eq!(again.images[0].data, first.images[0].data);

    // The default of a specialization constant.
    let default = host.replace("new(2)", "new(3)");
    let (made, printed, _) = program.build(&default, HELPER, &[]);
    assert_eq!((made, printed.as_str()), (true, "total 165\n"));

    // One more kernel, and none.
    let launch = "queue.parallel_for(10, move |_| {})?;";
    let two = default.replace("    tell(", &format!("    {launch}\n    tell("));
    let (made, _, other) = program.build(&two, HELPER, &[]);
    assert_eq!((made, other.kernels.len()), (true, 2));

    // How kernels are divided.
    let (made, _, other) =
        program.build(&two, HELPER, &[("SCHISM_DEVICE_CODE_SPLIT", "per-kernel")]);
    assert_eq!((made, other.images.len()), (true, 2));
    let (made, printed, other) = program.build(&two, HELPER, &[]);
    assert_eq!((made, printed.as_str(), other.images.len()), (true, "total 165\n", 1));
}

#[test]
fn warnings_come_each_time() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Program::new(lab, "incremental_warnings");
    let source = SOURCE.replace(
        "let value =",
        "let mut large = [1_u32; 20000]; large[item.x() * 7] = 2; \
         let _ = std::hint::black_box(&large); let value =",
    );
    for _ in 0..2 {
        let stderr = program.compile(&source, HELPER, &[]);
        assert!(stderr.contains("KiB of local variables"), "{stderr}");
    }
    let silent = [("SCHISM_WARN", "off")];
    let stderr = program.compile(&source, HELPER, &silent);
    assert!(
        !stderr.contains("KiB of local") && stderr.contains("(lower the device half)"),
        "{stderr}"
    );
    let stderr = program.compile(&source, HELPER, &silent);
    assert!(!stderr.contains("(lower the device half)"), "{stderr}");
}

#[test]
fn what_was_refused_once_is_refused_again() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Program::new(lab, "incremental_refused");
    program.compile(SOURCE, HELPER, &[]);
    let refused = HELPER.replace("x as u32", "std::process::id()");
    write(&program.folder.join("helper.rs"), &refused);
    let mut rustc = lab.rustc_with_runtime(&program.folder);
    rustc.args(["program.rs", "-Cincremental=kept", "-Ccodegen-units=4"]);
    for _ in 0..2 {
        let output = output(&mut rustc);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains("helper.rs"), "{stderr}");
    }
    assert!(program.build(SOURCE, HELPER, &[]).1.contains("sum 110"));
}
