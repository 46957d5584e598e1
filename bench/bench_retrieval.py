"""Retrieval from 100,000 entries, and the encoder, each beside plain numpy or hashing in the same run.

Vectors are random unit rows, the worst case for any shortcut; what is found is compared with a full sort. A run asks in
blocks, for its problems are known; a person asks once. Starting is measured in a fresh process whose file was just written.
"""

import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from bench.options import scale
from bench.processes import Client, Ended
from bench.report import Table
from gym.core.experience import Experience, Library
from gym.core.problem import Problem
from gym.embedding import DIM, Vectors
from gym.embedding.encoders import open_encoder
from gym.embedding.hashing import HashingEmbedder
from gym.embedding.scan import Scan
from gym.embedding.search import BLOCK, best, cosines
from gym.embedding.store import Store
from gym.llm.local.get import fetch
from gym.train.grpo.retrieval import Retrieval, Rule

ENTRIES, QUERIES, K = 100_000, 20 * BLOCK, 20
MAX_QUERY_MS, MAX_START_S = 5.0, 2.0
SENTENCES = 200
START = "import sys; from bench.bench_retrieval import started; started(sys.argv[1], int(sys.argv[2]))"
PLAIN = (
    "import sys, numpy as np; rows = np.fromfile(sys.argv[1], dtype='<f4').reshape(-1, 384); "
    "np.argsort(rows[1:] @ rows[0])"
)


class Random:
    """Vectors drawn from the texts' first."""

    name, dim = "random", DIM

    def __call__(self, texts: Sequence[str]) -> Vectors:
        rows: Vectors = np.random.default_rng(zlib.crc32(texts[0].encode())).standard_normal(
            (len(texts), DIM), dtype=np.float32
        )
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class Times(NamedTuple):
    """Milliseconds of one piece of work, over many; CPU is what a machine without other work would take."""

    median: float
    p95: float
    cpu: float

    @classmethod
    def of(cls, works: Iterable[Callable[[], object]], share: int = 1) -> Self:
        """Of works that each do `share` pieces."""
        took = []
        for work in works:
            began, cpu = time.perf_counter(), time.process_time()
            work()
            took.append((time.perf_counter() - began, time.process_time() - cpu))
        wall, cpus = np.array(took).T / share * 1e3
        return cls(float(np.median(wall)), float(np.percentile(wall, 95)), float(np.median(cpus)))

    def __str__(self) -> str:
        return f"{self.median:.2f} ms, p95 {self.p95:.2f}, CPU {self.cpu:.2f}"


def entry(number: int) -> str:
    """The text of one entry."""
    return f"When the case is {number}, take the {number % 89}th way."


def query(number: int) -> str:
    """The text of one problem."""
    return f"What is the answer to number {number}?"


def library(entries: int) -> Library:
    """All entries."""
    return Library(entries=tuple(Experience(id=f"G{n}", text=entry(n)) for n in range(entries)), next_id=entries)


def started(folder: str, entries: int) -> None:
    """What a fresh process does up to its first answer."""
    store = Store(Random(), Path(folder))
    rows = store.rows([entry(n) for n in range(entries)])
    best(cosines(rows, store.rows([query(0)]))[0], K)


def start(*words: str, times: int = 5) -> Ended:
    """The median of a few fresh processes."""
    ended = sorted((Client(*words).ended().require_success() for _ in range(times)), key=lambda each: each.wall_s)
    return ended[times // 2]


def show_search(table: Table, rows: Vectors, queries: Vectors) -> None:
    """A query among others, and alone."""

    def sort(one: Vectors) -> list[int]:
        found: list[int] = np.argsort(rows @ one)[::-1][:K].tolist()
        return found

    def block(asked: Vectors) -> list[list[int]]:
        return [best(row, K).tolist() for row in cosines(rows, asked)]

    scanned: list[Scan] = []

    def lone(one: Vectors) -> list[int]:
        found: list[int] = best(scanned[0].cosines(one, k=K), K).tolist()
        return found

    sample, blocks = queries[:60], np.split(queries, len(queries) // BLOCK)
    plain = Times.of(partial(sort, one) for one in sample)
    together = Times.of((partial(block, asked) for asked in blocks), BLOCK)
    made = Times.of([lambda: scanned.append(Scan(rows))])
    alone = Times.of(partial(lone, one) for one in sample)
    table.add(f"a query, {BLOCK} asked at once", str(together), f"product and sort, one by one {plain}",
              f"<= {MAX_QUERY_MS:g} ms", together.median <= MAX_QUERY_MS)  # fmt: skip
    right = block(sample) == [lone(one) for one in sample] and all(
        sorted(found) == sorted(sort(one)) for found, one in zip(block(sample), sample, strict=True)
    )
    table.add("a query asked alone", str(alone), f"product and sort {plain}", f"<= {MAX_QUERY_MS:g} ms",
              alone.median <= MAX_QUERY_MS)  # fmt: skip
    table.add("  what it asks made, once a library", f"{made.median:.0f} ms")
    table.add("  the entries found", "those of the sort" if right else "others", "", "the same", right)


def show_product(table: Table, folder: Path, entries: int) -> None:
    """The library of a run, with what a prompt is shown in the end."""
    known, asked = library(entries), [Problem(id=str(n), query=query(n)) for n in range(2 * BLOCK)]
    retrieval = Retrieval(Rule(k=K), Random, store=lambda encoder: Store(encoder, folder))
    retrieval.expect(asked)
    first = Times.of([lambda: retrieval(known, asked[0])])
    rest = Times.of([lambda: [retrieval(known, each) for each in asked[BLOCK:]]], BLOCK)
    table.add("a problem of a run, to the part it is shown", f"{rest.median:.2f} ms, CPU {rest.cpu:.2f}",
              f"the first {BLOCK} with all that is read {first.median:.0f} ms, CPU {first.cpu:.0f}")  # fmt: skip


def show_encoder(table: Table) -> None:
    """Sentences a second."""
    fetch("all-minilm-l6-v2")
    sentences = [entry(n) for n in range(SENTENCES)]
    rates = {}
    for name, encoder in (("minilm", open_encoder("minilm")), ("hashing", HashingEmbedder())):
        encoder(sentences[:1])
        for way, pieces in (("one", [[text] for text in sentences]), ("all", [sentences])):
            began = time.perf_counter()
            for piece in pieces:
                encoder(piece)
            rates[name, way] = SENTENCES / (time.perf_counter() - began)
    for way, told in (("one", "one by one"), ("all", "in a batch")):
        table.add(f"sentences embedded, {told}", f"{rates['minilm', way]:.0f} a second",
                  f"hashing {rates['hashing', way]:.0f} a second")  # fmt: skip


def main() -> int:
    """Search, start, encoder."""
    entries = int(ENTRIES * scale())
    table = Table("bench_retrieval", f"Retrieval from {entries:,} entries of {DIM} dimensions, without the embedding")
    with tempfile.TemporaryDirectory() as place:
        folder, draw = Path(place), Random()
        store = Store(draw, folder)
        queries, rows = store.rows([query(n) for n in range(QUERIES)]), store.rows([entry(n) for n in range(entries)])
        show_search(table, rows, queries)
        rows.tofile(folder / "plain")
        fresh, plain = start("-c", START, place, str(entries)), start("-c", PLAIN, str(folder / "plain"))
        table.add("a fresh process to its first answer", f"{fresh.wall_s:.2f} s, CPU {fresh.cpu_s:.2f}",
                  f"reads a plain array, sorts {plain.wall_s:.2f} s, CPU {plain.cpu_s:.2f}",
                  f"<= {MAX_START_S:g} s", fresh.wall_s <= MAX_START_S)  # fmt: skip
        show_product(table, folder, entries)
    show_encoder(table)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
