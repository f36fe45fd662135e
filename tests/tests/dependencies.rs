//! Kernels that use crates which know nothing of schism: also their functions that are neither
//! generic nor inline, and their statics.

use std::fmt::Debug;

use schism::prelude::*;
use schism::{Capture, Device, DeviceKind};

/// Runs `f` for each index on every device, with several lengths, and compares with the host's
/// loop.
fn agrees<T>(f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    agrees_on(&schism_tests::devices::listed(), f);
}

/// The same on the device that has the host's mathematics library; others differ in the last bits.
fn agrees_with_the_library<T>(f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    let mut devices = schism_tests::devices::listed();
    devices.retain(|device| device.kind() == DeviceKind::Native);
    agrees_on(&devices, f);
}

fn agrees_on<T>(devices: &[Device], f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    'devices: for device in devices {
        let queue = Queue::on(device).expect("a device that is listed");
        for length in [0, 1, 67, 1001] {
            let host: Vec<T> = (0..length).map(f).collect();
            let mut out = Buffer::filled(&queue, length, T::default()).expect("memory");
            match queue.for_each((0.., &mut out), move |(i, out)| *out = f(i)) {
                Ok(()) => {}
                Err(error) if schism_tests::devices::is_beyond(device, &error) => continue 'devices,
                Err(error) => panic!("no panic: {error:?}"),
            }
            for (index, (found, host)) in out.to_vec().iter().zip(&host).enumerate() {
                assert_eq!(found, host, "item {index} of {length} on {device}");
            }
        }
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn glam_vectors_and_matrices() {
    use glam::{DVec3, EulerRot, IVec2, Mat4, Quat, Vec3, Vec3A, Vec4};
    agrees_with_the_library(|i| {
        let angle = i as f32 * 0.1;
        let turn = Quat::from_euler(EulerRot::XYZ, angle, 0.3, -angle);
        let place = Mat4::from_rotation_translation(turn, Vec3::new(1.0, angle, 3.0));
        let point = place.transform_point3(Vec3::new(angle, 2.0, -1.0));
        let back = place.inverse() * Vec4::from((point, 1.0));
        let cross = Vec3A::new(1.0, angle, 2.0).cross(Vec3A::X).normalize_or_zero();
        (
            (point.to_array(), back.to_array(), cross.to_array(), turn.to_array()),
            (DVec3::splat(f64::from(angle)).length(), IVec2::new(i as i32, 3).perp().to_array()),
            turn.lerp(Quat::IDENTITY, 0.25).to_array(),
        )
    });
}

#[test]
fn num_traits() {
    use num_traits::{Float, PrimInt, Zero};
    fn norm<F: Float>(of: &[F]) -> F {
        of.iter().fold(F::zero(), |sum, x| sum + *x * *x).sqrt()
    }
    fn bits<I: PrimInt>(of: I) -> u32 {
        of.count_ones() + (of >> 3).leading_zeros()
    }
    agrees(|i| {
        let x = i as f64 * 0.37;
        let small = num_traits::cast::<f64, u8>(x);
        (norm(&[x, 2.0, -x]), norm(&[x as f32, 1.0]), bits(i as u64), small, i.is_zero())
    });
}

#[test]
fn half_precision() {
    use half::{bf16, f16};
    agrees(|i| {
        let (a, b) = (f16::from_f32(i as f32 * 1.37 - 70.0), f16::from_f64(0.1));
        let c = bf16::from_f32(i as f32 * 3.3);
        (
            ((a * b + a).to_bits(), (a / b).to_f32(), a < b, a.is_sign_negative()),
            ((c - bf16::ONE).to_bits(), c.to_f64(), f16::from_bits(i as u16).to_f32().to_bits()),
            (a.max(b).to_bits(), f16::EPSILON.to_f64()),
        )
    });
}

/// `push` and the end of a `SmallVec` may go to the heap, so a kernel can have neither.
#[test]
fn smallvec_without_the_heap() {
    use std::mem::ManuallyDrop;

    use smallvec::SmallVec;
    agrees(|i| {
        let mut few = ManuallyDrop::new(SmallVec::from_buf_and_len(
            [1, 2, 3, 4, 5, 6, 7, i as u32],
            5 + i % 4,
        ));
        few.reverse();
        few.swap_remove(1);
        few.retain(|x| *x % 3 != 0);
        let sum: u32 = few.iter().sum();
        (few.pop(), sum, few.len(), few.spilled(), few.first().copied())
    });
}

#[test]
fn libm_functions() {
    agrees(|i| {
        let x = f64::from(i as u32) * 0.37 - 40.0;
        let y = x.abs() + 0.1;
        (
            [libm::sin(x), libm::cos(x * 1e6), libm::exp(x / 9.0), libm::log1p(x * x)],
            [
                libm::pow(x * x, x / 9.0),
                libm::erf(x / 7.0),
                libm::atan2(x, 3.0),
                libm::tgamma(y / 9.0),
            ],
            [libm::sqrt(y), libm::hypot(x, 3.0), libm::asin(x / 400.0), libm::acosh(y + 1.0)],
            [libm::sqrtf(y as f32), libm::hypotf(x as f32, 2.0), libm::powf(y as f32, 0.3)],
            [libm::sinf(x as f32), libm::expf(x as f32), libm::fmodf(x as f32, 1.7)],
            libm::frexp(x + 41.0),
        )
    });
}

/// What a kernel asks of the processor is answered with "no", as on a processor without features:
/// then code takes its portable branch.
#[test]
fn features_of_the_processor_are_absent() {
    #[cfg(target_arch = "x86_64")]
    agrees(|i| {
        use std::arch::x86_64::{_mm256_add_pd, _mm256_cvtsd_f64, _mm256_set1_pd};
        let x = i as f64 * 0.5;
        if std::is_x86_feature_detected!("avx2") || std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            unsafe { _mm256_cvtsd_f64(_mm256_add_pd(_mm256_set1_pd(x), _mm256_set1_pd(1.0))) }
        } else {
            x + 1.0
        }
    });
}

#[test]
fn rand_pcg_streams() {
    use rand_core::{RngCore, SeedableRng};
    agrees(|i| {
        let mut small = rand_pcg::Pcg32::seed_from_u64(i as u64);
        let mut large = rand_pcg::Pcg64::new(i as u128, 7);
        large.advance(1 << 40);
        let mut bytes = [0; 11];
        small.fill_bytes(&mut bytes);
        (small.next_u32(), large.next_u64(), bytes)
    });
}
