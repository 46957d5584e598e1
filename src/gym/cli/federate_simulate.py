"""`gym federate simulate`: a federation of many nodes in one process."""

import time
from pathlib import Path
from typing import Any

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.cli.eval import OPTIONS, gated_library, named
from gym.cli.federate_told import outcome, show
from gym.cli.progress import Display
from gym.config import load_config
from gym.core.text import count
from gym.embedding.encoders import open_encoder, resolved
from gym.errors import ConfigError
from gym.llm.brake import Brake


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--nodes", type=click.IntRange(min=1), default=50, show_default=True, help="How many take part.")
@click.option("--rounds", type=click.IntRange(min=1), default=1, show_default=True, help="How many to play.")
@click.option(
    "--problems", type=click.IntRange(min=1), default=20, show_default=True, help="Of the data, that each node draws."
)
@click.option(
    "--share", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="Of the library that a node knows."
)
@click.option("--k", "k", type=click.IntRange(min=1), help="Answers to each problem.  [default: 3]")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(*OPTIONS)
def simulate(
    config_file: Path | None,
    nodes: int,
    rounds: int,
    problems: int,
    share: float,
    k: int | None,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Play rounds of many nodes in this process: what would a federation make of a library?

    Each node draws problems of the data and knows part of the library (--experiences). Keys, packets, signatures and
    decisions are real; the network is memory. A text is measured once on the whole set, whatever the number of nodes.
    The rounds are written to the folder of the simulation, where `gym federate explain` reads them.

    \b
      gym federate simulate task.yaml --experiences experiences.json --nodes 50
    """
    from gym.evaluation.simulation import Plan, play

    config = load_config(config_file, overrides | ({"eval_k": k} if k else {}))
    if (library := gated_library(config)) is None:
        raise ConfigError("--experiences FILE says what the nodes know")
    began = time.monotonic()
    with Display(quiet=quiet) as display:
        played = play(
            named(config, "simulate"),
            library,
            Plan(nodes, problems, share, rounds),
            encoder=open_encoder(resolved(config.encoder)),
            watch=display,
            brake=Brake(),
        )
    if as_json:
        print_json(
            {
                "nodes": nodes,
                "libraries": len(played.libraries),
                "rounds": [outcome(one) for one in played.decisions],
                "folder": str(played.rounds),
            }
        )
        return
    show(played.decisions, played.rounds)
    told = f"all hold {'one library' if len(played.libraries) == 1 else 'DIFFERENT libraries'}"
    console.print(f"{count(nodes, 'node')}, {told}; {time.monotonic() - began:.0f} s", markup=False)
