//! `cargo schism bench stdpar`: an ordinary rayon program, compiled by plain rustc and by `cargo
//! schism --stdpar`.
//!
//! The program is the package in `benches/stdpar`, which depends on rayon alone. Both builds run in
//! turn; a ratio is taken within each pair. schism's build runs once for each setting of
//! `SCHISM_STDPAR` that is asked for: `auto`, the default, which is to be measured, and `always`,
//! which shows what its choices were between.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lexopt::Arg::{Long, Value};

use super::cpu::{self, duration};
use super::pack::{self, Contents};
use super::{
    compilers, geometric_mean, median, misused, number_of_pairs, parts_of_names, resident,
    settings, workspace,
};
use crate::arguments::asks_for_help;
use crate::command;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::setup::{self, Ready};

/// How it is used.
const USAGE: &str = "\
usage: cargo schism bench stdpar [PAIRS] [--only NAME,…] [--small] [--seconds S] [--device NAME] [--settings auto,always,never]
       cargo schism bench stdpar --native …        both builds for the CPU at hand
       cargo schism bench stdpar --explicit [PAIRS] --device NAME
                                                   beside kernels by hand, with the data on the device
       cargo schism bench stdpar --pack DIR        collect what another machine needs, without Rust
       cargo schism bench stdpar --unpacked DIR …  measure there; the pack's run.sh does that

--only takes parts of names; --device is SCHISM_DEVICE (default: as the environment has it, else cpu); --settings are values of
SCHISM_STDPAR (default: auto,always)";

/// The name of the package's program.
const PROGRAM: &str = "stdpar-bench";

/// The two builds, in a pack.
const BUILDS: [&str; 2] = ["stdpar-bench-plain", "stdpar-bench-schism"];

/// The program of the package `schism-bench` that has kernels by hand.
const EXPLICIT: &str = "stdpar_explicit";

/// What `auto` is to reach of rayon's speed, of any pipeline.
const GOAL: f64 = 0.95;

/// Benchmarks of the launch itself, whose goal is lower.
const LAUNCHES: &str = "launch_";
const GOAL_OF_LAUNCHES: f64 = 1.0 / 1.1;

/// What to measure with.
#[derive(Debug, PartialEq, Eq)]
enum Mode {
    Checkout,
    Pack(PathBuf),
    Unpacked(PathBuf),
}

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
        let wrong = |text: &str| Error::Usage(format!("{text}\n\n{USAGE}"));
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
                        return Err(wrong(&format!("`{seconds}` is no number of seconds")));
                    }
                    options.passed.extend(["--seconds".into(), seconds]);
                }
                Long("native") => options.native = true,
                Long("explicit") => options.explicit = true,
                Long("only") => {
                    let names = parser.value().map_err(misused)?;
                    options.only.extend(parts_of_names(&names).map_err(|text| wrong(&text))?);
                }
                Long("device") => options.device = Some(parser.value().map_err(misused)?),
                Long("settings") => {
                    let chosen = parser.value().map_err(misused)?;
                    options.settings = settings(&chosen).map_err(|text| wrong(&text))?;
                }
                Long("pack") => {
                    options.mode = Mode::Pack(parser.value().map_err(misused)?.into());
                }
                Long("unpacked") => {
                    options.mode = Mode::Unpacked(parser.value().map_err(misused)?.into());
                }
                Value(number) => {
                    options.pairs = number_of_pairs(&number).map_err(|text| wrong(&text))?;
                }
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(options)
    }
}

/// Packs or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    if asks_for_help(arguments) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::read(arguments)?;
    match &options.mode {
        Mode::Checkout => Bench::built(options.native)?.1.measure(&options),
        Mode::Unpacked(folder) => Bench::unpacked(folder)?.measure(&options),
        Mode::Pack(folder) => {
            let (ready, bench) = Bench::built(options.native)?;
            let [plain, schism] = BUILDS;
            let contents = Contents {
                subject: "stdpar",
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
        let home = Home::from_environment()?;
        let ready = setup::ensure(&home)?;
        let root = workspace()?;
        let target = root.join("target").join("bench");
        let package = root.join("benches").join("stdpar");
        let plain =
            build(compilers::plain(&ready), &package, &target.join("stdpar-plain"), native)?;
        let schism = compilers::with_stdpar(&home, &ready, &package)?;
        let schism = build(schism, &package, &target.join("stdpar-schism"), native)?;
        let explicit = cpu::build(crate::cargo::command(&ready), &root, &target, EXPLICIT)?;
        let stage2 = compilers::stage2(&ready);
        Ok((ready, Self { plain, schism, explicit, stage2 }))
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
        if table.order.is_empty() {
            let names = options.only.join(", ");
            return Err(Error::Usage(format!("no benchmark has `{names}` in its name\n\n{USAGE}")));
        }
        print!("{}", table.render());
        Ok(if table.differ.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Builds the package's program.
fn build(mut cargo: Command, package: &Path, target: &Path, native: bool) -> Result<PathBuf> {
    if native {
        cargo.env("RUSTFLAGS", "-C target-cpu=native");
    }
    let target = if native { target.with_added_extension("native") } else { target.to_owned() };
    cargo.current_dir(package).args(["build", "--release", "--quiet", "--target-dir"]).arg(&target);
    command::capture(cargo, "needed to build the benchmark", "install cargo")?;
    Ok(target.join("release").join(PROGRAM))
}

/// One measurement, as `benches/stdpar/src/measure.rs` prints it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Seconds of a repetition, when all is settled.
    pub(super) median: f64,
    /// The same of all repetitions, from the first on.
    mean: f64,
    checksum: String,
}

impl Line {
    pub(super) fn all(output: &str) -> Vec<Self> {
        output.lines().filter_map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        Some(Self {
            name: words.next()?.to_owned(),
            median: words.next()?.parse().ok()?,
            mean: words.next()?.parse().ok()?,
            checksum: words.next()?.to_owned(),
        })
    }
}

/// The ratios of one benchmark under one setting, rayon's time by schism's: one for each pair.
#[derive(Default)]
struct Ratios {
    settled: Vec<f64>,
    with_start: Vec<f64>,
}

/// All ratios.
struct Table {
    settings: Vec<String>,
    order: Vec<String>,
    rayon: BTreeMap<String, Vec<f64>>,
    ratios: BTreeMap<(String, String), Ratios>,
    /// Where results differ.
    differ: Vec<String>,
}

impl Table {
    fn new(settings: &[String]) -> Self {
        Self {
            settings: settings.to_vec(),
            order: Vec::new(),
            rayon: BTreeMap::new(),
            ratios: BTreeMap::new(),
            differ: Vec::new(),
        }
    }

    /// Adds a pair.
    fn add(&mut self, theirs: &[Line], ours: &BTreeMap<String, Vec<Line>>) {
        for line in theirs {
            if !self.order.contains(&line.name) {
                self.order.push(line.name.clone());
            }
            self.rayon.entry(line.name.clone()).or_default().push(line.median);
            for (setting, lines) in ours {
                let Some(own) = lines.iter().find(|own| own.name == line.name) else {
                    self.differ.push(format!("{}: {setting} has no result", line.name));
                    continue;
                };
                if own.checksum != line.checksum {
                    self.differ.push(format!(
                        "{}: the results differ: {setting} has {}, rayon {}",
                        line.name, own.checksum, line.checksum
                    ));
                }
                let key = (setting.clone(), line.name.clone());
                let ratios = self.ratios.entry(key).or_default();
                ratios.settled.push(line.median / own.median);
                ratios.with_start.push(line.mean / own.mean);
            }
        }
    }

    fn render(&mut self) -> String {
        let mut text = format!("{:16} {:>10}", "", "rayon");
        for setting in &self.settings {
            let _ = write!(text, "  {setting:>8} {:>15} {:>10}", "", "with start");
        }
        text.push('\n');
        let mut products: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
        for name in &self.order {
            let seconds = self.rayon.get_mut(name).map_or(f64::NAN, |times| median(times));
            let _ = write!(text, "{name:16} {}", duration(seconds));
            for setting in &self.settings {
                let key = (setting.clone(), name.clone());
                let Some(ratios) = self.ratios.get_mut(&key) else { continue };
                let middle = median(&mut ratios.settled);
                let (low, high) = (ratios.settled[0], ratios.settled[ratios.settled.len() - 1]);
                let with_start = median(&mut ratios.with_start);
                let launch = name.starts_with(LAUNCHES);
                let goal = if launch { GOAL_OF_LAUNCHES } else { GOAL };
                let mark = if setting == "auto" && middle < goal { '!' } else { ' ' };
                let range = format!("({low:.2} to {high:.2})");
                let _ = write!(text, "  {middle:>7.2}{mark} {range:>15} {with_start:>10.2}");
                if !launch {
                    products.entry(setting).or_default().push([middle, with_start]);
                }
            }
            text.push('\n');
        }
        let _ = write!(text, "{:16} {:>10}", "geometric mean", "");
        for setting in &self.settings {
            let ratios = products.remove(setting.as_str()).unwrap_or_default();
            let mean = |index: usize| {
                let ratios: Vec<f64> = ratios.iter().map(|ratio| ratio[index]).collect();
                geometric_mean(&ratios).unwrap_or(f64::NAN)
            };
            let _ = write!(text, "  {:>7.2}  {:>15} {:>10.2}", mean(0), "", mean(1));
        }
        let _ = write!(
            text,
            "\nrayon's time by schism's, median of the pairs; above 1 schism is faster. The mean is \
             without {LAUNCHES}*.\n`!`: auto is below {GOAL}, of {LAUNCHES}* below 1/1.1\n"
        );
        for line in &self.differ {
            let _ = writeln!(text, "{line}");
        }
        text
    }
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

    #[test]
    fn ratios_are_of_each_pair_and_checksums_are_compared() {
        let mut table = Table::new(&["auto".to_owned()]);
        let lines = |output: &str| BTreeMap::from([("auto".to_owned(), Line::all(output))]);
        table.add(&Line::all("dot 2e-3 3e-3 aa\n?\n"), &lines("dot 1e-3 3e-3 aa\n"));
        table.add(&Line::all("dot 8e-3 9e-3 aa\n"), &lines("dot 1e-3 3e-3 aa\n"));
        assert!(table.differ.is_empty());
        let text = table.render();
        let line = text.lines().find(|line| line.starts_with("dot ")).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[3..], ["5.00", "(2.00", "to", "8.00)", "2.00"], "{text}");
        table.add(&Line::all("dot 1 1 aa\nsum 1 1 cc"), &lines("dot 1 1 bb\n"));
        assert_eq!(table.differ.len(), 2);
        assert!(table.render().contains("auto has bb, rayon aa"));
    }
}
