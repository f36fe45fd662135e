//! Code compiled ahead of time is in the program's containers, runs without stage 2, and gives the
//! host's results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use schism_hcf::{Container, RecordRef, records, sections_of_file};
use schism_jit_abi::ptxas::Ptxas;
use schism_tests::container::containers;
use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text, workspace};
use schism_tests::{ptx, skip};

/// Stage 2, which makes the code; `None` if there is none.
fn stage2() -> Option<PathBuf> {
    let named = std::env::var_os("SCHISM_JIT").map(PathBuf::from);
    if named.is_none() {
        skip::lacks(skip::STAGE2);
    }
    named
}

fn lab() -> Option<&'static Lab> {
    stage2()?;
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// A compiler that makes code for targets.
fn rustc(lab: &Lab, folder: &Path, targets: &str) -> Command {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.env("SCHISM_TARGETS", targets).arg("-O");
    rustc
}

/// The program without code, with code for the host and a GPU, with code for GPUs only.
fn programs(lab: &Lab) -> &'static [PathBuf; 3] {
    static PROGRAMS: OnceLock<[PathBuf; 3]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = lab.folder("aot");
        [("none", ""), ("aot", "host,ptx:sm_80"), ("gpus", "ptx:sm_75,ptx:sm_80,ptx:sm_90")].map(
            |(name, targets)| {
                text(rustc(lab, &folder, targets).arg(source("crates/aot.rs")).args(["-o", name]));
                folder.join(name)
            },
        )
    })
}

/// A program that finds no stage 2, wherever it looks.
fn without_stage2(program: &Path) -> Command {
    let mut command = clean_command(program);
    command.env("SCHISM_JIT", "/nowhere/libschism_jit.so").env("SCHISM_HOME", "/nowhere");
    command
}

/// What a program prints, line by line, and what it says beside.
fn lines(command: &mut Command) -> (Vec<String>, String) {
    let output = output(command);
    assert!(output.status.success(), "{}", describe(command, &output));
    let stdout = String::from_utf8(output.stdout).expect("text");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (stdout.lines().map(str::to_owned).collect(), stderr)
}

#[test]
fn the_device_cpu_needs_no_compiler() {
    let Some(lab) = lab() else { return };
    let [none, aot, gpus] = programs(lab);
    let (host, _) = lines(clean_command(none).env("SCHISM_DEVICE", "native"));
    assert!(
        host.iter().any(|line| line
            .contains("panics index out of bounds: the len is 3 but the index is 7 at aot.rs:")),
        "{host:?}"
    );
    assert!(host.iter().any(|line| line.ends_with("in Some([2])")), "{host:?}");
    let (made, said) = lines(without_stage2(aot).env("SCHISM_DEVICE", "cpu"));
    assert_eq!(made[..made.len() - 1], host[..host.len() - 1]);
    assert_eq!(made.last().map(String::as_str), Some("not compiled"));
    assert!(said.contains("cpu: made ahead of time, on x86-64"), "{said}");
    // Without a choice it is the device, too, and there is no warning.
    let no_gpu = [("SCHISM_CUDA", ""), ("SCHISM_HIP", "")];
    let (unasked, said) = lines(without_stage2(aot).envs(no_gpu));
    assert!(unasked == made && said.starts_with("cpu: ") && !said.contains("native"), "{said}");
    // With a compiler, it compiles what the code does not fit: values of constants and relaxed
    // mathematics.
    let (compiled, _) = lines(clean_command(aot).env("SCHISM_DEVICE", "cpu"));
    assert_eq!(compiled.last().map(String::as_str), Some("compiled"));
    assert_eq!(compiled[..compiled.len() - 1], host[..host.len() - 1]);
    // Code for other devices is none for this one.
    for program in [none, gpus] {
        let (said, _) = lines(without_stage2(program).env("SCHISM_DEVICE", "cpu"));
        assert!(
            said.len() == 1 && said[0].starts_with("no compiler: the device `cpu`"),
            "{said:?}"
        );
        assert!(said[0].contains("--targets host"), "{said:?}");
    }
}

/// The container of a program.
fn container(program: &Path) -> Container {
    containers(program).into_iter().next().expect("it has kernels")
}

#[test]
fn the_container_has_all_that_a_launch_needs() {
    let Some(lab) = lab() else { return };
    let [none, aot, gpus] = programs(lab);
    assert!(container(none).images.iter().all(|image| image.code.is_none()));
    let container_of_both = container(aot);
    for kernel in &container_of_both.kernels {
        let forms = |target: &str| -> Vec<&str> {
            let mut forms: Vec<_> = container_of_both
                .images
                .iter()
                .filter(|image| kernel.images.contains(&image.name))
                .filter(|image| {
                    image.code.as_ref().is_some_and(|code| code.target.to_string() == target)
                })
                .map(|image| image.variant.as_str())
                .collect();
            forms.sort_unstable();
            forms
        };
        let (host, ptx) = (forms("host:x86-64"), forms("ptx:sm_80"));
        let (offset, constants) =
            (kernel.offset_variant.is_some(), !kernel.spec_constants.is_empty());
        let [first, second] = match (kernel.groups.is_some(), kernel.dimensions) {
            (false, 1) => ["block-256", "whole-256"],
            (false, 2) => ["block-32x8", "whole-32x8"],
            (false, _) => ["block-32x4x2", "whole-32x4x2"],
            (true, 1) => ["block-128", "block-256"],
            (true, 2) => ["block-16x16", "block-32x8"],
            (true, _) => ["block-8x8x4", "block-8x8x8"],
        };
        let offsets: &[&str] = if offset { &["general-offset", "offset"] } else { &[] };
        let mut expected = [&[first, second, "general", "plain"], offsets].concat();
        expected.sort_unstable();
        assert_eq!(ptx, expected);
        assert_eq!(
            host,
            match (offset, constants) {
                (false, false) => vec!["plain"],
                (false, true) => vec!["general", "plain"],
                (true, _) => vec!["offset", "plain"],
            }
        );
        assert!(
            container_of_both
                .images
                .iter()
                .any(|image| image.code.is_none() && kernel.images[0] == image.name)
        );
    }
    let targets = |container: &Container| {
        let codes = container.images.iter().filter_map(|image| image.code.as_ref());
        let mut targets: Vec<_> = codes.map(|code| code.target.to_string()).collect();
        targets.sort();
        targets.dedup();
        targets
    };
    assert_eq!(targets(&container(gpus)), ["ptx:sm_75", "ptx:sm_80", "ptx:sm_90"]);
    for image in container(gpus).images.iter().filter(|image| image.code.is_some()) {
        let text = str::from_utf8(&image.data).expect("PTX is text");
        let entry = &image.code.as_ref().expect("it is code").entry;
        assert!(text.contains(&format!(".visible .entry {entry}(")), "{}", image.name);
    }
}

#[test]
fn two_builds_give_the_same_bytes() {
    let Some(lab) = lab() else { return };
    let [_, aot, _] = programs(lab);
    let folder = lab.folder("aot-again");
    let mut again = rustc(lab, &folder, "ptx:sm_80,host");
    text(again.arg(source("crates/aot.rs")).args(["-o", "aot"]));
    let bytes = |program: &Path| container(program).to_record().expect("a good container");
    assert!(bytes(aot) == bytes(&folder.join("aot")));
}

#[test]
fn cargo_builds_anew_when_the_targets_change() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-cargo");
    lab.project(&folder, &[
        ("Cargo.toml", "[package]\nname = \"targets\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n@RUNTIME@\n[workspace]\n"),
        ("src/lib.rs", "use schism::prelude::*;\n/// A kernel of a library.\npub fn run(queue: &Queue) { queue.parallel_for(3, |item| assert!(item.x() < 3)).expect(\"it runs\"); }\n"),
        ("src/main.rs", "use schism::prelude::*;\nfn main() { let queue = Queue::new().expect(\"a device\"); targets::run(&queue); queue.parallel_for(2, |item| assert!(item.x() < 2)).expect(\"it runs\"); println!(\"{}\", queue.device()); }\n"),
    ]);
    let program = lab.target().join("debug/targets");
    let build = |targets: Option<&str>| {
        let mut cargo = lab.cargo_with_runtime(&folder);
        cargo.args(["build", "--offline"]);
        match targets {
            Some(targets) => cargo.env("SCHISM_TARGETS", targets),
            None => cargo.env_remove("SCHISM_TARGETS"),
        };
        let output = output(&mut cargo);
        assert!(output.status.success(), "{}", describe(&cargo, &output));
        let built = String::from_utf8_lossy(&output.stderr).contains("Compiling targets");
        let mut all = containers(&program);
        all.sort_by(|a, b| a.crate_name.cmp(&b.crate_name));
        let codes = |container: &Container| {
            container.images.iter().filter(|image| image.code.is_some()).count()
        };
        (built, all.iter().map(codes).collect::<Vec<_>>())
    };
    // The library and the program have a container each.
    assert_eq!(build(None), (true, vec![0, 0]));
    assert_eq!(build(None), (false, vec![0, 0]));
    assert_eq!(build(Some("host")), (true, vec![1, 1]));
    assert_eq!(build(Some("host")), (false, vec![1, 1]));
    let mut run = without_stage2(&program);
    assert_eq!(text(&mut run), "cpu\n");
    assert_eq!(build(Some("host,host:x86-64-v3")), (true, vec![2, 2]));
    assert_eq!(text(&mut run), "cpu\n");
    // The trace says which code was taken.
    assert_eq!(build(Some("host")), (true, vec![1, 1]));
    let (_, trace) = lines(run.env("SCHISM_TRACE", "1"));
    let taken = trace.lines().filter(|line| line.contains("made ahead of time"));
    assert_eq!(taken.filter(|line| line.contains("target=host:x86-64")).count(), 2, "{trace}");
    // What is wrong is told, and ends the build.
    let fails = |targets: &str, stage2: Option<&str>| {
        let mut cargo = lab.cargo_with_runtime(&folder);
        cargo.args(["build", "--offline"]).env("SCHISM_TARGETS", targets);
        if let Some(stage2) = stage2 {
            cargo.env("SCHISM_JIT", stage2);
        }
        let output = output(&mut cargo);
        assert!(!output.status.success(), "{}", describe(&cargo, &output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let error = fails("ptx:sm_7", None);
    assert!(error.contains("SCHISM_TARGETS: there is no processor `sm_7`"), "{error}");
    let error = fails("host", Some("/nowhere.so"));
    assert!(error.contains("/nowhere.so (SCHISM_JIT) cannot be loaded"), "{error}");
    let error = fails("host", Some(""));
    assert!(error.contains("use `cargo schism build --targets`"), "{error}");
    assert_eq!(build(None), (true, vec![0, 0]));
}

/// How many pieces of code the containers of a program have, which cargo builds for some targets;
/// and whether it built.
fn codes_after_build(lab: &Lab, folder: &Path, program: &str, targets: &str) -> (bool, usize) {
    let mut cargo = lab.cargo_with_runtime(folder);
    cargo.args(["build", "--offline"]).env("SCHISM_TARGETS", targets);
    let output = output(&mut cargo);
    assert!(output.status.success(), "{}", describe(&cargo, &output));
    let built = String::from_utf8_lossy(&output.stderr).contains(&format!("Compiling {program} "));
    let all = containers(&lab.target().join("debug").join(program));
    assert_eq!(all.len(), 1, "{program} has one container");
    let codes = all.iter().flat_map(|container| &container.images);
    (built, codes.filter(|image| image.code.is_some()).count())
}

/// What a program of one kernel does.
const ONE_KERNEL: &str = "fn main() { let queue = Queue::new().expect(\"a device\"); \
    queue.parallel_for(2, |item| assert!(item.x() < 2)).expect(\"it runs\"); }\n";

#[test]
fn cargo_builds_anew_when_the_targets_change_and_the_runtime_has_another_name() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-renamed");
    let runtime = workspace().join("runtime");
    let manifest = format!(
        "[package]\nname = \"renamed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         gpu = {{ package = \"schism\", path = {runtime:?} }}\n"
    );
    let program = format!("use gpu::prelude::*;\n{ONE_KERNEL}");
    lab.project(&folder, &[("Cargo.toml", &manifest), ("src/main.rs", &program)]);
    assert_eq!(codes_after_build(lab, &folder, "renamed", ""), (true, 0));
    assert_eq!(codes_after_build(lab, &folder, "renamed", "host"), (true, 1));
    assert_eq!(codes_after_build(lab, &folder, "renamed", "host"), (false, 1));
}

/// Nothing is called `schism` here: not what the program depends on, and not what that depends on.
#[test]
fn cargo_builds_anew_when_the_targets_change_and_the_runtime_is_behind_another_crate() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-behind");
    let runtime = workspace().join("runtime");
    let manifest = "[package]\nname = \"behind\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
        [workspace]\nmembers = [\"facade\"]\n[dependencies]\nfacade = { path = \"facade\" }\n";
    let facade = format!(
        "[package]\nname = \"facade\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         gpu = {{ package = \"schism\", path = {runtime:?} }}\n"
    );
    let program = format!("use facade::prelude::*;\n{ONE_KERNEL}");
    lab.project(
        &folder,
        &[
            ("Cargo.toml", manifest),
            ("src/main.rs", &program),
            ("facade/Cargo.toml", &facade),
            ("facade/src/lib.rs", "pub use gpu::*;\n"),
        ],
    );
    assert_eq!(codes_after_build(lab, &folder, "behind", ""), (true, 0));
    assert_eq!(codes_after_build(lab, &folder, "behind", "host"), (true, 1));
    assert_eq!(codes_after_build(lab, &folder, "behind", "host"), (false, 1));
}

/// Whatever builds crates, each says itself what it depends on, however it has the runtime.
#[test]
fn a_crate_that_has_the_runtime_through_another_depends_on_the_targets() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-facade");
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a file can be written");
    };
    write("facade.rs", "pub use schism::*;\n");
    write("renamed.rs", "pub use gpu::*;\n");
    write("behind.rs", "pub use facade::*;\n");
    write("apart.rs", "pub fn one() -> u32 { 1 }\n");
    let runtime = lab.runtime();
    let depends = |name: &str, externs: &[&str]| {
        let mut rustc = lab.rustc(Compiler::Schism, &folder);
        rustc.env("SCHISM_TARGETS", "host").arg("-L");
        rustc.arg(format!("dependency={}", runtime.dependencies.display()));
        rustc.args(["--crate-type=lib", "--emit=dep-info,link", &format!("{name}.rs")]);
        for entry in externs {
            rustc.args(["--extern", entry]);
        }
        text(&mut rustc);
        let file = folder.join(format!("{name}.d"));
        let said = fs::read_to_string(file).expect("the compiler writes it");
        let variables = ["TARGETS", "JIT", "WARN", "LINES", "DEVICE_CODE_SPLIT"];
        let named = |name: &&str| said.contains(&format!("# env-dep:SCHISM_{name}"));
        variables.iter().filter(|name| named(name)).count()
    };
    let named = |name: &str| format!("{name}={}", runtime.rlib.display());
    assert_eq!(depends("facade", &[&named("schism")]), 5);
    assert_eq!(depends("renamed", &[&named("gpu")]), 5);
    assert_eq!(depends("behind", &["facade=libfacade.rlib"]), 5);
    // Its name is at hand, and it is not used.
    assert_eq!(depends("apart", &[&named("schism")]), 0);
}

#[test]
fn a_library_brings_its_code() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-cdylib");
    let kernels = folder.join("kernels.rs");
    let text_of = "use schism::prelude::*;\n#[unsafe(no_mangle)]\npub extern \"C\" fn run() { Queue::new().unwrap().parallel_for(9, |item| assert!(item.x() < 9)).unwrap(); }\n";
    fs::write(&kernels, text_of).expect("a file can be written");
    for kind in ["cdylib", "staticlib", "rlib"] {
        let mut library = rustc(lab, &folder, "host");
        text(library.args(["--crate-type", kind]).arg(&kernels));
    }
    for file in ["libkernels.so", "libkernels.a", "libkernels.rlib"] {
        let found = containers(&folder.join(file));
        let codes = found
            .iter()
            .flat_map(|container| &container.images)
            .filter(|image| image.code.is_some());
        assert!(codes.count() > 0, "{file}");
    }
}

/// Writes another container over the program's, which must not be longer.
fn replace(program: &Path, to: &Path, change: impl Fn(&mut Container)) {
    let mut bytes = fs::read(program).expect("a program");
    let sections = sections_of_file(&bytes).expect("an ELF file");
    let section = sections.iter().find(|section| !section.data.is_empty()).expect("a container");
    let (offset, old) = (section.offset, section.data.to_vec());
    let record: RecordRef<'_> = records(&old).next().expect("a container").expect("a good one");
    let mut container = record.to_container();
    change(&mut container);
    let mut new = container.to_record().expect("a good container");
    let longest = record.as_bytes().len();
    // The generator's name fills it up: the program knows where the record ends.
    let missing = longest.checked_sub(new.len()).expect("it is not longer");
    container.generator.push_str(&".".repeat(missing));
    new = container.to_record().expect("a good container");
    assert_eq!(new.len(), longest);
    let begin = offset + (record.as_bytes().as_ptr() as usize - old.as_ptr() as usize);
    bytes[begin..begin + longest].copy_from_slice(&new);
    fs::write(to, bytes).expect("a file can be written");
    let mut rights = fs::metadata(to).expect("it is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(to, rights).expect("rights can be set");
}

#[test]
fn code_that_cannot_be_loaded_is_compiled_anew_or_told() {
    let Some(lab) = lab() else { return };
    let [none, aot, _] = programs(lab);
    let folder = lab.folder("aot-damaged");
    let program = folder.join("damaged");
    replace(aot, &program, |container| {
        for image in container.images.iter_mut().filter(|image| image.format == "elf") {
            let half = image.data.len() / 2;
            image.data[..half].fill(0);
        }
    });
    let (host, _) = lines(clean_command(none).env("SCHISM_DEVICE", "native"));
    let (compiled, said) = lines(clean_command(&program).env("SCHISM_DEVICE", "cpu"));
    assert_eq!(compiled[..compiled.len() - 1], host[..host.len() - 1]);
    assert!(said.contains("that was made ahead of time cannot be used"), "{said}");
    let (refused, _) = lines(without_stage2(&program).env("SCHISM_DEVICE", "cpu"));
    assert!(
        refused[0].contains("cannot run on device `cpu`")
            && refused[0].contains("the generated object cannot be read"),
        "{refused:?}"
    );

    // A bit that flipped is another matter: the whole container is not believed.
    let mut bytes = fs::read(aot).expect("a program");
    let elf =
        container(aot).images.into_iter().find(|image| image.format == "elf").expect("code").data;
    let at = bytes.windows(elf.len()).position(|window| window == elf).expect("it is there");
    bytes[at + elf.len() / 2] ^= 4;
    // Not where the other one is: the system may not have ended with that.
    let program = folder.join("flipped");
    fs::copy(aot, &program).expect("a file can be written");
    fs::write(&program, &bytes).expect("a file can be written");
    let (refused, _) = lines(without_stage2(&program).env("SCHISM_DEVICE", "cpu"));
    assert!(refused[0].starts_with("no compiler: "), "{refused:?}");
    let (refused, _) = lines(clean_command(&program).env("SCHISM_DEVICE", "cpu"));
    assert!(refused[0].contains("its device code is damaged"), "{refused:?}");
}

#[test]
fn code_of_another_version_is_left_alone() {
    let Some(lab) = lab() else { return };
    let [none, aot, _] = programs(lab);
    let program = lab.folder("aot-version").join("other");
    replace(aot, &program, |container| {
        for code in container.images.iter_mut().filter_map(|image| image.code.as_mut()) {
            code.interface -= 1;
        }
    });
    let (refused, _) = lines(without_stage2(&program).env("SCHISM_DEVICE", "cpu"));
    assert!(refused[0].starts_with("no compiler: "), "{refused:?}");
    let (host, _) = lines(clean_command(none).env("SCHISM_DEVICE", "native"));
    let (compiled, _) = lines(clean_command(&program).env("SCHISM_DEVICE", "cpu"));
    assert_eq!(compiled[..compiled.len() - 1], host[..host.len() - 1]);
}

#[test]
fn the_hosts_mathematics_is_not_aot() {
    let Some(lab) = lab() else { return };
    let [_, aot, _] = programs(lab);
    let mut command = without_stage2(aot);
    command.env("SCHISM_DEVICE", "cpu").env("SCHISM_CPU_MATH", "host");
    let (refused, _) = lines(&mut command);
    assert!(
        refused[0].contains("which does not serve host with SCHISM_CPU_MATH=host"),
        "{refused:?}"
    );
    assert!(refused[0].contains("cargo schism bundle --jit"), "{refused:?}");
}

#[test]
fn a_kernel_that_a_target_cannot_have_is_a_warning() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-missing");
    let mut compile = rustc(lab, &folder, "ptx:sm_80,host");
    compile.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/unstable_floats.rs"));
    let output = output(&mut compile);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", describe(&compile, &output));
    assert!(said.contains("has no code for ptx:sm_80"), "{}", describe(&compile, &output));
    let program = containers(&folder.join("unstable_floats")).remove(0);
    let has = |format: &str| program.images.iter().any(|image| image.format == format);
    assert!(has("elf"));
}

/// The program for the fake driver with code for three processors, and the driver beside it.
fn on_gpus(lab: &Lab) -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = lab.folder("aot-cuda");
        let mut driver = lab.rustc(Compiler::Stock, &folder);
        driver.args(["--crate-type=cdylib", "-O"]);
        text(driver.arg(source("crates/fake_cuda.rs")));
        let mut compile = rustc(lab, &folder, "ptx:sm_75,ptx:sm_80,ptx:sm_90");
        text(compile.arg(source("crates/cuda_aot.rs")).args(["-o", "program"]));
        folder.join("program")
    })
}

fn on_gpu(program: &Path, mut command: Command, capability: &str) -> Command {
    command.env("SCHISM_CUDA", program.with_file_name("libfake_cuda.so"));
    command.env("FAKE_CUDA_CAPABILITY", capability);
    command
}

#[test]
fn a_gpu_gets_the_code_of_the_highest_processor_that_is_not_above_it() {
    let Some(lab) = lab() else { return };
    let program = on_gpus(lab);
    for (capability, target) in
        [("75", "sm_75"), ("86", "sm_80"), ("90", "sm_90"), ("100", "sm_90")]
    {
        let (said, _) = lines(&mut on_gpu(program, without_stage2(program), capability));
        let code = |parameters: usize| format!("{target} with {parameters} parameters");
        let expected = [
            // An address and the range.
            format!("elements: {}", code(2)),
            format!("elements: {}", code(2)),
            // With the values of constants left open comes the place of a piece.
            format!("elements: {}", code(5)),
            "constant: 77".to_owned(),
            // A number, the range, a record.
            format!("range: {}", code(3)),
            format!("other blocks: {}", code(3)),
            format!("large range: {}", code(6)),
            format!("sub-grids: {}", code(6)),
            format!("shifted range: {}", code(6)),
            "not compiled".to_owned(),
        ];
        assert!(said[0].starts_with("made ahead of time, on "), "{said:?}");
        assert_eq!(said[1..], expected);
    }
    // For an older one there is none.
    let (said, _) = lines(&mut on_gpu(program, without_stage2(program), "70"));
    assert!(
        said.len() == 1 && said[0].contains("`cuda:0` was asked for, but its compiler"),
        "{said:?}"
    );
    // An older driver does not know the newest processors' code.
    let mut old = on_gpu(program, without_stage2(program), "90");
    let (said, _) = lines(old.env("FAKE_CUDA_VERSION", "11040"));
    assert!(said[1].contains("sm_80 with"), "{said:?}");
}

#[test]
fn with_a_compiler_a_gpu_gets_what_it_asks_for() {
    let Some(lab) = lab() else { return };
    let program = on_gpus(lab);
    let (said, _) = lines(&mut on_gpu(program, clean_command(program), "86"));
    assert!(said[1].starts_with("elements: sm_80 with"), "what is there: {said:?}");
    assert!(said[2].starts_with("elements: sm_86 with"), "relaxed mathematics: {said:?}");
    assert!(said[3].starts_with("elements: sm_86 with"), "values of constants: {said:?}");
    assert!(said[5].starts_with("range: sm_80 with"), "what is there: {said:?}");
    let (said, _) = lines(&mut on_gpu(program, clean_command(program), "70"));
    assert!(said[1].starts_with("elements: sm_70 with"), "{said:?}");
    // What the driver refuses is compiled now, and that is told.
    let mut refusing = on_gpu(program, clean_command(program), "86");
    let (said, told) = lines(refusing.env("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:1=218"));
    assert!(said[1].starts_with("elements: sm_86 with"), "{said:?}");
    assert!(
        told.contains("its code for ptx:sm_80 that was made ahead of time cannot be used"),
        "{told}"
    );
    let mut refusing = on_gpu(program, without_stage2(program), "86");
    let (said, _) = lines(refusing.env("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:1=218"));
    assert!(
        said[1].contains("the driver refuses its code") && said[6].starts_with("range: sm_80"),
        "{said:?}"
    );
}

/// A program with versions of its kernels for these targets, and the fake driver beside it; for
/// machine code only where there is an assembler.
fn with_versions(lab: &Lab, name: &str, targets: &str) -> Option<PathBuf> {
    let ptxas = if targets.contains("sass") { Some(ptx::assembler()?) } else { None };
    let folder = lab.folder(name);
    let mut driver = lab.rustc(Compiler::Stock, &folder);
    driver.args(["--crate-type=cdylib", "-O"]);
    text(driver.arg(source("crates/fake_cuda.rs")));
    let mut compile = rustc(lab, &folder, targets);
    compile.envs(ptxas.map(|ptxas| ("SCHISM_PTXAS", ptxas)));
    text(compile.arg(source("crates/cuda_versions.rs")).args(["-o", "program"]));
    Some(folder.join("program"))
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// What the program with versions says, with the names of versions in place of their hashes: for
/// each launch, what it loaded the first time and the second time.
fn versions_taken(program: &Path, command: &mut Command) -> (Vec<String>, String) {
    let (said, told) = lines(command);
    let codes = container(program).images.into_iter().filter(|image| image.code.is_some());
    let names: BTreeMap<String, String> = codes
        .map(|image| {
            (format!("{:x}", hash(&image.data)), format!("{}/{}", image.format, image.variant))
        })
        .collect();
    let name = |word: &str| names.get(word).cloned();
    let words = |line: &String| {
        let (what, rest) = line.split_once(": ").unwrap_or((line, ""));
        let named = |word: &str| name(word).unwrap_or_else(|| word.to_owned());
        format!("{what}: {}", rest.split(' ').map(named).collect::<Vec<_>>().join(" "))
    };
    (said.iter().map(words).collect(), told)
}

/// What the launches load whose code is in this format.
fn expected_versions(format: &str) -> Vec<String> {
    [
        "all holds: whole-256 nothing",
        "a rest: block-256 nothing",
        // It is there already.
        "an odd number: nothing nothing",
        "an address: plain nothing",
        "other blocks: nothing nothing",
        "a small range: nothing nothing",
        "a large number: general nothing",
        "not adapted: nothing nothing",
        "groups of 256: block-256 nothing",
        "groups of 128: block-128 nothing",
        "groups of 64: plain nothing",
        "two dimensions: whole-32x8 nothing",
        // Its code has an open constant.
        "a constant: general nothing",
    ]
    .map(|line| {
        let (what, rest) = line.split_once(": ").expect("what is loaded");
        let version = rest.split(' ').next().expect("a version");
        match version {
            "nothing" => line.to_owned(),
            version => format!("{what}: {format}/{version} nothing"),
        }
    })
    .into()
}

#[test]
fn a_launch_takes_the_version_that_fits_it() {
    let Some(lab) = lab() else { return };
    for (name, targets, format) in [
        ("aot-versions", "ptx:sm_90", "ptx"),
        ("aot-versions-sass", "sass:sm_90", "cubin"),
        ("aot-versions-both", "ptx:sm_90,sass:sm_90", "cubin"),
    ] {
        let Some(program) = with_versions(lab, name, targets) else { continue };
        let mut run = on_gpu(&program, without_stage2(&program), "90");
        let (said, told) = versions_taken(&program, &mut run);
        assert_eq!(said, expected_versions(format), "{targets}: {told}");
        // A compiler makes no difference to launches of which nothing optional is requested.
        let mut run = on_gpu(&program, clean_command(&program), "90");
        let (said, _) = versions_taken(&program, &mut run);
        let but_last = |lines: &[String]| lines[..lines.len() - 1].to_vec();
        assert_eq!(but_last(&said), but_last(&expected_versions(format)), "{targets}");
    }
}

#[test]
fn machine_code_for_other_processors_is_left_alone() {
    let Some(lab) = lab() else { return };
    let both = "ptx:sm_90,sass:sm_90";
    let Some(program) = with_versions(lab, "aot-other-both", both) else { return };
    let (said, _) =
        versions_taken(&program, &mut on_gpu(&program, without_stage2(&program), "100"));
    assert_eq!(said, expected_versions("ptx"));
    // What the driver refuses is compiled of PTX, which is told.
    let mut refusing = on_gpu(&program, without_stage2(&program), "90");
    refusing.env("FAKE_CUDA_FAULTS", "cuModuleLoadDataEx:1=209");
    let (said, told) = versions_taken(&program, &mut refusing);
    let mut expected = expected_versions("cubin");
    expected[0] = "all holds: ptx/whole-256 nothing".to_owned();
    assert_eq!(said, expected);
    assert!(
        told.contains("for ptx:sm_90 now, because that for sass:sm_90 cannot be used"),
        "{told}"
    );
    let Some(program) = with_versions(lab, "aot-other-sass", "sass:sm_90") else { return };
    for capability in ["89", "100"] {
        let (said, _) = lines(&mut on_gpu(&program, without_stage2(&program), capability));
        assert!(said.len() == 1 && said[0].contains("its compiler"), "{capability}: {said:?}");
    }
}

#[test]
fn the_assembler_takes_every_version() {
    let Some(lab) = lab() else { return };
    let Some(program) = with_versions(lab, "aot-assembled", "ptx:sm_90") else { return };
    let Some(_) = ptx::assembler() else { return };
    let ptxas = Ptxas::find().expect("an assembler");
    let codes = container(&program).images.into_iter().filter(|image| image.code.is_some());
    for image in codes {
        let assembled = ptxas.assemble(&image.data, "sm_90");
        assembled.unwrap_or_else(|error| panic!("{}: {error}", image.name));
    }
}

#[test]
fn machine_code_needs_an_assembler() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("aot-no-ptxas");
    let mut compile = rustc(lab, &folder, "sass:sm_90");
    compile.env("SCHISM_PTXAS", "/nowhere/ptxas").arg(source("crates/cuda_versions.rs"));
    let output = output(&mut compile);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{}", describe(&compile, &output));
    assert!(said.contains("which ptxas makes: SCHISM_PTXAS is `/nowhere/ptxas`"), "{said}");
    assert!(said.contains("`ptx:` needs none"), "{said}");
}

/// The program with code for one target of each kind, and the fake drivers beside it.
fn for_all_kinds(lab: &Lab) -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = lab.folder("aot-kinds");
        for driver in ["crates/fake_cuda.rs", "crates/fake_hip.rs", "crates/fake_opencl.rs"] {
            let mut compile = lab.rustc(Compiler::Stock, &folder);
            compile.args(["--crate-type=cdylib", "-O"]);
            text(compile.arg(source(driver)));
        }
        let mut compile = rustc(lab, &folder, ALL_KINDS);
        text(compile.arg(source("crates/aot_kinds.rs")).args(["-o", "program"]));
        folder.join("program")
    })
}

const ALL_KINDS: &str = "host,ptx:sm_90,spirv,amdgcn:gfx90a";

#[test]
fn each_kernel_has_code_for_all_targets() {
    let Some(lab) = lab() else { return };
    let program = for_all_kinds(lab);
    let container = containers(program).remove(0);
    assert_eq!(container.kernels.len(), 2);
    for kernel in &container.kernels {
        let images = container.images.iter().filter(|image| kernel.images.contains(&image.name));
        let targets = images.filter_map(|image| image.code.as_ref());
        let targets: BTreeSet<_> = targets.map(|code| code.target.to_string()).collect();
        let known = |part: &str| targets.iter().any(|target| target.starts_with(part));
        assert!(
            targets.len() == 4
                && ["host:x86-64", "ptx:sm_90", "spirv", "amdgcn:gfx90a"].into_iter().all(known),
            "{}: {targets:?}",
            kernel.display_name
        );
    }
    // Modules of SPIR-V begin with its number.
    let spirv = container.images.iter().filter(|image| image.format == "spirv");
    assert!(spirv.clone().all(|image| image.data.starts_with(&0x0723_0203_u32.to_le_bytes())));
    let mut variants: Vec<_> = spirv.map(|image| &*image.variant).collect();
    variants.sort_unstable();
    assert_eq!(variants, ["general", "general", "plain", "plain"]);
}

#[test]
fn each_device_takes_its_own_code() {
    let Some(lab) = lab() else { return };
    let program = for_all_kinds(lab);
    let beside = |name: &str| program.with_file_name(name);
    let run = |program: &Path, device: &str| {
        // Without a compiler a kernel that runs is one that was made ahead of time.
        let mut command = without_stage2(program);
        command.env("SCHISM_DEVICE", device);
        command.env("SCHISM_CUDA", beside("libfake_cuda.so")).env("FAKE_CUDA_CAPABILITY", "90");
        command.env("SCHISM_HIP", beside("libfake_hip.so"));
        command.env("SCHISM_OPENCL", beside("libfake_opencl.so"));
        lines(&mut command).0
    };
    let kinds = [
        ("cpu", "host"),
        ("cuda:0", "ptx:sm_90"),
        ("hip:0", "amdgcn:gfx90a"),
        ("opencl:0", "spirv"),
    ];
    for (device, target) in kinds {
        let said = run(program, device);
        assert_eq!(said.first().map(String::as_str), Some(&*format!("{device} ok")), "{said:?}");
        assert!(said[1].starts_with("made ahead of time, on "), "{said:?}");
        // The same program with one target runs on that device alone.
        let folder = lab.folder(&format!("aot-{target}"));
        let mut compile = rustc(lab, &folder, target);
        text(compile.arg(source("crates/aot_kinds.rs")).args(["-o", "program"]));
        for (other, _) in kinds {
            let said = run(&folder.join("program"), other);
            assert_eq!(said[0] == format!("{other} ok"), device == other, "{target}: {said:?}");
        }
    }
    // Where a program has no code for a device, and there is no compiler, that is said.
    let [none, ..] = programs(lab);
    let mut command = without_stage2(none);
    command.env("SCHISM_OPENCL", beside("libfake_opencl.so")).env("SCHISM_DEVICE", "opencl:0");
    let (said, _) = lines(&mut command);
    assert!(said[0].starts_with("no compiler: the device `opencl:0`"), "{said:?}");
    assert!(said[0].contains("--targets"), "{said:?}");
}

#[test]
fn a_bundle_runs_where_it_is_moved_to() {
    let Some(lab) = lab() else { return };
    let [none, aot, _] = programs(lab);
    let folder = lab.folder("aot-bundle");
    let tool = lab.subcommand();
    let bundle = |arguments: &[&str]| {
        let mut command = clean_command(&tool);
        command.current_dir(&folder).args(["schism", "bundle"]).args(arguments);
        let output = output(&mut command);
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    // Nothing of this machine's settings helps it: it is moved, and its environment is empty.
    let moved = |from: &str, program: &str| {
        let (there, to) = (folder.join("elsewhere"), folder.join("elsewhere").join(from));
        fs::create_dir_all(&there).expect("a folder can be made");
        fs::rename(folder.join(from), &to).expect("a folder can be moved");
        let mut command = Command::new(to.join(program));
        command.env_clear().env("SCHISM_DEVICE", "cpu").env("SCHISM_CACHE", "0");
        lines(&mut command).0
    };
    let (host, _) = lines(clean_command(none).env("SCHISM_DEVICE", "native"));
    let results = &host[..host.len() - 1];

    let (well, said) = bundle(&[&name(aot)]);
    assert!(well, "{said}");
    for says in [
        "aot-bundle/aot\n",
        "in all",
        "cpu     processors with x86-64\n",
        "(ptx:sm_80)",
        "libc.so.6",
    ] {
        assert!(said.contains(says), "{says}: {said}");
    }
    let made = moved("aot-bundle", "aot");
    assert_eq!(made[..made.len() - 1], *results);
    assert_eq!(made.last().map(String::as_str), Some("not compiled"));

    let (well, said) = bundle(&[&name(none)]);
    assert!(!well && said.contains("--targets host,ptx:sm_80") && said.contains("--jit"), "{said}");
    let (well, said) = bundle(&[&name(none), "--jit", "-o", "with-jit"]);
    assert!(well && said.contains("with-jit/lib/libLLVM"), "{said}");
    assert!(said.contains("every x86-64 processor, by the compiler in the bundle"), "{said}");
    let made = moved("with-jit", "none");
    assert_eq!(made[..made.len() - 1], *results);
    assert_eq!(made.last().map(String::as_str), Some("compiled"));

    // The other tools know such containers.
    let mut look = clean_command(&tool);
    let tree = text(look.args(["schism", "hcf", &name(aot)]));
    assert!(tree.contains("code: target = ptx:sm_80, interface = "), "{tree}");
    let mut lower = clean_command(&tool);
    lower.args(["schism", "llvm-to-ptx", &name(aot), "--kernel", "groups", "--arch", "sm_90"]);
    let ptx = text(&mut lower);
    assert!(ptx.contains(".target sm_90") && ptx.contains("bar.sync"), "{ptx}");
}
