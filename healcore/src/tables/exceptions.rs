//! Exceptions that a heal may name, and what it may read of them.

use super::builtins::names;

names! {
    /// A builtin exception class that a heal may catch and raise.
    ExceptionName {
        ArithmeticError = "ArithmeticError",
        AssertionError = "AssertionError",
        AttributeError = "AttributeError",
        BlockingIOError = "BlockingIOError",
        BrokenPipeError = "BrokenPipeError",
        BufferError = "BufferError",
        ChildProcessError = "ChildProcessError",
        ConnectionAbortedError = "ConnectionAbortedError",
        ConnectionError = "ConnectionError",
        ConnectionRefusedError = "ConnectionRefusedError",
        ConnectionResetError = "ConnectionResetError",
        EOFError = "EOFError",
        EnvironmentError = "EnvironmentError",
        Exception = "Exception",
        FileExistsError = "FileExistsError",
        FileNotFoundError = "FileNotFoundError",
        FloatingPointError = "FloatingPointError",
        IOError = "IOError",
        ImportError = "ImportError",
        IndexError = "IndexError",
        InterruptedError = "InterruptedError",
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
        ProcessLookupError = "ProcessLookupError",
        RecursionError = "RecursionError",
        RuntimeError = "RuntimeError",
        StopIteration = "StopIteration",
        SyntaxError = "SyntaxError",
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
    "ExceptionGroup",
    "GeneratorExit",
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
