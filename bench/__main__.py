"""`python -m bench [ONLY] [--scale X]`: every bench/bench_*.py in turn, then what was reached and what was not."""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench.report import KEPT, ROOT, machine, missed


class Outcome(NamedTuple):
    """How one bench ended."""

    name: str
    code: int
    seconds: float


def run(name: str, scale: float) -> Outcome:
    """One bench, shown while it runs; its text is kept for the report."""
    began, said = time.monotonic(), list[str]()
    command = [sys.executable, "-m", f"bench.{name}", *(["--scale", str(scale)] if scale != 1.0 else [])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            said.append(line)
    (KEPT / f"{name}.txt").write_text("".join(said), encoding="utf-8")
    return Outcome(name, process.returncode, time.monotonic() - began)


def main() -> int:
    """1 when a target was missed or a bench broke, after all have run."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="a part of the name of the benches to run")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work, for a quick look (default: 1)")
    asked = parser.parse_args()
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py") if asked.only in path.stem)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "machine.txt").write_text(machine() + "\n", encoding="utf-8")
    for old in KEPT.glob("bench_*"):
        if asked.only in old.stem:
            old.unlink()
    outcomes = [run(name, asked.scale) for name in names]
    print(f"\n{machine()}")
    for line in missed():
        print(f"  NOT {line}")
    for name, code, seconds in outcomes:
        told = {0: "all targets met", 1: "NOT all targets met"}.get(code, f"NOT finished (exit {code})")
        print(f"  {name:<20} {told:<24} {seconds:5.0f} s")
    return max((outcome.code for outcome in outcomes), default=2) and 1


if __name__ == "__main__":
    sys.exit(main())
