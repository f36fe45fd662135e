//! The compilers that Debian builds, and the distributions that take its packages.
//!
//! The package `rust-src` has the compiler's source as the distribution built it, with its patches
//! applied, and the patches themselves. They also change manifests of crates from crates.io: the
//! feature `pure` of blake3, no crates for Windows. Features and dependencies go into a crate's id,
//! so the crates are fetched (`cargo vendor`), the same patches are applied to their manifests, and
//! cargo takes them from there.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::progress;
use crate::toolchain::Toolchain;

/// Where the package `rust-src` has its patches.
pub const PATCHES: &str = "debian/patches";

/// How the distribution's rules configure the compiler, where that determines the ids: full debug
/// information, and as many codegen units as cargo likes. The rest is as in rust-lang's releases.
pub const PROFILE: &[(&str, &str)] = &[
    ("DEBUG", "2"),
    ("DEBUG_ASSERTIONS", "false"),
    ("OVERFLOW_CHECKS", "false"),
    ("STRIP", "false"),
];

/// Whether a source is a distribution's.
pub fn is_source(root: &Path) -> bool {
    root.join(PATCHES).join("series").is_file()
}

/// Gives the source in `root` the patched crates that it was built with. What an interrupted
/// set-up has left is made anew.
pub fn vendor(toolchain: &Toolchain, root: &Path) -> Result<()> {
    let config = root.join(".cargo/config.toml");
    if config.is_file() {
        return Ok(());
    }
    let folder = root.join("vendor");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).at("remove", &folder)?;
    }
    progress::step("Fetching", "the crates that the compiler is built from, from crates.io");
    // With manifests that are not patched yet, cargo misses packages in the lock file and adds
    // them.
    let lock = root.join("Cargo.lock");
    let original = std::fs::read(&lock).at("read", &lock)?;
    let mut cargo = Command::new(&toolchain.cargo);
    environment::isolate(&mut cargo, toolchain);
    cargo.current_dir(root).env("RUSTC_BOOTSTRAP", "1");
    cargo.args(["vendor", "--quiet", "--versioned-dirs"]).arg(&folder);
    let fetched = command::capture(
        cargo,
        "to fetch the compiler's crates",
        "Install the cargo that belongs to the compiler.",
    );
    std::fs::write(&lock, original).at("write", &lock)?;
    fetched?;
    apply_series(root)?;
    for entry in std::fs::read_dir(&folder).at("list", &folder)? {
        forget_checksums(&entry.at("list", &folder)?.path().join(".cargo-checksum.json"))?;
    }
    let text = "[source.crates-io]\nreplace-with = \"vendored\"\n\n\
                [source.vendored]\ndirectory = \"vendor\"\n";
    crate::publish::write_file(&config, text.as_bytes())
}

/// Keeps a crate's own checksum, which the lock file names, and drops those of its files, as the
/// manifest is another now.
fn forget_checksums(path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).at("read", path)?;
    let (_, package) = text.rsplit_once("\"package\":").unwrap_or(("", "null}"));
    std::fs::write(path, format!("{{\"files\":{{}},\"package\":{package}")).at("write", path)
}

/// Applies the distribution's patches, in order, to the manifests that are there.
fn apply_series(root: &Path) -> Result<()> {
    let folder = root.join(PATCHES);
    let series = folder.join("series");
    let names = std::fs::read_to_string(&series).at("read", &series)?;
    let names = names.lines().map(str::trim).filter(|name| !name.is_empty());
    for name in names.filter(|name| !name.starts_with('#')) {
        let patch = folder.join(name);
        let text = std::fs::read_to_string(&patch).at("read", &patch)?;
        for change in changes(&text) {
            let file = root.join(change.file);
            if !change.file.starts_with("vendor/")
                || !change.file.ends_with("/Cargo.toml")
                || !file.is_file()
            {
                continue;
            }
            let before = std::fs::read_to_string(&file).at("read", &file)?;
            let after = change
                .applied(&before)
                .ok_or_else(|| Error::Patch { patch: patch.clone(), file: file.clone() })?;
            std::fs::write(&file, after).at("write", &file)?;
        }
    }
    Ok(())
}

/// What a patch does to one file.
struct Change<'p> {
    /// The file, without the first folder of its path.
    file: &'p str,
    /// The lines of each hunk, with ` `, `-` or `+` in front.
    hunks: Vec<Vec<&'p str>>,
}

/// Reads a unified diff.
fn changes(patch: &str) -> Vec<Change<'_>> {
    let mut changes: Vec<Change> = Vec::new();
    // How many lines of the hunk are still to come: of the old file, and of the new one.
    let mut left = (0, 0);
    for line in patch.lines() {
        if left != (0, 0) {
            match line.as_bytes().first() {
                Some(b'-') => left.0 -= 1,
                Some(b'+') => left.1 -= 1,
                Some(b'\\') => continue, // no line break at the end
                _ => left = (left.0 - 1, left.1 - 1),
            }
            if let Some(hunk) = changes.last_mut().and_then(|change| change.hunks.last_mut()) {
                hunk.push(line);
            }
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.split('\t').next().unwrap_or(path);
            let file = path.split_once('/').map_or(path, |(_, file)| file);
            changes.push(Change { file, hunks: Vec::new() });
        } else if let (Some(lengths), Some(change)) = (lengths(line), changes.last_mut()) {
            left = lengths;
            change.hunks.push(Vec::new());
        }
    }
    changes
}

/// `(7, 6)` of `@@ -38,7 +38,6 @@ …`.
fn lengths(line: &str) -> Option<(i64, i64)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut length = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

impl Change<'_> {
    /// The file after the change. `None` if some hunk's lines are not in it, one hunk after the
    /// other.
    fn applied(&self, text: &str) -> Option<String> {
        let mut lines: Vec<&str> = text.lines().collect();
        let mut from = 0;
        for hunk in &self.hunks {
            let side = |other: char| -> Vec<&str> {
                let lines = hunk.iter().filter(|line| !line.starts_with(other));
                lines.map(|line| line.get(1..).unwrap_or_default()).collect()
            };
            let (old, new) = (side('+'), side('-'));
            let rest = lines.get(from..)?;
            let at = from + rest.windows(old.len().max(1)).position(|lines| *lines == old)?;
            lines.splice(at..at + old.len(), new.iter().copied());
            from = at + new.len();
        }
        Some(lines.iter().flat_map(|line| [line, "\n"]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const PATCH: &str = "\
Subject: without windows
---
--- a/vendor/one-1.0.0/Cargo.toml
+++ b/vendor/one-1.0.0/Cargo.toml
@@ -1,4 +1,3 @@
 [features]
-default = [\"std\", \"win\"]
-win = []
+default = [\"std\"]
 std = []
@@ -9 +8 @@ [dependencies]
-a = \"1\"
+a = \"2\"
--- a/vendor/one-1.0.0/src/lib.rs
+++ b/vendor/one-1.0.0/src/lib.rs
@@ -1 +1 @@
-fn a() {}
+fn b() {}
--- a/compiler/x/Cargo.toml
+++ b/compiler/x/Cargo.toml
@@ -1 +1 @@
-absent
+there
";

    fn source(scratch: &Scratch, manifest: &str) {
        let write = |path: &str, text: &str| {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("debian/patches/series", "# a comment\n\nprune/windows.patch\n");
        write("debian/patches/prune/windows.patch", PATCH);
        write("vendor/one-1.0.0/Cargo.toml", manifest);
        write("vendor/one-1.0.0/src/lib.rs", "fn a() {}\n");
        write("compiler/x/Cargo.toml", "there\n");
    }

    #[test]
    fn manifests_of_crates_are_patched_and_nothing_else() {
        let scratch = Scratch::new("patches");
        source(
            &scratch,
            "# first\n[features]\ndefault = [\"std\", \"win\"]\nwin = []\nstd = []\n\n[dependencies]\na = \"1\"\n",
        );
        assert!(is_source(scratch.path()));
        apply_series(scratch.path()).unwrap();
        let read = |path: &str| std::fs::read_to_string(scratch.path().join(path)).unwrap();
        assert_eq!(
            read("vendor/one-1.0.0/Cargo.toml"),
            "# first\n[features]\ndefault = [\"std\"]\nstd = []\n\n[dependencies]\na = \"2\"\n"
        );
        assert_eq!(read("vendor/one-1.0.0/src/lib.rs"), "fn a() {}\n");
        assert_eq!(read("compiler/x/Cargo.toml"), "there\n");
    }

    #[test]
    fn a_patch_that_does_not_fit_is_an_error_that_names_both_files() {
        let scratch = Scratch::new("patches-misfit");
        source(&scratch, "[features]\n");
        let error = apply_series(scratch.path()).unwrap_err().to_string();
        assert!(error.contains("windows.patch") && error.contains("one-1.0.0"), "{error}");
    }

    #[test]
    fn the_checksum_of_the_whole_crate_stays() {
        let scratch = Scratch::new("checksums");
        let path = scratch.path().join("x.json");
        std::fs::write(&path, r#"{"$comment":"","files":{"a":"12","package":"3"},"package":"45"}"#)
            .unwrap();
        forget_checksums(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), r#"{"files":{},"package":"45"}"#);
    }
}
