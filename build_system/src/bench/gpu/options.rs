//! What follows `bench gpu` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::{Error, Result};

const USAGE: &str = "\
usage: cargo schism bench gpu [PAIRS] [--small] [--elements N] [--runs N] [--only KERNEL,…] [--clock device|host] [--save FILE]
       cargo schism bench gpu --check [--small] …   compare the results with the host's on the default device; needs no GPU
       cargo schism bench gpu --pack DIR            collect what a machine with a GPU and nvcc needs, without Rust
       cargo schism bench gpu --unpacked DIR …      measure there; the pack's run.sh does that";

/// What to measure with.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
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
    pub place: Place,
    /// Whether results are compared with the host's, and nothing with a twin.
    pub check: bool,
    /// Where the programs' own lines go.
    pub save: Option<PathBuf>,
    /// What all programs get.
    pub passed: Vec<OsString>,
}

impl Options {
    /// Reads them.
    pub fn read(arguments: &[OsString]) -> Result<Self> {
        let mut options =
            Self { pairs: 3, place: Place::Checkout, check: false, save: None, passed: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next().cloned();
                let name = argument.display();
                value.ok_or_else(|| Error::Usage(format!("`{name}` needs a value\n\n{USAGE}")))
            };
            match argument.to_str() {
                Some("--check") => options.check = true,
                Some("--small") => options.passed.push(argument.clone()),
                Some("--elements" | "--runs" | "--only" | "--clock") => {
                    let value = value()?;
                    options.passed.extend([argument.clone(), value]);
                }
                Some("--save") => options.save = Some(value()?.into()),
                Some("--pack") => options.place = Place::Pack(value()?.into()),
                Some("--unpacked") => options.place = Place::Unpacked(value()?.into()),
                Some("--help" | "-h") => return Err(Error::Usage(USAGE.to_owned())),
                other => {
                    let number = other.and_then(|text| text.parse().ok()).filter(|&n| n > 0);
                    options.pairs = number.ok_or_else(|| {
                        let argument = argument.display();
                        Error::Usage(format!("`{argument}` is no option of this\n\n{USAGE}"))
                    })?;
                }
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
        assert_eq!(read("--pack there").unwrap().place, Place::Pack("there".into()));
        assert_eq!(read("").unwrap().place, Place::Checkout);
    }

    #[test]
    fn mistakes_are_explained() {
        for line in ["--frobnicate", "0", "--pack", "--help"] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench gpu"));
        }
    }
}
