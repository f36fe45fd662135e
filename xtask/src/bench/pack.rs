//! `--pack DIR`: what another machine needs to measure, so that it needs no Rust: programs, this
//! one, stage 2 and its LLVM, and a script that starts it all.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use cargo_schism::setup::{self, Ready};
use cargo_schism::toolchain::find_in;

/// The name of stage 2's library.
pub const STAGE2: &str = "libschism_jit.so";

/// The folder that a pack's measurements make.
pub const WORK: &str = "work";

/// This program, in a pack.
const DRIVER: &str = "xtask";

/// What a pack may weigh, to be carried with a message.
const LIMIT: u64 = 60 << 20;

/// Compressing a file with more bytes is worth a word.
const LARGE: u64 = 64 << 20;

/// The script, with places for what is measured, its programs and the suite's name.
const SCRIPT: &str = r#"#!/bin/sh
# Measures {WHAT}; the arguments are those of `cargo schism bench {SUITE}`.
set -e
here=$(cd "$(dirname "$0")" && pwd)
for packed in "$here"/*.xz; do
    plain=${packed%.xz}
    [ -e "$plain" ] || xz --decompress --keep --stdout "$packed" >"$plain.part" 2>/dev/null || python3 -c '
import lzma, shutil, sys
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], "wb") as plain:
    shutil.copyfileobj(packed, plain, 1 << 24)' "$packed" "$plain.part"
    [ -e "$plain" ] || mv "$plain.part" "$plain"
done
for program in {PROGRAMS} xtask; do chmod +x "$here/$program"; done
exec "$here/xtask" bench {SUITE} --unpacked "$here" "$@"
"#;

/// What to measure with.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// The checkout at hand.
    Checkout,
    /// A folder to pack into.
    Pack(PathBuf),
    /// A folder that was packed.
    Unpacked(PathBuf),
}

/// What is packed of one suite.
pub struct Contents<'a> {
    /// The name after `bench`.
    pub suite: &'a str,
    /// What is measured, for the script's reader.
    pub what: &'a str,
    /// The programs, and their names in the pack.
    pub programs: &'a [(&'a Path, &'a str)],
    pub stage2: &'a Path,
    /// The script's arguments, in words for people.
    pub usage: &'a str,
}

/// Collects everything in `folder`.
pub fn write(folder: &Path, ready: &Ready, contents: &Contents<'_>) -> Result<ExitCode> {
    std::fs::create_dir_all(folder).at("create", folder)?;
    for (program, name) in contents.programs {
        compress(program, &folder.join(name))?;
    }
    copy(contents.stage2, &folder.join(STAGE2))?;
    let this = std::env::current_exe().at("find", DRIVER)?;
    copy(&this, &folder.join(DRIVER))?;
    let lib = ready.toolchain.libraries.clone();
    let llvm = find_in(&lib, "libLLVM.so.", "").ok_or_else(|| Error::Missing {
        what: "the compiler's installation".to_owned(),
        path: lib.join("libLLVM.so"),
    })?;
    compress(&llvm, &folder.join(llvm.file_name().unwrap_or_default()))?;
    let script = folder.join("run.sh");
    let programs: Vec<&str> = contents.programs.iter().map(|(_, name)| *name).collect();
    let text = SCRIPT
        .replace("{WHAT}", contents.what)
        .replace("{SUITE}", contents.suite)
        .replace("{PROGRAMS}", &programs.join(" "));
    std::fs::write(&script, text).at("write", &script)?;
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).at("write", &script)?;

    let size = carried(folder)?;
    println!(
        "{}: {}; there: sh run.sh {}",
        folder.display(),
        setup::in_words(size),
        contents.usage
    );
    if size > LIMIT {
        eprintln!("warning: more than {}", setup::in_words(LIMIT));
    }
    Ok(ExitCode::SUCCESS)
}

/// The absolute path of a pack, which has these files.
pub fn open(folder: &Path, suite: &str, files: &[&str]) -> Result<PathBuf> {
    let folder = std::path::absolute(folder).at("find", folder)?;
    for path in files.iter().map(|file| folder.join(file)) {
        if !path.is_file() {
            let what = format!("`cargo schism bench {suite} --pack`");
            return Err(Error::Missing { what, path });
        }
    }
    Ok(folder)
}

/// Copies a file, whatever is there.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    // A program that runs cannot be overwritten, but replaced.
    if to.exists() {
        std::fs::remove_file(to).at("remove", to)?;
    }
    std::fs::copy(from, to).at("copy", from).map(drop)
}

/// Compresses a file to where the script unpacks it, unless an earlier pack has it there.
fn compress(from: &Path, unpacked: &Path) -> Result<()> {
    let to = unpacked.with_added_extension("xz");
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    if time(&to).is_some_and(|packed| time(from).is_some_and(|plain| plain < packed)) {
        return Ok(());
    }
    // What an earlier pack's script has unpacked, which it would keep.
    if unpacked.exists() {
        std::fs::remove_file(unpacked).at("remove", unpacked)?;
    }
    if std::fs::metadata(from).is_ok_and(|data| data.len() > LARGE) {
        eprintln!("compressing {}, which takes a minute or two", from.display());
    }
    let part = to.with_added_extension("part");
    let file = std::fs::File::create(&part).at("create", &part)?;
    let mut xz = Command::new("xz");
    xz.args(["-6", "--threads=0", "--keep", "--stdout"]).arg(from).stdout(Stdio::from(file));
    let what = command::describe(&xz);
    let status = command::status(xz, "to compress a pack", "Install xz (the package xz-utils).")?;
    if !status.success() {
        return Err(Error::Failed { what, status, detail: String::new() });
    }
    std::fs::rename(&part, &to).at("create", to)
}

/// Bytes of the pack, without what running it leaves there.
fn carried(folder: &Path) -> Result<u64> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .at("read", folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !path.with_added_extension("xz").exists() && !path.ends_with(WORK))
        .collect();
    Ok(files.iter().map(|path| setup::size(path)).sum())
}
