"""The whole loop in seconds and without a server: a scripted model learns one rule of a toy task.

`python scripts/test_grpo_free_mini.py` ends with the library it learned and the run's folder.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gym.config import load_config
from gym.core.chat import Message, Sampling
from gym.train.grpo.training_free_workflow import train

RULE = "When asked for a count, put an exclamation mark after the number."


def model(messages: Sequence[Message], sampling: Sampling) -> str:
    """Answers plainly unless told the rule, or by luck; as a critic it sees what made the difference."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You compare"):
        return json.dumps([{"option": "add", "experience": RULE}])
    if system.startswith("You"):
        return "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    return f"{number}!" if RULE in system or (sampling.seed or 0) % 3 == 0 else number


def main() -> None:
    """Make a data set, train, and print what was learned."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-gym-mini-"))
    rows = [{"question": f"How many apples are {n} apples?", "answer": f"{n}!"} for n in range(24)]
    for name, part in (("train", rows[:12]), ("test", rows[12:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    config = load_config(
        None,
        {
            "model": "scripted:test_grpo_free_mini:model",
            "data": str(folder / "train.jsonl"),
            "test": str(folder / "test.jsonl"),
            "reward": "exact",
            "epochs": 1,
            "output_dir": str(folder / "output"),
            "experiment_name": "mini",
        },
    )
    run = train(config)
    assert run.gain is not None
    print(run.library.render())
    print(f"held-out difference {run.gain.difference:+.2f}, {run.gain.verdict}; everything is in {run.folder}")


if __name__ == "__main__":
    main()
