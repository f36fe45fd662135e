//! Searches for kernels whose results differ between a device and the host.
//!
//! Run by `cargo schism run -p schism-tests --bin schism-fuzz -- --seed 1 --count 1000`.

use std::process::ExitCode;

use lexopt::Arg::{Long, Short};
use lexopt::ValueExt;
use schism_tests::fuzz::{self, Options};
use schism_tests::lab::Lab;

const USAGE: &str = "\
Compares random kernels: every device with the host, and schism's compiler with plain rustc.

Usage: schism-fuzz [options]
  --seed S        all kernels follow from it (default 0)
  --count N       how many kernels (default 1000)
  --first K       the number of the first kernel (default 0)
  --only K        one kernel
  --opt LEVELS    levels of optimisation, taken in turn (default 0,1,2,3,s,z)
  --cpu           the device `cpu` also runs them with each number of lanes, and with stacks at barriers
  --jobs J        programs at the same time (default 1)
  --keep FOLDER   leaves the programs that show a difference there
  --pack FOLDER   leaves all programs there, compiled and not run: for a machine with other devices, where
                  `PROGRAM all 0` compares them with the host
  --no-reduce     does not make small kernels of them
  --print         with --only: prints the kernel and does nothing else
";

/// All levels of optimisation.
const LEVELS: [&str; 6] = ["0", "1", "2", "3", "s", "z"];

struct Arguments {
    options: Options,
    print: bool,
}

/// `None` if it is asked how to use the program.
fn arguments(mut parser: lexopt::Parser) -> Result<Option<Arguments>, lexopt::Error> {
    let mut options = Options {
        seed: 0,
        first: 0,
        count: 1000,
        levels: LEVELS.map(str::to_owned).to_vec(),
        cpu_settings: false,
        jobs: 1,
        keep: None,
        pack: None,
        reduce: true,
        verbose: true,
    };
    let mut print = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("no-reduce") => options.reduce = false,
            Long("cpu") => options.cpu_settings = true,
            Long("print") => print = true,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("count") => options.count = parser.value()?.parse()?,
            Long("first") => options.first = parser.value()?.parse()?,
            Long("only") => (options.first, options.count) = (parser.value()?.parse()?, 1),
            Long("jobs") => options.jobs = parser.value()?.parse()?,
            Long("keep") => options.keep = Some(parser.value()?.into()),
            Long("pack") => options.pack = Some(parser.value()?.into()),
            Long("opt") => {
                let list = parser.value()?.string()?;
                options.levels = list.split(',').map(str::to_owned).collect();
                let unknown = |level: &&String| !LEVELS.contains(&level.as_str());
                if let Some(level) = options.levels.iter().find(unknown) {
                    let levels = LEVELS.join(", ");
                    return Err(format!("{level:?} is no level of optimisation: {levels}").into());
                }
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(Arguments { options, print }))
}

fn main() -> ExitCode {
    let arguments = match arguments(lexopt::Parser::from_env()) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("error: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let Arguments { options, print } = arguments;
    if print {
        print!("{}", fuzz::source(options.seed, options.first));
        return ExitCode::SUCCESS;
    }
    let here = std::env::current_exe().expect("a program knows where it is");
    let folder = here.with_file_name("fuzz");
    let Some(lab) = Lab::open(&folder.to_string_lossy()) else { return ExitCode::from(2) };
    let begin = std::time::Instant::now();
    match fuzz::run(lab, &options, &|line| println!("{line}")) {
        Ok(report) => {
            if let Some(folder) = &options.pack {
                println!("{} kernels in {}", report.kernels, folder.display());
                return ExitCode::SUCCESS;
            }
            let minutes = begin.elapsed().as_secs_f64() / 60.0;
            println!(
                "{} kernels ({} of them panic), {} differences, seed {}, {:.1} minutes, {:.0} kernels a minute",
                report.kernels,
                report.panicking,
                report.findings.len(),
                options.seed,
                minutes,
                report.kernels as f64 / minutes
            );
            ExitCode::from(u8::from(!report.findings.is_empty()))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
