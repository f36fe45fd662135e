//! Cargo's verbs under `cargo schism`: what reaches cargo, and what does not.

use schism_cache::{Folder, Key, Value};

use crate::machine::{Machine, stderr};

fn variable(machine: &Machine, name: &str) -> Option<String> {
    let environment = machine.read("log.env");
    environment
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .map(str::to_owned)
}

#[test]
fn cargo_gets_its_arguments_and_the_compiler_and_no_flags() {
    let machine = Machine::new("verb");
    let line = "run --release --example x -p y --features a,b -- --flag";
    let output = machine.run(line);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(machine.read("log").lines().last(), Some(line));
    let plugin = machine.backend();
    let driver = plugin.with_file_name("schism-rustc");
    assert_eq!(variable(&machine, "RUSTC").as_deref(), driver.to_str());
    // Documentation tests are compiled by it, too.
    let rustdoc = plugin.with_file_name("schism-rustdoc");
    assert_eq!(variable(&machine, "RUSTDOC").as_deref(), rustdoc.to_str());
    assert!(variable(&machine, "SCHISM_JIT").unwrap().ends_with("/libschism_jit.so"));
    for absent in
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_BOOTSTRAP", "CARGO", "RUSTC_WRAPPER"]
    {
        assert_eq!(variable(&machine, absent), None, "{absent}");
    }
    assert_eq!(machine.read("log.pwd").trim(), machine.path("user").to_str().unwrap());
}

/// `SCHISM_WORKSPACE` names the source of the runtime that parallel iterators run with, and of what
/// takes the place of rayon's functions.
#[test]
fn stdpar_takes_the_runtime_of_the_workspace() {
    let machine = Machine::new("stdpar");
    let library = || {
        let output = machine.run("build --stdpar");
        assert!(output.status.success(), "{}", stderr(&output));
        let library = variable(&machine, "SCHISM_STDPAR_LIBRARY").expect("a folder");
        let source = std::fs::read_to_string(format!("{library}/src/lib.rs"));
        (library, source.expect("the source of the replacement"))
    };
    let builds = || machine.read("log").matches("--package schism --lib").count();
    machine.write("checkout/runtime/stdpar/src/lib.rs", "one");
    let (first, source) = library();
    assert_eq!((source.as_str(), builds()), ("one", 1));
    assert_eq!(variable(&machine, "SCHISM_STDPAR_BUILD").as_deref(), Some("on"));
    assert_eq!(library().0, first);
    assert_eq!(builds(), 1);
    machine.write("checkout/runtime/stdpar/src/lib.rs", "two");
    let (second, source) = library();
    assert_eq!((source.as_str(), builds()), ("two", 2));
    assert_ne!(first, second);
    // Neither builds the plugin again: it has nothing of them.
    assert_eq!(machine.plugin_builds(), 1);
}

#[test]
fn the_users_own_settings_stay() {
    let machine = Machine::new("settings");
    let own = [
        // Cargo says that there is none.
        ("RUSTC_WRAPPER", "no-such-wrapper"),
        ("RUSTFLAGS", "-g"),
        ("CARGO_TARGET_DIR", "/t"),
        ("SCHISM_JIT", "/j.so"),
        ("RUSTDOC", "/d"),
    ];
    assert!(machine.schism("test").envs(own).output().unwrap().status.success());
    for (name, value) in own {
        assert_eq!(variable(&machine, name).as_deref(), Some(value), "{name}");
    }
}

/// A wrapper that knows the compiler stays; one that refuses it is named, and left out, whatever
/// names it.
#[test]
fn a_wrapper_that_refuses_the_compiler_is_left_out() {
    let machine = Machine::new("wrapper");
    machine.script("bin/takes", "#!/bin/sh\ncase \"$2\" in -vV) echo schism: 1;; esac\n");
    machine.script(
        "bin/refuses",
        "#!/bin/sh\necho failed >&2; echo 'cause: not supported' >&2; exit 2\n",
    );
    let with = |variable: &str, wrapper: &str| {
        let wrapper = machine.path(wrapper);
        let output = machine.schism("build").env(variable, &wrapper).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        (stderr(&output), wrapper.display().to_string())
    };
    let (said, wrapper) = with("RUSTC_WRAPPER", "bin/takes");
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(variable(&machine, "RUSTC_WRAPPER"), Some(wrapper));
    for (named_by, kind) in [
        ("RUSTC_WRAPPER", "RUSTC_WRAPPER"),
        ("RUSTC_WORKSPACE_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"),
        ("CARGO_BUILD_RUSTC_WRAPPER", "RUSTC_WRAPPER"),
    ] {
        let (said, wrapper) = with(named_by, "bin/refuses");
        for part in [named_by, &wrapper, "cannot run schism's compiler", "cause: not supported"] {
            assert!(said.contains(part), "`{part}` is not said: {said}");
        }
        assert_eq!(variable(&machine, kind).as_deref(), Some(""));
    }
    machine.write("user/.cargo/config.toml", "[build]\nrustc-wrapper = \"../bin/refuses\"\n");
    let output = machine.run("build");
    assert!(stderr(&output).contains("`build.rustc-wrapper` in "), "{}", stderr(&output));
    assert_eq!(variable(&machine, "RUSTC_WRAPPER").as_deref(), Some(""));
}

/// A wrapper that knows compilers by their file names runs the driver by the name of the usual one,
/// and is told which plugin it is.
#[test]
fn a_wrapper_that_knows_names_of_compilers_runs_the_driver() {
    let machine = Machine::new("names");
    machine.script(
        "bin/names",
        "#!/bin/sh\ncase \"$1\" in */rustc) echo schism: 1; exit;; esac\necho 'Compiler not supported' >&2; exit 2\n",
    );
    machine.run("build");
    assert_eq!(variable(&machine, "CARGO_SCHISM_COMPILER"), None);
    let wrapper = machine.path("bin/names");
    let output = machine.schism("build").env("RUSTC_WRAPPER", &wrapper).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
    assert_eq!(variable(&machine, "RUSTC_WRAPPER"), Some(wrapper.display().to_string()));
    let plugin = machine.backend();
    let folder = plugin.parent().unwrap();
    let driver = folder.join("rustc").display().to_string();
    assert_eq!(variable(&machine, "RUSTC"), Some(driver));
    let hash = folder.file_name().unwrap().to_str().unwrap().strip_prefix("plugin-");
    assert_eq!(variable(&machine, "CARGO_SCHISM_COMPILER").as_deref(), hash);
}

/// A bundle without any code for devices is refused before cargo builds.
#[test]
fn a_bundle_for_no_device_is_refused_at_once() {
    let machine = Machine::new("bundle");
    machine.backend();
    let output = machine.run("bundle --release");
    assert!(!output.status.success());
    assert!(stderr(&output).contains("--targets host,ptx:sm_80"), "{}", stderr(&output));
    assert!(!machine.read("log").contains("json-render-diagnostics"), "{}", machine.read("log"));
}

/// What removes takes no other home for one that cannot be used.
#[test]
fn a_home_that_is_passed_over_is_not_replaced_to_clean() {
    let machine = Machine::new("clean");
    machine.write("home/.cache/schism/state/kept", "");
    for home in ["relative", "./here"] {
        let output = machine.schism("clean").env("SCHISM_HOME", home).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(home) && said.contains("Nothing was removed"), "{said}");
        assert!(machine.path("home/.cache/schism/state/kept").is_file());
    }
    // A folder with nothing of schism's stays as it is.
    let output = machine.schism("clean").env("SCHISM_HOME", machine.path("user")).output().unwrap();
    assert!(output.status.success() && stderr(&output).contains("Nothing"), "{}", stderr(&output));
    assert!(!machine.path("user/setup.lock").exists());
}

#[test]
fn an_outer_cargo_run_leaves_no_trace() {
    let machine = Machine::new("outer");
    let mut command = machine.schism("build");
    command
        .env("CARGO_PKG_NAME", "cargo-schism")
        .env("CARGO_PKG_VERSION", "0.1.0")
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_MANIFEST_PATH", "x")
        .env("RUST_RECURSION_COUNT", "3")
        .env("CARGO_HOME", "/kept")
        .env("LD_LIBRARY_PATH", format!("{}:/kept", machine.path("toolchain/lib").display()));
    assert!(command.output().unwrap().status.success());
    let environment = machine.read("log.env");
    for absent in [
        "CARGO_PKG_NAME",
        "CARGO_PKG_VERSION",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "RUST_RECURSION_COUNT",
    ] {
        assert!(!environment.contains(absent), "{absent}");
    }
    assert_eq!(variable(&machine, "CARGO_HOME").as_deref(), Some("/kept"));
    assert_eq!(variable(&machine, "LD_LIBRARY_PATH").as_deref(), Some("/kept"));
}

#[test]
fn another_packages_variables_are_not_ours_to_remove() {
    let machine = Machine::new("other");
    assert!(
        machine
            .schism("build")
            .env("CARGO_PKG_NAME", "theirs")
            .env("LD_LIBRARY_PATH", "/theirs")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(variable(&machine, "CARGO_PKG_NAME").as_deref(), Some("theirs"));
    assert_eq!(variable(&machine, "LD_LIBRARY_PATH").as_deref(), Some("/theirs"));
}

#[test]
fn the_exit_code_is_cargos() {
    let machine = Machine::new("exit");
    assert_eq!(
        machine.schism("run").env("FAKE_EXIT", "42").output().unwrap().status.code(),
        Some(42)
    );
}

#[test]
fn verbs_that_generate_no_code_use_the_plain_compiler_and_set_nothing_up() {
    let machine = Machine::new("plain");
    for verb in ["clippy --all-targets", "doc", "build --help"] {
        assert!(machine.run(verb).status.success());
        assert_eq!(machine.read("log").lines().last(), Some(verb));
        assert_eq!(variable(&machine, "RUSTC"), None);
    }
    assert!(!machine.path("cache").exists());
}

#[test]
fn help_for_a_verb_shows_schisms_own_options_before_cargos() {
    let machine = Machine::new("help");
    let said = |words: &str| {
        let output = machine.run(words);
        assert!(output.status.success(), "{words}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    for verb in ["build", "run", "test", "check", "rustc", "install", "bench", "nextest"] {
        let own = said(&format!("{verb} --help"));
        assert!(own.contains("--targets LIST") && own.contains("SCHISM_WARN"), "{verb}: {own}");
        assert_eq!(machine.read("log").lines().last(), Some(&*format!("{verb} --help")));
    }
    let asked = machine.read("log");
    for (words, option) in [
        ("emit --help", "--kernel NAME"),
        ("emit ptx -h", "--arch NAME"),
        ("bundle --help", "--jit"),
        ("hcf --help", "--extract IMAGE"),
        ("llvm-to-ptx --help", "llvm-to-ptx FILE"),
        ("llvm-to-spirv --help", "llvm-to-spirv FILE"),
        ("llvm-to-amdgcn --help", "llvm-to-amdgcn FILE"),
        ("cache --help", "cache verify"),
        ("setup --help", "get everything ready"),
        ("help emit", "--kernel NAME"),
    ] {
        let own = said(words);
        assert!(own.contains(option) && !own.contains("doctor"), "{words}: {own}");
    }
    assert_eq!(machine.read("log"), asked, "cargo has nothing to say of these");
    assert!(!machine.path("cache").exists());
}

#[test]
fn a_trace_shows_what_is_started() {
    let machine = Machine::new("trace");
    let output = machine.schism("doc --no-deps").env("SCHISM_TRACE", "1").output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    for part in ["found the compiler", "toolchain/bin/cargo doc --no-deps"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(stderr(&machine.run("doc")), "");
}

#[test]
fn bench_is_cargos_with_the_compiler() {
    let machine = Machine::new("bench");
    assert!(machine.run("bench my_benchmark --quiet").status.success());
    assert_eq!(machine.read("log").lines().last(), Some("bench my_benchmark --quiet"));
    assert!(variable(&machine, "RUSTC").is_some());
}

#[test]
fn kept_kernels_are_counted_checked_and_removed() {
    let machine = Machine::new("kept");
    let ask = |words: &str| {
        let output = machine.run(words);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = ask("cache");
    assert!(code == Some(0) && said.contains("cache/kernels: nothing is kept yet"), "{said}");
    let folder = Folder::open(&machine.path("cache/kernels"), 1 << 20).unwrap();
    let key = |number| Key::builder("test").number("number", number).finish();
    for number in 0..3 {
        folder.write(&key(number), &Value { meta: vec![1], bytes: vec![2; 100] }).unwrap();
    }
    let (code, said) = ask("cache info");
    assert!(code == Some(0) && said.contains("3 entries, 12.3 kB"), "{said}");
    assert!(ask("cache verify").1.contains("3 entries intact, 0 not"));
    std::fs::write(folder.entry(&key(1)), "nonsense").unwrap();
    let (code, said) = ask("cache verify");
    assert!(code == Some(1) && said.contains("2 entries intact, 1 not"), "{said}");
    assert!(said.contains(&key(1).to_string()) && said.contains("is damaged"), "{said}");
    assert!(ask("cache clear").1.contains("removed 3 entries"));
    assert!(ask("cache").1.contains("0 entries"));
    assert_eq!(ask("cache empty").0, Some(2));
    let off = machine.schism("cache").env("SCHISM_CACHE", "0").output().unwrap();
    assert!(String::from_utf8(off.stdout).unwrap().contains("SCHISM_CACHE is 0"));
}

#[test]
fn a_users_flags_do_not_reach_the_plugins_build() {
    let machine = Machine::new("isolated");
    // The fake cargo writes its environment down for packages that it does not know.
    machine.write("checkout/codegen/lib.rs", "one");
    let script = machine
        .read("toolchain/bin/cargo")
        .replace("packages=; target=", "env >\"$FAKE_LOG.all\"; packages=; target=");
    machine.write("toolchain/bin/cargo", &script);
    let mut command = machine.schism("setup");
    command
        .env("RUSTFLAGS", "-Cdebuginfo=2")
        .env("CARGO_BUILD_TARGET", "wasm32-wasip1")
        .env("RUSTC_BOOTSTRAP", "1");
    assert!(command.output().unwrap().status.success());
    let environment = machine.read("log.all");
    assert!(!environment.contains("debuginfo") && !environment.contains("wasm32"), "{environment}");
    assert!(
        environment.contains("RUSTC_BOOTSTRAP=rustc_codegen_schism,schism_rustc\n"),
        "{environment}"
    );
    assert!(environment.contains("-Clink-arg=-Wl,-rpath,$ORIGIN"), "{environment}");
}

#[test]
fn doctor_fails_until_set_up_is_done_and_says_what_to_do() {
    let machine = Machine::new("doctor");
    let output = machine.run("doctor");
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("rustc 1.95.0") && report.contains("rustup's component"), "{report}");
    assert!(
        report.contains("plugin     MISSING OR BROKEN") && report.contains("cargo schism setup"),
        "{report}"
    );
    assert!(!machine.path("cache").exists());
}

#[test]
fn usage_errors_have_their_own_exit_code() {
    let machine = Machine::new("usage");
    let output = machine.run("frobnicate");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("frobnicate") && output.stdout.is_empty());
    let help = machine.run("--help");
    assert!(
        help.status.success() && String::from_utf8_lossy(&help.stdout).contains("SCHISM_RUSTC_SRC")
    );
}

#[test]
fn a_profile_is_of_the_program_and_its_children() {
    let machine = Machine::new("profile");
    // Two processes, which write as programs with kernels do.
    let event = |took: u32| {
        format!(
            r#"[{{"name":"process_name","ph":"M","pid":9,"tid":0,"args":{{"name":"cpu"}}}},
            {{"name":"kernel","cat":"kernel","ph":"X","pid":9,"tid":1,"ts":1.0,"dur":{took}.0,"args":{{"items":5}}}}]"#
        )
    };
    machine.write("one", &event(1000));
    machine.write("other", &event(3000));
    machine.script(
        "bin/program",
        "#!/bin/sh\nfolder=${SCHISM_TIMELINE%/*}\ncp \"$1\" \"$folder/1.json\"\n\
         cp \"$2\" \"$folder/2.json\"\necho \"$SCHISM_JIT $3\"\nexit $4\n",
    );
    let program = machine.path("bin/program");
    let (one, other) = (machine.path("one"), machine.path("other"));
    let profile = |options: &[&str], code: &str| {
        let mut command = machine.schism("profile");
        command.args(options).arg(&program).arg("--").args([&one, &other]);
        command.args(["--json", code]).output().expect("it runs")
    };
    let output = profile(&[], "0");
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let row: Vec<&str> = table.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(row, ["kernel", "cpu", "2", "4.0", "ms", "2.0", "ms", "100.0", "%"], "{table}");
    // The program's output is elsewhere, and its arguments are its own.
    assert!(stderr(&output).contains("libschism_jit.so --json"), "{}", stderr(&output));

    let bars = machine.path("bars.svg");
    let output = profile(&["--json", "--svg", bars.to_str().expect("text")], "5");
    assert_eq!(output.status.code(), Some(5), "that of the program");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"total_us\": 4000.0"));
    assert!(machine.read("bars.svg").contains("kernel on cpu: 4.0 ms, 100.0 %"));

    // What is no timeline, and what is no program.
    machine.write("other", "[1,");
    let output = profile(&[], "0");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("2.json: is no timeline"), "{}", stderr(&output));
    let output = machine.run("profile /nowhere/program");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot start `/nowhere/program`"), "{}", stderr(&output));
    for wrong in ["profile x y", "profile x --release", "profile --test x", "profile --svg"] {
        assert_eq!(machine.run(wrong).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn machine_code_needs_an_assembler_that_is_there() {
    let machine = Machine::new("machine-code");
    let build = |assembler: &str| {
        let mut build = machine.schism("build --targets host,sass:sm_90");
        build.env("SCHISM_PTXAS", assembler).output().unwrap()
    };
    let output = build("/nowhere/ptxas");
    let said = stderr(&output);
    assert!(!output.status.success(), "{said}");
    let reason = "which ptxas makes: SCHISM_PTXAS is `/nowhere/ptxas`, which is no file";
    assert!(said.contains(reason) && said.contains("`ptx:` needs no ptxas"), "{said}");
    // Any file will do here: nothing is assembled.
    let output = build("/bin/sh");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(variable(&machine, "SCHISM_TARGETS").as_deref(), Some("host,sass:sm_90"));
    assert_eq!(variable(&machine, "SCHISM_PTXAS").as_deref(), Some("/bin/sh"));
    // Other targets need none.
    let mut build = machine.schism("build --targets ptx:sm_90");
    let output = build.env("SCHISM_PTXAS", "/nowhere/ptxas").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}
