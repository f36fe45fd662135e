//! The machine code of the kernels of `cargo schism bench cpu`: packed instructions of the
//! processor's width where work-items are computed in lanes, and none where that does not pay.

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// The assembly of a workload's kernels.
    fn assembly(workload: &str) -> String {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cpu-{workload}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut program = Command::new(env!("CARGO_BIN_EXE_cpu_schism"));
        program.env("SCHISM_DEVICE", "cpu").env("SCHISM_CACHE", "0");
        program.env("SCHISM_DUMP_DIR", &folder).env_remove("SCHISM_CPU_LANES");
        let mut program =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut commands = program.stdin.take().expect("a pipe");
        write!(commands, "open {workload}\nrun 1\n").expect("it reads");
        drop(commands);
        let output = program.wait_with_output().expect("it ends");
        let answers = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && answers.starts_with("ok\n"), "{workload}: {answers}");
        let mut all = String::new();
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|it| it == "s") {
                all += &std::fs::read_to_string(&path).expect("a file");
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
        assert!(!all.is_empty(), "{workload}: no assembly");
        all
    }

    /// How many instructions have one of these names, with or without the `v` of AVX, and one of these
    /// registers.
    fn count(assembly: &str, names: &[&str], registers: &[&str]) -> usize {
        let is_one = |line: &&str| {
            let Some((name, operands)) = line.trim().split_once(['\t', ' ']) else { return false };
            let name = name.strip_prefix('v').unwrap_or(name);
            names.iter().any(|one| name.starts_with(one))
                && registers.iter().any(|register| operands.contains(register))
        };
        assembly.lines().filter(is_one).count()
    }

    /// The registers that vectors of this processor are in: those of the whole width, and those that
    /// LLVM's own passes may prefer, which take half of it on some processors.
    fn registers() -> (&'static str, &'static str) {
        if is_x86_feature_detected!("avx512f") {
            ("%zmm", "%ymm")
        } else if is_x86_feature_detected!("avx2") {
            ("%ymm", "%ymm")
        } else {
            ("%xmm", "%xmm")
        }
    }

    #[test]
    fn kernels_have_packed_instructions_of_the_whole_width() {
        let (whole, preferred) = registers();
        let workloads: [(&str, &[&str]); 7] = [
            ("mandelbrot", &["mulps"]),
            ("nbody", &["sqrtps"]),
            ("black_scholes", &["divps"]),
            ("ray_spheres", &["sqrtps"]),
            ("sha256", &["paddd"]),
            ("binary_search", &["paddq", "psubq", "paddd", "psubd"]),
            // Between barriers.
            ("sgemm", &["mulps"]),
        ];
        for (workload, names) in workloads {
            let assembly = assembly(workload);
            // Rows of a tile become straight code, which LLVM makes vectors of.
            let registers = if workload == "sgemm" { vec![whole, preferred] } else { vec![whole] };
            assert!(
                count(&assembly, names, &registers) > 0,
                "{workload} has no {names:?} of {registers:?}"
            );
        }
    }

    #[test]
    fn a_sparse_matrix_stays_scalar() {
        let assembly = assembly("spmv");
        assert!(count(&assembly, &["mulss"], &["%xmm"]) > 0, "no scalar product:\n{assembly}");
        let packed = ["mulps", "gather", "pgather"];
        assert_eq!(count(&assembly, &packed, &["%xmm", "%ymm", "%zmm"]), 0, "{assembly}");
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn machine_code_is_looked_at() {
    println!("skipped: the names of instructions and registers are those of x86-64");
}
