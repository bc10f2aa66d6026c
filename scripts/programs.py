#!/usr/bin/env python3
"""Runs programs of every kind under healmcp: each crashes, is healed, and must come to its right end.

    python scripts/programs.py                       all programs, with this interpreter
    python scripts/programs.py --python python3.12   with another one
    python scripts/programs.py flask jupyter         only these

A virtual environment gets what the programs need (pytest, Flask, Django, uvicorn, ipykernel, coverage, debugpy). For
each program its files are written to a folder of its own, it is started by `healmcp run`, each of its pauses is healed
by `healmcp check` and `healmcp resume` as listed below, and then its output and exit code are compared.

The `healmcp` on PATH is used, or the one in $HEALMCP_COMMAND. Needs nothing but the standard library.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

NEEDS = ["pytest<9", "pytest-xdist", "flask", "django", "uvicorn", "ipykernel", "jupyter_client", "coverage", "debugpy", "setuptools"]
HANG = 120


@dataclass
class Program:
    """A program: its files, how it is started, the heals of its pauses in turn, and what it must print."""

    files: dict
    heals: list
    expect: str
    command: list = field(default_factory=lambda: ["{python}", "main.py"])
    config: str = ""
    setup: list = field(default_factory=list)
    code: int = 0
    contains: bool = False


def main_of(text, heals, expect, **more):
    return Program({"main.py": text}, heals, expect, **more)


def retry(code, frame=0):
    return ["-e", code, "--then", "retry", "--frame", str(frame)]


def go_next(code="", frame=0):
    return ["-e", code, "--then", "next", "--frame", str(frame)]


def returns(value, frame=0):
    return ["--then", "return", "--value", value, "--frame", str(frame)]


# A module that every kind of host calls: it crashes at an order without a price.
SHOP = "def total(order):\n    price = order['price']\n    return price * order['n']\n"
PRICE = retry("order['price'] = 5")

PROGRAMS = {
    "script": main_of("d = {}\nprint('value', d['k'])\n", [retry("d['k'] = 7")], "value 7\n"),
    "module": Program(
        {"pkg/__init__.py": "", "pkg/__main__.py": "from .core import total\nprint(total({'n': 2}))\n", "pkg/core.py": SHOP},
        [PRICE], "10\n", ["{python}", "-m", "pkg"]),
    "relative imports": Program(
        {"pkg/__init__.py": "from . import core", "pkg/core.py": "from .deep.low import LIMIT\n", "pkg/deep/__init__.py": "",
         "pkg/deep/low.py": "LIMIT = int('10MB')\n", "main.py": "import pkg\nprint(pkg.core.LIMIT)\n"},
        [go_next("LIMIT = 10")], "10\n"),
    "python -c": Program({"shop.py": SHOP}, [PRICE], "15\n", ["{python}", "-c", "import shop; print(shop.total({'n': 3}))"]),
    "zipapp": Program(
        {"app/__main__.py": "import shop\nprint(shop.total({'n': 4}))\n", "app/shop.py": SHOP}, [PRICE], "20\n",
        ["{python}", "app.pyz"], setup=[["{python}", "-m", "zipapp", "app"]]),
    "console script": Program(
        {"cli.py": SHOP + "def main():\n    print(total({'n': 5}))\n",
         "setup.py": "from setuptools import setup\nsetup(name='cli-{id}', py_modules=['cli'],"
                     " entry_points={'console_scripts': ['cli-{id}=cli:main']})\n"},
        [PRICE], "25\n", ["{bin}/cli-{id}"],
        setup=[["{python}", "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "."]]),
    "pytest": Program(
        {"shop.py": SHOP, "test_shop.py": "from shop import total\ndef test_total():\n    assert total({'n': 2}) == 10\n"
                                          "def test_assert():\n    n = 3\n    assert n == 4\n"},
        [PRICE, retry("n = 4")], "2 passed", ["{python}", "-m", "pytest", "-q", "-p", "no:cacheprovider"], contains=True),
    "pytest fixture": Program(
        {"test_it.py": "import pytest\n@pytest.fixture\ndef row():\n    d = {}\n    x = d['k']\n    yield x\n    print('cleanup')\n"
                       "def test_it(row):\n    assert row == 3\n"},
        [retry("d['k'] = 3")], "1 passed", ["{bin}/pytest", "-q", "-p", "no:cacheprovider"], contains=True),
    "pytest-xdist": Program(
        {"shop.py": SHOP, "test_shop.py": "from shop import total\ndef test_a():\n    assert total({'n': 2}) == 10\n"
                                          "def test_b():\n    assert total({'n': 3}) == 15\n"},
        [PRICE, PRICE], "2 passed", ["{python}", "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider"], contains=True),
    "unittest": Program(
        {"shop.py": SHOP, "test_shop.py": "import unittest, shop\nclass T(unittest.TestCase):\n    def test_total(self):\n"
                                          "        with self.subTest(n=2):\n            self.assertEqual(shop.total({'n': 2}), 10)\n"},
        [PRICE], "", ["{python}", "-m", "unittest", "-q"]),
    "asyncio": main_of(
        "import asyncio\nasync def one(n):\n    await asyncio.sleep(0)\n    d = {}\n    return n * d['k']\n"
        "async def main():\n    async with asyncio.TaskGroup() as group:\n        tasks = [group.create_task(one(n)) for n in (1, 2)]\n"
        "    print([t.result() for t in tasks], await asyncio.gather(one(3)))\nasyncio.run(main())\n",
        [retry("d['k'] = 2")], "[2, 4] [6]\n"),
    "async generator": main_of(
        "import asyncio\nasync def rows():\n    for n in range(3):\n        yield 6 // n\n"
        "async def main():\n    print([r async for r in rows()])\nasyncio.run(main())\n", [retry("n = 3")], "[2, 6, 3]\n"),
    "threads": main_of(
        "import threading\nlog = []\ndef work(n):\n    d = {}\n    log.append(n * d['k'])\n"
        "ts = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]\n"
        "print(sorted(log))\n", [retry("d['k'] = 2")], "[0, 2, 4]\n"),
    "thread pool": main_of(
        "from concurrent.futures import ThreadPoolExecutor\ndef work(n):\n    d = {}\n    return n * d['k']\n"
        "with ThreadPoolExecutor(2) as pool:\n    print(list(pool.map(work, range(3))))\n",
        [retry("d['k'] = 3")], "[0, 3, 6]\n", config="unhandled-in = ['concurrent.futures.thread:_WorkItem.run']\n"),
    "multiprocessing fork": main_of(
        "import multiprocessing as mp\ndef work(q):\n    d = {}\n    q.put(d['k'])\nif __name__ == '__main__':\n"
        "    c = mp.get_context('fork')\n    q = c.Queue()\n    p = c.Process(target=work, args=(q,))\n    p.start()\n"
        "    print(q.get())\n    p.join()\n", [retry("d['k'] = 4")], "4\n"),
    "multiprocessing spawn": main_of(
        "import multiprocessing as mp\ndef work(q):\n    d = {}\n    q.put(d['k'])\nif __name__ == '__main__':\n"
        "    c = mp.get_context('spawn')\n    q = c.Queue()\n    p = c.Process(target=work, args=(q,))\n    p.start()\n"
        "    print(q.get())\n    p.join()\n", [retry("d['k'] = 4")], "4\n"),
    "process pool": main_of(
        "import multiprocessing as mp\ndef work(n):\n    d = {}\n    return n * d['k']\nif __name__ == '__main__':\n"
        "    with mp.get_context('fork').Pool(2) as pool:\n        print(pool.map(work, range(3)))\n",
        [retry("d['k'] = 2")], "[0, 2, 4]\n", config="unhandled-in = ['multiprocessing.pool:worker']\n"),
    "subprocess": Program(
        {"main.py": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, 'child.py'], text=True), end='')\n",
         "child.py": "d = {}\nprint('child', d['k'])\n"}, [retry("d['k'] = 1")], "child 1\n"),
    "flask": Program(
        {"shop.py": SHOP, "main.py": "import flask, shop\napp = flask.Flask(__name__)\n@app.get('/')\ndef index():\n"
                                     "    return str(shop.total({'n': 2}))\nr = app.test_client().get('/')\nprint(r.status_code, r.text)\n"},
        [PRICE], "200 10\n", config="unhandled-in = ['flask.app:Flask.full_dispatch_request']\n"),
    "django": Program(
        {"shop.py": SHOP, "main.py":
            "import django, shop\nfrom django.conf import settings\nfrom django.http import HttpResponse\nfrom django.urls import path\n"
            "settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=['*'], SECRET_KEY='x')\ndjango.setup()\n"
            "def index(request):\n    return HttpResponse(shop.total({'n': 2}))\nurlpatterns = [path('', index)]\n"
            "from django.test import Client\nr = Client().get('/')\nprint(r.status_code, r.content.decode())\n"},
        [PRICE], "200 10\n", config="unhandled-in = ['django.core.handlers.base:BaseHandler._get_response']\n"),
    "uvicorn": Program(
        {"shop.py": SHOP, "main.py":
            "import shop, threading, time, urllib.request, uvicorn\nasync def app(scope, receive, send):\n"
            "    if scope['type'] != 'http':\n        return\n    body = str(shop.total({'n': 2})).encode()\n"
            "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
            "    await send({'type': 'http.response.body', 'body': body})\n"
            "server = uvicorn.Server(uvicorn.Config(app, port=0, log_level='error', lifespan='off'))\n"
            "threading.Thread(target=server.run, daemon=True).start()\nwhile not server.started:\n    time.sleep(.01)\n"
            "port = server.servers[0].sockets[0].getsockname()[1]\n"
            "print(urllib.request.urlopen(f'http://127.0.0.1:{port}/').read().decode())\n"},
        [PRICE], "10\n", config="unhandled-in = ['uvicorn.protocols.http.*:RequestResponseCycle.run_asgi']\n"),
    "jupyter": Program(
        {"shop.py": SHOP, "main.py":
            "import os\nfrom jupyter_client.manager import start_new_kernel\nmanager, client = start_new_kernel(cwd=os.getcwd())\n"
            "def show(message):\n    if message['msg_type'] == 'stream':\n        print(message['content']['text'], end='')\n"
            "client.execute_interactive('import shop; print(shop.total({\"n\": 2}))', output_hook=show, timeout=90)\n"
            "client.stop_channels()\nmanager.shutdown_kernel(now=True)\n"},
        [PRICE], "10\n", contains=True, config="unhandled-in = ['IPython.core.interactiveshell:InteractiveShell.run_code']\n"),
    # The statements of code that `exec` runs have no hooks: the statement of the project that runs it pauses.
    "exec": Program(
        {"main.py": "path = 'plugin.py'\nspace = {}\nexec(compile(open(path).read(), path, 'exec'), space)\nn = space['f']()\nprint(n)\n",
         "plugin.py": "def f():\n    d = {}\n    return d['k']\n"}, [go_next("n = 5")], "5\n"),
    "decorators": main_of(
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return f(*a) + f(*a)\n    return inner\n"
        "@twice\n@functools.cache\ndef half(n):\n    d = {}\n    return n // d.get('by', 0)\nprint(half(8))\n", [retry("d['by'] = 2")], "8\n"),
    "dataclass": main_of(
        "from dataclasses import dataclass\n@dataclass\nclass Order:\n    n: int\n    price: object = None\n"
        "    def __post_init__(self):\n        self.total = self.n * self.price\nprint(Order(3).total)\n", [retry("self.price = 2")], "6\n"),
    "super and closures": main_of(
        "class A:\n    def f(self, d):\n        return d['k']\nclass B(A):\n    def f(self, d):\n        n = 2\n"
        "        def inner():\n            return super(B, self).f(d) * n\n        return inner()\nprint(B().f({}))\n",
        [retry("d['k'] = 5")], "10\n"),
    "class body": main_of("class C:\n    a = 1\n    b = int('x')\n    c = 3\nprint(C.a, C.b, C.c)\n", [go_next("b = 2")], "1 2 3\n"),
    "generators": main_of(
        "def low(rows):\n    for r in rows:\n        yield 10 // r\ndef high(rows):\n    yield from low(rows)\nprint(list(high([5, 0, 2])))\n",
        [retry("r = 1")], "[2, 10, 5]\n"),
    "context managers": main_of(
        "import contextlib\n@contextlib.contextmanager\ndef cm():\n    print('in')\n    try:\n        yield 1\n    finally:\n        print('out')\n"
        "with cm() as n, contextlib.ExitStack() as stack:\n    stack.callback(print, 'callback')\n    d = {}\n    print(d['k'])\nprint('end')\n",
        [retry("d['k'] = n")], "in\n1\ncallback\nout\nend\n"),
    "match": main_of(
        "def area(shape):\n    match shape:\n        case {'kind': 'box', 'w': w}:\n            return w * shape['h']\n        case _:\n            return 0\n"
        "print(area({'kind': 'box', 'w': 2}))\n", [retry("shape['h'] = 4")], "8\n"),
    "walrus, nested": main_of(
        "def outer():\n    rows = [1, 0]\n    def inner(n):\n        if (half := 4 // n) > 1:\n            return half\n"
        "    return [inner(r) for r in rows]\nprint(outer())\n", [retry("n = 2")], "[4, 2]\n"),
    "recursion": main_of(
        "def down(n):\n    if n == 0:\n        return 0\n    return 1 + down(n - 1)\nprint(down(100_000) >= 0)\n", [returns("0")], "True\n"),
    "metaclass": main_of(
        "class Meta(type):\n    def __new__(mcls, name, bases, space):\n        space['size'] = len(space['fields'])\n"
        "        return super().__new__(mcls, name, bases, space)\nclass C(metaclass=Meta):\n    pass\nprint(C.size)\n",
        [retry("space['fields'] = [1, 2]")], "2\n"),
    "slots": main_of(
        "class P:\n    __slots__ = ('x', 'y')\np = P()\np.x = 1\nprint(p.x + p.y)\n", [retry("p.y = 2")], "3\n"),
    "descriptors": main_of(
        "class Field:\n    def __get__(self, obj, owner):\n        store = obj.__dict__\n        return store['v'] + 1\n"
        "class C:\n    f = Field()\nprint(C().f)\n", [retry("store['v'] = 1")], "2\n"),
    "raise-new": main_of(
        "def read(row):\n    return row['n']\ndef main():\n    try:\n        return read({})\n    except ValueError as e:\n        return f'bad {e}'\n"
        "print(main())\n", [["--then", "raise-new", "--value", "ValueError('row')"]], "bad row\n"),
    "outer frame": main_of(
        "def low(d):\n    try:\n        return d['k']\n    finally:\n        print('cleanup')\ndef high():\n    n = low({})\n    return n\n"
        "print(high())\n", [go_next("n = 9", 1)], "cleanup\n9\n"),
    "coverage": Program(
        {"main.py": "import low\nprint(low.f({}))\n", "low.py": "def f(d):\n    x = d['k']\n    return x\n"},
        [retry("d['k'] = 1")], "low.py        3      0   100%", ["{bin}/coverage", "run", "main.py"], contains=True),
    "debugpy": Program(
        {"main.py": "import debugpy\ndebugpy.listen(('127.0.0.1', 0))\ndef f(d):\n    x = d['k']\n    return x\nprint(f({}))\n"},
        [retry("d['k'] = 1")], "1\n", contains=True),
    "settrace": main_of(
        "import sys\nlines = []\ndef trace(frame, event, arg):\n    if event == 'line' and frame.f_code.co_name == 'f':\n"
        "        lines.append(frame.f_lineno)\n    return trace\ndef f(d):\n    x = d['k']\n    return x\nsys.settrace(trace)\nr = f({})\n"
        "sys.settrace(None)\nprint(r, lines[-1])\n", [retry("d['k'] = 1")], "1 9\n"),
}


class Runner:
    def __init__(self, work, healmcp, python):
        self.work, self.healmcp = work, healmcp
        self.bin = work / "env" / "bin"
        if not (self.bin / "python").exists():
            subprocess.run([python, "-m", "venv", str(work / "env")], check=True)
            install = [str(self.bin / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *NEEDS]
            subprocess.run(install, check=True)

    def run(self, name, program):
        """Returns what is wrong with the program's end, or nothing."""
        ident = "".join(c if c.isalnum() else "-" for c in name)
        folder = Path(tempfile.mkdtemp(prefix=f"{ident}-", dir=self.work))
        sockets = Path(tempfile.mkdtemp(prefix="hm-"))
        words = {"{python}": str(self.bin / "python"), "{bin}": str(self.bin), "{id}": ident}

        def filled(text):
            for key, value in words.items():
                text = text.replace(key, value)
            return text

        project = folder / "project"
        files = {"pyproject.toml": "[tool.healmcp]\n" + program.config, **program.files}
        for path, text in files.items():
            target = project / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(filled(text) if path == "setup.py" else text)
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "HEALMCP", "PYTHONPATH")}
        environment |= {"XDG_RUNTIME_DIR": str(sockets), "PATH": f"{self.bin}:{environment['PATH']}"}
        here = {"cwd": project, "env": environment}
        for step in program.setup:
            subprocess.run([filled(word) for word in step], check=True, **here)
        out, err = folder / "stdout", folder / "stderr"
        command = [self.healmcp, "run", "--timeout", "60", "--", *map(filled, program.command)]
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, **here)
            try:
                fault = self.heal(process, program, here)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
        shown = out.read_text()
        if not fault and name == "coverage":
            shown += subprocess.run([self.bin / "coverage", "report"], capture_output=True, text=True, **here).stdout
        right = program.expect in shown if program.contains else program.expect == shown
        if not fault and not right:
            fault = f"printed {shown[-300:]!r}"
        if not fault and process.returncode != program.code:
            fault = f"exit code {process.returncode}"
        shutil.rmtree(sockets, ignore_errors=True)
        if fault:
            return f"{fault}\n      {err.read_text()[-600:]}"
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def heal(self, process, program, here):
        """Heals every pause until the program ends; the last heal stands for all that follow."""
        def ours(*words):
            return subprocess.run([self.healmcp, *words], capture_output=True, text=True, **here)

        seen, deadline = set(), time.monotonic() + HANG
        while process.poll() is None:
            if time.monotonic() > deadline:
                return "it hangs"
            crashes = json.loads(ours("crashes", "--json").stdout or '{"crashes": []}')["crashes"]
            new = [c["crash_id"] for c in crashes if c["status"] == "paused" and c["crash_id"] not in seen]
            for crash_id in new:
                heal = program.heals[min(len(seen), len(program.heals) - 1)]
                seen.add(crash_id)
                check = ours("check", crash_id, "--json", *heal)
                heal_id = json.loads(check.stdout or "{}").get("heal_id")
                if not heal_id:
                    process.kill()
                    return f"the heal is refused: {check.stdout}{check.stderr}"
                ours("resume", crash_id, heal_id, "--wait", "0")
            time.sleep(0.02)
        return None if seen else "it did not pause"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="only these: " + ", ".join(PROGRAMS))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--work", type=Path, help="keeps the environment for the next time")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program is called {', '.join(unknown)}")
    healmcp = os.environ.get("HEALMCP_COMMAND") or shutil.which("healmcp")
    if not healmcp:
        sys.exit("no healmcp on PATH: install it, or name it in $HEALMCP_COMMAND")
    work = args.work or Path(tempfile.mkdtemp(prefix="healmcp-programs-"))
    work.mkdir(parents=True, exist_ok=True)
    runner = Runner(work.resolve(), healmcp, args.python)
    names = args.names or list(PROGRAMS)
    n_right = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {name: pool.submit(runner.run, name, PROGRAMS[name]) for name in names}
        for name, future in futures.items():
            try:
                fault = future.result()
            except (OSError, subprocess.SubprocessError) as error:
                fault = str(error)
            n_right += not fault
            print(f"{name:24} {'healed, right end' if not fault else 'WRONG: ' + fault}", flush=True)
    print(f"{n_right} of {len(names)} right")
    sys.exit(n_right != len(names))


if __name__ == "__main__":
    main()
