//! `cargo schism bench directives`: loops by directives beside the same as launches by hand, by rayon
//! on the CPU, and by CUDA C++ on an NVIDIA GPU.
//!
//! Two programs run in turn; ratios are taken within each pair. schism's, `directives_schism` of the
//! package `schism-bench`, has each loop in two forms. On the device `cpu` the other one is
//! `directives_rayon`, compiled by plain rustc for the CPU at hand; on a GPU it is
//! `benches/gpu/directives.cu`, compiled by nvcc. Times are the host's, from the call until the result
//! is there; arrays are on the device before. Then it is measured what the build costs: processor
//! time for the program with directives, beside the same without any.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::cost::Cost;
use super::gpu::baseline;
use super::options::{misused, number_of_pairs};
use super::output::{Times, duration, read};
use super::pack::{self, Contents, Mode};
use super::statistics::{geometric_mean, median};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench directives [PAIRS] [--device NAME] [--builds N]
       cargo schism bench directives --pack DIR        collect what a machine with a GPU and nvcc needs, without Rust
       cargo schism bench directives --unpacked DIR …  measure there; the pack's run.sh does that

--device is cpu (default) or a GPU such as cuda:0; --builds is how often the cost of the build is measured (default: 1; 0 leaves it out)";

/// What directives are to reach of the speed of launches by hand.
const OF_LAUNCHES: f64 = 0.97;
/// The geometric mean of what they are to reach of rayon's speed.
const OF_RAYON: f64 = 1.2;
/// Of CUDA's.
const OF_CUDA: f64 = 0.9;
/// The most that a build with directives costs, of one without.
const BUILD: f64 = 1.2;

const SCHISM: &str = "directives_schism";
const RAYON: &str = "directives_rayon";
const CUDA: &str = "directives.cu";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    mode: Mode,
    device: String,
    builds: usize,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let (mut pairs, mut mode) = (3, Mode::Checkout);
        let (mut device, mut builds) = ("cpu".to_owned(), 1);
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench directives", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("device") => {
                    device = parser.value().map_err(misused)?.to_string_lossy().into_owned();
                }
                Long("builds") => {
                    let text = parser.value().map_err(misused)?;
                    let text = text.to_string_lossy();
                    builds = text
                        .parse()
                        .map_err(|_| wrong(format!("`{text}` is no number of builds")))?;
                }
                Long("pack") => mode = Mode::Pack(parser.value().map_err(misused)?.into()),
                Long("unpacked") => mode = Mode::Unpacked(parser.value().map_err(misused)?.into()),
                Value(number) => pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        Ok(Self { pairs, mode, device, builds })
    }

    fn is_on_host(&self) -> bool {
        matches!(&*self.device, "cpu" | "native" | "cpu:copies")
    }
}

/// Packs or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    if let Mode::Unpacked(folder) = &options.mode {
        let folder = pack::open(folder, "directives", &[SCHISM, RAYON, CUDA, pack::STAGE2])?;
        let peer = peer(&options, &folder.join(RAYON), &folder, &folder.join(pack::WORK))?;
        return measure(&options, &folder.join(SCHISM), &peer, &folder.join(pack::STAGE2));
    }
    let checkout = Checkout::set_up()?;
    let schism = checkout.build(checkout.schism(), SCHISM)?;
    let rayon = checkout.build(checkout.native(), RAYON)?;
    let sources = checkout.root.join("benches").join("gpu");
    let stage2 = checkout.stage2();
    if let Mode::Pack(folder) = &options.mode {
        let contents = Contents {
            suite: "directives",
            what: "loops by directives beside launches by hand, rayon and CUDA C++",
            programs: &[(&schism, SCHISM), (&rayon, RAYON), (&sources.join(CUDA), CUDA)],
            stage2: &stage2,
            usage: "[PAIRS] [--device NAME]",
        };
        return pack::write(folder, &checkout.ready, &contents);
    }
    let peer = peer(&options, &rayon, &sources, &checkout.target)?;
    let outcome = measure(&options, &schism, &peer, &stage2)?;
    if options.builds > 0 {
        builds(&checkout, options.builds)?;
    }
    Ok(outcome)
}

/// The other program: rayon's, or that of CUDA C++, which is compiled here.
fn peer(options: &Options, rayon: &Path, sources: &Path, work: &Path) -> Result<PathBuf> {
    if options.is_on_host() {
        return Ok(rayon.to_owned());
    }
    let nvcc = baseline::find()?;
    std::fs::create_dir_all(work).at("create", work)?;
    let program = work.join("directives_cuda");
    eprintln!("building CUDA's program");
    let mut build = Command::new(&nvcc);
    // As Rust does, each operation is rounded.
    build.args(["-O3", "-std=c++17", "-arch=native", "-fmad=false", "-o"]).arg(&program);
    build.arg(sources.join(CUDA));
    command::capture(build, "to build CUDA's program", "it comes with CUDA's toolkit")?;
    println!("{}", baseline::version(&nvcc)?);
    Ok(program)
}

/// The times of one loop, and its ratios within pairs.
#[derive(Default)]
struct Row {
    directives: Vec<f64>,
    of_launches: Vec<f64>,
    of_peer: Vec<f64>,
}

/// Runs both in turn, and prints the ratios.
fn measure(options: &Options, schism: &Path, peer: &Path, stage2: &Path) -> Result<ExitCode> {
    let other = if options.is_on_host() { "rayon" } else { "cuda" };
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut is_wrong = false;
    for pair in 1..=options.pairs {
        eprintln!("pair {pair} of {}", options.pairs);
        let mut run = Command::new(schism);
        run.env("SCHISM_JIT", stage2).env("SCHISM_DEVICE", &options.device);
        let output = command::capture(run, "needed to measure", "it was just built")?;
        if let (1, Some(device)) = (pair, output.lines().next()) {
            println!("{device}");
        }
        let mut times = read(&output);
        let run = Command::new(peer);
        times.extend(read(&command::capture(run, "needed to measure", "it was just built")?));
        for (name, own) in of_form(&times, "directives") {
            let row = rows.entry(name.to_owned()).or_default();
            row.directives.push(own.0);
            for (form, ratios) in [("launches", &mut row.of_launches), (other, &mut row.of_peer)] {
                let mut all = of_form(&times, form);
                let Some((_, found)) = all.find(|(peer, _)| *peer == name) else { continue };
                ratios.push(found.0 / own.0);
                if (found.1 - own.1).abs() > 1e-6 * found.1.abs().max(own.1.abs()) {
                    println!("{name}: the results differ: {}, {form} {}", own.1, found.1);
                    is_wrong = true;
                }
            }
        }
    }
    print!("{}", table(&mut rows, other));
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The loops of one form: their names, seconds and results.
fn of_form<'a>(
    times: &'a Times,
    form: &'a str,
) -> impl Iterator<Item = (&'a str, (f64, f64))> + 'a {
    times.iter().filter_map(move |(name, seconds, result)| {
        let (name, own) = name.split_once('/')?;
        (own == form).then_some((name, (*seconds, result.parse().ok()?)))
    })
}

fn table(rows: &mut BTreeMap<String, Row>, other: &str) -> String {
    let head = format!("{other} / directives");
    let mut text =
        format!("{:10} {:>10} {:>24} {head:>24}\n", "", "directives", "launches / directives");
    let (mut launches, mut peers) = (Vec::new(), Vec::new());
    for (name, row) in rows {
        let mut line = format!("{name:10} {}", duration(median(&mut row.directives)));
        for (ratios, all) in [(&mut row.of_launches, &mut launches), (&mut row.of_peer, &mut peers)]
        {
            if ratios.is_empty() {
                line += &format!(" {:>24}", "-");
                continue;
            }
            let middle = median(ratios);
            all.push(middle);
            let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
            line += &format!(" {:>24}", format!("{middle:.2} ({least:.2} to {most:.2})"));
        }
        text += &format!("{line}\n");
    }
    let mean = |values: &[f64]| geometric_mean(values).unwrap_or(f64::NAN);
    let least = launches.iter().copied().fold(f64::INFINITY, f64::min);
    let goal = if other == "rayon" { OF_RAYON } else { OF_CUDA };
    text += &format!(
        "launches by hand: mean {:.2}, least {least:.2} (goal: each {OF_LAUNCHES}); {other}: mean {:.2} (goal: {goal}); above 1 directives are \
         faster\n",
        mean(&launches),
        mean(&peers),
    );
    text
}

/// The examples whose builds are compared: sources with directives, and what is left without them.
const EXAMPLES: [&str; 3] = ["jacobi", "conjugate_gradient", "weather"];

/// Measures what the builds of the examples cost with directives and without.
fn builds(checkout: &Checkout, count: usize) -> Result<()> {
    let folder = checkout.target.join("directives_builds");
    let examples = checkout.root.join("examples");
    let (mut plain, mut with) = (Vec::new(), Vec::new());
    for round in 0..=count {
        for (name, times) in [("plain", &mut plain), ("with", &mut with)] {
            let place = folder.join(name);
            prepare(&place, &examples, name == "with")?;
            let mut cargo = checkout.schism();
            cargo.current_dir(&checkout.root).args(["build", "--release", "--quiet", "--examples"]);
            cargo.arg("--manifest-path").arg(place.join("Cargo.toml"));
            cargo.arg("--target-dir").arg(folder.join("target"));
            let (cost, _) = Cost::of(|| command::capture(cargo, "to measure builds", ""))?;
            // The first one builds what the examples depend on.
            if round > 0 {
                times.push(cost.processor);
            }
        }
    }
    let ratio = median(&mut with) / median(&mut plain);
    println!(
        "builds of {}: processor time with directives / without: {ratio:.2} (goal: {BUILD})",
        EXAMPLES.join(", ")
    );
    Ok(())
}

/// A package with the examples; those of an earlier build are made anew.
fn prepare(place: &Path, examples: &Path, with_directives: bool) -> Result<()> {
    let sources = place.join("examples");
    std::fs::create_dir_all(&sources).at("create", &sources)?;
    let root = examples.parent().unwrap_or(examples).display();
    let manifest = format!(
        "[package]\nname = \"directives-builds\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         schism = {{ path = \"{root}/runtime\" }}\nschism-examples = {{ path = \"{root}/examples\" }}\n\n[workspace]\n"
    );
    let library = place.join("src");
    std::fs::create_dir_all(&library).at("create", &library)?;
    for (path, text) in
        [(place.join("Cargo.toml"), manifest), (library.join("lib.rs"), String::new())]
    {
        std::fs::write(&path, text).at("write", &path)?;
    }
    for example in EXAMPLES.map(|name| format!("{name}.rs")) {
        let from = examples.join(&example);
        let text = std::fs::read_to_string(&from).at("read", &from)?;
        let text = if with_directives { text } else { without_directives(&text) };
        let to = sources.join(&example);
        std::fs::write(&to, text).at("write", &to)?;
    }
    Ok(())
}

/// A source without the lines that are directives.
fn without_directives(text: &str) -> String {
    let is_directive = |line: &&str| line.trim_start().starts_with("#[acc");
    let lines = text.lines().filter(|line| !is_directive(line));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    text.replace(
        "use schism::directives::{acc, with_queue};",
        "use schism::directives::with_queue;",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_device_and_builds_are_asked_for() {
        let options = ask("5 --device cuda:0 --builds 2").unwrap();
        assert_eq!((options.pairs, options.builds, options.is_on_host()), (5, 2, false));
        assert!(ask("").unwrap().is_on_host());
        for line in ["--builds x", "0", "--frobnicate"] {
            let error = ask(line).unwrap_err().to_string();
            assert!(error.contains("usage: cargo schism bench directives"), "{error}");
        }
    }

    #[test]
    fn the_table_has_ratios_and_goals() {
        let row = |own: f64, launches: f64, peer: f64| Row {
            directives: vec![own],
            of_launches: vec![launches],
            of_peer: vec![peer],
        };
        let mut rows = BTreeMap::new();
        rows.insert("dot".to_owned(), row(0.001, 1.0, 2.0));
        rows.insert("saxpy".to_owned(), row(0.002, 0.98, 8.0));
        let text = table(&mut rows, "rayon");
        assert!(text.contains("least 0.98 (goal: each 0.97); rayon: mean 4.00"), "{text}");
    }

    #[test]
    fn a_source_without_directives_has_its_loops() {
        let text =
            "use a;\n#[acc]\nfn f() {\n    #[acc(parallel, loop)]\n    for i in 0..3 {}\n}\n";
        assert_eq!(without_directives(text), "use a;\nfn f() {\n    for i in 0..3 {}\n}\n");
    }
}
