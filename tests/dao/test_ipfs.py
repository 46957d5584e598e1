"""Content on a real IPFS node, and on nodes that alter, break off, dribble, overflow or are not there."""

import random
import socket
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from gym.core.cid import MAX_BLOCK
from gym.core.cid import cid as cid_of
from gym.dao.content import Content, Missing, fetch
from gym.dao.stores import ALTERED, Folder, IpfsNode
from gym.errors import ConnectionFailed, ServerFailed
from tests.dao.loopback import Reply, posted, serving, tell

LESSON = Content.of("When a sum is long, split it.", domain="math")


def body(data: bytes, *, promised: int | None = None, status: int = 200) -> Reply:
    """An answer that promises so many bytes and gives these."""

    def reply(request: BaseHTTPRequestHandler) -> None:
        posted(request)
        tell(request, data, promised=promised, status=status)

    return reply


@pytest.mark.slow
def test_addresses_equal_the_nodes_for_a_thousand_random_contents(ipfs: str) -> None:
    draw = random.Random(7)
    with IpfsNode(ipfs, timeout_s=60) as node:
        for length in (0, 1, MAX_BLOCK, *(draw.randrange(1, 4_000) for _ in range(997))):
            node.put(draw.randbytes(length))  # which fails unless the node's address is ours


def test_a_node_keeps_pins_and_gives_back(ipfs: str, tmp_path: Path) -> None:
    near, absent = Folder(tmp_path), Content.of("Nobody has this.")
    with IpfsNode(ipfs, timeout_s=1) as node:
        assert node.put(LESSON.data) == LESSON.cid
        fetched = fetch([LESSON.cid, absent.cid], [near, node])
        node.unpin([LESSON.cid, absent.cid])
    assert fetched.contents == {LESSON.cid: LESSON}
    assert near.get(LESSON.cid) == LESSON.data
    assert [missing.cid for missing in fetched.missing] == [absent.cid]
    assert f"{ipfs}: " in fetched.missing[0].reason


def test_a_node_that_serves_altered_bytes_is_caught(ipfs: str, tmp_path: Path) -> None:
    """It stands before the real node and changes one word of what that serves."""

    def altering(request: BaseHTTPRequestHandler) -> None:
        held = real.get(LESSON.cid)
        assert isinstance(held, bytes)
        body(held.replace(b"split", b"spill"))(request)

    near, altered = Folder(tmp_path), Missing(LESSON.cid, ALTERED)
    with IpfsNode(ipfs) as real, serving(altering) as url, IpfsNode(url) as lying:
        real.put(LESSON.data)
        assert lying.get(LESSON.cid) == altered
        fetched = fetch([LESSON.cid], [near, lying])
        assert not fetched.contents
        assert fetched.missing[0].reason == f"{near.name}: no such file or directory; {url}: {ALTERED}"
        assert fetch([LESSON.cid], [near, lying, real]).contents == {LESSON.cid: LESSON}  # another one has it


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (body(LESSON.data[:40], promised=len(LESSON.data)), "peer closed connection"),
        (body(LESSON.data + bytes(MAX_BLOCK)), ALTERED),
        (body(b"blockstore: block not found", status=500), "status 500"),
        (body(b""), ALTERED),
    ],
    ids=["breaks off", "overflows", "refuses", "is empty"],
)
def test_an_answer_that_is_not_the_content_is_reported(answer: Reply, reason: str) -> None:
    with serving(answer) as url, IpfsNode(url) as node:
        found = node.get(LESSON.cid)
    assert isinstance(found, Missing)
    assert reason in found.reason


def test_a_node_that_dribbles_is_waited_for_no_longer_than_told() -> None:
    ticks = iter(range(0, 1_000, 6))
    with serving(body(LESSON.data)) as url, IpfsNode(url, timeout_s=5, clock=lambda: next(ticks)) as node:
        found = node.get(LESSON.cid)
    assert found == Missing(LESSON.cid, "no whole answer in 5 s")


def test_a_node_that_never_ends_an_answer_is_not_listened_to_for_ever() -> None:
    endless = body(bytes(3 * MAX_BLOCK), promised=2**40)
    with serving(endless) as url, IpfsNode(url) as node, pytest.raises(ServerFailed, match="refused add"):
        node.put(LESSON.data)


def test_a_node_that_is_not_there_is_told() -> None:
    with serving(body(b"")) as url:
        pass
    with IpfsNode(url) as node:
        assert isinstance(node.get(LESSON.cid), Missing)
        with pytest.raises(ConnectionFailed, match=f"{url}: "):
            node.put(LESSON.data)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b'{"Hash":"%s"}' % cid_of(b"other").encode(), "gave content 'bafkrei"),
        (b"<html>", "refused add: <html>"),
        (b"[]", r"refused add: \[\]"),
        (b"\x1b[2J\nred" + bytes(MAX_BLOCK), r"refused add: \[2J red"),
    ],
)
def test_a_node_that_gives_content_another_address_is_caught(said: bytes, told: str) -> None:
    with serving(body(said)) as url, IpfsNode(url) as node, pytest.raises(ServerFailed, match=told):
        node.put(LESSON.data)


def test_a_node_that_is_not_there_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with IpfsNode(url) as node:
        assert node.get(LESSON.cid) == Missing(LESSON.cid, "nobody answers there (connection refused)")
        with pytest.raises(ConnectionFailed, match=r"nobody answers there \(connection refused\)"):
            node.put(LESSON.data)
