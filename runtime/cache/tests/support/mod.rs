//! What the tests share.
#![allow(dead_code)] // each test program uses a part

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use schism_cache::{Cache, Found, Key, Settings, Value};

/// An empty folder that belongs to one test.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("a folder of an earlier run can be removed");
    }
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

pub fn key(number: u64) -> Key {
    Key::builder("test").number("number", number).finish()
}

/// The value that belongs to a number, of some length that depends on it.
pub fn value(number: u64) -> Value {
    let mut random = fastrand::Rng::with_seed(number);
    let len = random.usize(0..60_000);
    Value { meta: number.to_le_bytes().to_vec(), bytes: (0..len).map(|_| random.u8(..)).collect() }
}

pub fn settings(folder: &Path, limit: u64) -> Settings {
    Settings { folder: Some(folder.to_owned()), limit }
}

/// A cache, and what it reports.
pub fn open(folder: &Path, limit: u64) -> (Cache, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let report = Arc::clone(&said);
    let cache = Cache::new(&settings(folder, limit), move |problem| {
        report.lock().unwrap().push(problem.to_string());
    });
    (cache, said)
}

pub fn get(cache: &Cache, number: u64) -> Found {
    let Ok(found) = cache.get_or_compile(&key(number), || Ok::<_, Infallible>(value(number)));
    assert_eq!(*found.value, value(number), "the value of another key, or a damaged one");
    found
}

/// This test program once more, to run the ignored test `name` alone.
pub fn child(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test has a program"));
    command.args([name, "--exact", "--ignored", "--quiet"]).env("CACHE_TEST_FOLDER", folder);
    command
}

/// The folder that [`child`] was given.
pub fn given_folder() -> PathBuf {
    std::env::var_os("CACHE_TEST_FOLDER").expect("only `child` starts this").into()
}
