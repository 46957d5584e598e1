"""Agent mode with the web tool, from configuration to report: pages are read, and their visits are part of the bill."""

import json
from collections.abc import Callable
from pathlib import Path

from gym.config import RunConfig
from gym.train.grpo.training_free_workflow import train

Configured = Callable[..., RunConfig]


def test_a_run_that_walks_a_site_learns_and_says_how_many_pages_it_fetched(
    configured: Configured, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for number in range(30):
        (site / f"{number}.html").write_text(f"<p>Of {number} apples, it is {number}!</p>", encoding="utf-8")
    config = configured(
        model="scripted:web_script:reply",
        mode="agent",
        tools="web",
        web_sites={"apples.example": str(site)},
        test=str(tmp_path / "test.jsonl"),
        epochs=1,
    )
    run = train(config)
    assert run.gain is not None
    assert run.gain.verdict == "gain"
    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    after = report["after"]["tools"]["open"]
    assert (after["calls"], after["errors"], after["visits"]) == (36, 0, 36)
    text = (run.folder / "report.md").read_text(encoding="utf-8")
    assert "after 36 (1.00 a rollout)" in text
    steps = [step["tools"]["open"] for step in report["steps"]]
    fetched = sum(used["visits"] for used in steps)
    assert fetched == sum(used["calls"] for used in steps) > 0
    assert f"Pages fetched: training {fetched:,} " in text
