"""`python -m bench.gradient.exchange LIBRARY…`: what a node sends in a federated round, of weights or of experiences.

Parameters are counted in the headers of the embedded models that are cached, adapters as LoRA of that rank makes them, a
library by the UTF-8 of its texts, the 52-byte code of each (SPEC 6.2) and one signature. The paper states about 14 GB and
5 KB (7B parameters in FP16); here nothing is rounded, and its factor is whatever comes out.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.report import ended
from gym.core.experience import Library
from gym.evaluation.figures import size
from gym.evaluation.page import Section, Table, markdown
from gym.llm.local.catalogue import CATALOGUE
from gym.llm.local.weights import cached
from gym.train.grpo.experience_manager import read_library
from gym.train.grpo.frozen.count import adapter_parameters, stored_tensors

CODE_BYTES, SIGNATURE_BYTES = 52, 64
"""Of one experience's direction: 384 signs and a float32 (SPEC 6.2); of a packet's Ed25519 signature (SPEC 6.4)."""
RANK = 8
FULL = 100
"""Entries of a library at its default limit."""
TYPES = {"float32": 4, "float16": 2}


class Sent(NamedTuple):
    """What a node sends in one round; it gets as much back."""

    what: str
    how_many: str
    octets: int


def of_weights(name: str, path: Path, rank: int = RANK) -> Iterator[Sent]:
    """Federated averaging of all weights, and of LoRA's adapters alone."""
    tensors = stored_tensors(path)
    numbers, adapters = sum(one.parameters for one in tensors), adapter_parameters(tensors, rank)
    for dtype, width in TYPES.items():
        yield Sent(f"FedAvg, {name}, {dtype}", f"{numbers:,} parameters", width * numbers)
    for dtype, width in TYPES.items():
        yield Sent(f"FedAvg of adapters (rank {rank}), {name}, {dtype}", f"{adapters:,} parameters", width * adapters)


def of_libraries(libraries: Sequence[Library]) -> Iterator[Sent]:
    """Experiences: the mean of those learned, and a full library of texts as long as theirs."""
    sizes = [len(one) for one in libraries]
    texts = [text for one in libraries for text in one.texts]
    octets = sum(len(text.encode("utf-8")) for text in texts)
    entries = len(texts) / len(libraries)
    each = octets / len(texts) if texts else 0.0
    told = f"{min(sizes)} to {max(sizes)} entries" if min(sizes) < max(sizes) else f"{sizes[0]} entries"
    yield Sent(f"Experiences as learned, mean of {len(libraries)}", told, round(_packet(entries, each)))
    yield Sent("Experiences, a full library", f"{FULL} entries of {each:.0f} bytes of text", round(_packet(FULL, each)))


def table(sent: Sequence[Sent], reference: Sent) -> Table:
    """One line each, and how many times the reference it is."""
    rows = [(one.what, one.how_many, f"{one.octets:,}", size(one.octets), _times(one, reference)) for one in sent]
    header = ("a node sends", "of what", "bytes", "", "times what was learned")
    return Table("Bytes of one federated round", header, rows, frozenset({2, 3, 4}))


def section(libraries: Sequence[Library]) -> Section:
    """The whole table, over every embedded model that is here; libraries that hold nothing are counted too."""
    shared = tuple(of_libraries(libraries))
    models = [(weights.name, path) for weights in CATALOGUE.values() if (path := cached(weights)) is not None]
    averaged = [one for name, path in models for one in of_weights(name, path)]
    text = (
        "Bytes that one node sends in one round, without transport; it receives as much. Parameters are those in the model "
        "files' headers (these Qwen files hold the output layer apart from the embedding that it is tied to in the original); a "
        "library's bytes are its UTF-8 text, 52 bytes of code for each entry and a signature of 64. A packet's framing, and "
        "entries that were sent before and need not be sent again, are in neither."
    )
    return Section("What a federated round sends", (text,), table([*averaged, *shared], shared[0]))


def _packet(entries: float, text_bytes: float) -> float:
    return entries * (CODE_BYTES + text_bytes) + SIGNATURE_BYTES


def _times(one: Sent, reference: Sent) -> str:
    return (
        f"{one.octets / reference.octets:,.0f}"
        if one.octets >= 10 * reference.octets
        else f"{one.octets / reference.octets:.1f}"
    )


def main() -> int:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="bench.gradient.exchange", description=__doc__)
    parser.add_argument("library", nargs="+", type=Path, help="experiences.json, or a run's folder")
    print(
        markdown(
            "Bytes of a federated round", (), (section([read_library(one) for one in parser.parse_args().library]),)
        )
    )
    return 0


if __name__ == "__main__":
    ended(main)
