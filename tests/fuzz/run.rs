//! Compiles programs of generated kernels, runs them, and compares what they print.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::kernel::Kernel;
use super::{BATCH, Error, Options, reduce};
use crate::lab::{Compiler, Lab, clean_command};

const PRELUDE: &str = include_str!("prelude.rs");

/// The program's status when a kernel does not end.
const HANGS: i32 = 3;

/// How the device `cpu` may run the same kernel: each number of lanes, and stacks at barriers.
const CPU_SETTINGS: [&[(&str, &str)]; 5] = [
    &[("SCHISM_CPU_LANES", "off")],
    &[("SCHISM_CPU_LANES", "4")],
    &[("SCHISM_CPU_LANES", "8")],
    &[("SCHISM_CPU_LANES", "16")],
    &[("SCHISM_CPU_LANES", "off"), ("SCHISM_DISABLE_PASSES", "split-at-barriers")],
];

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A device and the host disagree.
    Device,
    /// The host halves of the two compilers disagree.
    Host,
    /// The driver refuses what plain rustc compiles.
    Refused,
    /// The driver did not come to its own end.
    CompilerCrash,
    /// The program did not come to its own end.
    Crash,
    /// The kernel does not end.
    Hang,
    /// Plain rustc refuses the kernel: a fault of the generator.
    Invalid,
}

/// A kernel that should not be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kernel's number.
    pub kernel: u64,
    /// What it shows.
    pub kind: Kind,
    /// In words.
    pub what: String,
    /// The options of the compiler.
    pub flags: Vec<String>,
    /// A smaller kernel that shows the same, as a whole program.
    pub reduced: Option<String>,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Kernels that were compiled and run on all devices.
    pub kernels: u64,
    /// Of these, kernels that panic.
    pub panicking: u64,
    /// What was found, by number.
    pub findings: Vec<Finding>,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "a device differs from the host",
            Self::Host => "the compilers' host halves differ",
            Self::Refused => "refused by the driver, not by plain rustc",
            Self::CompilerCrash => "the driver crashes",
            Self::Crash => "the program crashes",
            Self::Hang => "the kernel does not end",
            Self::Invalid => "generated code that is not Rust",
        })
    }
}

/// The compiler's options for a kernel's program. They follow from seed and number, but for the
/// level.
pub(crate) fn flags(options: &Options, kernel: u64) -> Vec<String> {
    let batch = kernel / BATCH;
    let level = &options.levels[(batch % options.levels.len() as u64) as usize];
    let mut rng =
        fastrand::Rng::with_seed(options.seed ^ batch.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut flags = vec![format!("-Copt-level={level}")];
    let checks = rng.bool();
    flags.push(format!("-Coverflow-checks={}", if checks { "on" } else { "off" }));
    flags.push(format!("-Cdebug-assertions={}", if rng.u32(..3) == 0 { "on" } else { "off" }));
    flags.push(format!("-Ccodegen-units={}", [1, 16][rng.usize(..2)]));
    if rng.u32(..16) == 0 && level != "0" {
        flags.push("-Clto=thin".to_owned());
    }
    flags
}

/// What plain rustc gets of them: the checks, which are a part of a program's meaning, and every so
/// often the level too. Otherwise it does not optimise, which is fast, and says what the source
/// means.
fn stock_flags(flags: &[String], batch: u64) -> Vec<String> {
    let mut flags = flags.to_vec();
    if batch % 8 != 7 {
        flags.retain(|flag| !flag.starts_with("-Copt-level") && !flag.starts_with("-Clto"));
    }
    flags
}

/// A program of kernels, and the line on which each of them begins.
pub(crate) fn program(kernels: &[(u64, String)]) -> (String, Vec<(usize, u64)>) {
    let mut text = format!(
        "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n{PRELUDE}\n"
    );
    let mut lines = Vec::new();
    let mut line = text.lines().count() + 1;
    for (number, source) in kernels {
        lines.push((line, *number));
        text += source;
        line += source.lines().count();
    }
    lines.push((line, u64::MAX));
    text += "fn main() {\nrun(&[\n";
    for (number, source) in kernels {
        if !is_gone(source) {
            text += &format!("({number}, k{number}::run),\n");
        }
    }
    text += "]);\n}\n";
    (text, lines)
}

/// Takes kernels out of a program. The others stay where they are, since panics tell their lines.
fn take_out(kernels: &mut [(u64, String)], which: impl Fn(u64) -> bool) {
    for (number, source) in kernels {
        if which(*number) {
            *source = "\n".repeat(source.lines().count());
        }
    }
}

fn is_gone(source: &str) -> bool {
    source.trim_ascii().is_empty()
}

/// What a compiler made of a program.
pub(crate) enum Compiled {
    Program(PathBuf),
    /// The kernels that it refuses, each with the first line of the reason.
    Refused(BTreeMap<u64, String>),
    /// Something that concerns no kernel in particular.
    Failed(String),
}

/// What the kernels of a program print, and what was found, each with the kernel's number.
type Observed = (Vec<String>, Vec<(u64, Kind, String)>);

/// Room to compile and run in.
pub(crate) struct Bench<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) folder: PathBuf,
    /// Whether programs run on the device `cpu` with each of [`CPU_SETTINGS`], too.
    pub(crate) cpu_settings: bool,
}

impl Bench<'_> {
    pub(crate) fn compile(
        &self,
        compiler: Compiler,
        kernels: &[(u64, String)],
        flags: &[String],
    ) -> Result<Compiled, Error> {
        let (text, lines) = program(kernels);
        let source = self.folder.join("program.rs");
        std::fs::write(&source, text)
            .map_err(|error| Error::Write { path: source.clone(), source: error })?;
        let name = match compiler {
            Compiler::Stock => "program-stock",
            Compiler::Schism => "program-schism",
        };
        let mut rustc = self.lab.rustc(compiler, &self.folder);
        self.lab.runtime_of(compiler).add_to(&mut rustc);
        rustc.args(["program.rs", "--crate-name=program", "--cap-lints=allow", "--color=never"]);
        rustc.arg("-o").arg(self.folder.join(name)).args(flags);
        let output = start(&mut rustc)?;
        if output.status.success() {
            return Ok(Compiled::Program(self.folder.join(name)));
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(1) {
            return Ok(Compiled::Failed(format!("{}: {}", output.status, tail(&errors))));
        }
        let refused = culprits(&errors, &lines);
        Ok(if refused.is_empty() {
            Compiled::Failed(tail(&errors))
        } else {
            Compiled::Refused(refused)
        })
    }

    /// Runs the program on its devices, to the end of all its kernels.
    pub(crate) fn execute(
        &self,
        program: &Path,
        devices: &str,
        settings: &[(&str, &str)],
        kernels: &[(u64, String)],
    ) -> Result<Observed, Error> {
        let kernels: Vec<_> = kernels.iter().filter(|kernel| !is_gone(&kernel.1)).collect();
        let (mut lines, mut findings) = (Vec::new(), Vec::new());
        let mut begin = 0;
        while begin < kernels.len() {
            let mut command = clean_command(program);
            if let Some(jit) = std::env::var_os("SCHISM_JIT") {
                command.env("SCHISM_JIT", jit);
            }
            command.arg(devices).arg(begin.to_string()).env("SCHISM_CPU_THREADS", "2");
            // Kernels are compared with the host bit for bit, in functions of the library, too.
            command.env("SCHISM_CPU_MATH", "host");
            command.envs(settings.iter().copied());
            let output = start(&mut command)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut last = None;
            for line in text.lines() {
                if let Some(number) = line.strip_prefix("begin ") {
                    last = number.parse().ok();
                } else if line.starts_with("kernel ") {
                    lines.push(line.to_owned());
                } else if let Some(rest) = line.strip_prefix("difference ") {
                    let number = rest.split(' ').next().and_then(|number| number.parse().ok());
                    findings.push((number.unwrap_or(u64::MAX), Kind::Device, rest.to_owned()));
                }
            }
            if text.ends_with("done\n") {
                break;
            }
            let kind = if output.status.code() == Some(HANGS) { Kind::Hang } else { Kind::Crash };
            let what =
                format!("{}: {}", output.status, tail(&String::from_utf8_lossy(&output.stderr)));
            let number = last.unwrap_or(u64::MAX);
            findings.push((number, kind, what));
            let position = kernels.iter().position(|kernel| kernel.0 == number);
            begin = position.map_or(kernels.len(), |position| position + 1);
        }
        Ok((lines, findings))
    }

    /// Everything about a program's kernels: those that ran and their lines, and the findings.
    pub(crate) fn examine(
        &self,
        mut kernels: Vec<(u64, String)>,
        flags: &[String],
        with_stock: bool,
    ) -> Result<Observed, Error> {
        let mut findings = Vec::new();
        let mut stock_lines = None;
        let stock_flags = stock_flags(flags, kernels.first().map_or(0, |kernel| kernel.0 / BATCH));
        if with_stock {
            while kernels.iter().any(|kernel| !is_gone(&kernel.1)) {
                match self.compile(Compiler::Stock, &kernels, &stock_flags)? {
                    Compiled::Program(program) => {
                        let (lines, found) = self.execute(&program, "native", &[], &kernels)?;
                        findings.extend(found);
                        stock_lines = Some(lines);
                        break;
                    }
                    Compiled::Refused(refused) => {
                        take_out(&mut kernels, |number| refused.contains_key(&number));
                        let invalid =
                            refused.into_iter().map(|(number, why)| (number, Kind::Invalid, why));
                        findings.extend(invalid);
                    }
                    Compiled::Failed(why) => return Err(Error::Prelude(why)),
                }
            }
        }
        let mut all_lines = Vec::new();
        // Parts of the program that are still to be compiled; one, unless the compiler crashes.
        let mut parts = vec![kernels];
        while let Some(mut kernels) = parts.pop() {
            let left: Vec<u64> = kernels
                .iter()
                .filter(|kernel| !is_gone(&kernel.1))
                .map(|kernel| kernel.0)
                .collect();
            let Some(middle) = left.get(left.len() / 2).copied() else { continue };
            match self.compile(Compiler::Schism, &kernels, flags)? {
                Compiled::Program(program) => {
                    let (lines, found) = self.execute(&program, "all", &[], &kernels)?;
                    all_lines.extend(lines);
                    findings.extend(found);
                    for settings in if self.cpu_settings { &CPU_SETTINGS[..] } else { &[] } {
                        let (lines, found) = self.execute(&program, "cpu", settings, &kernels)?;
                        all_lines.extend(lines);
                        let name = settings.iter().map(|(name, value)| format!("{name}={value} "));
                        let name: String = name.collect();
                        let named = |(number, kind, what)| (number, kind, format!("{name}{what}"));
                        findings.extend(found.into_iter().map(named));
                    }
                }
                Compiled::Refused(refused) => {
                    take_out(&mut kernels, |number| refused.contains_key(&number));
                    let refused =
                        refused.into_iter().map(|(number, why)| (number, Kind::Refused, why));
                    findings.extend(refused);
                    parts.push(kernels);
                }
                Compiled::Failed(why) if left.len() == 1 => {
                    findings.push((left[0], Kind::CompilerCrash, why));
                }
                Compiled::Failed(_) => {
                    let mut second = kernels.clone();
                    take_out(&mut kernels, |number| number >= middle);
                    take_out(&mut second, |number| number < middle);
                    parts.extend([kernels, second]);
                }
            }
        }
        if let Some(stock) = stock_lines {
            let stock: BTreeSet<&str> = stock.iter().map(String::as_str).collect();
            for line in &all_lines {
                if !stock.contains(line.as_str()) {
                    let number = line.split(' ').nth(1).and_then(|number| number.parse().ok());
                    findings.push((number.unwrap_or(u64::MAX), Kind::Host, line.clone()));
                }
            }
        }
        Ok((all_lines, findings))
    }
}

/// The kernels that a compiler's messages are about.
fn culprits(errors: &str, lines: &[(usize, u64)]) -> BTreeMap<u64, String> {
    let mut culprits = BTreeMap::new();
    let mut message = "";
    for line in errors.lines() {
        if line.starts_with("error") {
            message = line;
        } else if line.starts_with("warning") {
            message = "";
        }
        let Some(at) = line.find("program.rs:").filter(|_| !message.is_empty()) else { continue };
        let number = line[at + "program.rs:".len()..].split(':').next();
        let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) else { continue };
        let place = lines.partition_point(|(begin, _)| *begin <= number);
        if place > 0 && lines[place - 1].1 != u64::MAX {
            culprits.entry(lines[place - 1].1).or_insert_with(|| message.to_owned());
            message = "";
        }
    }
    culprits
}

fn start(command: &mut Command) -> Result<Output, Error> {
    command
        .output()
        .map_err(|source| Error::Start { program: command.get_program().into(), source })
}

/// The last lines of a long text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Generates, compiles, runs and compares.
///
/// `tell` gets each finding as it comes, and with [`Options::verbose`] a line for each program.
///
/// # Errors
/// [`Error`], if something of the surroundings fails.
pub fn run(lab: &Lab, options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report, Error> {
    lab.runtime_of(Compiler::Stock);
    lab.runtime_of(Compiler::Schism);
    let end = options.first + options.count;
    let next = AtomicU64::new(options.first);
    let report = Mutex::new(Ok(Report::default()));
    let worker = |job: usize| {
        let folder = lab.folder(&format!("fuzz-{}-{job}", std::process::id()));
        let bench = Bench { lab, folder, cpu_settings: options.cpu_settings };
        loop {
            let begin = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |begin| {
                (begin < end).then(|| (begin / BATCH + 1) * BATCH)
            });
            let Ok(begin) = begin else { break };
            let batch = begin..((begin / BATCH + 1) * BATCH).min(end);
            let result = run_batch(&bench, options, batch, tell);
            let mut report = report.lock().expect("no panic while it is held");
            match (&mut *report, result) {
                (Ok(report), Ok(batch)) => {
                    report.kernels += batch.kernels;
                    report.panicking += batch.panicking;
                    report.findings.extend(batch.findings);
                }
                (Ok(_), Err(error)) => *report = Err(error),
                (Err(_), _) => break,
            }
        }
        let _ = std::fs::remove_dir_all(&bench.folder);
    };
    std::thread::scope(|scope| {
        for job in 0..options.jobs.max(1) {
            scope.spawn(move || worker(job));
        }
    });
    let mut report = report.into_inner().expect("no panic while it was held")?;
    report.findings.sort_by_key(|finding| finding.kernel);
    Ok(report)
}

fn run_batch(
    bench: &Bench<'_>,
    options: &Options,
    numbers: std::ops::Range<u64>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Report, Error> {
    let started = std::time::Instant::now();
    let flags = flags(options, numbers.start);
    let kernels: Vec<(u64, String)> = numbers
        .clone()
        .map(|number| (number, Kernel::generate(options.seed, number).source.render()))
        .collect();
    if let Some(folder) = &options.pack {
        return pack(bench, folder, options.seed, kernels, &flags);
    }
    let (lines, found) = bench.examine(kernels, &flags, true)?;
    // Each kernel has a line for each time that its program ran; they are the same.
    let lines: BTreeSet<String> = lines.into_iter().collect();
    let panicking = lines.iter().filter(|line| !line.contains(" panics=0 ")).count() as u64;
    let mut report = Report { kernels: lines.len() as u64, panicking, findings: Vec::new() };
    for (kernel, kind, what) in found {
        // One kernel, one finding: the first device's stands for the others'.
        if report.findings.iter().any(|finding: &Finding| finding.kernel == kernel) {
            continue;
        }
        tell(&format!("kernel {kernel}: {kind}: {what}\n  {}", reproduce(options, kernel)));
        let mut finding = Finding { kernel, kind, what, flags: flags.clone(), reduced: None };
        if options.reduce && kernel != u64::MAX {
            finding.reduced = reduce::reduce(bench, options.seed, &finding)?;
            if finding.reduced.is_none() && kind != Kind::Invalid {
                let (first, count) = (numbers.start, numbers.end - numbers.start);
                tell(&format!("  only among its neighbours: --first {first} --count {count}"));
            }
        }
        if let Some(folder) = &options.keep {
            keep(folder, options, &finding)?;
        }
        if let Some(text) = &finding.reduced {
            let kernel = text.find("\nmod k").map_or(text.as_str(), |at| &text[at..]);
            tell(&format!("  reduced:{kernel}"));
        }
        report.findings.push(finding);
    }
    if options.verbose {
        tell(&format!(
            "kernels {}..{}: {} ran, {panicking} of them panic, {} findings, {:.1} s, {}",
            numbers.start,
            numbers.end,
            report.kernels,
            report.findings.len(),
            started.elapsed().as_secs_f64(),
            flags.join(" ")
        ));
    }
    Ok(report)
}

/// Compiles a program and leaves it in a folder, without the kernels that the driver refuses.
fn pack(
    bench: &Bench<'_>,
    folder: &Path,
    seed: u64,
    mut kernels: Vec<(u64, String)>,
    flags: &[String],
) -> Result<Report, Error> {
    let first = kernels.first().map_or(0, |kernel| kernel.0);
    let program = loop {
        match bench.compile(Compiler::Schism, &kernels, flags)? {
            Compiled::Program(program) => break program,
            Compiled::Refused(refused) => {
                take_out(&mut kernels, |number| refused.contains_key(&number));
            }
            Compiled::Failed(why) => return Err(Error::Pack { first, why }),
        }
    };
    let path = folder.join(format!("kernels-{seed}-{first}"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::copy(program, &path))
        .map_err(|source| Error::Write { path, source })?;
    let kernels = kernels.iter().filter(|kernel| !is_gone(&kernel.1)).count() as u64;
    Ok(Report { kernels, ..Report::default() })
}

/// The command that makes one kernel again.
pub fn reproduce(options: &Options, kernel: u64) -> String {
    let level = &options.levels[(kernel / BATCH % options.levels.len() as u64) as usize];
    format!("schism-fuzz --seed {} --only {kernel} --opt {level}", options.seed)
}

/// Leaves the program of one kernel, and its small form, in a folder.
fn keep(folder: &Path, options: &Options, finding: &Finding) -> Result<(), Error> {
    let source = Kernel::generate(options.seed, finding.kernel).source.render();
    let head = format!(
        "// {}\n// {}: {}\n// {}\n",
        reproduce(options, finding.kernel),
        finding.kind,
        finding.what.replace('\n', "\n// "),
        finding.flags.join(" ")
    );
    let (whole, _) = program(&[(finding.kernel, source)]);
    let mut files = vec![(format!("kernel-{}.rs", finding.kernel), whole)];
    if let Some(reduced) = &finding.reduced {
        files.push((format!("kernel-{}-small.rs", finding.kernel), reduced.clone()));
    }
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, format!("{head}{text}")))
            .map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}
