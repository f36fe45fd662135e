//! Which AOT code runs on this processor.

use std::sync::OnceLock;

use schism_hcf::{Level, Target};

use crate::code::aot::AotTarget;

/// The processor that this process runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTarget;

impl AotTarget for HostTarget {
    fn runs(&self, target: Target) -> bool {
        matches!(target, Target::Host(needed) if cfg!(target_arch = "x86_64") && needed <= level())
    }

    fn name(&self) -> String {
        "host".to_owned()
    }
}

/// The highest level that this processor supports.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| Level::highest(has))
}

/// Whether this processor has a feature, and the system enables it for programs.
#[cfg(target_arch = "x86_64")]
fn has(feature: &str) -> bool {
    macro_rules! detect {
        ($($name:tt)*) => {
            match feature {
                $($name => std::arch::is_x86_feature_detected!($name),)*
                _ => false,
            }
        };
    }
    detect!(
        "fxsr" "sse" "sse2" "cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3"
        "avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"
    )
}

#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> bool {
    false
}
