"""A whole round of many nodes with 100 experiences each: time, memory, bytes; blocks beside exact linkage.

Codes are planted: 120 topics that 7 in 10 texts belong to, signs turned at rates that give the cosines of paraphrases.
Each size runs in a fresh process, from signed packets to the decision, on one thread: its CPU seconds are what it takes
on a machine without other work, its seconds what it took here.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.federated import topics
from bench.options import scale
from bench.processes import Client
from bench.report import Table
from gym.embedding import DIM
from gym.embedding.hashing import HashingEmbedder
from gym.federated import bitdelta
from gym.federated.inbox import collect
from gym.federated.linkage import average_linkage
from gym.federated.merge import decide
from gym.federated.messages import Bundle, Evidence, Gain, Item, Measurement, Objection, Review, exact_digest
from gym.federated.packet import pack, seal
from gym.federated.round import Member, Round
from gym.signing import NodeKey

NODES = (10, 30, 100, 300, 1000)
TEXTS, TOPICS = 100, 120
IN_TOPICS = 0.7
MOST_S, MOST_MB = 60.0, 4096.0
FLIPPED = (0.10, 0.24)
"""Shares of signs turned: two such texts of a topic have cosines of 0.4 to 0.9, 0.65 in the middle."""
START = "import sys; from bench.bench_alignment import show; show(int(sys.argv[1]))"


class Planted(NamedTuple):
    """Codes of all texts, node by node."""

    signs: bitdelta.Signs
    topics: NDArray[np.int64]
    """Of each text; -1 where it is like no other."""


def planted(nodes: int, seed: int = 0) -> Planted:
    """100 texts a node."""
    draw, n = np.random.default_rng(seed), nodes * TEXTS
    centres = draw.choice(np.array([-1, 1], dtype=np.int8), (TOPICS, DIM))
    chosen = np.concatenate([draw.permutation(TOPICS)[:TEXTS] for _ in range(nodes)])
    own = draw.random(n) >= IN_TOPICS
    signs = np.where(own[:, None], draw.choice(np.array([-1, 1], dtype=np.int8), (n, DIM)), centres[chosen])
    for part in np.array_split(np.arange(n), max(1, n // 1000)):
        turned = draw.random((len(part), DIM), dtype=np.float32) < draw.uniform(*FLIPPED, (len(part), 1))
        signs[part] = np.where(turned, -signs[part], signs[part])
    return Planted(signs, np.where(own, -1, chosen))


def packets(nodes: int) -> tuple[Round, list[bytes]]:
    """Every node's bundle, signed."""
    keys = [NodeKey.drawn(sha256(f"{node}".encode()).digest()) for node in range(nodes)]
    members = tuple(Member(address=f"node-{node}", key=key.public) for node, key in enumerate(keys))
    round = Round(number=0, members=members, encoder="planted")
    coded = np.packbits(planted(nodes).signs > 0, axis=1)
    scaled = np.float32(0.04).tobytes()
    made = []
    for node, key in enumerate(keys):
        items = tuple(
            Item(
                text=f"When case {node} of {place} comes up, take way {place} and check the result once.",
                code=coded[node * TEXTS + place].tobytes() + scaled,
                evidence=Evidence(confidence=0.8),
            )
            for place in range(TEXTS)
        )
        bundle = Bundle(round=round.digest, node=f"node-{node}", encoder="planted", model="m", items=items)
        made.append(seal(bundle, key))
    return round, made


def show(nodes: int) -> None:
    """What a fresh process measures: printed as JSON."""
    round, made = packets(nodes)
    began, cpu = time.perf_counter(), time.process_time()
    collected = collect(round, made)
    received = time.process_time()
    decision = decide(collected)
    supported = sum(topic.verdict == "open" for topic in decision.topics)
    ended = time.process_time()
    times = {"packets": received - cpu, "cpu": ended - cpu, "wall": time.perf_counter() - began}
    print(json.dumps(times | {"bytes": sum(map(len, made)), "supported": supported, "topics": len(decision.topics)}))


def f1(clusters: Sequence[Sequence[int]], truth: NDArray[np.int64]) -> float:
    """Of pairs of texts that were put together."""
    found = sum(len(rows) * (len(rows) - 1) for rows in clusters)
    counts = [Counter(truth[list(rows)].tolist()) for rows in clusters]
    right = sum(n * (n - 1) for counted in counts for topic, n in counted.items() if topic >= 0)
    wanted = sum(n * (n - 1) for topic, n in Counter(truth.tolist()).items() if topic >= 0)
    return 2 * right / (found + wanted)


def show_sizes(table: Table) -> None:
    """Time and memory by the number of nodes."""
    for nodes in [max(4, int(nodes * scale())) for nodes in NODES]:
        ended = Client("-c", START, str(nodes)).ended().require_success()
        found = json.loads(ended.out)
        table.add(
            f"{nodes:,} nodes x {TEXTS}",
            f"{found['wall']:.1f} s ({found['cpu']:.1f} s CPU), {ended.rss_mb:,.0f} MB",
            f"packets {found['packets']:.1f} s, {found['supported']} of {found['topics']:,} topics supported",
            f"<= {MOST_S:.0f} s, 4 GB",
            found["wall"] <= MOST_S and ended.rss_mb <= MOST_MB,
        )


def show_blocks(table: Table, nodes: int = 60) -> None:
    """The same codes at once, and in blocks."""
    signs, truth = planted(max(4, int(nodes * scale())))
    found = {}
    for name, exact in (("exact", len(signs)), ("blocks", 0)):
        began = time.perf_counter()
        clusters = average_linkage(signs, exact=exact)
        found[name] = (f1(clusters, truth), time.perf_counter() - began)
    (ours, took), (best, whole) = found["blocks"], found["exact"]
    table.add(f"pairs found in blocks, {len(signs):,} texts", f"F1 {ours:.3f} in {took:.1f} s",
              f"exact: F1 {best:.3f} in {whole:.1f} s", ">= -0.01", ours >= best - 0.01)  # fmt: skip


def show_bytes(table: Table) -> None:
    """What a node sends in a round, 100 real sentences."""
    texts = [topic.good[place] for place in range(5) for topic in topics()][:TEXTS]
    codes = bitdelta.encode(HashingEmbedder()(texts))
    key, digest = NodeKey.drawn(b"0" * 32), "0" * 64
    items = tuple(
        Item(text=text, code=code.tobytes(), domain="math", evidence=Evidence(confidence=0.8, uses=9))
        for text, code in zip(texts, codes, strict=True)
    )
    bundle = Bundle(round=digest, node="node-00", encoder="all-minilm-l6-v2", model="deepseek-chat", items=items)
    words, coded = sum(len(text.encode()) for text in texts), codes.size
    whole = len(seal(bundle, key))
    table.add("bytes of a bundle, 100 experiences", f"{whole:,}",
              f"texts {words:,} + codes {coded:,} + evidence, names, signature {whole - words - coded:,}")  # fmt: skip
    table.add("  without its texts", f"{whole - words:,}")
    for what, sent in _others(digest, texts):
        table.add(f"bytes of {what}", f"{sent + whole - len(pack(bundle)):,}")


def _others(digest: str, texts: Sequence[str]) -> Iterator[tuple[str, int]]:
    told = tuple(Gain(text=exact_digest(text), mean=0.125, error=0.0625, problems=100) for text in texts)
    yield "a measurement of 24 texts", len(pack(Measurement(round=digest, node="node-00", gains=told[:24])))
    yield "a review without objections", len(pack(Review(round=digest, node="node-00")))
    one = Objection(sender="node-01", text=digest, reason="its code is 120 bits off")
    yield (
        "  each objection",
        len(pack(Review(round=digest, node="n", objections=(one,)))) - len(pack(Review(round=digest, node="n"))),
    )


def main() -> int:
    """Sizes, blocks, bytes."""
    table = Table("bench_alignment", f"A round of nodes with {TEXTS} experiences, from signed packets to the decision")
    show_sizes(table)
    show_blocks(table)
    show_bytes(table)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
