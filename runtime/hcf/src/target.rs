//! Targets of AOT code.

use std::fmt;
use std::str::FromStr;

/// A target of AOT code: a kind of device and its processor.
///
/// Written `ptx:sm_90` or `host:x86-64-v3`. `host` alone, which [`Targets`] accepts, is not a
/// target until the processors of the program are known.
///
/// ```
/// use schism_hcf::{Level, Target};
///
/// let target: Target = "ptx:sm_90".parse()?;
/// assert_eq!(target.to_string(), "ptx:sm_90");
/// assert_eq!("host:x86-64-v3".parse(), Ok(Target::Host(Level::V3)));
/// let error = "ptx:banana".parse::<Target>().unwrap_err();
/// assert!(error.to_string().contains("sm_90"));
/// # Ok::<(), schism_hcf::TargetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The device `cpu`, on processors of at least this level.
    Host(Level),
    /// NVIDIA GPUs, as PTX, which their driver compiles.
    Ptx(Processor),
    /// NVIDIA GPUs, as machine code (SASS) for one processor and later ones of the same major
    /// number.
    Sass(Processor),
    /// AMD GPUs, as code objects for one processor.
    Amdgcn(AmdProcessor),
    /// OpenCL's devices, as SPIR-V, which their drivers compile.
    Spirv,
}

/// A level of x86-64 processors, as the psABI defines them. Each includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every x86-64 processor.
    V1,
    /// With SSE 4.2 and `popcnt`.
    V2,
    /// With AVX2, FMA and BMI.
    V3,
    /// With AVX-512.
    V4,
}

/// An NVIDIA processor, or a family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Processor {
    major: u32,
    minor: u32,
    scope: Scope,
}

/// An AMD processor. Code for it runs on no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AmdProcessor(&'static str);

/// On which other processors code for a processor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Scope {
    /// Newer ones.
    Open,
    /// Newer ones of the same family.
    Family,
    /// None: the code is architecture-specific.
    ArchSpecific,
}

/// The processors that can be targets.
pub const PROCESSORS: [&str; 28] = [
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
    "sm_100", "sm_100a", "sm_100f", "sm_101", "sm_101a", "sm_101f", "sm_103", "sm_103a", "sm_103f",
    "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f",
];

/// The processors of AMD that can be targets.
pub const AMD_PROCESSORS: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"];

impl AmdProcessor {
    /// The processor's name, such as `gfx90a`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Target {
    /// The kind of device that code for it is for, as programs name it.
    #[must_use]
    pub const fn device(self) -> &'static str {
        match self {
            Self::Host(_) => "cpu",
            Self::Ptx(_) | Self::Sass(_) => "cuda",
            Self::Amdgcn(_) => "hip",
            Self::Spirv => "opencl",
        }
    }

    /// What code for it runs on, for people.
    #[must_use]
    pub fn hardware(self) -> String {
        match self {
            Self::Host(level) => format!("processors with {level}"),
            Self::Ptx(processor) | Self::Sass(processor) => {
                let (major, minor) = processor.capability();
                let more = match (self, processor.is_open()) {
                    (Self::Ptx(_), true) => " or higher".to_owned(),
                    (_, true) => format!(" or a higher one of {major}.x"),
                    (_, false) => ", no others".to_owned(),
                };
                format!("GPUs of compute capability {major}.{minor}{more} ({self})")
            }
            Self::Amdgcn(_) => format!("AMD GPUs with this processor ({self})"),
            Self::Spirv => "devices whose drivers take SPIR-V".to_owned(),
        }
    }

    /// The format of images with code for it.
    #[must_use]
    pub const fn format(self) -> &'static str {
        match self {
            Self::Host(_) => "elf",
            Self::Ptx(_) => "ptx",
            Self::Sass(_) => "cubin",
            Self::Amdgcn(_) => "amdgcn",
            Self::Spirv => "spirv",
        }
    }
}

impl Level {
    /// All of them, the lowest first.
    pub const ALL: [Self; 4] = [Self::V1, Self::V2, Self::V3, Self::V4];

    /// The level's name, which is also what compilers call it: `x86-64`, `x86-64-v2`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "x86-64",
            Self::V2 => "x86-64-v2",
            Self::V3 => "x86-64-v3",
            Self::V4 => "x86-64-v4",
        }
    }

    /// The features that the level adds to the one before, by rustc's names.
    #[must_use]
    pub const fn added_features(self) -> &'static [&'static str] {
        match self {
            Self::V1 => &["fxsr", "sse", "sse2"],
            Self::V2 => &["cmpxchg16b", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"],
            Self::V3 => &["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"],
            Self::V4 => &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
        }
    }

    /// The highest level all of whose features are available.
    ///
    /// ```
    /// use schism_hcf::Level;
    /// assert_eq!(Level::highest(|_| false), Level::V1);
    /// assert_eq!(Level::highest(|feature| !feature.starts_with("avx512")), Level::V3);
    /// ```
    pub fn highest(has: impl Fn(&str) -> bool) -> Self {
        let has_all = |level: &Self| level.added_features().iter().all(|feature| has(feature));
        // Every processor supports the first.
        Self::ALL[1..].iter().copied().take_while(has_all).last().unwrap_or(Self::V1)
    }
}

impl Processor {
    /// Whether code for this processor runs on one with a compute capability: major and minor
    /// number.
    ///
    /// ```
    /// use schism_hcf::Processor;
    ///
    /// let processor: Processor = "sm_80".parse()?;
    /// assert!(processor.runs_on((8, 6)) && processor.runs_on((9, 0)) && !processor.runs_on((7, 5)));
    /// let only: Processor = "sm_90a".parse()?;
    /// assert!(only.runs_on((9, 0)) && !only.runs_on((10, 0)));
    /// # Ok::<(), schism_hcf::TargetError>(())
    /// ```
    #[must_use]
    pub fn runs_on(&self, capability: (u32, u32)) -> bool {
        let own = (self.major, self.minor);
        match self.scope {
            Scope::Open => own <= capability,
            Scope::Family => self.major == capability.0 && own <= capability,
            Scope::ArchSpecific => own == capability,
        }
    }

    /// Whether machine code for this processor runs on one with a compute capability: that is one
    /// of the same major number, and not an earlier one.
    ///
    /// ```
    /// use schism_hcf::Processor;
    ///
    /// let processor: Processor = "sm_80".parse()?;
    /// assert!(processor.machine_code_runs_on((8, 0)) && processor.machine_code_runs_on((8, 6)));
    /// assert!(!processor.machine_code_runs_on((9, 0)) && !processor.machine_code_runs_on((7, 5)));
    /// # Ok::<(), schism_hcf::TargetError>(())
    /// ```
    #[must_use]
    pub fn machine_code_runs_on(&self, capability: (u32, u32)) -> bool {
        self.major == capability.0 && self.runs_on(capability)
    }

    /// The compute capability of the processor: major and minor number.
    #[must_use]
    pub const fn capability(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Whether code for it runs on newer processors too.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.scope == Scope::Open
    }
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is empty.
    #[error("no target is named; name some, such as `host,ptx:sm_80`")]
    Empty,
    /// Its kind is unknown.
    #[error(
        "there is no target `{0}`; a target is `host`, `host:LEVEL` such as `host:x86-64-v3`, `ptx:PROCESSOR` such as `ptx:sm_80`, \
         `sass:PROCESSOR` such as `sass:sm_90`, `amdgcn:PROCESSOR` such as `amdgcn:gfx90a`, or `spirv`"
    )]
    Kind(String),
    /// The processor is unknown.
    #[error("there is no processor `{0}`; `ptx:` and `sass:` take one of {list}", list = PROCESSORS.join(", "))]
    Processor(String),
    /// The processor of AMD's is unknown.
    #[error("there is no processor `{0}`; `amdgcn:` takes one of {list}", list = AMD_PROCESSORS.join(", "))]
    AmdProcessor(String),
    /// The level is unknown.
    #[error("there is no level `{0}` of the host's processors; `host:` takes one of {list}", list = Level::ALL.map(Level::as_str).join(", "))]
    Level(String),
    /// It is named twice.
    #[error("the target `{0}` is named twice; name it once")]
    Twice(String),
}

impl FromStr for Processor {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let read = || {
            let known = PROCESSORS.iter().find(|known| **known == text)?;
            let digits = known.strip_prefix("sm_")?;
            let (digits, scope) = match digits.strip_suffix(['a', 'f']) {
                Some(rest) if digits.ends_with('a') => (rest, Scope::ArchSpecific),
                Some(rest) => (rest, Scope::Family),
                None => (digits, Scope::Open),
            };
            let number: u32 = digits.parse().ok()?;
            Some(Self { major: number / 10, minor: number % 10, scope })
        };
        read().ok_or_else(|| TargetError::Processor(text.to_owned()))
    }
}

impl FromStr for AmdProcessor {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let found = AMD_PROCESSORS.into_iter().find(|known| *known == text);
        found.map(Self).ok_or_else(|| TargetError::AmdProcessor(text.to_owned()))
    }
}

impl FromStr for Level {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let found = Self::ALL.into_iter().find(|level| level.as_str() == text);
        found.ok_or_else(|| TargetError::Level(text.to_owned()))
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        match text.split_once(':') {
            Some(("ptx", processor)) => processor.parse().map(Self::Ptx),
            Some(("sass", processor)) => processor.parse().map(Self::Sass),
            Some(("amdgcn", processor)) => processor.parse().map(Self::Amdgcn),
            Some(("host", level)) => level.parse().map(Self::Host),
            None if text == "spirv" => Ok(Self::Spirv),
            _ => Err(TargetError::Kind(text.to_owned())),
        }
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.scope {
            Scope::Open => "",
            Scope::Family => "f",
            Scope::ArchSpecific => "a",
        };
        write!(f, "sm_{}{}{letter}", self.major, self.minor)
    }
}

impl fmt::Display for AmdProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(level) => write!(f, "host:{level}"),
            Self::Ptx(processor) => write!(f, "ptx:{processor}"),
            Self::Sass(processor) => write!(f, "sass:{processor}"),
            Self::Amdgcn(processor) => write!(f, "amdgcn:{processor}"),
            Self::Spirv => f.write_str("spirv"),
        }
    }
}

/// The targets that a build requests: a list such as `host,ptx:sm_80,ptx:sm_90`.
///
/// ```
/// use schism_hcf::{Level, Targets};
///
/// let targets: Targets = "ptx:sm_80, host".parse()?;
/// assert_eq!(targets.to_string(), "host,ptx:sm_80");
/// let targets: Vec<_> = targets.for_host(Level::V2)?.iter().map(ToString::to_string).collect();
/// assert_eq!(targets, ["host:x86-64-v2", "ptx:sm_80"]);
/// # Ok::<(), schism_hcf::TargetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Whether `host` is among them: the processors that the program is built for.
    host: bool,
    others: Vec<Target>,
}

impl Targets {
    /// The targets but for `host`, in ascending order.
    #[must_use]
    pub fn others(&self) -> &[Target] {
        &self.others
    }

    /// The targets of a program that is built for processors of this level, in ascending order.
    ///
    /// # Errors
    /// [`TargetError::Twice`], if `host` is one of the others.
    pub fn for_host(&self, level: Level) -> Result<Vec<Target>, TargetError> {
        let mut targets = self.others.clone();
        if self.host {
            let host = Target::Host(level);
            if targets.contains(&host) {
                return Err(TargetError::Twice(format!("host` (which is `{host}` here)")));
            }
            targets.push(host);
        }
        targets.sort_unstable();
        Ok(targets)
    }
}

impl FromStr for Targets {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        if text.trim().is_empty() {
            return Err(TargetError::Empty);
        }
        let mut targets = Self::default();
        for name in text.split(',').map(str::trim) {
            if name.is_empty() {
                return Err(TargetError::Empty);
            }
            let twice = if name == "host" {
                std::mem::replace(&mut targets.host, true)
            } else {
                let target = name.parse()?;
                let twice = targets.others.contains(&target);
                targets.others.push(target);
                twice
            };
            if twice {
                return Err(TargetError::Twice(name.to_owned()));
            }
        }
        targets.others.sort_unstable();
        Ok(targets)
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.then(|| "host".to_owned());
        let all: Vec<_> =
            host.into_iter().chain(self.others.iter().map(ToString::to_string)).collect();
        f.write_str(&all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in PROCESSORS {
            assert_eq!(name.parse::<Processor>().unwrap().to_string(), name);
        }
        for name in AMD_PROCESSORS {
            assert_eq!(name.parse::<AmdProcessor>().unwrap().to_string(), name);
        }
        assert_eq!("spirv".parse(), Ok(Target::Spirv));
        assert_eq!(Target::Spirv.to_string(), "spirv");
        for level in Level::ALL {
            assert_eq!(Target::Host(level).to_string().parse(), Ok(Target::Host(level)));
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, says) in [
            ("", "no target is named"),
            (" ", "no target is named"),
            ("host,", "no target is named"),
            (",", "no target is named"),
            ("ptx:sm_7", "no processor `sm_7`; `ptx:` and `sass:` take one of sm_70, sm_72"),
            ("sass:sm_7", "no processor `sm_7`; `ptx:` and `sass:` take one of sm_70, sm_72"),
            ("sass:", "no processor ``"),
            ("ptx:banana", "no processor `banana`"),
            ("ptx:sm_99", "no processor `sm_99`"),
            ("ptx:sm_080", "no processor `sm_080`"),
            ("ptx:sm_80a", "no processor `sm_80a`"),
            ("ptx:", "no processor ``"),
            ("amdgcn:gfx90", "no processor `gfx90`; `amdgcn:` takes one of gfx906, gfx90a"),
            ("amdgcn:sm_80", "no processor `sm_80`; `amdgcn:`"),
            ("ptx", "a target is `host`"),
            ("sm_80", "no target `sm_80`"),
            ("HOST", "no target `HOST`"),
            ("spirv:1.6", "no target `spirv:1.6`"),
            ("host:haswell", "no level `haswell`"),
            ("host,host", "`host` is named twice"),
            ("spirv,spirv", "`spirv` is named twice"),
            ("spirv:", "no target `spirv:`"),
            ("ptx:sm_80,host,ptx:sm_80", "`ptx:sm_80` is named twice"),
        ] {
            let error = text.parse::<Targets>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let both: Targets = "host,host:x86-64".parse().unwrap();
        let error = both.for_host(Level::V1).unwrap_err().to_string();
        assert!(error.contains("`host` (which is `host:x86-64` here)"), "{error}");
        assert_eq!(both.for_host(Level::V3).unwrap().len(), 2);
    }

    #[test]
    fn order_makes_no_difference() {
        let one = "spirv,amdgcn:gfx90a,sass:sm_90,ptx:sm_90,host,ptx:sm_80,host:x86-64-v4";
        let other = "host:x86-64-v4,ptx:sm_80,amdgcn:gfx90a,spirv,ptx:sm_90,sass:sm_90,host";
        let [one, other] = [one, other].map(|text| text.parse::<Targets>().unwrap());
        assert_eq!(one, other);
        assert_eq!(
            one.to_string(),
            "host,host:x86-64-v4,ptx:sm_80,ptx:sm_90,sass:sm_90,amdgcn:gfx90a,spirv"
        );
    }

    #[test]
    fn code_runs_where_it_can() {
        let runs = |name: &str, capability| name.parse::<Processor>().unwrap().runs_on(capability);
        assert!(runs("sm_75", (7, 5)) && runs("sm_75", (12, 1)) && !runs("sm_75", (7, 2)));
        assert!(runs("sm_90", (10, 0)) && !runs("sm_90a", (10, 0)) && runs("sm_90a", (9, 0)));
        let machine_code =
            |name: &str, on| name.parse::<Processor>().unwrap().machine_code_runs_on(on);
        assert!(machine_code("sm_80", (8, 9)) && !machine_code("sm_86", (8, 0)));
        assert!(machine_code("sm_90", (9, 0)) && !machine_code("sm_90", (10, 0)));
        assert!(machine_code("sm_100f", (10, 3)) && !machine_code("sm_100a", (10, 3)));
        assert!(runs("sm_100f", (10, 3)) && !runs("sm_100f", (11, 0)) && !runs("sm_103f", (10, 0)));
    }
}
