//! What follows `bench ablation` on the command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use cargo_schism::error::Result;
use lexopt::Arg::Long;

use super::suites::Suite;
use super::wrong;
use crate::bench::options::{misused, number_of_pairs, parts_of_names};
use crate::bench::pack::Mode;

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench ablation [--runs N] [--suites cpu,stdpar,gpu,breadth] [--passes NAME,…] [--only KERNEL,…] [--small]
                                   [--results FILE] [--fresh] [--add FILE]… [--page FILE]
       cargo schism bench ablation --pack DIR        collect what a machine with a GPU needs, without Rust
       cargo schism bench ablation --unpacked DIR …  measure there; the pack's run.sh does that

Runs the kernels of each suite with each optional pass and without it, so many times (default: 3), and writes docs/ablation.md.
What was measured is kept in FILE (default: in the target folder) and not measured again: a run that was stopped continues.
--fresh discards it. --add reads the file of another machine, for the page. --only takes parts of kernels' names; --small has
small inputs: for a look at whether everything works";

/// The options.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub mode: Mode,
    /// How often each suite is measured with and without each pass.
    pub runs: usize,
    pub suites: Vec<Suite>,
    /// All if there are none.
    pub passes: Vec<String>,
    /// Parts of kernels' names; all if there are none.
    pub only: Vec<String>,
    pub small: bool,
    pub fresh: bool,
    pub results: Option<PathBuf>,
    /// Results of other machines.
    pub add: Vec<PathBuf>,
    pub page: Option<PathBuf>,
}

impl Options {
    /// Reads them.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self {
            mode: Mode::Checkout,
            runs: 3,
            suites: Suite::ALL.to_vec(),
            passes: Vec::new(),
            only: Vec::new(),
            small: false,
            fresh: false,
            results: None,
            add: Vec::new(),
            page: None,
        };
        let misused = |error| misused("bench ablation", USAGE, error);
        let list = |word: &OsStr| parts_of_names(word).map_err(|text| wrong(&text));
        let value = |parser: &mut lexopt::Parser| parser.value().map_err(misused);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("runs") => {
                    options.runs =
                        number_of_pairs(&value(&mut parser)?).map_err(|text| wrong(&text))?;
                }
                Long("suites") => {
                    let suites = list(&value(&mut parser)?)?;
                    options.suites =
                        suites.iter().map(|name| suite(name)).collect::<Result<_>>()?;
                }
                Long("passes") => options.passes.extend(list(&value(&mut parser)?)?),
                Long("only") => options.only.extend(list(&value(&mut parser)?)?),
                Long("small") => options.small = true,
                Long("fresh") => options.fresh = true,
                Long("results") => options.results = Some(value(&mut parser)?.into()),
                Long("add") => options.add.push(value(&mut parser)?.into()),
                Long("page") => options.page = Some(value(&mut parser)?.into()),
                Long("pack") => options.mode = Mode::Pack(value(&mut parser)?.into()),
                Long("unpacked") => options.mode = Mode::Unpacked(value(&mut parser)?.into()),
                other => return Err(misused(other.unexpected())),
            }
        }
        Ok(options)
    }

    /// Whether a kernel was asked for.
    pub fn wants(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| kernel.contains(part.as_str()))
    }
}

fn suite(name: &str) -> Result<Suite> {
    let found = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    let known = Suite::ALL.map(Suite::name).join(", ");
    found.ok_or_else(|| wrong(&format!("there is no suite `{name}`; there are {known}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options =
            read("--runs 1 --suites cpu,breadth --passes vectorize --only sgemm").unwrap();
        assert_eq!((options.runs, &*options.suites), (1, &[Suite::Cpu, Suite::Breadth][..]));
        assert_eq!(options.passes, ["vectorize"]);
        assert!(options.wants("sgemm_tiled") && !options.wants("scan"));
        assert_eq!(read("").unwrap().suites, Suite::ALL);
        assert_eq!(read("--pack there").unwrap().mode, Mode::Pack("there".into()));
        for line in ["--frobnicate", "--runs 0", "--suites gpus", "3", "--page"] {
            let text = read(line).unwrap_err().to_string();
            assert!(text.contains("usage: cargo schism bench ablation"), "{text}");
        }
    }
}
