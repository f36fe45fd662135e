//! Programs unchanged, beside the same programs by plain rustc; the options, and what is said.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use schism_tests::lab::{self, Compiler, Lab, clean_command, output, text};
use schism_tests::rayon_programs::{
    EXPLAINED, MANIFEST, Program, Programs, build, build_in, build_with, explain, fake_driver,
    kernels, name_of, named, project, project_with, run_in, target, traced,
};

/// A project's program that [`build`] has built, on the device `cpu`.
fn run(folder: &Path, profile: &str, variables: &[(&str, &str)]) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stdpar-target").join("schism");
    run_in(&target, name_of(folder), profile, variables)
}

#[test]
fn results_are_rayons() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("results");
    program.expect_no_warning();
    let expected = text(&mut program.by_rustc());
    for profile in ["release", "debug"] {
        let traced_with =
            |setting| traced(&mut program.run(profile, &[("SCHISM_STDPAR", setting)]));
        let (found, launches) = traced_with("always");
        assert_eq!(found, expected, "{profile}");
        // Most of twenty pipelines, for four lengths, and those of the threads.
        assert!(launches > 300, "{launches}");
        assert_eq!(traced_with("never"), (expected.clone(), 0));
        let found = text(&mut program.run(profile, &[("SCHISM_STDPAR", "auto")]));
        assert_eq!(found, expected, "{profile}");
        // Where there is no such device, all is as ever.
        let native = [("SCHISM_STDPAR", "always"), ("SCHISM_DEVICE", "native")];
        assert_eq!(text(&mut program.run(profile, &native)), expected);
        let unknown = [("SCHISM_STDPAR", "always"), ("SCHISM_DEVICE", "banana")];
        assert_eq!(text(&mut program.run(profile, &unknown)), expected);
    }
    // A process ends while its background thread compiles. More processes than processors make
    // that likely.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let found = text(&mut program.run("release", &[("SCHISM_STDPAR", "auto")]));
                    assert_eq!(found, expected);
                }
            });
        }
    });
}

/// Compares a program by plain rustc with the same by `--stdpar`, for each setting, and returns how
/// many launches `always` makes.
fn compare(program: &Program) -> usize {
    program.expect_no_warning();
    let expected = text(&mut program.by_rustc());
    let traced_with = |setting| traced(&mut program.run("release", &[("SCHISM_STDPAR", setting)]));
    let (found, launches) = traced_with("always");
    assert_eq!(found, expected);
    assert_eq!(traced_with("never"), (expected.clone(), 0));
    let found = text(&mut program.run("release", &[("SCHISM_STDPAR", "auto")]));
    assert_eq!(found, expected);
    launches
}

/// The same for a program with the newest rayon, and with the oldest if cargo can fetch it.
fn compare_with_each_rayon(lab: &'static Lab, name: &str) -> impl Iterator<Item = usize> {
    let of_all = [Some(Programs::newest(lab)), Programs::oldest(lab)].into_iter().flatten();
    of_all.map(move |programs| compare(&programs.program(name)))
}

#[test]
fn unindexed_pipelines_are_kernels() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    for launches in compare_with_each_rayon(lab, "unindexed") {
        // Most of thirty pipelines, for those of six sizes that can be split.
        assert!(launches > 45, "{launches}");
    }
}

#[test]
fn pipelines_in_others_are_kernels_too() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = compare(&Programs::newest(lab).program("nested"));
    // Of 27 pipelines, for three sizes with much to do, and of those in them.
    assert!(launches > 500, "{launches}");
}

/// Items are computed several at once, in a given number of lanes or in none, with the same
/// results.
#[test]
fn items_are_computed_several_at_once() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("lanes");
    let launches = compare(&program);
    // Most of fifty pipelines, for seven lengths.
    assert!(launches > 120, "{launches}");
    let run_with = |lanes| {
        let variables = [("SCHISM_STDPAR", "always"), ("SCHISM_CPU_LANES", lanes)];
        text(&mut program.run("release", &variables))
    };
    let expected = run_with("off");
    for lanes in ["4", "8", "16", "32"] {
        assert_eq!(run_with(lanes), expected, "{lanes} lanes");
    }
    // Loops of iterations are among what is vectorised.
    let variables =
        [("SCHISM_STDPAR", "always"), ("SCHISM_TIME_PASSES", "1"), ("SCHISM_CACHE", "0")];
    let ran = output(&mut program.run("release", &variables));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let vectorised = said.lines().filter(|line| line.contains(": vectorised: ")).count();
    assert!(vectorised > 10, "{said}");
}

#[test]
fn sorts_are_kernels() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    for launches in compare_with_each_rayon(lab, "sorts") {
        // Most of a dozen sorts, for nine lengths, and the pipelines of the cached keys.
        assert!(launches > 80, "{launches}");
    }
}

/// Sorts compare an element in several threads at a time; rayon's do not.
#[test]
fn sorts_of_what_is_for_one_thread_at_a_time_stay_with_rayon() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("unshared");
    compare(&program);
    let always = [("SCHISM_STDPAR", "always"), ("SCHISM_TRACE", "1")];
    let ran = output(&mut program.run("release", &always));
    let trace = String::from_utf8_lossy(&ran.stderr).into_owned();
    // Pipelines inside of rayon's sorts may be kernels.
    let mut launched = trace.lines().filter(|line| line.contains(" pieces on `cpu`"));
    assert!(launched.all(|line| line.contains(": rayon::")), "{trace}");
}

/// What is left of the longer of two that are zipped is dropped, too.
#[test]
fn each_item_is_dropped_once() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = compare(&Programs::newest(lab).program("dropped"));
    // Most of seventeen pipelines, for four lengths.
    assert!(launches > 40, "{launches}");
}

/// Whatever way a program ends in, it does not wait for a kernel that is being compiled, in the
/// background or for a launch of another thread. That takes many times [`LIMIT`].
#[test]
fn the_end_of_a_program_waits_for_no_compilation() {
    const LIMIT: Duration = Duration::from_secs(4);
    const ABORTED: i32 = 6;
    const TERMINATED: i32 = 15;
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let ending = Programs::newest(lab).program("ending");
    let cache = lab.folder("stdpar-ending-cache");
    // In different moments of the compilation, and while the kernel runs. `auto` begins to compile after
    // some seconds only. The last one finds a compiled kernel.
    let times = if lab::full() { 50 } else { 1 };
    for (setting, moments, doing) in [
        ("always", &["0", "5", "30", "250"][..], "compiling"),
        ("auto", &["40"], "compiling"),
        ("always", &["0", "3"], "launching"),
    ] {
        for (way, code, signal) in [
            ("return", Some(0), None),
            ("exit", Some(3), None),
            ("exit elsewhere", Some(4), None),
            ("panic", Some(101), None),
            ("abort", None, Some(ABORTED)),
            ("fork", Some(7), None),
            ("signal", None, Some(TERMINATED)),
        ] {
            let mut slowest = Duration::ZERO;
            for later in moments.iter().cycle().take(moments.len() * times) {
                // A compilation that is cut leaves nothing to the next one.
                let home = cache.join(doing);
                let home = home.to_str().expect("a path in Unicode");
                let variables = [("SCHISM_STDPAR", setting), ("SCHISM_CACHE_DIR", home)];
                let mut program = ending.run("release", &variables);
                program.args([way, later, doing]).stdout(Stdio::piped()).stderr(Stdio::null());
                let mut program = program.spawn().expect("it starts");
                let mut said = String::new();
                let stdout = program.stdout.take().expect("a pipe");
                BufReader::new(stdout).read_line(&mut said).expect("a line");
                assert_eq!(said, format!("{doing}\n"), "{setting}, {way}, {later}");
                let begin = Instant::now();
                if way == "signal" {
                    let id = program.id().to_string();
                    assert!(Command::new("kill").arg(id).status().expect("it runs").success());
                }
                let ended = loop {
                    if let Some(ended) = program.try_wait().expect("our own child") {
                        break ended;
                    }
                    if begin.elapsed() > LIMIT {
                        program.kill().expect("our own child");
                        panic!("{setting}, {way}, {later}: it does not end");
                    }
                    std::thread::sleep(Duration::from_millis(1));
                };
                slowest = slowest.max(begin.elapsed());
                assert_eq!(
                    (ended.code(), ended.signal()),
                    (code, signal),
                    "{setting}, {way}, {later}"
                );
            }
            println!("{setting}, {doing}, {way}: the slowest of them took {slowest:?}");
        }
    }
    // Nothing that was cut has left a file behind.
    let mut folders = vec![cache];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("writing-"), "{}", entry.path().display());
        }
    }
}

/// A program with many kernels has a large container, and what reads it while the device is looked
/// for requests large blocks itself.
#[test]
fn the_device_is_found_while_the_heap_is_shared() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("sorts");
    let expected = text(&mut program.run("release", &[("SCHISM_STDPAR", "never")]));
    // Nothing is launched, since no memory can be registered.
    let driver = fake_driver(lab);
    let variables = [
        ("SCHISM_STDPAR", "always"),
        ("SCHISM_CUDA", driver.to_str().expect("a path in Unicode")),
        ("SCHISM_DEVICE", "cuda"),
        ("FAKE_CUDA_FAULTS", "cuMemHostRegister_v2:*=2"),
    ];
    assert_eq!(text(&mut program.run("release", &variables)), expected);
}

#[test]
fn demonstrations_of_rayon_give_the_same() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = compare(&Programs::newest(lab).program("demos"));
    assert!(launches > 30, "{launches}");
}

#[test]
fn each_pipeline_is_explained() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            let doubled: Vec<usize> = (0..1000_usize).into_par_iter().map(|i| 2 * i).collect();
            let texts: Vec<String> = doubled.par_iter().map(|i| format!("{i:?}")).collect();
            doubled.par_iter().for_each(|i| println!("{i}"));
            let text = texts.concat();
            println!("{}", text.par_lines().map(|line| line.len()).sum::<usize>());
            let mut doubled = doubled;
            doubled.par_sort_by(|a, b| b.cmp(a));
            let mut texts = texts;
            texts.par_sort_by(|a, b| b.cmp(a));
        }
    "#;
    let folder = project(lab, "stdpar-explain", program);
    let said = explain(lab, &folder, &[]);
    let notes: Vec<&str> =
        said.split("note: ").filter(|note| note.starts_with("this parallel")).collect();
    let line = |number: usize, what: &str| {
        let place = format!("src/main.rs:{number}:");
        assert!(
            notes.iter().any(|note| note.starts_with(what) && note.contains(&place)),
            "line {number}, {what}: {said}"
        );
    };
    line(5, "this parallel iterator becomes a kernel");
    line(6, "this parallel iterator becomes a kernel on `cpu` only");
    line(7, "this parallel iterator becomes a kernel on `cpu` only");
    line(9, "this parallel iterator");
    line(11, "this parallel sort becomes a kernel");
    line(13, "this parallel sort stays with rayon: its elements are dropped");
    // What rayon's own sorts do inside is not told.
    assert!(!notes.iter().any(|note| note.contains("iterator") && note.contains("par_sort")));
}

/// A library that is also for programs in other languages has bodies for kernels, and pipelines in
/// its generic functions are told of where they stand, each instance by its types.
#[test]
fn pipelines_of_dependencies_are_explained_at_their_places() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let library = "\
use rayon::prelude::*;
pub fn roots<T: Into<f64> + Copy + Sync>(v: &[T]) -> f64 { v.par_iter().map(|&x| x.into().sqrt()).sum() }
pub fn texts<T: Into<f64> + Copy + Sync>(v: &[T]) -> usize {
    v.par_iter().map(|&x| format!(\"{}\", x.into()).len()).sum()
}
#[inline(never)]
pub fn half(x: f64) -> f64 { x / 2.0 }
";
    let program = "\
use rayon::prelude::*;
fn main() {
    let v = vec![1.0_f32; 4096];
    println!(\"{} {}\", library::roots(&v), library::texts(&v));
    println!(\"{}\", library::roots(&vec![4_u32; 4096]));
    println!(\"{}\", v.par_iter().map(|x| library::half(f64::from(*x))).sum::<f64>());
}
";
    let manifest =
        MANIFEST.replace("[workspace]", "library = { path = \"library\" }\n\n[workspace]");
    let of_library = "[package]\nname = \"library\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                      [lib]\ncrate-type = [\"lib\", \"cdylib\"]\n[dependencies]\nrayon = \"1\"\n";
    let folder = lab.folder("stdpar-places");
    lab.project(
        &folder,
        &[
            ("Cargo.toml", &named(&folder, &manifest)),
            ("src/main.rs", program),
            ("library/Cargo.toml", of_library),
            ("library/src/lib.rs", library),
        ],
    );
    let said = explain(lab, &folder, &["--release"]);
    let notes: Vec<&str> =
        said.split("note: ").filter(|note| note.starts_with("this parallel")).collect();
    for (what, instance, place) in [
        ("becomes a kernel", "library::roots::<f32>", "library/src/lib.rs:2:"),
        ("becomes a kernel", "library::roots::<u32>", "library/src/lib.rs:2:"),
        ("becomes a kernel on `cpu` only", "library::texts::<f32>", "library/src/lib.rs:4:"),
        ("becomes a kernel", "", "src/main.rs:6:"),
    ] {
        let begin = format!("this parallel iterator {what}");
        let is_it = |note: &&&str| {
            note.starts_with(&begin) && note.contains(instance) && note.contains(place)
        };
        assert_eq!(notes.iter().filter(is_it).count(), 1, "{what}, {instance}: {said}");
    }
    let expected = "4096 4096\n8192\n2048\n";
    let always = [("SCHISM_STDPAR", "always")];
    let mut program = run_in(&target(lab, EXPLAINED), name_of(&folder), "release", &always);
    assert_eq!(text(&mut program), expected);
    assert_eq!(kernels(&mut program), 4);
}

#[test]
fn a_program_that_aborts_is_told_that_it_has_no_kernels() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = "use rayon::prelude::*;
        fn main() { println!(\"{}\", (0..4096_u64).into_par_iter().map(|x| x ^ (x >> 3)).sum::<u64>()) }";
    let manifest = format!("{MANIFEST}\n[profile.dev]\npanic = \"abort\"\n");
    let folder = project_with(lab, "stdpar-aborts", program, &manifest);
    let said = explain(lab, &folder, &[]);
    assert_eq!(said.matches("because of `panic = \"abort\"`").count(), 1, "{said}");
    let said = build(lab, &folder, &["--stdpar"]);
    assert!(!said.contains("panic ="), "{said}");
}

#[test]
fn without_the_option_nothing_changes() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            println!("{}", (0..1000_u64).into_par_iter().map(|i| i ^ (i >> 3)).sum::<u64>());
        }
    "#;
    let folder = project(lab, "stdpar-without", program);
    let target = folder.join("target");
    // What is taken over from the build before is compared with what it would be now.
    let verify = [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", "-Zincremental-verify-ich")];
    let build = |arguments: &[&str]| {
        build_with(&target, lab, &folder, arguments, &verify);
        let program = target.join("debug").join(name_of(&folder));
        std::fs::read(program).expect("a program that was built")
    };
    let before = build(&[]);
    assert_ne!(build(&["--stdpar"]), before);
    assert_eq!(build(&["--stdpar=off"]), before);
    // The same from nothing, and by a manifest that asks for it.
    std::fs::remove_dir_all(&target).expect("what was built can be removed");
    assert_eq!(build(&[]), before);
    let asks = format!("{MANIFEST}\n[package.metadata.schism]\nstdpar = true\n");
    std::fs::write(folder.join("Cargo.toml"), named(&folder, &asks)).expect("a file");
    build(&[]);
    let always = [("SCHISM_STDPAR", "always")];
    assert_eq!(kernels(&mut run_in(&target, name_of(&folder), "debug", &always)), 1);
}

#[test]
fn memory_of_every_kind() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("memory");
    let expected = text(&mut program.by_rustc());
    let always = ("SCHISM_STDPAR", "always");
    assert_eq!(text(&mut program.run("release", &[always])), expected);

    // A GPU that cannot be had the memory seen by: nothing is shared, and nothing is launched.
    let driver = fake_driver(lab);
    let driver = ("SCHISM_CUDA", driver.to_str().expect("a path in Unicode"));
    let cuda = ("SCHISM_DEVICE", "cuda");
    let trace_with = |fault: &str| {
        let variables = [always, driver, cuda, ("FAKE_CUDA_FAULTS", fault)];
        let ran = output(program.run("release", &variables).env("SCHISM_TRACE", "1"));
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let all = "cuMemAllocManaged:*=2,cuMemHostRegister_v2:*=2";
    let refused =
        text(&mut program.run("release", &[always, driver, cuda, ("FAKE_CUDA_FAULTS", all)]));
    assert_eq!(refused, expected);
    let trace = trace_with(all);
    assert!(trace.contains("cannot use all of this program's memory"), "{trace}");
    assert!(trace.contains("cannot be made visible"), "{trace}");
    // It is tried again, but ever less often.
    assert!(trace.contains("goes to rayon for now"), "{trace}");
    assert!(!trace.contains("stays with rayon, because"), "{trace}");
    // What fails once is tried again at once.
    let trace = trace_with("cuMemHostRegister_v2:3=2");
    assert!(trace.contains("looks at the mappings again"), "{trace}");
    assert!(!trace.contains("goes to rayon for now"), "{trace}");
    // Of a shared heap only kernels are launched that use nothing else. This driver runs none.
    let trace = trace_with("cuMemHostRegister_v2:*=2");
    assert!(trace.contains("cannot be made visible"), "{trace}");
    assert!(trace.contains("launched"), "{trace}");

    let mut on_gpu = program.run("release", &[always, cuda]);
    let ran = output(on_gpu.env("SCHISM_TRACE", "1"));
    let trace = String::from_utf8_lossy(&ran.stderr);
    if let Some(why) = trace.lines().find(|line| line.contains("all parallel iterators stay")) {
        println!("skipped: memory_of_every_kind on a GPU: {why}");
        return;
    }
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    let launches = trace.lines().filter(|line| line.contains(" pieces on `cuda")).count();
    assert!(launches > 300, "{launches}");
}

/// Work-items cut pieces out themselves, and groups join results, as on a GPU.
#[test]
fn groups_join_results() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let always = ("SCHISM_STDPAR", "always");
    // Such kernels are those of devices, with schism's own mathematics if the variable does not say
    // otherwise.
    let cut = [("SCHISM_STDPAR_CUT", "device"), ("SCHISM_CPU_MATH", "host")];
    for (name, least) in [("joined", 150), ("captured", 50), ("results", 300)] {
        let program = Programs::newest(lab).program(name);
        let expected = text(&mut program.by_rustc());
        for variables in [&[always][..], &[always, cut[0], cut[1]]] {
            let (found, launches) = traced(&mut program.run("release", variables));
            assert_eq!(found, expected, "{variables:?}");
            assert!(launches > least, "{launches}");
        }
        let on_gpu = [always, ("SCHISM_DEVICE", "cuda")];
        let ran = output(program.run("release", &on_gpu).env("SCHISM_TRACE", "1"));
        let trace = String::from_utf8_lossy(&ran.stderr);
        match trace.lines().find(|line| line.contains("all parallel iterators stay")) {
            Some(why) => println!("skipped: groups_join_results on a GPU: {why}"),
            None if name == "results" => {}
            None => assert_eq!(String::from_utf8_lossy(&ran.stdout), expected),
        }
    }
}

/// What one run has measured, the next one knows; a file that is damaged is as none.
#[test]
fn later_runs_know_what_earlier_ones_have_measured() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("results");
    let expected = text(&mut program.by_rustc());
    let cache = lab.folder("stdpar-history-cache");
    let home = cache.to_str().expect("a path in Unicode");
    let knows = |history: &str| {
        let variables = [
            ("SCHISM_STDPAR", "auto"),
            ("SCHISM_STDPAR_CUT", "device"),
            ("SCHISM_CPU_MATH", "host"),
            ("SCHISM_CACHE_DIR", home),
            ("SCHISM_STDPAR_HISTORY", history),
        ];
        let ran = output(program.run("release", &variables).env("SCHISM_TRACE", "1"));
        let trace = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{trace}");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        trace.contains("earlier runs of this program")
    };
    assert!(!knows("0") && !knows("1") && knows("1") && !knows("0") && knows("1"));
    for entry in std::fs::read_dir(&cache).expect("the cache") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "kernel") {
            std::fs::write(path, "nothing").expect("it is ours");
        }
    }
    assert!(!knows("1") && knows("1"));
}

/// Lanes of a group share out the loops in an item, where they have nothing to do with each other.
#[test]
fn lanes_share_out_rows() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("rows");
    let expected = text(&mut program.by_rustc());
    let always = ("SCHISM_STDPAR", "always");
    let cut = [always, ("SCHISM_STDPAR_CUT", "device"), ("SCHISM_CPU_MATH", "host")];
    for variables in [&[always][..], &cut] {
        let (found, launches) = traced(&mut program.run("release", variables));
        assert_eq!(found, expected, "{variables:?}");
        assert!(launches > 900, "{launches}");
    }
    let dump = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stdpar-rows");
    let driver = std::env::var("SCHISM_TEST_OPENCL").unwrap_or_default();
    let opencl = [("SCHISM_DEVICE", "opencl"), ("SCHISM_OPENCL", &driver)];
    for device in [&[("SCHISM_DEVICE", "cuda")][..], &opencl] {
        let _ = std::fs::remove_dir_all(&dump);
        let mut on_gpu = program.run("release", &[&[always][..], device].concat());
        on_gpu.env("SCHISM_DUMP_DIR", &dump).env("SCHISM_CACHE", "0").env("SCHISM_TRACE", "1");
        let ran = output(&mut on_gpu);
        let trace = String::from_utf8_lossy(&ran.stderr);
        if let Some(why) = trace.lines().find(|line| line.contains("all parallel iterators stay")) {
            println!("skipped: lanes_share_out_rows on {device:?}: {why}");
            continue;
        }
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        let files =
            std::fs::read_dir(&dump).expect("a folder").map(|it| it.expect("a file").path());
        let shared = files
            .filter(|path| path.extension().is_some_and(|it| it == "remarks"))
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .filter(|text| text.contains("are shared out among the lanes"));
        assert!(shared.count() > 16);
    }
}

/// The files of `tests/stdpar/workspace`.
const WORKSPACE: [&str; 10] = [
    "Cargo.toml",
    "app/Cargo.toml",
    "app/build.rs",
    "app/src/main.rs",
    "helper/Cargo.toml",
    "helper/src/lib.rs",
    "mac/Cargo.toml",
    "mac/src/lib.rs",
    "shared/Cargo.toml",
    "shared/src/lib.rs",
];

#[test]
fn build_scripts_and_macros_use_what_the_program_uses() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("stdpar-workspace");
    let source = lab::source("stdpar/workspace");
    let text_of = |name: &&str| std::fs::read_to_string(source.join(name)).expect("a test's file");
    let files: Vec<(&str, String)> = WORKSPACE.iter().map(|name| (*name, text_of(name))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    lab.project(&folder, &files);
    text(lab.cargo(Compiler::Stock, &folder).args(["build", "--offline"]));
    let target = folder.join("target");
    let app = || run_in(&target, "app", "debug", &[("SCHISM_STDPAR", "always")]);
    let expected = text(&mut app());
    build_in(&target, lab, &folder, &["--stdpar"]);
    assert_eq!(text(&mut app()), expected);
    // The two of the helper, the shared library's and its own.
    assert_eq!(kernels(&mut app()), 4);
    // Documentation tests of crates that see it through others.
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(&folder).args(["test", "--doc", "--offline", "--stdpar"]);
    text(&mut cargo);
}

/// What is linked as a whole; and all of it where panics abort, of which `notes` has a small program.
#[test]
fn each_profile_prints_the_same() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let expected = text(&mut Programs::newest(lab).program("results").by_rustc());
    let program = std::fs::read_to_string(lab::source("stdpar/results.rs"));
    let folder = project(lab, "stdpar-profiles", &program.expect("a file of the tests"));
    let profiles = [
        ("fat", "lto = true", true),
        ("thin", "lto = \"thin\"\ncodegen-units = 1", true),
        // The program catches panics, so it is built only.
        ("abort", "panic = \"abort\"", false),
    ];
    let mut manifest = MANIFEST.to_owned();
    for (name, options, _) in profiles {
        let profile = format!("\n[profile.{name}]\ninherits = \"release\"\n{options}\n");
        manifest.push_str(&profile);
    }
    std::fs::write(folder.join("Cargo.toml"), named(&folder, &manifest)).expect("a file");
    for (name, _, runs) in profiles.into_iter().filter(|(_, _, runs)| *runs || lab::full()) {
        build(lab, &folder, &["--stdpar", "--profile", name]);
        if runs {
            let (found, launches) = traced(&mut run(&folder, name, &[("SCHISM_STDPAR", "always")]));
            assert_eq!(found, expected, "{name}");
            assert!(launches > 300, "{name}: {launches}");
        }
    }
}

#[test]
fn the_oldest_rayon_that_is_known_gives_the_same() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let Some(programs) = Programs::oldest(lab) else { return };
    let program = programs.program("results");
    program.expect_no_warning();
    let expected = text(&mut program.by_rustc());
    let (found, launches) = traced(&mut program.run("release", &[("SCHISM_STDPAR", "always")]));
    assert_eq!(found, expected);
    assert!(launches > 300, "{launches}");
}

#[test]
fn a_report_tells_where_pipelines_ran() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            let doubled: Vec<usize> = (0..1000_usize).into_par_iter().map(|i| 2 * i).collect();
            let found = doubled.par_iter().find_first(|i| **i == 4000);
            println!("{}", doubled.len() + usize::from(found.is_some()));
        }
    "#;
    let folder = project(lab, "stdpar-report", program);
    build(lab, &folder, &["--stdpar"]);
    let report = |variables: &[(&str, &str)]| {
        let ran = output(
            run(&folder, "debug", &[("SCHISM_STDPAR", "always")]).envs(variables.iter().copied()),
        );
        assert!(ran.status.success());
        assert_eq!(ran.stdout, b"1000\n");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let told = report(&[("SCHISM_STDPAR_REPORT", "1")]);
    assert!(told.contains("schism: 2 parallel iterators ran"), "{told}");
    assert!(told.contains("schism: 1 as a kernel: 1 runs of 1000 items"), "{told}");
    assert!(told.contains("schism: 1 with rayon: refused: 1 runs of 1000 items"), "{told}");
    assert!(!report(&[]).contains("parallel iterators ran"));
    let file = folder.join("report.txt");
    let path = file.to_str().expect("the folder's name is text");
    assert!(!report(&[("SCHISM_STDPAR_REPORT", path)]).contains("parallel iterators ran"));
    let told = std::fs::read_to_string(&file).expect("the report's file");
    assert!(told.contains("schism: 2 parallel iterators ran"), "{told}");
    // And in a timeline.
    let file = folder.join("timeline.json");
    report(&[("SCHISM_TIMELINE", file.to_str().expect("the folder's name is text"))]);
    let text = std::fs::read(&file).expect("the program has written a file");
    let all: Vec<serde_json::Value> = serde_json::from_slice(&text).expect("it is JSON");
    let is_iterator = |event: &&serde_json::Value| event["cat"] == "parallel iterator";
    let mut ran: Vec<_> =
        all.iter().filter(is_iterator).map(|event| &event["args"]["ran"]).collect();
    ran.sort_by_key(|ran| ran.to_string());
    assert_eq!(ran, ["as a kernel", "with rayon: refused"]);
}

#[test]
fn no_pipeline_takes_more_threads_than_its_pool_has() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

        use rayon::prelude::*;

        /// How many items were in progress at once.
        fn most() -> usize {
            let [now, most, work] = std::array::from_fn(|_| AtomicUsize::new(0));
            (0..96_usize).into_par_iter().with_max_len(1).for_each(|_| {
                most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                for _ in 0..100_000 {
                    work.fetch_add(1, Relaxed);
                }
                now.fetch_sub(1, Relaxed);
            });
            most.into_inner()
        }

        fn main() {
            println!("{}", most());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            println!("{}", pool.install(most));
        }
    "#;
    let folder = project(lab, "stdpar-threads", program);
    build(lab, &folder, &["--stdpar", "--release"]);
    let variables =
        [("SCHISM_STDPAR", "always"), ("SCHISM_CPU_THREADS", "8"), ("RAYON_NUM_THREADS", "3")];
    assert_eq!(kernels(&mut run(&folder, "release", &variables)), 2);
    let said = text(&mut run(&folder, "release", &variables));
    let most: Vec<usize> = said.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(most.len() == 2 && most[0] <= 3 && most[1] <= 2, "{most:?}");
}

#[test]
fn kernels_on_the_host_allocate() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("allocating");
    let expected = text(&mut program.by_rustc());
    let (found, launches) = traced(&mut program.run("release", &[("SCHISM_STDPAR", "always")]));
    assert_eq!(found, expected);
    assert!(launches > 45, "{launches}");
}

/// Runs a command that is to fail, and gives its exit code and what it says.
fn failure(command: &mut Command) -> (Option<i32>, String) {
    let ran = output(command);
    (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
fn wrong_words_are_told() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            println!("{}", (0..1000_u64).into_par_iter().sum::<u64>());
        }
    "#;
    let folder = project(lab, "stdpar-wrong", program);
    let cargo = |arguments: &[&str]| {
        let mut cargo = clean_command(lab.subcommand());
        cargo.current_dir(&folder).args(["build", "--offline"]).args(arguments);
        cargo
    };
    let (code, said) = failure(&mut cargo(&["--stdpar=banana"]));
    assert_eq!(code, Some(2), "{said}");
    let words = "use `on`, `off` or `explain`";
    assert!(said.starts_with(&format!("error: `--stdpar` cannot be `banana`; {words}\n")));
    let (code, said) = failure(&mut cargo(&["--stdpar", "--stdpar"]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("error: `--stdpar` is there twice; give it once\n"), "{said}");
    let (code, said) = failure(cargo(&[]).env("SCHISM_STDPAR_BUILD", "banana"));
    assert_eq!(code, Some(2), "{said}");
    let expected = format!("error: `SCHISM_STDPAR_BUILD` cannot be `banana`; {words}\n");
    assert!(said.starts_with(&expected), "{said}");
    let manifest = format!("{MANIFEST}\n[package.metadata.schism]\nstdpar = \"yes\"\n");
    std::fs::write(folder.join("Cargo.toml"), named(&folder, &manifest)).expect("a file");
    let (code, said) = failure(&mut cargo(&[]));
    assert_eq!(code, Some(2), "{said}");
    let expected = "error: `metadata.schism.stdpar` cannot be `\"yes\"`; use `true` or `false`\n";
    assert!(said.starts_with(expected), "{said}");
    // The command line counts for more.
    build(lab, &folder, &["--stdpar"]);

    // A program runs in spite of them, and says one line.
    let said = |variables: &[(&str, &str)]| {
        let ran = output(&mut run(&folder, "debug", variables));
        assert!(ran.status.success());
        assert_eq!(ran.stdout, b"499500\n");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    assert_eq!(said(&[]), "");
    let expected = "schism: SCHISM_STDPAR is `banana`; use auto, always or never\n";
    assert_eq!(said(&[("SCHISM_STDPAR", "banana")]), expected);
    let always = ("SCHISM_STDPAR", "always");
    let told = said(&[always, ("SCHISM_DEVICE", "banana")]);
    let expected = "schism: all parallel iterators stay with rayon: no device `banana`; ";
    assert!(told.starts_with(expected) && told.lines().count() == 1, "{told}");
    let told = said(&[("SCHISM_STDPAR_REPORT", "/nowhere/report")]);
    let expected =
        "schism: SCHISM_STDPAR_REPORT: the report cannot be written to `/nowhere/report`: ";
    assert!(told.starts_with(expected) && told.lines().count() == 1, "{told}");
}

#[test]
fn programs_without_a_rayon_that_is_known_are_told() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("stdpar-without-rayon");
    let manifest = named(&folder, &MANIFEST.replace("rayon = \"1\"", ""));
    let program = ("src/main.rs", "fn main() { println!(\"plain\"); }");
    lab.project(&folder, &[("Cargo.toml", &manifest), program]);
    assert!(!build(lab, &folder, &["--stdpar=off"]).contains("warning"));
    let said = build(lab, &folder, &["--stdpar"]);
    let expected = "warning: `--stdpar` changes nothing: no package of this program uses rayon\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(text(&mut run(&folder, "debug", &[])), "plain\n");
    // What asks for it everywhere may come to such programs, too.
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(&folder).args(["build", "--offline"]).env("SCHISM_STDPAR_BUILD", "on");
    assert!(!String::from_utf8_lossy(&output(&mut cargo).stderr).contains("warning"));

    for version in ["1.4.1", "2.0.0"] {
        let folder = lab.folder(&format!("stdpar-rayon-{}", version.replace('.', "-")));
        let manifest = MANIFEST.replace("rayon = \"1\"", "rayon = { path = \"rayon\" }");
        let manifest = named(&folder, &manifest);
        let rayon = format!("[package]\nname = \"rayon\"\nversion = \"{version}\"\n");
        let files = [
            ("Cargo.toml", manifest.as_str()),
            ("src/main.rs", "fn main() { println!(\"{}\", rayon::word()); }"),
        ];
        lab.project(&folder, &files);
        let library = ("rayon/src/lib.rs", "pub fn word() -> &'static str { \"other\" }");
        lab::write_files(&folder, &[("rayon/Cargo.toml", &rayon), library]);
        let said = build(lab, &folder, &["--stdpar"]);
        let expected = format!(
            "warning: parallel iterators stay with rayon: the program has rayon {version}, and \
             schism knows rayon 1.5 to 1.12\n"
        );
        assert!(said.starts_with(&expected), "{said}");
        assert_eq!(text(&mut run(&folder, "debug", &[])), "other\n");
    }
}
