//! What cargo builds is what the lock file of the sources says.
//!
//! Set-up builds with `--locked`. Where it builds a part of a workspace (the compiler without its
//! tools, the plugin without the rest of schism) cargo has to shorten the lock file first. This is
//! done in a separate step, and nothing may come into the file by it: each package that is left
//! must be one of the original's, with the same version, source and checksum.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::{Error, FileContext, Result};
use crate::publish;

/// The file that cargo reads and shortens.
const LOCK: &str = "Cargo.lock";

/// The original, beside it.
pub const ORIGINAL: &str = "Cargo.lock.original";

/// Has cargo shorten the lock file in `root` to what the workspace needs. `fetch` is a cargo in its
/// environment, without a verb; `host` is the target that packages are fetched for.
pub fn shorten(mut fetch: Command, root: &Path, host: &str) -> Result<()> {
    let (path, kept) = (root.join(LOCK), root.join(ORIGINAL));
    let read = |path: &Path| std::fs::read_to_string(path).at("read", path);
    if !kept.is_file() {
        publish::write_file(&kept, read(&path)?.as_bytes())?;
    }
    fetch.args(["fetch", "--target", host]);
    command::capture(
        fetch,
        "to fetch what is to be built",
        "Install the cargo that belongs to the compiler.",
    )?;
    let added = added(&read(&kept)?, &read(&path)?);
    if added.is_empty() { Ok(()) } else { Err(Error::LockFile { path, added: added.join(", ") }) }
}

/// The packages of a lock file that another does not have just so.
fn added(original: &str, shortened: &str) -> Vec<String> {
    let known = packages(original);
    let added = packages(shortened).into_iter().filter(|package| !known.contains(package));
    added.map(|package| package.join(" ").trim_end().to_owned()).collect()
}

/// Name, version, source and checksum of each package.
fn packages(lock: &str) -> BTreeSet<[String; 4]> {
    let field = |stanza: &str, name: &str| {
        let value = stanza.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
        });
        value.unwrap_or_default()
    };
    lock.split("[[package]]")
        .skip(1)
        .map(|stanza| ["name", "version", "source", "checksum"].map(|name| field(stanza, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const WHOLE: &str = "version = 4\n\n\
        [[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b 0.2.0\",\n]\n\n\
        [[package]]\nname = \"b\"\nversion = \"0.1.0\"\nsource = \"registry\"\nchecksum = \"11\"\n\n\
        [[package]]\nname = \"b\"\nversion = \"0.2.0\"\nsource = \"registry\"\nchecksum = \"22\"\n";

    /// A cargo that writes a lock file.
    fn cargo(scratch: &Scratch, lock: &str) -> Command {
        let script = format!("[ $1 = fetch ] && cat >Cargo.lock <<'END'\n{lock}\nEND\n");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "cargo"]).current_dir(scratch.path());
        command
    }

    #[test]
    fn cargo_may_take_packages_out_of_a_lock_file_and_put_none_in() {
        let scratch = Scratch::new("lock-file");
        let path = scratch.path().join(LOCK);
        std::fs::write(&path, WHOLE).unwrap();
        // Without the older `b`, the other is named without its version.
        let older = "[[package]]\nname = \"b\"\nversion = \"0.1.0\"\nsource = \"registry\"\nchecksum = \"11\"\n\n";
        let shorter = WHOLE.replace(older, "").replace("b 0.2.0", "b");
        assert_ne!(shorter, WHOLE);
        shorten(cargo(&scratch, &shorter), scratch.path(), "host").unwrap();
        for (from, to) in [("0.2.0", "0.3.0"), ("22", "23"), ("registry", "elsewhere")] {
            let changed = shorter.replace(from, to);
            let error =
                shorten(cargo(&scratch, &changed), scratch.path(), "host").unwrap_err().to_string();
            assert!(error.contains("Cargo.lock") && error.contains(to), "{error}");
        }
        // The original is remembered, whatever was made of it.
        shorten(cargo(&scratch, WHOLE), scratch.path(), "host").unwrap();
    }
}
