//! The command line. The baseline takes the same options.

use std::error::Error;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: gpu_schism [--small|--medium] [--suite S] [--elements N] [--runs N] [--warm-up MS] [--only KERNEL,…] [--clock device|host|processor] [--precise] [--check]
  --small       sizes for a look at whether everything works
  --medium      sizes for a processor (not an option of CUDA's baseline)
  --suite S     tuned, the default: kernels that passes were measured with; breadth: kernels that none was made for;
                all: both
  --elements N  elements of each vector of the stream kernels, a multiple of 256
  --runs N      how often each kernel is timed
  --warm-up MS  milliseconds of untimed runs at least (not an option of CUDA's baseline)
  --only K,…    these kernels only
  --clock C     device, the default: how long each launch took, as the device says; host: from before a launch to
                after the wait for it; processor: what all threads of the program computed meanwhile
  --precise     each kernel as it is by default, and not in other variants (this and the next are not the baseline's options:
                they are about schism)
  --check       compare all results with the host's";

/// The clock of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From the start of a launch to its end, as the device reports.
    Device,
    /// From before submission of a launch to after waiting.
    Host,
    /// The processor time of all threads of the program meanwhile: what else the machine does adds
    /// little to it.
    Processor,
}

impl Clock {
    /// Its name, on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Processor => "processor",
        }
    }
}

/// Which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Those that passes were measured with.
    Tuned,
    /// Those that no pass was made for.
    Breadth,
    /// Both.
    All,
}

/// How large problems are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// For a GPU.
    Full,
    /// For a processor.
    Medium,
    /// For a test.
    Small,
}

/// The options.
#[derive(Debug)]
pub struct Settings {
    scale: Scale,
    suite: Suite,
    elements: Option<usize>,
    /// How often each kernel is timed.
    pub runs: usize,
    /// How long each kernel is run, untimed, before that.
    pub warm_up: Duration,
    only: Vec<String>,
    /// The clock of the measurements.
    pub clock: Clock,
    /// Whether kernels are measured in one variant.
    pub precise: bool,
    /// Whether results are compared with the host's.
    pub check: bool,
}

impl Settings {
    /// Reads the command line.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut scale, mut elements, mut runs) = (Scale::Full, None, 30);
        let mut precise = false;
        let (mut only, mut clock, mut check) = (Vec::new(), Clock::Device, false);
        let mut suite = Suite::Tuned;
        let mut warm_up = Duration::ZERO;
        while let Some(option) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
            match option.as_str() {
                "--small" => scale = Scale::Small,
                "--medium" => scale = Scale::Medium,
                "--precise" => precise = true,
                "--check" => check = true,
                "--elements" => elements = Some(number(&option, &value()?)?),
                "--runs" => runs = number(&option, &value()?)?,
                "--warm-up" => warm_up = Duration::from_millis(number(&option, &value()?)? as u64),
                "--only" => only = value()?.split(',').map(str::to_owned).collect(),
                "--clock" => {
                    clock = match value()?.as_str() {
                        "device" => Clock::Device,
                        "host" => Clock::Host,
                        "processor" => Clock::Processor,
                        other => {
                            return Err(format!(
                                "there is no clock `{other}`: device, host or processor"
                            )
                            .into());
                        }
                    };
                }
                "--suite" => {
                    suite = match value()?.as_str() {
                        "tuned" => Suite::Tuned,
                        "breadth" => Suite::Breadth,
                        "all" => Suite::All,
                        other => {
                            return Err(format!(
                                "there is no suite `{other}`: tuned, breadth or all"
                            )
                            .into());
                        }
                    };
                }
                other => return Err(format!("`{other}` is no option\n{USAGE}").into()),
            }
        }
        if elements.is_some_and(|elements| elements % 256 != 0) {
            return Err("--elements takes a multiple of 256".into());
        }
        Ok(Self { scale, suite, elements, runs, warm_up, only, clock, precise, check })
    }

    /// The size of a problem: one for GPUs, a small one, or one between them, which is a power of
    /// two times the small one.
    pub const fn size(&self, full: usize, small: usize) -> usize {
        match self.scale {
            Scale::Full => full,
            Scale::Medium => small << ((full / small).ilog2() / 2),
            Scale::Small => small,
        }
    }

    /// Elements of the stream kernels' vectors.
    pub fn elements(&self) -> usize {
        self.elements.unwrap_or(self.size(1 << 28, 1 << 14))
    }

    /// Whether the kernels of a suite may run.
    pub fn has(&self, suite: Suite) -> bool {
        self.suite == Suite::All || self.suite == suite
    }

    /// Whether a kernel is to run.
    pub fn wants(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == kernel)
    }

    /// The first selected kernel that is none of `kernels`.
    pub fn unknown(&self, kernels: &[&str]) -> Option<&str> {
        self.only.iter().map(String::as_str).find(|only| !kernels.contains(only))
    }
}

fn number(option: &str, text: &str) -> Outcome<usize> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{option} takes a number above zero, and `{text}` is none").into())
}
