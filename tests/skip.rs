//! What tests need and a machine may lack.
//!
//! A test that cannot run says nothing of schism, so it must not pass: it fails, with the reason.
//! `SCHISM_TEST_SKIP=1` lets it pass with the reason printed, for those who know what they leave
//! out. Tests for GPUs and for NVIDIA's assembler are left out without being asked to, since few
//! machines have them; they print their reasons, too.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The environment variable that allows to leave tests out.
pub const VARIABLE: &str = "SCHISM_TEST_SKIP";

/// What [`lacks`] says where the compiler is missing.
pub const COMPILER: &str = "RUSTC is not schism's compiler; use `cargo schism test`";

/// What [`lacks`] says where stage 2 is missing.
pub const STAGE2: &str = "SCHISM_JIT does not name stage 2; use `cargo schism test`";

/// A test cannot run for want of something that every machine can have. The caller returns.
///
/// # Panics
/// Unless `SCHISM_TEST_SKIP=1` allows to leave the test out.
#[track_caller]
pub fn lacks(reason: &str) {
    assert!(
        std::env::var_os(VARIABLE).is_some_and(|value| value == "1"),
        "this test cannot run: {reason}\n{VARIABLE}=1 leaves such tests out"
    );
    say(reason);
}

/// Prints why a test runs less than it could, or nothing: each reason once for each test. On
/// standard error itself: the output of tests that pass is not shown.
pub fn say(reason: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let test = std::thread::current();
    let line = format!("skipped: {}: {reason}", test.name().unwrap_or("a test"));
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
        // It is lost if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Whether this program has kernels.
///
/// # Panics
/// If it has none, since another compiler has made it, unless that is allowed.
#[track_caller]
#[must_use]
pub fn has_kernels() -> bool {
    let has = std::env::var("RUSTC").is_ok_and(|rustc| rustc.contains("schism-rustc"));
    if !has {
        lacks(COMPILER);
    }
    has
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use crate::lab::Lab;

    /// The test below, in an environment where the compiler is another one.
    fn without_compiler(skip: Option<&str>) -> Output {
        let mut command = Command::new(std::env::current_exe().expect("a test has a program"));
        command.args(["--exact", "--ignored", "skip::tests::child_opens_a_lab"]);
        command.env("RUSTC", "rustc").env_remove(super::VARIABLE);
        command.envs(skip.map(|value| (super::VARIABLE, value)));
        command.output().expect("this program can be started")
    }

    #[test]
    fn a_test_without_its_compiler_does_not_pass() {
        for skip in [None, Some("0"), Some("")] {
            let ended = without_compiler(skip);
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(!ended.status.success(), "{skip:?}: {said}");
            assert!(said.contains("use `cargo schism test`"), "{said}");
            assert!(said.contains("SCHISM_TEST_SKIP=1"), "{said}");
        }
        let ended = without_compiler(Some("1"));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("skipped: ") && said.contains("use `cargo schism test`"), "{said}");
    }

    #[test]
    #[ignore = "started by another test"]
    fn child_opens_a_lab() {
        assert!(Lab::open("/nowhere").is_none());
    }
}
