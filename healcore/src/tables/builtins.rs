//! Builtin functions and types that a heal may call, and names that it may never use.

/// Defines an enum whose variants each stand for one Python name.
macro_rules! names {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )+
        }

        impl $enum {
            /// All of them, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name as Python writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the variant of a Python name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(super) use names;

names! {
    /// A builtin that a heal may call.
    Builtin {
        Abs = "abs",
        All = "all",
        Any = "any",
        Ascii = "ascii",
        Bin = "bin",
        Bool = "bool",
        Bytearray = "bytearray",
        Bytes = "bytes",
        Callable = "callable",
        Chr = "chr",
        Complex = "complex",
        Dict = "dict",
        Divmod = "divmod",
        Enumerate = "enumerate",
        Filter = "filter",
        Float = "float",
        Format = "format",
        Frozenset = "frozenset",
        Getattr = "getattr",
        Hasattr = "hasattr",
        Hex = "hex",
        Int = "int",
        Isinstance = "isinstance",
        Issubclass = "issubclass",
        Iter = "iter",
        Len = "len",
        List = "list",
        Map = "map",
        Max = "max",
        Min = "min",
        Next = "next",
        Oct = "oct",
        Ord = "ord",
        Pow = "pow",
        Print = "print",
        Range = "range",
        Repr = "repr",
        Reversed = "reversed",
        Round = "round",
        Set = "set",
        Slice = "slice",
        Sorted = "sorted",
        Str = "str",
        Sum = "sum",
        Tuple = "tuple",
        Type = "type",
        Zip = "zip",
    }
}

names! {
    /// A builtin type that may also be used as a value.
    BuiltinType {
        Bool = "bool",
        Bytearray = "bytearray",
        Bytes = "bytes",
        Complex = "complex",
        Dict = "dict",
        Float = "float",
        Frozenset = "frozenset",
        Int = "int",
        List = "list",
        Range = "range",
        Set = "set",
        Slice = "slice",
        Str = "str",
        Tuple = "tuple",
    }
}

/// Builtins that consume an iterable before they return: a generator expression may be their argument.
pub const CONSUMING_BUILTINS: &[Builtin] = &[
    Builtin::All,
    Builtin::Any,
    Builtin::Bytearray,
    Builtin::Bytes,
    Builtin::Dict,
    Builtin::Frozenset,
    Builtin::List,
    Builtin::Max,
    Builtin::Min,
    Builtin::Next,
    Builtin::Set,
    Builtin::Sorted,
    Builtin::Sum,
    Builtin::Tuple,
];

/// Builtins that are refused by name wherever they stand, each with what to write instead.
pub const FORBIDDEN_BUILTINS: &[(&str, &str)] = &[
    ("aiter", "healing code is synchronous: loop with `for`"),
    ("anext", "healing code is synchronous: loop with `for`"),
    (
        "breakpoint",
        "read the state with `evaluate` instead of a debugger",
    ),
    (
        "classmethod",
        "healing code repairs values; it creates no descriptors",
    ),
    ("compile", "write the code itself instead of text that holds code"),
    ("copyright", "leave it out"),
    ("credits", "leave it out"),
    ("delattr", "set the attribute to None instead"),
    ("dir", "name the attribute: `hasattr(x, 'name')`"),
    (
        "eval",
        "write the expression itself; parse data with `json.loads`, `int` or `float`",
    ),
    ("exec", "write the statements themselves"),
    (
        "exit",
        "to end the crashed function write `return`; to let the program die use `abort`",
    ),
    ("globals", "write `global name` and assign the name"),
    ("hash", "compare the values themselves"),
    ("help", "leave it out"),
    ("id", "compare with `is`"),
    ("input", "write the value itself"),
    ("license", "leave it out"),
    ("locals", "name the variable"),
    ("memoryview", "copy with `bytes(x)`"),
    ("object", "use None or a plain value"),
    (
        "open",
        "healing code reads and writes no files: set the value that the file would have given",
    ),
    (
        "property",
        "healing code repairs values; it creates no descriptors",
    ),
    (
        "quit",
        "to end the crashed function write `return`; to let the program die use `abort`",
    ),
    ("setattr", "assign the attribute: `x.name = value`"),
    (
        "staticmethod",
        "healing code repairs values; it creates no descriptors",
    ),
    (
        "super",
        "call no methods of base classes; set the values that they would set",
    ),
    ("vars", "name the attribute: `x.name`"),
];

/// Forbidden builtins whose names programs use for variables: a heal may bind them.
pub const REBINDABLE_BUILTINS: &[&str] = &[
    "copyright",
    "credits",
    "dir",
    "hash",
    "help",
    "id",
    "input",
    "license",
    "object",
    "property",
    "vars",
];

/// Modules whose names are refused even where the frame has imported them.
pub const FORBIDDEN_MODULES: &[&str] = &[
    "_thread",
    "ast",
    "asyncio",
    "atexit",
    "builtins",
    "codecs",
    "codeop",
    "contextlib",
    "copyreg",
    "ctypes",
    "faulthandler",
    "fcntl",
    "ftplib",
    "functools",
    "gc",
    "importlib",
    "inspect",
    "linecache",
    "marshal",
    "mmap",
    "multiprocessing",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pkgutil",
    "posix",
    "pty",
    "runpy",
    "shelve",
    "shutil",
    "smtplib",
    "socketserver",
    "sqlite3",
    "subprocess",
    "sys",
    "sysconfig",
    "tempfile",
    "threading",
    "traceback",
    "weakref",
    "zipimport",
];

/// Modules whose names programs use for variables, too: refused before a dot, unless the name is known to be a variable.
pub const AMBIGUOUS_MODULES: &[&str] = &[
    "abc",
    "concurrent",
    "copy",
    "dis",
    "glob",
    "http",
    "io",
    "logging",
    "numpy",
    "operator",
    "platform",
    "random",
    "requests",
    "secrets",
    "socket",
    "ssl",
    "time",
    "typing",
    "uuid",
    "warnings",
];
