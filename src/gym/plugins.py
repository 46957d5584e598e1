"""Find an implementation by name: a built-in module, `pkg.mod:ATTR`, or an entry point (group `gym.KIND`)."""

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from gym.errors import ConfigError


class Kind(NamedTuple):
    """Where implementations of one kind live and what their module calls them."""

    package: str
    attribute: str
    modules: Mapping[str, str] = {}
    """Names that are not those of their modules."""
    elsewhere: Mapping[str, str] = {}
    """Names that live with what they belong to: `module:ATTR`."""


_WEB = {
    name: f"gym.train.grpo.domains.web.verify:{part}" for name, part in (("web", "REWARD"), ("web_judge", "WITH_JUDGE"))
}
KINDS = {
    "provider": Kind("gym.llm.providers", "PROVIDER"),
    "reward": Kind("gym.train.grpo.rewards", "REWARD", elsewhere=_WEB),
    "domain": Kind("gym.train.grpo.domains", "DOMAIN"),
    "searcher": Kind("gym.web.searchers", "SEARCHER"),
    "tool": Kind("gym.train.grpo.tools", "TOOL", {"python": "python_sandbox"}),
}


def names(kind: str) -> tuple[str, ...]:
    """Every built-in and registered name of a kind, sorted."""
    package = importlib.import_module(KINDS[kind].package)
    spelt = {module: name for name, module in KINDS[kind].modules.items()}
    builtin = {
        spelt.get(module.name, module.name)
        for module in pkgutil.iter_modules(package.__path__)
        if _declares(package.__path__, module.name, KINDS[kind].attribute)
    }
    return tuple(
        sorted(builtin | KINDS[kind].elsewhere.keys() | {point.name for point in entry_points(group=f"gym.{kind}")})
    )


def resolve(kind: str, name: str) -> Any:
    """The implementation called `name`, which may be `pkg.mod:ATTR` (the working folder counts as importable).

    Raises `ConfigError` with the nearest known name.
    """
    if ":" in name:
        return import_attribute(name, what=kind)
    known = names(kind)
    known_as = name.replace("-", "_").lower()
    for point in entry_points(group=f"gym.{kind}"):
        if point.name == name:
            return point.load()
    if known_as not in known:
        near = get_close_matches(known_as, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}, or pkg.mod:NAME of your own")
    inside = f"{KINDS[kind].package}.{KINDS[kind].modules.get(known_as, known_as)}:{KINDS[kind].attribute}"
    module, _, attribute = KINDS[kind].elsewhere.get(known_as, inside).partition(":")
    return getattr(importlib.import_module(module), attribute)


def import_attribute(path: str, what: str) -> Any:
    """The object at `pkg.mod:ATTR`; raises `ConfigError` that says which half is missing or broken."""
    module_name, _, attribute = path.partition(":")
    if not (module_name and attribute):
        raise ConfigError(f"{what} {path!r}: give it as pkg.mod:NAME")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(f"{what} {path!r}: cannot import {module_name!r} ({error})") from error
    except Exception as error:  # a module of the user's runs when it is imported, and may raise anything
        raise ConfigError(f"{what} {path!r}: importing {module_name!r} raised {raised(error)}") from error
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{what} {path!r}: {module_name!r} has no {attribute!r}")
        found = getattr(found, part)
    return found


def raised(error: Exception) -> str:
    """The exception, and where in the user's file it was raised."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"


def _declares(search: Any, module: str, attribute: str) -> bool:
    """Whether the module (or package) assigns the attribute at its top, read as text so that nothing heavy loads."""
    for folder in search:
        for file in (Path(folder) / f"{module}.py", Path(folder) / module / "__init__.py"):
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                return any(line.startswith((f"{attribute} =", f"{attribute}:")) for line in text.splitlines())
    return False
