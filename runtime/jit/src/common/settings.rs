//! What the environment asks of a compilation, as the request says it. Stage 2 reads no environment.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use schism_jit_abi::variables::{CPU_LANES, DUMP_DIR, LLD, TIME_PASSES};
use schism_passes::pass::PassOptions;
use schism_passes::pipeline;

use crate::JitError;

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
    /// Reads variables, by their names and values.
    ///
    /// # Errors
    /// A variable does not have a value of those that it may have.
    pub fn of(variables: &[(String, OsString)]) -> Result<Self, JitError> {
        let value = |name: &str| -> Option<&OsStr> {
            let found = variables.iter().find(|(known, _)| known == name)?;
            Some(&*found.1).filter(|value| !value.is_empty())
        };
        let text = |name: &str| value(name)?.to_str().map(str::to_owned);
        Ok(Self {
            passes: pipeline::options(text)
                .map_err(|error| JitError::InvalidOptions(error.to_string()))?,
            dump_dir: value(DUMP_DIR).map(PathBuf::from),
            time_passes: value(TIME_PASSES).is_some_and(|value| value != "0"),
            cpu_lanes: text(CPU_LANES).unwrap_or_default(),
            linker: value(LLD).map(PathBuf::from),
        })
    }
}
