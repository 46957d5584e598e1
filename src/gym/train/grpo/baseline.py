"""The answers to held-out problems before learning, shared between runs that ask for exactly the same.

A run begins with them, so they are the first lines of its record. A run whose settings differ only in how it learns asks the
same requests under the same seeds; served from the record they cost nothing and make its gain comparable problem by problem.
Whatever is not asked the same is simply asked: only an identical request is ever served.
"""

from collections.abc import Iterator
from pathlib import Path

from gym.config import RunConfig
from gym.evaluation.ablation import Spent
from gym.files import write_atomic
from gym.llm.call_facts import Facts, read_facts
from gym.llm.prices import price

LEARNING_KEYS = frozenset(
    {
        "grpo_group_size", "group_size_min", "group_size_max", "epochs", "batch_size", "dataset_truncate", "curriculum",
        "learn_from", "use_groundtruth", "rollout_temperature", "semantic_max_operations", "critique_feedback",
        "critique_contrast", "critique_groups", "critique_samples",
        "reflector_model", "reflector_base_url", "reflector_profile", "reflection_max_tokens", "reflector_context",
        "inclusion", "screen_answers", "screen_keep", "screen_when", "gate", "gate_error", "gate_margin", "descent",
        "experience_max_size", "experience_token_budget",
    }
)  # fmt: skip
"""Settings that have no say in how held-out problems are answered before anything is learned."""


def same_baseline(one: RunConfig, other: RunConfig) -> bool:
    """Whether two runs ask their held-out problems the same at their start."""
    mine, theirs = one.identity(), other.identity()
    return all(mine[key] == theirs[key] for key in mine.keys() - LEARNING_KEYS)


def lend(source: Path, target: Path) -> None:
    """Begin the record `target` with the baseline of `source`; nothing happens where there is a record already."""
    if source.exists() and not target.exists():
        write_atomic(target, (line.decode("ascii") for line, _ in _baseline(source)))


def lent(source: Path, target: Path, config: RunConfig) -> Spent:
    """What the part of `target` came to that was taken over from `source`."""
    shared = Spent()
    if source == target or not source.exists() or not target.exists():
        return shared
    for (mine, facts), (theirs, _) in zip(_baseline(target), _baseline(source), strict=False):
        if mine != theirs:
            break
        known, spent = price(facts.model, config.prices), facts.spent
        shared += Spent(
            calls=1, tokens=spent.prompt + spent.completion, usd=None if known is None else known.usd(spent)
        )
    return shared


def _baseline(log: Path) -> Iterator[tuple[bytes, Facts]]:
    """The lines of a record up to the first call of learning; a torn last line is none of them."""
    with log.open("rb") as lines:
        for line in lines:
            facts = read_facts(line) if line.endswith(b"\n") else None
            if facts is None or facts.stage != "evaluate":
                return
            yield line, facts
