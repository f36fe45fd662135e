//! `--pack DIR`: what a machine with a GPU and nvcc needs, so that it needs no Rust.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::{Bench, PROGRAM, SOURCES};
use crate::command;
use crate::error::{Error, FileContext, Result};
use crate::home::Home;
use crate::setup;
use crate::toolchain::find_in;

/// The name of stage 2's library.
pub const STAGE2: &str = "libschism_jit.so";

/// This program, in a pack.
const DRIVER: &str = "cargo-schism";

/// What a pack may weigh, to be carried with a message.
const LIMIT: u64 = 60 << 20;

const SCRIPT: &str = r#"#!/bin/sh
# Measures schism's kernels beside their baselines in CUDA C++; the arguments are those of `cargo schism bench gpu`.
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
chmod +x "$here/gpu_schism" "$here/cargo-schism"
exec "$here/cargo-schism" schism bench gpu --unpacked "$here" "$@"
"#;

/// Builds the program and collects everything in `folder`.
pub fn pack(folder: &Path) -> Result<ExitCode> {
    let ready = setup::ensure(&Home::from_environment()?)?;
    let bench = Bench::built()?;
    let sources = folder.join(SOURCES);
    std::fs::create_dir_all(&sources).at("create", &sources)?;
    for entry in std::fs::read_dir(&bench.sources).at("read", &bench.sources)? {
        let path = entry.at("read", &bench.sources)?.path();
        if let Some(name) = path.file_name() {
            copy(&path, &sources.join(name))?;
        }
    }
    copy(&bench.program, &folder.join(PROGRAM))?;
    copy(&bench.stage2, &folder.join(STAGE2))?;
    let this = std::env::current_exe().at("find", DRIVER)?;
    copy(&this, &folder.join(DRIVER))?;
    let lib = ready.toolchain.lib();
    let llvm = find_in(&lib, "libLLVM.so.", "").ok_or_else(|| Error::Missing {
        what: "the compiler's installation".to_owned(),
        path: lib.join("libLLVM.so"),
    })?;
    compress(&llvm, folder)?;
    let script = folder.join("run.sh");
    std::fs::write(&script, SCRIPT).at("write", &script)?;
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).at("write", &script)?;

    let size = carried(folder)?;
    println!(
        "{}: {}; there: sh run.sh [PAIRS] [--save FILE] …",
        folder.display(),
        setup::in_words(size)
    );
    if size > LIMIT {
        eprintln!("warning: more than {}", setup::in_words(LIMIT));
    }
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // A program that runs cannot be overwritten, but replaced.
    if to.exists() {
        std::fs::remove_file(to).at("remove", to)?;
    }
    std::fs::copy(from, to).at("copy", from).map(drop)
}

/// Compresses LLVM into the folder, unless an earlier pack has it there.
fn compress(llvm: &Path, folder: &Path) -> Result<()> {
    let name = llvm.file_name().unwrap_or_default();
    let to = folder.join(Path::new(name)).with_added_extension("xz");
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    if time(&to).is_some_and(|packed| time(llvm).is_some_and(|plain| plain < packed)) {
        return Ok(());
    }
    eprintln!("compressing LLVM, which takes a minute or two");
    let part = to.with_added_extension("part");
    let file = std::fs::File::create(&part).at("create", &part)?;
    let mut xz = Command::new("xz");
    xz.args(["-6", "--threads=0", "--keep", "--stdout"]).arg(llvm).stdout(Stdio::from(file));
    let what = command::describe(&xz);
    let status = command::status(xz, "to compress LLVM", "Install xz (the package xz-utils).")?;
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
        .filter(|path| !path.with_added_extension("xz").exists() && !path.ends_with("work"))
        .collect();
    Ok(files.iter().map(|path| setup::size(path)).sum())
}
