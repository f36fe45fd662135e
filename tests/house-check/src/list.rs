//! What a measure finds.

/// What a measure counts: one line for each, or a number for each.
#[derive(Debug)]
pub enum List {
    Findings(Vec<String>),
    Numbers(Vec<(String, usize)>),
}

impl List {
    pub fn value(&self) -> usize {
        match self {
            Self::Findings(findings) => findings.len(),
            Self::Numbers(numbers) => numbers.iter().map(|(_, number)| number).sum(),
        }
    }

    pub fn print(&self) {
        match self {
            Self::Findings(findings) => findings.iter().for_each(|finding| println!("{finding}")),
            Self::Numbers(numbers) => {
                numbers.iter().for_each(|(name, number)| println!("{number:>7}  {name}"));
            }
        }
    }
}
