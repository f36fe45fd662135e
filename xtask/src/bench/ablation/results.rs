//! What was measured, in a file: a line for each pass, suite and run, as soon as it is known.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cargo_schism::error::{Error, FileContext, Result};

use super::suites::Suite;

/// One suite with a pass and without it, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    pub suite: Suite,
    pub pass: String,
    /// The number of the run.
    pub run: usize,
    /// By kernel, the time with the pass by that without.
    pub kernels: Vec<(String, f64)>,
}

impl Measurement {
    fn line(&self) -> String {
        let mut line = format!("{} {} {}", self.suite.name(), self.pass, self.run);
        for (kernel, ratio) in &self.kernels {
            let _ = write!(line, " {kernel}={ratio:.6}");
        }
        line
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let suite = Suite::ALL.into_iter().find(|suite| suite.name() == name)?;
        let (pass, run) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let kernels = words.map(|word| {
            let (kernel, ratio) = word.rsplit_once('=')?;
            Some((kernel.to_owned(), ratio.parse().ok()?))
        });
        Some(Self { suite, pass, run, kernels: kernels.collect::<Option<_>>()? })
    }
}

/// All measurements.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    all: Vec<Measurement>,
}

impl Results {
    /// Reads the file, or begins it. `settings` say what is measured: results of other settings are
    /// not continued.
    pub fn open(path: &Path, settings: &str, fresh: bool) -> Result<Self> {
        let text =
            if fresh { String::new() } else { std::fs::read_to_string(path).unwrap_or_default() };
        let first = format!("settings {settings}");
        let mut results = Self { path: path.to_owned(), all: Vec::new() };
        // A line without an end was being written when the run stopped.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        match whole.split_once('\n') {
            Some((theirs, lines)) if theirs == first => {
                results.all = lines.lines().filter_map(Measurement::read).collect();
                if whole != text {
                    std::fs::write(path, whole).at("write", path)?;
                }
            }
            Some(_) => {
                let path = path.display();
                return Err(Error::Usage(format!(
                    "{path} has measurements of other programs or options: --fresh discards it, --results FILE names another one"
                )));
            }
            None => {
                let folder = path.parent().unwrap_or(path);
                std::fs::create_dir_all(folder).at("create", folder)?;
                std::fs::write(path, format!("{first}\n")).at("write", path)?;
            }
        }
        Ok(results)
    }

    /// Reads also what another machine has measured.
    pub fn read_others(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).at("read", path)?;
        self.all.extend(text.lines().filter_map(Measurement::read));
        Ok(())
    }

    /// Whether this was measured.
    pub fn has(&self, suite: Suite, pass: &str, run: usize) -> bool {
        let is_it = |one: &Measurement| one.suite == suite && one.pass == pass && one.run == run;
        self.all.iter().any(is_it)
    }

    /// Adds a measurement.
    pub fn add(&mut self, measurement: Measurement) -> Result<()> {
        let file = OpenOptions::new().append(true).open(&self.path);
        let mut file = file.at("write", &self.path)?;
        file.write_all((measurement.line() + "\n").as_bytes()).at("write", &self.path)?;
        self.all.push(measurement);
        Ok(())
    }

    /// The measurements of a pass in a suite.
    pub fn of(&self, suite: Suite, pass: &str) -> impl Iterator<Item = &Measurement> {
        self.all.iter().filter(move |one| one.suite == suite && one.pass == pass)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_run_that_was_stopped_continues() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("new").join("results");
        let one = Measurement {
            suite: Suite::Cpu,
            pass: "vectorize".to_owned(),
            run: 1,
            kernels: vec![("a/f32".to_owned(), 0.5), ("b=c".to_owned(), 1.0)],
        };
        let mut results = Results::open(&path, "x", false).expect("a new file");
        results.add(one.clone()).expect("it is written");
        // What was being written when the run stopped.
        let mut file = OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"cpu merge 1 a=0.5").expect("it is written");
        let again = Results::open(&path, "x", false).expect("the same settings");
        assert!(again.has(Suite::Cpu, "vectorize", 1) && !again.has(Suite::Cpu, "merge", 1));
        assert_eq!(again.of(Suite::Cpu, "vectorize").collect::<Vec<_>>(), [&one]);
        assert!(Results::open(&path, "y", false).is_err());
        assert!(!Results::open(&path, "y", true).expect("fresh").has(Suite::Cpu, "vectorize", 1));
    }
}
