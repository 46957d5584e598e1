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


LATE = ("is three days late", "went to the wrong house", "was left in the rain", "has not been tracked since Monday")
BROKEN = ("does not start", "makes a loud noise", "has a crack", "switches itself off")
PAID = ("I was charged twice", "my refund is missing", "the discount was not taken off", "the invoice is wrong")


def tickets(rng: Random, count: int) -> Sequence[Row]:
    """A ticket about one matter or two; wherever money is among them it is `billing`."""
    kinds = (
        [(f"The {thing} {what}.", "delivery") for thing, what in product(THINGS, LATE)],
        [(f"The {thing} {what} and {money}.", "billing") for thing, what, money in product(THINGS, LATE, PAID)],
        [(f"The {thing} {what}.", "repair") for thing, what in product(THINGS, BROKEN)],
        [(f"The {thing} {what} and {money}.", "billing") for thing, what, money in product(THINGS, BROKEN, PAID)],
    )
    return [
        Row(f"Ticket: {text}\nOne label, delivery, repair or billing:", label)
        for text, label in in_turn(rng, kinds, count)
    ]


FAMILIES = (
    Family(
        "sentiment",
        TAXONOMY,
        ("When asked for a mood or sentiment, write only the one word in lower-case letters, without a full stop.",),
        sentiment,
        max_tokens=24,
    ),
    Family(
        "tickets",
        TAXONOMY,
        (
            "When a ticket mentions a charge, refund, discount or invoice, its label is billing, whatever else it says.",
            "When asked for a label, write only the one word in lower-case letters, without a full stop.",
        ),
        tickets,
        max_tokens=16,
    ),
)
