//! What follows `bench gpu` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::Arg::{Long, Value};

use crate::arguments;
use crate::error::{Error, Result};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench gpu [PAIRS] [--suite tuned|breadth|all] [--small] [--elements N] [--runs N] [--only KERNEL,…] [--clock device|host] [--save FILE]
       cargo schism bench gpu --check [--small] …   compare the results with the host's on the default device; needs no GPU
       cargo schism bench gpu --pack DIR            collect what a machine with a GPU and nvcc needs, without Rust
       cargo schism bench gpu --unpacked DIR …      measure there; the pack's run.sh does that";

/// What to measure with.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// The checkout at hand.
    Checkout,
    /// A folder to pack into.
    Pack(PathBuf),
    /// A folder that was packed.
    Unpacked(PathBuf),
}

/// The options.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// How often the programs take turns.
    pub pairs: usize,
    pub mode: Mode,
    /// Whether results are compared with the host's, and nothing with a baseline.
    pub check: bool,
    /// Where the programs' own lines go.
    pub save: Option<PathBuf>,
    /// What all programs get.
    pub passed: Vec<OsString>,
}

impl Options {
    /// Reads them.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let mut options =
            Self { pairs: 3, mode: Mode::Checkout, check: false, save: None, passed: Vec::new() };
        let misused = |error| match arguments::misused("bench gpu", error) {
            Error::Usage(text) => Error::Usage(format!("{text}\n\n{USAGE}")),
            other => other,
        };
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("check") => options.check = true,
                Long("small") => options.passed.push("--small".into()),
                Long("suite" | "elements" | "runs" | "only" | "clock") => {
                    let option = arguments::written(&argument);
                    options.passed.extend([option.into(), parser.value().map_err(misused)?]);
                }
                Long("save") => options.save = Some(parser.value().map_err(misused)?.into()),
                Long("pack") => {
                    options.mode = Mode::Pack(parser.value().map_err(misused)?.into());
                }
                Long("unpacked") => {
                    options.mode = Mode::Unpacked(parser.value().map_err(misused)?.into());
                }
                Value(number) => {
                    let pairs = number.to_str().and_then(|text| text.parse().ok());
                    options.pairs = pairs.filter(|&pairs| pairs > 0).ok_or_else(|| {
                        let number = number.display();
                        Error::Usage(format!("`{number}` is no number of pairs\n\n{USAGE}"))
                    })?;
                }
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(options)
    }
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
        assert_eq!(read("--pack there").unwrap().mode, Mode::Pack("there".into()));
        assert_eq!(read("").unwrap().mode, Mode::Checkout);
    }

    #[test]
    fn mistakes_are_explained() {
        for line in ["--frobnicate", "0", "--pack"] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench gpu"));
        }
    }
}
