//! `cargo schism check`: kernels are judged as by a build.

use std::path::{Path, PathBuf};

use schism_tests::lab::{Compiler, Lab, describe, output, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

const MANIFEST: &str = "[package]\nname = \"checked\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
    [dependencies]\n@BARE_RUNTIME@\nhelper = { path = \"helper\" }\n[workspace]\n";

const HELPER: &str = "[package]\nname = \"helper\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[dependencies]\n@BARE_RUNTIME@\n";

/// Its launch becomes a kernel in the crate that calls it, and its other function may run in
/// kernels.
const HELPER_LIBRARY: &str = "use schism::prelude::*;
pub fn launch(queue: &Queue, f: impl Fn(usize) + Copy + Send + Sync + schism::Capture) {
    queue.parallel_for(8, move |item| f(item.x())).expect(\"it runs\");
}
pub fn is_small(number: usize) -> bool { number < 8 }
pub fn is_long(number: usize) -> bool { (0..number).collect::<Vec<_>>().len() > 100 }
";

/// Runs `cargo check` over a library that depends on the helper, and gives what is said.
fn check(lab: &Lab, name: &str, library: &str) -> (bool, String) {
    let folder = project(lab, name, library);
    let first = check_in(lab, &folder);
    assert_eq!(first, check_in(lab, &folder), "cargo says it again");
    first
}

fn project(lab: &Lab, name: &str, library: &str) -> PathBuf {
    let folder = lab.folder(name);
    let files = [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", library),
        ("helper/Cargo.toml", HELPER),
        ("helper/src/lib.rs", HELPER_LIBRARY),
    ];
    lab.project(&folder, &files);
    folder
}

fn check_in(lab: &Lab, folder: &Path) -> (bool, String) {
    let mut cargo = lab.cargo_with_runtime(folder);
    let ended = output(cargo.args(["check", "--offline", "--quiet"]));
    (ended.status.success(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn a_check_refuses_a_kernel_that_a_build_refuses() {
    let Some(lab) = lab() else { return };
    let (well, said) = check(
        lab,
        "check-refused",
        "use schism::prelude::*;\npub fn run(queue: &Queue) {\n    \
         queue.parallel_for(8, |item| assert!(!helper::is_long(item.x()))).expect(\"it runs\");\n}\n",
    );
    assert!(!well && said.contains("error: a kernel allocates memory"), "{said}");
    assert!(said.contains("src/lib.rs:3:"), "the user's own call: {said}");
    // Also after another crate of that name has been taken in the same target folder.
    let accepted = project(lab, "check-after", "pub fn run() {}\n");
    assert_eq!(check_in(lab, &accepted), (true, String::new()));
    let refused = accepted.with_file_name("check-refused");
    assert_eq!(check_in(lab, &refused), (false, said));
}

#[test]
fn a_check_refuses_a_kernel_that_a_dependency_launches() {
    let Some(lab) = lab() else { return };
    let (well, said) = check(
        lab,
        "check-through",
        "use schism::prelude::*;\npub fn run(queue: &Queue) {\n    \
         helper::launch(queue, |i| println!(\"{i}\"));\n}\n",
    );
    assert!(!well && said.contains("error: a kernel "), "{said}");
}

#[test]
fn a_check_takes_what_a_build_takes() {
    let Some(lab) = lab() else { return };
    // What cannot be called is no code, and so no kernel: as in a build.
    let library = "use schism::prelude::*;\npub fn run(queue: &Queue) {\n    \
         helper::launch(queue, |i| assert!(helper::is_small(i)));\n}\n\
         #[allow(dead_code)]\nfn unused(queue: &Queue) {\n    helper::launch(queue, |i| println!(\"{i}\"));\n}\n";
    assert_eq!(check(lab, "check-accepted", library), (true, String::new()));
    let folder = lab.target().parent().expect("a folder").join("check-accepted");
    text(lab.cargo_with_runtime(&folder).args(["build", "--offline", "--quiet"]));
}

/// A dependency whose bodies are missing is no reason to fail, and told.
#[test]
fn a_dependency_checked_by_another_compiler_is_told() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("check-foreign");
    schism_tests::lab::write_files(
        &folder,
        &[
            ("generic.rs", "pub fn call(f: impl Fn()) { f() }\n"),
            ("user.rs", "pub use schism::Queue;\npub fn run() { generic::call(|| ()); }\n"),
        ],
    );
    let mut stock = lab.rustc(Compiler::Stock, &folder);
    text(stock.args(["--crate-type=lib", "--emit=metadata", "generic.rs"]));
    let mut rustc = lab.rustc_with_runtime(&folder);
    rustc.args(["--crate-type=lib", "--emit=metadata", "user.rs"]);
    let ended = output(rustc.args(["--extern", "generic=libgeneric.rmeta"]));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{}", describe(&rustc, &ended));
    assert!(said.contains("warning: not all kernels of this crate could be checked"), "{said}");
}
