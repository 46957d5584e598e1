"""The part of a report that is about money: what each stage used, beside what was predicted (SPEC 5.1, 5.3)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gym.evaluation import charts
from gym.evaluation.estimate import Estimate, StageCost
from gym.evaluation.figures import NONE, dollars
from gym.evaluation.page import Chart, Section, Table


class Spent(NamedTuple):
    """Calls, tokens and dollars of a stage or of a run; `usd` is None when unknown."""

    calls: int
    tokens: int
    usd: float | None


def spent_in(rows: Mapping[str, Mapping[str, Any]]) -> Spent:
    """The sum over the models of one stage."""
    usd = [row["usd"] for row in rows.values()]
    return Spent(
        sum(row["calls"] for row in rows.values()),
        sum(row["prompt_tokens"] + row["completion_tokens"] for row in rows.values()),
        None if None in usd else sum(usd),
    )


def cost(spent: Mapping[str, Any]) -> Section | None:
    """The bill by stage and model, from `Meter.snapshot()`; None before any call."""
    stages: Mapping[str, Mapping[str, Any]] = spent.get("stages", {})
    if not stages:
        return None
    rows = [_line(stage, model, row) for stage, models in stages.items() for model, row in models.items()]
    rows += [_queries(service, row) for service, row in spent.get("queries", {}).items()]
    rows.append(_line("total", "", spent["total"]))
    header = ("stage", "model", "calls", "failed", "replayed", "prompt", "of it cached", "completion", "dollars")
    sums = {stage: spent_in(models) for stage, models in stages.items()}
    table = Table("Calls, tokens and dollars by stage", header, rows, frozenset(range(2, 9)))
    text = "Replayed calls were answered from the record, free. Dollars are unknown for a model without a price."
    return Section("What it cost", (text,), table, _charts(sums))


def _line(stage: str, model: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    counts = ("calls", "failed", "replayed", "prompt_tokens", "cached_tokens", "completion_tokens")
    return (stage, model, *(f"{row[name]:,}" for name in counts), dollars(row["usd"]))


def _queries(service: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Of a search service; queries are no model calls, so the total has their dollars alone."""
    return (
        "search queries",
        service,
        f"{row['queries']:,}",
        NONE,
        f"{row['replayed']:,}",
        NONE,
        NONE,
        NONE,
        dollars(row["usd"]),
    )


def _charts(sums: Mapping[str, Spent]) -> tuple[Chart, ...]:
    used = [charts.Bar(stage, one.tokens) for stage, one in sums.items()]
    words = ", ".join(f"{bar.name} {bar.value:,.0f}" for bar in used)
    drawn = [Chart(charts.amounts(used, "tokens", "{:,.0f}"), f"Tokens by stage: {words}", "Tokens by stage")]
    paid = [charts.Bar(stage, one.usd) for stage, one in sums.items() if one.usd is not None]
    if len(paid) == len(sums) and any(bar.value for bar in paid):
        words = ", ".join(f"{bar.name} {dollars(bar.value)}" for bar in paid)
        drawn.append(
            Chart(charts.amounts(paid, "dollars", "${:,.4f}"), f"Dollars by stage: {words}", "Dollars by stage")
        )
    return tuple(drawn)


def prediction(predicted: Estimate | None, spent: Mapping[str, Any]) -> Section | None:
    """What `gym estimate` says of this run, stage by stage beside what it used; None without a prediction."""
    if predicted is None:
        return None
    usual = {stage.stage: stage for stage in predicted.expected.stages}
    most = {stage.stage: stage for stage in predicted.upper.stages}
    used = {stage: spent_in(models) for stage, models in spent.get("stages", {}).items()}
    names = [*usual, *(stage for stage in used if stage not in usual)]
    rows = [_beside(name, _of(usual.get(name)), _of(most.get(name)), used.get(name)) for name in names]
    sides = [Spent(costs.calls, costs.tokens.total, costs.usd) for costs in (predicted.expected, predicted.upper)]
    rows.append(_beside("total", sides[0], sides[1], spent_in({"": spent["total"]}) if "total" in spent else None))
    header = ("stage", "calls predicted", "spent", "tokens predicted", "spent", "dollars predicted", "spent")
    share = f"{100 * predicted.informative_share:.0f} %"
    text = f"Predicted: if {share} of the groups are informative … at most, if all are. Retries and repairs are in neither."
    table = Table("Predicted and spent, by stage", header, rows, frozenset(range(1, 7)))
    return Section("Predicted beside spent", (text,), table)


def _of(stage: StageCost | None) -> Spent | None:
    return None if stage is None else Spent(stage.calls, stage.tokens.total, stage.usd)


def _beside(name: str, usual: Spent | None, most: Spent | None, used: Spent | None) -> tuple[str, ...]:
    told = [_told(side) for side in (usual, most, used)]
    cells = [(low if low == high else f"{low} … {high}", spent) for low, high, spent in zip(*told, strict=True)]
    return (name, *(cell for pair in cells for cell in pair))


def _told(side: Spent | None) -> tuple[str, str, str]:
    if side is None:
        return (NONE, NONE, NONE)
    return (f"{side.calls:,}", f"{side.tokens:,}", dollars(side.usd) if side.calls else NONE)
