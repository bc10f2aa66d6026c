//! Imports, and what a heal binds: both are settled before the rest is lowered.

use ruff_python_ast::{Alias, ExceptHandler, Expr, Stmt, StmtImport, StmtImportFrom};
use ruff_text_size::Ranged;

use crate::context::Context;
use crate::rules::{imports as rules, names as name_rules};
use crate::tables::{self, Module};
use crate::tree::{Import, Imported};

/// Collects what the statements import and bind, at all depths.
pub(crate) fn collect(cx: &mut Context<'_>, body: &[Stmt]) {
    for stmt in body {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    if let Some((bound, imported)) = module_import(alias) {
                        declare(cx, alias, bound, imported);
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    if let Some(imported) = from_import(import, alias) {
                        let bound = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                        declare(cx, alias, bound, imported);
                    }
                }
            }
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| bind(cx, target)),
            Stmt::AugAssign(assign) => bind(cx, &assign.target),
            Stmt::AnnAssign(assign) => bind(cx, &assign.target),
            Stmt::For(stmt) => {
                bind(cx, &stmt.target);
                collect(cx, &stmt.body);
                collect(cx, &stmt.orelse);
            }
            Stmt::While(stmt) => {
                collect(cx, &stmt.body);
                collect(cx, &stmt.orelse);
            }
            Stmt::If(stmt) => {
                collect(cx, &stmt.body);
                stmt.elif_else_clauses
                    .iter()
                    .for_each(|clause| collect(cx, &clause.body));
            }
            Stmt::Try(stmt) => {
                collect(cx, &stmt.body);
                for ExceptHandler::ExceptHandler(handler) in &stmt.handlers {
                    if let Some(name) = &handler.name {
                        cx.bound.insert(name.to_string());
                    }
                    collect(cx, &handler.body);
                }
                collect(cx, &stmt.orelse);
                collect(cx, &stmt.finalbody);
            }
            _ => {}
        }
    }
}

fn bind(cx: &mut Context<'_>, target: &Expr) {
    match target {
        Expr::Name(name) => {
            cx.bound.insert(name.id.to_string());
        }
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| bind(cx, target)),
        Expr::List(list) => list.elts.iter().for_each(|target| bind(cx, target)),
        Expr::Starred(starred) => bind(cx, &starred.value),
        _ => {}
    }
}

fn declare(cx: &mut Context<'_>, alias: &Alias, bound: String, imported: Imported) {
    if cx.imports.get(&bound).is_some_and(|earlier| *earlier != imported) {
        let span = cx.span(alias.range());
        cx.report(
            &rules::CONFLICTING_IMPORT,
            span,
            format!("`{bound}` is imported as two things"),
            "give one of them another name with `as`",
        );
    }
    cx.imports.insert(bound, imported);
}

/// Returns the name that `import …` binds, and what it is bound to.
fn module_import(alias: &Alias) -> Option<(String, Imported)> {
    let module = Module::from_name(&alias.name)?;
    Some(match (&alias.asname, alias.name.split_once('.')) {
        (Some(name), _) => (name.to_string(), Imported::Module(module)),
        (None, Some((package, _))) => (package.to_owned(), Imported::Package(module)),
        (None, None) => (alias.name.to_string(), Imported::Module(module)),
    })
}

/// Returns what `from … import …` binds its name to.
fn from_import(import: &StmtImportFrom, alias: &Alias) -> Option<Imported> {
    let module = import.module.as_ref().filter(|_| import.level == 0)?;
    if let Some(submodule) = Module::from_name(&format!("{module}.{}", alias.name)) {
        return Some(Imported::Module(submodule));
    }
    let member = tables::member(Module::from_name(module)?, &alias.name)?;
    Some(Imported::Member(member))
}

/// Lowers `import …`.
pub(super) fn import(cx: &mut Context<'_>, stmt: &StmtImport) -> Vec<Import> {
    let mut imports = Vec::new();
    for alias in &stmt.names {
        let span = cx.span(alias.range());
        super::names::check_identifier(cx, alias.name.range(), &alias.name);
        match module_import(alias) {
            Some((bound, what)) if !stmt.is_lazy => {
                check_bound(cx, alias, &bound);
                imports.push(Import { span, what, bound });
            }
            _ => report_module(cx, alias, &alias.name),
        }
    }
    imports
}

/// Lowers `from … import …`.
pub(super) fn import_from(cx: &mut Context<'_>, stmt: &StmtImportFrom) -> Vec<Import> {
    let mut imports = Vec::new();
    let span = cx.span(stmt.range());
    if stmt.level > 0 || stmt.is_lazy {
        cx.report(
            &rules::RELATIVE_IMPORT,
            span,
            "the import is relative to a package",
            "use the names that the frame already has",
        );
        return imports;
    }
    if let Some(module) = &stmt.module {
        super::names::check_identifier(cx, module.range(), module);
    }
    let module = stmt.module.as_deref().unwrap_or_default();
    for alias in &stmt.names {
        let span = cx.span(alias.range());
        super::names::check_identifier(cx, alias.name.range(), &alias.name);
        let is_package = module == "urllib";
        if Module::from_name(module).is_none() && !is_package {
            report_module(cx, alias, module);
        } else if alias.name.as_str() == "*" {
            cx.report(
                &rules::STAR_IMPORT,
                span,
                format!("all names of `{module}` are imported"),
                format!("name what is needed: `from {module} import name`"),
            );
        } else if let Some(what) = from_import(stmt, alias) {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
            check_bound(cx, alias, &bound);
            imports.push(Import { span, what, bound });
        } else if is_package {
            report_module(cx, alias, &format!("urllib.{}", alias.name));
        } else {
            report_member(cx, alias.range(), module, &alias.name);
        }
    }
    imports
}

/// An import may bind the name of what it imports, or a free one.
fn check_bound(cx: &mut Context<'_>, alias: &Alias, bound: &str) {
    let span = cx.span(alias.range());
    if let Some(asname) = &alias.asname {
        super::names::check_identifier(cx, asname.range(), asname);
    }
    let imported = cx.imports.remove(bound);
    let is_own_name = Module::from_name(bound).is_some() || bound == "urllib";
    let is_conflict = is_own_name
        && !matches!(
            &imported,
            Some(Imported::Module(module) | Imported::Package(module)) if module.name() == bound || bound == "urllib"
        )
        && !matches!(&imported, Some(Imported::Member(member)) if member.path == bound);
    if is_conflict || !is_own_name {
        name_rules::check_bind(cx, bound, span);
    }
    if let Some(imported) = imported {
        cx.imports.insert(bound.to_owned(), imported);
    }
}

fn report_module(cx: &mut Context<'_>, alias: &Alias, module: &str) {
    let span = cx.span(alias.range());
    let listed: Vec<_> = Module::ALL.iter().map(|module| module.name()).collect();
    cx.report(
        &rules::UNLISTED_MODULE,
        span,
        format!("the module `{module}` is not listed"),
        format!("compute the value with builtins or one of: {}", listed.join(", ")),
    );
}

/// Notes a member that is not listed.
pub(super) fn report_member(
    cx: &mut Context<'_>,
    range: ruff_text_size::TextRange,
    module: &str,
    path: &str,
) {
    let span = cx.span(range);
    let listed: Vec<_> = Module::from_name(module)
        .map(|module| {
            tables::module(module)
                .members
                .iter()
                .map(|member| member.path)
                .collect()
        })
        .unwrap_or_default();
    let help = if listed.len() > 40 {
        format!(
            "use a listed function of `{module}`, such as `{}`",
            listed[..6].join("`, `")
        )
    } else {
        format!("the listed members are: {}", listed.join(", "))
    };
    cx.report(
        &rules::UNLISTED_MEMBER,
        span,
        format!("`{module}.{path}` is not listed"),
        help,
    );
}
