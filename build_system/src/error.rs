//! Every way in which `cargo schism` can fail, each with what was tried and what to do.

use std::path::PathBuf;

/// A failure, worded for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line cannot be understood.
    #[error("{0}\n\n`cargo schism --help` lists the verbs")]
    Usage(String),

    /// A target needs NVIDIA's assembler.
    #[error(
        "`sass:` asks for machine code of NVIDIA's GPUs, which ptxas makes: {0}\n\
         `ptx:` needs no ptxas: there the driver makes machine code at the first launch"
    )]
    NoPtxas(schism_jit_abi::ptxas::PtxasError),

    /// The folder of compiled kernels cannot be used.
    #[error("{0}")]
    Cache(schism_cache::Problem),

    /// No rustc of a release that works was found.
    #[error(
        "{found}; schism works with rustc {releases}: `rustup toolchain install {install}` installs \
         one that is used by itself from then on\nlooked at:\n{tried}"
    )]
    Compiler {
        /// The compiler that was found first, and that it is not supported.
        found: String,
        /// The releases that work.
        releases: String,
        /// The one to install.
        install: &'static str,
        /// One indented line per compiler that was looked at.
        tried: String,
    },

    /// The plugin does not build for a compiler that is newer than all that are known.
    #[error(
        "the plugin does not build for rustc {version}, as cargo's messages above say; it works with rustc {releases}: \
         `rustup toolchain install {install}`, then `cargo +{install} schism setup`"
    )]
    NewerCompiler {
        /// What the compiler says of itself.
        version: String,
        /// The releases that are known.
        releases: String,
        /// The one to install.
        install: &'static str,
    },

    /// rustc-dev could not be provided.
    #[error(
        "the compiler's own crates (rustc-dev for rustc {release}) are not at hand; tried:\n{tried}\n\
         Any one of these helps:\n\
         \x20 - rustup component add rustc-dev --toolchain {release}\n\
         \x20 - apt install rust-src, for a compiler that is a distribution's own\n\
         \x20 - SCHISM_RUSTC_SRC=FILE cargo schism setup\n\
         \x20   where FILE is the release's source archive, rustc-{release}-src.tar.xz, or a directory with it unpacked"
    )]
    RustcDev {
        /// The release whose crates are needed.
        release: String,
        /// One indented line per way that was tried.
        tried: String,
    },

    /// The rebuilt crates are not those of the installed compiler.
    #[error(
        "the rebuilt compiler crates do not match the installed compiler: {what}.\n\
         The source in {source_dir} is not what {driver} was built from, or the environment changed how it was built \
         (a CARGO_PROFILE_* or RUSTC_* variable). `cargo schism clean` removes the half-finished build."
    )]
    Mismatch {
        /// What differs.
        what: String,
        /// Where the source lies.
        source_dir: PathBuf,
        /// The installed compiler's library.
        driver: PathBuf,
    },

    /// The source of the compiler is not the one that is needed.
    #[error("{path} holds the source of {found}, the installed rustc is {needed}")]
    WrongSource {
        /// The archive or directory.
        path: PathBuf,
        /// The commit that it says, or for a distribution's source the release.
        found: String,
        /// The installed compiler's.
        needed: String,
    },

    /// The source of the compiler is of the right release, by its own word, and has other contents.
    #[error(
        "the source of the compiler from {origin} is not the release's: its contents have the digest {found}, those of rustc \
         {release} {pinned}. It is damaged or was changed; nothing was built from it"
    )]
    ChangedSource {
        /// Where it came from.
        origin: String,
        /// The release.
        release: String,
        /// The digest of its contents.
        found: String,
        /// What that should be.
        pinned: String,
    },

    /// The package with the compiler's source has other files than when it was installed.
    #[error(
        "the compiler's source in {path} is not what the package rust-src has: dpkg --verify says `{said}`; nothing was \
         built from it. `apt install --reinstall rust-src` restores it"
    )]
    ChangedPackage {
        /// The source.
        path: PathBuf,
        /// The first lines of dpkg.
        said: String,
    },

    /// An archive of the compiler's source has another digest than the file beside it says.
    #[error(
        "{archive} has the SHA-256 digest {found}, and {beside} says {wanted}: it is damaged or was changed; nothing was built from it"
    )]
    OtherSum {
        /// The archive.
        archive: PathBuf,
        /// The file with its digest.
        beside: PathBuf,
        /// The archive's digest.
        found: String,
        /// The file's.
        wanted: String,
    },

    /// A distribution's patch does not fit.
    #[error(
        "{patch} does not fit {file}: the crate is not the one that the distribution patched; \
         `cargo schism clean` removes the half-finished build"
    )]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// The file that it should change.
        file: PathBuf,
    },

    /// Cargo would build other packages than those of the lock file.
    #[error(
        "{path} came to hold packages that are not in the sources' own lock file: {added}; nothing was built. \
         `cargo schism clean` and `cargo schism setup` start afresh"
    )]
    LockFile {
        /// The lock file.
        path: PathBuf,
        /// The packages.
        added: String,
    },

    /// A package is to be made where something is.
    #[error("there is a {path} already: choose another name, or remove it")]
    Exists {
        /// What is there.
        path: PathBuf,
    },

    /// A package cannot have this name.
    #[error("`{name}` cannot be the name of a package: {why}")]
    BadName {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },

    /// A failure of the developers' program.
    #[error("{0}")]
    Other(String),

    /// A program that is needed is not installed.
    #[error("cannot start `{tool}`, needed {purpose}: {source}\n{hint}")]
    Tool {
        /// The program.
        tool: String,
        /// What for: completes "needed …".
        purpose: String,
        /// What to do.
        hint: String,
        /// Why it did not start.
        source: std::io::Error,
    },

    /// A program that was started failed.
    #[error("{what} failed ({status}){detail}")]
    Failed {
        /// What was being done.
        what: String,
        /// How the program ended.
        status: std::process::ExitStatus,
        /// Its last words, and where the rest is; may be empty, otherwise starts with a line break.
        detail: String,
    },

    /// The file system refused.
    #[error("cannot {action} {path}: {source}{hint}")]
    File {
        /// What was tried: a verb, such as "write".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What to do, may be empty; otherwise starts with a line break.
        hint: &'static str,
        /// Why not.
        source: std::io::Error,
    },

    /// A step ended well and yet did not leave what it should.
    #[error("{what} left no {path}; `cargo schism clean` and `cargo schism setup` start afresh")]
    Missing {
        /// The step.
        what: String,
        /// What should be there.
        path: PathBuf,
    },

    /// Neither a cache directory nor a home is known.
    #[error("no place for the cache: set SCHISM_HOME, XDG_CACHE_HOME or HOME to an absolute path")]
    NoHome,

    /// A variable names no place for the cache, and what another one names is not to be removed.
    #[error("{told}. Nothing was removed")]
    HomeUnknown {
        /// Which variable, and what it names.
        told: String,
    },

    /// This binary carries no sources, and the checkout that it was built from is gone.
    #[error(
        "this cargo-schism was built inside a checkout at {path} which is not there any more; \
         install it with `cargo install --path build_system` from a checkout, or set SCHISM_WORKSPACE to one"
    )]
    NoSources {
        /// Where the checkout was.
        path: PathBuf,
    },

    /// Sources are not where `SCHISM_WORKSPACE` says.
    #[error("SCHISM_WORKSPACE is {path}, which has no {missing}; it must be a checkout of schism")]
    NotAWorkspace {
        /// The directory.
        path: PathBuf,
        /// The file that is not there.
        missing: &'static str,
    },

    /// A file given to `hcf` is not what it should be.
    #[error("{path}: {problem}")]
    Container {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Gives an I/O error its file and its action.
pub trait FileContext<T> {
    /// Names what was tried and on what; `action` is a verb: "read", "write", "create".
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> FileContext<T> for std::io::Result<T> {
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::File {
            action,
            path: path.into(),
            hint: match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    "\nSCHISM_HOME=DIR moves schism's cache to a place that can be written"
                }
                std::io::ErrorKind::StorageFull => {
                    "\nset-up needs about 2 GB; SCHISM_HOME=DIR moves schism's cache elsewhere"
                }
                _ => "",
            },
            source,
        })
    }
}
