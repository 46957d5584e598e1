"""The one prompt layout of training, evaluation and use: instructions and library first, then the query.

Everything that stays the same from problem to problem comes first and byte-identical, so that a provider's prefix
cache hits (SPEC 2.10). An empty library leaves no trace at all (SPEC 2.5).
"""

from gym.core.chat import Message

LIBRARY_HEADING = "Experiences from earlier attempts; follow those that apply:"


def library_block(library_text: str | None) -> str:
    """The rendered library under its heading; empty for None, "" and "None"."""
    lines = (library_text or "").strip()
    return "" if lines in ("", "None") else f"{LIBRARY_HEADING}\n{lines}"


def solve_messages(query: str, library_text: str | None = None, instructions: str = "") -> tuple[Message, ...]:
    """The messages that ask for an answer to `query`; no system message when there is nothing to put in it.

    >>> [message.role for message in solve_messages("2 + 2?", "[G0]. When adding, align digits.")]
    ['system', 'user']
    >>> solve_messages("2 + 2?", "None") == solve_messages("2 + 2?")
    True
    """
    system = "\n\n".join(part for part in (instructions.strip(), library_block(library_text)) if part)
    opening = (Message(role="system", content=system),) if system else ()
    return (*opening, Message(role="user", content=query))


def format_with_experiences(query: str, experiences: str | None, system: str | None = None) -> str:
    """The same layout as one text, for a model that takes a plain prompt (SPEC 3.11).

    >>> print(format_with_experiences("2 + 2?", "[G0]. When adding, align digits.", system="Be brief."))
    Be brief.
    <BLANKLINE>
    Experiences from earlier attempts; follow those that apply:
    [G0]. When adding, align digits.
    <BLANKLINE>
    Problem: 2 + 2?
    """
    parts = ((system or "").strip(), library_block(experiences), f"Problem: {query}")
    return "\n\n".join(part for part in parts if part)
