//! `cargo schism bench algorithms`: `schism::algorithms` beside rayon on the CPU, and beside CUB on
//! an NVIDIA GPU.
//!
//! Two programs run in turn; a ratio is taken within each pair. schism's is `algorithms_schism` of
//! the package `schism-bench`. On the device `cpu` the other one is `algorithms_rayon`, compiled by
//! plain rustc for the CPU at hand; on a GPU it is `benches/gpu/algorithms.cu`, compiled by nvcc,
//! whose toolkit has CUB. Times are the host's, from the call until the result is there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::gpu::baseline;
use super::options::{misused, number_of_pairs};
use super::output::{duration, read};
use super::pack::{self, Contents, Mode};
use super::statistics::median;

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench algorithms [PAIRS] [--device NAME] [--sizes LOG2,…]
       cargo schism bench algorithms --pack DIR        collect what a machine with a GPU and nvcc needs, without Rust
       cargo schism bench algorithms --unpacked DIR …  measure there; the pack's run.sh does that

--device is cpu (default) or a GPU such as cuda:0; --sizes are logarithms of numbers of elements (default: 16,20,24; on a GPU 16,20,26)";

/// What schism's algorithms are to reach of the other program's speed.
const GOAL: f64 = 0.8;

const SCHISM: &str = "algorithms_schism";
const RAYON: &str = "algorithms_rayon";
const CUB: &str = "algorithms.cu";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    mode: Mode,
    device: String,
    /// What the programs get.
    sizes: Vec<String>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let (mut pairs, mut mode) = (3, Mode::Checkout);
        let (mut device, mut sizes) = ("cpu".to_owned(), None);
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench algorithms", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("device") => {
                    device = parser.value().map_err(misused)?.to_string_lossy().into_owned();
                }
                Long("sizes") => {
                    let text = parser.value().map_err(misused)?;
                    let text = text.to_string_lossy();
                    let all: Vec<String> = text.split(',').map(str::to_owned).collect();
                    let is_size = |word: &String| matches!(word.parse(), Ok(0..=30_u32));
                    if !all.iter().all(is_size) {
                        return Err(wrong(format!("`{text}` are not numbers from 0 to 30")));
                    }
                    sizes = Some(all);
                }
                Long("pack") => mode = Mode::Pack(parser.value().map_err(misused)?.into()),
                Long("unpacked") => mode = Mode::Unpacked(parser.value().map_err(misused)?.into()),
                Value(number) => pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        let default = if device == "cpu" { ["16", "20", "24"] } else { ["16", "20", "26"] };
        let sizes = sizes.unwrap_or_else(|| default.map(str::to_owned).to_vec());
        Ok(Self { pairs, mode, device, sizes })
    }
}

/// Packs or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    if let Mode::Unpacked(folder) = &options.mode {
        let folder = pack::open(folder, "algorithms", &[SCHISM, RAYON, CUB, pack::STAGE2])?;
        let peer = peer(&options, &folder.join(RAYON), &folder, &folder.join(pack::WORK))?;
        return measure(&options, &folder.join(SCHISM), &peer, &folder.join(pack::STAGE2));
    }
    let checkout = Checkout::set_up()?;
    let schism = checkout.build(checkout.schism(), SCHISM)?;
    let rayon = checkout.build(checkout.native(), RAYON)?;
    let sources = checkout.root.join("benches").join("gpu");
    let stage2 = checkout.stage2();
    if let Mode::Pack(folder) = &options.mode {
        let contents = Contents {
            suite: "algorithms",
            what: "schism's algorithms beside CUB and rayon",
            programs: &[(&schism, SCHISM), (&rayon, RAYON), (&sources.join(CUB), CUB)],
            stage2: &stage2,
            usage: "[PAIRS] [--device NAME] [--sizes LOG2,…]",
        };
        return pack::write(folder, &checkout.ready, &contents);
    }
    measure(&options, &schism, &peer(&options, &rayon, &sources, &checkout.target)?, &stage2)
}

/// The other program: rayon's, or CUB's, which is compiled here.
fn peer(options: &Options, rayon: &Path, sources: &Path, work: &Path) -> Result<PathBuf> {
    if options.device == "cpu" {
        return Ok(rayon.to_owned());
    }
    let nvcc = baseline::find()?;
    std::fs::create_dir_all(work).at("create", work)?;
    let program = work.join("algorithms_cub");
    eprintln!("building CUB's program");
    let mut build = Command::new(&nvcc);
    build.args(["-O3", "-std=c++17", "-arch=native", "-o"]).arg(&program).arg(sources.join(CUB));
    command::capture(build, "to build CUB's program", "it comes with CUDA's toolkit")?;
    println!("{}", baseline::version(&nvcc)?);
    Ok(program)
}

/// Runs both in turn, and prints the ratios.
fn measure(options: &Options, schism: &Path, peer: &Path, stage2: &Path) -> Result<ExitCode> {
    let mut seconds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let (mut order, mut is_wrong) = (Vec::new(), false);
    for pair in 1..=options.pairs {
        eprintln!("pair {pair} of {}", options.pairs);
        let mut run = Command::new(schism);
        run.env("SCHISM_JIT", stage2).env("SCHISM_DEVICE", &options.device).args(&options.sizes);
        let output = command::capture(run, "needed to measure", "it was just built")?;
        if let (1, Some(device)) = (pair, output.lines().next()) {
            println!("{device}");
        }
        let ours = read(&output);
        let mut run = Command::new(peer);
        run.args(&options.sizes);
        let theirs = read(&command::capture(run, "needed to measure", "it was just built")?);
        for (name, own, checksum) in ours.iter().filter(|(name, ..)| name.contains('/')) {
            if pair == 1 {
                order.push(name.clone());
            }
            seconds.entry(name.clone()).or_default().push(*own);
            let Some((_, other, expected)) = theirs.iter().find(|(peer, ..)| peer == name) else {
                continue;
            };
            ratios.entry(name.clone()).or_default().push(other / own);
            if checksum != expected {
                println!("{name}: the results differ: {checksum}, the other has {expected}");
                is_wrong = true;
            }
        }
    }
    let other = if options.device == "cpu" { "rayon" } else { "CUB" };
    println!("{:22} {:>10} {:>20}", "", "schism", format!("{other} / schism"));
    for name in order {
        let own = seconds.get_mut(&name).map_or(f64::NAN, |own| median(own));
        let ratio = ratios.get_mut(&name).map(|ratios| {
            let middle = median(ratios);
            let verdict = if middle >= GOAL { "" } else { "  below the goal" };
            format!(" {middle:>6.2} ({:.2} to {:.2}){verdict}", ratios[0], ratios[ratios.len() - 1])
        });
        println!("{name:22} {}{}", duration(own), ratio.unwrap_or_default());
    }
    println!("goal: {GOAL} of {other}; above 1 schism is faster");
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn sizes_depend_on_the_device() {
        let options = ask("5 --device cuda:0").unwrap();
        assert_eq!(
            (options.pairs, options.sizes),
            (5, ["16", "20", "26"].map(str::to_owned).to_vec())
        );
        assert_eq!(ask("").unwrap().sizes, ["16", "20", "24"]);
        assert_eq!(ask("--sizes 3,4").unwrap().sizes, ["3", "4"]);
    }

    #[test]
    fn mistakes_are_explained() {
        for line in ["--sizes 31", "--sizes x", "0", "--frobnicate"] {
            let error = ask(line).unwrap_err().to_string();
            assert!(error.contains("usage: cargo schism bench algorithms"), "{error}");
        }
    }
}
