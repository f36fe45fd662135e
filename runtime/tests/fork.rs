//! Processes that are forked while schism is in use: a child launches kernels, or gets an error at
//! once. It never hangs.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use schism::prelude::*;
use support::{ROLE, launch_groups, program_in, run, scratch};

/// No forked child takes so long that is well.
const LIMIT: Duration = Duration::from_secs(60);

/// What a forked child exits with.
const WELL: i32 = 7;
const REFUSED: i32 = 8;

/// Runs `work` in a forked child. It must end by itself, with [`WELL`] or [`REFUSED`], which is
/// returned.
fn in_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child leaves by `_exit`; what it does in between is what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(1);
        // SAFETY: it ends the process.
        unsafe { libc::_exit(code) };
    }
    let begin = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: our own child; the status is ours to be written.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            assert!(libc::WIFEXITED(status), "a child ended by a signal: {status:#x}");
            let code = libc::WEXITSTATUS(status);
            assert!([WELL, REFUSED].contains(&code), "a child failed: {code}");
            return code;
        }
        if begin.elapsed() > LIMIT {
            // SAFETY: our own child.
            unsafe { libc::kill(child, libc::SIGKILL) };
            // SAFETY: as above.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            panic!("a forked child hangs");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Many launches of all kinds on a queue.
fn launches(queue: &Queue) -> Result<(), schism::Error> {
    let mut data = Buffer::filled(queue, 50_000, 1_u32)?;
    queue.for_each(&mut data, |x| *x += 1)?;
    queue.scope(|scope| {
        let mut data = scope.lend(&mut data);
        for _ in 0..5 {
            scope.for_each(&mut data, |x| *x = x.wrapping_mul(3))?;
        }
        Ok(())
    })?;
    assert!(data.to_vec().iter().all(|x| *x == 2 * 3_u32.pow(5)));
    launch_groups(queue)
}

/// [`WELL`], or [`REFUSED`] if the error says that it is because of the fork.
fn code(result: Result<(), schism::Error>) -> i32 {
    match result {
        Ok(()) => WELL,
        Err(error) if error.to_string().contains("forked") => REFUSED,
        Err(error) => {
            eprintln!("{error}");
            2
        }
    }
}

/// Devices whose drivers work in forked processes: those without drivers.
fn devices() -> Vec<Device> {
    use schism::DeviceKind::{Cpu, Native};
    let all = Device::all().into_iter();
    all.filter(|device| matches!(device.kind(), Cpu | Native)).collect()
}

#[test]
#[ignore = "runs as a child of the other tests"]
fn child() {
    let role = std::env::var(ROLE).expect("a role");
    for device in devices() {
        match &*role {
            "single" => single(&device),
            "threads" => threads(&device),
            "inside" => inside(&device),
            "submitted" => submitted(&device),
            role => panic!("no such role: {role}"),
        }
        println!("{role} is well on {device}");
    }
}

/// The parent has launched, and does nothing while it forks.
fn single(device: &Device) {
    let queue = Queue::on(device).expect("a queue");
    launches(&queue).expect("the parent's launches");
    for _ in 0..3 {
        // The parent's queue, and a new one; and a child of the child.
        assert_eq!(in_child(|| code(launches(&queue))), WELL);
        let code = in_child(|| {
            let new = Queue::on(device).expect("a queue");
            launches(&new).expect("launches");
            // A kernel that was not launched before, which the child compiles.
            let mut data = Buffer::filled(&new, 100, 1_u64).expect("memory");
            new.for_each(&mut data, |x| *x = *x * 3 + 1).expect("a launch");
            assert_eq!(data.to_vec(), [4; 100]);
            in_child(|| code(launches(&queue).and_then(|()| launches(&new))))
        });
        assert_eq!(code, WELL);
        launches(&queue).expect("the parent continues");
    }
}

/// Other threads of the parent launch while it forks, on queues of their own and on one that all
/// share.
fn threads(device: &Device) {
    let shared = Queue::on(device).expect("a queue");
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let own = Queue::on(device).expect("a queue");
                while !ended.load(Ordering::Relaxed) {
                    launches(&own).and_then(|()| launches(&shared)).expect("the parent's launches");
                }
            });
        }
        let forked = || {
            let mut well = 0;
            for _ in 0..15 {
                let code = in_child(|| code(launches(&shared)));
                well += u32::from(code == WELL);
                let code = in_child(|| {
                    let new = Queue::on(device).map_err(schism::Error::from);
                    self::code(new.and_then(|new| launches(&new)))
                });
                well += u32::from(code == WELL);
            }
            println!("{well} of 30 children launched on {device}");
            // All of them, unless the machine has so much to do that compiling takes seconds.
            assert!(well > 0);
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(forked));
        ended.store(true, Ordering::Relaxed);
        if let Err(payload) = result {
            std::panic::resume_unwind(payload);
        }
    });
    launches(&shared).expect("the parent continues");
}

/// A fork between the launches of a scope: the child has not got them.
fn inside(device: &Device) {
    let queue = Queue::on(device).expect("a queue");
    for _ in 0..10 {
        let mut data = Buffer::filled(&queue, 200_000, 1_u32).expect("memory");
        let mut in_parent = true;
        let scoped = queue.scope(|scope| {
            let mut data = scope.lend(&mut data);
            let mut event = None;
            for _ in 0..20 {
                event = Some(scope.for_each(&mut data, |x| *x += 1)?);
            }
            // SAFETY: the child leaves by `_exit`.
            let child = unsafe { libc::fork() };
            in_parent = child != 0;
            if in_parent {
                return Ok(child);
            }
            // Either it was over, or it never will be.
            let waited = event.expect("a launch").wait();
            assert!(waited.is_ok() || waited.unwrap_err().to_string().contains("forked"));
            Ok(0)
        });
        if !in_parent {
            let code = code(scoped.map(|_| ()));
            // What is submitted from now on runs.
            let after = self::code(launches(&queue));
            let well = [WELL, REFUSED].contains(&code) && after == WELL;
            // SAFETY: it ends the process.
            unsafe { libc::_exit(if well { WELL } else { 3 }) };
        }
        let child = scoped.expect("the parent's launches");
        let begin = Instant::now();
        let mut status = 0;
        // SAFETY: our own child; the status is ours to be written.
        while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
            if begin.elapsed() > LIMIT {
                // SAFETY: our own child.
                unsafe { libc::kill(child, libc::SIGKILL) };
                panic!("a forked child hangs");
            }
            thread::sleep(Duration::from_millis(2));
        }
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == WELL, "{status:#x}");
        assert!(data.to_vec().iter().all(|x| *x == 21));
    }
}

/// A fork while launches run that own what they use, whose events are waited for, polled and dropped.
fn submitted(device: &Device) {
    let queue = Queue::on(device).expect("a queue");
    let submit = |queue: &Queue| {
        let data = Buffer::filled(queue, 100_000, 1_u32)?;
        queue.submit(data, |scope, data| {
            let mut data = scope.lend(data);
            for _ in 0..10 {
                scope.for_each(&mut data, |x| *x += 1)?;
            }
            Ok(())
        })
    };
    for _ in 0..10 {
        let mut events: Vec<_> = (0..6).map(|_| submit(&queue).expect("submitted")).collect();
        let later = queue.after(&events).submit((), |_, ()| Ok(())).expect("submitted");
        drop(events.pop());
        let _ = events[1].wait_timeout(Duration::from_micros(10));
        let forked = in_child(|| {
            // What has ended is the child's, too; anything else never will be.
            let mut seen = WELL;
            for event in events.drain(..) {
                let own = event.wait().map(|data| assert_eq!(data.len(), 100_000));
                seen = seen.max(code(own));
            }
            assert!([WELL, REFUSED].contains(&seen) && later.is_done());
            drop(later);
            let (waited, dropped) = (submit(&queue).expect("submitted"), submit(&queue));
            drop(dropped.expect("submitted"));
            let last = queue.after([&waited]).submit((), |_, ()| Ok(())).expect("submitted");
            assert_eq!(
                last.wait().and(waited.wait()).expect("the child's").to_vec(),
                [11; 100_000]
            );
            seen
        });
        assert!([WELL, REFUSED].contains(&forked));
    }
    let last = submit(&queue).expect("submitted").wait().expect("the parent continues");
    assert_eq!(last.to_vec(), [11; 100_000]);
}

fn test(role: &str) {
    let program = program_in(&scratch(&format!("fork-{role}")));
    let mut command = support::child(&program, role, &[]);
    // Kernels of the device half as well, where there is a compiler for them.
    if let Some(stage2) = std::env::var_os("SCHISM_JIT") {
        command.env("SCHISM_JIT", stage2);
    }
    let (out, err) = run(command.env("SCHISM_CPU_THREADS", "4"));
    assert!(out.contains(&format!("{role} is well on native")), "{out}{err}");
    let compiles = std::env::var_os("SCHISM_JIT").is_some() && has_device_code();
    assert!(!compiles || out.contains(&format!("{role} is well on cpu")), "{out}{err}");
    println!("{out}");
}

/// Whether the schism compiler made this program.
fn has_device_code() -> bool {
    fn of<K: schism::__private::Kernel<1>>(_: &K) -> bool {
        !schism::__private::descriptor::<K, 1>().is_null()
    }
    of(&|_: Item<1>| ())
}

#[test]
fn a_child_of_an_idle_parent_launches() {
    test("single");
}

#[test]
fn a_child_of_a_parent_that_launches_does_not_hang() {
    test("threads");
}

#[test]
fn a_child_of_a_parent_that_has_submitted_does_not_hang() {
    test("submitted");
}

#[test]
fn a_child_that_is_forked_inside_of_a_scope_does_not_hang() {
    test("inside");
}
