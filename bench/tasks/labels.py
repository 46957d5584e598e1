"""Label taxonomies: the labels stand in the question; which one is meant where two would fit, and its form, do not."""

from collections.abc import Sequence
from itertools import product
from random import Random

from bench.tasks.family import Family, Row, in_turn

TAXONOMY = "label taxonomy"

THINGS = ("chair", "bike", "lamp", "phone", "heater", "jacket", "camera", "kettle", "printer", "tent")
PLEASED = (
    "My daughter loves the {}, thanks a lot!",
    "The {} is even nicer than in the photos.",
    "I am delighted with the {}.",
    "The {} works again, you were so kind!",
    "Best {} I have had in years.",
)
UPSET = (
    "The {} arrived in pieces again.",
    "I regret buying this {}.",
    "What a waste of money the {} was.",
    "Nobody answers me about the broken {}.",
    "The {} smells of smoke and I am scared to use it.",
)
SENTIMENT_QUESTIONS = (
    "{}\nsentiment (positive/negative/neutral):",
    'Is the customer\'s mood positive, negative or neutral? One word. "{}"',
)


def sentiment(rng: Random, count: int) -> Sequence[Row]:
    """A customer's message; the answer is one lower-case word, either as often in every part."""
    moods = (("positive", PLEASED), ("negative", UPSET))
    pools = [[(label, message, thing) for message, thing in product(messages, THINGS)] for label, messages in moods]
    return [
        Row(SENTIMENT_QUESTIONS[place // 2 % 2].format(message.format(thing)), label)
        for place, (label, message, thing) in enumerate(in_turn(rng, pools, count))
    ]


FAMILIES = (
    Family(
        "sentiment",
        TAXONOMY,
        ("When asked for a mood or sentiment, write only the one word in lower-case letters, without a full stop.",),
        sentiment,
        max_tokens=24,
    ),
)
