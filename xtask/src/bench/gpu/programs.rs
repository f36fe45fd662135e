//! schism's program, built here or taken from a pack.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_schism::error::{FileContext, Result};
use cargo_schism::targets::{self, TargetsOption};
use schism_hcf::Targets;

use super::options::Options;
use crate::bench::builds::Checkout;
use crate::bench::pack;

/// The program with schism's kernels, and the name of its binary.
pub const PROGRAM: &str = "gpu_schism";

/// The same with code made ahead of time, in a pack.
pub const AOT_PROGRAM: &str = "gpu_schism_aot";

/// Where the baselines' sources are, in a checkout and in a pack.
pub const SOURCES: &str = "gpu";

/// What is needed to measure.
pub struct Programs {
    /// schism's program, with what it needs in its environment.
    pub program: PathBuf,
    /// The same with code made ahead of time.
    pub aot: Option<PathBuf>,
    pub stage2: PathBuf,
    /// The folder of the baselines' sources.
    pub sources: PathBuf,
    /// A folder for what is made on the way.
    pub work: PathBuf,
}

impl Programs {
    /// Builds the program in the checkout at hand, and again for these targets.
    pub fn built(targets: Option<&Targets>) -> Result<Self> {
        let checkout = Checkout::set_up()?;
        let target = &checkout.target;
        let build = |asked: TargetsOption, target: &Path| {
            let mut cargo = checkout.schism();
            targets::apply(&mut cargo, &asked, &[])?;
            checkout.build_in(target, cargo, PROGRAM)
        };
        let program = build(TargetsOption::None, target)?;
        let aot =
            targets.map(|targets| build(TargetsOption::Some(targets.clone()), &target.join("aot")));
        let aot = aot.transpose()?;
        let sources = checkout.root.join("benches").join(SOURCES);
        let stage2 = checkout.stage2();
        Ok(Self { program, aot, stage2, sources, work: target.join("gpu") })
    }

    /// Takes the program from a pack.
    pub fn unpacked(folder: &Path) -> Result<Self> {
        let folder = pack::open(folder, "gpu", &[PROGRAM, pack::STAGE2])?;
        Ok(Self {
            program: folder.join(PROGRAM),
            aot: Some(folder.join(AOT_PROGRAM)).filter(|program| program.is_file()),
            stage2: folder.join(pack::STAGE2),
            sources: folder.join(SOURCES),
            work: folder.join(pack::WORK),
        })
    }

    /// A run of the program.
    pub fn program(&self, options: &Options) -> Command {
        let mut program = Command::new(&self.program);
        program.env("SCHISM_JIT", &self.stage2).args(&options.passed);
        program
    }

    /// A run of the program with code made ahead of time, which finds no stage 2; only in the
    /// variant that needs none.
    pub fn aot_program(&self, options: &Options) -> Option<Command> {
        let mut program = Command::new(self.aot.as_ref()?);
        program.env("SCHISM_JIT", self.work.join("no-stage-2").join(pack::STAGE2));
        program.args(&options.passed).arg("--precise");
        Some(program)
    }

    /// Empty caches for the compiled kernels, schism's own and the driver's, so that the first run
    /// of schism's program compiles all of them and the next finds them.
    pub fn fresh_caches(&self) -> Result<[(&'static str, PathBuf); 2]> {
        let caches = self.work.join("caches");
        if caches.exists() {
            std::fs::remove_dir_all(&caches).at("remove", &caches)?;
        }
        let caches = [
            ("SCHISM_CACHE_DIR", caches.join("schism")),
            ("CUDA_CACHE_PATH", caches.join("driver")),
        ];
        for (_, folder) in &caches {
            std::fs::create_dir_all(folder).at("create", folder)?;
        }
        Ok(caches)
    }
}
