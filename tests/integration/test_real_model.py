"""The whole product against a real llama.cpp server on loopback."""

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gym.config import load_config
from gym.core.experience import Library
from gym.evaluation.measure import measure
from gym.evaluation.measured import Measured
from gym.llm.blocking import run
from gym.llm.brake import Brake
from gym.llm.local.server import LocalServer, serve
from gym.train.grpo import ExperienceManager, LLMClient, SemanticExtractor
from gym.train.grpo.api_model_adapter import DeepSeekAdapter
from gym.train.grpo.training_free_workflow import Run, train
from gym.train.grpo.watch import Silent
from gym.web.site.making import make, write

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("model"), pytest.mark.timeout(900)]
"""The limit is there for what hangs: a machine may be five times slower than it was an hour ago."""


@pytest.fixture
def small_server(smollm: Path) -> Iterator[LocalServer]:
    """A served SmolLM2-135M on loopback, from the start of a test to its end."""
    opened = serve(str(smollm), slots=2, context=2048)
    yield run(opened.__aenter__())
    run(opened.__aexit__(None, None, None))


def test_the_papers_listing_runs_changed_only_in_url_model_and_data(small_server: LocalServer, tmp_path: Path) -> None:
    dataset = [("Say the word apple.", "apple"), ("Say the word pear.", "pear")]

    def evaluate(rollout: str, gt: str) -> float:
        return float(len(rollout) % 2 == len(gt) % 2)  # any reward will do: a 135M model is here for the plumbing

    model = DeepSeekAdapter(api_key="sk-xxx", model=small_server.model, base_url=small_server.base_url)
    exp_mgr = ExperienceManager(str(tmp_path / "experiences.json"))
    llm = LLMClient(api_key="sk-xxx", model=small_server.model, base_url=small_server.base_url)
    extractor = SemanticExtractor(llm, max_operations=3, max_tokens=32)

    for epoch in range(3):
        for query, gt in dataset:
            # Generate G rollouts
            rollouts = [
                model.generate_with_experiences(query, exp_mgr.format_for_prompt(), max_tokens=8) for _ in range(5)
            ]
            rewards = [evaluate(r, gt) for r in rollouts]

            # Three-stage extraction
            summaries = [
                extractor.summarize_trajectory(query, r, reward, gt)
                for r, reward in zip(rollouts, rewards, strict=True)
            ]
            ops = extractor.extract_group_advantage(summaries, exp_mgr.format_for_prompt(), gt)
            exp_mgr.apply_operations(ops)

        exp_mgr.save(str(tmp_path / f"exp_epoch{epoch}.json"))

    saved = [Library.from_json((tmp_path / f"exp_epoch{epoch}.json").read_text("utf-8")) for epoch in range(3)]
    assert all(len(str(summary)) > 0 for summary in summaries)
    assert saved[-1].to_json() == exp_mgr.library.to_json()
    assert all(earlier.next_id <= later.next_id for earlier, later in pairwise(saved))


JSON_RULE = (
    'When asked for a name and a city, answer only with a JSON object like {"name": "…", "city": "…"}, without code '
    "fences or other text."
)


def test_a_hand_written_experience_takes_json_keys_from_nothing_to_most(qwen_small: Path, tmp_path: Path) -> None:
    names, cities = ("Ana", "Bo", "Cleo", "Dan", "Eve", "Finn"), ("Lisbon", "Oslo", "Athens", "Quito", "Lima", "Cork")
    people = list(zip(names, cities, strict=True))
    rows = [
        {
            "question": f"Who is it and where? {name} lives in {city}.",
            "answer": json.dumps({"name": name, "city": city}),
        }
        for name, city in people
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = load_config(
        None,
        {
            "model": str(qwen_small),
            "data": str(tmp_path / "people.jsonl"),
            "reward": "json",
            "eval_k": 2,
            "rollout_max_tokens": 48,
            "rollout_concurrency": 4,
            "output_dir": str(tmp_path / "output"),
        },
        environ={},
    )
    library = Library().minted(JSON_RULE).library
    found: Measured = run(measure(config, library, compare=True, watch=Silent(), brake=Brake()))
    assert found.plain is not None
    assert found.gain is not None
    assert (found.plain.score.mean or 0.0) <= 0.35
    assert (found.score.score.mean or 0.0) >= 0.65
    assert (found.gain.difference or 0.0) >= 0.4
    assert found.spent["usd"] == 0


def test_training_on_local_weights_leaves_them_bit_identical_and_says_so(smollm: Path, tmp_path: Path) -> None:
    rows = [{"question": f"Say yes or no: is {n} even?", "answer": "Yes" if n % 2 == 0 else "No"} for n in range(4)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = load_config(
        None,
        {
            "model": str(smollm),
            "data": str(tmp_path / "train.jsonl"),
            "reward": "normalized",
            "epochs": 1,
            "group_size": 3,
            "rollout_max_tokens": 8,
            "output_dir": str(tmp_path / "output"),
            "experiment_name": "frozen",
        },
        environ={},
    )
    finished = train(config)
    manifest = json.loads((finished.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["weights"]["sha256_before"] == manifest["weights"]["sha256_after"]
    assert manifest["weights"]["sha256_before"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert manifest["weights"]["verified"] is True
    assert "unchanged" in (finished.folder / "report.md").read_text(encoding="utf-8")


def test_a_small_model_computes_in_the_real_sandbox_before_it_answers(qwen_small: Path, tmp_path: Path) -> None:
    config = load_config(
        None,
        {
            "model": str(qwen_small),
            "data": str(Path(__file__).parents[2] / "examples" / "mathematics" / "train.jsonl"),
            "dataset_truncate": 2,
            "domain": "math",
            "mode": "agent",
            "system_prompt": r"Compute the result with one short Python call, then answer with it in \boxed{}.",
            "max_tool_steps": 2,
            "eval_k": 2,
            "rollout_max_tokens": 96,
            "output_dir": str(tmp_path / "output"),
        },
        environ={},
    )
    found: Measured = run(measure(config, None, compare=False, watch=Silent(), brake=Brake()))
    score = found.score.score
    assert (score.n_problems, score.n_answers, score.failed) == (2, 4, 0)
    assert score.tools["python"].calls > score.tools["python"].errors
    logged = (found.folder / "calls.jsonl").read_text(encoding="utf-8")
    assert r"<tool_output tool=\"python\">" in logged


FIRST_CALL = """Begin with exactly this reply, and answer when you have seen the page:
```tool_call
{"name": "open", "arguments": {"url": "http://halden.example/index.html"}}
```"""


def test_the_web_configuration_runs_on_a_made_site_and_replays_without_it(
    qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write(make(seed=0, pages=100), site)
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))

    def walked(name: str) -> Run:
        changes = {
            "model": str(qwen_small), "dataset": str(site / "train.jsonl"), "test": "", "dataset_truncate": 1,
            "web_sites": json.dumps({"halden.example": str(site)}), "web_part": 600, "grpo_group_size": 2,
            "system_prompt": FIRST_CALL,
            "max_tool_steps": 2, "rollout_max_tokens": 64, "output_dir": str(tmp_path / "output"), "experiment_name": name,
        }  # fmt: skip
        return train(load_config(ROOT / "configs" / "grpo_free_web.yaml", changes, environ={}))

    first = walked("web")
    assert first.steps[0].rollouts == 2
    assert first.steps[0].failed == 0
    assert first.steps[0].tools["open"].visits > 0
    shutil.rmtree(site / "pages")
    again = first.folder.parent / "again"
    again.mkdir()
    for record in ("calls.jsonl", "pages.jsonl"):
        shutil.copyfile(first.folder / record, again / record)
    assert walked("again").library == first.library
    assert (again / "calls.jsonl").read_bytes() == (first.folder / "calls.jsonl").read_bytes()
