"""`python -m bench.gradient`: every way under every seed, then the tables; into bench/GRADIENT.md with --write.

It resumes: what is finished is served from its record. On two cores of its own it takes under an hour.
"""

import argparse
from pathlib import Path

from bench.gradient.exchange import section
from bench.gradient.work import MODEL, REFLECTOR, SMALLEST, Place, Scale, compared, converted, measured, spent
from bench.report import ROOT, ended, filled, machine
from gym.evaluation.figures import duration
from gym.evaluation.page import markdown
from gym.llm.local.catalogue import find
from gym.llm.local.get import fetch
from gym.llm.local.weights import cached
from gym.train.grpo.experience_manager import read_library

PAGE = ROOT / "bench" / "GRADIENT.md"
BEGIN, END = "<!-- figures: written by `python -m bench.gradient --write` -->", "<!-- end of figures -->"


def main() -> int:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(prog="bench.gradient", description=__doc__)
    parser.add_argument("--seeds", default="0,1,2", help="comma-separated")
    parser.add_argument("--smallest", action="store_true", help="to see that everything works; no figures to believe")
    parser.add_argument("--output", type=Path, default=ROOT / "output" / "gradient", help="where the runs are kept")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/GRADIENT.md")
    asked = parser.parse_args()
    seeds, scale = [int(seed) for seed in asked.seeds.split(",")], SMALLEST if asked.smallest else Scale()
    fetch(find(MODEL).name)
    gguf = cached(find(MODEL))
    assert gguf is not None
    place = Place(asked.output, converted(gguf, asked.output / MODEL))
    for way, seed, took in measured(place, scale, seeds):
        print(f"  {way}, seed {seed}: {duration(took.wall_s)}, {duration(took.cpu_s)} of CPU", flush=True)
    told = figures(place, scale, seeds)
    print(told)
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), told, BEGIN, END), encoding="utf-8")
    return 0


def figures(place: Place, scale: Scale, seeds: list[int]) -> str:
    """The page's part, from the runs that are there."""
    page = place.root / "table.md"
    compared(place, seeds, "--markdown", str(page))
    tables = page.read_text(encoding="utf-8").partition("\n\n")[2]
    libraries = [read_library(place.run("library", seed)) for seed in seeds]
    learned = "\n".join(
        f"- seed {seed}: {' '.join(library.texts) or 'nothing'}" for seed, library in zip(seeds, libraries, strict=True)
    )
    took = spent(place, seeds)
    rates = ", ".join(f"{way} {rate:g}" for way, rate in scale.rates)
    settings = (
        f"Measured {machine()}. All runs together took {duration(took.cpu_s)} of CPU, {duration(took.wall_s)} by the clock. "
        f"Seeds {', '.join(map(str, seeds))}; {MODEL} in float32, {REFLECTOR} reflects; {scale.train} training "
        f"problems x {scale.group} answers, {scale.epochs} epochs, {scale.batch} problems a step; "
        f"{scale.held_out} held-out problems x {scale.k} answers a seed; learning rates {rates}."
    )
    exchanged = markdown("", (), (section(libraries),)).partition("\n\n")[2]
    return _deeper("\n\n".join((settings, tables.strip(), "## What the libraries hold", learned, exchanged.strip())))


def _deeper(text: str) -> str:
    """Its headings below the page's own."""
    return "\n".join(f"#{line}" if line.startswith("## ") else line for line in text.splitlines())


if __name__ == "__main__":
    ended(main)
