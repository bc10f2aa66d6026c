//! Turns bytes into heals: a grammar of Python whose choices the bytes make, so that mutated bytes are mutated trees.

use arbitrary::{Result, Unstructured};

/// Which words a heal is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Also those that HealCore refuses.
    All,
    /// Those that HealCore accepts for the most part.
    Allowed,
}

/// How deep expressions and blocks stand in one another, at most.
const DEPTH: usize = 6;

const NAMES: &[&str] = &[
    "n",
    "m",
    "f",
    "s",
    "b",
    "t",
    "none",
    "items",
    "words",
    "mixed",
    "rows",
    "d",
    "e",
    "tup",
    "ids",
    "fz",
    "r",
    "x",
    "y",
    "a",
    "obj",
    "slot",
    "point",
    "color",
    "pair",
    "mylist",
    "mydict",
    "dd",
    "od",
    "dq",
    "cnt",
    "dec",
    "frac",
    "day",
    "when",
    "delta",
    "pat",
    "text",
    "err",
    "frozen",
    "typed",
    "space",
    "big",
    "ba",
    "nested",
    "people",
    "shared",
    "empty",
    "digits",
    "level",
    "loud",
    "guarded",
    "gen",
    "it",
    "strange",
    "proxy",
    "hidden",
    "clash",
    "zoned",
    "lazy",
    "order",
    "price",
    "cheap",
    "key",
    "other_key",
    "cells",
    "impure",
    "derived",
    "fallback",
    "share",
    "square",
    "orders",
    "salted",
    "by_salt",
    "holder",
    "loud_attr",
    "with_descriptor",
    "counter",
    "long_dict",
    "add_five",
];
const CALLEES: &[&str] = &[
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "chr",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hash",
    "hex",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "oct",
    "ord",
    "pow",
    "print",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
    "callable",
    "ValueError",
    "KeyError",
    "Order",
    "Point",
    "Money",
    "Checked",
    "Color",
    "Pair",
    "Derived",
    "AppError",
    "Share",
    "convert",
    "clamp",
    "mean",
    "words",
    "safe",
    "factorial",
    "counted",
    "flatten",
    "spread",
    "through",
    "doubled",
    "first_match",
    "while_loop",
    "fail",
    "caught",
    "own_copy",
    "any_big",
    "hash_of",
    "lengths",
    "nested_any",
    "own_table",
    "own_object",
    "quotient",
    "chained",
    "by_star",
    "by_walrus",
    "grow_argument",
    "change_argument",
    "deep",
    "never_ends",
    "recurses",
    "huge",
    "power",
    "Finalised",
    "Registered",
];
const METHODS: &[&str] = &[
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "sort",
    "reverse",
    "index",
    "count",
    "copy",
    "get",
    "items",
    "keys",
    "values",
    "setdefault",
    "update",
    "popitem",
    "fromkeys",
    "add",
    "discard",
    "union",
    "intersection",
    "difference",
    "symmetric_difference",
    "issubset",
    "isdisjoint",
    "appendleft",
    "popleft",
    "rotate",
    "extendleft",
    "most_common",
    "subtract",
    "total",
    "elements",
    "move_to_end",
    "upper",
    "lower",
    "strip",
    "split",
    "rsplit",
    "join",
    "replace",
    "find",
    "startswith",
    "endswith",
    "format",
    "zfill",
    "center",
    "ljust",
    "encode",
    "decode",
    "splitlines",
    "partition",
    "title",
    "expandtabs",
    "translate",
    "casefold",
    "isdigit",
    "hex",
    "bit_length",
    "is_integer",
    "as_integer_ratio",
    "conjugate",
    "isoformat",
    "strftime",
    "replace",
    "date",
    "timestamp",
    "total_seconds",
    "quantize",
    "match",
    "search",
    "findall",
    "sub",
    "group",
    "groups",
    "groupdict",
    "describe",
    "parts",
    "moved",
    "expensive",
    "as_dict",
    "set_value",
    "grow",
    "hidden",
    "_replace",
    "_asdict",
    "maketrans",
    "add_note",
    "with_traceback",
    "__class__",
    "is_same",
    "is_true",
    "size",
    "key",
];
const ATTRIBUTES: &[&str] = &[
    "x", "y", "name", "value", "args", "total", "tags", "inner", "label", "left", "right", "real", "imag",
    "year", "days", "first", "lines", "price", "number", "amount", "currency", "extra", "percent", "ratio",
    "items", "pattern", "v", "start", "computed", "slow", "pretty", "cents", "double", "side", "_cache",
    "values",
];
const WILD: &[&str] = &[
    "__class__",
    "__dict__",
    "__globals__",
    "__builtins__",
    "__import__",
    "gi_frame",
    "f_back",
    "tb_frame",
    "mro",
    "co_code",
    "eval",
    "exec",
    "open",
    "compile",
    "globals",
    "locals",
    "vars",
    "setattr",
    "delattr",
    "super",
    "object",
    "breakpoint",
    "os",
    "sys",
    "type",
    "cell_contents",
    "_Share__hidden",
    "__debug__",
    "ｎ",
    "ﬁ",
    "µ",
];
const MODULES: &[&str] = &[
    "math",
    "re",
    "json",
    "datetime",
    "decimal",
    "fractions",
    "statistics",
    "string",
    "collections",
    "itertools",
    "base64",
    "binascii",
    "html",
    "urllib.parse",
    "unicodedata",
    "textwrap",
    "bisect",
];
const MODULE_CALLS: &[(&str, &str)] = &[
    ("math", "floor"),
    ("math", "sqrt"),
    ("math", "factorial"),
    ("math", "comb"),
    ("math", "perm"),
    ("math", "pow"),
    ("math", "prod"),
    ("math", "gcd"),
    ("math", "ldexp"),
    ("math", "isqrt"),
    ("math", "fsum"),
    ("math", "dist"),
    ("json", "dumps"),
    ("json", "loads"),
    ("base64", "b64decode"),
    ("base64", "b64encode"),
    ("base64", "b85decode"),
    ("binascii", "unhexlify"),
    ("bisect", "insort"),
    ("bisect", "bisect"),
    ("collections", "Counter"),
    ("collections", "OrderedDict"),
    ("collections", "deque"),
    ("collections", "defaultdict"),
    ("datetime", "datetime"),
    ("datetime", "timedelta"),
    ("datetime", "date"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("html", "unescape"),
    ("itertools", "accumulate"),
    ("itertools", "chain"),
    ("itertools", "compress"),
    ("itertools", "groupby"),
    ("itertools", "islice"),
    ("itertools", "zip_longest"),
    ("itertools", "pairwise"),
    ("itertools", "takewhile"),
    ("itertools", "batched"),
    ("statistics", "mean"),
    ("statistics", "median"),
    ("statistics", "quantiles"),
    ("statistics", "stdev"),
    ("statistics", "mode"),
    ("textwrap", "wrap"),
    ("textwrap", "fill"),
    ("textwrap", "indent"),
    ("textwrap", "shorten"),
    ("unicodedata", "normalize"),
    ("unicodedata", "name"),
    ("string", "capwords"),
    ("re", "findall"),
    ("re", "sub"),
    ("re", "split"),
    ("re", "fullmatch"),
    ("re", "compile"),
];
const ATOMS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "3",
    "7",
    "64",
    "1000",
    "65536",
    "99999999",
    "10**20",
    "0.0",
    "2.5",
    "1e308",
    "-0.0",
    "3j",
    "True",
    "False",
    "None",
    "''",
    "'a'",
    "'ab'",
    "'name'",
    "'x'",
    "'k'",
    "'%s'",
    "'{}'",
    "'{0!r:>9}'",
    "b''",
    "b'ab'",
    "[]",
    "()",
    "{}",
    "set()",
    "...",
    "'(a+)+b'",
    "r'\\d+'",
    "'a' * 9",
    "[1, 2, 3]",
    "[[1], [2]]",
    "{'a': 1}",
    "{1, 2}",
    "(1, 'a')",
    "range(5)",
    "'é'",
    "'\\U0001f600'",
];
const BINARY: &[&str] = &["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"];
const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"];
const EXCEPTIONS: &[&str] = &[
    "Exception",
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "ZeroDivisionError",
    "OverflowError",
    "RuntimeError",
    "LookupError",
    "StopIteration",
    "ArithmeticError",
    "RecursionError",
    "AppError",
    "(KeyError, TypeError)",
];
const SPECS: &[&str] = &[
    "", ">9", "05", ".2f", ",", "x", "^12", "%", "s", "d", ".3", "e", "<<4",
];

/// Returns the heal that bytes stand for.
pub fn heal(bytes: &[u8], words: Words) -> String {
    let mut maker = Maker {
        bytes: Unstructured::new(bytes),
        words,
        text: String::new(),
        n_loops: 0,
    };
    // The bytes end somewhere: what is there by then is the heal.
    let n_statements = maker.bytes.int_in_range(1..=6).unwrap_or(1);
    for _ in 0..n_statements {
        let before = maker.text.len();
        if maker.statement(0).is_err() {
            maker.text.truncate(before);
            break;
        }
    }
    if maker.text.is_empty() {
        maker.text.push_str("pass\n");
    }
    maker.text
}

struct Maker<'a> {
    bytes: Unstructured<'a>,
    words: Words,
    text: String,
    n_loops: usize,
}

impl Maker<'_> {
    fn pick(&mut self, words: &[&'static str]) -> Result<&'static str> {
        Ok(words[self.bytes.choose_index(words.len())?])
    }

    fn choice(&mut self, n_choices: u8) -> Result<u8> {
        if self.bytes.is_empty() {
            return Err(arbitrary::Error::NotEnoughData);
        }
        self.bytes.int_in_range(0..=n_choices - 1)
    }

    fn name(&mut self) -> Result<&'static str> {
        if self.words == Words::All && self.choice(24)? == 0 {
            return self.pick(WILD);
        }
        self.pick(NAMES)
    }

    fn attribute(&mut self) -> Result<&'static str> {
        if self.words == Words::All && self.choice(24)? == 0 {
            return self.pick(WILD);
        }
        self.pick(ATTRIBUTES)
    }

    fn line(&mut self, level: usize, line: &str) {
        self.text.push_str(&"    ".repeat(level));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn block(&mut self, level: usize) -> Result<()> {
        let n_statements = 1 + self.choice(3)?;
        for _ in 0..n_statements {
            self.statement(level)?;
        }
        Ok(())
    }

    fn statement(&mut self, level: usize) -> Result<()> {
        let choice = self.choice(if level < DEPTH { 32 } else { 20 })?;
        match choice {
            0..=3 => {
                let line = format!("{} = {}", self.target(level)?, self.expr(0)?);
                self.line(level, &line);
            }
            4..=6 => {
                let line = format!("{} {}= {}", self.place()?, self.pick(BINARY)?, self.expr(0)?);
                self.line(level, &line);
            }
            7..=9 => {
                let line = self.call(0)?;
                self.line(level, &line);
            }
            10 => {
                let line = format!("{}, *{} = {}", self.target(level)?, self.name()?, self.expr(0)?);
                self.line(level, &line);
            }
            11 => {
                let line = format!("del {}[{}]", self.name()?, self.expr(1)?);
                self.line(level, &line);
            }
            12 => {
                let line = format!("assert {}, {}", self.expr(0)?, self.expr(1)?);
                self.line(level, &line);
            }
            13 => {
                let line = format!(
                    "raise {}({})",
                    self.pick(&["ValueError", "KeyError", "TypeError", "StopIteration"])?,
                    self.expr(1)?
                );
                self.line(level, &line);
            }
            14 => {
                let line = self.pick(&["break", "continue", "pass", "return", "global n", "raise"])?;
                self.line(level, line);
            }
            15 => {
                let line = format!("return {}", self.expr(0)?);
                self.line(level, &line);
            }
            16 => {
                let (module, function) = MODULE_CALLS[self.bytes.choose_index(MODULE_CALLS.len())?];
                self.line(level, &format!("from {module} import {function}"));
                let line = format!("{} = {function}({})", self.name()?, self.arguments(0)?);
                self.line(level, &line);
            }
            17 => {
                let (module, function) = MODULE_CALLS[self.bytes.choose_index(MODULE_CALLS.len())?];
                self.line(level, &format!("import {module}"));
                let line = format!("{} = {module}.{function}({})", self.name()?, self.arguments(0)?);
                self.line(level, &line);
            }
            18 => {
                let line = format!("{}: int = {}", self.name()?, self.expr(0)?);
                self.line(level, &line);
            }
            19 => {
                let line = if self.words == Words::All {
                    let module = self.pick(MODULES)?;
                    format!("import {module} as {}", self.name()?)
                } else {
                    format!(
                        "{} = {} = {}",
                        self.target(level)?,
                        self.target(level)?,
                        self.expr(0)?
                    )
                };
                self.line(level, &line);
            }
            20..=22 => {
                let line = format!("if {}:", self.expr(0)?);
                self.line(level, &line);
                self.block(level + 1)?;
                if self.choice(2)? == 0 {
                    self.line(level, "else:");
                    self.block(level + 1)?;
                }
            }
            23..=25 => {
                let line = format!("for {} in {}:", self.target(level)?, self.expr(0)?);
                self.line(level, &line);
                self.block(level + 1)?;
                if self.choice(4)? == 0 {
                    self.line(level, "else:");
                    self.block(level + 1)?;
                }
            }
            26 => {
                self.n_loops += 1;
                let line = format!("while {}:", self.expr(0)?);
                self.line(level, &line);
                self.block(level + 1)?;
                self.line(level + 1, "break");
            }
            27 => {
                self.line(level, "try:");
                self.block(level + 1)?;
                self.line(level, "finally:");
                self.block(level + 1)?;
            }
            _ => {
                self.line(level, "try:");
                self.block(level + 1)?;
                let line = format!(
                    "except {} as {}:",
                    self.pick(EXCEPTIONS)?,
                    self.pick(&["error", "err", "x"])?
                );
                self.line(level, &line);
                self.block(level + 1)?;
                if self.choice(3)? == 0 {
                    self.line(level, "else:");
                    self.block(level + 1)?;
                }
                if self.choice(3)? == 0 {
                    self.line(level, "finally:");
                    self.block(level + 1)?;
                }
            }
        }
        Ok(())
    }

    fn place(&mut self) -> Result<String> {
        Ok(match self.choice(4)? {
            0 | 1 => self.name()?.to_owned(),
            2 => format!("{}.{}", self.name()?, self.attribute()?),
            _ => format!("{}[{}]", self.name()?, self.subscript(DEPTH - 2)?),
        })
    }

    fn target(&mut self, level: usize) -> Result<String> {
        Ok(match self.choice(8)? {
            0 if level < DEPTH => format!("{}, {}", self.place()?, self.place()?),
            1 if level < DEPTH => format!("{}, ({}, *{})", self.place()?, self.place()?, self.name()?),
            _ => self.place()?,
        })
    }

    fn subscript(&mut self, depth: usize) -> Result<String> {
        Ok(match self.choice(5)? {
            0 => format!("{}:{}", self.expr(depth + 1)?, self.expr(depth + 1)?),
            1 => format!("::{}", self.expr(depth + 1)?),
            _ => self.expr(depth + 1)?,
        })
    }

    fn arguments(&mut self, depth: usize) -> Result<String> {
        let n_arguments = self.choice(4)?;
        let mut arguments = Vec::new();
        for _ in 0..n_arguments {
            arguments.push(match self.choice(16)? {
                0 => format!("*{}", self.expr(depth + 1)?),
                1 => format!("key=lambda x: {}", self.expr(depth + 1)?),
                2 => format!(
                    "{}={}",
                    self.pick(&["default", "reverse", "start", "sep", "strict", "base"])?,
                    self.expr(depth + 1)?
                ),
                3 => format!("{} for x in {}", self.expr(depth + 1)?, self.expr(depth + 1)?),
                4 => format!("**{}", self.expr(depth + 1)?),
                _ => self.expr(depth + 1)?,
            });
        }
        Ok(arguments.join(", "))
    }

    fn call(&mut self, depth: usize) -> Result<String> {
        let arguments = self.arguments(depth)?;
        Ok(match self.choice(4)? {
            0 | 1 => format!("{}({arguments})", self.pick(CALLEES)?),
            2 => format!("{}.{}({arguments})", self.name()?, self.pick(METHODS)?),
            _ => format!(
                "{}.{}.{}({arguments})",
                self.name()?,
                self.attribute()?,
                self.pick(METHODS)?
            ),
        })
    }

    fn expr(&mut self, depth: usize) -> Result<String> {
        let choice = self.choice(if depth < DEPTH { 32 } else { 8 })?;
        let inner = depth + 1;
        Ok(match choice {
            0..=3 => self.name()?.to_owned(),
            4..=6 => self.pick(ATOMS)?.to_owned(),
            7 => format!("{}.{}", self.name()?, self.attribute()?),
            8..=10 => format!(
                "({} {} {})",
                self.expr(inner)?,
                self.pick(BINARY)?,
                self.expr(inner)?
            ),
            11 => format!(
                "({} {} {})",
                self.expr(inner)?,
                self.pick(COMPARISONS)?,
                self.expr(inner)?
            ),
            12 => {
                let middle = (self.pick(COMPARISONS)?, self.pick(COMPARISONS)?);
                format!(
                    "({} {} {} {} {})",
                    self.expr(inner)?,
                    middle.0,
                    self.expr(inner)?,
                    middle.1,
                    self.expr(inner)?
                )
            }
            13 => format!(
                "({} {} {})",
                self.expr(inner)?,
                self.pick(&["and", "or"])?,
                self.expr(inner)?
            ),
            14 => format!("({}{})", self.pick(&["not ", "-", "+", "~"])?, self.expr(inner)?),
            15 => format!(
                "({} if {} else {})",
                self.expr(inner)?,
                self.expr(inner)?,
                self.expr(inner)?
            ),
            16 => format!("[{}, *{}]", self.expr(inner)?, self.expr(inner)?),
            17 => format!("({}, {})", self.expr(inner)?, self.expr(inner)?),
            18 => format!(
                "{{{}: {}, **{}}}",
                self.expr(inner)?,
                self.expr(inner)?,
                self.expr(inner)?
            ),
            19 => format!("{{{}, {}}}", self.expr(inner)?, self.expr(inner)?),
            20 | 21 => format!("{}[{}]", self.expr(inner)?, self.subscript(inner)?),
            22 => format!(
                "[{} for x in {} if {}]",
                self.expr(inner)?,
                self.expr(inner)?,
                self.expr(inner)?
            ),
            23 => format!(
                "[{} for x in {} for y in {}]",
                self.expr(inner)?,
                self.expr(inner)?,
                self.expr(inner)?
            ),
            24 => format!(
                "{{{}: {} for x, y in {}}}",
                self.expr(inner)?,
                self.expr(inner)?,
                self.expr(inner)?
            ),
            25 => {
                let conversion = self.pick(&["", "!r", "!s", "!a"])?;
                format!(
                    "f'{{{}{conversion}:{}}}-{{{}}}'",
                    self.name()?,
                    self.pick(SPECS)?,
                    self.attribute_of()?
                )
            }
            26 => format!("{}.{}", self.attribute_of()?, self.attribute()?),
            _ => self.call(inner)?,
        })
    }

    fn attribute_of(&mut self) -> Result<String> {
        Ok(format!("{}.{}", self.name()?, self.attribute()?))
    }
}
