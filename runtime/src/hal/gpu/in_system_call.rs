//! Whether the threads of the process have left the system calls that they were in.

use std::time::{Duration, Instant};

/// `madvise(2)`, and what else may give back memory as it does.
const GIVING: [libc::c_long; 3] =
    [libc::SYS_madvise, libc::SYS_process_madvise, libc::SYS_io_uring_enter];

/// No such call takes a processor for so long.
const LONGEST: u64 = 1_000_000_000;

/// Looks lie so far apart.
const INTERVAL: Duration = Duration::from_millis(1);

/// Threads that may still be in a call which gives back memory, and was begun before this was made.
///
/// Linux tells the system call of a thread that waits, and of others how long they have run. A
/// thread is done when it was seen in another call, or has run for longer than a call takes.
#[derive(Debug)]
pub(super) struct InSystemCall {
    /// Ids, and for how many nanoseconds each had run.
    threads: Vec<(String, Option<u64>)>,
    looked: Instant,
}

impl InSystemCall {
    /// All threads except the calling one; `None` if they cannot be listed.
    pub(super) fn now() -> Option<Self> {
        // SAFETY: a query without side effects.
        let own = unsafe { libc::gettid() }.to_string();
        let mut threads = Vec::new();
        for thread in std::fs::read_dir("/proc/self/task").ok()? {
            let thread = thread.ok()?.file_name().into_string().ok()?;
            if thread != own {
                let ran = ran(&thread);
                threads.push((thread, ran));
            }
        }
        Some(Self { threads, looked: Instant::now() })
    }

    /// Whether none is left. It looks at most once in a while.
    pub(super) fn is_none_left(&mut self) -> bool {
        if self.looked.elapsed() >= INTERVAL {
            self.looked = Instant::now();
            self.threads.retain(|(thread, before)| may_be_in_call(thread, *before));
        }
        self.threads.is_empty()
    }
}

/// For how many nanoseconds a thread has run.
fn ran(thread: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn may_be_in_call(thread: &str, before: Option<u64>) -> bool {
    match std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")) {
        Ok(text) => match call(&text) {
            // It waits: in this call, or in none.
            Some(number) => GIVING.contains(&number),
            None => before
                .zip(ran(thread))
                .is_none_or(|(before, now)| now.saturating_sub(before) <= LONGEST),
        },
        // It has ended.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => error.raw_os_error() != Some(libc::ESRCH),
    }
}

/// The system call that a thread waits in, -1 for none; `None` if it runs.
fn call(text: &str) -> Option<libc::c_long> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn calls_are_read() {
        assert_eq!(call("running\n"), None);
        assert_eq!(call("28 0x7f 0x1000 0x4 0x0 0x0 0x0 0x7ffe 0x7f00\n"), Some(28));
        assert_eq!(call("-1 0x7ffe 0x7f00\n"), Some(-1));
        assert_eq!(call(""), None);
    }

    #[test]
    fn threads_that_wait_elsewhere_or_end_are_done() {
        let (send, receive) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let waiting = std::thread::spawn(move || {
            // SAFETY: a query without side effects.
            tell.send(unsafe { libc::gettid() }.to_string()).unwrap();
            let _ = receive.recv();
        });
        let thread = told.recv().unwrap();
        // Until it waits.
        let tries = (0..1000).take_while(|_| {
            std::thread::sleep(INTERVAL);
            may_be_in_call(&thread, ran(&thread))
        });
        assert!(tries.count() < 1000);
        drop(send);
        waiting.join().unwrap();
        // The system needs a moment.
        let is_there = |_: &i32| {
            std::thread::sleep(INTERVAL);
            may_be_in_call(&thread, None)
        };
        assert!((0..1000).take_while(is_there).count() < 1000);
        // A thread that runs is done when it has run for long enough.
        assert!(InSystemCall::now().is_some());
    }
}
