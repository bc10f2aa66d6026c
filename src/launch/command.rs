//! Reads a command as the shell would start it: which file runs, whether that is Python, and what Python runs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A command that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// The file to execute.
    pub(crate) file: PathBuf,
    /// The command as given, with the name it was called by.
    pub(crate) words: Vec<OsString>,
    /// What it turned out to be.
    pub(crate) launch: Launch,
}

/// How a command comes to run Python, if it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// An interpreter was named.
    Python {
        /// What it is to run.
        program: Program,
    },
    /// A script whose first line names an interpreter.
    ConsoleScript {
        /// The interpreter's file.
        interpreter: PathBuf,
    },
    /// Something else, which may start Python in turn.
    Other,
}

/// What an interpreter is told to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// A file, or a folder or archive with a `__main__`.
    Script(PathBuf),
    /// `-m`.
    Module(String),
    /// `-c`, standard input, or the prompt.
    Inline,
}

impl Command {
    /// Resolves a command against the folders of `$PATH`, or says why it cannot be healed.
    pub(crate) fn resolve(words: &[OsString], search: &[PathBuf]) -> Result<Self> {
        let Some(name) = words.first() else {
            return Err(Error::usage(
                "no command was given",
                "write the command after `--`: `healmcp run -- python app.py`",
            ));
        };
        let file = find_file(name, search)?;
        let launch = if is_interpreter_name(name) {
            Launch::Python {
                program: read_arguments(name, &words[1..])?,
            }
        } else if let Some(line) = first_line_command(&file) {
            let launch = read_shebang(&line, search);
            if let Some((_, flags)) = &launch {
                refuse_blind_flags(file.as_os_str(), flags)?;
            }
            launch.map_or(Launch::Other, |(interpreter, _)| Launch::ConsoleScript {
                interpreter,
            })
        } else {
            Launch::Other
        };
        Ok(Self {
            file,
            words: words.to_vec(),
            launch,
        })
    }

    /// Returns the interpreter that will run, where the command says it.
    pub(crate) fn interpreter(&self) -> Option<&Path> {
        match &self.launch {
            Launch::Python { .. } => Some(&self.file),
            Launch::ConsoleScript { interpreter } => Some(interpreter),
            Launch::Other => None,
        }
    }
}

/// Finds the file that `name` means, as `execvp` would.
pub(crate) fn find_file(name: &OsStr, search: &[PathBuf]) -> Result<PathBuf> {
    let shown = name.to_string_lossy();
    if !name.as_bytes().contains(&b'/') {
        let found = search
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| is_executable(path));
        return found.ok_or_else(|| {
            let hint = if Path::new(name)
                .extension()
                .is_some_and(|extension| extension == "py")
            {
                format!("to run a Python file, write `healmcp run -- python {shown}`")
            } else {
                "check the spelling, or give the command's path; is its virtual environment active?"
                    .to_owned()
            };
            Error::usage(format!("command not found: `{shown}`"), hint)
        });
    }
    let path = PathBuf::from(name);
    if is_executable(&path) {
        return Ok(path);
    }
    let (fault, hint) = if !path.exists() {
        (
            "does not exist",
            "check the spelling and the current folder".to_owned(),
        )
    } else if path.is_dir() {
        (
            "is a folder",
            format!("to run a folder with a __main__.py, write `healmcp run -- python {shown}`"),
        )
    } else {
        (
            "is not executable",
            format!("to run a Python file, write `healmcp run -- python {shown}`"),
        )
    };
    Err(Error::usage(format!("the command `{shown}` {fault}"), hint))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Accepts `python`, `python3`, `python3.12`, with or without a folder.
fn is_interpreter_name(name: &OsStr) -> bool {
    let Some(name) = Path::new(name).file_name().and_then(OsStr::to_str) else {
        return false;
    };
    let Some(version) = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy")) else {
        return false;
    };
    version
        .trim_end_matches('t')
        .chars()
        .all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// Reads an interpreter's own arguments up to what it is to run.
fn read_arguments(name: &OsStr, words: &[OsString]) -> Result<Program> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if text == "-" {
            return Ok(Program::Inline);
        }
        if text == "--" {
            return rest
                .next()
                .map_or(Ok(Program::Inline), |script| existing_script(script));
        }
        let Some(letters) = text.strip_prefix('-') else {
            return existing_script(word);
        };
        if letters.starts_with('-') {
            if text == "--check-hash-based-pycs" {
                rest.next();
            }
            continue;
        }
        for (place, letter) in letters.char_indices() {
            let attached = &letters[place + letter.len_utf8()..];
            match letter {
                'c' => return Ok(Program::Inline),
                'm' if attached.is_empty() => {
                    let module = rest.next().map(|module| module.to_string_lossy().into_owned());
                    return Ok(module.map_or(Program::Inline, Program::Module));
                }
                'm' => return Ok(Program::Module(attached.to_owned())),
                'W' | 'X' => {
                    if attached.is_empty() {
                        rest.next();
                    }
                    break;
                }
                _ => refuse_blind_flags(name, &format!("-{letter}"))?,
            }
        }
    }
    Ok(Program::Inline)
}

fn existing_script(word: &OsStr) -> Result<Program> {
    let path = PathBuf::from(word);
    let shown = path.display();
    let fault = match fs::metadata(&path) {
        Ok(found) if found.is_dir() && !path.join("__main__.py").exists() => {
            format!("the folder `{shown}` has no __main__.py to run")
        }
        Ok(_) => return Ok(Program::Script(path)),
        Err(error) => format!("the script `{shown}` cannot be run: {}", error.kind()),
    };
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Err(Error::usage(
        fault,
        format!("check the spelling; the current folder is {}", current.display()),
    ))
}

/// Refuses `-I`, `-E` and `-S`, alone or in a cluster such as `-sE`: with them Python never asks for a `sitecustomize`.
fn refuse_blind_flags(name: &OsStr, flags: &str) -> Result<()> {
    for word in flags.split_whitespace().filter(|word| !word.starts_with("--")) {
        let Some(letters) = word.strip_prefix('-') else {
            continue;
        };
        let own = letters.split(['X', 'W', 'c', 'm']).next().unwrap_or(letters);
        if let Some(letter) = own.chars().find(|letter| "IES".contains(*letter)) {
            return Err(Error::usage(
                format!(
                    "`{}` runs Python with -{letter}, which keeps healmcp out",
                    name.to_string_lossy()
                ),
                format!(
                    "leave -{letter} away, or start the program as `python -m MODULE`; \
                     to run it without healmcp, set {}=0",
                    protocol::SWITCH_VARIABLE
                ),
            ));
        }
    }
    Ok(())
}

/// Returns what stands after `#!`; for pip's form for long paths, what its shell line executes.
fn first_line_command(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(2048).read_to_end(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start);
    let mut lines = text.lines();
    let first = lines.next()?.strip_prefix("#!")?.trim();
    let second = lines.next().and_then(|line| line.trim().strip_prefix("'''exec'"));
    let command = match second {
        Some(second) if first == "/bin/sh" => second.split(r#""$0""#).next().unwrap_or(second).trim(),
        _ => first,
    };
    Some(command.to_owned())
}

/// Returns the interpreter and its flags when a first line starts Python.
fn read_shebang(line: &str, search: &[PathBuf]) -> Option<(PathBuf, String)> {
    let (mut word, mut rest) = split_word(line);
    if Path::new(word).file_name()? == "env" {
        let mut after = rest.trim_start();
        after = after.strip_prefix("-S").unwrap_or(after);
        (word, rest) = split_word(after);
    }
    if !is_interpreter_name(OsStr::new(word)) {
        return None;
    }
    let interpreter = find_file(OsStr::new(word), search).ok()?;
    Some((interpreter, rest.trim().to_owned()))
}

/// Splits off the first word, which may be quoted.
fn split_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    if let Some(quoted) = line.strip_prefix('"')
        && let Some(end) = quoted.find('"')
    {
        return (&quoted[..end], &quoted[end + 1..]);
    }
    line.split_once(char::is_whitespace).unwrap_or((line, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the commands `python`, `pytest` (a console script), `long` (pip's form), `plain` (a shell script),
    /// and the file `app.py`.
    fn check(command: &str, expect: &str) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let here = folder.display().to_string();
        let script = |name: &str, text: &str| {
            fs::write(folder.join(name), text).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        };
        script("python", "\x7fELF");
        script("pytest", &format!("#!{here}/python\n"));
        script("isolated", &format!("#!{here}/python -sE\n"));
        script("by-env", "#!/usr/bin/env -S python -X dev\n");
        script(
            "long",
            &format!("#!/bin/sh\n'''exec' \"{here}/python\" \"$0\" \"$@\"\n' '''\n"),
        );
        script("plain", "#!/bin/bash\n");
        fs::write(folder.join("app.py"), "").unwrap();
        fs::create_dir(folder.join("empty")).unwrap();
        let words: Vec<OsString> = command
            .replace('@', &here)
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(OsString::from)
            .collect();
        let said = match Command::resolve(&words, &[folder.to_owned()]) {
            Ok(found) => format!("{:?}", found.launch),
            Err(error) => error.to_string(),
        };
        assert_eq!(said.replace(&here, "@"), expect, "{command}");
    }

    #[test]
    fn python_runs_a_script_a_module_or_text() {
        check("python @/app.py -I", r#"Python { program: Script("@/app.py") }"#);
        check(
            "@/python -u -X dev -Walways @/app.py",
            r#"Python { program: Script("@/app.py") }"#,
        );
        check(
            "python -um shop.batch --fast",
            r#"Python { program: Module("shop.batch") }"#,
        );
        check("python -mshop", r#"Python { program: Module("shop") }"#);
        check("python -c pass -I", "Python { program: Inline }");
        check("python", "Python { program: Inline }");
        check("python -", "Python { program: Inline }");
    }

    #[test]
    fn a_console_script_is_known_by_its_first_line() {
        check("pytest -x", r#"ConsoleScript { interpreter: "@/python" }"#);
        check("by-env", r#"ConsoleScript { interpreter: "@/python" }"#);
        check("long", r#"ConsoleScript { interpreter: "@/python" }"#);
        check("plain", "Other");
    }

    #[test]
    fn flags_that_keep_the_injection_out_are_refused() {
        check(
            "python -I @/app.py",
            "`python` runs Python with -I, which keeps healmcp out",
        );
        check(
            "python -bE @/app.py",
            "`python` runs Python with -E, which keeps healmcp out",
        );
        check(
            "python -S -c pass",
            "`python` runs Python with -S, which keeps healmcp out",
        );
        check(
            "isolated",
            "`@/isolated` runs Python with -E, which keeps healmcp out",
        );
    }

    #[test]
    fn what_does_not_exist_is_said() {
        check("pyhton app.py", "command not found: `pyhton`");
        check("@/nope", "the command `@/nope` does not exist");
        check("@/app.py", "the command `@/app.py` is not executable");
        check(
            "python @/nope.py",
            "the script `@/nope.py` cannot be run: entity not found",
        );
        check("python @/empty", "the folder `@/empty` has no __main__.py to run");
        check("", "no command was given");
    }
}
