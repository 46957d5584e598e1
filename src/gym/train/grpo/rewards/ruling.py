"""What a rule says of two answers."""

from typing import NamedTuple


class Ruling(NamedTuple):
    """A decision and the rule that made it; `equal` None: no rule decides."""

    equal: bool | None
    rule: str


UNDECIDED = Ruling(None, "")
