//! Which stage 2 this is, and which processor: what code depends on beside what it is made of.
//!
//! Neither is asked of stage 2 itself. To open it takes longer than to launch a kernel that was kept on disk.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use schism_cache::{Key, KeyBuilder};

/// The identity of the stage 2 that is open, and lies at `path`: of its contents, by the build id that the linker has hashed them to, and of the LLVM
/// that it will load. `None` if the file is not what it should be.
pub(crate) fn of_stage2(file: &File, path: &Path) -> Option<Key> {
    let elf = Elf::read(file)?;
    let key = Key::builder("stage 2").number("abi", schism_jit_abi::ABI_VERSION.into());
    let mut key = match elf.build_id(file) {
        Some(id) => key.part("build id", &id),
        None => key.part("contents", &whole(file)?),
    };
    for library in elf.needed(file)?.iter().filter(|name| name.starts_with("libLLVM")) {
        key = key.part("llvm", library.as_bytes());
        if let Some(found) = elf.find(file, path, library) {
            key = key
                .number("size", found.len())
                .number("changed", found.mtime() as u64)
                .number("and nanoseconds", found.mtime_nsec() as u64);
        }
    }
    Some(key.finish())
}

/// Adds the processor of this process: all that it says of itself that code could depend on. `None` if that is not known.
#[cfg(target_arch = "x86_64")]
pub(crate) fn add_processor(key: KeyBuilder) -> Option<KeyBuilder> {
    use std::arch::x86_64::{__cpuid_count, _xgetbv};

    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: the first register is there on every processor with `xsave`, and the system has enabled that.
        unsafe { _xgetbv(0) }
    }

    let highest = __cpuid_count(0, 0);
    let extended = __cpuid_count(0x8000_0000, 0).eax;
    let mut key = key.part("vendor", &bytes([highest.ebx, highest.edx, highest.ecx]));
    // Of the second, EBX says which of the cores this is.
    let model = __cpuid_count(1, 0);
    key = key.part("model", &bytes([model.eax, model.ecx, model.edx]));
    for (leaf, part) in [(7, 0), (7, 1), (0xd, 1), (0x14, 0), (0x19, 0), (0x1e, 1), (0x24, 0)] {
        if leaf <= highest.eax {
            let said = __cpuid_count(leaf, part);
            let said = match leaf {
                // The others are sizes, which follow from what is enabled.
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

/// A part of a file.
#[derive(Clone, Copy, Debug)]
struct Part {
    offset: u64,
    /// Where it is in memory, relative to the library.
    address: u64,
    len: u64,
}

/// What must be known of a shared library to find its notes and its texts. Of a file of several megabytes a few pages are read.
#[derive(Debug, Default)]
struct Elf {
    loaded: Vec<Part>,
    notes: Vec<Part>,
    dynamic: Vec<(u64, u64)>,
}

// Kinds of parts, and tags of the dynamic section.
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const NOTE: u32 = 4;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// The most bytes of one part that are read.
const MOST: u64 = 1 << 20;

impl Elf {
    fn read(file: &File) -> Option<Self> {
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        // 64 bits, little-endian.
        if header[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        let (table, count) = (number(&header, 32, 8)?, number(&header, 56, 2)?);
        let programs = read(file, table, count.checked_mul(56)?)?;
        let mut elf = Self::default();
        for program in programs.chunks_exact(56) {
            let part = Part {
                offset: number(program, 8, 8)?,
                address: number(program, 16, 8)?,
                len: number(program, 32, 8)?,
            };
            match number(program, 0, 4)? as u32 {
                LOAD => elf.loaded.push(part),
                NOTE => elf.notes.push(part),
                DYNAMIC => {
                    let entries = read(file, part.offset, part.len)?;
                    for entry in entries.chunks_exact(16) {
                        elf.dynamic.push((number(entry, 0, 8)?, number(entry, 8, 8)?));
                    }
                }
                _ => {}
            }
        }
        Some(elf)
    }

    fn build_id(&self, file: &File) -> Option<Vec<u8>> {
        self.notes.iter().find_map(|part| {
            let notes = read(file, part.offset, part.len)?;
            let mut rest = &notes[..];
            loop {
                let (name, len) = (number(rest, 0, 4)? as usize, number(rest, 4, 4)? as usize);
                let kind = number(rest, 8, 4)?;
                let contents = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
                let end = contents.checked_add(len)?;
                if kind == 3 && rest.get(12..16) == Some(b"GNU\0") && len >= 8 {
                    return Some(rest.get(contents..end)?.to_vec());
                }
                rest = rest.get(end.checked_next_multiple_of(4)?..)?;
            }
        })
    }

    /// The texts of a tag.
    fn texts(&self, file: &File, tag: u64) -> Option<Vec<String>> {
        let strings = self.dynamic.iter().find(|(tag, _)| *tag == STRINGS)?.1;
        let values = self.dynamic.iter().filter(|(other, _)| *other == tag);
        values
            .map(|(_, value)| {
                let address = strings.checked_add(*value)?;
                let part = self
                    .loaded
                    .iter()
                    .find(|part| address >= part.address && address - part.address < part.len)?;
                let within = address - part.address;
                let rest =
                    read(file, part.offset.checked_add(within)?, (part.len - within).min(4096))?;
                let text = rest.split(|byte| *byte == 0).next()?;
                String::from_utf8(text.to_vec()).ok()
            })
            .collect()
    }

    fn needed(&self, file: &File) -> Option<Vec<String>> {
        self.texts(file, NEEDED)
    }

    /// The file that the system's loader would take for a library.
    fn find(&self, file: &File, path: &Path, library: &str) -> Option<fs::Metadata> {
        let origin = path.parent().unwrap_or(Path::new("/"));
        let own = [RPATH, RUNPATH].map(|tag| self.texts(file, tag).unwrap_or_default());
        let own = own.iter().flatten().flat_map(|list| list.split(':')).map(|folder| match folder
            .strip_prefix("$ORIGIN")
        {
            Some(rest) => origin.join(rest.trim_start_matches('/')),
            None => PathBuf::from(folder),
        });
        // The system's loader does not obey it either, in a program with rights of its own.
        let asked = schism_trust::variable("LD_LIBRARY_PATH").unwrap_or_default();
        let asked: Vec<PathBuf> =
            env::split_paths(&asked).filter(|folder| !folder.as_os_str().is_empty()).collect();
        asked.into_iter().chain(own).find_map(|folder| fs::metadata(folder.join(library)).ok())
    }
}

/// Bytes of a file; `None` if there are not so many, or too many are asked for.
fn read(file: &File, offset: u64, len: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).ok().filter(|_| len <= MOST)?];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset.checked_add(done as u64)?) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(done);
    Some(bytes)
}

/// All of a file; `None` if it is larger than any library.
fn whole(file: &File) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 30;
    let len = file.metadata().ok()?.len();
    let mut bytes = vec![0; usize::try_from(len).ok().filter(|_| len <= MOST)?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// A little-endian number of `len` bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
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
        let folder = env::temp_dir().join(format!("schism-identity-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let copy = folder.join("copy.so");
        fs::copy(library(), &copy).unwrap();
        let original = of_stage2(&copy);
        assert!(original.is_some());
        // Where it is and when it was copied says nothing.
        assert_eq!(of_stage2(&library()), original);
        let file = File::open(&copy).unwrap();
        let elf = Elf::read(&file).unwrap();
        let id = elf.build_id(&file).expect("the C library has one");
        assert!(elf.needed(&file).unwrap().iter().any(|name| name.starts_with("ld-linux")));
        drop(file);
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
        fs::remove_dir_all(&folder).unwrap();
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
