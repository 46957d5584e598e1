"""`gym dao`: experiences that live by vote. The commands load what they need when they run: `--help` needs no extra."""

from gym.cli.dao.group import command

__all__ = ["command"]
