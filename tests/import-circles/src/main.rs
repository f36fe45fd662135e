//! Prints the circles of imports between the files of a crate.
//!
//! `import-circles [--allowed FILE] [SRC …]`, where each SRC is a crate's `src` folder (or its root
//! file); without one, `passes/src` and `runtime/src`. A file imports another if its code, tests
//! excepted, names something that the other defines: in a `use`, or by a path in an expression, a
//! type or a macro. A path through a re-export leads to the file with the definition. These are no
//! imports:
//! - `mod name;`, by which a parent has children;
//! - re-exports (`pub use`) of the crate's root and of a module `__private`, whose purpose is to
//!   name what others define.
//!
//! Files that import each other, directly or around a circle, are one circle (a strongly connected
//! component). Each is printed with its files and one import for each pair. The exit status is 1 if
//! there is a circle that the list of allowed ones does not name ([`allowed`]), or a name in that
//! list without a circle.
//!
//! Only the lexer is used, and no name is looked up in other crates: what macros define is taken to
//! be in the module that its path names.

mod allowed;
mod circles;
mod crate_files;
mod resolve;
mod scan;

use std::path::PathBuf;
use std::process::ExitCode;

use allowed::Allowed;
use crate_files::Crate;
use resolve::Import;

/// Where the circles that stay are named, from the root of the workspace.
const ALLOWED: &str = "docs/architecture.md";
/// What is looked at if nothing is asked for.
const SOURCES: [&str; 13] = [
    "passes/src",
    "passes/llvm/src",
    "passes/message/src",
    "runtime/src",
    "runtime/abi/src",
    "runtime/cache/src",
    "runtime/devicelib/src",
    "runtime/hcf/src",
    "runtime/jit/src",
    "runtime/loader/src",
    "runtime/stdpar/src",
    "runtime/trust/src",
    "tests/import-circles/src",
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<ExitCode, String> {
    let mut allowed = None;
    let mut sources = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--allowed" => {
                allowed = Some(PathBuf::from(arguments.next().ok_or("`--allowed` needs a file")?));
            }
            "--help" | "-h" => {
                println!("import-circles [--allowed FILE] [SRC …]");
                return Ok(ExitCode::SUCCESS);
            }
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            _ => sources.push(argument),
        }
    }
    let allowed = match allowed {
        Some(path) => Allowed::read(&path)?,
        None if PathBuf::from(ALLOWED).is_file() => Allowed::read(ALLOWED.as_ref())?,
        None => Allowed::default(),
    };
    if sources.is_empty() {
        sources = SOURCES.map(str::to_owned).to_vec();
    }
    let mut failed = false;
    for source in sources {
        failed |= check(source.trim_end_matches('/'), &allowed)?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// Prints the circles of a crate, and tells whether one is not allowed.
fn check(source: &str, allowed: &Allowed) -> Result<bool, String> {
    let files = Crate::read(source.as_ref())?;
    let imports = resolve::imports(&files);
    let circles = circles::of(files.paths.len(), &imports);
    let mut unused = allowed.of(source);
    let mut failed = false;
    for circle in &circles {
        let mut names: Vec<&str> = circle.iter().map(|file| files.paths[*file].as_str()).collect();
        names.sort_unstable();
        let reason = unused.iter().position(|(known, _)| *known == names);
        let reason = reason.map(|at| unused.swap_remove(at).1);
        println!(
            "{source}: {} files import each other{}",
            names.len(),
            reason
                .as_ref()
                .map(|reason| format!(", which is allowed: {reason}"))
                .unwrap_or_default()
        );
        failed |= reason.is_none();
        for name in names {
            println!("  {name}");
        }
        for Import { from, to, line, path } in &imports {
            if circle.contains(from) && circle.contains(to) {
                println!("    {}:{line} → {}  ({path})", files.paths[*from], files.paths[*to]);
            }
        }
    }
    for (names, _) in &unused {
        println!(
            "{source}: these files are said to import each other, and do not: {}",
            names.join(", ")
        );
        failed = true;
    }
    if circles.is_empty() {
        println!("{source}: no circles of imports in {} files", files.paths.len());
    }
    Ok(failed)
}
