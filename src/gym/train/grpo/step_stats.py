"""The numbers of a step: what `stats.json` and the report keep of its rollouts and operations."""

from collections import Counter
from collections.abc import Sequence

from gym.core.admission import estimate_tokens
from gym.core.draws import Draws
from gym.core.problem import tool_use
from gym.core.rollout import Group
from gym.train.grpo.gate import Gated
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.loop import Batch, Step
from gym.train.grpo.run_dir import StepStats


def draws_of(batch: Batch, groups: Sequence[Group], sizes: GroupSize) -> Draws:
    """How the answers of a step were spent."""
    drawn = [len(group.rollouts) for group in groups]
    again = sum(draw > 0 for draw in batch.draws)
    return Draws(
        groups=len(groups),
        stopped=sum(count < sizes.usual for count in drawn),
        extended=sum(count > sizes.usual for count in drawn),
        again=again,
        resting=batch.resting,
        answers=sum(drawn),
        plain=(len(groups) - again + batch.resting) * sizes.usual,
    )


def step_stats(batch: Batch, took: Step, gated: Gated, draws: Draws | None = None) -> StepStats:
    """The numbers of a step."""
    rollouts = [rollout for group in took.groups for rollout in group.rollouts]
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    informative = sum(group.is_informative for group in took.groups)
    update, library = took.update(gated.applied), gated.applied.library
    return StepStats(
        epoch=batch.epoch,
        step=batch.step,
        problems=len(took.groups),
        rollouts=len(rollouts),
        failed=len(rollouts) - len(rewards),
        failures=dict(Counter(f"{f.boundary}: {f.type}: {f.message}" for f in (r.failure for r in rollouts) if f)),
        no_answer=sum(rollout.outcome == "no answer" for rollout in rollouts),
        mean=sum(rewards) / len(rewards) if rewards else None,
        mean_failed_as_0=sum(rewards) / len(rollouts),
        informative=informative,
        homogeneous=len(took.groups) - informative,
        proposed=len(update.proposed),
        accepted=dict(Counter(operation.option for operation in update.accepted)),
        rejected=len(update.rejected),
        library_size=len(library),
        library_tokens=estimate_tokens(library.render()),
        seconds=took.seconds,
        gate=gated.decision,
        whole=gated.whole,
        tools=tool_use(rollout.trajectory.tools for rollout in rollouts if rollout.trajectory),
        draws=draws,
    )
