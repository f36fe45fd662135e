//! Loads an object file from memory as code that can run.
//!
//! The object is LLVM's own output, for one module and one architecture, so this supports what that
//! contains and rejects the rest by name. Compared with LLVM's general linker it starts in
//! microseconds instead of milliseconds, takes no lock, and knows by itself which symbols are
//! missing.
//!
//! One mapping holds three areas, each a whole number of pages: code with stubs, constants with the
//! offset table, and data. The areas are within 2 GiB of each other by construction. Functions
//! outside (the maths library) may be anywhere, so calls to them go through stubs that jump to an
//! address in the table.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr::{NonNull, null_mut};

use object::elf;
use object::read::elf::ElfFile64;
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex,
};

use schism_jit_abi::code::{ENTRY, OPEN_CONSTANT};
use schism_jit_abi::{BACKEND_FAILED, CpuEntry, OUT_OF_RESOURCES, UNRESOLVED_SYMBOLS};

use crate::message::{Calls, PrintFn};
use crate::symbols;

/// Why an object could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel calls functions that do not exist.
    #[error("it calls {}, which neither the device image nor this process has; \
             a function must be compiled for the device or come from the C or maths library", list(.0))]
    Unresolved(
        /// The functions' (linker) names, sorted.
        Vec<String>,
    ),
    /// The system could not allocate memory.
    #[error("no memory for its code: {0}")]
    NoMemory(std::io::Error),
    /// The object contains something that kernels' objects do not contain.
    #[error("its code cannot be loaded: {0}")]
    Unexpected(String),
}

impl LoadError {
    /// The code of [`schism_jit_abi`] for this error.
    #[must_use]
    pub const fn code(&self) -> u32 {
        match self {
            Self::Unresolved(_) => UNRESOLVED_SYMBOLS,
            Self::NoMemory(_) => OUT_OF_RESOURCES,
            Self::Unexpected(_) => BACKEND_FAILED,
        }
    }
}

/// The names in backquotes, at most eight of them.
fn list(symbols: &[String]) -> String {
    const SHOWN: usize = 8;
    let names = symbols.iter().take(SHOWN).map(|symbol| format!("`{symbol}`"));
    let mut text = names.collect::<Vec<_>>().join(", ");
    if symbols.len() > SHOWN {
        text.push_str(&format!(" and {} more", symbols.len() - SHOWN));
    }
    text
}

impl From<object::Error> for LoadError {
    fn from(error: object::Error) -> Self {
        Self::Unexpected(format!("the generated object cannot be read: {error}"))
    }
}

/// The address of a symbol of the program, for code that runs in its process.
pub type FindInHost<'a> = &'a dyn Fn(&str) -> Option<*const ()>;

/// Loaded code. It is unmapped when dropped.
#[derive(Debug)]
pub struct Code {
    /// Before the mapping: it is taken out first.
    _frames: Option<Frames>,
    mapping: Mapping,
    entry: CpuEntry,
}

impl Code {
    /// Loads an object that does not unwind. Kernels print through `print`.
    ///
    /// Nothing in `object` can make this read or write out of bounds, but the code in it will run.
    ///
    /// # Errors
    /// If the object was not made by stage 2, or needs symbols that do not exist.
    ///
    /// # Safety
    /// The object was made by stage 2, for this processor and this version of the interface.
    pub unsafe fn load(object: &[u8], print: PrintFn) -> Result<Self, LoadError> {
        // SAFETY: the caller's promise.
        unsafe { Self::load_with(object, Calls { print, raise: None }, &[], None) }
    }

    /// Loads an object with open specialization constants, and sets them: index in the request, and
    /// bytes. Others keep the image's own value. A constant that nothing reads has no symbol, and
    /// accepts any value.
    ///
    /// With `host`, what the object does not define is the program's, and its code may unwind. So may
    /// that of kernels with [`schism_jit_abi::CPU_UNWINDS`], which need a function that does it.
    ///
    /// # Errors
    /// As [`load`](Self::load); if a value is larger than its constant.
    ///
    /// # Safety
    /// As [`load`](Self::load).
    pub unsafe fn load_with(
        object: &[u8],
        calls: Calls,
        constants: &[(usize, &[u8])],
        host: Option<FindInHost<'_>>,
    ) -> Result<Self, LoadError> {
        let file = ElfFile64::<object::Endianness>::parse(object)?;
        let of_host = |name: &str| host.and_then(|host| host(name));
        let find = |name: &str| of_host(name).or_else(|| symbols::find(name, calls));
        let outside = outside_symbols(&file, find)?;
        let plan = Plan::new(&file, &outside)?;
        let mut mapping = Mapping::new(plan.size)?;
        plan.fill(&file, &outside, &mut mapping)?;
        for (index, value) in constants {
            plan.set_constant(&file, &mut mapping, *index, value)?;
        }
        mapping.protect(&plan)?;
        let frames = match plan.frames {
            Some(at) if host.is_some() || calls.raise.is_some() => {
                // SAFETY: the section is loaded, relocated and terminated, and nothing changes it.
                Some(unsafe { Frames::register(mapping.address() + at) })
            }
            _ => None,
        };
        let offset = file
            .symbols()
            .filter(|symbol| symbol.is_global() && symbol.is_definition())
            .filter(|symbol| symbol.name() == Ok(ENTRY))
            .find_map(|symbol| {
                let base = plan.sections.get(&symbol.section_index()?)?;
                base.checked_add(usize::try_from(symbol.address()).ok()?)
            })
            .filter(|offset| *offset < plan.constants)
            .ok_or_else(|| LoadError::Unexpected(format!("it has no `{ENTRY}`")))?;
        let entry = (mapping.address() + offset) as *const ();
        // SAFETY: the caller promises that stage 2 made the object, which defines the symbol as a
        // function of exactly this type.
        let entry = unsafe { std::mem::transmute::<*const (), CpuEntry>(entry) };
        Ok(Self { _frames: frames, mapping, entry })
    }

    /// Runs a part of a launch. The function must not be called after the code is dropped.
    #[must_use]
    pub fn entry(&self) -> CpuEntry {
        self.entry
    }

    /// The size of code and constants in memory, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.mapping.len
    }
}

/// The unwind tables of loaded code, known to the process's unwinder.
#[derive(Debug)]
struct Frames(usize);

unsafe extern "C" {
    // Of the unwinder that the standard library links.
    fn __register_frame(begin: *const u8);
    fn __deregister_frame(begin: *const u8);
}

impl Frames {
    /// Tells the unwinder of a section `.eh_frame`.
    ///
    /// # Safety
    /// It lies there, ends with a length of zero, and stays as it is as long as the result.
    unsafe fn register(address: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { __register_frame(address as *const u8) };
        Self(address)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: it was registered once, and is still there.
        unsafe { __deregister_frame(self.0 as *const u8) };
    }
}

type File<'a> = ElfFile64<'a, object::Endianness>;

/// The addresses of the symbols that relocations need and that the object does not define.
fn outside_symbols(
    file: &File<'_>,
    find: impl Fn(&str) -> Option<*const ()>,
) -> Result<HashMap<SymbolIndex, usize>, LoadError> {
    let mut used = BTreeSet::new();
    for section in loaded_sections(file) {
        for (_, relocation) in section.relocations() {
            if let RelocationTarget::Symbol(index) = relocation.target() {
                used.insert(index.0);
            }
        }
    }
    let mut addresses = HashMap::new();
    let mut missing = BTreeSet::new();
    for index in used.into_iter().map(SymbolIndex) {
        let symbol = file.symbol_by_index(index)?;
        if symbol.is_common() {
            return Err(LoadError::Unexpected("it has a common symbol".to_owned()));
        }
        if !symbol.is_undefined() {
            continue;
        }
        let name = symbol.name()?;
        match find(name) {
            Some(address) => {
                addresses.insert(index, address as usize);
            }
            // A weak symbol without a definition is null.
            None if symbol.is_weak() => {
                addresses.insert(index, 0);
            }
            None => {
                missing.insert(name.to_owned());
            }
        }
    }
    if missing.is_empty() {
        Ok(addresses)
    } else {
        Err(LoadError::Unresolved(missing.into_iter().collect()))
    }
}

/// The section with unwind tables.
const FRAMES: &str = ".eh_frame";

/// Its end: an entry of length zero.
const END_OF_FRAMES: usize = 4;

/// The sections that belong into memory.
fn loaded_sections<'d, 'f>(
    file: &'f File<'d>,
) -> impl Iterator<Item = object::read::elf::ElfSection64<'d, 'f, object::Endianness>> {
    file.sections()
        .filter(|section| section_flags(section) & elf::SHF_ALLOC.0 != 0 && section.size() != 0)
}

fn section_flags<'d>(section: &impl ObjectSection<'d>) -> u64 {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0,
        _ => 0,
    }
}

/// The protection of an area's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Area {
    Code,
    Constants,
    Data,
}

/// Bytes of a stub: `jmp *[rip + offset]`, padded.
const STUB: usize = 8;
/// Bytes of an entry of the offset table.
const SLOT: usize = 8;

/// The layout: offsets in the mapping.
struct Plan {
    sections: HashMap<SectionIndex, usize>,
    stubs: HashMap<SymbolIndex, usize>,
    slots: BTreeMap<usize, usize>,
    /// The unwind tables, if there are some.
    frames: Option<usize>,
    /// Where constants and data begin; code begins at 0.
    constants: usize,
    data: usize,
    size: usize,
}

impl Plan {
    fn new(file: &File<'_>, outside: &HashMap<SymbolIndex, usize>) -> Result<Self, LoadError> {
        // Outside functions get a stub and, like symbols whose address is read from the table, a
        // slot.
        let mut stubs = BTreeSet::new();
        let mut slots = BTreeSet::new();
        for section in loaded_sections(file) {
            for (_, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                if is_table_relative(r_type) {
                    slots.insert(symbol.0);
                } else if r_type == elf::R_X86_64_PLT32 && outside.contains_key(&symbol) {
                    stubs.insert(symbol.0);
                    slots.insert(symbol.0);
                }
            }
        }

        let page = page_size();
        let mut plan = Self {
            sections: HashMap::new(),
            stubs: HashMap::new(),
            slots: BTreeMap::new(),
            frames: None,
            constants: 0,
            data: 0,
            size: 0,
        };
        let mut at = 0;
        for area in [Area::Code, Area::Constants, Area::Data] {
            at = round_up(at, page)?;
            match area {
                Area::Code => {}
                Area::Constants => plan.constants = at,
                Area::Data => plan.data = at,
            }
            for section in loaded_sections(file).filter(|section| area_of(section) == area) {
                at = round_up(at, section.align().max(1) as usize)?;
                plan.sections.insert(section.index(), at);
                let begin = at;
                at = at.checked_add(section.size() as usize).ok_or_else(too_large)?;
                if section.name() == Ok(FRAMES) {
                    plan.frames = Some(begin);
                    // New memory is zero.
                    at += END_OF_FRAMES;
                }
            }
            match area {
                Area::Code => {
                    at = round_up(at, STUB)?;
                    for &symbol in &stubs {
                        plan.stubs.insert(SymbolIndex(symbol), at);
                        at += STUB;
                    }
                }
                Area::Constants => {
                    at = round_up(at, SLOT)?;
                    for &symbol in &slots {
                        plan.slots.insert(symbol, at);
                        at += SLOT;
                    }
                }
                Area::Data => {}
            }
        }
        plan.size = round_up(at, page)?;
        if plan.size > i32::MAX as usize {
            return Err(too_large());
        }
        Ok(plan)
    }

    /// Sets the value of an open constant.
    fn set_constant(
        &self,
        file: &File<'_>,
        mapping: &mut Mapping,
        index: usize,
        value: &[u8],
    ) -> Result<(), LoadError> {
        let name = format!("{OPEN_CONSTANT}{index}");
        let symbol = file
            .symbols()
            .filter(|symbol| symbol.is_global() && symbol.is_definition())
            .find(|symbol| symbol.name() == Ok(&name));
        let Some(symbol) = symbol else { return Ok(()) };
        let place = symbol.section_index().and_then(|section| {
            let begin = *self.sections.get(&section)?;
            let within = usize::try_from(symbol.address()).ok()?;
            let size = file.section_by_index(section).ok()?.size();
            let end = symbol.address().checked_add(value.len() as u64)?;
            (value.len() as u64 <= symbol.size() && end <= size).then_some(begin + within)
        });
        let place = place.ok_or_else(|| {
            LoadError::Unexpected(format!("`{name}` has no room for {} bytes", value.len()))
        })?;
        mapping.write(place, value)
    }

    /// Copies the sections, fills stubs and table, and applies the relocations.
    fn fill(
        &self,
        file: &File<'_>,
        outside: &HashMap<SymbolIndex, usize>,
        mapping: &mut Mapping,
    ) -> Result<(), LoadError> {
        let base = mapping.address();
        let address_of = |index: SymbolIndex| -> Result<usize, LoadError> {
            if let Some(&address) = outside.get(&index) {
                return Ok(address);
            }
            let symbol = file.symbol_by_index(index)?;
            let section = symbol.section_index().and_then(|section| self.sections.get(&section));
            let section = section.ok_or_else(|| {
                LoadError::Unexpected(format!("a symbol in no section: {:?}", symbol.name()))
            })?;
            Ok(base.wrapping_add(*section).wrapping_add(symbol.address() as usize))
        };

        for (&symbol, &slot) in &self.slots {
            let address = address_of(SymbolIndex(symbol))?;
            mapping.write(slot, &(address as u64).to_le_bytes())?;
        }
        for (symbol, &stub) in &self.stubs {
            let slot = self.slots.get(&symbol.0).copied().unwrap_or_default();
            // The offset counts from the end of the 6-byte instruction.
            let offset = (slot as i64 - (stub + 6) as i64) as i32;
            mapping.write(stub, &[0xff, 0x25])?;
            mapping.write(stub + 2, &offset.to_le_bytes())?;
            mapping.write(stub + 6, &[0xcc, 0xcc])?;
        }

        for section in loaded_sections(file) {
            let Some(&start) = self.sections.get(&section.index()) else { continue };
            mapping.write(start, section.data()?)?;
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err(LoadError::Unexpected("a relocation without symbol".to_owned()));
                };
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err(LoadError::Unexpected("a relocation of another format".to_owned()));
                };
                let at = start.wrapping_add(offset as usize);
                let place = base.wrapping_add(at) as i64;
                let addend = relocation.addend();
                let stub = self.stubs.get(&symbol).filter(|_| r_type == elf::R_X86_64_PLT32);
                let target = if is_table_relative(r_type) {
                    let slot = self.slots.get(&symbol.0).copied().unwrap_or_default();
                    base.wrapping_add(slot)
                } else if let Some(stub) = stub {
                    base.wrapping_add(*stub)
                } else {
                    address_of(symbol)?
                };
                let absolute = (target as i64).wrapping_add(addend);
                match r_type {
                    elf::R_X86_64_64 => mapping.write(at, &absolute.to_le_bytes())?,
                    elf::R_X86_64_PC64 => {
                        mapping.write(at, &absolute.wrapping_sub(place).to_le_bytes())?;
                    }
                    elf::R_X86_64_PC32
                    | elf::R_X86_64_PLT32
                    | elf::R_X86_64_GOTPCREL
                    | elf::R_X86_64_GOTPCRELX
                    | elf::R_X86_64_REX_GOTPCRELX => {
                        let distance =
                            i32::try_from(absolute.wrapping_sub(place)).map_err(|_| {
                                LoadError::Unexpected("a symbol is too far away".to_owned())
                            })?;
                        mapping.write(at, &distance.to_le_bytes())?;
                    }
                    other => {
                        return Err(LoadError::Unexpected(format!("relocation type {other:?}")));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a relocation is the distance to a symbol's slot in the table.
fn is_table_relative(r_type: elf::RelocationType) -> bool {
    matches!(r_type, elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX)
}

fn area_of<'d>(section: &impl ObjectSection<'d>) -> Area {
    let flags = section_flags(section);
    if flags & elf::SHF_EXECINSTR.0 != 0 {
        Area::Code
    } else if flags & elf::SHF_WRITE.0 != 0 {
        Area::Data
    } else {
        Area::Constants
    }
}

fn too_large() -> LoadError {
    LoadError::Unexpected("its code is larger than 2 GiB".to_owned())
}

fn round_up(value: usize, to: usize) -> Result<usize, LoadError> {
    value.checked_next_multiple_of(to).ok_or_else(too_large)
}

fn page_size() -> usize {
    // SAFETY: the function only reads what the system set at start.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A memory mapping of whole pages; writable until it is protected.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to the value, and after loading nothing writes to it through the
// value.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared `Mapping` gives no access but its address.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(len: usize) -> Result<Self, LoadError> {
        let len = len.max(page_size());
        // SAFETY: a new private mapping at an address of the system's choice touches no other
        // memory.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(LoadError::NoMemory(std::io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast())
            .ok_or_else(|| LoadError::Unexpected("a mapping at address 0".to_owned()))?;
        Ok(Self { start, len })
    }

    fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Copies bytes to an offset; an error if they do not fit. Only before `protect`.
    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), LoadError> {
        if at.checked_add(bytes.len()).is_none_or(|end| end > self.len) {
            return Err(LoadError::Unexpected("a relocation outside of its section".to_owned()));
        }
        // SAFETY: the range is inside the mapping, which is ours and writable until `protect`,
        // which is called last.
        unsafe {
            self.start.as_ptr().add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Ok(())
    }

    /// Makes code executable and constants read-only.
    fn protect(&mut self, plan: &Plan) -> Result<(), LoadError> {
        let areas = [
            (0, plan.constants, libc::PROT_READ | libc::PROT_EXEC),
            (plan.constants, plan.data, libc::PROT_READ),
        ];
        for (from, to, rights) in areas {
            if from == to {
                continue;
            }
            // SAFETY: the range is whole pages of the mapping, which is ours.
            let failed =
                unsafe { libc::mprotect(self.start.as_ptr().add(from).cast(), to - from, rights) };
            if failed != 0 {
                return Err(LoadError::NoMemory(std::io::Error::last_os_error()));
            }
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing else unmaps it. Failure would only leak it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
