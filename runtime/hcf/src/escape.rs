//! Escapes that make any string fit on a line: `%XX`.

use std::{borrow::Cow, fmt::Write};

/// The written form of `raw`. [`decode`] is the inverse.
pub(crate) fn encode(raw: &str) -> Cow<'_, str> {
    let last = raw.len().saturating_sub(1);
    let escaped = |(at, c): (usize, char)| {
        c.is_control() || c == '%' || (c == ' ' && (at == 0 || at == last))
    };
    if !raw.char_indices().any(escaped) {
        return Cow::Borrowed(raw);
    }
    let mut written = String::with_capacity(raw.len() + 8);
    for (at, c) in raw.char_indices() {
        if escaped((at, c)) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                write!(written, "%{byte:02X}").expect("a String takes any text");
            }
        } else {
            written.push(c);
        }
    }
    Cow::Owned(written)
}

/// The string with this written form; none if there is none.
pub(crate) fn decode(written: &str) -> Option<Cow<'_, str>> {
    let raw =
        if written.contains('%') { Cow::Owned(unescape(written)?) } else { Cow::Borrowed(written) };
    // Each string has one spelling: this also detects what should have been escaped.
    (encode(&raw) == written).then_some(raw)
}

fn unescape(written: &str) -> Option<String> {
    let mut raw = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            raw.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        raw.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = tail;
    }
    String::from_utf8(raw).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_has_one_written_form() {
        for (raw, written) in [
            ("", ""),
            ("a b=c}.{.", "a b=c}.{."),
            (" a ", "%20a%20"),
            (" ", "%20"),
            ("  ", "%20%20"),
            ("100%", "100%25"),
            ("a\n}.a\r\t\0", "a%0A}.a%0D%09%00"),
            ("\u{85}é\u{7f}", "%C2%85é%7F"),
        ] {
            assert_eq!(encode(raw), written);
            assert_eq!(decode(written).as_deref(), Some(raw));
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for written in [
            "%", "%2", "%4", "%41", "%2a", "%0a", "%GG", "%+1", "a ", " a", "\r", "%85", "%C2",
            "%é", "\u{85}",
        ] {
            assert_eq!(decode(written), None, "{written:?}");
        }
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(decode("_RNvCs1_5saxpy4main"), Some(Cow::Borrowed(_))));
    }
}
