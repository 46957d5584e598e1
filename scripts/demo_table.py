"""Several runs side by side as a Markdown table, from their report.json: `demo_table.py output/demo-seed-*`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from gym.evaluation.report import Report


def rows(folders: list[Path]) -> Iterator[str]:
    """A heading and a line per run: held-out mean before and after, the paired difference, size, cost."""
    yield "| run | before | after | paired difference [95 %] | p | verdict | experiences | calls | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for folder in folders:
        report = Report.model_validate(json.loads((folder / "report.json").read_text(encoding="utf-8")))
        before, after, gain = report.before, report.after, report.gain
        if before is None or after is None or gain is None or gain.difference is None or gain.interval is None:
            yield f"| {folder.name} | not measured | | | | | {len(report.library)} | | {report.seconds:.0f} |"
            continue
        yield (
            f"| {folder.name} | {before.mean:.3f} | {after.mean:.3f} | {gain.difference:+.3f} "
            f"[{gain.interval.low:+.3f}, {gain.interval.high:+.3f}] | {gain.p_value:.4f} | {gain.verdict} "
            f"| {len(report.library)} | {report.spent['total']['calls']} | {report.seconds:.0f} |"
        )


def kinds(folders: list[Path]) -> Iterator[str]:
    """Before → after for every kind of problem in every run."""
    reports = [Report.model_validate(json.loads((folder / "report.json").read_text("utf-8"))) for folder in folders]
    names = [family.name for family in reports[0].families]
    yield f"| run | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for folder, report in zip(folders, reports, strict=True):
        cells = [f"{family.before.mean or 0:.2f} → {family.after.mean or 0:.2f}" for family in report.families]
        yield f"| {folder.name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    found = [Path(name) for name in sys.argv[1:]]
    if not found:
        sys.exit("name run folders: demo_table.py output/demo-seed-0 output/demo-seed-1")
    print("\n".join([*rows(found), "", *kinds(found)]))
