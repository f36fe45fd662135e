//! What the environment asks of a compilation. It is read here alone, once for each.

use std::path::PathBuf;

use schism_passes::pass::PassOptions;
use schism_passes::pipeline;

use crate::JitError;

/// Where a kernel's intermediate forms go.
pub const DUMP_DIR: &str = "SCHISM_DUMP_DIR";
/// Whether the times of passes are printed. The compiler plugin reads it too.
const TIME_PASSES: &str = "SCHISM_TIME_PASSES";
/// How many work-items the CPU computes at once. The runtime makes it a part of the key of compiled
/// kernels, as it does with disabled passes.
pub const CPU_LANES: &str = "SCHISM_CPU_LANES";
/// Names the linker of code objects.
pub const LLD: &str = "SCHISM_LLD";

/// The settings of one compilation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which passes run, and what they print.
    pub passes: PassOptions,
    /// [`DUMP_DIR`].
    pub dump_dir: Option<PathBuf>,
    /// Whether [`TIME_PASSES`] is set.
    pub time_passes: bool,
    /// [`CPU_LANES`]; empty if it is not set.
    pub cpu_lanes: String,
    /// [`LLD`].
    pub linker: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment. A program with rights that its user lacks ignores what its user could
    /// misuse.
    ///
    /// # Errors
    /// A variable does not have a value of those that it may have.
    pub fn from_environment() -> Result<Self, JitError> {
        let text = |name: &str| schism_trust::variable(name)?.into_string().ok();
        let is_set = |value: std::ffi::OsString| !value.is_empty() && value != "0";
        Ok(Self {
            passes: pipeline::options(text)
                .map_err(|error| JitError::InvalidOptions(error.to_string()))?,
            dump_dir: schism_trust::variable(DUMP_DIR).map(PathBuf::from),
            time_passes: std::env::var_os(TIME_PASSES).is_some_and(is_set),
            cpu_lanes: text(CPU_LANES).unwrap_or_default(),
            linker: schism_trust::variable(LLD).map(PathBuf::from),
        })
    }
}
