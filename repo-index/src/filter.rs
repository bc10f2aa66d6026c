//! Which files a question is about: a path they are below, or a glob.

use globset::{GlobBuilder, GlobMatcher};

use crate::error::Error;
use crate::source::Root;

/// A filter on the paths that answers show.
pub(crate) enum PathFilter {
    All,
    Below(String),
    Glob(GlobMatcher),
}

impl PathFilter {
    pub(crate) fn new(path: Option<&str>, roots: &[Root]) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self::All) };
        // A full path is taken as what answers would call it.
        let below = |root: &Root| {
            let base = match root.origin {
                crate::source::Origin::Project => Some(root.path.as_path()),
                crate::source::Origin::Package => root.path.parent(),
            };
            let rest = std::path::Path::new(path).strip_prefix(base?).ok()?;
            Some(rest.to_string_lossy().into_owned())
        };
        let relative = if path.starts_with('/') {
            roots.iter().find_map(below)
        } else {
            None
        };
        let path = relative.unwrap_or_else(|| path.trim_start_matches("./").into());
        let path = path.trim_end_matches('/');
        if path.is_empty() || path == "." {
            return Ok(Self::All);
        }
        if !path.contains(['*', '?', '[', '{']) {
            return Ok(Self::Below(path.into()));
        }
        // As in a .gitignore, a glob without a folder means a file in any folder.
        let anywhere = if path.contains('/') {
            path.to_owned()
        } else {
            format!("**/{path}")
        };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        glob.map(|glob| Self::Glob(glob.compile_matcher()))
            .map_err(|error| Error::BadGlob {
                glob: path.into(),
                why: error.kind().to_string(),
                hint: "write a folder such as `src/shop`, or a glob such as `src/**/test_*.py`".into(),
            })
    }

    pub(crate) fn allows(&self, shown: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below(path) => shown
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Glob(glob) => glob.is_match(shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filter: &str, allowed: &[&str], refused: &[&str]) {
        let filter_made = PathFilter::new(Some(filter), &[Root::project("/p", "p")]).unwrap();
        for path in allowed {
            assert!(filter_made.allows(path), "{path} for {filter}");
        }
        for path in refused {
            assert!(!filter_made.allows(path), "{path} for {filter}");
        }
    }

    #[test]
    fn a_path_is_a_folder_a_file_or_a_glob() {
        check(
            "shop",
            &["shop/a.py", "shop/b/c.py"],
            &["shopping/a.py", "x/shop/a.py"],
        );
        check("./shop/a.py", &["shop/a.py"], &["shop/a.pyi"]);
        check("/p/shop/", &["shop/a.py"], &["a.py"]);
        check("test_*.py", &["test_a.py", "x/test_a.py"], &["a.py"]);
        check(
            "shop/**/*.py",
            &["shop/a.py", "shop/b/c.py"],
            &["a.py", "shop/a.toml"],
        );
        check(".", &["a.py"], &[]);
    }

    #[test]
    fn a_bad_glob_says_so() {
        assert!(matches!(
            PathFilter::new(Some("a[.py"), &[]),
            Err(Error::BadGlob { .. })
        ));
    }
}
