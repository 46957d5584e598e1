"""Which variants an ablation compares: settings varied one at a time around a base, or in every combination.

The base has each varied setting at its own value where that is among the wanted ones, else at the first wanted one, and comes
first: the others are compared with it.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from gym.config import EXECUTION_KEYS, RunConfig, canonical_key
from gym.core.value import digest
from gym.errors import ConfigError
from gym.train.grpo.run_dir import safe_name

LONGEST = 60
"""Characters of a folder's name."""

WORDS = {"gate": {"on": "paired", "off": "none"}}
"""What on and off mean where a setting is neither true nor false."""

Load = Callable[[Mapping[str, Any]], RunConfig]
"""The configuration with some settings changed; raises `ConfigError` for a value that cannot be."""


class Varied(NamedTuple):
    """A setting and the values it is to have."""

    key: str
    values: tuple[Any, ...]


class Variant(NamedTuple):
    """One configuration of an ablation."""

    name: str
    changes: Mapping[str, Any]
    """Every varied setting with its value."""

    @property
    def folder(self) -> str:
        """A folder name of its own."""
        return (
            self.name
            if safe_name(self.name) == self.name
            else f"{safe_name(self.name)[:LONGEST]}-{digest(self.name)[:8]}"
        )


def varied(key: str, words: str, load: Load) -> Varied:
    """The setting `key` with the comma-separated values of `words`, each checked; a quoted value may hold commas."""
    key = canonical_key(key, "--vary")
    if key in EXECUTION_KEYS or key == "seed":
        raise ConfigError(f"--vary {key}: it does not change how a run learns (for seeds there is --seeds 0,1,2)")
    found = [getattr(load({key: meant(key, word)}), key) for word in split(words)]
    if not found:
        raise ConfigError(f"{key}: give the values to compare, as in {key}=V1,V2")
    return Varied(key, tuple(value for place, value in enumerate(found) if value not in found[:place]))


def split(words: str) -> list[str]:
    """
    >>> split('1, 3,5'), split('"a, b",c')
    (['1', '3', '5'], ['a, b', 'c'])
    """
    return [word.strip() for row in csv.reader([words], skipinitialspace=True) for word in row if word.strip()]


def meant(key: str, word: str) -> Any:
    """What a word stands for: on and off, and `none` for a setting that may be without a value.

    >>> meant("gate", "off"), meant("group_size_min", "none"), meant("gate", "none"), meant("curriculum", "on")
    ('none', None, 'none', 'on')
    """
    field = RunConfig.model_fields[key]
    if field.get_default(call_default_factory=True) is None and word.lower() in ("none", "off"):
        return None
    return WORDS.get(key, {}).get(word.lower(), word)


def variants(own: RunConfig, several: Sequence[Varied], *, full: bool) -> tuple[Variant, ...]:
    """The base, then each other value alone or (`full`) every other combination, in the order given."""
    _each_once(several)
    usual = {key: getattr(own, key) for key, _ in several}
    base = {key: usual[key] if usual[key] in values else values[0] for key, values in several}
    if full:
        changes = [dict(zip(base, values, strict=True)) for values in product(*(values for _, values in several))]
    else:
        changes = [base | {key: value} for key, values in several for value in values]
    others = [change for change in changes if change != base]
    return (Variant("base", base), *(Variant(_named(change, base), change) for change in others))


def told(value: Any) -> str:
    """A value as people write it.

    >>> told(True), told(None), told(3), told(("python", "mcp:x"))
    ('on', 'none', '3', 'python,mcp:x')
    """
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else "none" if value is None else str(value)


def settings(changes: Mapping[str, Any]) -> str:
    """Settings in one line."""
    return ", ".join(f"{key}={told(value)}" for key, value in changes.items())


def _named(change: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    return settings({key: value for key, value in change.items() if value != base[key]})


def _each_once(several: Sequence[Varied]) -> None:
    keys = [key for key, _ in several]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise ConfigError(f"{twice} is varied twice: give all its values at once")
