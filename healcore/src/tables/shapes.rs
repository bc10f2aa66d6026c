//! How the listed functions may be called: number of arguments, keywords, stars, and where functions may be passed.

use super::{Builtin, BuiltinType, Member, MemberKind, Module};

/// How a callee may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The fewest positional arguments.
    pub min: usize,
    /// The most positional arguments.
    pub max: usize,
    /// The keywords; `"*"` stands for any and for `**mapping`.
    pub keywords: &'static [&'static str],
    /// Whether `*iterable` may stand among the arguments.
    pub star: bool,
}

const ANY: usize = 255;

const fn fixed(min: usize, max: usize, keywords: &'static [&'static str]) -> Shape {
    Shape {
        min,
        max,
        keywords,
        star: false,
    }
}

const fn spread(min: usize, keywords: &'static [&'static str]) -> Shape {
    Shape {
        min,
        max: ANY,
        keywords,
        star: true,
    }
}

/// Returns how a builtin may be called.
pub fn builtin_shape(builtin: Builtin) -> Shape {
    match builtin {
        Builtin::Bool
        | Builtin::Frozenset
        | Builtin::List
        | Builtin::Set
        | Builtin::Tuple
        | Builtin::Float => fixed(0, 1, &[]),
        Builtin::Abs
        | Builtin::All
        | Builtin::Any
        | Builtin::Ascii
        | Builtin::Bin
        | Builtin::Callable
        | Builtin::Chr
        | Builtin::Hex
        | Builtin::Iter
        | Builtin::Len
        | Builtin::Oct
        | Builtin::Ord
        | Builtin::Repr
        | Builtin::Reversed
        | Builtin::Type => fixed(1, 1, &[]),
        Builtin::Bytes | Builtin::Bytearray => fixed(0, 3, &["encoding", "errors"]),
        Builtin::Complex => fixed(0, 2, &["imag", "real"]),
        Builtin::Dict => fixed(0, 1, &["*"]),
        Builtin::Divmod | Builtin::Filter | Builtin::Hasattr | Builtin::Isinstance | Builtin::Issubclass => {
            fixed(2, 2, &[])
        }
        Builtin::Enumerate => fixed(1, 2, &["start"]),
        Builtin::Format | Builtin::Next => fixed(1, 2, &[]),
        Builtin::Getattr => fixed(2, 3, &[]),
        Builtin::Int => fixed(0, 2, &["base"]),
        Builtin::Map => fixed(2, ANY, &[]),
        Builtin::Max | Builtin::Min => spread(1, &["default", "key"]),
        Builtin::Pow => fixed(2, 3, &[]),
        Builtin::Print => spread(0, &["end", "sep"]),
        Builtin::Range | Builtin::Slice => fixed(1, 3, &[]),
        Builtin::Round => fixed(1, 2, &["ndigits"]),
        Builtin::Sorted => fixed(1, 1, &["key", "reverse"]),
        Builtin::Str => fixed(0, 3, &["encoding", "errors"]),
        Builtin::Sum => fixed(1, 2, &["start"]),
        Builtin::Zip => spread(0, &["strict"]),
    }
}

/// Returns how a member of a module may be called.
pub fn member_shape(member: &Member) -> Shape {
    match (member.module, member.path) {
        (Module::Json, "dumps") => fixed(
            1,
            1,
            &[
                "allow_nan",
                "default",
                "ensure_ascii",
                "indent",
                "separators",
                "skipkeys",
                "sort_keys",
            ],
        ),
        (Module::Json, "loads") => fixed(1, 1, &["parse_float", "parse_int", "strict"]),
        (Module::Re, "compile") => fixed(1, 2, &["flags"]),
        (Module::Re, "escape") => fixed(1, 1, &[]),
        (Module::Re, "split") => fixed(2, 4, &["flags", "maxsplit"]),
        (Module::Re, "sub" | "subn") => fixed(3, 5, &["count", "flags"]),
        (Module::Re, _) => fixed(2, 3, &["flags"]),
        (Module::Collections, "Counter" | "OrderedDict") => fixed(0, 1, &["*"]),
        (Module::Collections, "defaultdict") => fixed(0, 2, &["*"]),
        (Module::Collections, "deque") => fixed(0, 2, &["maxlen"]),
        (Module::Collections, _) => fixed(1, 2, &[]),
        (Module::Datetime, "datetime") => spread(
            3,
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
        (Module::Datetime, "date") => spread(0, &["day", "month", "year"]),
        (Module::Datetime, "time") => {
            spread(0, &["fold", "hour", "microsecond", "minute", "second", "tzinfo"])
        }
        (Module::Datetime, "timedelta") => spread(
            0,
            &[
                "days",
                "hours",
                "microseconds",
                "milliseconds",
                "minutes",
                "seconds",
                "weeks",
            ],
        ),
        (Module::Datetime, "timezone") => fixed(1, 2, &[]),
        (Module::Datetime, _) => fixed(0, 3, &["tz", "tzinfo"]),
        (Module::Decimal, "Decimal") => fixed(0, 1, &[]),
        (Module::Fractions, _) => fixed(0, 2, &["denominator", "numerator"]),
        (Module::Html, "escape") => fixed(1, 2, &["quote"]),
        (Module::Itertools, "chain") => spread(0, &[]),
        (Module::Itertools, "zip_longest") => spread(0, &["fillvalue"]),
        (Module::Itertools, "accumulate") => fixed(1, 2, &["func", "initial"]),
        (Module::Itertools, "batched") => fixed(2, 2, &["strict"]),
        (Module::Itertools, "groupby") => fixed(1, 2, &["key"]),
        (Module::Itertools, _) => fixed(1, 4, &[]),
        (Module::Bisect, _) => fixed(2, 4, &["hi", "key", "lo"]),
        (Module::Base64, "b64decode" | "urlsafe_b64decode") => fixed(1, 3, &["altchars", "validate"]),
        (Module::Base64, "b32decode" | "b16decode") => fixed(1, 2, &["casefold"]),
        (Module::Math, "gcd" | "hypot" | "lcm") => spread(0, &[]),
        (Module::Math, "isclose") => fixed(2, 2, &["abs_tol", "rel_tol"]),
        (Module::Math, "prod") => fixed(1, 1, &["start"]),
        (Module::Statistics, "quantiles") => fixed(1, 1, &["method", "n"]),
        (Module::Statistics, "fmean" | "harmonic_mean") => fixed(1, 2, &["weights"]),
        (Module::Textwrap, "dedent") => fixed(1, 1, &[]),
        (Module::Textwrap, "indent") => fixed(2, 2, &[]),
        (Module::Textwrap, "shorten") => fixed(2, 2, &["placeholder", "width"]),
        (Module::Textwrap, _) => fixed(
            1,
            2,
            &["initial_indent", "max_lines", "subsequent_indent", "width"],
        ),
        (Module::UrllibParse, "parse_qs" | "parse_qsl") => fixed(
            1,
            3,
            &[
                "encoding",
                "errors",
                "keep_blank_values",
                "separator",
                "strict_parsing",
            ],
        ),
        (Module::UrllibParse, "quote" | "quote_plus") => fixed(1, 2, &["encoding", "errors", "safe"]),
        (Module::UrllibParse, "unquote" | "unquote_plus") => fixed(1, 1, &["encoding", "errors"]),
        (Module::UrllibParse, "urlencode") => fixed(1, 2, &["doseq"]),
        _ => fixed(0, 4, &[]),
    }
}

/// Returns the keywords that a listed method may be called with; `"*"` stands for any and for `**mapping`.
pub fn method_keywords(method: &str) -> &'static [&'static str] {
    match method {
        "astimezone" => &["tz"],
        "decode" | "encode" => &["encoding", "errors"],
        "expandtabs" => &["tabsize"],
        "format" | "subtract" | "update" => &["*"],
        "groupdict" => &["default"],
        "hex" => &["bytes_per_sep", "sep"],
        "isoformat" => &["sep", "timespec"],
        "limit_denominator" => &["max_denominator"],
        "most_common" => &["n"],
        "move_to_end" => &["last"],
        "popitem" => &["last"],
        "quantize" => &["exp", "rounding"],
        "replace" => &[
            "count",
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
        "rsplit" | "split" => &["maxsplit", "sep"],
        "sort" => &["key", "reverse"],
        "splitlines" => &["keepends"],
        "sub" | "subn" => &["count"],
        "to_bytes" => &["byteorder", "length", "signed"],
        "from_bytes" => &["byteorder", "signed"],
        "to_integral_value" => &["rounding"],
        _ => &[],
    }
}

/// Returns the positional arguments of a member that are functions, such as the first of `takewhile`.
pub fn function_positions(member: &Member) -> &'static [usize] {
    match (member.module, member.path) {
        (Module::Itertools, "dropwhile" | "filterfalse" | "takewhile")
        | (Module::Collections, "defaultdict") => &[0],
        (Module::Itertools, "accumulate" | "groupby") => &[1],
        _ => &[],
    }
}

/// Says whether a builtin may be applied to elements, as in `map(int, parts)`.
pub fn is_element_function(builtin: Builtin) -> bool {
    !matches!(
        builtin,
        Builtin::Bytes
            | Builtin::Bytearray
            | Builtin::Divmod
            | Builtin::Enumerate
            | Builtin::Filter
            | Builtin::Format
            | Builtin::Getattr
            | Builtin::Hasattr
            | Builtin::Isinstance
            | Builtin::Issubclass
            | Builtin::Iter
            | Builtin::Map
            | Builtin::Next
            | Builtin::Pow
            | Builtin::Print
            | Builtin::Range
            | Builtin::Slice
            | Builtin::Zip
    )
}

/// Says whether a method may be called on its type and applied to elements, as in `map(str.strip, parts)`.
pub fn is_element_method(of: BuiltinType, method: &str) -> bool {
    matches!(
        of,
        BuiltinType::Str | BuiltinType::Bytes | BuiltinType::Int | BuiltinType::Float
    ) && super::methods_of("builtins", of.name()).is_some_and(|receiver| receiver.methods.contains(&method))
        && !matches!(
            method,
            "center"
                | "decode"
                | "encode"
                | "expandtabs"
                | "format"
                | "join"
                | "ljust"
                | "replace"
                | "rjust"
                | "to_bytes"
                | "zfill"
        )
}

impl Member {
    /// Says whether it may be applied to elements.
    pub fn is_element_function(&self) -> bool {
        let is_plain = !matches!(
            self.module,
            Module::Re | Module::Json | Module::Itertools | Module::Bisect
        );
        let is_callable = matches!(
            self.kind,
            MemberKind::Function | MemberKind::Consumer | MemberKind::Class | MemberKind::Container
        );
        (is_plain || self.path == "escape") && is_callable
    }
}
