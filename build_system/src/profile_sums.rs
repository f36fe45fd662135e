//! What a timeline sums up to: a table, JSON, and bars.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

/// The sums of the timelines of a program and of its child processes.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// By kernel and device.
    kernels: BTreeMap<(String, String), Sum>,
    /// How often versions of a kernel were made, and how often found; by kernel.
    compiled: BTreeMap<String, Compiled>,
    /// By direction and device.
    copies: BTreeMap<(String, String), Sum>,
    /// By name, and how they ran.
    iterators: BTreeMap<(String, String), Sum>,
    waits: Sum,
    /// The most bytes at a time, by device.
    memory: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    micros: f64,
    bytes: u64,
    items: u64,
    /// How many the device itself has measured.
    by_device: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Compiled {
    made: u64,
    found: u64,
    micros: f64,
}

impl Sum {
    fn add(&mut self, micros: f64, arguments: &Value) {
        let number = |key: &str| arguments[key].as_u64().unwrap_or(0);
        self.count += 1;
        self.micros += micros;
        self.bytes += number("bytes");
        self.items += number("items");
        self.by_device += u64::from(arguments["clock"] == "device");
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.micros / self.count as f64 }
    }
}

impl Sums {
    /// Adds a file's events.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(crate) fn add(&mut self, text: &[u8]) -> Result<(), String> {
        let events: Vec<Value> =
            serde_json::from_slice(text).map_err(|error| format!("is no timeline: {error}"))?;
        let mut processes = BTreeMap::new();
        for event in events.iter().filter(|event| event["name"] == "process_name") {
            processes.insert(event["pid"].as_u64(), word(&event["args"]["name"]));
        }
        for event in &events {
            let (name, arguments) = (word(&event["name"]), &event["args"]);
            let micros = event["dur"].as_f64().unwrap_or(0.0);
            let process = || processes.get(&event["pid"].as_u64()).cloned().unwrap_or_default();
            match event["cat"].as_str() {
                Some("kernel") => {
                    self.kernels.entry((name, process())).or_default().add(micros, arguments);
                }
                Some("copy") => {
                    let key = (name, word(&arguments["device"]));
                    self.copies.entry(key).or_default().add(micros, arguments);
                }
                Some("parallel iterator") => {
                    let key = (name, word(&arguments["ran"]));
                    self.iterators.entry(key).or_default().add(micros, arguments);
                }
                Some("wait") => self.waits.add(micros, arguments),
                Some("compile") => {
                    let compiled = self.compiled.entry(name).or_default();
                    compiled.micros += micros;
                    let is_made = arguments["cache_hit"] == false;
                    *(if is_made { &mut compiled.made } else { &mut compiled.found }) += 1;
                }
                _ if event["ph"] == "C" => {
                    let most = self.memory.entry(process()).or_default();
                    *most = arguments["bytes"].as_u64().unwrap_or(0).max(*most);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The kernels, those that took longest first, and all of their time.
    fn kernels(&self) -> (Vec<(&str, &str, &Sum)>, f64) {
        let mut all: Vec<_> = self
            .kernels
            .iter()
            .map(|((kernel, device), sum)| (kernel.as_str(), device.as_str(), sum))
            .collect();
        all.sort_by(|(_, _, one), (_, _, other)| other.micros.total_cmp(&one.micros));
        let time = all.iter().map(|(_, _, sum)| sum.micros).sum();
        (all, time)
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let (kernels, all) = self.kernels();
        if kernels.is_empty() && self.iterators.is_empty() {
            return "no kernel was launched\n".to_owned();
        }
        let mut tables = Vec::new();
        let mut rows = vec![
            ["kernel", "device", "launches", "total", "mean", "share", "compiled"]
                .map(str::to_owned),
        ];
        for (kernel, device, sum) in &kernels {
            let compiled = self.compiled.get(*kernel).map_or_else(String::new, |compiled| {
                let Compiled { made, found, micros } = *compiled;
                format!("{} ({made} made, {found} found)", time(micros))
            });
            rows.push([
                (*kernel).to_owned(),
                (*device).to_owned(),
                sum.count.to_string(),
                time(sum.micros),
                time(sum.mean()),
                format!("{:.1} %", share(sum.micros, all)),
                compiled,
            ]);
        }
        tables.push(table(&rows));
        if !self.copies.is_empty() {
            let mut rows =
                vec![["copies", "device", "number", "bytes", "total", "rate"].map(str::to_owned)];
            for ((direction, device), sum) in &self.copies {
                let rate = sum.bytes as f64 / sum.micros.max(0.001) / 1000.0;
                rows.push([
                    direction.clone(),
                    device.clone(),
                    sum.count.to_string(),
                    bytes(sum.bytes),
                    time(sum.micros),
                    format!("{rate:.1} GB/s"),
                ]);
            }
            tables.push(table(&rows));
        }
        if !self.iterators.is_empty() {
            let mut rows =
                vec![["parallel iterator", "ran", "runs", "total", "mean"].map(str::to_owned)];
            for ((name, ran), sum) in &self.iterators {
                let (total, mean) = (time(sum.micros), time(sum.mean()));
                rows.push([name.clone(), ran.clone(), sum.count.to_string(), total, mean]);
            }
            tables.push(table(&rows));
        }
        let mut end = String::new();
        for (device, most) in &self.memory {
            let _ = writeln!(end, "memory of {device}: {} at most", bytes(*most));
        }
        let _ = writeln!(
            end,
            "threads waited {} times, for {}",
            self.waits.count,
            time(self.waits.micros)
        );
        let by_host: u64 = kernels.iter().map(|(_, _, sum)| sum.count - sum.by_device).sum();
        if by_host != 0 {
            let _ = writeln!(end, "{by_host} launches were measured by the host's clock");
        }
        tables.push(end);
        tables.join("\n")
    }

    /// For programs: times in microseconds.
    pub(crate) fn json(&self) -> String {
        let (kernels, all) = self.kernels();
        let kernels: Vec<_> = kernels
            .iter()
            .map(|(kernel, device, sum)| {
                let compiled = self.compiled.get(*kernel).copied().unwrap_or_default();
                json!({
                    "kernel": kernel, "device": device, "launches": sum.count, "items": sum.items,
                    "total_us": sum.micros, "mean_us": sum.mean(), "share": share(sum.micros, all) / 100.0,
                    "measured_by_device": sum.by_device, "compiled": compiled.made, "found": compiled.found,
                    "compile_us": compiled.micros,
                })
            })
            .collect();
        let copies: Vec<_> = self
            .copies
            .iter()
            .map(|((direction, device), sum)| {
                json!({
                    "direction": direction, "device": device, "number": sum.count, "bytes": sum.bytes,
                    "total_us": sum.micros,
                })
            })
            .collect();
        let iterators: Vec<_> = self
            .iterators
            .iter()
            .map(|((name, ran), sum)| {
                json!({ "name": name, "ran": ran, "runs": sum.count, "items": sum.items, "total_us": sum.micros })
            })
            .collect();
        let all = json!({
            "kernels": kernels, "copies": copies, "parallel_iterators": iterators, "memory": self.memory,
            "waits": self.waits.count, "waited_us": self.waits.micros,
        });
        format!("{all:#}\n")
    }

    /// A bar for each kernel, as long as its share of the time.
    pub(crate) fn svg(&self) -> String {
        /// Of a bar, and of the whole width.
        const ROW: usize = 36;
        const WIDTH: f64 = 800.0;
        let (kernels, all) = self.kernels();
        let height = ROW * kernels.len().max(1) + 10;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n",
            WIDTH + 20.0
        );
        for (number, (kernel, device, sum)) in kernels.iter().enumerate() {
            let (top, part) = (ROW * number + 10, share(sum.micros, all));
            let width = (WIDTH * part / 100.0).max(1.0);
            let about = format!("{kernel} on {device}: {}, {part:.1} %", time(sum.micros));
            let _ = writeln!(
                text,
                "<text x=\"10\" y=\"{}\">{}</text><rect x=\"10\" y=\"{}\" width=\"{width:.1}\" height=\"12\" fill=\"#4477aa\"/>",
                top + 10,
                escaped(&about),
                top + 14
            );
        }
        text + "</svg>\n"
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// In percent.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 0.0 }
}

fn time(micros: f64) -> String {
    match micros {
        _ if micros < 1000.0 => format!("{micros:.1} µs"),
        _ if micros < 1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

fn bytes(number: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let unit = (number.ilog2() as usize / 10).min(units.len());
    format!("{:.1} {}", number as f64 / 1024_f64.powi(unit as i32), units[unit - 1])
}

/// Rows as columns: the first two of each to the left, the others, numbers, to the right.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if column < 2 {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"[
        {"name":"process_name","ph":"M","pid":7,"tid":0,"args":{"name":"program"}},
        {"name":"process_name","ph":"M","pid":99,"tid":0,"args":{"name":"cuda:0"}},
        {"name":"one<T>","cat":"kernel","ph":"X","pid":99,"tid":1,"ts":1.0,"dur":3000.0,"args":{"items":10,"clock":"device"}},
        {"name":"one<T>","cat":"kernel","ph":"X","pid":99,"tid":1,"ts":9.0,"dur":1000.5,"args":{"items":10,"clock":"host"}},
        {"name":"two","cat":"kernel","ph":"X","pid":99,"tid":1,"ts":19.0,"dur":500.0,"args":{"items":3,"clock":"device"}},
        {"name":"two","cat":"compile","ph":"X","pid":7,"tid":7,"ts":0.5,"dur":20000.0,"args":{"cache_hit":false}},
        {"name":"two","cat":"compile","ph":"X","pid":7,"tid":7,"ts":0.7,"dur":100.0,"args":{"cache_hit":true}},
        {"name":"copy to the device","cat":"copy","ph":"X","pid":7,"tid":7,"ts":0.1,"dur":2.0,"args":{"device":"cuda:0","bytes":4096}},
        {"name":"wait","cat":"wait","ph":"X","pid":7,"tid":7,"ts":0.1,"dur":2.0,"args":{"device":"cuda:0"}},
        {"name":"memory","ph":"C","pid":99,"tid":0,"ts":0.1,"args":{"bytes":3145728}},
        {"name":"memory","ph":"C","pid":99,"tid":0,"ts":0.2,"args":{"bytes":5}}
    ]"#;

    fn sums() -> Sums {
        let mut sums = Sums::default();
        sums.add(FILE.as_bytes()).expect("a timeline");
        sums
    }

    #[test]
    fn a_table_has_what_took_longest_first() {
        let text = sums().text();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect())
            .collect();
        assert_eq!(lines[1], ["one<T>", "cuda:0", "2", "4.0 ms", "2.0 ms", "88.9 %"]);
        let two =
            ["two", "cuda:0", "1", "500.0 µs", "500.0 µs", "11.1 %", "20.1 ms (1 made, 1 found)"];
        assert_eq!(lines[2], two);
        assert_eq!(
            lines[5],
            ["copy to the device", "cuda:0", "1", "4.0 KiB", "2.0 µs", "2.0 GB/s"]
        );
        assert!(text.contains("memory of cuda:0: 3.0 MiB at most\n"), "{text}");
        assert!(text.ends_with("1 launches were measured by the host's clock\n"), "{text}");
    }

    #[test]
    fn json_has_the_same() {
        let json: Value = serde_json::from_str(&sums().json()).expect("it is JSON");
        assert_eq!(json["kernels"][0]["total_us"], 4000.5);
        assert_eq!(json["kernels"][1]["compile_us"], 20100.0);
        assert_eq!(json["memory"]["cuda:0"], 3 << 20);
        assert_eq!(json["copies"][0]["bytes"], 4096);
    }

    #[test]
    fn bars_are_as_long_as_shares() {
        let svg = sums().svg();
        assert!(svg.contains("one&lt;T&gt; on cuda:0: 4.0 ms, 88.9 %"), "{svg}");
        assert!(svg.contains("width=\"711.1\"") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn nothing_is_no_table() {
        assert_eq!(Sums::default().text(), "no kernel was launched\n");
        assert!(Sums::default().add(b"[1, 2").unwrap_err().starts_with("is no timeline"));
    }
}
