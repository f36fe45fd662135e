//! `cargo schism bench stdpar`: an ordinary rayon program, compiled by plain rustc and by `cargo
//! schism --stdpar`.
//!
//! The program is the package in `benches/stdpar`, which depends on rayon alone. Both builds run in
//! turn; a ratio is taken within each pair. schism's build runs once for each setting of
//! `SCHISM_STDPAR` that is asked for: `auto`, the default, which is to be measured, and `always`,
//! which shows what its choices were between.

mod resident;
mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, Result};
use cargo_schism::setup::Ready;
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::options::{misused, number_of_pairs, parts_of_names, settings};
use super::pack::{self, Contents, Mode};
use table::{Line, Table};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench stdpar [PAIRS] [--only NAME,…] [--small] [--seconds S] [--device NAME] [--settings auto,always,never]
       cargo schism bench stdpar --native …        both builds for the CPU at hand
       cargo schism bench stdpar --explicit [PAIRS] --device NAME
                                                   beside kernels by hand, with the data on the device
       cargo schism bench stdpar --pack DIR        collect what another machine needs, without Rust
       cargo schism bench stdpar --unpacked DIR …  measure there; the pack's run.sh does that

--only takes parts of names; --device is SCHISM_DEVICE (default: as the environment has it, else cpu); --settings are values of
SCHISM_STDPAR (default: auto,always)";

/// The name of the package's program.
pub const PROGRAM: &str = "stdpar-bench";

/// The two builds, in a pack.
const BUILDS: [&str; 2] = ["stdpar-bench-plain", "stdpar-bench-schism"];

/// The program of the package `schism-bench` that has kernels by hand.
const EXPLICIT: &str = "stdpar_explicit";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    mode: Mode,
    native: bool,
    explicit: bool,
    device: Option<OsString>,
    settings: Vec<String>,
    /// Parts of names; all benchmarks if there are none.
    only: Vec<String>,
    /// What else the programs get.
    passed: Vec<OsString>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self {
            pairs: 5,
            mode: Mode::Checkout,
            native: false,
            explicit: false,
            device: None,
            settings: ["auto", "always"].map(str::to_owned).to_vec(),
            only: Vec::new(),
            passed: Vec::new(),
        };
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench stdpar", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("small") => options.passed.push("--small".into()),
                Long("seconds") => {
                    let seconds = parser.value().map_err(misused)?;
                    let number = seconds.to_str().and_then(|text| text.parse::<f64>().ok());
                    if !number.is_some_and(|number| number.is_finite() && number >= 0.0) {
                        let seconds = seconds.display();
                        return Err(wrong(format!("`{seconds}` is no number of seconds")));
                    }
                    options.passed.extend(["--seconds".into(), seconds]);
                }
                Long("native") => options.native = true,
                Long("explicit") => options.explicit = true,
                Long("only") => {
                    let names = parser.value().map_err(misused)?;
                    options.only.extend(parts_of_names(&names).map_err(wrong)?);
                }
                Long("device") => options.device = Some(parser.value().map_err(misused)?),
                Long("settings") => {
                    let chosen = parser.value().map_err(misused)?;
                    options.settings = settings(&chosen).map_err(wrong)?;
                }
                Long("pack") => {
                    options.mode = Mode::Pack(parser.value().map_err(misused)?.into());
                }
                Long("unpacked") => {
                    options.mode = Mode::Unpacked(parser.value().map_err(misused)?.into());
                }
                Value(number) => options.pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(options)
    }
}

/// Packs or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    match &options.mode {
        Mode::Checkout => Bench::built(options.native)?.1.measure(&options),
        Mode::Unpacked(folder) => Bench::unpacked(folder)?.measure(&options),
        Mode::Pack(folder) => {
            let (ready, bench) = Bench::built(options.native)?;
            let [plain, schism] = BUILDS;
            let contents = Contents {
                suite: "stdpar",
                what: "an ordinary rayon program with --stdpar beside the same by plain rustc",
                programs: &[
                    (&bench.plain, plain),
                    (&bench.schism, schism),
                    (&bench.explicit, EXPLICIT),
                ],
                stage2: &bench.stage2,
                usage: "[PAIRS] [--only NAME,…] [--device NAME] …",
            };
            pack::write(folder, &ready, &contents)
        }
    }
}

/// The two builds.
struct Bench {
    plain: PathBuf,
    schism: PathBuf,
    explicit: PathBuf,
    stage2: PathBuf,
}

impl Bench {
    /// Builds both in the checkout at hand.
    fn built(native: bool) -> Result<(Ready, Self)> {
        let checkout = Checkout::set_up()?;
        let target = &checkout.target;
        let package = checkout.root.join("benches").join("stdpar");
        let plain = build(checkout.plain(), &package, &target.join("stdpar-plain"), native)?;
        let schism = checkout.with_stdpar(&package)?;
        let schism = build(schism, &package, &target.join("stdpar-schism"), native)?;
        let explicit = checkout.build(checkout.schism(), EXPLICIT)?;
        let stage2 = checkout.stage2();
        Ok((checkout.ready, Self { plain, schism, explicit, stage2 }))
    }

    /// Takes them from a pack.
    fn unpacked(folder: &Path) -> Result<Self> {
        let [plain, schism] = BUILDS;
        let folder = pack::open(folder, "stdpar", &[plain, schism, EXPLICIT, pack::STAGE2])?;
        Ok(Self {
            plain: folder.join(plain),
            schism: folder.join(schism),
            explicit: folder.join(EXPLICIT),
            stage2: folder.join(pack::STAGE2),
        })
    }

    /// A run of schism's build.
    fn schism(&self, options: &Options, setting: &str) -> Command {
        self.on_device(&self.schism, options, setting)
    }

    fn on_device(&self, program: &Path, options: &Options, setting: &str) -> Command {
        let mut program = Command::new(program);
        program.env("SCHISM_JIT", &self.stage2).env("SCHISM_STDPAR", setting);
        // Kernels are compiled in each run, as in a program's first.
        program.env("SCHISM_CACHE", "0");
        match &options.device {
            Some(device) => drop(program.env("SCHISM_DEVICE", device)),
            None if std::env::var_os("SCHISM_DEVICE").is_none() => {
                program.env("SCHISM_DEVICE", "cpu");
            }
            None => {}
        }
        program
    }

    /// Runs all in turn, and prints the ratios.
    fn measure(&self, options: &Options) -> Result<ExitCode> {
        if options.explicit {
            let table = resident::measure(options.pairs, || {
                let explicit = self.on_device(&self.explicit, options, "never");
                let mut rayon = self.schism(options, "always");
                rayon.arg("--resident").args(&options.passed).args(&options.only);
                [explicit, rayon]
            })?;
            print!("{table}");
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(&options.settings);
        for pair in 0..options.pairs {
            eprintln!("pair {} of {}", pair + 1, options.pairs);
            // The one that goes first changes, so that neither always finds the machine cold.
            let settings = &options.settings;
            let mut order: Vec<Option<&String>> =
                std::iter::once(None).chain(settings.iter().map(Some)).collect();
            order.rotate_left(pair % (settings.len() + 1));
            let mut theirs = Vec::new();
            let mut ours = BTreeMap::new();
            for setting in order {
                let mut run = match setting {
                    Some(setting) => self.schism(options, setting),
                    None => Command::new(&self.plain),
                };
                run.args(&options.passed).args(&options.only);
                let output = command::capture(run, "to measure", "it was just built")?;
                match setting {
                    Some(setting) => drop(ours.insert(setting.clone(), Line::all(&output))),
                    None => theirs = Line::all(&output),
                }
            }
            table.add(&theirs, &ours);
        }
        if table.is_empty() {
            let names = options.only.join(", ");
            return Err(Error::Usage(format!("no benchmark has `{names}` in its name\n\n{USAGE}")));
        }
        print!("{}", table.render());
        Ok(if table.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The median time of each benchmark, as the program prints them.
pub fn times(output: &str) -> Vec<(String, f64)> {
    Line::all(output).into_iter().map(|line| (line.name, line.median)).collect()
}

/// Builds the package's program.
pub fn build(mut cargo: Command, package: &Path, target: &Path, native: bool) -> Result<PathBuf> {
    if native {
        cargo.env("RUSTFLAGS", "-C target-cpu=native");
    }
    let target = if native { target.with_added_extension("native") } else { target.to_owned() };
    cargo.current_dir(package).args(["build", "--release", "--quiet", "--target-dir"]).arg(&target);
    command::capture(cargo, "needed to build the benchmark", "install cargo")?;
    Ok(target.join("release").join(PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = read("3 --small --only dot,scan --device cuda:0 --settings auto").unwrap();
        assert_eq!(options.pairs, 3);
        assert_eq!(options.passed, ["--small"]);
        assert_eq!(options.only, ["dot", "scan"]);
        assert_eq!(options.device, Some("cuda:0".into()));
        assert_eq!(options.settings, ["auto"]);
        assert!(read("2 --explicit --device cuda:0").unwrap().explicit && !options.explicit);
        assert_eq!(read("--pack there").unwrap().mode, Mode::Pack("there".into()));
        assert_eq!(read("").unwrap().mode, Mode::Checkout);
        for line in [
            "--frobnicate",
            "0",
            "--pack",
            "--settings maybe",
            "--settings auto,",
            "--seconds x",
            "--seconds -1",
            "--seconds inf",
            "--only --small",
        ] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench"));
        }
    }
}
