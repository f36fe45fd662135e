//! A [`DeviceSpec`] as text: comments in an IR file, or options of `schism-opt`.
//!
//! ```text
//! ; SPEC constant: symbol value
//! ; SPEC constant-function: symbol value
//! ; SPEC panic: symbol text|arguments|formatted|"message" [located]
//! ; SPEC message: template
//! ; SPEC unless-null: argument template
//! ; SPEC value: argument arguments type
//! ; SPEC type: kind trait [name]
//! ; SPEC type-part: value type|- [name|size]
//! ; SPEC formatter: symbol type
//! ; SPEC kernel: name entry size align
//! ; SPEC param: offset size align integer|float|bytes|pointer|reference
//! ; SPEC host-memory: kernel
//! ; SPEC in-process: yes
//! ; SPEC without-effects: kernel
//! ; SPEC host-heap: kernel
//! ; SPEC target: triple
//! ; SPEC export: symbol
//! ; SPEC import: symbol
//! ; SPEC spec-constant: symbol size align hexadecimal
//! ; SPEC part: kernel...
//! ; SPEC constant-value: symbol hexadecimal
//! ; SPEC fast-math: relaxed|finite
//! ; SPEC lanes: register-bits [count]
//! ; SPEC warnings: off|on|perf
//! ; SPEC body: declare void @g() define void @f() { call void @g() ret void }
//! ```
//!
//! A `message`, an `unless-null` and a `value` belong to the last `panic` before them, a
//! `type-part` to the last `type`, and types are numbered from 0. Placeholders of a template are
//! numbers of values. The place `abort` of a message is that of a panic which ends the process. A `body` is a module that provides bodies; those that use others stand first,
//! `panic` before them. A `param` belongs to the last `kernel` before it. A `reference` is a
//! pointer with what rustc knows of a `&[f32]`: `noalias`, `readonly`, `nonnull`, `align 4`.

use std::sync::Arc;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use thiserror::Error;

use schism_message::{Kind, Trait};

use crate::frontend::message_template;
use crate::frontend::std_bodies::build_index;
use crate::spec::device::DeviceSpec;
use crate::spec::kernel::{KernelSpec, Parameter, ParameterKind, SpecConstant};
use crate::spec::lanes::Lanes;
use crate::spec::messages::{
    Formatter, PanicFunction, PanicMessage, PanicValue, TypeDescription, TypePart,
};
use crate::spec::options::FastMath;
use crate::spec::std_bodies::index::SpecialFunctions;
use crate::spec::std_bodies::module::ModuleRef;

/// A line that says nothing that this crate understands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`SPEC {line}`: {reason}")]
pub struct SpecError {
    /// The line, from its key on.
    pub line: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads the comments of an IR file that begin with `; SPEC `.
///
/// ```
/// let spec = schism_passes::spec::text::of_file(
///     "; SPEC kernel: k entry 8 8\n; SPEC param: 0 8 8 integer\ndefine void @k() { ret void }",
/// )?;
/// assert_eq!(spec.kernels[0].parameters.len(), 1);
/// # Ok::<(), schism_passes::spec::text::SpecError>(())
/// ```
///
/// # Errors
/// The first such comment that is not understood.
pub fn of_file(source: &str) -> Result<DeviceSpec, SpecError> {
    let mut spec = DeviceSpec::default();
    for line in source.lines() {
        if let Some(line) = line.strip_prefix("; SPEC ") {
            add(&mut spec, line)?;
        }
    }
    Ok(spec)
}

/// Adds to a specification what one line says, given from its key on: `kernel: name entry 8 8`.
///
/// # Errors
/// Why the line is not understood.
pub fn add(spec: &mut DeviceSpec, line: &str) -> Result<(), SpecError> {
    let error = |reason: String| SpecError { line: line.to_owned(), reason };
    let (key, value) =
        line.split_once(": ").ok_or_else(|| error("not of the form `key: value`".to_owned()))?;
    let words: Vec<&str> = value.split_whitespace().collect();
    let word = |index: usize, what: &str| {
        words.get(index).copied().ok_or_else(|| error(format!("{what} is missing")))
    };
    let number = |index: usize, what: &str| {
        let word = word(index, what)?;
        word.parse::<u64>().map_err(|_| error(format!("{what} is no number: `{word}`")))
    };
    let bytes = |index: usize| {
        let bytes = hexadecimal(word(index, "the value")?);
        bytes.ok_or_else(|| error("the value is no bytes".to_owned()))
    };
    match key {
        "constant" => {
            spec.ir_constants.push((word(0, "the symbol")?.to_owned(), number(1, "the value")?));
        }
        "constant-function" => {
            let symbol = word(0, "the symbol")?.to_owned();
            spec.ir_constant_functions.push((symbol, number(1, "the value")?));
        }
        "panic" => spec.panics.push(PanicFunction {
            symbol: word(0, "the symbol")?.to_owned(),
            message: match word(1, "where the message is")? {
                "text" => PanicMessage::Text,
                "arguments" => PanicMessage::Arguments,
                "formatted" => PanicMessage::Template {
                    template: Vec::new(),
                    unless_null: None,
                    values: Vec::new(),
                },
                "abort" => PanicMessage::Abort("panic in a destructor during cleanup".to_owned()),
                message => PanicMessage::Static(message.trim_matches('"').to_owned()),
            },
            located: words.get(2) == Some(&"located"),
        }),
        "message" | "unless-null" | "value" => {
            let Some(PanicFunction {
                message: PanicMessage::Template { template, unless_null, values },
                ..
            }) = spec.panics.last_mut()
            else {
                return Err(error("no `formatted` panic comes before it".to_owned()));
            };
            let encode = |text: &str| {
                message_template::encode(text, |value, _| u16::try_from(value).ok())
                    .ok_or_else(|| error("the template is not well formed".to_owned()))
            };
            match key {
                "message" => *template = encode(value)?,
                "unless-null" => {
                    let text = value.split_once(' ').map_or("", |(_, text)| text);
                    *unless_null = Some((number(0, "the argument")? as u32, encode(text)?));
                }
                _ => values.push(PanicValue {
                    argument: number(0, "the argument")? as u32,
                    arguments: number(1, "the number of arguments")? as u32,
                    ty: number(2, "the type")? as usize,
                }),
            }
        }
        "type" => {
            let (kind, by) = (word(0, "the kind")?, word(1, "the trait")?);
            let kinds = Kind::ALL.iter().find(|known| format!("{known:?}") == kind);
            let traits = Trait::ALL.iter().find(|known| format!("{known:?}") == by);
            spec.types.push(TypeDescription {
                kind: *kinds.ok_or_else(|| error(format!("there is no kind `{kind}`")))?,
                by: *traits.ok_or_else(|| error(format!("there is no trait `{by}`")))?,
                name: words.get(2..).unwrap_or_default().join(" "),
                parts: Vec::new(),
            });
        }
        "type-part" => {
            let name = words.get(2).copied().unwrap_or_default();
            let size = name.parse::<u64>().ok();
            let part = TypePart {
                value: number(0, "the value")?,
                ty: match word(1, "the type")? {
                    "-" => None,
                    _ => Some(number(1, "the type")? as usize),
                },
                name: if size.is_some() { String::new() } else { name.to_owned() },
                size: size.unwrap_or(0),
            };
            let ty = spec.types.last_mut();
            ty.ok_or_else(|| error("no `type` comes before it".to_owned()))?.parts.push(part);
        }
        "formatter" => spec.formatters.push(Formatter {
            symbol: word(0, "the symbol")?.to_owned(),
            ty: number(1, "the type")? as usize,
        }),
        "kernel" => spec.kernels.push(KernelSpec {
            name: word(0, "the name")?.to_owned(),
            entry: word(1, "the entry function")?.to_owned(),
            source: String::new(),
            closure_size: number(2, "the size of the closure")?,
            closure_align: number(3, "the alignment of the closure")?,
            parameters: Vec::new(),
        }),
        "param" => {
            let parameter = Parameter {
                offset: number(0, "the offset")?,
                size: number(1, "the size")?,
                align: number(2, "the alignment")?,
                kind: match word(3, "the kind")? {
                    "integer" => ParameterKind::Integer,
                    "float" => ParameterKind::Float,
                    "bytes" => ParameterKind::Bytes,
                    "pointer" => pointer(false),
                    "reference" => pointer(true),
                    other => return Err(error(format!("there is no kind `{other}`"))),
                },
                specialized: false,
            };
            let kernel = spec.kernels.last_mut();
            let kernel = kernel.ok_or_else(|| error("no `kernel` comes before it".to_owned()))?;
            kernel.parameters.push(parameter);
        }
        "host-memory" => spec.host_memory.push(word(0, "the kernel")?.to_owned()),
        "in-process" => spec.in_process = true,
        "restored" => spec.restored.push(word(0, "the kernel")?.to_owned()),
        "without-effects" => spec.without_effects.push(word(0, "the kernel")?.to_owned()),
        "host-heap" => spec.host_heap.push(word(0, "the kernel")?.to_owned()),
        "spec-constant" => spec.spec_constants.push(SpecConstant {
            symbol: word(0, "the symbol")?.to_owned(),
            static_size: number(1, "the size")?,
            align: number(2, "the alignment")?,
            default: bytes(3)?,
        }),
        "export" => spec.exports.push(word(0, "the symbol")?.to_owned()),
        "import" => spec.imports.push(word(0, "the symbol")?.to_owned()),
        "constant-value" => {
            spec.constant_values.push((word(0, "the symbol")?.to_owned(), bytes(1)?));
        }
        "fast-math" => {
            spec.fast_math = match word(0, "the precision")? {
                "relaxed" => FastMath::RELAXED,
                "finite" => FastMath::RELAXED_AND_FINITE,
                other => return Err(error(format!("mathematics cannot be `{other}`"))),
            }
        }
        "lanes" => {
            let bits = number(0, "the number of bits")?;
            let count = words.get(1).map(|_| number(1, "the number of lanes")).transpose()?;
            let is_good = |lanes: &u64| lanes.is_power_of_two() && (2..=64).contains(lanes);
            if !(64..=4096).contains(&bits) || !count.as_ref().is_none_or(is_good) {
                return Err(error("no processor has such lanes".to_owned()));
            }
            let forced = count.map(|count| count as u32);
            spec.lanes = Some(Lanes { register_bits: bits as u32, forced });
        }
        "warnings" => {
            let word = word(0, "which ones")?;
            spec.warnings = word.parse().map_err(|unknown| error(format!("{unknown}")))?;
        }
        "body" => provide(spec, value).map_err(error)?,
        "lines" => spec.lines = word(0, "whether they stay")? == "stay",
        "part" => spec.part.extend(words.iter().map(|&word| word.to_owned())),
        "target" => spec.target = word(0, "the triple")?.to_owned(),
        other => return Err(error(format!("there is no key `{other}`"))),
    }
    Ok(())
}

/// Two digits for each byte, in the order of memory.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    text.as_bytes()
        .chunks(2)
        .map(|digits| {
            let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 2)?;
            u8::from_str_radix(text, 16).ok()
        })
        .collect()
}

/// Adds a module in LLVM assembly to the std_bodies.
fn provide(spec: &mut DeviceSpec, assembly: &str) -> Result<(), String> {
    let context = Context::create();
    let text = format!("{assembly}\0");
    let bytes = &text.as_bytes()[..assembly.len()];
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "body");
    let module = context.create_module_from_ir(buffer).map_err(|message| message.to_string())?;
    let mut modules = match &spec.std_bodies {
        Some(std_bodies) => std_bodies.index().map_err(|error| error.to_string())?.modules.clone(),
        None => Vec::new(),
    };
    modules.push(ModuleRef::Memory(module.write_bitcode_to_memory().as_slice().to_vec()));
    let special = SpecialFunctions {
        panics: spec.panics.clone(),
        formatters: spec.formatters.clone(),
        types: spec.types.clone(),
        writer: "core::fmt::write".to_owned(),
    };
    let std_bodies = build_index::build(modules, special);
    spec.std_bodies = Some(Arc::new(std_bodies.map_err(|error| error.to_string())?));
    Ok(())
}

fn pointer(known: bool) -> ParameterKind {
    ParameterKind::Pointer {
        noalias: known,
        readonly: known,
        pointee_align: if known { 4 } else { 1 },
        dereferenceable: 0,
        nonnull: known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let said = |line: &str| add(&mut DeviceSpec::default(), line).unwrap_err().to_string();
        assert_eq!(said("inline"), "`SPEC inline`: not of the form `key: value`");
        assert!(said("kernel: k entry 8").ends_with("the alignment of the closure is missing"));
        assert!(said("kernel: k entry x 8").ends_with("the size of the closure is no number: `x`"));
        assert!(said("param: 0 8 8 integer").ends_with("no `kernel` comes before it"));
        assert!(said("param: 0 8 8 object").ends_with("there is no kind `object`"));
        assert!(said("constant-value: c 1").ends_with("the value is no bytes"));
        assert!(said("constant-value: c 1g").ends_with("the value is no bytes"));
        assert!(said("fast-math: fastest").ends_with("mathematics cannot be `fastest`"));
        assert!(said("warnings: all").ends_with("`all` is none of `off`, `on` and `perf`"));
        assert!(said("colour: red").ends_with("there is no key `colour`"));
    }

    #[test]
    fn only_such_comments_count() {
        let spec = of_file("; a SPEC\n;; SPEC x: y\n; SPEC constant: c 1\n").unwrap();
        assert_eq!(spec.ir_constants, [("c".to_owned(), 1)]);
        assert_eq!(spec.kernels, []);
    }
}
