//! Diagnostics: each program of `ui/` must be refused with the text in the file of the same name that
//! ends in `.stderr`. `BLESS=1` writes these files; look at what it writes.

use std::path::{Path, PathBuf};

use schism_tests::lab::{Lab, describe, output, source};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Takes out of rustc's output what depends on the machine: paths, and the places and texts of lines
/// that are not the program's own.
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
    lines.join("\n") + "\n"
}

/// The first line in which two texts differ, for the message.
fn difference(expected: &str, found: &str) -> String {
    let pair = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    pair.map_or_else(
        || "one is the beginning of the other".to_owned(),
        |(expected, found)| format!("expected: {expected}\n   found: {found}"),
    )
}

#[test]
fn programs_are_refused_with_a_text_that_helps() {
    let Some(lab) = lab() else { return };
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let folder = source("ui");
    let work = lab.folder("ui");
    let mut programs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of programs")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    programs.sort();
    assert!(programs.len() > 10, "{} programs", programs.len());
    let mut failures = Vec::new();
    for program in &programs {
        let mut rustc = lab.rustc_with_runtime(&folder);
        // All of code generation, as the plugin looks at it, and no link.
        rustc.args(["--emit=obj", "--color=never", "-Ccodegen-units=1", "--out-dir"]).arg(&work);
        // As in cargo's `dev` profile: with it come the places of what kernels call.
        rustc.arg("-Cdebuginfo=2");
        rustc.arg(program.file_name().expect("a file has a name"));
        let ended = output(&mut rustc);
        if ended.status.code() != Some(1) {
            failures.push(format!("this should fail with errors: {}", describe(&rustc, &ended)));
            continue;
        }
        let found = normalise(&String::from_utf8_lossy(&ended.stderr), &folder);
        let file = program.with_extension("stderr");
        if bless {
            std::fs::write(&file, &found).expect("a writable file");
            continue;
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        if expected != found {
            let difference = difference(&expected, &found);
            failures.push(format!("{}\n{difference}\n\n{found}", program.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_programs_are_sound_but_for_their_captures() {
    let Some(lab) = lab() else { return };
    // Plain rustc takes them all: what is refused is refused for the device's sake. `check` only,
    // against the runtime as the stock compiler sees it.
    let folder = lab.folder("ui-plain");
    let mut manifest = String::from(
        "[package]\nname = \"plain\"\nversion = \"1.0.0\"\nedition = \"2024\"\nautobins = false\n\
         [dependencies]\n@RUNTIME@\n[workspace]\n",
    );
    for entry in std::fs::read_dir(source("ui")).expect("the folder of programs") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        // These are refused by what plain rustc knows as well.
        let refused = ["element_reference", "capture_pointer", "capture_rc"].contains(&&*name);
        if path.extension().is_some_and(|extension| extension == "rs") && !refused {
            manifest += &format!("[[bin]]\nname = {name:?}\npath = {path:?}\n");
        }
    }
    lab.project(&folder, &[("Cargo.toml", &manifest)]);
    let mut cargo = lab.cargo(schism_tests::lab::Compiler::Stock, &folder);
    cargo.args(["check", "--offline", "--quiet"]);
    let ended = output(&mut cargo);
    assert!(ended.status.success(), "{}", describe(&cargo, &ended));
}
