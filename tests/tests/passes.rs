//! Passes over IR files: `passes/<pass>/*.ll`, a test for each, by the name of its folder and file.
//!
//! The folder names the pass. `; SPEC` comments say what stage 1 would tell it; see
//! [`schism_passes::spec::text`]. A comment `; RUN: pass,pass` runs other passes before or after
//! it, and `; EMIT: assembly` asks for the assembly of the processor that the file's triple names.
//! What is checked is the IR that comes out, or the text of what a pass refuses, and then
//! `end of violations`. In a file without expectations, `BLESS=1` writes all of that output.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schism_passes::opt::{self, Input, OptError};
use schism_passes::{pipeline, registry};
use schism_tests::filecheck::{
    self,
    bless::{WRITTEN, bless},
};
use schism_tests::harness::{self, Trial};

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

fn main() -> ExitCode {
    let mut trials = vec![
        Trial::new("every_pass_has_a_folder_and_every_folder_a_pass", folders_are_passes),
        Trial::new("every_pass_has_a_file_that_it_changes_and_one_that_it_leaves", both_kinds),
        Trial::new("what_cannot_be_run_is_an_error_that_says_why", errors_say_why),
        Trial::new("bitcode_goes_in_and_out", bitcode),
    ];
    for folder in entries(&folder()) {
        for file in entries(&folder) {
            let case = format!("{}/{}", name(&folder), name(&file));
            trials.push(Trial::new(case, move || check(&Case::read(&file))));
        }
    }
    harness::run(trials)
}

/// A file.
struct Case {
    path: PathBuf,
    /// The name of its folder.
    pass: String,
    source: String,
    /// What is run.
    passes: String,
}

impl Case {
    fn read(path: &Path) -> Self {
        let source = std::fs::read_to_string(path).expect("a readable file");
        let pass = path.parent().map(name).unwrap_or_default().to_owned();
        let passes = source.lines().find_map(|line| line.strip_prefix("; RUN: "));
        let passes = passes.unwrap_or(&pass).to_owned();
        Self { path: path.to_owned(), pass, source, passes }
    }

    /// What the tests check.
    fn output(&self) -> String {
        if self.source.lines().any(|line| line == "; EMIT: assembly") {
            return output(&self.source, &self.passes, opt::run_to_assembly);
        }
        output(&self.source, &self.passes, opt::run)
    }

    /// The module without the pass of the folder, and with it.
    fn before_and_after(&self) -> (String, String) {
        let others = self.passes.split(',').map(str::trim).filter(|pass| *pass != self.pass);
        let others = others.collect::<Vec<_>>().join(",");
        (output(&self.source, &others, opt::run), output(&self.source, &self.passes, opt::run))
    }
}

/// Runs a file, and checks or writes its expectations.
fn check(case: &Case) -> Result<(), String> {
    if !case.passes.split(',').any(|pass| pass.trim() == case.pass) {
        return Err("the pass of the folder is not in `RUN`".to_owned());
    }
    let output = case.output();
    if output != case.output() {
        return Err("two runs give different outputs".to_owned());
    }
    let result = filecheck::check(&case.source, &output);
    let blesses = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    if result.is_err()
        && blesses
        && let Some(text) = bless(&case.source, &output)
    {
        std::fs::write(&case.path, text).expect("a writable file");
        return Ok(());
    }
    let hint = if case.source.contains(WRITTEN) { "\nBLESS=1 writes what is expected" } else { "" };
    result.map_err(|why| format!("{}:\n{why}{hint}\n\noutput:\n{output}", case.path.display()))
}

fn folders_are_passes() -> Result<(), String> {
    let folders: BTreeSet<String> =
        entries(&folder()).iter().map(|path| name(path).to_owned()).collect();
    let passes: BTreeSet<String> = registry::PASSES
        .iter()
        .map(|pass| pass.name)
        .chain(pipeline::PIPELINES.iter().map(|(name, _)| *name))
        .map(str::to_owned)
        .collect();
    assert_eq!(folders, passes);
    Ok(())
}

/// Passes that leave no file as it is: `call-sites` marks each instruction.
const CHANGE_EVERY_FILE: &[&str] = &["call-sites"];

/// A pass changes one of its files at least, and leaves another one.
fn both_kinds() -> Result<(), String> {
    let mut lacks = Vec::new();
    for pass in registry::PASSES {
        let cases = entries(&folder().join(pass.name));
        let cases: Vec<_> = cases.iter().map(|path| Case::read(path)).collect();
        let outputs: Vec<_> = cases.iter().map(Case::before_and_after).collect();
        // Of a pass that only says something, what is said; of others the IR.
        let changes_ir = outputs.iter().any(|(before, after)| ir(before) != ir(after));
        let is_left = |(before, after): &(String, String)| {
            if changes_ir { ir(before) == ir(after) } else { before == after }
        };
        if outputs.iter().all(is_left) {
            return Err(format!("{} changes none of its files", pass.name));
        }
        lacks.extend((!outputs.iter().any(is_left)).then_some(pass.name));
    }
    assert_eq!(lacks, CHANGE_EVERY_FILE, "passes without a file that they leave as it is");
    Ok(())
}

/// A module's text without what passes say of it.
fn ir(output: &str) -> String {
    let lines = output.lines().filter(|line| !line.starts_with(';'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The output of passes, or the text of what they refuse.
fn output(
    source: &str,
    passes: &str,
    run: impl FnOnce(&Input, &str) -> Result<String, OptError>,
) -> String {
    let result = opt::read(source.as_bytes(), &[]).and_then(|input| run(&input, passes));
    match result {
        Ok(text) => text + "end of violations\n",
        Err(error @ OptError::Passes(_)) => format!("{error}\nend of violations\n"),
        Err(error) => panic!("{error}\n{source}"),
    }
}

fn errors_say_why() -> Result<(), String> {
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
    Ok(())
}

fn bitcode() -> Result<(), String> {
    let source = b"define void @f() {\n  ret void\n}\n";
    let input = opt::read(source, &[]).expect("no SPEC lines");
    let bitcode = opt::run_to_bitcode(&input, "lower-unwind").expect("bitcode");
    let spec = ["kernel: f entry 0 1".to_owned()];
    let again = opt::read(&bitcode, &spec).expect("a line that is understood");
    let text = opt::run(&again, "kernel-reachability").expect("readable bitcode");
    assert!(text.contains("define void @f()"), "{text}");
    Ok(())
}
