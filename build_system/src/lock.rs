//! One set-up at a time, between processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};

use crate::error::{FileContext, Result};
use crate::home::Home;
use crate::progress;

/// Held while set-up changes the cache. The kernel lets go of it when the process ends, however it
/// ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process sets up in this home; says so when that takes waiting.
    pub fn take(home: &Home) -> Result<Lock> {
        std::fs::create_dir_all(home.root()).at("create", home.root())?;
        let path = home.lock();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .at("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only to say who it is: an unreadable note is no obstacle.
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    id => format!("process {id}"),
                };
                progress::step(
                    "Waiting",
                    &format!("for {holder} to finish set-up ({})", path.display()),
                );
                file.lock().at("lock", &path)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
        }
        note_holder(&mut file).at("write", &path)?;
        Ok(Lock { _file: file })
    }
}

/// For those who wait.
fn note_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}
