//! Where healmcp keeps its sockets, its cache and its state, and the rules that make the first one private.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The environment variables that decide where folders are; text in, so that tests need no environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// `$XDG_RUNTIME_DIR`.
    pub(crate) runtime_dir: Option<PathBuf>,
    /// `$XDG_CACHE_HOME`.
    pub(crate) cache_home: Option<PathBuf>,
    /// `$XDG_STATE_HOME`.
    pub(crate) state_home: Option<PathBuf>,
    /// `$HOME`, or the home of the password file.
    pub(crate) home: Option<PathBuf>,
    /// The user's id.
    pub(crate) uid: u32,
}

/// A socket's address holds 107 bytes on Linux and 103 on macOS; the longest name in the folder is `/4194304.sock`.
const LONGEST_SOCKET_FOLDER: usize = 103 - "/4194304.sock".len();

impl Places {
    /// Reads the environment of this process.
    pub(crate) fn of_this_process() -> Self {
        let uid = nix::unistd::Uid::current();
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        Self {
            runtime_dir: absolute("XDG_RUNTIME_DIR"),
            cache_home: absolute("XDG_CACHE_HOME"),
            state_home: absolute("XDG_STATE_HOME"),
            home: absolute("HOME").or_else(|| {
                let user = nix::unistd::User::from_uid(uid).ok().flatten()?;
                Some(user.dir)
            }),
            uid: uid.as_raw(),
        }
    }

    /// Returns the folder of the sockets, which need not exist yet.
    ///
    /// An agent's host often starts servers with a bare environment. Where `$XDG_RUNTIME_DIR` is not set, the
    /// folder that login sessions have is taken, so that server and program meet.
    pub(crate) fn sockets(&self) -> PathBuf {
        let of_the_login = PathBuf::from(format!("/run/user/{}", self.uid));
        let runtime_dir = match &self.runtime_dir {
            Some(path) => Some(path.clone()),
            None if fs::metadata(&of_the_login).is_ok_and(|found| found.uid() == self.uid) => {
                Some(of_the_login)
            }
            None => None,
        };
        runtime_dir
            .map(|path| path.join("healmcp"))
            .filter(|path| path.as_os_str().len() <= LONGEST_SOCKET_FOLDER)
            .unwrap_or_else(|| PathBuf::from(format!("/tmp/healmcp-{}", self.uid)))
    }

    /// Returns the cache's folder, which need not exist yet.
    pub(crate) fn cache(&self) -> Result<PathBuf> {
        self.below_home(&self.cache_home, ".cache")
    }

    /// Returns the state's folder, which need not exist yet.
    pub(crate) fn state(&self) -> Result<PathBuf> {
        self.below_home(&self.state_home, ".local/state")
    }

    fn below_home(&self, chosen: &Option<PathBuf>, otherwise: &str) -> Result<PathBuf> {
        let base = match (chosen, &self.home) {
            (Some(chosen), _) => chosen.clone(),
            (None, Some(home)) => home.join(otherwise),
            (None, None) => {
                return Err(Error::usage(
                    "this user has no home folder to keep a cache in",
                    "set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME, to a folder that can be written",
                ));
            }
        };
        Ok(base.join("healmcp"))
    }
}

/// Makes the folder of the sockets, or refuses one that others could use.
pub(crate) fn make_private(folder: &Path, uid: u32) -> Result<()> {
    if let Some(parent) = folder.parent() {
        make(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_private(folder, uid),
        Err(error) => Err(cannot("make the folder of the sockets", folder, &error)),
    }
}

/// Refuses a folder of sockets that is a link, belongs to somebody else, or is open to others.
pub(crate) fn check_private(folder: &Path, uid: u32) -> Result<()> {
    let found = fs::symlink_metadata(folder)
        .map_err(|error| cannot("look at the folder of the sockets", folder, &error))?;
    let mode = found.mode() & 0o777;
    let fault = if found.is_symlink() {
        "is a symbolic link".to_owned()
    } else if !found.is_dir() {
        "is not a folder".to_owned()
    } else if found.uid() != uid {
        format!("belongs to the user with id {}", found.uid())
    } else if mode != 0o700 {
        format!("has mode {mode:04o}, not 0700")
    } else {
        return Ok(());
    };
    Err(Error::usage(
        format!("the folder of the sockets, {}, {fault}", folder.display()),
        "whoever can write there could take over a paused program: remove it, or `chmod 700` it if it is yours",
    ))
}

/// Makes a folder with its parents.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| cannot("make the folder", folder, &error))
}

/// Writes a file so that nobody ever sees half of it.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| cannot("write", path, &error))
}

/// Builds the error for a failed operation on the disk.
pub(crate) fn cannot(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot {what} {}: {error}", path.display()),
        "check that the path can be read and written by this user and that the disk is not full",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn uid() -> u32 {
        nix::unistd::Uid::current().as_raw()
    }

    fn check(prepare: impl FnOnce(&Path), expect: &str) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("sockets");
        prepare(&folder);
        let said = match make_private(&folder, uid()) {
            Ok(()) => "private".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said.replace(&folder.display().to_string(), "X"), expect);
    }

    #[test]
    fn a_missing_folder_is_made_private() {
        check(|_| (), "private");
        check(|folder| make_private(folder, uid()).unwrap(), "private");
    }

    #[test]
    fn an_open_folder_is_refused() {
        check(
            |folder| {
                fs::create_dir(folder).unwrap();
                fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
            },
            "the folder of the sockets, X, has mode 0755, not 0700",
        );
    }

    #[test]
    fn a_link_is_refused() {
        check(
            |folder| {
                let elsewhere = folder.with_file_name("elsewhere");
                make_private(&elsewhere, uid()).unwrap();
                symlink(&elsewhere, folder).unwrap();
            },
            "the folder of the sockets, X, is a symbolic link",
        );
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("sockets");
        make_private(&folder, uid()).unwrap();
        let error = check_private(&folder, uid() + 1).unwrap_err();
        assert!(
            error.to_string().contains("belongs to the user with id"),
            "{error}"
        );
    }

    #[test]
    fn folders_follow_the_xdg_variables() {
        let mut places = Places {
            home: Some("/home/ada".into()),
            runtime_dir: Some("/run/ada".into()),
            uid: 4_000_000,
            ..Places::default()
        };
        assert_eq!(places.sockets(), Path::new("/run/ada/healmcp"));
        assert_eq!(places.cache().unwrap(), Path::new("/home/ada/.cache/healmcp"));
        assert_eq!(
            places.state().unwrap(),
            Path::new("/home/ada/.local/state/healmcp")
        );
        places.cache_home = Some("/var/cache/ada".into());
        assert_eq!(places.cache().unwrap(), Path::new("/var/cache/ada/healmcp"));
        places.runtime_dir = None;
        assert_eq!(places.sockets(), Path::new("/tmp/healmcp-4000000"));
        places.runtime_dir = Some(PathBuf::from("/").join("long".repeat(30)));
        assert_eq!(places.sockets(), Path::new("/tmp/healmcp-4000000"));
    }
}
