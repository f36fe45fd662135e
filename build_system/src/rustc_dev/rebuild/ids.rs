//! Are the rebuilt crates those of the installed compiler?
//!
//! The installed library's symbol names hold the StableCrateId of every crate in it: the v0
//! mangling writes a crate as `Cs`, the id in base 62, `_`, the length of its name, its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::toolchain::Toolchain;

const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Compares the id of `rustc_driver` itself, and of every `rustc_*` crate that the installed
/// library's symbols name.
pub fn check(
    toolchain: &Toolchain,
    lib: &Path,
    metadata: &Path,
    driver: &Path,
    source: &Path,
) -> Result<()> {
    let mismatch = |what: String| Error::Mismatch {
        what,
        source_dir: source.to_owned(),
        driver: driver.to_owned(),
    };
    let (ours, theirs) =
        (stable_crate_id(toolchain, metadata)?, stable_crate_id(toolchain, driver)?);
    if ours.is_none() || ours != theirs {
        return Err(mismatch(format!(
            "the StableCrateId of rustc_driver is {ours:?}, the installed one's {theirs:?}"
        )));
    }
    let installed = named_in(&std::fs::read(driver).at("read", driver)?);
    let mut compared = 0;
    for entry in std::fs::read_dir(lib).at("list", lib)? {
        let file = entry.at("list", lib)?.file_name();
        let Some(name) = file.to_str().and_then(compiler_crate) else { continue };
        let Some(ids) = installed.get(name) else { continue };
        let Some(id) = stable_crate_id(toolchain, &lib.join(&file))? else { continue };
        if !ids.contains(&base_62(id)) {
            return Err(mismatch(format!(
                "the StableCrateId of {name} is not in the installed compiler's symbols"
            )));
        }
        compared += 1;
    }
    // The library names nearly all of the compiler's 70 crates; to find few is to have looked
    // wrongly.
    if compared < 20 {
        return Err(mismatch(format!(
            "only {compared} of the compiler's crates are named in the installed compiler's symbols"
        )));
    }
    Ok(())
}

/// Asks the compiler for the StableCrateId in a file of metadata.
fn stable_crate_id(toolchain: &Toolchain, metadata: &Path) -> Result<Option<u64>> {
    let mut rustc = Command::new(&toolchain.rustc);
    environment::isolate(&mut rustc, toolchain);
    rustc.env("RUSTC_BOOTSTRAP", "1").arg("-Zls=root").arg(metadata);
    let listing = command::capture(rustc, "to read the compiler's metadata", "")?;
    Ok(id_in_listing(&listing))
}

/// `rustc_span` of `librustc_span-54eef5fbaf1ad892.rmeta`.
fn compiler_crate(file: &str) -> Option<&str> {
    let name = file.strip_prefix("lib")?.strip_suffix(".rmeta")?.rsplit_once('-')?.0;
    name.starts_with("rustc_").then_some(name)
}

/// The id in what `rustc -Zls=root` prints.
fn id_in_listing(listing: &str) -> Option<u64> {
    let (_, rest) = listing.split_once("stable_crate_id StableCrateId(")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Crates named in symbols, with their ids as written there.
fn named_in(library: &[u8]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rest = library;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"Cs") {
        rest = &rest[at + 2..];
        if let Some((id, name)) = crate_at(rest) {
            found.entry(name.to_owned()).or_default().insert(id.to_owned());
        }
    }
    found
}

fn crate_at(text: &[u8]) -> Option<(&str, &str)> {
    let id_end = text.iter().take(12).position(|byte| !DIGITS.contains(byte))?;
    let after = text[id_end..].strip_prefix(b"_")?;
    let length_end = after.iter().take(3).position(|byte| !byte.is_ascii_digit())?;
    let length: usize = std::str::from_utf8(&after[..length_end]).ok()?.parse().ok()?;
    let name = std::str::from_utf8(after.get(length_end..length_end + length)?).ok()?;
    let id = std::str::from_utf8(&text[..id_end]).ok()?;
    name.starts_with("rustc_").then_some((id, name))
}

/// A disambiguator as v0 mangling writes it: `s_` is 1, `s0_` is 2, and so on.
fn base_62(id: u64) -> String {
    let Some(mut rest) = id.checked_sub(2) else { return String::new() };
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[(rest % 62) as usize] as char);
        rest /= 62;
        if rest == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_name_their_crates() {
        let library = b"\0_RNvCsabc1_10rustc_span4main\0_RNvNtCsZ_11rustc_hirx3\0CsCs9_4core\0Cs\0_RCs0_99rustc_short";
        let found = named_in(library);
        assert_eq!(found["rustc_span"].iter().collect::<Vec<_>>(), ["abc1"]);
        assert_eq!(found.len(), 2); // rustc_hirx as its length says
    }

    #[test]
    fn ids_are_written_as_in_symbols() {
        assert_eq!(
            (base_62(2), base_62(63), base_62(64)),
            ("0".to_owned(), "Z".to_owned(), "10".to_owned())
        );
        // rustc_span 1.95.0, as its metadata says and as librustc_driver's symbols have it.
        assert_eq!(base_62(16413827984630817277), "jyvvofjlheH");
    }

    #[test]
    fn the_listing_is_read() {
        assert_eq!(
            id_in_listing("hash 0f stable_crate_id StableCrateId(7437041786395672615)\n"),
            Some(7437041786395672615)
        );
        assert_eq!(id_in_listing("error"), None);
        assert_eq!(
            compiler_crate("librustc_hir_pretty-54eef5fbaf1ad892.rmeta"),
            Some("rustc_hir_pretty")
        );
        assert_eq!(compiler_crate("libsyn-54eef5fbaf1ad892.rmeta"), None);
    }
}
