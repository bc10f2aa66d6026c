//! Codecs that a heal may name.

/// The codecs of `encode`, `decode`, `str(b, codec)` and `bytes(s, codec)`: text encodings that run no code of the program.
pub const CODECS: &[&str] = &[
    "ascii",
    "cp1250",
    "cp1251",
    "cp1252",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "mac-roman",
    "cp437",
    "cp850",
    "iso-8859-1",
    "iso-8859-15",
    "iso-8859-2",
    "koi8-r",
    "latin-1",
    "us-ascii",
    "utf-16",
    "utf-16-be",
    "utf-16-le",
    "utf-32",
    "utf-32-be",
    "utf-32-le",
    "utf-8",
    "utf-8-sig",
    "big5",
    "euc-jp",
    "euc-kr",
    "gb18030",
    "gb2312",
    "gbk",
    "shift-jis",
];

/// The error handlers of `encode` and `decode`.
pub const CODEC_ERRORS: &[&str] = &[
    "backslashreplace",
    "ignore",
    "namereplace",
    "replace",
    "strict",
    "surrogateescape",
    "surrogatepass",
    "xmlcharrefreplace",
];

/// Returns the listed name of a codec, whatever its spelling: `UTF8`, `utf_8`, `latin1`.
pub fn codec(name: &str) -> Option<&'static str> {
    let plain = plain(name);
    CODECS.iter().copied().find(|codec| self::plain(codec) == plain)
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|character| !"-_ ".contains(*character))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}
