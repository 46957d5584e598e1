"""Prompt templates: declared `{{slot}}`s are filled in one pass and a value is never scanned again (FAULTS M8)."""

import re
from collections.abc import Set as AbstractSet

_SLOT = re.compile(r"\{\{([a-z_]+)\}\}")


class Template:
    """A text with named slots.

    >>> Template("Problem: {{query}}").render(query="A={1;2} {{query}}")
    'Problem: A={1;2} {{query}}'
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.slots: AbstractSet[str] = frozenset(_SLOT.findall(text))

    def render(self, **values: str) -> str:
        """The text with every slot filled; a missing or an unknown name is a programmer's error (`TypeError`)."""
        if values.keys() != self.slots:
            raise TypeError(f"template wants {sorted(self.slots)}, got {sorted(values)}")
        return _SLOT.sub(lambda match: values[match[1]], self.text)
