"""The models of a run: one limiter for each distinct endpoint, with the run's settings."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gym.config import RunConfig
from gym.llm.brake import Brake
from gym.train.grpo.session import endpoint, open_session

Configured = Callable[..., RunConfig]


@pytest.mark.parametrize(("concurrency", "width"), [("auto", 64), (3, 3)])
async def test_roles_at_one_endpoint_share_its_limit(
    configured: Configured, tmp_path: Path, concurrency: object, width: int
) -> None:
    config = configured(rollout_concurrency=concurrency, judge_model="scripted:desk_script:same")
    async with open_session(config, tmp_path / "calls.jsonl", Brake(), {}) as session:
        assert session.width() == width
        assert session.policy.limiter is session.reflector.limiter
        assert session.policy.limiter is not session.judge.limiter


def test_an_endpoint_carries_what_the_run_says_of_calls(configured: Configured) -> None:
    said = configured(model="m", base_url="http://x/v1", call_timeout=30, hedge=3, outage_patience=60)
    found = endpoint(said, "policy")
    assert (found.timeout_s, found.hedge, found.outage_patience_s, found.concurrency) == (30, 3, 60, None)
    silent = endpoint(configured(model="m", base_url="http://x/v1", task_timeout=90, rollout_concurrency=7), "judge")
    assert (silent.timeout_s, silent.hedge, silent.outage_patience_s, silent.concurrency) == (90, None, 600, 7)


@pytest.mark.parametrize(("concurrency", "slots"), [(1, 1), (3, 3)])
def test_a_server_of_ours_gets_no_more_slots_than_calls(configured: Configured, concurrency: int, slots: int) -> None:
    assert endpoint(configured(model="local:x", rollout_concurrency=concurrency), "policy").slots == slots


def test_a_server_of_ours_has_room_for_the_conversation_that_the_user_wants(configured: Configured) -> None:
    wanted = configured(model="local:x", mode="agent", rollout_context=8192)
    assert endpoint(wanted, "policy").context == endpoint(wanted, "reflector").context == 8192
    assert endpoint(configured(model="local:x", mode="agent"), "policy").context is None
    assert endpoint(configured(model="local:x", rollout_context=8192), "policy").context is None


def test_auto_gives_a_server_of_ours_a_slot_a_core_within_reason(configured: Configured) -> None:
    assert 4 <= endpoint(configured(model="local:x"), "policy").slots <= 16
