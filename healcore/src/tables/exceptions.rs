//! Exceptions that a heal may name, and what it may read of them.

use super::builtins::names;

names! {
    /// A builtin exception class that a heal may catch and raise.
    ExceptionName {
        ArithmeticError = "ArithmeticError",
        AssertionError = "AssertionError",
        AttributeError = "AttributeError",
        BufferError = "BufferError",
        ConnectionError = "ConnectionError",
        EOFError = "EOFError",
        Exception = "Exception",
        FileExistsError = "FileExistsError",
        FileNotFoundError = "FileNotFoundError",
        FloatingPointError = "FloatingPointError",
        ImportError = "ImportError",
        IndexError = "IndexError",
        IsADirectoryError = "IsADirectoryError",
        KeyError = "KeyError",
        LookupError = "LookupError",
        ModuleNotFoundError = "ModuleNotFoundError",
        NameError = "NameError",
        NotADirectoryError = "NotADirectoryError",
        NotImplementedError = "NotImplementedError",
        OSError = "OSError",
        OverflowError = "OverflowError",
        PermissionError = "PermissionError",
        RecursionError = "RecursionError",
        RuntimeError = "RuntimeError",
        StopIteration = "StopIteration",
        TimeoutError = "TimeoutError",
        TypeError = "TypeError",
        UnboundLocalError = "UnboundLocalError",
        UnicodeDecodeError = "UnicodeDecodeError",
        UnicodeEncodeError = "UnicodeEncodeError",
        UnicodeError = "UnicodeError",
        ValueError = "ValueError",
        ZeroDivisionError = "ZeroDivisionError",
    }
}

/// Builtin exceptions that are refused by name: they end the program, or are not the heal's to handle.
pub const REFUSED_EXCEPTIONS: &[&str] = &[
    "BaseException",
    "BaseExceptionGroup",
    "EnvironmentError",
    "ExceptionGroup",
    "GeneratorExit",
    "IOError",
    "KeyboardInterrupt",
    "MemoryError",
    "StopAsyncIteration",
    "SystemError",
    "SystemExit",
];

/// The attributes of an exception object that a heal may read.
pub const EXCEPTION_ATTRIBUTES: &[&str] = &[
    "args", "encoding", "end", "errno", "key", "lineno", "msg", "name", "pos", "reason", "start", "strerror",
];
