//! Damaged binaries, wrong settings and panicking kernels: programs go on or fail with an error
//! that says what to do, and never crash.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles one of `crates/` to its own program folder, once.
fn program(lab: &Lab, name: &str) -> PathBuf {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    static DONE: OnceLock<std::sync::Mutex<Vec<String>>> = OnceLock::new();
    let _turn = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = format!("bad-input-{name}");
    let mut done = DONE.get_or_init(Default::default).lock().expect("no test panics with it");
    if done.iter().any(|known| known == name) {
        return Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join(name);
    }
    let folder = lab.folder(&folder);
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.arg(source(&format!("crates/{name}.rs"))));
    done.push(name.to_owned());
    folder.join(name)
}

fn section_range(bytes: &[u8]) -> std::ops::Range<usize> {
    let sections = schism_hcf::sections_of_file(bytes).expect("an ELF file");
    assert_eq!(sections.len(), 1);
    sections[0].offset..sections[0].offset + sections[0].data.len()
}

/// Writes a variant of the program beside it.
fn variant(program: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = program.with_file_name(name);
    std::fs::copy(program, &path).expect("a file is copied, with its permissions");
    std::fs::write(&path, bytes).expect("a writable file");
    path
}

/// How a run ended: its lines, and its error output.
struct Ended {
    lines: Vec<String>,
    errors: String,
    report: String,
}

fn run(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = output(command);
    let report =
        describe(command, &Output { status, stdout: stdout.clone(), stderr: stderr.clone() });
    // By itself: no signal, no panic.
    assert!(matches!(status.code(), Some(0 | 3)), "{report}");
    let errors = String::from_utf8_lossy(&stderr).into_owned();
    let lines = String::from_utf8_lossy(&stdout).lines().map(str::to_owned).collect();
    Ended { lines, errors, report }
}

const DEVICE: [&str; 2] = ["half device", "half device"];
const HOST: [&str; 2] = ["half host", "half host"];

/// The program must take its own host half, and warn once.
fn falls_back(program: &Path) {
    let ended = run(&mut clean_command(program));
    assert_eq!(ended.lines, HOST, "{}", ended.report);
    let warnings = ended.errors.lines().filter(|line| line.starts_with("schism: ")).count();
    assert_eq!((warnings, ended.errors.lines().count()), (1, 1), "{}", ended.report);
}

/// With `SCHISM_DEVICE=cpu` it must fail, with this kind of error and a text that has all of
/// `parts`.
fn refuses(program: &Path, kind: &str, parts: &[&str]) {
    let ended = run(clean_command(program).env("SCHISM_DEVICE", "cpu"));
    assert_eq!(ended.lines, [format!("error {kind}")], "{}", ended.report);
    for part in parts {
        assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
    }
}

#[test]
fn a_sound_program_runs_on_the_device() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    for variables in [&[][..], &[("SCHISM_DEVICE", "cpu")], &[("SCHISM_DEVICE", "")]] {
        let ended = run(clean_command(&program).envs(variables.iter().copied()));
        assert_eq!(ended.lines, DEVICE, "{}", ended.report);
        assert_eq!(ended.errors, "", "{}", ended.report);
    }
    let ended = run(clean_command(&program).env("SCHISM_DEVICE", "native"));
    assert_eq!((ended.lines, ended.errors.as_str()), (HOST.map(str::to_owned).to_vec(), ""));
}

#[test]
fn strip_keeps_the_container() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    for option in ["--strip-all", "--strip-debug"] {
        let stripped = program.with_file_name(format!("stripped{option}"));
        let mut strip = Command::new("strip");
        text(strip.arg(option).arg("-o").arg(&stripped).arg(&program));
        let ended = run(clean_command(&stripped).env("SCHISM_DEVICE", "cpu"));
        assert_eq!(ended.lines, DEVICE, "{option}: {}", ended.report);
    }
}

#[test]
fn flipped_bits_are_noticed() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let bytes = std::fs::read(&program).expect("a readable file");
    let section = section_range(&bytes);
    // In the frame, in the header's text, in the image, and at the very end.
    for (number, place) in
        [0, 9, 20, 200, section.len() / 2, section.len() - 1].into_iter().enumerate()
    {
        for bit in [0, 7] {
            let mut damaged = bytes.clone();
            damaged[section.start + place] ^= 1 << bit;
            let damaged = variant(&program, &format!("flipped-{number}-{bit}"), &damaged);
            falls_back(&damaged);
            refuses(&damaged, "image", &["damage", "build the program again"]);
            std::fs::remove_file(&damaged).expect("our file can be removed");
        }
    }
}

#[test]
fn zeroed_and_cut_containers_are_noticed() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let bytes = std::fs::read(&program).expect("a readable file");
    let section = section_range(&bytes);
    let half = section.start + section.len() / 2;
    for (name, range) in [("zeroed", section.clone()), ("cut", half..section.end)] {
        let mut damaged = bytes.clone();
        damaged[range].fill(0);
        let damaged = variant(&program, name, &damaged);
        falls_back(&damaged);
        refuses(&damaged, "image", &["cannot run on device `cpu`", "build the program again"]);
    }
}

#[test]
fn a_removed_section_is_noticed() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let removed = program.with_file_name("removed");
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["--remove-section", "hcf"]).arg(&program).arg(&removed);
    match objcopy.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("{}", describe(&objcopy, &output)),
        Err(error) => {
            schism_tests::skip::lacks(&format!("no objcopy here: {error}"));
            return;
        }
    }
    falls_back(&removed);
    refuses(&removed, "image", &["stripped"]);
}

#[test]
fn without_stage_2_the_program_runs_its_own_code() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let nowhere = program.with_file_name("there-is-no-such-file.so");
    let text = variant(&program, "no-library.so", b"this is no shared library");
    // A library, but another one.
    let other = lab.plugin.clone();
    for path in [&nowhere, &text, &other] {
        let name = path.display().to_string();
        let ended = run(clean_command(&program).env("SCHISM_JIT", path));
        assert_eq!(ended.lines, HOST, "{}", ended.report);
        assert_eq!(ended.errors.lines().count(), 1, "{}", ended.report);
        for part in ["schism: ", &name, "SCHISM_JIT", "cargo schism setup"] {
            assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
        }
        let mut command = clean_command(&program);
        let ended = run(command.env("SCHISM_JIT", path).env("SCHISM_DEVICE", "cpu"));
        assert_eq!(ended.lines, ["error no stage 2"], "{}", ended.report);
        for part in [name.as_str(), "SCHISM_JIT", "SCHISM_DEVICE=native"] {
            assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
        }
        // Who asked for the native device is not told of a compiler that is not needed.
        let mut command = clean_command(&program);
        let ended = run(command.env("SCHISM_JIT", path).env("SCHISM_DEVICE", "native"));
        assert_eq!((ended.lines, ended.errors.as_str()), (HOST.map(str::to_owned).to_vec(), ""));
    }
}

/// Stage 2 of another version of schism: it is said at the first occasion, once, with both
/// versions; and there is an error for who asks for a device that needs it.
#[test]
fn stage_2_of_another_version_is_named() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let folder = lab.folder("bad-input-version");
    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    text(rustc.arg("--crate-type=cdylib").arg(source("crates/fake_jit.rs")));
    let fake = folder.join("libfake_jit.so").display().to_string();
    let (ours, native) = (schism_jit_abi::ABI_VERSION, "devices native");
    for (other, found) in [
        (ours - 1, (ours - 1).to_string()),
        (ours + 30, (ours + 30).to_string()),
        (0, "?".to_owned()),
    ] {
        let command = |variables: &[(&str, &str)]| {
            let mut command = clean_command(&program);
            command.env("SCHISM_JIT", &fake).env("FAKE_JIT_VERSION", other.to_string());
            command.envs(variables.iter().copied());
            command
        };
        let versions = format!(
            "{fake} speaks version {found} of the interface, and this program speaks version {ours}: they belong to different versions"
        );
        let says = |ended: &Ended, parts: &[&str]| {
            assert_eq!(ended.errors.lines().count(), 1, "{}", ended.report);
            for part in [&*versions, "cargo schism setup", "SCHISM_JIT", "SCHISM_DEVICE=native"]
                .iter()
                .chain(parts)
            {
                assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
            }
        };
        let ended = run(&mut command(&[]));
        assert_eq!(ended.lines, HOST, "{}", ended.report);
        says(&ended, &["schism: kernels run on the device `native`"]);
        // A GPU would be named beside `cpu`.
        let ended = run(command(&[("SCHISM_CUDA", ""), ("SCHISM_HIP", "")]).arg("devices"));
        assert_eq!(ended.lines[..2], [native; 2], "{}", ended.report);
        assert_eq!(ended.lines[2..], HOST, "{}", ended.report);
        says(&ended, &["schism: the device `cpu` cannot be used"]);
        for device in ["cpu", "cuda:0"] {
            let ended = run(&mut command(&[("SCHISM_DEVICE", device)]));
            assert_eq!(ended.lines, ["error another version"], "{}", ended.report);
            says(&ended, &[&format!("the device `{device}` was asked for")]);
        }
        let ended = run(command(&[("SCHISM_DEVICE", "native")]).arg("devices"));
        assert_eq!((ended.lines.len(), ended.errors.as_str()), (4, ""), "{}", ended.report);
    }
    // What is no stage 2 at all is left out as loudly; where there is none, nothing is said.
    let text = variant(&program, "no-library-either.so", b"this is no shared library");
    let mut command = clean_command(&program);
    command.env("SCHISM_JIT", &text).env("SCHISM_CUDA", "").env("SCHISM_HIP", "");
    let ended = run(command.arg("devices"));
    assert_eq!(
        ended.errors.matches("the device `cpu` cannot be used").count(),
        1,
        "{}",
        ended.report
    );
    let mut command = clean_command(&program);
    command.env_remove("SCHISM_JIT").env("SCHISM_HOME", &folder).env("SCHISM_DEVICE", "cpu");
    let ended = run(command.arg("devices"));
    assert!(!ended.errors.contains("cannot be used"), "{}", ended.report);
    assert_eq!(ended.lines, [native, native, "error no stage 2"], "{}", ended.report);
}

/// Stage 2 is there, and the LLVM that it needs is not: it is that which is named.
#[test]
fn a_missing_llvm_is_named() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    let folder = lab.folder("bad-input-llvm");
    let cdylib = |name: &str, arguments: &[&str]| {
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=cdylib", "--crate-name", name]).args(arguments);
        text(rustc.arg(source("crates/fake_jit.rs")));
        folder.join(format!("lib{name}.so"))
    };
    let llvm = cdylib("LLVM_gone", &[]);
    let needs = cdylib("needs", &["-Clink-args=-Wl,--no-as-needed -L. -lLLVM_gone"]);
    std::fs::remove_file(&llvm).expect("our file can be removed");
    for (device, kind) in [("", HOST.to_vec()), ("cpu", vec!["error no stage 2"])] {
        let mut command = clean_command(&program);
        let ended = run(command.env("SCHISM_JIT", &needs).env("SCHISM_DEVICE", device));
        assert_eq!(ended.lines, kind, "{}", ended.report);
        for part in
            ["libLLVM_gone.so: cannot open", &needs.display().to_string(), "cargo schism setup"]
        {
            assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
        }
    }
}

#[test]
fn an_unknown_device_is_answered_with_the_known_ones() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "damage");
    for name in ["gpu", "CPU", "cpu;native", "\u{e9}"] {
        let ended = run(clean_command(&program).env("SCHISM_DEVICE", name));
        assert_eq!(ended.lines, ["error unknown device"], "{}", ended.report);
        let expected = format!("no device `{name}`");
        for part in [expected.as_str(), "SCHISM_DEVICE", "cpu, native"] {
            assert!(ended.errors.contains(part), "`{part}` is not said: {}", ended.report);
        }
    }
}

#[test]
fn a_program_of_plain_rustc_says_once_that_it_runs_on_the_host() {
    let Some(lab) = lab() else { return };
    // Against the same runtime, but by the compiler that knows nothing of kernels.
    let folder = lab.folder("bad-input-plain");
    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    lab.runtime().add_to(&mut rustc);
    text(rustc.arg(source("crates/damage.rs")));
    let program = folder.join("damage");
    falls_back(&program);
    refuses(&program, "no device code", &["cargo schism build", "SCHISM_DEVICE=native"]);
}

#[test]
fn a_panicking_kernel_leaves_the_process_alive() {
    let Some(lab) = lab() else { return };
    let program = program(lab, "panics");
    for (device, threads) in [("cpu", "1"), ("cpu", "4"), ("native", "1"), ("native", "4")] {
        let mut command = clean_command(&program);
        command.env("SCHISM_DEVICE", device).env("SCHISM_CPU_THREADS", threads);
        let ended = run(&mut command);
        let expected = [
            "bounds: panicked: index out of bounds",
            "division: panicked: attempt to divide by zero",
            "unwrap: panicked: called `",
            "message: panicked: said by the kernel",
            "assert: panicked: assertion failed: item.x() < 7",
            "every item: panicked: all of them",
            "threads: 4 errors",
            "alive",
        ];
        assert_eq!(ended.lines.len(), expected.len(), "{}", ended.report);
        for (line, expected) in ended.lines.iter().zip(expected) {
            assert!(
                line.starts_with(expected),
                "on {device}, `{expected}` became: {}",
                ended.report
            );
        }
    }
}
