"""Runs heals in this interpreter and says of each how it went: the part of `healmcp bench healcore` that is Python.

    python healcore.py EXTENSION < CASES > ANSWERS

A case is a line of JSON with `id`, `code` and `kind`. A heal of the kind `accept` must leave the state that CPython's
`exec` leaves, or raise what it raises, on every state that is made from the names it reads. One of the kind `reject`
must be stopped by a rule or a limit on some of those states, and let go of what it did. The answer is a line with `id`,
`n_runs` and `faults`, which is empty where all is well.
"""
import ast
import faulthandler
import json
import os
import sys
import textwrap
import time

import interpret_differential as differential

N_STATES = 40

# Whoever takes longer over one case hangs: the process ends, and whoever started it goes on with the next case.
HANG_S = 60

# No limit lets a heal run for so long.
LONGEST_S = 5


class Tester(differential.Tester):
    """Keeps what is different, instead of printing it."""

    def __init__(self, runtime):
        super().__init__(runtime)
        self.faults = []

    def fail(self, what, code, detail):
        self.faults.append("%s: %s" % (what, str(detail)[:300]))


class Ends(ast.NodeTransformer):
    """Makes `return`, `break` and `continue` of a heal tell of themselves and of the state that they leave."""

    def told(self, node, word, value):
        source = "return (%r, None, dict(locals()))" % word
        made = ast.parse(source).body[0]
        if value is not None:
            made.value.elts[1] = value
        return ast.copy_location(made, node)

    def visit_Return(self, node):
        return self.told(node, "return", node.value)

    def visit_Break(self, node):
        return self.told(node, "break", None)

    def visit_Continue(self, node):
        return self.told(node, "continue", None)

    def visit_For(self, node):
        # The loop's own `break` and `continue` stay; its `return` is the heal's.
        inner = Returns()
        node.body = [inner.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    visit_While = visit_For

    def visit_Lambda(self, node):
        return node


class Returns(Ends):
    def visit_Break(self, node):
        return node

    visit_Continue = visit_Break

    def visit_For(self, node):
        return self.generic_visit(node)

    visit_While = visit_For


def by_cpython(code, namespace):
    """Runs a heal that says itself where to go on: the exception's type, or how it ended with value and state."""
    source = "def frame(%s):\n for _round in [0]:\n%s\n return ('end', None, dict(locals()))" % (
        ", ".join(namespace), textwrap.indent(code, "  "))
    tree = ast.parse(source)
    loop = tree.body[0].body[0]
    loop.body = [Ends().visit(statement) for statement in loop.body]
    outside = {}
    exec(compile(ast.fix_missing_locations(tree), "<heal>", "exec"), outside)
    try:
        return None, outside["frame"](**namespace)
    except Exception as error:
        return type(error).__name__, None


def compare_resume(tester, code, make):
    names = differential.names_of(code)
    tester.n_runs += 1
    raised, end = by_cpython(code, make())
    answer, got = differential.by_probe_function(tester.runtime._probe_run, code, make.again(), names)
    compared = (names.stored | set(make())) - names.handled
    if answer["outcome"] != "ran":
        if raised is None or answer.get("exception") != raised:
            tester.fail("resume", code, "CPython %s, got %s in %s" % (raised or end, answer, make.shown()))
        return tester.unchanged("resume", code, got, compared)
    if raised is not None:
        return tester.fail("resume", code, "CPython raises %s, got %s in %s" % (raised, answer, make.shown()))
    flow, value, expected = end
    told = (flow, repr(value) if flow == "return" else None)
    if (answer["flow"], answer["value"]) != told:
        tester.fail("resume", code, "CPython %s, got %s" % (told, (answer["flow"], answer["value"])))
    left, right = differential.snapshot(expected, compared), differential.snapshot(got, compared)
    if left != right:
        tester.fail("resume", code, "CPython leaves %s, got %s" % (left, right))


def accept(tester, case):
    code = case["code"]
    resumes = differential.in_loop(code)[1]
    # A limit on long work is right where there is long work.
    strict = "range(" not in code
    for make in differential.states_for(code, N_STATES):
        if resumes:
            compare_resume(tester, code, differential.Maker(make))
        else:
            tester.compare("accept", code, differential.Maker(make), strict=strict)


def looped():
    made = [1]
    made.append(made)
    return made


def hostile_states(code):
    """The names that a heal reads, bound to what has code of its own, or no end."""
    read = [name for make in differential.states_for(code, 1) for name in make()]
    for factory in (differential.Loud, differential.Guarded, looped, lambda: (n for n in iter(int, 1)), lambda: iter(int, 1)):
        yield lambda factory=factory: {name: factory() for name in read}


def reject(tester, case):
    code = case["code"]
    names = differential.names_of(code)
    is_stopped, endings = False, set()
    for make in [*differential.states_for(code, N_STATES), *hostile_states(code)]:
        maker = differential.Maker(make)
        tester.n_runs += 1
        started = time.perf_counter()
        answer, got = differential.by_probe_function(tester.runtime._probe_run, code, maker.again(), names)
        if time.perf_counter() - started > LONGEST_S:
            tester.fail("reject", code, "it ran for more than %d s" % LONGEST_S)
        ending = answer.get("kind", answer["outcome"])
        endings.add(ending)
        if ending in ("limit", "refused", "violations"):
            is_stopped = True
            tester.unchanged("reject", code, got, set(differential.LAST["made"]) | names.stored)
    if not is_stopped:
        tester.fail("reject", code, "nothing stopped it: %s" % ", ".join(sorted(endings)))


def main():
    answers = os.fdopen(os.dup(1), "w")
    # What heals print is no answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    runtime = differential.load(sys.argv[1])
    for line in sys.stdin:
        case = json.loads(line)
        tester = Tester(runtime)
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        try:
            {"accept": accept, "reject": reject}[case["kind"]](tester, case)
        except Exception as error:
            tester.fail("bench", case["code"], "%s: %s" % (type(error).__name__, error))
        faulthandler.cancel_dump_traceback_later()
        answer = {"id": case["id"], "n_runs": tester.n_runs, "faults": tester.faults}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
