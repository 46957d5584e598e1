"""SemanticExtractor: the three stages under the names of the paper's listing. A façade over `stages/`."""

from collections.abc import Sequence
from typing import Any

from gym.core.chat import Message
from gym.core.experience import Library, Operation, Rejected, parse_operation
from gym.core.problem import Problem, Trajectory, Verdict
from gym.core.reflection import Critique, Summary
from gym.core.rollout import Rollout
from gym.llm.blocking import run
from gym.llm.client import LLMClient
from gym.train.grpo.stages.consolidate import consolidate
from gym.train.grpo.stages.critique import critique
from gym.train.grpo.stages.flow import Stage, T, adrive
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.summarize import summarize


class GradedSummary(str):
    """A summary that is a plain `str` and remembers what it summarizes (SPEC 3.7)."""

    query: str
    output: str
    reward: float | None
    ground_truth: str | None

    @classmethod
    def of(
        cls, text: str, *, query: str, output: str, reward: float | None, ground_truth: str | None
    ) -> "GradedSummary":
        """The text with its attributes set."""
        summary = cls(text)
        summary.query, summary.output, summary.reward, summary.ground_truth = query, output, reward, ground_truth
        return summary


class SemanticExtractor:
    """Turns graded rollouts into operations on an experience library.

    `llm` is the reflector; `profile="small"` suits models under about 7B parameters (constrained output, one example,
    one operation a group).
    """

    def __init__(
        self, llm: LLMClient, max_operations: int = 3, *, profile: str = "large", max_tokens: int = 2048
    ) -> None:
        self.llm = llm
        self.settings = ReflectionSettings.model_validate(
            {"profile": profile, "max_operations": max_operations, "max_tokens": max_tokens}
        )

    def summarize_trajectory(
        self,
        query: str,
        rollout: str,
        reward: float | None = None,
        ground_truth: str | None = None,
        *,
        experiences: str = "",
    ) -> GradedSummary:
        """Stage 1: what the rollout did, step by step, as a string that carries query, output, reward, ground truth."""
        scored = _rollout(query, rollout, reward, ground_truth)
        summary = self._run(summarize(scored, _library_text(experiences), self._settings(ground_truth)))
        return GradedSummary.of(summary.text, query=query, output=rollout, reward=reward, ground_truth=ground_truth)

    def extract_group_advantage(
        self, summaries: Sequence[str], experiences: str | None = None, ground_truth: str | None = None
    ) -> list[dict[str, Any]]:
        """Stage 2: at most `max_operations` operations; an empty list when the group does not teach.

        Plain strings are accepted as ungraded. Graded summaries that agree in reward are homogeneous: no call is made.
        """
        rewards = [item.reward for item in summaries if isinstance(item, GradedSummary) and item.reward is not None]
        if not summaries or (len(rewards) == len(summaries) and max(rewards) - min(rewards) <= 1e-6):
            return []
        query = next((item.query for item in summaries if isinstance(item, GradedSummary)), "")
        problem = Problem(id="query", query=query or "(not given)", ground_truth=ground_truth)
        told = [_summary(index, item) for index, item in enumerate(summaries)]
        found = self._run(critique(problem, told, _library_text(experiences), self._settings(ground_truth)))
        return [_plain(operation) for operation in found.operations]

    def consolidate(
        self, operations: Sequence[dict[str, Any] | Operation], experiences: Library | None = None, *, seed: int = 0
    ) -> list[dict[str, Any]]:
        """Stage 3: a batch's proposals as one list of operations; unreadable ones are left out."""
        parsed = [parse_operation(item) for item in operations]
        critiques = [
            Critique(problem_id=str(place), operations=(item,))
            for place, item in enumerate(parsed)
            if not isinstance(item, Rejected)
        ]
        decided = self._run(consolidate(critiques, experiences or Library(), self.settings, seed=seed))
        return [_plain(operation) for operation in decided.operations]

    def _settings(self, ground_truth: str | None) -> ReflectionSettings:
        return self.settings.model_copy(update={"use_groundtruth": ground_truth is not None})

    def _run(self, stage: Stage[T]) -> T:
        return run(adrive(stage, self.llm.chat_model))


def _library_text(experiences: str | None) -> str:
    return "" if experiences in (None, "None") else str(experiences)


def _plain(operation: Operation) -> dict[str, Any]:
    """The operation as a dict; its evidence stays a value, from which `apply_operations` derives the confidence."""
    return {**operation.model_dump(mode="json", exclude={"evidence"}), "evidence": operation.evidence}


def _rollout(query: str, output: str, reward: float | None, ground_truth: str | None) -> Rollout:
    said = (Message(role="user", content=query), Message(role="assistant", content=output))
    return Rollout(
        problem=Problem(id="query", query=query, ground_truth=ground_truth),
        index=0,
        trajectory=Trajectory(messages=said, output=output),
        verdict=None if reward is None else Verdict(reward=reward),
    )


def _summary(index: int, item: str) -> Summary:
    graded = item if isinstance(item, GradedSummary) else None
    return Summary(
        problem_id="query",
        index=index,
        text=str(item),
        reward=graded.reward if graded else None,
        outcome="answered",
        output=graded.output if graded else str(item),
    )
