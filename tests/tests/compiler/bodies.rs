//! Bodies of the standard library's functions without MIR, and the index of what there is.
//!
//! That such functions compute what they should is in `language/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use schism_tests::container::{containers, device_ir};
use schism_tests::lab::{Lab, describe, output, write_files};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// A kernel that parses text: neither `from_utf8` nor the parsing has MIR.
const PARSES: &str = "\
use schism::prelude::*;
fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::filled(&queue, 10, 0.0_f64).unwrap();
    queue
        .for_each((0.., &mut out), |(i, out): (usize, &mut f64)| {
            let bytes = [b'1', b'.', b'0' + i as u8];
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            *out = text.parse().unwrap_or(-1.0);
        })
        .unwrap();
    let expected = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9];
    assert_eq!(out.to_vec(), expected);
}
";

/// A compilation of `PARSES` in `folder`, with schism's home inside it.
fn compile(lab: &Lab, folder: &Path, out: &str) -> Command {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.env("SCHISM_HOME", folder.join("home")).args(["main.rs", "--emit=obj", "-o", out]);
    rustc
}

fn index(folder: &Path) -> PathBuf {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder.join("home/bodies"))
        .expect("the plugin makes a folder for its index")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[test]
fn the_index_is_made_once_and_made_again_when_it_is_damaged() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("bodies-index");
    write_files(&folder, &[("main.rs", PARSES)]);
    let run = |out: &str| {
        let mut rustc = compile(lab, &folder, out);
        let ended = output(&mut rustc);
        assert!(ended.status.success(), "{}", describe(&rustc, &ended));
        std::fs::read(folder.join(out)).expect("an object")
    };
    let first = run("first.o");
    let path = index(&folder);
    let text = std::fs::read_to_string(&path).expect("an index");
    assert!(text.contains("from_utf8"));
    let written = path.metadata().and_then(|about| about.modified()).expect("a time");
    assert!(run("second.o") == first, "another object");
    assert_eq!(path.metadata().and_then(|about| about.modified()).ok(), Some(written));
    for damaged in [&text[..text.len() / 2], "", &text.replace("body 2", "body 7"), "\u{1}\u{2}"] {
        std::fs::write(&path, damaged).expect("a writable file");
        assert!(run("again.o") == first, "another object after damage");
        assert_eq!(std::fs::read_to_string(index(&folder)).expect("an index"), text);
    }
    std::fs::remove_dir_all(folder.join("home")).expect("a folder that is there");
    // No place for it.
    std::fs::write(folder.join("home"), "").expect("a writable file");
    assert!(run("nowhere.o") == first, "another object without a home");
}

#[test]
fn compilers_side_by_side_make_one_index() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("bodies-processes");
    write_files(&folder, &[("main.rs", PARSES)]);
    let started: Vec<_> = (0..4)
        .map(|number| {
            let mut rustc = compile(lab, &folder, &format!("{number}.o"));
            rustc.spawn().expect("a compiler that starts")
        })
        .collect();
    for mut child in started {
        assert!(child.wait().expect("a child").success());
    }
    let objects: Vec<_> = (0..4)
        .map(|number| std::fs::read(folder.join(format!("{number}.o"))).expect("an object"))
        .collect();
    assert!(objects.iter().all(|object| *object == objects[0]));
    index(&folder);
}

#[test]
fn nothing_comes_in_for_a_kernel_that_lacks_nothing() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("bodies-nothing");
    let plain = "\
use schism::prelude::*;
fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::filled(&queue, 10, 0_u32).unwrap();
    queue.for_each((0.., &mut out), |(i, out): (usize, &mut u32)| *out = i as u32).unwrap();
}
";
    let image = |source: &str, text: &str| {
        write_files(&folder, &[(source, &text.replace("fn main", "pub fn launch"))]);
        let mut rustc = lab.rustc_with_runtime(&folder);
        let rlib = format!("lib{source}.rlib");
        rustc.args([source, "--crate-type=rlib", "-Copt-level=3", "-o", &rlib]);
        let ended = output(&mut rustc);
        assert!(ended.status.success(), "{}", describe(&rustc, &ended));
        let containers = containers(&folder.join(&rlib));
        device_ir(&containers[0])
    };
    assert!(image("parses.rs", PARSES).contains("from_utf8"));
    let plain = image("plain.rs", plain);
    // The kernel, the runtime's adaptor and the closure, those of them that are not inlined.
    assert!(plain.matches("\ndefine ").count() < 6, "{plain}");
}
