//! Templates of messages, as the standard library has them, from a short form.
//!
//! ```
//! use schism_passes::frontend::message_template;
//!
//! // The values that placeholders stand for are numbered; here a message's arguments are in that order.
//! let bytes = message_template::encode("len {1}, {0:?}", |value, _| u16::try_from(value).ok());
//! assert_eq!(bytes.unwrap(), b"\x04len \xC8\x01\x00\x02, \xC8\x00\x00\x00");
//! ```

use schism_message::Trait;

/// The flags of a placeholder without options: filled with spaces, alignment unknown.
const FLAGS: u32 = ' ' as u32 | 3 << 29;
const ALTERNATE: u32 = 1 << 23;

/// The longest piece with a length of one byte.
const SHORT: usize = 0x7f;

/// Makes a template of a text with placeholders `{value}`, `{value:?}`, `{value:#x}` and the like.
/// `index` is asked which of the message's arguments a placeholder takes. `None` if the text is not
/// well formed, or `index` says so. There are no escapes.
pub fn encode(text: &str, mut index: impl FnMut(usize, Trait) -> Option<u16>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        piece(&mut out, before)?;
        let (placeholder, after) = after.split_once('}')?;
        let (value, options) = placeholder.split_once(':').unwrap_or((placeholder, ""));
        let (alternate, options) = match options.strip_prefix('#') {
            Some(options) => (true, options),
            None => (false, options),
        };
        let by = match options {
            "" => Trait::Display,
            "?" => Trait::Debug,
            "x" => Trait::LowerHex,
            _ => return None,
        };
        out.push(0xC8 | u8::from(alternate));
        if alternate {
            out.extend((FLAGS | ALTERNATE).to_le_bytes());
        }
        out.extend(index(value.parse().ok()?, by)?.to_le_bytes());
        rest = after;
    }
    piece(&mut out, rest)?;
    out.push(0);
    Some(out)
}

fn piece(out: &mut Vec<u8>, text: &str) -> Option<()> {
    match text.len() {
        0 => return Some(()),
        len @ 1..=SHORT => out.push(len as u8),
        len => {
            out.push(0x80);
            out.extend(u16::try_from(len).ok()?.to_le_bytes());
        }
    }
    out.extend(text.as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn what_is_not_well_formed_is_no_template() {
        let any = |_, _| Some(0);
        assert_eq!(encode("", any).unwrap(), [0]);
        for text in ["{", "{}", "{a}", "{0:y}", "{0", &"x".repeat(70_000)] {
            assert_eq!(encode(text, any), None, "{text:.10}");
        }
        assert_eq!(encode("{0}", |_, _| None), None);
        let long = "x".repeat(200);
        assert!(encode(&long, any).unwrap().starts_with(b"\x80\xC8\x00xxx"));
    }
}
