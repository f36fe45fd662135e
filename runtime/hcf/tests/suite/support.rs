//! What the tests and the fuzz targets share: a sample, frames made by the book, and what must hold
//! for any input.

use std::ops::ControlFlow;

use schism_hcf::{
    Address, AddressItem, Addresses, Code, Container, Image, Kernel, Parameter, ParameterKind,
    RecordRef, SpecConstant, SpecPart, records,
};

/// A container with something of everything.
pub fn sample() -> Container {
    let parameter = |offset, size, align, kind| {
        let (read_only, specialized) = (false, false);
        let addresses = Addresses::default();
        Parameter { offset, size, align, kind, read_only, specialized, addresses }
    };
    let address = |offset, read_only, uncertain| {
        AddressItem::Address(Address { offset, read_only, uncertain })
    };
    let (last, items) = (u128::from(u32::MAX), vec![address(0, false, true)]);
    let array = AddressItem::Array { offset: 4, count: 2, stride: 12, items };
    let tagged = AddressItem::Tagged { offset: 0, size: 4, first: 1, last, items: vec![array] };
    Container {
        generator: "schism 0.1.0".into(),
        llvm_version: "22.1.2".into(),
        crate_name: "sample".into(),
        images: vec![
            Image {
                name: "llvm-ir.global".into(),
                format: "llvm-ir".into(),
                variant: "global-module".into(),
                exported_symbols: vec!["saxpy".into(), "odd\n}.name=1 ".into()],
                imported_symbols: vec!["__schism_global_id_x".into(), "sinf".into()],
                code: None,
                data: b"BC\xC0\xDE and what follows".to_vec(),
            },
            Image { name: "empty".into(), ..Image::default() },
            Image {
                name: "ptx.sm_90".into(),
                format: "ptx".into(),
                variant: "sm_90".into(),
                exported_symbols: vec!["saxpy".into()],
                data: b".version 9.0".to_vec(),
                ..Image::default()
            },
        ],
        spec_constants: Vec::new(),
        kernels: vec![
            Kernel {
                name: "saxpy".into(),
                display_name: "sample::main::{closure#0} at 100% of src/main.rs:7:25".into(),
                dimensions: 1,
                closure_size: 56,
                closure_align: 8,
                parameters: vec![
                    parameter(0, 8, 8, ParameterKind::Pointer),
                    parameter(8, 8, 8, ParameterKind::Integer),
                    parameter(16, 4, 4, ParameterKind::Float),
                    Parameter {
                        addresses: Addresses(vec![address(28, true, false), tagged]),
                        ..parameter(20, 36, 4, ParameterKind::Bytes)
                    },
                ],
                images: vec!["llvm-ir.global".into(), "ptx.sm_90".into()],
                can_panic: true,
                ..Kernel::default()
            },
            Kernel {
                name: "odd\n}.name=1 ".into(),
                display_name: String::new(),
                dimensions: 3,
                closure_align: 1,
                images: vec!["llvm-ir.global".into()],
                ..Kernel::default()
            },
        ],
    }
}

/// The sample with a static of two specialization constants.
#[allow(dead_code, reason = "the fuzz targets do without")]
pub fn constants() -> Container {
    let part = |path: &str, offset, column| SpecPart {
        path: path.into(),
        place: "src/main.rs".into(),
        line: 3,
        column,
        type_id: [0x5a; 16],
        offset,
        size: 4,
    };
    let mut container = sample();
    container.spec_constants = vec![SpecConstant {
        symbol: "SIZES".into(),
        path: "sample::SIZES".into(),
        align: 8,
        default: vec![16, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0],
        parts: vec![part("[0]", 0, 9), part("[1]", 8, 30)],
    }];
    container.kernels[0].spec_constants = vec!["SIZES".into()];
    container
}

/// The sample with code that was made ahead of time.
#[allow(dead_code, reason = "the fuzz targets do without")]
pub fn aot() -> Container {
    let code = |target: &str, entry: &str, needs| Code {
        target: target.parse().unwrap(),
        interface: 7,
        entry: entry.into(),
        flags: 9,
        assumptions: 1,
        block: [0; 3],
        aligned: 0,
        narrow: 0,
        needs,
        stack: target.starts_with("host").then_some(3 << 20),
    };
    let image = |name: &str, format: &str, code| Image {
        name: name.into(),
        format: format.into(),
        variant: "plain".into(),
        code: Some(code),
        data: format.into(),
        ..Image::default()
    };
    let mut container = sample();
    container.images.push(image("a", "ptx", code("ptx:sm_80", "saxpy", 12)));
    container.images.push(image("b", "ptx", code("ptx:sm_90a", "saxpy=1\n", u32::MAX)));
    container.images.push(image("c", "elf", code("host:x86-64-v3", "schism.entry", 0)));
    let version = Code {
        block: [256, 1, 1],
        aligned: 1 << 63 | 0b11,
        narrow: 2,
        ..code("sass:sm_90", "saxpy", 12)
    };
    container.images.push(image("d", "cubin", version));
    let names = ["a", "b", "c", "d"].map(String::from);
    container.kernels[0].images.extend(names);
    container
}

/// The record with these contents (header, marker, appendix), whatever they are: its frame is
/// right.
pub fn framed(contents: &[u8]) -> Vec<u8> {
    const MARKER: &[u8] = b"__acpp_hcf_binary_appendix";
    let marker = contents.windows(MARKER.len()).position(|window| window == MARKER);
    let header_len = marker.map_or(contents.len(), |at| at + MARKER.len());
    framed_at(contents, header_len)
}

/// As [`framed`], with a header of `header_len` bytes.
pub fn framed_at(contents: &[u8], header_len: usize) -> Vec<u8> {
    let mut record = vec![0; 64];
    record.extend_from_slice(contents);
    record.resize(record.len().next_multiple_of(16), 0);
    let record_len = record.len();
    record[..8].copy_from_slice(&[0x89, 0x48, 0x43, 0x46, 0x0D, 0x0A, 0x1A, 0x0A]);
    record[8..12].copy_from_slice(&2_u32.to_le_bytes());
    record[12..16].copy_from_slice(&(header_len as u32).to_le_bytes());
    record[16..24].copy_from_slice(&(record_len as u64).to_le_bytes());
    record[24..32].copy_from_slice(&((contents.len() - header_len) as u64).to_le_bytes());
    let object_id = blake3::hash(&record[64..]);
    record[32..48].copy_from_slice(&object_id.as_bytes()[..16]);
    seal_frame(&mut record);
    record
}

/// Makes the frame's checksum right.
pub fn seal_frame(record: &mut [u8]) {
    let checksum = blake3::hash(&record[..48]);
    record[48..64].copy_from_slice(&checksum.as_bytes()[..16]);
}

/// What must hold for a section of any bytes.
pub fn exercise_section(bytes: &[u8]) {
    let mut failed = false;
    for record in records(bytes) {
        assert!(!failed, "something follows an error");
        match record {
            Ok(record) => exercise_record(&record),
            Err(error) => {
                failed = true;
                assert!(error.offset() <= bytes.len());
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
    if let Ok(record) = RecordRef::parse(bytes) {
        exercise_record(&record);
    }
}

/// What must hold for a record with any contents.
pub fn exercise_contents(contents: &[u8]) {
    exercise_section(&framed(contents));
}

/// What must hold for a file of any bytes.
#[cfg(feature = "file")]
pub fn exercise_file(bytes: &[u8]) {
    if let Ok(sections) = schism_hcf::sections_of_file(bytes) {
        for section in sections {
            let end = section.offset + section.data.len();
            assert_eq!(&bytes[section.offset..end], section.data);
            exercise_section(section.data);
        }
    }
}

/// A record that the reader accepts is one that the writer writes, and all its parts can be used.
fn exercise_record(record: &RecordRef<'_>) {
    let container = record.to_container();
    assert_eq!(container.to_record().as_deref(), Ok(record.as_bytes()));
    assert_eq!(container.object_id(), record.object_id());
    let tree = record.tree().to_string();
    assert!(!tree.chars().any(|c| c.is_control() && c != '\n'), "{tree:?}");
    for kernel in record.kernels() {
        assert_eq!(record.kernel(&kernel.name), Some(kernel));
        assert!(kernel.images.iter().all(|image| record.image(image).is_some()));
        for parameter in &kernel.parameters {
            assert!(parameter.offset + parameter.size <= kernel.closure_size);
            // An array may be as long as the parameter says it is, whose bytes are not here.
            let mut most = 10_000;
            let _ = parameter.addresses.for_each(
                |offset, size| {
                    assert!(offset + size <= parameter.size);
                    1
                },
                |address| {
                    assert!(address.offset + 8 <= parameter.size);
                    most -= 1;
                    if most == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                },
            );
        }
    }
    for constant in record.spec_constants() {
        let len = constant.default.len() as u64;
        assert!(constant.parts.iter().all(|part| part.size > 0 && part.offset + part.size <= len));
        assert!(constant.parts.is_sorted_by(|a, b| a.offset + a.size <= b.offset));
        assert!(!constant.parts.is_empty());
    }
    let start = record.as_bytes().as_ptr() as usize;
    for image in record.images() {
        assert!((image.data.as_ptr() as usize - start).is_multiple_of(16));
    }
}
