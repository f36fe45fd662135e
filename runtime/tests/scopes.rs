//! The memory that the launches of a scope take. It is the only test of its process.

use schism::prelude::*;

/// The memory of this process that no file backs, in bytes.
#[cfg(target_os = "linux")]
fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its line");
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<usize>();
    kibibytes.expect("a number") << 10
}

/// A million launches take no more than some thousand.
#[cfg(target_os = "linux")]
#[test]
fn launches_of_a_scope_take_bounded_memory() {
    const MOST: usize = 32 << 20;
    let device = Device::by_name("native").expect("always there");
    let queue = Queue::on(&device).expect("threads");
    let before = memory();
    let grown = queue.scope(|scope| {
        let mut grown = 0;
        for launch in 0..1_usize << 20 {
            scope.parallel_for(1, |_| ())?;
            if launch.is_multiple_of(1 << 12) {
                grown = grown.max(memory().saturating_sub(before));
            }
        }
        Ok(grown)
    });
    let grown = grown.expect("launches");
    assert!(grown < MOST, "{grown} bytes");
}
