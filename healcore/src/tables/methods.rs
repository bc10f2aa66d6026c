//! Pure-data methods, by the exact type of the receiver.

use super::BuiltinType;

/// The name of a listed method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodName(&'static str);

impl MethodName {
    /// Returns the name as Python writes it.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Returns the listed method of that name, on whatever type.
    pub fn from_name(name: &str) -> Option<Self> {
        RECEIVERS
            .iter()
            .flat_map(|receiver| receiver.methods)
            .chain(TYPE_METHODS.iter().flat_map(|(_, methods)| *methods))
            .find(|method| **method == name)
            .map(|method| Self(method))
    }
}

/// A type whose methods and attributes a heal may use; the receiver's type must be exactly this one.
#[derive(Debug, PartialEq, Eq)]
pub struct Receiver {
    /// The module that defines the type, `builtins` for the builtin ones.
    pub module: &'static str,
    /// The name of the type in it.
    pub name: &'static str,
    /// The methods that may be called.
    pub methods: &'static [&'static str],
    /// The attributes that may be read.
    pub attributes: &'static [&'static str],
}

/// Returns the methods of the type with that module and name.
pub fn methods_of(module: &str, name: &str) -> Option<&'static Receiver> {
    RECEIVERS
        .iter()
        .find(|receiver| receiver.module == module && receiver.name == name)
}

const STR: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

const BYTES: &[&str] = &[
    "capitalize",
    "center",
    "count",
    "decode",
    "endswith",
    "expandtabs",
    "find",
    "hex",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

const BYTEARRAY: &[&str] = &[
    "append",
    "capitalize",
    "center",
    "clear",
    "copy",
    "count",
    "decode",
    "endswith",
    "expandtabs",
    "extend",
    "find",
    "hex",
    "index",
    "insert",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "pop",
    "remove",
    "removeprefix",
    "removesuffix",
    "replace",
    "reverse",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

const DICT: &[&str] = &[
    "clear",
    "copy",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

const FROZENSET: &[&str] = &[
    "copy",
    "difference",
    "intersection",
    "isdisjoint",
    "issubset",
    "issuperset",
    "symmetric_difference",
    "union",
];

const SET: &[&str] = &[
    "add",
    "clear",
    "copy",
    "difference",
    "difference_update",
    "discard",
    "intersection",
    "intersection_update",
    "isdisjoint",
    "issubset",
    "issuperset",
    "pop",
    "remove",
    "symmetric_difference",
    "symmetric_difference_update",
    "union",
    "update",
];

const DATE: &[&str] = &[
    "ctime",
    "isocalendar",
    "isoformat",
    "isoweekday",
    "replace",
    "strftime",
    "timetuple",
    "toordinal",
    "weekday",
];

/// The types, each with what may be used of it.
pub const RECEIVERS: &[Receiver] = &[
    builtin("str", STR, &[]),
    builtin("bytes", BYTES, &[]),
    builtin("bytearray", BYTEARRAY, &[]),
    builtin(
        "bool",
        &["as_integer_ratio", "bit_count", "bit_length", "conjugate"],
        NUMBER,
    ),
    builtin(
        "int",
        &[
            "as_integer_ratio",
            "bit_count",
            "bit_length",
            "conjugate",
            "is_integer",
            "to_bytes",
        ],
        NUMBER,
    ),
    builtin(
        "float",
        &["as_integer_ratio", "conjugate", "hex", "is_integer"],
        &["imag", "real"],
    ),
    builtin("complex", &["conjugate"], &["imag", "real"]),
    builtin(
        "list",
        &[
            "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
            "sort",
        ],
        &[],
    ),
    builtin("tuple", &["count", "index"], &[]),
    builtin("dict", DICT, &[]),
    builtin("dict_keys", &["isdisjoint"], &[]),
    builtin("dict_items", &["isdisjoint"], &[]),
    builtin("set", SET, &[]),
    builtin("frozenset", FROZENSET, &[]),
    builtin("range", &["count", "index"], &["start", "step", "stop"]),
    builtin("slice", &["indices"], &["start", "step", "stop"]),
    of(
        "collections",
        "Counter",
        &[
            "clear",
            "copy",
            "elements",
            "get",
            "items",
            "keys",
            "most_common",
            "pop",
            "popitem",
            "setdefault",
            "subtract",
            "total",
            "update",
            "values",
        ],
        &[],
    ),
    of("collections", "defaultdict", DICT, &["default_factory"]),
    of(
        "collections",
        "OrderedDict",
        &[
            "clear",
            "copy",
            "get",
            "items",
            "keys",
            "move_to_end",
            "pop",
            "popitem",
            "setdefault",
            "update",
            "values",
        ],
        &[],
    ),
    of(
        "collections",
        "deque",
        &[
            "append",
            "appendleft",
            "clear",
            "copy",
            "count",
            "extend",
            "extendleft",
            "index",
            "insert",
            "pop",
            "popleft",
            "remove",
            "reverse",
            "rotate",
        ],
        &["maxlen"],
    ),
    of(
        "datetime",
        "datetime",
        &[
            "astimezone",
            "ctime",
            "date",
            "dst",
            "isocalendar",
            "isoformat",
            "isoweekday",
            "replace",
            "strftime",
            "time",
            "timestamp",
            "timetuple",
            "timetz",
            "toordinal",
            "tzname",
            "utcoffset",
            "utctimetuple",
            "weekday",
        ],
        &[
            "day",
            "fold",
            "hour",
            "microsecond",
            "minute",
            "month",
            "second",
            "tzinfo",
            "year",
        ],
    ),
    of("datetime", "date", DATE, &["day", "month", "year"]),
    of(
        "datetime",
        "time",
        &["dst", "isoformat", "replace", "strftime", "tzname", "utcoffset"],
        &["fold", "hour", "microsecond", "minute", "second", "tzinfo"],
    ),
    of(
        "datetime",
        "timedelta",
        &["total_seconds"],
        &["days", "microseconds", "seconds"],
    ),
    of("datetime", "timezone", &["dst", "tzname", "utcoffset"], &[]),
    of(
        "decimal",
        "Decimal",
        &[
            "adjusted",
            "as_integer_ratio",
            "as_tuple",
            "compare",
            "copy_abs",
            "copy_negate",
            "copy_sign",
            "is_finite",
            "is_infinite",
            "is_nan",
            "is_signed",
            "is_zero",
            "normalize",
            "quantize",
            "sqrt",
            "to_integral_value",
        ],
        NUMBER_PARTS,
    ),
    of(
        "fractions",
        "Fraction",
        &["as_integer_ratio", "limit_denominator"],
        &["denominator", "numerator"],
    ),
    of(
        "re",
        "Pattern",
        &[
            "findall",
            "finditer",
            "fullmatch",
            "match",
            "search",
            "split",
            "sub",
            "subn",
        ],
        PATTERN,
    ),
    of(
        "re",
        "Match",
        &["end", "group", "groupdict", "groups", "span", "start"],
        &["endpos", "lastgroup", "lastindex", "pos", "re", "string"],
    ),
    of("urllib.parse", "ParseResult", &["geturl"], URL),
    of("urllib.parse", "SplitResult", &["geturl"], SPLIT_URL),
];

const NUMBER: &[&str] = &["denominator", "imag", "numerator", "real"];
const NUMBER_PARTS: &[&str] = &["imag", "real"];
const PATTERN: &[&str] = &["flags", "groupindex", "groups", "pattern"];
const URL: &[&str] = &[
    "fragment", "hostname", "netloc", "params", "password", "path", "port", "query", "scheme", "username",
];
const SPLIT_URL: &[&str] = &[
    "fragment", "hostname", "netloc", "password", "path", "port", "query", "scheme", "username",
];

/// Methods that are called on a builtin type itself; the type's own methods may be called or passed so, too.
pub const TYPE_METHODS: &[(BuiltinType, &[&str])] = &[
    (BuiltinType::Bytearray, &["fromhex"]),
    (BuiltinType::Bytes, &["fromhex"]),
    (BuiltinType::Dict, &["fromkeys"]),
    (BuiltinType::Float, &["fromhex"]),
    (BuiltinType::Int, &["from_bytes"]),
];

/// Methods that consume an iterable before they return: a generator expression may be their argument.
pub const CONSUMING_METHODS: &[&str] = &[
    "difference_update",
    "extend",
    "extendleft",
    "fromkeys",
    "intersection_update",
    "isdisjoint",
    "issubset",
    "issuperset",
    "join",
    "symmetric_difference_update",
    "update",
    "union",
    "difference",
    "intersection",
    "symmetric_difference",
];

const fn builtin(
    name: &'static str,
    methods: &'static [&'static str],
    attributes: &'static [&'static str],
) -> Receiver {
    of("builtins", name, methods, attributes)
}

const fn of(
    module: &'static str,
    name: &'static str,
    methods: &'static [&'static str],
    attributes: &'static [&'static str],
) -> Receiver {
    Receiver {
        module,
        name,
        methods,
        attributes,
    }
}
