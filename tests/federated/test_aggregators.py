"""Rules of aggregation: laws, hand-computed vectors, and parity with Flower's own."""

import json
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from gym import plugins
from gym.errors import AggregationError, ConfigError, TooFewNodes
from gym.federated.aggregators import resolve_aggregator
from gym.federated.aggregators.krum import scores

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_name("flower_reference.json").read_text(encoding="utf-8"))
NAMES = ("bulyan", "geometric_median", "krum", "median", "multi_krum", "trimmed_mean")
LEAST = {"bulyan": 4, "krum": 2, "multi_krum": 2, "median": 2, "trimmed_mean": 2, "geometric_median": 2}
"""How often f fits into n."""

Rows = NDArray[np.float32]
rows = arrays.arrays(
    np.float32, st.tuples(st.integers(7, 15), st.just(4)), elements=st.floats(-1, 1, width=32, allow_subnormal=False)
)


def most_liars(name: str, n: int) -> int:
    return (n - 3) // LEAST[name] if name in ("bulyan", "krum", "multi_krum") else (n - 1) // LEAST[name]


def test_every_rule_is_found_by_name() -> None:
    assert plugins.names("aggregator") == NAMES
    with pytest.raises(ConfigError, match="did you mean 'median'"):
        resolve_aggregator("medain")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(vectors=rows, data=st.data())
def test_the_order_of_nodes_does_not_matter(name: str, vectors: Rows, data: st.DataObject) -> None:
    rule, f = resolve_aggregator(name), 1
    order = data.draw(st.permutations(range(len(vectors))))
    assert rule(vectors[order], f=f).tobytes() == rule(vectors, f=f).tobytes()


@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
@settings(max_examples=10)
@given(honest=rows, data=st.data())
def test_each_coordinate_stays_in_the_honest_range_whatever_a_minority_says(
    name: str, honest: Rows, data: st.DataObject
) -> None:
    f = data.draw(st.integers(0, len(honest) - 1))
    wild = arrays.arrays(np.float32, (f, 4), elements=st.floats(-1e6, 1e6, width=32))
    found = resolve_aggregator(name)(np.vstack([honest, data.draw(wild)]), f=f)
    assert (found >= honest.min(axis=0) - 1e-6).all()
    assert (found <= honest.max(axis=0) + 1e-6).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(honest=rows, data=st.data())
def test_liars_up_to_the_breakdown_point_cannot_carry_it_away(name: str, honest: Rows, data: st.DataObject) -> None:
    f = max(f for f in range(len(honest)) if f <= most_liars(name, len(honest) + f))
    far = np.full((f, 4), data.draw(st.sampled_from([1e6, -1e6, 3e4])), dtype=np.float32)
    found = resolve_aggregator(name)(np.vstack([honest, far]), f=f)
    spread = np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()
    assert np.linalg.norm(found - honest.mean(axis=0)) <= 4 * (len(honest) + f) * (spread + 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_majority_of_liars_carries_it_away(name: str) -> None:
    honest, far = np.zeros((5, 4), dtype=np.float32), np.full((6, 4), 1e6, dtype=np.float32)
    assert resolve_aggregator(name)(np.vstack([honest, far]), f=most_liars(name, 11)).max() > 1e5


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(vectors=rows)
def test_nodes_that_agree_get_what_they_say(name: str, vectors: Rows) -> None:
    alike = np.repeat(vectors[:1], len(vectors), axis=0)
    np.testing.assert_allclose(resolve_aggregator(name)(alike, f=1), vectors[0], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_nan_is_refused_instead_of_spoiling_every_coordinate(name: str, bad: float) -> None:
    vectors = np.zeros((11, 4), dtype=np.float32)
    vectors[3, 2] = bad
    with pytest.raises(AggregationError, match="NaN or infinity"):
        resolve_aggregator(name)(vectors, f=1)


@pytest.mark.parametrize(
    ("name", "n", "f"),
    [
        ("median", 2, 1),
        ("trimmed_mean", 4, 2),
        ("krum", 6, 2),
        ("multi_krum", 6, 2),
        ("bulyan", 10, 2),
        ("median", 0, 0),
    ],
)
def test_too_few_nodes_for_so_many_liars_are_refused(name: str, n: int, f: int) -> None:
    with pytest.raises(TooFewNodes, match=f"not {n}"):
        resolve_aggregator(name)(np.zeros((n, 4), dtype=np.float32), f=f)


LINE = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("name", "vectors", "f", "expected"),
    [
        ("median", LINE, 2, 2.0),
        ("median", LINE[:4], 1, 1.5),
        ("trimmed_mean", LINE, 1, 2.0),
        ("trimmed_mean", LINE, 2, 2.0),
        ("trimmed_mean", LINE, 0, 3.2),
        ("krum", np.array([[0], [1], [1.9], [3], [10]], dtype=np.float32), 1, 1.0),
        ("multi_krum", np.array([[0], [1], [1.9], [3], [10]], dtype=np.float32), 1, 1.475),
        ("bulyan", np.array([[0], [1], [2], [3], [4], [5], [100]], dtype=np.float32), 1, 2.0),
        ("geometric_median", LINE, 2, 2.0),
        ("geometric_median", np.array([[0.0], [0.0], [9.0]], dtype=np.float32), 1, 0.0),
    ],
)
def test_hand_computed(name: str, vectors: Rows, f: int, expected: float) -> None:
    assert resolve_aggregator(name)(vectors, f=f)[0] == pytest.approx(expected, abs=1e-5)


def test_krum_scores_by_the_definition() -> None:
    vectors = np.random.default_rng(1).standard_normal((9, 3))
    for place, row in enumerate(vectors):
        others = sorted(float(((row - other) ** 2).sum()) for k, other in enumerate(vectors) if k != place)
        assert scores(vectors, f=2)[place] == pytest.approx(sum(others[: 9 - 2 - 2]))


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: f"n{len(case['vectors'])}f{case['f']}")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "geometric_median"])
def test_parity_with_what_flower_gave(name: str, case: dict[str, Any]) -> None:
    found = resolve_aggregator(name)(np.array(case["vectors"], dtype=np.float32), f=case["f"])
    np.testing.assert_allclose(found, case[name], rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what Flower stands on
@pytest.mark.skipif(not os.environ.get("CI") and find_spec("flwr") is None, reason="no Flower: the record is tested")
def test_parity_with_flower_itself_on_random_tensors() -> None:
    app, strategy = import_module("flwr.app"), import_module("flwr.serverapp.strategy")
    draw = np.random.default_rng(3)
    for n, f in ((7, 1), (11, 2), (15, 3), (19, 4)):
        vectors = draw.standard_normal((n, 384)).astype(np.float32)
        records = [app.RecordDict({"arrays": app.ArrayRecord([row])}) for row in vectors]
        chosen = [
            one["arrays"].to_numpy_ndarrays()[0] for one in strategy.multikrum.select_multikrum(records, f, n - f)
        ]
        np.testing.assert_allclose(resolve_aggregator("krum")(vectors, f=f), chosen[0], atol=1e-6)
        np.testing.assert_allclose(resolve_aggregator("multi_krum")(vectors, f=f), np.mean(chosen, axis=0), atol=1e-5)
        trimmed = strategy.fedtrimmedavg.trim_mean(vectors, (f + 0.5) / n)
        np.testing.assert_allclose(resolve_aggregator("trimmed_mean")(vectors, f=f), trimmed, atol=1e-5)
        selected = [[one] for one in chosen[: n - 2 * f]]
        middle = [np.median(np.stack([one[0] for one in selected]), axis=0)]
        nearest = strategy.bulyan.aggregate_n_closest_weights(middle, selected, n - 4 * f)[0]
        np.testing.assert_allclose(resolve_aggregator("bulyan")(vectors, f=f), nearest, atol=1e-5)
