//! `--stdpar`: programs with rayon that know nothing of schism. One program with all of these tests, so
//! that they run side by side; those that take longest are first in the alphabet.

mod after_panics;
mod both;
mod heaps;
mod identity;
mod notes;
mod places;
mod programs;
