"""What comes first: the fact that decides among several, and the steps of a job in the notation of the house."""

from collections.abc import Sequence
from itertools import permutations
from random import Random

from bench.tasks.family import Family, Row

PRIORITY = "hidden priority"

PEOPLE = (
    "Anna", "Ben", "Carla", "David", "Elena", "Farid", "Greta", "Hugo", "Irene", "Jonas",
    "Karim", "Lena", "Maria", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tara", "Umar",
)  # fmt: skip
PLACES = ("mobile", "office", "home")
CALL_QUESTIONS = (
    "{0}: {1}. Which number do we call? Number only.",
    "{0}: {1}. Which number goes on the call sheet? Number only.",
)


def calls(rng: Random, count: int) -> Sequence[Row]:
    """Three telephone numbers of a person; the one of the office is called, wherever it stands."""
    numbers = rng.sample(range(20_000, 100_000), 3 * count)
    rows = []
    for place in range(count):
        order = rng.sample(PLACES, len(PLACES))
        told = dict(zip(order, map(str, numbers[3 * place : 3 * place + 3]), strict=True))
        listed = ", ".join(f"{where} {number}" for where, number in told.items())
        question = CALL_QUESTIONS[place % 2].format(rng.choice(PEOPLE), listed)
        rows.append(Row(question, told["office"]))
    return rows


WORK = ("sand", "paint", "pack", "weigh", "wash", "dry", "cut", "glue", "label", "test")
STEP_QUESTIONS = ("Work sheet, steps joined by >: {}, {}, {}.", "Steps joined by > for the work sheet: {}, {}, {}.")


def steps(rng: Random, count: int) -> Sequence[Row]:
    """Three steps of a job; the answer chains them in their order, each with a capital letter."""
    jobs = rng.sample(list(permutations(WORK, 3)), count)
    return [
        Row(STEP_QUESTIONS[place % 2].format(*job), " > ".join(step.capitalize() for step in job))
        for place, job in enumerate(jobs)
    ]


FAMILIES = (
    Family(
        "calls",
        PRIORITY,
        (
            "When several telephone numbers are given, always choose the one after the word office, and write only that number.",
        ),
        calls,
        max_tokens=24,
    ),
    Family(
        "steps",
        "order of operations",
        ("For a work sheet, write only <Step> > <Step> > <Step>, each step as it is given, with a capital letter.",),
        steps,
        max_tokens=24,
    ),
)
