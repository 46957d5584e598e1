"""`gym grade`: grade a file of answers, and say by which rule each was decided (SPEC 4.1)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gym.cli.common import console, json_option, print_json
from gym.core.problem import Problem, Reward, Trajectory
from gym.errors import ConfigError, DataError
from gym.loop import run_on_new_loop
from gym.train.grpo.domains import rows
from gym.train.grpo.domains.columns import answer_text
from gym.train.grpo.domains.rows import Malformed, Row
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rewards.base import clip, self_test
from gym.train.grpo.rewards.grading import Counts, Grade, grades
from gym.train.grpo.rewards.workers import Workers


class Item(NamedTuple):
    """One row to grade."""

    row: Row
    problem: Problem
    trajectory: Trajectory


@click.command("grade")
@click.argument("file")
@click.option("--reward", default="math", show_default=True, help="A reward by name, or pkg.mod:fn.")
@click.option("--timeout", "timeout_s", default=30.0, show_default=True, metavar="SECONDS", help="Limit of one check.")
@json_option
def command(file: str, reward: str, timeout_s: float, as_json: bool) -> None:
    """Grade the rows of FILE (JSONL, CSV or Parquet): gold and response, and if given question and finish_reason."""
    if reward == "majority_vote":
        raise ConfigError(
            f"{reward!r} compares the answers to one question with each other; a file is graded row by row: choose another"
        )
    items = _items(rows.read(file), file)
    with Workers(min(4, os.cpu_count() or 1), limit_s=timeout_s) as workers:
        graded = run_on_new_loop(_grades(items, resolve_reward(reward, workers=workers), reward))
    counts = Counts()
    for found in graded:
        counts.add(found)
    if as_json:
        rows_out = [_row(item, found) for item, found in zip(items, graded, strict=True)]
        print_json({"rows": rows_out, "summary": counts.summary()})
        return
    Console().print(_table(items, graded))
    console.print(Text(str(counts)))


async def _grades(items: Sequence[Item], reward: Reward, name: str) -> Sequence[Grade]:
    await self_test(reward)
    return await asyncio.gather(*(_grade(item, reward, name) for item in items))


async def _grade(item: Item, reward: Reward, name: str) -> Grade:
    if reason := reward.unscorable(item.problem):
        return Grade.unscorable(reason)
    return (await grades(reward, name, item.problem, [item.trajectory]))[0]


def _items(found: Sequence[Row], file: str) -> Sequence[Item]:
    """Raises `DataError` that names the lines of rows without `gold` or `response`."""
    wanting = [
        Malformed(row.line, f"no {' and no '.join(map(repr, missing))}")
        for row in found
        if (missing := [name for name in ("gold", "response") if name not in row.fields])
    ]
    if wanting:
        raise DataError(f"{file}: {rows.describe(wanting)} (a row needs 'gold' and 'response')")
    return [_item(row) for row in found]


def _item(row: Row) -> Item:
    fields = row.fields
    problem = Problem(
        id=str(fields.get("id") or f"line-{row.line}"),
        query=answer_text(fields.get("question")) or "",
        ground_truth=answer_text(fields["gold"]),
        metadata={"also_accept": fields["also_accept"]} if fields.get("also_accept") else {},
    )
    finish = str(fields.get("finish_reason") or "stop")
    return Item(
        row, problem, Trajectory(messages=(), output=answer_text(fields["response"]) or "", finish_reason=finish)
    )


def _row(item: Item, found: Grade) -> Mapping[str, Any]:
    said = getattr(found.outcome, "feedback", "") or getattr(found.outcome, "message", "")
    reward = getattr(found.outcome, "reward", None)
    grade_of = {"result": found.result, "answer": found.answer, "rule": found.rule, "reward": reward, "feedback": said}
    return {**item.row.fields, **grade_of}


def _table(items: Sequence[Item], graded: Sequence[Grade]) -> Table:
    table = Table("line", "result", "answer", "gold", "rule", box=None, pad_edge=False)
    for item, found in zip(items, graded, strict=True):
        shown = (str(item.row.line), found.result, found.answer or "", item.problem.ground_truth or "", found.rule)
        table.add_row(*(Text(clip(cell.replace("\n", " "), 60)) for cell in shown))
    return table
