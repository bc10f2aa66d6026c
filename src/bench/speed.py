"""Times heals in this interpreter, beside CPython's own `exec`: the part of `healmcp bench heal-speed` that is Python.

    python speed.py EXTENSION N_ROUNDS < CASES > ANSWERS

A case is a line of JSON with `id` and `code`. Each is run on one state, made anew before every run: the first on which
CPython runs it to its end, or else the first on which it raises. CPython and the interpreter take turns, and the fastest
of all rounds counts, as everything else that the machine does only makes a round slower. The answer is a line with
`id`, `ending`, and nanoseconds for each part.
"""
import gc
import json
import os
import sys
import time

import interpret_differential as differential

N_STATES = 40
NAMES = ("check_ns", "run_ns", "tell_ns", "commit_ns")


def by_exec(code, names):
    """What runs a compiled heal in a namespace; one that says itself where to go on stands in a function."""
    source, is_function = differential.in_loop(code)
    if is_function:
        source = source.replace("def _frame():", "def _frame(%s):" % ", ".join(sorted(names)), 1)
    return source, is_function


def exec_ns(code, is_function, made):
    if is_function:
        outside = {}
        exec(code, outside)
        frame = outside["_frame"]
        started = time.perf_counter_ns()
        try:
            frame(**made)
        except Exception:
            pass
        return time.perf_counter_ns() - started
    made["__builtins__"] = __builtins__
    started = time.perf_counter_ns()
    try:
        exec(code, made)
    except Exception:
        pass
    return time.perf_counter_ns() - started


def compile_ns(source):
    started = time.perf_counter_ns()
    compile(source, "<heal>", "exec")
    return time.perf_counter_ns() - started


def ending(source, is_function, made):
    outside = {} if is_function else made
    try:
        exec(compile(source, "<heal>", "exec"), outside)
        if is_function:
            outside["_frame"](**made)
    except Exception:
        return "raised"
    return "ran"


def chosen_state(runtime, code):
    """A state on which the interpreter ends as CPython does, at its end if there is one."""
    found = None
    for make in differential.states_for(code, N_STATES):
        source, is_function = by_exec(code, make())
        expected = ending(source, is_function, make())
        told = runtime._probe_time(code, differential.frame_of(make()))[0]
        if told == expected == "ran":
            return make, told
        if told == expected and found is None:
            found = make, told
    return found


def measure(runtime, code, n_rounds):
    chosen = chosen_state(runtime, code)
    if chosen is None:
        return {"ending": "different"}
    make, told = chosen
    source, is_function = by_exec(code, make())
    compiled = compile(source, "<heal>", "exec")
    times = {}

    def note(name, taken):
        times[name] = min(taken, times.get(name, taken))

    gc.disable()
    try:
        for _ in range(n_rounds):
            note("compile_ns", compile_ns(source))
            note("exec_ns", exec_ns(compiled, is_function, make()))
            for name, taken in zip(NAMES, runtime._probe_time(code, differential.frame_of(make()))[1:]):
                note(name, taken)
    finally:
        gc.enable()
    return {"ending": told, **times}


def main():
    answers = os.fdopen(os.dup(1), "w")
    # What heals print is no answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    runtime = differential.load(sys.argv[1])
    for line in sys.stdin:
        case = json.loads(line)
        answers.write(json.dumps({"id": case["id"], **measure(runtime, case["code"], int(sys.argv[2]))}) + "\n")
        answers.flush()


main()
