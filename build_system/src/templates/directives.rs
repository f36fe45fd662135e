//! Ordinary loops as kernels, by a line before each. Without `acc` it is the same program, with loops.

use schism::directives::acc;

/// y = a·x + y, and the sum of what y then is.
#[acc]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) -> f64 {
    let mut sum = 0.0_f64;
    #[acc(parallel, loop, reduction(+: sum))]
    for i in 0..x.len() {
        y[i] += a * x[i];
        sum += f64::from(y[i]);
    }
    sum
}

fn main() {
    let x = vec![1.0_f32; 1_000_000];
    let mut y = vec![2.0_f32; x.len()];
    let sum = saxpy(3.0, &x, &mut y);
    println!("{:?}, and their sum is {sum}", &y[..4]);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_loop_adds() {
        let mut y = vec![1.0; 100];
        assert_eq!(super::saxpy(2.0, &[0.5; 100], &mut y), 200.0);
        assert_eq!(y, [2.0; 100]);
    }
}
