"""Several processes, one library: process 0 learns, all of them generate its batches, and all get what it learned.

Each batch is dealt out over the processes, which hold the same weights; a reply is a function of its request, so it does not
matter who draws it. While process 0 is in a step the others serve, until it tells them the outcome.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch.distributed as dist

from gym.core.chat import Completion
from gym.errors import RunFailed
from gym.llm.hf.adapter import Generate
from gym.llm.hf.generation import Asked

T = TypeVar("T")


class Outcome(NamedTuple, Generic[T]):
    """What process 0 came to."""

    value: T | None
    error: str = ""
    """Why it has none."""


class Ranks:
    """The processes of `torch.distributed`; one of them when there is no group.

    Invariant: whatever speaks to the others holds `_speaking`, so that a batch is told and gathered without a word between.
    """

    def __init__(self) -> None:
        several = dist.is_available() and dist.is_initialized()
        self.size = dist.get_world_size() if several else 1
        self.rank = dist.get_rank() if several else 0
        self._speaking = threading.Lock()

    def shared(self, generate: Generate) -> Generate:
        """For process 0: the same, each batch dealt out over all of them."""
        if self.size == 1:
            return generate

        def everyone(batch: Sequence[Asked], abandoned: Callable[[int], bool]) -> Sequence[Completion]:
            with self._speaking:
                self._tell(tuple(batch))
                mine = self._dealt(generate, batch, lambda place: abandoned(place * self.size))
                hands: list[Any] = [None] * self.size
                dist.gather_object(mine, hands, dst=0)
            for hand in hands:
                if isinstance(hand, Exception):
                    raise hand
            return [hands[place % self.size][place // self.size] for place in range(len(batch))]

        return everyone

    def lead(self, work: Callable[[], T], generate: Generate) -> T:
        """What `work` gives in process 0, in every process; the others generate meanwhile.

        Raises in process 0 what `work` raises, in the others `RunFailed` that says it.
        """
        if self.size == 1:
            return work()
        return self._lead(work) if self.rank == 0 else self._serve(generate)

    def _lead(self, work: Callable[[], T]) -> T:
        try:
            value = work()
        except BaseException as error:
            with self._speaking:
                self._tell(Outcome[T](None, f"{type(error).__name__}: {error}"))
            raise
        with self._speaking:
            self._tell(Outcome(value))
        return value

    def _serve(self, generate: Generate) -> Any:
        while True:
            heard = self._hear()
            if isinstance(heard, Outcome):
                if heard.error:
                    raise RunFailed(f"process 0 stopped: {heard.error}")
                return heard.value
            dist.gather_object(self._dealt(generate, heard, lambda place: False), dst=0)

    def _dealt(
        self, generate: Generate, batch: Sequence[Asked], abandoned: Callable[[int], bool]
    ) -> Sequence[Completion] | Exception:
        """The completions of this process's hand; an error is told like one, so that nobody waits in vain."""
        hand = batch[self.rank :: self.size]
        try:
            return generate(hand, abandoned) if hand else ()
        except Exception as error:
            return error

    def _tell(self, message: object) -> None:
        dist.broadcast_object_list([message], src=0)

    def _hear(self) -> Any:
        heard: list[Any] = [None]
        dist.broadcast_object_list(heard, src=0)
        return heard[0]
