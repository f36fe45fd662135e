//! Errors of device code as cargo and editors see them: over several crates, as JSON, in a second
//! build, after a correction, and none where no code is generated.

use std::path::Path;
use std::process::Command;

use schism_tests::lab::{Lab, describe, output};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

const WORKSPACE: &str = "[workspace]\nmembers = [\"app\", \"dep\"]\nresolver = \"3\"\n";
const APP: &str = "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                   [dependencies]\ndep = { path = \"../dep\" }\n@RUNTIME@\n";
const DEP: &str = "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                   [dependencies]\n@RUNTIME@\n";
const DEP_LIB: &str = "\
pub fn measure(value: u64) -> u64 {
    deeper(value) + 1
}

fn deeper(value: u64) -> u64 {
    std::fs::read(\"data\").map_or(value, |data| data.len() as u64)
}
";

fn main_of(value: &str) -> String {
    format!(
        "use schism::prelude::*;\n\n\
         fn outer(value: u64) -> u64 {{\n    {value}\n}}\n\n\
         fn main() {{\n    let queue = Queue::new().unwrap();\n    \
         let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();\n    \
         queue.for_each((&mut out,), |(out,)| *out = outer(*out)).unwrap();\n}}\n"
    )
}

fn project(lab: &Lab, folder: &Path, value: &str) {
    lab.project(
        folder,
        &[
            ("Cargo.toml", WORKSPACE),
            ("app/Cargo.toml", APP),
            ("app/src/main.rs", &main_of(value)),
            ("dep/Cargo.toml", DEP),
            ("dep/src/lib.rs", DEP_LIB),
        ],
    );
}

fn cargo(lab: &Lab, folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = lab.cargo_with_runtime(folder);
    cargo.args(arguments).args(["--offline", "--quiet"]);
    cargo
}

fn errors(lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    let mut cargo = cargo(lab, folder, arguments);
    let ended = output(&mut cargo);
    assert!(!ended.status.success(), "{}", describe(&cargo, &ended));
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

#[test]
fn an_error_in_a_dependency_stands_at_the_users_call() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("diagnostics-crates");
    project(lab, &folder, "dep::measure(value)");
    // Of an optimised program the runtime need not be, which takes long.
    let optimised =
        ["app", "dep"].map(|name| format!("--config=profile.dev.package.{name}.opt-level=3"));
    for profile in [&["build"][..], &["build", &optimised[0], &optimised[1]]] {
        let text = errors(lab, &folder, profile);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "error: a kernel calls `std::fs::read`, which does input or output --> app/src/main.rs:4:5",
            "4 | dep::measure(value) | ^^^^^^^^^^^^^^^^^^^ called here",
            "note: in `dep::measure` --> dep/src/lib.rs:2:5",
            "note: in `dep::deeper` --> dep/src/lib.rs:6:5",
            "called here, in `main::{closure#0}` --> app/src/main.rs:10:49",
            "reached from the kernel `main::{closure#0}`",
            "help: read and write on the host",
        ] {
            assert!(text.contains(expected), "{profile:?}: no {expected:?} in\n{text}");
        }
        assert_eq!(text.matches("error: a kernel").count(), 1, "{text}");
    }
}

/// Code of a dependency that is for one kind of processor, or chooses by it: who uses the dependency
/// cannot write it in another way.
#[test]
#[cfg(target_arch = "x86_64")]
fn code_of_a_dependency_for_one_processor_is_left_to_its_features() {
    let Some(lab) = lab() else { return };
    let library = "\
use std::sync::atomic::{AtomicUsize, Ordering};
pub fn reversed(value: u64) -> u64 {
    let result;
    // SAFETY: it changes nothing else.
    unsafe { std::arch::asm!(\"mov {0}, {1}\", \"bswap {0}\", out(reg) result, in(reg) value) };
    result
}
pub fn chosen(value: u64) -> u64 {
    static CHOICE: AtomicUsize = AtomicUsize::new(0);
    CHOICE.store(1, Ordering::Relaxed);
    value + CHOICE.load(Ordering::Relaxed) as u64
}
pub fn shuffled(value: u64) -> u64 {
    use std::arch::x86_64::*;
    // SAFETY: every processor of this architecture has it.
    unsafe { _mm_cvtsi128_si64(_mm_sad_epu8(_mm_cvtsi64_si128(value as i64), _mm_setzero_si128())) as u64 }
}
";
    for (name, call, expected) in [
        ("assembly", "dep::reversed(value)", "contains inline assembly"),
        ("static", "dep::chosen(value)", "uses the static `dep::chosen::CHOICE`"),
        ("intrinsic", "dep::shuffled(value)", "for one kind of CPU"),
    ] {
        let folder = lab.folder(&format!("diagnostics-{name}"));
        project(lab, &folder, call);
        std::fs::write(folder.join("dep/src/lib.rs"), library).expect("a file can be written");
        let text = errors(lab, &folder, &["build"]);
        for expected in [expected, "look for a feature of `dep`"] {
            assert!(text.contains(expected), "{call}: {expected}\n{text}");
        }
    }
}

#[test]
fn errors_come_again_until_they_are_mended() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("diagnostics-again");
    project(lab, &folder, "std::time::Instant::now().elapsed().as_secs() + value");
    let program = lab.target().join("debug/app");
    let _ = std::fs::remove_file(&program);
    let checked = errors(lab, &folder, &["check"]);
    let first = errors(lab, &folder, &["build"]);
    assert_eq!(checked, first, "a check says what a build says");
    assert_eq!(first.matches("error: a kernel").count(), 2, "{first}");
    assert_eq!(first, errors(lab, &folder, &["build"]), "the same in the same order");
    assert!(!program.exists(), "a program is left behind");

    project(lab, &folder, "value + 2");
    let mut build = cargo(lab, &folder, &["build"]);
    let ended = output(&mut build);
    assert!(ended.status.success(), "{}", describe(&build, &ended));
    assert!(program.exists());
    // And back.
    project(lab, &folder, "std::time::Instant::now().elapsed().as_secs() + value");
    assert_eq!(first, errors(lab, &folder, &["build"]));
}

#[test]
fn editors_get_errors_with_their_places() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("diagnostics-json");
    project(lab, &folder, "vec![value; 3].len() as u64");
    let mut cargo = cargo(lab, &folder, &["build", "--message-format=json"]);
    let ended = output(&mut cargo);
    assert_eq!(ended.status.code(), Some(101), "{}", describe(&cargo, &ended));
    let text = String::from_utf8_lossy(&ended.stdout);
    let line = text
        .lines()
        .find(|line| line.contains("\"message\":\"a kernel allocates memory\""))
        .unwrap_or_else(|| panic!("no message in\n{text}"));
    for expected in [
        "\"reason\":\"compiler-message\"",
        "\"level\":\"error\"",
        "\"file_name\":\"app/src/main.rs\"",
        "\"line_start\":4,",
        "\"is_primary\":true",
        "\"label\":\"`vec!` needs memory\"",
        "reached from the kernel `main::{closure#0}`",
    ] {
        assert!(line.contains(expected), "no {expected} in\n{line}");
    }
}
