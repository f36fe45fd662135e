//! `cargo schism bench programs`: public programs and crates that use rayon, of which nothing was
//! written with schism in mind, compiled by plain rustc and by `cargo schism --stdpar`.
//!
//! For a crate there is a program in the workspace `benches/packages`, a package each. Programs that no
//! registry has are built in a folder of clones ([`clones`]). Both builds run in turn, with the compiled
//! kernels of an earlier run that does not count; a ratio is taken within each pair, of the time that a
//! whole run takes, of the time that the program says itself, and of its processor time. Both must print the
//! same results. How many pipelines ran as kernels is beside the ratio, and after the table why the others did
//! not: where none did, rayon is compared with rayon.

mod clones;
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
use super::pack::{self, Contents, Mode};
use clones::{CLONES, ClonedProgram};
use table::{Run, Table};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench programs [PAIRS] [--only NAME,…] [--sources DIR] [--device NAME] [--settings auto,always,never]
       cargo schism bench programs --pack DIR        collect what another machine needs, without Rust
       cargo schism bench programs --unpacked DIR …  measure there; the pack's run.sh does that

--only takes parts of names; --sources is a folder of clones, by their repositories' names (BabelStream, Kernels, rayon);
--device is SCHISM_DEVICE (default: cpu); --settings are values of SCHISM_STDPAR (default: auto).";

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
    mode: Mode,
    settings: Vec<String>,
    /// A folder of clones.
    sources: Option<PathBuf>,
    device: OsString,
    /// Parts of names; all programs if there are none.
    only: Vec<String>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self {
            pairs: 5,
            mode: Mode::Checkout,
            settings: vec!["auto".to_owned()],
            sources: None,
            device: "cpu".into(),
            only: Vec::new(),
        };
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench programs", USAGE, error);
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
                Long("sources") => options.sources = Some(parser.value().map_err(misused)?.into()),
                Long("device") => options.device = parser.value().map_err(misused)?,
                Long("pack") => options.mode = Mode::Pack(parser.value().map_err(misused)?.into()),
                Long("unpacked") => {
                    options.mode = Mode::Unpacked(parser.value().map_err(misused)?.into());
                }
                Value(number) => options.pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(options)
    }

    /// The programs that are asked for: of the workspace, and of the folder of clones or of a pack.
    fn chosen(&self) -> Result<Vec<Measured>> {
        let mut all = Vec::new();
        let cloned = CLONES.iter().filter(|clone| match (&self.mode, &self.sources) {
            (Mode::Unpacked(_), _) => true,
            (_, Some(sources)) => clone.folder(sources).is_dir(),
            (_, None) => false,
        });
        all.extend(cloned.map(Measured::Cloned));
        all.extend(PROGRAMS.iter().map(Measured::Crate));
        let has = |program: &Measured| self.only.iter().any(|it| program.name().contains(&**it));
        all.retain(|program| self.only.is_empty() || has(program));
        if all.is_empty() {
            let parts = self.only.join(", ");
            return Err(Error::Usage(format!("no program has `{parts}` in its name\n\n{USAGE}")));
        }
        Ok(all)
    }
}

/// A program that is measured.
#[derive(Clone, Copy)]
enum Measured {
    /// Of the workspace: all that it prints is its result.
    Crate(&'static Program),
    Cloned(&'static ClonedProgram),
}

impl Measured {
    const fn name(self) -> &'static str {
        match self {
            Self::Crate(program) => program.name,
            Self::Cloned(clone) => clone.name,
        }
    }

    /// The names of both builds in a pack.
    fn packed(self) -> [String; 2] {
        ["plain", "stdpar"].map(|side| format!("{}-{side}", self.name()))
    }
}

/// Builds, measures, and prints the ratios; or packs.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    if let Some(folder) = options.sources.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Error::Usage(format!("there is no folder {}", folder.display())));
    }
    let programs = options.chosen()?;
    if let Mode::Unpacked(folder) = &options.mode {
        let folder = pack::open(folder, "programs", &[pack::STAGE2])?;
        let bench =
            Bench { stage2: folder.join(pack::STAGE2), work: folder.join(pack::WORK), options };
        std::fs::create_dir_all(&bench.work).at("create", &bench.work)?;
        let in_pack = |program: &Measured| {
            let [plain, stdpar] = program.packed().map(|name| folder.join(name));
            (plain.is_file() && stdpar.is_file()).then_some(Builds { plain, stdpar })
        };
        let packed = programs.into_iter().filter_map(|it| Some((it, in_pack(&it)?)));
        return bench.compare(packed.map(|(program, builds)| (program, Ok(builds))));
    }
    let builder = Builder::new(options.sources.clone())?;
    if let Mode::Pack(folder) = &options.mode {
        let mut packed = Vec::new();
        for program in programs {
            eprintln!("{}: building", program.name());
            // A pack has what can be built.
            match builder.build(program) {
                Ok(Builds { plain, stdpar }) => {
                    packed.extend([plain, stdpar].into_iter().zip(program.packed()));
                }
                Err(error) => eprintln!("{}: {error}", program.name()),
            }
        }
        let packed: Vec<(&Path, &str)> =
            packed.iter().map(|(path, name)| (&**path, &**name)).collect();
        let contents = Contents {
            suite: "programs",
            what: "public programs that use rayon, with --stdpar and by plain rustc",
            programs: &packed,
            stage2: &builder.checkout.stage2(),
            usage: "[PAIRS] [--only NAME,…] [--device NAME] …",
        };
        return pack::write(folder, &builder.checkout.ready, &contents);
    }
    let work = builder.checkout.target.clone();
    let bench = Bench { stage2: builder.checkout.stage2(), work, options };
    bench.compare(programs.into_iter().map(|program| {
        eprintln!("{}: building", program.name());
        (program, builder.build(program))
    }))
}

/// The two builds of a program.
struct Builds {
    plain: PathBuf,
    stdpar: PathBuf,
}

/// What builds.
struct Builder {
    folder: PathBuf,
    sources: Option<PathBuf>,
    checkout: Checkout,
}

impl Builder {
    fn new(sources: Option<PathBuf>) -> Result<Self> {
        let checkout = Checkout::set_up()?;
        let folder = folder(&checkout.root);
        let sources = match sources {
            Some(sources) => Some(std::path::absolute(&sources).at("find", &sources)?),
            None => None,
        };
        // What stops all of them is said once.
        checkout.with_stdpar(&folder)?;
        Ok(Self { folder, sources, checkout })
    }

    fn build(&self, program: Measured) -> Result<Builds> {
        let (folder, binary) = match (program, &self.sources) {
            (Measured::Cloned(clone), Some(sources)) => {
                (clone.folder(sources), clone.binary(sources)?)
            }
            _ => (self.folder.clone(), program.name().to_owned()),
        };
        let build = |mut cargo: Command, side: &str| {
            // Crates have their dependencies in common, and clones may not.
            let target = match program {
                Measured::Crate(_) => self.checkout.target.join(format!("packages-{side}")),
                Measured::Cloned(_) => {
                    self.checkout.target.join(format!("clones-{side}")).join(&binary)
                }
            };
            cargo.current_dir(&folder).args(["build", "--release", "--quiet", "--package"]);
            cargo.arg(&binary).arg("--target-dir").arg(&target);
            if matches!(program, Measured::Cloned(clone) if clone.is_unstable) {
                cargo.env("RUSTC_BOOTSTRAP", "1");
            }
            let (purpose, hint) = ("needed to build the benchmark", "install cargo");
            let (_, said) = command::capture_both(cargo, purpose, hint)?;
            // Others' programs have warnings of their compiler's.
            if !said.is_empty() && matches!(program, Measured::Crate(_)) {
                eprintln!("{} ({side}): {}", program.name(), said.trim_end());
            }
            Ok::<_, Error>(target.join("release").join(&binary))
        };
        let plain = build(self.checkout.plain(), "plain")?;
        let stdpar = build(self.checkout.with_stdpar(&folder)?, "stdpar")?;
        Ok(Builds { plain, stdpar })
    }
}

/// What runs.
struct Bench {
    stage2: PathBuf,
    /// Kernels and reports are written there.
    work: PathBuf,
    options: Options,
}

impl Bench {
    /// Measures all programs, and prints the table.
    fn compare(
        &self,
        programs: impl Iterator<Item = (Measured, Result<Builds>)>,
    ) -> Result<ExitCode> {
        let mut table = Table::new(&self.options.settings);
        for (program, builds) in programs {
            let measured = builds.and_then(|builds| self.measure(program, &builds, &mut table));
            if let Err(error) = measured {
                table.fail(program.name(), &error.to_string());
            }
        }
        print!("{}", table.render());
        Ok(if table.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs all in turn.
    fn measure(&self, program: Measured, builds: &Builds, table: &mut Table) -> Result<()> {
        let (name, settings) = (program.name(), &self.options.settings);
        let all: Vec<Option<&String>> =
            std::iter::once(None).chain(settings.iter().map(Some)).collect();
        // `auto` makes no kernel in a short program, also where an earlier run has kept none: only
        // `always` is sure to leave all of them to the runs that count.
        time(self.with_kernels(&builds.stdpar, "always"), program)?;
        for pair in 0..=self.options.pairs {
            eprintln!("{name}: pair {pair} of {}", self.options.pairs);
            // The one that goes first changes, so that neither always finds the machine cold.
            let mut order = all.clone();
            order.rotate_left(pair % all.len());
            let mut runs = BTreeMap::new();
            for setting in order {
                let started = match setting {
                    Some(setting) => self.with_kernels(&builds.stdpar, setting),
                    None => Command::new(&builds.plain),
                };
                if let (0, Some(setting)) = (pair, setting) {
                    let (run, report) = self.with_report(started, program)?;
                    table.count(name, setting, &report);
                    runs.insert(Some(setting.clone()), run);
                } else {
                    runs.insert(setting.cloned(), time(started, program)?);
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
    fn with_report(&self, mut started: Command, program: Measured) -> Result<(Run, String)> {
        let path = self.work.join("programs-report");
        if path.exists() {
            std::fs::remove_file(&path).at("remove", &path)?;
        }
        started.env("SCHISM_STDPAR_REPORT", &path);
        let run = time(started, program)?;
        // A program without pipelines writes none.
        Ok((run, std::fs::read_to_string(&path).unwrap_or_default()))
    }

    /// A run of the build whose pipelines may be kernels.
    fn with_kernels(&self, program: &Path, setting: &str) -> Command {
        let mut started = Command::new(program);
        started.env("SCHISM_JIT", &self.stage2).env("SCHISM_DEVICE", &self.options.device);
        started.env("SCHISM_STDPAR", setting).env_remove("SCHISM_CACHE");
        started.env("SCHISM_CACHE_DIR", self.work.join("programs-kernels"));
        started
    }
}

/// Runs a program, however it ends.
fn time(mut started: Command, program: Measured) -> Result<Run> {
    if let Measured::Cloned(clone) = program {
        started.args(clone.arguments);
    }
    let (cost, output) =
        Cost::of(|| command::output(&mut started, "to measure", "it was just built"))?;
    let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    let (mut result, own) = match program {
        Measured::Crate(_) => (printed, None),
        Measured::Cloned(clone) => (clone.result(&printed), clone.own_time(&printed)),
    };
    if !output.status.success() {
        result = format!("{result} ({})", output.status).trim_start().to_owned();
    }
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Ok(Run { cost, own, result, said })
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
        let options = read("--sources there --device cuda:0 --pack here").unwrap();
        assert_eq!((options.sources, options.device), (Some("there".into()), "cuda:0".into()));
        assert_eq!(options.mode, Mode::Pack("here".into()));
        assert_eq!(read("").unwrap().settings, ["auto"]);
        for line in [
            "--frobnicate",
            "0",
            "x",
            "--settings maybe",
            "--settings",
            "--only --small",
            "--sources",
        ] {
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
    fn clones_are_measured_where_they_are() {
        let names = |line: &str| {
            let chosen = read(line).unwrap().chosen();
            chosen.map(|all| all.iter().map(|it| it.name()).collect::<Vec<_>>())
        };
        let sources = std::env::temp_dir().join(format!("schism-clones-{}", std::process::id()));
        let package = sources.join("Kernels/RUST/nstream-rayon");
        std::fs::create_dir_all(&package).unwrap();
        let line = format!("--sources {} --only prk,stark", sources.display());
        assert_eq!(names(&line).unwrap(), ["prk-nstream", "stark"]);
        assert_eq!(names("--only prk,stark").unwrap(), ["stark"]);
        assert!(names("--only prk").is_err());
        // A pack may have any of them.
        assert_eq!(names("--unpacked x --only prk").unwrap().len(), 3);
        std::fs::remove_dir_all(&sources).unwrap();
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
