//! A machine in a directory: a compiler and a cargo that are shell scripts, a home, a checkout.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What the fake rustc says: the pinned compiler.
pub const VERSION: &str = "rustc 1.95.0 (59807616e 2026-04-14)
binary: rustc
commit-hash: 59807616e1fa2540724bfbac14d7976d7e4a3860
commit-date: 2026-04-14
host: x86_64-unknown-linux-gnu
release: 1.95.0
LLVM version: 22.1.2";

/// Builds what it is asked for out of the checkout's file codegen/lib.rs, and writes a line per
/// call to a log. `FAKE_SLEEP` makes it slow, `FAKE_FAIL` makes it fail.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >>"$FAKE_LOG"
packages=; target=
for argument in "$@"; do
  case "$previous" in --package) packages="$packages $argument";; --target-dir) target=$argument;; esac
  previous=$argument
done
case "$packages" in
  " rustc_codegen_schism schism-jit")
    out="$target/x86_64-unknown-linux-gnu/release"; mkdir -p "$out"
    sleep "${FAKE_SLEEP:-0}"
    [ -z "$FAKE_FAIL" ] || { echo "error: it is broken" >&2; exit 101; }
    for file in schism-rustc schism-rustdoc schism-doctest librustc_codegen_schism.so; do cp codegen/lib.rs "$out/$file"; done
    cp passes/lib.rs "$out/libschism_jit.so";;
  *) env >"$FAKE_LOG.env"; pwd >"$FAKE_LOG.pwd"; exit "${FAKE_EXIT:-0}";;
esac
"#;

/// The machine; its directory goes when it is dropped.
pub struct Machine {
    root: TempDir,
}

impl Machine {
    /// With the pinned compiler and its rustc-dev.
    pub fn new(name: &str) -> Machine {
        let root = tempfile::Builder::new().prefix(&format!("schism-machine-{name}-")).tempdir();
        let root = root.expect("the temporary directory can be written");
        let machine = Machine { root };
        let component = "toolchain/lib/rustlib/x86_64-unknown-linux-gnu/lib";
        for file in [
            "toolchain/lib/librustc_driver-1.so",
            &format!("{component}/librustc_driver-1.so"),
            &format!("{component}/librustc_middle-1.rmeta"),
        ] {
            machine.write(file, "");
        }
        machine.rustc_says(VERSION);
        machine.script("toolchain/bin/cargo", CARGO);
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            "codegen/Cargo.toml",
            "passes/lib.rs",
            "runtime/abi/lib.rs",
            "runtime/devicelib/lib.rs",
            "runtime/hcf/lib.rs",
            "runtime/jit/lib.rs",
            "runtime/loader/lib.rs",
            "runtime/trust/lib.rs",
        ] {
            machine.write(&format!("checkout/{file}"), "one");
        }
        machine.write("checkout/codegen/lib.rs", "one");
        machine.write("user/file", "");
        machine
    }

    /// A path on the machine.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Writes a file.
    pub fn write(&self, relative: &str, contents: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    /// Reads a file; empty if it is not there.
    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).unwrap_or_default()
    }

    /// Writes a program.
    pub fn script(&self, relative: &str, contents: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(relative, contents);
        std::fs::set_permissions(self.path(relative), std::fs::Permissions::from_mode(0o755))
            .unwrap();
    }

    /// Installs a compiler that says this of itself.
    pub fn rustc_says(&self, version: &str) {
        self.script("toolchain/bin/rustc", &format!("#!/bin/sh\ncat <<'END'\n{version}\nEND\n"));
    }

    /// A toolchain in another folder, whose compiler says this of itself. Its cargo starts
    /// subcommands as the real one does.
    pub fn toolchain_says(&self, folder: &str, version: &str) {
        let root = self.path(folder);
        let root = root.display();
        self.write(&format!("{folder}/lib/librustc_driver-1.so"), "");
        self.script(
            &format!("{folder}/bin/rustc"),
            &format!(
                "#!/bin/sh\ncase \"$*\" in *sysroot*) echo {root};; *) cat;; esac <<'END'\n{version}\nEND\n"
            ),
        );
        let cargo = format!("#!/bin/sh\nCARGO={root}/bin/cargo exec cargo-\"$1\" \"$@\"\n");
        self.script(&format!("{folder}/bin/cargo"), &cargo);
    }

    /// Takes the component away.
    pub fn without_rustc_dev(&self) {
        std::fs::remove_dir_all(self.path("toolchain/lib/rustlib")).unwrap();
    }

    /// `cargo schism` with these words, in the user's directory.
    pub fn schism(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-schism"));
        command
            .arg("schism")
            .args(words.split_whitespace())
            .current_dir(self.path("user"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("SCHISM_HOME", self.path("cache"))
            .env("SCHISM_WORKSPACE", self.path("checkout"))
            .env("CARGO", self.path("toolchain/bin/cargo"))
            .env("RUSTUP_AUTO_INSTALL", "0")
            .env("FAKE_LOG", self.path("log"));
        command
    }

    /// Runs it to the end.
    pub fn run(&self, words: &str) -> Output {
        self.schism(words).output().unwrap()
    }

    /// How often the fake cargo was asked to build the plugin.
    pub fn plugin_builds(&self) -> usize {
        self.read("log").lines().filter(|line| line.contains("rustc_codegen_schism")).count()
    }

    /// The installed plugin, as the program names it.
    pub fn backend(&self) -> PathBuf {
        let output = self.run("backend-path");
        assert!(output.status.success(), "{}", stderr(&output));
        Path::new(String::from_utf8(output.stdout).unwrap().trim_end()).to_owned()
    }
}

/// What a program said on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
