//! What environment variables choose. Each case runs in its own process.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism::prelude::*;

/// Set in the children.
const ROLE: &str = "SCHISM_TEST_ROLE";

/// This program, in its own folder: where cargo puts it, it may have a stage 2 beside it.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("environment").join("program");
        std::fs::create_dir_all(&folder).expect("a folder for the program");
        let copy = folder.join(format!("environment-{}", std::process::id()));
        let program = std::env::current_exe().expect("a test has a program");
        std::fs::copy(program, &copy).expect("a copy of the program");
        copy
    })
}

/// Runs the test `child` of this program with a role and some variables.
fn run(role: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    for variable in [
        "SCHISM_DEVICE",
        "SCHISM_CPU_LANES",
        "SCHISM_CPU_MATH",
        "SCHISM_CPU_THREADS",
        "SCHISM_TRACE",
        "SCHISM_JIT",
        "SCHISM_HOME",
    ] {
        command.env_remove(variable);
    }
    // No stage 2 of the machine that runs the tests.
    command.env("SCHISM_HOME", "/nonexistent/schism");
    command.env(ROLE, role).envs(variables.iter().copied());
    command.output().expect("a child runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Launches while a thread's variables are dropped, before and after those of the trace.
fn at_a_threads_end() {
    struct Launches(Queue);
    impl Drop for Launches {
        fn drop(&mut self) {
            let mut data = Buffer::filled(&self.0, 10, 1).expect("memory");
            self.0.for_each(&mut data, |x| *x += 1).expect("a launch");
            println!("sum {}", data.to_vec().iter().sum::<i32>());
        }
    }
    thread_local! {
        static EARLY: std::cell::RefCell<Option<Launches>> = const { std::cell::RefCell::new(None) };
        static LATE: std::cell::RefCell<Option<Launches>> = const { std::cell::RefCell::new(None) };
    }
    std::thread::spawn(|| {
        EARLY.with(|_| ());
        let queue = Queue::new().expect("a device");
        queue.parallel_for(1, |_| {}).expect("a launch");
        LATE.set(Some(Launches(queue.clone())));
        EARLY.set(Some(Launches(queue)));
    })
    .join()
    .expect("the thread ends");
    println!("ended");
}

/// Says what happened; its parent looks.
#[test]
#[ignore = "runs as a child of the other tests"]
fn child() {
    match std::env::var(ROLE).as_deref() {
        Ok("queue") => match Queue::new() {
            Ok(queue) => println!("device {}", queue.device()),
            Err(error) => println!("error {error}"),
        },
        Ok("launch") => {
            let queue = Queue::new().expect("a device");
            for _ in 0..3 {
                let mut data = Buffer::filled(&queue, 100_000, 1).expect("memory");
                match queue.for_each(&mut data, |x| *x += 1) {
                    Ok(()) => println!("sum {}", data.to_vec().iter().sum::<i32>()),
                    Err(error) => println!("error {error}"),
                }
            }
        }
        Ok("later") => later(),
        Ok("thread's end") => at_a_threads_end(),
        Ok("panic") => {
            let queue = Queue::new().expect("a device");
            let launched = queue.parallel_for(1, |_| panic!("a kernel's panic"));
            println!("launched {launched:?}");
            let _ = std::panic::catch_unwind(|| panic!("a host's panic"));
        }
        Ok("nounwind panic") => {
            extern "C" fn ends(item: usize) {
                assert!(item != 7, "a panic in C, of item {item}");
            }
            let queue = Queue::new().expect("a device");
            let launched = queue.parallel_for(8, |item| ends(item.x()));
            println!("launched {launched:?}");
        }
        role => panic!("no such role: {role:?}"),
    }
}

/// Stage 2 cannot be opened for want of descriptors, then for want of a file, and then it can.
fn later() {
    let path = std::path::PathBuf::from(std::env::var_os("SCHISM_JIT").expect("it is set"));
    let limit = |most: libc::rlim_t| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is ours to be written, and then only read.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
            let before = std::mem::replace(&mut limit.rlim_cur, most);
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
            before
        }
    };
    let before = limit(3);
    let error = Device::by_name("cpu").expect_err("no file can be opened");
    println!("first {error}");
    limit(before);
    let hidden = path.with_extension("hidden");
    std::fs::rename(&path, &hidden).expect("our own link");
    println!("second {}", Device::by_name("cpu").expect_err("there is no file"));
    std::fs::rename(&hidden, &path).expect("our own link");
    // After the second failure there is a pause.
    std::thread::sleep(std::time::Duration::from_millis(200));
    println!("third {}", Device::by_name("cpu").expect("now it can be opened"));
}

#[test]
fn a_stage_2_that_could_not_be_opened_once_is_opened_later() {
    let Some(stage2) = std::env::var_os("SCHISM_JIT") else {
        return support::lacks("SCHISM_JIT does not name stage 2; use `cargo schism test`");
    };
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("environment").join("later.so");
    let _ = std::fs::remove_file(&link);
    program();
    std::os::unix::fs::symlink(stage2, &link).expect("a link can be made");
    let link = link.display().to_string();
    let output = run("later", &[("SCHISM_JIT", &link), ("SCHISM_CACHE", "0")]);
    let shown = stdout(&output);
    assert!(shown.contains("Too many open files"), "{shown}");
    assert!(shown.contains("second the device `cpu` was asked for"), "{shown}");
    assert!(shown.contains("third cpu"), "{shown}");
}

#[test]
fn an_unknown_device_is_an_error_that_lists_the_devices() {
    let output = stdout(&run("queue", &[("SCHISM_DEVICE", "tpu:7")]));
    assert!(output.contains("error no device `tpu:7`"), "{output}");
    assert!(output.contains("native"), "{output}");
}

#[test]
fn native_is_always_there() {
    let output = run("launch", &[("SCHISM_DEVICE", "native")]);
    assert_eq!(stdout(&output).matches("sum 200000").count(), 3);
    assert!(!stderr(&output).contains("schism"), "{}", stderr(&output));
}

#[test]
fn a_demanded_device_without_its_compiler_is_an_error() {
    let missing = [("SCHISM_DEVICE", "cpu"), ("SCHISM_JIT", "/nonexistent/libschism_jit.so")];
    let output = stdout(&run("queue", &missing));
    assert!(output.contains("error the device `cpu` was asked for"), "{output}");
    assert!(output.contains("/nonexistent/libschism_jit.so"), "{output}");
    assert!(output.contains("cargo schism setup"), "{output}");

    let output = stdout(&run("queue", &[("SCHISM_DEVICE", "cpu")]));
    assert!(output.contains("/nonexistent/schism/lib/libschism_jit.so"), "{output}");
}

#[test]
fn something_else_is_not_stage_2() {
    let library = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"];
    let Some(library) = library.into_iter().find(|path| std::path::Path::new(path).exists()) else {
        return;
    };
    let output = stdout(&run("queue", &[("SCHISM_DEVICE", "cpu"), ("SCHISM_JIT", library)]));
    assert!(output.contains("is not schism's stage 2"), "{output}");
}

/// Whether this program has device code: whether the schism compiler made it.
fn has_device_code() -> bool {
    fn of<K: schism::__private::Kernel<1>>(_: &K) -> bool {
        !schism::__private::descriptor::<K, 1>().is_null()
    }
    of(&|_: Item<1>| ())
}

#[test]
fn without_stage_2_kernels_run_natively_and_that_is_said_once() {
    let output = run("launch", &[]);
    assert_eq!(stdout(&output).matches("sum 200000").count(), 3);
    let shown = stderr(&output);
    let (plain, stage2) = ("compiled by plain rustc", "the compiler for kernels cannot be loaded");
    let said = [plain, stage2].map(|notice| shown.matches(notice).count());
    assert_eq!(said, if has_device_code() { [0, 1] } else { [1, 0] }, "{shown}");
}

#[test]
fn numbers_of_threads() {
    for threads in ["1", "2", "7"] {
        let output = stdout(&run("launch", &[("SCHISM_CPU_THREADS", threads)]));
        assert_eq!(output.matches("sum 200000").count(), 3, "{output}");
    }
    for nonsense in ["0", "-1", "many", "", "1000000000"] {
        let output = stdout(&run("queue", &[("SCHISM_CPU_THREADS", nonsense)]));
        assert!(output.contains("SCHISM_CPU_THREADS is"), "{output}");
    }
}

#[test]
fn the_trace_outlives_no_threads_variables() {
    for trace in ["0", "1"] {
        let output = run("thread's end", &[("SCHISM_TRACE", trace), ("SCHISM_DEVICE", "native")]);
        let text = stdout(&output);
        assert!(text.contains("sum 20\nsum 20\nended"), "{output:?}");
    }
}

#[cfg(feature = "trace")]
#[test]
fn the_trace_shows_each_step() {
    let output = run("launch", &[("SCHISM_TRACE", "1"), ("SCHISM_DEVICE", "native")]);
    let shown = stderr(&output);
    assert_eq!(shown.matches("launched").count(), 3, "{shown}");
    assert_eq!(shown.matches("copied to the host").count(), 3, "{shown}");

    let output = run("launch", &[("SCHISM_TRACE", "error"), ("SCHISM_DEVICE", "native")]);
    assert!(!stderr(&output).contains("launched"));

    let output = run("launch", &[("SCHISM_TRACE", "loud"), ("SCHISM_DEVICE", "native")]);
    assert!(stderr(&output).contains("SCHISM_TRACE is `loud`"));
    assert_eq!(stdout(&output).matches("sum 200000").count(), 3);
}

#[test]
fn kernels_panic_silently_and_hosts_do_not() {
    let output = run("panic", &[("SCHISM_DEVICE", "native")]);
    assert!(stdout(&output).contains("a kernel's panic"));
    let shown = stderr(&output);
    assert!(!shown.contains("a kernel's panic"), "{shown}");
    assert!(shown.contains("a host's panic"), "{shown}");
}

#[test]
fn a_kernels_panic_that_ends_the_process_is_shown() {
    let output = run("nounwind panic", &[("SCHISM_DEVICE", "native")]);
    assert!(!output.status.success(), "{output:?}");
    let shown = stderr(&output);
    for part in ["a panic in C, of item 7", "environment.rs:", "on the device `native`"] {
        assert!(shown.contains(part), "`{part}` is not shown: {shown}");
    }
}

#[test]
fn a_wrong_number_of_lanes_is_an_error() {
    let Ok(stage2) = std::env::var("SCHISM_JIT") else { return };
    if !has_device_code() {
        return;
    }
    let environment =
        [("SCHISM_JIT", &*stage2), ("SCHISM_CPU_LANES", "7"), ("SCHISM_DEVICE", "cpu")];
    let output = stdout(&run("queue", &environment));
    assert!(output.contains("error SCHISM_CPU_LANES is `7`"), "{output}");
}

/// The whole way of a kernel, where there is one: under the schism compiler, with stage 2 at hand.
#[cfg(feature = "trace")]
#[test]
fn a_kernel_is_lowered_once_and_then_cached() {
    let Ok(stage2) = std::env::var("SCHISM_JIT") else { return };
    if !has_device_code() {
        return;
    }
    // What an earlier run has left on disk would do too.
    let environment = [
        ("SCHISM_TRACE", "1"),
        ("SCHISM_JIT", &*stage2),
        ("SCHISM_CACHE", "0"),
        ("SCHISM_DEVICE", "cpu"),
    ];
    let output = run("launch", &environment);
    assert_eq!(stdout(&output).matches("sum 200000").count(), 3);
    let shown = stderr(&output);
    for (step, times) in [
        (" loaded stage 2 ", 1),
        (" found image ", 1),
        (" lowered ", 1),
        (" version ", 1),
        (" launched ", 3),
        (" device=cpu ", 3),
    ] {
        assert_eq!(shown.matches(step).count(), times, "{step}: {shown}");
    }
}
