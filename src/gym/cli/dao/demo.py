"""`gym dao demo`: an experience's whole life, on a chain of its own, in seconds."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import json_option, print_json

if TYPE_CHECKING:
    from gym.dao.demo import Scene


@click.command()
@json_option
def demo(as_json: bool) -> None:
    """Play an experience's whole life on a local chain with time travel: proposed, voted in, disabled, removed, rebuilt.

    Needs Foundry's anvil: in a checkout `npm ci --prefix contracts` brings it. Nothing outside this machine is asked.
    """
    from gym.dao.demo import play
    from gym.dao.local_node import local_node

    began = time.monotonic()
    with local_node() as node, TemporaryDirectory(prefix="zoo-gym-demo-") as folder:
        scenes = []
        for scene in play(node, Path(folder)):
            scenes.append(scene)
            if not as_json:
                _print(scene)
    seconds = round(time.monotonic() - began, 1)
    if as_json:
        print_json({"scenes": [one._asdict() for one in scenes], "seconds": seconds})
    else:
        click.echo(
            f"\n{scenes[-1].day} days of the chain in {seconds} s. Your own: gym dao deploy, see docs/governance.md"
        )


def _print(scene: "Scene") -> None:
    click.echo(f"\nday {scene.day}: {scene.what}")
    for key, value in scene.facts.items():
        for line in _lines(value):
            click.echo(f"  {key.replace('_', ' ')}: {line}")


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value] or ["none"]
    return str(value).splitlines() or ["empty"]
