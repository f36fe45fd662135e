//! The two halves of a crate, on their IR and their bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use schism_hcf::{Container, Kernel, ParameterKind};
use schism_tests::container::{self, containers, decided_branches, device_ir};
use schism_tests::lab::{Compiler, Lab, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles one of `crates/` to an rlib and the host's IR.
fn compile(lab: &Lab, name: &str, folder: &Path, options: &[&str]) -> (PathBuf, String) {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc
        .arg(source(&format!("crates/{name}.rs")))
        .args(["--crate-type=rlib", "--emit=link,llvm-ir"]);
    text(rustc.args(["-Cembed-bitcode=no", "-Ccodegen-units=1"]).args(options));
    let ir = std::fs::read_to_string(folder.join(format!("{name}.ll"))).expect("the IR");
    (folder.join(format!("lib{name}.rlib")), ir)
}

fn only_container(file: &Path) -> Container {
    let mut containers = containers(file);
    assert_eq!(containers.len(), 1, "{} holds one container", file.display());
    containers.remove(0)
}

#[test]
fn the_device_half_holds_what_kernels_reach_and_no_more() {
    let Some(lab) = lab() else { return };
    for level in ["0", "3"] {
        let folder = lab.folder(&format!("split-reach-{level}"));
        let (rlib, _) = compile(lab, "halves", &folder, &[&format!("-Copt-level={level}")]);
        let container = only_container(&rlib);
        let ir = device_ir(&container);
        let kernels: Vec<String> =
            container.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        assert_eq!(kernels.len(), 1);
        let left = container::unreachable(&ir, kernels.clone());
        assert!(left.is_empty(), "no kernel reaches {left:?}\n{ir}");

        // The walk would see it if there were something.
        let more =
            format!("{ir}\n@table = constant ptr @lone\ndefine void @lone() {{\n  ret void\n}}\n");
        assert_eq!(container::unreachable(&more, kernels.clone()).len(), 2);

        // By hand: what the source says that kernels reach is there, unless it was inlined, and
        // what it says that only the host reaches is not.
        let symbols = container::symbols(&ir);
        let defined = |part: &str| symbols.keys().any(|name| name.contains(part));
        for part in
            ["only_on_the_host", "unused_by_kernels", "HOST_TABLE", "HostShape", "__rust_alloc"]
        {
            assert!(!defined(part), "{part} is in the device half:\n{ir}");
        }
        for part in ["in_a_table_a", "in_a_table_b", "TABLE", "Polygon", "Triangle"] {
            assert!(defined(part), "{part} is not in the device half:\n{ir}");
        }
        for text in symbols.values().filter(|text| text.starts_with("define ")) {
            let name = container::names(text).remove(0);
            let internal = text.starts_with("define internal ");
            assert_eq!(!internal, kernels.contains(&name), "the linkage of {name}");
        }
    }
}

#[test]
fn no_half_asks_which_half_it_is() {
    let Some(lab) = lab() else { return };
    for options in [["-Copt-level=0", "-Cdebuginfo=0"], ["-Copt-level=3", "-Cdebuginfo=2"]] {
        let folder = lab.folder(&format!("split-constants{}", options[0]));
        let (rlib, host) = compile(lab, "halves", &folder, &options);
        let device = device_ir(&only_container(&rlib));

        assert!(!device.contains("is_device"), "{device}");
        assert!(decided_branches(&device).is_empty(), "{:?}", decided_branches(&device));

        let host_symbols = container::symbols(&host);
        for (name, text) in &host_symbols {
            if !text.starts_with("define ") {
                continue;
            }
            for line in text.lines().skip(1) {
                assert!(!line.contains("is_device"), "{name} asks:\n{text}");
            }
        }
        assert!(decided_branches(&host).is_empty(), "{:?}", decided_branches(&host));

        // The right branch is the one that stayed.
        const BRANCH_OF_THE_DEVICE: &str = ", 1000003";
        const BRANCH_OF_THE_HOST: &str = ", 1000033";
        assert!(
            device.contains(BRANCH_OF_THE_DEVICE) && !device.contains(BRANCH_OF_THE_HOST),
            "{device}"
        );
        let split = host_symbols.iter().find(|(name, _)| name.contains("5split"));
        let (_, split) = split.expect("a public function is in the host half");
        assert!(
            !split.contains("branch_of_the_device") && !split.contains(BRANCH_OF_THE_DEVICE),
            "{split}"
        );
        assert!(host.contains(BRANCH_OF_THE_HOST));
    }
}

#[test]
fn the_device_half_does_not_depend_on_the_hosts_options() {
    let Some(lab) = lab() else { return };
    let id = |name: &str, options: &[&str]| {
        let folder = lab.folder(&format!("split-options-{name}"));
        let mut rustc = lab.rustc_with_runtime(&folder);
        rustc.arg(source("crates/halves.rs")).args(["--crate-type=rlib", "-Copt-level=2"]);
        text(rustc.args(options));
        only_container(&folder.join("libhalves.rlib")).object_id()
    };
    let first = id("first", &["-Ccodegen-units=1"]);
    assert_eq!(first, id("units", &["-Ccodegen-units=16"]), "codegen units");
    assert_eq!(first, id("native", &["-Ctarget-cpu=x86-64-v3"]), "the host's CPU");
}

/// What cannot panic pays nothing for panics: no call of one, no text, no parameter beyond the
/// captures.
#[test]
fn kernels_that_cannot_panic_carry_nothing_for_it() {
    let Some(lab) = lab() else { return };
    for options in [
        ["-Copt-level=0", "-Cdebug-assertions=off"],
        ["-Copt-level=2", "-Cdebug-assertions=off"],
        ["-Copt-level=3", "-Cdebuginfo=2"],
    ] {
        let folder = lab.folder(&format!("split-cannot-panic{}", options.join("")));
        let (rlib, _) = compile(lab, "cannot_panic", &folder, &options);
        let container = only_container(&rlib);
        let ir = device_ir(&container);
        assert!(!ir.contains("__schism_panic"), "{options:?}:\n{ir}");
        for line in ir.lines().filter(|line| line.starts_with('@')) {
            let text =
                line.contains(".rs") || line.contains(" x i8] c\"") && !line.contains("@vtable");
            assert!(!text, "{options:?}: {line}");
        }
        assert_eq!(container.kernels.len(), 5);
        let symbols = container::symbols(&ir);
        for kernel in &container.kernels {
            let offset = kernel.offset_variant.iter().map(|name| (name, 3));
            for (name, more) in std::iter::once((&kernel.name, 0)).chain(offset) {
                assert_eq!(parameters(&symbols[name]), kernel.parameters.len() + more, "{name}");
            }
        }
    }
    // Where arithmetic is checked, the same kernels can panic, and it shows.
    let folder = lab.folder("split-can-panic");
    let (rlib, _) = compile(lab, "cannot_panic", &folder, &["-Cdebug-assertions=on"]);
    assert!(device_ir(&only_container(&rlib)).contains("call void @__schism_panic("));
}

/// The number of a function's parameters.
fn parameters(function: &str) -> usize {
    let mut depth = 0;
    let mut count = 0;
    let line = function.lines().next().expect("a first line");
    let list = line.split_once('(').expect("a list of parameters").1;
    for character in list.chars() {
        match character {
            ')' if depth == 0 => break,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => count += 1,
            _ if count == 0 => count = 1,
            _ => {}
        }
    }
    count
}

/// Compiles a kernel-free source with one compiler and returns the files that it makes.
fn products(
    lab: &Lab,
    compiler: Compiler,
    folder: &Path,
    configure: &dyn Fn(&mut Command),
) -> BTreeMap<String, Vec<u8>> {
    let work = folder.join("work");
    std::fs::create_dir_all(&work).expect("a folder can be made");
    let mut rustc = lab.rustc(compiler, &work);
    configure(&mut rustc);
    text(&mut rustc);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&work).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        files.insert(name, std::fs::read(&path).expect("a readable file"));
    }
    std::fs::remove_dir_all(&work).expect("our folder can be removed");
    files
}

fn assert_same(
    lab: &Lab,
    folder: &Path,
    what: &str,
    configure: &dyn Fn(&mut Command),
) -> BTreeMap<String, Vec<u8>> {
    let stock = products(lab, Compiler::Stock, folder, configure);
    let schism = products(lab, Compiler::Schism, folder, configure);
    assert!(!stock.is_empty(), "{what}: nothing was made");
    assert_eq!(
        stock.keys().collect::<Vec<_>>(),
        schism.keys().collect::<Vec<_>>(),
        "{what}: different files"
    );
    for (name, bytes) in &stock {
        assert!(*bytes == schism[name], "{what}: {name} differs from plain rustc's");
    }
    schism
}

#[test]
fn a_kernel_free_crate_is_the_same_byte_for_byte() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("split-same");
    let library = source("crates/no_kernels.rs");
    let mut cases: Vec<Vec<&str>> = Vec::new();
    for level in
        ["-Copt-level=0", "-Copt-level=1", "-Copt-level=2", "-Copt-level=3", "-Copt-level=s"]
    {
        cases.push(vec!["--crate-type=rlib", level]);
    }
    cases.push(vec!["--crate-type=rlib", "-g", "-Copt-level=1", "-Ccodegen-units=1"]);
    cases.push(vec!["--crate-type=rlib", "-Copt-level=3", "-Ccodegen-units=3", "-Cpanic=abort"]);
    cases.push(vec!["--crate-type=rlib", "-Copt-level=2", "-Clto=thin"]);
    cases.push(vec!["--crate-type=bin", "-g"]);
    cases.push(vec!["--crate-type=bin", "-Copt-level=2", "-Clto=off", "-Cstrip=symbols"]);
    cases.push(vec!["--crate-type=bin", "-Copt-level=1", "-Clto=thin"]);
    cases.push(vec!["--crate-type=bin", "-Copt-level=s", "-Clto=fat", "-Cpanic=abort"]);
    cases.push(vec!["--crate-type=cdylib", "-Copt-level=1"]);
    cases.push(vec!["--crate-type=staticlib", "-Copt-level=1"]);
    cases.push(vec!["--crate-type=dylib", "-Cprefer-dynamic"]);
    cases.push(vec!["--test", "-Copt-level=0"]);
    cases.push(vec!["--crate-type=rlib", "--emit=asm,llvm-ir,llvm-bc,obj", "-Ccodegen-units=1"]);
    for case in &cases {
        let files = assert_same(lab, &folder, &format!("{case:?}"), &|rustc| {
            rustc.arg(&library).args(case);
        });
        for (name, bytes) in &files {
            assert_eq!(sections(bytes), 0, "{case:?}: {name} has a container");
        }
    }
    assert_same(lab, &folder, "a procedural macro", &|rustc| {
        rustc.arg(source("crates/proc_macro.rs")).arg("--crate-type=proc-macro");
    });
}

fn sections(file: &[u8]) -> usize {
    schism_hcf::sections_of_file(file).map_or(0, |sections| sections.len())
}

#[test]
fn a_kernel_free_crate_that_sees_the_runtime_has_the_same_code() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("split-same-with-runtime");
    let runtime = lab.runtime();
    // Not its metadata: that holds the bodies of functions that kernels elsewhere may call.
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let files = assert_same(lab, &folder, level, &|rustc| {
            rustc
                .arg(source("crates/no_kernels.rs"))
                .args(["--crate-type=rlib", "--emit=obj,llvm-ir"]);
            rustc.args([level, "-Ccodegen-units=1"]);
            runtime.add_to(rustc);
        });
        assert!(files.values().all(|bytes| sections(bytes) == 0));
    }
    let work = lab.folder("split-same-with-runtime-link");
    let mut rustc = lab.rustc_with_runtime(&work);
    text(rustc.arg(source("crates/no_kernels.rs")).arg("--crate-type=rlib"));
    assert!(containers(&work.join("libno_kernels.rlib")).is_empty());
}

#[test]
fn the_same_project_in_two_folders_gives_the_same_container() {
    let Some(lab) = lab() else { return };
    let halves = std::fs::read_to_string(source("crates/halves.rs")).expect("a readable file");
    let mut found = Vec::new();
    for name in ["split-twice/project", "split-twice-elsewhere/deeper/project"] {
        let folder = lab.folder(name);
        lab.project(
            &folder,
            &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"twice\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                     [dependencies]\n@RUNTIME@\n[workspace]\n",
                ),
                ("src/lib.rs", &halves),
                ("src/main.rs", "fn main() {\n    println!(\"{:?}\", twice::run(3));\n}\n"),
            ],
        );
        let target = lab.target();
        text(lab.cargo_with_runtime(&folder).args(["build", "--offline"]));
        let library = std::fs::read(target.join("debug/libtwice.rlib")).expect("the library");
        let program = std::fs::read(target.join("debug/twice")).expect("the program");
        let records: Vec<Vec<u8>> = [library, program]
            .iter()
            .flat_map(|file| {
                let sections = schism_hcf::sections_of_file(file).expect("ELF or an archive");
                sections.iter().map(|section| section.data.to_vec()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(records.len(), 2, "the library and the program have the library's container");
        let mention = folder.to_string_lossy().into_owned();
        for record in &records {
            let leak = record.windows(mention.len()).any(|bytes| bytes == mention.as_bytes());
            assert!(!leak, "the container names the folder {mention}");
        }
        found.push(records);
    }
    assert!(found[0] == found[1], "the two builds' containers differ");
}

/// Offset, size, alignment and kind of each parameter.
type Shape = Vec<(u64, u64, u64, ParameterKind)>;

#[test]
fn kernels_list_their_flattened_captures() {
    use ParameterKind::{Bytes, Float, Integer, Pointer};
    let Some(lab) = lab() else { return };
    let folder = lab.folder("split-captures");
    let (rlib, _) = compile(lab, "captures", &folder, &[]);
    let container = only_container(&rlib);
    let kernel = |function: &str| -> &Kernel {
        let found: Vec<&Kernel> = container
            .kernels
            .iter()
            .filter(|kernel| kernel.display_name.contains(&format!("{function}::")))
            .collect();
        assert_eq!(found.len(), 1, "one kernel of {function} in {:?}", container.kernels);
        found[0]
    };
    // Every kernel also captures `to`, a pointer and a length; rustc chooses the order of fields.
    let flattened = |function: &str, own: &[(u64, ParameterKind)]| {
        let kernel = kernel(function);
        let mut expected: Vec<(u64, ParameterKind)> = own.to_vec();
        expected.extend([(8, Pointer), (8, Integer)]);
        let mut found: Vec<(u64, ParameterKind)> =
            kernel.parameters.iter().map(|parameter| (parameter.size, parameter.kind)).collect();
        let key = |one: &(u64, ParameterKind)| (one.0, one.1.as_str());
        expected.sort_by_key(key);
        found.sort_by_key(key);
        assert_eq!(found, expected, "{function}");

        let shape: Shape = kernel
            .parameters
            .iter()
            .map(|parameter| (parameter.offset, parameter.size, parameter.align, parameter.kind))
            .collect();
        for pair in shape.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{function}: overlap or order: {shape:?}");
        }
        for (offset, size, align, _) in &shape {
            assert!(offset % align == 0 && offset + size <= kernel.closure_size, "{shape:?}");
            assert!(*align <= kernel.closure_align, "{shape:?}");
        }
        assert_eq!(kernel.dimensions, 1);
        assert_eq!(kernel.images, ["llvm-ir.global"]);
        shape
    };

    flattened("nothing", &[]);
    flattened("slice", &[(8, Pointer), (8, Integer)]);
    flattened(
        "scalars",
        &[
            (1, Integer),
            (2, Integer),
            (4, Integer),
            (8, Integer),
            (4, Float),
            (8, Float),
            (1, Integer),
            (4, Integer),
        ],
    );
    flattened("wide", &[(16, Integer)]);
    let structure = flattened("structure", &[(1, Integer), (8, Float), (2, Integer)]);
    let offset_of = |size: u64| structure.iter().find(|one| one.1 == size && one.3 != Pointer);
    let (small, tail) = (offset_of(1).expect("a u8").0, offset_of(2).expect("a u16").0);
    assert_eq!(tail - small, 16, "#[repr(C)] fixes the distance: {structure:?}");
    flattened("tuple", &[(4, Integer), (8, Float)]);
    flattened("unit_enum", &[(4, Bytes)]);
    flattened("data_enum", &[(16, Bytes)]);
    let array = flattened("short_array", &[(2, Integer), (2, Integer), (2, Integer)]);
    let elements: Vec<u64> = array.iter().filter(|one| one.1 == 2).map(|one| one.0).collect();
    assert_eq!([elements[1] - elements[0], elements[2] - elements[1]], [2, 2]);
    flattened("long_array", &[(200, Bytes)]);
    flattened("option", &[(8, Bytes)]);

    let planes = kernel("planes");
    assert_eq!((planes.dimensions, planes.parameters.len(), planes.closure_size), (2, 0, 0));
}
