//! Reads code objects of AMD's GPUs, and compares each field with the published ABI: that of LLVM's
//! "User Guide for AMDGPU Backend", code object version 5.

use std::collections::BTreeMap;

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};

/// A value of MessagePack, of the kinds that metadata has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packed {
    Nothing,
    Truth(bool),
    Number(i64),
    Text(String),
    List(Vec<Packed>),
    Map(BTreeMap<String, Packed>),
}

impl Packed {
    /// Reads a value, which must be everything.
    pub fn read(mut bytes: &[u8]) -> Self {
        let value = Self::next(&mut bytes);
        assert!(bytes.iter().all(|&byte| byte == 0), "more than a value");
        value
    }

    fn next(bytes: &mut &[u8]) -> Self {
        fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
            let (taken, rest) = bytes.split_at(count);
            *bytes = rest;
            taken
        }
        fn number(bytes: &mut &[u8], count: usize) -> u64 {
            take(bytes, count).iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
        }
        let text = |bytes: &mut &[u8], count: usize| {
            Self::Text(String::from_utf8(take(bytes, count).to_vec()).expect("UTF-8"))
        };
        let list = |bytes: &mut &[u8], count: usize| {
            Self::List((0..count).map(|_| Self::next(bytes)).collect())
        };
        let map = |bytes: &mut &[u8], count: usize| {
            let entry = |_| match Self::next(bytes) {
                Self::Text(key) => (key, Self::next(bytes)),
                key => panic!("the key {key:?}"),
            };
            Self::Map((0..count).map(entry).collect())
        };
        match number(bytes, 1) as u8 {
            small @ 0..=0x7f => Self::Number(i64::from(small)),
            head @ 0x80..=0x8f => map(bytes, usize::from(head & 15)),
            head @ 0x90..=0x9f => list(bytes, usize::from(head & 15)),
            head @ 0xa0..=0xbf => text(bytes, usize::from(head & 31)),
            0xc0 => Self::Nothing,
            head @ 0xc2..=0xc3 => Self::Truth(head == 0xc3),
            head @ 0xcc..=0xcf => {
                Self::Number(number(bytes, 1 << (head - 0xcc)).try_into().expect("a small number"))
            }
            head @ 0xd0..=0xd3 => {
                let size = 1 << (head - 0xd0);
                let unused = 64 - 8 * size as u32;
                Self::Number((number(bytes, size) << unused).cast_signed() >> unused)
            }
            head @ 0xd9..=0xdb => {
                let count = number(bytes, 1 << (head - 0xd9)) as usize;
                text(bytes, count)
            }
            head @ 0xdc..=0xdd => {
                let count = number(bytes, 2 << (head - 0xdc)) as usize;
                list(bytes, count)
            }
            head @ 0xde..=0xdf => {
                let count = number(bytes, 2 << (head - 0xde)) as usize;
                map(bytes, count)
            }
            head @ 0xe0..=0xff => Self::Number(i64::from(head.cast_signed())),
            head => panic!("a value that begins with {head:#x}"),
        }
    }

    /// An entry of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            other => panic!("{other:?} is no map"),
        }
    }

    /// An entry of a map that is there.
    pub fn at(&self, key: &str) -> &Self {
        self.get(key).unwrap_or_else(|| panic!("no {key} in {self:?}"))
    }

    /// A number.
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => (*number).try_into().expect("not below 0"),
            other => panic!("{other:?} is no number"),
        }
    }

    /// A text.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    /// A list.
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(list) => list,
            other => panic!("{other:?} is no list"),
        }
    }
}

/// An argument of a kernel: its kind, its offset and its size.
pub type Argument = (String, u64, u64);

/// What a code object says about its kernel.
#[derive(Clone, Debug)]
pub struct KernelObject {
    /// The kernel's own arguments.
    pub own: Vec<Argument>,
    /// Those that the driver adds.
    pub hidden: Vec<Argument>,
    pub kernarg_bytes: u64,
    pub local_bytes: u64,
    pub private_bytes: u64,
    pub wave: u64,
    pub max_group: u64,
    pub dynamic_stack: bool,
    /// Names of all symbols that the driver finds.
    pub symbols: Vec<String>,
}

/// A processor: its name, its number in the header's flags, whether it may have XNACK and SRAMECC,
/// and the width of a wave.
const PROCESSORS: [(&str, u32, bool, u32); 5] = [
    ("gfx906", 0x2f, true, 64),
    ("gfx90a", 0x3f, true, 64),
    ("gfx942", 0x4c, true, 64),
    ("gfx1030", 0x36, false, 32),
    ("gfx1100", 0x41, false, 32),
];

/// Bits of the header's flags that say that code runs with XNACK on and off, and likewise SRAMECC.
const ANY_XNACK: u32 = 0x100;
const ANY_SRAMECC: u32 = 0x400;

/// The machine, the system and its version of the ABI.
const EM_AMDGPU: u16 = 224;
const ELFOSABI_AMDGPU_HSA: u8 = 64;
const VERSION_5: u8 = 3;

/// The type of the note with the metadata.
const NT_AMDGPU_METADATA: u32 = 32;

/// A relocation that adds the address at which the code object is loaded.
const R_AMDGPU_RELATIVE64: u32 = 13;
/// A relocation to the address of a symbol.
const R_AMDGPU_ABS64: u32 = 3;

/// The bytes of a kernel descriptor, and the alignment of code.
const DESCRIPTOR: u64 = 64;
const CODE_ALIGN: u64 = 256;

/// Reads a code object for a processor, whose one kernel has this name; checks what does not depend
/// on the kernel.
pub fn read(bytes: &[u8], processor: &str, entry: &str) -> KernelObject {
    let file = ElfFile64::<Endianness>::parse(bytes).expect("an ELF file");
    let (header, endian) = (file.elf_header(), file.endian());
    assert!(file.is_little_endian());
    assert_eq!(header.e_machine(endian).0, EM_AMDGPU);
    assert_eq!(header.e_type(endian), elf::ET_DYN);
    assert_eq!(header.e_ident().os_abi.0, ELFOSABI_AMDGPU_HSA);
    assert_eq!(header.e_ident().abi_version, VERSION_5);
    let known = PROCESSORS.iter().find(|(name, ..)| *name == processor).expect("it is known");
    let &(_, number, server, wave) = known;
    let features = if server { ANY_XNACK | ANY_SRAMECC } else { 0 };
    assert_eq!(header.e_flags(endian).0, number | features, "the flags");

    segments(&file, bytes);
    let mut symbols = Vec::new();
    let mut code = None;
    let mut descriptor = None;
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().expect("a name");
        assert!(symbol.is_definition() || name.is_empty(), "`{name}` is nowhere");
        if name == entry {
            assert_eq!(symbol.kind(), SymbolKind::Text);
            code = Some(symbol.address());
        } else if name.strip_suffix(".kd") == Some(entry) {
            assert_eq!((symbol.kind(), symbol.size()), (SymbolKind::Data, DESCRIPTOR));
            descriptor = Some(symbol.address());
        }
        symbols.push(name.to_owned());
    }
    let (code, at) = (code.expect("the code"), descriptor.expect("the descriptor"));
    assert_eq!((at % DESCRIPTOR, code % CODE_ALIGN), (0, 0), "alignments");
    let section = |name: &str| file.section_by_name(name).unwrap_or_else(|| panic!("no {name}"));
    let contains = |name: &str, address: u64| {
        let section = section(name);
        (section.address()..section.address() + section.size()).contains(&address)
    };
    assert!(contains(".text", code) && contains(".rodata", at));

    let metadata = metadata(&file);
    assert_eq!(metadata.at("amdhsa.version").list(), [Packed::Number(1), Packed::Number(2)]);
    assert_eq!(metadata.at("amdhsa.target").text(), format!("amdgcn-amd-amdhsa--{processor}"));
    let [kernel] = metadata.at("amdhsa.kernels").list() else { panic!("not one kernel") };
    assert_eq!(kernel.at(".name").text(), entry);
    assert_eq!(kernel.at(".symbol").text(), format!("{entry}.kd"));
    // Without arguments it is 4.
    let align = kernel.at(".kernarg_segment_align").number();
    assert!(align.is_power_of_two() && align >= 4, "{align}");
    assert_eq!(kernel.at(".wavefront_size").number(), u64::from(wave));
    let arguments = kernel.get(".args").map_or(&[][..], Packed::list);
    let arguments = arguments.iter().map(|argument| {
        let at = |key| argument.at(key).number();
        (argument.at(".value_kind").text().to_owned(), at(".offset"), at(".size"))
    });
    let (hidden, own): (Vec<_>, Vec<_>) =
        arguments.partition(|(kind, ..)| kind.starts_with("hidden_"));
    let number = |key| kernel.at(key).number();
    let read = KernelObject {
        own,
        hidden,
        kernarg_bytes: number(".kernarg_segment_size"),
        local_bytes: number(".group_segment_fixed_size"),
        private_bytes: number(".private_segment_fixed_size"),
        wave: u64::from(wave),
        max_group: number(".max_flat_workgroup_size"),
        dynamic_stack: kernel.get(".uses_dynamic_stack") == Some(&Packed::Truth(true)),
        symbols,
    };
    let rodata = section(".rodata");
    let offset = (at - rodata.address()) as usize;
    let words = &rodata.data().expect("contents")[offset..offset + DESCRIPTOR as usize];
    check_descriptor(words, &read, code.wrapping_sub(at));
    check_arguments(&read);
    read
}

/// Checks the kernel descriptor, which the processor reads, against the metadata, which the driver
/// reads.
fn check_descriptor(bytes: &[u8], kernel: &KernelObject, to_code: u64) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(u64::from(word(0)), kernel.local_bytes, "local memory");
    assert_eq!(u64::from(word(4)), kernel.private_bytes, "private memory");
    assert_eq!(u64::from(word(8)), kernel.kernarg_bytes, "arguments");
    let offset = u64::from(word(16)) | u64::from(word(20)) << 32;
    assert_eq!(offset, to_code, "the offset of the code");
    let properties = word(56) & 0xffff;
    assert_eq!(properties >> 10 & 1, u32::from(kernel.wave == 32), "waves of 32");
    assert_eq!(properties >> 11 & 1, u32::from(kernel.dynamic_stack), "a dynamic stack");
    let reserved = [12..16, 24..44, 60..64].into_iter().flat_map(|range| &bytes[range]);
    assert!(reserved.into_iter().all(|&byte| byte == 0), "reserved bytes");
    // Subnormal numbers of all sizes are kept: bits 16 to 19 of the first word of registers.
    assert_eq!(word(48) >> 16 & 15, 15, "subnormal numbers");
    // Results are rounded to nearest: bits 12 to 15.
    assert_eq!(word(48) >> 12 & 15, 0, "rounding");
}

/// Checks that arguments do not overlap, and that hidden ones are where the code reads them.
fn check_arguments(kernel: &KernelObject) {
    let mut end = 0;
    for (kind, offset, size) in kernel.own.iter().chain(&kernel.hidden) {
        assert!(*offset >= end && *size > 0, "{kind} at {offset}");
        end = offset + size;
    }
    assert!(end <= kernel.kernarg_bytes);
    let Some((_, first, _)) = kernel.hidden.first() else { return };
    assert_eq!(first % 8, 0);
    for (name, offset, size) in [
        ("hidden_block_count_x", 0, 4),
        ("hidden_block_count_y", 4, 4),
        ("hidden_block_count_z", 8, 4),
        ("hidden_group_size_x", 12, 2),
        ("hidden_group_size_y", 14, 2),
        ("hidden_group_size_z", 16, 2),
    ] {
        let expected = (name.to_owned(), first + offset, size);
        assert!(kernel.hidden.contains(&expected), "{expected:?} in {:?}", kernel.hidden);
    }
}

/// Checks that the driver can load each segment, and relocate what it must.
fn segments(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) {
    let endian = file.endian();
    let mut last = 0;
    let mut writable = Vec::new();
    let mut has_dynamic = false;
    for segment in file.elf_program_headers() {
        let begin = segment.p_vaddr(endian);
        let end = begin + segment.p_memsz(endian);
        match segment.p_type(endian) {
            elf::PT_LOAD => {
                assert!(begin >= last, "segments are in order");
                assert!(segment.p_offset(endian) + segment.p_filesz(endian) <= bytes.len() as u64);
                last = end;
                if segment.p_flags(endian).0 & elf::PF_W.0 != 0 {
                    writable.push(begin..end);
                }
            }
            elf::PT_DYNAMIC => has_dynamic = true,
            elf::PT_INTERP | elf::PT_TLS => panic!("a segment that no GPU has"),
            _ => {}
        }
    }
    assert!(has_dynamic && last > 0);
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let object::RelocationFlags::Elf { r_type } = relocation.flags() else { panic!("not ELF") };
        assert!(
            [R_AMDGPU_RELATIVE64, R_AMDGPU_ABS64].contains(&r_type.0),
            "a relocation {r_type:?}"
        );
        assert!(writable.iter().any(|range| range.contains(&address)), "a relocation of code");
    }
}

/// The metadata.
fn metadata(file: &ElfFile64<'_, Endianness>) -> Packed {
    let endian = file.endian();
    let header = file.elf_header();
    let sections = header.sections(endian, file.data()).expect("sections");
    for section in sections.iter() {
        use object::read::elf::SectionHeader;
        let Some(mut notes) = section.notes(endian, file.data()).expect("notes") else { continue };
        while let Some(note) = notes.next().expect("a note") {
            if note.n_type(endian).0 == NT_AMDGPU_METADATA {
                assert_eq!(note.name(), b"AMDGPU");
                return Packed::read(note.desc());
            }
        }
    }
    panic!("no metadata");
}
