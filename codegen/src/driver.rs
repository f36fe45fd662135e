//! The stock compiler with this backend installed: what `schism-rustc` runs.
//!
//! It is rustc's own driver; the backend is handed to it in process, so no `-Z` flag and no
//! `RUSTC_BOOTSTRAP` is needed, and build scripts and crates that probe for nightly features see
//! the same stable compiler as without schism.

use std::process::ExitCode;

use rustc_driver::Compilation;
use rustc_interface::interface::Compiler;
use rustc_middle::ty::TyCtxt;
use rustc_session::EarlyDiagCtxt;
use rustc_session::config::{CrateType, ErrorOutputType, ExternLocation, Options};

use crate::artifacts;
use crate::device::check;
use crate::session::RUNTIME;
use crate::{backend, rayon, stdpar};

/// Runs the compiler with the process's arguments and returns its exit status.
///
/// The symbol that `schism-rustc` looks up.
#[unsafe(no_mangle)]
pub extern "C" fn schism_rustc_main() -> i32 {
    // An internal compiler error is a panic, whose message the hook has printed. No panic may leave
    // this `extern` function: that would abort the process instead of ending it as rustc does.
    let code = std::panic::catch_unwind(|| {
        let dcx = EarlyDiagCtxt::new(ErrorOutputType::default());
        rustc_driver::init_rustc_env_logger(&dcx);
        rustc_driver::install_ice_hook(rustc_driver::DEFAULT_BUG_REPORT_URL, |dcx| {
            dcx.handle().note(WHOSE_ERROR);
        });
        rustc_driver::install_ctrlc_handler();
        rustc_driver::catch_with_exit_code(|| {
            rustc_driver::run_compiler(&rustc_driver::args::raw_args(&dcx), &mut Driver::default());
        })
    });
    match code {
        Ok(code) => i32::from(code != ExitCode::SUCCESS),
        Err(_) => INTERNAL_ERROR,
    }
}

/// The exit status after an internal compiler error: that of a program which panics.
const INTERNAL_ERROR: i32 = 101;

/// The note after an internal compiler error, in addition to rustc's.
const WHOSE_ERROR: &str = concat!(
    "this is schism's compiler ",
    env!("CARGO_PKG_VERSION"),
    ": rustc with its own codegen backend; if plain rustc compiles the same crate, the error is schism's"
);

#[derive(Default)]
struct Driver {
    /// Whether the backend is ours, handed over in process.
    installed: bool,
}

impl rustc_driver::Callbacks for Driver {
    fn config(&mut self, config: &mut rustc_interface::Config) {
        // As in rustc's own main: short paths in diagnostics. The option is part of every crate's
        // hash.
        config.opts.trimmed_def_paths = true;
        if config.opts.unstable_opts.codegen_backend.is_some() {
            // The user asked for another backend, or for this one by its path.
            return;
        }
        self.installed = true;
        // The one crate that may use unstable features: the runtime, for its auto trait.
        if config.opts.crate_name.as_deref() == Some(RUNTIME) {
            config.opts.unstable_features = rustc_feature::UnstableFeatures::Cheat;
            config.crate_cfg.push("schism_driver".to_owned());
        }
        rayon::inject::change(&mut config.opts);
        if carries_bodies(&config.opts) {
            config.opts.unstable_opts.always_encode_mir = true;
        }
        crate::rustc::use_backend(config, backend::backend);
    }

    fn after_analysis<'tcx>(&mut self, _: &Compiler, tcx: TyCtxt<'tcx>) -> Compilation {
        if self.installed {
            artifacts::note(tcx);
            check::kernels(tcx);
            stdpar::explain::tell_aborts(tcx);
        }
        Compilation::Continue
    }
}

/// Whether the crate's metadata carries the bodies of all its functions, for kernels elsewhere that
/// call them. Its objects are the same either way.
///
/// A crate that sees the runtime may contain functions of any kind that launch kernels. Of crates
/// that do not know the runtime, cargo's libraries carry their bodies: a kernel may use any
/// dependency. This takes less than one hundredth of their time. A library that is only checked
/// carries them, too; otherwise kernels of its dependents could not be checked.
fn carries_bodies(opts: &Options) -> bool {
    // A library may be for others besides, such as a `cdylib` for programs in other languages.
    let is_library =
        opts.crate_types.iter().any(|kind| matches!(kind, CrateType::Rlib | CrateType::Dylib));
    let is_library = is_library && !opts.test;
    if !opts.output_types.should_codegen() {
        return is_library;
    }
    is_library && std::env::var_os("CARGO_PKG_NAME").is_some() || is_given_runtime(opts)
}

/// Whether one of the crates that the command line names is a runtime, whatever name it has there.
fn is_given_runtime(opts: &Options) -> bool {
    let is_runtime = |file: &std::path::Path| {
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_prefix("lib").unwrap_or_default();
        name.split('-').next() == Some(RUNTIME)
    };
    opts.externs.iter().any(|(name, entry)| {
        name == RUNTIME
            || match &entry.location {
                ExternLocation::FoundInLibrarySearchDirectories => false,
                ExternLocation::ExactPaths(files) => {
                    files.iter().any(|file| is_runtime(file.original()))
                }
            }
    })
}
