"""Runs heals that try to escape over live objects of a program, each of which must be stopped.

    python escapes.py EXTENSION CASES [PART OF AN ID]

A case is a line of JSON: `setup` is the program, in which `effect(…)` leaves a trace, and `code` the heal. Each runs
where calls of the program are refused, and with our handlers in the program where those that change nothing are followed. It must end within a second in a rule, leave the program's state as it was, and reach nothing outside: the
audit hook of the interpreter tells of that. Those that `ends` calls harmless may also end as in Python or by the real
types of the objects: nothing of the program runs. FIXME: those with a `gap` are not stopped
yet, or were not measured, and do not run here.
Prints one line a fault and a summary; exit 0 where there is none.
"""
import base64
import binascii
import bisect
import collections
import datetime
import decimal
import encodings.idna
import faulthandler
import fractions
import gc
import html
import itertools
import json
import math
import pathlib
import re
import signal
import statistics
import string
import sys
import textwrap
import time
import types
import unicodedata
import urllib.parse

import _strptime
import dis
import purity

HEAD = """
import sys as _sys
EFFECTS = []
def effect(*values, **named):
    EFFECTS.append(1)
    return values[0] if values else None
def host():
    yield _sys._getframe()
"""

# Time of the thread: on a busy machine the clock tells little; but whoever sleeps is seen there.
LONGEST_S = 1.0
WAITING_S = 20

# Whoever takes longer hangs: the process ends and tells where.
HANG_S = 300

# Reading an attribute of a function tells of itself, and so does a followed `def`.
# The modules that a heal may import are loaded, so that it opens no file.
HARMLESS = {"object.__getattr__", "builtins.id", "function.__new__"}


class Audit:
    def __init__(self):
        self.is_inside, self.events = False, []
        sys.addaudithook(self.heard)

    def heard(self, event, arguments):
        if self.is_inside and event not in HARMLESS:
            self.events.append((event, repr(arguments)[:100]))


def program_of(setup, compiled):
    module = types.ModuleType("purity_program")
    module.__file__ = "purity_program.py"
    sys.modules["purity_program"] = module
    exec(compiled(HEAD + setup, module.__file__), module.__dict__)
    return module


def state_of(module):
    """All that hangs on the program, as far down as recursion goes: deep values are known by their identity."""
    try:
        return purity.state(module)
    except RecursionError:
        return repr([(name, id(value)) for name, value in module.__dict__.items()] + module.EFFECTS)


def run(runtime, audit, case, compiled, guard):
    """Returns what is wrong with the run of a case; nothing where it was stopped."""
    module = program_of(case.get("setup", ""), compiled)
    undo = module.__dict__.pop("UNDO", None)
    frame = next(keep := module.host())
    before = state_of(module)
    audit.events.clear()
    gc.disable()
    started, started_wall, audit.is_inside = time.thread_time(), time.perf_counter(), True
    try:
        answer = json.loads(runtime._probe_run(case["code"], frame, "rollback", False, guard))
    finally:
        audit.is_inside = False
        took, waited = time.thread_time() - started, time.perf_counter() - started_wall
        gc.enable()
    after = state_of(module)
    faults = []
    if answer["outcome"] == "violations":
        rules = [violation["rule"] for violation in answer["violations"]]
    else:
        # What cannot be taken back is refused in words, without a rule.
        rules = [answer.get("rule")] if answer.get("kind") in ("refused", "limit") else []
        rules += ["unsupported"] if answer.get("kind") == "unsupported" else []
    is_stopped = bool(rules) and all(rules) and "HC999" not in rules
    if not is_stopped and case.get("ends") != "harmless":
        faults.append(f"was not stopped by a rule: {json.dumps(answer, ensure_ascii=False)[:300]}")
    if before != after:
        faults.append(f"changed the state: {purity.difference(before, after)}")
    if audit.events:
        faults.append(f"reached outside: {audit.events[:3]}")
    if took > LONGEST_S or waited > WAITING_S:
        faults.append(f"took {took:.1f} s of its thread, {waited:.1f} s on the clock")
    if undo:
        undo()
    return faults


def main():
    runtime = purity.load(sys.argv[1])
    cases = [json.loads(line) for line in pathlib.Path(sys.argv[2]).read_text().splitlines()]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    cases = [case for case in cases if only in case["id"]]
    n_gaps = sum("gap" in case for case in cases)
    cases = [case for case in cases if "gap" not in case]
    audit = Audit()
    plain, wrapped = lambda text, name: compile(text, name, "exec"), runtime._probe_compile
    n_failed = n_runs = 0
    for case in cases:
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        faults = []
        ways = [("plain", plain, "refused", None), ("wrapped", wrapped, "followed", json.dumps({"protected": []}))]
        for how, compiled, calls, guard in ways:
            n_runs += 1
            found = run(runtime, audit, case, compiled, guard)
            faults += [f"{how}, calls {calls}: {fault}" for fault in found]
        faulthandler.cancel_dump_traceback_later()
        n_failed += bool(faults)
        for fault in faults:
            print(f"{case['id']}: {fault}")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"{len(cases)} escapes, {n_runs} runs, {n_failed} not stopped, {n_gaps} known gaps, Python {version}")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
