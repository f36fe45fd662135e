//! `schism-rustc`: what cargo runs in rustc's place under `cargo schism`.
//!
//! A small program without any compiler code: it loads the plugin beside it, and the plugin runs
//! the compiler that it was built for, with itself as the backend.
//!
//! `-vV` prints one more line with the plugin's content hash: cargo makes that part of every
//! artifact's identity, so artifacts of plain rustc, of this plugin and of another build of the
//! plugin lie side by side and are never confused.

use std::path::Path;
use std::process::exit;

/// The allocator has a large effect on the compiler's speed. This reference links mimalloc: its
/// `malloc` and `free` then replace the C library's in the whole process, compiler and LLVM included.
/// The stock binary has jemalloc, which is as fast and takes ten times as long to build.
#[used]
static ALLOCATOR: unsafe extern "C" fn(usize) -> *mut std::ffi::c_void = libmimalloc_sys::mi_malloc;

/// The plugin's file name, beside this program.
const PLUGIN: &str = "librustc_codegen_schism.so";

fn main() {
    let mut plugin = match std::env::current_exe() {
        Ok(path) => path,
        Err(error) => fail(&format!("cannot tell where this program is: {error}")),
    };
    plugin.set_file_name(PLUGIN);
    let asks_version = std::env::args_os().skip(1).any(|argument| argument == "-vV");

    if let Err(error) = schism_trust::open(&plugin) {
        fail(&format!("{}\nhelp: run `cargo schism setup`", error.about(&plugin)));
    }
    // SAFETY: the plugin's initialisers are those of Rust's standard library and of LLVM, which
    // may run at any time. Only a trusted user can have put another file there.
    let library = unsafe { libloading::Library::new(&plugin) };
    let library = library.unwrap_or_else(|error| {
        fail(&format!(
            "cannot load {}: {error}\nhelp: run `cargo schism setup`; the plugin needs rustc \
             {} where it was when the plugin was built",
            plugin.display(),
            env!("SCHISM_RELEASE")
        ))
    });
    // SAFETY: the plugin beside this program was built with it and defines this symbol as
    // `extern "C" fn() -> i32`.
    let run = unsafe { library.get::<extern "C" fn() -> i32>(b"schism_rustc_main") };
    let code = match run {
        Ok(run) => run(),
        Err(error) => fail(&format!("{} is no schism plugin: {error}", plugin.display())),
    };
    if asks_version && code == 0 {
        println!("schism: {}", identity(&plugin));
    }
    exit(code);
}

/// The content hash in the name of the plugin's folder, which set-up chose; for a plugin elsewhere,
/// its size and time.
fn identity(plugin: &Path) -> String {
    let directory =
        plugin.parent().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    if let Some(hash) = directory.and_then(|name| name.strip_prefix("plugin-")) {
        return hash.to_owned();
    }
    match plugin.metadata().and_then(|metadata| Ok((metadata.len(), metadata.modified()?))) {
        Ok((size, modified)) => format!("{size} bytes, {modified:?}"),
        Err(error) => fail(&format!("cannot read {}: {error}", plugin.display())),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("error: schism-rustc: {message}");
    exit(1);
}
