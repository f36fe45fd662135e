//! Surroundings in which programs are not at home: closed and full descriptors, limits, nonsense in
//! the environment, launches at the end of threads and of the process, captures that panic. Nothing
//! crashes, and nothing hangs. Each case runs in its own process.

mod support;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use schism::LaunchError;
use schism::prelude::*;
use support::{ROLE, VARIABLES, launch_groups, output, program_in, run, scratch};

/// Launches of all kinds.
fn launches(queue: &Queue) -> Result<(), schism::Error> {
    let mut data = Buffer::filled(queue, 10_000, 1_u32)?;
    queue.for_each(&mut data, |x| *x += 1)?;
    queue.scope(|scope| {
        scope.for_each(&mut data, |x| *x += 1)?;
        Ok(())
    })?;
    assert_eq!(data.to_vec().iter().sum::<u32>(), 30_000);
    launch_groups(queue)?;
    let panicked = queue.parallel_for(100, |item| assert!(item.x() < 50, "as it should"));
    assert!(matches!(panicked, Err(LaunchError::Panicked(_))), "{panicked:?}");
    schism::dprintln!("launches are well");
    Ok(())
}

/// Launches when it is dropped.
struct AtEnd(Queue);

impl Drop for AtEnd {
    fn drop(&mut self) {
        launches(&self.0).expect("launches");
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

/// A capture whose drop panics.
struct Explosive(u32);

impl Explosive {
    fn number(&self) -> usize {
        self.0 as usize
    }
}

impl Drop for Explosive {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("an explosive capture");
        }
    }
}

extern "C" fn at_exit() {
    let queue = Queue::new().expect("a queue");
    launches(&queue).expect("launches");
}

#[test]
#[ignore = "runs as a child of the other tests"]
fn child() {
    let role = std::env::var(ROLE).expect("a role");
    let queue = || Queue::new().expect("a queue");
    match &*role {
        "launches" => launches(&queue()).expect("launches"),
        "queue" => match Queue::new().map_err(schism::Error::from).and_then(|q| launches(&q)) {
            Ok(()) => println!("well"),
            Err(error) => println!("error {error}"),
        },
        "ends of threads" => {
            for before in [false, true, false, true] {
                let queue = queue();
                let run = move || {
                    AT_END.with(|end| *end.borrow_mut() = Some(AtEnd(queue.clone())));
                    // What this crate makes for a thread goes before or after the other.
                    if before {
                        launches(&queue).expect("launches");
                    }
                };
                // Only this waits for the very end of a thread.
                thread::spawn(run).join().expect("no panic");
            }
        }
        "end of the process" => {
            // SAFETY: the function does not unwind.
            unsafe { libc::atexit(at_exit) };
            launches(&queue()).expect("launches");
        }
        "threads" => threads(),
        "handler" => handler(),
        "drops" => drops(&queue()),
        role => panic!("no such role: {role}"),
    }
    println!("{role}: well");
}

/// Runs something where the system has 64 megabytes left for the process.
fn with_little_room<R>(run: impl FnOnce() -> R) -> R {
    let limit = |bytes: libc::rlim_t| {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: it only reads the limit.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    };
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: libc::rlim_t =
        pages.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    limit(pages * 4096 + (64 << 20));
    let result = run();
    limit(libc::RLIM_INFINITY);
    result
}

/// The system has no room for threads, and some later.
fn threads() {
    let error = with_little_room(Queue::new).expect_err("no room for so many threads").to_string();
    assert!(error.contains("SCHISM_CPU_THREADS"), "{error}");
    launches(&Queue::new().expect("there is room now")).expect("launches");
}

/// Who is told of a fault that has nothing to do with kernels.
fn handler() {
    extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system says where the access was; the process ends.
        unsafe { libc::_exit(if (*info).si_addr().addr() == 4096 { 42 } else { 43 }) };
    }
    // SAFETY: the handler has the type that the flags say, and does only what a handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(_, _, _) = on_fault;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()), 0);
    }
    launches(&Queue::new().expect("a queue")).expect("launches");
    // SAFETY: it is not: there is no memory.
    unsafe { std::ptr::without_provenance::<u8>(4096).read_volatile() };
}

fn drops(queue: &Queue) {
    let sum = || {
        let explosive = Explosive(1);
        queue.parallel_for(10, move |item| assert!(item.x() < 10 + explosive.number()))
    };
    assert!(catch_unwind(AssertUnwindSafe(sum)).is_err(), "the launch's caller drops the captures");
    let scoped = queue.scope(|scope| {
        let explosive = Explosive(1);
        scope.parallel_for(10, move |item| assert!(item.x() < 10 + explosive.number()))?;
        Ok(())
    });
    assert!(scoped.expect_err("it panics").to_string().contains("an explosive capture"));
    launches(queue).expect("the queue continues");
}

/// A copy of this program, made before any process is started: one that is being started has for a
/// moment all descriptors, also those that programs are written by, which then cannot be run.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program_in(&scratch("hostile")))
}

fn command(role: &str) -> Command {
    support::child(program(), role, &[])
}

/// The same on `native`, and on `cpu` where there is a compiler for that.
fn on_all(role: &str) -> Vec<Command> {
    let mut commands = vec![command(role)];
    if let Some(stage2) = std::env::var_os("SCHISM_JIT").filter(|_| has_device_code()) {
        let mut command = command(role);
        command.env("SCHISM_JIT", stage2).env("SCHISM_DEVICE", "cpu");
        commands.push(command);
    }
    commands
}

/// The same through a shell, which does something first.
fn by_shell(role: &str, script: &str) -> Command {
    let inner = command(role);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{script} exec \"$0\" \"$@\""));
    shell.arg(inner.get_program()).args(inner.get_args());
    for (variable, value) in inner.get_envs() {
        match value {
            Some(value) => shell.env(variable, value),
            None => shell.env_remove(variable),
        };
    }
    shell
}

fn ends_well(command: &mut Command) {
    let ended = output(command);
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{command:?}: {}\n{text}", ended.status);
}

#[test]
fn standard_error_that_cannot_be_written_is_no_panic() {
    // The first launch tells that there is no compiler, or no device code.
    let script = "exec 2>/dev/full;";
    ends_well(&mut by_shell("launches", script));
    ends_well(by_shell("launches", script).env("SCHISM_TRACE", "1"));
    ends_well(by_shell("launches", script).env("SCHISM_TRACE", "nonsense"));
    let script = "exec <&- >&- 2>&-;";
    ends_well(by_shell("launches", script).env("SCHISM_TRACE", "1"));
}

#[test]
fn launches_at_the_end_of_threads() {
    for mut command in on_all("ends of threads") {
        let (out, err) = run(&mut command);
        assert!(out.contains("ends of threads: well"), "{out}{err}");
        assert_eq!(out.matches("launches are well").count(), 6, "{out}{err}");
    }
}

#[test]
fn launches_at_the_end_of_the_process() {
    for mut command in on_all("end of the process") {
        let (out, err) = run(&mut command);
        assert_eq!(out.matches("launches are well").count(), 2, "{out}{err}");
    }
}

#[test]
fn threads_that_cannot_be_started_once_are_started_later() {
    let mut command = command("threads");
    let (out, err) = run(command.env("SCHISM_CPU_THREADS", "200"));
    assert!(out.contains("threads: well"), "{out}{err}");
}

#[test]
fn a_handler_of_the_program_is_told_of_its_faults() {
    for mut command in on_all("handler") {
        let ended = output(&mut command);
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(42), "{command:?}: {}\n{text}", ended.status);
    }
}

#[test]
fn captures_that_panic_when_they_are_dropped() {
    if has_device_code() {
        println!("skipped: the schism compiler does not let such captures into kernels");
        return;
    }
    let (out, err) = run(&mut command("drops"));
    assert!(out.contains("drops: well"), "{out}{err}");
}

/// Whether the schism compiler made this program.
fn has_device_code() -> bool {
    fn of<K: schism::__private::Kernel<1>>(_: &K) -> bool {
        !schism::__private::descriptor::<K, 1>().is_null()
    }
    of(&|_: Item<1>| ())
}

#[test]
fn few_descriptors_and_a_folder_that_is_gone() {
    // Libraries are loaded, and then there is none left, whatever was open here.
    ends_well(&mut by_shell("queue", "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n 4;"));
    let script = "mkdir gone && cd gone && rmdir ../gone;";
    let mut command = by_shell("launches", script);
    ends_well(command.current_dir(scratch("hostile-gone-folder")));
}

#[test]
fn nonsense_in_the_environment() {
    let huge = "9".repeat(100_000);
    let values = [b"\xff\xfe".as_slice(), b"", b"-1", b"/dev/zero", huge.as_bytes()];
    for variable in VARIABLES {
        for value in values {
            let mut command = command("queue");
            if variable != "SCHISM_CACHE" {
                command.env_remove("SCHISM_CACHE").env("HOME", Path::new("/nonexistent"));
            }
            let (out, err) = run(command.env(variable, OsStr::from_bytes(value)));
            assert!(out.contains("well") || out.contains("error "), "{variable}: {out}{err}");
        }
    }
}
