"""The program over which the interpreter targets run heals: objects of all kinds, and what must hold after each run.

A run must leave every object as it was, reach nothing outside the process, and end in time. The audit hook of the
interpreter tells of everything that it opens, imports, compiles, executes or starts.
"""
import encodings
import importlib
import json
import pathlib
import pkgutil
import re
import sys
import time
import types
import warnings

GUARD = json.dumps({"protected": [{"op": "purity_program.charge"}], "pure": []})

# Reading an attribute of a function or a class tells of itself and changes nothing, and so does a followed `def`.
HARMLESS = {"object.__getattr__", "builtins.id", "function.__new__"}

RETURN = re.compile(r"\breturn\b(?=[ \t(\[{'\"]*[^\s;#])")

# Reading the whole state takes longer than a heal: it is compared after so many runs.
N_BETWEEN = 20

# Thread time; no limit of the interpreter lets a heal work for so long.
LONGEST_S = 1.0

PRELOADED = """
_strptime base64 binascii bisect calendar collections datetime decimal difflib fractions html html.entities itertools
json linecache locale math re reprlib statistics string stringprep textwrap traceback unicodedata urllib.parse
warnings zoneinfo numbers random tokenize _pydatetime _pydecimal ipaddress
""".split()


def start(runtime, here):
    tests = pathlib.Path(here).parent / "tests" / "python"
    sys.path.insert(0, str(tests))
    import interpret_differential as differential
    import purity

    for name in PRELOADED:
        importlib.import_module(name)
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            importlib.import_module(f"encodings.{module.name}")
        except ImportError:
            pass
    warnings.simplefilter("ignore")
    program = types.ModuleType("purity_program")
    program.__file__ = str(tests / "purity_program.py")
    sys.modules["purity_program"] = program
    program.__dict__.update(differential.refusal_state())
    program.__dict__.update(json=json, error=ValueError("kept"))
    exec(compile(pathlib.Path(program.__file__).read_text(), program.__file__, "exec"), program.__dict__)
    program.__dict__.pop("handle").close()
    keep = program.host()
    frame = next(keep)
    events, recent = [], []
    is_inside = False

    def heard(event, arguments):
        if is_inside and event not in HARMLESS:
            events.append((event, repr(arguments)[:200]))

    sys.addaudithook(heard)
    before = purity.state(program)
    if before != purity.state(program):
        raise AssertionError("the state is not stable")

    def run(code):
        nonlocal is_inside
        # The probe shows what a heal returns by the program's own `__repr__`.
        code = RETURN.sub("returned =", code)
        started = time.thread_time()
        is_inside = True
        try:
            answer = runtime._probe_run(code, frame, "rollback", False, GUARD)
        finally:
            is_inside = False
        took = time.thread_time() - started
        if events:
            found, events[:] = list(events), []
            return f"escaped: {found}"
        if took > LONGEST_S:
            return f"took {took:.1f} s"
        answer = json.loads(answer)
        if answer["outcome"] == "violations":
            return None
        if answer["outcome"] == "error":
            if not answer["message"] or answer.get("rule") == "HC999":
                return f"ended without a reason: {answer}"
            if "taking the changes back failed" in answer["hint"]:
                return f"not taken back: {answer}"
        if sys.exc_info()[1] is not None:
            return f"left an exception: {sys.exc_info()[1]!r}"
        recent.append(code)
        if len(recent) < N_BETWEEN:
            return None
        after = purity.state(program)
        if after != before:
            return f"one of {recent} changed the state: {purity.difference(before, after)}"
        recent.clear()
        return None

    run.__globals__["keep"] = keep
    return run
