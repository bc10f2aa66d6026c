//! A walk over the tree, for the rules that look at a whole heal.

use crate::tree::{
    Argument, Call, Callee, Clause, Comprehension, DictItem, Element, Expr, ExprKind, FStringPart, Function,
    Index, Item, Keyword, Place, Raise, Stmt, StmtKind, Target, UnpackTarget,
};

/// Something that walks over a tree; each method goes on into the children unless it is defined anew.
pub(crate) trait Visitor {
    fn stmt(&mut self, stmt: &Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
    }

    fn call(&mut self, call: &Call) {
        walk_call(self, call);
    }

    fn clauses(&mut self, clauses: &[Clause], elements: &[&Expr]) {
        for clause in clauses {
            self.expr(&clause.iterable);
            clause
                .conditions
                .iter()
                .for_each(|condition| self.expr(condition));
        }
        elements.iter().for_each(|element| self.expr(element));
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }
}

pub(crate) fn walk_stmt<V: Visitor + ?Sized>(visitor: &mut V, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            visitor.expr(value);
            targets.iter().for_each(|target| walk_target(visitor, target));
        }
        StmtKind::AugAssign { target, value, .. } => {
            walk_place(visitor, target);
            visitor.expr(value);
        }
        StmtKind::AnnAssign { value, .. } => visitor.expr(value),
        StmtKind::Call(call) => visitor.call(call),
        StmtKind::If { test, body, orelse } | StmtKind::While { test, body, orelse } => {
            visitor.expr(test);
            visitor.body(body);
            visitor.body(orelse);
        }
        StmtKind::For {
            iterable,
            body,
            orelse,
            ..
        } => {
            visitor.expr(iterable);
            visitor.body(body);
            visitor.body(orelse);
        }
        StmtKind::Try {
            body,
            handlers,
            orelse,
            finalbody,
        } => {
            visitor.body(body);
            handlers.iter().for_each(|handler| visitor.body(&handler.body));
            visitor.body(orelse);
            visitor.body(finalbody);
        }
        StmtKind::Raise(Raise::New { args, .. }) => args.iter().for_each(|arg| visitor.expr(arg)),
        StmtKind::Assert { test, message } => {
            visitor.expr(test);
            message.iter().for_each(|message| visitor.expr(message));
        }
        StmtKind::Delete(items) => items.iter().for_each(|item| walk_item(visitor, item)),
        StmtKind::Return(value) => value.iter().for_each(|value| visitor.expr(value)),
        StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Pass
        | StmtKind::Raise(Raise::Again | Raise::Caught(_))
        | StmtKind::Global(_)
        | StmtKind::Import(_)
        | StmtKind::ResumeBreak
        | StmtKind::ResumeContinue => {}
    }
}

fn walk_target<V: Visitor + ?Sized>(visitor: &mut V, target: &Target) {
    match target {
        Target::Place(place) => walk_place(visitor, place),
        Target::Unpack { targets, .. } => {
            for target in targets {
                let (UnpackTarget::One(target) | UnpackTarget::Rest(target)) = target;
                walk_target(visitor, target);
            }
        }
    }
}

fn walk_place<V: Visitor + ?Sized>(visitor: &mut V, place: &Place) {
    match place {
        Place::Name(_) => {}
        Place::Attribute { object, .. } => visitor.expr(object),
        Place::Item(item) => walk_item(visitor, item),
    }
}

fn walk_item<V: Visitor + ?Sized>(visitor: &mut V, item: &Item) {
    visitor.expr(&item.object);
    walk_index(visitor, &item.index);
}

fn walk_index<V: Visitor + ?Sized>(visitor: &mut V, index: &Index) {
    match index {
        Index::Value(value) => visitor.expr(value),
        Index::Slice(slice) => {
            [&slice.lower, &slice.upper, &slice.step]
                .into_iter()
                .flatten()
                .for_each(|part| visitor.expr(part));
        }
        Index::Tuple(indices) => indices.iter().for_each(|index| walk_index(visitor, index)),
    }
}

pub(crate) fn walk_expr<V: Visitor + ?Sized>(visitor: &mut V, expr: &Expr) {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Name(_)
        | ExprKind::Type(_)
        | ExprKind::Exception(_)
        | ExprKind::Member(_) => {}
        ExprKind::Attribute { value, .. } => visitor.expr(value),
        ExprKind::Subscript { value, index } => {
            visitor.expr(value);
            walk_index(visitor, index);
        }
        ExprKind::Binary { left, right, .. } => {
            visitor.expr(left);
            visitor.expr(right);
        }
        ExprKind::Unary { operand, .. } => visitor.expr(operand),
        ExprKind::Bool { values, .. } => values.iter().for_each(|value| visitor.expr(value)),
        ExprKind::Compare { first, rest } => {
            visitor.expr(first);
            rest.iter().for_each(|(_, value)| visitor.expr(value));
        }
        ExprKind::Conditional { test, body, orelse } => {
            [test, body, orelse]
                .into_iter()
                .for_each(|part| visitor.expr(part));
        }
        ExprKind::List(elements) | ExprKind::Tuple(elements) | ExprKind::Set(elements) => {
            for element in elements {
                let (Element::One(value) | Element::Star(value)) = element;
                visitor.expr(value);
            }
        }
        ExprKind::Dict(items) => {
            for item in items {
                match item {
                    DictItem::Pair(key, value) => {
                        visitor.expr(key);
                        visitor.expr(value);
                    }
                    DictItem::Star(value) => visitor.expr(value),
                }
            }
        }
        ExprKind::FString(parts) => {
            for part in parts {
                if let FStringPart::Value { value, .. } = part {
                    visitor.expr(value);
                }
            }
        }
        ExprKind::ListComp(comprehension) | ExprKind::SetComp(comprehension) => {
            walk_comprehension(visitor, comprehension);
        }
        ExprKind::DictComp(comprehension) => {
            visitor.clauses(
                &comprehension.clauses,
                &[&comprehension.key, &comprehension.value],
            );
        }
        ExprKind::Call(call) => visitor.call(call),
    }
}

fn walk_comprehension<V: Visitor + ?Sized>(visitor: &mut V, comprehension: &Comprehension) {
    visitor.clauses(&comprehension.clauses, &[&comprehension.element]);
}

pub(crate) fn walk_call<V: Visitor + ?Sized>(visitor: &mut V, call: &Call) {
    if let Callee::Method { receiver, .. } = &call.callee {
        visitor.expr(receiver);
    }
    for arg in &call.args {
        match arg {
            Argument::One(value) | Argument::Star(value) => visitor.expr(value),
            Argument::Generator(comprehension) => walk_comprehension(visitor, comprehension),
            Argument::Function(function) => walk_function(visitor, function),
        }
    }
    for keyword in &call.keywords {
        match keyword {
            Keyword::One { value, .. } | Keyword::Star(value) => visitor.expr(value),
            Keyword::Function { function, .. } => walk_function(visitor, function),
        }
    }
}

fn walk_function<V: Visitor + ?Sized>(visitor: &mut V, function: &Function) {
    if let Function::Lambda(lambda) = function {
        visitor.expr(&lambda.body);
    }
}
