//! How arrays go to devices and back.

/// How an array goes to a device and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Both,
    In,
    Out,
    Create,
    Present,
    /// It is used there if it is there.
    NoCreate,
    /// It stays there no longer.
    Delete,
    ToHost,
    ToDevice,
    /// Its address there is asked for.
    Address,
}

/// The clauses that name arrays.
const MOTIONS: &[(Motion, &[&str])] = &[
    (Motion::Both, &["copy", "pcopy", "present_or_copy", "inout"]),
    (Motion::In, &["copyin", "pcopyin", "present_or_copyin", "in"]),
    (Motion::Out, &["copyout", "pcopyout", "present_or_copyout", "out"]),
    (Motion::Create, &["create", "pcreate", "present_or_create", "nocopy"]),
    (Motion::Present, &["present"]),
    (Motion::NoCreate, &["no_create"]),
    (Motion::Delete, &["delete"]),
    (Motion::ToHost, &["self", "host"]),
    (Motion::ToDevice, &["device"]),
    (Motion::Address, &["use_device"]),
];

/// What a clause that names arrays says of them.
pub(crate) fn named(clause: &str) -> Option<Motion> {
    MOTIONS.iter().find(|(_, words)| words.contains(&clause)).map(|(motion, _)| *motion)
}
