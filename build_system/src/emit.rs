//! `cargo schism emit`: what kernels become, as text.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use cargo_metadata::Message;
use lexopt::Arg::{Long, Short, Value};
use schism_hcf::{
    AMD_PROCESSORS, AmdProcessor, KernelRef, Level, PROCESSORS, Processor, RecordRef,
};
use schism_jit_abi::library::{CompileRequest, LaunchAssumptions, Stage2};
use schism_jit_abi::ptxas::Ptxas;
use schism_jit_abi::variables::DUMP_DIR;
use schism_jit_abi::{ASSUME_DIVISIBLE, ASSUME_INDEX_32, FLAG_PORTABLE_MATH};
use tempfile::TempDir;

use crate::arguments;
use crate::cargo;
use crate::command;
use crate::emit_kind::{KINDS, OF_FILE, What};
use crate::error::{Error, FileContext, Result};
use crate::group_size::GroupSize;
use crate::hcf;
use crate::home::Home;
use crate::publish;
use crate::setup;
use crate::stage2;
use crate::targets::{self, TargetsOption};
use crate::variables;

/// The processor that PTX is for, unless another one is named: one whose code all newer ones run.
const PROCESSOR: &str = "sm_80";

/// The same for AMD's GPUs; code for one of these runs on no other.
const AMD_PROCESSOR: &str = "gfx90a";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    what: What,
    /// A program, library or container; without it, what cargo builds.
    file: Option<PathBuf>,
    /// Only kernels with this in their name.
    kernel: Option<String>,
    /// The processor to make code for, if one is named.
    processor: Option<String>,
    /// The groups of the launch that the code is for, if they are said.
    group: Option<GroupSize>,
    output: Option<PathBuf>,
    /// For cargo.
    build: Vec<OsString>,
}

/// Runs the verb.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let request = parse(arguments)?;
    let named = std::env::var_os(variables::JIT).map(PathBuf::from);
    let (file, library) = match (&request.file, named) {
        (Some(file), Some(library)) => (file.clone(), library),
        (file, named) => {
            let ready = setup::ensure(&Home::from_environment()?)?;
            let file = match file {
                Some(file) => file.clone(),
                None => {
                    let mut cargo = cargo::command(&ready);
                    targets::apply(&mut cargo, &TargetsOption::Unsaid, &request.build)?;
                    build(cargo, &request.build, &[])?
                }
            };
            (file, named.unwrap_or_else(|| ready.installed.stage2()))
        }
    };
    let contents = std::fs::read(&file).at("read", &file)?;
    let found = hcf::containers(&contents, &file, None)?;
    let dumps = dump_folder(request.what)?;
    let stage2 =
        stage2::open(&library).map_err(|problem| Error::Container { path: library, problem })?;

    let mut kernels = Vec::new();
    let mut seen = Vec::new();
    for (_, record) in &found {
        // One crate linked in several ways has the same record several times.
        if !seen.contains(&record.object_id()) {
            seen.push(record.object_id());
            kernels.extend(record.kernels().iter().map(|kernel| (record, kernel)));
        }
    }
    let wanted = select(&kernels, request.kernel.as_deref(), &file)?;
    let place = Output::of(&request, wanted.len())?;
    let links = exporting(&found);
    let mut made = Vec::new();
    let mut failures = Vec::new();
    for (record, kernel) in wanted {
        let job = Job { stage2, record, kernel, file: &file, links: &links };
        match job.emit(&request, dumps.as_ref().map(TempDir::path)) {
            Ok(code) => {
                let Some(mark) = request.what.comment() else {
                    made.push((kernel.name.to_string(), code));
                    continue;
                };
                let mut text = format!("{mark} {}\n", kernel.display_name);
                if let Some(group) = &request.group {
                    let begins = if request.what == What::Remarks { " " } else { mark };
                    text += &format!("{begins} {}\n", about_launch(request.what, kernel, group));
                }
                text += &format!("{}\n", String::from_utf8_lossy(&code).trim_end());
                made.push((kernel.name.to_string(), text.into_bytes()));
            }
            // The others may still be had.
            Err(Error::Container { problem, .. }) => {
                failures.push(format!("`{}`: {problem}", kernel.display_name));
            }
            Err(other) => return Err(other),
        }
    }
    if !made.is_empty() {
        place.write(&made, request.what)?;
    }
    if failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let (failed, all) = (failures.len(), failures.len() + made.len());
    let problem = format!(
        "{failed} of {all} kernel(s) cannot become {}:\n  {}",
        request.what.name(),
        failures.join("\n  ")
    );
    Err(Error::Container { path: file, problem })
}

/// The images from which kernels of other containers may have functions: those that export more
/// than kernels. Only what a kernel imports is taken out of them.
fn exporting<'a>(found: &'a [(Option<String>, RecordRef<'a>)]) -> Vec<&'a [u8]> {
    let mut seen = Vec::new();
    let mut links = Vec::new();
    for (_, record) in found {
        if seen.contains(&record.object_id()) {
            continue;
        }
        seen.push(record.object_id());
        let is_kernel = |symbol: &str| {
            record.kernels().iter().any(|kernel| {
                kernel.name == symbol || kernel.offset_variant.as_deref() == Some(symbol)
            })
        };
        let exports = record.images().iter().filter(|image| {
            image.code.is_none() && image.exported_symbols.iter().any(|name| !is_kernel(name))
        });
        links.extend(exports.map(|image| image.data));
    }
    links
}

/// A kernel, and the container that it is in.
type Found<'a> = (&'a RecordRef<'a>, &'a KernelRef<'a>);

/// The kernels with a text in their names; all of them without one.
fn select<'a>(kernels: &[Found<'a>], part: Option<&str>, file: &Path) -> Result<Vec<Found<'a>>> {
    let problem = |problem: String| Err(Error::Container { path: file.to_owned(), problem });
    if kernels.is_empty() {
        return problem("its containers have no kernels".to_owned());
    }
    let Some(part) = part else { return Ok(kernels.to_vec()) };
    let has =
        |kernel: &KernelRef<'_>| kernel.name.contains(part) || kernel.display_name.contains(part);
    let chosen: Vec<_> = kernels.iter().copied().filter(|(_, kernel)| has(kernel)).collect();
    if chosen.is_empty() {
        let mut names: Vec<&str> =
            kernels.iter().map(|(_, kernel)| kernel.display_name.as_ref()).collect();
        names.sort_unstable();
        return problem(format!(
            "no kernel's name has `{part}` in it; there are:\n  {}",
            names.join("\n  ")
        ));
    }
    Ok(chosen)
}

/// Where code goes.
#[derive(Debug, PartialEq, Eq)]
enum Output {
    /// To people, one kernel after the other.
    Stdout,
    /// A file, which is one module and so has one kernel.
    File(PathBuf),
    /// A folder with a file for each kernel.
    Folder(PathBuf),
}

impl Output {
    fn of(request: &Request, kernels: usize) -> Result<Self> {
        let Some(output) = request.output.as_ref().filter(|output| *output != Path::new("-"))
        else {
            if request.what.comment().is_none() && kernels > 1 {
                let kind = request.what.name();
                return Err(Error::Usage(format!(
                    "these are {kernels} kernels, and each becomes its own binary module: name a kernel with `--kernel`, or a \
                     folder: `emit {kind} … -o FOLDER/`"
                )));
            }
            return Ok(Self::Stdout);
        };
        let place = hcf::absolute(output)?;
        let ends_with_slash = output.as_os_str().as_encoded_bytes().ends_with(b"/");
        if ends_with_slash || place.is_dir() {
            return Ok(Self::Folder(place));
        }
        if kernels > 1 {
            let (kind, output) = (request.what.name(), output.display());
            return Err(Error::Usage(format!(
                "these are {kernels} kernels, each becomes its own module, and a file is one module: name a kernel with `--kernel`, \
                 or a folder, for a file each: `emit {kind} … -o {output}/`"
            )));
        }
        Ok(Self::File(place))
    }

    /// Writes code, each with its kernel's name.
    fn write(&self, made: &[(String, Vec<u8>)], what: What) -> Result<()> {
        match self {
            Self::Stdout => {
                let texts: Vec<&[u8]> = made.iter().map(|(_, text)| text.as_slice()).collect();
                let mut all = texts.join(&b'\n');
                if what.comment().is_some() {
                    all.push(b'\n');
                }
                hcf::to_stdout(&all)
            }
            Self::File(path) => {
                made.iter().try_for_each(|(_, text)| publish::write_file(path, text))
            }
            Self::Folder(folder) => {
                std::fs::create_dir_all(folder).at("create", folder)?;
                let mut names: Vec<&str> = Vec::new();
                for (name, text) in made {
                    // Two builds of a crate in one program have kernels of the same names.
                    let number = names.iter().filter(|known| *known == name).count() + 1;
                    names.push(name);
                    let stem = if number > 1 { format!("{name}-{number}") } else { name.clone() };
                    let path = folder.join(format!("{stem}.{}", what.extension()));
                    publish::write_file(&path, text)?;
                }
                Ok(())
            }
        }
    }
}

/// `cargo schism explain`: `emit remarks`.
pub fn explain(arguments: &[OsString]) -> Result<ExitCode> {
    let mut all = vec![OsString::from(What::Remarks.name())];
    all.extend(arguments.iter().cloned());
    run(&all)
}

/// `cargo schism llvm-to-ptx` and the like: the same for a file, as one of stage 2's targets by
/// itself. The file may have containers, or be a container.
pub fn of_file(verb: &str, arguments: &[OsString]) -> Result<ExitCode> {
    let kind = OF_FILE.iter().find(|(known, _)| *known == verb);
    let (_, kind) = kind.expect("it is one of these verbs");
    let mut all = vec![OsString::from(kind)];
    all.extend(arguments.iter().cloned());
    let request = parse(&all)?;
    if request.file.is_none() {
        return Err(Error::Usage(format!(
            "`{verb}` needs a file with kernels: a program, a library, an object or a container"
        )));
    }
    run(&all)
}

fn parse(arguments: &[OsString]) -> Result<Request> {
    let usage = |text: String| Err(Error::Usage(text));
    let kinds = KINDS.map(|(name, _)| name).join(", ");
    let mut rest = arguments.iter();
    let Some(what) = rest.next() else {
        return usage(format!("`emit` needs to know what: {kinds}"));
    };
    let Some((_, what)) = KINDS.iter().find(|(name, _)| what == name) else {
        return usage(format!("`emit` cannot write `{}`, but {kinds}", what.display()));
    };
    let mut request = Request {
        what: *what,
        file: None,
        kernel: None,
        processor: None,
        group: None,
        output: None,
        build: Vec::new(),
    };
    let misused = |error| arguments::misused("emit", error);
    let mut parser = lexopt::Parser::from_args(rest);
    while let Some(argument) = parser.next().map_err(misused)? {
        match argument {
            Long("kernel") => {
                let value = parser.value().map_err(misused)?;
                request.kernel = Some(value.to_string_lossy().into_owned());
            }
            Long("arch") => {
                let processor = parser.value().map_err(misused)?.to_string_lossy().into_owned();
                check_processor(request.what, &processor)?;
                request.processor = Some(processor);
            }
            Long("group") => {
                let size = parser.value().map_err(misused)?;
                let size = size.to_string_lossy().parse();
                request.group =
                    Some(size.map_err(|error| Error::Usage(format!("`--group`: {error}")))?);
            }
            Short('o') | Long("output") => {
                request.output = Some(parser.value().map_err(misused)?.into());
            }
            Value(file) if request.file.is_none() => request.file = Some(file.into()),
            Value(other) => {
                return usage(format!(
                    "`emit` looks at one file, and got `{}` too",
                    other.display()
                ));
            }
            option => {
                let option = arguments::written(&option);
                arguments::pass_on(&mut parser, option, &mut request.build).map_err(misused)?;
            }
        }
    }
    if let (Some(file), Some(option)) = (&request.file, request.build.first()) {
        return usage(format!(
            "`emit` looks at `{}`, so cargo builds nothing: leave out `{}`",
            file.display(),
            option.display()
        ));
    }
    Ok(request)
}

/// Whether there is such a processor among those that this kind of code is for.
fn check_processor(what: What, processor: &str) -> Result<()> {
    let kind = what.name();
    let (is_known, known): (bool, Vec<&str>) = match what {
        What::DeviceIr | What::Spirv => {
            return Err(Error::Usage(format!(
                "`emit {kind}` is the same for all processors: leave out `--arch`"
            )));
        }
        What::AmdAssembly | What::CodeObject => {
            (processor.parse::<AmdProcessor>().is_ok(), AMD_PROCESSORS.to_vec())
        }
        What::Ptx | What::Sass => (processor.parse::<Processor>().is_ok(), PROCESSORS.to_vec()),
        What::Asm | What::Remarks => {
            (processor.parse::<Level>().is_ok(), Level::ALL.map(Level::as_str).to_vec())
        }
    };
    if is_known {
        return Ok(());
    }
    let nearest = arguments::suggestion(processor, known.iter().copied());
    Err(Error::Usage(format!(
        "`--arch`: there is no processor `{processor}` for `emit {kind}`{nearest}\nthere are: {}",
        known.join(", ")
    )))
}

/// Has cargo build one program, and says where it is. `extra` is for the compiler of that program
/// alone.
pub fn build(mut cargo: Command, arguments: &[OsString], extra: &[&str]) -> Result<PathBuf> {
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let verb = match (is_test, extra) {
        (true, _) => "test",
        (false, []) => "build",
        (false, _) => "rustc",
    };
    cargo.arg(verb).args(arguments).arg("--message-format=json-render-diagnostics");
    if verb == "test" {
        cargo.arg("--no-run");
    }
    if verb == "rustc" {
        cargo.arg("--").args(extra);
    }
    cargo.stdin(Stdio::null()).stderr(Stdio::inherit());
    let what = command::describe(&cargo);
    let output = cargo.output().map_err(|source| Error::Tool {
        tool: "cargo".to_owned(),
        purpose: "to build".to_owned(),
        hint: "Install the cargo that belongs to the compiler.".to_owned(),
        source,
    })?;
    if !output.status.success() {
        let detail = "; cargo's messages above say why".to_owned();
        return Err(Error::Failed { what, status: output.status, detail });
    }
    let programs = programs(&output.stdout);
    match &programs[..] {
        [program] => Ok(program.into()),
        [] => Err(Error::Usage(
            "cargo built no program; name one with `--example` or `--bin`, or a file".to_owned(),
        )),
        several => Err(Error::Usage(format!(
            "cargo built several programs; name one with `--example` or `--bin`:\n  {}",
            several.join("\n  ")
        ))),
    }
}

/// The programs that cargo's messages are about.
fn programs(messages: &[u8]) -> Vec<String> {
    // A line that is no message is what a build script or a test says.
    let artifacts = Message::parse_stream(messages).filter_map(|message| match message {
        Ok(Message::CompilerArtifact(artifact)) => artifact.executable,
        _ => None,
    });
    artifacts.map(String::from).collect()
}

/// A new folder, which goes when it is dropped.
fn scratch_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("schism-emit-").tempdir();
    folder.at("create a folder in", std::env::temp_dir())
}

/// A new folder for stage 2's steps, which it writes to from then on.
fn dump_folder(what: What) -> Result<Option<TempDir>> {
    if !matches!(what, What::DeviceIr | What::Asm | What::Remarks) {
        return Ok(None);
    }
    let folder = scratch_folder()?;
    // SAFETY: this program has one thread: stage 2 is called after this.
    unsafe { std::env::set_var(DUMP_DIR, folder.path()) };
    Ok(Some(folder))
}

/// A kernel to show.
struct Job<'a> {
    stage2: Stage2,
    record: &'a RecordRef<'a>,
    kernel: &'a KernelRef<'a>,
    file: &'a Path,
    /// The images of the file that export functions.
    links: &'a [&'a [u8]],
}

impl Job<'_> {
    fn emit(&self, request: &Request, dumps: Option<&Path>) -> Result<Vec<u8>> {
        let processor = request.processor.as_deref();
        let group = request.group.as_ref();
        if let Some(group) = group {
            self.check_group(group)?;
        }
        let text = match (request.what, dumps) {
            (What::Spirv, _) => {
                let made = self.stage2.compile_spirv(self.wanted(0)?);
                return Ok(made.map_err(|refused| self.problem(refused.reason))?.code);
            }
            (What::AmdAssembly | What::CodeObject, _) => {
                return self.amd(request.what, processor.unwrap_or(AMD_PROCESSOR), group);
            }
            (What::DeviceIr, Some(dumps)) => self.step(dumps, ".1-image.ll", "", None),
            (What::Asm, Some(dumps)) => {
                self.step(dumps, ".s", processor.unwrap_or_default(), group)
            }
            (What::Remarks, Some(dumps)) => {
                let text = self.step(dumps, ".remarks", processor.unwrap_or_default(), group)?;
                Ok(indented(&text))
            }
            (What::Sass, _) => {
                let processor = processor.unwrap_or(PROCESSOR);
                sass(&self.ptx(processor, group)?, processor)
            }
            _ => self.ptx(processor.unwrap_or(PROCESSOR), group),
        };
        text.map(String::into_bytes)
    }

    fn problem(&self, problem: String) -> Error {
        Error::Container { path: self.file.to_owned(), problem }
    }

    /// Whether the kernel can be launched in such groups.
    fn check_group(&self, group: &GroupSize) -> Result<()> {
        let (has, given) = (self.kernel.dimensions as usize, group.dimensions());
        if has == given {
            return Ok(());
        }
        Err(self.problem(format!(
            "its range has {has} dimension(s), and groups of {group} have {given}; `--group` takes a number \
             for each dimension, as the launch does"
        )))
    }

    fn image(&self) -> Result<&[u8]> {
        let image = self.record.generic_ir(self.kernel, false);
        let none = || self.problem(format!("no LLVM IR of `{}`", self.kernel.display_name));
        Ok(image.ok_or_else(none)?.data)
    }

    /// What stage 2 is asked for.
    fn wanted(&self, flags: u32) -> Result<CompileRequest<'_>> {
        Ok(CompileRequest { image: self.image()?, kernel: self.kernel, flags, links: self.links })
    }

    fn ptx(&self, processor: &str, group: Option<&GroupSize>) -> Result<String> {
        let assumptions = group.map_or_else(Default::default, |group| assumed(self.kernel, group));
        let made = self.stage2.compile_ptx(self.wanted(0)?, processor, assumptions);
        let made = made.map_err(|refused| self.problem(refused.reason))?;
        Ok(String::from_utf8_lossy(&made.code).into_owned())
    }

    fn amd(&self, what: What, processor: &str, group: Option<&GroupSize>) -> Result<Vec<u8>> {
        let assumptions = group.map_or_else(Default::default, |group| assumed(self.kernel, group));
        let wanted = self.wanted(0)?;
        let made = match what {
            What::CodeObject => self.stage2.compile_code_object(wanted, processor, assumptions),
            _ => self.stage2.compile_amd_assembly(wanted, processor, assumptions),
        };
        Ok(made.map_err(|refused| self.problem(refused.reason))?.code)
    }

    /// Compiles for the CPU, this one or one of the named level, and takes one of the steps that
    /// stage 2 has written. Only kernels with groups have code for groups of a size.
    fn step(
        &self,
        dumps: &Path,
        suffix: &str,
        processor: &str,
        group: Option<&GroupSize>,
    ) -> Result<String> {
        let group = group.filter(|_| self.kernel.groups.is_some());
        let group = group.map_or([0; 3], GroupSize::xyz);
        let made = self.stage2.compile_cpu(self.wanted(cpu_flags())?, processor, group);
        let mut text = None;
        for entry in std::fs::read_dir(dumps).at("read", dumps)? {
            let path = entry.at("read", dumps)?.path();
            if path.as_os_str().as_encoded_bytes().ends_with(suffix.as_bytes()) {
                text = Some(std::fs::read_to_string(&path).at("read", &path)?);
            }
            // Each kernel's steps are there alone, also those of one that goes no further.
            std::fs::remove_file(&path).at("remove", &path)?;
        }
        made.map_err(|refused| self.problem(refused.reason))?;
        text.ok_or_else(|| {
            self.problem(format!("stage 2 wrote no `{suffix}` to {}", dumps.display()))
        })
    }
}

/// What the runtime knows of a launch in groups of this size when it asks stage 2 for PTX, as far
/// as the size says it: the range is small, and groups divide it. A launch without groups has
/// blocks of this size, which need not divide its range.
fn assumed(kernel: &KernelRef<'_>, group: &GroupSize) -> LaunchAssumptions {
    let divisible = if kernel.groups.is_some() { ASSUME_DIVISIBLE } else { 0 };
    LaunchAssumptions {
        flags: ASSUME_INDEX_32 | divisible,
        block: group.xyz(),
        ..LaunchAssumptions::default()
    }
}

/// What passes say of a kernel, without the name of its function: each kernel has one.
fn indented(remarks: &str) -> String {
    let mut lines: Vec<String> = remarks
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| format!("  {}", line.strip_prefix("schism.loop: ").unwrap_or(line)))
        .collect();
    if lines.is_empty() {
        lines.push("  no loop over work-items: they run one after the other".to_owned());
    }
    lines.join("\n")
}

/// The flags of a request for the CPU's code, as programs make it by default.
fn cpu_flags() -> u32 {
    let is_host = std::env::var_os(variables::CPU_MATH).is_some_and(|library| library == "host");
    if is_host { 0 } else { FLAG_PORTABLE_MATH }
}

/// What the size of groups means to the code, in a line for its reader. The trace describes a
/// launch's version by the same words.
fn about_launch(what: What, kernel: &KernelRef<'_>, group: &GroupSize) -> String {
    let block = match group.xyz() {
        [x, 1, 1] => x.to_string(),
        [x, y, z] => format!("{x}x{y}x{z}"),
    };
    match (what, kernel.groups) {
        (What::DeviceIr, _) => "the image is the same for groups of all sizes".to_owned(),
        (What::Spirv, _) => "SPIR-V is the same for groups of all sizes".to_owned(),
        (What::Asm | What::Remarks, Some(_)) => format!("launched in groups of {group}"),
        (What::Asm | What::Remarks, None) => {
            "the kernel takes no groups: a processor's code does not depend on their size"
                .to_owned()
        }
        (What::Ptx | What::Sass | What::AmdAssembly | What::CodeObject, Some(_)) => format!(
            "launched in groups of {group}: index=32 divisible block={block}; captures may be anything"
        ),
        (What::Ptx | What::Sass | What::AmdAssembly | What::CodeObject, None) => format!(
            "the kernel takes no groups: launched in blocks of {group} that need not divide the range: \
             index=32 block={block}; captures may be anything"
        ),
    }
}

/// Assembles PTX, and disassembles what comes out.
fn sass(ptx: &str, processor: &str) -> Result<String> {
    let ptxas = Ptxas::find().map_err(|error| Error::Usage(error.to_string()))?;
    let disassembler = tool("nvdisasm", variables::NVDISASM)?;
    let folder = scratch_folder()?;
    let code = folder.path().join("kernel.cubin");
    let assembled = ptxas.assemble(ptx.as_bytes(), processor);
    let assembled = assembled.map_err(|error| Error::Usage(error.to_string()))?;
    std::fs::write(&code, assembled).at("write", &code)?;
    let mut disassemble = Command::new(disassembler);
    disassemble.arg(&code);
    command::capture(disassemble, "to show machine code", "It comes with CUDA.")
}

/// A program of CUDA's: the file that a variable names, or else in the `PATH`, in `CUDA_HOME` or in
/// `/usr/local/cuda`.
fn tool(name: &str, variable: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cuda = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    let cuda = cuda.into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    std::env::split_paths(&path)
        .chain(cuda.map(|folder| folder.join("bin")))
        .map(|folder| folder.join(OsStr::new(name)))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            Error::Usage(format!(
                "there is no `{name}` in PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; \
                 install CUDA's tools, or name the file in {variable}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> std::result::Result<Request, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_for_a_file_or_for_cargo() {
        let request = ask("ptx program --arch sm_90 --kernel saxpy -o out.ptx").unwrap();
        assert_eq!(request.what, What::Ptx);
        assert_eq!(request.file.as_deref(), Some(Path::new("program")));
        assert_eq!(
            (request.processor.as_deref(), request.kernel.as_deref()),
            (Some("sm_90"), Some("saxpy"))
        );
        let request = ask("ptx program --group 8x32").unwrap();
        assert_eq!(request.group.map(|group| group.xyz()), Some([32, 8, 1]));
        let request = ask("asm --example saxpy --release").unwrap();
        assert_eq!((request.file, request.build.len()), (None, 3));
        for (line, says) in [
            ("", "device-ir, ptx, sass, asm, spirv, amdgcn, code-object"),
            ("wasm x", "cannot write `wasm`"),
            ("ptx a b", "got `b` too"),
            ("ptx a --release", "leave out `--release`"),
            ("ptx a --arch", "needs a value"),
            (
                "ptx a --arch banana",
                "no processor `banana` for `emit ptx`\nthere are: sm_70, sm_72",
            ),
            ("sass a --arch sm90", "no processor `sm90` for `emit sass`; did you mean `sm_90`?"),
            ("asm a --arch sm_80", "for `emit asm`\nthere are: x86-64, x86-64-v2"),
            ("asm a --arch x86_64-v3", "did you mean `x86-64-v3`?"),
            ("device-ir a --arch sm_80", "the same for all processors"),
            ("spirv a --arch sm_80", "`emit spirv` is the same for all processors"),
            ("amdgcn a --arch sm_80", "no processor `sm_80` for `emit amdgcn`"),
            ("code-object a --arch gfx1101", "did you mean `gfx1100`?\nthere are: gfx906, gfx90a"),
            ("ptx a --group", "needs a value"),
            ("ptx a --group 0", "`--group`: a group of 0 has no work-items"),
            ("asm a --group 64x32", "has 2048 work-items, and a GPU allows 1024"),
            ("ptx a --group 16,16", "`16,16` is no size of a group; write one number"),
        ] {
            let error = ask(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn a_file_has_one_kernel_and_a_folder_any_number() {
        let scratch = crate::scratch::Scratch::new("emit");
        let folder = scratch.path().display().to_string();
        let place = |output: &str, kernels: usize| {
            let request = ask(&format!("ptx program -o {output}")).unwrap();
            Output::of(&request, kernels).map_err(|error| error.to_string())
        };
        let file = format!("{folder}/out.ptx");
        assert_eq!(place("-", 7), Ok(Output::Stdout));
        assert_eq!(place(&file, 1), Ok(Output::File(file.clone().into())));
        assert_eq!(place(&folder, 7), Ok(Output::Folder(folder.clone().into())));
        assert_eq!(
            place(&format!("{folder}/new/"), 1),
            Ok(Output::Folder(format!("{folder}/new/").into()))
        );
        let error = place(&file, 7).unwrap_err();
        assert!(error.contains("these are 7 kernels") && error.contains("--kernel"), "{error}");
        assert!(error.contains(&format!("-o {file}/")), "{error}");
        // Binary modules are not concatenated.
        let spirv = |kernels| {
            Output::of(&ask("spirv program").unwrap(), kernels).map_err(|error| error.to_string())
        };
        assert_eq!(spirv(1), Ok(Output::Stdout));
        let error = spirv(2).unwrap_err();
        assert!(error.contains("these are 2 kernels") && error.contains("--kernel"), "{error}");
        let objects = Output::of(&ask("code-object program").unwrap(), 2).unwrap_err().to_string();
        assert!(objects.contains("emit code-object … -o FOLDER/"), "{objects}");
        // Kernels of one name have separate files.
        let made = ["one", "two"].map(|text| ("k".to_owned(), text.into()));
        Output::Folder(scratch.path().join("out")).write(&made, What::Asm).unwrap();
        let read = |name: &str| std::fs::read_to_string(scratch.path().join("out").join(name));
        assert_eq!((read("k.s").unwrap(), read("k-2.s").unwrap()), ("one".into(), "two".into()));
    }

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let artifact = |executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///a#0.1.0","manifest_path":"/a/Cargo.toml",
                "target":{{"kind":["bin"],"crate_types":["bin"],"name":"a","src_path":"/a/main.rs","edition":"2024","doc":true,
                "doctest":false,"test":true}},"profile":{{"opt_level":"0","debuginfo":2,"debug_assertions":true,
                "overflow_checks":true,"test":false}},"features":[],"filenames":[],"executable":{executable},"fresh":true}}"#
            )
            .replace('\n', "")
        };
        let program = artifact(r#""/a \"b\"/\u00e9\\x""#);
        let messages = [
            &artifact("null"),
            "words of a build script",
            &program,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        assert_eq!(programs(messages.join("\n").as_bytes()), ["/a \"b\"/é\\x"]);
    }
}
