//! Prints what a macro, a build script, another crate and the program itself have summed up.

use rayon::prelude::*;

fn main() {
    println!("{} {}", mac::sum!(), env!("SUM"));
    println!("{} {}", helper::squares(2000), helper::mapped(100, |x| x + 7).len());
    println!("{}", shared::cubes(2000));
    println!("{:?}", (0..1000).into_par_iter().map(|x| x * 3).max());
}
