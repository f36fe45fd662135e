//! Set-up as a user meets it: from nothing, again, after changes, twice at once, interrupted, and
//! where things are missing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{Machine, VERSION, stderr};

#[test]
fn the_first_time_builds_and_the_second_is_quiet() {
    let machine = Machine::new("first");
    let first = machine.run("setup");
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(
        stderr(&first).contains("Building the plugin") && stderr(&first).contains("Ready"),
        "{}",
        stderr(&first)
    );
    assert!(first.stdout.is_empty());
    let second = machine.run("setup");
    assert!(second.status.success() && second.stderr.is_empty() && second.stdout.is_empty());
    assert_eq!(machine.plugin_builds(), 1);
    assert_eq!(std::fs::read_to_string(machine.backend()).unwrap(), "one");
    assert_eq!(machine.read("cache/lib/libschism_jit.so"), "one");
}

#[test]
fn a_changed_plugin_gets_another_path_and_the_old_one_back_its_own() {
    let machine = Machine::new("changed");
    let one = machine.backend();
    machine.write("checkout/codegen/lib.rs", "two");
    let two = machine.backend();
    assert_ne!(one, two);
    assert_eq!(std::fs::read_to_string(&two).unwrap(), "two");
    assert_eq!(std::fs::read_to_string(&one).unwrap(), "one");
    assert_eq!(machine.plugin_builds(), 2);
    // What was built once is found again by its contents, and a file that was only touched is not
    // built.
    machine.write("checkout/codegen/lib.rs", "one");
    assert_eq!(machine.backend(), one);
    assert_eq!(machine.plugin_builds(), 2);
    // A change that does not reach the plugin is built and gives the same path: no artifact is
    // stale for it.
    machine.write("checkout/runtime/hcf/lib.rs", "comment");
    assert_eq!(machine.backend(), one);
    assert_eq!(machine.plugin_builds(), 3);
}

#[test]
fn stage_2_is_followed_by_its_link() {
    let machine = Machine::new("link");
    let plugin = machine.backend();
    machine.write("checkout/passes/lib.rs", "two");
    assert_eq!(machine.backend(), plugin);
    assert_eq!(machine.read("cache/lib/libschism_jit.so"), "two");
    machine.write("checkout/passes/lib.rs", "one");
    machine.backend();
    assert_eq!(machine.read("cache/lib/libschism_jit.so"), "one");
}

#[test]
fn two_at_once_build_once() {
    let machine = Machine::new("two");
    let mut command = machine.schism("setup");
    let mut first = command.env("FAKE_SLEEP", "2").stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| machine.plugin_builds() == 1);
    let second = machine.run("setup");
    assert!(second.status.success());
    let said = stderr(&second);
    assert!(said.contains(&format!("Waiting for process {}", first.id())), "{said}");
    assert!(!said.contains("Building"), "{said}");
    assert!(first.wait().unwrap().success());
    assert_eq!(machine.plugin_builds(), 1);
}

#[test]
fn a_killed_set_up_is_taken_up_and_its_leftovers_go() {
    let machine = Machine::new("killed");
    let mut command = machine.schism("setup");
    let mut killed = command.env("FAKE_SLEEP", "2").stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| machine.plugin_builds() == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // As if it had been killed while it wrote its results.
    machine.write("cache/plugin/plugin-0123.draft-99/schism-rustc", "half");
    machine.write("cache/state/note.draft-99", "half");
    let plugin = machine.backend();
    assert_eq!(std::fs::read_to_string(plugin).unwrap(), "one");
    assert!(!machine.path("cache/plugin/plugin-0123.draft-99").exists());
    assert!(!machine.path("cache/state/note.draft-99").exists());
}

#[test]
fn what_is_lost_from_the_cache_is_made_again() {
    let machine = Machine::new("lost");
    let plugin = machine.backend();
    std::fs::remove_dir_all(plugin.parent().unwrap()).unwrap();
    assert_eq!(machine.backend(), plugin);
    assert!(plugin.is_file());
    let output = machine.run("clean");
    assert!(output.status.success() && !plugin.exists());
    assert_eq!(machine.backend(), plugin);
}

#[test]
fn a_build_that_fails_fails_the_set_up_and_installs_nothing() {
    let machine = Machine::new("failing");
    let output = machine.schism("build").env("FAKE_FAIL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("it is broken") && said.contains("building rustc_codegen_schism"),
        "{said}"
    );
    assert!(!machine.path("cache/plugin").exists());
    machine.backend();
}

#[test]
fn another_compiler_is_refused_with_the_command_that_helps() {
    let machine = Machine::new("compiler");
    // By rust-lang, and by a distribution.
    let debians = VERSION.replace("14)", "14) (built from a source tarball)");
    for (version, is) in [
        (VERSION, "(59807616e 2026-04-14) is not supported"),
        (&debians, "(59807616e 2026-04-14) (built from a source tarball) is not supported"),
    ] {
        machine.rustc_says(&version.replace("1.95.0", "1.94.0"));
        for verb in ["setup", "build", "doctor"] {
            let output = machine.run(verb);
            assert_eq!(output.status.code(), Some(1), "{verb}");
            let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
            // Which it is, which work, what to type: in one sentence.
            let first = format!("rustc 1.94.0 {is}; schism works with rustc 1.95, ");
            let sentence = said.lines().find(|line| line.contains(&first));
            let sentence = sentence.unwrap_or_else(|| panic!("{verb}: {said}"));
            assert!(
                sentence.contains(": `rustup toolchain install 1.95.0` installs one"),
                "{said}"
            );
        }
    }
}

#[test]
fn every_known_release_is_taken_with_a_line_that_says_how_far_it_was_tried() {
    let machine = Machine::new("releases");
    for (release, line) in [
        ("1.95.0", "rustc 1.95.0: all tests pass with it"),
        (
            "1.96.0",
            "rustc 1.96.0: two examples and four test programs pass with Debian's build of 1.96.1; rust-lang's was not tried",
        ),
        (
            "1.97.1",
            "rustc 1.97.1: two examples and four test programs pass with Debian's build of 1.97.1; rust-lang's was not tried",
        ),
        (
            "1.98.1",
            "rustc 1.98.1: two examples and four test programs pass with Debian's build of 1.98.1; rust-lang's was not tried",
        ),
    ] {
        machine.rustc_says(&VERSION.replace("1.95.0", release));
        let output = machine.run("setup");
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said.lines().filter(|said| said.trim() == format!("Compiler {line}")).count(),
            1,
            "{said}"
        );
        let again = machine.run("setup");
        assert!(again.status.success() && again.stderr.is_empty(), "{}", stderr(&again));
    }
}

#[test]
fn steps_are_counted_and_what_they_took_is_told() {
    let machine = Machine::new("timings");
    let first = machine.run("setup --timings");
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(stderr(&first).contains("Step 1 of 1: the plugin and stage 2"), "{}", stderr(&first));
    // A second one has nothing to do, and tells of the first.
    let second = machine.run("setup --timings");
    assert!(second.status.success() && second.stderr.is_empty());
    let told = String::from_utf8(second.stdout).unwrap();
    assert!(told.trim_end().ends_with(" s  the plugin and stage 2"), "{told}");
    assert_eq!(told.as_bytes(), first.stdout);
}

#[test]
fn a_newer_compiler_is_tried_and_one_sentence_says_what_works_if_that_fails() {
    let machine = Machine::new("newer");
    for release in ["1.99.0", "1.99.0-nightly", "1.98.0-beta.2"] {
        machine.rustc_says(&VERSION.replace("1.95.0", release));
        let failed = machine.schism("setup").env("FAKE_FAIL", "1").output().unwrap();
        assert_eq!(failed.status.code(), Some(1));
        let said = stderr(&failed);
        assert!(said.contains(&format!("rustc {release}: newer than 1.98")), "{said}");
        let errors: Vec<&str> =
            said.lines().filter(|line| line.starts_with("error: the plugin")).collect();
        let sentence = format!(
            "error: the plugin does not build for rustc {release} (59807616e 2026-04-14), as cargo's messages above say; \
             it works with rustc 1.95, 1.96, 1.97, 1.98: `rustup toolchain install 1.95.0`, then `cargo +1.95.0 schism setup`"
        );
        assert_eq!(errors, [sentence]);
        let output = machine.run("setup");
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn the_pinned_compiler_is_found_after_another_active_one() {
    let machine = Machine::new("after-another");
    std::fs::create_dir_all(machine.path("home/.rustup/toolchains")).unwrap();
    let pinned = machine.path("home/.rustup/toolchains/1.95.0-x86_64-unknown-linux-gnu");
    std::fs::rename(machine.path("toolchain"), pinned).unwrap();
    machine.write("toolchain/lib/librustc_driver-1.so", "");
    machine.rustc_says(&VERSION.replace("1.95.0", "1.94.0"));
    machine.write("home/.rustup/settings.toml", "");
    machine.script("toolchain/bin/cargo", "#!/bin/sh\nexit 1\n");
    machine.backend();
    let output = machine.run("run");
    assert!(output.status.success());
    // And it is said why.
    let said = stderr(&output);
    assert!(said.contains("rustc 1.95.0") && said.contains("as rustc 1.94.0"), "{said}");
    assert!(machine.read("log.env").contains("RUSTUP_TOOLCHAIN=1.95.0-x86_64-unknown-linux-gnu\n"));
}

#[test]
fn without_rustc_dev_everything_tried_is_listed() {
    let machine = Machine::new("rustc-dev");
    machine.without_rustc_dev();
    machine.write("path/x", "");
    std::os::unix::fs::symlink("/bin/cat", machine.path("path/cat")).unwrap();
    let mut command = machine.schism("setup");
    // No apt in that PATH.
    let output = command
        .env("PATH", machine.path("path"))
        .env("SCHISM_RUSTC_SRC", "/nonexistent/source.tar.xz")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    for part in [
        "the component: not installed",
        "rustup component add rustc-dev",
        "SCHISM_RUSTC_SRC: there is no /nonexistent/source.tar.xz",
        "the distribution's source package",
        "Any one of these helps",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(machine.plugin_builds(), 0);
}

#[test]
fn the_wrong_source_is_refused() {
    let machine = Machine::new("source");
    machine.without_rustc_dev();
    machine.write("source/Cargo.toml", "[workspace]\n");
    machine.write("source/git-commit-hash", "0123456789\n");
    let output =
        machine.schism("setup").env("SCHISM_RUSTC_SRC", machine.path("source")).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("commit 0123456789") && said.contains("59807616e1fa"), "{said}");
}

#[test]
fn a_source_that_was_changed_is_refused_before_anything_is_built_from_it() {
    let machine = Machine::new("changed-source");
    machine.without_rustc_dev();
    machine.write("rustc-src/Cargo.toml", "[workspace]\n");
    machine.write("rustc-src/Cargo.lock", "");
    machine.write("rustc-src/compiler/rustc/Cargo.toml", "");
    machine.write("rustc-src/library/proc_macro/Cargo.toml", "");
    machine.write("rustc-src/git-commit-hash", "59807616e1fa2540724bfbac14d7976d7e4a3860\n");
    let archive = machine.path("rustc-src.tar");
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&archive).arg("-C").arg(machine.path("")).arg("rustc-src");
    assert!(tar.status().unwrap().success());
    for source in [archive, machine.path("rustc-src")] {
        let output = machine.schism("setup").env("SCHISM_RUSTC_SRC", &source).output().unwrap();
        let said = stderr(&output);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(source.to_str().unwrap()) && said.contains("the digest "), "{said}");
        assert_eq!(machine.read("log"), "", "cargo was started");
    }
}

/// For a release whose digest is not pinned the file beside the archive has it.
#[test]
fn an_archive_with_another_digest_than_the_file_beside_it_is_refused() {
    let machine = Machine::new("other-sum");
    machine.without_rustc_dev();
    machine.rustc_says(&VERSION.replace("1.95.0", "1.97.1").replace("59807616e1", "0123456789"));
    machine.write("rustc-1.97.1-src.tar.xz", "not what was published");
    machine.write("rustc-1.97.1-src.tar.xz.sha256", &format!("{}  x\n", "0".repeat(64)));
    let archive = machine.path("rustc-1.97.1-src.tar.xz");
    let output = machine.schism("setup").env("SCHISM_RUSTC_SRC", &archive).output().unwrap();
    let said = stderr(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("SHA-256") && said.contains("nothing was built from it"), "{said}");
    assert!(!said.contains("Unpacking"), "{said}");
    assert_eq!(machine.read("log"), "", "cargo was started");
}

#[test]
fn what_is_built_is_what_the_lock_file_says() {
    let machine = Machine::new("locked");
    machine.backend();
    let builds = machine.read("log");
    let builds: Vec<&str> = builds.lines().filter(|line| line.starts_with("build ")).collect();
    assert_eq!(builds.len(), 1, "{builds:?}");
    assert!(builds.iter().all(|line| line.contains(" --locked ")), "{builds:?}");
}

#[test]
fn a_cache_that_cannot_be_written_says_so() {
    let machine = Machine::new("read-only");
    machine.write("cache", "a file where the directory should be");
    let output = machine.run("setup");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains(machine.path("cache").to_str().unwrap()),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let machine = Machine::new("lock");
    machine.write("cache/setup.lock", "4711");
    let lock = std::fs::File::open(machine.path("cache/setup.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = machine.schism("setup").stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("Waiting for process 4711"), "{said}");
    assert!(waiting.try_wait().unwrap().is_none());
    assert_eq!(machine.plugin_builds(), 0);
    lock.unlock().unwrap();
    assert!(waiting.wait().unwrap().success());
    assert_eq!(machine.plugin_builds(), 1);
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(30), "it did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is active in the user's folder is used, not the release that happens to be installed too.
#[test]
fn the_active_compiler_comes_before_rustups_other_ones() {
    let machine = Machine::new("active");
    std::fs::create_dir_all(machine.path("home/.rustup/toolchains")).unwrap();
    let other = machine.path("home/.rustup/toolchains/1.95.0-x86_64-unknown-linux-gnu");
    let status =
        Command::new("cp").arg("-R").args([machine.path("toolchain"), other]).status().unwrap();
    assert!(status.success());
    let before = machine.run("doctor");
    assert!(String::from_utf8_lossy(&before.stdout).contains("rustc 1.95.0"));
    machine.rustc_says(&VERSION.replace("1.95.0", "1.97.1"));
    let after = machine.run("doctor");
    let report = String::from_utf8_lossy(&after.stdout);
    assert!(report.contains("rustc 1.97.1"), "{report}");
    assert!(report.contains("releases that are known: 1.95"), "{report}");
}

/// The compiler of the user's folder: by rustup's own choice (rust-toolchain.toml, then what
/// RUSTUP_TOOLCHAIN says against it), or a distribution's in `PATH`. The rustup is the real one.
#[test]
fn rustup_or_the_path_chooses_the_compiler() {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = || std::env::split_paths(&paths);
    let Some(proxies) = folders().find(|folder| folder.join("rustup").is_file()) else {
        println!("skipped: there is no rustup");
        return;
    };
    let machine = Machine::new("chosen");
    let distributions = VERSION
        .replace("14)\nbinary", "14) (built from a source tarball)\nbinary")
        .replace("1.95.0", "1.97.1");
    machine.write("rustup/settings.toml", "version = \"12\"\n");
    for (name, version) in [("one", VERSION), ("two", &distributions)] {
        machine.toolchain_says(&format!("rustup/toolchains/{name}"), version);
    }
    machine.write("user/rust-toolchain.toml", "[toolchain]\nchannel = \"one\"\n");
    let doctor = |cargo: &Path, paths: &[&Path], variables: &[(&str, &str)]| {
        let ours = Path::new(env!("CARGO_BIN_EXE_cargo-schism")).parent().unwrap();
        let system = ["/usr/bin", "/bin"].map(Path::new);
        let paths = paths.iter().copied().chain([ours]).chain(system);
        let output = Command::new(cargo)
            .args(["schism", "doctor"])
            .current_dir(machine.path("user"))
            .env_clear()
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("HOME", machine.path("home"))
            .env("RUSTUP_HOME", machine.path("rustup"))
            .env("SCHISM_HOME", machine.path("cache"))
            .env("SCHISM_WORKSPACE", machine.path("checkout"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let report =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        report.into_owned()
    };
    let proxy = proxies.join("cargo");
    let uses = |report: &str, release: &str, toolchain: &str| {
        let rustc = machine.path(toolchain).join("bin/rustc");
        assert!(report.contains(&format!("rustc {release} ")), "{report}");
        assert!(report.contains(rustc.to_str().unwrap()), "{report}");
    };
    uses(&doctor(&proxy, &[&proxies], &[]), "1.95.0", "rustup/toolchains/one");
    let other = [("RUSTUP_TOOLCHAIN", "two")];
    uses(&doctor(&proxy, &[&proxies], &other), "1.97.1", "rustup/toolchains/two");
    machine.write("user/rust-toolchain.toml", "[toolchain]\nchannel = \"two\"\n");
    uses(&doctor(&proxy, &[&proxies], &[]), "1.97.1", "rustup/toolchains/two");
    machine.toolchain_says("usr", &distributions);
    let bin = machine.path("usr/bin");
    uses(&doctor(&bin.join("cargo"), &[&bin], &[]), "1.97.1", "usr");
}

/// The plugin of one compiler is not the other's: each has its own place, and both stay.
#[test]
fn each_compiler_has_a_plugin_of_its_own() {
    let machine = Machine::new("two-compilers");
    let set_up = || machine.run("setup").status.success();
    assert!(set_up());
    let built = machine.plugin_builds();
    machine.rustc_says(&VERSION.replace("1.95.0", "1.97.1"));
    assert!(set_up());
    assert_eq!(machine.plugin_builds(), built + 1);
    machine.rustc_says(VERSION);
    assert!(set_up());
    machine.rustc_says(&VERSION.replace("1.95.0", "1.97.1"));
    assert!(set_up());
    assert_eq!(machine.plugin_builds(), built + 1, "both are found again");
}
