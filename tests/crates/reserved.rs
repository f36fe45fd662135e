//! Directives over what is called by a word that 2024 reserves.

#![allow(keyword_idents_2024, unused_assignments, clippy::needless_range_loop)]

use schism::directives::acc;
struct Words { gen: Vec<u32>, scale: u32 }
impl Words {
    #[acc]
    fn run(&mut self, gen: &[u32]) -> u32 {
        #[acc(parallel, loop, copy(self.gen))]
        for i in 0..gen.len() { self.gen[i] = gen[i] * self.scale; }
        let mut sum = 0;
        #[acc(parallel, loop, reduction(+: sum))]
        for gen in self.gen.iter() { sum += *gen; }
        sum
    }
}
#[acc]
fn regions(gen: &mut [u32], n: usize) -> u32 {
    let mut max = 0;
    #[acc(data, copy(gen))]
    {
        #[acc(parallel, loop, collapse(2))]
        for y in 0..n { for gen_x in 0..2 { gen[2 * y + gen_x] += 1; } }
        #[acc(parallel, loop, reduction(max: max))]
        for i in 0..gen.len() { let gen = gen[i]; max = max.max(gen); }
        #[acc(parallel, loop, async)]
        for i in 0..gen.len() { #[acc(atomic)] gen[i] += 2; }
        #[acc(wait)] {}
        #[acc(update, self(gen))] {}
    }
    #[acc(parallel, loop, private(max))]
    for gen in gen.iter_mut() { max = *gen; *gen = max + 1; }
    max
}
#[acc]
fn private(x: &mut [u32]) {
    let gen = 3; let mut sum = 0;
    #[acc(parallel, loop, private(gen), reduction(+: sum))]
    for i in 0..x.len() { sum += gen + x[i]; }
    x[0] = sum;
    #[acc(serial)]
    { let mut gen = 0; for i in 0..x.len() { gen += x[i]; } x[0] = gen; }
    #[acc(parallel, loop)]
    'gen: for i in 0..x.len() { if i == 1 { continue 'gen; } x[i] += gen; }
}
fn main() {
    let mut w = Words { gen: vec![0; 5], scale: 3 };
    println!("{}", w.run(&[1, 2, 3, 4, 5]));
    let mut g = [1, 2, 3, 4, 5, 6];
    println!("{} {:?}", regions(&mut g, 3), g);
    private(&mut g);
    println!("{:?}", g);
}
