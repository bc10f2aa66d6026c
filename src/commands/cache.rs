//! `healmcp cache clear`: removes what can be made again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::folders::{Places, cannot};
use crate::launch;
use crate::render::Done;

/// Look after the cache.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Remove compiled code, what is known of interpreters, and the environments of `bench`.
    Clear,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let Kind::Clear = args.kind;
    let cache = Places::of_this_process().cache()?;
    clear(&cache).map(Done::ok)
}

fn clear(cache: &Path) -> Result<String> {
    if !cache.exists() {
        return Ok(format!("the cache {} is empty", cache.display()));
    }
    // Children of programs that run now still start through this folder.
    let keep = launch::write_inject_folder(cache)?;
    let entries = fs::read_dir(cache).map_err(|error| cannot("read", cache, &error))?;
    let mut removed = 0;
    for path in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| *path != keep)
    {
        removed += size_of(&path);
        let done = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        done.map_err(|error| cannot("remove", &path, &error))?;
    }
    Ok(format!("removed {} from {}", human(removed), cache.display()))
}

/// Returns how many bytes the files below a path hold; links are not followed.
pub(crate) fn size_of(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !found.is_dir() {
        return found.len();
    }
    let entries: Vec<PathBuf> = fs::read_dir(path).map_or_else(
        |_| Vec::new(),
        |entries| entries.flatten().map(|entry| entry.path()).collect(),
    );
    entries.iter().map(|entry| size_of(entry)).sum()
}

/// Returns a number of bytes as people read it.
pub(crate) fn human(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_injected_folder_goes() {
        let temporary = tempfile::tempdir().unwrap();
        let cache = temporary.path();
        fs::create_dir_all(cache.join("code/3.12")).unwrap();
        fs::write(cache.join("code/3.12/x"), vec![0; 1_500]).unwrap();
        fs::create_dir(cache.join("inject-000000")).unwrap();
        let said = clear(cache).unwrap();
        assert_eq!(said, format!("removed 1 kB from {}", cache.display()));
        let left: Vec<String> = cache
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].starts_with("inject-") && left[0] != "inject-000000");
    }
}
