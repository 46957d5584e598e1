"""Make the support desk data set: four answer conventions that no question states.

Every answer follows a house rule (README.md) that a model can only learn from what was marked right and wrong. Standard
library only, seeded: the same files, byte for byte, on every run.

    python examples/support_desk/make_data.py [FOLDER]
"""

import json
import random
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeVar

Labelled = TypeVar("Labelled", bound=tuple[str, ...])

SEED = 20251
SPLITS = {"train": 6, "val": 6, "test": 12}
"""Problems of each family in each split."""


class Row(NamedTuple):
    """One problem before it has an id."""

    family: str
    question: str
    answer: str


NUMBERS = (
    ("order numbers", "Orders {} never arrived."),
    ("order numbers", "We were charged twice for orders {}."),
    ("invoice numbers", "Please send invoices {} again."),
    ("invoice numbers", "My accountant cannot find invoices {}."),
    ("ticket numbers", "Nobody has looked at tickets {} yet."),
    ("ticket numbers", "You may close tickets {} now."),
    ("room numbers", "The phones in rooms {} are dead."),
    ("extension numbers", "Calls to extensions {} drop after a minute."),
    ("error codes", "The screen shows errors {} in turn."),
    ("postcodes", "Do you deliver to postcodes {}?"),
)
WORDS = (
    (
        "devices",
        "We have no power on the {}.",
        ("printer", "scanner", "router", "laptop", "monitor", "tablet", "camera"),
    ),
    ("items", "Please replace our {}.", ("lamps", "cables", "batteries", "chargers", "filters", "handles", "screws")),
    ("items", "The box came without {}.", ("screws", "brackets", "gloves", "labels", "hinges", "straps", "nails")),
    ("colours", "Is the jacket sold in {}?", ("red", "green", "blue", "black", "white", "purple", "orange")),
    ("fabrics", "I am allergic to {}.", ("wool", "nylon", "linen", "silk", "cotton", "velvet", "fleece")),
    ("fruits", "Half of the {} arrived spoiled.", ("apples", "plums", "cherries", "melons", "pears", "figs", "grapes")),
)
CSV_QUESTIONS = ("Extract the {}, comma-separated: {}", "Write the {} of this ticket as a CSV row: {}")

CLOCK = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PARTS = (
    ("in the morning", "AM", (7, 8, 9, 10, 11)),
    ("in the afternoon", "PM", (1, 2, 3, 4, 5)),
    ("in the evening", "PM", (6, 7, 8, 9)),
)
MINUTES = (
    ("{} o'clock", 0),
    ("half past {}", 30),
    ("ten past {}", 10),
    ("twenty past {}", 20),
    ("five past {}", 5),
    ("{number}", 0),
)
TIME_QUESTIONS = (
    "Write as a clock time: {}.",
    "The customer can talk at {}. Write that as a clock time.",
    "Write as a clock time: {}.",
    "The courier comes at {}. Write that as a clock time.",
    "Write as a clock time: {}.",
    "The repair starts at {}. Write that as a clock time.",
)

MESSAGES = (
    ("It works now, you were so kind!", "positive"),
    ("The new chair is even nicer than in the photos.", "positive"),
    ("Thank you, Amara solved it in two minutes.", "positive"),
    ("Best delivery I have had in years.", "positive"),
    ("My daughter loves the bike, thanks a lot!", "positive"),
    ("What a pleasant surprise, the refund is already here.", "positive"),
    ("Your colleague Jonas was patient and really helpful.", "positive"),
    ("I am delighted with the colour.", "positive"),
    ("Great service, I will gladly order again.", "positive"),
    ("The update fixed everything, wonderful!", "positive"),
    ("Nobody has answered me for two weeks.", "negative"),
    ("Third broken lamp in a row.", "negative"),
    ("I am tired of being sent from one desk to the next.", "negative"),
    ("The soup bowl arrived in pieces again.", "negative"),
    ("Your app deleted all my photos, this is awful.", "negative"),
    ("You promised Monday and it is Thursday, I am angry.", "negative"),
    ("What a waste of money this blender was.", "negative"),
    ("The technician was rude to my father.", "negative"),
    ("I regret buying this phone.", "negative"),
    ("The heater smells of smoke and I am scared to use it.", "negative"),
    ("The courier was friendly and even carried it upstairs.", "positive"),
    ("Everything fits perfectly, I am so happy with it.", "positive"),
    ("The refund never came and now nobody answers.", "negative"),
    ("This is the worst hotline I have ever called.", "negative"),
)
SENTIMENT_QUESTIONS = (
    "{}\nsentiment (positive/negative/neutral):",
    'Is the customer\'s mood positive, negative or neutral? One word. "{}"',
)

POLICIES = (
    ("Students get ten percent off.", "Do students get a discount?", "Yes"),
    ("Spare parts are in stock.", "Are spare parts available?", "Yes"),
    ("The shop opens on Sundays.", "Can I come on a Sunday?", "Yes"),
    ("Every laptop comes with a bag.", "Does my laptop come with a bag?", "Yes"),
    ("We pick up old fridges free of charge.", "Is the pick-up of my old fridge free?", "Yes"),
    ("Dogs are welcome in the showroom.", "May I bring my dog to the showroom?", "Yes"),
    ("Members may return shoes after a year.", "Can a member return shoes after a year?", "Yes"),
    ("All kettles are tested before shipping.", "Was my kettle tested before shipping?", "Yes"),
    ("The hotline speaks French.", "Does the hotline speak French?", "Yes"),
    ("Orders can be paid by bank transfer.", "Can I pay by bank transfer?", "Yes"),
    ("We repair watches of any brand.", "Do you repair watches of other brands?", "Yes"),
    ("The car park is free for customers.", "Is parking free for customers?", "Yes"),
    ("Gift wrapping costs 3 euros.", "Is gift wrapping free?", "No"),
    ("Gift cards never expire.", "Does a gift card expire?", "No"),
    ("We do not ship to islands.", "Do you ship to islands?", "No"),
    ("The chat is closed at night.", "Is the chat open at night?", "No"),
    ("Opened headphones cannot be returned.", "Can I return opened headphones?", "No"),
    ("The warranty does not cover scratches.", "Does the warranty cover scratches?", "No"),
    ("Our ovens are not sold abroad.", "Are your ovens sold abroad?", "No"),
    ("Vouchers cannot be combined.", "Can I combine two vouchers?", "No"),
    ("The basic plan has no phone support.", "Does the basic plan have phone support?", "No"),
    ("We no longer repair radios.", "Do you still repair radios?", "No"),
    ("Mattresses are never delivered on holidays.", "Are mattresses delivered on holidays?", "No"),
    ("The tablet is not waterproof.", "Is the tablet waterproof?", "No"),
)
POLICY_QUESTIONS = (
    "Policy: {}\nQuestion: {} (yes or no)\nAnswer:",
    "{} {} One word.",
    "{} {} (yes/no)",
)


def csv_rows(rng: random.Random) -> list[Row]:
    """Several values named in a message; the answer lists them as written, in order, with bare commas."""
    rows = []
    for number in range(24):
        if number % 2:
            kind, message, pool = WORDS[number // 2 % len(WORDS)]
            values, question = rng.sample(pool, 3), CSV_QUESTIONS[0]
        else:
            kind, message = NUMBERS[number // 2 % len(NUMBERS)]
            values, question = (
                [str(value) for value in rng.sample(range(1000, 9999), 3)],
                CSV_QUESTIONS[number // 2 % 2],
            )
        rows.append(Row("csv", question.format(kind, message.format(listed(values))), ",".join(values)))
    return rows


def listed(values: Sequence[str]) -> str:
    """As people write it: `a, b and c`."""
    return f"{', '.join(values[:-1])} and {values[-1]}"


def time_rows(rng: random.Random) -> list[Row]:
    """A time of day in words; the answer is h:mm AM or PM."""
    choices = [(part, hour, minutes) for part, minutes in product(PARTS, MINUTES) for hour in part[2]]
    rows = []
    for number, ((part, half, _), hour, (phrase, minute)) in enumerate(rng.sample(choices, 24)):
        words = f"{phrase.format(CLOCK[hour - 1], number=hour)} {part}"
        rows.append(
            Row("time", TIME_QUESTIONS[number % len(TIME_QUESTIONS)].format(words), f"{hour}:{minute:02d} {half}")
        )
    return rows


def sentiment_rows(rng: random.Random) -> list[Row]:
    """A customer's message; the answer is one lower-case word. Both labels are equally frequent in every split."""
    chosen = alternating(rng.sample(MESSAGES, len(MESSAGES)))
    return [
        Row("sentiment", SENTIMENT_QUESTIONS[number // 2 % 2].format(message), label)
        for number, (message, label) in enumerate(chosen)
    ]


def alternating(rows: Sequence[Labelled]) -> list[Labelled]:
    """The rows with their two labels (the last field) taking turns, in their order otherwise."""
    first = [row for row in rows if row[-1] == rows[0][-1]]
    second = [row for row in rows if row[-1] != rows[0][-1]]
    return [row for pair in zip(first, second, strict=True) for row in pair]


def policy_rows(rng: random.Random) -> list[Row]:
    """A policy and a question about it; the answer is `Yes` or `No`, as often in every split."""
    chosen = alternating(rng.sample(POLICIES, len(POLICIES)))
    return [
        Row("yes_no", POLICY_QUESTIONS[number // 2 % 3].format(policy, question), answer)
        for number, (policy, question, answer) in enumerate(chosen)
    ]


def make(seed: int = SEED) -> dict[str, list[dict[str, str]]]:
    """The three splits, families balanced in each and mixed in order; no question occurs twice."""
    rng = random.Random(seed)
    families = [csv_rows(rng), time_rows(rng), sentiment_rows(rng), policy_rows(rng)]
    splits: dict[str, list[dict[str, str]]] = {}
    start = 0
    for split, count in SPLITS.items():
        rows = [row for family in families for row in family[start : start + count]]
        rng.shuffle(rows)
        splits[split] = [{"id": f"{split}-{number:02d}", **row._asdict()} for number, row in enumerate(rows)]
        start += count
    return splits


def write(folder: Path) -> None:
    """`train.jsonl`, `val.jsonl` and `test.jsonl` in `folder`."""
    for split, rows in make().items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
