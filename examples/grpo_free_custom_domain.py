"""A domain of your own in one file: how problems are made, what the model is told, what scores it.

    python examples/grpo_free_custom_domain.py --model local:qwen2.5-coder-0.5b

is `gym train --domain grpo_free_custom_domain:DOMAIN --dataset 20` with this folder importable.
"""

import random
import sys
from pathlib import Path

from gym.cli.main import main
from gym.core.problem import Problem
from gym.train.grpo.domains.base import Domain, Loaded, Prompts


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    """`source` sums in words; the house rule, which the model must find out, is to answer in three digits."""
    rng = random.Random(7)
    pairs = [(rng.randint(10, 40), rng.randint(10, 40)) for _ in range(int(source))]
    problems = tuple(
        Problem(
            id=f"sum-{number}", query=f"A box weighs {a} kg and another {b} kg. Together?", ground_truth=f"{a + b:03d}"
        )
        for number, (a, b) in enumerate(dict.fromkeys(pairs))
    )
    return Loaded(problems[:truncate])


DOMAIN = Domain(name="boxes", load=load, prompts=Prompts(solve="Answer with the number alone."), reward="exact")

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.argv[1:] = ["train", "--domain", "grpo_free_custom_domain:DOMAIN", "--dataset", "20", *sys.argv[1:]]
    main()
