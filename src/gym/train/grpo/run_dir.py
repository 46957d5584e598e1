"""Every name under `output/<experiment_name>/`, and where a run continues (SPEC 4.4, 4.6).

A step's `experiences.json` is written last: its presence means the step is done. Everything a step writes is a
function of the recorded calls, so a step that is not done is simply run again from `calls.jsonl`, free of charge.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from filelock import FileLock, Timeout
from pydantic import Field

from gym.config import EXECUTION_KEYS, YOUNGER_KEYS, RunConfig
from gym.core.decision import Decision
from gym.core.draws import Draws
from gym.core.experience import Library
from gym.core.journal import Event, from_text, replay
from gym.core.problem import Problem, ToolUse
from gym.core.reflection import BatchUpdate, Critique, Summary
from gym.core.rollout import Group, Rollout
from gym.core.trials import Trials
from gym.core.value import Value
from gym.errors import ConfigError, LibraryError, StorageError
from gym.files import append_durably, write_atomic

_UNSAFE = re.compile(r"[^\w.\-]+")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})

STEP_FILES = (
    "rollout.jsonl",
    "single_rollout_summary.json",
    "single_query_critique.json",
    "batch_update.json",
    "experiences.json",
)
TRIALS = "credit.json"
"""Beside them where experiences are shown at random."""


def safe_name(name: str) -> str:
    """A file name for any run or model name, on any system.

    >>> [safe_name(name) for name in ("a/b", "llama3.1:8b", "CON", "x.", "..")]
    ['a-b', 'llama3.1-8b', 'CON_', 'x', 'run']
    """
    safe = _UNSAFE.sub("-", name).strip(" .-")[:100].rstrip(" .-") or "run"
    return f"{safe}_" if safe.split(".")[0].lower() in _RESERVED else safe


class StepStats(Value):
    """What one step did, for `stats.json` and the report."""

    epoch: int
    step: int
    problems: int
    rollouts: int
    failed: int
    no_answer: int
    failures: Mapping[str, int] = {}
    """How often each failure occurred, by its words."""
    mean: float | None
    """Mean reward over answered + no answer; None when every rollout failed."""
    mean_failed_as_0: float
    informative: int
    homogeneous: int
    proposed: int
    accepted: Mapping[str, int]
    rejected: int
    library_size: int
    library_tokens: int
    seconds: float
    gate: Decision | None = Field(default=None, exclude_if=lambda decision: decision is None)
    """What validation problems said of it; None where they were not asked."""
    whole: Decision | None = Field(default=None, exclude_if=lambda decision: decision is None)
    """What they had said of all changes together, where `gate` is of a part: the measured removals, or what stood its trial."""
    tools: Mapping[str, ToolUse] = Field(default_factory=dict, exclude_if=lambda used: not used)
    """What the rollouts called, by tool."""
    draws: Draws | None = Field(default=None, exclude_if=lambda draws: draws is None)
    """Where groups may differ in size or problems may rest."""


class Resume(NamedTuple):
    """What is already there."""

    steps: int
    library: Library | None
    events: tuple[Event, ...]
    stats: tuple[StepStats, ...]


class RunDir:
    """One run's folder, locked against a second process for as long as this one lives."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = FileLock(root / ".lock")

    def __enter__(self) -> "RunDir":
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ConfigError(
                f"run {str(self.root)!r} is in use by another process; wait for it or choose another name"
            ) from None
        except OSError as error:
            raise StorageError(f"run folder {str(self.root)!r} cannot be used: {error.strerror or error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def path(self, name: str) -> Path:
        """A file directly in the run folder."""
        return self.root / name

    def step_path(self, epoch: int, step: int, name: str) -> Path:
        """A file of one step; steps count on across epochs."""
        return self.root / f"epoch_{epoch}" / f"step_{step}" / name

    def begun(self, config: RunConfig) -> RunConfig:
        """`config` with what it leaves open taken from the run that is here: settings it began without, its encoder."""
        file = self.path("config.yaml")
        if not (file.exists() and self.has_calls()):
            return config
        saved = self._saved_config(file)
        open_keys = {key for key in YOUNGER_KEYS.keys() - saved.keys() if key not in config.model_fields_set}
        if config.encoder == "auto":
            open_keys.add("encoder")
        was = _as_it_was(saved)
        return config.model_copy(update={key: was[key] for key in open_keys})

    def accept_config(self, config: RunConfig, inputs: Mapping[str, str]) -> None:
        """Write config.yaml, or compare with the one that is there: a change is refused, naming the keys (FAULTS S12).

        `inputs` maps a data file's role to its digest; they are compared alike.
        """
        file = self.path("config.yaml")
        if file.exists() and self.has_calls():
            if told := self.changes(config, inputs):
                anew = (
                    "--fork NEW_NAME to start a new run that reuses the paid calls"
                    if config.continuous_learning_grpo
                    else "choose another --experiment-name"
                )
                raise ConfigError(
                    f"run {str(self.root)!r} was started with other settings ({told}); use the same ones to continue, or {anew}"
                )
            return
        public = {**config.public(), "inputs": dict(inputs)}
        if not file.exists() and self.has_calls() and any(self.root.glob("epoch_*")):
            raise ConfigError(
                f"{str(file)!r} is gone, so its calls belong to unknown settings: choose another --experiment-name"
            )
        write_atomic(file, yaml.safe_dump(public, allow_unicode=True, sort_keys=False))

    def changes(self, config: RunConfig, inputs: Mapping[str, str]) -> str:
        """What of `config` and `inputs` is not as the run was started with, in words; empty when it was not started."""
        file = self.path("config.yaml")
        if not (file.exists() and self.has_calls()):
            return ""
        now = {**config.identity(), "inputs": dict(inputs)}
        saved = self._saved_config(file)
        before = {key: value for key, value in _as_it_was(saved).items() if key not in EXECUTION_KEYS}
        changed = sorted(key for key in now.keys() | before.keys() if now.get(key) != before.get(key))
        return "; ".join(f"{key}: {before.get(key)!r} → {now.get(key)!r}" for key in changed[:6])

    def _saved_config(self, file: Path) -> dict[str, Any]:
        try:
            saved = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            saved = None
        if not isinstance(saved, dict):
            raise ConfigError(f"{str(file)!r} is damaged: restore it, or choose another --experiment-name")
        return saved

    def refuse_to_overwrite_edits(self, actor: str) -> None:
        """Raise `ConfigError` when someone other than `actor` changed the run's library since: no edit is ever lost."""
        events = self._events()
        others = sorted({event.actor for event in events} - {actor})
        if not others and not self._edited_by_hand(events):
            return
        who = f"changes by {', '.join(others)}" if others else "changes made in the file itself"
        raise ConfigError(
            f"the library of run {str(self.root)!r} has {who}, which training on would overwrite; start a new run from "
            f"it: --experience-lib-path {self.path('experiences.json')} --experiment-name NEW_NAME"
        )

    def _edited_by_hand(self, events: Sequence[Event]) -> bool:
        """Whether experiences.json holds entries that the journal never led to."""
        try:
            library = Library.from_json(self.path("experiences.json").read_text(encoding="utf-8"))
        except (OSError, LibraryError):
            return False
        ends = [
            place for place, event in enumerate(events, 1) if place == len(events) or events[place].step != event.step
        ]
        return bool(events) and all(replay(events[:end]).entries != library.entries for end in (*reversed(ends), 0))

    def has_calls(self) -> bool:
        """Whether anything was asked and recorded."""
        log = self.path("calls.jsonl")
        return log.exists() and log.stat().st_size > 0

    def write_epoch(self, epoch: int, problems: Sequence[Problem], *, anew: bool = False) -> None:
        """The epoch's problems in the order they are served; written once unless `anew`: mostly the settings decide it."""
        path = self.root / f"epoch_{epoch}" / "shuffled_data.jsonl"
        if anew or not path.exists():
            _write_lines(path, problems)

    def rollouts(self, epoch: int, step: int) -> Iterator[Rollout]:
        """What a step that is done has drawn."""
        with self.step_path(epoch, step, "rollout.jsonl").open(encoding="utf-8") as lines:
            yield from map(Rollout.model_validate_json, lines)

    def write_step(
        self,
        epoch: int,
        step: int,
        groups: Sequence[Group],
        summaries: Sequence[Summary],
        critiques: Sequence[Critique],
        update: BatchUpdate,
    ) -> None:
        """Everything of a step but its `experiences.json`."""
        rollouts = [rollout for group in groups for rollout in group.rollouts]
        _write_lines(self.step_path(epoch, step, "rollout.jsonl"), rollouts)
        _write_json(
            self.step_path(epoch, step, "single_rollout_summary.json"),
            [item.model_dump(mode="json") for item in summaries],
        )
        _write_json(
            self.step_path(epoch, step, "single_query_critique.json"),
            [item.model_dump(mode="json") for item in critiques],
        )
        _write_json(self.step_path(epoch, step, "batch_update.json"), update.model_dump(mode="json"))

    def write_trials(self, epoch: int, step: int, trials: Trials) -> None:
        """A step's credit.json, where experiences were shown at random."""
        write_atomic(self.step_path(epoch, step, TRIALS), trials.model_dump_json() + "\n")

    def read_trials(self, places: Sequence[tuple[int, int]]) -> list[Trials]:
        """Those of the steps at `places` (epoch, step) that have any."""
        paths = [self.step_path(epoch, step, TRIALS) for epoch, step in places]
        return [Trials.model_validate_json(path.read_bytes()) for path in paths if path.exists()]

    def finish_step(
        self, epoch: int, step: int, library: Library, news: Sequence[Event], stats: Sequence[StepStats]
    ) -> None:
        """The step's events and statistics, then its `experiences.json`, whose presence says that the step is done."""
        append_durably(self.path("journal.jsonl"), "".join(event.to_line() for event in news))
        _write_json(self.path("stats.json"), {"steps": [item.model_dump(mode="json") for item in stats]})
        self.write_library(library)
        write_atomic(self.step_path(epoch, step, "experiences.json"), library.to_json())

    def write_library(self, library: Library) -> None:
        """The run's experiences.json."""
        write_atomic(self.path("experiences.json"), library.to_json())

    def rewind(self, library: Library, events: Sequence[Event]) -> None:
        """Library and journal as the steps that are done left them: what a run keeps of them.

        The library comes first: killed in between, it is still one that the journal led to.
        """
        self.write_library(library)
        write_atomic(self.path("journal.jsonl"), "".join(event.to_line() for event in events))

    def go_back(self, library: Library, events: Sequence[Event]) -> None:
        """The run's library replaced by an older one; the journal, which tells of it, comes first."""
        write_atomic(self.path("journal.jsonl"), "".join(event.to_line() for event in events))
        self.write_library(library)

    def went_back_at(self, step: int) -> str | None:
        """When the journal's return to an older library after `step` steps was, ISO 8601; None: there is none."""
        return next((event.at for event in self._events() if event.option == "restore" and event.step == step), None)

    def resume(self, places: Iterable[tuple[int, int]], *, files: Sequence[str] = STEP_FILES) -> Resume:
        """How many of the steps at `places` (epoch, step) are done and what they left; a place is asked for after earlier ones.

        A step counts when all its `files` are there, its statistics are known and the journal up to it replays to its
        library; else it and all later ones are run again, from the recorded calls.
        """
        events, stats = self._events(), self._stats()
        done = Resume(0, None, (), ())
        library, seen = Library(), 0
        for _, (epoch, step) in zip(stats, places, strict=False):
            mine = tuple(takewhile(lambda event: event.step <= step, events[seen:]))  # noqa: B023 - used at once
            library, seen = replay(mine, start=library), seen + len(mine)
            if not self._left(epoch, step, library, files):
                break
            done = Resume(done.steps + 1, library, events[:seen], stats[: done.steps + 1])
        return done

    def _left(self, epoch: int, step: int, library: Library, files: Sequence[str]) -> bool:
        """Whether a step's files are all there and its library is this one."""
        if not all(self.step_path(epoch, step, name).exists() for name in files):
            return False
        return self.step_path(epoch, step, "experiences.json").read_bytes() == library.to_json().encode()

    def write_json(self, name: str, value: Any) -> None:
        """A JSON file directly in the run folder."""
        _write_json(self.path(name), value)

    def read_json(self, name: str) -> Any:
        """Its content, or None when it is missing or unreadable."""
        try:
            return json.loads(self.path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _events(self) -> tuple[Event, ...]:
        try:
            return from_text(self.path("journal.jsonl").read_text(encoding="utf-8")).events
        except (OSError, ValueError, LibraryError):
            return ()

    def _stats(self) -> tuple[StepStats, ...]:
        saved = self.read_json("stats.json")
        try:
            return tuple(StepStats.model_validate(item) for item in saved["steps"])
        except (TypeError, KeyError, ValueError):
            return ()


def _as_it_was(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Saved settings with the keys that are younger than they: as they held then."""
    return {**RunConfig().identity(), **YOUNGER_KEYS, **saved}


def _write_lines(path: Path, values: Iterable[Value]) -> None:
    write_atomic(path, (json.dumps(value.model_dump(mode="json"), ensure_ascii=True) + "\n" for value in values))


def _write_json(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
