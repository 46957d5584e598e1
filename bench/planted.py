"""Tasks with a library whose entries' worth is known: some help, one harms, one does nothing.

For the scripted model, whose answers depend on the sentences in its prompt, the worth is built in. For a real model the
tasks are a family of `bench.tasks` with its oracle's sentence, one that spoils every answer, and one about knitting.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.tasks.family import Family, Sizes
from bench.tasks.grading import REWARD
from gym.core.chat import Message, Sampling
from gym.core.experience import Library
from gym.core.problem import Reward

SCRIPTED = "scripted:bench.planted:reply"
SILENT = "scripted:bench.planted:silent"
FRUIT = ("apples", "pears", "plums")
HARM, HELP = -0.3, 0.45


class Planted(NamedTuple):
    """Sentences by what they are worth, and the problems."""

    good: tuple[str, ...]
    harmful: str
    useless: str
    rows: tuple[dict[str, str], ...]
    reward: Reward | None = None
    """None: to the letter."""
    max_tokens: int = 48

    def library(self, seed: int) -> Library:
        """All of them, in an order of the seed's, so that no id gives one away."""
        texts = [*self.good, self.harmful, self.useless]
        random.Random(seed).shuffle(texts)
        return Library.from_json(json.dumps(texts))

    def write(self, folder: Path, seed: int) -> tuple[Path, Path]:
        """Problems and library as files."""
        data, library = folder / f"data-{seed}.jsonl", folder / f"library-{seed}.json"
        data.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        library.write_text(self.library(seed).to_json(), encoding="utf-8")
        return data, library


def fruit(problems: int) -> Planted:
    """Counting questions of the scripted model, a third of them about each kind of fruit."""
    return Planted(
        tuple(f"When {kind} are counted, put an exclamation mark after the number." for kind in FRUIT),
        "When anything is counted, spell the number out as a word.",
        "When a sum is long, split it into parts first.",
        tuple({"id": f"p{n}", "question": f"How many {FRUIT[n % 3]} are {n}?", "answer": f"{n}!"} for n in range(problems)),
    )  # fmt: skip


def house(family: Family, seed: int, problems: int) -> Planted:
    """Problems of a family, its rule known to one sentence."""
    return Planted(
        family.oracle,
        "For requests of any kind, reply in one polite full sentence that thanks the customer first.",
        "When a knitting pattern is discussed, count the stitches of each row twice.",
        tuple(
            {"id": one.id, "question": one.query, "answer": one.ground_truth or ""}
            for one in family.splits(seed, Sizes(problems, 0, 0)).train
        ),
        REWARD,
        family.max_tokens,
    )


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """Right with a chance that the question and the sentences in front of it set; a function of both and the seed."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You "):
        return silent(messages, sampling)
    *_, kind, _, number = messages[-1].content.strip("?").split()
    chance = 0.2 + 0.3 * _uniform(kind, number)
    chance += HELP * (f"When {kind} are counted" in system) + HARM * ("spell the number out" in system)
    return f"{number}!" if _uniform(kind, number, str(sampling.seed)) < chance else number


def silent(messages: Sequence[Message], sampling: Sampling) -> str:
    """A reflector that proposes nothing and a controller that lets every proposal stand."""
    return "[]"


def _uniform(*parts: str) -> float:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8]) / 2**64
