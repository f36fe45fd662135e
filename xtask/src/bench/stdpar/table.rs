//! The table of `bench stdpar`: rayon's time by schism's, for each setting.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::bench::output::duration;
use crate::bench::statistics::{geometric_mean, median};

/// What `auto` is to reach of rayon's speed, of any pipeline.
const GOAL: f64 = 0.95;

/// Benchmarks of the launch itself, whose goal is lower.
const LAUNCHES: &str = "launch_";
const GOAL_OF_LAUNCHES: f64 = 1.0 / 1.1;

/// One measurement, as `benches/stdpar/src/measure.rs` prints it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Seconds of a repetition, when all is settled.
    pub(super) median: f64,
    /// The same of all repetitions, from the first on.
    mean: f64,
    checksum: String,
}

impl Line {
    pub(super) fn all(output: &str) -> Vec<Self> {
        output.lines().filter_map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        Some(Self {
            name: words.next()?.to_owned(),
            median: words.next()?.parse().ok()?,
            mean: words.next()?.parse().ok()?,
            checksum: words.next()?.to_owned(),
        })
    }
}

/// The ratios of one benchmark under one setting, rayon's time by schism's: one for each pair.
#[derive(Default)]
struct Ratios {
    settled: Vec<f64>,
    with_start: Vec<f64>,
}

/// All ratios.
pub(super) struct Table {
    settings: Vec<String>,
    order: Vec<String>,
    rayon: BTreeMap<String, Vec<f64>>,
    ratios: BTreeMap<(String, String), Ratios>,
    /// Where results differ.
    differ: Vec<String>,
}

impl Table {
    pub(super) fn new(settings: &[String]) -> Self {
        Self {
            settings: settings.to_vec(),
            order: Vec::new(),
            rayon: BTreeMap::new(),
            ratios: BTreeMap::new(),
            differ: Vec::new(),
        }
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether all results agree.
    pub(super) fn is_right(&self) -> bool {
        self.differ.is_empty()
    }

    /// Adds a pair.
    pub(super) fn add(&mut self, theirs: &[Line], ours: &BTreeMap<String, Vec<Line>>) {
        for line in theirs {
            if !self.order.contains(&line.name) {
                self.order.push(line.name.clone());
            }
            self.rayon.entry(line.name.clone()).or_default().push(line.median);
            for (setting, lines) in ours {
                let Some(own) = lines.iter().find(|own| own.name == line.name) else {
                    self.differ.push(format!("{}: {setting} has no result", line.name));
                    continue;
                };
                if own.checksum != line.checksum {
                    self.differ.push(format!(
                        "{}: the results differ: {setting} has {}, rayon {}",
                        line.name, own.checksum, line.checksum
                    ));
                }
                let key = (setting.clone(), line.name.clone());
                let ratios = self.ratios.entry(key).or_default();
                ratios.settled.push(line.median / own.median);
                ratios.with_start.push(line.mean / own.mean);
            }
        }
    }

    pub(super) fn render(&mut self) -> String {
        let mut text = format!("{:16} {:>10}", "", "rayon");
        for setting in &self.settings {
            let _ = write!(text, "  {setting:>8} {:>15} {:>10}", "", "with start");
        }
        text.push('\n');
        let mut products: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
        for name in &self.order {
            let seconds = self.rayon.get_mut(name).map_or(f64::NAN, |times| median(times));
            let _ = write!(text, "{name:16} {}", duration(seconds));
            for setting in &self.settings {
                let key = (setting.clone(), name.clone());
                let Some(ratios) = self.ratios.get_mut(&key) else { continue };
                let middle = median(&mut ratios.settled);
                let (low, high) = (ratios.settled[0], ratios.settled[ratios.settled.len() - 1]);
                let with_start = median(&mut ratios.with_start);
                let launch = name.starts_with(LAUNCHES);
                let goal = if launch { GOAL_OF_LAUNCHES } else { GOAL };
                let mark = if setting == "auto" && middle < goal { '!' } else { ' ' };
                let range = format!("({low:.2} to {high:.2})");
                let _ = write!(text, "  {middle:>7.2}{mark} {range:>15} {with_start:>10.2}");
                if !launch {
                    products.entry(setting).or_default().push([middle, with_start]);
                }
            }
            text.push('\n');
        }
        let _ = write!(text, "{:16} {:>10}", "geometric mean", "");
        for setting in &self.settings {
            let ratios = products.remove(setting.as_str()).unwrap_or_default();
            let mean = |index: usize| {
                let ratios: Vec<f64> = ratios.iter().map(|ratio| ratio[index]).collect();
                geometric_mean(&ratios).unwrap_or(f64::NAN)
            };
            let _ = write!(text, "  {:>7.2}  {:>15} {:>10.2}", mean(0), "", mean(1));
        }
        let _ = write!(
            text,
            "\nrayon's time by schism's, median of the pairs; above 1 schism is faster. The mean is \
             without {LAUNCHES}*.\n`!`: auto is below {GOAL}, of {LAUNCHES}* below 1/1.1\n"
        );
        for line in &self.differ {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_each_pair_and_checksums_are_compared() {
        let mut table = Table::new(&["auto".to_owned()]);
        let lines = |output: &str| BTreeMap::from([("auto".to_owned(), Line::all(output))]);
        table.add(&Line::all("dot 2e-3 3e-3 aa\n?\n"), &lines("dot 1e-3 3e-3 aa\n"));
        table.add(&Line::all("dot 8e-3 9e-3 aa\n"), &lines("dot 1e-3 3e-3 aa\n"));
        assert!(table.differ.is_empty());
        let text = table.render();
        let line = text.lines().find(|line| line.starts_with("dot ")).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[3..], ["5.00", "(2.00", "to", "8.00)", "2.00"], "{text}");
        table.add(&Line::all("dot 1 1 aa\nsum 1 1 cc"), &lines("dot 1 1 bb\n"));
        assert_eq!(table.differ.len(), 2);
        assert!(table.render().contains("auto has bb, rayon aa"));
    }
}
