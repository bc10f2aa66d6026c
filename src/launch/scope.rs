//! Finds the root of the scope: the project around the program.

use std::path::{Path, PathBuf};

use super::command::{Command, Launch, Program};

/// Returns the folder in which the search for the project starts: the script's own, or the current one.
pub(crate) fn start_of(command: &Command, current: &Path) -> PathBuf {
    let Launch::Python {
        program: Program::Script(script),
    } = &command.launch
    else {
        return current.to_owned();
    };
    let script = current.join(script);
    let script = script.canonicalize().unwrap_or(script);
    let folder = if script.is_dir() {
        Some(script.as_path())
    } else {
        script.parent()
    };
    match folder {
        // `python .venv/bin/pytest` is the console script, not a program that lives in `bin`.
        Some(folder)
            if folder
                .parent()
                .is_some_and(|venv| venv.join("pyvenv.cfg").exists()) =>
        {
            current.to_owned()
        }
        Some(folder) => folder.to_owned(),
        None => current.to_owned(),
    }
}

/// Returns the nearest folder with a `pyproject.toml` or a `.git`, from `start` upwards; else `start`.
pub(crate) fn find_root(start: &Path) -> PathBuf {
    let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
    let marked = start
        .ancestors()
        .find(|folder| folder.join("pyproject.toml").is_file() || folder.join(".git").exists());
    marked.unwrap_or(&start).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Lays out `files`, then asks for the root of a command given in folder `current`.
    fn check(files: &[&str], current: &str, launch: &Launch, expect: &str) {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            fs::write(base.join(file), "").unwrap();
        }
        let command = Command {
            file: PathBuf::from("python"),
            words: Vec::new(),
            launch: launch.clone(),
        };
        let root = find_root(&start_of(&command, &base.join(current)));
        assert_eq!(root.strip_prefix(&base).unwrap(), Path::new(expect));
    }

    fn script(path: &str) -> Launch {
        Launch::Python {
            program: Program::Script(path.into()),
        }
    }

    #[test]
    fn the_project_is_above_the_script_not_above_the_current_folder() {
        let files = [
            "shop/pyproject.toml",
            "shop/src/app.py",
            "other/.git",
            "other/x.py",
        ];
        check(&files, "other", &script("../shop/src/app.py"), "shop");
    }

    #[test]
    fn the_nearest_mark_wins() {
        let files = ["a/.git", "a/b/pyproject.toml", "a/b/c/app.py"];
        check(&files, "a/b/c", &script("app.py"), "a/b");
    }

    #[test]
    fn without_a_mark_it_is_the_folder_of_the_script() {
        check(
            &["jobs/night/app.py"],
            "jobs",
            &script("night/app.py"),
            "jobs/night",
        );
        check(&["jobs/app/__main__.py"], "jobs", &script("app"), "jobs/app");
    }

    #[test]
    fn modules_and_console_scripts_count_from_the_current_folder() {
        let files = [
            "shop/pyproject.toml",
            "shop/.venv/pyvenv.cfg",
            "shop/.venv/bin/pytest",
            "shop/tests/x.py",
        ];
        let module = Launch::Python {
            program: Program::Module("shop".to_owned()),
        };
        check(&files, "shop/tests", &module, "shop");
        check(&files, "shop/tests", &Launch::Other, "shop");
        check(&files, "shop/tests", &script("../.venv/bin/pytest"), "shop");
    }
}
