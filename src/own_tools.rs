//! Looks for the functions that a configuration adds to the toolkit, in the project's own files.

use std::path::{Path, PathBuf};

/// What is wrong with a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Returns what is wrong with `package.module:function`; nothing where it is there, or where the package is not the
/// project's own, so that only the program can tell.
pub(crate) fn fault(root: Option<&Path>, name: &str) -> Option<Fault> {
    let (module, function) = name.split_once(':')?;
    let first = function.split('.').next()?;
    let package = module.split('.').next()?;
    let base = [root?.to_owned(), root?.join("src")]
        .into_iter()
        .find(|base| base.join(package).is_dir() || base.join(format!("{package}.py")).is_file())?;
    let Some(file) = file_of(&base, module) else {
        return Some(Fault {
            message: format!("there is no module `{module}` for `{name}`"),
            help: nearest(module, &modules_beside(&base, module)),
        });
    };
    let text = std::fs::read_to_string(file).ok()?;
    let names = names_of(&text)?;
    (!names.iter().any(|known| known == first)).then(|| Fault {
        message: format!("`{module}` has no `{first}`"),
        help: nearest(first, &names),
    })
}

fn file_of(base: &Path, module: &str) -> Option<PathBuf> {
    let path = base.join(module.replace('.', "/"));
    let files = [path.with_extension("py"), path.join("__init__.py")];
    files.into_iter().find(|file| file.is_file())
}

/// The modules of the folder in which a module would stand.
fn modules_beside(base: &Path, module: &str) -> Vec<String> {
    let (package, _) = module.rsplit_once('.').unwrap_or_default();
    let folder = base.join(package.replace('.', "/")).read_dir();
    let files = folder.into_iter().flatten().flatten();
    let stems = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let stem = name.strip_suffix(".py").filter(|stem| *stem != "__init__")?;
        Some(format!("{package}.{stem}").trim_start_matches('.').to_owned())
    });
    stems.collect()
}

/// The names that a module binds at its outermost level, as far as its lines tell; nothing where a star import may
/// bind any.
fn names_of(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches("async ");
        if line.starts_with("from ") && line.trim_end().ends_with('*') {
            return None;
        }
        let after = ["def ", "class "].iter().find_map(|word| line.strip_prefix(word));
        let words = |text: &str| -> Vec<String> {
            let letters = |letter: char| !(letter.is_alphanumeric() || letter == '_');
            text.split(letters)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        match after {
            Some(rest) => names.extend(words(rest).into_iter().next()),
            None if line.starts_with("from ") || line.starts_with("import ") => names.extend(words(line)),
            // A name of an import over several lines, or below an `if`, or an assignment.
            None => names.extend(
                words(line.split('=').next().unwrap_or_default())
                    .into_iter()
                    .take(3),
            ),
        }
    }
    Some(names)
}

fn nearest(word: &str, known: &[String]) -> String {
    let scored = known
        .iter()
        .map(|known| (strsim::jaro_winkler(word, known), known));
    match scored.max_by(|left, right| left.0.total_cmp(&right.0)) {
        Some((score, nearest)) if score > 0.7 => format!("did you mean `{nearest}`?"),
        _ => "correct the name: nothing is started with a toolkit that is not there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn a_name_that_is_not_there_is_told_its_nearest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("shop")).unwrap();
        let text = "from .other import moved\n\ndef repair(order):\n    pass\n\nrefill = repair\n";
        std::fs::write(folder.path().join("shop/tools.py"), text).unwrap();
        let check = |name: &str, expect: &str| {
            let told = fault(Some(folder.path()), name)
                .map_or_else(String::new, |fault| format!("{} ({})", fault.message, fault.help));
            assert_eq!(told, expect);
        };
        check("shop.tools:repair", "");
        check("shop.tools:refill", "");
        check("shop.tools:moved", "");
        check("numpy.linalg:norm", "");
        check(
            "shop.tools:repare",
            "`shop.tools` has no `repare` (did you mean `repair`?)",
        );
        check(
            "shop.tool:repair",
            "there is no module `shop.tool` for `shop.tool:repair` (did you mean `shop.tools`?)",
        );
    }
}
