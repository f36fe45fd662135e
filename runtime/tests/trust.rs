//! Code and folders that another user may have put there are not used. Each case runs in a process
//! for it alone.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use schism::prelude::*;
use support::{ROLE, is_root, program_in, run, scratch};

/// Another user, and one more.
const OTHER: u32 = 51_001;
const THIRD: u32 = 51_002;

/// What a library says on standard error when its code runs.
const RAN: &str = "code of the library ran";

/// Says what happened; its parent looks.
#[test]
#[ignore = "runs as a child of the other tests"]
fn child() {
    // SAFETY: any key may be asked for.
    println!("secure {}", unsafe { libc::getauxval(libc::AT_SECURE) });
    match std::env::var(ROLE).as_deref() {
        Ok("device") => {
            let name = std::env::var("SCHISM_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
            match Device::by_name(&name) {
                Ok(device) => println!("device {device}"),
                Err(error) => println!("error {error}"),
            }
        }
        Ok("all") => println!("devices {:?}", Device::all().len()),
        Ok("launch") => {
            let queue = Queue::new().expect("there is always one");
            let mut data = Buffer::filled(&queue, 1000, 1).expect("memory");
            queue.for_each(&mut data, |x| *x += 1).expect("it runs somewhere");
            println!("sum {}", data.to_vec().iter().sum::<i32>());
        }
        role => panic!("no such role: {role:?}"),
    }
}

/// A library that tells when its code runs, made once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = scratch("trust-library");
        let source = folder.join("library.rs");
        let text = format!(
            r#"extern "C" fn init() {{ eprintln!("{RAN}"); }}
            #[used] #[unsafe(link_section = ".init_array")] static INIT: extern "C" fn() = init;"#
        );
        fs::write(&source, text).expect("a file can be written");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition=2024", "--crate-type=cdylib", "-o", "library.so"]).arg(&source);
        let output = command.current_dir(&folder).output().expect("there is a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder.join("library.so")
    })
}

/// A folder with a program, and a copy of the library.
struct Fixture {
    folder: PathBuf,
    program: PathBuf,
    library: PathBuf,
}

fn fixture(name: &str) -> Fixture {
    // A process that is being started has all descriptors for a moment, also those that programs
    // are written by.
    static LOCK: Mutex<()> = Mutex::new(());
    let _turn = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = scratch(name);
    fs::create_dir(folder.join("bin")).expect("a folder can be made");
    fs::create_dir(folder.join("lib")).expect("a folder can be made");
    let program = program_in(&folder.join("bin"));
    let copy = folder.join("lib").join("library.so");
    fs::copy(library(), &copy).expect("a file can be copied");
    mode(&copy, 0o644);
    for folder in [&folder, &folder.join("bin"), &folder.join("lib")] {
        mode(folder, 0o755);
    }
    Fixture { folder, program, library: copy }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own file");
}

/// The library must not be loaded, with these words as the reason.
fn refused(fixture: &Fixture, path: &Path, reason: &[&str]) {
    let (out, err) = run(&mut support::child(&fixture.program, "device", &[("SCHISM_JIT", path)]));
    assert!(!err.contains(RAN), "{err}");
    assert!(out.contains("error the device `cpu`"), "{out}");
    for part in reason.iter().copied().chain([&*path.display().to_string(), "SCHISM_JIT"]) {
        assert!(out.contains(part), "`{part}` is not said: {out}");
    }
}

/// The same for a driver; a program that asks for all devices is told.
fn refused_driver(fixture: &Fixture, path: &Path, reason: &str) {
    let (out, err) = run(&mut support::child(&fixture.program, "all", &[("SCHISM_CUDA", path)]));
    assert!(!err.contains(RAN), "{err}");
    assert!(out.contains("devices 1"), "{out}");
    for part in [reason, &*path.display().to_string(), "SCHISM_CUDA"] {
        assert!(err.contains(part), "`{part}` is not said: {err}");
    }
}

#[test]
fn a_library_of_ones_own_is_loaded() {
    let fixture = fixture("trust-own");
    let variables = [("SCHISM_JIT", &*fixture.library)];
    let (out, err) = run(&mut support::child(&fixture.program, "device", &variables));
    assert!(err.contains(RAN), "{err}");
    assert!(out.contains("is not schism's stage 2"), "{out}");
    // Through links, too.
    let link = fixture.folder.join("link.so");
    symlink("lib/library.so", &link).expect("a link can be made");
    let (_, err) = run(&mut support::child(&fixture.program, "device", &[("SCHISM_JIT", &link)]));
    assert!(err.contains(RAN), "{err}");
}

#[test]
fn a_library_of_another_user_is_not_loaded() {
    if !is_root() {
        return;
    }
    let fixture = fixture("trust-owner");
    chown(&fixture.library, Some(OTHER), None).expect("root can");
    refused(&fixture, &fixture.library, &["belongs to user 51001"]);
    chown(&fixture.library, Some(0), None).expect("root can");
    chown(fixture.folder.join("lib"), Some(OTHER), None).expect("root can");
    refused(&fixture, &fixture.library, &["belongs to user 51001"]);
}

#[test]
fn a_library_that_others_can_write_to_is_not_loaded() {
    let fixture = fixture("trust-mode");
    mode(&fixture.library, 0o646);
    refused(&fixture, &fixture.library, &["can be written to by all users", "chmod"]);
    mode(&fixture.library, 0o644);
    mode(&fixture.folder.join("lib"), 0o757);
    refused(&fixture, &fixture.library, &["can be written to by all users"]);
    // No user can replace the file of another there.
    mode(&fixture.folder.join("lib"), 0o1777);
    let (_, err) =
        run(&mut support::child(&fixture.program, "device", &[("SCHISM_JIT", &fixture.library)]));
    assert!(err.contains(RAN), "{err}");
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    if !is_root() {
        return;
    }
    let fixture = fixture("trust-link");
    let folder = fixture.folder.join("shared");
    fs::create_dir(&folder).expect("a folder can be made");
    mode(&folder, 0o1777);
    let link = folder.join("link.so");
    symlink(&fixture.library, &link).expect("a link can be made");
    std::os::unix::fs::lchown(&link, Some(OTHER), None).expect("root can");
    refused(&fixture, &link, &["belongs to user 51001"]);
    let round = folder.join("round.so");
    symlink("round.so", &round).expect("a link can be made");
    refused(&fixture, &round, &["links"]);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let fixture = fixture("trust-files");
    let pipe = fixture.folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is one").success());
    for path in [&*pipe, Path::new("/dev/zero"), &fixture.folder] {
        refused(&fixture, path, &["is no file"]);
        refused_driver(&fixture, path, "is no file");
    }
    let long = PathBuf::from(format!("/{}", "x/".repeat(3000)));
    let variables = [("SCHISM_JIT", &*long), ("SCHISM_CUDA", &*long)];
    let (out, _) = run(&mut support::child(&fixture.program, "device", &variables));
    assert!(out.contains("name too long") && out.len() < 3000, "{out}");
}

#[test]
fn a_library_beside_the_program_is_trusted_as_the_program_is() {
    let fixture = fixture("trust-beside");
    let beside = fixture.program.with_file_name("libschism_jit.so");
    fs::copy(&fixture.library, &beside).expect("a file can be copied");
    let run_it = || run(&mut support::child(&fixture.program, "device", &[]));
    let (_, err) = run_it();
    assert!(err.contains(RAN), "{err}");
    mode(&beside, 0o666);
    let told = |word: &str| {
        let (out, err) = run_it();
        assert!(!err.contains(RAN), "{err}");
        for part in [&*beside.display().to_string(), word] {
            assert!(out.contains(part), "`{part}` is not said: {out}");
        }
        // Who demands nothing is told once.
        let (out, err) = run(&mut support::child(&fixture.program, "launch", &[]));
        assert!(out.contains("sum 2000") && !err.contains(RAN), "{out}{err}");
    };
    told("can be written to by all users");
    mode(&beside, 0o644);
    if !is_root() {
        return;
    }
    chown(&beside, Some(OTHER), None).expect("root can");
    told("belongs to user 51001");
    // The user who owns the program decides what it does anyway.
    chown(&fixture.program, Some(OTHER), None).expect("root can");
    let (_, err) = run_it();
    assert!(err.contains(RAN), "{err}");
}

#[test]
fn relative_paths_are_refused() {
    let fixture = fixture("trust-relative");
    let home = fixture.folder.join("home/lib");
    fs::create_dir_all(&home).expect("a folder can be made");
    fs::create_dir_all(fixture.folder.join("home/schism/lib")).expect("a folder can be made");
    for to in ["home/lib/libschism_jit.so", "home/schism/lib/libschism_jit.so"] {
        fs::copy(&fixture.library, fixture.folder.join(to)).expect("a file can be copied");
    }
    for (variable, value, absent) in [
        ("SCHISM_JIT", "lib/library.so", "SCHISM_CUDA"),
        ("SCHISM_JIT", "library.so", "SCHISM_CUDA"),
        ("SCHISM_HOME", "home", "SCHISM_JIT"),
        ("XDG_CACHE_HOME", "home", "SCHISM_HOME"),
    ] {
        let mut command = support::child(&fixture.program, "device", &[]);
        command.current_dir(&fixture.folder).env_remove(absent).env(variable, value);
        command.env("HOME", "/nonexistent");
        let (out, err) = run(&mut command);
        assert!(!err.contains(RAN), "{variable}: {err}");
        let said = format!("{out}{err}");
        for part in [variable, &format!("`{value}`"), "from the root"] {
            assert!(said.contains(part), "{variable}: `{part}` is not said: {said}");
        }
    }
    // The search for stage 2 and the cache of kernels both look at it.
    let mut command = support::child(&fixture.program, "launch", &[]);
    command.current_dir(&fixture.folder).env_remove("SCHISM_JIT").env_remove("SCHISM_CACHE");
    command.env("SCHISM_HOME", "home").env("HOME", fixture.folder.join("home"));
    let (out, err) = run(&mut command);
    // A program by plain rustc looks for neither.
    assert!(err.matches("SCHISM_HOME is").count() <= 1, "{out}{err}");
    let variables = [("SCHISM_CUDA", Path::new("lib/library.so"))];
    let mut command = support::child(&fixture.program, "all", &variables);
    let (out, err) = run(command.current_dir(&fixture.folder));
    assert!(!err.contains(RAN) && err.contains("from the root"), "{out}{err}");
}

#[test]
fn a_driver_of_another_user_is_not_loaded() {
    let fixture = fixture("trust-driver");
    let variables = [("SCHISM_CUDA", &*fixture.library)];
    let (_, err) = run(&mut support::child(&fixture.program, "all", &variables));
    assert!(err.contains(RAN), "{err}");
    mode(&fixture.library, 0o666);
    refused_driver(&fixture, &fixture.library, "can be written to by all users");
    if is_root() {
        mode(&fixture.library, 0o644);
        chown(&fixture.library, Some(OTHER), None).expect("root can");
        refused_driver(&fixture, &fixture.library, "belongs to user 51001");
    }
}

/// A program that has rights which its user lacks obeys no variable that names code or folders.
#[test]
fn a_setuid_program_obeys_no_variable() {
    if !is_root() {
        return;
    }
    let fixture = fixture("trust-setuid");
    mode(&fixture.program, 0o4755);
    // All of it belongs to the user who starts the program.
    let home = fixture.folder.join("home");
    fs::create_dir_all(home.join("lib")).expect("a folder can be made");
    let kept = home.join("lib").join("libschism_jit.so");
    fs::copy(&fixture.library, &kept).expect("a file can be copied");
    for path in [&home, &home.join("lib"), &kept, &fixture.library] {
        chown(path, Some(THIRD), None).expect("root can");
    }
    let as_user_does = |role: &str, variables: &[(&str, &Path)], program: &Path| {
        let mut command = support::child(program, role, variables);
        command.uid(THIRD).gid(THIRD).current_dir("/");
        run(&mut command)
    };
    let as_user =
        |variables: &[(&str, &Path)], program: &Path| as_user_does("device", variables, program);
    let (out, _) = as_user(&[], &fixture.program);
    if !out.contains("secure 1") {
        println!("skipped: programs do not get rights of their owners here");
        return;
    }
    for (variable, value) in [("SCHISM_JIT", &*fixture.library), ("SCHISM_HOME", &*home)] {
        let (out, err) = as_user(&[(variable, value)], &fixture.program);
        assert!(!err.contains(RAN), "{variable}: {err}");
        let said = format!("{out}{err}");
        assert!(said.contains(variable) && said.contains("rights"), "{variable}: {said}");
    }
    let cuda = [("SCHISM_CUDA", &*fixture.library)];
    let (out, err) = as_user_does("all", &cuda, &fixture.program);
    assert!(!err.contains(RAN) && err.contains("SCHISM_CUDA is not obeyed"), "{out}{err}");
    // The same program under another name, in a folder of the user's.
    let folder = fixture.folder.join("theirs");
    fs::create_dir(&folder).expect("a folder can be made");
    fs::hard_link(&fixture.program, folder.join("program")).expect("the same file system");
    let beside = folder.join("libschism_jit.so");
    fs::copy(&fixture.library, &beside).expect("a file can be copied");
    chown(&folder, Some(THIRD), None).expect("root can");
    for owner in [THIRD, 0] {
        chown(&beside, Some(owner), None).expect("root can");
        let (out, err) = as_user(&[], &folder.join("program"));
        assert!(!err.contains(RAN) && out.contains("secure 1"), "{out}{err}");
        assert!(out.contains("belongs to user 51002"), "{out}");
    }
}
