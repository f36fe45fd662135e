//! Reads images and kernels from a tree of nodes: what [`format`](mod@crate::format) lists, and
//! nothing else.

use std::{borrow::Cow, collections::HashSet, fmt, str::FromStr};

use crate::{
    Addresses, Code, Groups, HcfError, ImageRef, KernelRef, Parameter, ParameterKind, Problem,
    SpecConstantRef, SpecPart, Target,
    contents::Contents,
    format::{ALIGNMENT, FRAME_LEN, MAX_ALIGN, VERSION},
    tree::{Node, Pair, shown},
};

impl<'a> Contents<'a> {
    /// Interprets the root node. Offsets in errors are from the record's start.
    pub fn read(root: &Node<'a>, appendix: &'a [u8]) -> Result<Self, HcfError> {
        let mut entries = Entries::of(root, Path::ROOT);
        if entries.number("hcf-version")? != u64::from(VERSION) {
            return Err(entries.invalid("hcf-version", "the frame says 2"));
        }
        let generator = entries.text("generator")?;
        let llvm_version = entries.text("llvm-version")?;
        let crate_name = entries.text("crate-name")?;
        let images = entries.child("images", |node, path| images(node, path, appendix))?;
        let spec_constants = entries
            .optional_child("spec-constants", |node, path| {
                Entries::of(node, path).each(spec_constant)
            })?
            .unwrap_or_default();
        let kernels =
            entries.child("kernels", |node, path| kernels(node, path, &images, &spec_constants))?;
        entries.finish()?;
        Ok(Self { generator, llvm_version, crate_name, images, spec_constants, kernels })
    }
}

fn images<'a>(
    node: &Node<'a>,
    path: Path<'_>,
    appendix: &'a [u8],
) -> Result<Vec<ImageRef<'a>>, HcfError> {
    let mut rest = Appendix { bytes: appendix, used: 0 };
    let images = Entries::of(node, path).each(|node, path| image(node, path, &mut rest))?;
    if rest.used != appendix.len() {
        let problem = Problem::Syntax("the appendix has bytes that belong to no image");
        return Err(error(problem, node.end, path));
    }
    Ok(images)
}

fn image<'a>(
    node: &Node<'a>,
    path: Path<'_>,
    rest: &mut Appendix<'a>,
) -> Result<ImageRef<'a>, HcfError> {
    let mut entries = Entries::of(node, path);
    let variant = entries.text("variant")?;
    let format = entries.text("format")?;
    let data = entries.child("__binary", |node, path| {
        let mut entries = Entries::of(node, path);
        let start = entries.number("start")?;
        let padding = rest.pad();
        if start != rest.used as u64 {
            return Err(entries
                .invalid("start", "images follow each other, each at the next multiple of 16"));
        }
        let size = entries.number("size")?;
        let Some(data) = rest.take(size) else {
            return Err(entries.invalid("size", "the appendix ends before the image does"));
        };
        entries.finish()?;
        if padding.iter().any(|&byte| byte != 0) {
            return Err(error(Problem::DirtyPadding, node.offset, path));
        }
        Ok(data)
    })?;
    let code = entries.optional_child("code", |node, path| Ok(vec![code(node, path, &format)?]))?;
    let code = code.and_then(|mut codes| codes.pop());
    let exported_symbols = entries.child("exported-symbols", list)?;
    let imported_symbols = entries.child("imported-symbols", list)?;
    entries.finish()?;
    Ok(ImageRef {
        name: node.name.clone(),
        format,
        variant,
        code,
        exported_symbols,
        imported_symbols,
        data,
    })
}

fn code(node: &Node<'_>, path: Path<'_>, format: &str) -> Result<Code, HcfError> {
    let mut entries = Entries::of(node, path);
    let written = entries.text("target")?;
    // Each name has one spelling, so a container has one, too.
    let Ok(target) = written.parse::<Target>() else {
        return Err(entries.invalid("target", "`host:` and a level, or `ptx:` and a processor"));
    };
    if format != target.format() {
        return Err(entries.invalid("target", "the image's format is not this target's"));
    }
    let interface = entries.small("interface")?;
    let flags = entries.small("flags")?;
    let assumptions = entries.small("facts")?;
    let block = match entries.optional_text("block") {
        Some(written) => block(&written).ok_or_else(|| {
            entries.invalid("block", "three numbers from 1 to 2^32 - 1, with a space between")
        })?,
        None => [0; 3],
    };
    let mut params = |key| match entries.optional_text(key) {
        Some(written) => bits(&written).ok_or_else(|| {
            entries.invalid(key, "numbers below 64 in ascending order, with a space between")
        }),
        None => Ok(0),
    };
    let (aligned, narrow) = (params("aligned")?, params("narrow")?);
    let needs = entries.small("needs")?;
    let stack = if entries.has("stack") { Some(entries.number("stack")?) } else { None };
    let entry = entries.text("entry")?.into_owned();
    if entry.is_empty() {
        return Err(entries.invalid("entry", "a symbol, which is not empty"));
    }
    entries.finish()?;
    Ok(Code { target, interface, entry, flags, assumptions, block, aligned, narrow, needs, stack })
}

/// The work-items of a block, none of them zero.
fn block(written: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = written.split(' ').map(decimal).collect();
    let block: [u32; 3] = numbers?.try_into().ok()?;
    (!block.contains(&0)).then_some(block)
}

/// The mask with these bits, which ascend.
fn bits(written: &str) -> Option<u64> {
    let numbers: Option<Vec<u32>> = written.split(' ').map(decimal).collect();
    let numbers = numbers?;
    let good = numbers.is_sorted_by(|a, b| a < b) && numbers.iter().all(|&bit| bit < u64::BITS);
    good.then(|| numbers.iter().fold(0, |mask, bit| mask | 1 << bit))
}

/// A number without sign or leading zero.
fn decimal<N: FromStr>(written: &str) -> Option<N> {
    let decimal = written == "0"
        || (!written.starts_with('0') && written.bytes().all(|byte| byte.is_ascii_digit()));
    written.parse().ok().filter(|_| decimal)
}

/// The rest of the appendix, after the images before.
struct Appendix<'a> {
    bytes: &'a [u8],
    used: usize,
}

impl<'a> Appendix<'a> {
    /// Skips to the next multiple of the alignment; returns the bytes between.
    fn pad(&mut self) -> &'a [u8] {
        let end = self.used.next_multiple_of(ALIGNMENT).min(self.bytes.len());
        let padding = &self.bytes[self.used..end];
        self.used = end;
        padding
    }

    fn take(&mut self, size: u64) -> Option<&'a [u8]> {
        let end = self.used.checked_add(usize::try_from(size).ok()?)?;
        let taken = self.bytes.get(self.used..end)?;
        self.used = end;
        Some(taken)
    }
}

fn spec_constant<'a>(node: &Node<'a>, path: Path<'_>) -> Result<SpecConstantRef<'a>, HcfError> {
    let mut entries = Entries::of(node, path);
    let constant_path = entries.text("path")?;
    let align = entries.alignment("byte-align")?;
    let Some(default) = bytes(&entries.text("default")?) else {
        return Err(entries.invalid("default", "two lower-case hexadecimal digits for each byte"));
    };
    let parts = entries.child("parts", |node, path| {
        let (mut number, mut end) = (0, 0);
        let parts = Entries::of(node, path).each(|node, path| {
            let expected = number.to_string();
            number += 1;
            let part = spec_part(node, path, &expected, end, default.len() as u64)?;
            end = part.offset + part.size;
            Ok(part)
        })?;
        match parts.is_empty() {
            true => Err(error(Problem::Syntax("a constant has a part"), node.offset, path)),
            false => Ok(parts),
        }
    })?;
    entries.finish()?;
    let symbol = node.name.clone();
    Ok(SpecConstantRef { symbol, path: constant_path, align, default, parts })
}

/// A part of a constant of `size` bytes, after parts that end at `begin`.
fn spec_part(
    node: &Node<'_>,
    path: Path<'_>,
    number: &str,
    begin: u64,
    size: u64,
) -> Result<SpecPart, HcfError> {
    numbered(node, path, number)?;
    let mut entries = Entries::of(node, path);
    let (part_path, place) = (entries.text("path")?.into_owned(), entries.text("place")?);
    let (line, column) = (entries.small("line")?, entries.small("column")?);
    let Some(type_id) = bytes(&entries.text("type-id")?).and_then(|id| id.try_into().ok()) else {
        return Err(entries.invalid("type-id", "32 lower-case hexadecimal digits"));
    };
    let (offset, part_size) = (entries.number("byte-offset")?, entries.number("byte-size")?);
    if offset < begin {
        return Err(entries.invalid("byte-offset", "a part begins behind the one before it"));
    }
    if part_size == 0 || offset.checked_add(part_size).is_none_or(|end| end > size) {
        return Err(entries.invalid("byte-size", "a part has bytes, and ends within its constant"));
    }
    entries.finish()?;
    let place = place.into_owned();
    Ok(SpecPart { path: part_path, place, line, column, type_id, offset, size: part_size })
}

/// One or more bytes, two digits for each.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn kernels<'a>(
    node: &Node<'a>,
    path: Path<'_>,
    images: &[ImageRef<'a>],
    spec_constants: &[SpecConstantRef<'a>],
) -> Result<Vec<KernelRef<'a>>, HcfError> {
    let constants: HashSet<&str> = spec_constants.iter().map(|known| &*known.symbol).collect();
    let known: HashSet<&str> = images.iter().map(|image| &*image.name).collect();
    let mut symbols: HashSet<&str> = node.children.iter().map(|kernel| &*kernel.name).collect();
    Entries::of(node, path).each(|node, path| {
        let kernel = kernel(node, path, &known, &constants)?;
        // The value is compared where it lies in the tree, which lives as long as the set.
        let variant = node.pairs.iter().find(|pair| pair.key == "offset-variant");
        if variant.is_some_and(|pair| pair.value.is_empty() || !symbols.insert(&pair.value)) {
            return Err(Entries::of(node, path)
                .invalid("offset-variant", "a symbol that nothing else here has"));
        }
        Ok(kernel)
    })
}

fn kernel<'a>(
    node: &Node<'a>,
    path: Path<'_>,
    known_images: &HashSet<&str>,
    known_constants: &HashSet<&str>,
) -> Result<KernelRef<'a>, HcfError> {
    let mut entries = Entries::of(node, path);
    let display_name = entries.text("display-name")?;
    let dimensions = match entries.number("dimensions")? {
        dimensions @ 1..=3 => dimensions as u32,
        _ => return Err(entries.invalid("dimensions", "1, 2 or 3")),
    };
    let closure_size = entries.number("closure-size")?;
    let closure_align = entries.alignment("closure-align")?;
    let can_panic = match entries.number("can-panic")? {
        0 => false,
        1 => true,
        _ => return Err(entries.invalid("can-panic", "0 or 1")),
    };
    let groups = if entries.has("local-memory-size") {
        let local_size = entries.number("local-memory-size")?;
        Some(Groups { local_size, local_align: entries.alignment("local-memory-align")? })
    } else {
        None
    };
    let offset_variant = entries.optional_text("offset-variant");
    let capabilities = match entries.optional_text("aspects") {
        Some(written) => capabilities(&written).ok_or_else(|| {
            entries.invalid("aspects", "words of [a-z0-9-] in ascending order, none twice")
        })?,
        None => Vec::new(),
    };
    let content =
        match entries.optional_text("content") {
            Some(written) => {
                let content = bytes(&written).and_then(|content| content.try_into().ok());
                Some(content.ok_or_else(|| {
                    entries.invalid("content", "64 lower-case hexadecimal digits")
                })?)
            }
            None => None,
        };
    let no_thread_locals = match entries.optional_text("thread-locals").as_deref() {
        None => false,
        Some("none") => true,
        Some(_) => return Err(entries.invalid("thread-locals", "`none`")),
    };
    let images = entries.child("image-providers", |node, path| {
        let images = list(node, path)?;
        if images.is_empty() {
            return Err(error(Problem::NoImage, node.offset, path));
        }
        match images.iter().find(|&image| !known_images.contains(&**image)) {
            Some(unknown) => Err(error(Problem::UnknownImage(shown(unknown)), node.offset, path)),
            None => Ok(images),
        }
    })?;
    let parameters = entries.child("parameters", |node, path| {
        let mut number = 0;
        Entries::of(node, path).each(|node, path| {
            let expected = number.to_string();
            number += 1;
            parameter(node, path, &expected, closure_size)
        })
    })?;
    let spec_constants = entries
        .optional_child("spec-constants", |node, path| {
            let constants = list(node, path)?;
            match constants.iter().find(|&constant| !known_constants.contains(&**constant)) {
                Some(unknown) => {
                    Err(error(Problem::UnknownConstant(shown(unknown)), node.offset, path))
                }
                None => Ok(constants),
            }
        })?
        .unwrap_or_default();
    let imports = entries.optional_child("imported-symbols", list)?.unwrap_or_default();
    entries.finish()?;
    Ok(KernelRef {
        name: node.name.clone(),
        display_name,
        dimensions,
        closure_size,
        closure_align,
        parameters,
        images,
        can_panic,
        groups,
        offset_variant,
        spec_constants,
        imports,
        capabilities,
        content,
        no_thread_locals,
    })
}

/// The words of a list of capabilities, if it is a valid one.
fn capabilities(written: &str) -> Option<Vec<String>> {
    let words: Vec<String> = written.split(' ').map(str::to_owned).collect();
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_word = |word: &String| !word.is_empty() && word.bytes().all(letter);
    (words.iter().all(is_word) && words.is_sorted_by(|a, b| a < b)).then_some(words)
}

fn parameter(
    node: &Node<'_>,
    path: Path<'_>,
    number: &str,
    closure_size: u64,
) -> Result<Parameter, HcfError> {
    numbered(node, path, number)?;
    let mut entries = Entries::of(node, path);
    let offset = entries.number("byte-offset")?;
    let size = entries.number("byte-size")?;
    if offset.checked_add(size).is_none_or(|end| end > closure_size) {
        return Err(entries.invalid("byte-size", "a parameter ends within its closure"));
    }
    let align = entries.alignment("byte-align")?;
    let written = entries.text("type")?;
    let Some(kind) = ParameterKind::ALL.into_iter().find(|kind| kind.as_str() == written) else {
        return Err(entries.invalid("type", "integer, floating-point, pointer or other-by-value"));
    };
    if !kind.allows_size(size) {
        return Err(entries.invalid("byte-size", "no value of this type has that size"));
    }
    let read_only = match entries.optional_text("access").as_deref() {
        None => false,
        Some("read") if kind == ParameterKind::Pointer => true,
        Some(_) => return Err(entries.invalid("access", "`read`, for pointers only")),
    };
    let specialized = match entries.optional_text("specialized").as_deref() {
        None => false,
        Some("yes") if kind != ParameterKind::Pointer => true,
        Some(_) => return Err(entries.invalid("specialized", "`yes`, for values only")),
    };
    let addresses = match entries.optional_text("addresses") {
        None => Addresses::default(),
        Some(written) if kind == ParameterKind::Bytes && !specialized => {
            Addresses::parse(&written, size).ok_or_else(|| {
                entries.invalid("addresses", "items as the format has them, within the parameter")
            })?
        }
        Some(_) => {
            let allowed = "other-by-value is the only type that has it, if it is not specialized";
            return Err(entries.invalid("addresses", allowed));
        }
    };
    entries.finish()?;
    Ok(Parameter { offset, size, align, kind, read_only, specialized, addresses })
}

/// Checks the name of a node whose name is a number.
fn numbered(node: &Node<'_>, path: Path<'_>, number: &str) -> Result<(), HcfError> {
    if node.name == number {
        return Ok(());
    }
    let problem = Problem::Unexpected {
        expected: format!("the node `{number}`"),
        found: format!("`{}`", shown(&node.name)),
    };
    Err(error(problem, node.offset, path))
}

/// The names of a node's children, which are empty.
fn list<'a>(node: &Node<'a>, path: Path<'_>) -> Result<Vec<Cow<'a, str>>, HcfError> {
    Entries::of(node, path).each(|node, path| {
        Entries::of(node, path).finish()?;
        Ok(node.name.clone())
    })
}

/// A node's entries, taken in the order that the format prescribes.
struct Entries<'n, 'a> {
    node: &'n Node<'a>,
    path: Path<'n>,
    pairs: std::slice::Iter<'n, Pair<'a>>,
    children: std::slice::Iter<'n, Node<'a>>,
}

impl<'n, 'a> Entries<'n, 'a> {
    fn of(node: &'n Node<'a>, path: Path<'n>) -> Self {
        Self { node, path, pairs: node.pairs.iter(), children: node.children.iter() }
    }

    /// Whether the next entry is a pair with this key.
    fn has(&self, key: &str) -> bool {
        self.pairs.as_slice().first().is_some_and(|pair| pair.key == key)
    }

    fn text(&mut self, key: &str) -> Result<Cow<'a, str>, HcfError> {
        match self.pairs.next() {
            Some(pair) if pair.key == key => Ok(pair.value.clone()),
            Some(pair) => Err(self.unexpected(format!("the key `{key}`"), Some(Entry::Pair(pair)))),
            None => Err(self.unexpected(
                format!("the key `{key}`"),
                self.children.as_slice().first().map(Entry::Node),
            )),
        }
    }

    /// The value of an optional key.
    fn optional_text(&mut self, key: &str) -> Option<Cow<'a, str>> {
        let next = self.pairs.as_slice().first().filter(|pair| pair.key == key)?;
        self.pairs.next();
        Some(next.value.clone())
    }

    fn number(&mut self, key: &'static str) -> Result<u64, HcfError> {
        let written = self.text(key)?;
        decimal(&written).ok_or_else(|| {
            self.invalid(key, "a decimal number below 2^64, without sign or leading zero")
        })
    }

    fn small(&mut self, key: &'static str) -> Result<u32, HcfError> {
        let number = self.number(key)?;
        u32::try_from(number).map_err(|_| self.invalid(key, "a number below 2^32"))
    }

    fn alignment(&mut self, key: &'static str) -> Result<u64, HcfError> {
        match self.number(key)? {
            align if align.is_power_of_two() && align <= MAX_ALIGN => Ok(align),
            _ => Err(self.invalid(key, "a power of two, at most 2^29")),
        }
    }

    fn child<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'n Node<'a>, Path<'_>) -> Result<T, HcfError>,
    ) -> Result<T, HcfError> {
        let expected = || format!("the node `{name}`");
        if let Some(pair) = self.pairs.next() {
            return Err(self.unexpected(expected(), Some(Entry::Pair(pair))));
        }
        match self.children.next() {
            Some(child) if child.name == name => read(child, self.path.of_child(child)),
            found => Err(self.unexpected(expected(), found.map(Entry::Node))),
        }
    }

    /// Reads an optional child, which must not be empty.
    fn optional_child<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'n Node<'a>, Path<'_>) -> Result<Vec<T>, HcfError>,
    ) -> Result<Option<Vec<T>>, HcfError> {
        if self.children.as_slice().first().is_none_or(|child| child.name != name) {
            return Ok(None);
        }
        let child = self.children.as_slice().first().map(|child| child.offset);
        let elements = self.child(name, read)?;
        match child {
            Some(offset) if elements.is_empty() => {
                Err(error(Problem::Syntax("an empty list is left out"), offset, self.path))
            }
            _ => Ok(Some(elements)),
        }
    }

    /// Reads every child; there are no keys.
    fn each<T>(
        mut self,
        mut read: impl FnMut(&'n Node<'a>, Path<'_>) -> Result<T, HcfError>,
    ) -> Result<Vec<T>, HcfError> {
        let children = std::mem::take(&mut self.children);
        self.finish()?;
        children.map(|child| read(child, self.path.of_child(child))).collect()
    }

    /// Checks that nothing follows.
    fn finish(&self) -> Result<(), HcfError> {
        let pair = self.pairs.as_slice().first().map(Entry::Pair);
        match pair.or(self.children.as_slice().first().map(Entry::Node)) {
            None => Ok(()),
            more => Err(self.unexpected("nothing more".to_owned(), more)),
        }
    }

    fn unexpected(&self, expected: String, found: Option<Entry<'_, 'a>>) -> HcfError {
        let (found, offset) = match found {
            Some(Entry::Pair(pair)) => (format!("the key `{}`", shown(pair.key)), pair.offset),
            Some(Entry::Node(node)) => (format!("the node `{}`", shown(&node.name)), node.offset),
            None => ("the end of the node".to_owned(), self.node.end),
        };
        error(Problem::Unexpected { expected, found }, offset, self.path)
    }

    /// The error for an invalid value of `key`, which has been read.
    fn invalid(&self, key: &'static str, allowed: &'static str) -> HcfError {
        let pair = self.node.pairs.iter().find(|pair| pair.key == key);
        let value = pair.map(|pair| shown(&pair.value)).unwrap_or_default();
        let offset = pair.map_or(self.node.offset, |pair| pair.offset);
        error(Problem::InvalidValue { key, value, allowed }, offset, self.path)
    }
}

enum Entry<'n, 'a> {
    Pair(&'n Pair<'a>),
    Node(&'n Node<'a>),
}

fn error(problem: Problem, offset_in_header: usize, path: Path<'_>) -> HcfError {
    HcfError::new(problem, offset_in_header).in_node(path).after(FRAME_LEN)
}

/// The names from the root to a node, which only errors format.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    name: &'p str,
}

impl Path<'_> {
    const ROOT: Path<'static> = Path { parent: None, name: "" };

    fn of_child<'p>(&'p self, child: &'p Node<'_>) -> Path<'p> {
        Path { parent: Some(self), name: &child.name }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        if parent.parent.is_some() {
            write!(f, "{parent}/")?;
        }
        f.write_str(&shown(self.name))
    }
}
