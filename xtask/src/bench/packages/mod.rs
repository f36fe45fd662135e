//! `cargo schism bench packages`: public crates that use rayon, of which nothing was written with
//! schism in mind, compiled by plain rustc and by `cargo schism --stdpar`.
//!
//! The programs are the packages of the workspace `benches/packages`, one for each crate. Both builds
//! run in turn, with the compiled kernels of an earlier run that does not count; a ratio is taken
//! within each pair, of the time that a whole run takes and of its processor time. Both must print
//! the same. How many pipelines ran as kernels is beside the ratio: where none did, rayon is compared
//! with rayon.

mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::cost::Cost;
use super::options::{misused, number_of_pairs, parts_of_names, settings};
use table::{Run, Table};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench packages [PAIRS] [--only NAME,…] [--settings auto,always,never]

--only takes parts of names; --settings are values of SCHISM_STDPAR (default: auto). The device is `cpu`.";

/// A program of the workspace.
pub(super) struct Program {
    /// The name of its package.
    pub(super) name: &'static str,
    /// The crate that does its work.
    pub(super) library: &'static str,
}

/// All programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "clusters", library: "petal-clustering" },
    Program { name: "curve", library: "ark-ec" },
    Program { name: "dssim", library: "dssim-core" },
    Program { name: "extension", library: "p3-dft" },
    Program { name: "fourier", library: "ndrustfft" },
    Program { name: "gravity", library: "particular" },
    Program { name: "means", library: "linfa-clustering" },
    Program { name: "neighbours", library: "instant-distance" },
    Program { name: "png-size", library: "oxipng" },
    Program { name: "polynomials", library: "ark-poly" },
    Program { name: "splash", library: "splashsurf_lib" },
    Program { name: "ssimulacra2-score", library: "ssimulacra2" },
    Program { name: "stark", library: "winter-math" },
    Program { name: "tsne", library: "bhtsne" },
];

/// The folder of the workspace, in a checkout.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join("benches").join("packages")
}

/// The programs with one of these parts in their name; all if there are none.
pub(super) fn chosen(parts: &[String]) -> Result<Vec<&'static Program>> {
    let has = |program: &Program| parts.iter().any(|part| program.name.contains(&**part));
    let chosen: Vec<_> =
        PROGRAMS.iter().filter(|program| parts.is_empty() || has(program)).collect();
    if chosen.is_empty() {
        let known = PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>().join(", ");
        let parts = parts.join(", ");
        return Err(Error::Usage(format!(
            "no program has `{parts}` in its name; there are {known}"
        )));
    }
    Ok(chosen)
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    settings: Vec<String>,
    /// Parts of names; all programs if there are none.
    only: Vec<String>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self { pairs: 5, settings: vec!["auto".to_owned()], only: Vec::new() };
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench packages", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("only") => {
                    let names = parser.value().map_err(misused)?;
                    options.only.extend(parts_of_names(&names).map_err(wrong)?);
                }
                Long("settings") => {
                    let chosen = parser.value().map_err(misused)?;
                    options.settings = settings(&chosen).map_err(wrong)?;
                }
                Value(number) => options.pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(options)
    }
}

/// Builds, measures, and prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    let programs = chosen(&options.only)?;
    let bench = Bench::new()?;
    let mut table = Table::new(&options.settings);
    for program in programs {
        eprintln!("{}: building", program.name);
        match bench.build(program, &mut table) {
            Ok(builds) => bench.measure(program.name, &builds, &options, &mut table)?,
            Err(error) => table.fail(program.name, &error.to_string()),
        }
    }
    print!("{}", table.render());
    Ok(if table.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The two builds of a program.
struct Builds {
    plain: PathBuf,
    stdpar: PathBuf,
}

/// What all programs have in common.
struct Bench {
    folder: PathBuf,
    checkout: Checkout,
}

impl Bench {
    fn new() -> Result<Self> {
        let checkout = Checkout::set_up()?;
        let folder = folder(&checkout.root);
        // What stops all of them is said once.
        checkout.with_stdpar(&folder)?;
        Ok(Self { folder, checkout })
    }

    fn build(&self, program: &Program, table: &mut Table) -> Result<Builds> {
        let mut build = |mut cargo: Command, side: &str| {
            let target = self.checkout.target.join(format!("packages-{side}"));
            cargo.current_dir(&self.folder).args(["build", "--release", "--quiet", "--package"]);
            cargo.arg(program.name).arg("--target-dir").arg(&target);
            let (purpose, hint) = ("needed to build the benchmark", "install cargo");
            let (_, said) = command::capture_both(cargo, purpose, hint)?;
            table.note(program.name, &format!("the build, {side}"), said.trim_end());
            Ok::<_, Error>(target.join("release").join(program.name))
        };
        let plain = build(self.checkout.plain(), "plain")?;
        let stdpar = build(self.checkout.with_stdpar(&self.folder)?, "stdpar")?;
        Ok(Builds { plain, stdpar })
    }

    /// Runs all in turn.
    fn measure(
        &self,
        name: &str,
        builds: &Builds,
        options: &Options,
        table: &mut Table,
    ) -> Result<()> {
        let settings = &options.settings;
        let all: Vec<Option<&String>> =
            std::iter::once(None).chain(settings.iter().map(Some)).collect();
        // `auto` makes no kernel in a short program, also where an earlier run has kept none: only
        // `always` is sure to leave all of them to the runs that count.
        time(self.with_kernels(&builds.stdpar, "always"))?;
        for pair in 0..=options.pairs {
            eprintln!("{name}: pair {pair} of {}", options.pairs);
            // The one that goes first changes, so that neither always finds the machine cold.
            let mut order = all.clone();
            order.rotate_left(pair % all.len());
            let mut runs = BTreeMap::new();
            for setting in order {
                let program = match setting {
                    Some(setting) => self.with_kernels(&builds.stdpar, setting),
                    None => Command::new(&builds.plain),
                };
                if let (0, Some(setting)) = (pair, setting) {
                    let (run, report) = self.with_report(program)?;
                    table.count(name, setting, &report);
                    runs.insert(Some(setting.clone()), run);
                } else {
                    runs.insert(setting.cloned(), time(program)?);
                }
            }
            table.check(name, &runs);
            if pair > 0 {
                table.add(name, &runs);
            }
        }
        Ok(())
    }

    /// A run, and where its pipelines ran.
    fn with_report(&self, mut program: Command) -> Result<(Run, String)> {
        let path = self.checkout.target.join("packages-report");
        if path.exists() {
            std::fs::remove_file(&path).at("remove", &path)?;
        }
        program.env("SCHISM_STDPAR_REPORT", &path);
        let run = time(program)?;
        // A program without pipelines writes none.
        Ok((run, std::fs::read_to_string(&path).unwrap_or_default()))
    }

    /// A run of the build whose pipelines may be kernels.
    fn with_kernels(&self, program: &Path, setting: &str) -> Command {
        let mut program = Command::new(program);
        program.env("SCHISM_JIT", self.checkout.stage2()).env("SCHISM_DEVICE", "cpu");
        program.env("SCHISM_STDPAR", setting).env_remove("SCHISM_CACHE");
        program.env("SCHISM_CACHE_DIR", self.checkout.target.join("packages-kernels"));
        program
    }
}

/// Runs a program, however it ends.
fn time(mut program: Command) -> Result<Run> {
    let (cost, output) =
        Cost::of(|| command::output(&mut program, "to measure", "it was just built"))?;
    let mut result = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    if !output.status.success() {
        result = format!("{result} ({})", output.status).trim_start().to_owned();
    }
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Ok(Run { cost, result, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = read("3 --only dssim,stark --settings auto,always").unwrap();
        assert_eq!(options.pairs, 3);
        assert_eq!(options.only, ["dssim", "stark"]);
        assert_eq!(options.settings, ["auto", "always"]);
        assert_eq!(read("").unwrap().settings, ["auto"]);
        for line in ["--frobnicate", "0", "x", "--settings maybe", "--settings", "--only --small"] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench"));
        }
    }

    #[test]
    fn programs_are_chosen_by_parts_of_their_names() {
        assert_eq!(chosen(&[]).unwrap().len(), PROGRAMS.len());
        assert_eq!(chosen(&["dss".to_owned()]).unwrap()[0].name, "dssim");
        assert!(chosen(&["?".to_owned()]).is_err());
    }

    #[test]
    fn the_programs_are_those_of_the_workspace() {
        let folder = folder(&crate::bench::builds::workspace().unwrap());
        for program in PROGRAMS {
            let manifest = folder.join(program.name).join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            assert!(text.contains(&format!("{} = ", program.library)), "{}", manifest.display());
        }
        let members = std::fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().join("src").join("main.rs").is_file());
        assert_eq!(members.count(), PROGRAMS.len());
    }
}
