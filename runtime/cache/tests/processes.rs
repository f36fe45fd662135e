//! Many threads and processes at one folder; processes that die.

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use schism_cache::{Folder, Key, Source};
use support::{child, get, given_folder, key, open, scratch, value};

const PLENTY: u64 = 1 << 30;
const KEYS: u64 = 12;
const PROCESSES: usize = 8;
const THREADS: u64 = 64;

fn folder_of(scratch: &Path) -> std::path::PathBuf {
    scratch.join("kernels")
}

#[test]
fn each_key_is_compiled_once_whoever_asks() {
    let scratch = scratch("once");
    fs::write(scratch.join("log"), "").unwrap();
    let start = || child("child_asks_for_all", &scratch).stdout(Stdio::piped()).spawn().unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
    // They wait for this, so that all begin at once.
    fs::write(scratch.join("go"), "").unwrap();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
    }
    let log = fs::read_to_string(scratch.join("log")).unwrap();
    let mut compiled: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
    compiled.sort_unstable();
    assert_eq!(compiled, (0..KEYS).collect::<Vec<_>>());
    let checked = Folder::open(&folder_of(&scratch), PLENTY).unwrap().verify().unwrap();
    assert_eq!((checked.good, checked.problems.len()), (KEYS, 0));
}

#[test]
#[ignore = "started by another test"]
fn child_asks_for_all() {
    let scratch = given_folder();
    let (cache, said) = open(&folder_of(&scratch), PLENTY);
    let log = fs::File::options().append(true).open(scratch.join("log")).unwrap();
    while !scratch.join("go").exists() {
        std::thread::yield_now();
    }
    let compiled = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (cache, log) = (&cache, &log);
                scope.spawn(move || {
                    let mut compiled = 0;
                    for number in (0..KEYS).map(|number| (number + thread) % KEYS) {
                        let found = cache.get_or_compile(&key(number), || {
                            // One write, so that no other process's comes between its pieces.
                            (&*log).write_all(format!("{number}\n").as_bytes())?;
                            std::thread::sleep(Duration::from_millis(10));
                            Ok::<_, std::io::Error>(value(number))
                        });
                        let found = found.unwrap();
                        assert_eq!(*found.value, value(number));
                        compiled += u64::from(found.source == Source::Compiled);
                    }
                    compiled
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    });
    assert!(compiled <= KEYS);
    assert!(said.lock().unwrap().is_empty(), "{said:?}");
}

#[test]
fn processes_that_are_killed_leave_nothing_wrong() {
    const LIMIT: u64 = 600 << 10;
    let folder = scratch("killed");
    let mut random = fastrand::Rng::with_seed(7);
    let mut reached = 0;
    for _ in 0..100 {
        // Two at a time, so that one waits for what the other holds when it dies.
        let mut children = [0, 1].map(|_| {
            let mut command = child("child_works_until_killed", &folder);
            command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
        });
        for child in &mut children {
            std::thread::sleep(Duration::from_micros(random.u64(0..15_000)));
            child.kill().unwrap();
            assert!(child.wait().unwrap().code().is_none(), "it failed before it was killed");
        }
        let store = Folder::open(&folder, LIMIT).unwrap();
        reached = reached.max(store.usage().unwrap().entries);
        let problems = store.verify().unwrap().problems;
        assert!(problems.is_empty(), "{problems:?}");
    }
    assert!(reached > 10, "no process came to write anything: {reached}");
    // Locks of the dead are free, and what is there is right.
    let (cache, said) = open(&folder, LIMIT);
    for number in 0..40 {
        get(&cache, number);
    }
    assert!(said.lock().unwrap().is_empty(), "{said:?}");
    assert!(cache.folder().unwrap().usage().unwrap().bytes <= LIMIT);
}

#[test]
#[ignore = "started by another test"]
fn child_works_until_killed() {
    let folder = given_folder();
    let mut random = fastrand::Rng::new();
    loop {
        let (cache, said) = open(&folder, 600 << 10);
        for _ in 0..100 {
            get(&cache, random.u64(0..40));
        }
        assert!(said.lock().unwrap().is_empty(), "{said:?}");
    }
}

#[test]
fn the_lock_of_a_dead_process_is_free() {
    let scratch = scratch("dead");
    let mut command = child("child_holds_a_lock", &scratch);
    let mut holder = command.stdout(Stdio::null()).spawn().unwrap();
    while !scratch.join("held").exists() {
        std::thread::yield_now();
    }
    let waiter = std::thread::spawn({
        let folder = folder_of(&scratch);
        move || get(&open(&folder, PLENTY).0, 1).source
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiter.is_finished(), "the lock is held");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(waiter.join().unwrap(), Source::Compiled);
}

#[test]
#[ignore = "started by another test"]
fn child_holds_a_lock() {
    let scratch = given_folder();
    let (cache, _) = open(&folder_of(&scratch), PLENTY);
    let forever = || -> Result<_, ()> {
        fs::write(scratch.join("held"), "").unwrap();
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    };
    let _ = cache.get_or_compile(&Key::clone(&key(1)), forever);
}
