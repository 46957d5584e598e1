"""For runs on the tiny random model: a reward that nonsense can earn, and a reflector that finds something to say about it."""

from collections.abc import Sequence

from gym.core.chat import Message, Sampling

VOWELS = frozenset("aeiouAEIOU")


def vowels(output: str) -> float:
    """The share of vowels."""
    return sum(letter in VOWELS for letter in output) / max(len(output), 1)


def reflect(messages: Sequence[Message], sampling: Sampling) -> str:
    """The summarizer, the critic or the controller of a large reflector; another rule for each question."""
    system = messages[0].content
    if system.startswith("You review"):
        return "1. Wrote letters."
    if system.startswith("You keep"):
        return "[]"
    assert system.startswith("You compare"), system
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    place = next((place for place, word in enumerate(words) if f"the {word} word" in messages[1].content), 0)
    rule = f"When asked for the {words[place]} word, {'repeat ' * (place + 1)}vowels before anything {'else ' * place}."
    return f'[{{"option": "add", "experience": "{rule}"}}]'
