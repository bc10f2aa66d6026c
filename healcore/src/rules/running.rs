//! Rules that only a running heal can break: the interpreter names them, the page `running.md` explains them.

use super::Rule;

macro_rules! running_rules {
    ($($(#[$doc:meta])+ $const:ident = $id:literal $name:literal: $summary:literal;)+) => {
        $($(#[$doc])+ pub const $const: &Rule = &Rule { id: $id, name: $name, summary: $summary };)+
        pub(crate) const RULES: &[Rule] = &[$(*$const),+];
    };
}

running_rules! {
    /// Code of the program.
    PROGRAM_CALL = "HC801" "unproven-call": "code of the program that is not shown to change nothing";
    /// A method of a type that is not listed.
    RECEIVER = "HC802" "receiver-type": "a method that is not listed for the type that the receiver has";
    /// An iterator that belongs to the program.
    FOREIGN_ITERATOR = "HC803" "foreign-iterator": "reading from an iterator of the program";
    /// A store on something that a heal may not change.
    STORE = "HC804" "foreign-store": "a store on a function, or on a class or module of others";
    /// A builtin or listed module that the program has rebound.
    REBOUND = "HC805" "replaced-name": "a builtin or listed function that the program has replaced";
    /// A function or method as a value.
    FUNCTION_VALUE = "HC806" "method-value": "a function or method of the program as a value";
    /// A write in an expression that may only read.
    PURE = "HC807" "write-in-expression": "a write in an expression that may only read";
    /// An `except` clause that names something else than an exception class.
    EXCEPT = "HC808" "caught-class": "an `except` clause over something else than a class derived from `Exception`";
    /// An attribute that opens the inside of Python.
    ATTRIBUTE = "HC809" "inner-attribute": "an attribute that opens the inside of Python";
    /// Something that cannot be taken back.
    UNDO = "HC810" "not-undoable": "a change that could not be taken back";
    /// Steps.
    STEPS = "HC901" "too-many-steps": "more than 200,000 steps";
    /// Wall time.
    TIME = "HC902" "too-long": "more than 100 ms of work";
    /// New memory.
    MEMORY = "HC903" "too-much-memory": "more than 64 MiB of new values, or 16 MiB in one";
    /// Elements of a container.
    CONTAINER = "HC904" "large-container": "a container of more than 65,536 elements";
    /// Bits of an integer.
    INTEGER = "HC905" "large-integer": "an integer of more than 16,384 bits";
    /// Characters of a string.
    STRING = "HC906" "long-text": "a text of more than 1,048,576 characters";
    /// Nesting of values.
    DEPTH = "HC907" "deep-value": "values or calls nested too deep";
    /// A panic in the interpreter itself.
    PANIC = "HC999" "interpreter-failure": "a fault of the interpreter itself";
}
