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

/// What pip writes beside the package of this version.
const DISTRIBUTION: &str = concat!("healmcp_runtime-", env!("CARGO_PKG_VERSION"), ".dist-info");

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
    let home = folder.parent().unwrap_or(folder);
    installed(home).ok_or_else(|| {
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

/// Looks into the folders of packages below `home`: those of every Python, and `home` itself (`pip install --target`).
///
/// One extension serves all versions of Python. After an upgrade with another Python, the one of our version is meant.
fn installed(home: &Path) -> Option<PathBuf> {
    let mut packages: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .flat_map(|lib| entries(&home.join(lib)))
        .filter(|path| name_of(path).starts_with("python3"))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .collect();
    packages.push(home.to_owned());
    packages.sort();
    packages.sort_by_key(|folder| !folder.join(DISTRIBUTION).is_dir());
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
        let target = "healmcp_runtime/healmcp_runtime.abi3.so";
        check(&[target], None, &format!("@/{target}"));
        let lib64 = "lib64/python3.13/site-packages/healmcp_runtime/healmcp_runtime.abi3.so";
        check(&[lib64], None, &format!("@/{lib64}"));
        check(
            &[],
            None,
            "the runtime extension of healmcp was not found beside @/bin/healmcp",
        );
    }

    #[test]
    fn of_several_the_one_of_this_version_is_meant() {
        let old = "lib/python3.11/site-packages/healmcp_runtime/healmcp_runtime.abi3.so";
        let new = "lib/python3.12/site-packages/healmcp_runtime/healmcp_runtime.abi3.so";
        let version = env!("CARGO_PKG_VERSION");
        let mark = format!("lib/python3.12/site-packages/healmcp_runtime-{version}.dist-info/METADATA");
        check(&[old, new], None, &format!("@/{old}"));
        check(&[old, new, &mark], None, &format!("@/{new}"));
    }
}
