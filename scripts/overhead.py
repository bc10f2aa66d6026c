#!/usr/bin/env python3
"""Measures what healmcp costs, beside plain CPython and debugpy in the same run, and prints a table.

    python scripts/overhead.py                      everything, as a table
    python scripts/overhead.py --json loops import  only these parts, as one JSON object

The parts:

    benchmarks   a subset of pyperformance: ratio to plain CPython of the geometric mean, the benchmark in scope
    loops        a million statements, and loops of exceptions that the same function or its caller handles
    import       sympy, all of it in scope, with cold and with warm caches
    pause        from the raise of an exception to the first answer of the paused program
    memory       what a paused program needs more than a plain one that waits at the same place

Each measurement runs all three in turn, several times; times are medians, and every figure is a ratio within this
run or a difference, so that a noisy machine moves all three alike. debugpy listens for uncaught exceptions, as an
editor tells it to, with no breakpoint set.

The `healmcp` on PATH is used, or the one in $HEALMCP; measure a release build. pyperformance, sympy and debugpy go
into an environment below --work, which is used again. Needs nothing but the standard library.
"""

import argparse
import json
import math
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NEEDS = ["pyperformance==1.14.0", "pyperf==2.11.0", "sympy==1.14.0", "debugpy==1.8.22"]

BENCHMARKS = [
    "chaos", "comprehensions", "coroutines", "deepcopy", "deltablue", "fannkuch", "float", "generators", "go", "hexiom",
    "json_dumps", "logging", "mdp", "nbody", "nqueens", "pyflate", "raytrace", "richards", "scimark", "spectral_norm",
    "telco", "unpack_sequence",
]

LOOPS = {
    "statements that raise nothing": """
        def work(n):
            total = 0
            for i in range(n):
                x = i & 7
                y = x * 3
                if y > 10:
                    total += y
                else:
                    total -= x
            return total
    """,
    "exceptions that the same function handles": """
        def work(n):
            total = 0
            table = {}
            for i in range(n // 4):
                try:
                    total += table[i]
                except KeyError:
                    total += 1
            return total
    """,
    "exceptions that a caller handles": """
        def look(table, key):
            return table[key]
        def work(n):
            total = 0
            table = {}
            for i in range(n // 4):
                try:
                    total += look(table, i)
                except KeyError:
                    total += 1
            return total
    """,
}

TIMED = """
import sys, time
for _ in range(int(sys.argv[1])):
    started = time.perf_counter()
    work(1_000_000)
    print(time.perf_counter() - started)
"""

CRASH = """
import sys, threading, time
rows = [{"id": i, "name": f"row {i}", "values": list(range(20))} for i in range(20_000)]
def last(row):
    print("raises", time.monotonic_ns(), flush=True)
    return row["missing"]
def work():
    for row in rows:
        pass
    return last(row)
if len(sys.argv) > 1:
    print("waits", flush=True)
    sys.stdin.read()
work()
"""

# What must hold, by row: the ratio to plain CPython, milliseconds, or mebibytes. 3.11 has no monitoring.
LIMITS = {
    "pyperformance, geometric mean": lambda version: 1.10 if version < (3, 12) else 1.03,
    "exceptions that the same function handles": lambda version: 1.20,
    "exceptions that a caller handles": lambda version: 1.80,
    "import of sympy, cold": lambda version: 3.00,
    "import of sympy, warm": lambda version: 1.15,
    "pause to first answer": lambda version: 10.0,
    "memory of a paused program": lambda version: 15.0,
}


def main():
    arguments = parse_arguments()
    bench = Bench(arguments)
    rows = []
    for part in arguments.parts or PARTS:
        say(f"{part} ...")
        rows += PARTS[part](bench)
    for row in rows:
        limit = LIMITS.get(row["what"])
        row["limit"] = limit and limit(bench.version)
    if arguments.json:
        print(json.dumps({"python": bench.version_text, "rows": rows}, indent=1))
    else:
        print(table(bench, rows))
    return 1 if any(row["limit"] and row["healmcp"] > row["limit"] for row in rows) else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of: {', '.join(PARTS)}")
    parser.add_argument("--python", default=sys.executable, help="interpreter to measure (default: this one)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each of the three runs (default 5)")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "healmcp-overhead")
    parser.add_argument("--no-debugpy", action="store_true", help="leave debugpy out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    return arguments


class Bench:
    """The environment, the project that is measured in, and how each of the three is started."""

    def __init__(self, arguments):
        self.healmcp = os.environ.get("HEALMCP") or shutil.which("healmcp") or sys.exit("healmcp is not on PATH: set HEALMCP")
        self.rounds = arguments.rounds
        text = subprocess.check_output([arguments.python, "-c", "import platform; print(platform.python_version())"], text=True)
        self.version_text = text.strip()
        self.version = tuple(map(int, self.version_text.split(".")[:2]))
        self.work = arguments.work.absolute() / self.version_text
        self.python = self.work / "environment" / "bin" / "python"
        self.project = self.work / "project"
        self.ways = ["plain", "healmcp"] + ([] if arguments.no_debugpy else ["debugpy"])
        self.prepare(arguments.python)

    def prepare(self, python):
        self.project.mkdir(parents=True, exist_ok=True)
        (self.project / "pyproject.toml").touch()
        ready = self.work / "ready"
        if ready.exists() and ready.read_text() == "\n".join(NEEDS):
            return
        say("making the environment ...")
        environment = self.work / "environment"
        shutil.rmtree(environment, ignore_errors=True)
        base = subprocess.check_output([python, "-c", "import sys; print(sys.executable)"], text=True).strip()
        subprocess.run([base, "-m", "venv", "--without-pip", environment], check=True)
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "-q", "install"]
        subprocess.run([*pip, *NEEDS], check=True)
        ready.write_text("\n".join(NEEDS))

    def variables(self, **more):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return kept | {"PYTHONHASHSEED": "0", "XDG_CACHE_HOME": str(self.work / "cache"), **more}

    def command(self, way, words, include=()):
        """Returns the command that runs Python with these words, in this way; and what must talk to it meanwhile."""
        if way == "healmcp":
            includes = [word for name in include for word in ("--include", name)]
            return [self.healmcp, "run", *includes, "--", self.python, *words], None
        if way == "debugpy":
            port = free_port()
            listen = ["-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client"]
            return [self.python, *listen, *words], port
        return [self.python, *words], None

    def run(self, way, words, include=(), **variables):
        """Runs to the end and returns what was printed."""
        command, port = self.command(way, words, include)
        done = subprocess.Popen(command, cwd=self.project, env=self.variables(**variables), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        if port:
            threading.Thread(target=attach, args=(port,), daemon=True).start()
        out, err = done.communicate(timeout=600)
        if done.returncode:
            sys.exit(f"{way} failed: {' '.join(map(str, command))}\n{out}{err}")
        return out


def benchmarks(bench):
    """Each benchmark of the subset in its own process, and the geometric mean of the ratios."""
    code = "import pyperformance, pathlib; print(pathlib.Path(pyperformance.__file__).parent / 'data-files/benchmarks')"
    source = Path(subprocess.check_output([bench.python, "-c", code], text=True).strip())
    rows = []
    for name in BENCHMARKS:
        shutil.copytree(source / f"bm_{name}", bench.project / f"bm_{name}", dirs_exist_ok=True)
        script = f"bm_{name}/run_benchmark.py"
        n_loops = math.ceil(0.1 / pyperf(bench, "plain", script, 1))
        times = in_turn(bench, lambda way: pyperf(bench, way, script, n_loops))
        rows.append(ratios(f"pyperformance {name}", times))
        say(f"  {name}: {rows[-1]['healmcp']:.3f}")
    means = {way: statistics.geometric_mean(row[way] for row in rows) for way in bench.ways}
    return [{"what": "pyperformance, geometric mean", "unit": "×", **means}, *rows]


def pyperf(bench, way, script, n_loops):
    """Returns the seconds of one loop of a pyperformance benchmark: the mean of three values behind a warmup."""
    out = bench.work / "pyperf.json"
    out.unlink(missing_ok=True)
    bench.run(way, [script, "--worker", f"--loops={n_loops}", "--values=3", "--warmups=1", "-o", out])
    result = json.loads(out.read_text())
    return statistics.fmean(value for run in result["benchmarks"][0]["runs"] for value in run.get("values", []))


def loops(bench):
    rows = []
    for what, source in LOOPS.items():
        script = bench.project / "loop.py"
        lines = source.strip("\n").splitlines()
        script.write_text("\n".join(line[8:] for line in lines) + "\n" + TIMED)
        measure = lambda way: min(map(float, bench.run(way, ["loop.py", "5"]).split()))
        rows.append(ratios(what, in_turn(bench, measure)))
    return rows


def imports(bench):
    """sympy has 1,500 modules, and all of them are compiled or loaded."""
    script = bench.project / "import_sympy.py"
    script.write_text("import time\nstarted = time.perf_counter()\nimport sympy\nprint(time.perf_counter() - started)\n")
    measure = lambda way, **variables: float(bench.run(way, ["import_sympy.py"], include=["sympy"], **variables))

    def cold(way):
        # Nothing is in this folder, and nothing stays in it.
        with tempfile.TemporaryDirectory(dir=bench.work) as folder:
            return measure(way, PYTHONPYCACHEPREFIX=folder, XDG_CACHE_HOME=folder)

    cold_times = in_turn(bench, cold)
    for way in bench.ways:
        measure(way)
    return [ratios("import of sympy, cold", cold_times), ratios("import of sympy, warm", in_turn(bench, measure))]


def pause(bench):
    """From just before the raise, by the program's clock, to the whole description of the crash at a client."""
    (bench.project / "crash.py").write_text(CRASH)
    times = []
    for _ in range(bench.rounds):
        with Crash(bench) as crash:
            times.append((crash.answered - crash.raised) / 1e6)
    return [{"what": "pause to first answer", "unit": "ms", "healmcp": round(statistics.median(times), 2)}]


def memory(bench):
    """The resident memory of the paused program less that of the plain one; it has 20,000 rows in both."""
    (bench.project / "crash.py").write_text(CRASH)
    more = []
    for _ in range(bench.rounds):
        with subprocess.Popen([bench.python, "crash.py", "wait"], cwd=bench.project, env=bench.variables(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as plain:
            plain.stdout.readline()
            before = resident(plain.pid)
            plain.kill()
        with Crash(bench) as crash:
            more.append((resident(crash.process.pid) - before) / 2**20)
    return [{"what": "memory of a paused program", "unit": "MiB more", "healmcp": round(statistics.median(more), 1)}]


class Crash:
    """A program that is paused, and the moments of its raise and of its first whole answer."""

    def __init__(self, bench):
        self.folder = tempfile.TemporaryDirectory(dir=bench.work)
        variables = bench.variables(XDG_RUNTIME_DIR=self.folder.name)
        command, _ = bench.command("healmcp", ["crash.py"])
        self.process = subprocess.Popen(command, cwd=bench.project, env=variables, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.raised = int(self.process.stdout.readline().split()[1])
        answer = None
        while answer is None:
            answer = self.describe()
        self.answered = time.monotonic_ns()

    def describe(self):
        """Returns the description of the crash, or None where the program has not paused yet."""
        path = Path(self.folder.name) / "healmcp" / f"{self.process.pid}.sock"
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                with connection.makefile("rw") as lines:
                    crashes = ask(lines, {"verb": "list"})["crashes"]
                    if crashes:
                        return ask(lines, {"verb": "describe", "crash_id": crashes[0]["crash_id"], "max_frames": 3})
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.0001)
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


def ask(lines, request):
    """Asks a paused program; the messages are those of the crate `protocol`."""
    client = {"name": "overhead.py", "session": str(os.getpid())}
    print(json.dumps({"version": 1, "client": client, "request": request}), file=lines, flush=True)
    return json.loads(lines.readline())["ok"]


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def attach(port):
    """Does what an editor does to be told of uncaught exceptions, and stays until the program ends."""
    for _ in range(200):
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    else:
        return
    with connection, connection.makefile("rb") as stream:
        number = 0

        def send(command, **arguments):
            nonlocal number
            number += 1
            body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
            connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

        send("initialize", adapterID="overhead", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        send("attach", justMyCode=True)
        while header := stream.readline():
            if not header.lower().startswith(b"content-length"):
                continue
            stream.readline()
            message = json.loads(stream.read(int(header.split(b":")[1])))
            if message.get("event") == "initialized":
                send("setExceptionBreakpoints", filters=["uncaught"])
                send("configurationDone")
            elif message.get("event") == "terminated":
                # The adapter stays, with the program's output open, until it is told to go.
                send("disconnect")
                return


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def in_turn(bench, measure):
    """Returns {way: median}; the ways take turns, so that what else the machine does meets all of them."""
    times = {way: [] for way in bench.ways}
    for _ in range(bench.rounds):
        for way in bench.ways:
            times[way].append(measure(way))
    return {way: statistics.median(values) for way, values in times.items()}


def ratios(what, times):
    return {"what": what, "unit": "×", "seconds": times["plain"],
            **{way: round(seconds / times["plain"], 3) for way, seconds in times.items()}}


def table(bench, rows):
    lines = [f"CPython {bench.version_text}", "", "| | plain | healmcp | at most | debugpy |", "| --- | --: | --: | --: | --: |"]
    for row in rows:
        figure = lambda value: "" if value is None else f"{value:.2f} {row['unit']}"
        plain = f"{row['seconds'] * 1000:.1f} ms" if "seconds" in row else ""
        lines.append(f"| {row['what']} | {plain} | {figure(row['healmcp'])} | {figure(row['limit'])} | {figure(row.get('debugpy'))} |")
    return "\n".join(lines)


def say(text):
    print(text, file=sys.stderr, flush=True)


PARTS = {"benchmarks": benchmarks, "loops": loops, "import": imports, "pause": pause, "memory": memory}

if __name__ == "__main__":
    sys.exit(main())
