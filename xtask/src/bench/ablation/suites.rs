//! The suites that passes are left out of, and their programs.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{FileContext, Result};

use super::options::Options;
use super::passes::{self, LIST};
use crate::bench::builds::{self, Checkout};
use crate::bench::cpu::kernels::{KERNELS, Kind};
use crate::bench::cpu::peers::Peer;
use crate::bench::pack::{self, Contents};
use crate::bench::statistics::median;
use crate::bench::{gpu, stdpar};

/// Names optional passes that do not run.
const DISABLE_PASSES: &str = "SCHISM_DISABLE_PASSES";

/// Kernels whose times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    Cpu,
    Stdpar,
    Gpu,
    Breadth,
}

impl Suite {
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Stdpar, Self::Gpu, Self::Breadth];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Stdpar => "stdpar",
            Self::Gpu => "gpu",
            Self::Breadth => "breadth",
        }
    }

    /// The pipeline of its kernels.
    pub const fn pipeline(self) -> &'static str {
        match self {
            Self::Cpu | Self::Stdpar => "cpu",
            Self::Gpu | Self::Breadth => "ptx",
        }
    }

    /// The name of its program.
    const fn program(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_schism",
            Self::Stdpar => stdpar::PROGRAM,
            Self::Gpu | Self::Breadth => "gpu_schism",
        }
    }
}

/// The programs of the suites.
pub struct Programs {
    /// By suite; those that are not asked for are not built.
    paths: Vec<(Suite, PathBuf)>,
    stage2: PathBuf,
    /// A folder for what is made on the way.
    pub work: PathBuf,
}

impl Programs {
    /// Builds those of some suites in the checkout at hand.
    pub fn built(suites: &[Suite]) -> Result<Self> {
        let checkout = Checkout::set_up()?;
        let build = |suite: Suite| {
            if suite != Suite::Stdpar {
                return checkout.build(checkout.schism(), suite.program());
            }
            let package = checkout.root.join("benches").join("stdpar");
            let cargo = checkout.with_stdpar(&package)?;
            stdpar::build(cargo, &package, &checkout.target.join("stdpar-schism"), false)
        };
        let mut paths = Vec::new();
        for &suite in suites {
            paths.push((suite, build(suite)?));
        }
        Ok(Self { paths, stage2: checkout.stage2(), work: checkout.target.join("ablation") })
    }

    /// Takes those that a pack has.
    pub fn unpacked(folder: &Path) -> Result<Self> {
        let folder = pack::open(folder, "ablation", &[LIST, pack::STAGE2])?;
        let paths = Suite::ALL.map(|suite| (suite, folder.join(suite.program())));
        let paths = paths.into_iter().filter(|(_, path)| path.is_file()).collect();
        let (stage2, work) = (folder.join(pack::STAGE2), folder.join(pack::WORK));
        Ok(Self { paths, stage2, work })
    }

    /// What results depend on: they are not continued with another stage 2, or of other inputs.
    pub fn settings(&self, options: &Options) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        hasher.write(&std::fs::read(&self.stage2).at("read", &self.stage2)?);
        let size = if options.small { "small" } else { "full" };
        Ok(format!("stage2={:016x} size={size} only={}", hasher.finish(), options.only.join(",")))
    }

    /// Says why a suite cannot run here, if it cannot.
    pub fn probe(&self, suite: Suite) -> std::result::Result<(), String> {
        let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut program = self.program(suite, None).map_err(one_line)?;
        let kernel = match suite {
            Suite::Cpu | Suite::Stdpar => return Ok(()),
            Suite::Gpu => "copy",
            Suite::Breadth => "fnv",
        };
        program.args(["--small", "--precise", "--runs", "1", "--only", kernel]);
        let run = command::capture(program, "to measure", "it was just built");
        run.map(drop).map_err(|error| one_line(error.to_string()))
    }

    /// A run of a suite's program, without a pass.
    fn program(
        &self,
        suite: Suite,
        disabled: Option<&str>,
    ) -> std::result::Result<Command, String> {
        let path = self.paths.iter().find(|(own, _)| *own == suite);
        let (_, path) = path.ok_or_else(|| format!("there is no {}", suite.program()))?;
        let mut program = Command::new(path);
        // Compiled kernels are not kept: code without a pass must not be found by who has it.
        program.env("SCHISM_JIT", &self.stage2).env("SCHISM_CACHE", "0");
        program.env_remove(DISABLE_PASSES);
        program.envs(disabled.map(|pass| (DISABLE_PASSES, pass)));
        match suite {
            Suite::Cpu => program.env("SCHISM_DEVICE", "cpu"),
            Suite::Stdpar => program.env("SCHISM_DEVICE", "cpu").env("SCHISM_STDPAR", "always"),
            Suite::Gpu => program.env("SCHISM_DEVICE", "cuda:0").args(["--suite", "tuned"]),
            Suite::Breadth => program.env("SCHISM_DEVICE", "cuda:0").args(["--suite", "breadth"]),
        };
        Ok(program)
    }

    /// Times of kernels with a pass by those without it. Which program goes first changes from run
    /// to run.
    pub fn measure(
        &self,
        suite: Suite,
        disabled: Option<&str>,
        run: usize,
        options: &Options,
    ) -> Result<Vec<(String, f64)>> {
        let program = |disabled| self.program(suite, disabled).map_err(|text| super::wrong(&text));
        let (with, without) = (program(None)?, program(disabled)?);
        if suite == Suite::Cpu {
            return in_turns(with, without, run, options);
        }
        let times = |mut program: Command| {
            if suite == Suite::Stdpar {
                let (small, short) = (options.small.then_some("--small"), ["--seconds", "0.05"]);
                program.args(small).args(short.iter().filter(|_| options.small));
                program.args(&options.only);
            } else {
                program.arg("--precise").args(options.small.then_some("--small"));
            }
            let output = command::capture(program, "to measure", "it was just built")?;
            Ok(match suite {
                Suite::Stdpar => stdpar::times(&output),
                _ => gpu::times(&output),
            })
        };
        let (with, without) = if run % 2 == 1 {
            let with = times(with)?;
            (with, times(without)?)
        } else {
            let without = times(without)?;
            (times(with)?, without)
        };
        let ratio = |(kernel, with): (String, f64)| {
            let (_, without) = without.iter().find(|(other, _)| *other == kernel)?;
            Some((kernel, with / without))
        };
        // What a launch costs, and the driver's own copies, are no passes' work.
        let driver = ["launch_", "memcpy/", "copy_in/", "copy_out/"];
        let is_kernel = |name: &str| !driver.iter().any(|prefix| name.starts_with(prefix));
        let wanted = |(kernel, ratio): &(String, f64)| {
            options.wants(kernel) && is_kernel(kernel) && ratio.is_finite()
        };
        Ok(with.into_iter().filter_map(ratio).filter(wanted).collect())
    }
}

/// The suite `cpu`, whose programs wait for commands: each kernel with the pass and without it in
/// turns, by processor times.
fn in_turns(
    with: Command,
    without: Command,
    run: usize,
    options: &Options,
) -> Result<Vec<(String, f64)>> {
    /// Rounds, and how many seconds of processor time a kernel takes in each of them at least.
    const ROUNDS: usize = 5;
    const LENGTH: f64 = 0.03;
    let mut peers = [Peer::start(with, "with")?, Peer::start(without, "without")?];
    let mut found = Vec::new();
    let is_kernel = |kind| matches!(kind, Kind::Items | Kind::Barriers);
    for kernel in KERNELS.iter().filter(|one| is_kernel(one.kind) && options.wants(one.name)) {
        let mut counts = [0; 2];
        for (peer, count) in peers.iter_mut().zip(&mut counts) {
            if peer.open(kernel.name)? {
                // The first run compiles.
                peer.run(1)?;
                let time = peer.run(1)?.max(1e-9);
                *count = (LENGTH / time).ceil().clamp(1.0, 100_000.0) as u32;
            }
        }
        if counts.contains(&0) {
            continue;
        }
        let rounds = if options.small { 1 } else { ROUNDS };
        let mut ratios = Vec::new();
        for round in 0..rounds {
            let mut times = [0.0; 2];
            let order = if (run + round) % 2 == 1 { [0, 1] } else { [1, 0] };
            for at in order {
                times[at] = peers[at].run(counts[at])?;
            }
            ratios.push(times[0] / times[1]);
        }
        found.push((kernel.name.to_owned(), median(&mut ratios)));
    }
    Ok(found)
}

/// Collects what another machine needs.
pub fn pack(folder: &Path) -> Result<ExitCode> {
    let root = builds::workspace()?;
    let checkout = Checkout::set_up()?;
    let built = Programs::built(&Suite::ALL)?;
    std::fs::create_dir_all(folder).at("create", folder)?;
    let path = folder.join(LIST);
    std::fs::write(&path, passes::list(&root)?).at("write", &path)?;
    let mut programs: Vec<(&Path, &str)> =
        built.paths.iter().map(|(suite, path)| (&**path, suite.program())).collect();
    programs.dedup();
    let contents = Contents {
        suite: "ablation",
        what: "kernels with and without each optional pass",
        programs: &programs,
        stage2: &built.stage2,
        usage: "[--suites gpu,breadth] [--runs N] …",
    };
    pack::write(folder, &checkout.ready, &contents)
}
