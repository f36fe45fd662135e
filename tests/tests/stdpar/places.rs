//! The user's choice for some parallel iterators: `SCHISM_STDPAR_EXCLUDE`.

use schism_tests::lab::{Lab, output};
use schism_tests::rayon_programs::{build, by_rustc, name_of, project, run_in, target};

/// Those whose names have one of the parts stay with rayon, and the report says why.
#[test]
fn the_user_keeps_some_parallel_iterators_with_rayon() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        mod first {
            use rayon::prelude::*;

            pub fn sum(numbers: &[u64]) -> u64 {
                numbers.par_iter().map(|number| number * 3).sum()
            }
        }

        mod second {
            use rayon::prelude::*;

            pub fn sum(numbers: &[u64]) -> u64 {
                numbers.par_iter().map(|number| number ^ 3).sum()
            }

            pub fn sort(numbers: &mut [u64]) {
                numbers.par_sort_unstable_by(|a, b| b.cmp(a));
            }
        }

        fn main() {
            let mut numbers: Vec<u64> = (0..100_000).collect();
            second::sort(&mut numbers);
            println!("{} {} {}", first::sum(&numbers), second::sum(&numbers), numbers[0]);
        }
    "#;
    let folder = project(lab, "stdpar-excluded", program);
    let expected = by_rustc(lab, &folder);
    build(lab, &folder, &["--release", "--stdpar"]);
    let report = |exclude: &str| {
        let variables = [
            ("SCHISM_STDPAR", "always"),
            ("SCHISM_STDPAR_EXCLUDE", exclude),
            ("SCHISM_STDPAR_REPORT", "1"),
        ];
        let ran =
            output(&mut run_in(&target(lab, "schism"), name_of(&folder), "release", &variables));
        assert!(ran.status.success());
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    for (exclude, kernels, kept) in [
        ("", 3, 0),
        ("no_such_module", 3, 0),
        ("first::", 2, 1),
        ("excluded::second::", 1, 2),
        (" second::sort , first::sum,, ", 1, 2),
        ("stdpar_excluded", 0, 3),
    ] {
        let told = report(exclude);
        let count = |place: &str| {
            let place = format!(" {place}: ");
            let line = told.lines().find(|line| line.contains(&place)).unwrap_or_default();
            let number = line.strip_prefix("schism: ").and_then(|line| line.split(' ').next());
            number.map_or(0, |number| number.parse().expect("a number of pipelines"))
        };
        let places = [count("as a kernel"), count("with rayon: SCHISM_STDPAR_EXCLUDE")];
        assert_eq!(places, [kernels, kept], "{exclude}: {told}");
    }
}
