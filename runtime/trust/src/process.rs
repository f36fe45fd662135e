//! Whom a process trusts.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Why;

/// The running program, as a file.
const PROGRAM: &str = "/proc/self/exe";

/// The properties of the process that the rule depends on.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The effective user.
    pub(crate) user: u32,
    /// Whether it has rights that its user lacks.
    pub(crate) privileged: bool,
    /// The owner of the program, if known. Determined when an owner is neither root nor the user:
    /// almost never.
    pub(crate) program: OnceCell<Option<u32>>,
    /// The id that unmapped owners have in the user namespace, if there are any. Determined
    /// likewise.
    pub(crate) unmapped: OnceCell<Option<u32>>,
}

pub(crate) fn is_privileged() -> bool {
    // SAFETY: any key may be asked for.
    #[cfg(target_os = "linux")]
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    // SAFETY: they only read numbers.
    #[cfg(not(target_os = "linux"))]
    let secure = unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() };
    secure
}

impl Process {
    /// This process, as it is now.
    pub(crate) fn current() -> Self {
        Self {
            // SAFETY: it only reads a number.
            user: unsafe { libc::geteuid() },
            privileged: is_privileged(),
            program: OnceCell::new(),
            unmapped: OnceCell::new(),
        }
    }

    pub(crate) fn trusts(&self, owner: u32) -> bool {
        owner == 0
            || (owner == self.user && !self.privileged)
            || Some(owner) == *self.program.get_or_init(owner_of_program)
            || Some(owner) == *self.unmapped.get_or_init(unmapped)
    }

    /// Checks who could change an open file or folder. `path` is where its access control list is
    /// found: that of a descriptor, or `None` if lists do not matter.
    pub(crate) fn check(&self, metadata: &Metadata, path: Option<&Path>) -> Result<(), Why> {
        if !self.trusts(metadata.uid()) {
            return Err(Why::Owner(metadata.uid()));
        }
        self.check_mode(metadata, path)
    }

    fn check_mode(&self, metadata: &Metadata, path: Option<&Path>) -> Result<(), Why> {
        if metadata.mode() & 0o002 != 0 {
            return Err(Why::Others);
        }
        let shared = || {
            self.privileged
                || path.is_none_or(has_access_list)
                || !is_private(metadata.gid(), metadata.uid())
        };
        if metadata.mode() & 0o020 != 0 && shared() {
            return Err(Why::Group(metadata.gid()));
        }
        Ok(())
    }

    /// Like [`check`](Self::check), for a folder on the path.
    pub(crate) fn check_on_path(&self, folder: &Metadata, path: &Path) -> Result<(), Why> {
        const STICKY: u32 = 0o1000;
        let owner = folder.uid();
        let result = if !self.trusts(owner) {
            Err(Why::Owner(owner))
        } else if folder.mode() & STICKY != 0 {
            Ok(())
        } else {
            self.check_mode(folder, Some(path))
        };
        if result.is_err() && !self.privileged && has_program(folder) {
            return Ok(());
        }
        result
    }
}

/// Whether the program lies in a folder, or in a folder below that.
fn has_program(folder: &Metadata) -> bool {
    let Ok(program) = fs::read_link(PROGRAM) else { return false };
    let is_it = |above: &Path| {
        fs::metadata(above)
            .is_ok_and(|above| (above.dev(), above.ino()) == (folder.dev(), folder.ino()))
    };
    program.ancestors().skip(1).any(is_it)
}

/// Whether others than owner and group may have been given rights. The group's rights are then the
/// maximum that any of them have.
fn has_access_list(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    #[cfg(target_os = "linux")]
    {
        let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return true };
        let name = c"system.posix_acl_access";
        // SAFETY: both texts end with a NUL; nothing is written where there is room for nothing.
        let size = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
        let error = std::io::Error::last_os_error().raw_os_error();
        size >= 0 || ![Some(libc::ENODATA), Some(libc::EOPNOTSUPP)].contains(&error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path.as_os_str().as_bytes();
        true
    }
}

/// Whether a group is its user's own: it has the user's name, and no other member. Many
/// systems create such a group for each user, and then let groups write by default.
fn is_private(group: u32, user: u32) -> bool {
    let Some(user) = with_entry(|buffer, len| {
        // SAFETY: all zeros are a value: numbers and null pointers.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: the buffer is as long as it says; all else is ours to be written.
        let code = unsafe { libc::getpwuid_r(user, &raw mut entry, buffer, len, &raw mut found) };
        // SAFETY: where an entry was found it has a name, which lies in the buffer.
        let name = (!found.is_null()).then(|| unsafe { CStr::from_ptr(entry.pw_name) }.to_owned());
        (code, name)
    }) else {
        return false;
    };
    let private = with_entry(|buffer, len| {
        // SAFETY: as above.
        let mut entry: libc::group = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: as above.
        let code = unsafe { libc::getgrgid_r(group, &raw mut entry, buffer, len, &raw mut found) };
        if found.is_null() {
            return (code, None);
        }
        // SAFETY: as above.
        let mut private = unsafe { CStr::from_ptr(entry.gr_name) } == user.as_c_str();
        let mut member = entry.gr_mem;
        // SAFETY: a list of texts that ends with a null pointer, in the buffer.
        while private && !member.is_null() && !unsafe { *member }.is_null() {
            // SAFETY: as above.
            private = unsafe { CStr::from_ptr(*member) } == user.as_c_str();
            // SAFETY: as above: the end was not reached.
            member = unsafe { member.add(1) };
        }
        (code, Some(private))
    });
    private.unwrap_or(false)
}

/// Calls `ask` with larger and larger buffers. It returns an error number, and its result.
fn with_entry<T>(ask: impl Fn(*mut libc::c_char, usize) -> (i32, Option<T>)) -> Option<T> {
    let mut buffer = vec![0; 1 << 10];
    loop {
        match ask(buffer.as_mut_ptr(), buffer.len()) {
            (libc::ERANGE, _) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            (_, found) => return found,
        }
    }
}

fn owner_of_program() -> Option<u32> {
    fs::metadata(PROGRAM).ok().map(|program| program.uid())
}

/// The id that unmapped owners have in this process's user namespace.
fn unmapped() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    // All of them, each to itself.
    if map.split_whitespace().eq(["0", "0", "4294967295"]) {
        return None;
    }
    fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_trusted() {
        let process = |privileged| Process {
            user: 1000,
            privileged,
            program: Some(7).into(),
            unmapped: None.into(),
        };
        let users = [0, 7, 1000, 1001];
        assert_eq!(users.map(|user| process(false).trusts(user)), [true, true, true, false]);
        assert_eq!(users.map(|user| process(true).trusts(user)), [true, true, false, false]);
        let sandboxed = Process { unmapped: Some(1001).into(), ..process(false) };
        assert!(sandboxed.trusts(1001));
    }

    #[test]
    fn root_has_its_own_group() {
        // So it is on every Linux; and there is no such user.
        assert!(is_private(0, 0));
        assert!(!is_private(0, u32::MAX - 7) && !is_private(u32::MAX - 7, 0));
    }
}
