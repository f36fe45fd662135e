//! Keeping the cache bounded: every change of the plugin's sources adds one more plugin.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// As many of the newest are kept, however old they are.
const KEPT: usize = 8;
/// What was used in this time is kept, however many there are.
const AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// How exactly the time of the last use is known.
const GRAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Notes that a directory is in use: its time is that of its last use, to the day.
pub fn note_use(directory: &Path) {
    let now = SystemTime::now();
    let fresh = directory
        .metadata()
        .and_then(|about| about.modified())
        .is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age < GRAIN));
    if !fresh {
        // Another user's cache can be used and not be written to.
        let _ = std::fs::File::open(directory).and_then(|directory| directory.set_modified(now));
    }
}

/// Removes the directories below this one that were not used for long. The caller holds the set-up
/// lock.
pub fn prune(parent: &Path) {
    for directory in old_ones(parent, SystemTime::now()) {
        // One that cannot be removed costs space and does no harm.
        let _ = std::fs::remove_dir_all(directory);
    }
}

fn old_ones(parent: &Path, now: SystemTime) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut known: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    known.sort();
    known.reverse();
    let old =
        |(time, _): &(SystemTime, PathBuf)| now.duration_since(*time).is_ok_and(|age| age > AGE);
    known.into_iter().skip(KEPT).filter(old).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn make(parent: &Path, name: &str, age_in_days: u64) {
        let path = parent.join(name);
        std::fs::create_dir(&path).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age_in_days * 24 * 60 * 60);
        std::fs::File::open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn only_what_is_both_old_and_surplus_goes() {
        let scratch = Scratch::new("prune");
        for number in 0..KEPT as u64 + 2 {
            make(scratch.path(), &format!("{number}"), number * 3);
        }
        assert_eq!(
            old_ones(scratch.path(), SystemTime::now()),
            [scratch.path().join("8"), scratch.path().join("9")]
        );
        // Used again, the oldest is the newest.
        note_use(&scratch.path().join("9"));
        prune(scratch.path());
        assert!(scratch.path().join("9").exists() && !scratch.path().join("8").exists());
        assert!(!scratch.path().join("7").exists());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), KEPT);
    }

    #[test]
    fn many_new_ones_stay() {
        let scratch = Scratch::new("prune-new");
        (0..20).for_each(|number| make(scratch.path(), &format!("{number}"), 1));
        assert!(old_ones(scratch.path(), SystemTime::now()).is_empty());
        assert!(old_ones(&scratch.path().join("nowhere"), SystemTime::now()).is_empty());
    }
}
