//! What follows `bench gpu` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use cargo_schism::arguments;
use cargo_schism::error::{Error, Result};
use lexopt::Arg::{Long, Value};
use schism_hcf::{TargetError, Targets};
use schism_jit_abi::ptxas::Ptxas;

use crate::bench::options::{misused, number_of_pairs};
use crate::bench::pack::Mode;

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench gpu [PAIRS] [--suite tuned|breadth|all] [--small] [--elements N] [--runs N] [--only KERNEL,…] [--clock device|host] [--targets LIST] [--save FILE]
       cargo schism bench gpu --check [--small] …   compare the results with the host's on the default device; needs no GPU
       cargo schism bench gpu --pack DIR            collect what a machine with a GPU and nvcc needs, without Rust
       cargo schism bench gpu --unpacked DIR …      measure there; the pack's run.sh does that
  --targets LIST  what code is made for ahead of time, for the rows of the program that runs without stage 2; `none` leaves it
                  out (default: ptx:sm_80,ptx:sm_90, and sass:sm_90 where there is a ptxas)";

/// The options.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// How often the programs take turns.
    pub pairs: usize,
    pub mode: Mode,
    /// Whether results are compared with the host's, and nothing with a baseline.
    pub check: bool,
    /// What the program that runs without stage 2 is compiled for; `None` if there is none.
    pub targets: Option<Targets>,
    /// Where the programs' own lines go.
    pub save: Option<PathBuf>,
    /// What all programs get.
    pub passed: Vec<OsString>,
}

impl Options {
    /// Reads them.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self {
            pairs: 3,
            mode: Mode::Checkout,
            check: false,
            targets: Some(usual_targets()),
            save: None,
            passed: Vec::new(),
        };
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench gpu", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("check") => options.check = true,
                Long("small") => options.passed.push("--small".into()),
                Long("suite" | "elements" | "runs" | "only" | "clock") => {
                    let option = arguments::written(&argument);
                    options.passed.extend([option.into(), parser.value().map_err(misused)?]);
                }
                Long("targets") => {
                    let list = parser.value().map_err(misused)?;
                    let list = list.to_string_lossy();
                    options.targets = match &*list {
                        "none" => None,
                        list => Some(list.parse().map_err(|error: TargetError| {
                            wrong(format!("`--targets`: {error}"))
                        })?),
                    };
                }
                Long("save") => options.save = Some(parser.value().map_err(misused)?.into()),
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

/// PTX for all GPUs that are usual, and machine code for one, where it can be made.
fn usual_targets() -> Targets {
    let machine_code = if Ptxas::find().is_ok() { ",sass:sm_90" } else { "" };
    format!("ptx:sm_80,ptx:sm_90{machine_code}").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_programs_get_their_options() {
        let options = read("5 --small --only dot,scan --save lines").unwrap();
        assert_eq!((options.pairs, options.check), (5, false));
        assert_eq!(options.passed, ["--small", "--only", "dot,scan"]);
        assert_eq!(options.save, Some("lines".into()));
        assert!(options.targets.is_some_and(|targets| targets.others().len() >= 2));
        let targets = |line: &str| read(line).unwrap().targets.map(|targets| targets.to_string());
        assert_eq!(targets("--targets ptx:sm_70").as_deref(), Some("ptx:sm_70"));
        assert_eq!(targets("--targets none"), None);
        assert_eq!(read("--pack there").unwrap().mode, Mode::Pack("there".into()));
        assert_eq!(read("").unwrap().mode, Mode::Checkout);
    }

    #[test]
    fn mistakes_are_explained() {
        for line in ["--frobnicate", "0", "--pack", "--targets", "--targets gpu"] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench gpu"));
        }
    }
}
