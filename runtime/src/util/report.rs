//! The return type of `main`.

use std::error::Error;
use std::fmt;

/// Any error, as the return type of `main`: it is printed as text, with its causes.
///
/// Rust prints the error that `main` returns with `Debug`, which shows fields instead of sentences.
/// The `Debug` of a report is the text.
///
/// ```
/// use schism::prelude::*;
///
/// fn main() -> Result<(), Report> {
///     let queue = Queue::new()?;
///     let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
///     queue.for_each(&mut numbers, |number| *number *= 2)?;
///     let last: u32 = "6".parse()?;
///     assert_eq!(numbers.get(2), Some(last));
///     Ok(())
/// }
/// ```
///
/// `?` converts every error to it; it is not an error itself.
pub struct Report(Box<dyn Error>);

impl<E: Into<Box<dyn Error>>> From<E> for Report {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let words = error.to_string();
            // Many errors already include their causes.
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the file cannot be read")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn a_report_shows_texts_and_causes() {
        let error = "x".parse::<u8>().expect_err("no number");
        assert_eq!(format!("{:?}", Report::from(error.clone())), "invalid digit found in string");
        let both = "the file cannot be read: invalid digit found in string";
        assert_eq!(format!("{:?}", Report::from(Outer(error))), both);
        assert_eq!(Report::from("just words").to_string(), "just words");
    }
}
