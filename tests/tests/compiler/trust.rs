//! Trust checks of the compiler: the plugin, stage 2, the index of the standard library. Those of
//! the runtime are in `runtime/tests/trust.rs`. `schism-trust` has the rule.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use schism_tests::lab::{Lab, clean_command, describe, failure, output, write_files};
use schism_tests::skip;

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
}

#[test]
fn a_plugin_that_others_can_write_to_is_not_loaded() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("trust-plugin");
    let (driver, plugin) = (folder.join("schism-rustc"), folder.join("librustc_codegen_schism.so"));
    fs::copy(&lab.driver, &driver).expect("a copy");
    fs::copy(&lab.plugin, &plugin).expect("a copy");
    mode(&plugin, 0o755);
    let mut version = clean_command(&driver);
    let ended = output(version.arg("-vV"));
    assert!(ended.status.success(), "{}", describe(&version, &ended));
    mode(&plugin, 0o777);
    let said = failure(&mut version);
    for part in [&*plugin.display().to_string(), "can be written to by all users", "chmod o-w"] {
        assert!(said.contains(part), "`{part}` is not said: {said}");
    }
}

/// A kernel that needs the index.
const PARSES: &str = "\
use schism::prelude::*;
fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::filled(&queue, 10, 0_u32).unwrap();
    queue
        .for_each((0.., &mut out), |(i, out): (usize, &mut u32)| {
            let bytes = [b'1', b'0' + i as u8];
            *out = std::str::from_utf8(&bytes).unwrap_or_default().parse().unwrap_or(0);
        })
        .unwrap();
}
";

#[test]
fn an_index_that_others_can_write_to_is_not_believed() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("trust-index");
    write_files(&folder, &[("main.rs", PARSES)]);
    let home = folder.join("home");
    let run = |home: &Path| {
        let mut rustc = lab.rustc_with_runtime(&folder);
        rustc.env("SCHISM_HOME", home).args(["main.rs", "--emit=obj", "-o", "main.o"]);
        let ended = output(&mut rustc);
        assert!(ended.status.success(), "{}", describe(&rustc, &ended));
        let object = fs::read(folder.join("main.o")).expect("an object");
        (object, String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let (first, said) = run(&home);
    assert!(!said.contains("trusted"), "{said}");
    let bodies = home.join("bodies");
    let entry =
        fs::read_dir(&bodies).expect("a folder").next().expect("an index").expect("readable");
    mode(&entry.path(), 0o666);
    let (again, said) = run(&home);
    assert!(again == first, "another object");
    for part in [&*entry.path().display().to_string(), "by all users", "the index is made again"] {
        assert!(said.contains(part), "`{part}` is not said: {said}");
    }
    // It was: with the rights that it should have.
    let (_, said) = run(&home);
    assert!(!said.contains("trusted"), "{said}");
    // Nothing is kept where it would not be believed, or where that is not known.
    mode(&bodies, 0o777);
    let (_, said) = run(&home);
    assert!(said.contains("can be written to by all users"), "{said}");
    let (again, said) = run(Path::new("home"));
    assert!(again == first, "another object");
    assert!(said.contains("SCHISM_HOME is `home`, which is no path from the root"), "{said}");
}

#[test]
fn a_stage_2_that_others_can_write_to_makes_no_code() {
    let Some(lab) = lab() else { return };
    let Some(stage2) = std::env::var_os("SCHISM_JIT") else {
        skip::lacks(skip::STAGE2);
        return;
    };
    let folder = lab.folder("trust-stage2");
    write_files(&folder, &[("main.rs", PARSES)]);
    let copy = folder.join("libschism_jit.so");
    fs::copy(stage2, &copy).expect("a copy");
    mode(&copy, 0o666);
    let mut rustc = lab.rustc_with_runtime(&folder);
    rustc.env("SCHISM_TARGETS", "host").env("SCHISM_JIT", &copy).args(["main.rs", "-o", "main"]);
    let said = failure(&mut rustc);
    for part in [&*copy.display().to_string(), "SCHISM_JIT", "can be written to by all users"] {
        assert!(said.contains(part), "`{part}` is not said: {said}");
    }
}
