"""A/A: pairs of evaluations of one and the same prompt. Whatever is called a gain there is a false one.

Eight answers to each held-out problem are halved four against four in ways that are orthogonal to each other (rows of a
Hadamard matrix), so that the pairs of one family are uncorrelated and no answer needs to be drawn for one pair alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import ValidationError

from bench.learning.cell import Cell
from bench.learning.settings import INSTRUCTIONS, SHARED
from bench.learning.workplace import TEMPERATURE, Workplace
from bench.tasks.grading import REWARD
from gym.core.chat import Usage
from gym.core.experience import Library
from gym.core.rollout import Tally
from gym.core.value import Value
from gym.evaluation.evaluate import evaluate
from gym.evaluation.metrics import paired
from gym.files import write_atomic
from gym.train.grpo.session import open_rollouts
from gym.train.grpo.task import load_domain

DRAWS = 8
"""Answers to each problem."""
PAIRS = 5
"""Pairs of one family: five of the seven halvings, so that eight families make forty."""

FILE = "same.json"

Rewards = Mapping[str, Sequence[float]]


class Draws(Value):
    """The recorded answers of one family, scored."""

    inputs: str
    rewards: Mapping[str, tuple[float, ...]]


class Half(NamedTuple):
    """Which draws are on either side."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def halves() -> Iterator[Half]:
    """The seven halvings of eight draws of which any two agree on exactly half of the draws.

    >>> [half.left for half in halves()][:3]
    [(0, 2, 4, 6), (0, 1, 4, 5), (0, 3, 4, 7)]
    """
    for row in range(1, DRAWS):
        signs = [(row & draw).bit_count() % 2 for draw in range(DRAWS)]
        sides = [tuple(draw for draw in range(DRAWS) if signs[draw] == side) for side in (0, 1)]
        yield Half(*sides)


def kept(cell: Cell) -> Draws | None:
    """What is there already, if it was made from the same problems."""
    try:
        found = Draws.model_validate_json((cell.folder / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None
    return found if found.inputs == cell.digest else None


async def draws(place: Workplace, cell: Cell) -> Draws:
    """Eight answers to each held-out problem without a library; the first ones are the baseline's, from its record."""
    if (found := kept(cell)) is not None:
        return found
    folder = cell.folder / "held-out"
    config = place.config(cell, SHARED, folder, system_prompt=INSTRUCTIONS)
    async with place.session(config, folder / "calls.jsonl") as session:
        rollouts = open_rollouts(
            config, session, load_domain(config), REWARD, stage="evaluate", group_size=DRAWS, temperature=TEMPERATURE
        )
        answered = await evaluate(rollouts, cell.splits.test, Library())
    whole = {tally.problem_id: tally.rewards for tally in answered.tallies if len(tally.rewards) == DRAWS}
    made = Draws(inputs=cell.digest, rewards=whole)
    write_atomic(cell.folder / FILE, made.model_dump_json())
    return made


def verdicts(rewards: Rewards) -> list[Literal["gain", "loss", "no difference"]]:
    """What is said of each pair of one family, as `gym compare` says it."""
    chosen = list(halves())[:PAIRS]
    return [paired(_side(rewards, half.left), _side(rewards, half.right)).verdict for half in chosen]


def tally(problem: str, rewards: Sequence[float]) -> Tally:
    """A problem's rewards as statistics want them."""
    return Tally(problem, {}, tuple(rewards), no_answer=0, failed=0, failure=None, tokens=Usage(), tools={})


def _side(rewards: Rewards, drawn: Sequence[int]) -> list[Tally]:
    return [tally(problem, [each[draw] for draw in drawn]) for problem, each in rewards.items()]
