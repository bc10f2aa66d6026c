"""What every client does with the paused program, and what it must be told: one generator, whoever plays it.

`chain()` yields the calls one by one, as (tool, arguments), and is sent what the tool said. A step that does not hold
raises `AssertionError`.
"""
from __future__ import annotations

import dataclasses
import json

SECRET = "Zq7-not-a-word-91x"
RIGHT_OUTPUT = ["settled one in EUR", "settled one in USD", "settled one in GBP", "settled 30900 cents in all"]
TOOLS = {
    "list_crashes", "get_crash", "get_frame", "evaluate", "search_code", "read_code", "check_heal", "resume", "abort",
}
MOST_TOKENS = 2_500


@dataclasses.dataclass
class Said:
    """A tool's answer as a client hands it on."""

    text: str
    is_error: bool

    @property
    def value(self):
        """The structured answer, of which the text is a copy."""
        return json.loads(self.text)


def tokens_of(tools):
    """The usual estimate of what the definitions cost a model: a token for four bytes."""
    shown = [{"name": t["name"], "description": t["description"], "inputSchema": t["inputSchema"]} for t in tools]
    return sum(len(json.dumps(tool, separators=(",", ":"))) for tool in shown) // 4


def chain(seen):
    """The whole way; `seen` collects (step, text) of every answer."""

    def note(step, said, *expected):
        seen.append((step, said.text))
        for part in expected:
            assert part in said.text, f"no {part!r} in {said.text[:400]!r}"

    said = yield "get_crash", {"crash_id": "nope"}
    note("get_crash of an unknown id", said, "no program has a crash", "next: ")
    assert said.is_error, "an unknown crash is no error"

    said = yield "list_crashes", {"wait_s": 20}
    note("list_crashes", said, "KeyError")
    crash_id = said.value["crashes"][0]["crash_id"]

    said = yield "get_crash", {"crash_id": crash_id}
    note("get_crash", said, "KeyError: 'usd'", "rate = PERCENT_OF_A_EURO", "retry")

    said = yield "get_frame", {"crash_id": crash_id, "frame": 1}
    note("get_frame", said, "password", "redacted", "total")

    said = yield "evaluate", {"crash_id": crash_id, "expression": "order['currency'].upper() in PERCENT_OF_A_EURO"}
    note("evaluate", said, "True")

    said = yield "evaluate", {"crash_id": crash_id, "frame": 1, "expression": "[password, dsn, order]"}
    note("evaluate secrets", said, "redacted")

    said = yield "search_code", {"crash_id": crash_id, "query": "PERCENT_OF_A_EURO", "kind": "references"}
    note("search_code", said, "shop/pricing.py")

    said = yield "read_code", {"crash_id": crash_id, "symbol": "waive"}
    note("read_code", said, "A person decides that")

    said = yield "check_heal", {"crash_id": crash_id, "code": "import os", "then": "next"}
    note("check_heal of no HealCore", said, '"verdict":"deny"')

    said = yield "check_heal", {"crash_id": crash_id, "code": "waive(order)", "then": "retry"}
    note("check_heal, denied", said, '"verdict":"deny"', "shop.pricing.waive")
    assert "heal_id" not in said.value, "a denied heal has an id"

    code = 'order["currency"] = order["currency"].upper()'
    said = yield "check_heal", {"crash_id": crash_id, "code": code, "then": "retry"}
    note("check_heal, allowed", said, '"verdict":"allow"', "'USD'")
    heal_id = said.value["heal_id"]

    said = yield "resume", {"crash_id": crash_id, "heal_id": "h_made_up"}
    note("resume with an id made up", said)
    assert said.is_error, "a heal that nobody checked is no error"

    said = yield "resume", {"crash_id": crash_id, "heal_id": heal_id, "wait_s": 20}
    note("resume", said)
    assert said.value["outcome"] in ("exited", "running"), said.text

    said = yield "resume", {"crash_id": crash_id, "heal_id": heal_id}
    note("resume once more", said)
    assert said.is_error, "a heal was used twice"
