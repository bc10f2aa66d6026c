//! Expressions: those that are listed, where they are listed.

use super::define_rules;

define_rules! {
    WALRUS = "HC401" "walrus": "an assignment expression";
    LAMBDA = "HC402" "lambda": "a lambda that is not the `key=` of a call, or not of one plain parameter";
    YIELD = "HC403" "yield": "a `yield` expression";
    GENERATOR = "HC404" "generator": "a generator expression that no call consumes at once";
    MATMUL = "HC405" "matrix-multiplication": "the operator `@`";
    ELLIPSIS = "HC406" "ellipsis": "the value `...`";
    TEMPLATE_STRING = "HC407" "template-string": "a template string";
    MISPLACED = "HC408" "misplaced-expression": "a star or slice where it has no meaning";
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn unlisted_expressions_are_refused() {
        check("x = (y := 1)", "HC401");
        check("x = [y := 1 for z in rows]", "HC401");
        check("x = rows[(y := 1)]", "HC401");
        check("x = lambda: 1", "HC402");
        check("x = (lambda: 1)()", "HC502");
        check("x = sorted(rows, key=lambda: 1)", "HC402");
        check("x = sorted(rows, key=lambda a, b: 1)", "HC402");
        check("x = sorted(rows, key=lambda *a: 1)", "HC402");
        check("x = sorted(rows, key=lambda a=b: 1)", "HC402");
        check("x = sorted(rows, key=lambda a, /: 1)", "HC402");
        check("x = sorted(rows, key=lambda a: lambda b: 1)", "HC402");
        check("x = list(map(lambda a: a, rows))", "HC402");
        check("x = yield", "HC403");
        check("x = yield from rows", "HC403");
        check("x = await y", "HC304");
        check("x = a @ b", "HC405");
        check("x = ...", "HC406");
        check("x = a[...]", "HC406");
    }

    #[test]
    fn generators_are_consumed_at_once() {
        check("x = (a for a in rows)", "HC404");
        check("x = sum(a for a in rows)", "");
        check("x = next((a for a in rows), None)", "");
        check("x = ','.join(str(a) for a in rows)", "");
        check("rows.extend(a for a in more)", "");
        check("rows.append(a for a in more)", "HC404");
        check("x = iter(a for a in rows)", "HC404");
        check("x = map(str, (a for a in rows))", "HC404");
        check("x = [*(a for a in rows)]", "HC404");
        check("x = 1 in (a for a in rows)", "HC404");
        check("x = [a async for a in rows]", "HC304");
    }

    #[test]
    fn listed_expressions_are_accepted() {
        check("x = -a ** 2 // 3 % 5 << 1 >> 1 & 1 | 2 ^ ~3", "");
        check("x = a < b <= c != d is not None and e not in f or not g", "");
        check("x = [1, *a]; y = (1, *a); z = {1, *a}; w = {'a': 1, **b}", "");
        check("x = a[1:2, ::3]", "");
        check("x = a[*b]", "");
        check("x = 1.5 + 2j", "");
        check("x = {k: v for k, v in a.items() if v for w in v}", "");
    }
}
