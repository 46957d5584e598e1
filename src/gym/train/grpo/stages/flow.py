"""Running a stage: `adrive` with an async model, `drive` with a plain function."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.core.problem import Failure
from gym.errors import ProviderError
from gym.tasks import all_of

T = TypeVar("T")


class Ask(NamedTuple):
    """One question to the model."""

    messages: tuple[Message, ...]
    sampling: Sampling


class Together(NamedTuple):
    """Stages that do not wait for each other; what comes back is the list of their results, in order."""

    stages: tuple["Stage[Any]", ...]


Stage = Generator[Ask | Together, Any, T]
"""A conversation with a model that ends in a `T`: a question gets a completion, and provider errors are thrown in at
the `yield`."""


def ask(system: str, user: str, sampling: Sampling) -> Ask:
    """A question made of a system and a user message."""
    return Ask((Message(role="system", content=system), Message(role="user", content=user)), sampling)


def drive(stage: Stage[T], complete: Callable[[Ask], Completion]) -> T:
    """The stage's result, each question answered by `complete`."""
    try:
        question = next(stage)
        while True:
            try:
                answer = _together(question, complete) if isinstance(question, Together) else complete(question)
            except ProviderError as error:
                question = _throw(stage, error)
            else:
                question = stage.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def adrive(stage: Stage[T], model: ChatModel) -> T:
    """The async twin of `drive`. A fatal provider error and a stop pass through."""
    try:
        question = next(stage)
        while True:
            try:
                if isinstance(question, Together):
                    answer: Any = await all_of(adrive(one, model) for one in question.stages)
                else:
                    answer = await model.complete(question.messages, question.sampling)
            except ProviderError as error:
                question = _throw(stage, error)
            else:
                question = stage.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def failure(boundary: str, error: Exception) -> Failure:
    """The world's failure as a value."""
    return Failure(boundary=boundary, type=type(error).__name__, message=str(error))


def _together(question: Together, complete: Callable[[Ask], Completion]) -> list[Any]:
    return [drive(stage, complete) for stage in question.stages]


def _throw(stage: Stage[T], error: ProviderError) -> Ask | Together:
    if error.fatal:
        stage.close()
        raise error
    return stage.throw(error)
