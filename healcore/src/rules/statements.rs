//! Statements: those that are listed, in the forms that are listed.

use super::define_rules;

define_rules! {
    DEFINITION = "HC301" "definition": "a definition of a function, class or type";
    WITH = "HC302" "with": "a `with` statement";
    MATCH = "HC303" "match": "a `match` statement";
    ASYNC = "HC304" "async": "an asynchronous statement or expression";
    NONLOCAL = "HC305" "nonlocal": "a `nonlocal` statement";
    NO_EFFECT = "HC306" "no-effect": "an expression statement that is not a call";
    DELETE = "HC307" "delete": "a deletion of a variable or attribute";
    LOOP_TARGET = "HC308" "loop-target": "a loop target that is not a name";
    HANDLER = "HC309" "except-clause": "an `except` clause whose class is computed, or refused";
    RAISE = "HC310" "raise": "a `raise` of something else than a listed exception";
    EXCEPT_STAR = "HC311" "except-star": "an `except*` clause";
    ANNOTATION = "HC312" "annotation": "an annotation that is not a plain name, or without a value";
    TARGET = "HC313" "assignment-target": "an assignment to something that is no variable, attribute or item";
    GLOBAL = "HC314" "global": "a `global` statement after the name was used";
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn unlisted_statements_are_refused() {
        check("def f():\n    pass", "HC301");
        check("class A:\n    pass", "HC301");
        check("with a:\n    pass", "HC302");
        check("match a:\n    case 1:\n        pass", "HC303");
        check("async def f():\n    pass", "HC304");
        check("async for a in b:\n    pass", "HC304");
        check("nonlocal a", "HC305");
        check("del a", "HC307");
        check("del a.b", "HC307");
        check("del a[0], b", "HC307");
        check("del a[0], b['x']", "");
        check("del (a)", "HC307");
    }

    #[test]
    fn expressions_without_effect_are_refused() {
        check("a", "HC306");
        check("a.b", "HC306");
        check("'text'", "HC306");
        check("a == 1", "HC306");
        check("[f for f in g]", "HC306");
    }

    #[test]
    fn targets_are_places() {
        check("for a.b in c:\n    pass", "HC308");
        check("for a[0] in c:\n    pass", "HC308");
        check("for a, (b, *c) in d:\n    pass", "");
        check("x = [1 for a[0] in c]", "HC308");
        check("a, b.c, d[0] = e", "");
        check("(a, b), *c = e", "");
        check("*a, *b = c", "HC313");
        check("*a = c", "HC313");
        check("a @= b", "HC405");
    }

    #[test]
    fn handlers_name_listed_classes() {
        let clause =
            |class: &str, expect| check(&format!("try:\n    x = 1\nexcept {class}:\n    x = 2"), expect);
        clause("ValueError", "");
        clause("(ValueError, shop.Missing)", "");
        clause("shop.Missing", "");
        clause("BaseException", "HC309");
        clause("(ValueError, SystemExit)", "HC309");
        clause("KeyboardInterrupt", "HC309");
        clause("a[0]", "HC309");
        clause("f()", "HC309");
        clause("a.__class__", "HC309");
        clause("type(e)", "HC309");
        clause("int", "HC309");
        clause("ValueError if a else KeyError", "HC309");
        clause("()", "HC309");
        clause("*ValueError", "HC311");
        check("try:\n    x = 1\nexcept* ValueError:\n    x = 2", "HC311");
        check(
            "try:\n    x = 1\nexcept:\n    x = 2\nexcept ValueError:\n    x = 3",
            "HC309",
        );
    }

    #[test]
    fn raises_name_listed_classes() {
        check("raise ValueError", "");
        check("raise ValueError('a') from None", "");
        check("raise", "HC310");
        check("raise SystemExit", "HC310");
        check("raise KeyboardInterrupt()", "HC310");
        check("raise f()", "HC310");
        check("raise error", "HC310");
        check("raise ValueError(*a)", "HC310");
        check("raise ValueError() from f()", "HC310");
        check("try:\n    x = 1\nexcept ValueError as e:\n    raise", "");
        check(
            "try:\n    x = 1\nexcept ValueError as e:\n    raise KeyError('a') from e",
            "",
        );
        check("try:\n    x = 1\nexcept ValueError as e:\n    raise e", "");
    }

    #[test]
    fn annotations_are_plain_names() {
        check("a: int = 0", "");
        check("a: f() = 0", "HC312");
        check("a: list[int] = []", "HC312");
        check("a: 'int' = 0", "HC312");
        check("a: int", "HC312");
        check("a.b: int = 0", "HC312");
    }

    #[test]
    fn a_global_statement_comes_first() {
        check("global a\na = 1", "");
        check("a = 1\nglobal a", "HC314");
        check("x = a\nglobal a", "HC314");
    }

    #[test]
    fn resume_actions_may_stand_anywhere() {
        check("return", "");
        check("for a in b:\n    return a", "");
        check("if a:\n    continue\nelse:\n    break", "");
    }
}
