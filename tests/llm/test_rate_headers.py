"""Rate limits as servers word them, and the credit that follows from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.llm.pacing import Bucket, Cost, Gate, Pace
from gym.llm.rate_headers import Allowance, allowances, seconds

NOW_S = 1_760_000_000.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1h2m3s", 3723.0),
        ("1m30.951s", 90.951),
        ("7.66s", 7.66),
        ("2d", 86_400.0),
        ("12", 12.0),
        ("0", 0.0),
        (" 0.5 ", 0.5),
        ("1760000042", 42.0),
        ("1760000042000", 42.0),
        ("1759999999", 0.0),
        ("2025-10-09T08:54:00Z", 40.0),
        ("2025-10-09T10:54:00+02:00", 40.0),
        ("2025-10-09T08:54:00", 40.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("nan", None),
        ("1.2.3s", None),
        ("5x", None),
    ],
)
def test_a_reset_is_read_in_every_form_and_garbage_is_nothing(text: str, expected: float | None) -> None:
    found = seconds(text, NOW_S)
    assert found == (None if expected is None else pytest.approx(expected))


@given(st.text(max_size=12))
def test_no_reset_raises_and_all_are_in_range(text: str) -> None:
    found = seconds(text, NOW_S)
    assert found is None or 0 <= found <= 86_400


def test_both_families_of_headers_are_read() -> None:
    openai = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert list(allowances(openai, NOW_S)) == [
        Allowance("requests", 60, 59, 1),
        Allowance("tokens", 150_000, 149_984, 360),
    ]
    anthropic = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2025-10-09T08:54:00Z",
    }
    assert list(allowances(anthropic, NOW_S)) == [Allowance("requests", 50, 49, 40)]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-limit-requests": "60"},
        {"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "3"},
        {"x-ratelimit-limit-requests": "0", "x-ratelimit-remaining-requests": "0"},
        {"x-ratelimit-limit-requests": "-1", "x-ratelimit-remaining-requests": "3"},
    ],
)
def test_half_a_limit_is_none(headers: dict[str, str]) -> None:
    assert list(allowances(headers, NOW_S)) == []


def test_a_limit_without_a_readable_reset_is_per_minute() -> None:
    told = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "?",
    }
    assert [found.reset_s for found in allowances(told, NOW_S)] == [60.0]


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def told(limit: int, remaining: int, reset: str) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": str(limit),
        "x-ratelimit-remaining-requests": str(remaining),
        "x-ratelimit-reset-requests": reset,
    }


def test_what_was_sent_after_the_answered_call_is_taken_off_what_the_server_said() -> None:
    time = Time()
    pace = Pace(time, time)
    first = pace.spend(Cost(), 0.0)
    for _ in range(4):
        pace.spend(Cost(), 0.0)
    pace.answered(first, told(10, 9, "6s"))  # the other four are not in there
    for _ in range(5):
        assert pace.ready_at(Cost(), 0.0) == 0.0
        pace.spend(Cost(), 0.0)
    assert pace.ready_at(Cost(), 0.0) == pytest.approx(6 / 0.98)


def test_credit_grows_linearly_and_never_above_the_limit() -> None:
    bucket = Bucket(limit=10, credit=0, rate=2, at=0)
    assert (bucket.left(3), bucket.left(100)) == (6, 10)
    assert bucket.ready_at(4, 1) == 2
    assert bucket.ready_at(1000, 0) == 5  # as much as can ever be there


def test_an_unknown_limit_holds_nobody_back() -> None:
    pace = Pace(Time(), Time())
    assert pace.ready_at(Cost(1, 10**9), 5.0) == 5.0


def test_after_a_pause_the_waiting_share_the_spread() -> None:
    gate, passed, now = Gate(lambda: 0.5), list[float](), 0.0
    assert gate.close(now, 7)
    assert not gate.close(now, 3)  # a longer one is on already
    for waiting in reversed(range(64)):
        now = max(now, gate.opens_at)
        passed.append(now)
        gate.passed(now, waiting)
    assert passed[0] >= 7
    assert len(set(passed)) == 64
    assert 7.9 <= passed[-1] <= 8.0
    assert gate.opens_at <= 8.0


def test_refusals_without_anybody_served_close_the_gate_longer_and_longer() -> None:
    gate = Gate(lambda: 0.0)
    waits, now = [], 0.0
    gate.refused(now, sent_at=now, served=3)
    for _ in range(8):
        gate.refused(now, sent_at=now, served=3)
        waits.append(gate.opens_at - now)
        now = gate.opens_at
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert gate.refused(now, sent_at=now, served=3) == now
    assert gate.refused(now, sent_at=now, served=4) == 0
