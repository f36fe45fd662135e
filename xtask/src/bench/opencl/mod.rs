//! `cargo schism bench opencl`: kernels on a driver of OpenCL beside baselines in OpenCL C on the
//! same driver.
//!
//! Two programs of the package `schism-bench` take turns: `gpu_schism`, whose kernels become
//! SPIR-V, and `opencl_twins`, which has the driver compile `benches/opencl/kernels.cl`. Both have
//! the same algorithms, sizes, data, groups and options of the compiler, and both ask the driver
//! how long launches took. A ratio is taken within each pair, so that it holds when the machine's
//! speed drifts; results are compared bit by bit.
//!
//! Then each kernel is compiled by stage 2 to SPIR-V and to PTX, in turns, without a driver: how
//! long that takes.

mod lowering;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use cargo_schism::arguments;
use cargo_schism::command;
use cargo_schism::error::{Error, Result};
use cargo_schism::home::Home;
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::gpu::table::{Agreement, Line, agreement, seconds};
use super::options::{misused, number_of_pairs};
use super::statistics::{geometric_mean, median};
use crate::opencl;

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench opencl [PAIRS] [--small] [--full] [--elements N] [--suite S] [--runs N] [--warm-up MS] [--only KERNEL,…] [--clock device|host|processor]
       cargo schism bench opencl --lowering [KERNEL]   only how long stage 2 takes to make SPIR-V and PTX, for each kernel

Sizes are for a processor; --full takes those of `bench gpu`. The driver is the one that SCHISM_OPENCL names, or Intel's, which
`SCHISM_TEST_OPENCL=install cargo schism test` fetches.";

/// Milliseconds of untimed runs. Arrays as large as the last cache need hundreds of runs until what remains in
/// it no longer depends on what the process did before: ours has just compiled the kernel, the other one has
/// just written the arrays.
const WARM_UP: &str = "250";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    /// What both programs get.
    passed: Vec<OsString>,
    /// Only the times of stage 2, of kernels with this in their names.
    lowering: Option<String>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self { pairs: 5, passed: Vec::new(), lowering: None };
        let mut size = "--medium";
        let mut warm_up = [OsString::from("--warm-up"), WARM_UP.into()];
        let mut is_lowering = false;
        let mut others = Vec::new();
        let misused = |error| misused("bench opencl", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("small") => size = "--small",
                Long("full") => size = "",
                Long("lowering") => is_lowering = true,
                Long("warm-up") => warm_up[1] = parser.value().map_err(misused)?,
                Long("elements" | "suite" | "runs" | "only" | "clock") => {
                    let option = arguments::written(&argument);
                    options.passed.extend([option.into(), parser.value().map_err(misused)?]);
                }
                Value(word) => others.push(word.to_string_lossy().into_owned()),
                option => return Err(misused(option.unexpected())),
            }
        }
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        match &others[..] {
            _ if is_lowering => options.lowering = Some(others.join(" ")),
            [] => {}
            [word] => options.pairs = number_of_pairs(word.as_ref()).map_err(wrong)?,
            [_, word, ..] => return Err(wrong(format!("`{word}` is no option"))),
        }
        options.passed.extend(warm_up);
        options.passed.push("--precise".into());
        if !size.is_empty() {
            options.passed.push(size.into());
        }
        Ok(options)
    }
}

/// Builds the programs, runs them in turns, prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    let checkout = Checkout::set_up()?;
    let schism = checkout.build(checkout.schism(), "gpu_schism")?;
    let stage2 = checkout.stage2();
    if let Some(part) = &options.lowering {
        lowering::print(&schism, &stage2, part, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let driver = driver(&checkout.home)?;
    let twins = checkout.build(checkout.native(), "opencl_twins")?;
    let source = checkout.root.join("benches").join("opencl").join("kernels.cl");
    let mut table = Table::default();
    for pair in 1..=options.pairs {
        eprintln!("pair {pair} of {}", options.pairs);
        let ours = || {
            let mut run = Command::new(&schism);
            run.env("SCHISM_JIT", &stage2).env("SCHISM_OPENCL", &driver);
            run.env("SCHISM_DEVICE", "opencl:0").args(&options.passed);
            // What only GPUs have: copies between two memories, and the cost of a launch.
            run
        };
        let theirs = || {
            let mut run = Command::new(&twins);
            run.arg(&driver).arg(&source).args(&options.passed);
            run
        };
        let capture = |run| command::capture(run, "to measure", "it was just built");
        // The one that goes first changes.
        let (ours, theirs) = if pair % 2 == 1 {
            let ours = capture(ours())?;
            (ours, capture(theirs())?)
        } else {
            let theirs = capture(theirs())?;
            (capture(ours())?, theirs)
        };
        if pair == 1 {
            for line in [&ours, &theirs].into_iter().filter_map(|text| text.lines().next()) {
                println!("{line}");
            }
        }
        table.add(&Line::all(&ours), &Line::all(&theirs));
    }
    print!("{}", table.render());
    println!();
    lowering::print(&schism, &stage2, "", false)?;
    Ok(if table.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The driver's library.
fn driver(home: &Home) -> Result<PathBuf> {
    let named = std::env::var_os("SCHISM_OPENCL").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| opencl::driver(home)).ok_or_else(|| {
        Error::Usage(
            "there is no driver of OpenCL: SCHISM_TEST_OPENCL=install cargo schism test --test opencl fetches Intel's for \
             processors, and SCHISM_OPENCL names another"
                .to_owned(),
        )
    })
}

/// The measurements of one kernel, over all pairs.
#[derive(Debug, Default)]
struct Row {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    ratios: Vec<f64>,
    worst: Option<Agreement>,
    sizes_differ: bool,
}

/// All kernels that both programs have, in the order in which they were measured.
#[derive(Debug, Default)]
struct Table {
    order: Vec<(String, String)>,
    rows: BTreeMap<(String, String), Row>,
}

impl Table {
    fn add(&mut self, ours: &[Line], theirs: &[Line]) {
        for own in ours {
            let Some(other) = theirs.iter().find(|line| line.name == own.name) else { continue };
            let row = self.rows.entry(own.name.clone()).or_insert_with(|| {
                self.order.push(own.name.clone());
                Row::default()
            });
            // Of each program's runs the shortest: what else the processor does only adds to one.
            row.ours.push(own.min);
            row.theirs.push(other.min);
            row.ratios.push(other.min / own.min);
            row.worst = row.worst.max(Some(agreement(own, other)));
            row.sizes_differ |= own.size != other.size;
        }
    }

    /// Whether all results agree, and all sizes.
    fn is_right(&self) -> bool {
        let wrong = |row: &Row| row.worst == Some(Agreement::Different) || row.sizes_differ;
        !self.rows.is_empty() && !self.rows.values().any(wrong)
    }

    fn render(&self) -> String {
        let mut text = format!(
            "\nOpenCL C's time / schism's, on one driver: above 1 schism is faster\n{:21} {:>10} {:>10}  ratio\n",
            "", "schism", "OpenCL C"
        );
        let mut all = Vec::new();
        for name in &self.order {
            let row = &self.rows[name];
            let mut ratios = row.ratios.clone();
            let ratio = median(&mut ratios);
            let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
            all.push(ratio);
            let [ours, theirs] =
                [&row.ours, &row.theirs].map(|times| seconds(Some(median(&mut times.clone()))));
            let words = match (row.sizes_differ, row.worst) {
                (true, _) => "SIZES DIFFER",
                (_, Some(Agreement::Bits)) => "same bits",
                (_, Some(Agreement::Near)) => "near",
                _ => "DIFFERENT",
            };
            let (kernel, element) = name;
            text += &format!(
                "{kernel:15}{element:6} {ours} {theirs}  {ratio:.3} ({low:.2}-{high:.2})  {words}\n"
            );
        }
        if let Some(mean) = geometric_mean(&all) {
            text += &format!("{:44}{mean:.3}\n", "geometric mean");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn line(kernel: &str, median: f64, bits: u32, sum: f64) -> Line {
        let text = format!(
            "result kernel={kernel} variant=precise type=f32 size=8 bytes=8 clock=device median={median} min={median} first=1 \
             bits={bits:016x} sum={sum:e}"
        );
        Line::all(&text).pop().expect("a line")
    }

    #[test]
    fn both_programs_get_the_options() {
        let options = read("3 --only scan --runs 2").unwrap();
        assert_eq!(options.pairs, 3);
        assert_eq!(
            options.passed,
            ["--only", "scan", "--runs", "2", "--warm-up", WARM_UP, "--precise", "--medium"]
        );
        assert_eq!(read("--full --warm-up 1").unwrap().passed, ["--warm-up", "1", "--precise"]);
        assert_eq!(read("--lowering scan").unwrap().lowering, Some("scan".to_owned()));
        for wrong in ["0", "none", "1 2", "--frobnicate"] {
            let text = read(wrong).unwrap_err().to_string();
            assert!(text.contains("usage: cargo schism bench opencl"), "{text}");
        }
    }

    #[test]
    fn ratios_and_results_are_compared() {
        let mut table = Table::default();
        table.add(&[line("scan", 2.0, 7, 1.0)], &[line("scan", 1.0, 7, 1.0)]);
        table.add(&[line("scan", 1.0, 7, 1.0)], &[line("scan", 1.0, 7, 1.0)]);
        table.add(&[line("dot", 1.0, 7, 1.0)], &[line("dot", 2.0, 8, 1.001)]);
        let text = table.render();
        assert!(text.contains("0.750 (0.50-1.00)  same bits"), "{text}");
        assert!(text.contains("2.000 (2.00-2.00)  near"), "{text}");
        assert!(text.contains("1.225"), "{text}");
        assert!(table.is_right());
        table.add(&[line("dot", 1.0, 7, 1.0)], &[line("dot", 2.0, 8, 2.0)]);
        assert!(table.render().contains("DIFFERENT") && !table.is_right());
        assert!(!Table::default().is_right());
    }
}
