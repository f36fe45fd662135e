//! The page that the measurements become.

use std::fmt::Write;

use super::CONTROL;
use super::passes::Passes;
use super::results::Results;
use super::suites::Suite;
use crate::bench::statistics::{geometric_mean, median};

/// What a pass must change to be worth its code: the geometric mean of a suite by so much, or one
/// kernel.
const MEAN: f64 = 0.01;
const KERNEL: f64 = 0.10;

/// What was measured of a pass in a suite: medians over all runs.
#[derive(Debug, PartialEq)]
struct Change {
    mean: f64,
    /// The kernel that changes most, and its ratio.
    largest: (String, f64),
    runs: usize,
}

impl Change {
    fn of(results: &Results, suite: Suite, pass: &str) -> Option<Self> {
        let mut kernels: Vec<(String, Vec<f64>)> = Vec::new();
        let mut runs = 0;
        for measurement in results.of(suite, pass) {
            runs += 1;
            for (name, ratio) in &measurement.kernels {
                match kernels.iter_mut().find(|(known, _)| known == name) {
                    Some((_, ratios)) => ratios.push(*ratio),
                    None => kernels.push((name.clone(), vec![*ratio])),
                }
            }
        }
        let kernels: Vec<_> =
            kernels.into_iter().map(|(name, mut ratios)| (name, median(&mut ratios))).collect();
        let ratios: Vec<f64> = kernels.iter().map(|(_, ratio)| *ratio).collect();
        let mean = geometric_mean(&ratios)?;
        let by_size =
            |a: &&(String, f64), b: &&(String, f64)| a.1.ln().abs().total_cmp(&b.1.ln().abs());
        let largest = kernels.iter().max_by(by_size)?.clone();
        Some(Self { mean, largest, runs })
    }

    /// How far the mean and the kernel that changes most are from 1.
    fn sizes(&self) -> [f64; 2] {
        [self.mean, self.largest.1].map(|ratio| (ratio - 1.0).abs())
    }

    /// Whether it reaches the limits: of the control, whether there is too much noise to say that a
    /// pass changes nothing.
    fn counts(&self) -> bool {
        let [mean, kernel] = self.sizes();
        mean >= MEAN || kernel >= KERNEL
    }

    /// What it shows besides noise as large as that of the control.
    fn effect(&self, control: &Self) -> Effect {
        let [mean, kernel] = control.sizes();
        let (mean, kernel) = (MEAN.max(mean), KERNEL.max(kernel));
        let largest = self.largest.1;
        if self.mean <= 1.0 - mean || largest <= 1.0 - kernel {
            Effect::Pays
        } else if self.mean >= 1.0 + mean || largest >= 1.0 + kernel {
            Effect::Costs
        } else if control.counts() {
            Effect::Unknown
        } else {
            Effect::None
        }
    }
}

/// What a pass does in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Pays,
    Costs,
    None,
    /// It was not run, or what it does is not more than noise.
    Unknown,
}

/// The page.
pub struct Page<'a> {
    passes: &'a Passes,
    results: &'a Results,
    missing: &'a [(Suite, String)],
}

impl<'a> Page<'a> {
    pub const fn new(
        passes: &'a Passes,
        results: &'a Results,
        missing: &'a [(Suite, String)],
    ) -> Self {
        Self { passes, results, missing }
    }

    /// Its text.
    pub fn render(&self) -> String {
        let mut text = format!(
            "# What each optional pass is worth\n\n\
             Made by `cargo schism bench ablation`. Each number is the time with the pass divided by the time without it: below 1, code is faster with\n\
             it. For each suite there are the geometric mean over its kernels and the kernel that changes most, as medians over the runs. A pass that\n\
             changes no geometric mean by {:.0} % and no kernel by {:.0} % pays for nothing. In the row `{CONTROL}` nothing is left out: what it shows is noise, and what a\n\
             pass changes by less than that is not known.\n\n| pass |",
            MEAN * 100.0,
            KERNEL * 100.0
        );
        for suite in Suite::ALL {
            let _ = write!(text, " {} |", suite.name());
        }
        text.push_str(" verdict |\n|---|---|---|---|---|---|\n");
        for pass in std::iter::once(CONTROL).chain(self.passes.names()) {
            let _ = write!(text, "| `{pass}` |");
            for suite in Suite::ALL {
                let _ = write!(text, " {} |", self.cell(suite, pass));
            }
            let verdict = if pass == CONTROL { "" } else { self.verdict(pass) };
            let _ = writeln!(text, " {verdict} |");
        }
        text.push('\n');
        for suite in Suite::ALL {
            let _ = writeln!(text, "- {}", self.about(suite));
        }
        text
    }

    fn cell(&self, suite: Suite, pass: &str) -> String {
        if pass != CONTROL && !self.passes.is_in(pass, suite.pipeline()) {
            return "–".to_owned();
        }
        match Change::of(self.results, suite, pass) {
            None => "not run".to_owned(),
            Some(change) => {
                let (kernel, ratio) = &change.largest;
                format!("{:.3}; `{kernel}` {ratio:.2}", change.mean)
            }
        }
    }

    fn verdict(&self, pass: &str) -> &'static str {
        let suites =
            Suite::ALL.into_iter().filter(|suite| self.passes.is_in(pass, suite.pipeline()));
        let effects: Vec<_> = suites.map(|suite| self.effect(suite, pass)).collect();
        let has = |effect| effects.contains(&effect);
        match () {
            () if effects.is_empty() => "in none of these pipelines",
            () if has(Effect::Pays) => "pays",
            () if has(Effect::Costs) => "costs",
            () if has(Effect::Unknown) => "open",
            () => "pays for nothing",
        }
    }

    fn effect(&self, suite: Suite, pass: &str) -> Effect {
        let of = |name| Change::of(self.results, suite, name);
        match (of(pass), of(CONTROL)) {
            (Some(change), Some(control)) => change.effect(&control),
            _ => Effect::Unknown,
        }
    }

    fn about(&self, suite: Suite) -> String {
        let name = suite.name();
        let of_pass = |pass| Change::of(self.results, suite, pass);
        let passes = self.passes.names().filter(|pass| self.passes.is_in(pass, suite.pipeline()));
        let (there, missing): (Vec<_>, Vec<_>) = passes.partition(|pass| of_pass(*pass).is_some());
        let Some(control) = of_pass(CONTROL) else {
            let reason = self.missing.iter().find(|(other, _)| *other == suite);
            let reason = reason.map_or(String::new(), |(_, reason)| format!(": {reason}"));
            return format!("`{name}` was not run{reason}.");
        };
        let runs = there.iter().filter_map(|pass| of_pass(*pass)).map(|change| change.runs).min();
        let mut text = format!("`{name}`: {} runs", runs.unwrap_or(control.runs));
        if control.counts() {
            text.push_str("; too noisy to say that a pass changes nothing");
        }
        if !missing.is_empty() {
            let _ = write!(text, "; without {}", missing.join(", "));
        }
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::super::results::Measurement;
    use super::*;

    /// A suite, a pass, and ratios by kernel.
    type Line<'a> = (Suite, &'a str, &'a [(&'a str, f64)]);

    fn page(lines: &[Line<'_>], missing: &[(Suite, String)]) -> String {
        let folder = tempdir().expect("a folder");
        let mut results = Results::open(&folder.path().join("x"), "", false).expect("a file");
        for &(suite, pass, kernels) in lines {
            let kernels = kernels.iter().map(|&(name, ratio)| (name.to_owned(), ratio)).collect();
            let pass = pass.to_owned();
            results.add(Measurement { suite, pass, run: 1, kernels }).expect("it is written");
        }
        Page::new(&Passes::example(), &results, missing).render()
    }

    #[test]
    fn verdicts_follow_the_rule() {
        let quiet: &[(&str, f64)] = &[("a", 1.0), ("b", 1.001)];
        let missing = [(Suite::Gpu, "there is no GPU".to_owned())];
        let text = page(
            &[
                (Suite::Cpu, CONTROL, quiet),
                (Suite::Stdpar, CONTROL, quiet),
                (Suite::Cpu, "fast", &[("a", 1.0), ("b", 0.88)]),
                (Suite::Stdpar, "fast", quiet),
                (Suite::Cpu, "useless", quiet),
                (Suite::Stdpar, "useless", &[("a", 1.005), ("b", 0.99)]),
                (Suite::Cpu, "slow", &[("a", 1.02), ("b", 1.01)]),
            ],
            &missing,
        );
        let row = |pass: &str| text.lines().find(|line| line.starts_with(&format!("| `{pass}`")));
        let verdict =
            |pass| row(pass).and_then(|row| row.trim_end_matches(" |").rsplit("| ").next());
        assert_eq!(verdict("fast"), Some("pays"));
        assert!(row("fast").is_some_and(|row| row.contains("0.938; `b` 0.88")), "{text}");
        assert_eq!(verdict("useless"), Some("pays for nothing"));
        assert_eq!(verdict("slow"), Some("costs"), "{text}");
        assert_eq!(verdict("of-gpus"), Some("open"));
        assert!(row("of-gpus").is_some_and(|row| row.contains("– | – | not run")), "{text}");
        assert!(text.contains("- `gpu` was not run: there is no GPU.\n"), "{text}");
        assert!(text.contains("- `stdpar`: 1 runs; without slow.\n"), "{text}");
    }

    #[test]
    fn what_is_within_the_noise_is_not_known() {
        let text = page(
            &[
                (Suite::Cpu, CONTROL, &[("a", 0.8)]),
                (Suite::Cpu, "fast", &[("a", 0.5)]),
                (Suite::Cpu, "useless", &[("a", 0.9)]),
            ],
            &[],
        );
        assert!(text.contains("| `fast` | 0.500; `a` 0.50 | not run | – | – | pays |"), "{text}");
        assert!(
            text.contains("| `useless` | 0.900; `a` 0.90 | not run | – | – | open |"),
            "{text}"
        );
        assert!(text.contains("too noisy"), "{text}");
    }
}
