"""Many coroutines at once: results in order, paid work finished before an error is raised."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from gym.errors import Stopped

T = TypeVar("T")

Room = Callable[[], Awaitable[None]]
"""Returns when one more may start."""


async def _unbounded() -> None:
    return


async def all_of(work: Iterable[Coroutine[Any, Any, T]], room: Room = _unbounded) -> list[T]:
    """Every result, in order; the next of `work` is made and started only when there is `room`.

    When one raises nothing more is started and those under way still finish, since their calls are paid for; then the
    error is raised, a real one before a mere stop.
    """
    found: dict[int, T] = {}
    errors: list[Exception] = []

    async def keep(place: int, one: Coroutine[Any, Any, T]) -> None:
        try:
            found[place] = await one
        except Exception as error:
            errors.append(error)

    pending = enumerate(work)
    async with asyncio.TaskGroup() as under_way:
        while not errors:
            await room()
            if errors or (following := next(pending, None)) is None:
                break
            under_way.create_task(keep(*following))
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))
    return [found[place] for place in range(len(found))]
