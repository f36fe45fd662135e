//! What the system has where a driver is: a look at it takes microseconds, and opening a driver
//! takes milliseconds.

use std::ffi::CString;
use std::path::Path;

/// The files of a driver.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// Device nodes, any of which will do, and which programs read and write. The last part of a
    /// path may end with `*`.
    pub(crate) devices: &'static [&'static str],
    /// What is there where a driver is that has no nodes yet.
    pub(crate) signs: &'static [&'static str],
}

impl Nodes {
    /// Why no device can be there; `None` if one can be.
    pub(crate) fn absence(&self) -> Option<String> {
        let mut refused = None;
        for node in self.devices.iter().flat_map(|node| matching(node)) {
            if may(&node, libc::R_OK | libc::W_OK) {
                return None;
            }
            if refused.is_none() && may(&node, libc::F_OK) {
                refused = Some(format!("there is no permission to use {node}"));
            }
        }
        refused.or_else(|| {
            let is_loaded = self.signs.iter().any(|sign| Path::new(sign).exists());
            (!is_loaded).then(|| format!("there is no {}", self.devices.join(" or ")))
        })
    }
}

/// The files that a pattern is for.
fn matching(pattern: &str) -> Vec<String> {
    let Some(prefix) = pattern.strip_suffix('*') else { return vec![pattern.to_owned()] };
    let (folder, prefix) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let found = names.filter(|name| name.starts_with(prefix));
    found.map(|name| format!("{folder}/{name}")).collect()
}

/// Whether the process may access a file in this way.
fn may(path: &str, access: libc::c_int) -> bool {
    let Ok(path) = CString::new(path) else { return false };
    // SAFETY: a query without side effects; the path ends with a NUL.
    unsafe { libc::access(path.as_ptr(), access) == 0 }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn leak(text: String) -> &'static str {
        Box::leak(text.into_boxed_str())
    }

    fn nodes(devices: &[&'static str], signs: &[&'static str]) -> Nodes {
        Nodes { devices: devices.to_vec().leak(), signs: signs.to_vec().leak() }
    }

    #[test]
    fn nodes_and_signs_are_looked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| leak(format!("{}/{name}", folder.path().display()));
        let (one, many, sign) = (path("one"), path("many*"), path("sign"));
        let all = nodes(&[one, many], &[sign]);
        assert_eq!(all.absence(), Some(format!("there is no {one} or {many}")));
        fs::write(sign, "").expect("written");
        assert_eq!(all.absence(), None);
        fs::remove_file(sign).expect("removed");
        fs::write(path("many128"), "").expect("written");
        assert_eq!(all.absence(), None);
        // Root may do everything.
        // SAFETY: a query without side effects.
        if unsafe { libc::geteuid() } != 0 {
            fs::set_permissions(path("many128"), fs::Permissions::from_mode(0o0))
                .expect("our file");
            let reason = all.absence().expect("it is not ours to use");
            assert!(reason.contains("no permission to use") && reason.contains("many128"));
        }
    }

    #[test]
    fn a_look_takes_less_than_a_millisecond() {
        let all = nodes(&["/dev/no-such-device", "/dev/dri/no-such-node*"], &["/proc/driver/none"]);
        let begin = std::time::Instant::now();
        for _ in 0..100 {
            assert!(all.absence().is_some());
        }
        let each = begin.elapsed() / 100;
        assert!(each < std::time::Duration::from_millis(1), "{each:?}");
    }
}
