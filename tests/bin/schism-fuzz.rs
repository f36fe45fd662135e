//! Searches for kernels whose results differ between a device and the host.
//!
//! Run by `cargo schism run -p schism-tests --bin schism-fuzz -- --seed 1 --count 1000`.

use std::process::ExitCode;

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
  --jobs J        programs at the same time (default 1)
  --keep FOLDER   leaves the programs that show a difference there
  --pack FOLDER   leaves all programs there, compiled and not run: for a machine with other devices, where
                  `PROGRAM all 0` compares them with the host
  --no-reduce     does not make small kernels of them
  --print         with --only: prints the kernel and does nothing else
";

struct Arguments {
    options: Options,
    print: bool,
}

fn arguments(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut options = Options {
        seed: 0,
        first: 0,
        count: 1000,
        levels: ["0", "1", "2", "3", "s", "z"].map(str::to_owned).to_vec(),
        jobs: 1,
        keep: None,
        pack: None,
        reduce: true,
        verbose: true,
    };
    let mut print = false;
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        if name == "--no-reduce" {
            options.reduce = false;
            continue;
        }
        if name == "--print" {
            print = true;
            continue;
        }
        let value =
            arguments.next().ok_or_else(|| format!("{name} is unknown or needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|error| format!("{name} needs a number, not {value:?}: {error}"))
        };
        match name.as_str() {
            "--seed" => options.seed = number()?,
            "--count" => options.count = number()?,
            "--first" => options.first = number()?,
            "--only" => (options.first, options.count) = (number()?, 1),
            "--jobs" => options.jobs = number()? as usize,
            "--keep" => options.keep = Some(value.into()),
            "--pack" => options.pack = Some(value.into()),
            "--opt" => {
                options.levels = value.split(',').map(str::to_owned).collect();
                if let Some(level) = options
                    .levels
                    .iter()
                    .find(|level| !["0", "1", "2", "3", "s", "z"].contains(&level.as_str()))
                {
                    return Err(format!("{level:?} is no level of optimisation: 0, 1, 2, 3, s, z"));
                }
            }
            _ => return Err(format!("{name} is unknown")),
        }
    }
    Ok(Some(Arguments { options, print }))
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
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
