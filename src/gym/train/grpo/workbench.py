"""Everything a run works with, opened and checked, and the method's parts as its settings want them.

The parts know nothing of files; what is done with them, and in which order, is in `learning` and `training_free_workflow`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from gym.config import RunConfig
from gym.core.admission import Admission
from gym.core.experience import Admit, Admitted, Experience, Library, Refused
from gym.core.problem import Reward
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.llm.hf.place import context, is_hf, runs_here
from gym.llm.local.catalogue import is_embedded
from gym.train.grpo.credit import Credit
from gym.train.grpo.experience_manager import read_library
from gym.train.grpo.gate import Gate, is_on, ordered
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.loop import Loop
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.screen import Screen
from gym.train.grpo.session import Session, open_rollouts
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.task import Task, held_out_reward, train_reward
from gym.train.grpo.watch import Watch

EMBEDDED_CONTEXT = 4096
"""Tokens of context that the embedded server gives each slot."""


def window(model: str) -> int | None:
    """Tokens that a model of this machine has for a prompt and its reply; None where that is not known here."""
    if is_hf(model):
        return context(model)
    return EMBEDDED_CONTEXT if is_embedded(model) else None


@dataclass(frozen=True)
class Workbench:
    """The open parts of a run, and what is made from them."""

    config: RunConfig
    task: Task
    folder: RunDir
    session: Session
    watch: Watch
    reward: Reward | None = None
    grades: Counts = field(default_factory=Counts)

    def starting_library(self) -> Library:
        """The library of `experience_lib_path`, or an empty one."""
        path = self.config.experience_lib_path
        if not path:
            return Library()
        screened = read_library(path).screened(self.admission(Library()))
        trimmed = screened.library.trimmed(self.limits(Library()))
        for gone in (*screened.accepted, *trimmed.accepted):
            self.watch.say(f"{path}: {gone.before[0].id} left out: {gone.warnings[0]}")
        return trimmed.library

    def loop(self) -> Loop:
        """The method's parts for training."""
        return Loop(
            session=self.session,
            rollouts=self.rollouts("rollout", self.config.grpo_group_size, self.config.rollout_temperature),
            settings=self.reflection(),
            admission=self.admission,
            screen=self.screen(),
            screen_first=self.config.screen_when == "before_gate" or not self.gated,
            credit=Credit(self.config.credit_margin) if self.config.inclusion < 1.0 else None,
            similar=similarity(HashingEmbedder()),
            near=self.session.retrieval.near,
            watch=self.watch,
            learn_from=self.config.learn_from,
            domain=self.task.domain.name,
            seed=self.config.seed,
        )

    def gate(self) -> Gate | None:
        """What decides on each step's library, when there are validation problems enough (SPEC 2.11)."""
        config, problems = self.config, self.task.val
        if not self.gated:
            return None
        return Gate(
            problems=ordered(problems, config.seed),
            rollouts=self.rollouts("evaluate", config.eval_k, config.eval_temperature),
            meter=self.session.meter,
            watch=self.watch,
            error=config.gate_error,
            margin=config.gate_margin,
            seed=config.seed,
        )

    def screen(self) -> Screen | None:
        """What tries proposals, when the configuration asks for it."""
        answers = self.config.screen_answers
        if not answers:
            return None
        rollouts = self.rollouts("screen", 1, self.config.rollout_temperature)
        return Screen(
            rollouts, similarity(HashingEmbedder()), answers, self.config.screen_keep, self.gated, self.watch.expect
        )

    @property
    def gated(self) -> bool:
        """Whether there are validation problems enough for a gate, and it is wanted."""
        return is_on(self.config, len(self.task.val))

    def rollouts(self, stage: str, group_size: int, temperature: float) -> RolloutManager:
        """Rollouts of one stage; training and evaluation differ in reward and sampling alone (SPEC 1.11)."""
        choose = held_out_reward if stage == "evaluate" else train_reward
        return open_rollouts(
            self.config,
            self.session,
            self.task.domain,
            Counted(self.reward or choose(self.config, self.session.model("judge")), self.grades),
            stage=stage,
            group_size=group_size,
            sizes=self.sizes if stage == "rollout" else None,
            temperature=temperature,
            advance=self.watch.advance,
        )

    @property
    def sizes(self) -> GroupSize:
        """How many answers a training group takes."""
        config, size = self.config, self.config.grpo_group_size
        return GroupSize(
            config.group_size_min or size,
            size,
            config.group_size_max or size,
            all_wrong_teaches=config.learn_from == "mixed+all_wrong",
        )

    @property
    def spends_unevenly(self) -> bool:
        """Whether problems may get more or fewer answers than G an epoch."""
        return self.config.curriculum or self.sizes.least < self.sizes.most

    def reflection(self) -> ReflectionSettings:
        """The settings of the three stages; `auto` takes the small profile for models of this machine."""
        config = self.config
        reflector = config.reflector_model or config.model_name_or_path
        profile = config.reflector_profile
        if profile == "auto":
            profile = "small" if runs_here(reflector) else "large"
        return ReflectionSettings(
            profile=profile,
            max_operations=config.semantic_max_operations,
            max_tokens=config.reflection_max_tokens,
            context=min(config.reflector_context, window(reflector) or config.reflector_context),
            use_groundtruth=config.use_groundtruth,
            feedback=config.critique_feedback,
            contrast=config.critique_contrast,
            groups=config.critique_groups,
            samples=config.critique_samples,
            words=self.task.domain.prompts.words(config.use_groundtruth),
        )

    def admission(self, shown: Library, refuted: Sequence[Experience] = ()) -> Admit:
        """The gate for texts learned while `shown` stood in the prompts, the domain's veto first."""
        general, veto = self.limits(shown, refuted), self.task.domain.veto

        def admit(text: str, others: Sequence[Experience], origin: Sequence[str]) -> Admitted | Refused:
            reason = veto(text)
            return Refused(reason=reason) if reason else general(text, others, origin)

        return admit

    def limits(self, shown: Library, refuted: Sequence[Experience] = ()) -> Admission:
        """The general gate: room, copies, leaks of this run's labels and queries, echoes of `shown`, and what was `refuted`."""
        labelled = {item.id: item.ground_truth for item in self.task.train if item.ground_truth is not None}
        return Admission(
            similarity=similarity(HashingEmbedder()),
            max_size=self.config.experience_max_size,
            token_budget=self.config.experience_token_budget if self.config.retrieval == "all" else sys.maxsize,
            ground_truths=labelled,
            queries={item.id: item.query for item in self.task.train},
            injected=frozenset(shown.texts),
            refuted=refuted,
        )
