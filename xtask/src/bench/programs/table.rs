//! The table of `bench programs`: ratios of times and of processor times, and what programs
//! printed that they were not to print.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::bench::cost::Cost;
use crate::bench::statistics::{geometric_mean, median};

/// What `auto` is to reach of the speed of plain rustc's build.
const GOAL: f64 = 0.95;

/// One run of a program.
pub(super) struct Run {
    /// What it took.
    pub(super) cost: Cost,
    /// What it says that its work took, if it does; the unit cancels out.
    pub(super) own: Option<f64>,
    /// What it printed: on standard output, and how it ended if that was no success.
    pub(super) result: String,
    /// What it printed on standard error.
    pub(super) said: String,
}

/// The runs of one pair: `None` is plain rustc's build, else the setting.
pub(super) type Runs = BTreeMap<Option<String>, Run>;

/// What was measured of a program under one setting.
#[derive(Default)]
struct Measured {
    seconds: Vec<f64>,
    /// Time of plain rustc's build by this one's, for each pair.
    ratios: Vec<f64>,
    /// The same of processor time.
    processor: Vec<f64>,
    /// The same of the time that the program says itself, where it does.
    own: Vec<f64>,
}

/// All ratios.
pub(super) struct Table {
    settings: Vec<String>,
    /// Names of programs, in their order.
    order: Vec<String>,
    plain: BTreeMap<String, Vec<f64>>,
    measured: BTreeMap<(String, String), Measured>,
    /// Pipelines that ran as kernels, and all, by program and setting.
    kernels: BTreeMap<(String, String), [usize; 2]>,
    /// Where pipelines ran that were no kernels, and why.
    reasons: Vec<String>,
    /// Programs that do not build, or whose builds print different results.
    failures: Vec<String>,
    /// What was printed on standard error.
    notes: Vec<String>,
}

impl Table {
    pub(super) fn new(settings: &[String]) -> Self {
        Self {
            settings: settings.to_vec(),
            order: Vec::new(),
            plain: BTreeMap::new(),
            measured: BTreeMap::new(),
            kernels: BTreeMap::new(),
            reasons: Vec::new(),
            failures: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether all programs were built, and each printed the same.
    pub(super) fn is_sound(&self) -> bool {
        self.failures.is_empty()
    }

    /// Notes that a program could not be measured.
    pub(super) fn fail(&mut self, name: &str, why: &str) {
        add_once(&mut self.failures, format!("{name}: {why}"));
    }

    /// Compares what the builds of a program have printed.
    pub(super) fn check(&mut self, name: &str, runs: &Runs) {
        let plain = runs.get(&None).map(|run| &run.result);
        for (setting, run) in runs {
            let build = setting.as_deref().unwrap_or("plain");
            if plain.is_some_and(|plain| *plain != run.result) {
                let plain = plain.map_or("", |plain| plain);
                self.fail(name, &format!("{build} printed `{}`, plain `{plain}`", run.result));
            }
            self.note(name, build, &run.said);
        }
    }

    /// Notes what a program or its build has printed on standard error, if it has.
    pub(super) fn note(&mut self, name: &str, build: &str, said: &str) {
        if !said.is_empty() {
            add_once(&mut self.notes, format!("{name} ({build}) said: {said}"));
        }
    }

    /// Counts the pipelines that ran as kernels, in the summary of `SCHISM_STDPAR_REPORT`.
    pub(super) fn count(&mut self, name: &str, setting: &str, report: &str) {
        let number = |what: &str| {
            // Lines of single pipelines are indented.
            let lines = report.lines().filter_map(|line| line.strip_prefix("schism: "));
            let words = lines.filter_map(|line| line.split_once(' '));
            let numbers = words.filter(|(_, rest)| rest.starts_with(what));
            numbers.filter_map(|(number, _)| number.parse::<usize>().ok()).sum()
        };
        let with_rayon = report.lines().filter_map(|line| line.strip_prefix("schism: "));
        for line in with_rayon.filter(|line| line.split(' ').nth(1) == Some("with")) {
            // How often they ran, and for how long, is not the reason.
            let reason = line.rsplit_once(": ").map_or(line, |(reason, _)| reason);
            add_once(&mut self.reasons, format!("{name} ({setting}): {reason}"));
        }
        let counts = [number("as a kernel"), number("parallel iterator")];
        self.kernels.insert((name.to_owned(), setting.to_owned()), counts);
    }

    /// Adds a pair.
    pub(super) fn add(&mut self, name: &str, runs: &Runs) {
        let Some(plain) = runs.get(&None) else { return };
        let (plain, plain_own) = (plain.cost, plain.own);
        add_once(&mut self.order, name.to_owned());
        self.plain.entry(name.to_owned()).or_default().push(plain.wall);
        for (setting, run) in runs {
            let Some(setting) = setting else { continue };
            let key = (name.to_owned(), setting.clone());
            let measured = self.measured.entry(key).or_default();
            measured.seconds.push(run.cost.wall);
            measured.ratios.push(plain.wall / run.cost.wall);
            measured.processor.push(plain.processor / run.cost.processor);
            measured.own.extend(plain_own.zip(run.own).map(|(plain, own)| plain / own));
        }
    }

    /// The table as text.
    pub(super) fn render(&mut self) -> String {
        let mut text = format!("{:20} {:>9}", "", "plain");
        for setting in &self.settings {
            let _ = write!(
                text,
                "  {setting:>9} {:>7}  {:>16} {:>7} {:>9} {:>8}",
                "speed", "", "own", "processor", "kernels"
            );
        }
        text.push('\n');
        let mut means: BTreeMap<&str, [Vec<f64>; 3]> = BTreeMap::new();
        for name in &self.order {
            let plain = self.plain.get_mut(name).map_or(f64::NAN, |seconds| median(seconds));
            let _ = write!(text, "{name:20} {plain:>7.3} s");
            for setting in &self.settings {
                let key = (name.clone(), setting.clone());
                let Some(measured) = self.measured.get_mut(&key) else { continue };
                let seconds = median(&mut measured.seconds);
                let speed = median(&mut measured.ratios);
                let processor = median(&mut measured.processor);
                let ratios = &measured.ratios;
                let range = format!("({:.2} to {:.2})", ratios[0], ratios[ratios.len() - 1]);
                let mark = if setting == "auto" && speed < GOAL { '!' } else { ' ' };
                let _ = write!(text, "  {seconds:>7.3} s {speed:>7.2}{mark} {range:>16}");
                let [kernels, all] = self.kernels.get(&key).copied().unwrap_or_default();
                let kernels = format!("{kernels}/{all}");
                // Where a program says nothing, the whole run counts.
                let own = match &mut measured.own {
                    own if own.is_empty() => None,
                    own => Some(median(own)),
                };
                let shown = own.map_or_else(|| "-".to_owned(), |own| format!("{own:.2}"));
                let _ = write!(text, " {shown:>7} {processor:>9.2} {kernels:>8}");
                let [speeds, owns, processors] = means.entry(setting).or_default();
                speeds.push(speed);
                owns.push(own.unwrap_or(speed));
                processors.push(processor);
            }
            text.push('\n');
        }
        let _ = write!(text, "{:20} {:>9}", "geometric mean", "");
        for setting in &self.settings {
            let means = means.remove(setting.as_str()).unwrap_or_default();
            let [speed, own, processor] = means.map(|all| geometric_mean(&all).unwrap_or(f64::NAN));
            let _ = write!(
                text,
                "  {:>9} {speed:>7.2}  {:>16} {own:>7.2} {processor:>9.2} {:>8}",
                "", "", ""
            );
        }
        let _ = write!(
            text,
            "\ntimes of plain rustc's build by those with --stdpar, median of the pairs; above 1 \
             schism is faster, or takes less processor time\nspeed: of whole runs, from start to end; own: by the time that the program \
             says itself, and in the mean the whole run where it says none\nkernels: pipelines that ran as kernels, of all; where it is \
             0, rayon is compared with rayon\n`!`: auto is below {GOAL}\n"
        );
        for line in self.failures.iter().chain(&self.reasons).chain(&self.notes) {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

fn add_once(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(plain: f64, auto: f64, result: &str) -> Runs {
        let run = |wall, result: &str| Run {
            cost: Cost { wall, processor: 2.0 * wall },
            own: (result == "aa").then_some(wall / 2.0),
            result: result.to_owned(),
            said: String::new(),
        };
        BTreeMap::from([(None, run(plain, "aa")), (Some("auto".to_owned()), run(auto, result))])
    }

    #[test]
    fn ratios_are_of_each_pair() {
        let mut table = Table::new(&["auto".to_owned()]);
        for (plain, auto) in [(2.0, 1.0), (8.0, 1.0), (4.5, 9.0)] {
            table.add("dssim", &runs(plain, auto, "aa"));
        }
        let text = table.render();
        let line = text.lines().find(|line| line.starts_with("dssim ")).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[5..], ["2.00", "(0.50", "to", "8.00)", "2.00", "2.00", "0/0"], "{text}");
        assert!(table.is_sound());
    }

    #[test]
    fn kernels_are_counted() {
        let mut table = Table::new(&["auto".to_owned()]);
        let report = "schism: 3 parallel iterators ran\nschism: 2 as a kernel: 16 runs\n\
                      schism: 1 with rayon: chosen by time: 1 runs\nschism:   8 runs as a kernel; x\n";
        table.count("dssim", "auto", report);
        table.add("dssim", &runs(1.0, 1.0, "aa"));
        let text = table.render();
        assert!(text.contains(" 2/3\n"), "{text}");
        assert!(text.contains("dssim (auto): 1 with rayon: chosen by time\n"), "{text}");
    }

    #[test]
    fn results_are_compared_and_slow_programs_are_marked() {
        let mut table = Table::new(&["auto".to_owned()]);
        let pair = runs(1.0, 2.0, "bb");
        table.check("dssim", &pair);
        table.check("dssim", &pair);
        table.add("dssim", &pair);
        table.fail("oxipng", "does not build");
        assert!(!table.is_sound());
        let text = table.render();
        assert!(text.contains("0.50!"), "{text}");
        assert_eq!(text.matches("dssim: auto printed `bb`, plain `aa`").count(), 1, "{text}");
        assert!(text.contains("oxipng: does not build"), "{text}");
    }
}
