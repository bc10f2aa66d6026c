"""Runs heals over live objects that would run their program's code, hang, kill it or leave a trace; says which do.

    python traces.py EXTENSION CASES [ID…]

A case is a line of JSON: `id`, `family`, `code`, `why`; `setup`, a program whose globals the heal meets; `phase`, which
says where it must end: `static`, by the checker; `runtime`, by a rule or a limit of the interpreter; `undone`, where the
heal runs, or raises what CPython raises, and nothing of it may be left once it is taken back; `any`, by one of these;
`rule`, the ids of the rules of which one must stop it; `after`, an expression that must give what it gives where nobody healed; `python`, the
first minor version that has what it needs.

Every case runs in a module's frame and in a function's, with the program compiled plainly and with our handlers in it.
Prints one line a fault and a summary; exit 0 where there is none.
"""
import array
import collections
import ctypes
import encodings
import faulthandler
import importlib
import json
import linecache
import os
import pkgutil
import sys
import threading
import time
import traceback
import types
import warnings
import weakref

import interpret_differential as differential

GUARD = json.dumps({"protected": [{"op": "traced_program.charge"}]})

# The limits of the interpreter end all work within 100 ms of the thread, or 1 s on a clock; to take it back takes more,
# and a busy machine stretches what the clock says.
BUSY = 5
LONGEST_S = 1.0
N_TRIES = 3
HANG_S = 60

# Whoever asks a function or an object for its attributes or its identity changes nothing.
HARMLESS = {"object.__getattr__", "builtins.id", "function.__new__"}

PRELUDE = """
HITS = []
def hit(what, value=None):
    HITS.append(what)
    return value
def charge(amount):
    HITS.append("charged")
"""

# What listed modules import when they are first used; their own names are imported by the heals' `import`.
PRELOADED = """
_strptime base64 binascii bisect calendar collections csv datetime decimal difflib fractions html html.entities itertools json
linecache locale math re reprlib statistics string stringprep textwrap traceback unicodedata urllib.parse warnings
zoneinfo numbers random tokenize _pydatetime _pydecimal ipaddress sqlite3 unittest.mock concurrent.futures contextlib
""".split()


# A heal may try to take the program's own away.
OUT = sys.stdout

# What is nested deeper is not read any further.
DEEPEST = 60


def fingerprint(value, seen):
    """A text of all that hangs on a value, with order, sharing and identity, read past the program's own methods."""
    if value is None or type(value) in (int, float, complex, str, bool, bytes, range):
        if type(value) is str and len(value) > 100:
            return "text %d %d" % (len(value), hash(value))
        return repr(value) if type(value) is not int else hex(value)
    if id(value) in seen:
        return "#%d" % seen[id(value)][0]
    seen[id(value)] = len(seen), value
    kind = type(value)
    if len(seen["around"]) > DEEPEST:
        return "deep"
    seen["around"].append(kind)
    try:
        return fingerprint_of(value, kind, seen)
    finally:
        seen["around"].pop()


def fingerprint_of(value, kind, seen):
    if kind is type(fingerprint):
        is_own = value.__module__ == "traced_program"
        return value.__name__ + (inner([value.__defaults__, value.__dict__], seen) if is_own else "")
    if issubclass(kind, type):
        own = type.__dict__["__dict__"].__get__(value)
        is_own = own.get("__module__") == "traced_program"
        return value.__name__ + (inner([item for name, item in own.items() if name != "__doc__"], seen) if is_own else "")
    if issubclass(kind, types.ModuleType):
        if value.__name__ in sys.modules and value.__name__ != "shop":
            return value.__name__
        return "module" + inner([value.__dict__], seen)
    parts = ["%s@%d" % (kind.__name__, id(value))]
    if issubclass(kind, dict):
        parts += [inner(pair, seen) for pair in dict.items(value)]
    elif issubclass(kind, (list, tuple, set, frozenset, collections.deque)):
        base = next(base for base in (list, tuple, set, frozenset, collections.deque) if issubclass(kind, base))
        parts += [fingerprint(item, seen) for item in base.__iter__(value)]
    elif issubclass(kind, (bytearray, array.array, ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array)):
        parts.append(bytes(memoryview(value)).hex())
    elif issubclass(kind, int):
        parts.append(int.__repr__(value))
    elif issubclass(kind, str):
        parts.append(str.__repr__(value))
    elif issubclass(kind, BaseException):
        parts.append(fingerprint(BaseException.__dict__["args"].__get__(value), seen))
    elif kind.__name__ in ("dict_keyiterator", "dict_itemiterator", "dict_valueiterator", "list_iterator", "set_iterator"):
        # Where it stands, told by what it would give; the lists and pairs are made for the answer.
        left = value.__reduce__()[1][0]
        parts.append(repr([item[0] if type(item) is tuple else item for item in left] if type(left) is list else len(left)))
    elif kind.__name__ == "Connection":
        parts.append(str((value.in_transaction, value.isolation_level, value.total_changes)))
    elif kind.__name__ == "_Environ":
        parts.append(repr(sorted(os.environ.items())))
    elif issubclass(kind, (weakref.ref, *weakref.ProxyTypes)):
        parts.append("weak")
    try:
        own = object.__getattribute__(value, "__dict__")
        parts.append(inner([own], seen))
    except AttributeError:
        pass
    for base in type.__dict__["__mro__"].__get__(kind):
        for name in base.__dict__.get("__slots__", ()) if base.__module__ == "traced_program" else ():
            try:
                parts.append("%s=%s" % (name, fingerprint(object.__getattribute__(value, name), seen)))
            except AttributeError:
                parts.append(name)
    return "(%s)" % " ".join(parts)


def inner(values, seen):
    return "[%s]" % " ".join(fingerprint(value, seen) for value in values)


def state_of(module):
    seen = {"around": []}
    own = {name: value for name, value in module.__dict__.items() if not name.startswith("__") and not name.startswith("_probe")}
    return " ".join([
        inner([item for pair in own.items() for item in pair], seen), repr(sorted(sys.modules)), repr(sorted(os.environ.items())),
        str(threading.active_count()), str(sys.getrecursionlimit()), repr(sys.stdout), os.getcwd(),
    ])


def difference(before, after):
    at = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), min(len(before), len(after)))
    return "%s | %s" % (before[max(0, at - 80):at + 80], after[max(0, at - 80):at + 80])


class Tester:
    def __init__(self, runtime):
        self.runtime, self.events, self.is_inside = runtime, [], False
        self.n_runs, self.faults = 0, []
        sys.addaudithook(self.heard)

    def heard(self, event, arguments):
        if self.is_inside and event not in HARMLESS:
            self.events.append("%s%s" % (event, tuple(str(argument)[:60] for argument in arguments if type(argument) in (str, int))))

    def program(self, source, is_wrapped):
        module = types.ModuleType("traced_program")
        module.__file__ = "/traced_program.py"
        sys.modules["traced_program"] = module
        text = PRELUDE + source
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
        code = self.runtime._probe_compile(text, module.__file__) if is_wrapped else compile(text, module.__file__, "exec")
        if code is None:
            raise ValueError("the setup is not wrapped")
        exec(code, module.__dict__)
        return module

    def heal(self, code, frame, end):
        self.is_inside = True
        try:
            return json.loads(self.runtime._probe_run(code, frame, end, False, GUARD))
        finally:
            self.is_inside = False

    def frame(self, module, code, is_function):
        """A frame that holds the program's names, and what runs in it."""
        shared = module.__dict__
        if not is_function:
            shared.update(_probe_run=self.run_in, _probe_sys=sys)
            return compile("_probe_run(_probe_sys._getframe())", module.__file__, "exec")
        try:
            stored = sorted(differential.names_of(code).stored - differential.names_of(code).globals)
        except (SyntaxError, ValueError):
            stored = []
        names = [name for name in shared if name.isidentifier() and not name.startswith("__")]
        fresh = " = ".join(name for name in stored if name not in names)
        source = "def _probe_frame(%s):\n%s _probe_run(_probe_sys._getframe())\n" % (
            ", ".join(names), " if False: %s = None\n" % fresh if fresh else "")
        # Every local is a cell of no one and a name of the frame; the functions keep the module's globals.
        shared.update(_probe_run=self.run_in, _probe_sys=sys, _probe_names=names)
        return compile(source + "_probe_frame(*[globals()[name] for name in _probe_names])", module.__file__, "exec")

    def run_in(self, frame):
        started, started_cpu = time.perf_counter(), time.thread_time()
        self.answer = self.heal(self.code, frame, self.end)
        self.took = max(time.thread_time() - started_cpu, (time.perf_counter() - started) / BUSY)

    def run(self, case, is_wrapped, is_function):
        self.code, self.end = case["code"], "rollback" if case["phase"] in ("undone", "any") else "commit"
        for turn in range(N_TRIES):
            module = self.program(case.get("setup", ""), is_wrapped)
            code = self.frame(module, self.code, is_function)
            limit = sys.getrecursionlimit()
            before = state_of(module)
            self.n_runs += 1
            exec(code, module.__dict__)
            module.__dict__.pop("_probe_frame", None)
            if self.took < LONGEST_S:
                break
        found, self.events = self.events, []
        after = state_of(module)
        sys.setrecursionlimit(limit)
        if self.took >= LONGEST_S:
            return "took %.1f s: %s" % (self.took, self.answer)
        if found:
            return "reached out: %s; %s" % (found[:3], self.answer)
        if before != after:
            return "left a trace: %s; %s" % (difference(before, after), self.answer)
        if case.get("after"):
            untouched = self.program(case.get("setup", ""), is_wrapped)
            expected, given = (eval(case["after"], space.__dict__) for space in (untouched, module))
            if expected != given:
                return "left %r instead of %r; %s" % (given, expected, self.answer)
        return self.ending(case)

    def ending(self, case):
        answer = self.answer
        rules = [violation["rule"] for violation in answer.get("violations", ())] or [answer.get("rule")]
        phase = "static" if answer["outcome"] == "violations" else "runtime" if rules[0] else "undone"
        if phase == "undone" and answer["outcome"] == "error" and answer["kind"] not in ("raised",):
            return "stopped without a rule: %s" % answer
        if rules[0] == "HC999" or "taking the changes back failed" in answer.get("hint", ""):
            return "the interpreter failed: %s" % answer
        if case["phase"] not in (phase, "any"):
            return "ended otherwise, %s: %s" % (phase, answer)
        if case.get("rule") and not set(case["rule"].split()) & set(rules):
            return "stopped by %s: %s" % (rules, answer)
        return None

    def test(self, case):
        for is_wrapped in (False, True):
            for is_function in (False, True):
                try:
                    fault = self.run(case, is_wrapped, is_function)
                except Exception as error:
                    self.is_inside = False
                    fault = "%s: %s" % (type(error).__name__, error)
                    if os.environ.get("TRACES_TRACEBACK"):
                        traceback.print_exc()
                if fault:
                    how = ("wrapped" if is_wrapped else "plain", "function" if is_function else "module")
                    self.faults.append(case["id"])
                    print("%s (%s, %s): %r\n    %s" % (case["id"], *how, case["code"], fault), file=OUT, flush=True)
                    return


def main():
    runtime = differential.load(sys.argv[1])
    for name in PRELOADED + ["encodings.%s" % module.name for module in pkgutil.iter_modules(encodings.__path__)]:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    warnings.simplefilter("ignore")
    tester = Tester(runtime)
    n_cases = 0
    for line in open(sys.argv[2], encoding="utf-8"):
        case = json.loads(line)
        if sys.argv[3:] and case["id"] not in sys.argv[3:] or sys.version_info[1] < int(case.get("python", "3.11")[2:]):
            continue
        n_cases += 1
        # Whoever takes longer hangs: the traceback says where, and the last line which case it is.
        print("# %s" % case["id"], file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        tester.test(case)
        faulthandler.cancel_dump_traceback_later()
    print("%d heals tried in %d runs, %d got through, Python %s" % (n_cases, tester.n_runs, len(tester.faults), sys.version.split()[0]), file=OUT)
    sys.exit(bool(tester.faults))


if __name__ == "__main__":
    main()
