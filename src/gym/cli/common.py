"""What every command shares: the console, `--json`, and options made from `RunConfig`."""

import json
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import SecretStr
from rich.console import Console

from gym.config import ALIASES, RunConfig

console = Console(stderr=True, highlight=False, soft_wrap=True)
"""Progress and notes go to standard error; standard output carries the result alone."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON value on standard output, UTF-8 whatever the locale; on one line without an `indent`."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "backslashreplace"))


def config_options(
    *only: str, skip: frozenset[str] = frozenset(), several: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Click options for RunConfig's fields (all, or only those named), under every alias, dashed and underscored.

    The decorated function gets them as one mapping `overrides` of the values that were given. With `several`, numbers and
    choices are taken as text, which may list values with commas.
    """
    chosen = [name for name in RunConfig.model_fields if (not only or name in only) and name not in skip]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.pass_context
        def wrapper(ctx: click.Context, /, **arguments: Any) -> Any:
            given = {name: arguments.pop(name) for name in chosen if arguments.get(name) is not None}
            rest = {key: value for key, value in arguments.items() if key not in chosen}
            return function(overrides=given, **rest)

        wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
        params = list(getattr(function, "__click_params__", []))
        options = [_option(name, several) for name in reversed(chosen)]
        wrapper.__click_params__ = options + params  # type: ignore[attr-defined]
        return wrapper

    return decorate


def lists_values(name: str) -> bool:
    """Whether the values of a field are numbers or choices, so that a comma can only separate several."""
    return _click_type(RunConfig.model_fields[name].annotation)[0] not in (str, click.UNPROCESSED)


def _option(name: str, several: bool = False) -> click.Option:
    field = RunConfig.model_fields[name]
    spellings = [alias for alias, target in ALIASES.items() if target == name] + [name]
    flags = list(dict.fromkeys(f"--{text}" for key in spellings for text in (key.replace("_", "-"), key)))
    kind, metavar = _click_type(field.annotation)
    if several and lists_values(name):
        kind, metavar = str, f"{'|'.join(kind.choices) if isinstance(kind, click.Choice) else metavar}[,…]"
    default = field.get_default(call_default_factory=True)
    shown = f" [default: {default}]" if default not in (None, "", {}) else ""
    told = f"{field.description}{shown}"
    if not (metavar or "").startswith("BOOL"):
        return click.Option([*flags, name], type=kind, metavar=metavar, help=told)
    return click.Option([*flags, name], type=kind, metavar=f"[{metavar}]", help=told, is_flag=False, flag_value="true")


def _click_type(annotation: Any) -> tuple[Any, str | None]:
    kinds = [kind for kind in (get_args(annotation) or (annotation,)) if kind is not type(None)]
    if all(isinstance(kind, str) for kind in kinds):
        return click.Choice(kinds), None
    if get_origin(kinds[-1]) is Literal:  # a number or a word: the configuration says which
        return str, "|".join(["N", *get_args(kinds[-1])])
    if kinds[0] in (int, float, bool):
        return kinds[0], {int: "N", float: "X", bool: "BOOL"}[kinds[0]]
    if kinds[0] in (str, SecretStr):
        return str, "TEXT"
    return click.UNPROCESSED, "JSON"
