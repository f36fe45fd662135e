//! How long the steps of a set-up take, and how long what is left of it may take.
//!
//! What is left is told from this machine's own speed: the seconds of what it has done, in proportion
//! to those that the same took on another machine. Before anything is done, nothing is told.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::home::Home;
use crate::{progress, publish};

/// A step of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// rustc-dev: installed, or rebuilt.
    Crates,
    /// The plugin and stage 2.
    Build,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Crates => "the compiler's crates",
            Step::Build => "the plugin and stage 2",
        }
    }

    /// Seconds on one machine with two cores. Only their proportion is used.
    fn weight(self) -> f64 {
        match self {
            Step::Crates => 250.0,
            Step::Build => 90.0,
        }
    }
}

/// The steps of one set-up.
pub struct Timings {
    steps: Vec<Step>,
    taken: RefCell<Vec<(Step, Duration)>>,
    begin: RefCell<Instant>,
}

impl Timings {
    /// Those of a set-up with these steps.
    pub fn of(steps: &[Step]) -> Timings {
        Timings {
            steps: steps.to_vec(),
            taken: RefCell::default(),
            begin: RefCell::new(Instant::now()),
        }
    }

    /// Takes a step, and says before it which it is.
    pub fn step<T>(&self, step: Step, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.taken.borrow().len() + 1;
        let left = self.left(step, 0.0).map_or(String::new(), |left| format!(", {left}"));
        let text = format!("{number} of {}: {}{left}", self.steps.len(), step.name());
        progress::step("Step", &text);
        *self.begin.borrow_mut() = Instant::now();
        let result = work()?;
        self.taken.borrow_mut().push((step, self.begin.borrow().elapsed()));
        Ok(result)
    }

    /// In words, how long this step and those after it may still take, when this part of it (0 to 1) is
    /// done. `None` while too little is done to tell.
    pub fn left(&self, step: Step, part: f64) -> Option<String> {
        let taken = self.taken.borrow();
        let now = self.begin.borrow().elapsed();
        let spent: Duration = taken.iter().map(|(_, time)| *time).sum();
        let done: f64 = taken.iter().map(|(step, _)| step.weight()).sum();
        let (spent, done) =
            if part > 0.0 { (spent + now, done + part * step.weight()) } else { (spent, done) };
        let all: f64 = self.steps.iter().map(|step| step.weight()).sum();
        let enough = done >= 0.05 * all;
        enough.then(|| in_words(spent.as_secs_f64() * (all - done).max(0.0) / done))
    }

    /// Keeps them for `setup --timings`.
    pub fn write(&self, home: &Home) -> Result<()> {
        let mut text = String::new();
        for (step, time) in &*self.taken.borrow() {
            text.push_str(&format!("{:8.1} s  {}\n", time.as_secs_f64(), step.name()));
        }
        publish::write_file(&home.state().join(FILE), text.as_bytes())
    }
}

/// The file with those of the last set-up that built something.
const FILE: &str = "timings";

/// What the last set-up that built something took.
pub fn of_last(home: &Home) -> Option<String> {
    std::fs::read_to_string(home.state().join(FILE)).ok()
}

fn in_words(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("about {:.0} s left", seconds.max(1.0)),
        _ => format!("about {:.0} min left", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_left_is_told_from_what_was_done() {
        let timings = Timings::of(&[Step::Crates, Step::Build]);
        assert_eq!(timings.left(Step::Crates, 0.0), None);
        assert_eq!(timings.left(Step::Crates, 0.01), None, "too little is done");
        *timings.begin.borrow_mut() = Instant::now() - Duration::from_secs(60);
        // Half of the crates in 60 s: as long again, and 43 s.
        assert_eq!(timings.left(Step::Crates, 0.5).as_deref(), Some("about 2 min left"));
        timings.taken.borrow_mut().push((Step::Crates, Duration::from_secs(12)));
        *timings.begin.borrow_mut() = Instant::now();
        assert_eq!(timings.left(Step::Build, 0.0).as_deref(), Some("about 4 s left"));
    }

    #[test]
    fn the_last_ones_are_kept_and_a_failed_step_is_none() {
        let scratch = Scratch::new("timings");
        let home = Home::at(scratch.path());
        assert_eq!(of_last(&home), None);
        let timings = Timings::of(&[Step::Crates, Step::Build]);
        timings.step(Step::Crates, || Ok(())).unwrap();
        let failed: Result<()> = timings.step(Step::Build, || Err(crate::error::Error::NoHome));
        assert!(failed.is_err());
        timings.write(&home).unwrap();
        let kept = of_last(&home).unwrap();
        assert!(kept.contains("s  the compiler's crates") && kept.lines().count() == 1, "{kept}");
    }
}
