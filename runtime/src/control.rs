//! The control structure of one function: which statement failed, what follows it, and where a jump may go.
//!
//! CPython lets `frame.f_lineno` jump to a line whose value stack is a prefix of the present one: loop iterators,
//! `with` exits and handled exceptions lie on it. The rules here are the same or stricter, and are known before a
//! heal is accepted.

use ruff_python_ast::{ExceptHandler, Stmt};
use ruff_text_size::{Ranged, TextSize};

/// A block that keeps something on the value stack while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// A `for` loop: its iterator.
    For(u32),
    /// A `with` block: its exits.
    With(u32),
    /// An `except` clause or a `finally` block: the exception.
    Handler(u32),
}

/// A statement of the function.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// 1-based first line.
    pub(crate) line: u32,
    /// 1-based last line, of the whole compound statement.
    pub(crate) end_line: u32,
    /// Where the statement after it starts, or what follows instead.
    pub(crate) next: Next,
    /// The blocks around it, outermost first; each names the line of its statement.
    pub(crate) blocks: Vec<Block>,
    /// The innermost loop around it: the line of its statement and what follows the loop.
    pub(crate) in_loop: Option<(u32, Next)>,
    /// Whether it is the first statement on its line.
    pub(crate) first_on_line: bool,
    start: TextSize,
    end: TextSize,
}

/// What runs after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The statement at this line.
    Line(u32),
    /// The next round of the loop at this line.
    Loop(u32),
    /// The end of the `with` block at this line, which calls its exit.
    EndOfWith(u32),
    /// The end of a `finally` block or of a clause with one.
    Finally(u32),
    /// The function returns `None`; a module or class body ends.
    End,
}

/// The statements of one function, class body or module.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    statements: Vec<Statement>,
}

/// Why a jump cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoJump {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do instead.
    pub(crate) hint: String,
}

impl Control {
    /// Reads the scope whose code starts at `first_line` under this name; `None` where the source does not parse
    /// or has no such scope. `<module>` is the whole file.
    pub(crate) fn read(source: &str, name: &str, first_line: u32) -> Option<Self> {
        let module = ruff_python_parser::parse_module(source).ok()?;
        let lines = Lines::of(source);
        let body = match name {
            "<module>" => &module.syntax().body[..],
            _ => find_scope(&module.syntax().body, &lines, name, first_line)?,
        };
        let mut reader = Reader {
            lines: &lines,
            statements: Vec::new(),
        };
        reader.suite(
            body,
            &Around {
                blocks: Vec::new(),
                in_loop: None,
                after: Next::End,
            },
        );
        Some(Self {
            statements: reader.statements,
        })
    }

    /// The innermost statement at a line and column (0-based, bytes, as in `co_positions`).
    pub(crate) fn statement_at(&self, source: &str, line: u32, column: Option<u32>) -> Option<&Statement> {
        let lines = Lines::of(source);
        let narrowest = |found: Option<&'_ Statement>, statement: &Statement| {
            found.is_none_or(|found| statement.end - statement.start <= found.end - found.start)
        };
        let mut found = None;
        for statement in &self.statements {
            let holds = match column {
                Some(column) => {
                    let place = lines.start(line) + TextSize::from(column);
                    statement.start <= place && place < statement.end
                }
                None => statement.line <= line && line <= statement.end_line,
            };
            if holds && narrowest(found, statement) {
                found = Some(statement);
            }
        }
        found
    }

    /// Checks a jump from a failing statement to a line; returns the line of the statement there.
    pub(crate) fn jump(&self, from: &Statement, line: u32) -> Result<Jump, NoJump> {
        let at_line: Vec<&Statement> = self
            .statements
            .iter()
            .filter(|statement| statement.line == line)
            .collect();
        let Some(target) = at_line.iter().find(|statement| statement.first_on_line) else {
            return Err(self.no_statement_at(line));
        };
        if let Some(entered) = target
            .blocks
            .iter()
            .zip(padded(&from.blocks))
            .find(|(to, at)| Some(*to) != *at)
        {
            let (what, line) = match entered.0 {
                Block::For(line) => ("the `for` loop", line),
                Block::With(line) => ("the `with` block", line),
                Block::Handler(line) => ("the `except` or `finally` block", line),
            };
            return Err(NoJump {
                message: format!("a jump cannot enter {what} at line {line} from outside"),
                hint: format!("jump to line {line} itself, or to a line of a block that is running"),
            });
        }
        let left = from.blocks[target.blocks.len()..]
            .iter()
            .filter_map(|block| match block {
                Block::With(line) => Some(*line),
                Block::For(_) | Block::Handler(_) => None,
            })
            .collect();
        Ok(Jump {
            line,
            leaves_with: left,
        })
    }

    /// The statement that starts at a line.
    pub(crate) fn starting_at(&self, line: u32) -> Option<&Statement> {
        self.statements
            .iter()
            .find(|statement| statement.line == line && statement.first_on_line)
    }

    /// How many statements stand around one, and how many of them within the loop at a line.
    pub(crate) fn n_around(&self, inner: &Statement, header: u32) -> (usize, usize) {
        let around = self.statements.iter().filter(|outer| {
            outer.start <= inner.start
                && inner.end <= outer.end
                && (outer.start, outer.end) != (inner.start, inner.end)
        });
        let lines: Vec<u32> = around.map(|outer| outer.line).collect();
        (lines.len(), lines.iter().filter(|line| **line > header).count())
    }

    /// The last statement in the body of the loop at a line.
    pub(crate) fn last_of_loop(&self, line: u32) -> Option<&Statement> {
        let ends_round = |statement: &&Statement| {
            statement.next == Next::Loop(line) && statement.in_loop.is_some_and(|(header, _)| header == line)
        };
        // Of a compound statement at the end, its inner statements end the round too; it starts before them.
        let outermost = self
            .statements
            .iter()
            .filter(ends_round)
            .map(|statement| statement.blocks.len())
            .min()?;
        self.statements
            .iter()
            .filter(ends_round)
            .find(|statement| statement.blocks.len() == outermost)
    }

    fn no_statement_at(&self, line: u32) -> NoJump {
        let mut near: Vec<u32> = self.statements.iter().map(|statement| statement.line).collect();
        near.sort_unstable_by_key(|other| (other.abs_diff(line), *other));
        near.dedup();
        near.truncate(6);
        near.sort_unstable();
        let near = near.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        NoJump {
            message: format!("no statement of this function starts at line {line}"),
            hint: format!("statements near it start at lines {near}"),
        }
    }
}

/// A jump that CPython will take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The line to jump to.
    pub(crate) line: u32,
    /// Lines of `with` statements that are left without their exits.
    pub(crate) leaves_with: Vec<u32>,
}

fn padded(blocks: &[Block]) -> impl Iterator<Item = Option<&Block>> {
    blocks.iter().map(Some).chain(std::iter::repeat(None))
}

/// What is around a suite.
#[derive(Clone)]
struct Around {
    blocks: Vec<Block>,
    in_loop: Option<(u32, Next)>,
    after: Next,
}

impl Around {
    fn with(&self, block: Block, after: Next) -> Self {
        let mut around = Self {
            after,
            ..self.clone()
        };
        around.blocks.push(block);
        around
    }

    fn followed_by(&self, after: Next) -> Self {
        Self {
            after,
            ..self.clone()
        }
    }
}

struct Reader<'a> {
    lines: &'a Lines,
    statements: Vec<Statement>,
}

impl Reader<'_> {
    fn suite(&mut self, body: &[Stmt], around: &Around) {
        for (index, statement) in body.iter().enumerate() {
            let next = match body.get(index + 1) {
                Some(following) => Next::Line(self.lines.line(following.start())),
                None => around.after,
            };
            self.statement(statement, next, around);
        }
    }

    fn statement(&mut self, statement: &Stmt, next: Next, around: &Around) {
        let start = match statement {
            Stmt::FunctionDef(function) => function.decorator_list.first().map(|first| first.range.start()),
            Stmt::ClassDef(class) => class.decorator_list.first().map(|first| first.range.start()),
            _ => None,
        };
        let start = start.unwrap_or_else(|| statement.start());
        let line = self.lines.line(start);
        self.statements.push(Statement {
            line,
            end_line: self.lines.line(statement.end()),
            next,
            blocks: around.blocks.clone(),
            in_loop: around.in_loop,
            first_on_line: self.lines.is_first_on_line(start),
            start,
            end: statement.end(),
        });
        let around = &around.followed_by(next);
        match statement {
            Stmt::If(branch) => {
                self.suite(&branch.body, around);
                for clause in &branch.elif_else_clauses {
                    self.suite(&clause.body, around);
                }
            }
            Stmt::For(each) => {
                let mut inside = around.with(Block::For(line), Next::Loop(line));
                inside.in_loop = Some((line, next));
                self.suite(&each.body, &inside);
                self.suite(&each.orelse, around);
            }
            Stmt::While(repeat) => {
                let mut inside = around.followed_by(Next::Loop(line));
                inside.in_loop = Some((line, next));
                self.suite(&repeat.body, &inside);
                self.suite(&repeat.orelse, around);
            }
            Stmt::With(with) => {
                self.suite(&with.body, &around.with(Block::With(line), Next::EndOfWith(line)));
            }
            Stmt::Match(choice) => {
                for case in &choice.cases {
                    self.suite(&case.body, around);
                }
            }
            Stmt::Try(attempt) => {
                let finally = attempt
                    .finalbody
                    .first()
                    .map(|first| self.lines.line(first.start()));
                let end = around.followed_by(finally.map_or(next, Next::Finally));
                let after_body = match attempt.orelse.first() {
                    Some(first) => end.followed_by(Next::Line(self.lines.line(first.start()))),
                    None => end.clone(),
                };
                self.suite(&attempt.body, &after_body);
                self.suite(&attempt.orelse, &end);
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    let line = self.lines.line(handler.range.start());
                    self.suite(&handler.body, &end.with(Block::Handler(line), end.after));
                }
                if let Some(line) = finally {
                    self.suite(&attempt.finalbody, &around.with(Block::Handler(line), next));
                }
            }
            _ => {}
        }
    }
}

/// Finds the body of the function or class of this name whose first line, decorators included, is `first_line`.
fn find_scope<'a>(body: &'a [Stmt], lines: &Lines, name: &str, first_line: u32) -> Option<&'a [Stmt]> {
    for statement in body {
        if lines.line(statement.end()) < first_line {
            continue;
        }
        let found = match statement {
            Stmt::FunctionDef(function) => {
                let start = function
                    .decorator_list
                    .first()
                    .map_or(function.range.start(), |first| first.range.start());
                // CPython mangles nothing in `co_name`.
                if function.name.as_str() == name && lines.line(start) == first_line {
                    return Some(&function.body);
                }
                find_scope(&function.body, lines, name, first_line)
            }
            Stmt::ClassDef(class) => {
                let start = class
                    .decorator_list
                    .first()
                    .map_or(class.range.start(), |first| first.range.start());
                if class.name.as_str() == name && lines.line(start) == first_line {
                    return Some(&class.body);
                }
                find_scope(&class.body, lines, name, first_line)
            }
            Stmt::If(branch) => find_scope(&branch.body, lines, name, first_line).or_else(|| {
                let clauses = branch.elif_else_clauses.iter();
                clauses
                    .clone()
                    .find_map(|clause| find_scope(&clause.body, lines, name, first_line))
            }),
            Stmt::For(each) => find_scope(&each.body, lines, name, first_line)
                .or_else(|| find_scope(&each.orelse, lines, name, first_line)),
            Stmt::While(repeat) => find_scope(&repeat.body, lines, name, first_line)
                .or_else(|| find_scope(&repeat.orelse, lines, name, first_line)),
            Stmt::With(with) => find_scope(&with.body, lines, name, first_line),
            Stmt::Match(choice) => choice
                .cases
                .iter()
                .find_map(|case| find_scope(&case.body, lines, name, first_line)),
            Stmt::Try(attempt) => find_scope(&attempt.body, lines, name, first_line)
                .or_else(|| {
                    attempt
                        .handlers
                        .iter()
                        .find_map(|ExceptHandler::ExceptHandler(handler)| {
                            find_scope(&handler.body, lines, name, first_line)
                        })
                })
                .or_else(|| find_scope(&attempt.orelse, lines, name, first_line))
                .or_else(|| find_scope(&attempt.finalbody, lines, name, first_line)),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Where the lines of a source start.
struct Lines {
    starts: Vec<u32>,
    blank_before: Vec<u32>,
}

impl Lines {
    fn of(source: &str) -> Self {
        let mut starts = vec![0];
        let bytes = source.as_bytes();
        for (index, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || *byte == b'\r' && bytes.get(index + 1) != Some(&b'\n');
            if ends {
                starts.push(index as u32 + 1);
            }
        }
        let indent = |start: &u32| {
            let rest = &bytes[*start as usize..];
            *start
                + rest
                    .iter()
                    .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c'))
                    .count() as u32
        };
        let blank_before = starts.iter().map(indent).collect();
        Self { starts, blank_before }
    }

    /// 1-based.
    fn line(&self, offset: TextSize) -> u32 {
        self.starts.partition_point(|start| *start <= offset.to_u32()) as u32
    }

    fn start(&self, line: u32) -> TextSize {
        let index = (line.max(1) as usize - 1).min(self.starts.len() - 1);
        TextSize::from(self.starts[index])
    }

    fn is_first_on_line(&self, offset: TextSize) -> bool {
        self.blank_before[self.line(offset) as usize - 1] == offset.to_u32()
    }
}
