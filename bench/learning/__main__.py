"""`python -m bench.learning`: every family x seed x method that is not finished, A/A pairs, and the page of figures.

Stop it whenever you like: the same command goes on, and repeats no finished cell and no recorded call.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.learning import page, same, work
from bench.learning.cell import Cell, cells
from bench.learning.figures import Suite
from bench.learning.methods import METHODS
from bench.learning.settings import QUICK, Scale, missing, scaled
from bench.learning.workplace import workplace
from bench.record import RECORDS, pack, unpack
from bench.report import ROOT, ended
from bench.tasks import FAMILIES
from gym.errors import DataError

RESULTS = ROOT / "output" / "learning"
RECORD = RECORDS / "learning.jsonl"
SEEDS = (13, 14, 15)
"""Of the table, the last three added when the first three had left open who is better.

3, 7, 8 and 100 served for tuning, 0 to 2 for an earlier table, 9 is the ablation's.
"""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="bench.learning", description=__doc__)
    parser.add_argument("--families", type=_names, default=tuple(FAMILIES), help="comma-separated (default: all)")
    usual = ",".join(map(str, SEEDS))
    parser.add_argument("--seeds", type=_numbers, default=SEEDS, help=f"comma-separated (default: {usual})")
    parser.add_argument("--methods", type=_names, default=tuple(METHODS), help="comma-separated (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the problems (default: 1)")
    parser.add_argument("--quick", action="store_true", help="8 problems of each part, one held-out answer each")
    parser.add_argument("--base-url", default="", help="a server that runs already (default: the embedded model)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="another folder: everything is measured anew")
    parser.add_argument("--figures", action="store_true", help="run nothing: figures of what is finished")
    parser.add_argument(
        "--write", action="store_true", help="put the figures into bench/LEARNING.md, results into records/"
    )
    asked = parser.parse_args(given)
    for kind, chosen, known in (("family", asked.families, FAMILIES), ("method", asked.methods, METHODS)):
        if unknown := [name for name in chosen if name not in known]:
            parser.error(f"unknown {kind} {unknown[0]!r}: known are {', '.join(known)}")
    return asked


async def measure(asked: argparse.Namespace, todo: Sequence[Cell]) -> None:
    """All the work of the model."""
    async with workplace(asked.base_url, lambda text: print(text, flush=True)) as place:
        if "baseline" in asked.methods:
            for cell in todo:
                if cell.seed == min(asked.seeds):
                    await same.draws(place, cell)
        await work.run(place, todo, asked.methods)


def figures(asked: argparse.Namespace, todo: Sequence[Cell], scale: Scale) -> str:
    """Of everything that is finished. Raises `DataError` when nothing is."""
    suite = Suite(outcome for cell in todo for outcome in work.finished(cell, asked.methods))
    if not suite.found:
        raise DataError(
            f"{asked.output}: nothing is finished yet of what was asked for; the same without --figures works on it"
        )
    drawn = [found for cell in todo if (found := same.kept(cell)) is not None]
    verdicts = [verdict for found in drawn for verdict in same.verdicts(found.rewards)]
    return page.markdown(suite, verdicts, scale, planned=len(todo))


def finished_files(todo: Sequence[Cell], methods: Sequence[str]) -> Iterator[Path]:
    """The results that count, as the figures count them."""
    for cell in todo:
        yield from (cell.folder / f"{outcome.method}.json" for outcome in work.finished(cell, methods))
        if same.kept(cell) is not None:
            yield cell.folder / same.FILE


def main() -> int:
    """Work, print the figures, and write them when asked to."""
    asked = arguments()
    scale = QUICK if asked.quick else scaled(asked.scale)
    todo = cells([FAMILIES[name] for name in asked.families], asked.seeds, scale, asked.output)
    for key in missing():
        print(f"this version has no setting {key!r}: left out of zoo")
    if asked.output == RESULTS:
        unpack(RECORD, RESULTS)
    if not asked.figures:
        asyncio.run(measure(asked, todo))
    told = figures(asked, todo, scale)
    print(told)
    if asked.write:
        page.write(told)
        pack(RECORD, asked.output, finished_files(todo, asked.methods))
    return int("| NOT |" in told)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(name) for name in _names(text))


if __name__ == "__main__":
    ended(main)
