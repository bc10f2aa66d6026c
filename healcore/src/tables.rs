//! The allow-lists of HealCore, as data: the checker and the interpreter read the same tables.

mod attributes;
mod builtins;
mod exceptions;
mod methods;
mod modules;
mod strings;

pub use attributes::{AttributeFault, FORBIDDEN_ATTRIBUTES, FORBIDDEN_PREFIXES, attribute_fault};
pub use builtins::{Builtin, BuiltinType, CONSUMING_BUILTINS, FORBIDDEN_BUILTINS, FORBIDDEN_MODULES};
pub use exceptions::{EXCEPTION_ATTRIBUTES, ExceptionName, REFUSED_EXCEPTIONS};
pub use methods::{CONSUMING_METHODS, MethodName, RECEIVERS, Receiver, TYPE_METHODS, methods_of};
pub use modules::{MODULES, Member, MemberKind, Module, ModuleTable, member, module};
pub use strings::{CODEC_ERRORS, CODECS, codec};
