//! A program that ends while a kernel is being compiled, in the way that its argument names. The kernel
//! takes long to compile. `ending WAY MILLISECONDS compiling|launching`: so long after the compilation has
//! begun, or after the kernel has run for the first time, while it runs again.

use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// One of many functions that are alike but for a constant.
macro_rules! mixed {
    ($x:ident, $which:expr; $($n:literal)*) => {
        match $which % 64 {
            $($n => {
                let mut rows = [[$x; 8]; 8];
                for i in 0..8 {
                    for j in 0..8 {
                        let other = rows[(i * 5 + $n) % 8][(j * 3 + 1) % 8];
                        rows[i][j] = (other * (1.0 + $n as f64 / 128.0) + (i * j) as f64).sqrt()
                            + (other + $n as f64).sin().abs().powf(1.25);
                    }
                }
                let mut all = rows.concat_rows();
                for end in (1..all.len()).rev() {
                    for i in 0..end {
                        if all[i] > all[i + 1] {
                            all.swap(i, i + 1);
                        }
                    }
                }
                all.iter().zip(1..).map(|(x, i)| x * f64::from(i + $n)).sum::<f64>()
            })*
            _ => 0.0,
        }
    };
}

trait ConcatRows {
    fn concat_rows(&self) -> [f64; 64];
}

impl ConcatRows for [[f64; 8]; 8] {
    fn concat_rows(&self) -> [f64; 64] {
        let mut all = [0.0; 64];
        for (to, from) in all.chunks_mut(8).zip(self) {
            to.copy_from_slice(from);
        }
        all
    }
}

fn work(x: f64, which: usize) -> f64 {
    mixed!(x, which; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
        31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
}

fn pipeline() -> f64 {
    (0..20_000_usize).into_par_iter().map(|i| work(i as f64, i)).filter(|x| x.is_finite()).sum()
}

/// Whether a kernel is being compiled now.
fn is_compiling() -> bool {
    std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().any(|task| {
        std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.trim() == "schism-jit")
    })
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
}

/// Forks; the child ends by `exit`. Returns its exit status.
fn child() -> i32 {
    // SAFETY: the child does nothing but end.
    let child = unsafe { fork() };
    if child == 0 {
        process::exit(6);
    }
    let mut status = 0;
    // SAFETY: our own child, and the status is ours to be written.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status & 0x7f, 0, "the child ended by a signal");
    status >> 8
}

/// How often the pipeline has run.
static RUNS: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let way = std::env::args().nth(1).expect("a way to end");
    let begin = Instant::now();
    // Where all pipelines are kernels, the first one waits for the compiler.
    std::thread::spawn(|| {
        loop {
            std::hint::black_box(pipeline());
            RUNS.fetch_add(1, Relaxed);
        }
    });
    let launching = std::env::args().nth(3).is_some_and(|word| word == "launching");
    while if launching { RUNS.load(Relaxed) == 0 } else { !is_compiling() } {
        assert!(begin.elapsed() < Duration::from_secs(300), "nothing is compiled");
        std::thread::sleep(Duration::from_millis(1));
    }
    let later = std::env::args().nth(2).and_then(|later| later.parse().ok()).unwrap_or(0);
    std::thread::sleep(Duration::from_millis(later));
    println!("{}", if launching || !is_compiling() { "launching" } else { "compiling" });
    std::io::stdout().flush().expect("standard output is open");
    match &*way {
        "return" => {}
        "exit" => process::exit(3),
        "exit elsewhere" => {
            let _ = std::thread::spawn(|| process::exit(4)).join();
        }
        "panic" => panic!("at the end"),
        "abort" => process::abort(),
        "fork" => process::exit(child() + 1),
        // The parent sends it.
        "signal" => std::thread::sleep(Duration::from_secs(3600)),
        way => panic!("no way to end: {way}"),
    }
}
