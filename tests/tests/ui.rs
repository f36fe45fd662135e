//! Diagnostics: each program of `ui/` must be refused with the text in the file of the same name
//! that ends in `.stderr`. Those of `ui/accepted/` compile; such a file has what they are warned
//! of, and a line `// SCHISM_WARN=perf` in the program says what to ask for. `BLESS=1` writes these
//! files; look at what it writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use schism_tests::lab::{Lab, describe, each, output, source};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Takes out of rustc's output what depends on the machine: paths, and the places and texts of
/// lines that are not the program's own.
fn normalise(text: &str, folder: &Path) -> String {
    let repository = schism_tests::lab::workspace();
    let text = text
        .replace(&format!("{}/", folder.display()), "")
        .replace(&repository.display().to_string(), "$SCHISM");
    let mut lines: Vec<String> = Vec::new();
    let mut in_other_file = false;
    for line in text.lines() {
        if let Some((arrow, place)) = line.split_once("--> ").or_else(|| line.split_once("::: ")) {
            // The runtime's paths are relative to where it was compiled.
            let of_runtime = place.starts_with("$SCHISM") || place.starts_with("runtime/src/");
            in_other_file = of_runtime || place.starts_with('/');
            if in_other_file {
                let mark = if line.contains("-->") { "-->" } else { ":::" };
                let place = match place.split_once("/library/") {
                    Some((_, place)) if place.starts_with(|c: char| c.is_alphabetic()) => {
                        format!("$STD/{place}")
                    }
                    _ => place.to_owned(),
                };
                let file = place.split(':').next().expect("split gives at least one piece");
                lines.push(format!("{}{mark} {file}", arrow.trim_end().to_owned() + " "));
                continue;
            }
        }
        // Source lines of the runtime and of the standard library, with their markers.
        let gutter = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let of_source = gutter.trim_start().starts_with('|') || gutter.trim_start() == "...";
        if in_other_file && (of_source || line.trim_start().starts_with("= ")) {
            if of_source {
                continue;
            }
            in_other_file = false;
        } else if !of_source {
            in_other_file = false;
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The first line in which two texts differ, for the message.
fn difference(expected: &str, found: &str) -> String {
    let pair = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    pair.map_or_else(
        || "one is the beginning of the other".to_owned(),
        |(expected, found)| format!("expected: {expected}\n   found: {found}"),
    )
}

/// As in cargo's profiles `dev` and `release`: the second without debug information, and with MIR's
/// own inlining.
const BUILDS: [(&[&str], &str); 2] =
    [(&["-Cdebuginfo=2"], "stderr"), (&["-Copt-level=3"], "optimised.stderr")];

/// Compiles one program: all of code generation, as the plugin looks at it, and no link.
fn compiler(lab: &Lab, folder: &Path, work: &Path, program: &Path, flags: &[&str]) -> Command {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.args(["--emit=obj", "--color=never", "-Ccodegen-units=1", "--out-dir"]).arg(work);
    rustc.args(flags).arg(program);
    // For what has no stable form.
    if is_unstable(program) {
        rustc.env("RUSTC_BOOTSTRAP", "1");
    }
    rustc
}

/// Whether a program says that it uses what is not stable, in its first line.
fn is_unstable(program: &Path) -> bool {
    let source = std::fs::read_to_string(program).expect("a readable file");
    source.starts_with("// RUSTC_BOOTSTRAP=1\n")
}

/// Compares what the compiler says of a program with the file beside the program, or writes that
/// file. Gives a text for people if they differ.
fn compare(program: &Path, ending: &str, found: &str) -> Option<String> {
    let first = program.with_extension("stderr");
    let own = program.with_extension(ending);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        // Where optimisation changes the text, the program has a second one.
        let is_first = own == first;
        let known = std::fs::read_to_string(&first).unwrap_or_default();
        if is_first && found.is_empty() || !is_first && known == found {
            let _ = std::fs::remove_file(&own);
        } else {
            std::fs::write(&own, found).expect("a writable file");
        }
        return None;
    }
    let file = if own.exists() { own } else { first };
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    // A program of which nothing is said has no file.
    if expected == found {
        return None;
    }
    let difference = difference(&expected, found);
    Some(format!("{}\n{difference}\n\n{found}", file.display()))
}

/// What went wrong, of all programs.
#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Failures {
    fn add(&self, failure: Option<String>) {
        self.0.lock().expect("no panic").extend(failure);
    }

    fn expect_none(self) {
        let failures = self.0.into_inner().expect("no panic");
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    }
}

/// What a program's source says of `SCHISM_WARN`.
fn warnings(program: &Path) -> String {
    let source = std::fs::read_to_string(program).expect("a readable file");
    let word = source.lines().find_map(|line| line.strip_prefix("// SCHISM_WARN="));
    word.unwrap_or_default().to_owned()
}

#[test]
fn what_is_dead_or_fine_is_not_refused_and_what_is_slow_is_warned_of() {
    let Some(lab) = lab() else { return };
    let folder = source("ui").join("accepted");
    let work = lab.folder("ui-accepted");
    lab.runtime();
    let failures = Failures::default();
    let warned = AtomicUsize::new(0);
    each(programs(&folder), |program| {
        for (flags, ending) in BUILDS {
            let mut rustc = compiler(lab, &folder, &work, &program, flags);
            rustc.env("SCHISM_WARN", warnings(&program));
            let ended = output(&mut rustc);
            assert!(ended.status.success(), "{}", describe(&rustc, &ended));
            let found = normalise(&String::from_utf8_lossy(&ended.stderr), &folder);
            failures.add(compare(&program, ending, &found));
            if found.is_empty() {
                continue;
            }
            warned.fetch_add(1, Ordering::Relaxed);
            let ended = output(rustc.env("SCHISM_WARN", "off"));
            assert!(ended.stderr.is_empty(), "{}", describe(&rustc, &ended));
        }
    });
    failures.expect_none();
    let warned = warned.into_inner();
    assert!(warned >= 6, "{warned} warnings");
}

#[test]
fn a_word_that_asks_for_no_warnings_known_is_a_warning() {
    let Some(lab) = lab() else { return };
    let folder = source("ui").join("accepted");
    let program = folder.join("hints.rs");
    let mut rustc = compiler(lab, &folder, &lab.folder("ui-word"), &program, &[]);
    let ended = output(rustc.env("SCHISM_WARN", "everything"));
    assert!(ended.status.success(), "{}", describe(&rustc, &ended));
    let text = String::from_utf8_lossy(&ended.stderr);
    let words = "warning: SCHISM_WARN: `everything` is none of `off`, `on` and `perf`";
    assert!(text.contains(words), "{}", describe(&rustc, &ended));
}

/// The programs in a folder, in order.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of programs")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    programs.sort();
    programs
}

#[test]
fn programs_are_refused_with_a_text_that_helps() {
    let Some(lab) = lab() else { return };
    let folder = source("ui");
    let work = lab.folder("ui");
    let programs = programs(&folder);
    assert!(programs.len() > 10, "{} programs", programs.len());
    lab.runtime();
    let failures = Failures::default();
    each(&programs, |program| {
        for (flags, ending) in BUILDS {
            let mut rustc = compiler(lab, &folder, &work, program, flags);
            let ended = output(&mut rustc);
            if ended.status.code() != Some(1) {
                let words = describe(&rustc, &ended);
                failures.add(Some(format!("this should fail with errors: {words}")));
                continue;
            }
            let object = program.with_extension("o");
            let object = work.join(object.file_name().expect("a file has a name"));
            assert!(!object.exists(), "{} is left behind", object.display());
            let found = normalise(&String::from_utf8_lossy(&ended.stderr), &folder);
            failures.add(compare(program, ending, &found));
        }
    });
    failures.expect_none();
}

/// `cargo check` makes no code, and yet says of each program what a build says.
#[test]
fn a_check_says_of_kernels_what_a_build_says() {
    let Some(lab) = lab() else { return };
    lab.runtime();
    let failures = Failures::default();
    for (folder, status) in [(source("ui"), 1), (source("ui").join("accepted"), 0)] {
        let work = lab.folder("ui-check");
        each(programs(&folder), |program| {
            let mut rustc = lab.rustc_with_runtime(&folder);
            rustc.args(["--emit=metadata", "--color=never", "-Cdebuginfo=2", "--out-dir"]);
            rustc.arg(&work).arg(&program).env("SCHISM_WARN", warnings(&program));
            if is_unstable(&program) {
                rustc.env("RUSTC_BOOTSTRAP", "1");
            }
            let ended = output(&mut rustc);
            if ended.status.code() != Some(status) {
                failures.add(Some(format!("not as a build: {}", describe(&rustc, &ended))));
                return;
            }
            let found = normalise(&String::from_utf8_lossy(&ended.stderr), &folder);
            let expected = std::fs::read_to_string(program.with_extension("stderr"));
            let expected = expected.unwrap_or_default();
            if expected != found {
                let difference = difference(&expected, &found);
                let file = program.display();
                failures.add(Some(format!("{file}\n{difference}\n\n{found}")));
            }
        });
    }
    failures.expect_none();
}

#[test]
fn the_programs_are_sound_but_for_their_captures() {
    let Some(lab) = lab() else { return };
    // Plain rustc takes them all: what is refused is refused for the device's sake. `check` only,
    // against the runtime as the stock compiler sees it.
    let folder = lab.folder("ui-plain");
    let mut manifest = String::from(
        "[package]\nname = \"plain\"\nversion = \"1.0.0\"\nedition = \"2024\"\nautobins = false\n\
         [dependencies]\n@BARE_RUNTIME@\n[workspace]\n",
    );
    for entry in std::fs::read_dir(source("ui")).expect("the folder of programs") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        // These are refused by what plain rustc knows as well.
        let refused = [
            "element_reference",
            "element_function_pointer",
            "capture_pointer",
            "capture_rc",
            "capture_implemented",
            "capture_sum",
            "kernel_calls_host",
            "group_share_twice",
            "group_value_of_other_types",
            "source_borrowed_twice",
            "source_of_groups",
            "source_of_nothing",
            "view_index",
        ]
        .contains(&&*name);
        let is_program = path.extension().is_some_and(|extension| extension == "rs");
        if is_program && !refused && !is_unstable(&path) {
            manifest += &format!("[[bin]]\nname = {name:?}\npath = {path:?}\n");
        }
    }
    lab.project(&folder, &[("Cargo.toml", &manifest)]);
    let mut cargo = lab.cargo(schism_tests::lab::Compiler::Stock, &folder);
    // What has not changed since an earlier run was checked by it: only success is remembered.
    cargo.env("CARGO_TARGET_DIR", folder.with_extension("target"));
    cargo.args(["check", "--offline", "--quiet"]);
    let ended = output(&mut cargo);
    assert!(ended.status.success(), "{}", describe(&cargo, &ended));
}
