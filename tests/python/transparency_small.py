"""Runs small programs as plain Python and under healmcp; whatever they print must be equal, byte for byte.

    python transparency_small.py HEALMCP PYTHON [NAME ...]

Each program of PROGRAMS looks at something that wrapping statements could change. It is run three times: plain, under
`healmcp run --timeout 0` (hooks that never decide) and with HEALMCP_DECISIONS (hooks that decide, and note instead of
pausing); and the last two again, with the cache of compiled code warm. Prints each difference; exit code 1 if any.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from transparency_programs import FILES, MINIMAL, PROGRAMS


def main(healmcp, python, *names):
    version = version_of(python)
    wanted = [name for name in names or PROGRAMS if MINIMAL.get(name, (3, 11)) <= version]
    n_different = 0
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        for name in wanted:
            project = Path(folder) / "project"
            plain = run(project, name, [python])
            for title, command, variables in runs(healmcp, python, Path(folder) / "decisions"):
                found = run(project, name, command, XDG_CACHE_HOME=str(cache), **variables)
                if found != plain:
                    n_different += 1
                    lines = difflib.unified_diff(plain.splitlines(), found.splitlines(), "plain", title, lineterm="", n=1)
                    print(f"== {name} ({title})", *list(lines)[:40], sep="\n")
    print(f"{len(wanted)} programs on Python {version[0]}.{version[1]}, {n_different} differences")
    return 1 if n_different else 0


def runs(healmcp, python, decisions):
    hooked = [healmcp, "run", "--timeout", "0", "--", python]
    deciding = {"HEALMCP_DECISIONS": str(decisions)}
    return [("hooked", hooked, {}), ("hooked, cached", hooked, {}), ("deciding", hooked, deciding)]


def run(project, name, command, **variables):
    """Returns the exit code and all output of the program, in a folder that is as new each time."""
    project.mkdir(exist_ok=True)
    for file, text in {"pyproject.toml": "", "main.py": PROGRAMS[name], **FILES.get(name, {})}.items():
        path = project / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment = kept | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"} | variables
    done = subprocess.run([*command, "main.py"], cwd=project, env=environment, capture_output=True, timeout=120)
    for path in sorted(project.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    out, err = (re.sub(rb"\b0x[0-9a-f]{6,}", b"0x", text).decode(errors="replace") for text in (done.stdout, done.stderr))
    return f"exit code {done.returncode}\n--- stdout\n{out}--- stderr\n{err}"


def version_of(python):
    text = subprocess.check_output([python, "-c", "import sys; print(*sys.version_info[:2])"], text=True)
    return tuple(map(int, text.split()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
