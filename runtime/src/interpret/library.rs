//! Whether the standard library beneath a listed function is its own: a program may have put its own code there, and
//! then that code would run.

use healcore::tables::{Member, Module};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyType};

use super::interpreter::Interpreter;
use super::stop::{Eval, Stop, rule};
use super::world::{self, Kind};

/// The modules written in Python that functions of a listed module run through.
fn beneath(module: Module) -> &'static [&'static str] {
    match module {
        Module::Base64 => &["base64"],
        Module::Collections => &["collections"],
        Module::Datetime => &["datetime", "_strptime"],
        Module::Decimal => &["decimal"],
        Module::Fractions => &["fractions"],
        Module::Html => &["html"],
        Module::Json => &["json", "json.encoder", "json.decoder", "json.scanner"],
        Module::Re => &["re"],
        Module::Statistics => &["statistics", "fractions"],
        Module::String => &["string"],
        Module::Textwrap => &["textwrap"],
        Module::UrllibParse => &["urllib.parse"],
        Module::Binascii | Module::Bisect | Module::Itertools | Module::Math | Module::Unicodedata => &[],
    }
}

impl<'py> Interpreter<'_, 'py> {
    /// Makes sure that a listed function runs the library's own code, all the way down.
    pub(super) fn vet_beneath(&mut self, member: &Member) -> Eval<()> {
        if self.sound.contains(&member.module) {
            return Ok(());
        }
        for name in beneath(member.module) {
            let Some(module) = world::loaded(self.py, name) else {
                continue;
            };
            if let Some(replaced) = self.replaced_in(&module, name)? {
                return Err(Stop::refused(
                    rule::REBOUND,
                    format!(
                        "`{}.{}` runs `{name}.{replaced}`, which has been replaced by the program",
                        member.module.name(),
                        member.path
                    ),
                    "write it without the module",
                ));
            }
        }
        self.sound.push(member.module);
        Ok(())
    }

    /// The first thing in a module, or in a class of it, that is not the library's.
    fn replaced_in(&self, module: &Bound<'py, PyModule>, name: &str) -> Eval<Option<String>> {
        for (key, value) in module.dict() {
            let Some(key) = super::statics::text(&key) else {
                continue;
            };
            if let Ok(class) = value.cast::<PyType>()
                && self.facts.module_name(class) == name
            {
                for (inner, value) in items(&self.facts.world.class_dict(class)?)? {
                    if !self.is_untouched(&value)? {
                        return Ok(Some(format!("{key}.{inner}")));
                    }
                }
            } else if !key.starts_with("__") && !self.is_untouched(&value)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Whether a value of the library is what its source says: code of its files, or a value of its types.
    fn is_untouched(&self, value: &Bound<'py, PyAny>) -> Eval<bool> {
        let world = self.facts.world;
        let class = value.get_type();
        if class.is(&world.function) {
            // Functions are builtin objects: these are fields of theirs.
            let file = value.getattr("__code__")?.getattr("co_filename")?;
            return Ok(super::statics::text(&file).is_some_and(|file| world.is_library_path(&file)));
        }
        if class.is(&world.class_method) || class.is(&world.static_method) {
            return self.is_untouched(&value.getattr("__func__")?);
        }
        if class.is(&world.property) {
            let getter = value.getattr("fget")?;
            return self.is_untouched(&getter);
        }
        if self.facts.kind(value)? != Kind::Other {
            return Ok(true);
        }
        let module = self.facts.module_name(&class);
        Ok(module == "builtins"
            || world::loaded(self.py, &module).is_none_or(|module| world.is_library(&module)))
    }
}

/// The items of a class's own dict.
fn items<'py>(dict: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mut items = Vec::new();
    let copy = dict.py().get_type::<PyDict>().call1((dict,))?;
    for (name, value) in copy.cast_into::<PyDict>()? {
        if let Some(name) = super::statics::text(&name) {
            items.push((name, value));
        }
    }
    Ok(items)
}
