//! What is to be run: the folders of real crashes, and the heals that were written for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use protocol::HealProposal;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::folders::cannot;

/// One crash that was seen in a release of a real package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Instance {
    /// Its name, that of its folder.
    pub(crate) id: String,
    /// The release that crashes, as pip names it.
    pub(crate) buggy: String,
    /// What pip has to install beside it.
    #[serde(default)]
    pub(crate) requires: Vec<String>,
    /// The version of Python, `3.12`.
    pub(crate) python: String,
    /// What the package is imported as.
    pub(crate) import_names: Vec<String>,
    /// The folder with `driver.py` and `expected.txt`.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// Where heals come from.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Never heal: what is lost without healmcp.
    None,
    /// Always skip the failing statement.
    Skip,
    /// Those written for each instance, one for each pause.
    Written(BTreeMap<String, Vec<HealProposal>>),
}

/// Reads every folder of `folder` that has an `instance.json`, sorted by name.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Instance>> {
    let entries = fs::read_dir(folder).map_err(|error| {
        Error::usage(
            format!(
                "the folder of instances {} cannot be read: {error}",
                folder.display()
            ),
            "name a folder that holds one folder with an instance.json for each crash",
        )
    })?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("instance.json").is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(Error::usage(
            format!("{} holds no instance", folder.display()),
            "name a folder that holds one folder with an instance.json for each crash",
        ));
    }
    folders.into_iter().map(read).collect()
}

fn read(folder: PathBuf) -> Result<Instance> {
    let path = folder.join("instance.json");
    let text = fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
    let instance: Instance = serde_json::from_str(&text).map_err(|error| {
        Error::usage(
            format!("{} is not an instance: {error}", path.display()),
            "it needs id, buggy, python and import_names",
        )
    })?;
    Ok(Instance { folder, ..instance })
}

/// Reads `none`, `skip`, or a file of heals by instance.
pub(crate) fn read_plan(heals: &str) -> Result<Plan> {
    match heals {
        "none" => return Ok(Plan::None),
        "skip" => return Ok(Plan::Skip),
        _ => {}
    }
    let wrong = |error: &dyn std::fmt::Display| {
        Error::usage(
            format!("the heals in {heals} cannot be read: {error}"),
            "it holds {\"ID\": [{\"code\", \"then\", \"value\"?, \"line\"?, \"frame\"?}]}; `none` and `skip` need no file",
        )
    };
    let text = fs::read_to_string(heals).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text)
        .map(Plan::Written)
        .map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_needs_its_four_fields() {
        let temporary = tempfile::tempdir().unwrap();
        let check = |text: &str, expect: &str| {
            fs::create_dir_all(temporary.path().join("x")).unwrap();
            fs::write(temporary.path().join("x/instance.json"), text).unwrap();
            let said = match read_all(temporary.path()) {
                Ok(found) => format!(
                    "{} {:?} {:?}",
                    found[0].id,
                    found[0].requires,
                    found[0].folder.ends_with("x")
                ),
                Err(error) => error.to_string(),
            };
            assert!(said.ends_with(expect), "{said}");
        };
        check(
            r#"{"id": "x", "buggy": "x==1", "python": "3.12", "import_names": ["x"], "depth": 3}"#,
            "x [] true",
        );
        check(r#"{"id": "x"}"#, "missing field `buggy` at line 1 column 11");
    }

    #[test]
    fn a_folder_without_instances_is_an_error() {
        let temporary = tempfile::tempdir().unwrap();
        let error = read_all(temporary.path()).unwrap_err();
        assert!(error.to_string().ends_with("holds no instance"), "{error}");
    }
}
