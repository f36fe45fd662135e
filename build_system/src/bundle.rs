//! `cargo schism bundle`: a folder with all that a program needs to run elsewhere.
//!
//! ```text
//! DIR/PROGRAM                    the program, whose containers may have code that was made ahead of time
//! DIR/lib/LIBRARY.so             shared libraries that not every system has
//! DIR/lib/libschism_jit.so       with --jit: stage 2, and the LLVM that it needs
//! ```
//!
//! Everything is found from where the program lies, so the folder can be anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};
use schism_hcf::{RecordRef, Target};

use crate::arguments;
use crate::cargo;
use crate::elf::{self, Libraries};
use crate::emit;
use crate::error::{Error, FileContext, Result};
use crate::hcf;
use crate::home::Home;
use crate::setup::{self, in_words};
use crate::targets;
use crate::variables;

/// Where a program of a bundle looks for libraries.
const LIBRARIES: &str = "lib";

/// Tells the loader so.
const RUN_PATH: &str = "-Clink-arg=-Wl,-rpath,$ORIGIN/lib";

/// The least processor that stage 2 makes code for.
const LEAST_GPU: &str = "7.0";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// A program that is there; without it, what cargo builds.
    program: Option<PathBuf>,
    output: Option<PathBuf>,
    jit: bool,
    targets: targets::TargetsOption,
    /// For cargo.
    build: Vec<OsString>,
}

/// Runs the verb.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let request = parse(arguments)?;
    let named = std::env::var_os(variables::JIT).filter(|path| !path.is_empty()).map(PathBuf::from);
    let needs_setup = request.program.is_none() || (request.jit && named.is_none());
    let ready = needs_setup.then(|| setup::ensure(&Home::from_environment()?)).transpose()?;
    let more: Vec<PathBuf> = ready.iter().map(|ready| ready.toolchain.libraries.clone()).collect();

    let build = |extra: &[&str]| -> Result<PathBuf> {
        if let Some(program) = &request.program {
            return Ok(program.clone());
        }
        let ready = ready.as_ref().expect("cargo is only asked when everything is set up");
        let mut cargo = cargo::command(ready);
        let targets = targets::apply(&mut cargo, &request.targets, &request.build)?;
        // Before minutes of building.
        if targets.is_none() && !request.jit {
            return Err(no_code());
        }
        emit::build(cargo, &request.build, extra)
    };
    let mut program = build(&[])?;
    let devices = Devices::of(&program, request.jit)?;
    let mut libraries = elf::libraries(&program, &around(&program, &more))?;
    if !libraries.own.is_empty() && !looks_in_bundle(&program)? {
        if request.program.is_some() {
            return Err(Error::Container {
                path: program,
                problem: format!(
                    "needs {}, and would not look in its bundle; link it with {RUN_PATH}",
                    names(&libraries.own)
                ),
            });
        }
        // It is linked once more, so that it finds them.
        program = build(&[RUN_PATH])?;
        libraries = elf::libraries(&program, &around(&program, &more))?;
    }
    if request.jit {
        let stage2 = match (named, &ready) {
            (Some(named), _) => named,
            (None, Some(ready)) => ready.installed.stage2(),
            (None, None) => unreachable!("without a name everything is set up"),
        };
        let of_stage2 = elf::libraries(&stage2, &more)?;
        libraries.own.extend(of_stage2.own);
        libraries.own.insert(stage2);
        libraries.system.extend(of_stage2.system);
    }
    let name = program.file_name().unwrap_or(OsStr::new("program")).to_owned();
    let folder = request.output.unwrap_or_else(|| {
        let mut folder = name.clone();
        folder.push("-bundle");
        folder.into()
    });
    let text = collect(&program, &name, &libraries, &folder, &devices)?;
    hcf::to_stdout(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn parse(words: &[OsString]) -> Result<Request> {
    let (targets, words) = targets::take(words)?;
    let mut request =
        Request { program: None, output: None, jit: false, targets, build: Vec::new() };
    let misused = |error| arguments::misused("bundle", error);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next().map_err(misused)? {
        match argument {
            Long("jit") => request.jit = true,
            Short('o') | Long("output") => {
                request.output = Some(parser.value().map_err(misused)?.into());
            }
            Value(program) if request.program.is_none() => request.program = Some(program.into()),
            Value(other) => {
                return Err(Error::Usage(format!(
                    "`bundle` takes one program, and got `{}` too",
                    other.display()
                )));
            }
            option => {
                let option = arguments::written(&option);
                arguments::pass_on(&mut parser, option, &mut request.build).map_err(misused)?;
            }
        }
    }
    if let (Some(program), true) = (
        &request.program,
        !request.build.is_empty() || request.targets != targets::TargetsOption::Unsaid,
    ) {
        return Err(Error::Usage(format!(
            "`bundle` takes `{}` as it is, so cargo builds nothing: leave out its options and `--targets`",
            program.display()
        )));
    }
    Ok(request)
}

/// Where cargo puts libraries that a program of its needs.
fn around(program: &Path, more: &[PathBuf]) -> Vec<PathBuf> {
    let folder = program.parent().unwrap_or(Path::new("."));
    let above = folder.parent().unwrap_or(folder);
    let mut folders =
        vec![folder.to_owned(), folder.join("deps"), above.to_owned(), above.join("deps")];
    folders.extend(more.iter().cloned());
    folders
}

fn looks_in_bundle(program: &Path) -> Result<bool> {
    let folders = elf::needs(program)?.folders;
    let origin = Path::new("/origin");
    Ok(folders.iter().any(|folder| elf::expand(folder, origin) == origin.join(LIBRARIES)))
}

fn names(files: &BTreeSet<PathBuf>) -> String {
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    names.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(", ")
}

/// Which devices a program's kernels run on.
#[derive(Debug, Default)]
struct Devices {
    kernels: usize,
    /// How many kernels have code for each target.
    aot: BTreeMap<Target, usize>,
    jit: bool,
}

fn no_code() -> Error {
    Error::Usage(
        "the program has no code that was made ahead of time, so elsewhere its kernels would run on the device `native` only; say \
         what for, `cargo schism bundle --targets host,ptx:sm_80`, or take the compiler along, `cargo schism bundle --jit`"
            .to_owned(),
    )
}

impl Devices {
    fn of(program: &Path, jit: bool) -> Result<Self> {
        let contents = std::fs::read(program).at("read", program)?;
        let mut devices = Self { jit, ..Self::default() };
        for (_, record) in hcf::containers(&contents, program, None)? {
            devices.add(&record);
        }
        if devices.aot.is_empty() && !jit {
            return Err(no_code());
        }
        Ok(devices)
    }

    fn add(&mut self, record: &RecordRef<'_>) {
        for kernel in record.kernels() {
            self.kernels += 1;
            let images = kernel.images.iter().filter_map(|name| record.image(name));
            let targets: BTreeSet<Target> =
                images.filter_map(|image| image.code.as_ref()).map(|code| code.target).collect();
            for target in targets {
                *self.aot.entry(target).or_default() += 1;
            }
        }
    }

    fn text(&self) -> String {
        let mut text = "runs on\n".to_owned();
        let mut line = |device: &str, where_to: String| {
            let _ = writeln!(text, "  {device:<8}{where_to}");
        };
        for (&target, &kernels) in &self.aot {
            let partly = match self.kernels - kernels {
                0 => String::new(),
                missing => format!("; {missing} of {} kernels have no code for it", self.kernels),
            };
            line(target.device(), format!("{}{partly}", target.hardware()));
        }
        if self.jit {
            line("cpu", "every x86-64 processor, by the compiler in the bundle".to_owned());
            line(
                "cuda",
                format!(
                    "GPUs of compute capability {LEAST_GPU} or higher, by the compiler in the bundle"
                ),
            );
        }
        line("native", "where nothing else does, the host's own code, with a warning".to_owned());
        text
    }
}

/// Copies everything, and says what and how much.
fn collect(
    program: &Path,
    name: &OsStr,
    libraries: &Libraries,
    folder: &Path,
    devices: &Devices,
) -> Result<String> {
    check_folder(folder, name)?;
    std::fs::create_dir_all(folder).at("create", folder)?;
    let within = folder.join(LIBRARIES);
    if within.exists() {
        std::fs::remove_dir_all(&within).at("remove", &within)?;
    }
    let mut files = vec![(program.to_owned(), folder.join(name))];
    if !libraries.own.is_empty() {
        std::fs::create_dir_all(&within).at("create", &within)?;
        let file =
            |path: &PathBuf| (path.clone(), within.join(path.file_name().unwrap_or_default()));
        files.extend(libraries.own.iter().map(file));
    }
    let (mut text, mut total) = (String::new(), 0);
    for (from, to) in &files {
        // One that is being run cannot be written over.
        if to.exists() {
            std::fs::remove_file(to).at("remove", to)?;
        }
        let bytes = std::fs::copy(from, to).at("write", to)?;
        total += bytes;
        let _ = writeln!(text, "{:>10}  {}", in_words(bytes), to.display());
    }
    let _ = writeln!(text, "{:>10}  in all", in_words(total));
    let system: Vec<&str> = libraries.system.iter().map(String::as_str).collect();
    let _ = writeln!(text, "needs of the system {}", system.join(", "));
    let needs = |device| devices.aot.keys().any(|target| target.device() == device);
    if needs("cuda") || devices.jit {
        text.push_str("GPUs need NVIDIA's driver, which comes with the system\n");
    }
    if needs("hip") {
        text.push_str("AMD GPUs need HIP, libamdhip64.so, which comes with the system\n");
    }
    if needs("opencl") {
        text.push_str(
            "OpenCL's devices need its loader, libOpenCL.so.1, which comes with the system\n",
        );
    }
    Ok(text + &devices.text())
}

/// A bundle replaces an earlier one of the same program, and nothing else.
fn check_folder(folder: &Path, name: &OsStr) -> Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("read", folder),
    };
    for entry in entries {
        let entry = entry.at("read", folder)?.file_name();
        if entry != name && entry != LIBRARIES {
            return Err(Error::Usage(format!(
                "{} has something else in it, `{}`; name a new folder with `-o`",
                folder.display(),
                entry.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use schism_hcf::{Code, Container, Image, Kernel};

    use super::*;
    use crate::scratch::Scratch;

    fn ask(line: &str) -> std::result::Result<Request, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn requests() {
        let request = ask("--example saxpy --release --targets host -o out --jit").unwrap();
        assert_eq!(
            (request.output, request.jit, request.build.len()),
            (Some("out".into()), true, 3)
        );
        assert_eq!(ask("program").unwrap().program, Some("program".into()));
        for (line, says) in [
            ("a b", "got `b` too"),
            ("a --release", "leave out its options"),
            ("a --targets host", "leave out its options"),
            ("-o", "needs a value"),
            ("--targets ptx:banana", "no processor `banana`"),
        ] {
            let error = ask(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    fn program(folder: &Path, targets: &[&str]) -> PathBuf {
        let mut images =
            vec![Image { name: "ir".into(), format: "llvm-ir".into(), ..Image::default() }];
        for name in targets {
            let target: Target = name.parse().unwrap();
            let code = Code {
                target,
                interface: 1,
                entry: "k".into(),
                flags: 0,
                assumptions: 0,
                block: [0; 3],
                aligned: 0,
                narrow: 0,
                needs: 0,
                stack: None,
            };
            let format = target.format().to_owned();
            images.push(Image {
                name: (*name).into(),
                format,
                code: Some(code),
                ..Image::default()
            });
        }
        let kernel = |name: &str, images: Vec<String>| Kernel {
            name: name.into(),
            dimensions: 1,
            closure_align: 1,
            images,
            ..Kernel::default()
        };
        let all = images.iter().map(|image| image.name.clone()).collect();
        let kernels = vec![kernel("one", all), kernel("other", vec!["ir".into()])];
        let path = folder.join("program");
        std::fs::write(
            &path,
            Container { images, kernels, ..Container::default() }.to_record().unwrap(),
        )
        .unwrap();
        path
    }

    #[test]
    fn the_devices_are_told() {
        let scratch = Scratch::new("bundle-devices");
        let path = program(scratch.path(), &["host:x86-64-v3", "ptx:sm_80", "ptx:sm_90a"]);
        let text = Devices::of(&path, true).unwrap().text();
        for says in [
            "cpu     processors with x86-64-v3; 1 of 2 kernels have no code for it\n",
            "cuda    GPUs of compute capability 8.0 or higher (ptx:sm_80); 1 of 2",
            "9.0, no others (ptx:sm_90a)",
            "by the compiler in the bundle",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        let path = program(scratch.path(), &[]);
        let error = Devices::of(&path, false).unwrap_err().to_string();
        assert!(error.contains("--targets host,ptx:sm_80") && error.contains("--jit"), "{error}");
        assert!(Devices::of(&path, true).is_ok());
    }

    #[test]
    fn a_bundle_replaces_only_a_bundle() {
        let scratch = Scratch::new("bundle-folder");
        let path = program(scratch.path(), &["host:x86-64"]);
        let library = scratch.path().join("libx.so");
        std::fs::write(&library, "x").unwrap();
        let libraries =
            Libraries { own: [library].into(), system: ["libc.so.6".to_owned()].into() };
        let devices = Devices::of(&path, false).unwrap();
        let folder = scratch.path().join("out");
        let name = OsStr::new("program");
        for _ in 0..2 {
            let text = collect(&path, name, &libraries, &folder, &devices).unwrap();
            assert!(
                text.contains("in all") && text.contains("needs of the system libc.so.6"),
                "{text}"
            );
            assert!(folder.join("program").is_file() && folder.join("lib/libx.so").is_file());
        }
        // A library that is not needed any more goes.
        collect(&path, name, &Libraries::default(), &folder, &devices).unwrap();
        assert!(!folder.join("lib").exists());
        std::fs::write(folder.join("mine"), "").unwrap();
        let error = collect(&path, name, &libraries, &folder, &devices).unwrap_err().to_string();
        assert!(error.contains("has something else in it, `mine`"), "{error}");
    }
}
