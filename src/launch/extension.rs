//! Finds the runtime extension: told by the environment, beside the executable, or in an installed wheel.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The environment variable that names the extension's file.
pub(crate) const EXTENSION_VARIABLE: &str = "HEALMCP_EXTENSION";

/// The name that cargo gives the library.
const BUILT_NAME: &str = if cfg!(target_os = "macos") {
    "libhealmcp_runtime.dylib"
} else {
    "libhealmcp_runtime.so"
};

/// Finds the extension for an executable of healmcp at `executable` (its real path).
pub(crate) fn find(executable: &Path, told: Option<&Path>) -> Result<PathBuf> {
    if let Some(told) = told {
        if told.is_file() {
            return Ok(absolute(told));
        }
        return Err(Error::usage(
            format!(
                "{EXTENSION_VARIABLE} names {}, which is not a file",
                told.display()
            ),
            format!("unset {EXTENSION_VARIABLE}, or let it name the built extension"),
        ));
    }
    let folder = executable.parent().unwrap_or(executable);
    let beside = folder.join(BUILT_NAME);
    if beside.is_file() {
        return Ok(beside);
    }
    installed(&folder.with_file_name("lib")).ok_or_else(|| {
        Error::usage(
            format!(
                "the runtime extension of healmcp was not found beside {}",
                executable.display()
            ),
            format!(
                "install it with `pip install ./runtime` into the environment of healmcp, \
                 or build it with `cargo build -p runtime`, or name its file in {EXTENSION_VARIABLE}"
            ),
        )
    })
}

/// Looks into the packages of every Python under `lib`; one extension serves all versions, so the first will do.
fn installed(lib: &Path) -> Option<PathBuf> {
    let mut packages: Vec<PathBuf> = entries(lib)
        .into_iter()
        .filter(|path| name_of(path).starts_with("python3"))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .collect();
    packages.sort();
    packages
        .iter()
        .flat_map(|folder| [folder.join("healmcp_runtime"), folder.clone()])
        .find_map(|folder| {
            entries(&folder).into_iter().find(|path| {
                name_of(path).starts_with("healmcp_runtime")
                    && name_of(path).ends_with(".so")
                    && path.is_file()
            })
        })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.path()).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[&str], told: Option<&str>, expect: &str) {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let told = told.map(|told| root.join(told));
        let said = match find(&root.join("bin/healmcp"), told.as_deref()) {
            Ok(found) => found.display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said.replace(&root.display().to_string(), "@"), expect);
    }

    #[test]
    fn the_environment_decides_first() {
        check(&["x.so", "bin/libhealmcp_runtime.so"], Some("x.so"), "@/x.so");
        check(
            &[],
            Some("x.so"),
            "HEALMCP_EXTENSION names @/x.so, which is not a file",
        );
    }

    #[test]
    fn beside_the_executable_or_in_a_wheel() {
        let wheel = "lib/python3.12/site-packages/healmcp_runtime/healmcp_runtime.abi3.so";
        check(
            &["bin/libhealmcp_runtime.so", wheel],
            None,
            "@/bin/libhealmcp_runtime.so",
        );
        check(&[wheel], None, &format!("@/{wheel}"));
        check(
            &["lib/python3.11/dist-packages/healmcp_runtime.abi3.so"],
            None,
            "@/lib/python3.11/dist-packages/healmcp_runtime.abi3.so",
        );
        check(
            &[],
            None,
            "the runtime extension of healmcp was not found beside @/bin/healmcp",
        );
    }
}
