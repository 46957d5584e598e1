"""Write the pages that the code itself knows: the command line, the configuration, the README's help block.

`--check` writes nothing and fails, naming the stale pages, when the code says something else by now.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from gym import __version__
from gym.cli.main import COMMANDS, gym
from gym.config import ALIASES, EXECUTION_KEYS, RunConfig

HELP = ["-h", "--help"]
ROOT = Path(__file__).resolve().parents[1]
HEAD = "<!-- written by `make docs`; edit the code instead -->\n"


def command_line() -> str:
    """docs/cli.md: the help of every command."""
    parts = [
        HEAD,
        "# The command line\n",
        f"Zoo Gym {__version__}. Every key of the configuration is also an option.\n",
    ]
    for path, text in helps():
        parts.append(f"## {path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def helps() -> Iterator[tuple[str, str]]:
    """Path and help text of `gym` and all its commands, 100 columns wide."""
    top = click.Context(gym, info_name="gym", max_content_width=100, terminal_width=100, help_option_names=HELP)
    yield "gym", gym.get_help(top)
    for name in COMMANDS:
        command = gym.get_command(top, name)
        assert command is not None, name
        yield from _below(command, name, top)


def _below(command: click.Command, name: str, parent: click.Context) -> Iterator[tuple[str, str]]:
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=100, terminal_width=100, help_option_names=HELP
    )
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None, sub
            yield from _below(found, sub, context)


def configuration() -> str:
    """docs/configuration.md: every key, its default and what it means."""
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in RunConfig.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = (
            "" if default in (None, "", {}) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        )
        rows.append(f"| `{name}` | {shown} | {str(field.description).replace('|', chr(92) + '|')} |")
    aliases = ", ".join(f"`{alias}` = `{name}`" for alias, name in sorted(ALIASES.items()))
    return "\n".join(
        [
            HEAD,
            "# Configuration\n",
            "A YAML file given to `gym train`; every key is also a command-line option (`--group-size 3`, dashes or",
            "underscores). The command line wins over the file, the file over the environment (`UTU_LLM_MODEL`,",
            "`UTU_LLM_BASE_URL`, `UTU_LLM_API_KEY`, `UTU_LLM_TYPE`; keys of known providers are read by the provider).",
            "`${NAME}` in a value reads the environment. An unknown key is an error that names the nearest known one.\n",
            *rows,
            "",
            f"Also accepted: {aliases}.\n",
            "These may change between a stop and its resume, since they do not change the result: "
            + ", ".join(f"`{key}`" for key in sorted(EXECUTION_KEYS))
            + ". A change of any other key is refused; `--fork NEW_NAME` starts a new run that reuses the paid calls.\n",
        ]
    )


def readme(text: str) -> str:
    """The README with its help block as the code says it and its demo block as a run of `make demo` printed it."""
    recorded = ROOT / "docs" / "demo_output.txt"
    demo = f"<!-- demo -->\n```text\n{recorded.read_text(encoding='utf-8').strip()}\n```\n<!-- /demo -->"
    text = re.sub(r"<!-- demo -->.*?<!-- /demo -->", lambda _: demo, text, flags=re.DOTALL)
    help_block = f"<!-- help -->\n```text\n{dict(helps())['gym']}\n```\n<!-- /help -->"
    return re.sub(r"<!-- help -->.*?<!-- /help -->", lambda _: help_block, text, flags=re.DOTALL)


def pages() -> dict[Path, str]:
    """Every generated page with the text it should have."""
    front = ROOT / "README.md"
    return {
        ROOT / "docs" / "cli.md": command_line(),
        ROOT / "docs" / "configuration.md": configuration(),
        front: readme(front.read_text(encoding="utf-8")),
    }


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a page is stale")
    check = parser.parse_args().check
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check:
        if stale:
            sys.exit(f"stale: {', '.join(str(path.relative_to(ROOT)) for path in stale)}; run make docs")
        return
    for path in stale:
        path.write_text(pages()[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
