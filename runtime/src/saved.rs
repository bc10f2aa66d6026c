//! The values that heals save: files in the healing folder, never over another one.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use crate::interpret::Saved;
use crate::journal;

/// The folder in the healing folder.
const FOLDER: &str = "saved";
/// Files of one name.
const MAX_OF_A_NAME: u32 = 1_000;

/// Writes the files, in order; after a failure those that were written stay, and come with it.
pub(crate) fn write(all: &[Saved]) -> Result<Vec<PathBuf>, (Vec<PathBuf>, io::Error)> {
    let mut written = Vec::new();
    for saved in all {
        match write_one(saved) {
            Ok(path) => written.push(path),
            Err(error) => return Err((written, error)),
        }
    }
    Ok(written)
}

fn write_one(saved: &Saved) -> io::Result<PathBuf> {
    let folder = journal::ready_folder()?.join(FOLDER);
    if !folder.is_dir() {
        DirBuilder::new().mode(0o700).create(&folder)?;
    }
    for number in 1..=MAX_OF_A_NAME {
        let name = match number {
            1 => format!("{}.json", saved.name),
            _ => format!("{}-{number}.json", saved.name),
        };
        let path = folder.join(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(mut file) => {
                file.write_all(saved.json.as_bytes())?;
                file.sync_data()?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let message = format!("there are {MAX_OF_A_NAME} files of the name {}", saved.name);
    Err(io::Error::other(message))
}
