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
pub(crate) const MOTIONS: &[(&str, Motion)] = &[
    ("copy", Motion::Both),
    ("pcopy", Motion::Both),
    ("present_or_copy", Motion::Both),
    ("inout", Motion::Both),
    ("copyin", Motion::In),
    ("pcopyin", Motion::In),
    ("present_or_copyin", Motion::In),
    ("in", Motion::In),
    ("copyout", Motion::Out),
    ("pcopyout", Motion::Out),
    ("present_or_copyout", Motion::Out),
    ("out", Motion::Out),
    ("create", Motion::Create),
    ("pcreate", Motion::Create),
    ("present_or_create", Motion::Create),
    ("nocopy", Motion::Create),
    ("present", Motion::Present),
    ("no_create", Motion::NoCreate),
    ("delete", Motion::Delete),
    ("self", Motion::ToHost),
    ("host", Motion::ToHost),
    ("device", Motion::ToDevice),
    ("use_device", Motion::Address),
];
