//! The mappings of the process's address space, as Linux lists them.

use std::fs::{self, File};
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::path::Path;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mapping {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// Whether other processes see what is written.
    pub(super) shared: bool,
    /// The file or the kind, such as `[stack]`; empty for anonymous memory.
    pub(super) name: String,
}

impl Mapping {
    pub(super) const fn size(&self) -> usize {
        self.end - self.begin
    }

    /// Whether it is of a file.
    pub(super) fn is_of_file(&self) -> bool {
        self.name.starts_with('/')
    }

    /// The last component of its file's path.
    pub(super) fn file_name(&self) -> &str {
        Path::new(&self.name).file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Asks for single mappings, without a list of all (Linux 6.11 and later).
#[derive(Debug)]
pub(super) struct Questions(File);

/// `struct procmap_query` of Linux.
#[repr(C)]
#[derive(Default)]
struct Question {
    size: u64,
    flags: u64,
    address: u64,
    begin: u64,
    end: u64,
    rest: [u64; 8],
}

/// `PROCMAP_QUERY`: of the type `f`, the 17th, which reads and writes the question.
const ASK: libc::Ioctl =
    (3 << 30 | (size_of::<Question>() as u64) << 16 | (b'f' as u64) << 8 | 17) as libc::Ioctl;

impl Questions {
    /// `None` where the list of mappings cannot be opened.
    pub(super) fn open() -> Option<Self> {
        File::open("/proc/self/maps").ok().map(Self)
    }

    /// Whether a mapping begins at an address; `false` where the system does not answer.
    pub(super) fn begins_at(&self, address: usize) -> bool {
        let address = address as u64;
        let mut question =
            Question { size: size_of::<Question>() as u64, address, ..Question::default() };
        // SAFETY: the system reads and writes a question of the size that it says.
        let code = unsafe { libc::ioctl(self.0.as_raw_fd(), ASK, &raw mut question) };
        code == 0 && question.begin == address
    }
}

/// Lists all mappings, by address.
pub(super) fn all() -> io::Result<Vec<Mapping>> {
    // Read at once, so that the list is of one moment if the system allows it.
    let text = fs::read("/proc/self/maps")?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(|line| {
        parse(line).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("no mapping: `{line}`"))
        })
    });
    lines.collect()
}

/// Parses a line of the list: `begin-end rwxp offset device inode name`.
fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (begin, end) = (address(begin)?, address(end)?);
    let [readable, writable, _, shared] = words.next()?.as_bytes() else { return None };
    let (readable, writable, shared) = (*readable == b'r', *writable == b'w', *shared == b's');
    let name = words.nth(3).unwrap_or_default().trim_start().to_owned();
    (begin < end).then_some(Mapping { begin, end, readable, writable, shared, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed() {
        let line =
            "7ffd177b6000-7ffd177d8000 rw-p 00000000 00:00 0                          [stack]";
        let stack = parse(line).unwrap();
        assert_eq!((stack.begin, stack.size()), (0x7ffd_177b_6000, 0x22000));
        assert!(stack.readable && stack.writable && !stack.shared && !stack.is_of_file());
        assert_eq!(stack.name, "[stack]");
        let file = "559b857b2000-559b8582c000 r-xp 00008000 fe:00 5309935                    /a b/pro gram";
        let file = parse(file).unwrap();
        assert!(!file.writable && file.is_of_file());
        assert_eq!((file.name.as_str(), file.file_name()), ("/a b/pro gram", "pro gram"));
        let anonymous = parse("7f90c0000000-7f90d0000000 ---s 00000000 00:00 0 ").unwrap();
        assert!(!anonymous.readable && anonymous.shared && anonymous.name.is_empty());
        for damaged in [
            "",
            "7f90",
            "10-10 rw-p 0 0:0 0",
            "20-10 rw-p 0 0:0 0",
            "10-20 rw- 0 0:0 0",
            "x-20 rw-p 0 0:0 0",
        ] {
            assert_eq!(parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn single_mappings_are_found() {
        let questions = Questions::open().unwrap();
        let code = all().unwrap().into_iter().find(Mapping::is_of_file).unwrap();
        if !questions.begins_at(code.begin) {
            println!("skipped: single_mappings_are_found: the system does not answer");
            return;
        }
        assert!(!questions.begins_at(code.begin + 1) && !questions.begins_at(code.end - 1));
        assert!(!questions.begins_at(0));
    }

    #[test]
    fn this_process_has_a_stack_and_code() {
        let (local, all) = (0_u8, all().unwrap());
        let find = |address: usize| {
            all.iter().find(|mapping| mapping.begin <= address && address < mapping.end)
        };
        assert!(find((&raw const local).addr()).is_some_and(|mapping| mapping.writable));
        assert!(find(parse as fn(_) -> _ as usize).is_some_and(Mapping::is_of_file));
        assert!(all.is_sorted_by_key(|mapping| mapping.begin));
    }
}
