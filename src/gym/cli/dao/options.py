"""What the commands of `gym dao` share: where the chain is, what signs, and where contents are kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from gym.cli.common import json_option

F = TypeVar("F", bound=Callable[..., Any])


class Chain(NamedTuple):
    """Which contracts, by which node."""

    deployment: Path
    rpc: str


class Signing(NamedTuple):
    """What signs, and whether it is asked first."""

    keystore: Path | None
    yes: bool
    dry_run: bool
    account: str | None
    """Whose transactions a dry run tries, without a key."""


class Keeping(NamedTuple):
    """Where contents are looked for and put."""

    content: Path
    ipfs: tuple[str, ...]


class Final(NamedTuple):
    """How far the chain is read, and where that is kept."""

    checkpoint: Path | None
    confirmations: int | None


def _grouped(name: str, kind: type[Any], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Options that the function gets as one value."""

    def decorate(function: F) -> F:
        def gathered(**arguments: Any) -> Any:
            return function(**{name: kind(*(arguments.pop(key) for key in kind._fields))}, **arguments)

        gathered.__name__, gathered.__doc__ = function.__name__, function.__doc__
        gathered.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        result: Any = gathered
        for option in reversed(options):
            result = option(result)
        return result  # type: ignore[no-any-return]

    return decorate


chain_options = _grouped(
    "chain",
    Chain,
    click.option("--deployment", type=click.Path(path_type=Path), default=Path("dao.json"), show_default=True, metavar="FILE",
                 help="Where the contracts are."),
    click.option("--rpc", metavar="URL", envvar="ZOO_GYM_RPC", show_envvar=True, default="", help="A node of the chain."),
)  # fmt: skip
signing_options = _grouped(
    "signing",
    Signing,
    click.option("--keystore", type=click.Path(path_type=Path), metavar="FILE", help="Encrypted key that signs."),
    click.option("--yes", "-y", is_flag=True, help="Send without asking."),
    click.option("--dry-run", is_flag=True, help="Try it and say what it would take; send nothing."),
    click.option("--account", metavar="ADDRESS", help="Whose --dry-run, where no key is at hand."),
)
content_option = click.option(
    "--content", type=click.Path(path_type=Path), default=Path("content"), show_default=True, metavar="FOLDER",
    help="Where contents are kept.",
)  # fmt: skip
keeping_options = _grouped(
    "keeping",
    Keeping,
    content_option,
    click.option("--ipfs", multiple=True, metavar="URL", envvar="ZOO_GYM_IPFS", show_envvar=True,
                 help="RPC of an IPFS node that has them too. May be given several times."),
)  # fmt: skip
final_options = _grouped(
    "final",
    Final,
    click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE",
                 help="Where to note how far was read.  [default: beside the deployment file]"),
    click.option("--confirmations", type=click.IntRange(min=0), metavar="N",
                 help="Blocks on top that make one final.  [default: what the chain calls final, else 64]"),
)  # fmt: skip
library_option = click.option(
    "--library", type=click.Path(path_type=Path), default=Path("experiences.json"), show_default=True, metavar="FILE",
    help="The synced library.",
)  # fmt: skip

__all__ = [
    "Chain", "Final", "Keeping", "Signing", "chain_options", "content_option", "final_options", "json_option", "keeping_options",
    "library_option", "signing_options",
]  # fmt: skip


def require_of_use(name: str, useful: bool, otherwise: str) -> None:
    """Refuse an option that was given and would change nothing."""
    given = click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
    if given and not useful:
        raise click.UsageError(f"--{name.replace('_', '-')} {otherwise}")
