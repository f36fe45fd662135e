//! The header's text as a tree of nodes, without their meaning.

use std::{borrow::Cow, collections::HashSet, fmt};

use crate::{
    HcfError, ObjectId, Problem,
    escape::{decode, encode},
    format::{ALIGNMENT, MARKER, MAX_DEPTH, MAX_LINE_LEN, MAX_LINES, VERSION},
};

/// A node of the header. Offsets are from the header's start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'a> {
    /// Empty for the root only.
    pub name: Cow<'a, str>,
    /// Where the node is opened.
    pub offset: usize,
    /// Where it is closed.
    pub end: usize,
    pub pairs: Vec<Pair<'a>>,
    pub children: Vec<Node<'a>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pair<'a> {
    pub key: &'a str,
    pub value: Cow<'a, str>,
    pub offset: usize,
}

impl<'a> Node<'a> {
    /// The root node of a whole header.
    pub fn parse(header: &'a [u8]) -> Result<Self, HcfError> {
        let text = std::str::from_utf8(header)
            .map_err(|e| HcfError::new(Problem::NotUtf8, e.valid_up_to()))?;
        let syntax = |what, offset| HcfError::new(Problem::Syntax(what), offset);
        let Some(body) = text.strip_suffix(MARKER) else {
            return Err(syntax("it does not end with the appendix marker", text.len()));
        };
        let lines = body.trim_end_matches('\n');
        // One line feed ends the last line.
        if !(1..=ALIGNMENT).contains(&(body.len() - lines.len())) {
            return Err(syntax(
                "the line feeds before the appendix marker do not just fill up",
                lines.len(),
            ));
        }

        let mut parser = Parser { open: vec![Open::default()] };
        let mut offset = 0;
        for (number, line) in lines.split('\n').enumerate() {
            let result = if number < MAX_LINES {
                parser.line(line, offset)
            } else {
                Err(Problem::TooMany { what: "lines in the header", limit: MAX_LINES })
            };
            result.map_err(|problem| HcfError::new(problem, offset).in_node(parser.path()))?;
            offset += line.len() + 1;
        }
        if parser.open.len() > 1 {
            return Err(syntax("a node is not closed", offset).in_node(parser.path()));
        }
        let mut root = parser.open.swap_remove(0).node;
        root.end = offset;
        Ok(root)
    }
}

struct Parser<'a> {
    /// The root, then the nodes that are open within each other.
    open: Vec<Open<'a>>,
}

#[derive(Default)]
struct Open<'a> {
    node: Node<'a>,
    keys: HashSet<&'a str>,
    names: HashSet<Cow<'a, str>>,
}

impl<'a> Parser<'a> {
    fn line(&mut self, line: &'a str, offset: usize) -> Result<(), Problem> {
        if line.len() > MAX_LINE_LEN {
            return Err(Problem::TooMany { what: "bytes in a line", limit: MAX_LINE_LEN });
        }
        if let Some(name) = line.strip_prefix("{.") {
            self.open(name, offset)
        } else if let Some(name) = line.strip_prefix("}.") {
            self.close(name, offset)
        } else if let Some((key, value)) = line.split_once('=') {
            self.pair(key, value, offset)
        } else {
            Err(Problem::Syntax("a line is neither `key=value` nor `{.node` nor `}.node`"))
        }
    }

    fn open(&mut self, name: &'a str, offset: usize) -> Result<(), Problem> {
        if name.is_empty() {
            return Err(Problem::Syntax("a node has no name"));
        }
        if self.open.len() > MAX_DEPTH {
            return Err(Problem::TooMany { what: "nodes within each other", limit: MAX_DEPTH });
        }
        let name = text(name)?;
        if !self.innermost().names.insert(name.clone()) {
            return Err(Problem::DuplicateNode(shown(&name)));
        }
        self.open.push(Open { node: Node { name, offset, ..Node::default() }, ..Open::default() });
        Ok(())
    }

    fn close(&mut self, name: &'a str, offset: usize) -> Result<(), Problem> {
        let name = text(name)?;
        // The root has no name, so only an empty name matches it.
        if name.is_empty() || self.innermost().node.name != name {
            return Err(Problem::Syntax("a node is closed that is not the innermost open one"));
        }
        if let Some(Open { mut node, .. }) = self.open.pop() {
            node.end = offset;
            self.innermost().node.children.push(node);
        }
        Ok(())
    }

    fn pair(&mut self, key: &'a str, value: &'a str, offset: usize) -> Result<(), Problem> {
        if key.is_empty() || !key.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
            return Err(Problem::Syntax("a key is not made of a-z, 0-9 and -"));
        }
        let value = text(value)?;
        let open = self.innermost();
        if !open.node.children.is_empty() {
            return Err(Problem::Syntax("a key follows a child node"));
        }
        if !open.keys.insert(key) {
            return Err(Problem::DuplicateKey(shown(key)));
        }
        open.node.pairs.push(Pair { key, value, offset });
        Ok(())
    }

    fn innermost(&mut self) -> &mut Open<'a> {
        self.open.last_mut().expect("the root is never closed")
    }

    fn path(&self) -> String {
        let names: Vec<_> = self.open.iter().skip(1).map(|open| shown(&open.node.name)).collect();
        names.join("/")
    }
}

fn text(written: &str) -> Result<Cow<'_, str>, Problem> {
    decode(written).ok_or_else(|| Problem::Escape(shown(written)))
}

/// A text as errors show it: on one line, and not too long.
pub(crate) fn shown(text: &str) -> String {
    const MAX: usize = 200;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", encode(&text[..end])),
        None => encode(text).into_owned(),
    }
}

/// A record's header, for printing.
///
/// Names and values are printed as they are written in the record, so each is on one line and
/// cannot affect a terminal.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    pub(crate) object_id: ObjectId,
    pub(crate) record_len: usize,
    pub(crate) root: &'a Node<'a>,
}

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object_id, record_len, root } = self;
        writeln!(f, "HCF record {object_id}, version {VERSION}, {record_len} bytes")?;
        print_entries(root, &mut String::new(), f)
    }
}

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} =", self.key)?;
        if self.value.is_empty() { Ok(()) } else { write!(f, " {}", encode(&self.value)) }
    }
}

fn print_entries(node: &Node<'_>, indent: &mut String, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let count = node.pairs.len() + node.children.len();
    let branch = |number| if number + 1 == count { "└─ " } else { "├─ " };
    for (number, pair) in node.pairs.iter().enumerate() {
        writeln!(f, "{indent}{}{pair}", branch(number))?;
    }
    for (number, child) in node.children.iter().enumerate() {
        let number = node.pairs.len() + number;
        write!(f, "{indent}{}{}", branch(number), encode(&child.name))?;
        if child.children.is_empty() {
            print_pairs(child, f)?;
            continue;
        }
        writeln!(f)?;
        let before = indent.len();
        indent.push_str(if number + 1 == count { "   " } else { "│  " });
        print_entries(child, indent, f)?;
        indent.truncate(before);
    }
    Ok(())
}

/// The rest of the line of a node that has no children.
fn print_pairs(node: &Node<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (number, pair) in node.pairs.iter().enumerate() {
        let separator = if number == 0 { ": " } else { ", " };
        write!(f, "{separator}{pair}")?;
    }
    writeln!(f)
}
