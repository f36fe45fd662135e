//! A kernel uses what one kind of CPU has; what LLVM knows under a neutral name is fine.

use schism::prelude::*;

#[target_feature(enable = "avx")]
fn reciprocal(value: f32) -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_rcp_ps, _mm256_set1_ps};
    _mm256_cvtss_f32(_mm256_rcp_ps(_mm256_set1_ps(value)))
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                use std::arch::x86_64::{_mm_add_ps, _mm_cvtss_f32, _mm_rcp_ps, _mm_set1_ps};
                // SAFETY: every x86-64 CPU has it.
                let neutral = unsafe { _mm_cvtss_f32(_mm_add_ps(_mm_set1_ps(1.0), _mm_set1_ps(2.0))) };
                // SAFETY: as above.
                let special = unsafe { _mm_cvtss_f32(_mm_rcp_ps(_mm_set1_ps(neutral))) };
                let wide = if std::is_x86_feature_detected!("avx") {
                    // SAFETY: just asked for.
                    unsafe { reciprocal(special) }
                } else {
                    special
                };
                wide as u64
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
