//! A build script that uses a crate that the program uses, too.

fn main() {
    let sum: u64 = helper::mapped(300, |x| x * 3).into_iter().sum();
    println!("cargo::rustc-env=SUM={}", helper::squares(500) + sum);
}
