//! Modules that a heal may import, and the members of each that it may use.

use super::builtins::names;

names! {
    /// A module that a heal may import.
    Module {
        Base64 = "base64",
        Binascii = "binascii",
        Bisect = "bisect",
        Collections = "collections",
        Datetime = "datetime",
        Decimal = "decimal",
        Fractions = "fractions",
        Html = "html",
        Itertools = "itertools",
        Json = "json",
        Math = "math",
        Re = "re",
        Statistics = "statistics",
        String = "string",
        Textwrap = "textwrap",
        Unicodedata = "unicodedata",
        UrllibParse = "urllib.parse",
    }
}

/// What a member of a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A function without side effects, or a class method called on its class.
    Function,
    /// A function that consumes an iterable before it returns.
    Consumer,
    /// A class that may be called, and be a value in `isinstance` or as `defaultdict(list)`'s argument.
    Class,
    /// A class that may be called, and whose call consumes an iterable.
    Container,
    /// An exception class: may be caught, not called.
    Exception,
    /// A constant.
    Constant,
}

/// A member of a listed module.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// The module.
    pub module: Module,
    /// The path below the module, such as `loads` or `datetime.strptime`.
    pub path: &'static str,
    /// What it is.
    pub kind: MemberKind,
}

/// The members of one module.
#[derive(Debug)]
pub struct ModuleTable {
    /// The module.
    pub module: Module,
    /// What a heal may use of it.
    pub members: &'static [Member],
}

/// Returns the table of a module.
pub fn module(module: Module) -> &'static ModuleTable {
    MODULES
        .iter()
        .find(|table| table.module == module)
        .expect("each module has a table, as a test shows")
}

/// Returns the listed member of a module, by its path below it.
pub fn member(module: Module, path: &str) -> Option<&'static Member> {
    self::module(module)
        .members
        .iter()
        .find(|member| member.path == path)
}

/// Defines the table of one module.
macro_rules! table {
    ($module:ident: $($kind:ident [$($path:literal),* $(,)?])*) => {
        ModuleTable {
            module: Module::$module,
            members: &[$($(Member { module: Module::$module, path: $path, kind: MemberKind::$kind },)*)*],
        }
    };
}

/// All modules.
pub const MODULES: &[ModuleTable] = &[
    table!(Base64:
    Function [
        "b16decode", "b16encode", "b32decode", "b32encode", "b64decode", "b64encode", "b85decode", "b85encode",
        "decodebytes", "encodebytes", "standard_b64decode", "standard_b64encode", "urlsafe_b64decode",
        "urlsafe_b64encode",
    ]),
    table!(Binascii:
        Function ["a2b_base64", "a2b_hex", "b2a_base64", "b2a_hex", "crc32", "hexlify", "unhexlify"]
        Exception ["Error", "Incomplete"]),
    table!(Bisect:
        Function ["bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right"]),
    table!(Collections:
        Container ["Counter", "OrderedDict", "deque"]
        Class ["defaultdict"]
        Function ["OrderedDict.fromkeys"]),
    table!(Datetime:
    Class ["date", "datetime", "time", "timedelta", "timezone"]
    Function [
        "date.fromisoformat", "date.fromordinal", "date.fromtimestamp", "date.today", "datetime.combine",
        "datetime.fromisoformat", "datetime.fromordinal", "datetime.fromtimestamp", "datetime.now",
        "datetime.strptime", "datetime.today", "datetime.utcfromtimestamp", "datetime.utcnow",
        "time.fromisoformat",
    ]
    Constant [
        "MAXYEAR", "MINYEAR", "UTC", "date.max", "date.min", "datetime.max", "datetime.min", "time.max",
        "time.min", "timedelta.max", "timedelta.min", "timezone.utc",
    ]),
    table!(Decimal:
    Class ["Decimal"]
    Function ["Decimal.from_float"]
    Exception ["ConversionSyntax", "DecimalException", "DivisionByZero", "InvalidOperation", "Overflow"]
    Constant [
        "ROUND_CEILING", "ROUND_DOWN", "ROUND_FLOOR", "ROUND_HALF_DOWN", "ROUND_HALF_EVEN", "ROUND_HALF_UP",
        "ROUND_UP",
    ]),
    table!(Fractions:
        Class ["Fraction"]
        Function ["Fraction.from_decimal", "Fraction.from_float"]),
    table!(Html:
        Function ["escape", "unescape"]),
    table!(Itertools:
    Function [
        "accumulate", "batched", "chain", "chain.from_iterable", "compress", "dropwhile", "filterfalse", "groupby",
        "islice", "pairwise", "takewhile", "zip_longest",
    ]),
    table!(Json:
        Function ["dumps", "loads"]
        Exception ["JSONDecodeError", "decoder.JSONDecodeError"]),
    table!(Math:
        Function [
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "comb", "copysign", "cos",
            "cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "factorial", "floor", "fmod", "frexp",
            "gamma", "gcd", "hypot", "isclose", "isfinite", "isinf", "isnan", "isqrt", "lcm", "ldexp", "lgamma", "log",
            "log10", "log1p", "log2", "modf", "nextafter", "perm", "pow", "radians", "remainder", "sin", "sinh",
            "sqrt", "tan", "tanh", "trunc", "ulp",
        ]
        Consumer ["dist", "fsum", "prod", "sumprod"]
        Constant ["e", "inf", "nan", "pi", "tau"]),
    table!(Re:
    Function ["compile", "escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"]
    Class ["Match", "Pattern"]
    Exception ["error"]
    Constant [
        "A", "ASCII", "DOTALL", "I", "IGNORECASE", "M", "MULTILINE", "S", "U", "UNICODE",
    ]),
    table!(Statistics:
        Consumer [
            "fmean", "geometric_mean", "harmonic_mean", "mean", "median", "median_grouped", "median_high",
            "median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles", "stdev", "variance",
        ]
        Exception ["StatisticsError"]),
    table!(String:
        Constant [
            "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "octdigits", "printable",
            "punctuation", "whitespace",
        ]
        Function ["capwords"]),
    table!(Textwrap:
        Function ["dedent", "fill", "indent", "shorten", "wrap"]),
    table!(Unicodedata:
        Function [
            "bidirectional", "category", "combining", "decimal", "digit", "east_asian_width", "is_normalized",
            "lookup", "name", "normalize", "numeric",
        ]
        Constant ["unidata_version"]),
    table!(UrllibParse:
    Function [
        "parse_qs", "parse_qsl", "quote", "quote_from_bytes", "quote_plus", "unquote", "unquote_plus",
        "unquote_to_bytes", "urldefrag", "urlencode", "urljoin", "urlparse", "urlsplit", "urlunparse",
        "urlunsplit",
    ]),
];
