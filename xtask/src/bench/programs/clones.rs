//! Programs that no registry has: they are built in a folder of clones, where they are, and nothing of them
//! is in this repository.

use std::path::{Path, PathBuf};

use cargo_schism::error::{Error, FileContext, Result};

/// A program of a repository.
pub(super) struct ClonedProgram {
    pub(super) name: &'static str,
    /// Its package, in the folder of clones: the repository's name, and the folder in it.
    folder: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// The lines with one of these are its result. All else, such as times, differs from run to run.
    results: &'static [&'static str],
    /// The lines that begin with one of these have its own times, and which number in them it is.
    times: (&'static [&'static str], usize),
    /// Whether its source needs features of the compiler that are not stable.
    pub(super) is_unstable: bool,
}

/// Validated and not, in programs of the Parallel Research Kernels.
const PARRES: &[&str] = &["Solution validates", "ERROR", "Failed", "checksum"];

/// Their time is the second number of its line.
const PARRES_TIMES: (&[&str], usize) = (&["Rate"], 1);

/// All programs.
pub(super) const CLONES: &[ClonedProgram] = &[
    ClonedProgram {
        name: "babelstream",
        folder: "BabelStream/src/rust/rust-stream",
        arguments: &["--device", "1", "--numtimes", "100", "--arraysize", "33554432"],
        results: &["Array size", "Precision"],
        // Bandwidth, the shortest time, the longest, and the mean.
        times: (&["Copy", "Mul", "Add", "Triad", "Dot"], 3),
        is_unstable: true,
    },
    ClonedProgram {
        name: "prk-nstream",
        folder: "Kernels/RUST/nstream-rayon",
        arguments: &["50", "50000000"],
        results: PARRES,
        times: PARRES_TIMES,
        is_unstable: false,
    },
    ClonedProgram {
        name: "prk-transpose",
        folder: "Kernels/RUST/transpose-rayon",
        arguments: &["50", "8192"],
        results: PARRES,
        times: PARRES_TIMES,
        is_unstable: false,
    },
    ClonedProgram {
        name: "prk-dgemm",
        folder: "Kernels/RUST/dgemm-rayon",
        arguments: &["5", "2048"],
        results: PARRES,
        times: PARRES_TIMES,
        is_unstable: false,
    },
    ClonedProgram {
        name: "demo-nbody",
        folder: "rayon/rayon-demo",
        arguments: &["nbody", "bench", "--mode", "par", "--bodies", "20000", "--ticks", "20"],
        results: &[],
        times: (&["Parallel time"], 0),
        is_unstable: false,
    },
    ClonedProgram {
        name: "demo-life",
        folder: "rayon/rayon-demo",
        arguments: &["life", "bench", "--size", "1000", "--gens", "100"],
        results: &[],
        times: (&["parallel"], 0),
        is_unstable: false,
    },
    ClonedProgram {
        name: "demo-sieve",
        folder: "rayon/rayon-demo",
        arguments: &["sieve", "bench"],
        results: &[],
        times: (&["parallel"], 0),
        is_unstable: false,
    },
    ClonedProgram {
        name: "demo-matmul",
        folder: "rayon/rayon-demo",
        arguments: &["matmul", "bench", "--size", "2048"],
        results: &[],
        // The numbers of the size are one word.
        times: (&["par z-order", "par strassen"], 0),
        is_unstable: false,
    },
];

impl ClonedProgram {
    /// Where its package is.
    pub(super) fn folder(&self, sources: &Path) -> PathBuf {
        sources.join(self.folder)
    }

    /// The name of the program that cargo builds: its package's.
    pub(super) fn binary(&self, sources: &Path) -> Result<String> {
        let manifest = self.folder(sources).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).at("read", &manifest)?;
        package_name(&text)
            .ok_or_else(|| Error::Missing { what: "the package's name".to_owned(), path: manifest })
    }

    /// What it printed of its results.
    pub(super) fn result(&self, printed: &str) -> String {
        let is_result = |line: &&str| self.results.iter().any(|word| line.contains(word));
        printed.lines().filter(is_result).collect::<Vec<_>>().join("; ")
    }

    /// What it says that its work took: the sum of its lines.
    pub(super) fn own_time(&self, printed: &str) -> Option<f64> {
        let (begins, index) = self.times;
        let of_line = |line: &str| {
            let line = line.trim_start();
            let rest = begins.iter().find_map(|begin| line.strip_prefix(begin))?;
            rest.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).nth(index)
        };
        let times: Vec<f64> = printed.lines().filter_map(of_line).collect();
        (!times.is_empty()).then(|| times.iter().sum())
    }
}

/// The name that the table `package` of a manifest has.
fn package_name(manifest: &str) -> Option<String> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]");
    lines.next()?;
    let mut own = lines.take_while(|line| !line.starts_with('['));
    let name = own.find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "name").then(|| value.trim().trim_matches('"').to_owned())
    });
    name.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static ClonedProgram {
        CLONES.iter().find(|clone| clone.name == name).unwrap()
    }

    #[test]
    fn names_are_of_packages() {
        let text =
            "[lib]\nname = \"b\"\n[package]\nversion = \"1\"\nname = \"a-b\"\n[dependencies]\n";
        assert_eq!(package_name(text).as_deref(), Some("a-b"));
        assert_eq!(package_name("[workspace]\nname = \"c\""), None);
        assert_eq!(package_name("[package]\n[lib]\nname = \"c\""), None);
    }

    #[test]
    fn results_are_told_from_times() {
        let stream = "Precision: double\nArray size: 8.0 MB (=0.0 GB)\nInit: 0.1 s\n\
                      Function    MBytes/sec    Min (sec)    Max        Average\n\
                      Copy        1000.000      0.00100      0.00300    0.00200\n\
                      Dot         1000.000      0.00100      0.00300    0.00400\n";
        let program = named("babelstream");
        assert_eq!(program.result(stream), "Precision: double; Array size: 8.0 MB (=0.0 GB)");
        assert!((program.own_time(stream).unwrap() - 0.006).abs() < 1e-9);
        let kernel = "Solution validates\nRate (MB/s):   1234.5 Avg time (s):    0.250\n";
        assert_eq!(named("prk-nstream").result(kernel), "Solution validates");
        assert_eq!(named("prk-nstream").own_time(kernel), Some(0.25));
        let life = "  serial:  900 ns\nparallel:  300 ns -> 3.00x speedup\npar_bridge: 5 ns\n";
        // The colon is a part of the first word that is no number.
        assert_eq!(named("demo-life").own_time(life), Some(300.0));
        let matmul = "seq z-order:\t2048x2048 matrix: 9 s\npar z-order:\t2048x2048 matrix: 1.5 s\n\
                      par strassen:\t2048x2048 matrix: 0.5 s\nspeedup: 6.00x\n";
        assert_eq!(named("demo-matmul").own_time(matmul), Some(2.0));
        assert_eq!(named("demo-nbody").own_time("nothing"), None);
    }
}
