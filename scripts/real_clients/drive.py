"""Plays the chain with every client, each against a program of its own, and prints a table. See ../real_clients.sh."""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from chain import MOST_TOKENS, RIGHT_OUTPUT, SECRET, TOOLS, chain, tokens_of
from clients import ClaudeCode, Inspector, PythonClient

PROJECT = pathlib.Path(__file__).parent / "project"


def environment(folder):
    """A user's environment in which nothing is set up, and only the program knows the secret."""
    kept = {name: os.environ[name] for name in ("PATH", "PYENV_VERSION") if name in os.environ}
    return {**kept, "HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run")}


def try_client(client, healmcp, python):
    """Returns the steps as (name, why it failed or None)."""
    steps, seen = [], []
    with tempfile.TemporaryDirectory(prefix="healmcp-clients-") as name:
        folder = pathlib.Path(name)
        (folder / "home").mkdir()
        (folder / "run").mkdir(mode=0o700)
        shutil.copytree(PROJECT, folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
        env = environment(folder)
        program = subprocess.Popen(
            [healmcp, "run", "--timeout", "120", "--", python, "nightly.py"], cwd=folder / "project",
            env={**env, "SHOP_PASSWORD": SECRET}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        failure, tools = None, []
        try:
            tools = client.play(chain(seen), env, str(folder / "project"))
        except Exception as error:
            failure = " ".join(f"{type(error).__name__}: {error}".split())
            program.kill()
        output, told = program.communicate(timeout=60)
        if tools:
            names, tokens = {tool["name"] for tool in tools}, tokens_of(tools)
            steps.append(("the nine tools", None if names == TOOLS else f"got {sorted(names)}"))
            steps.append((f"definitions: {tokens} tokens", None if tokens <= MOST_TOKENS else f"> {MOST_TOKENS}"))
        # The last step that was noted is the one that failed.
        steps += [(step, None) for step, _ in seen]
        if failure:
            return steps[:-1] + [(f"after {steps[-1][0]}" if steps else "start", failure)]
        leaks = [step for step, text in seen if SECRET in text]
        steps.append(("the secret is in no answer", f"it is in {leaks}" if leaks else None))
        right = program.returncode == 0 and output.split("\n")[:-1] == RIGHT_OUTPUT
        steps.append(("the program ends well", None if right else f"exit {program.returncode}: {output!r}"))
        steps.append(("it says that it was healed", None if "healed" in told else f"stderr: {told!r}"))
    return steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--healmcp", required=True, type=os.path.abspath)
    parser.add_argument("--python", required=True)
    parser.add_argument("--inspector", required=True)
    parser.add_argument("--claude")
    args = parser.parse_args()
    clients = [PythonClient(args.healmcp, era) for era in ("legacy", "auto", "2026-07-28")]
    clients += [Inspector(args.healmcp, era, args.inspector) for era in ("legacy", "modern")]
    if args.claude:
        clients += [ClaudeCode(args.healmcp, era, args.claude) for era in ("legacy", "modern")]
    n_steps = n_failed = 0
    for client in clients:
        for step, why in try_client(client, args.healmcp, args.python):
            n_steps, n_failed = n_steps + 1, n_failed + bool(why)
            print(f"{client.name:<22} {step:<34} {'FAIL  ' + why if why else 'ok'}", flush=True)
    print(f"{len(clients)} clients, {n_steps} steps, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
