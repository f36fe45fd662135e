//! `--group`: the size of a launch's work-groups, as `emit` takes it.

use std::fmt;
use std::str::FromStr;

/// Work-items of a group on a GPU, at most.
const MOST_ITEMS: u64 = 1024;

/// Work-items of a group on a GPU in the slowest of three dimensions, at most.
const MOST_DEEP: u64 = 64;

/// Work-items of a group in each of 1 to 3 dimensions, the fastest dimension last, as programs
/// write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSize(Vec<u32>);

/// Why a text is no size of a group.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupSizeError {
    /// It is not one to three numbers.
    #[error(
        "`{0}` is no size of a group; write one number for each dimension, such as 256, 16x16 or 4x8x8"
    )]
    Syntax(String),
    /// It has a dimension without work-items.
    #[error("a group of {0} has no work-items; each dimension has at least 1")]
    Empty(String),
    /// It has more dimensions than a range can have.
    #[error("a group of {0} has more than 3 dimensions, and a range has at most 3")]
    Dimensions(String),
    /// It has more work-items than a group can have.
    #[error("a group of {size} has {items} work-items, and a GPU allows {MOST_ITEMS} in all")]
    Items {
        /// The size as written.
        size: String,
        /// How many work-items that is.
        items: u64,
    },
    /// It has more work-items in the slowest of three dimensions than a group can have.
    #[error(
        "a group of {size} has {items} work-items in its slowest dimension, and a GPU allows \
         {MOST_DEEP} there"
    )]
    Deep {
        /// The size as written.
        size: String,
        /// How many work-items that dimension has.
        items: u64,
    },
}

impl GroupSize {
    /// How many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The work-items along x, y and z; 1 along those that it does not have.
    pub fn xyz(&self) -> [u32; 3] {
        let mut xyz = [1; 3];
        for (to, items) in xyz.iter_mut().zip(self.0.iter().rev()) {
            *to = *items;
        }
        xyz
    }
}

impl FromStr for GroupSize {
    type Err = GroupSizeError;

    fn from_str(text: &str) -> Result<Self, GroupSizeError> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            // A number that does not fit is too large all the same.
            digits.then(|| part.parse::<u64>().unwrap_or(u64::MAX))
        };
        let sizes: Option<Vec<u64>> = text.split('x').map(number).collect();
        let size = || text.to_owned();
        let sizes = sizes.ok_or_else(|| GroupSizeError::Syntax(size()))?;
        if sizes.len() > 3 {
            return Err(GroupSizeError::Dimensions(size()));
        }
        if sizes.contains(&0) {
            return Err(GroupSizeError::Empty(size()));
        }
        let items = sizes.iter().fold(1, |items: u64, size| items.saturating_mul(*size));
        if items > MOST_ITEMS {
            return Err(GroupSizeError::Items { size: size(), items });
        }
        match sizes[..] {
            [items, _, _] if items > MOST_DEEP => Err(GroupSizeError::Deep { size: size(), items }),
            _ => Ok(Self(sizes.into_iter().map(|size| size as u32).collect())),
        }
    }
}

impl fmt::Display for GroupSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&sizes.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_to_three_dimensions_and_the_fastest_last() {
        for (text, xyz) in [
            ("256", [256, 1, 1]),
            ("8x32", [32, 8, 1]),
            ("4x8x16", [16, 8, 4]),
            ("1x1024", [1024, 1, 1]),
            ("64x1x16", [16, 1, 64]),
        ] {
            let size: GroupSize = text.parse().unwrap();
            assert_eq!((size.xyz(), size.to_string().as_str()), (xyz, text));
            assert_eq!(size.dimensions(), text.split('x').count());
        }
    }

    #[test]
    fn what_is_no_size_is_told() {
        use GroupSizeError::{Deep, Dimensions, Empty, Items, Syntax};
        let error = |text: &str| text.parse::<GroupSize>().unwrap_err();
        for text in ["", "x", "16x", "16X16", "16,16", "-1", "+1", "1.5", " 8", "٣", "8x banana"] {
            assert_eq!(error(text), Syntax(text.to_owned()));
        }
        for text in ["0", "16x0", "0x4096"] {
            assert_eq!(error(text), Empty(text.to_owned()));
        }
        assert_eq!(error("1x1x1x1"), Dimensions("1x1x1x1".to_owned()));
        for (text, items) in [("1025", 1025), ("33x32", 1056), ("99999999999", 99_999_999_999)] {
            assert_eq!(error(text), Items { size: text.to_owned(), items });
        }
        let all = "99999999999999999999x2";
        assert_eq!(error(all), Items { size: all.to_owned(), items: u64::MAX });
        assert_eq!(error("65x2x2"), Deep { size: "65x2x2".to_owned(), items: 65 });
        assert_eq!(
            error("33x32").to_string(),
            "a group of 33x32 has 1056 work-items, and a GPU allows 1024 in all"
        );
        assert!(error("banana").to_string().contains("such as 256, 16x16 or 4x8x8"));
    }
}
