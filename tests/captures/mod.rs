//! Kernels with random captures: nested options and results, packed structs, enums with data and
//! with niches, arrays, unions. Their views and their numbers must arrive as they are on the
//! devices `cpu` and `native` and on a GPU, and a device must refuse addresses of another.
//!
//! | file | what it is |
//! |---|---|
//! | `generator.rs` | types and values |
//! | `prelude.rs` | what each program begins with: how a kernel says what it has got, and the launches |
//! | `known.rs` | captures that some device once got wrong |
//!
//! The GPU is that of the fake driver (`crates/fake_cuda.rs`), which runs no kernels. A program
//! puts the closure together from the parameters of a launch, and runs it on the host: the fake
//! driver's memory is the program's, so addresses are right if they were translated. What a launch
//! has for parameters, the container says.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::container::containers;
use crate::lab::{Compiler, Lab, clean_command, describe, output, source, text};

mod generator;

/// A program, and what it needs beside it.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    driver: PathBuf,
    closures: PathBuf,
}

/// The text of kernel `number` of a seed, which follows from both alone.
#[must_use]
pub fn kernel(seed: u64, number: usize) -> String {
    generator::kernel(seed, number)
}

/// Compiles a program of these kernels of a seed, and of those that are known, in a folder of its
/// own.
///
/// # Panics
/// If that fails.
#[must_use]
pub fn compile(lab: &Lab, seed: u64, numbers: std::ops::Range<usize>) -> Program {
    let folder = lab.folder(&format!("captures-{seed}-{}", numbers.start));
    let fake = source("crates/cuda/fake.rs");
    // What a file says of itself stands in the middle here.
    let part = |text: &str| text.replace("//!", "//");
    let mut program = format!(
        "#![allow(warnings)]\n#[path = {fake:?}]\nmod fake;\n{}\nmod known {{\nuse super::*;\n{}",
        part(include_str!("prelude.rs")),
        part(include_str!("known.rs")),
    );
    program.push_str(
        "}\n\nfn main() {\n    let harness = Harness::new();\n    known::check(&harness);\n",
    );
    for number in numbers.clone() {
        let _ = writeln!(program, "    k{number}::check(&harness);");
    }
    program.push_str("    harness.finish();\n}\n\n");
    program.extend(numbers.map(|number| kernel(seed, number)));
    std::fs::write(folder.join("captures.rs"), program).expect("a file can be written");

    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    text(rustc.args(["--crate-type=cdylib", "-O"]).arg(source("crates/fake_cuda.rs")));
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.args(["-Copt-level=1", "captures.rs"]));
    let path = folder.join("captures");
    let closures = folder.join("closures");
    std::fs::write(&closures, flattened(&path)).expect("a file can be written");
    Program { path, driver: folder.join("libfake_cuda.so"), closures }
}

/// A line for each kernel of a program: its name, the size of its closure, offset and size of each
/// parameter.
fn flattened(program: &Path) -> String {
    let mut lines = String::new();
    for kernel in containers(program).iter().flat_map(|container| &container.kernels) {
        // `captures::known::at_an_odd_offset::kernel::{closure#0} at captures.rs:7:25`
        let path = kernel.display_name.split("::kernel::").next().unwrap_or_default();
        let _ = write!(
            lines,
            "{} {}",
            path.rsplit("::").next().unwrap_or_default(),
            kernel.closure_size
        );
        for parameter in &kernel.parameters {
            let _ = write!(lines, " {} {}", parameter.offset, parameter.size);
        }
        lines.push('\n');
    }
    lines
}

impl Program {
    /// Runs the kernels with these names, or all of them if there is none; what is wrong, and how
    /// many ran.
    ///
    /// # Panics
    /// If the program cannot be run to its end.
    #[must_use]
    pub fn run(&self, names: &[&str]) -> (Vec<String>, usize) {
        let mut command = clean_command(&self.path);
        command.env("SCHISM_CUDA", &self.driver).env("FAKE_CUDA_DEVICES", "2");
        command.env("CAPTURES_CLOSURES", &self.closures).args(names);
        let ended = output(&mut command);
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
        let ran = lines.pop().and_then(|line| line.strip_suffix(" kernels")?.parse().ok());
        match ran {
            Some(ran) if ended.status.success() => (lines, ran),
            _ => panic!("{}", describe(&command, &ended)),
        }
    }
}
