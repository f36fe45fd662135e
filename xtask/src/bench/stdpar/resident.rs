//! `cargo schism bench stdpar --explicit`: an unchanged rayon program on a GPU beside the same
//! kernels by hand, over explicit buffers, once the data are there. Also, how near to the speed of
//! the link the first pass over new data comes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use cargo_schism::command;
use cargo_schism::error::Result;

use super::table::Line;
use crate::bench::output::duration;
use crate::bench::statistics::median;

/// What pipelines are to reach of the kernels by hand.
const GOAL: f64 = 0.9;

/// The pass over new data, of `benches/stdpar/src/stream.rs`, and the bytes that it moves.
const FRESH: &str = "stream_fresh";
const FRESH_BYTES: f64 = 2.0 * 8.0 * (1_u32 << 24) as f64;

/// The line of `benches/src/bin/stdpar_explicit.rs` that says how fast data come to the device.
const LINK: &str = "link ";

/// Both programs' times, of all pairs.
#[derive(Default)]
struct Times {
    order: Vec<String>,
    explicit: BTreeMap<String, Vec<f64>>,
    ratios: BTreeMap<String, Vec<f64>>,
    link: Vec<f64>,
    fresh: Vec<f64>,
}

impl Times {
    fn add(&mut self, explicit: &str, rayon: &str) {
        let speed = explicit.lines().find_map(|line| line.strip_prefix(LINK)?.parse::<f64>().ok());
        self.link.extend(speed);
        let rayon = Line::all(rayon);
        let of = |name: &str| rayon.iter().find(|line| line.name == name).map(|line| line.median);
        self.fresh.extend(of(FRESH).map(|seconds| FRESH_BYTES / seconds));
        for line in Line::all(explicit) {
            let Some(own) = of(&line.name) else { continue };
            if !self.order.contains(&line.name) {
                self.order.push(line.name.clone());
            }
            self.explicit.entry(line.name.clone()).or_default().push(line.median);
            self.ratios.entry(line.name).or_default().push(line.median / own);
        }
    }

    fn render(&mut self) -> String {
        let mut text = format!("{:16} {:>10}  explicit / rayon's source\n", "", "explicit");
        for name in &self.order {
            let seconds = self.explicit.get_mut(name).map_or(f64::NAN, |times| median(times));
            let Some(ratios) = self.ratios.get_mut(name) else { continue };
            let middle = median(ratios);
            let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
            let mark = if middle < GOAL { "!" } else { " " };
            let time = duration(seconds);
            let _ = writeln!(text, "{name:16} {time}  {middle:>5.2}{mark} ({low:.2} to {high:.2})");
        }
        if !self.link.is_empty() && !self.fresh.is_empty() {
            let (link, fresh) = (median(&mut self.link) / 1e9, median(&mut self.fresh) / 1e9);
            let _ = writeln!(
                text,
                "first pass over new data: {fresh:.1} GB/s, {:.2} of the link's {link:.1}",
                fresh / link
            );
        }
        let _ = writeln!(text, "above 1 the unchanged source is faster; `!`: below {GOAL}");
        text
    }
}

/// Runs both in turn, and returns the table. `commands` makes one of each.
pub fn measure(pairs: usize, commands: impl Fn() -> [Command; 2]) -> Result<String> {
    let mut times = Times::default();
    for pair in 0..pairs {
        eprintln!("pair {} of {pairs}", pair + 1);
        let [explicit, rayon] = commands();
        let run = |program| command::capture(program, "to measure", "it was just built");
        times.add(&run(explicit)?, &run(rayon)?);
    }
    Ok(times.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_and_the_link_are_printed() {
        let mut times = Times::default();
        times.add(
            "link 50000000000\ndot 1e-3 1e-3 - 1e-3\n",
            "dot 2e-3 1e-3 aa 1e-3\nother 1 1 aa 1\n",
        );
        times.add("link 50000000000\n", "stream_fresh 0.01073741824 1 - 1\n");
        let text = times.render();
        assert!(text.contains("0.50! (0.50 to 0.50)"), "{text}");
        assert!(!text.contains("other"), "{text}");
        assert!(text.contains("25.0 GB/s, 0.50 of the link's 50.0"), "{text}");
    }
}
