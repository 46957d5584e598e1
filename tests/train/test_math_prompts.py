"""What the math domain says: the same to solve before and after, and to each stage what it may know."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gym.config import RunConfig
from gym.llm.scripted_server import ScriptedServer
from gym.train.grpo.domains.math import DOMAIN
from gym.train.grpo.training_free_workflow import atrain

RULE = "When adding two numbers, check the last digit."
STAGES = {"summarize": "You review", "critique": "You compare", "consolidate": "You keep"}


def mathematician(body: dict[str, Any]) -> str:
    """Adds right for two seeds of three; reflects when asked to."""
    system = body["messages"][0]["content"]
    if system.startswith(STAGES["critique"]):
        return json.dumps([{"option": "add", "experience": RULE}])
    if system.startswith((STAGES["summarize"], STAGES["consolidate"])):
        return "[]"
    one, other = (int(number) for number in re.findall(r"\d+", body["messages"][-1]["content"])[-2:])
    return rf"So it is \boxed{{{one + other + (body['seed'] % 3 == 0)}}}."


def write(path: Path, first: int) -> str:
    rows = [
        {"id": f"{path.stem}{n}", "problem": f"What is {n} + {n + 3}?", "answer": 2 * n + 3}
        for n in range(first, first + 5)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


async def system_prompts(folder: Path, *, use_groundtruth: bool) -> list[str]:
    """Of every call of a run of two steps with an evaluation before and after."""
    async with ScriptedServer(mathematician, models=("m",)) as server:
        config = RunConfig(
            model_name_or_path="m",
            api_base_url=server.base_url,
            domain="math",
            dataset=write(folder / "train.jsonl", 10),
            test=write(folder / "test.jsonl", 40),
            use_groundtruth=use_groundtruth,
            epochs=2,
            grpo_group_size=5,
            eval_k=1,
            output_dir=str(folder / "run"),
        )
        await atrain(config)
        return [body["messages"][0]["content"] for body in server.requests]


@pytest.mark.parametrize("use_groundtruth", [True, False])
async def test_solving_is_asked_in_the_same_words_and_each_stage_hears_what_it_may_know(
    tmp_path: Path, use_groundtruth: bool
) -> None:
    found = await system_prompts(tmp_path, use_groundtruth=use_groundtruth)
    solving = {system for system in found if not system.startswith(tuple(STAGES.values()))}
    assert DOMAIN.prompts.solve in solving, "without a library nothing but the domain's words"
    assert len(solving) > 1
    assert all(system.startswith(DOMAIN.prompts.solve) for system in solving)
    words = DOMAIN.prompts.words(use_groundtruth).model_dump()
    for stage, opening in STAGES.items():
        asked = [system for system in found if system.startswith(opening)]
        assert asked, stage
        assert all(words[stage] in system for system in asked), stage


def test_solving_ends_with_a_boxed_answer() -> None:
    assert DOMAIN.prompts.solve.splitlines()[-1].endswith(r"\boxed{}.")


def test_without_ground_truth_no_stage_hears_of_a_reference() -> None:
    labelled, unlabelled = DOMAIN.prompts.words(True), DOMAIN.prompts.words(False)
    assert "reference answer" in labelled.summarize
    assert "reference answer" in labelled.critique
    assert "reference" not in json.dumps(unlabelled.model_dump())
    assert "most may be wrong" in unlabelled.critique
