//! The sources of the plugin, of stage 2 and of the runtime: a checkout's own files, or those packed
//! into this binary.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::{Error, FileContext, Result};
use crate::hash::Hasher;
use crate::home::Home;
use crate::lockfile;
use crate::manifest::Manifest;
use crate::variables;
use crate::{environment, pack, publish};

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.pack"));

/// A file's path in the checkout, and its contents.
pub type SourceFile = (PathBuf, Cow<'static, [u8]>);

/// Where the sources are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// In a checkout, and they may change from one run to the next.
    Checkout(PathBuf),
    /// In this binary.
    Packed,
}

impl Sources {
    /// The checkout that `SCHISM_WORKSPACE` names; else the one that this program was built and
    /// started in; else the packed ones.
    pub fn find() -> Result<Sources> {
        if let Some(path) = std::env::var_os(variables::WORKSPACE).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            for missing in ["Cargo.lock", "codegen/Cargo.toml"] {
                if !path.join(missing).is_file() {
                    return Err(Error::NotAWorkspace { path, missing });
                }
            }
            return path.canonicalize().at("open", &path).map(Sources::Checkout);
        }
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"));
        let here = environment::under_cargo_run()
            || std::env::current_exe().is_ok_and(|exe| exe.starts_with(built_in));
        match (here || PACKED.is_empty(), built_in.join("codegen/Cargo.toml").is_file()) {
            (true, true) => Ok(Sources::Checkout(built_in.to_owned())),
            (_, _) if !PACKED.is_empty() => Ok(Sources::Packed),
            _ => Err(Error::NoSources { path: built_in.to_owned() }),
        }
    }

    /// A name for what is remembered about these sources.
    pub fn key(&self) -> String {
        let mut hasher = Hasher::default();
        match self {
            Sources::Checkout(root) => hasher.field(root.as_os_str().as_encoded_bytes()),
            Sources::Packed => hasher.field(PACKED),
        };
        hasher.finish()
    }

    /// The sizes and times of the files that set-up builds from, which tell cheaply that nothing
    /// changed. Packed sources never do: theirs is empty.
    pub fn manifest(&self) -> Result<Manifest> {
        match self {
            Sources::Checkout(root) => {
                let mut files = pack::files(root).at("list the sources in", root)?;
                files.retain(|file| pack::is_of_setup(file));
                Manifest::of(root, &files)
            }
            Sources::Packed => Ok(Manifest::default()),
        }
    }

    /// A hash of the contents that set-up builds from. The same sources have the same hash, in a
    /// checkout and packed.
    pub fn content_hash(&self) -> Result<String> {
        let mut hasher = Hasher::default();
        for (path, contents) in self.files(pack::is_of_setup)? {
            hasher.field(path.as_os_str().as_encoded_bytes()).field(&contents);
        }
        Ok(hasher.finish())
    }

    /// Some of the files, in a fixed order.
    pub fn files(&self, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<SourceFile>> {
        match self {
            Sources::Checkout(root) => {
                let files = pack::files(root).at("list the sources in", root)?;
                let wanted = files.into_iter().filter(|file| is_wanted(file));
                let read = |file: PathBuf| {
                    let path = root.join(&file);
                    let contents = std::fs::read(&path).at("read", &path)?;
                    Ok((file, Cow::Owned(contents)))
                };
                wanted.map(read).collect()
            }
            Sources::Packed => {
                let wanted = packed(PACKED).filter(|(path, _)| is_wanted(path));
                Ok(wanted.map(|(path, contents)| (path, Cow::Borrowed(contents))).collect())
            }
        }
    }

    /// A workspace that cargo can build.
    pub fn workspace(&self, home: &Home) -> Result<PathBuf> {
        match self {
            Sources::Checkout(root) => Ok(root.clone()),
            Sources::Packed => {
                // One place for all versions: what did not change between them is not compiled
                // again.
                let place = home.build().join("sources");
                publish::create_parent(&place)?;
                unpack(PACKED, &place)?;
                Ok(place)
            }
        }
    }
}

/// The checkout that a package to start from depends on: the one of [`Sources::find`], or the one that
/// this program was installed from, if that is there. `None` for a program of the registry's.
pub fn checkout() -> Option<PathBuf> {
    if let Ok(Sources::Checkout(root)) = Sources::find() {
        return Some(root);
    }
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    built_in.join("codegen/Cargo.toml").is_file().then(|| built_in.to_owned())
}

/// Writes packed files below `place`. Files that are as they should be keep their times, for
/// cargo's sake; files that do not belong go.
fn unpack(block: &[u8], place: &Path) -> Result<()> {
    let mut belong = Vec::new();
    for (path, contents) in packed(block) {
        let contents = if path == Path::new("Cargo.toml") {
            workspace_of_packed(&String::from_utf8_lossy(contents)).into_bytes()
        } else {
            contents.to_vec()
        };
        let full = place.join(&path);
        // The lock file is cargo's to shorten, from the original beside it.
        let packed_lock = place.join(lockfile::ORIGINAL);
        let is_lock = path == Path::new("Cargo.lock");
        let kept = is_lock && full.is_file() && holds(&packed_lock, &contents);
        if !kept && !holds(&full, &contents) {
            publish::write_file(&full, &contents)?;
        }
        if is_lock {
            publish::write_file(&packed_lock, &contents)?;
        }
        belong.push(path);
    }
    let present = pack::files(place).at("list", place)?;
    for file in present.iter().filter(|file| !belong.contains(file)) {
        std::fs::remove_file(place.join(file)).at("remove", place.join(file))?;
    }
    Ok(())
}

fn holds(path: &Path, contents: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|found| found == contents)
}

/// The paths and contents of packed files.
fn packed(mut block: &[u8]) -> impl Iterator<Item = (PathBuf, &[u8])> {
    std::iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let path = String::from_utf8_lossy(field(&mut block)).into_owned();
        Some((PathBuf::from(path), field(&mut block)))
    })
}

fn field<'a>(block: &mut &'a [u8]) -> &'a [u8] {
    let (length, rest) = block.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("split at 8")) as usize;
    let (bytes, rest) = rest.split_at(length);
    *block = rest;
    bytes
}

/// The checkout's workspace, with those of its members that are packed.
fn workspace_of_packed(manifest: &str) -> String {
    let mut result = String::new();
    let mut within = None;
    for line in manifest.lines() {
        match within {
            None => {
                let list = ["members", "default-members"].iter().find(|name| {
                    line.strip_prefix(**name).is_some_and(|rest| rest.trim_start().starts_with('='))
                });
                within = list.filter(|_| !line.contains(']'));
                if list == Some(&"default-members") {
                    continue;
                }
                result.push_str(line);
            }
            Some(list) => {
                if line.trim_start().starts_with(']') {
                    within = None;
                }
                let member = line.trim().trim_end_matches(',').trim_matches('"');
                let packed =
                    pack::DIRECTORIES.iter().any(|packed| Path::new(member).starts_with(packed));
                if *list == "default-members" || !(packed || line.trim_start().starts_with(']')) {
                    continue;
                }
                result.push_str(line);
            }
        }
        result.push('\n');
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn checkout() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn packed_sources_are_those_of_the_checkout() {
        if PACKED.is_empty() {
            return; // built without the feature
        }
        let here = Sources::Checkout(checkout().to_owned());
        assert_eq!(here.content_hash().unwrap(), Sources::Packed.content_hash().unwrap());
        assert_ne!(here.key(), Sources::Packed.key());
    }

    #[test]
    fn unpacking_gives_a_workspace_of_its_own() {
        let files = pack::files(checkout()).unwrap();
        for file in ["abi/Cargo.toml", "Cargo.toml", "src/lib.rs", "stdpar/src/lib.rs"] {
            assert!(files.contains(&Path::new("runtime").join(file)), "{file}");
        }
        let block = pack::pack(checkout(), &files).unwrap();
        let scratch = Scratch::new("unpack");
        unpack(&block, scratch.path()).unwrap();
        for file in files.iter().filter(|file| *file != Path::new("Cargo.toml")) {
            assert_eq!(
                std::fs::read(checkout().join(file)).unwrap(),
                std::fs::read(scratch.path().join(file)).unwrap()
            );
        }
        let manifest = std::fs::read_to_string(scratch.path().join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("\"codegen\"")
                && manifest.contains("\"runtime/abi\"")
                && manifest.contains("\"runtime\"")
                && manifest.contains("\"runtime/stdpar\"")
                && manifest.contains("inkwell")
        );
        for absent in ["build_system", "\"tests\"", "default-members"] {
            assert!(!manifest.contains(absent), "{absent} in {manifest}");
        }
    }

    #[test]
    fn unpacking_again_touches_only_what_changed() {
        let scratch = Scratch::new("unpack-again");
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        for directory in pack::DIRECTORIES {
            std::fs::create_dir_all(from.join(directory)).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock", "codegen/a.rs", "codegen/b.rs", "passes/c.rs"] {
            std::fs::write(from.join(file), "one").unwrap();
        }
        let again =
            || unpack(&pack::pack(&from, &pack::files(&from).unwrap()).unwrap(), &to).unwrap();
        for directory in pack::DIRECTORIES {
            std::fs::create_dir_all(to.join(directory)).unwrap();
        }
        again();
        let time = |file: &str| std::fs::metadata(to.join(file)).unwrap().modified().unwrap();
        let before = (time("codegen/a.rs"), time("passes/c.rs"));
        std::fs::write(to.join("Cargo.lock"), "shortened by cargo").unwrap();
        std::fs::write(from.join("passes/c.rs"), "two").unwrap();
        std::fs::remove_file(from.join("codegen/b.rs")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        again();
        assert_eq!(time("codegen/a.rs"), before.0);
        assert_ne!(time("passes/c.rs"), before.1);
        assert!(!to.join("codegen/b.rs").exists());
        assert_eq!(std::fs::read_to_string(to.join("Cargo.lock")).unwrap(), "shortened by cargo");
        std::fs::write(from.join("Cargo.lock"), "two").unwrap();
        again();
        assert_eq!(std::fs::read_to_string(to.join("Cargo.lock")).unwrap(), "two");
    }
}
