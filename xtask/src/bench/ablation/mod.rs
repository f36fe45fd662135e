//! `cargo schism bench ablation`: what each optional pass is worth.
//!
//! A suite's program runs with a pass and without it (`SCHISM_DISABLE_PASSES`), in turns, and the
//! ratio of both times is taken for each kernel. Beside the passes there is a control, which is left
//! out in neither: its ratios say how far the machine's times can be trusted. Each measurement goes
//! into a file ([`results`]) when it is made, so that a run that was stopped continues, and all of
//! them become a page ([`page`]).

mod options;
mod page;
mod passes;
mod results;
mod suites;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cargo_schism::error::{Error, FileContext, Result};

use self::options::Options;
pub use self::options::USAGE;
use self::page::Page;
use self::passes::Passes;
use self::results::{Measurement, Results};
use self::suites::{Programs, Suite};
use super::pack::Mode;

/// Stands for a pass: nothing is left out.
const CONTROL: &str = "(control)";

/// Measures what is not measured yet, and writes the page.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    let (programs, passes, folder) = match &options.mode {
        Mode::Pack(folder) => return suites::pack(folder),
        Mode::Unpacked(folder) => {
            let folder = std::path::absolute(folder).at("find", folder)?;
            (Programs::unpacked(&folder)?, Passes::packed(&folder)?, folder)
        }
        Mode::Checkout => {
            let root = super::builds::workspace()?;
            (Programs::built(&options.suites)?, Passes::of_checkout(&root)?, root)
        }
    };
    passes.check(&options.passes)?;
    let chosen =
        |name: &str| options.passes.is_empty() || options.passes.iter().any(|it| it == name);
    let path = options.results.clone().unwrap_or_else(|| programs.work.join("ablation.txt"));
    let mut results = Results::open(&path, &programs.settings(&options)?, options.fresh)?;
    let mut missing = Vec::new();
    for &suite in &options.suites {
        if let Err(reason) = programs.probe(suite) {
            eprintln!("without {}: {reason}", suite.name());
            missing.push((suite, reason));
        }
    }
    let there = |suite: &&Suite| !missing.iter().any(|(other, _)| other == *suite);
    for run in 1..=options.runs {
        for name in std::iter::once(CONTROL).chain(passes.names()) {
            for &suite in options.suites.iter().filter(there) {
                let takes_part = name == CONTROL || passes.is_in(name, suite.pipeline());
                let is_wanted = takes_part && (name == CONTROL || chosen(name));
                if !is_wanted || results.has(suite, name, run) {
                    continue;
                }
                eprintln!("run {run} of {}: {name}, {}", options.runs, suite.name());
                let disabled = Some(name).filter(|name| *name != CONTROL);
                let kernels = programs.measure(suite, disabled, run, &options)?;
                results.add(Measurement { suite, pass: name.to_owned(), run, kernels })?;
            }
        }
    }
    for path in &options.add {
        results.read_others(path)?;
    }
    let page = Page::new(&passes, &results, &missing);
    let path = page_path(&options, &folder);
    std::fs::write(&path, page.render()).at("write", &path)?;
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Where the page goes.
fn page_path(options: &Options, folder: &Path) -> PathBuf {
    let usual = match options.mode {
        Mode::Checkout => folder.join("docs").join("ablation.md"),
        Mode::Pack(_) | Mode::Unpacked(_) => folder.join("ablation.md"),
    };
    options.page.clone().unwrap_or(usual)
}

/// An error with how the suite is used.
fn wrong(text: &str) -> Error {
    Error::Usage(format!("{text}\n\n{USAGE}"))
}
