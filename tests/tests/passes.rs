//! Passes over IR files: `passes/<pass>/*.ll`, one case each.
//!
//! The folder names the pass. `; SPEC` comments say what stage 1 would tell it; see
//! [`schism_passes::spec::text`]. A comment `; RUN: pass,pass` runs other passes before or after
//! it, and `; EMIT: assembly` asks for the assembly of the processor that the file's triple names.
//! What is checked is the IR that comes out, or the text of what a pass refuses, and then
//! `end of violations`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use schism_passes::opt::{self, OptError};
use schism_passes::{pipeline, registry};
use schism_tests::filecheck;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("passes")
}

/// The entries of a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name in Unicode")
}

#[test]
fn every_pass_has_a_folder_and_every_folder_a_pass() {
    let folders: BTreeSet<String> =
        entries(&folder()).iter().map(|path| name(path).to_owned()).collect();
    let passes: BTreeSet<String> = registry::PASSES
        .iter()
        .map(|pass| pass.name)
        .chain(pipeline::PIPELINES.iter().map(|(name, _)| *name))
        .map(str::to_owned)
        .collect();
    assert_eq!(folders, passes);
}

#[test]
fn every_file() {
    let mut failures = String::new();
    let mut cases = 0;
    for folder in entries(&folder()) {
        let files = entries(&folder);
        assert!(!files.is_empty(), "{} has no case", folder.display());
        for file in files {
            cases += 1;
            let source = std::fs::read_to_string(&file).expect("a readable file");
            let passes = source.lines().find_map(|line| line.strip_prefix("; RUN: "));
            let passes = passes.unwrap_or_else(|| name(&folder));
            assert!(
                passes.split(',').any(|pass| pass == name(&folder)),
                "{} does not run the pass of its folder",
                file.display()
            );
            let output = output(&source, passes);
            assert_eq!(output, self::output(&source, passes), "{} twice", file.display());
            if let Err(message) = filecheck::check(&source, &output) {
                writeln!(failures, "{}:\n{message}\n\noutput:\n{output}", file.display())
                    .expect("writing to a string");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
    println!("{cases} cases");
}

/// The IR that comes out, or the text of what the passes refuse.
fn output(source: &str, passes: &str) -> String {
    let run = if source.lines().any(|line| line == "; EMIT: assembly") {
        opt::run_to_assembly
    } else {
        opt::run
    };
    let result = opt::read(source.as_bytes(), &[]).and_then(|input| run(&input, passes));
    match result {
        Ok(text) => text + "end of violations\n",
        Err(error @ OptError::Passes(_)) => format!("{error}\nend of violations\n"),
        Err(error) => panic!("{error}\n{source}"),
    }
}

#[test]
fn what_cannot_be_run_is_an_error_that_says_why() {
    let run = |source: &[u8], passes: &str| {
        let result = opt::read(source, &[]).and_then(|input| opt::run(&input, passes));
        result.expect_err("an error")
    };
    let valid: &[u8] = b"define void @f() {\n  ret void\n}\n";
    let unknown = run(valid, "lower-unwind,simplfy");
    assert!(matches!(unknown, OptError::Unknown(_)));
    assert!(unknown.to_string().contains("did you mean `simplify`?"), "{unknown}");
    for unreadable in [&b"define void @f( {"[..], b"BC\xC0\xDE and no more", b"\0", b"hello"] {
        let error = run(unreadable, "lower-unwind");
        assert!(matches!(error, OptError::Parse(_)), "{error}");
    }
    let breaks_a_rule = b"define i32 @f() {\n  ret void\n}\n";
    assert!(matches!(
        run(breaks_a_rule, "lower-unwind"),
        OptError::Parse(_) | OptError::Invalid(_)
    ));
    let error = run(b"; SPEC kernel: k\n", "lower-unwind");
    assert!(matches!(error, OptError::Spec(_)), "{error}");
}

#[test]
fn bitcode_goes_in_and_out() {
    let source = b"define void @f() {\n  ret void\n}\n";
    let input = opt::read(source, &[]).expect("no SPEC lines");
    let bitcode = opt::run_to_bitcode(&input, "lower-unwind").expect("bitcode");
    let spec = ["kernel: f entry 0 1".to_owned()];
    let again = opt::read(&bitcode, &spec).expect("a line that is understood");
    let text = opt::run(&again, "kernel-reachability").expect("readable bitcode");
    assert!(text.contains("define void @f()"), "{text}");
}
