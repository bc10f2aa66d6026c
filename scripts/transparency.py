#!/usr/bin/env python3
"""Runs real test suites as plain Python and under healmcp, and compares every test's outcome.

    python scripts/transparency.py                          all packages of the list below
    python scripts/transparency.py jinja2 attrs             only these
    python scripts/transparency.py --json click             one JSON object instead of the table

For each package the sdist is downloaded with pip (its tests are not in the wheel), a virtual environment gets the
package and what its tests need, and pytest runs three times in the unpacked sdist, with the package and the tests
in scope:

    plain     without healmcp
    hooked    `healmcp run --timeout 0 --include PACKAGE -- pytest ...`: hooks that never decide
    deciding  the same with HEALMCP_DECISIONS=FILE: hooks that decide each exception, and note instead of pausing

Compared are the outcome and the failure message of each test (pytest's JUnit report) and pytest's last line. A test
that is not the same in two plain runs is left out and counted as flaky. "pauses" says how often a program would have
paused; "false" counts those in tests that passed, each of which would have been a needless stop.

The `healmcp` on PATH is used, or the one in $HEALMCP. Work goes below --work (default: a folder in the system's
temporary folder), and what is there is used again. Needs nothing but the standard library.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# name, version, {include: import names in scope, needs: requirements of the tests, pytest: its arguments,
# source: install the unpacked sdist instead of the wheel, prepare: files to change before the tests run}
PACKAGES = {
    "jinja2": ("3.1.4", {"needs": ["trio", "pytest<9"]}),
    "attrs": ("24.2.0", {"include": ["attr", "attrs"], "needs": ["hypothesis", "cloudpickle", "pytest<9"]}),
    "marshmallow": ("3.22.0", {"needs": ["pytz", "simplejson", "pytest<9"]}),
    "click": ("8.1.8", {"needs": ["pytest<9"]}),
    "werkzeug": ("3.1.3", {"needs": ["pytest<9", "pytest-timeout", "ephemeral-port-reserve", "cryptography", "watchdog"],
                          "pytest": ["--deselect", "tests/test_serving.py"]}),
    "itsdangerous": ("2.2.0", {"needs": ["pytest<9", "freezegun"]}),
    "pyparsing": ("3.2.3", {"needs": ["pytest<9"], "pytest": ["tests/test_unit.py"]}),
    "tomlkit": ("0.13.2", {"needs": ["pytest<9", "pyyaml"]}),
    "anyio": ("4.9.0", {"needs": ["pytest<9", "trio", "psutil", "hypothesis", "pytest-mock", "exceptiongroup",
                                  "blockbuster", "trustme", "truststore"],
                        "pytest": ["-p", "anyio", "-m", "not network", "tests/streams", "tests/test_taskgroups.py",
                                   "tests/test_synchronization.py", "tests/test_from_thread.py",
                                   "tests/test_to_thread.py"]}),
    "networkx": ("3.4.2", {"needs": ["pytest<9"], "pytest": ["networkx/algorithms/tests", "networkx/classes"],
                           "source": True}),
    "more-itertools": ("10.7.0", {"include": ["more_itertools"], "needs": ["pytest<9"], "pytest": ["tests"]}),
    "boltons": ("25.0.0", {"needs": ["pytest<9"], "pytest": ["tests"]}),
    "sqlalchemy": ("2.0.41", {"needs": ["pytest<9", "greenlet"],
                              "pytest": ["test/sql/test_select.py", "test/sql/test_compiler.py", "test/orm/test_query.py",
                                         "test/orm/test_session.py", "-p", "no:warnings"]}),
    "sympy": ("1.13.3", {"needs": ["pytest<9", "hypothesis"], "pytest": ["sympy/core/tests", "sympy/polys/tests/test_polytools.py"],
                         "source": True}),
    "flask": ("3.1.1", {"needs": ["pytest<9"]}),
    "starlette": ("0.46.2", {"needs": ["pytest<9", "httpx", "trio", "itsdangerous", "jinja2", "python-multipart", "pyyaml", "typing_extensions"]}),
    "lark": ("1.2.2", {"needs": ["pytest<9", "regex"], "pytest": ["tests/test_parser.py", "tests/test_trees.py", "tests/test_grammar.py"]}),
    "pydantic": ("2.11.4", {"needs": ["pytest<9", "pytest-mock", "dirty-equals", "jsonschema", "pytz", "tzdata", "faker", "pytest-examples", "eval_type_backport", "pytest-benchmark", "pytest-run-parallel", "packaging"],
                            "pytest": ["tests/test_main.py", "tests/test_validators.py", "tests/test_generics.py", "tests/test_dataclasses.py", "-p", "no:benchmark"]}),
}

RUNS = ("plain", "hooked", "deciding")


def main():
    arguments = parse_arguments()
    healmcp = os.environ.get("HEALMCP") or shutil.which("healmcp") or sys.exit("healmcp is not on PATH: set HEALMCP")
    results = []
    for name in arguments.packages or PACKAGES:
        say(f"{name} ...")
        try:
            results.append(measure(name, arguments, Path(healmcp).absolute()))
        except subprocess.CalledProcessError as error:
            output = (error.stderr or error.stdout or b"").decode(errors="replace")
            results.append({"package": name, "version": PACKAGES[name][0], "error": output.strip()[-2000:]})
        say(describe(results[-1]))
    if arguments.json:
        print(json.dumps({"python": arguments.python, "packages": results}, indent=1))
    else:
        print(table(results))
    return 1 if any(result.get("error") or result.get("differences") for result in results) else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"one of: {', '.join(PACKAGES)}")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environments (default: this one)")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "healmcp-transparency")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--once", action="store_true", help="do not look for flaky tests by a second plain run")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.packages if name not in PACKAGES]
    if unknown:
        parser.error(f"not in the list: {', '.join(unknown)}")
    arguments.work = arguments.work.absolute()
    return arguments


def measure(name, arguments, healmcp):
    """Returns everything about one package, as a dictionary for the table."""
    version, options = PACKAGES[name]
    tag = hashlib.sha256(f"{arguments.python} {name} {version} {options}".encode()).hexdigest()[:8]
    place = arguments.work / f"{name}-{version}-{tag}"
    tree, environment = prepare(name, version, options, arguments.python, place)
    runs, decisions = {}, place / "decisions"
    order = RUNS if arguments.once else ("again",) + RUNS
    for run in order:
        decisions.unlink(missing_ok=True)
        runs[run] = pytest(run, name, options, tree, environment, healmcp, place, decisions if run == "deciding" else None)
    flaky = set() if arguments.once else set(differing(runs["again"]["tests"], runs["plain"]["tests"]))
    plain = runs["plain"]
    differences = {
        run: [test for test in differing(plain["tests"], runs[run]["tests"]) if test not in flaky] for run in RUNS[1:]
    }
    pauses = [json.loads(line) for line in decisions.read_text().splitlines()] if decisions.exists() else []
    passed = {test for test, outcome in plain["tests"].items() if outcome[0] == "passed"}
    false = [pause for pause in pauses if is_test_of(pause["test"], passed)]
    return {
        "package": name,
        "version": version,
        "tests": len(plain["tests"]),
        "summary": {run: runs[run]["summary"] for run in RUNS},
        "flaky": len(flaky),
        "differences": {
            run: [{"test": test, "plain": plain["tests"].get(test), run: runs[run]["tests"].get(test)} for test in tests]
            for run, tests in differences.items()
            if tests
        },
        "same_summary": not flaky and len({runs[run]["summary"] for run in RUNS}) == 1,
        "pauses": len(pauses),
        "false_pauses": false,
        "seconds": {run: runs[run]["seconds"] for run in RUNS},
    }


def prepare(name, version, options, python, place):
    """Downloads the sdist and makes the environment, unless an earlier run has; returns both folders."""
    tree, environment = place / "sdist", place / "environment"
    if (place / "ready").exists():
        return tree, environment
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run([python, "-m", "venv", environment])
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
    run(pip + ["download", "--no-deps", "--no-binary", name, "--no-build-isolation", "-d", place, f"{name}=={version}"], may_fail=True)
    archives = list(place.glob("*.tar.gz"))
    if not archives:
        run(pip + ["download", "--no-deps", "--no-binary", name, "-d", place, f"{name}=={version}"])
        archives = list(place.glob("*.tar.gz"))
    with tarfile.open(archives[0]) as archive:
        archive.extractall(place / "unpacked", filter="data")
    next((place / "unpacked").iterdir()).rename(tree)
    # The nearest folder with a pyproject.toml is the project: it must not be one further up.
    (tree / "pyproject.toml").touch()
    wanted = ["-e", tree] if options.get("source") else [f"{name}=={version}"]
    run(pip + ["install", *wanted, *options.get("needs", ["pytest"])])
    (place / "ready").touch()
    return tree, environment


def run(command, may_fail=False):
    subprocess.run(command, check=not may_fail, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def pytest(run, name, options, tree, environment, healmcp, place, decisions):
    """Runs the suite once; returns its tests, its last line and its time."""
    report = place / f"{run}.xml"
    report.unlink(missing_ok=True)
    command = [environment / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
               *options.get("pytest", [])]
    if run in RUNS[1:]:
        includes = [word for package in options.get("include", [name]) for word in ("--include", package)]
        command = [healmcp, "run", "--timeout", "0", *includes, "--", *command]
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))}
    variables |= {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    if decisions:
        variables["HEALMCP_DECISIONS"] = str(decisions)
    started = time.monotonic()
    done = subprocess.run(command, cwd=tree, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - started
    (place / f"{run}.txt").write_bytes(done.stdout)
    if not report.exists():
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    summaries = [line for line in lines if re.search(r" in [0-9.]+s", line)]
    summary = re.sub(r" in [0-9.]+s.*", "", summaries[-1]).strip("= ") if summaries else "?"
    return {"tests": read_report(report), "summary": summary, "seconds": round(seconds, 2)}


def read_report(report):
    """Returns {test: [outcome, message]}; a test that reports twice has both."""
    tests = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = re.sub(r"\d\d:\d\d:\d\d(\.\d+)?", "TIME", case.get("name"))
        test = f"{case.get('classname')}::{name}"
        problems = [child for child in case if child.tag in ("failure", "error", "skipped")]
        outcome = " ".join(child.tag for child in problems) or "passed"
        message = "\n".join(neutral((child.get("message") or "") + "\n" + (child.text or "")) for child in problems)
        tests[test] = [outcome, message] if test not in tests else [tests[test][0] + " " + outcome, message]
    return tests


def neutral(text):
    """Returns the text without what differs from run to run."""
    text = re.sub(r"\b0x[0-9a-fA-F]+", "0x", text)
    text = re.sub(r"\b(id|pid|port|seed)([=: ]+)\d+", r"\1\2", text)
    return re.sub(r"/pytest-of-\w+/pytest-\d+/", "/pytest/", text)


def differing(one, other):
    return [test for test in {**one, **other} if one.get(test) != other.get(test)]


def is_test_of(current, tests):
    """Says whether pytest's name of the running test, `tests/test_a.py::T::test_x (call)`, is among those tests."""
    if not current:
        return False
    path, _, rest = current.rpartition(" (")[0].partition("::")
    parents, _, name = rest.partition("::") if "::" in rest.partition("[")[0] else ("", "", rest)
    module = path.removesuffix(".py").replace("/", ".")
    return f"{module}{'.' if parents else ''}{parents}::{name}" in tests


def describe(result):
    if "error" in result:
        return f"  cannot be run: {result['error'].splitlines()[-1] if result['error'] else '?'}"
    different = sum(map(len, result["differences"].values()))
    return f"  {result['summary']['plain']}; {different} differences, {len(result['false_pauses'])} false pauses"


def table(results):
    rows = ["| package | tests | plain pytest says | different | flaky | pauses | false | plain | hooked | deciding |",
            "| --- | --: | --- | --: | --: | --: | --: | --: | --: | --: |"]
    for result in results:
        title = f"{result['package']} {result['version']}"
        if "error" in result:
            rows.append(f"| {title} | | cannot be run | | | | | | | |")
            continue
        different = " + ".join(str(len(result["differences"].get(run, []))) for run in RUNS[1:])
        plain = result["seconds"]["plain"]
        ratios = " | ".join(f"{result['seconds'][run] / plain:.2f} ×" for run in RUNS[1:])
        rows.append(
            f"| {title} | {result['tests']:,} | {result['summary']['plain']} | {different} | {result['flaky']} "
            f"| {result['pauses']} | {len(result['false_pauses'])} | {plain:.1f} s | {ratios} |"
        )
    return "\n".join(rows)


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
