//! `SCHISM_STDPAR_REPORT`: what became of each pipeline, told when the program ends.
//!
//! `1` prints it on standard error; any other word is a file that it is appended to, so that
//! programs whose standard error is read can be looked at too. When it is not asked for, a pipeline
//! costs a look at two statics more.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::{self, Display, Write as _};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use schism::__private::timeline::{self, Time, Value};
use schism::__private::variables::STDPAR_REPORT;

use crate::at_exit;

/// Of a pipeline's name, as many characters.
const LONGEST: usize = 160;

/// Where the report goes.
enum Sink {
    StandardError,
    File(&'static OsStr),
}

/// Where a pipeline ran, and why there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// As a kernel.
    Kernel,
    /// With rayon: its pool has one thread.
    OneThread,
    /// With rayon: `SCHISM_STDPAR=never`.
    Never,
    /// With rayon: `SCHISM_STDPAR_EXCLUDE`.
    Excluded,
    /// With rayon: in `schism::host`.
    Host,
    /// With rayon: the compiler made no kernel of its types.
    NoKernel,
    /// With rayon, as that was measured, or had been measured to be faster.
    Chosen,
    /// With rayon: it would be too many pieces.
    Pieces,
    /// By the calling thread: it cannot be split.
    Whole,
    /// With rayon: a launch was tried, and could not begin.
    Refused,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "as a kernel",
            Self::OneThread => "with rayon: a pool of one thread",
            Self::Never => "with rayon: SCHISM_STDPAR=never",
            Self::Excluded => "with rayon: SCHISM_STDPAR_EXCLUDE",
            Self::Host => "with rayon: in schism::host",
            Self::NoKernel => "with rayon: no kernel, by its types",
            Self::Chosen => "with rayon: chosen by time",
            Self::Pieces => "with rayon: too many pieces",
            Self::Whole => "by the calling thread: it cannot be split",
            Self::Refused => "with rayon: refused",
        })
    }
}

/// How often, of how many items, and for how long.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    runs: u64,
    items: u64,
    time: Duration,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.items = self.items.saturating_add(other.items);
        self.time = self.time.saturating_add(other.time);
    }
}

/// A pipeline of the program.
#[derive(Debug, Default)]
struct Pipeline {
    places: BTreeMap<Place, Sum>,
    /// Why a launch could not begin.
    why: Option<String>,
}

/// Which pipeline: the name of its types, and its descriptor's address, since names of closures are
/// not unique. Those without a descriptor have the name alone.
type Key = (&'static str, usize);

/// All pipelines that have run.
#[derive(Debug, Default)]
struct Report(BTreeMap<Key, Pipeline>);

static REPORT: Mutex<Report> = Mutex::new(Report(BTreeMap::new()));

/// Where the report goes, if one is asked for. The first call looks.
fn sink() -> Option<&'static Sink> {
    static SINK: OnceLock<Option<Sink>> = OnceLock::new();
    let find = || {
        let word = STDPAR_REPORT.set().filter(|word| *word != "0")?;
        if !at_exit::run(tell) {
            return None;
        }
        Some(if word == "1" { Sink::StandardError } else { Sink::File(word) })
    };
    SINK.get_or_init(find).as_ref()
}

extern "C" fn tell() {
    let Some(sink) = sink() else { return };
    let text = REPORT.lock().unwrap_or_else(PoisonError::into_inner).to_string();
    let path = match sink {
        // A failure cannot be reported any more.
        Sink::StandardError => return drop(std::io::stderr().write_all(text.as_bytes())),
        Sink::File(path) => path,
    };
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        let path = path.display();
        let _ = writeln!(
            std::io::stderr(),
            "schism: {STDPAR_REPORT}: the report cannot be written to `{path}`: {error}"
        );
    }
}

/// A run that will be in the report.
pub(crate) struct Run {
    key: Key,
    /// 0 if that is unknown.
    items: usize,
    begin: Instant,
    /// If the timeline is asked for.
    begin_there: Option<Time>,
}

impl Run {
    /// It has come to its end.
    pub(crate) fn end(self, place: Place) {
        if let Some(begin) = self.begin_there {
            let all = [("items", Value::Number(self.items as u64)), ("ran", Value::Text(&place))];
            let name: String = self.key.0.chars().take(LONGEST).collect();
            timeline::on_this_thread("parallel iterator", &name, begin, &all);
        }
        if sink().is_none() {
            return;
        }
        let sum = Sum { runs: 1, items: self.items as u64, time: self.begin.elapsed() };
        let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        report.0.entry(self.key).or_default().places.entry(place).or_default().add(sum);
    }
}

/// Begins a run of a pipeline, if there will be a report, or a timeline; `name` names its types. Items that were
/// not counted are not in the report.
#[inline]
pub(crate) fn begin(
    name: fn() -> &'static str,
    descriptor: usize,
    items: Option<usize>,
) -> Option<Run> {
    let begin_there = timeline::begin();
    if begin_there.is_none() {
        sink()?;
    }
    let items = items.unwrap_or(0);
    Some(Run { key: (name(), descriptor), items, begin: Instant::now(), begin_there })
}

/// Notes why launches of a pipeline cannot begin.
pub(crate) fn refused(name: fn() -> &'static str, descriptor: usize, why: &str) {
    if sink().is_some() {
        let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let pipeline = report.0.entry((name(), descriptor)).or_default();
        pipeline.why.get_or_insert_with(|| why.to_owned());
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places: BTreeMap<Place, (u64, Sum)> = BTreeMap::new();
        let mut whys: BTreeMap<&str, u64> = BTreeMap::new();
        for pipeline in self.0.values() {
            for (place, sum) in &pipeline.places {
                let all = places.entry(*place).or_default();
                all.0 += 1;
                all.1.add(*sum);
            }
            if let Some(why) = &pipeline.why {
                *whys.entry(why).or_default() += 1;
            }
        }
        // One text, so that reports of several programs in a file do not mix.
        writeln!(f, "schism: {} parallel iterators ran", self.0.len())?;
        for (place, (pipelines, sum)) in &places {
            let Sum { runs, items, time } = sum;
            writeln!(f, "schism: {pipelines} {place}: {runs} runs of {items} items took {time:?}")?;
        }
        for (why, pipelines) in &whys {
            writeln!(f, "schism: {pipelines} refused, because {why}")?;
        }
        for ((name, _), pipeline) in &self.0 {
            let mut line = String::new();
            for (place, Sum { runs, items, time }) in &pipeline.places {
                write!(line, "{runs} runs of {items} items took {time:?} {place}; ")?;
            }
            line.extend(name.chars().take(LONGEST));
            writeln!(f, "schism:   {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_sums_up() {
        let mut report = Report::default();
        let sum = |items| Sum { runs: 2, items, time: Duration::from_millis(3) };
        let first = report.0.entry(("same", 1)).or_default();
        first.places.insert(Place::Kernel, sum(10));
        first.places.insert(Place::OneThread, sum(1));
        let second = report.0.entry(("same", 2)).or_default();
        second.places.insert(Place::Kernel, sum(30));
        second.places.insert(Place::Refused, sum(7));
        second.why = Some("it rains".to_owned());
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "schism: 2 parallel iterators ran");
        assert_eq!(lines[1], "schism: 2 as a kernel: 4 runs of 40 items took 6ms");
        assert!(lines.contains(&"schism: 1 refused, because it rains"), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("schism:   2 runs of 10 items")));
    }
}
