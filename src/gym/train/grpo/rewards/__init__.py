"""Rewards: one file each, `REWARD = …`, found by name; or a function of the user's own, `pkg.mod:fn`.

A submodule here may be called `json` or `math`: nothing in this package's own namespace may rely on those names.
"""

from gym import plugins
from gym.core.chat import ChatModel
from gym.core.problem import Reward
from gym.train.grpo.rewards.base import Bindable
from gym.train.grpo.rewards.custom import custom_reward
from gym.train.grpo.rewards.workers import Workers, shared


def resolve_reward(
    name: str, *, judge: ChatModel | None = None, workers: Workers | None = None, timeout_s: float = 30.0
) -> Reward:
    """The reward called `name`, ready to score: a built-in, an entry point, or `pkg.mod:fn` (a function or a `Reward`).

    `timeout_s` limits one check in the shared workers when none are given. The judge without a model can say what is
    unscorable, and raises `ConfigError` when asked to score. Raises `ConfigError` with the nearest known name.
    """
    found = plugins.resolve("reward", name)
    reward = found if hasattr(found, "unscorable") else custom_reward(name, found)
    if isinstance(reward, Bindable):
        return reward.bind(judge=judge, workers=workers or shared(timeout_s))
    return reward  # type: ignore[no-any-return]
