//! The typed tree of a checked heal: it can express HealCore and nothing else.
//!
//! The checker lowers Python text into this tree and the interpreter runs it, so what was checked is what runs.
//! Lines and columns are 1-based, columns count characters; `start..end` are byte offsets into the source.

use crate::tables::{Builtin, BuiltinType, ExceptionName, Member, MethodName, Module};
use crate::toolkit::Tool;

/// Where a node stands in the source of the heal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The byte offset of the first byte.
    pub start: u32,
    /// The byte offset after the last byte.
    pub end: u32,
}

/// A whole heal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The statements, in order; empty only where `Options::allow_empty` says so.
    pub body: Vec<Stmt>,
}

/// A statement and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Where it stands.
    pub span: Span,
    /// What it does.
    pub kind: StmtKind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `a = b = value`: the value is evaluated once, the targets are stored from left to right.
    Assign {
        /// At least one.
        targets: Vec<Target>,
        /// The value.
        value: Expr,
    },
    /// `target op= value`.
    AugAssign {
        /// Where the result goes.
        target: Place,
        /// The operator.
        op: BinaryOp,
        /// The right operand.
        value: Expr,
    },
    /// `name: annotation = value`; the annotation is not evaluated.
    AnnAssign {
        /// The variable.
        name: Name,
        /// The plain name after the colon.
        annotation: String,
        /// The value.
        value: Expr,
    },
    /// A call whose result is dropped.
    Call(Call),
    /// `if`; `elif` is an `If` alone in `orelse`.
    If {
        /// The condition.
        test: Expr,
        /// Runs when true.
        body: Vec<Stmt>,
        /// Runs when false; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `for … in …: … else: …`.
    For {
        /// Names only.
        target: Binding,
        /// What is iterated over.
        iterable: Expr,
        /// Runs for each element.
        body: Vec<Stmt>,
        /// Runs when the loop ends without `break`; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `while … else …`.
    While {
        /// The condition.
        test: Expr,
        /// Runs while true.
        body: Vec<Stmt>,
        /// Runs when the loop ends without `break`; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `break` out of a loop of the heal.
    Break,
    /// `continue` in a loop of the heal.
    Continue,
    /// `pass`.
    Pass,
    /// `try`.
    Try {
        /// The guarded statements.
        body: Vec<Stmt>,
        /// In order; may be empty when `finalbody` is not.
        handlers: Vec<Handler>,
        /// Runs when the body raised nothing; may be empty.
        orelse: Vec<Stmt>,
        /// Runs always; may be empty.
        finalbody: Vec<Stmt>,
    },
    /// `raise`.
    Raise(Raise),
    /// `assert test, message`.
    Assert {
        /// The condition.
        test: Expr,
        /// The message.
        message: Option<Expr>,
    },
    /// `del a[i], b[j]`.
    Delete(Vec<Item>),
    /// `global a, b`.
    Global(Vec<String>),
    /// An import of listed modules and members.
    Import(Vec<Import>),
    /// Resume action: return from the crashed function. It ends the heal wherever it stands.
    Return(Option<Expr>),
    /// Resume action: `break` out of the loop of the crashed frame. It ends the heal.
    ResumeBreak,
    /// Resume action: `continue` the loop of the crashed frame. It ends the heal.
    ResumeContinue,
}

/// One `except` clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    /// Where it stands.
    pub span: Span,
    /// What it catches; empty for a bare `except`, which catches `Exception`.
    pub classes: Vec<ExceptionRef>,
    /// The name after `as`; unbound again at the end of the clause.
    pub name: Option<Name>,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// An exception class.
#[derive(Clone, Debug, PartialEq)]
pub enum ExceptionRef {
    /// A listed builtin; the name must not be shadowed in the frame.
    Builtin(ExceptionName, Span),
    /// An exception class of a listed module, such as `json.JSONDecodeError`.
    Member(MemberRef),
    /// A name or attribute path of the frame; that it is a class derived from `Exception` is checked when it runs.
    Path(Path),
}

/// What `raise` raises.
#[derive(Clone, Debug, PartialEq)]
pub enum Raise {
    /// A bare `raise`, inside an `except` clause of the heal.
    Again,
    /// `raise Class`, `raise Class(…)`, with or without `from`.
    New {
        /// A listed builtin exception.
        class: ExceptionName,
        /// The arguments; none for `raise Class`.
        args: Vec<Expr>,
        /// What stands after `from`.
        cause: Cause,
    },
    /// `raise name`: a variable that an enclosing `except … as name` has bound.
    Caught(Name),
}

/// What stands after `from` in a `raise`.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// There is no `from`.
    Absent,
    /// `from None`.
    Suppressed,
    /// `from name`: a variable that an enclosing `except … as name` has bound.
    Caught(Name),
}

/// One imported module or member.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// Where it stands.
    pub span: Span,
    /// What is imported.
    pub what: Imported,
    /// The name that is bound: of `import urllib.parse` it is `urllib`.
    pub bound: String,
}

/// What an import names.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported {
    /// `import json`, `import datetime as dt`, `from urllib import parse`; the last two bind the module itself.
    Module(Module),
    /// `import urllib.parse` without `as`, which binds the package above.
    Package(Module),
    /// `from datetime import datetime`.
    Member(&'static Member),
}

/// A variable and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Where it stands.
    pub span: Span,
    /// The identifier.
    pub id: String,
}

/// A dotted name of the frame, such as `self.shop.total`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where it stands.
    pub span: Span,
    /// The variable.
    pub root: String,
    /// The attributes after it, in order; may be empty.
    pub attributes: Vec<String>,
}

/// A place that holds one value: a variable, an attribute, an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A variable.
    Name(Name),
    /// `object.name`. The object must not be a module, a type (unless of the program, in scope) or a function: checked when it runs.
    Attribute {
        /// Where it stands.
        span: Span,
        /// The object.
        object: Box<Expr>,
        /// The attribute.
        name: String,
    },
    /// `object[index]`.
    Item(Item),
}

/// `object[index]` where it is stored or deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Where it stands.
    pub span: Span,
    /// The container.
    pub object: Box<Expr>,
    /// The key, index or slice.
    pub index: Box<Index>,
}

/// The left side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One value goes to one place.
    Place(Place),
    /// `(a, *b)` or `[a, *b]`: unpacks an iterable.
    Unpack {
        /// Where it stands.
        span: Span,
        /// In order; at most one is starred.
        targets: Vec<UnpackTarget>,
    },
}

/// One element of an unpacking.
#[derive(Clone, Debug, PartialEq)]
pub enum UnpackTarget {
    /// Takes one element.
    One(Target),
    /// `*target`: takes the rest as a list.
    Rest(Target),
}

/// The target of a loop or a comprehension: names only.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// One variable.
    Name(Name),
    /// `a, (b, *c)`: unpacks an iterable.
    Unpack {
        /// Where it stands.
        span: Span,
        /// In order; at most one is starred.
        bindings: Vec<UnpackBinding>,
    },
}

/// One element of an unpacking in a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum UnpackBinding {
    /// Takes one element.
    One(Binding),
    /// `*name`: takes the rest as a list.
    Rest(Binding),
}

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Where it stands.
    pub span: Span,
    /// What it computes.
    pub kind: ExprKind,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Constant(Constant),
    /// A variable: of the heal's comprehension or lambda, of the frame, a global; never a builtin, never an import.
    Name(String),
    /// A builtin type as a value, as in `isinstance(x, int)`; the name must not be shadowed in the frame.
    Type(BuiltinType),
    /// A listed builtin exception class as a value, as in `isinstance(e, KeyError)`.
    Exception(ExceptionName),
    /// A constant or a class of a listed module as a value, as in `math.pi`, `isinstance(d, datetime.date)`.
    Member(MemberRef),
    /// `value.name`, read without a call; a property of the program counts as a program call when it runs.
    Attribute {
        /// The object.
        value: Box<Expr>,
        /// The attribute.
        name: String,
    },
    /// `value[index]`.
    Subscript {
        /// The container.
        value: Box<Expr>,
        /// The key, index or slice.
        index: Box<Index>,
    },
    /// `left op right`.
    Binary {
        /// The left operand, evaluated first.
        left: Box<Expr>,
        /// The operator.
        op: BinaryOp,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `op operand`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `a and b and c`, `a or b or c`: two or more values.
    Bool {
        /// The operator.
        op: BoolOp,
        /// In order.
        values: Vec<Expr>,
    },
    /// `a < b <= c`.
    Compare {
        /// The first operand.
        first: Box<Expr>,
        /// The further ones, at least one, each with the operator before it.
        rest: Vec<(CompareOp, Expr)>,
    },
    /// `body if test else orelse`.
    Conditional {
        /// The condition.
        test: Box<Expr>,
        /// The value when true.
        body: Box<Expr>,
        /// The value when false.
        orelse: Box<Expr>,
    },
    /// `[a, *b]`.
    List(Vec<Element>),
    /// `(a, *b)`.
    Tuple(Vec<Element>),
    /// `{a, *b}`.
    Set(Vec<Element>),
    /// `{k: v, **d}`.
    Dict(Vec<DictItem>),
    /// An f-string; adjacent string literals are part of it.
    FString(Vec<FStringPart>),
    /// `[element for …]`.
    ListComp(Box<Comprehension>),
    /// `{element for …}`.
    SetComp(Box<Comprehension>),
    /// `{key: value for …}`.
    DictComp(Box<DictComprehension>),
    /// A call.
    Call(Call),
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// A non-negative integer.
    Int(Integer),
    /// A non-negative float.
    Float(f64),
    /// The imaginary part of `2j`.
    Imaginary(f64),
    /// A string, adjacent literals joined.
    Str(String),
    /// Bytes, adjacent literals joined.
    Bytes(Vec<u8>),
}

/// A non-negative integer literal of at most 4,096 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Little-endian bytes without zeros at the end; empty for 0.
    pub(crate) bytes: Vec<u8>,
}

/// One element of a display.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// One value.
    One(Expr),
    /// `*iterable`.
    Star(Expr),
}

/// One item of a dict display.
#[derive(Clone, Debug, PartialEq)]
pub enum DictItem {
    /// `key: value`.
    Pair(Expr, Expr),
    /// `**mapping`.
    Star(Expr),
}

/// What stands between the brackets of a subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `x[value]`.
    Value(Expr),
    /// `x[lower:upper:step]`.
    Slice(Box<Slice>),
    /// `x[a, 1:2]`, where at least one is a slice; a tuple without slices is a `Value`.
    Tuple(Vec<Index>),
}

/// A slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Where it stands.
    pub span: Span,
    /// The first index.
    pub lower: Option<Expr>,
    /// The index after the last.
    pub upper: Option<Expr>,
    /// The step.
    pub step: Option<Expr>,
}

/// One part of an f-string.
#[derive(Clone, Debug, PartialEq)]
pub enum FStringPart {
    /// Text as it is.
    Text(String),
    /// `{value!conversion:spec}`; `{value=}` is lowered to text and a value.
    Value {
        /// The value.
        value: Expr,
        /// The conversion.
        conversion: Conversion,
        /// The format spec: constant, widths checked; may be empty.
        spec: String,
    },
}

/// The conversion of a replacement field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// None: `format(value, spec)`.
    None,
    /// `!s`.
    Str,
    /// `!r`.
    Repr,
    /// `!a`.
    Ascii,
}

/// A comprehension with one element expression. Its names are its own, as in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// What is collected.
    pub element: Expr,
    /// At least one.
    pub clauses: Vec<Clause>,
}

/// A dict comprehension.
#[derive(Clone, Debug, PartialEq)]
pub struct DictComprehension {
    /// The key, evaluated first.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// At least one.
    pub clauses: Vec<Clause>,
}

/// `for target in iterable if … if …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Where it stands.
    pub span: Span,
    /// Names only.
    pub target: Binding,
    /// What is iterated over; the first clause's is evaluated outside the comprehension's scope.
    pub iterable: Expr,
    /// The conditions, in order.
    pub conditions: Vec<Expr>,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Where it stands.
    pub span: Span,
    /// What is called.
    pub callee: Callee,
    /// The positional arguments, in order.
    pub args: Vec<Argument>,
    /// The keyword arguments, in order.
    pub keywords: Vec<Keyword>,
}

/// What is called, classified by the checker.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A listed builtin function or type; the name must not be shadowed in the frame.
    Builtin(Builtin),
    /// A class method or method of a builtin type, called on the type: `dict.fromkeys(…)`, `bytes.fromhex(…)`.
    TypeMethod {
        /// The type.
        of: BuiltinType,
        /// The method.
        method: MethodName,
    },
    /// A function, class or class method of a listed module: `json.loads`, `Counter`, `datetime.datetime.strptime`.
    Member(MemberRef),
    /// A listed pure-data method. The receiver's exact type is checked when it runs: `tables::methods_of` has the lists.
    /// Where program calls are allowed and the receiver is an object of the program, it counts as a program call.
    Method {
        /// The receiver.
        receiver: Box<Expr>,
        /// The method.
        method: MethodName,
    },
    /// A function of the toolkit: `heal.clamp(…)`.
    Toolkit(Tool),
    /// A function or method of the program; only with `ProgramCalls::Allow`. Whether it may run is decided when it runs.
    Program(Path),
}

/// A member of a listed module, and how the heal names it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberRef {
    /// Where it stands.
    pub span: Span,
    /// The variable at its root, which the heal imported or which the frame already holds.
    /// When it runs, the variable must be bound to the listed module or member itself.
    pub root: String,
    /// The attributes that the heal wrote after the root, in order.
    pub attributes: Vec<String>,
    /// What it is.
    pub member: &'static Member,
}

/// A positional argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value.
    One(Expr),
    /// `*iterable`.
    Star(Expr),
    /// A generator expression, consumed by the call.
    Generator(Box<Comprehension>),
    /// A function that the call applies, as in `map(int, parts)`.
    Function(Function),
}

/// A keyword argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Keyword {
    /// `name=value`.
    One {
        /// The name.
        name: String,
        /// The value.
        value: Expr,
    },
    /// `name=function`, as in `key=str.lower`, `key=lambda r: r[0]`, `default=str`.
    Function {
        /// The name.
        name: String,
        /// The function.
        function: Function,
    },
    /// `**mapping`.
    Star(Expr),
}

/// A function that a call applies to elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Function {
    /// A listed builtin function or type.
    Builtin(Builtin, Span),
    /// `str.lower`, `str.strip`.
    TypeMethod {
        /// Where it stands.
        span: Span,
        /// The type.
        of: BuiltinType,
        /// The method.
        method: MethodName,
    },
    /// A function or class of a listed module.
    Member(MemberRef),
    /// `lambda parameter: body`; only as `key=`.
    Lambda(Box<Lambda>),
    /// `None`, as in `filter(None, rows)`.
    Identity(Span),
}

/// A lambda with one plain parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    /// Where it stands.
    pub span: Span,
    /// The parameter.
    pub parameter: Name,
    /// The body; calls of program functions are not allowed in it.
    pub body: Expr,
}

/// A binary operator; `@` is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    LeftShift,
    /// `>>`
    RightShift,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `not`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    Invert,
}

/// A short-circuit operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoolOp {
    /// `and`
    And,
    /// `or`
    Or,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtE,
    /// `>`
    Gt,
    /// `>=`
    GtE,
    /// `is`
    Is,
    /// `is not`
    IsNot,
    /// `in`
    In,
    /// `not in`
    NotIn,
}
