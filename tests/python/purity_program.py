"""A program whose functions a heal may call, and others that it may not: see purity.py."""
import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import json
import logging
import math
import os
import random
import re
import subprocess
import sys
import threading
import time
import typing
import weakref


def host():
    """Gives a frame of this module."""
    yield sys._getframe()


# What changes nothing

class Money:
    __slots__ = ("amount", "currency")

    def __init__(self, amount, currency="EUR"):
        self.amount = amount
        self.currency = currency

    def __hash__(self):
        return hash((self.amount, self.currency))

    def __eq__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount == other.amount and self.currency == other.currency

    def __lt__(self, other):
        return self.amount < other.amount

    def __add__(self, other):
        return Money(self.amount + other.amount, self.currency)

    def __mul__(self, factor):
        return Money(self.amount * factor, self.currency)

    def __neg__(self):
        return Money(-self.amount, self.currency)

    def __bool__(self):
        return self.amount != 0

    def __repr__(self):
        return f"{self.amount:.2f} {self.currency}"

    def __format__(self, spec):
        return format(self.amount, spec) + " " + self.currency

    @property
    def cents(self):
        return int(self.amount * 100)

    @classmethod
    def zero(cls):
        return cls(0)

    @staticmethod
    def parse(text):
        amount, _, currency = text.partition(" ")
        try:
            return Money(float(amount), currency or "EUR")
        except ValueError as error:
            raise ValueError(f"no money: {text}") from error


class StringKey:
    """As textual's keys: compared by a text, or by identity."""

    def __init__(self, value=None):
        self.value = value

    def __hash__(self):
        return hash(self.value or id(self))

    def __eq__(self, other):
        if isinstance(other, str):
            return self.value == other
        elif isinstance(other, StringKey):
            if self.value is not None and other.value is not None:
                return self.value == other.value
            else:
                return hash(self) == hash(other)
        else:
            return NotImplemented


class ColumnKey(StringKey):
    pass


@dataclasses.dataclass
class Order:
    number: int
    price: float = 1.0
    lines: list = dataclasses.field(default_factory=list)

    def total(self):
        return sum(line * self.price for line in self.lines)

    def expensive(self, limit=10, *, strict=False):
        return self.total() > limit if strict else self.total() >= limit

    def as_dict(self):
        result = {}
        for name in ("number", "price"):
            result[name] = getattr(self, name)
        result["total"] = self.total()
        return result


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0

    def moved(self, dx=0, dy=0):
        return Point(self.x + dx, self.y + dy)

    def __len__(self):
        return 2


@dataclasses.dataclass
class Checked:
    value: int
    double: int = dataclasses.field(init=False)

    def __post_init__(self):
        if self.value < 0:
            raise ValueError("negative")
        self.double = self.value * 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def pretty(self):
        return self.name.title()

    @classmethod
    def default(cls):
        return cls.RED


Pair = collections.namedtuple("Pair", "first second")


class Typed(typing.NamedTuple):
    left: int
    right: int = 5

    def span(self):
        return self.right - self.left


class Base:
    label = "base"

    def __init__(self, name):
        self.name = name

    def describe(self):
        return f"{type(self).__name__} {self.name}"

    def parts(self):
        return [self.label]


class Derived(Base):
    label = "derived"

    def __init__(self, name, extra=None):
        super().__init__(name)
        self.extra = extra or {}

    def parts(self):
        return super().parts() + [self.name]

    def __getitem__(self, key):
        return self.extra[key]

    def __contains__(self, key):
        return key in self.extra

    def __len__(self):
        return len(self.extra)

    def __iter__(self):
        return iter(list(self.extra))


class Fallback:
    def __init__(self, values):
        self._values = dict(values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.__dict__["_values"][name]


class Percent:
    """A descriptor that only computes."""

    def __get__(self, instance, owner):
        return instance.ratio * 100 if instance is not None else self


class Share:
    percent = Percent()

    def __init__(self, ratio):
        self.ratio = ratio
        self.__hidden = 1

    def hidden(self):
        return self.__hidden


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side ** 2


class AppError(Exception):
    def __init__(self, code, detail=""):
        super().__init__(f"{code}: {detail}")
        self.code = code


RATES = {"EUR": 1.0, "USD": 0.5}
SCALE = 3


def convert(amount, currency):
    if currency not in RATES:
        return None
    return amount * RATES[currency]


def clamp(value, low=0, high=10):
    return max(low, min(value, high))


def mean(values):
    values = list(values)
    if not values:
        return 0.0
    return math.fsum(values) / len(values)


def words(text):
    counts = {}
    for word in text.split():
        counts.setdefault(word.lower(), []).append(word)
    return {key: len(found) for key, found in sorted(counts.items(), key=lambda item: item[0])}


def safe(value, default=None):
    try:
        return int(value)
    except (TypeError, ValueError):
        return default
    finally:
        value = None


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def make_adder(n):
    def add(m):
        return n + m
    return add


add_five = make_adder(5)


def counted(values):
    total = 0

    def add(value):
        nonlocal total
        total += value
    for value in values:
        add(value)
    return total


def flatten(rows):
    return [cell for row in rows for cell in row if cell is not None]


def spread(*args, **kwargs):
    first, *rest = args
    return first, rest, {**kwargs, "n": len(args)}


def through(*args, **kwargs):
    return spread(*args, **kwargs)


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@traced
def doubled(value):
    return value * 2


def first_match(pattern, texts):
    return next((text for text in texts if re.match("a", text)), None)


def while_loop(n):
    steps = []
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    return steps


def fail(code):
    raise AppError(code, detail="bad")


def caught(code):
    try:
        fail(code)
    except AppError as error:
        return error.code, str(error)


def own_copy(values):
    mine = list(values)
    mine.sort(reverse=True)
    mine[0] = "top"
    mine.extend([1])
    mine += [2]
    return mine


def any_big(orders):
    return any(order.total() > 5 for order in orders)


def hash_of(value):
    return hash(value)


def area_of(side):
    return Square(side).area()


def lengths(values):
    return list(map(len, filter(None, values)))


def nothing():
    pass


def nested_any(rows):
    return [any(cell for cell in row) for row in rows]


def own_table(pairs):
    table = {}
    for name, value in pairs:
        table.setdefault(name, []).append(value)
    table["all"] = [value for values in table.values() for value in values]
    return table


def own_object(value):
    share = Share(value)
    share.ratio *= 2
    setattr(share, "note", "new")
    return share.percent, share.note


def quotient(left, right):
    try:
        return left / right
    except ZeroDivisionError:
        return None


def chained(code):
    try:
        fail(code)
    except AppError:
        raise KeyError(code) from None


def trusted_by_configuration():
    SEEN.append(1)
    return len(SEEN)


def color_of(text):
    return {member.name.lower(): member for member in Color}.get(text)


class LongDict(dict):
    def __len__(self):
        SEEN.append(1)
        return 0


class Salted:
    """Its hash follows from a list."""

    def __init__(self, values):
        self.values = values

    def __hash__(self):
        return hash(tuple(self.values))

    def __eq__(self, other):
        return isinstance(other, Salted) and self.values == other.values


# What changes something, or may

SEEN = []
CACHE = {}
COUNT = 0
LOG = logging.getLogger("program")
LOCK = threading.Lock()
ITERATOR = iter([1, 2, 3])
ERROR = ValueError("kept")


class Impure:
    instances = []
    count = 0

    def __init__(self, value=0):
        self.value = value
        self.items = [1]
        self.table = {}
        self.loaded = None

    def set_value(self):
        self.value = 1

    def grow(self):
        self.items.append(2)

    def alias(self):
        items = self.items
        items.append(2)
        return items

    def grow_in_place(self):
        items = self.items
        items += [3]
        return items

    def put(self):
        self.table["a"] = 1

    def put_default(self):
        return self.table.setdefault("a", 1)

    def remove(self):
        del self.items[0]

    def forget(self):
        del self.value

    def by_setattr(self):
        setattr(self, "value", 2)

    def by_dict(self):
        self.__dict__["value"] = 2

    def by_dict_update(self):
        self.__dict__.update(value=2)

    def by_vars(self):
        vars(self)["value"] = 2

    def by_object(self):
        object.__setattr__(self, "value", 2)

    def by_delattr(self):
        delattr(self, "value")

    def bump(self):
        self.value += 1
        return self.value

    def count_up(self):
        type(self).count += 1

    def register(self):
        Impure.instances.append(self)

    @property
    def load(self):
        if self.loaded is None:
            self.loaded = 1
        return self.loaded

    @functools.cached_property
    def slow(self):
        return 1

    @functools.lru_cache
    def cached(self):
        return 1

    def reinit(self):
        self.__init__(5)

    def with_super(self):
        super().__setattr__("value", 3)

    def sorted_items(self):
        self.items.sort()
        return self.items

    def slice_items(self):
        self.items[:] = []

    def swap(self):
        self.value, self.loaded = self.loaded, self.value


class Registered:
    def __init__(self):
        SEEN.append(self)


class CountedNew:
    def __new__(cls):
        SEEN.append(cls)
        return object.__new__(cls)


class Watched:
    def __setattr__(self, name, value):
        SEEN.append(name)
        object.__setattr__(self, name, value)

    def __init__(self):
        self.x = 1


class Finalised:
    def __del__(self):
        SEEN.append("gone")


class Meta(type):
    def __call__(cls, *args):
        SEEN.append(cls)
        return type.__call__(cls, *args)

    def __instancecheck__(cls, instance):
        SEEN.append(instance)
        return True


class WithMeta(metaclass=Meta):
    pass


class CountingHash:
    def __init__(self):
        self.n = 0

    def __hash__(self):
        self.n += 1
        return 1

    def __eq__(self, other):
        SEEN.append(other)
        return True

    def __bool__(self):
        SEEN.append(1)
        return True

    def __len__(self):
        SEEN.append(1)
        return 1

    def __repr__(self):
        SEEN.append(1)
        return "x"

    def __str__(self):
        SEEN.append(1)
        return "x"

    def __iter__(self):
        SEEN.append(1)
        return iter([])

    def __contains__(self, item):
        SEEN.append(item)
        return True

    def __getitem__(self, item):
        SEEN.append(item)
        return 1

    def __add__(self, other):
        SEEN.append(other)
        return 1

    __radd__ = __add__

    def __lt__(self, other):
        SEEN.append(other)
        return True

    def __index__(self):
        SEEN.append(1)
        return 0

    def __call__(self):
        SEEN.append(1)


class Holder:
    def __init__(self, inner):
        self.inner = inner

    def is_same(self, other):
        return self.inner == other

    def is_true(self):
        return bool(self.inner)

    def size(self):
        return len(self.inner)

    def text(self):
        return f"{self.inner}"

    def first(self):
        return self.inner[0]

    def each(self):
        return [x for x in self.inner]

    def total(self):
        return self.inner + 1

    def key(self):
        return {self.inner: 1}

    def ordered(self):
        return sorted([self.inner, self.inner])

    def call(self):
        return self.inner()


class LoudAttr:
    def __getattr__(self, name):
        SEEN.append(name)
        return 1


class LoudAccess:
    def __getattribute__(self, name):
        SEEN.append(name)
        return 1


class LoudDescriptor:
    def __get__(self, instance, owner):
        SEEN.append(instance)
        return 1

    def __set__(self, instance, value):
        SEEN.append(value)


class WithDescriptor:
    field = LoudDescriptor()


class OwnClass:
    @property
    def __class__(self):
        SEEN.append(1)
        return int


def new_in_dict():
    return {CountingHash(): 1}


def new_compared():
    return CountingHash() == CountingHash()


def late_generator():
    values = [1]
    generator = (value for value in values)
    values.append(2)
    return list(generator)


def kept_generator():
    return [(value for value in [1])]


def generator_over_iterator():
    iterator = iter([1, 2, 3])
    generator = (value for value in iterator)
    next(iterator)
    return list(generator)


def late_map():
    values = [1]
    numbers = map(abs, values)
    values.append(2)
    return list(numbers)


def group():
    raise ExceptionGroup("x", [ValueError()])


def identity_of_new():
    return id(object()) % 2


def own_super(value):
    super(Derived, value).__setattr__("label", "other")


def class_attribute(value):
    type(value).label = "other"


def default_of(function):
    function.__defaults__[0].append(1)


def closure_of(function):
    function.__closure__[0].cell_contents = 5


def written_through_memory(values):
    memoryview(values)[0] = 1


def by_operator(values):
    import operator
    operator.setitem(values, 0, 1)


def by_unbound(values):
    list.append(values, 1)


def by_method_object(values):
    add = values.append
    add(1)


def by_dunder(values):
    values.__setitem__(0, 1)


def by_iadd(values):
    values.__iadd__([1])


def by_star(values):
    return {**{}, "seen": append_global(*values)}


def by_walrus():
    return [last := 1, append_global(last)]


def by_match(value):
    match value:
        case {"a": found}:
            return found


def by_del(values):
    del values[0]


def by_assert(value):
    assert SEEN.append(value)


def by_condition(value):
    return value and SEEN.append(value)


def by_slice(value):
    return [1, 2][: append_global(value)]


def by_format(value):
    return f"{append_global(value)!r:>{append_global(value)}}"


def by_sort(values):
    return list(reversed(values.sort() or []))


def write_global():
    global COUNT
    COUNT += 1


def append_global(value):
    SEEN.append(value)


def item_of_global():
    CACHE["a"] = 1


def pop_global():
    return SEEN.pop()


def mutable_default(value, seen=[]):
    seen.append(value)
    return seen


def grow_argument(values):
    values.append(1)


def change_argument(values):
    values[0] = 1


def attribute_of_argument(order):
    order.price = 2.0


def deep(order):
    return middle(order)


def middle(order):
    return bottom(order)


def bottom(order):
    order.lines.append(1)
    return order


def make_counter():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n
    return count


counter = make_counter()


@functools.lru_cache(maxsize=None)
def cached_function(n):
    return n


@functools.cache
def cached_too(n):
    return n


def memo(function):
    known = {}

    @functools.wraps(function)
    def wrapper(n):
        if n not in known:
            known[n] = function(n)
        return known[n]
    return wrapper


@memo
def remembered(n):
    return n


def generate():
    yield 1


def read_generator():
    return list(generate())


async def coroutine():
    return 1


def logs():
    LOG.warning("x")


def prints():
    print("x")


def opens():
    return open(os.devnull)


def runs():
    return subprocess.run(["true"])


def system():
    return os.system("true")


def environment():
    os.environ["X"] = "1"


def imports():
    import string
    return string.digits


def evaluates():
    return eval("1")


def executes():
    exec("SEEN.append(1)")


def with_globals():
    globals()["COUNT"] = 5


def with_lock():
    with LOCK:
        return 1


def suppresses():
    with contextlib.suppress(ValueError):
        return 1


def takes_next():
    return next(ITERATOR)


def reads_iterator():
    return list(ITERATOR)


def loops_iterator():
    for value in ITERATOR:
        return value


def raises_kept():
    raise ERROR


def never_ends():
    while True:
        pass


def recurses(n):
    return recurses(n + 1)


def huge():
    return "x" * 10 ** 9


def power():
    return 9 ** 9 ** 9


def random_number():
    return random.random()


def now():
    return time.time()


def sleeps():
    time.sleep(10)


def copies(value):
    return copy.copy(value)


def sorts_by_loud(values):
    return sorted(values, key=lambda value: SEEN.append(value))


def maps(values):
    return list(map(append_global, values))


def partial_call():
    return functools.partial(append_global, 1)()


def method_as_key(values):
    return values.sort(key=append_global)


def comprehension(values):
    return [SEEN.append(value) for value in values]


def in_handler(value):
    try:
        return int(value)
    except ValueError:
        SEEN.append(value)


def in_finally(value):
    try:
        return value
    finally:
        SEEN.append(value)


def in_default_branch(value):
    return CACHE.setdefault(value, 1)


def makes_class():
    class Local:
        pass
    return Local


def makes_type():
    return type("Local", (), {})


def checks(value):
    return isinstance(value, WithMeta)


def weak(value):
    return weakref.ref(value)


def threads():
    threading.Thread(target=append_global, args=(1,)).start()


def exits():
    sys.exit(1)


def increments_default(table=collections.defaultdict(int)):
    return table["a"]


def dumps_loud(value):
    return json.dumps(value, default=append_global)


def replaced(order):
    order.__class__ = Base


def counts(it=itertools.count()):
    return next(it)


def charge(amount):
    return amount


def refund(amount):
    return charge(-amount)


def marked_never():
    return 1


marked_never.__healmcp_never__ = True


def marked_safe():
    return len(SEEN)


marked_safe.__healmcp_safe__ = True


# The state

price, cheap = Money(12.5), Money(1)
same = Money(12.5)
key, other_key = ColumnKey("a"), ColumnKey("b")
cells = {key: 1, ColumnKey("c"): 3, ColumnKey(): 4}
orders = [Order(1, 2.0, [1, 2]), Order(2, 3.0, [])]
order = orders[0]
point = Point(1, 2)
pair = Pair(1, "x")
typed = Typed(1)
salted, unsalted = Salted([1]), Salted([2])
by_salt = {unsalted: "two"}
long_dict = LongDict(a=1)
derived = Derived("d", {"k": "v"})
fallback = Fallback({"color": "red"})
share = Share(0.5)
square = Square(3)
impure = Impure()
loud = CountingHash()
holder = Holder(loud)
loud_attr, loud_access, with_descriptor, own_class = LoudAttr(), LoudAccess(), WithDescriptor(), OwnClass()
with_meta = object.__new__(WithMeta)
