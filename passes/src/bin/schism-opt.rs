//! `schism-opt`: runs passes over a file of LLVM IR.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};
use schism_passes::opt::{self, OptError};
use schism_passes::pipeline::{self, Step};
use schism_passes::registry;

const USAGE: &str = "\
Runs passes over a file of LLVM assembly or bitcode.

USAGE: schism-opt -p PASS,PASS,... [OPTIONS] FILE

  -p, --passes LIST   passes and pipelines (stage1, cpu, ptx and so on), in this order; see --list
  -o, --output FILE   where to write (default: stdout)
      --emit-bc       write bitcode instead of assembly
      --emit-asm      write the assembly of the processor that the module's triple names
      --spec LINE     tell the passes what stage 1 would tell them, as a comment `; SPEC LINE` in the file does:
                        kernel: NAME ENTRY SIZE ALIGN
                        param: OFFSET SIZE ALIGN integer|float|bytes|pointer|reference
                        panic: SYMBOL text|arguments|\"MESSAGE\" [located]
                        constant: SYMBOL VALUE
                        target: TRIPLE
                        part: KERNEL...
                        constant-function: SYMBOL VALUE
                        spec-constant: SYMBOL SIZE ALIGN HEXADECIMAL
                        constant-value: SYMBOL HEXADECIMAL
                        fast-math: relaxed|finite
                        lanes: REGISTER-BITS [COUNT]
                        warnings: off|on|perf
      --list          list the pipelines and the passes
  FILE                `-` is stdin

LLVM's verifier runs after each pass. What a pass refuses is printed to stderr, and the exit status is 1.

`-p cpu` and `-p ptx` run the passes of stage 2, schism's and LLVM's, over an image. The steps that need a launch (the entry, the
builtins) are left out: what they do is shown with SCHISM_DUMP_DIR where a program runs.

ENVIRONMENT:
  SCHISM_PRINT_AFTER=NAME,...     print the module to stderr after these steps (`all`: after each)
  SCHISM_DISABLE_PASSES=NAME,...  leave out these passes, which must be optional
";

/// How passes are run.
#[derive(Default)]
struct Options {
    output: Option<PathBuf>,
    bitcode: bool,
    assembly: bool,
    spec: Vec<String>,
}

/// What is to be done.
enum Request {
    Help,
    List,
    Run { passes: String, input: PathBuf, options: Options },
}

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Ok(Request::Help) => print!("{USAGE}"),
        Ok(Request::List) => list(),
        Ok(Request::Run { passes, input, options }) => {
            if let Err(message) = run(&passes, &input, &options) {
                eprintln!("error: {message}");
                return ExitCode::FAILURE;
            }
        }
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn parse(mut parser: lexopt::Parser) -> Result<Request, lexopt::Error> {
    let (mut passes, mut input, mut options) = (None, None, Options::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Request::Help),
            Long("list") => return Ok(Request::List),
            Short('p') | Long("passes") => {
                passes = Some(parser.value()?.to_string_lossy().into_owned());
            }
            Short('o') | Long("output") => options.output = Some(parser.value()?.into()),
            Long("spec") => options.spec.push(parser.value()?.to_string_lossy().into_owned()),
            Long("emit-bc") => options.bitcode = true,
            Long("emit-asm") => options.assembly = true,
            Value(file) if input.is_none() => input = Some(file.into()),
            Value(other) => {
                let message = format!("one file at a time, and got `{}` too", other.display());
                return Err(message.into());
            }
            option => return Err(option.unexpected()),
        }
    }
    let passes = passes.ok_or("`-p` says which passes to run")?;
    let input = input.ok_or("no file is given")?;
    Ok(Request::Run { passes, input, options })
}

fn run(passes: &str, input: &Path, options: &Options) -> Result<(), String> {
    let failed = |what: &str, path: &Path, error: std::io::Error| {
        format!("cannot {what} {}: {error}", path.display())
    };
    // Before anything is read: a wrong name is told first, even if the module is read from a
    // terminal.
    pipeline::resolve(passes).map_err(|error| OptError::from(error).to_string())?;
    let contents = if input == Path::new("-") {
        let mut contents = Vec::new();
        std::io::stdin().read_to_end(&mut contents).map(|_| contents)
    } else {
        std::fs::read(input)
    }
    .map_err(|error| failed("read", input, error))?;
    let mut module = opt::read(&contents, &options.spec).map_err(|error| error.to_string())?;
    module.options =
        pipeline::options(|name| std::env::var(name).ok()).map_err(|error| error.to_string())?;
    let result = if options.bitcode {
        opt::run_to_bitcode(&module, passes)
    } else if options.assembly {
        opt::run_to_assembly(&module, passes).map(String::into_bytes)
    } else {
        opt::run(&module, passes).map(String::into_bytes)
    };
    let bytes = result.map_err(|error| format!("{}: {error}", input.display()))?;
    match &options.output {
        Some(path) => std::fs::write(path, bytes).map_err(|error| failed("write", path, error)),
        None => std::io::stdout()
            .write_all(&bytes)
            .map_err(|error| failed("write", Path::new("stdout"), error)),
    }
}

fn list() {
    println!("Pipelines (`-p stage1`); steps in parentheses run only in stage 2:");
    for (name, steps) in pipeline::PIPELINES {
        println!("  {name}");
        steps.iter().for_each(|step| list_step(step, 4));
    }
    println!("Passes (those with `*` are optional):");
    for pass in registry::PASSES {
        let optional = if pass.optional { '*' } else { ' ' };
        println!(" {optional}{:<24} {}", pass.name, pass.about);
    }
}

fn list_step(step: &Step, indent: usize) {
    match step {
        Step::Target(step) => println!("{:indent$}({step})", ""),
        Step::Pass(name) => println!("{:indent$}{name}", ""),
        Step::Llvm(llvm) => println!("{:indent$}{}: {}", "", llvm.name, llvm.passes),
        Step::Group(steps) => steps.iter().for_each(|step| list_step(step, indent)),
        Step::IfPanics(steps) => {
            println!("{:indent$}if the module has panics:", "");
            steps.iter().for_each(|step| list_step(step, indent + 2));
        }
    }
}
