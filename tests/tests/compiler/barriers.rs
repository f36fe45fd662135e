//! No compiler and no optimisation level adds or removes barriers or sub-group operations.

use std::path::{Path, PathBuf};
use std::process::Command;

use inkwell::context::Context;
use inkwell::llvm_sys::error::LLVMGetErrorMessage;
use inkwell::llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};
use inkwell::memory_buffer::MemoryBuffer;
use schism_tests::container::{containers, device_ir, symbols};
use schism_tests::lab::{Compiler, Lab, clean_command, each, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Barriers in `crates/barriers.rs`.
const BARRIERS: usize = 6;

/// Votes of sub-groups in it.
const VOTES: usize = 4;

/// Functions in `crates/barriers.rs` that come to a barrier or a vote, by a part of their symbols.
/// Each is called once.
const FUNCTIONS: [&str; 6] =
    ["6helper", "4step", "7generic", "6object", "8barriers4vote", "5given"];

/// Everything about optimisation that the source must not depend on.
const LEVELS: [&[&str]; 8] = [
    &["-Copt-level=0"],
    &["-Copt-level=1"],
    &["-Copt-level=2"],
    &["-Copt-level=3"],
    &["-Copt-level=s"],
    &["-Copt-level=z"],
    &["-Copt-level=0", "-Zmir-opt-level=4", "-Zinline-mir=yes"],
    &["-Copt-level=3", "-Zmir-opt-level=4"],
];

fn calls(ir: &str, callee: &str) -> usize {
    ir.lines().filter(|line| line.contains("call ") && line.contains(callee)).count()
}

/// Compiles the program; its device half.
fn compile(mut rustc: Command, folder: &Path, options: &[&str]) -> (PathBuf, String) {
    rustc.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/barriers.rs"));
    text(rustc.args(options));
    let program = folder.join("barriers");
    let containers = containers(&program);
    let own = containers.iter().find(|container| container.crate_name == "barriers");
    (program.clone(), device_ir(own.expect("the program's container")))
}

/// Checks a device half, and that the compiler has copied the other call if it optimises at all.
fn check(lab: &Lab, ir: &str, options: &[&str], program: &Path) {
    assert_eq!(calls(ir, "@__schism_barrier()"), BARRIERS, "{options:?}\n{ir}");
    assert_eq!(calls(ir, "@__schism_ballot("), VOTES, "{options:?}\n{ir}");
    for function in FUNCTIONS {
        assert_eq!(calls(ir, function), 1, "{function} with {options:?}\n{ir}");
    }
    // Two call what they are given: once, wherever the compiler has put its body.
    for (name, body) in symbols(ir) {
        if name.contains("7generic") || name.contains("6object") {
            let inside = calls(&body, "@__schism_barrier()") + calls(&body, "8barriers8barriers");
            let given = inside + calls(&body, "void %");
            assert_eq!(given, 1, "{name} with {options:?}\n{body}");
        }
    }
    let copied = calls(ir, "5other");
    let optimises = options.len() > 1 || options[0] != "-Copt-level=0";
    assert_eq!(copied > 1, optimises, "{copied} with {options:?}\n{ir}");
    schism_tests::ptx::expect_of(program);
    for device in ["cpu", "native"] {
        let mut run = clean_command(program);
        // What the compilers and levels have in common is compiled by stage 2 once.
        lab.keep_kernels(&mut run);
        assert_eq!(text(run.env("SCHISM_DEVICE", device)), format!("{device}\n"));
    }
}

#[test]
fn through_the_driver() {
    let Some(lab) = lab() else { return };
    lab.runtime();
    each(LEVELS.into_iter().enumerate(), |(number, options)| {
        let folder = lab.folder(&format!("barriers-driver-{number}"));
        let (program, ir) = compile(lab.rustc_with_runtime(&folder), &folder, options);
        check(lab, &ir, options, &program);
    });
}

#[test]
fn through_the_plugin() {
    let Some(lab) = lab() else { return };
    // The runtime, too, is compiled by the stock compiler with the plugin, and one flag more.
    let mut flag = std::ffi::OsString::from("-Zcodegen-backend=");
    flag.push(&lab.plugin);
    let runtime = lab.runtime_by_plugin();
    each(LEVELS.into_iter().enumerate(), |(number, options)| {
        let folder = lab.folder(&format!("barriers-plugin-{number}"));
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        runtime.add_to(rustc.arg(&flag));
        let (program, ir) = compile(rustc, &folder, options);
        check(lab, &ir, options, &program);
    });
}

/// Runs LLVM's passes, for no target in particular.
fn optimise(ir: &str, passes: &str) -> String {
    let context = Context::create();
    let text = format!("{ir}\0");
    let bytes = &text.as_bytes()[..text.len() - 1];
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "device");
    let module = context.create_module_from_ir(buffer).expect("valid IR");
    let passes = std::ffi::CString::new(passes).expect("no NUL");
    // SAFETY: the module, the text and the options live through the call; LLVM needs no target
    // machine for these passes.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let null = std::ptr::null_mut();
        let error = LLVMRunPasses(module.as_mut_ptr(), passes.as_ptr(), null, options);
        LLVMDisposePassBuilderOptions(options);
        if !error.is_null() {
            panic!("{:?}", std::ffi::CStr::from_ptr(LLVMGetErrorMessage(error)));
        }
    }
    module.print_to_string().to_string()
}

#[test]
fn through_llvm() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("barriers-llvm");
    let (_, ir) = compile(lab.rustc_with_runtime(&folder), &folder, &["-Copt-level=0"]);
    // The functions stay apart, so that what is counted stays what it was.
    let keep = "function(sroa,simplifycfg<sink-common-insts;hoist-common-insts;switch-range-to-icmp>,\
                jump-threading,correlated-propagation,simplifycfg<sink-common-insts;hoist-common-insts>,\
                gvn-sink,gvn-hoist,sink,loop-mssa(licm),loop-mssa(simple-loop-unswitch<nontrivial>),jump-threading,simplifycfg)";
    let mut copies_votes = false;
    for passes in [keep, "default<O1>", "default<O2>", "default<O3>", "default<Os>"] {
        let optimised = optimise(&ir, passes);
        assert_eq!(calls(&optimised, "@__schism_barrier()"), BARRIERS, "{passes}\n{optimised}");
        assert_eq!(calls(&optimised, "@__schism_ballot("), VOTES, "{passes}\n{optimised}");
        // Without the attributes LLVM copies them.
        let free = ir.replace("convergent nomerge", "\"free\"").replace("convergent", "\"free\"");
        let copied = optimise(&free, passes);
        assert!(calls(&copied, "@__schism_barrier()") != BARRIERS, "{passes}\n{copied}");
        copies_votes |= calls(&copied, "@__schism_ballot(") != VOTES;
    }
    assert!(copies_votes, "no pass would have copied a vote");
}
