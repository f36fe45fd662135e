//! Passes over IR files: `passes/<pass>/*.ll`.
//!
//! The folder names the pass. Comments of the form `; SPEC key: value` give what stage 1 would
//! tell the pass; see [`spec_of`].

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use schism_passes::{
    DeviceSpec, KernelSpec, PanicFunction, PanicMessage, Parameter, ParameterKind, cleanup,
    device_check, host_attributes, ir_constants, kernel_entry, panics, reachability, unwind,
};
use schism_tests::filecheck;

#[test]
fn host_attributes_files() {
    run_folder("host-attributes");
}

#[test]
fn unwind_files() {
    run_folder("unwind");
}

#[test]
fn ir_constants_files() {
    run_folder("ir-constants");
}

#[test]
fn panics_files() {
    run_folder("panics");
}

#[test]
fn kernel_entry_files() {
    run_folder("kernel-entry");
}

#[test]
fn reachability_files() {
    run_folder("reachability");
}

#[test]
fn cleanup_files() {
    run_folder("cleanup");
}

#[test]
fn device_check_files() {
    run_folder("device-check");
}

fn run_folder(pass: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("passes").join(pass);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of the pass")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no case", folder.display());
    let mut failures = String::new();
    for file in files {
        let source = std::fs::read_to_string(&file).expect("a readable file");
        let output = run_pass(pass, &source);
        if let Err(message) = filecheck::check(&source, &output) {
            writeln!(failures, "{}:\n{message}\n\noutput:\n{output}", file.display())
                .expect("writing to a string");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The IR that comes out, or the text of what the pass refuses.
fn run_pass(pass: &str, source: &str) -> String {
    let context = Context::create();
    let text = format!("{source}\0");
    let buffer =
        MemoryBuffer::create_from_memory_range_copy(&text.as_bytes()[..text.len() - 1], "case");
    let module: Module<'_> = context.create_module_from_ir(buffer).expect("valid IR in the file");
    let spec = spec_of(source);
    let kernels: HashSet<&str> = spec.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    match pass {
        "host-attributes" => host_attributes::run(&module),
        "unwind" => unwind::run(&module).expect("LLVM's passes run"),
        "ir-constants" => {
            ir_constants::run(&module, &spec.ir_constants, &spec.ir_constant_functions)
                .expect("LLVM's passes run");
        }
        "panics" => panics::run(&module, &spec.panics),
        "kernel-entry" => {
            if let Err(error) = kernel_entry::run(&module, &spec.kernels) {
                return error.to_string();
            }
        }
        "reachability" => reachability::run(&module, &kernels).expect("LLVM's passes run"),
        "cleanup" if source.contains("; SPEC inline") => {
            cleanup::run_inlining(&module).expect("LLVM's passes run");
        }
        "cleanup" => cleanup::run(&module).expect("LLVM's passes run"),
        "device-check" => {
            return device_check::run_early(&module, &kernels)
                .into_iter()
                .chain(device_check::run(&module, &kernels))
                .map(|violation| format!("{violation:?}\n"))
                .chain(["end of violations".to_owned()])
                .collect();
        }
        other => panic!("no pass {other}"),
    }
    module.verify().expect("the pass leaves valid IR");
    module.print_to_string().to_string()
}

/// Reads the specification out of a file's comments:
///
/// ```text
/// ; SPEC constant: symbol value
/// ; SPEC constant-function: symbol value
/// ; SPEC panic: symbol text|arguments|"message" [located]
/// ; SPEC kernel: name entry size align
/// ; SPEC inline
/// ; SPEC param: offset size align integer|float|bytes|pointer|reference
/// ```
fn spec_of(source: &str) -> DeviceSpec {
    let mut spec = DeviceSpec::default();
    for line in source.lines() {
        let Some((key, value)) =
            line.strip_prefix("; SPEC ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        let words: Vec<&str> = value.split_whitespace().collect();
        let number = |index: usize| words[index].parse::<u64>().expect("a number in a SPEC line");
        match key {
            "constant" => spec.ir_constants.push((words[0].to_owned(), number(1))),
            "constant-function" => {
                spec.ir_constant_functions.push((words[0].to_owned(), number(1)));
            }
            "panic" => spec.panics.push(PanicFunction {
                symbol: words[0].to_owned(),
                message: match words[1] {
                    "text" => PanicMessage::Text,
                    "arguments" => PanicMessage::Arguments,
                    message => PanicMessage::Static(message.trim_matches('"').to_owned()),
                },
                located: words.get(2) == Some(&"located"),
            }),
            "kernel" => spec.kernels.push(KernelSpec {
                name: words[0].to_owned(),
                entry: words[1].to_owned(),
                closure_size: number(2),
                closure_align: number(3),
                parameters: Vec::new(),
            }),
            "param" => {
                let kernel = spec.kernels.last_mut().expect("a kernel before its parameters");
                let known = words[3] == "reference";
                kernel.parameters.push(Parameter {
                    offset: number(0),
                    size: number(1),
                    align: number(2),
                    kind: match words[3] {
                        "integer" => ParameterKind::Integer,
                        "float" => ParameterKind::Float,
                        "bytes" => ParameterKind::Bytes,
                        _ => ParameterKind::Pointer {
                            noalias: known,
                            readonly: known,
                            pointee_align: if known { 4 } else { 1 },
                            dereferenceable: 0,
                            nonnull: known,
                        },
                    },
                });
            }
            other => panic!("no SPEC key {other}"),
        }
    }
    spec
}
