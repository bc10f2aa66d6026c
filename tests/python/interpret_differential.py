"""Runs HealCore programs with CPython and with the interpreter, and compares what comes out.

    python interpret_differential.py EXTENSION [--accept FILE] [--generated N]

Every program runs in a function frame and in a module frame, each time on a fresh state. Where CPython raises, the
interpreter must raise the same and leave the state as it was; so it must where a program is cut short after its last
statement, and where its run is taken back. Prints one line a difference and a summary; exit 0 where there is none.
"""
import argparse
import ast
import builtins
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import importlib.machinery
import importlib.util
import json
import pathlib
import random
import re
import sys
import textwrap
import threading
import time
import types
import typing
import uuid
import weakref


def load(path):
    loader = importlib.machinery.ExtensionFileLoader("healmcp_runtime", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("healmcp_runtime", loader))
    loader.exec_module(module)
    return module


# The state

class Plain:
    label = "class"

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self):
        raise AssertionError("code of the program ran")

    @property
    def computed(self):
        raise AssertionError("code of the program ran")


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left):
        self.left = left


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


Pair = collections.namedtuple("Pair", "first second")


class MyList(list):
    pass


class MyDict(dict):
    pass


class AppError(Exception):
    pass


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    __slots__ = ("v",)
    v: object


class Lazy:
    @functools.cached_property
    def slow(self):
        raise AssertionError("code of the program ran")

    @classmethod
    def make(cls):
        raise AssertionError("code of the program ran")


class Typed(typing.NamedTuple):
    a: int
    b: str = "b"


class Loud:
    """Every special method of it is code of the program."""

    def _ran(self, *_):
        raise AssertionError("code of the program ran")

    __eq__ = __lt__ = __hash__ = __repr__ = __str__ = __format__ = __bool__ = __len__ = __iter__ = _ran
    __add__ = __radd__ = __contains__ = __getitem__ = __setitem__ = __delitem__ = __int__ = __index__ = _ran
    __iadd__ = __call__ = __neg__ = _ran


class Guarded:
    def __getattr__(self, name):
        raise AssertionError("code of the program ran")

    def __setattr__(self, name, value):
        raise AssertionError("code of the program ran")


def filled():
    lazy = Lazy()
    lazy.__dict__["slow"] = [1]
    return lazy


def state():
    Plain.label = "class"
    shared = [1, 2]
    return {
        "n": 7, "m": -3, "big": 10**30, "f": 2.5, "c": 1 + 2j, "t": True, "none": None, "s": "hello world",
        "digits": " 42 ", "b": b"bytes", "ba": bytearray(b"abc"), "items": [3, 1, 2], "words": ["b", "a", "c", "a"],
        "mixed": [1, "a", None, 2.5], "rows": [[1, None], [None, 4], shared], "shared": shared, "empty": [],
        "tup": (1, 2, 3), "nested": {"a": {"b": [1, 2]}, "k": None}, "d": {"x": 1, "y": 2, "z": 3}, "e": {},
        "ids": {3, 1, 2}, "fz": frozenset("ab"), "r": range(5), "obj": Plain(name="o", total=3, tags=["t"], inner=Plain(v=1)),
        "slot": Slotted(5), "point": Point(1, 2), "color": Color.RED, "level": Level.HIGH, "pair": Pair(1, "two"),
        "mylist": MyList([1, 2]), "mydict": MyDict(a=1), "dd": collections.defaultdict(list, a=[1]),
        "od": collections.OrderedDict([("p", 1), ("q", 2)]), "dq": collections.deque([1, 2, 3]),
        "cnt": collections.Counter("abca"), "dec": decimal.Decimal("1.50"), "frac": fractions.Fraction(3, 4),
        "day": datetime.date(2024, 2, 29), "when": datetime.datetime(2024, 2, 29, 12, 30), "delta": datetime.timedelta(hours=5),
        "pat": re.compile(r"(\d+)-(\w+)"), "text": "12-ab 34-cd", "err": ValueError("bad", 3), "AppError": AppError,
        "Color": Color, "Level": Level, "frozen": Frozen(3), "typed": Typed(1), "space": types.SimpleNamespace(p=1), "module": types.ModuleType("module"),
        "path": pathlib.PurePosixPath("/a/b.txt"), "uid": uuid.UUID(int=5), "lazy": filled(), "zone": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
        "Plain": Plain, "people": [{"name": "Z", "age": 5}, {"name": "Y", "age": None}, {"name": "X"}],
    }


# Comparing

def canon(value, seen=None, originals=None):
    """A value as nested tuples: types, order and sharing count; `originals` maps identities that must be kept."""
    seen = {} if seen is None else seen
    kind = type(value)
    if kind is str:
        return ("str", re.sub(" at 0x[0-9a-f]+", "", value))
    if value is None or kind in (bool, int, bytes):
        return (kind.__name__, value)
    if kind in (float, complex):
        return (kind.__name__, repr(value))
    if kind in (type, enum.EnumMeta) or isinstance(value, (enum.Enum, type(re), type(canon), type(len))):
        return (kind.__name__, getattr(value, "__qualname__", getattr(value, "__name__", repr(value))))
    mark = originals.get(id(value)) if originals else None
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)

    def inner(other):
        return canon(other, seen, originals)

    if isinstance(value, (list, tuple, collections.deque)):
        body = [inner(item) for item in value]
    elif isinstance(value, dict):
        body = [(inner(key), inner(item)) for key, item in value.items()]
    elif isinstance(value, (set, frozenset)):
        body = sorted(repr(inner(item)) for item in value)
    elif isinstance(value, bytearray):
        body = bytes(value)
    elif isinstance(value, BaseException):
        body = [inner(value.args)]
    elif isinstance(value, Slotted):
        body = [(name, inner(getattr(value, name))) for name in Slotted.__slots__ if hasattr(value, name)]
    elif isinstance(value, (Plain, Point)):
        body = [(name, inner(item)) for name, item in value.__dict__.items()]
    elif hasattr(kind, "__next__"):
        kind, body = "iterator", None
    elif kind.__module__ == __name__ and not isinstance(value, (list, dict, tuple)):
        body = None
    else:
        body = repr(value)
    return (kind if kind == "iterator" else kind.__name__, mark, body)


def snapshot(namespace, names, originals=None):
    seen = {}
    return {name: canon(namespace[name], seen, originals) for name in sorted(names) if name in namespace}


def identities(value, found=None):
    """Marks for all containers and objects of a state, so that a rollback must keep each of them."""
    found = {} if found is None else found
    if id(value) in found or value is None or isinstance(value, (int, str, float, bytes, type)):
        return found
    found[id(value)] = len(found)
    inner = []
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, collections.deque)):
        inner = list(value)
    elif hasattr(value, "__dict__") and isinstance(value, Plain):
        inner = list(value.__dict__.values())
    for other in inner:
        identities(other, found)
    return found


# Running

class Names(ast.NodeVisitor):
    def __init__(self):
        self.stored, self.handled, self.read, self.globals = set(), set(), set(), set()

    def visit_Name(self, node):
        (self.read if isinstance(node.ctx, ast.Load) else self.stored).add(node.id)

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.read.add(node.target.id)
        self.generic_visit(node)

    def visit_Global(self, node):
        self.globals.update(node.names)

    def visit_ExceptHandler(self, node):
        if node.name:
            self.handled.add(node.name)
        self.generic_visit(node)

    def visit_Lambda(self, node):
        inner = Names()
        inner.visit(node.body)
        self.read |= inner.read - {arg.arg for arg in node.args.args}

    def comprehension(self, node):
        inner = Names()
        inner.generic_visit(node)
        for name in inner.read - inner.stored:
            self.read.add(name)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_Import(self, node):
        for alias in node.names:
            self.stored.add(alias.asname or alias.name.split(".")[0])

    visit_ImportFrom = visit_Import


def names_of(code):
    names = Names()
    names.visit(ast.parse(in_loop(code)[0]))
    names.stored -= {"_round"}
    return names


def in_loop(code):
    """Code that goes on itself stands in a function and a loop, as the crashed statement does."""
    try:
        compile(code, "<heal>", "exec")
        return code, False
    except SyntaxError:
        return "def _frame():\n for _round in [0]:\n" + textwrap.indent(code, "  "), True


def by_cpython_module(code, namespace):
    namespace = dict(namespace)
    try:
        exec(compile(code, "<heal>", "exec"), namespace)
    except Exception as error:
        return type(error).__name__, None
    return None, namespace


def by_cpython_function(code, namespace, names):
    tree = ast.parse("def frame(**state):\n pass\nout = {}")
    parameters = ", ".join(namespace)
    source = f"def frame({parameters}):\n pass\n return dict(locals())"
    tree = ast.parse(source)
    tree.body[0].body[0:1] = ast.parse(code).body
    ast.fix_missing_locations(tree)
    outside = {}
    exec(compile(tree, "<heal>", "exec"), outside)
    try:
        return None, outside["frame"](**namespace)
    except Exception as error:
        return type(error).__name__, None


def by_probe_module(run, code, namespace, end="commit"):
    namespace = dict(namespace)
    namespace.update(_run=run, _code=code, _end=end, _sys=sys)
    exec(compile("_answer = _run(_code, _sys._getframe(), _end)", "<frame>", "exec"), namespace)
    answer = json.loads(namespace["_answer"])
    return answer, namespace


def by_probe_function(run, code, namespace, names, end="commit"):
    declared = sorted((names.stored - names.globals) - set(namespace))
    declare = f" if False: {' = '.join(declared)} = None\n" if declared else ""
    parameters = ", ".join(namespace)
    source = (
        f"def frame({parameters}):\n{declare} if False: _answer = None\n"
        " _answer = _run(_code, _sys._getframe(), _end)\n return _answer, dict(locals())"
    )
    outside = {"_run": run, "_code": code, "_end": end, "_sys": sys}
    exec(compile(source, "<frame>", "exec"), outside)
    answer, after = outside["frame"](**namespace)
    after.pop("_answer", None)
    return json.loads(answer), after


class Tester:
    def __init__(self, runtime):
        self.runtime, self.n_runs, self.failures = runtime, 0, []
        self.refused = collections.Counter()

    def fail(self, what, code, detail):
        self.failures.append(what)
        print(f"DIFFERENT {what}: {code!r}\n    {detail}")

    def compare(self, what, code, make, strict=True):
        """Runs a program both ways; `strict` programs may not be refused."""
        try:
            names = names_of(code)
        except SyntaxError as error:
            return self.fail(what, code, f"no Python: {error}")
        compared = (names.stored | set(make())) - names.handled
        exec_info = None
        ways = {
            "module": (
                lambda: by_cpython_module(code, make()),
                lambda end, code: by_probe_module(self.runtime._probe_run, code, make.again(), end),
            ),
        }
        if not names.globals:
            ways["function"] = (
                lambda: by_cpython_function(code, make(), names),
                lambda end, code: by_probe_function(self.runtime._probe_run, code, make.again(), names, end),
            )
        for way, (reference, probe) in ways.items():
            self.n_runs += 1
            raised, expected = reference()
            label = f"{what} ({way})"
            try:
                raise LookupError("the paused program's own")
            except LookupError as paused:
                started = time.thread_time()
                answer, got = probe("commit", code)
                took = time.thread_time() - started
                if sys.exc_info()[1] is not paused:
                    self.fail(label, code, "the handled exception of the program has changed")
            if took > 1:
                self.fail(label, code, f"took {took:.1f} s")
            if answer["outcome"] == "violations":
                self.fail(label, code, answer["violations"])
                break
            if answer["outcome"] == "error" and answer["kind"] != "raised":
                self.refused[answer["rule"]] += 1
                if strict:
                    self.fail(label, code, answer)
                self.unchanged(label, code, got, compared)
                continue
            if raised:
                if answer["outcome"] != "error" or answer["exception"] != raised:
                    self.fail(label, code, f"CPython raises {raised}, got {answer} in {make.shown()}")
                else:
                    self.unchanged(label, code, got, compared)
                continue
            if answer["outcome"] == "error":
                self.fail(label, code, f"CPython raises nothing, got {answer} in {make.shown()}")
                continue
            left, right = snapshot(expected, compared), snapshot(got, compared)
            if left != right:
                different = {name: (left.get(name), right.get(name)) for name in left.keys() | right.keys()
                             if left.get(name) != right.get(name)}
                self.fail(label, code, f"CPython {[(k, v[0]) for k, v in different.items()]}\n    got     {[(k, v[1]) for k, v in different.items()]}")
            for end in ("rollback", "drop"):
                _, got = probe(end, code)
                self.unchanged(f"{label} {end}", code, got, compared)
            answer, got = probe("commit", code + "\nraise LookupError('cut short')")
            if answer["outcome"] != "error" or answer["exception"] != "LookupError":
                self.fail(f"{label} cut short", code, answer)
            self.unchanged(f"{label} cut short", code, got, compared)

    def unchanged(self, what, code, got, names):
        """The state that the last probe began with must be there again: same objects, same order, same values."""
        before, marks = LAST["before"], LAST["marks"]
        after = snapshot(got, names | set(before), marks)
        if before != after:
            different = [(name, before.get(name), after.get(name)) for name in before.keys() | after.keys()
                         if before.get(name) != after.get(name)]
            self.fail(f"{what}: not taken back", code, different)

    def expect(self, code, kind, rule=None):
        """A program that must be stopped."""
        self.n_runs += 1
        make = Maker(refusal_state)
        names = names_of(code)
        for way in ("module", "function"):
            started = time.thread_time()
            if way == "module":
                answer, got = by_probe_module(self.runtime._probe_run, code, make.again())
            else:
                answer, got = by_probe_function(self.runtime._probe_run, code, make.again(), names)
            took = time.thread_time() - started
            found = answer.get("kind", answer["outcome"])
            if found != kind or rule is not None and answer.get("rule") != rule:
                self.fail(f"expected {kind} {rule or ''} ({way})", code, answer)
            if took > 1:
                self.fail(f"{kind} ({way})", code, f"took {took:.1f} s")
            self.unchanged(f"{kind} ({way})", code, got, set(LAST["made"]) | names.stored)


    def in_thread(self):
        """A thread that handles no signals: patterns of the program on long texts are refused, short ones run."""
        answers = []

        def work():
            for text in ("12-ab", "x" * 10_000):
                namespace = dict(state(), text=text, slow=re.compile("(a+)+$"))
                answers.append(by_probe_module(self.runtime._probe_run, "a = pat.search(text)\nb2 = slow.match('a' * 70 + 'b')", namespace)[0])

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if [answer.get("kind") for answer in answers] != ["limit", "limit"]:
            self.fail("thread", "pat.search(text)", answers)

    def on_small_stack(self):
        """Deep code on a thread with little stack ends in an answer."""
        deep = "".join("    " * level + "if n:\n" for level in range(10)) + "    " * 10 + "a = " + "(n + " * 33 + "1" + ")" * 33
        answers = []
        previous = threading.stack_size(128 * 1024)
        thread = threading.Thread(target=lambda: answers.append(by_probe_module(self.runtime._probe_run, deep, {"n": 1})[0]))
        thread.start()
        thread.join()
        threading.stack_size(previous)
        if [answer.get("rule", answer.get("flow")) for answer in answers] not in (["HC907"], ["end"]):
            self.fail("small stack", deep, answers)


LAST = {}


def frame_of(namespace):
    namespace = dict(namespace, _sys=sys)
    exec("_frame = _sys._getframe()", namespace)
    return namespace["_frame"]


class Maker:
    """Makes the state of a run anew, and remembers the last one for the comparison with what is left of it."""

    def __init__(self, factory):
        self.factory = factory

    def __call__(self):
        return self.factory()

    def again(self):
        made = self.factory()
        marks = identities(made)
        marks.pop(id(made), None)
        LAST.update(made=made, marks=marks, before=snapshot(made, made.keys(), marks))
        return made

    def shown(self):
        return {name: repr(value)[:60] for name, value in self.factory().items()} if len(self.factory()) < 8 else "the state"


# The corpus of accepted heals, on states made from the names that each reads

def values():
    return [
        lambda: None, lambda: 3, lambda: 0, lambda: 2.5, lambda: "text", lambda: " 42 ", lambda: "", lambda: b"ab",
        lambda: [1, 2, 3], lambda: ["a", "b"], lambda: [], lambda: [None, 1.5, "x"], lambda: [[1, 2, 3], [4, None, 6]],
        lambda: {"city": "B", "score": 3, "a": 1, "id": 9}, lambda: {}, lambda: {"1": None, "2": 5},
        lambda: [{"score": 2, "id": 1}, {"score": 1}], lambda: {3, 1}, lambda: (1, 2), lambda: True,
        lambda: Plain(name="o", total=3, retries=1, items=[1], profile=Plain(city="P"), email=None),
        lambda: datetime.datetime(2024, 1, 2, 3, 4), lambda: "2024-01-02", lambda: "01/02/2024", lambda: "1,5",
        lambda: '{"a": 1}', lambda: "616263", lambda: "YWJj", lambda: ["1", "2", "x"], lambda: ["3", "4"],
    ]


MISSING = object()


def states_for(code, n_states):
    names = names_of(code)
    read = sorted(name for name in names.read | names.stored
                  if not hasattr(builtins, name) and name not in imported(code))
    pool = values() + [lambda: MISSING]
    chosen = random.Random(code)
    for turn in range(n_states):
        if turn < len(pool):
            picked = {name: pool[turn] for name in read}
        else:
            picked = {name: chosen.choice(pool) for name in read}
        def make(picked=picked):
            made = {name: factory() for name, factory in picked.items()}
            return {name: value for name, value in made.items() if value is not MISSING}
        yield make


def imported(code):
    found = set()
    for node in ast.walk(ast.parse(in_loop(code)[0])):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
    return found


PROGRAMS = r"""
a = 1
a = b2 = n + 1
a: int = n
a, b2 = 1, 2
(a, (b2, *c2)), d2 = (1, (2, 3, 4)), 5
[a, *b2] = s
*a, b2 = items
a, b2 = items
a, b2, c2, d2 = items
a, *b2, c2, d2, e2 = items
a, b2 = none
n += 1; n -= 2; n *= 3; n //= 2; n %= 5; n **= 2
n <<= 3; n >>= 1; n |= 8; n &= 12; n ^= 5
f /= 2; f += n
items += [4]
items += (5, 6)
items += "ab"
items += 5
items *= 2
alias = items; items += [9]; a = alias is items
tup += (4,)
s += "!"
ba += b"d"
d |= {"w": 4}
ids |= {9}
ids &= {1, 2}
ids -= {1}
ids ^= {1, 7}
dq += [4]
cnt += cnt
obj.total += 5
obj.tags += ["u"]
obj.inner.v *= 3
rows[0][0] += 5
d["x"] += 10
d["nope"] += 1
nested["a"]["b"][0] -= 1
rows[0] += [8]
tup[0] += 1
a = tup[0]; items[0] = a; items[-1] = 9
items[10] = 1
items[1:2] = [7, 8, 9]
items[::2] = [0, 0]
items[::2] = [0]
items[:] = []
items["x"] = 1
d["new"] = 1; d["x"] = 0
d[[1]] = 1
e[1, 2] = 3
e[None] = e[True] = 1
tup[0] = 1
s[0] = "x"
del d["y"]
del d["y"], items[0]
del items[0:2]
del items[5]
del d["nope"]
del nested["a"]["b"][0]
del ba[0]
del dq[0]
del od["p"]; od["r"] = 3
d["y"] = 5; del d["x"]; d["x"] = 6
ba[0] = 65
dq[1] = 9
od["p"] = 7
dd["a"].append(2)
dd["new"].append(1)
a = dd["zz"]
a = dd.get("zz")
a = cnt["zz"]; b2 = cnt["a"]
mylist.append(3); mylist[0] = 9
mydict["b"] = 2; a = mydict["a"]
obj.name = "new"; obj.fresh = []; obj.inner.w = obj
slot.right = 1; slot.left = 2
slot.other = 1
point.x = 5; point.z = 1
n.x = 1
s.upper = 1
a = obj.name + obj.inner.__class__.__name__ if False else obj.name
a = obj.missing
a = none.x
a = obj.label; Plain.label = "changed"; b2 = obj.label
a = point.x + point.y
a = slot.left
a = slot.right
a = pair.first, pair.second, pair[1]
a = color.name, color.value, color == Plain, level + 1, level > 1
a = f.real, n.numerator, c.imag
a = when.year, day.month, delta.days
a = dec + 1, dec * 2, -dec, dec == 1.5
a = frac + 1, frac * 2, frac ** 2, frac < 1
a = day - day, when + delta, when.date(), when.isoformat(), day.replace(year=2023, day=1)
a = day.replace(year=2023)
a = when < when + delta, when - when
a = n if n > 5 else m
a = n and m or s
a = none or empty or e or 0
a = not items, not empty, -n, +n, ~n
a = 1 < n < 10, 1 < m < 10, n == 7 != m, 0 < f <= 2.5
a = 1 in items, 9 not in items, "x" in d, "lo" in s, 3 in r, None in mixed, n is n, none is not None
a = 1 in 5
a = [1] in rows, "a" in words, [1] in ids
a = [] < [1], (1, 2) < (1, 3), "a" < "b", [1] == [1.0], {1} < {1, 2}
a = 1 < "a"
a = items < none
a = n + s
a = s + n
a = s * 3, items * 2, tup * 2, 3 * s
a = s % 1
a = "%s is %d or %5.1f %%" % (s, n, f)
a = "%(x)s-%(y)03d" % d
a = "%d" % s
a = n / 0
a = n // m, n % m, divmod(n, m), n / m, m ** 3, m ** -1, 2 ** 0.5
a = 7 // 0.0
a = 1 << 5, 256 >> 3, 6 & 3, 6 | 3, 6 ^ 3
a = 1 << -1
a = big * big, big // 7, -big
a = items[0], items[-1], s[1:4], s[::-1], tup[1:], items[5:], b[0], b[1:]
a = items[7]
a = items["a"]
a = s[100]
a = d["q"]
a = d[items]
a = none[0]
a = n[0]
a = nested["a"]["b"][-1]
a = nested["k"]["b"]
a = r[1:3], r[-1]
a = items[1:n], items[:none], items[none:2:1]
a = items[1:s]
a = [1, *items, *s], (1, *tup), {1, *ids}, {"k": 1, **d}
a = [*n]
a = {**items}
a = {[]: 1}
a = {items}
a = [x for x in items], {x for x in items}, {x: y for x, y in d.items()}
a = [x * y for x in items for y in tup if x != y if x > 1]
a = [[y for y in row if y] for row in rows]
a = [x for x in rows if x[0] for x in x]
x = "outer"; a = [x for x in items]; b2 = x
a = [n for n in items]; b2 = n
a = {k: [v] for k, v in d.items() if v > 1}
a = [i for i, (p, q) in enumerate([(1, 2), (3, 4)]) if p]
a = [x + y for x, *y in ["ab"]]
a = [x + 1 for x in mixed]
a = [x for x in none]
a = sum(x for x in items), sum([x for x in items], 10), max(x for x in items), min((x for x in items), default=0)
a = any(x > 2 for x in items), all(x for x in mixed), any([]), all([])
a = any(1 / x for x in [1, 0]), all(x > 1 for x in [0, "a"])
a = next((x for x in items if x > 1), None), next((x for x in items if x > 9), "none")
a = next(x for x in items if x > 9)
a = list(x for x in s), tuple(x for x in s), set(x for x in s), dict((x, 1) for x in s)
a = f"{n}", f"{s!r}", f"{s!s:>15}", f"{f:.3f}", f"{n:05d}|{n:x}|{n:,}", f"{items}", f"{d}", f"{{}}{n}"
a = f"{s:d}"
a = f"{none}{t}{dec}{frac}{day}{when:%Y}{delta}"
a = f"{n=}", f"{s!a}"
a = f"{items!r:>20}"
a = f"{obj.name}{point}{pair}"
a = "a" "b" f"{n}" "c"
a = str(n), str(none), str(items), str(b, "utf-8"), str(), str(dec), repr(s), ascii("ü")
a = int("7"), int(" 7 "), int(f), int("ff", 16), int("0b1", 0), int(True), int(dec), int()
a = int("x")
a = int(none)
a = int(items)
a = int("1" * 5000)
a = float("1.5"), float("inf"), float(n), float(), float(" 2 ")
a = float("x")
a = complex(1, 2), complex("1+2j")
a = bool(items), bool(empty), bool(), bool(none)
a = list(), list(s), list(d), list(d.items()), list(r), list(items), list(tup), list(ids)
a = list(n)
a = tuple(), tuple(items), tuple(s), tuple(tup) is tup
a = set(), set(items), frozenset(items), set(s) - set("l"), frozenset(fz) is fz
a = set(rows)
a = dict(), dict(d), dict(d, w=1), dict([("a", 1)]), dict(a=1, b=2), dict(zip(words, items))
a = dict(items)
a = dict([(1, 2, 3)])
a = dict(n)
a = bytes(3), bytes([1, 2]), bytes("ä", "utf-8"), bytes(), bytearray(b"x"), bytearray([1])
a = bytes("x")
a = bytes([300])
a = bytes.fromhex("61"), float.fromhex("0x1p3"), int.from_bytes(b"ab", "big"), dict.fromkeys(words, 0)
a = len(items), len(s), len(d), len(ids), len(r), len(b)
a = len(n)
a = abs(m), abs(-2.5), round(f), round(2.567, 2), round(n, -1), pow(2, 5), pow(2, 5, 7), round(dec, 1)
a = abs(s)
a = min(3, 1, 2), max(items), min(words), max("abc"), max(items, default=0), max(empty, default=0)
a = max(empty)
a = max(mixed)
a = max(n)
a = max(words, key=len), min(items, key=lambda x: -x), max(words, key=str.upper), max(1, -5, key=abs)
a = sorted(items), sorted(words, reverse=True), sorted(words, key=lambda w: (len(w), w)), sorted(d), sorted(s)
a = sorted(mixed)
a = sorted(items, key=lambda x: -x), sorted(items, key=lambda x: 0), sorted(items, key=lambda x: 0, reverse=True)
a = sorted(people, key=lambda p: p["name"]), sorted(people, key=lambda p: p.get("age") or 0)
a = sorted(people, key=lambda p: p["age"])
a = sorted(people)
a = sorted([3.0, float("nan"), 1.0]), sorted([{1}, {2}, {1, 2}], key=len)
a = sorted(words, key=str.lower), sorted(words, key=len, reverse=1)
items.sort(); words.sort(reverse=True)
items.sort(key=lambda x: -x); words.sort(key=str.upper)
mixed.sort()
a = sum(items), sum([0.1] * 10), sum([[1], [2]], []), sum(d.values()), sum([]), sum([dec, dec]), sum((frac, frac))
a = sum(words)
a = sum([[1], 2], [])
a = list(range(5)), list(range(1, 10, 3)), list(range(5, 0, -1)), range(3) == range(3)
a = range(1.5)
a = range(1, 2, 0)
a = list(enumerate(s)), list(enumerate(items, 1)), list(enumerate(items, start=2))
a = list(zip(items, s)), list(zip(items)), list(zip()), list(zip(items, tup, strict=True))
a = list(zip(items, s, strict=True))
a = list(reversed(items)), list(reversed(s)), list(reversed(d)), list(reversed(r))
a = list(reversed(ids))
a = list(map(int, "123")), list(map(str.strip, [" a "])), list(map(len, words)), list(map(str, mixed))
a = list(map(int, "1x3"))
z = map(int, ["1", "x"]); a = next(z)
z = map(int, ["1", "x"]); a = next(z); b2 = next(z)
a = list(filter(None, mixed)), list(filter(str.isalpha, s)), list(map(max, items, tup))
z = iter(items); a = next(z); b2 = list(z); c2 = next(z, "end")
z = iter(items); a = list(zip(z, z))
z = enumerate(s); a = next(z), next(z)
a = next(items)
a = iter(n)
a = isinstance(n, int), isinstance(t, int), isinstance(s, (int, str)), isinstance(mylist, list), isinstance(none, type(None))
a = isinstance(n, int | str), isinstance(obj, Plain), issubclass(bool, int), isinstance(err, ValueError)
a = isinstance(n, 5)
a = isinstance(n, "int")
a = type(n) is int, type(s) == str, type(obj) is Plain
a = callable(n), callable(Plain)
a = hasattr(obj, "name"), hasattr(obj, "nope"), hasattr(none, "x"), hasattr(obj, "method"), hasattr(point, "x")
a = getattr(obj, "name"), getattr(obj, "nope", 5), getattr(none, "x", None)
a = getattr(obj, "nope")
a = chr(97), ord("a"), hex(255), oct(8), bin(5), format(f, ".1f"), format(n), format("x", ">3")
a = chr(-1)
a = ord("ab")
a = slice(1, 2), items[slice(0, 2)]
print(n, s, items, sep="-", end="!"); a = print()
a = s.upper(), s.split(), s.split("o", 1), s.find("o"), s.replace("l", "L"), s.title(), s.center(20, "*"), s.zfill(15)
a = s.index("zz")
a = s.startswith("he"), s.startswith(("x", "h")), s.endswith("d"), s.count("l"), s.partition(" "), s.rsplit(" ", 1)
a = digits.strip(), digits.isdigit(), s.isalpha(), s.islower(), s.encode(), s.encode("utf-16"), s.casefold(), s.swapcase()
a = s.strip(5)
a = "-".join(words), ",".join(str(x) for x in items), "".join([]), s.join("ab")
a = ",".join(items)
a = ",".join(n)
a = "{} {}".format(n, s), "{0}{1}{0}".format(1, 2), "{x:>5}".format(x=1), "{:.2f}".format(f)
a = "{}{}".format(1)
a = s.removeprefix("hello"), s.removesuffix("x"), s.splitlines(), "a\tb".expandtabs(4), s.rjust(3), s.ljust(13)
a = b.decode(), b.hex(), b.upper(), b.split(b"t"), b.find(b"y"), b.replace(b"b", b"c"), b[0:2] + b"x"
a = b"\xff".decode("utf-8")
a = b"\xff".decode("utf-8", "replace"), b"\xff".decode("latin-1"), "ü".encode("ascii", "ignore")
a = "ü".encode("ascii")
a = n.bit_length(), (5).to_bytes(2, "big"), f.is_integer(), (2.0).as_integer_ratio(), f.hex(), c.conjugate()
items.append(4); items.insert(0, 0); items.extend("ab"); a = items.pop(); b2 = items.pop(0); items.remove(1); items.reverse()
items.remove(99)
a = empty.pop()
items.extend(n)
items.extend(items); rows.append(rows[0])
items.clear(); a = items.copy(), tup.count(1), tup.index(2), words.count("a"), words.index("c")
a = words.index("zz")
a = d.get("x"), d.get("q", 5), d.keys(), d.values(), d.items(), d.copy(), d.pop("x"), d.pop("q", None), d.setdefault("n", []), d.popitem()
a = d.pop("q")
a = e.popitem()
d.update({"q": 1}, r=2); d.update([("k", 5)]); d.update(zip(words, items)); d.clear()
d.update(5)
d.update([1])
a = d.setdefault("x", 5), d.setdefault("l", []).append(1)
ids.add(5); ids.discard(1); ids.remove(2); ids.update([7, 8], "ab"); ids.difference_update({7}); ids.intersection_update({3, 5, 8})
ids.remove(99)
a = ids.union([9]), ids.intersection(items), ids.difference([1]), ids.issubset(r), ids.isdisjoint({9}), ids.copy(), fz.union("c")
ids.add([1])
a = ids | {4}, ids & {1}, ids - {1}, ids ^ {1}, ids <= {1, 2, 3}, d.keys() & {"x"}, d.keys() - {"x"}
dq.append(4); dq.appendleft(0); a = dq.pop(), dq.popleft(); dq.extend([8, 9]); dq.extendleft([7]); dq.rotate(1); dq.remove(8); dq.reverse()
dq.clear(); a = dq.maxlen
a = dq.popleft(), dq.popleft(), dq.popleft(), dq.popleft()
cnt.update(None); cnt.update("ab"); cnt.subtract(None)
a = d.popitem(); d["new"] = 1; d["x"] = 5; del d["x"]; d["x"] = 6
ids.clear(); ids.add(9); ids |= {10}
dq.rotate(2); dq.appendleft(0); dq.extend([7, 8]); dq.clear()
ba.extend(b"z"); ba.reverse(); ba[0] = 65; ba.pop()
fresh_one = 1; n = 2; obj.fresh = 3; Plain.label = "other"; Plain.fresh = 4
od.move_to_end("p"); a = od.popitem(last=False); od["z"] = 1; od.update(k=2)
cnt.update("aab"); cnt.subtract("c"); a = cnt.most_common(1), cnt.total(), sorted(cnt.elements()); cnt["q"] = 5
ba.append(65); ba.extend(b"xy"); a = ba.pop(), ba.decode()
dd.setdefault("k", []).append(3); dd["j"] += [1]; dd.pop("a")
a = dec.quantize(dec), dec.is_nan(), dec.as_tuple(), dec.normalize()
a = when.strftime("%Y-%m-%d"), day.weekday(), day.isocalendar(), when.time(), when.timestamp() > 0, delta.total_seconds()
a = pat.search(text).group(1), pat.findall(text), [m2.group(2) for m2 in pat.finditer(text)], pat.sub("x", text), pat.split("a1-bc")
a = pat.match("zz").group(1)
a = pat.match(text).groups(), pat.pattern, pat.search(text).span(), pat.fullmatch("zz")
a = none.strip()
a = n.append(1)
a = items.upper()
a = err.args, str(err), err.args[1]
import math\na = math.sqrt(16), math.floor(f), math.ceil(f), math.pi, math.gcd(12, 18), math.prod(items), math.isnan(f), math.factorial(5)
import math\na = math.sqrt(-1)
import math\na = math.sqrt(s)
import math as m3\nfrom math import floor as fl, inf\na = m3.log(10), fl(2.7), inf
import json\na = json.loads('{"a": [1, null, true, 1.5]}'), json.dumps(nested), json.dumps(d, sort_keys=True, indent=2)
import json\na = json.loads("{")
import json\ntry:\n    a = json.loads(s)\nexcept json.JSONDecodeError as e2:\n    a = e2.pos, e2.msg
import json\na = json.dumps(ids)
import json\na = json.dumps({"d": day, "x": dec}, default=str)
import re\na = re.findall(r"\d+", text), re.sub(r"(\d)", r"<\1>", text), re.match("x", s), re.split(r"[- ]", text), re.search(r"(?P<w>\w)-", text).group("w")
import re\na = re.compile(r"\w+").findall(s), re.escape("a.b"), re.search("L", s, re.I) is not None, re.subn("l", "", s)
from collections import OrderedDict, Counter, defaultdict, deque\na = Counter(words), deque(items, 2), OrderedDict(d), defaultdict(int, d)
from collections import defaultdict\na = defaultdict(list)\na["k"].append(1)\nb2 = defaultdict(int)\nfor w in words:\n    b2[w] += 1
from collections import Counter\na = Counter(a=2, b=1) + Counter("ab"), Counter(words)["zz"]
import itertools\na = list(itertools.chain(items, s)), list(itertools.islice(r, 2)), list(itertools.accumulate(items)), list(itertools.pairwise(items)), list(itertools.zip_longest(items, tup, "a"))
import itertools\na = list(itertools.chain.from_iterable(rows)), [(k, list(g)) for k, g in itertools.groupby([1, 1, 2])], list(itertools.compress("abc", [1, 0, 1]))
import itertools\na = list(itertools.takewhile(str.isalpha, "ab1c")), list(itertools.dropwhile(str.isalpha, "ab1c")), list(itertools.filterfalse(None, mixed))
from datetime import datetime, timedelta, date, timezone\na = datetime.fromisoformat("2024-01-02"), datetime.strptime("1/2/24", "%d/%m/%y"), date(2024, 1, 1) + timedelta(days=1), datetime(2024, 1, 1, tzinfo=timezone.utc).isoformat()
from datetime import datetime\na = datetime(2024, 13, 1)
from datetime import datetime\na = datetime.strptime("x", "%d")
from decimal import Decimal, InvalidOperation\na = Decimal("1.1") + Decimal(2), Decimal(n), round(Decimal("2.675"), 2)
from decimal import Decimal, InvalidOperation\ntry:\n    a = Decimal("x")\nexcept InvalidOperation:\n    a = Decimal(0)
from fractions import Fraction\na = Fraction(1, 3) + Fraction("1/6"), Fraction(1.5), float(Fraction(1, 4))
import statistics\na = statistics.mean(items), statistics.median(items), statistics.pstdev(items), statistics.mode(words)
import statistics\na = statistics.mean(empty)
import base64, binascii, html, string, textwrap, unicodedata, bisect, urllib.parse\na = base64.b64encode(b), binascii.hexlify(b), html.escape("<a>"), string.digits, textwrap.dedent("  x"), unicodedata.normalize("NFC", "e"), bisect.bisect([1, 3], 2), urllib.parse.quote("a b")
import bisect\nbisect.insort(items, 2)
import urllib.parse\na = urllib.parse.urlparse("http://h/p?q=1").netloc, urllib.parse.parse_qs("a=1&b=2"), urllib.parse.urljoin("http://h/a", "b")
if n > 5:\n    a = 1\nelif n > 3:\n    a = 2\nelse:\n    a = 3
if none:\n    a = 1
a = 0\nfor x in items:\n    if x == 1:\n        continue\n    a += x
a = 0\nfor x in items:\n    if x == 1:\n        break\nelse:\n    a = 9
a = 0\nfor x in []:\n    a = 1\nelse:\n    a = 2
a = []\nfor i, (k, v) in enumerate(d.items()):\n    a.append((i, k, v))
a = []\nfor k, *v in rows:\n    a.append(v)
a = 0\nwhile a < 5:\n    a += 1\n    if a == 3:\n        break\nelse:\n    a = 99
a = 0\nwhile a < 5:\n    a += 1\nelse:\n    a = 99
for x in d:\n    d[x + "2"] = 1
for x in list(d):\n    d[x + "2"] = d.pop(x)
for x in items:\n    items.pop()
for x in n:\n    pass
for k, v in items:\n    pass
try:\n    a = 1 / 0\nexcept ZeroDivisionError:\n    a = 2
try:\n    a = 1 / 0\nexcept (KeyError, ZeroDivisionError) as e2:\n    a = str(e2)\nelse:\n    a = 3\nfinally:\n    b2 = 4
try:\n    a = 1\nexcept KeyError:\n    a = 2\nelse:\n    a = 3\nfinally:\n    b2 = 4
try:\n    a = d["q"]\nexcept LookupError as e2:\n    a = e2.args
try:\n    a = d["q"]\nexcept IndexError:\n    a = 1
try:\n    a = d["q"]\nfinally:\n    b2 = 4
try:\n    try:\n        a = d["q"]\n    finally:\n        b2 = 4\nexcept KeyError:\n    a = 5
try:\n    try:\n        a = d["q"]\n    except KeyError:\n        raise\nexcept KeyError as e2:\n    a = "again"
try:\n    try:\n        a = d["q"]\n    except KeyError as e2:\n        raise ValueError("v") from e2\nexcept ValueError as e3:\n    a = str(e3)
try:\n    raise ValueError("x", 1)\nexcept ValueError as e2:\n    a = e2.args, str(e2)
try:\n    a = [][1]\nexcept:\n    a = "bare"
try:\n    raise KeyError("k")\nexcept AppError:\n    a = 1\nexcept Exception as e2:\n    a = str(e2)
try:\n    items.append(1)\n    items.append(1 / 0)\nexcept ZeroDivisionError:\n    items.append("caught")
for x in [1, 2, 3]:\n    try:\n        if x == 2:\n            continue\n        a = x\n    finally:\n        b2 = x
for x in [1, 2, 3]:\n    try:\n        if x == 2:\n            break\n    finally:\n        b2 = x
raise ValueError("x")
raise KeyError
raise ValueError("x") from None
assert n == 7
assert n == 8, "message"
assert not items
pass
a = missing_name
a = a
missing_name += 1
global fresh\nfresh = 1
global n\nn = n + 1
a = [d]; a[0]["x"] = 5
x = y = []; x.append(1)
nested["a"]["b"] = nested; a = nested["a"]["b"]["k"]
a = (lambda_ := 1) if False else 0
try:\n    rows[0][0] = rows[5]\nexcept IndexError:\n    rows[0][0] = None
obj.tags.append("x"); obj.inner.v = obj.tags; a = obj.inner.v is obj.tags
shared.append(3); a = rows[2]
a = Color.RED, Color["GREEN"], Color.RED is color, Color.RED.value, Level.HIGH + 1, [c2.name for c2 in Color], Level.LOW < Level.HIGH
a = str(color), repr(color), f"{color}", f"{level}", {color: 1}[Color.RED], color in [Color.RED], color == 1
a = Color.BLUE
a = Color["BLUE"]
a = frozen == frozen, frozen < frozen, str(frozen), {frozen: 1}, frozen.v
a = typed.a, typed.b, typed == (1, "b"), typed[0], str(typed), [*typed]
space.q = space.p + 1; a = str(space); space.p = 5
module.x = 1
a = module.x
a = path.name, path.suffix, str(path), path / "c", path == path
a = uid.hex, str(uid), uid == uid
lazy.slow.append(2); a = lazy.slow
a = zone == zone, str(zone), zone.tzinfo, zone.isoformat(), zone - zone
a = {"k": [1, 2]}["k"][0], [1, 2][0], "abc"[1], (1, 2)[-1]
a = 10**20 % 7, 10**20 // 3, -7 // 2, -7 % 3, 7.5 // 2, 1e300 * 1e10
a = 0x1F, 0b11, 0o17, 1_000, 1e3, 2j * 2j, 123456789012345678901234567890
a = "é" * 2, "\N{BULLET}", b"\x00\xff", r"\d", 'q"q'
a = True + True, True and 0, None is None, ... is None if False else 1
"""
# `(name := value)` is no HealCore; it stands in the list above to be seen refused by the checker.
VIOLATIONS = ("lambda_ :=", "... is None", "__class__")

RESUME = [
    ("return", "return", "None"), ("return n + 1", "return", "8"), ("break", "break", None), ("continue", "continue", None),
    ("a = 1\nreturn a", "return", "1"), ("for x in items:\n    if x == 1:\n        return x", "return", "1"),
    ("if n > 100:\n    return 1", "end", None), ("for x in items:\n    break\nbreak", "break", None),
    ("try:\n    return 1\nfinally:\n    n = 2", "return", "1"),
]

LIMITS = [
    ("a = 2\nfor i in range(64):\n    a = a * a", "HC905"), ("a = 7 ** (n * 100000)", "HC905"), ("a = 1 << (n * 10000)", "HC905"),
    ("a = s * 10000000", None), ("k = 10 ** 8\na = [0] * k", "HC904"), ("k = 10 ** 8\na = s * k", "HC906"),
    ("a = 'x'\nfor i in range(64):\n    a += a", "HC906"), ("a = [1]\nfor i in range(64):\n    a += a", "HC904"),
    ("a = [1]\nfor i in range(64):\n    a = a + a", "HC904"), ("a = [1]\nwhile a:\n    a.append(1)", None),
    ("a = {}\ni = 0\nwhile True:\n    a[i] = i\n    i += 1\n    if i < 0:\n        break", None),
    ("k = 10 ** 9\nfor i in range(k):\n    pass", "HC901"), ("k = 10 ** 9\na = list(range(k))", None), ("k = 10 ** 9\na = sum(range(k))", None),
    ("k = 10 ** 12\na = 'q' in range(k)", "HC904"), ("k = 10 ** 12\na = range(k).count('q')", "HC904"), ("k = 10 ** 9\na = bytes(k)", None),
    ("k = 10 ** 9\na = max(range(k))", None), ("k = 10 ** 9\na = set(range(k))", None), ("k = 10 ** 9\na, *b2 = range(k)", None),
    ("rows.append(rows)\na = repr(rows)", "HC907"), ("rows.append(rows)\na = rows == [rows]", "HC907"), ("rows.append(rows)\na = str(rows)", "HC907"),
    ("rows.append(rows)\na = f'{rows}'", "HC907"), ("rows.append(rows)\na = rows < rows", "HC907"),
    ("a = []\nfor i in range(5000):\n    a = [a]\nb2 = a == [a]", "HC907"), ("a = ()\nfor i in range(5000):\n    a = (a,)\nb2 = {a: 1}", "HC907"),
    ("a = []\nfor i in range(5000):\n    a = [a]\nb2 = str(a)", "HC907"),
    ("import math\nk = 100000\na = math.factorial(k)", "HC905"), ("import math\nk = 100000\na = math.comb(k, 50000)", "HC905"),
    ("import math\na = math.prod(range(1, 20000))", "HC905"),
    ("k = 10 ** 7\na = round(n, -k)", None), ("k = 10 ** 6\na = s.center(k * 10)", "HC906"), ("a = s.replace('', 'x' * 60000) * 100", None),
    ("from decimal import Decimal\nk = 'e9999'\na = int(Decimal('1' + k))", None), ("from decimal import Decimal\nk = 'e99999999'\na = f'{Decimal(k[0:0] + \"1\" + k):f}'", None),
    ("from decimal import Decimal\nimport math\nk = 'e999999999'\na = math.floor(Decimal('1' + k))", None),
    ("from fractions import Fraction\nk = 'e999999999'\na = Fraction('1' + k)", None),
    ("from itertools import islice\nk = 10 ** 10\na = list(islice(range(k), k - 1, k))", None),
    ("a = pow(3, 10 ** 1200, 10 ** 1200)", None), ("k = 10 ** 6\na = [[0] * 60000 for _ in range(k)]", None),
    ("a = [str(i) * 1000 for i in range(60000)]", None), ("a = slow.match('a' * 40 + 'b')", "HC902"), ("a = slow.search('a' * 60 + 'b')", "HC902"),
    ("k = 10 ** 9\na = (5).to_bytes(k, 'big')", None), ("k = '%*d'\na = k % (10 ** 9, 1)", None), ("a = form % 1", None), ("a = int.from_bytes(b'x' * 60000, 'big')", "HC905"),
    ("a = 0\nwhile a < 10 ** 9:\n    a += 1", None), ("a = [i for i in r for j in range(300) for k in range(n * 50)]", None),
]

REFUSED = [
    ("a = loud == 1", "HC801"), ("a = 1 == loud", "HC801"), ("a = [loud] == [1]", "HC801"), ("a = {'k': [loud]} == {}", "HC801"), ("a = loud in items", "HC801"),
    ("a = {loud: 1}", "HC801"), ("a = {(loud,): 1}", "HC801"), ("a = d[loud]", "HC801"), ("d[loud] = 1", "HC801"), ("a = {loud}", "HC801"), ("a = str(loud)", "HC801"),
    ("a = repr([loud])", "HC801"), ("a = f'{loud}'", "HC801"), ("a = '%s' % loud", "HC801"), ("a = '{}'.format(loud)", "HC801"), ("print(loud)", "HC801"),
    ("if loud:\n    a = 1", "HC801"), ("a = not loud", "HC801"), ("a = loud and 1", "HC801"), ("a = bool(loud)", "HC801"), ("a = len(loud)", "HC801"),
    ("for x in loud:\n    pass", "HC801"), ("a = list(loud)", "HC801"), ("a = [*loud]", "HC801"), ("a, b2 = loud", "HC801"), ("a = loud + 1", "HC801"), ("a = 1 + loud", "HC801"),
    ("a = -loud", "HC801"), ("a = loud[0]", "HC801"), ("loud[0] = 1", "HC801"), ("del loud[0]", "HC801"), ("a = 1 in loud", "HC801"), ("loud += 1", "HC801"), ("a = int(loud)", "HC801"),
    ("a = items[loud]", "HC801"), ("a = s * loud", "HC801"), ("a = sorted([loud, loud])", "HC801"), ("a = max(loud, loud)", "HC801"), ("a = sum([1, loud])", "HC801"), ("items.remove(loud)", "HC801"),
    ("a = items.index(loud)", "HC801"), ("ids.add(loud)", "HC801"), ("a = set([loud])", "HC801"), ("a = dict([(loud, 1)])", "HC801"), ("a = ','.join(loud)", "HC801"), ("a = any([loud])", "HC801"),
    ("a = range(loud)", "HC801"), ("a = list(map(str, [loud]))", "HC801"), ("a = list(filter(None, [loud]))", "HC801"), ("a = isinstance(loud, strange)", "HC801"),
    ("import json\na = json.dumps([loud], default=str)", "HC801"), ("import math\na = math.floor(loud)", None), ("assert loud", "HC801"), ("a = mydd['missing']", "HC801"),
    ("a = obj.computed", "HC801"), ("a = hasattr(obj, 'computed')", "HC801"), ("a = getattr(obj, 'computed', 1)", "HC801"), ("a = guarded.anything", "HC801"), ("guarded.x = 1", "HC801"),
    ("obj.computed = 1", "HC801"), ("a = obj.method", "HC806"), ("obj.method()", None), ("a = gen_list(gen)", None),
    ("a = list(gen)", "HC803"), ("for x in gen:\n    pass", "HC803"), ("a = next(gen)", "HC803"), ("a = next(it)", "HC803"), ("a, b2 = it", "HC803"), ("a = 1 in gen", "HC803"), ("items.extend(it)", "HC803"),
    ("a = list(zip(it, items))", "HC803"), ("a = sum(it)", "HC803"), ("a = ','.join(it)", "HC803"), ("a = list(map(str, it))", "HC803"), ("a = dict(it)", "HC803"), ("d.update(it)", "HC803"),
    ("a = [x for x in it]", "HC803"), ("a = sorted(it)", "HC803"), ("from itertools import chain\na = list(chain(it))", "HC803"), ("from itertools import chain\na = list(chain.from_iterable([it]))", "HC803"),
    ("decimal_class.x = 1", "HC804"), ("json_module.x = 1", "HC804"), ("function.x = 1", "HC804"), ("a = frozen_hash in {1}", None),
    ("a = handle.read()", None), ("for line in handle:\n    pass", "HC803"), ("try:\n    a = loud == 1\nexcept Exception:\n    a = 2", "HC801"), ("try:\n    a = list(gen)\nfinally:\n    a = 2", "HC803"),
    ("try:\n    a = 1 / 0\nexcept bad_class:\n    a = 1", "HC808"), ("x = 1\nobj.total = 5\na = obj.computed", "HC801"), ("items.append(1)\nd['x'] = 2\ndel d['y']\na = loud[0]", "HC801"),
    ("a = empty_lazy.slow", "HC801"), ("a = lazy.make", "HC806"), ("lazy.make()", None), ("a = hidden == hidden", "HC801"), ("a = [hidden]\nb2 = a == [1]", "HC801"), ("a = proxy.x", None),
    ("a = proxy + 1", "HC801"), ("a = str(proxy)", "HC801"), ("a = d2.pop('gen')\nb2 = list(a)", "HC803"), ("a = d2.get('gen')\nb2 = list(a)", "HC803"), ("a = max([d2['gen']])\nb2 = list(a)", "HC803"),
    ("frozen.v = 5", "HC801"), ("a = clash[5]", "HC801"), ("clash[5] = 1", "HC801"), ("a = 5 in clash", "HC801"), ("a = clash.get(5)", "HC801"), ("a = err.name", None), ("a = zoned == zoned", "HC801"), ("a = str(zoned)", None),
]


# Expressions that clients ask for: they may read, and change nothing.
READ = [
    ("n + 1", 8), ("[x for x in items if x > 1]", [3, 2]), ("len(d), d.get('q', 0)", (3, 0)), ("obj.name + s[0]", "oh"), ("sorted(items)", [1, 2, 3]),
    ("dd['a']", [1]), ("dd.get('zz')", None), ("next(x for x in items)", 3), ("f'{n:>3}'", "  7"), ("list(map(str, items))", ["3", "1", "2"]),
    ("cnt['zz']", 0), ("{**d, 'w': 1}", {"x": 1, "y": 2, "z": 3, "w": 1}), ("items + [1]", [3, 1, 2, 1]), ("getattr(obj, 'nope', 5)", 5),
]
READ_REFUSED = [
    "items.append(1)", "items.pop()", "d.pop('x')", "d.setdefault('l', 1)", "dd['new']", "ids.add(9)", "items.sort()", "d.update(a=1)", "dq.popleft()",
    "[items.pop() for x in items]", "sorted(items, key=lambda x: items.pop())", "obj.computed", "loud == 1", "list(gen)", "[d.pop(k) for k in ['x']]",
]
# What is told of a heal: kind, place, old, new.
TOLD = [
    ("n = 8", [("name", "n", "7", "8")]), ("fresh = 1", [("name", "fresh", "<unset>", "1")]), ("n = n", []),
    ("obj.total = 9; obj.total = 10", [("attribute", "obj.total", "3", "10")]), ("obj.extra = 1", [("attribute", "obj.extra", "<unset>", "1")]),
    ("d['x'] = 5", [("item", "d['x']", "1", "5")]), ("del d['x']", [("item", "d['x']", "1", "<removed>")]), ("items[0] = 9", [("item", "items[0]", "3", "9")]),
    ("items.append(4)", [("call", "items.append(…)", "[3, 1, 2]", "[3, 1, 2, 4]")]), ("for i in range(3):\n    items[i] = 0", [("name", "i", "<unset>", "2"), ("item", "items[0]", "3", "0"), ("item", "items[1]", "1", "0"), ("item", "items[2]", "2", "0")]),
    ("global_one = 1\nitems += [1]", [("name", "global_one", "<unset>", "1"), ("call", "items", "[3, 1, 2]", "[3, 1, 2, 1]")]),
    # What was there is told as it was, whatever happened to it since.
    ("items.append(4)\nitems.append(5)\nitems[0] = 9", [("call", "items.append(…)", "[3, 1, 2]", "[9, 1, 2, 4, 5]"), ("item", "items[0]", "3", "9")]),
    ("rows.append([])\nrows[0].append(7)", [("call", "rows.append(…)", "[[1, None], [None, 4], [1, 2]]", "[[1, None, 7], [None, 4], [1, 2], []]"), ("call", "rows[0].append(…)", "[1, None]", "[1, None, 7]")]),
    ("x = obj.tags\nobj.tags = []\nx.append('u')", [("name", "x", "<unset>", "['t', 'u']"), ("attribute", "obj.tags", "['t']", "[]"), ("call", "x.append(…)", "['t']", "['t', 'u']")]),
    ("d.pop('y')\nd['y'] = 9", [("call", "d.pop(…)", "{'x': 1, 'y': 2, 'z': 3}", "{'x': 1, 'z': 3, 'y': 9}"), ("item", "d['y']", "<unset>", "9")]),
    ("d.update(w=4)\nd.clear()", [("call", "d.update(…)", "{'x': 1, 'y': 2, 'z': 3}", "{}")]),
    ("items += [4]\nitems.sort()", [("call", "items", "[3, 1, 2]", "[1, 2, 3, 4]")]),
    ("password = 'hunter2hunter2'", [("name", "password", "<unset>", "<redacted>")]),
]


def refusal_state():
    made = state()
    made.update(
        loud=Loud(), guarded=Guarded(), gen=(x for x in [1]), it=iter([1, 2]), strange=STRANGE, bad_class=KeyboardInterrupt,
        decimal_class=decimal.Decimal, json_module=json, function=load, slow=re.compile("(a+)+$"), form="%999999999d",
        mydd=collections.defaultdict(lambda: 1 / 0), handle=open(__file__), clash=CLASH(), zoned=ZONED,
        empty_lazy=Lazy(), hidden=Frozen(Loud()), proxy=weakref.proxy(KEPT), d2={"gen": (x for x in [1])},
    )
    return made


class StrangeMeta(type):
    def __instancecheck__(cls, other):
        raise AssertionError("code of the program ran")

    __subclasscheck__ = __instancecheck__


class STRANGE(metaclass=StrangeMeta):
    pass


KEPT = Loud()


class SameHash:
    def __hash__(self):
        return 5

    def __eq__(self, other):
        raise AssertionError("code of the program ran")


class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        raise AssertionError("code of the program ran")

    tzname = dst = utcoffset


ZONED = datetime.datetime(2024, 1, 1, tzinfo=Zone())


def CLASH():
    return {SameHash(): 1}


class Generator:
    """Small programs over the state, of all node kinds that can meet by chance."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def atom(self):
        return self.pick(
            "n", "m", "f", "s", "none", "t", "items", "words", "mixed", "d", "e", "tup", "ids", "rows", "nested", "empty",
            "0", "1", "2", "-1", "'a'", "''", "2.5", "None", "True", "[]", "()", "{}", "obj.total", "obj.tags", "dd", "cnt",
            "dec", "pair", "b", "r", "x", "od", "dq", "point", "mylist",
        )

    def calm(self):
        """An expression that changes no list: while CPython sorts a list, the list is empty, and ours is not."""
        while re.search(r"append|pop", text := self.expr()):
            pass
        return text

    def expr(self):
        self.depth += 1
        try:
            if self.depth > 4 or self.random.random() < 0.25:
                return self.atom()
            e = self.expr
            return self.pick(
                lambda: f"({e()} {self.pick('+', '-', '*', '/', '//', '%', '&', '|', '^')} {e()})",
                lambda: f"({e()} {self.pick('==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'is', 'is not')} {e()})",
                lambda: f"({e()} {self.pick('and', 'or')} {e()})",
                lambda: f"({e()} {self.pick('==', '<', '<=', 'in', 'is not')} {e()} {self.pick('!=', '>', '>=', 'not in', 'is')} {e()})",
                lambda: f"[({e()}, items.append(x), len(items)) for x in {self.pick('words', 'tup', 'ids')}]",
                lambda: f"[x for x in {e()} for y in {e()} if {e()}]", lambda: f"({self.pick('dq.pop', 'items.pop', 'words.pop')}(), {e()})",
                lambda: f"[*{e()}, {e()}][{self.pick('::2', '1:', '::-1', ':-1', '-1')}]", lambda: f"{{**d, {e()}: {e()}}}",
                lambda: f"f'{{{self.atom()}!{self.pick('r', 's', 'a')}:>{self.pick('3', '12')}}}{{{self.pick('n', 'f', 'big')}:{self.pick(',', '.2f', '08', '+')}}}'",
                lambda: f"({self.pick('not ', '-', '+', '~')}{e()})",
                lambda: f"({e()} if {e()} else {e()})",
                lambda: f"[{e()}, *{e()}]", lambda: f"({e()}, {e()})", lambda: f"{{{e()}: {e()}}}", lambda: f"{{{e()}, {e()}}}",
                lambda: f"{self.atom()}[{e()}]", lambda: f"{self.atom()}[{e()}:{e()}]", lambda: f"[x for x in {e()} if {e()}]",
                lambda: f"{{x: {e()} for x in {e()}}}", lambda: f"f'{{{self.atom()}!r}}-{{{self.atom()}}}'",
                lambda: f"{self.pick('len', 'str', 'int', 'float', 'bool', 'list', 'tuple', 'set', 'sorted', 'sum', 'max', 'min', 'abs', 'repr', 'any', 'all', 'dict', 'type', 'round')}({e()})",
                lambda: f"{self.pick('max', 'min', 'zip', 'isinstance', 'divmod', 'range')}({e()}, {e()})",
                lambda: f"{self.atom()}.{self.pick('get', 'index', 'count', 'join', 'split', 'startswith', 'find', 'union')}({e()})",
                lambda: f"{self.atom()}.{self.pick('upper', 'strip', 'copy', 'keys', 'values', 'items', 'title')}()",
                lambda: f"sorted({e()}, key=lambda x: {e()})", lambda: f"list({self.pick('map', 'filter')}({self.pick('str', 'int', 'len', 'bool')}, {e()}))",
            )()
        finally:
            self.depth -= 1

    def statement(self, level=0):
        pad = "    " * level
        simple = [
            lambda: f"{self.pick('a', 'x', 'n', 's', 'items')} = {self.expr()}",
            lambda: f"{self.pick('n', 'f', 's', 'items', 'tup', 'x', 'obj.total', 'd[s]', 'items[0]')} {self.pick('+', '-', '*', '|')}= {self.expr()}",
            lambda: f"{self.pick('a, x', 'a, *x', '*a, x', 'a, (x, *n)', '[a, *x]', 'obj.total, d[s]', 'a, *obj.tags')} = {self.expr()}",
            lambda: f"{self.pick('items', 'words', 'mylist')}[{self.pick(':1', '1:', '::2', '5:', ':')}] {self.pick('=', '=', '+=')} {self.expr()}",
            lambda: f"a = x = {self.expr()}", lambda: f"a: int = {self.expr()}",
            lambda: f"{self.pick('rows[items.pop()]', 'd[words.pop()]', 'obj.inner.v')} {self.pick('+=', '=')} {self.expr()}",
            lambda: f"{self.pick('d', 'items', 'nested', 'rows[0]', 'e', 'dd', 'od')}[{self.expr()}] = {self.expr()}",
            lambda: f"del {self.pick('d', 'items', 'e', 'od', 'dq')}[{self.expr()}]",
            lambda: f"obj.{self.pick('total', 'fresh', 'tags')} = {self.expr()}",
            lambda: f"{self.pick('items', 'words', 'obj.tags', 'dq', 'empty')}.{self.pick('append', 'extend', 'remove', 'pop')}({self.expr()})",
            lambda: f"{self.pick('d', 'e', 'cnt', 'od')}.{self.pick('update', 'pop', 'setdefault')}({self.expr()})",
            lambda: f"ids.{self.pick('add', 'discard', 'update', 'remove')}({self.expr()})",
            lambda: f"items.sort(key=lambda x: {self.calm()})", lambda: f"assert {self.expr()}",
        ]
        if level > 1 or self.random.random() < 0.6:
            return pad + self.random.choice(simple)()
        block = lambda: "\n".join(self.statement(level + 1) for _ in range(self.random.randint(1, 2)))
        return self.pick(
            lambda: f"{pad}if {self.expr()}:\n{block()}\n{pad}else:\n{block()}",
            lambda: f"{pad}for x in {self.expr()}:\n{block()}",
            lambda: f"{pad}for x in {self.expr()}:\n{block()}\n{pad}else:\n{block()}",
            lambda: f"{pad}for x in {self.expr()}:\n{block()}\n{pad}    {self.pick('break', 'continue')}",
            lambda: f"{pad}while {self.expr()}:\n{block()}\n{pad}    break",
            lambda: f"{pad}try:\n{block()}\n{pad}except {self.pick('Exception', 'TypeError', 'LookupError')} as caught:\n{block()}\n"
                    f"{pad}    a = caught.args\n{pad}else:\n{block()}\n{pad}finally:\n{block()}",
            lambda: f"{pad}try:\n{block()}\n{pad}except {self.pick('Exception', 'TypeError', '(KeyError, IndexError)', 'ValueError')}:\n{block()}",
            lambda: f"{pad}try:\n{block()}\n{pad}finally:\n{block()}",
        )()

    def program(self):
        return "\n".join(self.statement() for _ in range(self.random.randint(1, 4)))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("extension")
    options.add_argument("--accept", help="the corpus of accepted heals, as JSON lines")
    options.add_argument("--generated", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--states", type=int, default=40)
    options = options.parse_args()
    started = time.perf_counter()
    tester = Tester(load(options.extension))

    programs = [line.replace("\\n", "\n") for line in PROGRAMS.strip("\n").split("\n")]
    for code in programs:
        if any(mark in code for mark in VIOLATIONS):
            continue
        tester.compare("program", code, Maker(state))
    print(f"{len(programs)} programs compared")
    for code, flow, value in RESUME:
        made = Maker(state).again()
        answer, _ = by_probe_function(tester.runtime._probe_run, code, made, names_of(code))
        if (answer.get("flow"), answer.get("value")) != (flow, value):
            tester.fail("resume action", code, answer)
    for code, rule in LIMITS:
        tester.expect(code, "limit", rule)
    for code, rule in REFUSED:
        if rule is not None:
            tester.expect(code, "refused", rule)
    for code, value in READ:
        made = Maker(refusal_state).again()
        answer, got = tester.runtime._probe_evaluate(code, frame_of(made))
        if got != value:
            tester.fail("expression", code, (answer, got))
        tester.unchanged("expression", code, made, set())
    for code in READ_REFUSED:
        made = Maker(refusal_state).again()
        answer, got = tester.runtime._probe_evaluate(code, frame_of(made))
        if json.loads(answer).get("kind") != "refused":
            tester.fail("expression that writes", code, answer)
        tester.unchanged("expression that writes", code, made, set())
    for code, told in TOLD:
        answer, _ = by_probe_function(tester.runtime._probe_run, code, Maker(state).again(), names_of(code))
        found = [tuple(change[key] for key in ("kind", "place", "old", "new")) for change in answer["changes"]]
        if found != told:
            tester.fail("told", code, found)
    tester.in_thread()
    tester.on_small_stack()
    if options.accept:
        n_rows = 0
        for line in open(options.accept):
            row = json.loads(line)
            if in_loop(row["code"])[1]:
                continue
            n_rows += 1
            for make in states_for(row["code"], options.states):
                tester.compare(row["id"], row["code"], Maker(make), strict=row["code"].count("range(") == 0)
        print(f"{n_rows} rows of the corpus compared")
    n_generated = n_checked = 0
    while n_checked < options.generated and n_generated < options.generated * 5:
        code = Generator(options.seed * 1_000_003 + n_generated).program()
        n_generated += 1
        answer, _ = by_probe_module(tester.runtime._probe_run, code, Maker(state).again())
        if answer["outcome"] == "violations":
            continue
        n_checked += 1
        tester.compare("generated", code, Maker(state), strict=False)
    print(f"{n_checked} generated programs compared; stopped by rule: {dict(tester.refused)}")
    print(f"{tester.n_runs} runs on Python {sys.version.split()[0]} in {time.perf_counter() - started:.1f} s, {len(tester.failures)} differences")
    sys.exit(bool(tester.failures))


if __name__ == "__main__":
    main()
