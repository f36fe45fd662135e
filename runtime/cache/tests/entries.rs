//! Entries that are not what they should be, and folders that cannot be used.

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use schism_cache::{Cache, Folder, Source};
use support::{child, get, given_folder, key, open, scratch, settings};

const PLENTY: u64 = 1 << 30;

/// What one process after the other finds, and what it says.
fn next_process(folder: &Path) -> (Source, Vec<String>) {
    let (cache, said) = open(folder, PLENTY);
    let source = get(&cache, 1).source;
    let said = said.lock().unwrap().clone();
    (source, said)
}

#[test]
fn what_is_compiled_is_found_by_the_next_process() {
    let folder = scratch("next").join("not/there/yet");
    assert_eq!(next_process(&folder), (Source::Compiled, vec![]));
    assert_eq!(next_process(&folder), (Source::Disk, vec![]));
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let entry = Folder::open(&folder, PLENTY).unwrap().entry(&key(1));
    assert_eq!(fs::metadata(entry).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Does something to the entry; the next process must not trust it, say so once, and put a good one
/// in its place.
fn spoiled(name: &str, spoil: impl Fn(&Path), expected: &str) {
    let folder = scratch(name);
    assert_eq!(next_process(&folder).0, Source::Compiled);
    let entry = Folder::open(&folder, PLENTY).unwrap().entry(&key(1));
    spoil(&entry);
    let (source, said) = next_process(&folder);
    assert_eq!(source, Source::Compiled, "{name}");
    assert!(said.len() == 1 && said[0].contains(expected), "{name}: {said:?}");
    assert_eq!(next_process(&folder), (Source::Disk, vec![]), "{name}");
}

#[test]
fn spoiled_entries_are_told_and_replaced() {
    let change = |change: fn(&mut Vec<u8>)| {
        move |entry: &Path| {
            let mut bytes = fs::read(entry).unwrap();
            change(&mut bytes);
            fs::write(entry, bytes).unwrap();
        }
    };
    spoiled("flipped", change(|bytes| *bytes.last_mut().unwrap() ^= 1), "checksum");
    spoiled("cut", change(|bytes| bytes.truncate(bytes.len() / 2)), "bytes long instead of");
    spoiled("emptied", change(Vec::clear), "cut off");
    spoiled("zeroed", change(|bytes| bytes.fill(0)), "no entry");
    spoiled("longer", change(|bytes| bytes.push(0)), "bytes long instead of");
    spoiled("version", change(|bytes| bytes[8] = 2), "version 2");
    let another = |entry: &Path| {
        let folder = Folder::open(entry.parent().unwrap(), PLENTY).unwrap();
        folder.write(&key(2), &support::value(2)).unwrap();
        fs::copy(folder.entry(&key(2)), entry).unwrap();
    };
    spoiled("another's", another, "belongs to the key");
    let link = |entry: &Path| {
        fs::rename(entry, entry.with_extension("moved")).unwrap();
        symlink(entry.with_extension("moved"), entry).unwrap();
    };
    spoiled("link", link, "but a link");
    let open_to_all =
        |entry: &Path| fs::set_permissions(entry, fs::Permissions::from_mode(0o666)).unwrap();
    spoiled("open to all", open_to_all, "written to by all users");
    let pipe = |entry: &Path| {
        fs::remove_file(entry).unwrap();
        assert!(Command::new("mkfifo").arg(entry).status().unwrap().success());
    };
    spoiled("pipe", pipe, "is no file");
    // SAFETY: it only reads a number.
    if unsafe { libc::geteuid() } == 0 {
        let give_away = |entry: &Path| std::os::unix::fs::chown(entry, Some(1), None).unwrap();
        spoiled("given away", give_away, "belongs to user 1");
    }
}

#[test]
fn every_byte_of_a_file_counts() {
    let folder = scratch("every-byte");
    let value = schism_cache::Value { meta: vec![1, 2], bytes: vec![3; 50] };
    let store = Folder::open(&folder, PLENTY).unwrap();
    store.write(&key(1), &value).unwrap();
    let entry = store.entry(&key(1));
    let good = fs::read(&entry).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fs::write(&entry, bytes).unwrap();
        assert!(store.read(&key(1)).is_err(), "byte {at}");
    }
    fs::write(&entry, &good).unwrap();
    assert_eq!(store.read(&key(1)).unwrap(), Some(value));
}

#[test]
fn a_folder_that_is_not_the_users_own_is_not_used() {
    let folder = scratch("others");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let (source, said) = next_process(&folder);
    assert_eq!(source, Source::Compiled);
    assert!(said.len() == 1 && said[0].contains("written to by all users"), "{said:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let file = scratch("file").join("file");
    fs::write(&file, "").unwrap();
    let (source, said) = next_process(&file);
    assert!(source == Source::Compiled && said.len() == 1, "{said:?}");
    assert!(said[0].contains("is no folder"), "{said:?}");
    let (source, said) = next_process(Path::new("/proc/self/schism"));
    assert!(source == Source::Compiled && said.len() == 1, "{said:?}");
    assert!(said[0].contains("cannot be made"), "{said:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_once_and_read() {
    let folder = scratch("read-only");
    next_process(&folder);
    // Root may write anywhere; but a folder cannot be written as a file.
    fs::remove_file(folder.join("lock")).unwrap();
    fs::create_dir(folder.join("lock")).unwrap();
    let (cache, said) = open(&folder, PLENTY);
    assert_eq!(get(&cache, 1).source, Source::Disk);
    assert!(said.lock().unwrap().is_empty());
    for number in 2..10 {
        assert_eq!(get(&cache, number).source, Source::Compiled);
        assert_eq!(get(&cache, number).source, Source::Memory);
    }
    let said = said.lock().unwrap();
    assert!(said.len() == 1 && said[0].contains("not kept for now"), "{said:?}");
}

#[test]
fn a_read_only_file_system_is_told_once_and_read() {
    let folder = scratch("read-only-mount");
    next_process(&folder);
    let script =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\"";
    on_mount(&folder, script, "child_reads_only");
}

#[test]
#[ignore = "started by another test"]
fn child_reads_only() {
    let (cache, said) = open(&given_folder(), PLENTY);
    assert_eq!(get(&cache, 1).source, Source::Disk);
    for number in 2..5 {
        assert_eq!(get(&cache, number).source, Source::Compiled);
    }
    let said = said.lock().unwrap();
    assert!(said.len() == 1 && said[0].contains("Read-only file system"), "{said:?}");
}

#[test]
fn a_full_disk_is_told_once() {
    let folder = scratch("full");
    let script = "mount -t tmpfs -o size=200k,mode=700 none \"$1\" && shift && exec \"$@\"";
    on_mount(&folder, script, "child_fills_the_disk");
}

#[test]
#[ignore = "started by another test"]
fn child_fills_the_disk() {
    let folder = given_folder();
    let (cache, said) = open(&folder, PLENTY);
    for number in 0..100 {
        assert_eq!(get(&cache, number).source, Source::Compiled);
        // It is tried again, and what is smaller may find room: the next that does not is no news.
        std::thread::sleep(Duration::from_millis(15));
    }
    {
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains("No space left"), "{said:?}");
    }
    let store = Folder::open(&folder, PLENTY).unwrap();
    a_disk_that_was_full_is_written_again(&cache, &store);
    // What is there is whole.
    assert!(store.verify().unwrap().problems.is_empty());
    assert!(
        fs::read_dir(&folder)
            .unwrap()
            .all(|file| { !file.unwrap().file_name().to_str().unwrap().starts_with("writing") })
    );
}

/// A disk that was full once has room later, in the same process.
fn a_disk_that_was_full_is_written_again(cache: &Cache, store: &Folder) {
    store.clear().unwrap();
    let begin = SystemTime::now();
    let kept = (1000..).any(|number| {
        assert_eq!(get(cache, number).source, Source::Compiled);
        let kept = store.entry(&key(number)).exists();
        assert!(
            kept || begin.elapsed().unwrap() < Duration::from_secs(70),
            "it is not tried again"
        );
        std::thread::sleep(Duration::from_millis(5));
        kept
    });
    assert!(kept);
}

/// Runs an ignored test with `folder` mounted by a script, in its own name space, where the
/// system allows that.
fn on_mount(folder: &Path, script: &str, test: &str) {
    let isolated = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]).args(words);
        command
    };
    let probe = scratch("mount-probe");
    let possible = isolated(&["mount", "-t", "tmpfs", "none"]).arg(&probe).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        // On standard error itself: the output of tests that pass is not shown.
        let _ = writeln!(std::io::stderr(), "skipped: nothing can be mounted here");
        return;
    }
    let test = child(test, folder);
    let output = isolated(&["sh", "-ec", script, "sh"])
        .arg(folder)
        .arg(test.get_program())
        .args(test.get_args())
        .env("CACHE_TEST_FOLDER", folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

#[test]
fn a_limit_for_files_is_told_once() {
    let output = child("child_has_a_limit_for_files", &scratch("limited")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

#[test]
#[ignore = "started by another test"]
fn child_has_a_limit_for_files() {
    let limit = libc::rlimit { rlim_cur: 1000, rlim_max: 1000 };
    // SAFETY: the limit can be read; this process ends with this test.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
    let (cache, said) = open(&given_folder(), PLENTY);
    for number in 0..5 {
        assert_eq!(get(&cache, number).source, Source::Compiled);
    }
    let said = said.lock().unwrap();
    assert!(said.len() == 1 && said[0].contains("File too large"), "{said:?}");
}

#[test]
fn the_oldest_go_first_and_the_limit_holds() {
    let folder = scratch("bounded");
    let limit = 400 << 10;
    let store = Folder::open(&folder, limit).unwrap();
    let cache = |number| get(&open(&folder, limit).0, number).source;
    let age = |number, seconds| {
        let file = fs::File::open(store.entry(&key(number))).unwrap();
        let time = SystemTime::now() - Duration::from_secs(seconds);
        file.set_times(fs::FileTimes::new().set_modified(time)).unwrap();
    };
    assert_eq!([0, 1, 2].map(cache), [Source::Compiled; 3]);
    age(0, 200);
    age(1, 100);
    age(2, 300);
    // The second is used again, so the third and the first are older.
    assert_eq!(cache(1), Source::Disk);
    for number in 3..200 {
        assert_eq!(cache(number), Source::Compiled);
        assert_eq!(cache(1), Source::Disk, "it is used all the time");
        let usage = store.usage().unwrap();
        assert!(usage.bytes <= limit, "{usage:?} after {number}");
    }
    assert!(store.usage().unwrap().bytes > limit / 3);
    assert!(!store.entry(&key(0)).exists() && !store.entry(&key(2)).exists());
    // What is larger than all may be is not kept, and nothing goes for it.
    let tiny = Folder::open(&folder, 1000).unwrap();
    let before = store.usage().unwrap().entries;
    tiny.write(&key(1000), &support::value(1000)).unwrap();
    assert_eq!(store.usage().unwrap().entries, before);
}

#[test]
fn a_wrong_total_and_abandoned_files_are_put_right() {
    let folder = scratch("wrong-total");
    let limit = 400 << 10;
    let store = Folder::open(&folder, limit).unwrap();
    fs::write(folder.join("writing-1-0-dead"), vec![0; 1 << 20]).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::options().append(true).open(folder.join("writing-1-0-dead")).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(old)).unwrap();
    fs::write(folder.join("writing-2-0-alive"), "").unwrap();
    fs::write(folder.join("not ours"), "").unwrap();
    for wrong in [&b""[..], b"nonsense", &[0xff; 16], &[0; 16], &[0x7f; 40]] {
        fs::write(folder.join("lock"), wrong).unwrap();
        for number in 0..40 {
            store.write(&key(number), &support::value(number)).unwrap();
            assert!(store.usage().unwrap().bytes <= limit);
        }
    }
    assert!(!folder.join("writing-1-0-dead").exists());
    assert!(folder.join("writing-2-0-alive").exists());
    let removed = store.clear().unwrap();
    assert!(removed.entries > 3 && removed.bytes <= limit);
    assert_eq!(store.usage().unwrap(), schism_cache::Usage::default());
    let mut left: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["lock", "not ours"]);
}

#[test]
fn verify_finds_what_is_damaged() {
    let folder = scratch("verify");
    let store = Folder::open(&folder, PLENTY).unwrap();
    for number in 0..5 {
        store.write(&key(number), &support::value(number)).unwrap();
    }
    assert_eq!(store.verify().unwrap().good, 5);
    fs::write(store.entry(&key(3)), "nonsense").unwrap();
    let checked = store.verify().unwrap();
    assert_eq!((checked.good, checked.problems.len()), (4, 1));
    assert!(checked.problems[0].to_string().contains(&key(3).to_string()));
}

#[test]
fn without_a_folder_there_is_memory() {
    let cache = Cache::new(
        &schism_cache::Settings { folder: None, ..settings(Path::new("/"), 0) },
        |problem| {
            panic!("{problem}");
        },
    );
    assert_eq!(get(&cache, 1).source, Source::Compiled);
    assert_eq!(get(&cache, 1).source, Source::Memory);
}
