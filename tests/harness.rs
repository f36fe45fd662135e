//! Tests that are data: what runs them in a program with `harness = false`.
//!
//! The program makes a [`Trial`] of each, and [`run`] understands the options of Rust's own harness
//! that people and editors use: parts of names, `--exact`, `--skip`, `--list` and `--test-threads`.

use std::any::Any;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use lexopt::Arg::{Long, Short, Value};

/// A test.
pub struct Trial {
    name: String,
    test: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl Trial {
    /// A test by its name. It fails with a text, or by a panic.
    pub fn new(
        name: impl Into<String>,
        test: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), test: Box::new(test) }
    }
}

/// What the command line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    list: bool,
    quiet: bool,
    /// Only tests that are ignored unless they are asked for; there are none.
    ignored: bool,
    threads: Option<usize>,
}

impl Options {
    fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        let mut options = Self::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next()? {
            match argument {
                Value(name) => options.names.push(name.to_string_lossy().into_owned()),
                Long("skip") => {
                    options.skipped.push(parser.value()?.to_string_lossy().into_owned());
                }
                Long("exact") => options.exact = true,
                Long("list") => options.list = true,
                Long("quiet") | Short('q') => options.quiet = true,
                Long("ignored") => options.ignored = true,
                Long("test-threads") => {
                    let number = parser.value()?.to_string_lossy().parse().ok();
                    let number = number.filter(|&threads| threads > 0);
                    options.threads = Some(number.ok_or("`--test-threads` is a number above 0")?);
                }
                // Output is never captured, and there is one format.
                Long("include-ignored" | "nocapture" | "no-capture" | "show-output") => {}
                Long("format" | "color") => drop(parser.value()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(options)
    }

    fn choose(&self, name: &str) -> bool {
        let is_meant = |part: &String| if self.exact { name == part } else { name.contains(part) };
        let is_named = self.names.is_empty() || self.names.iter().any(is_meant);
        !self.ignored && is_named && !self.skipped.iter().any(is_meant)
    }
}

/// Runs those tests that the command line chooses, in parallel, and says which failed.
#[must_use]
pub fn run(trials: Vec<Trial>) -> ExitCode {
    match Options::read(std::env::args_os().skip(1)) {
        Ok(options) => run_with(trials, &options),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_with(mut trials: Vec<Trial>, options: &Options) -> ExitCode {
    let all = trials.len();
    trials.retain(|trial| options.choose(&trial.name));
    if options.list {
        for trial in &trials {
            println!("{}: test", trial.name);
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", trials.len());
    let start = Instant::now();
    let failures = failures(&trials, options);
    for (name, why) in &failures {
        println!("\n---- {name} ----\n{why}");
    }
    if !failures.is_empty() {
        println!("\nfailures:");
    }
    for (name, _) in &failures {
        println!("    {name}");
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        if failures.is_empty() { "ok" } else { "FAILED" },
        trials.len() - failures.len(),
        failures.len(),
        all - trials.len(),
        start.elapsed().as_secs_f64()
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// Runs all trials; gives the names of those that failed, in order, and why.
fn failures<'a>(trials: &'a [Trial], options: &Options) -> Vec<(&'a str, String)> {
    let of_machine = || thread::available_parallelism().map_or(1, usize::from);
    let by_variable = std::env::var("RUST_TEST_THREADS").ok().and_then(|text| text.parse().ok());
    let threads = options.threads.or(by_variable).unwrap_or_else(of_machine);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads.min(trials.len()) {
            scope.spawn(|| {
                while let Some((at, trial)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    trials.get(at).map(|trial| (at, trial))
                } {
                    let result = run_one(trial);
                    if !options.quiet || result.is_err() {
                        let word = if result.is_ok() { "ok" } else { "FAILED" };
                        println!("test {} ... {word}", trial.name);
                    }
                    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                    failures.extend(result.err().map(|why| (at, why)));
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    failures.sort();
    failures.into_iter().map(|(at, why)| (&*trials[at].name, why)).collect()
}

/// Runs a trial in a thread of its name, which a panic's message shows.
fn run_one(trial: &Trial) -> Result<(), String> {
    thread::scope(|scope| {
        let test = thread::Builder::new().name(trial.name.clone());
        let test =
            test.spawn_scoped(scope, || (trial.test)()).map_err(|error| error.to_string())?;
        test.join().unwrap_or_else(|panic| Err(message(&*panic)))
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        Options::read(words.split_whitespace().map(OsString::from)).expect("known options")
    }

    #[test]
    fn names_choose() {
        let some = options("a/b c --skip x --nocapture --format terse");
        assert!(some.choose("a/b.ll") && some.choose("ccc"));
        assert!(!some.choose("a/bx") && !some.choose("d"));
        assert!(options("").choose("anything") && !options("--ignored").choose("anything"));
        let exact = options("--exact a/b.ll --test-threads 1");
        assert!(exact.choose("a/b.ll") && !exact.choose("a/b.ll2"));
        assert_eq!(exact.threads, Some(1));
        for words in ["--frobnicate", "--test-threads 0", "--test-threads"] {
            let words = words.split_whitespace().map(OsString::from);
            assert!(Options::read(words).is_err());
        }
    }

    #[test]
    fn failures_have_names_and_reasons() {
        let trials = vec![
            Trial::new("good", || Ok(())),
            Trial::new("bad", || Err("why".to_owned())),
            Trial::new("panics", || panic!("in {}", thread::current().name().unwrap_or_default())),
        ];
        for threads in ["--quiet", "--quiet --test-threads 1"] {
            let failures = failures(&trials, &options(threads));
            let expected = [("bad", "why".to_owned()), ("panics", "in panics".to_owned())];
            assert_eq!(failures, expected);
        }
        let run = |words| run_with(vec![Trial::new("bad", || Err(String::new()))], &options(words));
        assert_eq!(run("-q"), ExitCode::from(101));
        assert_eq!(run("-q --skip bad"), ExitCode::SUCCESS);
        assert_eq!(run("--list"), ExitCode::SUCCESS);
    }
}
