"""A library for other programs and for people: text, JSON, Markdown, and a `SKILL.md` for agents."""

import re
from collections.abc import Callable

import yaml

from gym.core.experience import Library


def export(library: Library, form: str, *, name: str = "", description: str = "") -> str:
    """The library in one of `FORMATS`, ending in a newline; `name` and `description` go into a skill's front matter."""
    return FORMATS[form](library, name, description)


def _text(library: Library, name: str, description: str) -> str:
    return library.render() + "\n" if library else ""


def _json(library: Library, name: str, description: str) -> str:
    return library.to_json()


def _markdown(library: Library, name: str, description: str) -> str:
    lines = [f"- **{entry.id}** {_escaped(entry.text)} (confidence {entry.confidence:.2f})" for entry in library]
    return "\n".join(["# Experiences", "", *lines, ""])


def _skill(library: Library, name: str, description: str) -> str:
    """What agents load as a skill: YAML front matter with a slug and when to use it, then the text."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64] or "experiences"
    told = description or f"Learned strategies for tasks like those of {slug}; read them before answering."
    front = yaml.safe_dump({"name": slug, "description": told}, allow_unicode=True, sort_keys=False, width=10_000)
    lines = [f"- {_escaped(entry.text)}" for entry in library]
    return "\n".join(["---", front.rstrip("\n"), "---", "", "# Strategies", "", *lines, ""])


def _escaped(text: str) -> str:
    """Markdown that shows the text as it is."""
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", text)


FORMATS: dict[str, Callable[[Library, str, str], str]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "skill": _skill,
}
