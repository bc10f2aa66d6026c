//! Without a heal a program is what it is under plain Python: output, traceback, exit code, files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::program::{Ended, HANG, HEALMCP, Program, to_the_end, without_ours};
use crate::python::{Python, on_each};

const CRASHES: &str = "\
import sys

def f(x):
    try:
        return 10 / x
    finally:
        print('cleanup')

print('start', sys.argv, __name__, __file__.rsplit('/', 1)[1])
f(5)
f(0)
";

#[track_caller]
fn same(python: &Python, under: &Ended, plain: &Ended) {
    let under = Ended {
        stderr: without_ours(&under.stderr),
        ..under.clone()
    };
    assert_eq!(&under, plain, "on Python 3.{}", python.minor);
}

/// Runs a program by these words under healmcp, where nobody heals it, and without; both must be the same.
#[track_caller]
fn check(files: &[(&str, &str)], words: &[&str], timeout_s: u64) {
    on_each(|python| {
        let program = Program::of_files(python, files);
        let under = to_the_end(program.run(words, timeout_s));
        let plain = to_the_end(program.command(&python.path, words));
        same(python, &under, &plain);
        let pauses = under.stderr.contains("healmcp: paused at ");
        assert_eq!(
            pauses,
            timeout_s > 0 && plain.stderr.contains("Traceback"),
            "{under:?}"
        );
    });
}

#[test]
fn nobody_heals_in_time() {
    check(&[("main.py", CRASHES)], &["main.py", "a", "b"], 1);
}

#[test]
fn a_timeout_of_zero_never_pauses() {
    check(&[("main.py", CRASHES)], &["main.py"], 0);
}

#[test]
fn ci_and_the_switch_never_pause() {
    on_each(|python| {
        let program = Program::new(python, CRASHES);
        let plain = to_the_end(program.command(&python.path, &["main.py"]));
        for (name, value) in [("HEALMCP", "0"), ("CI", "true")] {
            let mut command = program.command(HEALMCP, &["run", "--"]);
            command.arg(&python.path).arg("main.py").env(name, value);
            assert_eq!(to_the_end(command), plain, "{name}={value}");
        }
        assert_eq!(program.files(), ["main.py"]);
    });
}

#[test]
fn tracebacks_are_the_same_to_the_letter() {
    let shapes = "\
import sys, traceback

class Own(Exception):
    pass

def chain():
    try:
        {}['k']
    except KeyError as error:
        raise Own('chained') from error

def context():
    try:
        {}['k']
    except KeyError:
        int('x')

def again():
    try:
        int('x')
    except ValueError:
        raise

def group():
    raise ExceptionGroup('g', [ValueError(1), Own(2)])

def recurse(n):
    return recurse(n - 1) if n else 1 / 0

def gen():
    yield 1
    raise Own('in a generator')

def lines():
    return (
        1 +
        {}[
            'k'
        ]
    )

def noted():
    error = ValueError('noted')
    error.add_note('a note')
    raise error

class C:
    def method(self): return self.nothing

names = ['chain', 'context', 'again', 'group', 'noted', 'lines']
calls = [chain, context, again, group, noted, lines, lambda: recurse(8), lambda: list(gen()), lambda: C().method(),
         lambda: [1 / n for n in (1, 0)], lambda: sorted([1, 'a']), lambda: exec('1 / 0'), lambda: __import__('json').loads('{')]
calls[int(sys.argv[1])]()
";
    on_each(|python| {
        let program = Program::new(python, shapes);
        for number in 0..13 {
            let words = ["main.py", &number.to_string()];
            let plain = to_the_end(program.command(&python.path, &words));
            assert_eq!(plain.code, 1, "{plain:?}");
            same(python, &to_the_end(program.run(&words, 0)), &plain);
        }
        // Let go by a person after a pause.
        for number in [1, 3, 5, 7] {
            let words = ["main.py", &number.to_string()];
            let plain = to_the_end(program.command(&python.path, &words));
            let mut paused = Program::new(python, shapes);
            let command = paused.run(&words, HANG.as_secs());
            paused.spawn(command);
            while let Some(crash_id) = paused.next_pause() {
                paused.abort(&crash_id);
            }
            let mut under = paused.finish();
            under.stderr = under.stderr.replace(
                &paused.path("").display().to_string(),
                &program.path("").display().to_string(),
            );
            same(python, &under, &plain);
        }
    });
}

#[test]
fn every_way_to_start_is_the_same() {
    let files = [
        ("main.py", CRASHES),
        ("pkg/__init__.py", "from . import first\n"),
        ("pkg/first.py", "VALUE = 0\n"),
        (
            "pkg/__main__.py",
            "from .second import run\nprint(__name__, __package__)\nrun()\n",
        ),
        (
            "pkg/second.py",
            "from .first import VALUE\ndef run():\n    return 1 / VALUE\n",
        ),
        (
            "tools/deep/script.py",
            "import sys\nprint(sys.path[0].rsplit('/', 2)[1:])\nraise LookupError(__file__)\n",
        ),
    ];
    check(&files, &["-m", "pkg"], 1);
    check(&files, &["-m", "pkg.second"], 0);
    check(&files, &["tools/deep/script.py"], 1);
    check(&files, &["-c", "import pkg.second\nx = 1\npkg.second.run()\n"], 1);
    check(&files, &["-c", "print(1)\n1 / 0"], 0);
    check(&files, &["-X", "dev", "-W", "error", "main.py"], 1);
    check(&files, &["-O", "-B", "main.py"], 0);
    check(&files, &["pkg"], 0);
}

#[test]
fn a_console_script_is_the_same() {
    on_each(|python| {
        let script = format!(
            "#!{}\nimport sys\nfrom shop.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
            python.path.display()
        );
        let program = Program::of_files(
            python,
            &[
                ("bin/shop", &script),
                ("shop/__init__.py", ""),
                (
                    "shop/cli.py",
                    "def main():\n    print('main')\n    return {}['code']\n",
                ),
            ],
        );
        fs::set_permissions(program.path("bin/shop"), fs::Permissions::from_mode(0o755)).unwrap();
        let with_path = |mut command: Command| {
            command.env("PYTHONPATH", program.path(""));
            to_the_end(command)
        };
        let plain = with_path(program.command(program.path("bin/shop"), &[]));
        let under = with_path(program.command(HEALMCP, &["run", "--timeout", "1", "--", "bin/shop"]));
        assert!(under.stderr.contains("healmcp: paused at KeyError"), "{under:?}");
        // A path that was given is the path that is shown.
        let relative = with_path(program.command("bin/shop", &[]));
        assert_eq!((plain.code, &plain.stdout), (relative.code, &relative.stdout));
        same(python, &under, &relative);
    });
}

#[test]
fn exit_codes_are_the_same() {
    for main in [
        "raise SystemExit",
        "raise SystemExit(3)",
        "raise SystemExit('in words')",
        "import sys; sys.exit([1])",
        "raise KeyboardInterrupt",
        "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os; os._exit(5)",
    ] {
        check_code(main);
    }
}

#[track_caller]
fn check_code(main: &str) {
    on_each(|python| {
        let program = Program::new(python, main);
        let under = to_the_end(program.run(&["main.py"], HANG.as_secs()));
        let plain = to_the_end(program.command(&python.path, &["main.py"]));
        same(python, &under, &plain);
    });
}

#[test]
fn an_interrupt_during_a_pause_lets_the_exception_go_on() {
    on_each(|python| {
        let mut program = Program::new(python, CRASHES);
        let plain = to_the_end(program.command(&python.path, &["main.py"]));
        program.start();
        program.wait_for_pause();
        program.signal(Signal::SIGINT);
        let under = program.finish();
        assert!(
            under.stderr.contains(": interrupted, so the exception goes on"),
            "{under:?}"
        );
        same(python, &under, &plain);
    });
}

#[test]
fn a_termination_during_a_pause_ends_the_program() {
    on_each(|python| {
        let mut program = Program::new(python, CRASHES);
        program.start();
        program.wait_for_pause();
        program.signal(Signal::SIGTERM);
        assert_eq!(program.finish().code, -15);
    });
}

#[test]
fn the_program_s_own_signal_handler_runs_during_a_pause() {
    on_each(|python| {
        let main = "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('signal', flush=True))\n{}['k']\nprint('end')\n";
        let mut program = Program::new(python, main);
        program.start();
        let crash_id = program.wait_for_pause();
        program.signal(Signal::SIGUSR1);
        program.heal(&crash_id, &crate::heal::next(""));
        assert_eq!(program.finish().told(), "signal\nend\n");
    });
}

#[test]
fn standard_input_is_the_program_s() {
    on_each(|python| {
        let program = Program::new(
            python,
            "import sys\nprint(sys.stdin.read().upper(), sys.stdin.isatty())\n",
        );
        fs::write(program.place("input"), "given").unwrap();
        let mut command = program.run(&["main.py"], 5);
        command.stdin(Stdio::from(fs::File::open(program.place("input")).unwrap()));
        assert_eq!(to_the_end(command).told(), "GIVEN False\n");
    });
}

#[test]
fn a_run_without_a_pause_leaves_nothing_behind() {
    on_each(|python| {
        let files = [
            ("main.py", "import shop.cart\nprint(shop.cart.total([1, 2]))\n"),
            ("shop/__init__.py", ""),
            (
                "shop/cart.py",
                "def total(rows):\n    try:\n        return sum(rows) + rows['x']\n    except TypeError:\n        return 3\n",
            ),
        ];
        let under = Program::of_files(python, &files);
        let plain = Program::of_files(python, &files);
        assert_eq!(to_the_end(under.run(&["main.py"], HANG.as_secs())).told(), "3\n");
        assert_eq!(
            to_the_end(plain.command(&python.path, &["main.py"])).told(),
            "3\n"
        );
        let (left, would) = (under.files(), plain.files());
        assert!(
            left.iter().all(|file| would.contains(file)),
            "{left:?}, plain {would:?}"
        );
        assert!(!under.sockets().exists() || fs::read_dir(under.sockets()).unwrap().count() == 0);
        assert!(!under.place("state").exists());
        // What is compiled with hooks is kept where plain Python does not find it.
        let after = to_the_end(under.command(&python.path, &["main.py"]));
        assert_eq!(after.told(), "3\n");
    });
}

#[test]
fn a_second_run_from_the_cache_pauses_at_the_same_place() {
    on_each(|python| {
        let mut program = Program::of_files(
            python,
            &[
                ("main.py", "import part\npart.f()\n"),
                ("part.py", "def f():\n    return {}['k']\n"),
            ],
        );
        for _ in 0..2 {
            program.start();
            let crash_id = program.wait_for_pause();
            assert_eq!(program.evaluate(&crash_id, 0, "1 + 1"), "2");
            program.abort(&crash_id);
            assert_eq!(program.finish().told(), "exit 1: KeyError: 'k'\n");
        }
        // A source that changed is compiled anew.
        program.write("part.py", "def f():\n    print('changed')\n");
        program.start();
        assert_eq!(program.next_pause(), None);
        assert_eq!(program.finish().told(), "changed\n");
    });
}

#[test]
fn programs_that_look_at_themselves_see_what_they_would() {
    let main = "\
from __future__ import annotations
'no docstring'
import dis, inspect, sys, warnings

def f(a: int, *, b=2) -> str:
    'doc'
    x = a
    return str(x)

class C:
    'of a class'
    y: int = 1

print(inspect.getsource(f))
print(f.__doc__, C.__doc__, f.__annotations__, C.__annotations__, __annotations__ if '__annotations__' in globals() else None)
print(inspect.signature(f), f.__code__.co_firstlineno, f.__code__.co_varnames, f.__code__.co_argcount)
print(f.__code__.co_filename.rsplit('/', 1)[1], f.__qualname__, f.__module__, sorted(globals()))
print(sys._getframe().f_lineno, sys.path, len(sys.meta_path), len(sys.path_hooks))
print([line for _, _, line in f.__code__.co_lines() if line and line < 1000][-1])
warnings.warn('told')
def deep(n):
    return deep(n + 1)
try:
    deep(0)
except RecursionError as error:
    print(type(error).__name__)
";
    check(&[("main.py", main)], &["main.py"], 5);
}

#[test]
fn tracers_and_profilers_see_what_they_would() {
    let main = "\
import sys
seen = []
def trace(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
    return trace
def f(d):
    for key in ('a', 'b'):
        try:
            d[key]
        except KeyError:
            pass
    with open(__file__) as file:
        text = file.readline()
    return text
sys.settrace(trace)
sys.setprofile(trace)
f({'a': 1})
sys.settrace(None)
sys.setprofile(None)
for event in seen:
    print(event)
";
    check(&[("main.py", main)], &["main.py"], 5);
}
