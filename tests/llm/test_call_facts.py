"""The light reading of a line says what the full one says, whatever texts stand between."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.llm import call_facts
from gym.llm.asked import Asked
from gym.llm.call_facts import Facts, read_facts
from gym.llm.call_line import CallError, read_call, write_line

USAGE = ',"usage":{"prompt":7,"cached":7,"completion":7,"reasoning":7,"known":true}'
TAIL = USAGE + ',"model":"x","system_fingerprint":null,"latency_s":7.0,"note":""},"error":null,"at":""}\n'
ERROR = ',"completion":null,"error":{"type":"RateLimited","message":"","status":null},"at":""}\n'
HOSTILE = [USAGE, TAIL, TAIL[:-2], ERROR, f'x"{USAGE}', "\\", '\\"', f'\\"{TAIL}', "usage", "\ud83c", "🎉", "\n\0\x7f"]

texts = st.sampled_from(HOSTILE) | st.text(st.characters(codec=None), max_size=12)
counts = st.integers(0, 10**6)
usages = st.builds(Usage, prompt=counts, cached=counts, completion=counts, reasoning=counts, known=st.booleans())
completions = st.builds(
    Completion,
    text=texts,
    reasoning=texts,
    usage=usages,
    model=texts,
    system_fingerprint=st.none() | texts,
    latency_s=st.floats(0, 1e9),
    note=texts,
)
errors = st.builds(
    CallError,
    type=st.sampled_from(["TimedOut", "Cancelled", "RateLimited"]) | texts,
    message=texts,
    status=st.none() | st.integers(100, 599),
)
schemas = st.none() | st.dictionaries(texts, st.dictionaries(texts, st.integers() | texts, max_size=2), max_size=2)
lines = st.builds(
    lambda model, content, schema, outcome, stage, at: write_line(
        Asked.of(model, (Message(role="user", content=content),), Sampling(json_schema=schema)),
        outcome,
        stage=stage,
        at=at,
    ),
    texts,
    texts,
    schemas,
    completions | errors,
    texts,
    texts,
)


def in_full(line: bytes) -> Facts | None:
    """The facts of the same call in a layout that only the full reading knows."""
    return read_facts(json.dumps(json.loads(line), indent=None, sort_keys=True).encode())


@given(lines)
def test_the_light_reading_says_what_the_full_one_says(line: bytes) -> None:
    assert read_facts(line) == read_facts(line[:-1]) == in_full(line)


@given(lines, st.integers(0), st.sampled_from([b"", b'"', b"\\", b"{", b"}", b",", b"0", b"\0", b"x"]))
def test_a_line_damaged_anywhere_is_never_read_as_another_call(line: bytes, place: int, byte: bytes) -> None:
    place %= len(line)
    damaged = line[:place] + byte + line[place + 1 :]
    if read_call(damaged) is not None:
        assert read_facts(damaged) == in_full(damaged)


@given(lines, st.integers(1))
def test_a_line_cut_anywhere_holds_no_call(line: bytes, cut: int) -> None:
    assert read_facts(line[: cut % (len(line) - 1)]) is None


def test_an_ordinary_line_is_read_without_parsing_it() -> None:
    asked = Asked.of("C:\\models\\a.gguf", (Message(role="user", content=TAIL),), Sampling())
    answer = Completion(text=TAIL, usage=Usage(prompt=3, completion=4), model="a", latency_s=0.25)
    for outcome in (answer, CallError(type="RateLimited", message=TAIL, status=429)):
        line = write_line(asked, outcome, stage="rollout", at="2025")
        assert call_facts._glance(line) == in_full(line)


def test_a_line_with_neither_answer_nor_error_holds_no_call() -> None:
    line = write_line(Asked.of("m", (), Sampling()), Completion(text=""), stage="s", at="")
    record = json.loads(line) | {"completion": None}
    assert read_facts(json.dumps(record).encode()) is None
