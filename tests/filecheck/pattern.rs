//! What a line of an expectation matches: literal text, `{{regex}}`, `[[NAME:regex]]` and `[[NAME]]`.

use std::collections::BTreeMap;

use regex_lite::Regex;

/// The values of captures, by name.
pub type Captures = BTreeMap<String, String>;

/// The text of an expectation.
#[derive(Debug)]
pub struct Pattern {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// Text that stands for itself.
    Literal(String),
    /// `{{regex}}`.
    Regex(String),
    /// `[[NAME:regex]]`.
    Define(String, String),
    /// `[[NAME]]`.
    Use(String),
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = ["{{", "[["].iter().filter_map(|begin| rest.find(begin)).min() {
            let (literal, special) = rest.split_at(at);
            pieces.extend((!literal.is_empty()).then(|| Piece::Literal(literal.to_owned())));
            let piece;
            (piece, rest) = match special.strip_prefix("{{") {
                Some(regex) => {
                    let (regex, rest) = regex.split_once("}}").ok_or("`{{` without `}}`")?;
                    (Piece::Regex(regex.to_owned()), rest)
                }
                None => parse_capture(&special[2..])?,
            };
            if let Piece::Regex(regex) | Piece::Define(_, regex) = &piece {
                Regex::new(regex).map_err(|error| format!("`{regex}`: {error}"))?;
            }
            if let Piece::Define(name, _) | Piece::Use(name) = &piece
                && pieces.iter().any(|piece| matches!(piece, Piece::Define(own, _) if own == name))
            {
                return Err(format!("`{name}` is captured in the same line"));
            }
            pieces.push(piece);
        }
        pieces.extend((!rest.is_empty()).then(|| Piece::Literal(rest.to_owned())));
        Ok(Self { text: text.to_owned(), pieces })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it captures something, or refers to what was captured.
    pub fn has_captures(&self) -> bool {
        self.captures() || self.pieces.iter().any(|piece| matches!(piece, Piece::Use(_)))
    }

    /// Whether it captures something.
    pub fn captures(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Define(..)))
    }

    /// The pattern with the captures that are known; `Err` names one that is not.
    pub fn resolve(&self, captures: &Captures) -> Result<Matcher, String> {
        let mut matcher = Matcher { literals: Vec::new(), regex: None, names: Vec::new() };
        let mut regex = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => {
                    regex.push_str(&regex_lite::escape(text));
                    matcher.literals.push(text.clone());
                }
                Piece::Regex(own) => regex.push_str(&format!("(?:{own})")),
                Piece::Define(name, own) => {
                    regex.push_str(&format!("(?P<{name}>{own})"));
                    matcher.names.push(name.clone());
                }
                Piece::Use(name) => {
                    let value = captures.get(name);
                    let value = value.ok_or_else(|| format!("nothing above captures `{name}`"))?;
                    regex.push_str(&regex_lite::escape(value));
                    matcher.literals.push(value.clone());
                }
            }
        }
        if !matches!(self.pieces[..], [Piece::Literal(_)]) {
            matcher.regex = Some(Regex::new(&regex).map_err(|error| error.to_string())?);
        }
        Ok(matcher)
    }
}

/// Reads a capture, of which `[[` was read, and gives what follows it.
fn parse_capture(text: &str) -> Result<(Piece, &str), String> {
    let is_name = |&byte: &u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let (name, rest) = text.split_at(text.bytes().take_while(is_name).count());
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
        return Err("`[[` begins a capture, `{{\\[\\[}}` is text".to_owned());
    }
    if let Some(rest) = rest.strip_prefix("]]") {
        return Ok((Piece::Use(name.to_owned()), rest));
    }
    let regex = rest.strip_prefix(':').ok_or("a capture is `[[NAME:regex]]` or `[[NAME]]`")?;
    // A class of characters ends with a bracket, too.
    let (mut in_class, mut escaped) = (false, false);
    for (at, byte) in regex.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'[' => in_class = true,
            b']' if in_class => in_class = false,
            b']' if regex[at..].starts_with("]]") => {
                return Ok((
                    Piece::Define(name.to_owned(), regex[..at].to_owned()),
                    &regex[at + 2..],
                ));
            }
            _ => {}
        }
    }
    Err("`[[` without `]]`".to_owned())
}

/// A pattern whose captures are known.
pub struct Matcher {
    /// Texts that a matching line contains.
    literals: Vec<String>,
    /// The whole pattern, unless it is one literal.
    regex: Option<Regex>,
    /// What it captures.
    names: Vec<String>,
}

impl Matcher {
    /// What a line captures, if it matches.
    pub fn find(&self, line: &str) -> Option<Captures> {
        if !self.literals.iter().all(|text| line.contains(text)) {
            return None;
        }
        let Some(regex) = &self.regex else { return Some(Captures::new()) };
        let found = regex.captures(line)?;
        let value = |name: &String| Some((name.clone(), found.name(name)?.as_str().to_owned()));
        Some(self.names.iter().filter_map(value).collect())
    }

    /// Whether a line matches.
    pub fn matches(&self, line: &str) -> bool {
        self.find(line).is_some()
    }
}
