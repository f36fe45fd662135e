//! Forms of the algorithms for GPUs: work-groups that share local memory.
//!
//! A *tile* is a part of the elements that one group has in its local memory at a time. Work-items
//! load a tile side by side, so that a GPU reads whole cache lines, and then each takes a *run* of
//! neighbouring elements of it. Elements are combined in their order only, so operations need not
//! commute, and how they are bracketed depends on nothing but the number of elements and the
//! device: floats give the same bits each time.
//!
//! | file | what |
//! |---|---|
//! | `team` | a group and its local memory |
//! | `in_order` | several launches |
//! | `look_back` | what comes before a tile |
//! | `fold`, `scan`, `select`, `sort`, `radix` | the algorithms |
//!
//! A closure that panics ends its work-item, on a GPU without the others of its group. So before
//! work-items read what others were to write after a call of a closure, they check that all are
//! still there: [`Team::wait`](team::Team::wait).

pub(super) mod fold;
mod in_order;
mod look_back;
pub(super) mod radix;
pub(super) mod scan;
pub(super) mod select;
pub(super) mod sort;
mod team;

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::algorithms::groups::team::{GROUP, Scratch};
use crate::api::queue::Queue;
use crate::util::variables::ALGORITHMS;
use crate::util::warn_once;

/// How algorithms divide their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A chunk of neighbouring elements for each work-item, without groups: best on the host.
    Chunks,
    /// Tiles of work-groups: best on GPUs.
    Groups,
}

impl Form {
    /// The value of `SCHISM_ALGORITHMS`; `None`: by the device.
    fn from_environment() -> Option<Self> {
        static ASKED: OnceLock<Option<Form>> = OnceLock::new();
        *ASKED.get_or_init(|| {
            let value = ALGORITHMS.get()?;
            read(value).unwrap_or_else(|| {
                let value = value.display();
                warn_once::warn(format_args!(
                    "{ALGORITHMS} is `{value}`; use auto, chunks or groups"
                ));
                None
            })
        })
    }
}

fn read(value: &OsStr) -> Option<Option<Form>> {
    match value.to_str()? {
        "" | "auto" => Some(None),
        "chunks" => Some(Some(Form::Chunks)),
        "groups" => Some(Some(Form::Groups)),
        _ => None,
    }
}

/// Whether algorithms run in groups on this queue, if groups have the memory. This is the only
/// place that decides it.
fn is_chosen(queue: &Queue) -> bool {
    let device = queue.device().backend().traits();
    let by_device = if device.runs_on_host { Form::Chunks } else { Form::Groups };
    let form = Form::from_environment().unwrap_or(by_device);
    // With slow barriers, groups are never worth it.
    form == Form::Groups && !device.slow_barriers
}

/// Whether algorithms whose groups keep elements of type `T` in local memory run in groups on this
/// queue.
pub(super) fn suit<T>(queue: &Queue) -> bool {
    let device = queue.device();
    is_chosen(queue)
        && Scratch::<T>::FITS
        && GROUP <= device.max_group_size()
        // The largest of all.
        && sort::Scratch::<T>::BYTES <= device.local_memory_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_variable() {
        let read = |value: &str| read(value.as_ref());
        assert_eq!([read(""), read("auto")], [Some(None); 2]);
        assert_eq!(read("chunks"), Some(Some(Form::Chunks)));
        assert_eq!(read("groups"), Some(Some(Form::Groups)));
        assert_eq!(read("blocks"), None);
    }
}
