//! Records in real files, made by the compiler and the linker.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use schism_hcf::{Container, Problem, records, sections_of_file};

use crate::support;

/// A folder with a library that holds one record, and a program that holds another and uses the
/// library.
struct Build {
    dir: PathBuf,
}

impl Build {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&dir).unwrap();
        for name in ["library", "program"] {
            fs::write(dir.join(format!("{name}.hcf")), container(name).to_record().unwrap())
                .unwrap();
        }
        let record = |name: &str| {
            let len = container(name).to_record().unwrap().len();
            format!(
                "#[repr(align(16))] pub struct Record([u8; {len}]);
                #[used] #[unsafe(link_section = \"hcf\")]
                pub static RECORD: Record = Record(*include_bytes!(\"{name}.hcf\"));"
            )
        };
        fs::write(dir.join("library.rs"), record("library")).unwrap();
        let main = "fn main() { std::hint::black_box(&library::RECORD); }";
        fs::write(dir.join("program.rs"), record("program") + main).unwrap();
        fs::write(dir.join("empty.rs"), "pub fn f() {}").unwrap();
        Self { dir }
    }

    /// The bytes of what `rustc` makes.
    fn rustc(&self, arguments: &[&str], output: &str) -> Vec<u8> {
        let result = Command::new("rustc")
            .current_dir(&self.dir)
            .args(["--edition=2024", "-L.", "-o", output])
            .args(arguments)
            .output()
            .unwrap();
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        fs::read(self.dir.join(output)).unwrap()
    }
}

fn container(name: &str) -> Container {
    Container { crate_name: name.into(), ..support::sample() }
}

/// The crates whose records a file has; sorted.
fn crates(file: &[u8]) -> Vec<String> {
    let mut crates = Vec::new();
    for section in sections_of_file(file).unwrap() {
        assert_eq!(&file[section.offset..][..section.data.len()], section.data);
        for record in records(section.data) {
            crates.push(record.unwrap().crate_name().to_owned());
        }
    }
    crates.sort();
    crates
}

#[test]
fn records_are_found_wherever_the_linker_puts_them() {
    let build = Build::new("linked");
    let rlib = build.rustc(&["--crate-type=rlib", "library.rs"], "liblibrary.rlib");
    assert_eq!(crates(&rlib), ["library"]);
    let sections = sections_of_file(&rlib).unwrap();
    assert!(sections[0].member.as_ref().is_some_and(|name| name.ends_with(".o")), "{sections:?}");

    let object = build.rustc(&["--crate-type=lib", "--emit=obj", "library.rs"], "library.o");
    assert_eq!(crates(&object), ["library"]);
    assert_eq!(sections_of_file(&object).unwrap()[0].member, None);

    let library = build.rustc(&["--crate-type=cdylib", "library.rs"], "liblibrary.so");
    assert_eq!(crates(&library), ["library"]);

    let program = build.rustc(&["--extern=library", "program.rs", "-Cstrip=symbols"], "program");
    assert_eq!(crates(&program), ["library", "program"]);
    assert_eq!(sections_of_file(&program).unwrap().len(), 1);
}

#[test]
fn files_without_records_have_no_sections() {
    let build = Build::new("empty");
    let rlib = build.rustc(&["--crate-type=rlib", "empty.rs"], "libempty.rlib");
    assert_eq!(sections_of_file(&rlib), Ok(vec![]));
    let library = build.rustc(&["--crate-type=cdylib", "empty.rs"], "libempty.so");
    assert_eq!(sections_of_file(&library), Ok(vec![]));
}

#[test]
fn a_record_is_a_file_too() {
    let record = support::sample().to_record().unwrap();
    let sections = sections_of_file(&record).unwrap();
    assert_eq!((sections.len(), sections[0].offset, sections[0].data), (1, 0, &record[..]));
}

#[test]
fn other_files_are_errors() {
    let problem = |file: &[u8]| sections_of_file(file).unwrap_err().problem().clone();
    assert_eq!(problem(b""), Problem::UnknownFile);
    assert_eq!(
        problem(b"#!/bin/sh\necho this is a script and not a program\n"),
        Problem::UnknownFile
    );
    assert_eq!(problem(b"MZ\x90\0, more or less"), Problem::UnknownFile);
    let member = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a.o/", 0, 0, 0, 644, 1616);
    let thin = problem(format!("!<thin>\n{member}").as_bytes());
    assert!(matches!(&thin, Problem::BrokenFile(why) if why.contains("thin")), "{thin:?}");
    assert!(matches!(problem(b"!<arch>\nnonsense"), Problem::BrokenFile(_)));
    assert!(matches!(problem(b"\x7fELF\x02\x01\x01 and no more"), Problem::BrokenFile(_)));
}

#[test]
fn damaged_files_do_no_harm() {
    let build = Build::new("damaged");
    let object = build.rustc(&["--crate-type=lib", "--emit=obj", "library.rs"], "library.o");
    let rlib = build.rustc(&["--crate-type=rlib", "library.rs"], "liblibrary.rlib");
    for file in [object, rlib] {
        for len in (0..file.len()).step_by(file.len() / 500) {
            support::exercise_file(&file[..len]);
        }
        let mut damaged = file.clone();
        for at in (0..file.len()).step_by(file.len() / 2000) {
            damaged[at] ^= 0xFF;
            support::exercise_file(&damaged);
            damaged[at] = file[at];
        }
    }
}
