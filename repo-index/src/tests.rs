//! Questions on small trees in memory: files and a question in, lines out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{
    Budget, Certainty, Content, Error, Found, FoundFile, Index, Options, ReadTarget, Reading, Root, Source,
    Stamp, TextPattern,
};

/// Files in memory; each change of one is a new state of it.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<PathBuf, (String, u128)>>>);

impl Files {
    /// Reads `== path` lines, each followed by a text.
    fn parse(text: &str) -> Self {
        let files = Self::default();
        for part in text.split("== ").skip(1) {
            let (path, text) = part.split_once('\n').unwrap();
            files.write(path.trim(), text);
        }
        files
    }

    fn write(&self, path: &str, text: &str) {
        let mut files = self.0.lock().unwrap();
        let entry = files.entry(path.into()).or_default();
        *entry = (text.into(), entry.1 + 1);
    }

    fn remove(&self, path: &str) {
        self.0.lock().unwrap().remove(Path::new(path));
    }
}

impl Source for Files {
    fn list(&self, root: &Root, is_over: &dyn Fn() -> bool) -> Found {
        let files = self.0.lock().unwrap();
        let inside = files.iter().filter(|(path, _)| path.starts_with(&root.path));
        let found = |(path, (text, modified)): (&PathBuf, &(String, u128))| FoundFile {
            path: path.clone(),
            stamp: Stamp {
                modified: *modified,
                size: text.len() as u64,
            },
        };
        Found {
            files: inside.map(found).collect(),
            is_partial: is_over(),
            ..Found::default()
        }
    }

    fn read(&self, path: &Path) -> Content {
        match self.0.lock().unwrap().get(path) {
            Some((text, modified)) => Content::Text(
                text.clone(),
                Stamp {
                    modified: *modified,
                    size: text.len() as u64,
                },
            ),
            None => Content::Gone,
        }
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::new();
        for part in path.components() {
            match part {
                std::path::Component::ParentDir => drop(real.pop()),
                part => real.push(part),
            }
        }
        let files = self.0.lock().unwrap();
        (real == Path::new("/etc/passwd") || files.keys().any(|file| file.starts_with(&real))).then_some(real)
    }
}

fn open(files: &Files) -> Index {
    let roots = vec![Root::project("/p", "project")];
    let index = Index::with(roots, 2, Box::new(files.clone()), None).unwrap();
    for package in ["/site/lib", "/site/six.py"] {
        if files.real_path(Path::new(package)).is_some() {
            index.add_root(Root::package(package, "lib")).unwrap();
        }
    }
    index
}

const SHOP: &str = "
== /p/shop/__init__.py
from .models import Order as PublicOrder
from .models import *
== /p/shop/base.py
class Priced:
    tax = 1
    def total(self):
        raise NotImplementedError
    def show(self):
        return self.total()
== /p/shop/models.py
'''The models.'''
from shop.base import Priced
class Order(Priced):
    '''An order.'''
    @property
    def total(self):
        return self.tax + self.lines
    def __init__(self):
        self.lines = []
    def again(self):
        return self.total() + super().total()
def make(total):
    return Order()
== /p/run.py
import shop
from shop import PublicOrder, models
def main(order):
    total = 1
    print(total, order.total)
    models.make(total=2)
    shop.make(3)
    return PublicOrder().total
== /site/lib/__init__.py
class Order: pass
def total(): pass
";

fn symbols(index: &Index, query: &str) -> String {
    let page = index.symbols(query, Options::default()).unwrap();
    let show = |it: &crate::SymbolHit| {
        format!(
            "{}:{} {} {:?} {:?}",
            it.location.path, it.location.line, it.name, it.kind, it.fit
        )
    };
    page.items.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn check_symbols(query: &str, expect: &str) {
    assert_eq!(
        symbols(&open(&Files::parse(SHOP)), query),
        expect.trim(),
        "for {query}"
    );
}

#[test]
fn a_name_finds_the_project_before_packages() {
    check_symbols(
        "Order",
        "shop/models.py:3 Order Class Name\nlib/__init__.py:1 Order Class Name",
    );
}

#[test]
fn the_end_of_a_dotted_name_is_enough() {
    check_symbols("Order.total", "shop/models.py:6 Order.total Method Name");
    check_symbols("models.Order.total()", "shop/models.py:6 Order.total Method End");
    check_symbols("shop.models:Order", "shop/models.py:3 Order Class Whole");
    check_symbols(
        "Order.lines",
        "shop/models.py:9 Order.lines InstanceAttribute Name",
    );
}

#[test]
fn another_case_and_a_slip_are_forgiven() {
    check_symbols("priced.TAX", "shop/base.py:2 Priced.tax ClassAttribute OtherCase");
    check_symbols(
        "Order.totl",
        "shop/models.py:6 Order.total Method Similar\nshop/base.py:3 Priced.total Method Similar\nlib/__init__.py:2 total Function Similar",
    );
    check_symbols("Prx", "");
    check_symbols("PRICE", "shop/base.py:1 Priced Class Similar");
    check_symbols("Pri", "shop/base.py:1 Priced Class Similar");
}

#[test]
fn a_second_target_of_an_assignment_is_found() {
    let index = open(&Files::parse("== /p/a.py\nA, B = 1, 2\n"));
    assert_eq!(symbols(&index, "B"), "a.py:1 B Variable Name");
}

fn check_references(query: &str, expect: &str) {
    let index = open(&Files::parse(SHOP));
    let found = index.references(query, Options::default()).unwrap();
    let mut lines: Vec<String> = found
        .page
        .items
        .iter()
        .map(|it| {
            let sure = if it.certainty == Certainty::Confirmed {
                "="
            } else {
                "?"
            };
            let target = it.target.as_deref().unwrap_or("-");
            let around = it.enclosing.as_deref().unwrap_or("-");
            let location = &it.location;
            format!(
                "{:?} {sure} {}:{}:{} in {around} {target}",
                it.group, location.path, location.line, location.column
            )
        })
        .collect();
    lines.push(format!("{} excluded", found.n_excluded));
    assert_eq!(lines.join("\n"), expect.trim(), "for {query}");
}

#[test]
fn a_method_is_told_from_locals_and_from_its_base() {
    check_references(
        "Order.total",
        "
Definition = shop/models.py:6:9 in Order shop.models.Order.total
Call = shop/models.py:11:21 in Order.again shop.models.Order.total
Call ? shop/base.py:6:21 in Priced.show -
Attribute = run.py:8:26 in main shop.models.Order.total
Attribute ? run.py:5:24 in main -
3 excluded",
    );
}

#[test]
fn super_means_the_base() {
    check_references(
        "Priced.total",
        "
Definition = shop/base.py:3:9 in Priced shop.base.Priced.total
Call = shop/base.py:6:21 in Priced.show shop.base.Priced.total
Call = shop/models.py:11:39 in Order.again shop.base.Priced.total
Attribute ? run.py:5:24 in main -
4 excluded",
    );
}

#[test]
fn imports_stars_and_other_names_lead_to_the_definition() {
    check_references(
        "shop.models.Order",
        "
Definition = shop/models.py:3:7 in - shop.models.Order
Call = run.py:8:12 in main shop.models.Order
Call = shop/models.py:13:12 in make shop.models.Order
Import = run.py:2:18 in - shop.models.Order
Import = shop/__init__.py:1:21 in - shop.models.Order
0 excluded",
    );
    check_references(
        "make",
        "
Definition = shop/models.py:12:5 in - shop.models.make
Call = run.py:6:12 in main shop.models.make
Call = run.py:7:10 in main shop.models.make
0 excluded",
    );
}

#[test]
fn a_name_from_outside_is_found_by_name() {
    let index = open(&Files::parse("== /p/a.py\nimport os\nos.getenv('X')\n"));
    let found = index.references("os.getenv", Options::default()).unwrap();
    assert!(found.targets.is_empty());
    assert_eq!(found.page.items[0].certainty, Certainty::ByName);
}

#[test]
fn a_name_that_nobody_has_proposes_others() {
    let error = open(&Files::parse(SHOP))
        .references("Order.totals", Options::default())
        .unwrap_err();
    assert!(matches!(error, Error::NoSuchSymbol { .. }));
    assert!(
        error.hint().starts_with("did you mean `Order.total`"),
        "{}",
        error.hint()
    );
    let error = open(&Files::parse(SHOP))
        .symbols("  ", Options::default())
        .unwrap_err();
    assert!(matches!(error, Error::EmptyQuery { .. }));
}

fn check_text(pattern: &TextPattern, path: Option<&str>, expect: &str) {
    let options = Options {
        path,
        ..Options::default()
    };
    let page = open(&Files::parse(SHOP)).text(pattern, options).unwrap();
    let show = |it: &crate::TextHit| {
        format!(
            "{}:{}:{} {}",
            it.location.path,
            it.location.line,
            it.location.column,
            it.text.trim()
        )
    };
    assert_eq!(
        page.items.iter().map(show).collect::<Vec<_>>().join("\n"),
        expect.trim()
    );
}

#[test]
fn text_is_found_line_by_line() {
    check_text(
        &TextPattern::literal("Order("),
        None,
        "run.py:8:18 return PublicOrder().total\nshop/models.py:3:7 class Order(Priced):\nshop/models.py:13:12 return Order()",
    );
    check_text(
        &TextPattern::regex(r"^from\s+\S+ import \*$"),
        Some("shop"),
        "shop/__init__.py:2:1 from .models import *",
    );
    let pattern = TextPattern {
        ignore_case: true,
        ..TextPattern::literal("NOTIMPLEMENTEDERROR")
    };
    check_text(
        &pattern,
        Some("*.py"),
        "shop/base.py:4:15 raise NotImplementedError",
    );
    check_text(
        &TextPattern::regex("$"),
        Some("lib"),
        "lib/__init__.py:1:18 class Order: pass\nlib/__init__.py:2:18 def total(): pass",
    );
}

#[test]
fn a_pattern_that_does_not_parse_says_how_to_quote_it() {
    let error = open(&Files::parse(SHOP))
        .text(&TextPattern::regex("total("), Options::default())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`total(` is not a regular expression: unclosed group"
    );
    assert!(error.hint().contains(r"`total\(`"), "{}", error.hint());
}

fn read(index: &Index, target: &str, options: Options<'_>) -> String {
    let lines = match index.read(&ReadTarget::parse(target), options) {
        Ok(Reading::Source(source)) => source.lines,
        Ok(Reading::Candidates(page)) => {
            let names: Vec<_> = page
                .items
                .iter()
                .map(|it| format!("{}.{}", it.module, it.name))
                .collect();
            return names.join(" or ");
        }
        Err(error) => return format!("{error} ({})", error.hint()),
    };
    let show = |line: &crate::SourceLine| {
        format!(
            "{}{} {}",
            line.number,
            if line.is_header { "^" } else { "" },
            line.text
        )
    };
    lines.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn check_read(target: &str, expect: &str) {
    assert_eq!(
        read(&open(&Files::parse(SHOP)), target, Options::default()),
        expect,
        "for {target}"
    );
}

#[test]
fn a_symbol_is_read_whole_with_the_class_around_it() {
    check_read(
        "Order.total",
        "3^ class Order(Priced):\n5     @property\n6     def total(self):\n7         return self.tax + self.lines",
    );
    check_read("lib.Order", "1 class Order: pass");
    check_read(
        "run",
        &read(&open(&Files::parse(SHOP)), "run.py", Options::default()),
    );
}

#[test]
fn lines_are_read_with_the_headers_around_them() {
    check_read(
        "shop/models.py:9",
        "3^ class Order(Priced):\n8^     def __init__(self):\n9         self.lines = []",
    );
    check_read(
        "/p/run.py:1-2",
        "1 import shop\n2 from shop import PublicOrder, models",
    );
    check_read("models.py:1", "1 '''The models.'''");
    check_read("lib/__init__.py:2-9", "2 def total(): pass");
}

#[test]
fn several_symbols_are_candidates() {
    check_read("Order", "shop.models.Order or lib.Order");
    let index = open(&Files::parse(SHOP));
    let options = Options {
        path: Some("lib"),
        ..Options::default()
    };
    assert_eq!(read(&index, "Order", options), "1 class Order: pass");
}

#[test]
fn a_property_and_its_setter_are_one_symbol() {
    let text = "== /p/a.py\nclass A:\n    @property\n    def x(self): return 1\n    y = 2\n    @x.setter\n    def x(self, v): pass\n";
    let expect = "1^ class A:\n2     @property\n3     def x(self): return 1\n5     @x.setter\n6     def x(self, v): pass";
    assert_eq!(
        read(&open(&Files::parse(text)), "A.x", Options::default()),
        expect
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let outside = "is outside of the indexed folders (read a file of the project or of a package in the traceback, by the path that a search gave)";
    check_read("../../etc/passwd", &format!("`../../etc/passwd` {outside}"));
    check_read("/etc/passwd", &format!("`/etc/passwd` {outside}"));
    check_read(
        "shop/../../etc/passwd:1",
        &format!("`shop/../../etc/passwd` {outside}"),
    );
    check_read(
        "none.py",
        "cannot read `none.py`: there is no such file (search for a symbol or a text in it to learn its path)",
    );
    check_read(
        "run.py:20-30",
        "`run.py` has 8 lines, none of them in 20-30 (ask for lines between 1 and 8)",
    );
}

#[test]
fn pages_follow_each_other() {
    let index = open(&Files::parse(SHOP));
    let (mut cursor, mut lines) = (None::<String>, Vec::new());
    loop {
        let options = Options {
            limit: 2,
            cursor: cursor.as_deref(),
            ..Options::default()
        };
        let page = index.text(&TextPattern::literal("total"), options).unwrap();
        assert_eq!((page.n_matches, page.is_partial), (10, false));
        lines.extend(page.items);
        let Some(next) = page.next_cursor else { break };
        cursor = Some(next);
    }
    let whole = index
        .text(&TextPattern::literal("total"), Options::default())
        .unwrap();
    assert_eq!(lines, whole.items);
    let options = Options {
        cursor: Some("two"),
        ..Options::default()
    };
    assert!(matches!(
        index.symbols("Order", options),
        Err(Error::BadCursor { .. })
    ));
}

#[test]
fn lines_of_a_long_symbol_go_on_with_its_header() {
    let index = open(&Files::parse(SHOP));
    let options = Options {
        limit: 3,
        cursor: Some("+6"),
        ..Options::default()
    };
    let expect = "3^ class Order(Priced):\n9         self.lines = []\n10     def again(self):\n11         return self.total() + super().total()";
    assert_eq!(
        read(
            &index,
            "Order.again",
            Options {
                limit: 3,
                ..Options::default()
            }
        ),
        "3^ class Order(Priced):\n10     def again(self):\n11         return self.total() + super().total()"
    );
    assert_eq!(
        read(&index, "models.Order", options),
        expect.replacen("9 ", "8^     def __init__(self):\n9 ", 1)
    );
}

#[test]
fn a_spent_budget_makes_the_answer_partial() {
    let index = open(&Files::parse(SHOP));
    let budget = Budget {
        max_files: 1,
        ..Budget::unlimited()
    };
    let found = index
        .references(
            "total",
            Options {
                budget,
                ..Options::default()
            },
        )
        .unwrap();
    assert!(found.page.is_partial);
    assert!(found.page.n_files_searched < found.page.n_files);
    let budget = Budget {
        is_over: &|| true,
        ..Budget::unlimited()
    };
    let page = index
        .text(
            &TextPattern::literal("total"),
            Options {
                budget,
                ..Options::default()
            },
        )
        .unwrap();
    assert!(page.is_partial && page.items.is_empty() && page.n_files_searched == 0);
    let page = index.symbols("total", Options::default()).unwrap();
    assert!(!page.is_partial && page.n_files_searched == page.n_files);
}

#[test]
fn a_changed_file_is_read_again_and_a_vanished_one_is_gone() {
    let files = Files::parse("== /p/a.py\ndef f(): pass\n");
    let index = open(&files);
    assert_eq!(symbols(&index, "f"), "a.py:1 f Function Name");
    files.write("/p/a.py", "\ndef f(): pass\n");
    assert_eq!(symbols(&index, "f"), "a.py:2 f Function Name");
    files.remove("/p/a.py");
    assert_eq!(symbols(&index, "f"), "");
    assert!(read(&index, "a.py", Options::default()).starts_with("cannot read `a.py`"));
}

#[test]
fn an_outline_lists_what_a_file_defines() {
    let outline = open(&Files::parse(SHOP))
        .outline("shop/models.py", Options::default())
        .unwrap();
    let names: Vec<_> = outline.page.items.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Order",
            "Order.total",
            "Order.__init__",
            "Order.lines",
            "Order.again",
            "make"
        ]
    );
    assert_eq!(outline.doc.as_deref(), Some("The models."));
}

#[test]
fn the_package_of_a_file_in_a_traceback_joins() {
    let files = Files::parse(
        "== /p/a.py\n== /v/site-packages/lib/__init__.py\n== /v/site-packages/lib/sub/x.py\ndef f(): pass\n== /v/site-packages/six.py\n== /std/json/__init__.py\n== /std/json/tool.py\n== /std/os.py\n",
    );
    let index = open(&files);
    for file in [
        "/v/site-packages/lib/sub/x.py",
        "/v/site-packages/six.py",
        "/std/json/tool.py",
        "/std/os.py",
        "/p/a.py",
    ] {
        index.add_package_of(Path::new(file)).unwrap();
    }
    let paths: Vec<_> = index
        .roots()
        .into_iter()
        .map(|root| format!("{} {}", root.path.display(), root.label))
        .collect();
    assert_eq!(
        paths,
        [
            "/p project",
            "/v/site-packages/lib lib",
            "/v/site-packages/six.py six",
            "/std/json json",
            "/std/os.py os"
        ]
    );
    assert_eq!(symbols(&index, "lib.sub.x.f"), "lib/sub/x.py:1 f Function Whole");
    assert!(matches!(
        index.add_root(Root::package("/none", "")),
        Err(Error::BadRoot { .. })
    ));
}

#[test]
fn what_runs_comes_before_its_tests() {
    let index = open(&Files::parse(
        "== /p/test_a.py\ndef f(): pass\n== /p/pkg/sub/a.py\ndef f(): pass\n",
    ));
    assert_eq!(
        symbols(&index, "f"),
        "pkg/sub/a.py:1 f Function Name\ntest_a.py:1 f Function Name"
    );
}

#[test]
fn a_link_on_the_disk_does_not_lead_out() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "secret\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.py"),
        b"class A: # caf\xe9\r\n    def f(self):\r\n        pass\r\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
    let index = Index::open(vec![Root::project(folder.path(), "p")], 1).unwrap();
    assert_eq!(symbols(&index, "f"), "a.py:2 A.f Method End");
    assert_eq!(
        read(&index, "a.py:3", Options::default()),
        "1^ class A: # caf\u{fffd}\n2^     def f(self):\n3         pass"
    );
    for path in [
        "link/secret.txt",
        "../secret.txt",
        "/etc/passwd",
        outside.path().join("secret.txt").to_str().unwrap(),
    ] {
        let said = read(&index, path, Options::default());
        assert!(
            said.contains("outside of the indexed") || said.contains("no such file"),
            "{path}: {said}"
        );
    }
}

#[test]
fn a_call_is_followed_through_what_its_receiver_is() {
    let check = |text: &str, name: &str, expect: &str| {
        let index = open(&Files::parse(&format!("== /p/a.py\n{text}")));
        let line = u32::try_from(text.lines().count()).unwrap();
        let found = index
            .definition("a.py", line, Some(name), None, Options::default())
            .unwrap();
        let shown: Vec<String> = found
            .candidates
            .iter()
            .map(|it| format!("{:?} {}", it.certainty, it.symbol.name))
            .collect();
        assert_eq!(shown.join(", "), expect, "{name} in {text}");
    };
    let classes = "class A:\n    def go(self): return self\n    @property\n    def b(self): return B()\nclass B:\n    \
                   def go(self): return A()\n    def __enter__(self): return self\nclass C(A):\n    def go(self): pass\n";
    let with = |code: &str| format!("{classes}{code}");
    check(&with("x = B()\nx.go()\n"), "go", "Confirmed B.go");
    check(&with("B().go().go()\n"), "go", "Confirmed B.go");
    check(&with("def f(x: 'A'):\n    x.b.go()\n"), "go", "Confirmed B.go");
    check(&with("with B() as x:\n    x.go()\n"), "go", "ByType B.go");
    check(&with("for x in [B()]:\n    x.go()\n"), "go", "ByType B.go");
    check(
        &with("def f(x):\n    if isinstance(x, B):\n        x.go()\n"),
        "go",
        "ByType B.go",
    );
    check(&with("x = C()\nx.go()\n"), "go", "Confirmed C.go");
    check(&with("D = B\nD().go()\n"), "go", "Confirmed B.go");
    check(
        &with("def f(x: A):\n    x.go()\n"),
        "go",
        "Confirmed A.go, ByType C.go",
    );
    // What nothing says is found by its name, and said to be.
    check(&with("def f(x):\n    x.b()\n"), "b", "ByName A.b");
}

#[test]
fn callers_are_told_from_calls_of_the_same_name() {
    let index = open(&Files::parse(
        "== /p/a.py\nclass A:\n    def go(self): pass\nclass B:\n    def go(self, n): pass\nA().go()\nB().go(1)\n\
         def f(x):\n    x.go()\n    x.go(1)\n    {}.go()\n",
    ));
    let found = index.callers("A.go", Options::default()).unwrap();
    let shown: Vec<String> = found
        .page
        .items
        .iter()
        .map(|it| format!("{:?} {}", it.certainty, it.location.line))
        .collect();
    assert_eq!(shown, ["Confirmed 5", "ByName 8"]);
    assert_eq!(found.n_same_name, 5);
}

#[test]
fn classes_methods_and_modules_are_related() {
    let index = open(&Files::parse(
        "== /p/a.py\nclass A:\n    def go(self): return helper()\n== /p/b.py\nfrom a import A\nclass B(A):\n    \
         def go(self): pass\nclass C(B): pass\n== /p/c.py\nimport a\ndef helper(): pass\n",
    ));
    let shown = |page: crate::Page<crate::RelatedHit>| -> Vec<String> {
        let show =
            |it: &crate::RelatedHit| format!("{:?} {}", it.relation, it.name.as_deref().unwrap_or("-"));
        page.items.iter().map(show).collect()
    };
    let options = Options::default;
    assert_eq!(
        shown(index.hierarchy("B", options()).unwrap()),
        ["Ancestor a.A", "Derived b.C"]
    );
    assert_eq!(
        shown(index.overrides("A.go", options()).unwrap()),
        ["Override b.B.go"]
    );
    assert_eq!(
        shown(index.overrides("B.go", options()).unwrap()),
        ["Overridden a.A.go"]
    );
    assert_eq!(
        shown(index.importers("a", options()).unwrap()),
        ["Importer b", "Importer c"]
    );
    assert_eq!(
        shown(index.callees("A.go", options()).unwrap()),
        ["Callee c.helper"]
    );
}

/// A project on the disk, and an index of it that is kept there.
fn kept(folder: &Path) -> Index {
    let roots = vec![Root::project(folder, "project")];
    Index::open_in(roots, 2, folder.join(".healmcp/index")).unwrap()
}

fn symbols_of(index: &Index, name: &str) -> Vec<String> {
    let page = index.symbols(name, Options::default());
    page.map(|page| page.items.iter().map(|it| it.module.clone()).collect())
        .unwrap_or_default()
}

#[test]
fn what_is_kept_serves_the_next_process_and_changes_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.py", "def go(): pass\n");
    write("b.py", "import a\na.go()\n");
    let built = kept(folder.path()).build(2, &|| false);
    assert_eq!((built.n_parsed, built.is_whole), (2, true));
    let index = kept(folder.path());
    assert_eq!(index.coverage(), (2, 2));
    assert_eq!(symbols_of(&index, "go"), ["a"]);
    assert_eq!(index.callers("go", Options::default()).unwrap().page.n_matches, 1);
    write("c.py", "def go(): pass\n");
    write("a.py", "def went(): pass\n");
    assert_eq!(symbols_of(&index, "go"), ["c"]);
    assert_eq!(symbols_of(&index, "went"), ["a"]);
    assert_eq!(index.build(1, &|| false).n_parsed, 2);
    std::fs::remove_file(folder.path().join("c.py")).unwrap();
    assert!(!symbols_of(&kept(folder.path()), "go").contains(&"c".to_owned()));
}

#[test]
fn a_damaged_or_cut_index_never_gives_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "class A:\n    def go(self): pass\n").unwrap();
    kept(folder.path()).build(1, &|| false);
    for name in ["symbols.idx", "listing.idx"] {
        let path = folder.path().join(".healmcp/index").join(name);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(
                symbols_of(&kept(folder.path()), "A.go"),
                ["a"],
                "{name} damaged at {at}"
            );
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(
                symbols_of(&kept(folder.path()), "A.go"),
                ["a"],
                "{name} cut at {at}"
            );
        }
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn two_writers_and_a_reader_share_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..20 {
        std::fs::write(
            folder.path().join(format!("m{n}.py")),
            format!("def f{n}(): pass\n"),
        )
        .unwrap();
    }
    let reader = kept(folder.path());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(kept(folder.path()).build(1, &|| false).is_whole);
                }
            });
        }
        for n in 0..20 {
            assert_eq!(symbols_of(&reader, &format!("f{n}")), [format!("m{n}")]);
        }
    });
    let names = std::fs::read_dir(folder.path().join(".healmcp/index")).unwrap();
    let left = names
        .flatten()
        .filter(|it| it.file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(left.count(), 0);
}

#[test]
fn odd_files_are_read_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("crlf.py", b"class A:\r\n    def go(self):\r\n        pass\r\n");
    write(
        "latin.py",
        b"# -*- coding: latin-1 -*-\ndef caf\xe9(): pass\ndef plain(): pass\n",
    );
    write(
        "long.py",
        format!("x = '{}'\ndef after(): pass\n", "y".repeat(1_500_000)).as_bytes(),
    );
    write(
        "deep.py",
        format!(
            "x = {}1{}\ndef deep(): pass\n",
            "[".repeat(3_000),
            "]".repeat(3_000)
        )
        .as_bytes(),
    );
    write(
        "noise.py",
        &(0..4_000_u32)
            .map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
            .collect::<Vec<_>>(),
    );
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    let index = kept(folder.path());
    index.build(2, &|| false);
    for (name, module) in [
        ("A.go", "crlf"),
        ("plain", "latin"),
        ("after", "long"),
        ("deep", "deep"),
    ] {
        assert_eq!(symbols_of(&index, name), [module], "{name}");
    }
}

#[test]
fn around_a_crash_stands_what_made_its_values() {
    let index = open(&Files::parse(
        "== /p/a.py\nclass Cart:\n    def __init__(self):\n        self.rate = None\n    def total(self, n):\n        \
         tax = tax_of(n)\n        return scale(tax * self.rate)\n\ndef tax_of(n):\n    return None\n\ndef scale(x):\n    \
         return x\n\ndef unrelated(): pass\n\ndef main():\n    cart = Cart()\n    return cart.total(1)\n",
    ));
    let frame = |line| crate::FrameAt {
        path: "/p/a.py".into(),
        line,
    };
    let found = index.context(&[frame(6), frame(18)], Options::default()).unwrap();
    let shown: Vec<String> = found
        .items
        .iter()
        .map(|it| format!("{}: {}", it.symbol.name, it.why))
        .collect();
    assert_eq!(
        shown,
        [
            "Cart.total: the frame that crashed",
            "scale: called at line 6",
            "tax_of: gave a value of the statement at line 5",
            "Cart.__init__: sets rate",
            "main: a caller",
        ]
    );
}
