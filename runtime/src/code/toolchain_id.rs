//! The identity of stage 2 and of the processor: what code depends on, besides its input.
//!
//! Stage 2 itself is not opened for this: that takes longer than launching a cached kernel.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRTAB, Dyn64, DynamicTag, ELF_NOTE_GNU, FileHeader64,
    NT_GNU_BUILD_ID, PT_LOAD, ProgramHeader64,
};
use object::read::elf::{Dyn, FileHeader, Note, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use schism_cache::{Key, KeyBuilder};

/// The identity of the stage 2 that is open and lies at `path`: of its contents, by the build id
/// into which the linker hashed them, and of the LLVM that it will load. `None` if the file is not
/// a valid stage 2.
pub(crate) fn of_stage2(file: &File, path: &Path) -> Option<Key> {
    let data = ReadCache::new(file);
    let elf = Elf::read(&data).ok()?;
    let key = Key::builder("stage 2").number("abi", schism_jit_abi::ABI_VERSION.into());
    let mut key = match elf.build_id() {
        Some(id) => key.part("build id", id),
        None => key.part("contents", &whole(file)?),
    };
    for library in elf.needed()?.iter().filter(|name| name.starts_with("libLLVM")) {
        key = key.part("llvm", library.as_bytes());
        if let Some(found) = elf.find(path, library) {
            key = key
                .number("size", found.len())
                .number("changed", found.mtime() as u64)
                .number("and nanoseconds", found.mtime_nsec() as u64);
        }
    }
    Some(key.finish())
}

/// Adds the processor of this process: everything that `cpuid` reports and that code could depend
/// on. `None` if that is unknown.
#[cfg(target_arch = "x86_64")]
pub(crate) fn add_processor(key: KeyBuilder) -> Option<KeyBuilder> {
    use std::arch::x86_64::{__cpuid_count, _xgetbv};

    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: the first register is there on every processor with `xsave`, and the system has
        // enabled that.
        unsafe { _xgetbv(0) }
    }

    let highest = __cpuid_count(0, 0);
    let extended = __cpuid_count(0x8000_0000, 0).eax;
    let mut key = key.part("vendor", &bytes([highest.ebx, highest.edx, highest.ecx]));
    // In the second, EBX identifies the core.
    let model = __cpuid_count(1, 0);
    key = key.part("model", &bytes([model.eax, model.ecx, model.edx]));
    for (leaf, part) in [(7, 0), (7, 1), (0xd, 1), (0x14, 0), (0x19, 0), (0x1e, 1), (0x24, 0)] {
        if leaf <= highest.eax {
            let said = __cpuid_count(leaf, part);
            let said = match leaf {
                // The others are sizes, which follow from the enabled features.
                0xd => [said.eax, 0, 0, 0],
                _ => [said.eax, said.ebx, said.ecx, said.edx],
            };
            key = key.part("features", &bytes(said));
        }
    }
    if extended >= 0x8000_0001 {
        let said = __cpuid_count(0x8000_0001, 0);
        key = key.part("more features", &bytes([said.ecx, said.edx]));
    }
    // Bit 27: the system has enabled `xsave`.
    if model.ecx & 1 << 27 != 0 {
        // SAFETY: it has.
        key = key.number("enabled", unsafe { enabled() });
    }
    Some(key)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn add_processor(_: KeyBuilder) -> Option<KeyBuilder> {
    None
}

#[cfg(target_arch = "x86_64")]
fn bytes<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What must be known of a shared library to find its notes and its texts. Of a file of several
/// megabytes a few pages are read.
struct Elf<'f> {
    data: &'f ReadCache<&'f File>,
    programs: &'f [ProgramHeader64<LittleEndian>],
    dynamic: &'f [Dyn64<LittleEndian>],
}

impl<'f> Elf<'f> {
    fn read(data: &'f ReadCache<&'f File>) -> object::Result<Self> {
        let header = FileHeader64::<LittleEndian>::parse(data)?;
        let endian = header.endian()?;
        let programs = header.program_headers(endian, data)?;
        let mut dynamic: &[_] = &[];
        for program in programs {
            dynamic = program.dynamic(endian, data)?.unwrap_or(dynamic);
        }
        Ok(Self { data, programs, dynamic })
    }

    fn build_id(&self) -> Option<&'f [u8]> {
        let notes = self.programs.iter().filter_map(|program| {
            // Damage is as good as nothing.
            program.notes(LittleEndian, self.data).ok().flatten()
        });
        let is_id = |note: &Note<'f, FileHeader64<LittleEndian>>| {
            note.name() == ELF_NOTE_GNU && note.n_type(LittleEndian) == NT_GNU_BUILD_ID
        };
        let id = notes.flatten().filter_map(Result::ok).find(is_id)?.desc();
        (id.len() >= 8).then_some(id)
    }

    /// The texts of a tag.
    fn texts(&self, tag: DynamicTag) -> Option<Vec<String>> {
        let values = |wanted: DynamicTag| {
            let entries =
                self.dynamic.iter().filter(move |entry| entry.d_tag(LittleEndian) == wanted);
            entries.map(|entry| entry.d_val(LittleEndian))
        };
        let strings = values(DT_STRTAB).next()?;
        values(tag).map(|value| self.text(strings.checked_add(value)?)).collect()
    }

    /// The text at an address.
    fn text(&self, address: u64) -> Option<String> {
        self.programs.iter().filter(|program| program.p_type(LittleEndian) == PT_LOAD).find_map(
            |program| {
                let (begin, len) = program.file_range(LittleEndian);
                let within = address.checked_sub(program.p_vaddr(LittleEndian))?;
                let at = begin.checked_add(within).filter(|_| within < len)?;
                let text = self.data.read_bytes_at_until(at..begin.checked_add(len)?, 0).ok()?;
                String::from_utf8(text.to_vec()).ok()
            },
        )
    }

    fn needed(&self) -> Option<Vec<String>> {
        self.texts(DT_NEEDED)
    }

    /// The file that the system's loader would take for a library.
    fn find(&self, path: &Path, library: &str) -> Option<fs::Metadata> {
        let origin = path.parent().unwrap_or(Path::new("/"));
        let own = [DT_RPATH, DT_RUNPATH].map(|tag| self.texts(tag).unwrap_or_default());
        let own = own.iter().flatten().flat_map(|list| list.split(':')).map(|folder| match folder
            .strip_prefix("$ORIGIN")
        {
            Some(rest) => origin.join(rest.trim_start_matches('/')),
            None => PathBuf::from(folder),
        });
        // The system's loader does not obey it either, in a program with rights that its user lacks.
        let asked = schism_trust::variable("LD_LIBRARY_PATH").unwrap_or_default();
        let asked: Vec<PathBuf> =
            env::split_paths(&asked).filter(|folder| !folder.as_os_str().is_empty()).collect();
        asked.into_iter().chain(own).find_map(|folder| fs::metadata(folder.join(library)).ok())
    }
}

/// All of a file; `None` if it is larger than any library.
fn whole(file: &File) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 30;
    let len = file.metadata().ok()?.len();
    let mut bytes = vec![0; usize::try_from(len).ok().filter(|_| len <= MOST)?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_stage2(path: &Path) -> Option<Key> {
        super::of_stage2(&File::open(path).ok()?, path)
    }

    /// A library of this process: the C library.
    fn library() -> PathBuf {
        let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let line = maps.lines().find(|line| line.contains("libc.so")).expect("it is loaded");
        line.split_whitespace().last().expect("a path").into()
    }

    #[test]
    fn libraries_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.so");
        fs::copy(library(), &copy).unwrap();
        let original = of_stage2(&copy);
        assert!(original.is_some());
        // Where it is and when it was copied says nothing.
        assert_eq!(of_stage2(&library()), original);
        let file = File::open(&copy).unwrap();
        let data = ReadCache::new(&file);
        let elf = Elf::read(&data).unwrap();
        let id = elf.build_id().expect("the C library has one").to_vec();
        assert!(elf.needed().unwrap().iter().any(|name| name.starts_with("ld-linux")));
        // Another build.
        let mut bytes = fs::read(&copy).unwrap();
        let at = bytes.windows(id.len()).position(|window| window == id).unwrap();
        bytes[at] ^= 1;
        fs::write(&copy, &bytes).unwrap();
        assert!(of_stage2(&copy).is_some_and(|other| Some(other) != original));
        // No library at all.
        for len in [0, 10, 64, 100, 500, 1000, 5000] {
            fs::write(&copy, &bytes[..len]).unwrap();
            let _ = of_stage2(&copy);
        }
        for at in 0..1000 {
            let mut bytes = bytes[..100_000.min(bytes.len())].to_vec();
            bytes[at] ^= 0xff;
            fs::write(&copy, &bytes).unwrap();
            let _ = of_stage2(&copy);
        }
        fs::write(&copy, "no library").unwrap();
        assert_eq!(of_stage2(&copy), None);
        assert_eq!(of_stage2(Path::new("/nonexistent")), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_processor_is_the_same_on_every_core() {
        let processor = || add_processor(Key::builder("test")).unwrap().finish();
        let first = processor();
        let all: Vec<_> = (0..64).map(|_| std::thread::spawn(processor)).collect();
        assert!(all.into_iter().all(|other| other.join().unwrap() == first));
    }
}
