//! Kernels that call functions which their own crate only declares. Other crates of the program
//! have their device code.
//!
//! The programs are of `crates/imports/`: `exporter` defines, `between` imports and exports,
//! `again` defines a function a second time, `library` has functions whose bodies do not come
//! along, `program` launches.

use std::path::{Path, PathBuf};
use std::process::Command;

use schism_tests::container::{containers, device_ir};
use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};
use schism_tests::skip;

fn lab() -> Option<&'static Lab> {
    if std::env::var_os("SCHISM_JIT").is_none() {
        skip::lacks(skip::STAGE2);
        return None;
    }
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

fn file(name: &str) -> PathBuf {
    source(&format!("crates/imports/{name}.rs"))
}

/// Compiles libraries, each by the driver.
fn libraries(lab: &Lab, folder: &Path, names: &[&str]) {
    for name in names {
        text(lab.rustc_with_runtime(folder).arg("--crate-type=rlib").arg(file(name)));
    }
}

/// The program with some of the libraries.
fn program(lab: &Lab, folder: &Path, name: &str, libraries: &[&str]) -> (PathBuf, Command) {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.arg(file("program")).args(["-L", ".", "-o", name]);
    for library in libraries {
        rustc.arg(format!("--cfg=with_{library}")).arg(format!("--extern={library}"));
    }
    (folder.join(name), rustc)
}

/// What the program prints on each device.
fn on_devices(program: &Path) -> Vec<(String, String)> {
    let said = text(&mut clean_command(program));
    let mut devices: Vec<(String, String)> = Vec::new();
    for line in said.lines() {
        match (line.strip_prefix("on "), devices.last_mut()) {
            (Some(device), _) => devices.push((device.to_owned(), String::new())),
            (None, Some((_, lines))) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (None, None) => panic!("no device said: {line}"),
        }
    }
    assert!(devices.len() >= 2, "{said}");
    devices
}

#[test]
fn functions_of_other_crates_are_linked_to_kernels() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports");
    libraries(lab, &folder, &["exporter", "between"]);
    let (program, mut rustc) = program(lab, &folder, "imports", &["exporter", "between"]);
    text(&mut rustc);
    for (device, lines) in on_devices(&program) {
        let (results, panic) = lines.split_once("number: ").expect("the last launch");
        assert_eq!(
            results, "scale: right\npair: right\nhalf: right\ntwice: right\nown: right\n",
            "on {device}"
        );
        assert!(
            panic.starts_with("panicked: ") && panic.contains("the len is 4 but the index is 4"),
            "on {device}: {panic}"
        );
        assert!(panic.contains("exporter.rs:"), "on {device}: {panic}");
    }
    // The image of the kernels has none of the bodies, and says what it lacks, each kernel for
    // itself.
    let found = containers(&program);
    let of = |name: &str| {
        found.iter().find(|container| container.crate_name == name).expect("a container")
    };
    let own = of("program");
    let ir = device_ir(own);
    assert!(
        ir.contains("declare float @exported_scale(float, float)")
            || ir.contains("@exported_scale("),
        "{ir}"
    );
    assert!(
        !ir.contains("define float @exported_scale")
            && !ir.contains("define internal float @exported_scale"),
        "{ir}"
    );
    let mut imports: Vec<&str> =
        own.images[0].imported_symbols.iter().map(String::as_str).collect();
    imports.sort_unstable();
    let names =
        ["exported_half", "exported_number", "exported_pair", "exported_scale", "exported_twice"];
    assert_eq!(imports, names);
    assert_eq!(own.kernels.iter().filter(|kernel| kernel.imports.is_empty()).count(), 1);
    assert!(own.kernels.iter().all(|kernel| kernel.imports.len() <= 1));
    let exporter = of("exporter");
    assert_eq!((exporter.kernels.len(), exporter.images.len()), (0, 1));
    assert!(exporter.images[0].exported_symbols.contains(&"exported_pair".to_owned()));
    assert!(exporter.images[0].imported_symbols.is_empty());
    assert_eq!(of("between").images[0].imported_symbols, ["exported_scale"]);
}

#[test]
fn a_program_with_imports_becomes_ptx() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-ptx");
    libraries(lab, &folder, &["exporter", "between"]);
    let (program, mut rustc) = program(lab, &folder, "imports", &["exporter", "between"]);
    text(&mut rustc);
    let mut emit = clean_command(lab.subcommand());
    emit.current_dir(&folder).args(["schism", "emit", "ptx"]).arg(&program).args(["-o", "ptx/"]);
    text(&mut emit);
    let files = std::fs::read_dir(folder.join("ptx")).expect("a folder");
    let files: Vec<_> = files.map(|entry| entry.expect("readable").path()).collect();
    assert_eq!(files.len(), 6);
    let Some(assembler) = schism_tests::ptx::assembler() else { return };
    for file in files {
        let mut assemble = Command::new(&assembler);
        assemble.args(["--gpu-name=sm_80", "--output-file"]).arg(file.with_extension("cubin"));
        text(assemble.arg(file));
    }
}

#[test]
fn what_is_missing_is_named() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-missing");
    // Plain rustc makes the host half alone.
    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    lab.runtime().add_to(&mut rustc);
    text(rustc.arg("--crate-type=rlib").arg(file("exporter")));
    let (program, mut rustc) = program(lab, &folder, "missing", &["exporter"]);
    text(&mut rustc);
    for (device, lines) in on_devices(&program) {
        if device == "native" {
            assert!(
                lines.starts_with("scale: right\npair: right\nhalf: right\nown: right\n"),
                "{lines}"
            );
            continue;
        }
        for (kernel, symbol) in
            [("scale", "exported_scale"), ("pair", "exported_pair"), ("number", "exported_number")]
        {
            let line =
                format!("{kernel}: missing {symbol}: it imports the function `{symbol}`, and no");
            assert!(lines.contains(&line), "on {device}: {lines}");
        }
        assert!(lines.contains("schism::export_to_device!"), "on {device}: {lines}");
        assert!(lines.contains("own: right\n"), "on {device}: {lines}");
    }
}

#[test]
fn two_definitions_are_an_error() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-twice");
    libraries(lab, &folder, &["exporter", "again"]);
    let (program, mut rustc) = program(lab, &folder, "twice", &["exporter", "again"]);
    // The host's linker is told to take the first of them, as it does where one is in a shared
    // library.
    text(rustc.arg("-Clink-arg=-Wl,--allow-multiple-definition"));
    for (device, lines) in on_devices(&program) {
        if device != "native" {
            assert!(lines.contains("scale: several again, exporter: "), "on {device}: {lines}");
            assert!(lines.contains("pair: right\n"), "on {device}: {lines}");
        }
    }
}

#[test]
fn another_type_is_an_error() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-type");
    libraries(lab, &folder, &["exporter"]);
    let (program, mut rustc) = program(lab, &folder, "mismatch", &["exporter"]);
    text(rustc.arg("--cfg=mismatch"));
    let code = schism_jit_abi::IMPORT_MISMATCH;
    for (device, lines) in on_devices(&program) {
        if device != "native" {
            assert!(lines.contains(&format!("scale: code {code}: ")), "on {device}: {lines}");
            let types = "imports `exported_scale` as `float (float, i32)`, and it is defined as `float (float, float)`";
            assert!(lines.contains(types), "on {device}: {lines}");
            assert!(lines.contains("pair: right\n"), "on {device}: {lines}");
        }
    }
}

#[test]
fn libraries_without_bodies_export_functions_by_their_names() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-plain");
    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    lab.runtime().add_to(&mut rustc);
    rustc.env("RUSTC_BOOTSTRAP", "1").arg(format!("-Zcodegen-backend={}", lab.plugin.display()));
    text(rustc.arg("--crate-type=rlib").arg(file("library")));
    let mut rustc = lab.rustc_with_runtime(&folder);
    let main = "use schism::prelude::*;
        fn main() -> Result<(), schism::Error> {
            for device in Device::all() {
                let queue = Queue::on(&device)?;
                let mut out = Buffer::filled(&queue, 50, 0_u32)?;
                queue.for_each((0.., &mut out), |(i, out)| *out = library::steps(i as u64))?;
                let right = out.to_vec().iter().zip(0..).all(|(found, i)| *found == library::steps(i));
                println!(\"{right}\");
            }
            Ok(())
        }";
    std::fs::write(folder.join("main.rs"), main).expect("writable");
    text(rustc.arg("main.rs").args(["-L", ".", "--extern=library"]));
    let own = containers(&folder.join("main"));
    let own = own.iter().find(|container| container.crate_name == "main").expect("its container");
    assert_eq!(own.kernels[0].imports.len(), 1, "{:?}", own.kernels[0].imports);
    let said = text(&mut clean_command(folder.join("main")));
    assert!(said.lines().count() >= 2 && said.lines().all(|line| line == "true"), "{said}");
}

#[test]
fn what_is_listed_wrongly_is_refused_and_what_is_not_listed_stays_foreign() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-refused");
    for (name, program, says) in [
        (
            "foreign",
            "unsafe extern \"C\" { fn getpid() -> i32; } schism::export_to_device!(getpid); fn main() {}",
            "`getpid` cannot be exported to devices: it is declared here",
        ),
        (
            "groups",
            "#[unsafe(no_mangle)] pub extern \"C\" fn wait(item: &schism::NdItem<1>) { item.barrier() }
             schism::export_to_device!(wait); fn main() {}",
            "a function that is exported to devices needs a work-group, which only a kernel has",
        ),
        (
            "heap",
            "#[unsafe(no_mangle)] pub extern \"C\" fn heap(x: u32) -> u32 { *Box::new(x) + vec![x; 3].len() as u32 }
             schism::export_to_device!(heap); fn main() {}",
            "reached from `heap`, which is exported to devices",
        ),
        (
            "unlisted",
            "use schism::prelude::*; unsafe extern \"C\" { fn getpid() -> i32; }
             fn main() {
                 let queue = Queue::new().unwrap();
                 let mut out = Buffer::filled(&queue, 8, 0_i32).unwrap();
                 // SAFETY: always allowed.
                 queue.for_each(&mut out, |out| *out = unsafe { getpid() }).unwrap();
             }",
            "a kernel calls the foreign function `getpid`, which no device has",
        ),
    ] {
        let path = folder.join(format!("{name}.rs"));
        std::fs::write(&path, program).expect("writable");
        let mut rustc = lab.rustc_with_runtime(&folder);
        let ended = output(rustc.arg(&path));
        let report = describe(&rustc, &ended);
        assert_eq!(ended.status.code(), Some(1), "{report}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains(says), "`{says}`: {report}");
    }
}

#[test]
fn code_that_is_made_ahead_of_time_leaves_such_kernels_out_and_says_so() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("imports-aot");
    libraries(lab, &folder, &["exporter", "between"]);
    let (program, mut rustc) = program(lab, &folder, "aot", &["exporter", "between"]);
    let ended = output(rustc.env("SCHISM_TARGETS", "host"));
    let report = describe(&rustc, &ended);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{report}");
    assert_eq!(
        said.matches("it imports `exported_scale`, which the device code of another crate defines")
            .count(),
        1,
        "{report}"
    );
    assert!(said.contains("it is compiled when it is first launched"), "{report}");
    let own = containers(&program);
    let own =
        own.iter().find(|container| container.crate_name == "program").expect("its container");
    assert_eq!(own.images.iter().filter(|image| image.code.is_some()).count(), 1);
    assert!(
        on_devices(&program).iter().all(|(_, lines)| lines.contains("scale: right\npair: right\n"))
    );
}
