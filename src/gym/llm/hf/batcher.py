"""Requests that wait are worked on together: one thread takes a batch, and those that come meanwhile are the next."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")

LINGER_S = 0.003
"""How long a batch that is not full waits for another request: callers are told of their answers at the same moment, and
ask again within this time."""


class Batcher(Generic[Q, A]):
    """`work` answers a batch of at most `size`, in order; it is given a way to see that a place is abandoned.

    Those most like the oldest (`alike`, larger is nearer) go with it. Invariant: under `_lock`, `_busy` is set exactly while
    the thread has been given work that it has not finished.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Q], Callable[[int], bool]], Sequence[A]],
        size: int,
        *,
        alike: Callable[[Q, Q], int] = lambda one, other: 0,
    ) -> None:
        self._work, self._size, self._alike = work, size, alike
        self._waiting: list[tuple[Q, Future[A]]] = []
        self._busy = False
        self._lock = threading.Condition()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gym-hf")

    def submit(self, request: Q) -> "Future[A]":
        """The answer to be; cancelling it takes the request out of the queue, or ends its row."""
        future: Future[A] = Future()
        with self._lock:
            self._waiting.append((request, future))
            self._lock.notify()
            if not self._busy:
                self._busy = True
                self._thread.submit(self._drain)
        return future

    def close(self) -> None:
        """Let the thread go; what waits is cancelled."""
        with self._lock:
            for _, future in self._waiting:
                future.cancel()
        self._thread.shutdown()

    def _drain(self) -> None:
        while batch := self._next():
            requests, futures = [request for request, _ in batch], [future for _, future in batch]
            try:
                answers = self._work(requests, lambda place, futures=futures: futures[place].cancelled())  # type: ignore[misc]
            except BaseException as error:
                for future in futures:
                    with suppress(InvalidStateError):
                        future.set_exception(error)
                continue
            for future, answer in zip(futures, answers, strict=True):
                with suppress(InvalidStateError):
                    future.set_result(answer)

    def _next(self) -> list[tuple[Q, "Future[A]"]]:
        """The next batch; empty when nobody waits, and then the thread is idle."""
        with self._lock:
            count = 0
            while count < len(self._waiting) < self._size:
                count = len(self._waiting)
                self._lock.wait(LINGER_S)
            self._waiting = [one for one in self._waiting if not one[1].cancelled()]
            if not self._waiting:
                self._busy = False
                return []
            oldest = self._waiting[0][0]
            batch = sorted(self._waiting, key=lambda one: -self._alike(oldest, one[0]))[: self._size]
            self._waiting = [one for one in self._waiting if all(one is not taken for taken in batch)]
            return batch
