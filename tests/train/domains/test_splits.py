"""Splits: deterministic, disjoint, and checked for leaks (SPEC 5.5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.problem import Problem
from gym.errors import DataError
from gym.train.grpo.domains.splits import overlap, require_disjoint, split


def problems(*queries: str, prefix: str = "p") -> list[Problem]:
    return [Problem(id=f"{prefix}{place}", query=query) for place, query in enumerate(queries)]


@given(st.integers(3, 60), st.floats(0, 0.33), st.floats(0, 0.33), st.integers(0, 5))
def test_parts_are_disjoint_complete_in_order_and_repeatable(count: int, val: float, test: float, seed: int) -> None:
    whole = problems(*map(str, range(count)))
    parts = split(whole, val=val, test=test, seed=seed)
    assert sorted((problem for part in parts for problem in part), key=whole.index) == whole
    assert all(list(part) == sorted(part, key=whole.index) for part in parts)
    assert parts == split(whole, val=val, test=test, seed=seed)
    assert bool(parts.val) is bool(val)


def test_another_seed_gives_another_split() -> None:
    whole = problems(*map(str, range(40)))
    assert split(whole, test=0.5, seed=0) != split(whole, test=0.5, seed=1)


def test_a_split_that_leaves_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(DataError, match="2 problems are too few to split off 1 for validation and 1 held out"):
        split(problems("a", "b"), val=0.5, test=0.5)


def test_overlap_is_found_by_normalised_text() -> None:
    train, test = problems("What is  2+2?", "Who?"), problems("what is ２+2", "What is 2-2?", prefix="t")
    assert [(one.id, other.id) for one, other in overlap(train, test)] == [("p0", "t0")]
    with pytest.raises(DataError, match=r"1 problem is in both.*p0 = t0.*--allow-overlap"):
        require_disjoint(train, test)
    require_disjoint(train[1:], test)
