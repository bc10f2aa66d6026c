//! Statements.

use healcore::tree::{Cause, ExceptionRef, Expr, Handler, Import, Imported, Raise, Stmt, StmtKind};
use pyo3::exceptions::{PyAssertionError, PyException, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::interpreter::Interpreter;
use super::native;
use super::stop::{Eval, Stop, rule};

/// How a block of statements ended.
#[derive(Clone, Debug)]
pub(super) enum Flow<'py> {
    /// At its end.
    Normal,
    /// `break` out of a loop of the heal.
    Break,
    /// `continue` in a loop of the heal.
    Continue,
    /// `return` from the crashed function.
    Return(Bound<'py, PyAny>),
    /// `break` out of the loop of the crashed frame.
    ResumeBreak,
    /// `continue` the loop of the crashed frame.
    ResumeContinue,
}

impl<'py> Interpreter<'_, 'py> {
    pub(super) fn block(&mut self, body: &[Stmt]) -> Eval<Flow<'py>> {
        for stmt in body {
            self.line = stmt.span.line;
            match self.statement(stmt) {
                Ok(Flow::Normal) => {}
                Ok(flow) => return Ok(flow),
                Err(stop) => return Err(stop.at(stmt.span.line)),
            }
        }
        Ok(Flow::Normal)
    }

    fn statement(&mut self, stmt: &Stmt) -> Eval<Flow<'py>> {
        self.meter.step()?;
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                let value = self.expr(value)?;
                for target in targets {
                    self.store(target, value.clone())?;
                }
            }
            StmtKind::AugAssign { target, op, value } => self.aug_assign(target, *op, value)?,
            StmtKind::AnnAssign { name, value, .. } => {
                let value = self.expr(value)?;
                self.store_name(&name.id, value)?;
            }
            StmtKind::Call(call) => drop(self.call(call)?),
            StmtKind::If { test, body, orelse } => {
                let test = self.expr(test)?;
                return if self.truth(&test)? {
                    self.block(body)
                } else {
                    self.block(orelse)
                };
            }
            StmtKind::For {
                target,
                iterable,
                body,
                orelse,
            } => {
                let iterable = self.expr(iterable)?;
                let iterator = self.iterate(&iterable)?;
                while let Some(item) = self.next(&iterator)? {
                    self.bind(target, item)?;
                    match self.block(body)? {
                        Flow::Normal | Flow::Continue => {}
                        Flow::Break => return Ok(Flow::Normal),
                        flow => return Ok(flow),
                    }
                    self.line = stmt.span.line;
                }
                return self.block(orelse);
            }
            StmtKind::While { test, body, orelse } => {
                loop {
                    self.meter.step()?;
                    let value = self.expr(test)?;
                    if !self.truth(&value)? {
                        break;
                    }
                    match self.block(body)? {
                        Flow::Normal | Flow::Continue => {}
                        Flow::Break => return Ok(Flow::Normal),
                        flow => return Ok(flow),
                    }
                    self.line = stmt.span.line;
                }
                return self.block(orelse);
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Pass | StmtKind::Global(_) => {}
            StmtKind::Try {
                body,
                handlers,
                orelse,
                finalbody,
            } => {
                return self.try_statement(body, handlers, orelse, finalbody);
            }
            StmtKind::Raise(raise) => return Err(Stop::from(self.raise(raise)?)),
            StmtKind::Assert { test, message } => {
                let value = self.expr(test)?;
                if !self.truth(&value)? {
                    return Err(match message {
                        Some(message) => PyAssertionError::new_err((self.expr(message)?.unbind(),)).into(),
                        None => PyAssertionError::new_err(()).into(),
                    });
                }
            }
            StmtKind::Delete(items) => {
                for item in items {
                    let object = self.expr(&item.object)?;
                    let index = self.index(&item.index)?;
                    self.delete_item(&object, &index, item)?;
                }
            }
            StmtKind::Import(imports) => {
                for import in imports {
                    self.import(import)?;
                }
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.expr(value)?,
                    None => self.py.None().into_bound(self.py),
                }));
            }
            StmtKind::ResumeBreak => return Ok(Flow::ResumeBreak),
            StmtKind::ResumeContinue => return Ok(Flow::ResumeContinue),
        }
        Ok(Flow::Normal)
    }

    fn import(&mut self, import: &Import) -> Eval<()> {
        let value = match &import.what {
            Imported::Module(module) => self.listed_module(*module)?.into_any(),
            Imported::Package(module) => {
                self.listed_module(*module)?;
                let package = module.name().split('.').next().unwrap_or_default();
                self.library_module(package)?.into_any()
            }
            Imported::Member(member) => self.listed_member(member)?,
        };
        self.store_name(&import.bound, value)
    }

    fn try_statement(
        &mut self,
        body: &[Stmt],
        handlers: &[Handler],
        orelse: &[Stmt],
        finalbody: &[Stmt],
    ) -> Eval<Flow<'py>> {
        let outcome = match self.block(body) {
            Ok(Flow::Normal) => self.block(orelse),
            Ok(flow) => Ok(flow),
            Err(stop) => self.handle(stop, handlers),
        };
        if finalbody.is_empty() {
            return outcome;
        }
        if let Err(stop) = &outcome
            && stop.exception().is_none()
        {
            // A limit or a refusal ends the heal: there is nothing to clean up in what is taken back.
            return outcome;
        }
        match self.block(finalbody)? {
            Flow::Normal => outcome,
            flow => Ok(flow),
        }
    }

    fn handle(&mut self, stop: Stop, handlers: &[Handler]) -> Eval<Flow<'py>> {
        let py = self.py;
        let Some(exception) = stop.exception() else {
            return Err(stop);
        };
        let exception = exception.clone_ref(py);
        for handler in handlers {
            self.meter.step()?;
            self.line = handler.span.line;
            if !self
                .catches(handler, &exception)
                .map_err(|stop| stop.at(handler.span.line))?
            {
                continue;
            }
            // What Python shows of a caught exception is what it shows: no traceback of the heal exists.
            let value = exception.value(py).clone().into_any();
            self.handled.push(exception);
            if let Some(name) = &handler.name {
                self.names.enter(vec![(name.id.clone(), Some(value))]);
            }
            let flow = self.block(&handler.body);
            if handler.name.is_some() {
                self.names.leave();
            }
            self.handled.pop();
            return flow;
        }
        Err(stop)
    }

    fn catches(&mut self, handler: &Handler, exception: &PyErr) -> Eval<bool> {
        let py = self.py;
        let raised = exception.get_type(py).into_any();
        if handler.classes.is_empty() {
            return Ok(native::is_subtype(&raised, py.get_type::<PyException>().as_any()));
        }
        for class in &handler.classes {
            let class = self.exception_class(class)?;
            if native::is_subtype(&raised, &class) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn exception_class(&mut self, class: &ExceptionRef) -> Eval<Bound<'py, PyAny>> {
        let class = match class {
            ExceptionRef::Builtin(name, _) => self.builtin(name.name())?,
            ExceptionRef::Member(member) => self.member(member)?,
            ExceptionRef::Path(path) => self.path(path)?,
        };
        let is_class = class.cast::<PyType>().is_ok();
        if !is_class {
            let is_tuple = class.cast_exact::<PyTuple>().is_ok();
            return Err(if is_tuple {
                Stop::refused(
                    rule::EXCEPT,
                    "`except` names a tuple of classes",
                    "write the classes in the clause",
                )
            } else {
                PyTypeError::new_err("catching classes that do not inherit from BaseException is not allowed")
                    .into()
            });
        }
        if !native::is_subtype(&class, self.py.get_type::<PyException>().as_any()) {
            return Err(Stop::refused(
                rule::EXCEPT,
                "`except` names a class that does not derive from `Exception`",
                "name the exception that the code may raise",
            ));
        }
        Ok(class)
    }

    fn raise(&mut self, raise: &Raise) -> Eval<PyErr> {
        let py = self.py;
        match raise {
            Raise::Again => match self.handled.last() {
                Some(exception) => Ok(exception.clone_ref(py)),
                None => Ok(PyRuntimeError::new_err("No active exception to reraise")),
            },
            Raise::Caught(name) => Ok(PyErr::from_value(self.names.get(&name.id)?)),
            Raise::New { class, args, cause } => {
                let class = self.builtin(class.name())?;
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Eval<Vec<_>>>()?;
                let error = PyErr::from_value(class.call1(PyTuple::new(py, args)?)?);
                match cause {
                    Cause::Absent => {}
                    Cause::Suppressed => error.set_cause(py, None),
                    Cause::Caught(name) => {
                        let cause = self.names.get(&name.id)?;
                        error.set_cause(py, Some(PyErr::from_value(cause)));
                    }
                }
                Ok(error)
            }
        }
    }

    /// Evaluates a condition.
    pub(super) fn condition(&mut self, test: &Expr) -> Eval<bool> {
        let value = self.expr(test)?;
        self.truth(&value)
    }
}
