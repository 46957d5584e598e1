"""What reading a prompt's common beginning once is worth: a local transformers model, with and without, in the same run.

Each problem is asked several times under one library, as a training step does. The model is random and small: the share of the
work that is saved does not depend on what its weights say, and its answers are the same both ways.
"""

import argparse
import asyncio
import sys
import time
from importlib.util import find_spec
from typing import NamedTuple

from bench.random_model import random_model
from bench.report import Table, share
from gym.core.chat import Completion, Message, Sampling

PROBLEMS, ANSWERS, DRAWN = 6, 4, 16
LIBRARY = 600
"""Tokens of instructions and library."""
LAYERS, WIDTH = 8, 256
MOST = 0.6
"""Of the time without."""


class Took(NamedTuple):
    """One way."""

    seconds: float
    completions: list[Completion]

    @property
    def read(self) -> int:
        """Prompt tokens that went through the model."""
        return sum(one.usage.prompt - one.usage.cached for one in self.completions)


def asked(problem: int) -> tuple[Message, ...]:
    """A library that all prompts share, and a question of its own."""
    library = "When asked for a word, say it once and stop. " * LIBRARY
    question = f"Question {problem}: which word is the longest of all that begin so?"
    return Message(role="system", content=library[:LIBRARY]), Message(role="user", content=question)


async def answered(problems: int, *, reuse_prefix: bool) -> Took:
    """Every answer to every problem, all asked at once."""
    from gym.llm.hf.adapter import HFAdapter

    made = random_model(width=WIDTH, layers=LAYERS)
    adapter = HFAdapter(made.model, made.tokenizer, name="hf:random", reuse_prefix=reuse_prefix)
    await adapter.complete(
        (Message(role="user", content="Ready?"),), Sampling(max_tokens=1, seed=0)
    )  # the first call is slow
    began = time.monotonic()
    completions = await asyncio.gather(
        *(
            adapter.complete(asked(problem), Sampling(temperature=0.7, max_tokens=DRAWN, seed=seed))
            for problem in range(problems)
            for seed in range(ANSWERS)
        )
    )
    seconds = time.monotonic() - began
    adapter.close()
    return Took(seconds, list(completions))


def main() -> int:
    """With and without, the same answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    problems = max(2, round(PROBLEMS * parser.parse_args().scale))
    title = f"{problems} problems x {ANSWERS} answers of a transformers model, {LIBRARY} tokens in common"
    table = Table("bench_prefix", title)
    if find_spec("torch") is None:
        table.add("not measured", "it needs the extra [train]")
        return table.close()
    anew, once = (asyncio.run(answered(problems, reuse_prefix=reuse)) for reuse in (False, True))
    ratio = once.seconds / anew.seconds
    table.add("time, beginning read once", f"{once.seconds:.2f} s", f"read for each answer {anew.seconds:.2f} s",
              f"<= {share(MOST)}", ratio <= MOST)  # fmt: skip
    table.add("  of the time without", share(ratio))
    table.add("prompt tokens read", f"{once.read:,}", f"{anew.read:,}")
    same = [one.text for one in once.completions] == [one.text for one in anew.completions]
    table.add("answers", "the same" if same else "different", "", "the same", same)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
