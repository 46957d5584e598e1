"""Both ends of a long text are kept, whatever pieces it comes in."""

from hypothesis import given
from hypothesis import strategies as st

from gym.train.grpo.tools.jail.clip import Clip, clip


@given(st.text(max_size=60), st.integers(0, 40), st.integers(1, 7))
def test_what_is_kept_and_what_is_left_out_make_the_whole(text: str, most: int, piece: int) -> None:
    content = text.encode("utf-8", "replace")
    clipped = Clip(most)
    for start in range(0, len(content), piece):
        clipped.add(content[start : start + piece])
    whole = content.decode("utf-8", "replace")
    if len(whole) <= most:
        assert clipped.text() == whole
    else:
        head, tail = most - most // 2, most // 2
        assert clipped.text() == (
            f"{whole[:head]}\n[… {len(whole) - most:,} characters left out here …]\n{whole[len(whole) - tail :]}"
        )
    assert clipped.bytes == len(content)


def test_bytes_that_are_no_text_are_replaced() -> None:
    clipped = Clip(10)
    clipped.add(b"ok \xff\xe2\x82")
    assert clipped.text() == "ok \ufffd\ufffd"


def test_memory_does_not_grow_with_the_text() -> None:
    clipped = Clip(100)
    for _ in range(1000):
        clipped.add(b"x" * 10_000)
    assert clipped.text() == "x" * 50 + "\n[… 9,999,900 characters left out here …]\n" + "x" * 50


def test_lone_surrogates_are_shown_escaped() -> None:
    assert clip("a\ud800", 20) == "a\\ud800"
