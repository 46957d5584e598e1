"""Fit a long text into a budget by leaving out its middle, and say so (FAULTS S11)."""

from gym.core.text import cut_middle

CHARS_PER_TOKEN = 3
"""Cautious: English runs at about 4, code and other scripts below."""


def shorten(text: str, max_tokens: int) -> str:
    """`text` itself when it fits; else its head and tail around a line that says how much is missing.

    >>> shorten("a" * 50, 1000) == "a" * 50
    True
    """
    return cut_middle(text, max(max_tokens, 16) * CHARS_PER_TOKEN)
