//! Numbers and sizes that the text alone shows to be too large.

use super::define_rules;
use crate::context::Context;
use crate::fold;
use crate::tables::{Builtin, Member, Module};
use crate::tree::{
    Argument, BinaryOp, Call, Callee, Constant, Expr, ExprKind, Program, Span, Stmt, StmtKind,
};
use crate::visit::{Visitor, walk_call, walk_expr, walk_stmt};

define_rules! {
    INTEGER_LITERAL = "HC701" "integer-literal": "an integer literal of more than 4,096 bits";
    POWER = "HC702" "power": "a power or shift that gives more than 4,096 bits";
    REPEAT = "HC703" "repeat": "a string or container of more than 65,536 elements by repetition";
    MATH = "HC713" "math-arguments": "a number function whose result would be too large";
    SIZE_ARGUMENT = "HC714" "size-argument": "a call that would create a string or container of more than 65,536 elements";
}

/// Checks the expressions of a heal.
pub(crate) fn check(cx: &mut Context<'_>, program: &Program) {
    Numbers { cx }.body(&program.body);
}

/// Checks a single expression.
pub(crate) fn check_expr(cx: &mut Context<'_>, expr: &Expr) {
    Numbers { cx }.expr(expr);
}

/// The largest exponent of a base that the text does not tell.
const LARGEST_EXPONENT: i128 = 10_000;

fn is_float(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(Constant::Float(_)))
}

struct Numbers<'c, 'a> {
    cx: &'c mut Context<'a>,
}

impl Visitor for Numbers<'_, '_> {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::AugAssign { op, value, .. } = &stmt.kind {
            match op {
                BinaryOp::Pow => self.power(None, value, stmt.span),
                BinaryOp::LeftShift => self.shift(None, value, stmt.span),
                _ => {}
            }
        }
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Binary { left, op, right } = &expr.kind {
            match op {
                BinaryOp::Pow => self.power(Some(left), right, expr.span),
                BinaryOp::LeftShift => self.shift(Some(left), right, expr.span),
                BinaryOp::Mul => self.repeat(left, right, expr.span),
                BinaryOp::Mod => super::formats::check_percent_left(self.cx, left),
                _ => {}
            }
        }
        walk_expr(self, expr);
    }

    fn call(&mut self, call: &Call) {
        match &call.callee {
            Callee::Builtin(Builtin::Pow) => {
                if let [Argument::One(base), Argument::One(exponent)] = &call.args[..] {
                    self.power(Some(base), exponent, call.span);
                }
            }
            Callee::Builtin(Builtin::Bytes | Builtin::Bytearray) => self.size(call, "source"),
            Callee::Method { method, .. } => match method.name() {
                "center" | "ljust" | "rjust" | "zfill" => self.size(call, "width"),
                "expandtabs" => self.size(call, "tabsize"),
                "to_bytes" => self.size(call, "length"),
                _ => {}
            },
            Callee::Member(member) => self.member(call, member.member),
            _ => {}
        }
        walk_call(self, call);
    }
}

impl Numbers<'_, '_> {
    /// Checks a power whose base may stand elsewhere, as in `x **= 2`.
    fn power(&mut self, base: Option<&Expr>, exponent: &Expr, span: Span) {
        let Some(exponent) = fold::integer(exponent) else {
            return;
        };
        let limit = self.cx.options.limits.integer_bits;
        let is_large = match base.map(|base| (fold::integer(base), is_float(base))) {
            Some((Some(base), _)) => power_bits(base, exponent) > limit as f64,
            Some((None, true)) => false,
            Some((None, false)) | None => exponent > LARGEST_EXPONENT,
        };
        if is_large {
            self.cx.report(
                &POWER,
                span,
                format!("the power has more than {limit} bits"),
                "use a smaller exponent, or a float: `10.0 ** n`",
            );
        }
    }

    fn shift(&mut self, left: Option<&Expr>, right: &Expr, span: Span) {
        let Some(right) = fold::integer(right) else { return };
        let limit = self.cx.options.limits.integer_bits;
        let left_bits = left.and_then(fold::integer).map_or(0, fold::bits);
        if right.saturating_add(i128::from(left_bits)) > i128::from(limit) {
            let message = format!("the shift gives more than {limit} bits");
            self.cx.report(&POWER, span, message, "shift by a smaller number");
        }
    }

    fn repeat(&mut self, left: &Expr, right: &Expr, span: Span) {
        let limit = self.cx.options.limits.items;
        if fold::repeat(left, right).is_some_and(|length| length > limit) {
            let message = format!("the repetition gives more than {limit} elements");
            self.cx.report(&REPEAT, span, message, "repeat less often");
        }
    }

    fn size(&mut self, call: &Call, name: &str) {
        let limit = self.cx.options.limits.items;
        if let Some(size) = super::formats::argument(call, 0, name)
            && fold::integer(size).is_some_and(|size| size > i128::from(limit))
        {
            let message = format!("the call gives more than {limit} elements");
            self.cx
                .report(&SIZE_ARGUMENT, call.span, message, "use a smaller size");
        }
    }

    fn member(&mut self, call: &Call, member: &Member) {
        let integers: Vec<_> = call
            .args
            .iter()
            .map(|arg| match arg {
                Argument::One(value) => fold::integer(value),
                _ => None,
            })
            .collect();
        let is_large = match (member.module, member.path, &integers[..]) {
            (Module::Math, "comb" | "perm", [Some(n), Some(k)]) => {
                let k = if member.path == "comb" {
                    (*k).min(n.saturating_sub(*k))
                } else {
                    *k
                };
                i128::from(fold::bits(*n)).saturating_mul(k) > self.limit()
            }
            (Module::Math, "factorial" | "perm", [Some(n)]) => {
                i128::from(fold::bits(*n)).saturating_mul(*n) > self.limit() * 2
            }
            (Module::Math, "ldexp", [_, Some(exponent)]) => *exponent > 1_100,
            (Module::Decimal, "Decimal", _) | (Module::Fractions, "Fraction", _) => {
                call.args.iter().any(|arg| match arg {
                    Argument::One(Expr {
                        kind: ExprKind::Constant(Constant::Str(text)),
                        ..
                    }) => has_large_exponent(text),
                    _ => false,
                })
            }
            _ => false,
        };
        if is_large {
            self.cx.report(
                &MATH,
                call.span,
                format!("the result of `{}` is too large", member.path),
                "use smaller numbers, or floats",
            );
        }
    }

    fn limit(&self) -> i128 {
        i128::from(self.cx.options.limits.integer_bits)
    }
}

/// Returns how many bits a power has, nearly.
fn power_bits(base: i128, exponent: i128) -> f64 {
    (base.unsigned_abs().max(1) as f64).log2() * exponent as f64
}

fn has_large_exponent(text: &str) -> bool {
    text.to_ascii_lowercase()
        .split_once('e')
        .is_some_and(|(_, exponent)| {
            let digits: String = exponent.chars().filter(char::is_ascii_digit).collect();
            !digits.is_empty() && digits.parse::<u32>().map_or(true, |exponent| exponent > 1_000)
        })
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn powers_and_shifts_are_limited() {
        check("x = 2 ** 4000", "");
        check("x = 2 ** 5000", "HC702");
        check("x = 9 ** 9 ** 9", "HC702");
        check("x = (-10) ** 10 ** 8", "HC702");
        check("x = pow(7, 99999999)", "HC702");
        check("x = pow(7, 99999999, 13)", "");
        check("x = 1 << 10 ** 10", "HC702");
        check("x = a << 99999", "HC702");
        check("x = 1 ** 99999999", "");
        check("x = (1 + rate) ** 3650", "");
        check("x = n ** 99999999", "HC702");
        check("x **= 99999999", "HC702");
        check("x <<= 10 ** 10", "HC702");
        check("x **= 2", "");
        check("x = 1.0001 ** 99999", "");
        check("x = [9 ** 9 ** 9 for a in rows]", "HC702");
        check("x = f'{9 ** 9 ** 9}'", "HC702");
    }

    #[test]
    fn literals_are_limited() {
        check(&format!("x = {}", "9".repeat(1_200)), "");
        check(&format!("x = {}", "9".repeat(1_300)), "HC701");
        check(&format!("x = 0x{}", "f".repeat(1_024)), "");
        check(&format!("x = 0x1{}", "f".repeat(1_024)), "HC701");
        check("x = 0b1_0 + 0o17 + 0xF", "");
        check(&format!("x = {}", "9".repeat(16_000)), "HC701");
        check(&format!("x = 0x{}1", "0_".repeat(7_000)), "");
    }

    #[test]
    fn sizes_are_limited() {
        check("x = 'y' * 65536", "");
        check("x = 'y' * 65537", "HC703");
        check("x = 10 ** 9 * [0]", "HC703");
        check("x = ['y' * 1000] * 1000", "");
        check("x = ('a' * 1000 + 'b') * 1000", "HC703");
        check("x = bytes(10 ** 10)", "HC714");
        check("x = bytearray(99999999)", "HC714");
        check("x = 'a'.zfill(10 ** 9)", "HC714");
        check("x = a.ljust(10 ** 9)", "HC714");
        check("x = a.expandtabs(tabsize=10 ** 9)", "HC714");
        check("x = (5).to_bytes(10 ** 9, 'big')", "HC714");
    }

    #[test]
    fn number_functions_are_limited() {
        check("import math\nx = math.comb(10 ** 9, 10 ** 8)", "HC713");
        check("import math\nx = math.factorial(100000)", "HC713");
        check("import math\nx = math.factorial(100)", "");
        check("import math\nx = math.perm(100000)", "HC713");
        check(
            "from decimal import Decimal\nx = int(Decimal('1e999999999'))",
            "HC713",
        );
        check(
            "from fractions import Fraction\nx = Fraction('1e999999999')",
            "HC713",
        );
        check("from decimal import Decimal\nx = Decimal('12.50')", "");
    }
}
