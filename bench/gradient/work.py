"""The runs of the bench: data from a seed, then each way by its own command; what is finished is served from its record."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.report import ROOT
from bench.tasks import FAMILIES
from bench.tasks.family import Sizes
from gym.files import write_atomic

MODEL, REFLECTOR = "smollm2-135m", "local:qwen2.5-coder-1.5b"
FAMILY = "yes_no"
WAYS = ("library", "lora", "grpo")
CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Spain": "Madrid", "Germany": "Berlin", "Russia": "Moscow",
    "China": "Beijing", "Egypt": "Cairo", "Greece": "Athens", "Cuba": "Havana", "England": "London", "Ireland": "Dublin",
}  # fmt: skip
"""The other set: what the model knows, and should still know afterwards."""

TIMES = "times.json"
"""What each run took, so that the page tells it whoever finished the bench."""


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    train: int = 12
    held_out: int = 24
    epochs: int = 2
    batch: int = 4
    group: int = 6
    k: int = 2
    tokens: int = 20
    """Of an answer."""
    rates: tuple[tuple[str, float], ...] = (("grpo", 2e-5), ("lora", 5e-4))
    """Learning rates of six steps: what is usual for so small a model; nothing was tuned."""


SMALLEST = Scale(train=4, held_out=6, epochs=1, batch=2, group=2, k=1, tokens=4)
"""To see that everything works."""


class Place(NamedTuple):
    """Where the bench lives, and which model it trains."""

    root: Path
    model: Path
    """A folder as `save_pretrained` leaves it."""
    reflector: str = REFLECTOR

    def run(self, way: str, seed: int) -> Path:
        """The folder of one run."""
        return self.root / f"{way}-{seed}"


def converted(gguf: Path, folder: Path) -> Path:
    """The GGUF file as a model folder in float32, made once: reading one takes each command half a minute."""
    if not (folder / "config.json").exists():
        from gym.llm.hf.opening import load

        model, tokenizer = load(gguf)
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
    return folder


class Spent(NamedTuple):
    """What the commands of one run took; of one that is only served again, what it took when it was made."""

    wall_s: float
    cpu_s: float
    """Of all processes, model server included."""


def measured(place: Place, scale: Scale, seeds: Sequence[int]) -> Iterator[tuple[str, int, Spent]]:
    """Way and seed of each run and what it took, as soon as it is done."""
    other = _lines(
        place.root / "capitals.jsonl", [(f"What is the capital of {one}?", two) for one, two in CAPITALS.items()]
    )
    for seed in seeds:
        data = _data(place.root, scale, seed)
        for way in WAYS:
            began, cpu = time.monotonic(), _cpu_s()
            for command in _commands(place, scale, seed, way, data, other):
                _gym(command)
            yield way, seed, _kept(place, f"{way}-{seed}", Spent(time.monotonic() - began, _cpu_s() - cpu))


def spent(place: Place, seeds: Sequence[int]) -> Spent:
    """Of all runs together."""
    kept = _times(place)
    found = [Spent(*kept[f"{way}-{seed}"]) for way in WAYS for seed in seeds]
    return Spent(sum(one.wall_s for one in found), sum(one.cpu_s for one in found))


def compared(place: Place, seeds: Sequence[int], *options: str) -> str:
    """What `gym compare` says of all runs: none, library, LoRA and gradient GRPO, their seeds pooled."""
    runs = {way: [place.run(way, seed) for seed in seeds] for way in WAYS}
    none = [run / "evaluations" / "before.json" for run in runs["library"]]
    ways = {"none": none, "library": runs["library"], "LoRA": runs["lora"], "gradient GRPO": runs["grpo"]}
    return _gym(["compare", *(f"{name}={','.join(map(_told, paths))}" for name, paths in ways.items()), *options])


def _commands(
    place: Place, scale: Scale, seed: int, way: str, data: tuple[Path, Path], other: Path
) -> Iterator[list[str]]:
    train, test = data
    run = place.run(way, seed)
    shared = [
        "--model", f"hf:{_told(place.model)}", "--reward", "bench.gradient.rewards:FORM", "--seed", str(seed),
        "--output-dir", _told(place.root), "--experiment-name", run.name, "--quiet", "--rollout-max-tokens", str(scale.tokens),
        "--system-prompt", "Answer the question briefly.",
    ]  # fmt: skip
    learning = [
        "--data", _told(train), "--test", _told(test), "--epochs", str(scale.epochs), "--batch-size", str(scale.batch),
        "--group-size", str(scale.group), "--rollout-temperature", "1.0", "--eval-k", str(scale.k),
    ]  # fmt: skip
    also = ["--also", _told(other), "--also-reward", "bench.gradient.rewards:NAMED"]
    if way == "library":
        reflecting = [
            "--reflector-model",
            place.reflector,
            "--experience-max-size",
            "8",
            "--reflection-max-tokens",
            "260",
        ]
        yield ["train", *shared, *learning, *reflecting]
        library = ["--experiences", _told(run / "experiences.json"), "--compare"]
        yield ["eval", "--data", _told(test), "--k", str(scale.k), *shared, *library, *also]
    else:
        yield ["baseline", way, *shared, *learning, *also, "--learning-rate", str(dict(scale.rates)[way])]


def _data(root: Path, scale: Scale, seed: int) -> tuple[Path, Path]:
    parts = FAMILIES[FAMILY].splits(seed, Sizes(scale.train, 0, scale.held_out))
    train, test = ([(one.query, one.ground_truth or "") for one in part] for part in (parts.train, parts.test))
    return _lines(root / f"train-{seed}.jsonl", train), _lines(root / f"test-{seed}.jsonl", test)


def _lines(file: Path, rows: Sequence[tuple[str, str]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in rows)
    file.write_text(text, encoding="utf-8")
    return file


def _kept(place: Place, run: str, took: Spent) -> Spent:
    """The larger of what a run took now and what is kept of it, which is then kept."""
    kept = _times(place)
    most = max(took, Spent(*kept.get(run, (0.0, 0.0))))
    write_atomic(place.root / TIMES, json.dumps({**kept, run: most}, indent=2) + "\n")
    return most


def _times(place: Place) -> dict[str, list[float]]:
    file = place.root / TIMES
    found: dict[str, list[float]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _gym(words: Sequence[str]) -> str:
    done = subprocess.run([sys.executable, "-m", "gym", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"gym {' '.join(words)}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _told(path: Path) -> str:
    """As the user would write it in the checkout, so that no page names a machine's folders."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
