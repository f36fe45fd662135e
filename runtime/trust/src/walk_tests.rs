//! What is trusted on the way to a file, and what is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Command;

use super::*;

/// A user who is not this one.
const OTHER: u32 = 51_001;

/// An empty folder below that of this program, on the way to which everything is trusted.
fn scratch(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.with_file_name(format!("trust-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    folder
}

fn process() -> Process {
    Process::current()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A file in its own folder.
fn sample(name: &str) -> (PathBuf, PathBuf) {
    let folder = scratch(name);
    fs::create_dir(folder.join("in")).unwrap();
    mode(&folder.join("in"), 0o755);
    let path = folder.join("in").join("file");
    fs::write(&path, "text").unwrap();
    mode(&path, 0o644);
    (folder, path)
}

fn why(path: &Path, process: &Process) -> Why {
    match file(path, process) {
        Ok(_) => panic!("{} is trusted", path.display()),
        Err(error) => error.why,
    }
}

#[test]
fn modes_of_files_and_folders() {
    let (folder, path) = sample("modes");
    assert!(file(&path, &process()).is_ok());
    for (bits, well) in [(0o600, true), (0o755, true), (0o646, false), (0o666, false)] {
        mode(&path, bits);
        assert_eq!(file(&path, &process()).is_ok(), well, "{bits:o}");
    }
    assert!(matches!(why(&path, &process()), Why::Others));
    mode(&path, 0o644);
    let inner = folder.join("in");
    // Of a sticky folder, too, the file's own mode counts; and no other user may add to a folder
    // that files are kept in.
    for (bits, on_path, kept) in [(0o700, true, true), (0o1777, true, false), (0o777, false, false)]
    {
        mode(&inner, bits);
        assert_eq!(file(&path, &process()).is_ok(), on_path, "{bits:o}");
        assert_eq!(super::folder(&inner, &process()).is_ok(), kept, "{bits:o}");
    }
    // A program with more rights than its user does not ask whose group it is.
    mode(&inner, 0o775);
    let privileged = Process { privileged: true, ..process() };
    assert!(file(&path, &privileged).is_err());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn owners_of_files_folders_and_links() {
    // SAFETY: it only reads a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can give files to another user");
        return;
    }
    let (folder, path) = sample("owners");
    let link = folder.join("link");
    symlink("in/file", &link).unwrap();
    assert!(file(&link, &process()).is_ok());
    for given in [&path, &folder.join("in"), &link] {
        std::os::unix::fs::lchown(given, Some(OTHER), None).unwrap();
        let error = file(&link, &process()).unwrap_err();
        assert!(matches!(error.why, Why::Owner(OTHER)), "{error}");
        assert_eq!(&error.path, given);
        let theirs = Process { user: OTHER, ..process() };
        assert!(file(&link, &theirs).is_ok());
        assert!(file(&link, &Process { privileged: true, ..theirs }).is_err());
        std::os::unix::fs::lchown(given, Some(0), None).unwrap();
    }
    // A folder of the program's is as trusted as the program, unless that has more rights than its user.
    chown(&folder, Some(OTHER), None).unwrap();
    assert!(file(&path, &process()).is_err());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_file() {
    let (folder, path) = sample("kinds");
    assert!(matches!(why(&folder, &process()), Why::Kind("file")));
    assert!(matches!(why(Path::new("/"), &process()), Why::Kind("file")));
    assert!(matches!(why(Path::new("/dev/zero"), &process()), Why::Kind("file")));
    assert!(super::folder(&path, &process()).is_err());
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(why(&pipe, &process()), Why::Kind("file")));
    let below = path.join("below");
    assert!(file(&below, &process()).unwrap_err().is_missing());
    assert!(file(&folder.join("none"), &process()).unwrap_err().is_missing());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn links_and_names() {
    let (folder, path) = sample("links");
    symlink("b", folder.join("a")).unwrap();
    symlink("a", folder.join("b")).unwrap();
    assert!(matches!(why(&folder.join("a"), &process()), Why::Links));
    symlink("../in/../in/./file", folder.join("in/round")).unwrap();
    symlink(&folder, folder.join("in/up")).unwrap();
    for well in ["in/round", "in/up/in/file", "in/../in/up/./in/round"] {
        assert!(file(&folder.join(well), &process()).is_ok(), "{well}");
    }
    for relative in ["file", "./file", "../file", ""] {
        assert!(matches!(why(Path::new(relative), &process()), Why::Relative));
    }
    let long = Path::new("/").join("x/".repeat(5000));
    assert!(matches!(why(&long, &process()), Why::System(_)));
    assert!(file(&long, &process()).unwrap_err().to_string().len() < 2000);
    assert!(matches!(why(Path::new("/a\0b"), &process()), Why::System(_)));
    assert_eq!(crate::read(&path, 4).unwrap(), b"text");
    assert!(matches!(crate::read(&path, 3).unwrap_err().why, Why::TooLarge(3)));
    fs::remove_dir_all(folder).unwrap();
}
