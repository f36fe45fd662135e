//! The files of the checkout.

use std::fs;
use std::process::Command;

use crate::tokens::{self, Token};

/// The folders of crates that users get.
const SHIPPED: [&str; 4] = ["build_system/", "codegen/", "passes/", "runtime/"];

/// A file that git knows.
#[derive(Debug)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// A source of a crate that users get.
#[derive(Debug)]
pub struct Source {
    /// From the root, with `/`.
    pub path: String,
    /// Its tokens outside of tests.
    pub tokens: Vec<Token>,
}

/// The checkout.
#[derive(Debug)]
pub struct Tree {
    /// Rust and Markdown.
    pub files: Vec<File>,
    /// What is shipped.
    pub shipped: Vec<Source>,
    /// The `src` folders of all crates of the workspace.
    pub crates: Vec<String>,
}

impl Tree {
    /// Reads the checkout in the current folder.
    pub fn read() -> Result<Self, String> {
        let listed = Command::new("git").args(["ls-files", "-z"]).output();
        let listed = listed.map_err(|error| format!("cannot run git: {error}"))?;
        if !listed.status.success() {
            return Err("this is no checkout of git".to_owned());
        }
        let names = String::from_utf8(listed.stdout).map_err(|error| error.to_string())?;
        let names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        let mut files = Vec::new();
        for name in names.iter().filter(|name| name.ends_with(".rs") || name.ends_with(".md")) {
            // One that is deleted, and not yet for git.
            let Ok(text) = fs::read_to_string(name) else { continue };
            files.push(File { path: (*name).to_owned(), text });
        }
        let mut shipped = Vec::new();
        for file in files.iter().filter(|file| is_shipped(&file.path)) {
            let tokens =
                tokens::shipped(&file.text).map_err(|why| format!("{}: {why}", file.path))?;
            shipped.push(Source { path: file.path.clone(), tokens });
        }
        let is_root = |path: &&str| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        let mut crates: Vec<String> = names
            .iter()
            .copied()
            .filter(is_root)
            .filter(|path| {
                SHIPPED.iter().any(|folder| path.starts_with(folder)) || is_own_test(path)
            })
            .filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()))
            .collect();
        crates.dedup();
        Ok(Self { files, shipped, crates })
    }
}

/// Whether a root is that of the tests' or the benchmarks' own crates, and not of a program for them.
fn is_own_test(path: &str) -> bool {
    ["tests/src/", "tests/house-check/src/", "benches/src/"]
        .iter()
        .any(|root| path.starts_with(root))
}

fn is_shipped(path: &str) -> bool {
    SHIPPED.iter().any(|folder| path.starts_with(folder))
        && path.ends_with(".rs")
        && !["/tests/", "/fuzz/", "/benches/"].iter().any(|folder| path.contains(folder))
        && !path.ends_with("tests.rs")
}
