//! Making results visible all at once: they are prepared beside their place and renamed into it.

use std::path::{Path, PathBuf};

use crate::error::{FileContext, Result};

/// A directory under construction. Dropped unpublished, it is removed; killed, it is a leftover
/// that [`sweep`] removes.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    place: PathBuf,
}

/// Marks names of things under construction.
const MARK: &str = ".draft-";

impl Draft {
    /// Starts what is to become `place`.
    pub fn new(place: &Path) -> Result<Draft> {
        let path = beside(place);
        std::fs::create_dir_all(&path).at("create", &path)?;
        Ok(Draft { path, place: place.to_owned() })
    }

    /// Where to put the contents.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the directory in its place. An earlier one there is replaced.
    pub fn publish(self) -> Result<()> {
        if self.place.exists() {
            let old = beside(&self.place).with_extension("old");
            std::fs::rename(&self.place, &old).at("move", &self.place)?;
            std::fs::rename(&self.path, &self.place).at("create", &self.place)?;
            // What is left of the old one is swept up another time.
            let _ = std::fs::remove_dir_all(&old);
            return Ok(());
        }
        std::fs::rename(&self.path, &self.place).at("create", &self.place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `publish` there is nothing left under this name.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn beside(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(format!("{MARK}{}", std::process::id()));
    place.with_file_name(name)
}

/// Removes what killed set-ups left under construction in `directory`. The caller holds the set-up
/// lock.
pub fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().contains(MARK) {
            let path = entry.path();
            // A leftover that cannot be removed does no harm.
            let _ = if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
        }
    }
}

/// Writes a file so that readers see the old contents or the new, nothing between. A device or a
/// pipe (`/dev/null`, `/dev/stdout`) is written to, not replaced.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return std::fs::write(path, contents).at("write", path);
    }
    create_parent(path)?;
    let draft = beside(path);
    std::fs::write(&draft, contents).at("write", &draft)?;
    std::fs::rename(&draft, path).at("write", path)
}

/// Points a symbolic link somewhere, so that it never is missing on the way.
pub fn link(path: &Path, target: &Path) -> Result<()> {
    if std::fs::read_link(path).is_ok_and(|current| current == target) {
        return Ok(());
    }
    create_parent(path)?;
    let draft = beside(path);
    let _ = std::fs::remove_file(&draft);
    std::os::unix::fs::symlink(target, &draft).at("create", &draft)?;
    std::fs::rename(&draft, path).at("create", path)
}

/// Makes the directory that `path` lies in.
pub fn create_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).at("create", parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn nothing_is_seen_before_publication() {
        let scratch = Scratch::new("publish");
        let place = scratch.path().join("place");
        let draft = Draft::new(&place).unwrap();
        std::fs::write(draft.path().join("file"), "new").unwrap();
        assert!(!place.exists());
        draft.publish().unwrap();
        assert_eq!(std::fs::read_to_string(place.join("file")).unwrap(), "new");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_result_is_replaced_whole() {
        let scratch = Scratch::new("publish-again");
        let place = scratch.path().join("place");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("old"), "").unwrap();
        let draft = Draft::new(&place).unwrap();
        std::fs::write(draft.path().join("new"), "").unwrap();
        draft.publish().unwrap();
        assert!(place.join("new").exists() && !place.join("old").exists());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn devices_are_written_to_and_not_replaced() {
        let scratch = Scratch::new("device");
        let path = scratch.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        write_file(&path, b"nothing").unwrap();
        assert!(path.is_symlink());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_abandoned_draft_goes_away() {
        let scratch = Scratch::new("abandoned");
        drop(Draft::new(&scratch.path().join("place")).unwrap());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_of_a_killed_set_up_are_swept_and_nothing_else() {
        let scratch = Scratch::new("sweep");
        let draft = Draft::new(&scratch.path().join("place")).unwrap();
        std::fs::write(draft.path().join("half"), "").unwrap();
        std::mem::forget(draft);
        std::fs::write(scratch.path().join("note.draft-99"), "").unwrap();
        std::fs::create_dir(scratch.path().join("finished")).unwrap();
        sweep(scratch.path());
        let left: Vec<_> =
            std::fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["finished"]);
    }

    #[test]
    fn links_are_moved() {
        let scratch = Scratch::new("link");
        let path = scratch.path().join("deep/link");
        link(&path, Path::new("one")).unwrap();
        link(&path, Path::new("two")).unwrap();
        assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("two"));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
