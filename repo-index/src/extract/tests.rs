//! Text in, facts out: each case is one small file and what it says.

use std::fmt::Write as _;

use super::*;
use crate::facts::{Import, Taken};
use crate::language::LANGUAGES;

fn facts(text: &str) -> FileFacts {
    extract(&LANGUAGES[0], text, &|| false).expect("nobody stops it")
}

fn check_definitions(text: &str, expect: &str) {
    let facts = facts(text);
    let mut found = String::new();
    for (idx, definition) in facts.definitions.iter().enumerate() {
        let text = |id: &NameId| facts.text(*id).to_owned();
        let list = |ids: &[NameId]| ids.iter().map(text).collect::<Vec<_>>().join(",");
        let (first, last) = definition.lines;
        let _ = write!(
            found,
            "{:?} {} {first}-{last}",
            definition.kind,
            facts.qualified_name(as_u32(idx))
        );
        if !definition.bases.is_empty() {
            let _ = write!(found, " ({})", list(&definition.bases));
        }
        if !definition.decorators.is_empty() {
            let _ = write!(found, " @{}", list(&definition.decorators));
        }
        if let Some(doc) = definition.doc {
            let _ = write!(found, " '{}'", facts.text(doc));
        }
        found.push('\n');
    }
    assert_eq!(found.trim(), expect.trim(), "in {text}");
}

/// Writes a shape as the expression it stands for, `?` where it is none that is followed.
fn shown(facts: &FileFacts, shape: ShapeId) -> String {
    match facts.shapes.get(shape) {
        Shape::Name(name) => facts.text(name).into(),
        Shape::Attribute(of, name) => format!("{}.{}", shown(facts, of), facts.text(name)),
        Shape::Call(of, _) => format!("{}()", shown(facts, of)),
        Shape::Subscript(of, _) => format!("{}[]", shown(facts, of)),
        _ => "?".into(),
    }
}

fn check_references(text: &str, expect: &str) {
    let facts = facts(text);
    let mut found = Vec::new();
    for reference in &facts.references {
        let receiver = reference
            .receiver
            .map_or_else(String::new, |it| format!("{}.", shown(&facts, it)));
        found.push(format!(
            "{:?} {receiver}{}",
            reference.kind,
            facts.text(reference.name)
        ));
    }
    assert_eq!(found.join("; "), expect, "in {text}");
}

#[test]
fn classes_and_what_is_in_them() {
    check_definitions(
        "class Order(Base, mixins.Priced[int], metaclass=Meta):\n    \"\"\"An order.\n\n    More.\"\"\"\n    tax = 1\n    \
         def total(self):\n        '''Sums.'''\n        self.cached = self.tax\n        self.cached = 2\n        return 1\n",
        "Class Order 1-10 (Base,mixins.Priced) 'An order.'\nClassAttribute Order.tax 5-5\n\
         Method Order.total 6-10 'Sums.'\nInstanceAttribute Order.cached 8-8\n",
    );
}

#[test]
fn names_of_a_module_wherever_they_are_bound() {
    check_definitions(
        "A = 1\nif A:\n    B: int = 2\nC, D = 1, 2\nA = 3\ndef f():\n    local = 1\ntype T = int\n",
        "Variable A 1-1\nVariable B 3-3\nVariable C 4-4\nVariable D 4-4\nFunction f 6-7\nVariable T 8-8",
    );
}

#[test]
fn targets_of_one_value_stand_in_the_order_of_the_source() {
    check_definitions(
        "class A:\n    a = b = c = lambda: 1\n    def f(self):\n        self.x = self.y = 1\nz = A\n",
        "Class A 1-4\nClassAttribute A.a 2-2\nClassAttribute A.b 2-2\nClassAttribute A.c 2-2\nMethod A.f 3-4\n\
         InstanceAttribute A.x 4-4\nInstanceAttribute A.y 4-4\nVariable z 5-5",
    );
}

#[test]
fn decorators_belong_to_the_definition() {
    check_definitions(
        "@app.route('/')\n@cache\nasync def view(x):\n    def inner():\n        pass\n",
        "Function view 1-5 @app.route('/'),cache\nFunction view.inner 4-5",
    );
}

#[test]
fn an_attribute_of_self_outside_a_class_is_no_definition() {
    check_definitions("def patch(self):\n    self.x = 1\n", "Function patch 1-2");
}

#[test]
fn the_most_telling_use_wins() {
    check_references("f(a, k=b)", "Call f; Name a; Keyword k; Name b");
    check_references("x.y.z(1)", "Name x; Attribute x.y; Call x.y.z");
    check_references("x.a = y.b\n", "Name x; Write x.a; Name y; Attribute y.b");
    check_references("x.a.b = 1\n", "Name x; Attribute x.a; Write x.a.b");
    check_references(
        "x.a, x.b = 1\ndel x.c\n",
        "Name x; Write x.a; Name x; Write x.b; Name x; Write x.c",
    );
    check_references("super().go()", "Call super; Call super().go");
    check_references("f(1)[0].go()", "Call f; Call f()[].go");
}

#[test]
fn imports_are_references_too() {
    check_references(
        "from a.b import c as d\nd()\n",
        "Import a; Import b; Import c; Call d",
    );
}

fn check_imports(text: &str, expect: &str) {
    let facts = facts(text);
    let show = |import: &Import| {
        let taken = match import.taken {
            Taken::Module => "module".to_owned(),
            Taken::FirstPart => "first part".to_owned(),
            Taken::All => "*".to_owned(),
            Taken::Name(name) => facts.text(name).to_owned(),
        };
        let bound = import.bound.map_or("-", |bound| facts.text(bound));
        format!("{} {taken} as {bound}", facts.text(import.module))
    };
    let found: Vec<_> = facts.imports.iter().map(show).collect();
    assert_eq!(found.join("; "), expect, "in {text}");
}

#[test]
fn each_form_of_import() {
    check_imports("import a.b\n", "a.b first part as a");
    check_imports("import a.b as c\n", "a.b module as c");
    check_imports("from ..a import b, c as d\n", "..a b as b; ..a c as d");
    check_imports("from . import b\n", ". b as b");
    check_imports("from a import *\n", "a * as -");
    check_imports("def f():\n    from a import b\n", "a b as b");
}

fn check_scope_of(text: &str, name: &str, expect: &[BindingTarget]) {
    let facts = facts(text);
    let id = facts.name_id(name).expect("the name is in the text");
    let reference = facts
        .references
        .iter()
        .rfind(|it| it.name == id)
        .expect("it is used");
    let mut scopes = facts.scopes_from(reference.scope);
    let bindings = scopes.find_map(|scope| Some(facts.bindings_of(scope, id)).filter(|it| !it.is_empty()));
    let found: Vec<_> = bindings
        .unwrap_or_default()
        .iter()
        .map(|binding| binding.to)
        .collect();
    assert_eq!(found, expect, "{name} in {text}");
}

#[test]
fn a_name_is_bound_where_it_is_visible() {
    use BindingTarget::{Definition, Local, Parameter};
    check_scope_of("def f(x):\n    return x\n", "x", &[Parameter]);
    check_scope_of("def f(x=1, *args, **kw):\n    return kw\n", "kw", &[Parameter]);
    check_scope_of("def f(x: int = 1):\n    return x\n", "x", &[Parameter]);
    check_scope_of("x = 1\ndef f(y=x):\n    pass\n", "x", &[Definition(0), Local]);
    check_scope_of("f = [x for x in y]\n", "x", &[Local]);
    check_scope_of("f = lambda x: x\n", "x", &[Parameter]);
    check_scope_of("for i, (x, y) in z:\n    x\n", "x", &[Local]);
    check_scope_of("with a as x:\n    x\n", "x", &[Local]);
    check_scope_of("try:\n    pass\nexcept E as x:\n    x\n", "x", &[Local]);
}

#[test]
fn broken_text_gives_what_can_be_had() {
    check_definitions(
        "def f(:\n    pass\n\nclass Order:\n    def total(self):\n        return (1\n",
        "Function f 1-2\nClass Order 4-6\nMethod Order.total 5-6",
    );
    assert!(facts("x = foo(\n").has_errors);
}

#[test]
fn any_bytes_are_a_file() {
    let source =
        "class Order(Base):\n    def total(self, *a: int) -> 'é':\n        return f'{self.x!r}' + `1`\n";
    for end in (0..=source.len()).filter(|end| source.is_char_boundary(*end)) {
        facts(&source[..end]);
    }
    let mut state = 1u64;
    for _ in 0..50 {
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        })
        .take(200)
        .collect();
        facts(&String::from_utf8_lossy(&noise));
    }
    facts(&"(".repeat(2_000));
    facts(&format!("x{}", ".y".repeat(5_000)));
    facts(&"if x:\n ".repeat(2_000));
    facts("");
}

#[test]
fn extraction_stops_when_it_is_told_to() {
    assert!(extract(&LANGUAGES[0], &"x = 1\n".repeat(20_000), &|| true).is_none());
}
