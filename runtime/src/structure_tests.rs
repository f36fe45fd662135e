//! Tests of how the sources are divided: what docs/architecture.md says of them.

use std::fs;
use std::path::{Path, PathBuf};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files of a folder, but for tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The lines of code of a file, without comments and tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default())
}

/// The files of `code/` that a launch passes through, in their order: the rows of a table.
fn path_of_a_launch() -> Vec<String> {
    let page = read(&at("../docs/architecture.md"));
    let table = page.split("**The path of a launch**").nth(1).expect("the paragraph");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).expect("a file's name").to_owned()).collect()
}

#[test]
fn a_launch_goes_one_way_through_few_files() {
    let files = path_of_a_launch();
    assert!((2..=5).contains(&files.len()), "{files:?}");
    let mut returns = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let text = read(&at("src/code").join(file));
        for line in code(&text) {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.any(|word| word == "return") {
                returns.push(format!("{file}: {}", line.trim()));
            }
            for earlier in &files[..=number] {
                let earlier = earlier.trim_end_matches(".rs");
                let is_named = line.contains(&format!("code::{earlier}::"));
                assert!(!is_named, "{file} uses {earlier}: {line}");
            }
        }
    }
    assert!(returns.len() <= 3, "{returns:#?}");
}

#[test]
fn kinds_of_devices_are_distinguished_in_one_file() {
    let mut files = Vec::new();
    for folder in ["src", "stdpar/src"] {
        sources(&at(folder), &mut files);
    }
    for file in files.iter().filter(|file| !file.ends_with("hal/dispatch.rs")) {
        let text = read(file);
        let found = code(&text).find(|line| line.contains("DeviceKind::"));
        assert_eq!(found, None, "{}", file.display());
    }
}

#[test]
fn one_file_reads_the_environment() {
    let mut files = Vec::new();
    for folder in ["src", "stdpar/src"] {
        sources(&at(folder), &mut files);
    }
    for file in files.iter().filter(|file| !file.ends_with("util/variables.rs")) {
        let text = read(file);
        for reading in ["env::var", "trust::variable(\"SCHISM", "from_environment(&"] {
            let found = code(&text).find(|line| line.contains(reading));
            assert_eq!(found, None, "{}", file.display());
        }
    }
}
