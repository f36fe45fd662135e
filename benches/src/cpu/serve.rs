//! The protocol: commands on stdin, an answer to each on stdout.
//!
//! `open NAME` makes a workload's inputs; the answer is `ok`, or `absent`. `run N` runs it so many
//! times; the answer is the seconds that passed, and the processor time that the program took, for
//! one run. `save PATH` writes its result. A program whose input ends, ends.

use std::io::{BufRead, Write};
use std::time::Instant;

/// What a workload is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// To compute its result.
    Run,
    /// To give its result.
    Result,
}

/// A workload: computes, or gives the bytes of its result.
pub type Workload = Box<dyn FnMut(Ask) -> Vec<u8>>;

/// Elements whose bytes are a result.
pub trait Bytes {
    /// The bytes.
    fn bytes(&self) -> Vec<u8>;
}

impl Bytes for [f32] {
    fn bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
}

impl Bytes for [u32] {
    fn bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
}

impl<const N: usize> Bytes for [[f32; N]] {
    fn bytes(&self) -> Vec<u8> {
        self.as_flattened().bytes()
    }
}

impl<const N: usize> Bytes for [[u8; N]] {
    fn bytes(&self) -> Vec<u8> {
        self.as_flattened().to_vec()
    }
}

impl Bytes for [schism_examples::gravity::Body] {
    fn bytes(&self) -> Vec<u8> {
        let numbers = self.iter().flat_map(|body| {
            let ([x, y, z], [u, v, w]) = (body.position, body.velocity);
            [x, y, z, body.mass, u, v, w]
        });
        numbers.flat_map(f32::to_le_bytes).collect()
    }
}

/// Answers commands until there are no more.
///
/// # Errors
/// What is wrong with a command, or with the pipe.
pub fn serve(mut open: impl FnMut(&str) -> Option<Workload>) -> std::io::Result<()> {
    let wrong = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidInput, what.to_owned());
    let mut workload: Option<Workload> = None;
    let mut answers = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (command, argument) = line.split_once(' ').ok_or_else(|| wrong("no argument"))?;
        match (command, &mut workload) {
            ("open", _) => {
                // The old one's memory goes first.
                drop(workload.take());
                workload = open(argument);
                writeln!(answers, "{}", if workload.is_some() { "ok" } else { "absent" })?;
            }
            ("run", Some(workload)) => {
                let count: u32 = argument.parse().map_err(|_| wrong("not a number of runs"))?;
                let (start, used) = (Instant::now(), processor_time());
                for _ in 0..count {
                    workload(Ask::Run);
                }
                let count = f64::from(count.max(1));
                let passed = start.elapsed().as_secs_f64() / count;
                writeln!(answers, "{passed} {}", (processor_time() - used) / count)?;
            }
            ("save", Some(workload)) => {
                std::fs::write(argument, workload(Ask::Result))?;
                writeln!(answers, "ok")?;
            }
            _ => return Err(wrong("no such command, or no workload")),
        }
        answers.flush()?;
    }
    Ok(())
}

/// The processor time that all threads of the program have taken, in seconds.
#[cfg(unix)]
#[must_use]
pub fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "every process has a clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The time since the first call, in seconds: there is no clock of processor time.
#[cfg(not(unix))]
#[must_use]
pub fn processor_time() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
