//! What takes long is told of, where a person sees it.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// What takes no longer needs no word.
const LONG: Duration = Duration::from_secs(1);

/// Does something. If it takes longer than a second and standard error is a terminal, a line there says
/// what is done, and another one how long it took.
pub(crate) fn telling<R>(what: &(dyn Display + Sync), work: impl FnOnce() -> R) -> R {
    if io::stderr().is_terminal() { telling_to(io::stderr(), LONG, what, work) } else { work() }
}

fn telling_to<R>(
    mut to: impl Write + Send,
    long: Duration,
    what: &(dyn Display + Sync),
    work: impl FnOnce() -> R,
) -> R {
    let (done, is_done) = mpsc::channel::<()>();
    let begin = Instant::now();
    let tell = move || {
        if is_done.recv_timeout(long) == Err(RecvTimeoutError::Timeout) {
            // Nothing is wrong if it cannot be told.
            let _ = writeln!(to, "schism: {what} …");
            let _ = is_done.recv();
            let _ = writeln!(to, "schism: {what}: {:.1} s", begin.elapsed().as_secs_f64());
        }
    };
    thread::scope(|scope| {
        // Without a thread nothing is told.
        let _ = thread::Builder::new().name("schism-progress".to_owned()).spawn_scoped(scope, tell);
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(takes: u64) -> String {
        let mut text = Vec::new();
        let long = Duration::from_millis(50);
        let work = || thread::sleep(Duration::from_millis(takes));
        telling_to(&mut text, long, &"compiling", work);
        String::from_utf8(text).expect("it is text")
    }

    #[test]
    fn only_what_takes_long_is_told() {
        assert_eq!(told(0), "");
        let text = told(300);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "schism: compiling …");
        assert!(lines.len() == 2 && lines[1].starts_with("schism: compiling: 0."), "{text}");
    }

    #[test]
    fn a_panic_passes() {
        let work = || telling_to(Vec::new(), LONG, &"compiling", || panic!("in the work"));
        assert!(std::panic::catch_unwind(work).is_err());
    }
}
