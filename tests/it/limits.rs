//! What a project says in `[tool.healmcp]` of pausing: how often the same crash, and which functions count.

use crate::heal::{Heal, next, retry};
use crate::program::Program;
use crate::python::{newest, on_each};

/// Heals every pause in the same way; returns how many there were, what was told, and stderr.
fn healed_always(program: &mut Program, heal: &Heal<'_>) -> (usize, String, String) {
    program.start();
    let mut n_pauses = 0;
    while let Some(crash_id) = program.next_pause() {
        n_pauses += 1;
        program.heal(&crash_id, heal);
    }
    let ended = program.finish();
    (n_pauses, ended.told(), ended.stderr)
}

const SPIN: &str =
    "def spin(step):\n    i = 0\n    while i < 3:\n        i = i + step\n    return i\nprint(spin(None))\n";
const SPIN_TOLD: &str = "exit 1: TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'\n";

#[test]
fn the_same_crash_with_nothing_changed_goes_on_after_three_times() {
    on_each(|python| {
        for heal in [next(""), retry("")] {
            let mut program = Program::new(python, SPIN);
            let (n_pauses, told, stderr) = healed_always(&mut program, &heal);
            assert_eq!((n_pauses, told.as_str()), (3, SPIN_TOLD), "{stderr}");
            assert!(stderr.contains("in spin ("), "{stderr}");
            assert!(
                stderr.contains("came 3 times in a row with nothing changed, so the exception goes on"),
                "{stderr}"
            );
            let events = program.journal();
            let repeated = events.iter().find(|event| event["event"] == "repeated");
            assert_eq!(repeated.expect("it is in the journal")["times"], 3);
        }
    });
}

#[test]
fn the_project_says_how_often() {
    let limited = |limit: &str| {
        let pyproject = format!("[tool.healmcp]\nrepeat-limit = {limit}\n");
        let mut program = Program::of_files(newest(), &[("main.py", SPIN), ("pyproject.toml", &pyproject)]);
        healed_always(&mut program, &retry("")).0
    };
    assert_eq!(limited("1"), 1);
    let pyproject = "[tool.healmcp]\nrepeat-limit = 0\n";
    let mut program = Program::of_files(newest(), &[("main.py", SPIN), ("pyproject.toml", pyproject)]);
    program.start();
    for _ in 0..6 {
        let crash_id = program.wait_for_pause();
        program.heal(&crash_id, &retry(""));
    }
}

#[test]
fn crashes_that_make_progress_are_not_the_same() {
    on_each(|python| {
        let loops = [
            "for row in [{}] * 3 + [{'n': 1}] + [{}] * 6:\n    print(row['n'])\n",
            "def one(row):\n    print(row['n'])\nfor i in range(9):\n    one({})\n",
            "import re\ndef one(match):\n    {}['k']\n    return ''\nre.sub('', lambda m: one(m), 'a' * 8)\n",
        ];
        for main in loops {
            let mut program = Program::new(python, main);
            let (n_pauses, told, stderr) = healed_always(&mut program, &next(""));
            assert!(
                n_pauses > 6 && !told.contains("exit"),
                "{n_pauses} {told} {stderr}"
            );
        }
    });
}

const WORKER: &str = "import main2\nclass Worker:\n    def run(self, job):\n        try:\n            job()\n        \
                      except Exception as e:\n            print('logged', e)\nWorker().run(main2.job)\n";

#[test]
fn functions_that_catch_count_as_the_project_says() {
    on_each(|python| {
        let n_pauses = |main: &str, pyproject: &str| {
            let files = [
                ("main.py", main),
                ("main2.py", "def job():\n    int('x')\n"),
                ("pyproject.toml", pyproject),
            ];
            healed_always(&mut Program::of_files(python, &files), &next("")).0
        };
        assert_eq!(n_pauses(WORKER, ""), 0);
        assert_eq!(
            n_pauses(WORKER, "[tool.healmcp]\nunhandled-in = ['__main__:Worker.run']\n"),
            1
        );
        assert_eq!(
            n_pauses(WORKER, "[tool.healmcp]\nunhandled-in = ['*:Work*.run']\n"),
            1
        );
        assert_eq!(
            n_pauses(WORKER, "[tool.healmcp]\nunhandled-in = ['other:Worker.run']\n"),
            0
        );
        let thread = "import main2, threading\nt = threading.Thread(target=main2.job)\nt.start()\nt.join()\n";
        assert_eq!(n_pauses(thread, ""), 1);
        assert_eq!(
            n_pauses(
                thread,
                "[tool.healmcp]\nhandled-in = ['threading:Thread._bootstrap*']\n"
            ),
            0
        );
    });
}
