//! How arrays go to devices and back.

/// How an array goes to a device and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Both,
    In,
    Out,
    Create,
    Present,
}
