//! Prints what the build script `probe_build.rs` found.
fn main() {
    println!("version_is_stable {}", cfg!(version_is_stable));
    println!("probe_finds_nightly {}", cfg!(probe_finds_nightly));
    println!("bootstrap {} {}", cfg!(bootstrap), option_env!("RUSTC_BOOTSTRAP").is_some());
}
