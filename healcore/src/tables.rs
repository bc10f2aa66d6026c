//! The allow-lists of HealCore, as data: the checker and the interpreter read the same tables.

mod attributes;
mod builtins;
mod exceptions;
mod methods;
mod modules;
mod shapes;
mod strings;

pub use attributes::{AttributeFault, FORBIDDEN_ATTRIBUTES, FORBIDDEN_PREFIXES, attribute_fault};
pub use builtins::{
    AMBIGUOUS_MODULES, Builtin, BuiltinType, CONSUMING_BUILTINS, FORBIDDEN_BUILTINS, FORBIDDEN_MODULES,
    REBINDABLE_BUILTINS,
};
pub use exceptions::{EXCEPTION_ATTRIBUTES, ExceptionName, REFUSED_EXCEPTIONS};
pub use methods::{CONSUMING_METHODS, MethodName, RECEIVERS, Receiver, TYPE_METHODS, methods_of};
pub use modules::{MODULES, Member, MemberKind, Module, ModuleTable, member, module};
pub use shapes::{
    Shape, builtin_shape, function_positions, is_element_function, is_element_method, member_shape,
    method_keywords,
};
pub use strings::{CODEC_ERRORS, CODECS, codec};
