//! `--pack DIR`: what a machine with a GPU and nvcc needs, so that it needs no Rust.

use std::path::Path;
use std::process::ExitCode;

use cargo_schism::error::{FileContext, Result};
use cargo_schism::home::Home;
use cargo_schism::setup;
use schism_hcf::Targets;

use super::programs::{AOT_PROGRAM, PROGRAM, Programs, SOURCES};
use crate::bench::pack::{self, Contents};

/// Builds the program, also for these targets, and collects everything in `folder`.
pub fn pack(folder: &Path, targets: Option<&Targets>) -> Result<ExitCode> {
    let ready = setup::ensure(&Home::from_environment()?)?;
    let built = Programs::built(targets)?;
    let sources = folder.join(SOURCES);
    std::fs::create_dir_all(&sources).at("create", &sources)?;
    for entry in std::fs::read_dir(&built.sources).at("read", &built.sources)? {
        let path = entry.at("read", &built.sources)?.path();
        if let Some(name) = path.file_name() {
            pack::copy(&path, &sources.join(name))?;
        }
    }
    let programs = [Some((&*built.program, PROGRAM)), built.aot.as_deref().zip(Some(AOT_PROGRAM))];
    let programs: Vec<_> = programs.into_iter().flatten().collect();
    let contents = Contents {
        suite: "gpu",
        what: "schism's kernels beside their baselines in CUDA C++",
        programs: &programs,
        stage2: &built.stage2,
        usage: "[PAIRS] [--save FILE] …",
    };
    pack::write(folder, &ready, &contents)
}
