"""What is left on disk of an evaluation: the figures of every problem, so that two of them can be compared later.

`RUN/evaluations/NAME.json` holds what the answers were asked for and with (`Identity`) and one line per problem. The texts
stay out: they are in calls.jsonl. Of a problem's metadata only short values are kept, which is what tables are made of.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gym.config import RunConfig
from gym.core.admission import estimate_tokens
from gym.core.chat import Usage
from gym.core.experience import Library
from gym.core.problem import Failure, Problem, ToolUse
from gym.core.prompting import library_block
from gym.core.rollout import Tally
from gym.core.value import Value, digest
from gym.errors import ConfigError
from gym.files import write_atomic
from gym.llm.prices import FREE, Overrides, price
from gym.train.grpo.domains.base import Domain
from gym.train.grpo.domains.columns import normalized
from gym.train.grpo.ways import tools_of

FOLDER = "evaluations"

RESULTS = ("after", "library", "plain")
"""A run's result, the first that is there: of `gym train` what it learned, of `gym eval` the library it was given, or none."""

SHORT, FEW = 80, 20
"""Characters of a metadata value, and values of a list, up to which they are kept."""


class Identity(Value):
    """What was measured, and how."""

    name: str
    """`before` and `after` of `gym train`; `plain`, `library`, `again` or `also-…` of `gym eval`."""
    model: str
    dataset: str
    data_sha256: str
    """Of the problems that were asked, in order."""
    domain: str
    reward: str
    library: str
    """Digest of the library in the prompt; empty without one."""
    library_size: int
    library_tokens: int
    """What the library adds to a prompt, estimated without a tokenizer."""
    instructions: str
    """SHA-256 of the instructions before the library."""
    mode: str
    tools: tuple[str, ...] = Field(default=(), exclude_if=lambda tools: not tools)
    """What the model could call in agent mode; empty in a record that is older than this."""
    k: int
    temperature: float
    seed: int
    max_tokens: int
    weights: str = Field(default="", exclude_if=lambda changed: not changed)
    """What gradients made of the model: the way, and the digest of every tensor; empty: it is as its name says."""

    def told(self) -> dict[str, str]:
        """Each of them in words."""
        found = self.model_dump(mode="json")
        return {name: ", ".join(one) if isinstance(one, list) else str(one) or "none" for name, one in found.items()}


class Answers(Value):
    """All answers to one problem, in figures."""

    id: str
    asked: str
    """SHA-256 of the question in the form in which two questions are the same, 16 hex digits."""
    rewards: tuple[Annotated[float, Field(ge=0, le=1)], ...]
    """Of the scored answers, in the order of asking."""
    no_answer: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    failure: Failure | None = Field(default=None, exclude_if=lambda failure: failure is None)
    """The first."""
    tokens: Usage
    latency_s: float = Field(ge=0, allow_inf_nan=False)
    """Of the model's replies, summed over the answers."""
    metadata: Mapping[str, Any] = Field(default_factory=dict, exclude_if=lambda found: not found)
    tools: Mapping[str, ToolUse] = Field(default_factory=dict, exclude_if=lambda used: not used)

    @classmethod
    def of(cls, problem: Problem, tally: Tally) -> "Answers":
        """The figures of one problem; of its metadata the short values."""
        form = normalized(problem.query).encode("utf-8", "backslashreplace")
        return cls(
            id=problem.id,
            asked=hashlib.sha256(form).hexdigest()[:16],
            rewards=tally.rewards,
            no_answer=tally.no_answer,
            failed=tally.failed,
            failure=tally.failure,
            tokens=tally.tokens,
            latency_s=round(tally.latency_s, 6),
            metadata={key: value for key, value in tally.metadata.items() if _is_short(value)},
            tools=tally.tools,
        )

    def tally(self, name: str) -> Tally:
        """The same for the statistics, matched by `name`."""
        return Tally(
            name, self.metadata, self.rewards, self.no_answer, self.failed, self.failure, self.tokens, self.tools,
            self.latency_s,
        )  # fmt: skip


class Record(Value):
    """One evaluation."""

    format: Literal[1] = 1
    identity: Identity
    usd: float | None
    """Of the answers at the model's price, paid now or earlier; None when it has no price or the server told no tokens."""
    answers: tuple[Answers, ...]

    @model_validator(mode="after")
    def _each_problem_once(self) -> Self:
        if len({one.id for one in self.answers}) < len(self.answers):
            raise ValueError("a problem stands in it twice")
        return self

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """One a problem, by id."""
        return tuple(one.tally(one.id) for one in self.answers)


def identity(
    config: RunConfig,
    domain: Domain,
    problems: Sequence[Problem],
    library: Library,
    *,
    name: str,
    dataset: str,
    weights: str = "",
) -> Identity:
    """What an evaluation under `config` is made of; `dataset` is what the user calls the problems."""
    return Identity(
        name=name,
        model=config.model_name_or_path,
        dataset=dataset,
        data_sha256=digest([problem.model_dump(mode="json") for problem in problems]),
        domain=domain.name,
        reward=config.reward or domain.reward,
        library=library.digest if len(library) else "",
        library_size=len(library),
        library_tokens=estimate_tokens(library_block(library.render())) if len(library) else 0,
        instructions=digest(config.system_prompt or domain.prompts.solve),
        mode=config.mode,
        tools=tools_of(config),
        k=config.eval_k,
        temperature=config.eval_temperature,
        seed=config.seed,
        max_tokens=config.rollout_max_tokens,
        weights=weights,
    )


def answers(problems: Sequence[Problem], tallies: Sequence[Tally]) -> Iterator[Answers]:
    """The figures of each problem, in order."""
    return (Answers.of(problem, tally) for problem, tally in zip(problems, tallies, strict=True))


def dollars(model: str, tallies: Iterable[Tally], prices: Overrides | None) -> float | None:
    """What the answers cost at the model's price; None when it has none or the server told no tokens."""
    tokens, known = Usage.sum(tally.tokens for tally in tallies), price(model, prices)
    return known.usd(tokens) if known is not None and (tokens.known or known == FREE) else None


def write(run: Path, made: Identity, usd: float | None, found: Iterable[Answers]) -> None:
    """Leave `evaluations/NAME.json` in the run's folder, whole or not at all; no more than a line of it is held."""
    write_atomic(run / FOLDER / f"{made.name}.json", _lines(made, usd, found))


def forget(run: Path, kept: Collection[str]) -> None:
    """Remove what an earlier `gym eval` left in the run's folder under other names than `kept`."""
    for file in (run / FOLDER).glob("*.json"):
        if file.stem not in kept and (
            file.stem in ("plain", "library", "again", "closed-book") or file.stem.startswith("also-")
        ):
            file.unlink(missing_ok=True)


def read(path: Path) -> Record:
    """The evaluation of a run's folder (its result, see `RESULTS`) or of one file.

    Raises `ConfigError` for what is no run, a run without an evaluation, and a file that is no evaluation.
    """
    if path.is_dir():
        path = _result(path)
    try:
        return Record.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise ConfigError(
            f"{str(path)!r} does not exist: give a folder of `gym train`, `gym eval` or `gym baseline`"
        ) from None
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{str(path)!r} is no evaluation, or a damaged one: give a run's folder") from error


def _result(run: Path) -> Path:
    there = next((file for name in RESULTS if (file := run / FOLDER / f"{name}.json").exists()), None)
    if there is not None:
        return there
    if not any((run / name).exists() for name in ("calls.jsonl", "config.yaml", "manifest.json")):
        raise ConfigError(f"{str(run)!r} is not a run's folder: give one of `gym train`, `gym eval` or `gym baseline`")
    raise ConfigError(
        f"run {str(run)!r} holds no evaluation: `gym train` leaves one when it has held-out problems (--test FILE or "
        "--test-fraction 0.3), `gym eval` always; the same command again pays for nothing twice"
    )


def _is_short(value: object) -> bool:
    if isinstance(value, list | tuple):
        return len(value) <= FEW and all(_is_short(one) and not isinstance(one, list | tuple) for one in value)
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= SHORT)


def _lines(made: Identity, usd: float | None, found: Iterable[Answers]) -> Iterator[str]:
    """A record's JSON with a line for each problem."""
    head = Record(identity=made, usd=usd, answers=()).model_dump(mode="json", exclude={"answers"})
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "answers": ['
    for place, one in enumerate(found):
        yield f"{',' if place else ''}\n{json.dumps(one.model_dump(mode='json'), ensure_ascii=False)}"
    yield "\n]}\n"
