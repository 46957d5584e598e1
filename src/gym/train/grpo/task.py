"""The problems of a run: loaded by the domain, split by a seed, checked for leaks, and what scores them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gym import plugins
from gym.config import RunConfig
from gym.core.chat import ChatModel
from gym.core.problem import Problem, Reward
from gym.core.text import count
from gym.core.value import digest
from gym.errors import ConfigError, DataError
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.domains.columns import require_ground_truth
from gym.train.grpo.domains.rows import locate
from gym.train.grpo.domains.splits import overlap, split
from gym.train.grpo.experience_manager import read_library
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.run_dir import safe_name


class Task(NamedTuple):
    """Disjoint problem sets of one domain."""

    domain: Domain
    train: tuple[Problem, ...]
    val: tuple[Problem, ...]
    test: tuple[Problem, ...]
    notes: tuple[str, ...]

    def inputs(self) -> dict[str, str]:
        """A digest per problem set, so that changed data is noticed on resume."""
        sets = {"train": self.train, "val": self.val, "test": self.test}
        return {name: problems_digest(found) for name, found in sets.items() if found}


def problems_digest(problems: Sequence[Problem]) -> str:
    """SHA-256 of everything that is known of the problems, in their order."""
    return digest([problem.model_dump(mode="json") for problem in problems])


def library_input(config: RunConfig) -> dict[str, str]:
    """The digest of the library to start from, so that a changed one is noticed on resume."""
    path = config.experience_lib_path
    return {"experience_lib": digest(read_library(path).to_json())} if path else {}


def load_domain(config: RunConfig) -> Domain:
    """The domain a configuration names; when it names none and its data set is no file, the domain that knows the set."""
    named: Domain = plugins.resolve("domain", config.domain)
    if "domain" in config.model_fields_set or locate(config.dataset, config.data_dir):
        return named
    return domain_of(config.dataset) or named


def domain_of(source: str) -> Domain | None:
    """The domain that knows a problem set by its name; None when none does."""
    return next((domain for domain in _domains() if domain.knows(source)), None)


def _domains() -> Iterator[Domain]:
    return (plugins.resolve("domain", name) for name in plugins.names("domain"))


def load_task(config: RunConfig, reward: Reward, held_out_reward: Reward) -> Task:
    """Training, validation and held-out problems of a configuration, each scorable by its reward.

    Raises `DataError` for a missing or empty file, for missing answers (unless rewards come from majority vote), and
    for overlap between the sets unless `allow_overlap`.
    """
    if not config.dataset:
        raise ConfigError(
            "no training data: give --data FILE (JSONL, CSV, Parquet), a Hugging Face id, or a domain's set"
        )
    domain = load_domain(config)
    config = _with_preset(config, domain)
    notes: list[str] = []
    everything = read_problems(config, domain, config.dataset, reward, notes, truncate=config.dataset_truncate)
    parts = split(everything, val=config.val_fraction, test=config.test_fraction, seed=config.seed)
    val = read_problems(config, domain, config.val, held_out_reward, notes) if config.val else parts.val
    test = read_problems(config, domain, config.test, held_out_reward, notes) if config.test else parts.test
    if not parts.train:
        raise DataError(f"{config.dataset}: no training problem is left after the split")
    named = {"training": parts.train, "validation": val, "held-out": test}
    notes += (*_overlaps(named, allowed=config.allow_overlap), *_without_effect(config))
    train = parts.train if config.use_groundtruth else _unlabelled(parts.train)
    return Task(domain, train, tuple(val), tuple(test), tuple(notes))


class HeldOut(NamedTuple):
    """What a run measures on."""

    domain: Domain
    source: str
    """What the user calls the problems."""
    problems: tuple[Problem, ...]


def held_out(config: RunConfig, notes: list[str]) -> HeldOut:
    """The held-out problems of a configuration, without its training problems being read; all when it holds none out.

    It names a dataset or a test set. What was left out is added to `notes`. Raises `DataError` like `load_task`.
    """
    domain, reward = load_domain(config), held_out_reward(config)
    meant = _with_preset(config, domain)
    if meant.test:
        return HeldOut(domain, config.test or config.dataset, read_problems(meant, domain, meant.test, reward, notes))
    found = read_problems(meant, domain, meant.dataset, reward, notes, truncate=meant.dataset_truncate)
    parts = split(found, val=meant.val_fraction, test=meant.test_fraction, seed=meant.seed)
    return HeldOut(domain, config.dataset, parts.test or found)


def _with_preset(config: RunConfig, domain: Domain) -> RunConfig:
    """A data set's name may stand for a split: then it names the held-out problems too, unless the user does."""
    meant = domain.preset(config.dataset, config.seed)
    if meant is None:
        return config
    held_out = config.test or ("" if config.test_fraction else meant.test)
    return config.model_copy(update={"dataset": meant.train, "test": held_out})


def train_reward(config: RunConfig, judge: ChatModel | None = None) -> Reward:
    """The reward of training rollouts: majority vote when no ground truth may be used (SPEC 1.8)."""
    if not config.use_groundtruth:
        return resolve_reward("majority_vote", timeout_s=config.reward_timeout)
    return held_out_reward(config, judge)


def held_out_reward(config: RunConfig, judge: ChatModel | None = None) -> Reward:
    """The configured reward, or the domain's; without a model the judge can be named but not asked."""
    return resolve_reward(config.reward or load_domain(config).reward, judge=judge, timeout_s=config.reward_timeout)


def read_problems(
    config: RunConfig, domain: Domain, source: str, reward: Reward, notes: list[str], truncate: int | None = None
) -> tuple[Problem, ...]:
    """One set of problems; those the reward cannot score are left out and named in `notes` (FAULTS G2)."""
    loaded = _load(config, domain, source, truncate)
    _require_own_ids(loaded.problems, source)
    notes += loaded.notes
    scorable, reasons = [], []
    for problem in loaded.problems:
        reason = reward.unscorable(problem)
        if reason is None:
            scorable.append(problem)
        elif problem.ground_truth is None:
            require_ground_truth(loaded.problems)
        else:
            reasons.append(f"{problem.id}: {reason}")
    if not scorable:
        raise DataError(
            f"{source}: none of the {len(reasons)} problems can be scored ({reasons[0] if reasons else 'no rows'})"
        )
    if reasons:
        notes.append(
            f"{source}: {len(reasons)} unscorable, left out ({'; '.join(reasons[:3])}{' …' if len(reasons) > 3 else ''})"
        )
    return tuple(scorable)


def _require_own_ids(problems: Sequence[Problem], source: str) -> None:
    ids = Counter(problem.id for problem in problems)
    if twice := next((id for id, times in ids.items() if times > 1), None):
        raise DataError(f"{source}: {ids[twice]} problems are called {twice!r}: a domain gives each an id of its own")


def _load(config: RunConfig, domain: Domain, source: str, truncate: int | None) -> Loaded:
    try:
        return domain.load(
            source,
            data_dir=config.data_dir,
            input_key=config.input_key,
            answer_key=config.answer_key,
            truncate=truncate,
        )
    except DataError as error:
        if domain.sets or locate(source, config.data_dir):
            raise
        known = "; ".join(f"--domain {other.name}: {', '.join(other.sets)}" for other in _domains() if other.sets)
        raise DataError(f"{error}; sets known by name: {known}") from error


def run_folder(config: RunConfig) -> Path:
    """Where the run lives: output_dir/experiment_name; without a name, a given output_dir itself is the run's."""
    base = Path(config.output_dir)
    if config.experiment_name:
        return base / safe_name(config.experiment_name)
    if "output_dir" in config.model_fields_set:
        return base
    return base / safe_name(f"{Path(config.dataset).stem}-{config.model_name_or_path.rpartition('/')[2]}")


def _overlaps(named: Mapping[str, Sequence[Problem]], *, allowed: bool) -> list[str]:
    found = []
    names = list(named)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if pairs := overlap(named[one], named[other]):
                shown = ", ".join(f"{a.id} = {b.id}" for a, b in pairs[:3])
                both = count(len(pairs), "problem", verb="is/are")
                found.append(f"{both} in both the {one} and the {other} set ({shown})")
    if found and not allowed:
        raise DataError(
            "; ".join(found) + "; remove them, or pass --allow-overlap to go on and have it said in the report"
        )
    return found


def _without_effect(config: RunConfig) -> list[str]:
    """Levers that another setting leaves nothing to pull."""
    needing = {
        "learn_from: mixed+all_wrong": config.learn_from != "mixed",
        "critique_feedback": config.critique_feedback,
    }
    found = [
        f"{name} has no effect: it needs the references that use_groundtruth: false takes away"
        for name, wanted in needing.items()
        if wanted and not config.use_groundtruth
    ]
    for name, wanted in (("screen_keep", config.screen_keep > 0), ("screen_when", config.screen_when == "after_gate")):
        if wanted and not config.screen_answers:
            found.append(f"{name} has no effect: with screen_answers: 0 no experience is tried")
    if config.curriculum and config.epochs == 1:
        found.append("curriculum has no effect: problems rest from the second epoch on, and there is one")
    return found


def _unlabelled(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Without ground truth nothing may leak: the label is taken away before anything sees the problem (SPEC 1.8)."""
    return tuple(problem.model_copy(update={"ground_truth": None, "metadata": {}}) for problem in problems)
