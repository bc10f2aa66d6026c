"""Write down which function each call of a package really reached while its tests ran.

    python3.12 call_oracle.py --root SDIST [--sample N] --out SITES.jsonl -- -m pytest tests -q

Runs the command under a monitor (sys.monitoring, Python 3.12 and later). Each time a Python function of SDIST starts,
the caller's instruction is mapped to the call in its source: its file, line and the column of the called name. No
type checker has a say. `healmcp bench index SITES.jsonl --root SDIST` measures the index against it.
"""

import argparse
import ast
import json
import os
import random
import runpy
import sys

TOOL = 4  # Neither a debugger's, a coverage tool's nor a profiler's.
calls = {}  # (code of the caller, offset of the instruction) -> {code of the callee: class of the receiver}


def on_start(code, offset):
    """Remembers who called the function that starts, and at which instruction."""
    frame = sys._getframe(1)
    caller = frame.f_back
    if caller is None or not (inside(code.co_filename) and inside(caller.f_code.co_filename)):
        return None
    seen = calls.setdefault((caller.f_code, caller.f_lasti), {})
    if code not in seen and len(seen) < 8:
        own = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        kind = own if isinstance(own, type) else type(own)
        seen[code] = [kind.__module__, kind.__qualname__]
    return None


def inside(name):
    return name.startswith(root + os.sep) and "site-packages" not in name


def definitions(tree):
    """Maps the lines at which code objects start, decorators included, to the line of `def`."""
    lines = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for line in [node.lineno, *(it.lineno for it in node.decorator_list)]:
                lines[line, node.name] = node.lineno
    return lines


def called_names(tree, text):
    """Maps the span of each call to the name that it calls: line, column, name, form of the receiver."""
    names = {}
    lines = text.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        callee = node.func
        if isinstance(callee, ast.Name):
            found = (callee.lineno, callee.col_offset, callee.id, "name")
        elif isinstance(callee, ast.Attribute):
            # The attribute ends where the callee ends.
            found = (callee.end_lineno, callee.end_col_offset - len(callee.attr.encode()), callee.attr, form(callee.value))
        else:
            continue
        line, column, name, receiver = found
        if line <= len(lines):
            column = len(lines[line - 1].encode()[:column].decode(errors="replace"))
        span = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        names[span] = (line, column, name, receiver)
    return names


def form(receiver):
    match receiver:
        case ast.Name(id="self"):
            return "self"
        case ast.Name(id="cls"):
            return "cls"
        case ast.Name():
            return "name.attr"
        case ast.Call(func=ast.Name(id="super")):
            return "super"
        case ast.Call():
            return "call().attr"
        case ast.Attribute():
            return "x.y.attr"
        case _:
            return "other.attr"


def sites():
    trees = {}

    def parsed(path):
        if path not in trees:
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                tree = ast.parse(text)
                trees[path] = (called_names(tree, text), definitions(tree))
            except (OSError, SyntaxError, UnicodeDecodeError):
                trees[path] = ({}, {})
        return trees[path]

    found = {}
    for (caller, offset), callees in calls.items():
        positions = list(caller.co_positions())
        if offset // 2 >= len(positions):
            continue
        site = parsed(caller.co_filename)[0].get(positions[offset // 2])
        if site is None:
            continue
        line, column, name, receiver = site
        path = os.path.relpath(caller.co_filename, root)
        row = found.setdefault((path, line, column), {"name": name, "receiver_form": receiver, "callees": {}})
        for code, own in callees.items():
            if code.co_name.startswith("<"):
                continue
            start = parsed(code.co_filename)[1].get((code.co_firstlineno, code.co_name))
            if start is None:
                continue
            where = (os.path.relpath(code.co_filename, root), start, code.co_qualname)
            row["callees"][where] = own
            if code.co_name in ("__init__", "__new__") and name not in ("__init__", "__new__"):
                row["receiver_form"] = f"ctor:{receiver}"
    for (path, line, column), row in sorted(found.items()):
        # A call whose function is not called so (a wrapper of a decorator, a hook of the language) has no right answer
        # by its name: only constructors have.
        callees = [
            {"path": where, "line": start, "qualname": qualname, "receiver": own}
            for (where, start, qualname), own in row["callees"].items()
            if qualname.rsplit(".", 1)[-1] in (row["name"], "__init__", "__new__", "__call__")
        ]
        if callees:
            yield {"path": path, "line": line, "column": column, "name": row["name"],
                   "receiver_form": row["receiver_form"], "callees": callees}


def main():
    global root
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, help="the folder of the package and its tests")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--sample", type=int, default=0, help="write only so many sites, chosen evenly")
    parser.add_argument("command", nargs="+", help="what to run: -m MODULE ARGS, or SCRIPT ARGS")
    args = parser.parse_args()
    root = os.path.realpath(args.root)
    out = os.path.abspath(args.out)
    sys.monitoring.use_tool_id(TOOL, "call oracle")
    sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, on_start)
    sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
    os.chdir(root)
    sys.path.insert(0, root)
    try:
        if args.command[0] == "-m":
            sys.argv = args.command[1:]
            runpy.run_module(args.command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = args.command
            runpy.run_path(args.command[0], run_name="__main__")
    except SystemExit as end:
        print(f"the tests ended with {end.code}", file=sys.stderr)
    finally:
        sys.monitoring.set_events(TOOL, 0)
    rows = list(sites())
    if args.sample and len(rows) > args.sample:
        rows = random.Random(0).sample(rows, args.sample)
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"{len(rows)} call sites in {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
