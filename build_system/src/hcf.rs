//! `cargo schism hcf`: looks into the containers of a file.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};
use schism_hcf::{ImageRef, RecordRef, records, sections_of_file};

use crate::arguments;
use crate::error::{Error, FileContext, Result};
use crate::publish;

/// What is asked of a file.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    file: PathBuf,
    /// Only the record whose id starts so.
    object: Option<String>,
    action: Action,
}

#[derive(Debug, PartialEq, Eq)]
enum Action {
    Print,
    Verify,
    Extract { image: String, output: PathBuf },
}

/// Runs the verb.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let request = parse(arguments)?;
    let contents = std::fs::read(&request.file).at("read", &request.file)?;
    let found = containers(&contents, &request.file, request.object.as_deref())?;
    let text = match &request.action {
        Action::Print => print(&found),
        Action::Verify => {
            let kernels: usize = found.iter().map(|(_, record)| record.kernels().len()).sum();
            let images: usize = found.iter().map(|(_, record)| record.images().len()).sum();
            let path = request.file.display();
            format!(
                "{path}: {} container(s), {images} image(s), {kernels} kernel(s), all intact\n",
                found.len()
            )
        }
        Action::Extract { image, output } => {
            let data = select(&found, image, &request.file)?.data;
            if output == Path::new("-") {
                to_stdout(data)?;
            } else {
                publish::write_file(&absolute(output)?, data)?;
            }
            String::new()
        }
    };
    to_stdout(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn parse(words: &[OsString]) -> Result<Request> {
    let (mut file, mut image, mut output, mut object, mut verify) = (None, None, None, None, false);
    let mut parser = lexopt::Parser::from_args(words);
    let value = |parser: &mut lexopt::Parser, option: &str, what: &str| {
        let missing = |_| Error::Usage(format!("`hcf {option}` needs {what} after it"));
        parser.value().map_err(missing)
    };
    while let Some(argument) = parser.next().map_err(|error| arguments::misused("hcf", error))? {
        match argument {
            Long("verify") => verify = true,
            Long("extract") => {
                let name = value(&mut parser, "--extract", "an image's name")?;
                image = Some(name.to_string_lossy().into_owned());
            }
            Short('o') | Long("output") => {
                output = Some(PathBuf::from(value(&mut parser, "-o", "a file")?));
            }
            Long("object") => {
                let id = value(&mut parser, "--object", "the beginning of a container's id")?;
                object = Some(id.to_string_lossy().into_owned());
            }
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            Value(other) => {
                return Err(Error::Usage(format!(
                    "`hcf` looks at one file, and got `{}` too",
                    other.display()
                )));
            }
            option => return Err(arguments::misused("hcf", option.unexpected())),
        }
    }
    let file =
        file.ok_or_else(|| Error::Usage("`hcf` needs a file: cargo schism hcf FILE".to_owned()))?;
    let action = match (verify, image, output) {
        (false, None, None) => Action::Print,
        (true, None, None) => Action::Verify,
        (false, Some(image), Some(output)) => Action::Extract { image, output },
        (false, Some(_), None) => {
            return Err(Error::Usage(
                "`hcf --extract IMAGE` needs `-o OUT` (`-o -` is stdout)".to_owned(),
            ));
        }
        (false, None, Some(_)) => {
            return Err(Error::Usage("`hcf -o OUT` belongs to `--extract IMAGE`".to_owned()));
        }
        (true, ..) => {
            return Err(Error::Usage(
                "`hcf --verify` writes nothing: leave out `--extract` and `-o`".to_owned(),
            ));
        }
    };
    Ok(Request { file, object, action })
}

/// All records of a file whose ids start with `object`, each with the archive member it is in.
/// Damage anywhere is an error.
pub fn containers<'a>(
    contents: &'a [u8],
    file: &Path,
    object: Option<&str>,
) -> Result<Vec<(Option<String>, RecordRef<'a>)>> {
    let problem = |problem: String| Error::Container { path: file.to_owned(), problem };
    let sections = sections_of_file(contents).map_err(|error| problem(error.to_string()))?;
    let mut found = Vec::new();
    for section in sections {
        for record in records(section.data) {
            let record = record.map_err(|error| {
                let place = section
                    .member
                    .as_ref()
                    .map(|member| format!(" of member {member}"))
                    .unwrap_or_default();
                problem(format!(
                    "in the section{place} at byte {} of the file: {error}",
                    section.offset
                ))
            })?;
            let wanted = object.is_none_or(|id| record.object_id().to_string().starts_with(id));
            if wanted {
                found.push((section.member.clone(), record));
            }
        }
    }
    match (object, found.is_empty()) {
        (_, false) => Ok(found),
        (Some(id), true) => Err(problem(format!("no container whose id starts with {id}; `cargo schism hcf FILE` lists them"))),
        (None, true) => Err(problem(
            "no container in it: it has no kernels, or was not compiled by `cargo schism`, or was stripped of its section `hcf`".to_owned(),
        )),
    }
}

fn print(found: &[(Option<String>, RecordRef<'_>)]) -> String {
    let mut text = String::new();
    for (member, record) in found {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(member) = member {
            text.push_str(&format!("member {member}\n"));
        }
        let tree = record.tree().to_string();
        text.push_str(tree.trim_end());
        text.push('\n');
    }
    text
}

fn select<'a, 'b>(
    found: &'a [(Option<String>, RecordRef<'b>)],
    name: &str,
    file: &Path,
) -> Result<&'a ImageRef<'b>> {
    let problem = |problem: String| Error::Container { path: file.to_owned(), problem };
    let mut holders: Vec<_> = found
        .iter()
        .filter_map(|(_, record)| record.image(name).map(|image| (record, image)))
        .collect();
    // One crate linked in several ways has the same record several times.
    holders.dedup_by_key(|(record, _)| record.object_id());
    match holders.as_slice() {
        [(_, image)] => Ok(image),
        [] => {
            let mut names: Vec<_> = found
                .iter()
                .flat_map(|(_, record)| record.images())
                .map(|image| image.name.as_ref())
                .collect();
            names.sort_unstable();
            names.dedup();
            Err(problem(format!("no image {name}; there are: {}", names.join(", "))))
        }
        several => {
            let lines: Vec<_> = several
                .iter()
                .map(|(record, _)| {
                    format!("  --object {}  (crate {})", record.object_id(), record.crate_name())
                })
                .collect();
            Err(problem(format!(
                "several containers have an image {name}; choose one by\n{}",
                lines.join("\n")
            )))
        }
    }
}

/// The path from the root.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).at("find", path)
}

/// Writes to stdout; that a reader such as `head` has gone is no failure.
pub fn to_stdout(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).at("write", "to stdout"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use schism_hcf::{Container, Image};

    use super::*;
    use crate::scratch::Scratch;

    fn ask(line: &str) -> Result<Request, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    }

    fn record(crate_name: &str) -> Vec<u8> {
        let image = Image {
            name: "llvm-ir.global".into(),
            format: "llvm-ir".into(),
            data: crate_name.into(),
            ..Image::default()
        };
        Container { crate_name: crate_name.into(), images: vec![image], ..Container::default() }
            .to_record()
            .unwrap()
    }

    fn on(contents: &[u8], line: &str) -> Result<(), String> {
        let scratch = Scratch::new("hcf");
        let file = scratch.path().join("file");
        std::fs::write(&file, contents).unwrap();
        let arguments: Vec<OsString> = line
            .replace("FILE", file.to_str().unwrap())
            .split_whitespace()
            .map(OsString::from)
            .collect();
        run(&arguments).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_read_in_any_order() {
        let extract = ask("-o out --extract ptx.sm_90 a.so --object 12").unwrap();
        assert_eq!(
            extract.action,
            Action::Extract { image: "ptx.sm_90".into(), output: "out".into() }
        );
        assert_eq!((extract.object.as_deref(), extract.file.to_str()), (Some("12"), Some("a.so")));
        assert_eq!(ask("a.so --verify").unwrap().action, Action::Verify);
        for wrong in [
            "",
            "a b",
            "--verbose a",
            "a --extract",
            "a --extract x",
            "a -o x",
            "a --verify --extract x -o y",
        ] {
            assert!(ask(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_image_is_extracted_from_the_container_that_is_meant() {
        let scratch = Scratch::new("extract");
        let out = scratch.path().join("image");
        let both = [record("one"), record("two")].concat();
        let extract = format!("FILE --extract llvm-ir.global -o {}", out.display());
        let error = on(&both, &extract).unwrap_err();
        let id = RecordRef::parse(&record("two")).unwrap().object_id().to_string();
        assert!(error.contains("several containers") && error.contains(&id), "{error}");
        on(&both, &format!("{extract} --object {}", &id[..8])).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"two");
        // The same container twice is one.
        on(&[record("one"), record("one")].concat(), &extract).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"one");
        let error = on(&both, "FILE --extract ptx -o nowhere").unwrap_err();
        assert!(error.contains("there are: llvm-ir.global"), "{error}");
    }

    #[test]
    fn damage_is_told_with_its_place() {
        on(&record("one"), "FILE --verify").unwrap();
        let mut damaged = [record("one"), record("two")].concat();
        let last = damaged.len() - 9;
        damaged[last] ^= 1;
        assert!(on(&damaged, "FILE --verify").is_err());
        assert!(on(&damaged[..40], "FILE").is_err());
        assert!(on(b"hello", "FILE").is_err());
    }

    #[test]
    fn a_program_without_kernels_has_none() {
        let own = std::env::current_exe().unwrap();
        let error = run(&[own.into_os_string()]).unwrap_err().to_string();
        assert!(error.contains("no container in it"), "{error}");
    }
}
