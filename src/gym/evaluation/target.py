"""What is measured: problems, and the settings under which they are asked and scored.

Beside the run's own target there may be others, each in its own way. A file is asked like the run's own problems, a set
that another domain knows as that domain does, and a configuration as a run of it would ask what it holds out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gym.config import ENDPOINT_KEYS, RunConfig, load_config
from gym.core.problem import Problem
from gym.core.text import count
from gym.errors import ConfigError
from gym.train.grpo.domains.base import Domain
from gym.train.grpo.domains.splits import overlap
from gym.train.grpo.task import domain_of, held_out, held_out_reward, load_domain, read_problems
from gym.train.grpo.ways import AGENT_KEYS

ITS_OWN = AGENT_KEYS | {
    "dataset", "dataset_truncate", "domain", "data_dir", "test", "test_fraction", "val", "val_fraction", "input_key",
    "answer_key", "reward", "system_prompt", "mode", "rollout_max_tokens", "task_timeout", "reward_timeout",
}  # fmt: skip
"""Keys of a configuration that say what is asked and how; all others (model, k, seed, endpoints …) are the command's."""

THE_COMMANDS = ENDPOINT_KEYS | {
    "model_name_or_path", "judge_model", "judge_base_url", "judge_api_key", "experience_lib_path", "retrieval", "retrieval_k",
    "relevance", "encoder", "eval_k", "eval_temperature", "budget_usd", "budget_tokens", "budget_calls",
}  # fmt: skip
"""Keys that measure too, so that whoever gives them in another task's file is told that they are not used."""

AT_ONCE = {"mode": "chat", "tools": (), "system_prompt": "", "input_key": "", "answer_key": ""}
"""Of a set that its domain knows, where no configuration says more."""


class Target(NamedTuple):
    """A set of problems, and the settings under which they are asked and scored."""

    config: RunConfig
    domain: Domain
    problems: tuple[Problem, ...]

    @property
    def answers(self) -> int:
        """Of one measurement."""
        return len(self.problems) * self.config.eval_k

    def reseeded(self) -> "Target":
        """The same with the next seed: other draws of the same answers."""
        return self._replace(config=self.config.model_copy(update={"seed": self.config.seed + 1}))


def target_of(config: RunConfig, notes: list[str]) -> Target:
    """The problems of `config.dataset` that can be scored; what was left out is added to `notes`.

    Raises `ConfigError` when no data is named, or none can be read.
    """
    if not config.dataset:
        raise ConfigError("no data: give --data FILE (JSONL, CSV, Parquet), a Hugging Face id, or a domain's set")
    domain, reward = load_domain(config), held_out_reward(config)
    problems = read_problems(config, domain, config.dataset, reward, notes, truncate=config.dataset_truncate)
    return Target(config, domain, problems)


def elsewhere(config: RunConfig, what: str, reward: str, notes: list[str]) -> Target:
    """Another data set, or the held-out problems of the configuration file `what`, for the models of `config`.

    `reward` scores it; empty: its own. Raises `ConfigError` for a set that only an agent can answer when there is none.
    """
    if Path(what).suffix.lower() in (".yaml", ".yml"):
        return _configured(config, what, reward, notes)
    return target_of(_beside(config, what, reward), notes)


def _configured(config: RunConfig, path: str, reward: str, notes: list[str]) -> Target:
    own = load_config(path)
    if not (own.dataset or own.test):
        raise ConfigError(f"--also {path}: it names neither a dataset nor a test set, so there is nothing to ask")
    if reward:
        own = own.model_copy(update={"reward": reward})
    notes += _unused(config, own, path)
    found = held_out(own, notes)
    theirs = {name: getattr(config, name) for name in RunConfig.model_fields if name not in ITS_OWN}
    asked = {"dataset": found.source, "reward": own.reward or found.domain.reward}
    return Target(own.model_copy(update=theirs | asked), found.domain, found.problems)


def _unused(config: RunConfig, own: RunConfig, path: str) -> Iterator[str]:
    if own.mode == "chat" and own.tools:
        yield f"{path}: tools are given, but mode is chat: they are not used"
    if other := sorted(key for key in own.model_fields_set & THE_COMMANDS if getattr(own, key) != getattr(config, key)):
        yield f"{path}: not used, for the command says what holds: {', '.join(other)}"


def others(own: Target, config: RunConfig, also: Sequence[str], reward: str, notes: list[str]) -> tuple[Target, ...]:
    """Other sets, each once, scored by `reward` (empty: `elsewhere`); what a reader must know is added to `notes`.

    Raises `ConfigError` like `elsewhere`, and for a reward without a set.
    """
    if reward and not also:
        raise ConfigError("--also-reward scores the answers to another set: give it with --also OTHER")
    sets = tuple(dict.fromkeys(also))
    found = tuple(elsewhere(config, what, reward, notes) for what in sets)
    for what, other in zip(sets, found, strict=True):
        notes += shared(own, other, what)
    return found


def shared(own: Target, other: Target, what: str) -> Iterator[str]:
    """That `what`, which is to show what a library does elsewhere, asks what the run's own target asks."""
    if pairs := overlap(other.problems, own.problems):
        both = count(len(pairs), "problem", verb="is/are")
        yield f"--also {what}: {both} asked in the command's own set too, which says nothing of elsewhere"


def _beside(config: RunConfig, dataset: str, reward: str) -> RunConfig:
    own = domain_of(dataset)
    if own is None or own.name == load_domain(config).name:
        return config.model_copy(update={"dataset": dataset, "reward": reward or config.reward})
    if own.closed_book and config.mode == "chat":
        raise ConfigError(
            f"--also {dataset}: the domain {own.name!r} is answered by an agent, and this run has none: write a YAML file "
            "with its dataset, mode, tools and web_sites, and give --also FILE.yaml"
        )
    its_way = {} if own.closed_book else AT_ONCE
    return config.model_copy(update={"dataset": dataset, "domain": own.name, "reward": reward, **its_way})
