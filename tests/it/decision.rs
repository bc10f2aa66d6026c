//! The decision to pause: at exceptions that nothing would handle, and at no others.

use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

use crate::heal::next;
use crate::program::{Ended, Program, to_the_end, without_ours};
use crate::python::{Python, has_module, newest, on_each};

/// Runs a program and lets every exception go; returns where it paused, as `function:line`, and how it ended.
fn run(python: &Python, main: &str) -> (Vec<String>, Ended) {
    let mut program = Program::new(python, main);
    program.start();
    let mut places = Vec::new();
    while let Some(crash_id) = program.next_pause() {
        places.push(place(&program, &crash_id));
        program.abort(&crash_id);
    }
    (places, program.finish())
}

fn place(program: &Program, crash_id: &str) -> String {
    let crashes = program.crashes();
    let crash = crashes.iter().find(|crash| crash["crash_id"] == crash_id);
    // `function (file:line)`
    let location = crash.unwrap()["location"].as_str().unwrap();
    let (function, line) = (
        location.split(' ').next().unwrap(),
        location.rsplit(':').next().unwrap(),
    );
    format!("{function}:{}", line.trim_end_matches(')'))
}

/// What plain Python makes of a program.
fn plain(python: &Python, main: &str) -> Ended {
    let program = Program::new(python, main);
    to_the_end(program.command(&python.path, &["main.py"]))
}

/// A program pauses at these places, and as plain Python at none; when all is let go it ends as plain Python does.
#[track_caller]
fn check(main: &str, expect: &[&str]) {
    on_each(|python| check_on(python, main, expect));
}

#[track_caller]
fn check_on(python: &Python, main: &str, expect: &[&str]) {
    let (places, ended) = run(python, main);
    let minor = python.minor;
    assert_eq!(
        places, expect,
        "on Python 3.{minor}, of\n{main}\n{}",
        ended.stderr
    );
    let plain = plain(python, main);
    assert_eq!(
        (ended.code, &ended.stdout, last_word(&ended)),
        (plain.code, &plain.stdout, last_word(&plain)),
        "on Python 3.{minor}, of\n{main}"
    );
}

fn last_word(ended: &Ended) -> String {
    let stderr = without_ours(&ended.stderr);
    stderr.lines().next_back().unwrap_or("").to_owned()
}

#[test]
fn exceptions_that_are_handled_do_not_pause() {
    check(
        "\
import contextlib, functools, queue

def same():
    try:
        int('x')
    except ValueError:
        return 'same'

def bad():
    return {}['k']

def caller():
    try:
        bad()
    except (OSError, LookupError) as error:
        return 'caller', type(error).__name__

def suppressed():
    with contextlib.suppress(KeyError, ZeroDivisionError):
        bad()
    return 'suppressed'

@contextlib.contextmanager
def quiet():
    try:
        yield
    except KeyError:
        pass

def managed():
    with quiet():
        bad()
    return 'managed'

class Swallow:
    def __enter__(self):
        return self
    def __exit__(self, *what):
        return True

def swallowed():
    with Swallow():
        bad()
    return 'swallowed'

def stack():
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyError))
        bad()
    return 'stack'

def finally_returns():
    try:
        bad()
    finally:
        return 'finally returns'

def finally_in_a_loop():
    for _ in range(2):
        try:
            bad()
        finally:
            continue
    return 'finally continues'

def else_clause():
    try:
        pass
    except KeyError:
        return 'no'
    else:
        try:
            bad()
        except Exception:
            return 'else'

def reraised():
    try:
        try:
            bad()
        except KeyError:
            raise
    except KeyError:
        return 'reraised'

def converted():
    try:
        try:
            bad()
        except KeyError as error:
            raise RuntimeError('other') from error
    except RuntimeError as error:
        return 'converted', type(error.__cause__).__name__

class Lazy:
    @property
    def value(self):
        raise AttributeError('none')
    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        return 'fallback'

class Plain:
    @property
    def value(self):
        raise AttributeError('none')

def items():
    yield 1
    raise StopAsyncIteration

def generator():
    it = iter(())
    return next(it, 'default'), hasattr(Plain(), 'value'), getattr(Plain(), 'value', 'default'), Lazy().value

def exhausted():
    def gen():
        yield 1
    it = gen()
    out = []
    while True:
        try:
            out.append(next(it))
        except StopIteration:
            return out

class Sequence:
    def __getitem__(self, index):
        if index > 1:
            raise IndexError(index)
        return index

class Missing(dict):
    def __missing__(self, key):
        raise KeyError(key)

def mapping():
    try:
        return Missing()['k']
    except KeyError:
        return 'missing'

def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        try:
            return function(*args)
        except Exception as error:
            return 'decorated', type(error).__name__
    return wrapper

@decorated
def inner():
    return 1 / 0

def empty():
    try:
        queue.Queue().get_nowait()
    except queue.Empty:
        return 'empty'

def imported():
    try:
        import there_is_no_such_module
    except ImportError:
        return 'imported'

def group():
    try:
        raise ExceptionGroup('g', [ValueError(1), KeyError(2)])
    except* ValueError:
        pass
    except* KeyError:
        pass
    return 'group'

def closed():
    def gen():
        try:
            yield 1
        finally:
            pass
    it = gen()
    next(it)
    it.close()
    try:
        it.throw(KeyError)
    except KeyError:
        return 'closed'

for function in (same, caller, suppressed, managed, swallowed, stack, finally_returns, finally_in_a_loop, else_clause,
                 reraised, converted, generator, exhausted, mapping, inner, empty, imported, group, closed):
    print(function())
print(list(Sequence()))
",
        &[],
    );
}

#[test]
fn handled_exceptions_in_asyncio_do_not_pause() {
    check(
        "\
import asyncio

async def bad():
    await asyncio.sleep(0)
    raise KeyError('k')

async def main():
    try:
        await bad()
    except KeyError:
        print('awaited')
    print(await asyncio.gather(bad(), return_exceptions=True))
    task = asyncio.ensure_future(bad())
    try:
        await task
    except KeyError:
        print('task')
    try:
        await asyncio.wait_for(asyncio.sleep(9), 0.001)
    except TimeoutError:
        print('timeout')
    async def agen():
        yield 1
        raise KeyError
    try:
        async for _ in agen():
            pass
    except KeyError:
        print('agen')

asyncio.run(main())
",
        &[],
    );
}

#[test]
fn pytest_raises_handles() {
    on_each(|python| {
        if !has_module(python, "pytest") {
            eprintln!("skipped on Python 3.{}: it has no pytest", python.minor);
            return;
        }
        let main = "import pytest\nwith pytest.raises(ValueError, match='x'):\n    int('x')\nprint('end')\n";
        check_on(python, main, &[]);
    });
}

#[test]
fn unittest_handles_what_it_asserts_and_pauses_at_what_it_does_not() {
    let main = "import unittest\nclass T(unittest.TestCase):\n    def test_raises(self):\n        \
                with self.assertRaises(ValueError):\n            int('x')\n    def test_bad(self):\n        {}['k']\n\
                unittest.main(argv=['x'], verbosity=0)\n";
    on_each(|python| {
        let (places, ended) = run(python, main);
        assert_eq!(places, ["T.test_bad:7"], "{ended:?}");
        assert_eq!(ended.code, 1);
    });
}

#[test]
fn exceptions_that_nothing_handles_pause_where_they_are_raised() {
    check("def f():\n    return int('x')\nf()\n", &["f:2"]);
    check(
        "def f():\n    try:\n        int('x')\n    except KeyError:\n        pass\nf()\n",
        &["f:3"],
    );
    check(
        "def f():\n    try:\n        int('x')\n    finally:\n        print('cleanup')\nf()\n",
        &["f:3"],
    );
    check(
        "import contextlib\ndef f():\n    with contextlib.suppress(KeyError):\n        int('x')\nf()\n",
        &["f:4"],
    );
    check(
        "class E(Exception): pass\ndef f():\n    raise E('own')\ntry:\n    f()\nexcept (KeyError, ValueError):\n    pass\n",
        &["f:3"],
    );
    check("import json\njson.loads('{')\n", &["<module>:2"]);
    check("assert 1 == 2, 'no'\n", &["<module>:1"]);
}

#[test]
fn an_expression_that_crashes_is_named_itself() {
    check(
        "def rank(items):\n    return sorted(items, key=lambda it: it['n'])\nrank([{}])\n",
        &["rank.<locals>.<lambda>:2"],
    );
    check(
        "def all_of(items):\n    return sum(\n        it['n'] for it in items)\nall_of([{}])\n",
        &["all_of.<locals>.<genexpr>:3"],
    );
}

#[test]
fn what_a_handler_raises_again_pauses_there() {
    check(
        "def f(n):\n    try:\n        int('x')\n    except ValueError:\n        if n:\n            raise\nf(0)\nf(1)\n",
        &["f:6"],
    );
}

#[test]
fn an_exception_in_set_name_becomes_another_one_up_to_3_11() {
    let main = "class F:\n    def __set_name__(self, owner, name):\n        raise ZeroDivisionError(name)\ntry:\n    \
                class Row:\n        a = F()\nexcept ZeroDivisionError:\n    print('handled')\n";
    on_each(|python| {
        let expect: &[&str] = if python.minor < 12 {
            &["F.__set_name__:3"]
        } else {
            &[]
        };
        check_on(python, main, expect);
    });
}

#[test]
fn what_is_logged_and_raised_again_pauses_once() {
    on_each(|python| {
        let main = "def f():\n    try:\n        int('x')\n    except ValueError:\n        print('logged')\n        raise\nf()\n";
        let (places, ended) = run(python, main);
        assert_eq!(places.len(), 1, "{places:?}");
        assert_eq!((ended.code, ended.stdout.as_str()), (1, "logged\n"));
    });
}

#[test]
fn what_is_raised_in_a_handler_pauses() {
    check(
        "def f():\n    try:\n        int('x')\n    except ValueError as error:\n        raise LookupError('other') from error\nf()\n",
        &["f:5"],
    );
}

#[test]
fn what_a_caller_turns_into_another_exception_pauses_where_it_was_raised() {
    let convert = |error: &str, around: &str| {
        format!(
            "class Bad(Exception): pass\ndef low():\n    return int('x')\ndef high(name):\n    try:\n        low()\n    \
             except ValueError as error:\n        raise {error} from error\ntry:\n    high('n')\nexcept {around}:\n    \
             print('handled')\n"
        )
    };
    check(&convert("Bad(f'no {name}')", "KeyError"), &["low:3"]);
    check(&convert("Bad(f'no {name}')", "Bad"), &[]);
    check(&convert("KeyError(name)", "LookupError"), &[]);
    // Its arguments make an OSError one of many types: the program is asked when it is raised.
    check(&convert("OSError(2, name)", "FileNotFoundError"), &[]);
    check(&convert("OSError(2, name)", "FileExistsError"), &["high:8"]);
    // A function that makes the exception may make any: the program is asked when it is raised.
    check(
        "def make(text): return LookupError(text)\ndef low():\n    return int('x')\ntry:\n    low()\nexcept ValueError:\n    \
         raise make('no')\n",
        &["<module>:7"],
    );
}

#[test]
fn a_handler_that_fails_by_a_function_raises_what_the_function_raises() {
    let fail = |around: &str| {
        format!(
            "class Bad(Exception): pass\nclass Parser:\n    def fail(self, why, exc=Bad):\n        raise exc(why)\n    \
             def read(self, items):\n        try:\n            return items[0]\n        except IndexError:\n            \
             self.fail('none')\ntry:\n    Parser().read([])\nexcept {around}:\n    print('handled')\n"
        )
    };
    check(&fail("Bad"), &[]);
    check(&fail("IndexError"), &["Parser.read:7"]);
}

#[test]
fn an_assert_in_a_handler_is_taken_to_hold() {
    check(
        "def f():\n    try:\n        int('x')\n    except Exception as e:\n        assert e.__traceback__ is not None\n        \
         raise e\nf()\n",
        &["f:3"],
    );
    check(
        "def f():\n    try:\n        int('x')\n    except Exception as e:\n        assert e.args, 'none'\nf()\n",
        &[],
    );
}

#[test]
fn iterators_in_c_take_stop_iteration_for_their_end() {
    let main = |call: &str| {
        format!(
            "import itertools, functools\ndef f(x):\n    if x > 1:\n        raise StopIteration\n    return x\n\
             def g():\n    return {call}\nprint(g())\n"
        )
    };
    for call in [
        "list(map(f, range(5)))",
        "[*map(f, range(5))]",
        "list(itertools.takewhile(f, range(1, 5)))",
        "','.join(map(str, map(f, range(5))))",
        "next(map(f, [3]), 'none')",
        "functools.reduce(max, map(f, range(5)))",
    ] {
        check(&main(call), &[]);
    }
    check(&main("next(map(f, [3]))"), &["f:4"]);
}

#[test]
fn what_a_task_group_raises_is_a_group() {
    let main = |clause: &str| {
        format!(
            "import asyncio\nasync def main():\n    try:\n        async with asyncio.TaskGroup():\n            \
             int('x')\n    {clause}:\n        print('handled')\nasyncio.run(main())\n"
        )
    };
    check(&main("except ValueError"), &["main:5"]);
    check(&main("except* ValueError"), &[]);
    check(&main("except ExceptionGroup"), &[]);
}

#[test]
fn tests_that_are_expected_to_fail_do_not_pause() {
    let main = "import pytest\n@pytest.mark.xfail\ndef test_a(): int('x')\n\
                @pytest.mark.xfail(raises=ValueError)\ndef test_b(): int('x')\n\
                @pytest.mark.xfail(raises=KeyError)\ndef test_c(): int('x')\n";
    on_each(|python| {
        if !has_module(python, "pytest") {
            eprintln!("skipped on Python 3.{}: it has no pytest", python.minor);
            return;
        }
        let mut program = Program::of_files(python, &[("test_it.py", main), ("pyproject.toml", "")]);
        let command = program.run(&["-m", "pytest", "-q", "-p", "no:cacheprovider"], 60);
        program.spawn(command);
        let mut places = Vec::new();
        while let Some(crash_id) = program.next_pause() {
            places.push(place(&program, &crash_id));
            program.abort(&crash_id);
        }
        let ended = program.finish();
        assert_eq!(places, ["test_c:7"], "{ended:?}");
        assert!(ended.stdout.contains("1 failed, 2 xfailed"), "{ended:?}");
    });
}

#[test]
fn threads_pause_each() {
    check(
        "import threading\ndef work():\n    {}['k']\nt = threading.Thread(target=work)\nt.start()\nt.join()\nprint('end')\n",
        &["work:3"],
    );
}

#[test]
fn the_main_task_pauses() {
    check(
        "import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    {}['k']\nasync def main():\n    await work()\n\
         asyncio.run(main())\n",
        &["work:4"],
    );
}

#[test]
fn ends_on_purpose_do_not_pause() {
    check(
        "import sys\ntry:\n    sys.exit(3)\nfinally:\n    print('bye')\n",
        &[],
    );
    check("raise SystemExit('why')\n", &[]);
    check("raise KeyboardInterrupt\n", &[]);
    check("import os\nprint('bye', flush=True)\nos._exit(4)\n", &[]);
}

#[test]
fn the_cases_of_pauses() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/pause.jsonl");
    let Ok(text) = std::fs::read_to_string(&cases) else {
        eprintln!("skipped: there are no cases beside the project");
        return;
    };
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let left = Mutex::new(rows.iter());
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(row) = { left.lock().unwrap().next() } {
                    faults.lock().unwrap().extend(faults_of(row));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}

/// What a row has to say against the decision and the resuming.
fn faults_of(row: &Value) -> Vec<String> {
    if row.get("min_version_note").is_some() {
        return Vec::new();
    }
    let id = row["id"].as_str().unwrap();
    let code = row["code"].as_str().unwrap();
    let is_late = row["accept_late"].as_bool() == Some(true);
    let resume = &row["resume"];
    let heals = resume["mode"] == "skip" && !is_late;
    let (places, ended) = if heals {
        match skip(code, resume) {
            Ok(run) => run,
            Err(fault) => return vec![format!("{id}: {fault}")],
        }
    } else {
        run(newest(), code)
    };
    let mut faults = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            faults.push(format!("{id}: {what}; it paused at {places:?}: {ended:?}"));
        }
    };
    expect(
        row["expect_pause"].as_bool() == Some(!places.is_empty()),
        &format!("pauses: {}", row["expect_pause"]),
    );
    let allowed: Vec<&str> = [&row["where"], &row["where_alt"]]
        .into_iter()
        .filter_map(Value::as_str)
        .collect();
    if let Some(first) = places.first().filter(|_| !is_late && !allowed.is_empty()) {
        let is_right = allowed.iter().any(|allowed| is_at(code, first, allowed));
        expect(is_right, &format!("pauses at {allowed:?}"));
    }
    let found = (i64::from(ended.code), ended.stdout.as_str());
    if heals {
        let told = (resume["rc"].as_i64().unwrap(), resume["stdout"].as_str().unwrap());
        expect(found == told, &format!("comes to {told:?}"));
    } else if row["kind"] == "main" {
        let rc = row["plain"]["rc"].as_i64().unwrap();
        expect(found.0 == rc, &format!("exits with {rc}"));
    }
    faults
}

/// Whether a place is the expected `function:text of the line`.
fn is_at(code: &str, place: &str, expected: &str) -> bool {
    let (function, line) = place.rsplit_once(':').unwrap();
    let text = code.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap_or("");
    let (expected_function, expected_text) = expected.split_once(':').unwrap();
    // A module that the program has written is not here to be read.
    own_name(function) == own_name(expected_function)
        && (text.contains(expected_text.trim()) || function == "<module>")
}

fn own_name(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap()
}

/// Skips the statement in the frame that the row names, as often as it says.
fn skip(code: &str, resume: &Value) -> Result<(Vec<String>, Ended), String> {
    let mut program = Program::new(newest(), code);
    program.start();
    let mut n_left = resume["pauses"].as_u64().unwrap();
    let mut places = Vec::new();
    while let Some(crash_id) = program.next_pause() {
        let report = program.healmcp(&["show", &crash_id, "--json"]).json();
        let frames = report["frames"].as_array().unwrap();
        let function = |frame: &Value| frame["location"]["function"].as_str().unwrap().to_owned();
        places.push(place(&program, &crash_id));
        let named = own_name(resume["frame"].as_str().unwrap());
        let index = frames
            .iter()
            .position(|frame| own_name(&function(frame)) == named);
        // A pause without that frame is an earlier one, at what the program would have gone on from.
        let Some(index) = index.filter(|_| n_left > 0) else {
            program.abort(&crash_id);
            continue;
        };
        n_left -= 1;
        let words = next("").frame(index).words();
        let mut all = vec!["check", &crash_id, "--json"];
        all.extend(words.iter().map(String::as_str));
        let check = program.healmcp(&all);
        let answer: Value = serde_json::from_str(&check.stdout).unwrap_or_default();
        let Some(heal_id) = answer["heal_id"].as_str() else {
            return Err(format!("next in frame {index} is not allowed: {check:?}"));
        };
        program.healmcp(&["resume", &crash_id, heal_id, "--json", "--wait", "0"]);
    }
    Ok((places, program.finish()))
}

/// `work` fails under `handled` three times, which handles it, and then under circumstances in which nothing does.
#[track_caller]
fn check_decided_anew(handled: &str, change: &str) {
    let main = format!(
        "\
import contextlib

def work(data, key='k'):
    return data[key]

{handled}
for n in range(3):
    handled()
{change}
"
    );
    check(&main, &["work:4"]);
}

#[test]
fn what_was_decided_before_holds_only_in_the_same_circumstances() {
    let handled = "class Gone(Exception): pass\ndef handled():\n    try:\n        work({})\n    except KeyError:\n        pass\n";
    // Another caller, another type of exception.
    check_decided_anew(handled, "work({})");
    check_decided_anew(handled, "work(None)");
    // The name in the clause means something else: global, shadowed builtin, attribute of a module.
    check_decided_anew(
        "Wanted = KeyError\ndef handled():\n    try:\n        work({})\n    except Wanted:\n        pass\n",
        "Wanted = OSError\nhandled()",
    );
    check_decided_anew(handled, "KeyError = OSError\nhandled()");
    check_decided_anew(
        "import types\nerrors = types.ModuleType('errors')\nerrors.Wanted = KeyError\ndef handled():\n    try:\n        \
         work({})\n    except errors.Wanted:\n        pass\n",
        "errors.Wanted = OSError\nhandled()",
    );
    // What the clause, the manager or the handler's own test says is in the frame alone.
    check_decided_anew(
        "def handled(wanted=KeyError):\n    try:\n        work({})\n    except wanted:\n        pass\n",
        "handled(OSError)",
    );
    check_decided_anew(
        "def handled(wanted=KeyError):\n    with contextlib.suppress(wanted):\n        work({})\n",
        "handled(OSError)",
    );
    check_decided_anew(
        "def handled(strict=False):\n    try:\n        work({})\n    except KeyError:\n        if strict:\n            \
         raise\n",
        "handled(True)",
    );
    check_decided_anew(
        "def middle():\n    return work({})\ndef handled(call=True):\n    if call:\n        try:\n            middle()\n        \
         except KeyError:\n            pass\n    else:\n        middle()\n",
        "handled(False)",
    );
}

#[test]
fn many_handled_exceptions_on_many_paths_are_told_apart() {
    check(
        "\
def leaf(n):
    return [1][n]

def middle(n):
    return leaf(n)

def outer(n, safe):
    if safe:
        try:
            return middle(n)
        except IndexError:
            return -1
    return middle(n)

def paths(n):
    total = 0
    for k in range(200):
        try:
            total += leaf(k)
        except IndexError:
            total += outer(k, True)
        try:
            total += middle(k)
        except (LookupError, ValueError) as error:
            total += len(error.args)
    return total

print(paths(3))
outer(7, False)
",
        &["leaf:2"],
    );
}
