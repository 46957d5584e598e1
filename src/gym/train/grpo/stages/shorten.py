"""Fit a long text into a budget by leaving out its middle, and say so (FAULTS S11)."""

CHARS_PER_TOKEN = 3
"""Cautious: English runs at about 4, code and other scripts below."""


def shorten(text: str, max_tokens: int) -> str:
    """`text` itself when it fits; else its head and tail around a line that says how much is missing.

    >>> shorten("a" * 50, 1000) == "a" * 50
    True
    """
    limit = max(max_tokens, 16) * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out here …]\n{text[-half:]}"


def was_shortened(text: str, max_tokens: int) -> bool:
    """Whether `shorten` would cut."""
    return len(text) > max(max_tokens, 16) * CHARS_PER_TOKEN
