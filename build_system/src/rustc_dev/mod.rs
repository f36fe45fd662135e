//! The compiler's own crates (`rustc-dev`), which the plugin is compiled against.
//!
//! Three ways, in this order: the component that is installed; the component that rustup can
//! install, unless the user turned its downloads off; the crates rebuilt from the source. See
//! `rebuild` for why the last is sound, and `debian` for a distribution's own builds.

mod apt;
mod component;
mod debian;
mod digest;
mod rebuild;
mod shims;
mod source;
mod stub;

use std::fmt;
use std::path::PathBuf;

pub use apt::{Apt, INSTALL as INSTALL_APT, Mirror, system_mirrors};
pub use shims::run_if_asked as run_shim_if_asked;
pub use stub::INSTALL_CC;

use crate::error::{Error, FileContext, Result};
use crate::home::Home;
use crate::progress;
use crate::publish::Draft;
use crate::timings::Timings;
use crate::toolchain::{Toolchain, find_in};

/// rustc-dev, ready for use.
#[derive(Debug, Clone)]
pub struct RustcDev {
    /// What to give to `-L`; nothing if the compiler looks there anyhow.
    pub search: Option<PathBuf>,
    /// Where it came from.
    pub origin: Origin,
}

/// Where rustc-dev came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of the installed toolchain.
    Component,
    /// Rebuilt, from the source that is described.
    Rebuilt(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Component => formatter.write_str("rustup's component"),
            Origin::Rebuilt(source) => write!(formatter, "rebuilt from {source}"),
        }
    }
}

/// What is there already, without making anything.
pub fn present(home: &Home, toolchain: &Toolchain) -> Option<RustcDev> {
    if toolchain.has_rustc_dev() {
        return Some(RustcDev { search: None, origin: Origin::Component });
    }
    let place = home.rustc_dev(&toolchain.key());
    // The directory was renamed into place when complete; the file is only its label.
    let origin = std::fs::read_to_string(place.join("origin")).ok()?;
    let search = place.join("lib");
    find_in(&search, "librustc_driver-", ".so")?;
    Some(RustcDev { search: Some(search), origin: Origin::Rebuilt(origin.trim().to_owned()) })
}

/// Provides rustc-dev. The caller holds the set-up lock.
pub fn provide(home: &Home, toolchain: &Toolchain, timings: &Timings) -> Result<RustcDev> {
    if let Some(ready) = present(home, toolchain) {
        return Ok(ready);
    }
    let mut tried =
        vec![format!("  - the component: not installed in {}", toolchain.sysroot.display())];
    match component::install(toolchain) {
        Ok(()) => return Ok(RustcDev { search: None, origin: Origin::Component }),
        Err(why) => tried.push(format!("  - {why}")),
    }
    let work = home.build().join(format!("rustc-dev-{}", toolchain.key()));
    std::fs::create_dir_all(&work).at("create", &work)?;
    let Some(source) = source::find(home, toolchain, &work, &mut tried)? else {
        return Err(Error::RustcDev {
            release: toolchain.version.release.clone(),
            tried: tried.join("\n"),
        });
    };
    let place = home.rustc_dev(&toolchain.key());
    let draft = Draft::new(&place)?;
    rebuild::rebuild(toolchain, &source, &work, draft.path(), timings)?;
    let label = draft.path().join("origin");
    std::fs::write(&label, format!("{}\n", source.origin)).at("write", &label)?;
    draft.publish()?;
    // Only kept to resume from; it is large.
    let _ = std::fs::remove_dir_all(&work);
    progress::step("Rebuilt", &format!("rustc-dev in {}", place.display()));
    present(home, toolchain)
        .ok_or_else(|| Error::Missing { what: "rebuilding rustc-dev".to_owned(), path: place })
}
