//! Writes a container as a record. The reader checks the result, so each rule is implemented once.

use std::fmt::{Display, Write};

use crate::{
    Code, Container, HcfError, Image, Kernel, ObjectId, Parameter, Problem, SpecConstant, SpecPart,
    contents::Contents,
    escape::encode,
    format::{ALIGNMENT, FRAME_LEN, MARKER, MAX_HEADER_LEN, VERSION},
    frame::Frame,
    tree::Node,
};

impl Container {
    /// The container as one framed record, for a section or a file.
    ///
    /// The length is a multiple of [`ALIGNMENT`](crate::format::ALIGNMENT), and the record should
    /// be placed at such an address.
    ///
    /// # Errors
    /// If the container breaks a rule that the fields' documentation states, or a limit of
    /// [`format`](mod@crate::format). What this function returns,
    /// [`RecordRef::parse`](crate::RecordRef::parse) accepts.
    pub fn to_record(&self) -> Result<Vec<u8>, HcfError> {
        record(self)
    }

    /// The content hash that the container's record carries.
    ///
    /// Defined for every container, even for one that [`to_record`](Self::to_record) refuses.
    pub fn object_id(&self) -> ObjectId {
        object_id(self)
    }
}

/// The container's record, which the reader accepts.
fn record(container: &Container) -> Result<Vec<u8>, HcfError> {
    let header = header(container);
    if header.len() > MAX_HEADER_LEN {
        let problem = Problem::TooMany { what: "bytes in the header", limit: MAX_HEADER_LEN };
        return Err(HcfError::new(problem, FRAME_LEN));
    }
    let header_len = header.len();
    let mut record = Vec::with_capacity(
        FRAME_LEN + header_len + container.images.iter().map(room).sum::<usize>(),
    );
    record.resize(FRAME_LEN, 0);
    let appendix_len = append_contents(&mut record, header, container);

    let (header, appendix) = record[FRAME_LEN..].split_at(header_len);
    let root = Node::parse(header).map_err(|error| error.after(FRAME_LEN))?;
    Contents::read(&root, &appendix[..appendix_len])?;

    let object_id = ObjectId::of(&record[FRAME_LEN..]);
    let frame = Frame { header_len, appendix_len, record_len: record.len(), object_id };
    record[..FRAME_LEN].copy_from_slice(&frame.to_bytes());
    Ok(record)
}

/// The hash of what follows the frame in the container's record.
fn object_id(container: &Container) -> ObjectId {
    let mut contents = Vec::new();
    append_contents(&mut contents, header(container), container);
    ObjectId::of(&contents)
}

/// Appends header, appendix and final padding to a record that ends at a multiple of the alignment;
/// returns the appendix's length.
fn append_contents(record: &mut Vec<u8>, header: String, container: &Container) -> usize {
    record.extend_from_slice(header.as_bytes());
    let appendix = record.len();
    for image in &container.images {
        align(record);
        record.extend_from_slice(&image.data);
    }
    let appendix_len = record.len() - appendix;
    align(record);
    appendix_len
}

fn align(record: &mut Vec<u8>) {
    record.resize(record.len().next_multiple_of(ALIGNMENT), 0);
}

/// Bytes of an image in the appendix.
fn room(image: &Image) -> usize {
    image.data.len().next_multiple_of(ALIGNMENT)
}

fn header(container: &Container) -> String {
    let mut text = Text::default();
    text.pair("hcf-version", VERSION);
    text.pair("generator", encode(&container.generator));
    text.pair("llvm-version", encode(&container.llvm_version));
    text.pair("crate-name", encode(&container.crate_name));
    text.node("images", |text| {
        let mut start = 0;
        for image in &container.images {
            text.node(&image.name, |text| text.image(image, start));
            start += room(image);
        }
    });
    if !container.spec_constants.is_empty() {
        text.node("spec-constants", |text| {
            for constant in &container.spec_constants {
                text.node(&constant.symbol, |text| text.spec_constant(constant));
            }
        });
    }
    text.node("kernels", |text| {
        for kernel in &container.kernels {
            text.node(&kernel.name, |text| text.kernel(kernel));
        }
    });
    text.finish()
}

/// Two digits for each byte.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The numbers of the bits that are set, in ascending order.
fn bits(mask: u64) -> String {
    let set = (0..u64::BITS).filter(|bit| mask >> bit & 1 != 0);
    set.map(|bit| bit.to_string()).collect::<Vec<_>>().join(" ")
}

/// The header, as it grows.
#[derive(Default)]
struct Text(String);

impl Text {
    fn pair(&mut self, key: &str, value: impl Display) {
        writeln!(self.0, "{key}={value}").expect("a String takes any text");
    }

    fn node(&mut self, name: &str, contents: impl FnOnce(&mut Self)) {
        let name = encode(name);
        self.0.extend(["{.", &name, "\n"]);
        contents(self);
        self.0.extend(["}.", &name, "\n"]);
    }

    fn list(&mut self, name: &str, elements: &[String]) {
        self.node(name, |text| {
            for element in elements {
                text.node(element, |_| {});
            }
        });
    }

    fn image(&mut self, image: &Image, start: usize) {
        self.pair("variant", encode(&image.variant));
        self.pair("format", encode(&image.format));
        self.node("__binary", |text| {
            text.pair("start", start);
            text.pair("size", image.data.len());
        });
        if let Some(code) = &image.code {
            self.node("code", |text| text.code(code));
        }
        self.list("exported-symbols", &image.exported_symbols);
        self.list("imported-symbols", &image.imported_symbols);
    }

    fn code(&mut self, code: &Code) {
        self.pair("target", code.target);
        self.pair("interface", code.interface);
        self.pair("flags", code.flags);
        self.pair("facts", code.assumptions);
        if code.block != [0; 3] {
            self.pair("block", code.block.map(|items| items.to_string()).join(" "));
        }
        for (key, params) in [("aligned", code.aligned), ("narrow", code.narrow)] {
            if params != 0 {
                self.pair(key, bits(params));
            }
        }
        self.pair("needs", code.needs);
        if let Some(stack) = code.stack {
            self.pair("stack", stack);
        }
        self.pair("entry", encode(&code.entry));
    }

    fn kernel(&mut self, kernel: &Kernel) {
        self.pair("display-name", encode(&kernel.display_name));
        self.pair("dimensions", kernel.dimensions);
        self.pair("closure-size", kernel.closure_size);
        self.pair("closure-align", kernel.closure_align);
        self.pair("can-panic", u8::from(kernel.can_panic));
        if let Some(groups) = kernel.groups {
            self.pair("local-memory-size", groups.local_size);
            self.pair("local-memory-align", groups.local_align);
        }
        if let Some(variant) = &kernel.offset_variant {
            self.pair("offset-variant", encode(variant));
        }
        if !kernel.capabilities.is_empty() {
            // A blank in a word must not make two words of it: the reader refuses two blanks.
            let words: Vec<_> =
                kernel.capabilities.iter().map(|word| word.replace(' ', "  ")).collect();
            self.pair("aspects", encode(&words.join(" ")));
        }
        if let Some(content) = &kernel.content {
            self.pair("content", digits(content));
        }
        if kernel.no_thread_locals {
            self.pair("thread-locals", "none");
        }
        self.list("image-providers", &kernel.images);
        self.node("parameters", |text| {
            for (number, parameter) in kernel.parameters.iter().enumerate() {
                text.node(&number.to_string(), |text| text.parameter(parameter));
            }
        });
        if !kernel.spec_constants.is_empty() {
            self.list("spec-constants", &kernel.spec_constants);
        }
        if !kernel.imports.is_empty() {
            self.list("imported-symbols", &kernel.imports);
        }
    }

    fn spec_constant(&mut self, constant: &SpecConstant) {
        self.pair("path", encode(&constant.path));
        self.pair("byte-align", constant.align);
        self.pair("default", digits(&constant.default));
        self.node("parts", |text| {
            for (number, part) in constant.parts.iter().enumerate() {
                text.node(&number.to_string(), |text| text.spec_part(part));
            }
        });
    }

    fn spec_part(&mut self, part: &SpecPart) {
        self.pair("path", encode(&part.path));
        self.pair("place", encode(&part.place));
        self.pair("line", part.line);
        self.pair("column", part.column);
        self.pair("type-id", digits(&part.type_id));
        self.pair("byte-offset", part.offset);
        self.pair("byte-size", part.size);
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.pair("byte-offset", parameter.offset);
        self.pair("byte-size", parameter.size);
        self.pair("byte-align", parameter.align);
        self.pair("type", parameter.kind);
        if parameter.read_only {
            self.pair("access", "read");
        }
        if parameter.specialized {
            self.pair("specialized", "yes");
        }
        if !parameter.addresses.is_empty() {
            self.pair("addresses", &parameter.addresses);
        }
    }

    fn finish(mut self) -> String {
        while !(self.0.len() + MARKER.len()).is_multiple_of(ALIGNMENT) {
            self.0.push('\n');
        }
        self.0 + MARKER
    }
}
