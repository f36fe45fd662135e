//! What the measured programs print, and times for people.

/// What a program printed: seconds and checksum by workload, in order.
pub(super) type Times = Vec<(String, f64, String)>;

/// The lines of a program.
pub(super) fn read(output: &str) -> Times {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, seconds, checksum) = (words.next()?, words.next()?, words.next()?);
            Some((name.to_owned(), seconds.parse().ok()?, checksum.to_owned()))
        })
        .collect()
}

/// A time for people.
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:>7.2} us", seconds * 1e6)
    } else {
        format!("{:>7.2} ms", seconds * 1e3)
    }
}
