"""The shortest way over links from a page through several others, in whichever order is shortest."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, permutations, product


class Walks:
    """Over pages and where each leads."""

    def __init__(self, ways: Mapping[str, Sequence[str]]) -> None:
        self._ways = ways
        self._from = cache(self._search)

    def shortest(self, start: str, wanted: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
        """A shortest walk from `start` that visits a page of each group; every page on the way is in it.

        Exact: over all choices of pages and all orders. None when there is no way. Of equally short walks, the first in
        the order of the groups.
        """
        best: tuple[int, tuple[str, ...]] | None = None
        for choice in product(*wanted):
            for order in permutations(dict.fromkeys(choice)):
                clicks = self.clicks((start, *order))
                if clicks is not None and (best is None or clicks < best[0]):
                    best = clicks, order
        return best and self._whole((start, *best[1]))

    def clicks(self, stops: Sequence[str]) -> int | None:
        """Of the shortest way through the stops in their order."""
        total = 0
        for here, there in pairwise(stops):
            before = self._from(here)
            if there not in before:
                return None
            total += len(_back(before, there)) - 1
        return total

    def _whole(self, stops: Sequence[str]) -> tuple[str, ...]:
        way = [stops[0]]
        for here, there in pairwise(stops):
            way += _back(self._from(here), there)[1:]
        return tuple(way)

    def _search(self, start: str) -> dict[str, str]:
        """Every page that can be reached -> the page before it (breadth first); the start is before itself."""
        before, queue = {start: start}, deque([start])
        while queue:
            here = queue.popleft()
            for there in self._ways.get(here, ()):
                if there not in before:
                    before[there] = here
                    queue.append(there)
        return before


def _back(before: Mapping[str, str], end: str) -> list[str]:
    way = [end]
    while before[way[-1]] != way[-1]:
        way.append(before[way[-1]])
    return way[::-1]
