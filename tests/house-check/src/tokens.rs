//! Rust's tokens: attributes, items that only tests have, and all others in one list.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A token outside of tests and documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// As written; the bracket that begins a group, and the one that ends it.
    pub text: String,
    /// The line that it begins on.
    pub line: usize,
    /// The line that it ends on.
    pub end: usize,
}

/// The tokens of a file outside of tests and documentation, in order.
pub fn shipped(text: &str) -> Result<Vec<Token>, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut all = Vec::new();
    flatten(tokens, &mut all);
    Ok(all)
}

/// The number of lines with a token.
pub fn lines(tokens: &[Token]) -> usize {
    tokens.iter().flat_map(|token| token.line..=token.end).collect::<BTreeSet<_>>().len()
}

/// The lines at which a sequence of tokens begins; `""` stands for any token.
pub fn find(tokens: &[Token], sequence: &[&str]) -> Vec<usize> {
    let is = |(token, text): (&Token, &&str)| text.is_empty() || token.text == **text;
    let found = tokens.windows(sequence.len());
    found.filter(|part| part.iter().zip(sequence).all(is)).map(|part| part[0].line).collect()
}

fn flatten(tokens: TokenStream, all: &mut Vec<Token>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((attribute, inner, after)) = attribute(&tokens, at) {
            match word(&attribute, 0).as_deref() {
                Some("doc") => at = after,
                Some("cfg") if never_outside_tests(&attribute) => {
                    if inner {
                        return;
                    }
                    at = after_item(&tokens, after);
                }
                _ => {
                    (at..after).for_each(|at| push(&tokens[at], all));
                    at = after;
                }
            }
            continue;
        }
        push(&tokens[at], all);
        at += 1;
    }
}

fn push(token: &TokenTree, all: &mut Vec<Token>) {
    let one = |text: &str, span: proc_macro2::Span| Token {
        text: text.to_owned(),
        line: span.start().line,
        end: span.end().line,
    };
    match token {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            all.push(one(open, group.span_open()));
            flatten(group.stream(), all);
            all.push(one(close, group.span_close()));
        }
        token => all.push(one(&token.to_string(), token.span())),
    }
}

pub fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

pub fn is(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

pub fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    is(tokens, at, ':') && is(tokens, at + 1, ':')
}

/// The text of a string.
pub fn text_of(token: &TokenTree) -> Option<String> {
    let text = token.to_string();
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// An attribute's tokens, whether it is an inner one, and the place behind it.
pub fn attribute(tokens: &[TokenTree], at: usize) -> Option<(Vec<TokenTree>, bool, usize)> {
    if !is(tokens, at, '#') {
        return None;
    }
    let inner = is(tokens, at + 1, '!');
    let at = at + 1 + usize::from(inner);
    match tokens.get(at)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some((group.stream().into_iter().collect(), inner, at + 1))
        }
        _ => None,
    }
}

/// Whether a `cfg` attribute can hold in tests only.
pub fn never_outside_tests(attribute: &[TokenTree]) -> bool {
    match attribute.get(1) {
        Some(TokenTree::Group(group)) => {
            let predicate: Vec<_> = group.stream().into_iter().collect();
            outside_tests(&predicate) == Some(false)
        }
        _ => false,
    }
}

/// The value of a predicate outside tests; `None` if that depends on other things.
fn outside_tests(predicate: &[TokenTree]) -> Option<bool> {
    let name = word(predicate, 0);
    let Some(TokenTree::Group(group)) = predicate.get(1) else {
        return (name.as_deref() == Some("test") && predicate.len() == 1).then_some(false);
    };
    let inner: Vec<_> = group.stream().into_iter().collect();
    let parts = inner.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
    let mut values = parts.filter(|part| !part.is_empty()).map(outside_tests);
    match name.as_deref() {
        Some("not") => values.next()?.map(|value| !value),
        Some("all") => values.any(|value| value == Some(false)).then_some(false),
        Some("any") => values.all(|value| value == Some(false)).then_some(false),
        _ => None,
    }
}

/// The place behind an item, a statement, a field, a variant or an arm.
pub fn after_item(tokens: &[TokenTree], mut at: usize) -> usize {
    const ITEMS: [&str; 16] = [
        "fn",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "const",
        "static",
        "mod",
        "use",
        "impl",
        "unsafe",
        "extern",
        "async",
        "let",
        "macro_rules",
    ];
    while let Some((_, _, after)) = attribute(tokens, at) {
        at = after;
    }
    if word(tokens, at).as_deref() == Some("pub") {
        at += 1;
        if matches!(tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
        {
            at += 1;
        }
    }
    let is_item = word(tokens, at).is_some_and(|word| ITEMS.contains(&word.as_str()));
    // The value of a constant may be a block, and an initialiser have several.
    let mut value = false;
    while at < tokens.len() {
        let ends = match &tokens[at] {
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => true,
                ',' => !is_item,
                '=' => {
                    value = true;
                    false
                }
                _ => false,
            },
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !value,
            _ => false,
        };
        at += 1;
        if ends {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_have_and_what_documents_is_left_out() {
        let text = "//! a\n/// b\nfn f() {\n\n    // c\n    g(\"d\ne\")\n}\n#[cfg(test)]\nmod tests {\n}\n";
        let tokens = shipped(text).unwrap();
        assert_eq!(lines(&tokens), 4);
        assert_eq!(find(&tokens, &["g", "(", ""]), [6]);
        assert_eq!(find(&tokens, &["mod"]), [0; 0]);
    }
}
