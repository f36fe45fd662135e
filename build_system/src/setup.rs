//! Set-up: everything that the other verbs need, made once and found again fast.

use std::path::PathBuf;

use crate::artifacts::{self, Installed};
use crate::error::{FileContext, Result};
use crate::hash::Hasher;
use crate::home::Home;
use crate::lock::Lock;
use crate::manifest::Manifest;
use crate::progress;
use crate::publish;
use crate::rustc_dev;
use crate::sources::Sources;
use crate::timings::{self, Step, Timings};
use crate::toolchain::Toolchain;

/// A machine that is set up.
#[derive(Debug)]
pub struct Ready {
    /// The compiler.
    pub toolchain: Toolchain,
    /// The plugin and stage 2.
    pub installed: Installed,
}

/// Makes sure that all is there and belongs to the sources as they are now.
pub fn ensure(home: &Home) -> Result<Ready> {
    let toolchain = Toolchain::find()?;
    let sources = Sources::find()?;
    let memory = Memory::of(home, &toolchain, &sources);
    if let Some(installed) = memory.recall(home, &sources.manifest()?) {
        tracing::debug!(plugin = installed.plugin_hash, stage2 = installed.stage2_hash, "found");
        installed.link(home)?;
        installed.note_use();
        return Ok(Ready { toolchain, installed });
    }
    let _lock = Lock::take(home)?;
    // Taken before anything is read: what is edited from here on is seen as changed the next time.
    let manifest = sources.manifest()?;
    if let Some(installed) = memory.recall(home, &manifest) {
        return Ok(Ready { toolchain, installed }); // another process has just done it
    }
    sweep(home);
    let inputs = inputs(&sources, &toolchain)?;
    tracing::debug!(inputs, ?sources, "the sources are others than those that were built last");
    let known = Memory { path: home.state().join(format!("inputs-{inputs}")) };
    if let Some(installed) = known.recall(home, &Manifest::default()) {
        installed.link(home)?;
        memory.write(&installed, &manifest)?;
        return Ok(Ready { toolchain, installed }); // touched, or the same in another place
    }
    let version = &toolchain.version;
    progress::step("Compiler", &format!("rustc {}: {}", version.release, version.how_far_tried()));
    let steps: &[Step] = match rustc_dev::present(home, &toolchain) {
        Some(_) => &[Step::Build],
        None => &[Step::Crates, Step::Build],
    };
    let timings = Timings::of(steps);
    let rustc_dev = match rustc_dev::present(home, &toolchain) {
        Some(present) => present,
        None => timings.step(Step::Crates, || rustc_dev::provide(home, &toolchain, &timings))?,
    };
    let build = || artifacts::build(home, &toolchain, &rustc_dev, &sources);
    let installed = timings.step(Step::Build, build)?;
    timings.write(home)?;
    installed.link(home)?;
    if sources.manifest()? == manifest {
        known.write(&installed, &Manifest::default())?;
    }
    memory.write(&installed, &manifest)?;
    progress::step(
        "Ready",
        &format!("schism for rustc {} in {}", toolchain.version.release, home.root().display()),
    );
    Ok(Ready { toolchain, installed })
}

/// Makes sure that all is there, and says what the last set-up took that had something to do.
pub fn timings(home: &Home) -> Result<()> {
    ensure(home)?;
    match timings::of_last(home) {
        Some(text) => print!("{text}"),
        None => println!("no set-up in {} has said what it took", home.root().display()),
    }
    Ok(())
}

/// What is there for these sources, without making anything. `None` if it is not there or not up to
/// date.
pub fn recall(home: &Home, toolchain: &Toolchain, sources: &Sources) -> Result<Option<Installed>> {
    Ok(Memory::of(home, toolchain, sources).recall(home, &sources.manifest()?))
}

/// The hash of everything that decides what is built.
fn inputs(sources: &Sources, toolchain: &Toolchain) -> Result<String> {
    let mut hasher = Hasher::default();
    hasher
        .field(artifacts::RECIPE.as_bytes())
        .field(sources.content_hash()?.as_bytes())
        .field(toolchain.key().as_bytes())
        .field(toolchain.sysroot.as_os_str().as_encoded_bytes());
    Ok(hasher.finish())
}

fn sweep(home: &Home) {
    for name in crate::home::CONTENTS {
        publish::sweep(&home.root().join(name));
    }
    let builds = std::fs::read_dir(home.build()).into_iter().flatten().flatten();
    builds.for_each(|entry| publish::sweep(&entry.path()));
}

/// A file that says what was built from what.
struct Memory {
    path: PathBuf,
}

const HEADER: &str = "schism set-up 1";

impl Memory {
    fn of(home: &Home, toolchain: &Toolchain, sources: &Sources) -> Memory {
        Memory {
            path: home.state().join(format!(
                "{}-{}-{}",
                toolchain.copy_key(),
                artifacts::RECIPE,
                sources.key()
            )),
        }
    }

    /// What was built from sources with this manifest, if it is still there. A damaged file is one
    /// that is not there.
    fn recall(&self, home: &Home, manifest: &Manifest) -> Option<Installed> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let mut lines = text.lines();
        (lines.next()? == HEADER).then_some(())?;
        let plugin = lines.next()?.strip_prefix("plugin ")?;
        let stage2 = lines.next()?.strip_prefix("stage2 ")?;
        (Manifest::from_lines(lines) == *manifest).then_some(())?;
        let installed = Installed::new(home, plugin, stage2);
        installed.is_there().then_some(installed)
    }

    fn write(&self, installed: &Installed, manifest: &Manifest) -> Result<()> {
        let mut text = format!(
            "{HEADER}\nplugin {}\nstage2 {}\n",
            installed.plugin_hash, installed.stage2_hash
        );
        for line in manifest.lines() {
            text.push_str(line);
            text.push('\n');
        }
        publish::write_file(&self.path, text.as_bytes())
    }
}

/// Removes everything that set-up made, and says how much that was.
pub fn clean(home: &Home) -> Result<()> {
    if !crate::home::CONTENTS.iter().any(|name| home.root().join(name).exists()) {
        progress::step("Nothing", &format!("of schism's is in {}", home.root().display()));
        return Ok(());
    }
    let _lock = Lock::take(home)?;
    let mut bytes = 0;
    for name in crate::home::CONTENTS {
        let path = home.root().join(name);
        bytes += size(&path);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).at("remove", path);
            }
            _ => {}
        }
    }
    progress::step("Removed", &format!("{} from {}", in_words(bytes), home.root().display()));
    Ok(())
}

/// Bytes below a path; what cannot be read counts nothing.
pub fn size(path: &std::path::Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

/// A size for people.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn installed(home: &Home) -> Installed {
        let installed = Installed::new(home, "p", "s");
        for path in installed.files() {
            publish::write_file(&path, b"").unwrap();
        }
        installed
    }

    #[test]
    fn only_what_is_whole_and_unchanged_is_recalled() {
        let scratch = Scratch::new("memory");
        let home = Home::at(scratch.path());
        let memory = Memory { path: home.state().join("x") };
        let manifest = Manifest::from_lines(["3 1.0 7 a.rs"]);
        assert_eq!(memory.recall(&home, &manifest), None);
        let installed = installed(&home);
        memory.write(&installed, &manifest).unwrap();
        assert_eq!(memory.recall(&home, &manifest), Some(installed.clone()));
        assert_eq!(memory.recall(&home, &Manifest::from_lines(["3 2.0 7 a.rs"])), None);
        assert_eq!(memory.recall(&home, &Manifest::default()), None);
        std::fs::remove_file(installed.plugin()).unwrap();
        assert_eq!(memory.recall(&home, &manifest), None);
    }

    #[test]
    fn a_damaged_memory_is_forgotten() {
        let scratch = Scratch::new("memory-damaged");
        let home = Home::at(scratch.path());
        let memory = Memory { path: home.state().join("x") };
        memory.write(&installed(&home), &Manifest::default()).unwrap();
        let text = std::fs::read(&memory.path).unwrap();
        for length in 0..text.len() - 1 {
            std::fs::write(&memory.path, &text[..length]).unwrap();
            assert_eq!(memory.recall(&home, &Manifest::default()), None, "{length} bytes");
        }
        std::fs::write(&memory.path, [0xff, 0xfe]).unwrap();
        assert_eq!(memory.recall(&home, &Manifest::default()), None);
    }

    #[test]
    fn cleaning_removes_what_set_up_made_and_nothing_else() {
        let scratch = Scratch::new("clean");
        let home = Home::at(scratch.path());
        installed(&home).link(&home).unwrap();
        std::fs::write(scratch.path().join("mine"), "").unwrap();
        clean(&home).unwrap();
        clean(&home).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["mine", "setup.lock"]);
        clean(&Home::at(scratch.path().join("nowhere"))).unwrap();
    }
}
