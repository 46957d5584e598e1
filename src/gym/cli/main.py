"""The command `gym`. Commands are imported only when used, so that `gym --help` stays instant."""

import errno
import importlib
import io
import logging
import os
import sys

import click

from gym import __version__
from gym.errors import GymError, Interrupted, StorageError

COMMANDS = {
    "train": "Learn an experience library from labelled problems.",
    "baseline": "Train weights or adapters on the same problems, to compare a library with.",
    "eval": "Measure a model on a data set, without or with a library.",
    "compare": "Compare evaluations on the problems that all asked; several ways to learn in one table.",
    "grade": "Grade a file of answers.",
    "verify": "Check that weights, or a signed library, are what they were.",
    "data": "Say whether two problem sets share problems.",
    "web": "Sites to learn on: make one, serve a folder of pages, see what is in it.",
    "dao": "Put experiences under a vote: propose, vote, sync, verify, watch.",
    "library": "List, edit, trace and undo the experiences of a library.",
    "federate": "Share experiences among nodes that trust nobody to decide.",
    "ablate": "Compare settings: train every variant under several seeds, and tabulate.",
    "estimate": "Predict calls, tokens and dollars before spending them.",
    "doctor": "Say what is installed and which endpoint answers.",
    "model": "Get and list the embedded models.",
}


class LazyGroup(click.Group):
    """A group whose commands live in `gym.cli.NAME`, each as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"gym.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zoo-gym")
def gym() -> None:
    """Zoo Gym: a frozen model gets better at your task, and you see by how much."""


def main() -> None:
    """Entry point: our errors become one line and their exit code, never a traceback."""
    _fill_closed()
    _speak_utf8()
    logging.basicConfig(level=logging.WARNING, format="  %(message)s")
    try:
        code = gym.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):  # click makes the one of the other
        click.echo("stopped", err=True)
        code = Interrupted.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except GymError as error:
        click.echo(f"gym: {error}", err=True)
        code = error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"gym: the result could not be written: {error.strerror}", err=True)
        code = StorageError.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def _fill_closed() -> None:
    """Open nothing where the caller closed a standard stream (`2>&-`): with its number on a socket the event loop aborts."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 -- for as long as the process
            os.set_inheritable(nothing.fileno(), True)  # workers, too
            setattr(sys, name, nothing)


def _speak_utf8() -> None:
    """Output in UTF-8 whatever the locale says (FAULTS S7)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
