"""What a domain is: a name, how its problems are loaded, what the model is told, and what scores it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gym.core.problem import Problem, Solver
from gym.core.value import Value
from gym.train.grpo.solvers.single_turn import single_turn


@dataclass(frozen=True)
class Loaded:
    """Problems in the order of their file, and what was dropped or decided on the way, each with its lines."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


class Load(Protocol):
    """Reads a problem set. Raises `DataError` when there is none, `MissingExtra` when a reader is not installed."""

    def __call__(self, source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
        """The problems of `source`, at most the first `truncate`."""
        ...


class StageWords(Value):
    """What a domain adds to the instructions of a large reflector's stages; each may be empty."""

    summarize: str = ""
    critique: str = ""
    consolidate: str = ""


NO_WORDS = StageWords()


@dataclass(frozen=True)
class Prompts:
    """What a domain tells the model."""

    solve: str = ""
    """Instructions in the system prompt, before the library; may be empty."""
    labelled: StageWords = NO_WORDS
    """For reflection that is shown the reference answer."""
    unlabelled: StageWords = NO_WORDS
    """For reflection on majority votes: it must speak of no reference (SPEC 1.8)."""

    def words(self, use_groundtruth: bool) -> StageWords:
        """What is added to the stages of a run with, or without, ground truth."""
        return self.labelled if use_groundtruth else self.unlabelled


class Preset(NamedTuple):
    """A split known by one name: what `load` is asked for, for training and held out."""

    train: str
    test: str


def no_preset(source: str, seed: int) -> Preset | None:
    """Every source means one set."""
    return None


def no_veto(text: str) -> str | None:
    """Every experience text is welcome."""
    return None


@dataclass(frozen=True)
class Domain:
    """A kind of task."""

    name: str
    load: Load
    prompts: Prompts = Prompts()
    reward: str = "normalized"
    """Name of the reward when the user names none."""
    solver: Solver = single_turn
    veto: Callable[[str], str | None] = no_veto
    """The domain's own reason to refuse an experience text, or None."""
    sets: tuple[str, ...] = ()
    """Names of problem sets that `load` knows; a source may add options after a colon, and join sets with `+`."""
    preset: Callable[[str, int], Preset | None] = no_preset
    """The split that a source and the run's seed name, or None when the source is one set."""
    closed_book: str = ""
    """Instructions for the same problems without tools and library, which every agent's result is shown beside; empty: none."""

    def knows(self, source: str) -> bool:
        """Whether a source names one of the domain's sets; letter case, `-` and `_` do not matter."""
        name = re.split(r"[:+]", source, maxsplit=1)[0].strip().lower().replace("-", "_")
        return name in self.sets
