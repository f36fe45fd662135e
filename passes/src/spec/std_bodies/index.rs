//! The index of the standard library's bodies, and its text form.
//!
//! ```text
//! schism bodies 4 <hash of the rest>
//! module <offset> <length> <path>
//! panic <located> <message> <symbol>
//! type <kind> <trait> <parts> <name>
//! formatter <type> <symbol>
//! writer 0 <symbol>
//! body <module> <symbol>
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use schism_message::{Kind, Trait};

use super::module::{ModuleRef, StdBodiesError};
use crate::spec::messages::{
    Formatter, PanicFunction, PanicMessage, PanicValue, TypeDescription, TypePart,
};

/// How an index begins. The number counts up with its form, and with the rules for what is offered.
pub const HEADER: &str = "schism bodies 4";

/// What the standard library has for kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The modules; one that uses another stands before it.
    pub modules: Vec<ModuleRef>,
    /// The functions in them that are not imported as others are.
    pub special: SpecialFunctions,
    /// The functions and constants that a kernel can have, and the number of the module of each.
    pub bodies: HashMap<String, usize>,
}

/// Functions that have a body and are not imported as others are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialFunctions {
    /// Panics, which are lowered.
    pub panics: Vec<PanicFunction>,
    /// Functions that format a value: imported only where something formats.
    pub formatters: Vec<Formatter>,
    /// What panics and formatters refer to.
    pub types: Vec<TypeDescription>,
    /// The symbol of the function that formats messages; empty if it is not known.
    pub writer: String,
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
fn body_of(text: &str) -> Result<&str, StdBodiesError> {
    let damaged = StdBodiesError::Damaged;
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
pub fn check(text: &str) -> Result<(), StdBodiesError> {
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
        for PanicFunction { symbol, message, located } in &self.special.panics {
            let located = u8::from(*located);
            match message {
                // Bodies of the standard library keep no landing pads, where alone the latter is called.
                PanicMessage::Static(text) | PanicMessage::Abort(text) => {
                    line(format_args!("panic {located} static {symbol} {}", text.escape_default()));
                }
                PanicMessage::Text => line(format_args!("panic {located} text {symbol}")),
                PanicMessage::Arguments => line(format_args!("panic {located} arguments {symbol}")),
                PanicMessage::Template { template, unless_null, values } => {
                    let (argument, other) = match unless_null {
                        Some((argument, other)) => (Some(*argument), &other[..]),
                        None => (None, &[][..]),
                    };
                    let values: Vec<_> = values
                        .iter()
                        .map(|value| format!("{},{},{}", value.argument, value.arguments, value.ty))
                        .collect();
                    line(format_args!(
                        "panic {located} template {symbol} {} {} {} {}",
                        hex(template),
                        argument.map_or_else(|| "-".to_owned(), |argument| argument.to_string()),
                        hex(other),
                        values.join(";")
                    ));
                }
            }
        }
        for TypeDescription { kind, by, name, parts } in &self.special.types {
            let parts: Vec<_> = parts
                .iter()
                .map(|part| {
                    let ty = part.ty.map_or_else(|| "-".to_owned(), |ty| ty.to_string());
                    format!("{},{ty},{},{}", part.value, part.size, hex(part.name.as_bytes()))
                })
                .collect();
            line(format_args!("type {} {} [{}] {name}", *kind as u8, *by as u8, parts.join(";")));
        }
        for Formatter { symbol, ty } in &self.special.formatters {
            line(format_args!("formatter {ty} {symbol}"));
        }
        line(format_args!("writer 0 {}", self.special.writer));
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
    pub fn from_text(text: &str) -> Result<Self, StdBodiesError> {
        let mut index = Self::default();
        for line in body_of(text)?.lines() {
            index.take(line).ok_or(StdBodiesError::Damaged("a line that means nothing"))?;
        }
        let known = 0..index.modules.len();
        if !index.bodies.values().all(|module| known.contains(module)) {
            return Err(StdBodiesError::Damaged("a module that is not there"));
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
                    "template" => template(text)?,
                    _ => return None,
                };
                let (symbol, located) = (symbol.to_owned(), first == "1");
                self.special.panics.push(PanicFunction { symbol, message, located });
            }
            "type" => {
                let (by, rest) = rest.split_once(' ')?;
                let (parts, name) = rest.strip_prefix('[')?.split_once("] ")?;
                self.special.types.push(TypeDescription {
                    kind: Kind::from_number(first.parse().ok()?)?,
                    by: Trait::from_number(by.parse().ok()?)?,
                    name: name.to_owned(),
                    parts: list(parts, part)?,
                });
            }
            "formatter" => {
                let (symbol, ty) = (rest.to_owned(), first.parse().ok()?);
                self.special.formatters.push(Formatter { symbol, ty });
            }
            "writer" => self.special.writer = rest.to_owned(),
            "body" => {
                self.bodies.insert(rest.to_owned(), first.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A message that is made of arguments.
fn template(text: &str) -> Option<PanicMessage> {
    let mut words = text.split(' ');
    let (template, argument) = (unhex(words.next()?)?, words.next()?);
    let (other, values) = (unhex(words.next()?)?, words.next()?);
    let unless_null = match argument {
        "-" => None,
        argument => Some((argument.parse().ok()?, other)),
    };
    let value = |text: &str| {
        let mut numbers = text.split(',');
        Some(PanicValue {
            argument: numbers.next()?.parse().ok()?,
            arguments: numbers.next()?.parse().ok()?,
            ty: numbers.next()?.parse().ok()?,
        })
    };
    Some(PanicMessage::Template { template, unless_null, values: list(values, value)? })
}

fn part(text: &str) -> Option<TypePart> {
    let mut fields = text.split(',');
    Some(TypePart {
        value: fields.next()?.parse().ok()?,
        ty: match fields.next()? {
            "-" => None,
            ty => Some(ty.parse().ok()?),
        },
        size: fields.next()?.parse().ok()?,
        name: String::from_utf8(unhex(fields.next()?)?).ok()?,
    })
}

fn list<T>(text: &str, element: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(';').filter(|text| !text.is_empty()).map(element).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
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
            special: SpecialFunctions {
                panics: vec![
                    panic("p", PanicMessage::Static("called `unwrap()`".to_owned()), true),
                    panic("q", PanicMessage::Text, false),
                    panic("r", PanicMessage::Arguments, true),
                    panic(
                        "s",
                        PanicMessage::Template {
                            template: b"\x02a \xC0\0".to_vec(),
                            unless_null: Some((3, vec![0])),
                            values: vec![PanicValue { argument: 1, arguments: 2, ty: 0 }],
                        },
                        true,
                    ),
                ],
                formatters: vec![Formatter { symbol: "fmt".to_owned(), ty: 0 }],
                types: vec![TypeDescription {
                    kind: Kind::Struct,
                    by: Trait::Debug,
                    name: "a::B<c, d>".to_owned(),
                    parts: vec![
                        TypePart { value: 8, ty: Some(0), name: "next".to_owned(), size: 0 },
                        TypePart { value: 0, ty: None, name: String::new(), size: 4 },
                    ],
                }],
                writer: "write".to_owned(),
            },
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
