//! The cache of compiled kernels: what is found, what is not, and what is never trusted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use schism_tests::lab::{Lab, clean_command, describe, output, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// The program, and the program that was changed.
fn programs(lab: &Lab) -> &'static [PathBuf; 2] {
    static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = lab.folder("kept");
        ["kept", "changed"].map(|name| {
            let kept = source("crates/kept.rs");
            let mut rustc = lab.rustc_with_runtime(&folder);
            rustc.args(["-O", "--crate-name=kept", "--check-cfg=cfg(changed)", "-o", name]);
            if name == "changed" {
                // Kernels have other lines in their names, which make no other code.
                let text = fs::read_to_string(kept).expect("the program");
                let moved = folder.join("moved.rs");
                fs::write(&moved, format!("// One line more.\n{text}")).expect("writable");
                rustc.arg(moved).args(["--cfg", "changed"]);
            } else {
                rustc.arg(kept);
            }
            text(&mut rustc);
            folder.join(name)
        })
    })
}

/// A program that keeps its kernels in `folder`.
fn keeping(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = clean_command(program);
    command.args(arguments).env("SCHISM_DEVICE", "cpu");
    command.env("SCHISM_CACHE", "1").env("SCHISM_CACHE_DIR", folder);
    command
}

/// What a program printed of its kernels, whether it compiled, and its warnings.
fn ended(command: &mut Command) -> (Vec<String>, bool, String) {
    let output = output(command);
    assert!(output.status.success(), "{}", describe(command, &output));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    let compiled = match lines.pop().as_deref() {
        Some("compiled") => true,
        Some("found") => false,
        _ => panic!("{}", describe(command, &output)),
    };
    (lines, compiled, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    files.filter(|file| file.extension().is_some_and(|end| end == "kernel")).collect()
}

const ALL: [&str; 8] =
    ["1", "same", "other", "panics", "prints", "relaxed", "constant", "default-constant"];

#[test]
fn the_next_process_finds_what_was_compiled() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-next").join("cache");
    let (first, compiled, said) = ended(&mut keeping(program, &folder, &ALL));
    assert!(compiled && said.is_empty(), "{said}");
    let (again, compiled, said) = ended(&mut keeping(program, &folder, &ALL));
    assert!(!compiled && said.is_empty(), "{said}");
    assert_eq!(first, again);
    assert!(first.iter().any(|line| line.contains("seven is Some(7)")), "{first:?}");
    assert!(first.iter().any(|line| line.contains("kept.rs:") && line.contains("panicked")));
    // And it is what the host computes.
    let (host, ..) = ended(keeping(program, &folder, &ALL).env("SCHISM_DEVICE", "native"));
    for name in ["other ", "constant ", "default-constant "] {
        let line = |lines: &[String]| lines.iter().find(|line| line.starts_with(name)).cloned();
        assert!(line(&host).is_some() && line(&host) == line(&first), "{name}");
    }
    // Off means off.
    let count = entries(&folder).len();
    let (off, compiled, said) = ended(keeping(program, &folder, &ALL).env("SCHISM_CACHE", "0"));
    assert!(compiled && said.is_empty() && off == first, "{said}");
    // Who wants to see stage 2 at work sees it.
    let mut watched = keeping(program, &folder, &["1", "same"]);
    let (_, compiled, said) = ended(watched.env("SCHISM_TIME_PASSES", "1"));
    assert!(compiled && said.contains("stage 2 of"), "{said}");
    assert_eq!(entries(&folder).len(), count);
}

#[test]
fn a_rebuild_that_leaves_a_kernel_alone_finds_it() {
    let Some(lab) = lab() else { return };
    let [program, changed] = programs(lab);
    let folder = lab.folder("kept-rebuild").join("cache");
    let run = |program: &Path, name: &str| {
        let (lines, compiled, said) = ended(&mut keeping(program, &folder, &["1", name]));
        assert!(said.is_empty(), "{said}");
        (lines, compiled)
    };
    let (same, compiled) = run(program, "same");
    assert!(compiled);
    assert_eq!(run(changed, "same"), (same, false));
    let (other, compiled) = run(program, "other");
    assert!(compiled);
    let (another, compiled) = run(changed, "other");
    assert!(compiled && other != another);
    assert_eq!(run(program, "other"), (other, false));
    assert_eq!(run(changed, "other"), (another, false));
    // Of these, one gives the constant its default: as good as not to give it.
    for name in ["relaxed", "constant", "default-constant"] {
        let (lines, compiled) = run(program, name);
        assert!(compiled, "{name}");
        assert_eq!(run(changed, name), (lines, false), "{name}");
    }
}

#[test]
fn many_threads_and_processes_compile_once() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-many").join("cache");
    // So that stage 2 is known, and is opened only to compile.
    let (warm, ..) = ended(&mut keeping(program, &folder, &["1", "other"]));
    assert!(warm[0].starts_with("other "));
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = keeping(program, &folder, &["64", "same"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
        })
        .collect();
    let mut results = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        results.push(String::from_utf8(output.stdout).expect("text"));
    }
    let compiled = results.iter().filter(|text| text.ends_with("compiled\n")).count();
    assert_eq!(compiled, 1, "{results:?}");
    let line = |text: &String| text.lines().next().expect("a line").to_owned();
    assert!(results.iter().all(|text| line(text) == line(&results[0])), "{results:?}");
}

#[test]
fn killed_processes_leave_nothing_wrong() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-killed").join("cache");
    let (right, ..) = ended(&mut keeping(program, &folder, &ALL));
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..100 {
        // So that there is something to compile.
        for entry in entries(&folder) {
            if random.bool() {
                fs::remove_file(entry).expect("it is there");
            }
        }
        let mut command = keeping(program, &folder, &ALL);
        let mut child = command.stdout(Stdio::null()).spawn().expect("started");
        std::thread::sleep(Duration::from_micros(random.u64(0..150_000)));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
    }
    let (lines, _, said) = ended(&mut keeping(program, &folder, &ALL));
    assert_eq!((lines, said.as_str()), (right, ""));
}

#[test]
fn damaged_entries_are_told_and_made_anew() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-damaged").join("cache");
    let (right, ..) = ended(&mut keeping(program, &folder, &ALL));
    let all = entries(&folder);
    for entry in &all {
        let mut bytes = fs::read(entry).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(entry, bytes).expect("it is ours");
    }
    let (lines, compiled, said) = ended(&mut keeping(program, &folder, &ALL));
    assert!(compiled && lines == right);
    assert_eq!(said.matches("is damaged: its checksum is wrong").count(), all.len(), "{said}");
    let (lines, compiled, said) = ended(&mut keeping(program, &folder, &ALL));
    assert!(!compiled && lines == right && said.is_empty(), "{said}");
}

#[test]
fn places_that_cannot_be_used_are_told_once() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-unusable");
    let (right, ..) = ended(keeping(program, &folder, &ALL).env("SCHISM_CACHE", "0"));
    let check = |command: &mut Command, expected: &str| {
        let (lines, compiled, said) = ended(command);
        assert!(compiled && lines == right);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check(&mut keeping(program, Path::new("/dev/null/kernels"), &ALL), "are not kept");
    check(&mut keeping(program, Path::new("here"), &ALL), "SCHISM_CACHE_DIR is `here`");
    let mut homeless = keeping(program, &folder, &ALL);
    for name in ["SCHISM_CACHE_DIR", "SCHISM_HOME", "XDG_CACHE_HOME", "HOME"] {
        homeless.env_remove(name);
    }
    // Stage 2 is not found by a home then.
    if std::env::var_os("SCHISM_JIT").is_some() {
        check(&mut homeless, "there is no home folder");
    }
    // Nothing can be written: to a folder as to a file, and beyond the limit for files.
    let read_only = folder.join("read-only");
    fs::create_dir_all(read_only.join("lock")).expect("a folder can be made");
    check(&mut keeping(program, &read_only, &ALL), "not kept for now");
    let limited = keeping(program, &folder.join("limited"), &ALL);
    let mut shell = clean_command("sh");
    shell.args(["-c", "ulimit -f 0 && exec \"$@\"", "sh"]).arg(limited.get_program());
    shell.args(limited.get_args());
    for (name, value) in limited.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    check(&mut shell, "not kept for now");
}

#[test]
fn another_stage_2_compiles_anew() {
    let Some(lab) = lab() else { return };
    let Some(library) = std::env::var_os("SCHISM_JIT").map(PathBuf::from) else {
        schism_tests::skip::lacks(schism_tests::skip::STAGE2);
        return;
    };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-stage-2");
    let cache = folder.join("cache");
    let run = |library: &Path| {
        let (lines, compiled, said) =
            ended(keeping(program, &cache, &["1", "same"]).env("SCHISM_JIT", library));
        assert!(said.is_empty(), "{said}");
        (lines, compiled)
    };
    let (right, compiled) = run(&library);
    assert!(compiled);
    // A copy is the same.
    let copy = folder.join("libschism_jit.so");
    let mut bytes = fs::read(&library).expect("stage 2 can be read");
    fs::write(&copy, &bytes).expect("a file can be written");
    assert_eq!(run(&copy), (right.clone(), false));
    // One with another build id is another.
    let header = bytes
        .windows(16)
        .position(|window| window[..4] == [4, 0, 0, 0] && window[8..] == *b"\x03\0\0\0GNU\0");
    let id = header.expect("stage 2 has a build id") + 16;
    bytes[id] ^= 1;
    fs::write(&copy, &bytes).expect("a file can be written");
    assert_eq!(run(&copy), (right.clone(), true));
    assert_eq!(run(&copy), (right.clone(), false));
    assert_eq!(run(&library), (right, false));
}

#[test]
fn the_size_on_disk_is_bounded() {
    let Some(lab) = lab() else { return };
    let [program, _] = programs(lab);
    let folder = lab.folder("kept-bounded").join("cache");
    let (right, ..) = ended(keeping(program, &folder, &ALL).env("SCHISM_CACHE_SIZE", "20K"));
    let size = entries(&folder).len();
    assert!((1..=5).contains(&size), "{size} entries of 4 KiB or more in 20 KiB");
    let (lines, _, said) = ended(keeping(program, &folder, &ALL).env("SCHISM_CACHE_SIZE", "20K"));
    assert!(lines == right && said.is_empty(), "{said}");
    let (lines, _, said) =
        ended(keeping(program, &folder, &ALL).env("SCHISM_CACHE_SIZE", "little"));
    assert!(lines == right && said.contains("SCHISM_CACHE_SIZE is `little`"), "{said}");
}
