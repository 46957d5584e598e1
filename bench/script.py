"""What the mock server's models say: policy, summarizer, critic and controller, each a function of the request.

The product's prompts are told apart by how their system message opens. Solve prompts are known by problem and seed,
so that a rollout's place in the product names its requests at the server.
"""

import hashlib
import json
from typing import Any, NamedTuple

from bench.plan import Plan
from bench.problems import answer, case

OPENINGS = {"You review": "summarize", "You compare": "critique", "You keep": "consolidate"}
THOUGHT = (
    "Let me go through the case step by step. The crates come first: their number times the lamps in each, written down "
    "carefully and checked a second time. Then the lamps of the side hall are added, and nothing else is left in the depot"
)
SUMMARY = (
    "1. Read the case and named the numbers. 2. Multiplied crates and lamps. 3. Added the side hall's lamps. 4. Wrote the "
    "number alone. What decided the outcome was the last addition"
)
_THINGS = (
    "ledger", "tally", "margin", "unit", "total", "remainder", "column", "prefix", "carry", "digit", "label", "stamp",
    "crate", "lamp", "depot", "train", "bound", "factor", "sum", "product", "quota", "share", "batch", "parcel",
    "invoice", "receipt", "shelf", "pallet", "gauge", "scale", "mark", "seal",
)  # fmt: skip
_KINDS = (
    "doubtful", "nested", "rounded", "partial", "hidden", "repeated", "missing", "odd", "large", "tiny", "mixed", "late",
    "early", "sealed", "open", "foreign", "local", "spare", "broken", "final", "first", "outer", "inner", "upper",
    "lower", "plain", "rough", "exact", "heavy", "light", "empty", "full",
)  # fmt: skip
_ACTIONS = (
    "recount", "list", "compare", "underline", "restate", "group", "sort", "weigh", "trace", "split", "round", "label",
    "sketch", "estimate", "copy", "verify",
)  # fmt: skip


class Asked(NamedTuple):
    """A chat completion request, recognised."""

    identity: str
    """`solve/<problem>/<seed>`, or the stage with a digest of the body: the same for every attempt at it."""
    problem: int | None
    """Of a solve prompt; None for the other stages, so that `always_500` concerns rollouts alone."""
    text: str
    """What the model says to it."""


def read(plan: Plan, body: bytes) -> Asked:
    """What a request asks for and the reply to it; raises `ValueError`, `KeyError` or `IndexError` for no request."""
    request = json.loads(body)
    first = request["messages"][0]
    system = first["content"] if first["role"] == "system" else ""
    stage = next((name for opening, name in OPENINGS.items() if system.startswith(opening)), None)
    if stage is None:
        return _solved(plan, request)
    identity = f"{stage}/{hashlib.blake2b(body, digest_size=8).hexdigest()}"
    return Asked(identity, None, _reflected(plan, stage, request["messages"][-1]["content"], identity))


def experience(problem: int) -> str:
    """One sentence as the library wants it, a different one for every problem."""
    pick = hashlib.blake2b(str(problem).encode(), digest_size=8).digest()
    kind, thing = _KINDS[pick[0] % 32], _THINGS[pick[1] % 32]
    action, other, last = _ACTIONS[pick[2] % 16], _THINGS[pick[3] % 32], _KINDS[pick[4] % 32]
    return f"When a {kind} {thing} turns up, {action} the {other} before the {last} addition."


def _solved(plan: Plan, request: dict[str, Any]) -> Asked:
    problem, seed = case(request["messages"][-1]["content"]), request.get("seed") or 0
    if problem is None:
        return Asked("other", None, "I see.")
    right = answer(problem)
    said = right if plan.is_right(seed) else f"{right}0"
    return Asked(f"solve/{problem}/{seed}", problem, f"<think>{THOUGHT}; draft {seed}.</think>\n{said}")


def _reflected(plan: Plan, stage: str, content: str, identity: str) -> str:
    match stage, case(content):
        case "summarize", _:
            return f"{SUMMARY} ({identity})."
        case "critique", int(problem) if plan.proposes(problem):
            return f'The addition decided.\n[{{"option": "add", "experience": "{experience(problem)}"}}]'
        case _:
            return "Nothing new.\n[]"
