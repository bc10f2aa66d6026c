"""Calls functions of a program from healing code: those that change nothing run, all others are refused.

    python purity.py EXTENSION

Each call is made on a fresh copy of purity_program.py, once compiled plainly and once with our handlers in it. What
runs must give what CPython gives; whatever happens, the state of the program must be as it was. Prints one line a
difference and a summary; exit 0 where there is none.
"""
import importlib.machinery
import importlib.util
import json
import logging
import pathlib
import sys
import types

GUARD = json.dumps({
    "protected": [{"op": "purity_program.charge"}],
    "pure": [{"op": "purity_program.trusted_by_configuration"}],
})
HERE = pathlib.Path(__file__).parent

ALLOWED = """
hash_of(price)
price == same
price == cheap
price != cheap
price == 3
price < cheap
sorted([price, cheap])
max(price, cheap)
price + cheap
price * 2
-price
bool(price)
not price
str(price)
repr(price)
f"{price:.1f}"
[price, cheap] == [same, cheap]
cheap in [price, same]
{price: 1}[same]
{price, same, cheap} == {cheap, price}
price.cents
Money.zero().amount
Money(3).amount
Money.parse("4 USD")
Money.parse("x")
cells[key]
cells[ColumnKey("a")]
cells[ColumnKey("zz")]
cells.get(other_key)
other_key in cells
key in cells
key == "a"
order.total()
order.expensive(3)
order.expensive(limit=6, strict=True)
order.as_dict()
Order(5)
Order(1, 2.0, [1])
Order()
order == Order(1, 2.0, [1, 2])
repr(order)
Point(1)
point.moved(dx=4)
Point(1, 2) == point
hash_of(point)
point < Point(2)
len(point)
Checked(4).double
Checked(-1)
Color(2)
Color["RED"]
Color(7)
Color.RED.pretty
Color.default()
Pair(1, 2)
pair._replace(first=9)
pair._asdict()
pair.first
typed.span()
Typed(2)
derived.describe()
derived.parts()
derived["k"]
derived["missing"]
"k" in derived
long_dict["a"]
len(derived)
list(derived)
Derived("n").extra
fallback.color
fallback.missing
share.percent
share.hidden()
square.area()
area_of(4)
Shape()
AppError(4).code
convert(10, "USD")
convert(1, "X")
clamp(99)
clamp(value=-1)
mean([1, 2, 3])
mean([])
words("a b A")
safe("7")
safe("x", default=1)
factorial(5)
add_five(3)
make_adder(1)(2)
counted([1, 2, 3])
flatten([[1, None], [2]])
spread(1, 2, 3, a=4)
through(1, b=2)
doubled(4)
doubled(value=4)
first_match("a", ["b", "ab"])
while_loop(6)
fail(3)
caught(3)
own_copy([3, 1, 2])
any_big(orders)
marked_safe()
clamp()
nested_any([[0, 1], [0]])
own_table([("a", 1), ("b", 2), ("a", 3)])
own_object(1)
quotient(1, 0)
chained(2)
color_of("green")
lengths(["ab", "", "c"])
nothing()
""".strip().splitlines()
# `make_adder(1)(2)` is a computed callee: the checker refuses it before it runs.
ALLOWED.remove("make_adder(1)(2)")

REFUSED = """
impure.set_value() | writes `.value`
impure.grow() | changes a `list` by `append`
impure.alias() | changes a `list` by `append`
impure.grow_in_place() | changes a `list` in place
impure.put() | writes an item
impure.put_default() | changes a `dict` by `setdefault`
impure.remove() | deletes an item
impure.forget() | deletes the attribute
impure.by_setattr() | writes `.value`
impure.by_dict() | writes an item
impure.by_dict_update() | changes a `dict` by `update`
impure.by_vars() | calls `vars()`
impure.by_object() | writes `.value`
impure.by_delattr() | calls `delattr()`
impure.bump() | writes `.value`
impure.count_up() | writes `.count`
impure.register() | changes a `list` by `append`
impure.load | writes `.loaded`
impure.slow | `cached_property.__get__()`
impure.cached() | calls
impure.reinit() | writes `.value`
impure.with_super() | writes `.value`
impure.sorted_items() | changes a `list` by `sort`
impure.slice_items() | writes an item
impure.swap() | writes
Registered() | changes a `list` by `append`
CountedNew() | changes a `list` by `append`
Watched() | changes a `list` by `append`
Finalised() | __del__
WithMeta() | changes a `list` by `append`
hash_of(loud) | writes `.n`
loud == 1 | changes a `list`
1 == loud | changes a `list`
[loud] == [1] | changes a `list`
bool(loud) | changes a `list`
len(loud) | changes a `list`
repr(loud) | changes a `list`
str(loud) | changes a `list`
f"{loud}" | changes a `list`
list(loud) | changes a `list`
1 in loud | changes a `list`
loud[0] | changes a `list`
loud + 1 | changes a `list`
1 + loud | changes a `list`
sorted([loud, loud]) | changes a `list`
[1][loud] | changes a `list`
{loud: 1} | writes `.n`
holder.is_same(1) | changes a `list`
holder.is_true() | changes a `list`
holder.size() | changes a `list`
holder.text() | changes a `list`
holder.first() | changes a `list`
holder.each() | changes a `list`
holder.total() | changes a `list`
holder.key() | writes `.n`
holder.ordered() | changes a `list`
holder.call() | changes a `list`
loud_attr.x | changes a `list`
loud_access.x | changes a `list`
with_descriptor.field | changes a `list`
new_in_dict() | writes `.n`
new_compared() | changes a `list`
late_generator() | while a generator is open
kept_generator() | keeps a generator
generator_over_iterator() | generator over an iterator
late_map() | while a generator is open
group() | group of exceptions
identity_of_new() | calls `id()`
own_super(derived) |
class_attribute(derived) | writes `.label`
default_of(mutable_default) | HC801
closure_of(counter) | HC801
written_through_memory(order.lines) | memoryview
by_operator(order.lines) | imports
by_unbound(order.lines) | changes a `list` by `append`
by_method_object(order.lines) | changes a `list` by `append`
by_dunder(order.lines) | HC801
by_iadd(order.lines) | HC801
by_star([1]) | changes a `list` by `append`
by_walrus() | changes a `list` by `append`
by_match(CACHE) | `match`
by_del(order.lines) | deletes an item
by_assert(1) | changes a `list` by `append`
by_condition(1) | changes a `list` by `append`
by_slice(1) | changes a `list` by `append`
by_format(1) | changes a `list` by `append`
by_sort(order.lines) | changes a `list` by `sort`
write_global() | writes the global `COUNT`
append_global(1) | changes a `list` by `append`
item_of_global() | writes an item
pop_global() | changes a `list` by `pop`
mutable_default(1) | changes a `list` by `append`
grow_argument(order.lines) | changes a `list` by `append`
change_argument(order.lines) | writes an item
attribute_of_argument(order) | writes `.price`
deep(order) | `bottom()` at purity_program.py
counter() | writes the outer variable `n`
cached_function(1) | calls
cached_too(1) | calls
remembered(1) | writes an item
generate() | generator
read_generator() | generator
coroutine() | generator
logs() |
prints() | prints
opens() | calls `open()`
runs() |
system() | calls `system()`
environment() |
imports() | imports
evaluates() | calls `eval()`
executes() | calls `exec()`
with_globals() | calls `globals()`
with_lock() | `with`
suppresses() |
takes_next() | iterator
reads_iterator() | cannot be read
loops_iterator() | cannot be read
raises_kept() | exists already
never_ends() | steps
recurses(0) | calls of the program in one another
huge() | characters
power() | bits
random_number() | calls
now() | calls `time()`
sleeps() | calls `sleep()`
sorts_by_loud([1]) | changes a `list`
maps([1]) | changes a `list`
partial_call() | calls
method_as_key([1]) | hands a function
comprehension([1]) | changes a `list`
in_handler("x") | changes a `list`
in_finally(1) | changes a `list`
in_default_branch(1) | changes a `dict`
makes_class() |
makes_type() | makes a class
checks(1) | decides itself
weak(order) |
threads() |
exits() | calls `exit()`
increments_default() | defaultdict
dumps_loud(order) | hands a function
replaced(order) | writes `.__class__`
counts() | iterator
charge(1) | HG201
refund(1) | HG201
marked_never() | code of the program
""".strip().splitlines()


# Heals whose writes change what the program's special methods give, and what they then give.
HEALS = [
    ("cells[other_key] = 5", "[cells[ColumnKey('b')], cells[key], len(cells)]"),
    ("for n in range(3):\n    cells.setdefault(other_key, n)", "cells[other_key]"),
    ("x = key in cells\nkey.value = 'q'", "[key in {other_key: 1}, ColumnKey('q') == key]"),
    ("x = other_key in cells\nother_key.value = 'a'", "[other_key in cells, cells[other_key]]"),
    ("x = [salted in by_salt, salted in by_salt]\nsalted.values.append(3)\nsalted.values[0] = 2", "salted in by_salt"),
    ("x = salted in by_salt\nsalted.values[0] = 2", "[salted in by_salt, by_salt[salted]]"),
    ("del cells[key]\ncells[other_key] = 7", "[key in cells, other_key in cells]"),
    ("cells.pop(key)\ncells[ColumnKey('a')] = 8", "cells[key]"),
    ("price.amount = 1", "[price == cheap, {cheap: 2}[price]]"),
    ("order.lines.append(4)", "order.total()"),
    ("orders.append(Order(9, 1.0, [50]))", "[any_big(orders), orders[-1].number]"),
    ("seen = {Money(1): 1, Money(2): 2}\nseen[Money(2)] += 5", "[seen[Money(2)], len(seen)]"),
    ("made = Order(3)\nmade.price = 4.0\nmade.lines.append(2)", "made.total()"),
]


def load(path):
    loader = importlib.machinery.ExtensionFileLoader("healmcp_runtime", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("healmcp_runtime", loader))
    loader.exec_module(module)
    return module


def fresh(code):
    module = types.ModuleType("purity_program")
    module.__file__ = str(HERE / "purity_program.py")
    sys.modules["purity_program"] = module
    exec(code, module.__dict__)
    return module


def fingerprint(value, seen):
    """A text of all that hangs on a value, read past the program's own methods."""
    kind = type(value)
    if kind in (int, str, bytes) and value.__sizeof__() > 1000:
        return f"{kind.__name__} {hash(value)}"
    if kind in (int, float, str, bool, type(None), bytes):
        return repr(value)
    if id(value) in seen:
        return f"#{seen[id(value)][0]}"
    seen[id(value)] = len(seen), value
    inner = lambda values: ",".join(fingerprint(item, seen) for item in values)
    if kind in (list, tuple) and len(value) > 10_000:
        # Too long to tell: the items by their identities, which a rollback keeps.
        return f"{kind.__name__} {hash(tuple(map(id, value)))}"
    if issubclass(kind, dict):
        return "{" + ";".join(inner(pair) for pair in list(dict.items(value))) + "}" + attributes(value, seen)
    if issubclass(kind, (list, tuple)):
        base = list if issubclass(kind, list) else tuple
        return f"{kind.__name__}[{inner(list(base.__iter__(value)))}]"
    if issubclass(kind, type):
        own = {name: item for name, item in type.__dict__["__dict__"].__get__(value).items() if name != "__doc__"}
        return value.__name__ + (inner(own.values()) if own.get("__module__") == "purity_program" else "")
    if kind is types.FunctionType:
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not None]
        is_own = value.__module__ == "purity_program"
        return value.__name__ + (inner([value.__defaults__, value.__dict__, cells]) if is_own else "")
    if kind.__module__ == "purity_program" or issubclass(kind, Exception):
        return kind.__name__ + attributes(value, seen)
    if kind.__name__ in ("property", "cached_property", "classmethod", "staticmethod"):
        return kind.__name__
    if kind.__name__ == "_lru_cache_wrapper":
        return repr(value.cache_info())
    if kind.__name__ == "list_iterator":
        return str(value.__length_hint__())
    if kind.__name__ == "count":
        return str(value)
    return kind.__name__


def attributes(value, seen):
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    slots = [name for base in type.__dict__["__mro__"].__get__(type(value)) for name in base.__dict__.get("__slots__", ())]
    found = []
    for name in slots:
        if not name.startswith("__"):
            try:
                found.append(object.__getattribute__(value, name))
            except AttributeError:
                found.append("unset")
    return "(" + ";".join(f"{name}={fingerprint(item, seen)}" for name, item in own.items()) + ";" + ",".join(
        fingerprint(item, seen) for item in found) + ")"


def state(module):
    seen = {}
    own = {name: value for name, value in module.__dict__.items() if name != "__builtins__"}
    return fingerprint(own, seen) + repr(sorted(sys.modules)) + repr(logging.root.handlers)


def difference(before, after):
    at = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), min(len(before), len(after)))
    return f"{before[max(0, at - 60):at + 60]} | {after[max(0, at - 60):at + 60]}"


def cpython(module, expression):
    try:
        return "value", repr(eval(expression, module.__dict__))
    except Exception as error:
        return "raised", type(error).__name__


def main():
    runtime = load(sys.argv[1])
    source = (HERE / "purity_program.py").read_text()
    name = str(HERE / "purity_program.py")
    codes = {"plain": compile(source, name, "exec")}
    codes["wrapped"] = runtime._probe_compile(source, name)
    failures = n_cases = 0

    def fault(how, expression, what):
        nonlocal failures
        failures += 1
        print(f"{how}: {expression}: {what}")

    for how, code in codes.items():
        for expression in ALLOWED:
            n_cases += 1
            module = fresh(code)
            expected = cpython(fresh(code), expression)
            frame = next(keep := module.host())
            before = state(module)
            answer = json.loads(runtime._probe_run(f"return {expression}", frame, "rollback", False, GUARD))
            if answer["outcome"] == "ran":
                given = "value", answer["value"]
            elif answer.get("kind") == "raised":
                given = "raised", answer["exception"]
            else:
                given = answer
            if given != expected:
                fault(how, expression, f"{given} instead of {expected}")
            if (after := state(module)) != before:
                fault(how, expression, f"changed the state: {difference(before, after)}")
        for line in REFUSED:
            n_cases += 1
            expression, _, part = (text.strip() for text in line.partition("|"))
            module = fresh(code)
            frame = next(keep := module.host())
            before = state(module)
            answer = json.loads(runtime._probe_run(f"return {expression}", frame, "rollback", False, GUARD))
            text = json.dumps(answer, ensure_ascii=False)
            if answer["outcome"] != "error" or answer["kind"] not in ("refused", "limit"):
                fault(how, expression, f"was not refused: {answer}")
            elif not answer["rule"].startswith(("HC801", "HC803", "HC807", "HC9", "HG201")):
                fault(how, expression, f"refused by another rule: {answer}")
            elif part.replace('"', '\\"') not in text:
                fault(how, expression, f"refused otherwise: {answer['message']}")
            if (after := state(module)) != before:
                fault(how, expression, f"changed the state: {difference(before, after)}")
        for code_of_heal, expression in HEALS:
            n_cases += 1
            module, other = fresh(code), fresh(code)
            frame = next(keep := module.host())
            before = state(module)
            exec(code_of_heal, other.__dict__)
            expected = repr(eval(expression, other.__dict__))
            heal = f"{code_of_heal}\nreturn {expression}"
            answer = json.loads(runtime._probe_run(heal, frame, "rollback", False, GUARD))
            if answer.get("value") != expected:
                fault(how, heal, f"{answer} instead of {expected}")
            if (after := state(module)) != before:
                fault(how, heal, f"changed the state: {difference(before, after)}")
    print(f"{n_cases} calls, {failures} faults, Python {sys.version_info.major}.{sys.version_info.minor}, {', '.join(codes)}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
