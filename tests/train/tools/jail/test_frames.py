"""Messages survive any pipe; what is no message is an error of one kind."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.train.grpo.tools.jail.frames import Garbled, Incoming, encoded, receive, send

TEXTS = st.dictionaries(st.text(max_size=5), st.text(st.characters(), max_size=20), max_size=3)


@given(st.lists(TEXTS, max_size=4), st.integers(1, 9))
def test_messages_come_out_as_they_went_in_whatever_the_pieces(messages: list[dict[str, str]], piece: int) -> None:
    stream = b"".join(map(encoded, messages))
    incoming, got = Incoming(10_000), []
    while stream:
        take = min(piece, incoming.wanted)
        incoming.add(stream[:take])
        stream = stream[take:]
        if (message := incoming.next()) is not None:
            got.append(message)
    assert got == messages


def test_over_a_pipe_until_its_end() -> None:
    read, write = os.pipe()
    send(write, {"a": "\ud800"})
    send(write, {})
    os.close(write)
    assert [receive(read, 100), receive(read, 100), receive(read, 100)] == [{"a": "\ud800"}, {}, None]
    os.close(read)


@pytest.mark.parametrize("stream", [b"\0\0\0\x02[]", b"\0\0\0\x01{", b"\0\0\0\0", b"\0\0\x01\0", b"\0\0\0\x01\xff"])
def test_anything_else_is_garbled(stream: bytes) -> None:
    incoming = Incoming(100)
    incoming.add(stream)
    with pytest.raises(Garbled):
        incoming.next()
