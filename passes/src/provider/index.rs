//! The index of a provider, and its text.
//!
//! ```text
//! schism bodies 2 <hash of the rest>
//! module <offset> <length> <path>
//! panic <located> <message> <symbol>
//! body <module> <symbol>
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use super::{ModuleRef, ProviderError};
use crate::spec::{PanicFunction, PanicMessage};

const HEADER: &str = "schism bodies 2";

/// What a provider has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The modules; one that uses another stands before it.
    pub modules: Vec<ModuleRef>,
    /// The panic functions in them: not imported but lowered.
    pub panics: Vec<PanicFunction>,
    /// The functions and constants that a kernel can have, and the number of the module of each.
    pub bodies: HashMap<String, usize>,
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), over words: finds damage, not malice.
fn hash(bytes: &[u8]) -> u64 {
    let step =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(step(hash, bytes.len() as u64), |hash, &byte| step(hash, u64::from(byte)))
}

/// Splits a text into its lines after the header, if the header is right.
fn body_of(text: &str) -> Result<&str, ProviderError> {
    let damaged = ProviderError::Damaged;
    let (header, rest) = text.split_once('\n').ok_or(damaged("no header"))?;
    let expected = header
        .strip_prefix(HEADER)
        .and_then(|hash| u64::from_str_radix(hash.trim_start(), 16).ok())
        .ok_or(damaged("another header"))?;
    (hash(rest.as_bytes()) == expected).then_some(rest).ok_or(damaged("wrong hash"))
}

/// Whether a text is whole.
///
/// # Errors
/// If it is not.
pub fn check(text: &str) -> Result<(), ProviderError> {
    body_of(text).map(|_| ())
}

impl Index {
    /// The index as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |arguments: std::fmt::Arguments<'_>| {
            text.write_fmt(arguments).expect("writing to a string");
            text.push('\n');
        };
        for module in &self.modules {
            match module {
                ModuleRef::File { path, offset, length } => {
                    line(format_args!("module {offset} {length} {}", path.display()));
                }
                // Lives as long as this process; there is no way back to it.
                ModuleRef::Memory(bytes) => line(format_args!("module 0 {} memory", bytes.len())),
            }
        }
        for PanicFunction { symbol, message, located } in &self.panics {
            let located = u8::from(*located);
            match message {
                PanicMessage::Static(text) => {
                    line(format_args!("panic {located} static {symbol} {}", text.escape_default()));
                }
                PanicMessage::Text => line(format_args!("panic {located} text {symbol}")),
                PanicMessage::Arguments => line(format_args!("panic {located} arguments {symbol}")),
            }
        }
        let mut bodies: Vec<_> = self.bodies.iter().collect();
        bodies.sort();
        for (symbol, module) in bodies {
            line(format_args!("body {module} {symbol}"));
        }
        format!("{HEADER} {:016x}\n{text}", hash(text.as_bytes()))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn from_text(text: &str) -> Result<Self, ProviderError> {
        let mut index = Self::default();
        for line in body_of(text)?.lines() {
            index.take(line).ok_or(ProviderError::Damaged("a line that means nothing"))?;
        }
        let known = 0..index.modules.len();
        if !index.bodies.values().all(|module| known.contains(module)) {
            return Err(ProviderError::Damaged("a module that is not there"));
        }
        Ok(index)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let (first, rest) = rest.split_once(' ')?;
        match kind {
            "module" => {
                let (length, path) = rest.split_once(' ')?;
                let (offset, length) = (first.parse().ok()?, length.parse().ok()?);
                self.modules.push(ModuleRef::File { path: path.into(), offset, length });
            }
            "panic" => {
                let (message, rest) = rest.split_once(' ')?;
                let (symbol, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let message = match message {
                    "static" => PanicMessage::Static(text.to_owned()),
                    "text" => PanicMessage::Text,
                    "arguments" => PanicMessage::Arguments,
                    _ => return None,
                };
                let (symbol, located) = (symbol.to_owned(), first == "1");
                self.panics.push(PanicFunction { symbol, message, located });
            }
            "body" => {
                self.bodies.insert(rest.to_owned(), first.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Index {
        let panic = |symbol: &str, message, located| PanicFunction {
            symbol: symbol.to_owned(),
            message,
            located,
        };
        Index {
            modules: vec![ModuleRef::File { path: "/a b/c.rlib".into(), offset: 7, length: 9 }],
            panics: vec![
                panic("p", PanicMessage::Static("called `unwrap()`".to_owned()), true),
                panic("q", PanicMessage::Text, false),
                panic("r", PanicMessage::Arguments, true),
            ],
            bodies: [("f".to_owned(), 0), ("g".to_owned(), 0)].into(),
        }
    }

    #[test]
    fn text_gives_the_index_back() {
        let text = sample().to_text();
        assert_eq!(Index::from_text(&text).unwrap(), sample());
        assert_eq!(Index::from_text(&Index::default().to_text()).unwrap(), Index::default());
    }

    #[test]
    fn damage_is_found() {
        let text = sample().to_text();
        for length in 0..text.len() {
            assert!(Index::from_text(&text[..length]).is_err(), "{length} bytes");
            let mut bytes = text.clone().into_bytes();
            bytes[length] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(Index::from_text(&changed).is_err(), "byte {length} changed");
        }
    }

    #[test]
    fn a_body_in_no_module_is_refused() {
        let mut index = sample();
        index.bodies.insert("h".to_owned(), 1);
        assert!(Index::from_text(&index.to_text()).is_err());
    }
}
