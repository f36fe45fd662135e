//! `cargo schism emit` writes device code to files that other tools read, with `--group` the code
//! of a launch. Also: PTX of statics that refer to each other in cycles.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};
use schism_tests::{ptx, skip};

fn lab() -> Option<&'static Lab> {
    if std::env::var_os("SCHISM_JIT").is_none() {
        skip::lacks(skip::STAGE2);
        return None;
    }
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// A program with three kernels, two of which reach statics in circles.
fn circular(lab: &Lab) -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = lab.folder("emit-circular");
        text(lab.rustc_with_runtime(&folder).arg(source("crates/circular.rs")));
        folder.join("circular")
    })
}

fn emit(lab: &Lab, folder: &Path, arguments: &[&str]) -> (Command, Output) {
    let mut command = clean_command(lab.subcommand());
    command.current_dir(folder).args(["schism", "emit"]).args(arguments);
    let ended = output(&mut command);
    (command, ended)
}

/// The files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

#[test]
fn circular_statics_have_their_values_on_every_device() {
    let Some(lab) = lab() else { return };
    let said = text(&mut clean_command(circular(lab)));
    let devices = said.lines().filter(|line| line.starts_with("on ")).count();
    assert_eq!(said.matches("nodes: 1000\nsteps: 1000\nplain: 1000\n").count(), devices, "{said}");
    assert!(devices >= 2, "{said}");
}

#[test]
fn circular_statics_become_ptx() {
    let Some(lab) = lab() else { return };
    ptx::expect_of(circular(lab));
    let folder = lab.folder("emit-circular-ptx");
    let program = circular(lab).to_str().expect("UTF-8");
    // Each kernel is a module by itself, and the same in each run.
    for name in ["first/", "second/"] {
        let (command, ended) = emit(lab, &folder, &["ptx", program, "-o", name]);
        assert!(ended.status.success(), "{}", describe(&command, &ended));
    }
    let (first, second) = (files(&folder.join("first")), files(&folder.join("second")));
    assert_eq!((first.len(), second.len()), (3, 3));
    let mut circles = 0;
    for (first, second) in first.iter().zip(&second) {
        let ptx = std::fs::read_to_string(first).expect("a text");
        assert_eq!(ptx, std::fs::read_to_string(second).expect("a text"));
        assert_eq!(ptx.matches("\n.version ").count(), 1, "{ptx}");
        assert!(!ptx.contains("_forward"), "{ptx}");
        // What is declared first is declared as it is defined.
        for line in ptx.lines().filter_map(|line| line.strip_prefix(".extern .global ")) {
            let defined = format!(".visible .global {} = {{", line.trim_end_matches(';'));
            assert!(ptx.contains(&defined), "{line}: {ptx}");
            circles += 1;
        }
    }
    assert!(circles >= 3, "{circles} circles");
}

#[test]
fn several_kernels_are_several_files() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("emit-files");
    let program = circular(lab).to_str().expect("UTF-8");
    let (command, ended) = emit(lab, &folder, &["ptx", program, "-o", "all.ptx"]);
    let report = describe(&command, &ended);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{report}");
    assert!(said.contains("these are 3 kernels") && said.contains("-o all.ptx/"), "{report}");
    assert!(files(&folder).is_empty(), "nothing is written: {report}");
    // One kernel is one file; a folder that is there takes any number.
    let one = ["--kernel", "closure#2", "-o", "one.ptx"];
    let (command, ended) = emit(lab, &folder, &[&["ptx", program][..], &one].concat());
    assert!(ended.status.success(), "{}", describe(&command, &ended));
    let ptx = std::fs::read_to_string(folder.join("one.ptx")).expect("a file");
    assert_eq!(ptx.matches(".version ").count(), 1, "{ptx}");
    for kind in ["device-ir", "asm"] {
        std::fs::create_dir(folder.join(kind)).expect("a folder can be made");
        let (command, ended) = emit(lab, &folder, &[kind, program, "-o", kind]);
        assert!(ended.status.success(), "{}", describe(&command, &ended));
        assert_eq!(files(&folder.join(kind)).len(), 3);
    }
}

#[test]
fn wrong_requests_say_what_there_is() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("emit-wrong");
    let program = circular(lab).to_str().expect("UTF-8");
    std::fs::write(folder.join("text"), "this is no program").expect("writable");
    for (arguments, says) in [
        (&["ptx", program, "--arch", "banana"][..], "there are: sm_70, "),
        (&["ptx", program, "--arch", "sm90"], "did you mean `sm_90`?"),
        (&["asm", program, "--arch", "sm_90"], "there are: x86-64, x86-64-v2"),
        (&["device-ir", program, "--arch", "sm_90"], "leave out `--arch`"),
        (
            &["ptx", program, "--kernel", "absent"],
            "no kernel's name has `absent` in it; there are:\n  ",
        ),
        (&["ptx", program, "--group", "0"], "`--group`: a group of 0 has no work-items"),
        (&["ptx", program, "--group", "1025"], "a GPU allows 1024 in all"),
        (&["asm", program, "--group=16,16"], "`16,16` is no size of a group; write one number"),
        (&["ptx", program, "--group", "16x16"], "has 1 dimension(s), and groups of 16x16 have 2"),
        (&["ptx", "nowhere"], "nowhere"),
        (&["ptx", "text"], "text"),
    ] {
        let (command, ended) = emit(lab, &folder, arguments);
        let report = describe(&command, &ended);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{report}");
        assert!(said.contains(says) && !said.contains("bug"), "`{says}`: {report}");
    }
    let (command, ended) = emit(lab, &folder, &["asm", program, "--arch", "x86-64-v2"]);
    let asm = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && !asm.contains("%ymm"), "{}", describe(&command, &ended));
}

/// Launches that assume nothing of captures, because there are none.
const LAUNCHES: &str = "\
use schism::prelude::*;
fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    queue.parallel_for(NdRange::new(512, 64)?, |item| {
        item.barrier();
        assert!(item.x() != 4711, \"in groups\");
    })?;
    queue.parallel_for(NdRange::new([32, 64], [4, 32])?, |item| {
        item.barrier();
        assert!(item.x() + item.y() != 4711, \"in groups of two dimensions\");
    })?;
    let blocks = queue.with_block_size(128);
    blocks.parallel_for(1000, |item| assert!(item.x() != 4711, \"without groups\"))?;
    Ok(())
}
";

/// A text without the comments that begin it.
fn code(text: &str, mark: &str) -> String {
    let lines = text.lines().skip_while(|line| line.starts_with(mark));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[test]
fn with_a_group_it_is_the_code_of_that_launch() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("emit-group");
    std::fs::write(folder.join("grouped.rs"), LAUNCHES).expect("writable");
    text(lab.rustc_with_runtime(&folder).args(["-O", "grouped.rs"]));
    let mut fake = lab.rustc(Compiler::Stock, &folder);
    text(fake.args(["--crate-type=cdylib", "-O"]).arg(source("crates/fake_cuda.rs")));

    // What launches run.
    let mut run = clean_command(folder.join("grouped"));
    run.env("SCHISM_DEVICE", "cuda:0").env("SCHISM_CUDA", folder.join("libfake_cuda.so"));
    // A driver for the first version of PTX that knows the processor, as `emit` makes it.
    run.env("FAKE_CUDA_VERSION", "11080");
    text(run.env("SCHISM_DUMP_DIR", folder.join("dumps")));
    let mut run = clean_command(folder.join("grouped"));
    run.env("SCHISM_DEVICE", "cpu").env("SCHISM_CACHE", "0");
    text(run.env("SCHISM_DUMP_DIR", folder.join("dumps-cpu")));
    let dump = |folder: &Path, number: u32, end: &str, mark: &str| {
        let name = format!("k_main_closure_{number}_");
        let mut files = files(folder);
        files.retain(|file| {
            let file = file.file_name().expect("a name").to_string_lossy();
            file.starts_with(&name) && file.ends_with(end)
        });
        assert_eq!(files.len(), 1, "{files:?}");
        code(&std::fs::read_to_string(&files[0]).expect("a text"), mark)
    };
    let dumped = |number: u32| dump(&folder.join("dumps"), number, ".ptx", "//");
    let dumped_for_cpu = |number: u32| dump(&folder.join("dumps-cpu"), number, ".s", "#");
    let shown = |kind: &str, kernel: &str, more: &[&str]| {
        let arguments = [&[kind, "grouped", "--kernel", kernel], more].concat();
        let (command, ended) = emit(lab, &folder, &arguments);
        assert!(ended.status.success(), "{}", describe(&command, &ended));
        String::from_utf8_lossy(&ended.stdout).into_owned()
    };
    let arch = ["--arch", "sm_90"];
    for (number, group, header) in [
        (0, "64", "// launched in groups of 64: index=32 divisible block=64;"),
        (1, "4x32", "// launched in groups of 4x32: index=32 divisible block=32x4x1;"),
        (2, "128", "// the kernel takes no groups: launched in blocks of 128 that"),
    ] {
        let kernel = format!("closure#{number}");
        let general = shown("ptx", &kernel, &arch);
        let ptx = shown("ptx", &kernel, &[&arch[..], &["--group", group]].concat());
        assert!(ptx.lines().nth(1).is_some_and(|line| line.starts_with(header)), "{ptx}");
        assert_eq!(code(&ptx, "//"), dumped(number), "{kernel}");
        assert_ne!(code(&ptx, "//"), code(&general, "//"), "{kernel}");
        // The image is the same for all launches, and a processor's code for all without groups.
        for (kind, mark) in [("asm", "#"), ("remarks", "kernel"), ("device-ir", ";")] {
            let text = shown(kind, &kernel, &["--group", group]);
            let says = text.lines().nth(1).expect("a line");
            let general = code(&shown(kind, &kernel, &[]), mark);
            if kind == "remarks" {
                assert!(!says.starts_with(mark), "{text}");
            }
            if kind == "device-ir" {
                assert!(says.contains("the same for groups of all sizes"), "{text}");
                assert_eq!(code(&text, mark), general, "{kernel}");
            } else if number == 2 {
                assert!(says.contains("the kernel takes no groups"), "{text}");
                assert!(text.trim().ends_with(&general), "{kernel}: {text}");
            } else {
                assert!(says.contains(&format!("launched in groups of {group}")), "{text}");
            }
            if kind == "asm" {
                assert_eq!(code(&text, mark), dumped_for_cpu(number), "{kernel}");
                assert_eq!(code(&text, mark) == general, number == 2, "{kernel}");
            }
        }
    }
}

/// One kernel that is computed in lanes, one that is cut at a barrier, and one that is neither.
const EXPLAINED: &str = "\
use schism::prelude::*;
fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let input = Buffer::from_slice(&queue, &x)?;
    let mut out = Buffer::filled(&queue, x.len(), 0.0_f32)?;
    queue.for_each((&mut out, &input), |(out, x)| {
        let (mut sum, mut steps) = (*x, 0.0);
        while sum < 100.0 {
            sum = sum * 1.5 + 1.0;
            steps += 1.0;
        }
        *out = steps;
    })?;
    let range = NdRange::new(1000, 8)?;
    queue.for_each_in(range, (local::<f32>(8), &input, &mut out), |item, (tile, x, out)| {
        tile.set(item.local_x(), *x);
        item.barrier();
        *out = tile.get(7 - item.local_x());
    })?;
    queue.parallel_for(1000, |item| assert!(fails(item.x()) < 2000, \"too much\"))?;
    Ok(())
}
#[inline(never)]
fn fails(x: usize) -> usize {
    if x > 1 << 40 { fails(x / 2) + fails(x / 3) } else { x }
}
";

#[test]
fn explain_says_what_is_computed_in_lanes() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("explain");
    std::fs::write(folder.join("explained.rs"), EXPLAINED).expect("writable");
    text(lab.rustc_with_runtime(&folder).args(["-O", "explained.rs"]));
    let explain = |more: &[&str], lanes: &str| {
        let mut command = clean_command(lab.subcommand());
        command.current_dir(&folder).args(["schism", "explain", "explained"]).args(more);
        text(command.env("SCHISM_CPU_LANES", lanes))
    };
    let of = |said: &str, number: u32| {
        let kernels = said.split("kernel ").filter(|part| part.starts_with("main::"));
        let mut own = kernels.filter(|part| part.contains(&format!("closure#{number}")));
        own.next().unwrap_or_else(|| panic!("no kernel {number} in {said}")).to_owned()
    };
    let said = explain(&["--arch", "x86-64-v3"], "auto");
    let [lanes, groups, scalar] = [1, 2, 3].map(|number| of(&said, number));
    for part in [
        "vectorised: 16 lanes",
        "width: 16 lanes for 2 registers of 256 bits with numbers of 32",
        "memory: loads: 1 of whole vectors; stores: 1 of whole vectors",
        "loops inside: 1, of which lanes leave 1 one by one",
    ] {
        assert!(lanes.contains(part), "{part}: {lanes}");
    }
    assert!(groups.contains("barriers: cut into 4 loops over work-items"), "{groups}");
    assert!(scalar.contains("not vectorised"), "{scalar}");
    // Narrower registers, one kernel, and a number of lanes that is asked for.
    let said = explain(&["--arch", "x86-64", "--kernel", "closure#1"], "auto");
    assert!(
        of(&said, 1).contains("registers of 128 bits") && !said.contains("closure#2"),
        "{said}"
    );
    let said = explain(&["--arch", "x86-64-v3", "--kernel", "closure#1"], "4");
    assert!(of(&said, 1).contains("width: 4 lanes, as SCHISM_CPU_LANES says"), "{said}");
    let said = explain(&["--arch", "x86-64-v3", "--kernel", "closure#1"], "off");
    assert!(!of(&said, 1).contains("vectorised: "), "{said}");
    // For a launch in groups of a size.
    let said = explain(&["--kernel", "closure#2", "--group", "8"], "auto");
    assert!(of(&said, 2).contains("launched in groups of 8"), "{said}");
}
