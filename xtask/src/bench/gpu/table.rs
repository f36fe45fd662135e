//! The programs' lines, and what is made of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::bench::statistics::{geometric_mean, median};

/// How far the sums of two samples may be apart, by share: sums of other rounding, not of other
/// numbers.
const NEAR: f64 = 1e-2;

/// One measurement, as `benches/src/bin/gpu_schism/measure.rs` prints it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Kernel and type.
    pub name: (String, String),
    pub size: String,
    variant: String,
    clock: String,
    bytes: f64,
    pub median: f64,
    /// The shortest run.
    pub min: f64,
    first: f64,
    bits: String,
    sum: f64,
}

impl Line {
    /// All measurements in a program's output. Other lines are left out.
    pub fn all(output: &str) -> Vec<Self> {
        output.lines().filter_map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        let words = line.strip_prefix("result ")?.split_whitespace();
        let words: BTreeMap<_, _> = words.filter_map(|word| word.split_once('=')).collect();
        let text = |key| words.get(key).map(|word| (*word).to_owned());
        let number = |key| words.get(key)?.parse::<f64>().ok();
        Some(Self {
            name: (text("kernel")?, text("type")?),
            size: text("size")?,
            variant: text("variant")?,
            clock: text("clock")?,
            bytes: number("bytes")?,
            median: number("median")?,
            min: number("min")?,
            first: number("first")?,
            bits: text("bits")?,
            sum: number("sum")?,
        })
    }

    /// The clock of measurements: the host's only if nothing was measured with the device's.
    pub fn clock(lines: &[Self]) -> &'static str {
        if lines.iter().any(|line| line.clock == "device") { "device" } else { "host" }
    }
}

/// What is compared: a variant of schism's with one of nvcc's.
const RATIOS: [(&str, &str, &str); 5] = [
    ("precise", "precise", "nofma"),
    ("aot", "aot", "nofma"),
    ("specialised", "specialised", "nofma"),
    ("relaxed", "relaxed", "fma"),
    ("default", "precise", "fma"),
];

/// What memory's speed decides: it would hide in the mean what compilers do.
const BY_MEMORY: [&str; 7] = ["copy_in", "copy_out", "copy", "mul", "add", "triad", "dot"];

/// Whether results agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    Bits,
    Near,
    Different,
}

/// The measurements of one kernel, over all pairs.
#[derive(Debug)]
struct Row {
    /// By the names in [`RATIOS`].
    ratios: [Vec<f64>; RATIOS.len()],
    /// Seconds of each variant.
    times: BTreeMap<String, Vec<f64>>,
    bytes: f64,
    /// Seconds of the first launch beyond a usual one, in each pair: with cold caches, and then
    /// with warm ones.
    compiled: Vec<f64>,
    /// The same where code was made ahead of time.
    loaded: Vec<f64>,
    agreement: Agreement,
    /// The programs do not agree about the size of the problem.
    sizes_differ: bool,
}

/// All kernels, in the order in which they were measured.
#[derive(Debug, Default)]
pub struct Table {
    order: Vec<(String, String)>,
    rows: BTreeMap<(String, String), Row>,
}

impl Row {
    const fn new(bytes: f64) -> Self {
        Self {
            ratios: [const { Vec::new() }; RATIOS.len()],
            times: BTreeMap::new(),
            bytes,
            compiled: Vec::new(),
            loaded: Vec::new(),
            agreement: Agreement::Bits,
            sizes_differ: false,
        }
    }

    fn time(&self, variant: &str) -> Option<f64> {
        self.times.get(variant).map(|times| median(&mut times.clone()))
    }
}

impl Table {
    /// Adds the lines of one pair: one run of each program.
    pub fn add(&mut self, lines: &[Line]) {
        for line in lines {
            let row = self.rows.entry(line.name.clone()).or_insert_with(|| {
                self.order.push(line.name.clone());
                Row::new(line.bytes)
            });
            row.times.entry(line.variant.clone()).or_default().push(line.median);
            let firsts = match &*line.variant {
                "precise" => &mut row.compiled,
                "aot" => &mut row.loaded,
                _ => continue,
            };
            firsts.push((line.first - line.median).max(0.0));
        }
        for (name, row) in &mut self.rows {
            let find =
                |variant| lines.iter().find(|line| line.name == *name && line.variant == variant);
            for (ratios, (_, ours, theirs)) in row.ratios.iter_mut().zip(RATIOS) {
                let (Some(ours), Some(theirs)) = (find(ours), find(theirs)) else { continue };
                ratios.push(theirs.median / ours.median);
                row.sizes_differ |= ours.size != theirs.size;
            }
            for (ours, theirs, best) in [
                ("precise", "nofma", Agreement::Bits),
                ("aot", "nofma", Agreement::Bits),
                ("specialised", "nofma", Agreement::Bits),
                ("relaxed", "fma", Agreement::Near),
            ] {
                let (Some(ours), Some(theirs)) = (find(ours), find(theirs)) else { continue };
                let found = agreement(ours, theirs);
                if found > best {
                    row.agreement = row.agreement.max(found);
                }
            }
        }
    }

    /// Whether all results agree, and all sizes.
    pub fn is_right(&self) -> bool {
        let wrong = |row: &Row| row.agreement == Agreement::Different || row.sizes_differ;
        !self.rows.values().any(wrong)
    }

    /// The table for people.
    pub fn render(&self) -> String {
        let mut text = String::new();
        self.ratios(&mut text);
        self.bandwidth(&mut text);
        self.launches(&mut text);
        self.compilation(&mut text);
        text
    }

    fn kernels(&self) -> impl Iterator<Item = (&(String, String), &Row)> {
        self.order
            .iter()
            .filter(|(kernel, _)| !kernel.starts_with("launch_") && kernel != "memcpy")
            .filter_map(|name| self.rows.get_key_value(name))
    }

    fn ratios(&self, text: &mut String) {
        let _ = write!(
            text,
            "\nnvcc's time / schism's: above 1 schism is faster\n{:21} {:>10}   ",
            "", "schism"
        );
        for (name, ..) in RATIOS {
            let _ = write!(text, "{name:20}");
        }
        let _ = writeln!(text, "results");
        let mut means = [const { Vec::new() }; RATIOS.len()];
        for ((kernel, element), row) in self.kernels() {
            let _ = write!(text, "{kernel:15}{element:6} {}", seconds(row.time("precise")));
            for (ratios, mean) in row.ratios.iter().zip(&mut means) {
                let mut ratios = ratios.clone();
                if ratios.is_empty() {
                    let _ = write!(text, "  {:18}", "-");
                    continue;
                }
                let middle = median(&mut ratios);
                let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
                let ratio = format!("{middle:.3} ({low:.2}-{high:.2})");
                let _ = write!(text, "  {ratio:<18}");
                if !BY_MEMORY.contains(&kernel.as_str()) {
                    mean.push(middle);
                }
            }
            let _ = writeln!(text, " {}", row.words());
        }
        let _ = write!(text, "{:32}", "geometric mean");
        for mean in &means {
            match geometric_mean(mean) {
                None => drop(write!(text, "  {:18}", "-")),
                Some(mean) => drop(write!(text, "  {mean:<18.3}")),
            }
        }
        let _ = writeln!(
            text,
            "\nthe mean is without copies and the kernels of BabelStream, which are as fast as memory is\n\
             precise: as Rust rounds, beside nvcc -fmad=false (like with like: the same results, bit by bit)\n\
             aot: the same, of code made ahead of time, without stage 2\n\
             specialised: precise, and the kernel's sizes are constants of its code (`Specialized`), beside nvcc -fmad=false, which\n\
             reads them; only kernels that have sizes\n\
             relaxed: Math::Relaxed beside nvcc by default (both may contract)\n\
             default: precise beside nvcc by default (without options)"
        );
    }

    /// The share of what the driver's own copy reaches.
    fn bandwidth(&self, text: &mut String) {
        let rate = |row: &Row, variant| row.time(variant).map(|time| row.bytes / time);
        let mut begun = false;
        for ((kernel, element), row) in self.kernels() {
            let copy = self.rows.get(&("memcpy".to_owned(), element.clone()));
            let copy = copy.and_then(|copy| rate(copy, "nofma"));
            let stream = ["copy", "mul", "add", "triad", "dot"].contains(&kernel.as_str());
            let (Some(copy), true) = (copy, stream) else { continue };
            let (Some(ours), Some(theirs)) = (rate(row, "precise"), rate(row, "nofma")) else {
                continue;
            };
            if !begun {
                let _ = writeln!(
                    text,
                    "\n{:21} {:>10} {:>14} {:>14}",
                    "bandwidth", "schism", "of memcpy's", "nvcc's share"
                );
                begun = true;
            }
            let _ = writeln!(
                text,
                "{kernel:15}{element:6} {:>5.0} GB/s {:>13.1}% {:>13.1}%",
                ours / 1e9,
                ours / copy * 100.0,
                theirs / copy * 100.0
            );
        }
    }

    fn launches(&self, text: &mut String) {
        let mut begun = false;
        for name in self.order.iter().filter(|(kernel, _)| kernel.starts_with("launch_")) {
            let row = &self.rows[name];
            if !begun {
                let _ = writeln!(
                    text,
                    "\n{:21} {:>10} {:>15}",
                    "empty kernel, host", "schism", "cuLaunchKernel"
                );
                begun = true;
            }
            let (ours, theirs) = (row.time("precise"), row.time("nofma"));
            let _ = writeln!(text, "{:21} {} {:>5}{}", name.0, seconds(ours), "", seconds(theirs));
        }
    }

    /// What the first launch of each kernel took beyond a usual one.
    fn compilation(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:21} {:>10} {:>12} {:>12} {:>12}",
            "first launch, beyond", "compiled", "from cache", "aot", "again"
        );
        let mut sums = [0.0; 4];
        for ((kernel, element), row) in self.kernels() {
            let mut shown = Vec::new();
            for firsts in [&row.compiled, &row.loaded] {
                let (cold, warm) = firsts.split_first().unzip();
                let warm = warm.filter(|warm| !warm.is_empty());
                shown.extend([cold.copied(), warm.map(|warm| median(&mut warm.to_vec()))]);
            }
            if shown.iter().all(Option::is_none) {
                continue;
            }
            let _ = write!(text, "{kernel:15}{element:6} ");
            let _ = writeln!(
                text,
                "{}",
                shown.iter().map(|&time| seconds(time)).collect::<Vec<_>>().join("   ")
            );
            for (sum, time) in sums.iter_mut().zip(shown) {
                *sum += time.unwrap_or_default();
            }
        }
        let _ = writeln!(text, "{:21} {}", "sum", sums.map(|sum| seconds(Some(sum))).join("   "));
    }
}

impl Row {
    fn words(&self) -> &'static str {
        match (self.sizes_differ, self.agreement) {
            (true, _) => "SIZES DIFFER",
            (_, Agreement::Bits) => "same bits",
            (_, Agreement::Near) => "near",
            (_, Agreement::Different) => "DIFFERENT",
        }
    }
}

/// Whether the results of two measurements agree.
pub fn agreement(ours: &Line, theirs: &Line) -> Agreement {
    if ours.bits == theirs.bits {
        Agreement::Bits
    } else if (ours.sum - theirs.sum).abs() <= NEAR * theirs.sum.abs().max(1.0) {
        Agreement::Near
    } else {
        Agreement::Different
    }
}

/// A time for people.
pub fn seconds(value: Option<f64>) -> String {
    match value {
        None => format!("{:>10}", "-"),
        Some(value) if value < 1e-3 => format!("{:>7.2} us", value * 1e6),
        Some(value) if value < 1.0 => format!("{:>7.2} ms", value * 1e3),
        Some(value) => format!("{value:>7.2} s "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kernel: &str, variant: &str, median: f64, bits: u32, sum: f64) -> String {
        format!(
            "result kernel={kernel} variant={variant} type=f32 size=8 bytes=1000 clock=device median={median:.9} min=0.1 \
             p95=0.2 first=1.5 runs=3 bits={bits:016x} sum={sum:e}\n"
        )
    }

    fn table(lines: &[String]) -> Table {
        let mut table = Table::default();
        table.add(&Line::all(&format!("device x\n{}", lines.concat())));
        table
    }

    #[test]
    fn ratios_compare_like_with_like() {
        let table = table(&[
            line("triad", "precise", 0.002, 7, 1.0),
            line("triad", "relaxed", 0.001, 8, 1.001),
            line("triad", "specialised", 0.0016, 7, 1.0),
            line("triad", "aot", 0.0025, 7, 1.0),
            line("triad", "nofma", 0.004, 7, 1.0),
            line("triad", "fma", 0.003, 9, 1.002),
            line("memcpy", "nofma", 0.002, 7, 1.0),
            line("scan", "precise", 0.002, 7, 1.0),
            line("scan", "nofma", 0.003, 7, 1.0),
        ]);
        let text = table.render();
        let row = text.lines().find(|line| line.starts_with("triad")).unwrap();
        for word in ["2.00 ms", "2.000 (", "1.600 (", "2.500 (", "3.000 (", "1.500 (", "same bits"]
        {
            assert!(row.contains(word), "{word} in {row}");
        }
        assert!(text.contains("geometric mean                    1.500"), "{text}");
        let loaded = text.lines().rfind(|line| line.starts_with("triad")).unwrap();
        assert_eq!(
            loaded.matches("1.50 s").count(),
            2,
            "compiled, and made ahead of time: {loaded}"
        );
        assert!(text.contains("100.0%          50.0%"), "{text}");
        assert!(table.is_right());
    }

    #[test]
    fn results_that_differ_are_told() {
        let near =
            table(&[line("dot", "precise", 1.0, 1, 5.0), line("dot", "nofma", 1.0, 2, 5.01)]);
        assert!(near.render().contains("near") && near.is_right());
        let other =
            table(&[line("dot", "specialised", 1.0, 1, 5.0), line("dot", "nofma", 1.0, 2, 5.01)]);
        assert!(other.render().contains("near"));
        let wrong =
            table(&[line("dot", "precise", 1.0, 1, 5.0), line("dot", "nofma", 1.0, 2, 6.0)]);
        assert!(wrong.render().contains("DIFFERENT") && !wrong.is_right());
        let ours = line("dot", "precise", 1.0, 1, 5.0);
        let aot = table(&[line("dot", "aot", 1.0, 1, 5.0), line("dot", "nofma", 1.0, 2, 6.0)]);
        assert!(!aot.is_right());
        let sizes = table(&[ours, line("dot", "nofma", 1.0, 1, 5.0).replace("size=8", "size=9")]);
        assert!(sizes.render().contains("SIZES DIFFER") && !sizes.is_right());
    }

    #[test]
    fn other_lines_are_left_out() {
        assert!(Line::all("device cuda:0\nresult kernel=copy\ncheck copy: fine\n").is_empty());
    }
}
