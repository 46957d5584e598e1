"""A library that learns inside someone else's training loop: the method's own step, its record, and its checkpoints."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

from pydantic import TypeAdapter

from gym.config import RunConfig
from gym.core.chat import ChatModel
from gym.core.experience import Library
from gym.core.journal import Journal, record_import
from gym.core.problem import Problem, Reward
from gym.core.trials import Trials
from gym.errors import LibraryError
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.files import write_atomic
from gym.llm import blocking
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.endpoint import open_model, preflight
from gym.llm.guarded import Guarded
from gym.llm.limiter import Limiter
from gym.llm.recorded import recover
from gym.train.grpo.credit import refuted
from gym.train.grpo.experience_manager import JOURNAL, read_journal, read_library, utc_now
from gym.train.grpo.gate import Gated
from gym.train.grpo.learning import ACTOR, journalled, require_scored
from gym.train.grpo.loop import Batch, Loop, Step
from gym.train.grpo.run_dir import RunDir, StepStats
from gym.train.grpo.session import Session, endpoint, meter_of, retrieval_of
from gym.train.grpo.step_stats import step_stats
from gym.train.grpo.task import Task
from gym.train.grpo.watch import Silent, Watch
from gym.train.grpo.workbench import Workbench

LIBRARY, TRIALS = "experiences.json", "credit.json"
"""In a checkpoint, the journal beside them."""
SCRIPT_ROOM = 64
"""Calls in flight to a reflector that was given as an object: its own limits are its own."""

_TRIALS = TypeAdapter(list[Trials])


class State(NamedTuple):
    """What a checkpoint holds."""

    library: Library = Library()
    events: Journal = ()
    trials: tuple[Trials, ...] = ()

    def save(self, folder: Path) -> None:
        """Write it; the library last, so that where it is, all is."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / JOURNAL, "".join(event.to_line() for event in self.events))
        if self.trials:
            write_atomic(folder / TRIALS, _TRIALS.dump_json(list(self.trials)).decode())
        write_atomic(folder / LIBRARY, self.library.to_json())

    @classmethod
    def load(cls, folder: Path) -> "State":
        """As `save` left it; raises `LibraryError` when the folder holds none."""
        if not (folder / LIBRARY).is_file():
            raise LibraryError(f"{str(folder)!r} is no checkpoint of a training-free run: it has no {LIBRARY}")
        trials = folder / TRIALS
        known = _TRIALS.validate_json(trials.read_bytes()) if trials.is_file() else []
        return cls(read_library(folder), read_journal(folder / LIBRARY).events, tuple(known))


class Told(NamedTuple):
    """One step, for the trainer's logs."""

    stats: StepStats
    spread: float
    """Mean over groups of the rewards' standard deviation."""


class Parts(NamedTuple):
    """What a learner is opened with."""

    config: RunConfig
    task: Task
    reward: Reward
    policy: ChatModel
    reflector: ChatModel | None
    """None: what the configuration names, else the policy."""
    folder: Path
    """For calls.jsonl."""
    width: int
    """Answers that the policy gives at once."""
    watch: Watch = Silent()


class Learner:
    """Steps and evaluations, each a blocking call that may come from any thread but the background loop's."""

    def __init__(self, open_parts: Callable[[], AbstractAsyncContextManager[Workbench]]) -> None:
        """What is opened stays open until `close`; a later call opens it again."""
        self.state: State | None = None
        """None until the first step: the starting library is read when it is needed."""
        self._open, self._stack = open_parts, AsyncExitStack()
        self._bench: Workbench | None = None
        self._loop: Loop | None = None

    def step(self, problems: Sequence[Problem], *, epoch: int, step: int) -> Told:
        """Learn from one batch; raises `RunFailed` when none of its rollouts could be scored."""
        return blocking.run(self._step(Batch(epoch, step, tuple(problems))))

    def evaluate(self, problems: Sequence[Problem]) -> Evaluation:
        """Answers under the library as it is; the same problems get the same seeds every time."""
        return blocking.run(self._evaluate(problems))

    def close(self) -> None:
        """Close the record and the reflector's connections."""
        blocking.run(self._close())

    async def _step(self, batch: Batch) -> Told:
        _, loop, state = await self._opened()
        harmed = refuted(state.events)
        took = await loop.step(
            batch.problems, state.library, epoch=batch.epoch, step=batch.step, past=state.trials, refuted=harmed
        )
        require_scored(took, batch.step)
        library, news = journalled(took, took.applied, state.library, state.events, batch.step)
        trials = (*state.trials, took.trials) if took.trials else state.trials
        self.state = State(library, state.events + news, trials)
        return Told(step_stats(batch, took, Gated(took.applied)), _spread(took))

    async def _evaluate(self, problems: Sequence[Problem]) -> Evaluation:
        bench, _, state = await self._opened()
        manager = bench.rollouts("evaluate", bench.config.eval_k, bench.config.eval_temperature)
        return await evaluate(manager, problems, state.library)

    async def _opened(self) -> tuple[Workbench, Loop, State]:
        if self._bench is None or self._loop is None:
            self._bench = await self._stack.enter_async_context(self._open())
            self._loop = self._bench.loop()
        if self.state is None:
            start = self._bench.starting_library()
            self.state = State(start, record_import((), start, actor=ACTOR, at=utc_now()))
        return self._bench, self._loop, self.state

    async def _close(self) -> None:
        self._bench = self._loop = None
        await self._stack.aclose()


@asynccontextmanager
async def open_parts(parts: Parts) -> AsyncIterator[Workbench]:
    """The method's parts over a policy that is here already; the reflector is opened when it is elsewhere."""
    config = parts.config
    async with AsyncExitStack() as stack:
        meter = meter_of(config)
        parts.folder.mkdir(parents=True, exist_ok=True)
        log = stack.enter_context(CallLog.open(parts.folder / "calls.jsonl", on_call=recover(meter)))
        policy = Guarded(parts.policy, Limiter(parts.width, where=parts.policy.name), max_retries=0)
        reflector = await _reflector(parts, policy, stack)
        session = Session(policy, reflector, reflector, log, meter, Brake(), retrieval=retrieval_of(config))
        yield Workbench(config, parts.task, RunDir(parts.folder), session, parts.watch, parts.reward)


async def _reflector(parts: Parts, policy: Guarded, stack: AsyncExitStack) -> Guarded:
    if parts.reflector is not None:
        return Guarded(parts.reflector, Limiter(SCRIPT_ROOM, where=parts.reflector.name), max_retries=0)
    if not (parts.config.reflector_model or parts.config.reflector_base_url):
        return policy
    opened = await stack.enter_async_context(open_model(endpoint(parts.config, "reflector"), say=parts.watch.say))
    await preflight(opened)
    return opened


def _spread(took: Step) -> float:
    return fmean(pstdev(group.rewards) if len(group.rewards) > 1 else 0.0 for group in took.groups)
