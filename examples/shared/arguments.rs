//! The arguments of an example: a few words and `--check`.

use std::error::Error;
use std::str::FromStr;

/// The arguments of an example.
#[derive(Debug)]
pub struct Arguments {
    words: Vec<String>,
    check: bool,
    usage: &'static str,
}

impl Arguments {
    /// Reads the process's arguments. `usage` is printed if they are invalid.
    ///
    /// # Errors
    /// Unknown options, more than `most` words, or fewer than `least`.
    pub fn read(least: usize, most: usize, usage: &'static str) -> Result<Self, Box<dyn Error>> {
        let mut arguments = Self { words: Vec::new(), check: false, usage };
        for argument in std::env::args().skip(1) {
            if argument == "--check" {
                arguments.check = true;
            } else if argument.starts_with("--") {
                return Err(format!("unknown option {argument}\nusage: {usage}").into());
            } else {
                arguments.words.push(argument);
            }
        }
        if arguments.words.len() < least || arguments.words.len() > most {
            return Err(format!("usage: {usage}").into());
        }
        Ok(arguments)
    }

    /// Whether to compare with the host.
    #[must_use]
    pub fn check(&self) -> bool {
        self.check
    }

    /// The word at a position, if given.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    /// The number at a position, or a default.
    ///
    /// # Errors
    /// The word is no number of that type.
    pub fn number<T: FromStr>(&self, index: usize, default: T) -> Result<T, Box<dyn Error>> {
        match self.word(index) {
            None => Ok(default),
            Some(word) => word
                .parse()
                .map_err(|_| format!("`{word}` is no number\nusage: {}", self.usage).into()),
        }
    }
}
