//! Programs that CPython starts in other ways than from a file of their own; `scripts/programs.py` runs many more.

use crate::heal::retry;
use crate::program::{Program, to_the_end};
use crate::python::{newest, on_each};

#[test]
fn a_zip_file_is_healed_as_a_folder_is() {
    on_each(|python| {
        let files = [
            ("app/__main__.py", "import shop\nprint(shop.total({'n': 4}))\n"),
            (
                "app/shop.py",
                "def total(order):\n    price = order['price']\n    return price * order['n']\n",
            ),
        ];
        let mut program = Program::of_files(python, &files);
        let zipped = to_the_end(program.command(&python.path, &["-m", "zipapp", "app"]));
        assert_eq!(zipped.code, 0, "{zipped:?}");
        let command = program.run(&["app.pyz"], 60);
        program.spawn(command);
        let crash_id = program.wait_for_pause();
        let report = program.healmcp(&["show", &crash_id]).stdout;
        assert!(report.contains("price = order['price']"), "{report}");
        program.heal(&crash_id, &retry("order['price'] = 5"));
        assert_eq!(program.finish().told(), "20\n");
    });
}

#[test]
fn an_error_is_json_where_json_was_asked_for() {
    let program = Program::new(newest(), "");
    let told = program.healmcp(&["show", "--json"]);
    assert_eq!(told.json()["error"], "no program is paused", "{told:?}");
    assert!(told.json()["hint"].is_string(), "{told:?}");
    assert_ne!(told.code, 0);
    let told = program.healmcp(&["show"]);
    assert!(
        told.stdout.is_empty() && told.stderr.starts_with("error: "),
        "{told:?}"
    );
}
