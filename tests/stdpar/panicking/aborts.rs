//! What ends a process: each in a child process, whose exit status and standard error are compared
//! with what Rust promises.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rayon::prelude::*;

/// A name, what the child does, its exit code or signal, and texts of its standard error with how
/// often each is there.
type End = (&'static str, fn(), Result<i32, i32>, &'static [(&'static str, usize)]);

const ABORT: i32 = 6;

struct Guard(bool);

impl Drop for Guard {
    fn drop(&mut self) {
        assert!(!self.0, "a drop that panics");
    }
}

extern "C" fn cannot_unwind(number: usize) -> usize {
    assert_ne!(number, 77, "unwinding through C");
    number
}

const ENDS: &[End] = &[
    (
        "a drop panics while unwinding",
        || {
            (0..100).into_par_iter().for_each(|key| {
                let _guard = Guard(key == 77);
                assert_ne!(key, 77, "the first panic");
            });
        },
        Err(ABORT),
        &[
            ("the first panic", 1),
            ("a drop that panics", 1),
            ("panic in a destructor during cleanup", 1),
        ],
    ),
    (
        "two values of a vector panic when they are dropped",
        || {
            (0..100).into_par_iter().for_each(|key| {
                drop(vec![Guard(key == 77), Guard(false), Guard(key == 77)]);
            });
        },
        Err(ABORT),
        &[("a drop that panics", 2), ("panic in a destructor during cleanup", 1)],
    ),
    (
        "a panic reaches a function that cannot unwind",
        || println!("{}", (0..100).into_par_iter().map(|key| cannot_unwind(key)).sum::<usize>()),
        Err(ABORT),
        &[("unwinding through C", 1), ("panic in a function that cannot unwind", 1)],
    ),
    (
        "the hook panics",
        || {
            std::panic::set_hook(Box::new(|_| panic!("the hook's own panic")));
            (0..100).into_par_iter().for_each(|key| assert_ne!(key, 77, "the first panic"));
        },
        Err(ABORT),
        &[("thread panicked while processing panic", 1)],
    ),
    (
        "there is not so much memory",
        || {
            let lengths = (0..100_usize).into_par_iter().map(|key| {
                let length = if key == 77 { isize::MAX as usize - 64 } else { key };
                std::hint::black_box(Vec::<u8>::with_capacity(length)).capacity()
            });
            println!("{}", lengths.max().unwrap());
        },
        Err(ABORT),
        &[("memory allocation of 9223372036854775743 bytes failed", 1)],
    ),
    (
        "abort",
        || {
            (0..100).into_par_iter().for_each(|key| {
                if key == 77 {
                    std::process::abort();
                }
            });
        },
        Err(ABORT),
        &[],
    ),
    (
        "exit",
        || {
            (0..100).into_par_iter().for_each(|key| {
                if key == 77 {
                    std::process::exit(7);
                }
            });
        },
        Ok(7),
        &[],
    ),
    (
        "it is not caught",
        || {
            let numbers: Vec<u64> = (0..100).collect();
            numbers.par_iter().for_each(|number| assert!(*number != 77, "number {number} is bad"));
        },
        Ok(101),
        &[("/aborts.rs:", 1), ("number 77 is bad", 1), ("RUST_BACKTRACE=1", 1)],
    ),
    (
        "it has no text and is not caught",
        || {
            (0..100).into_par_iter().for_each(|key| {
                if key == 77 {
                    std::panic::panic_any(key);
                }
            });
        },
        Ok(101),
        &[("/aborts.rs:", 1), ("Box<dyn Any>", 1)],
    ),
];

/// Does one of them, in this process.
pub fn one(name: &str) {
    ENDS.iter().find(|end| end.0 == name).expect("a name of them").1();
}

/// Does each in a child process, and prints what is otherwise than it should be.
pub fn all() {
    let mut wrong = 0;
    for (name, _, end, texts) in ENDS {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"));
        let child = child.args(["abort", name]).env("RUST_BACKTRACE", "0").output().unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        let found = child.status.code().ok_or_else(|| child.status.signal().unwrap_or_default());
        let others: Vec<_> =
            texts.iter().filter(|(text, times)| said.matches(text).count() != *times).collect();
        let right = found == *end && others.is_empty();
        println!("{name}: {found:?}, {}", if right { "as it should be" } else { "wrong" });
        if !right {
            wrong += 1;
            eprintln!("failed: {name}: {found:?} instead of {end:?}, {others:?}: {said}");
        }
    }
    std::process::exit(i32::from(wrong > 0));
}
