//! Writes the folder that goes first on `PYTHONPATH`: one `sitecustomize.py`, named by what it holds.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::folders::{make, write_whole};

const SITECUSTOMIZE: &str = include_str!("../inject/sitecustomize.py");

/// Writes the folder below the cache, unless it is there, and returns it.
pub(crate) fn write(cache: &Path) -> Result<PathBuf> {
    let digest = Sha256::digest(SITECUSTOMIZE.as_bytes());
    let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let folder = cache.join(format!("inject-{name}"));
    let file = folder.join("sitecustomize.py");
    if fs::read_to_string(&file).is_ok_and(|text| text == SITECUSTOMIZE) {
        return Ok(folder);
    }
    make(&folder)?;
    write_whole(&file, SITECUSTOMIZE)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_written_again() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = write(temporary.path()).unwrap();
        let file = folder.join("sitecustomize.py");
        fs::write(&file, "half of").unwrap();
        assert_eq!(write(temporary.path()).unwrap(), folder);
        assert_eq!(fs::read_to_string(file).unwrap(), SITECUSTOMIZE);
    }
}
