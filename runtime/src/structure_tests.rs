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
