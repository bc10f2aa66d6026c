//! What the tree says of a heal: each node as Python reads the text.

use healcore::tree::{
    Argument, Callee, Cause, Constant, Conversion, ExceptionRef, Expr, ExprKind, FStringPart, Function,
    Imported, Index, Keyword, Raise, Span, Stmt, StmtKind,
};
use healcore::{Options, ProgramCalls, check, check_expression};

#[track_caller]
fn body(code: &str) -> Vec<Stmt> {
    let options = Options {
        program_calls: ProgramCalls::Allow,
        ..Options::default()
    };
    let checked = check(code, &options);
    checked
        .program
        .unwrap_or_else(|| panic!("{code}\n{:#?}", checked.violations))
        .body
}

#[track_caller]
fn value(code: &str) -> Expr {
    let checked = check_expression(code, &Options::default());
    checked
        .expression
        .unwrap_or_else(|| panic!("{code}\n{:#?}", checked.violations))
}

#[test]
fn spans_count_lines_and_columns_from_one_in_characters() {
    let body = body("x = 'ü'\nif x:\n    y = 'ü' + z\n");
    let StmtKind::If { body, .. } = &body[1].kind else {
        panic!()
    };
    assert_eq!((body[0].span.line, body[0].span.column), (3, 5));
    let StmtKind::Assign { value, .. } = &body[0].kind else {
        panic!()
    };
    let ExprKind::Binary { right, .. } = &value.kind else {
        panic!()
    };
    assert_eq!(
        right.span,
        Span {
            line: 3,
            column: 15,
            start: 30,
            end: 31
        }
    );
}

#[test]
fn literals_keep_their_value() {
    let check = |code: &str, expect| assert_eq!(value(code).kind, ExprKind::Constant(expect));
    check("1_0", Constant::Int(10.into()));
    check("0x_ff", Constant::Int(255.into()));
    check("1e3", Constant::Float(1000.0));
    check("2j", Constant::Imaginary(2.0));
    check("'a' \"b\" r'\\n'", Constant::Str("ab\\n".to_owned()));
    check("b'a\\xff' b'b'", Constant::Bytes(vec![b'a', 0xff, b'b']));
    check("'\\N{DEGREE SIGN}\\x41\\101'", Constant::Str("°AA".to_owned()));
    let big = value("340282366920938463463374607431768211456");
    let ExprKind::Constant(Constant::Int(big)) = big.kind else {
        panic!()
    };
    assert_eq!((big.bits(), big.to_u64()), (129, None));
}

#[test]
fn fstrings_are_text_and_values() {
    let parts = |code: &str| match value(code).kind {
        ExprKind::FString(parts) => parts
            .into_iter()
            .map(|part| match part {
                FStringPart::Text(text) => format!("{text:?}"),
                FStringPart::Value { conversion, spec, .. } => format!("{conversion:?}:{spec}"),
            })
            .collect::<Vec<_>>()
            .join(" "),
        kind => panic!("{kind:?}"),
    };
    assert_eq!(parts("f'a{x}b{{}}{y!r:>3}'"), r#""a" None: "b{}" Repr:>3"#);
    assert_eq!(
        parts("f'{x=}{x = !s}{x=:3}'"),
        r#""x=" Repr: "x = " Str: "x=" None:3"#
    );
    assert_eq!(parts("'a{' f'{x}' '}'"), r#""a{" None: "}""#);
    assert_eq!(parts("f'{x:%Y-%m}'"), "None:%Y-%m");
    assert_eq!(Conversion::Ascii, Conversion::Ascii);
}

#[test]
fn callees_are_classified() {
    let callee = |code: &str| match &body(code).last().expect("there is a statement").kind {
        StmtKind::Call(call) => match &call.callee {
            Callee::Builtin(builtin) => format!("builtin {}", builtin.name()),
            Callee::TypeMethod { of, method } => format!("type {} {}", of.name(), method.name()),
            Callee::Member(reference) => format!(
                "member {} {} via {} {:?}",
                reference.member.module.name(),
                reference.member.path,
                reference.root,
                reference.attributes
            ),
            Callee::Method { method, .. } => format!("method {}", method.name()),
            Callee::Toolkit(tool) => format!("toolkit {}", tool.name()),
            Callee::Program(path) => format!("program {} {:?}", path.root, path.attributes),
        },
        kind => panic!("{kind:?}"),
    };
    assert_eq!(callee("len(x)"), "builtin len");
    assert_eq!(callee("dict.fromkeys(x)"), "type dict fromkeys");
    assert_eq!(callee("x.items()"), "method items");
    assert_eq!(callee("x[0].y.append(1)"), "method append");
    assert_eq!(callee("math.sqrt(x)"), r#"member math sqrt via math ["sqrt"]"#);
    assert_eq!(
        callee("import math as m\nm.sqrt(x)"),
        r#"member math sqrt via m ["sqrt"]"#
    );
    assert_eq!(
        callee("from math import sqrt as s\ns(x)"),
        "member math sqrt via s []"
    );
    assert_eq!(
        callee("from datetime import datetime\ndatetime.strptime(x, y)"),
        r#"member datetime datetime.strptime via datetime ["strptime"]"#
    );
    assert_eq!(
        callee("import urllib.parse\nurllib.parse.quote(x)"),
        r#"member urllib.parse quote via urllib ["parse", "quote"]"#
    );
    assert_eq!(callee("string.digits.index('1')"), "method index");
    assert_eq!(
        callee("self.shop.refresh()"),
        r#"program self ["shop", "refresh"]"#
    );
}

#[test]
fn arguments_are_values_stars_generators_and_functions() {
    let StmtKind::Call(call) = &body("charge(1, *a, k=2, **b)")[0].kind else {
        panic!()
    };
    assert!(matches!(call.args[..], [Argument::One(_), Argument::Star(_)]));
    assert!(matches!(
        call.keywords[..],
        [Keyword::One { .. }, Keyword::Star(_)]
    ));
    let StmtKind::Call(call) = &body("any(x for x in y)")[0].kind else {
        panic!()
    };
    assert!(matches!(call.args[..], [Argument::Generator(_)]));
    let StmtKind::Call(call) = &body("sorted(x, key=lambda r: r[0])")[0].kind else {
        panic!()
    };
    assert!(matches!(
        call.keywords[..],
        [Keyword::Function {
            function: Function::Lambda(_),
            ..
        }]
    ));
    let StmtKind::Call(call) = &body("map(str.strip, x)")[0].kind else {
        panic!()
    };
    assert!(matches!(
        call.args[0],
        Argument::Function(Function::TypeMethod { .. })
    ));
}

#[test]
fn loops_own_their_breaks_and_the_frame_gets_the_others() {
    let stmts = body("for x in y:\n    break\nelse:\n    continue\nbreak");
    let StmtKind::For { body, orelse, .. } = &stmts[0].kind else {
        panic!()
    };
    assert_eq!(body[0].kind, StmtKind::Break);
    assert_eq!(orelse[0].kind, StmtKind::ResumeContinue);
    assert_eq!(stmts[1].kind, StmtKind::ResumeBreak);
}

#[test]
fn elif_is_an_if_in_the_else() {
    let stmts = body("if a:\n    pass\nelif b:\n    pass\nelse:\n    return 1");
    let StmtKind::If { orelse, .. } = &stmts[0].kind else {
        panic!()
    };
    let StmtKind::If { orelse, .. } = &orelse[0].kind else {
        panic!()
    };
    assert!(matches!(
        orelse[..],
        [Stmt {
            kind: StmtKind::Return(Some(_)),
            ..
        }]
    ));
}

#[test]
fn handlers_and_raises_name_their_classes() {
    let code = "import json\ntry:\n    pass\nexcept (KeyError, shop.E, json.JSONDecodeError) as e:\n    raise KeyError('a') from e\nexcept:\n    raise";
    let stmts = body(code);
    let StmtKind::Import(imports) = &stmts[0].kind else {
        panic!()
    };
    assert!(matches!(imports[0].what, Imported::Module(module) if module.name() == "json"));
    let StmtKind::Try { handlers, .. } = &stmts[1].kind else {
        panic!()
    };
    assert!(matches!(
        handlers[0].classes[..],
        [
            ExceptionRef::Builtin(..),
            ExceptionRef::Path(_),
            ExceptionRef::Member(_)
        ]
    ));
    assert!(matches!(
        &handlers[0].body[0].kind,
        StmtKind::Raise(Raise::New { args, cause: Cause::Caught(_), .. }) if args.len() == 1
    ));
    assert!(handlers[1].classes.is_empty());
    assert_eq!(handlers[1].body[0].kind, StmtKind::Raise(Raise::Again));
}

#[test]
fn subscripts_hold_values_slices_and_tuples() {
    let index = |code: &str| match value(code).kind {
        ExprKind::Subscript { index, .. } => *index,
        kind => panic!("{kind:?}"),
    };
    assert!(matches!(
        index("a[1, 2]"),
        Index::Value(Expr {
            kind: ExprKind::Tuple(_),
            ..
        })
    ));
    assert!(matches!(index("a[1:]"), Index::Slice(slice) if slice.upper.is_none()));
    assert!(matches!(index("a[1:, 2]"), Index::Tuple(indices) if indices.len() == 2));
}

#[test]
fn expressions_may_read_attributes() {
    assert!(matches!(
        value("user.profile.city").kind,
        ExprKind::Attribute { .. }
    ));
    assert!(
        check_expression("user.save()", &Options::default())
            .expression
            .is_none()
    );
    assert!(
        check_expression("x = 1", &Options::default())
            .expression
            .is_none()
    );
    assert!(check_expression("", &Options::default()).expression.is_none());
    assert!(
        check_expression("x.__class__", &Options::default())
            .expression
            .is_none()
    );
}

#[test]
fn violations_are_sorted_and_serialised_as_they_are() {
    let checked = check("x = a.__class__\nimport os; y = eval", &Options::default());
    let rules: Vec<_> = checked
        .violations
        .iter()
        .map(|violation| violation.rule)
        .collect();
    assert_eq!(rules, ["HC101", "HC201", "HC105"]);
    let json = serde_json::to_value(&checked.violations[0]).expect("it serialises");
    let keys: Vec<_> = json
        .as_object()
        .expect("it is an object")
        .keys()
        .cloned()
        .collect();
    assert_eq!(keys, ["rule", "line", "column", "message", "help"]);
}
