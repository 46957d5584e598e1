"""Answer conventions: what is said is plain, how it must be written is not."""

from collections.abc import Sequence
from itertools import product
from random import Random

from bench.tasks.family import Family, Row, in_turn

CONVENTION = "answer convention"

MESSAGES = (
    ("order numbers", "Orders {} never arrived."),
    ("order numbers", "We were charged twice for orders {}."),
    ("invoice numbers", "Please send invoices {} again."),
    ("invoice numbers", "My accountant cannot find invoices {}."),
    ("ticket numbers", "Nobody has looked at tickets {} yet."),
    ("room numbers", "The phones in rooms {} are dead."),
    ("error codes", "The screen shows errors {} in turn."),
    ("postcodes", "Do you deliver to postcodes {}?"),
)
CSV_QUESTIONS = ("Extract the {}, comma-separated: {}", "List the {} of this ticket in one line: {}")


def csv(rng: Random, count: int) -> Sequence[Row]:
    """Three numbers named in a message; the answer lists them in order with bare commas."""
    numbers = rng.sample(range(1000, 10_000), 3 * count)
    rows = []
    for place in range(count):
        kind, message = MESSAGES[place % len(MESSAGES)]
        values = [str(value) for value in numbers[3 * place : 3 * place + 3]]
        told = message.format(f"{values[0]}, {values[1]} and {values[2]}")
        rows.append(Row(CSV_QUESTIONS[place // len(MESSAGES) % 2].format(kind, told), ",".join(values)))
    return rows


THINGS = (
    ("parking", "Is parking"),
    ("gift wrapping", "Is gift wrapping"),
    ("delivery", "Is delivery"),
    ("the repair", "Is the repair"),
    ("the hotline", "Is the hotline"),
    ("installation", "Is installation"),
    ("the user guide", "Is the user guide"),
    ("the trial", "Is the trial"),
    ("insurance", "Is insurance"),
    ("the pick-up", "Is the pick-up"),
)
STATES = (
    ("free of charge", "costs extra", "free of charge"),
    ("offered on Sundays", "is not offered on Sundays", "offered on Sundays"),
    ("open to everyone", "is for members only", "open to everyone"),
)
YES_NO_QUESTIONS = ("Policy: {}\nQuestion: {} (yes or no)\nAnswer:", "{} {}")


def yes_no(rng: Random, count: int) -> Sequence[Row]:
    """A policy and a question about it; the answer is `Yes` or `No`, as often in every part."""
    pairs = [(thing, state) for thing, state in product(THINGS, STATES)]
    rows = []
    for place, ((subject, opening), (good, bad, asked), true) in enumerate(
        in_turn(rng, [[(*pair, True) for pair in pairs], [(*pair, False) for pair in pairs]], count)
    ):
        policy = f"{subject[0].upper()}{subject[1:]} {f'is {good}' if true else bad}."
        question = YES_NO_QUESTIONS[place // 2 % 2].format(policy, f"{opening} {asked}?")
        rows.append(Row(question, "Yes" if true else "No"))
    return rows


MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DATE_QUESTIONS = ("Write this date in digits: {}.", "Delivered on {}. Date in digits:")


def dates(rng: Random, count: int) -> Sequence[Row]:
    """A date with the month's name; the answer is year, month and day in digits."""
    days = rng.sample(list(product(range(1995, 2030), range(1, 13), range(1, 29))), count)
    rows = []
    for place, (year, month, day) in enumerate(days):
        told = f"{day} {MONTHS[month - 1]} {year}"
        rows.append(Row(DATE_QUESTIONS[place % 2].format(told), f"{year}-{month:02d}-{day:02d}"))
    return rows


FAMILIES = (
    Family(
        "csv",
        CONVENTION,
        (
            "When asked for several values, write them in one line separated by commas without spaces, and nothing else.",
        ),
        csv,
        max_tokens=48,
    ),
    Family(
        "yes_no",
        CONVENTION,
        ("When a question can be answered with yes or no, write only the one word Yes or No, without a full stop.",),
        yes_no,
        max_tokens=24,
    ),
    Family(
        "dates",
        CONVENTION,
        ("When asked for a date, write only <year>-<month>-<day>, month and day with two digits.",),
        dates,
        max_tokens=24,
    ),
)
