"""The index of the call log: exact, first come, 24 bytes a call."""

import random
import sys

from hypothesis import given
from hypothesis import strategies as st

from gym.llm.call_index import CallIndex

keys = st.binary(min_size=32, max_size=32) | st.sampled_from(
    [bytes(32), b"\0" * 31 + b"\1", b"\xff" * 32, b"\0\0" + b"\1" * 30]
)


@given(st.lists(st.tuples(keys, st.integers(0, 2**40)), max_size=200))
def test_the_index_is_a_dict_by_sixteen_bytes_that_keeps_the_first(entries: list[tuple[bytes, int]]) -> None:
    index, known = CallIndex(), dict[bytes, int]()
    for key, offset in entries:
        index.add(key, offset)
        known.setdefault(key[:16], offset)
    assert [index.find(key) for key, _ in entries] == [known[key[:16]] for key, _ in entries]
    assert len(index) == len(known)


def test_a_key_that_is_only_found_across_a_record_is_unknown() -> None:
    index, across = CallIndex(), bytes(15) + b"\1" + bytes(16)
    index.add(bytes(32), 1)  # 23 zeros and a one: the other key's 16 bytes, not at its place
    assert index.find(across) is None
    index.add(across, 5)
    assert (index.find(bytes(32)), index.find(across)) == (1, 5)


def test_a_call_takes_at_most_thirty_bytes_of_memory_at_a_hundred_thousand() -> None:
    index, draw = CallIndex(), random.Random(0)
    for number in range(100_000):
        index.add(draw.randbytes(32), number)
    assert len(index) == 100_000
    assert 24 <= sys.getsizeof(index) / 100_000 < 30
