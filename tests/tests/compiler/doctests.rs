//! Kernels in documentation tests.

use schism_tests::lab::{Compiler, Lab, describe, output};

/// A library whose documentation launches a kernel and asks which half of it ran.
const LIBRARY: &str = r#"//! ```
//! use schism::prelude::*;
//!
//! let queue = Queue::on(&Device::by_name("cpu")?)?;
//! let mut out = Buffer::filled(&queue, 100, 0_u32)?;
//! queue.for_each((0.., &mut out), |(i, out)| *out = documented::double(i) + u32::from(schism::is_device()))?;
//! assert_eq!(out.to_vec(), (0..100).map(|i| 2 * i + 1).collect::<Vec<u32>>());
//! # Ok::<(), schism::Error>(())
//! ```
//!
//! A kernel that is refused:
//!
//! ```compile_fail
//! use schism::prelude::*;
//!
//! let queue = Queue::new().unwrap();
//! queue.parallel_for(3, |item| println!("{}", item.x())).unwrap();
//! ```
//!
//! The compiler is a stable one:
//!
//! ```compile_fail,E0554
//! #![feature(auto_traits)]
//! ```
//!
//! ```
//! assert_eq!(std::env::var("RUSTC_BOOTSTRAP").ok().as_deref(), Some("documented"));
//! ```

/// A function that kernels call.
pub fn double(i: usize) -> u32 {
    2 * i as u32
}
"#;

/// With the edition of 2024 rustdoc compiles all tests of a crate at once, before that each by
/// itself.
#[test]
fn kernels_in_documentation_tests_are_compiled_for_devices() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    for edition in ["2021", "2024"] {
        let folder = lab.folder(&format!("doctests-{edition}"));
        let manifest = format!(
            "[package]\nname = \"documented\"\nversion = \"1.0.0\"\nedition = \"{edition}\"\n\
             [dependencies]\n@RUNTIME@\n[workspace]\n"
        );
        lab.project(&folder, &[("Cargo.toml", &manifest), ("src/lib.rs", LIBRARY)]);
        let mut cargo = lab.cargo_with_runtime(&folder);
        let ended = output(cargo.args(["test", "--doc", "--offline"]));
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{}", describe(&cargo, &ended));
        let passed = said.lines().filter(|line| line.ends_with("... ok")).count();
        assert_eq!(passed, 4, "{}", describe(&cargo, &ended));
    }
}

/// What a documentation test of a crate that knows nothing of schism does is rustdoc's own.
#[test]
fn documentation_tests_without_kernels_pass_as_under_the_stock_compiler() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let manifest =
        "[package]\nname = \"plain\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n";
    let library = "//! ```\n//! assert_eq!(plain::one(), 1);\n//! ```\n//!\n//! ```\n//! assert_eq!(plain::one(), 2);\n//! ```\n\
        /// One.\npub fn one() -> u32 {\n    1\n}\n";
    for compiler in [Compiler::Stock, Compiler::Schism] {
        let folder = lab.folder("doctests-plain");
        lab.project(&folder, &[("Cargo.toml", manifest), ("src/lib.rs", library)]);
        let mut cargo = lab.cargo(compiler, &folder);
        let ended = output(cargo.args(["test", "--doc", "--offline"]));
        let said = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(101), "{}", describe(&cargo, &ended));
        assert!(said.contains("1 passed; 1 failed"), "{}", describe(&cargo, &ended));
    }
}
