"""Which runs an ablation makes of the values it is given."""

from collections.abc import Mapping
from typing import Any

import pytest

from gym.config import RunConfig, load_config
from gym.errors import ConfigError
from gym.evaluation.variants import Variant, Varied, variants, varied


def load(changes: Mapping[str, Any]) -> RunConfig:
    return load_config(None, {"gate": "none", **changes}, environ={})


def named(*wanted: str, full: bool = False) -> list[str]:
    several = [varied(key, words, load) for key, _, words in (text.partition("=") for text in wanted)]
    return [variant.name for variant in variants(load({}), several, full=full)]


def test_each_setting_is_varied_alone_around_a_base_at_its_own_values() -> None:
    assert named("group-size=1,3,5,8", "gate=on,off") == [
        "base", "grpo_group_size=1", "grpo_group_size=3", "grpo_group_size=8", "gate=paired",
    ]  # fmt: skip


def test_where_the_own_value_is_not_wanted_the_first_one_is_the_base() -> None:
    several = [varied("group-size", "3,8", load), varied("ground-truth", "on,off", load)]
    base, *others = variants(load({}), several, full=False)
    assert base.changes == {"grpo_group_size": 3, "use_groundtruth": True}
    assert [variant.changes for variant in others] == [
        {"grpo_group_size": 8, "use_groundtruth": True},
        {"grpo_group_size": 3, "use_groundtruth": False},
    ]


def test_full_is_every_combination_the_base_first() -> None:
    found = named("curriculum=on,off", "learn_from=mixed+all_wrong,mixed", full=True)
    assert found == ["base", "curriculum=on, learn_from=mixed+all_wrong", "curriculum=on", "learn_from=mixed+all_wrong"]


def test_values_are_typed_checked_and_taken_once() -> None:
    assert varied("group_size_min", "none,2,02", load) == Varied("group_size_min", (None, 2))
    assert varied("system_prompt", '"Be brief, please.",Think.', load).values == ("Be brief, please.", "Think.")
    with pytest.raises(ConfigError, match="grpo_group_size"):
        varied("group_size", "3,many", load)
    with pytest.raises(ConfigError, match="did you mean"):
        varied("grup_size", "3,5", load)
    with pytest.raises(ConfigError, match="does not change how a run learns"):
        varied("budget_calls", "3,5", load)


def test_a_setting_varied_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="varied twice"):
        named("group_size=3,5", "grpo_group_size=8")


@pytest.mark.parametrize("name", ["learn_from=mixed+all_wrong", "system_prompt=" + "long " * 40, "a/b", "base"])
def test_every_variant_has_a_folder_name_of_its_own(name: str) -> None:
    assert len({Variant(other, {}).folder for other in (name, f"{name}!", f"{name}?")}) == 3
