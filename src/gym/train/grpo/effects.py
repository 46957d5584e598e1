"""The effect of each experience on the reward, from rollouts that were shown it by chance (`gym.train.grpo.inclusion`).

Among the rollouts of one problem in one step chance alone decides who is shown an entry, so those with it minus those
without it is an unbiased estimate, whatever else the library holds (a stratified experiment: Imbens & Rubin 2015,
doi:10.1017/CBO9781139025751, ch. 9). With z = 1 where it was shown and 0 elsewhere, r the reward, both minus their group's mean:

    effect = Σ z·r / Σ z²        over all rollouts; a group of n weighs n₁·n₀ / n
    se²    = k/(k-1) · Σ_j (A_j - effect·W_j)² / (Σ_j W_j)²,    A_j = Σ z·r and W_j = Σ z² within problem j of k

so rollouts of one problem, in whichever step, are one observation (Liang & Zeger 1986, doi:10.1093/biomet/73.1.13), and
the interval is effect ± t·se. Before that, what the other entries did is taken out of r by a ridge regression that was
fitted to other problems (cross-fitted: Wager et al. 2016, doi:10.1073/pnas.1614732113): it cannot bias the estimate, since
chance also decides who is shown the others, and it narrows the interval where one entry decides most answers.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.core.experience import Effect, Library
from gym.core.student import student
from gym.core.trials import Trial, Trials

FEWEST = 10
"""Compared problems below which no effect is stated."""

FOLDS = 5
RIDGE = 2.0
"""Rewards' variance within a group (about 0.2) over that of effects (about 0.1)."""

LEAST_MOVE = 0.5
"""An interval is never narrower than one more problem with this difference could have made it: equal rewards prove little."""

Floats: TypeAlias = NDArray[np.float64]


def effects(steps: Sequence[Trials], library: Library) -> dict[str, Effect]:
    """By id, the effect of each entry's present text over all `steps`; none where too few problems compare it.

    Unbiased for the mean over problems of the difference that the entry makes beside a random part of the others.
    """
    texts = sorted({(id, text) for step in steps for id, text in step.texts.items()})
    data = _Data.of(steps, texts)
    known = {text: place for place, text in enumerate(texts)}
    wanted = {entry.id: known[entry.id, entry.text] for entry in library if (entry.id, entry.text) in known}
    found = {id: data.effect(place) for id, place in wanted.items()} if len(data.reward) else {}
    return {id: effect for id, effect in found.items() if effect is not None}


class _Data(NamedTuple):
    """All rollouts, numbers minus their group's mean."""

    shown: Floats
    """(rollouts, texts)"""
    reward: Floats
    """(rollouts,)"""
    problem: NDArray[np.int64]
    """(rollouts,) the number of its problem"""
    slopes: Floats
    """(rollouts, texts) what each text did on other problems than the rollout's"""

    @classmethod
    def of(cls, steps: Sequence[Trials], texts: Sequence[tuple[str, str]]) -> "_Data":
        places = {text: place for place, text in enumerate(texts)}
        numbers = {name: n for n, name in enumerate(sorted({g.problem for step in steps for g in step.groups}))}
        shown, reward, problem = [np.zeros((0, len(texts)))], [np.zeros(0)], list[int]()
        for step in steps:
            columns = {id: places[id, text] for id, text in step.texts.items()}
            for group in step.groups:
                if len(group.rewards) > 1:
                    shown.append(_centred(_rows(group, columns, len(texts))))
                    reward.append(_centred(np.asarray(group.rewards)))
                    problem += [numbers[group.problem]] * len(group.rewards)
        rows, values, clusters = np.concatenate(shown), np.concatenate(reward), np.asarray(problem, dtype=np.int64)
        return cls(rows, values, clusters, _slopes(rows, values, clusters % FOLDS))

    def effect(self, place: int) -> Effect | None:
        """Of one text."""
        z = self.shown[:, place]
        others = (self.shown * self.slopes).sum(axis=1) - z * self.slopes[:, place]
        sums = np.bincount(self.problem, z * (self.reward - others))
        weights = np.bincount(self.problem, z * z)
        compared = weights > 1e-9
        k, total = int(compared.sum()), float(weights.sum())
        if k < FEWEST:
            return None
        mean = float(sums.sum()) / total
        spread = float(((sums - mean * weights) ** 2).sum()) * k / (k - 1)
        reach = student(0.975, k - 1) * max(spread**0.5 / total, LEAST_MOVE / k)
        low, mean, high = (round(x, 6) for x in (mean - reach, mean, mean + reach))
        return Effect(mean=mean, low=low, high=high, rollouts=int((np.abs(z) > 1e-9).sum()), problems=k)


def _rows(group: Trial, columns: Mapping[str, int], width: int) -> Floats:
    rows = np.zeros((len(group.rewards), width))
    for row, ids in zip(rows, group.shown, strict=True):
        row[[columns[id] for id in ids]] = 1.0
    return rows


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=0), dtype=np.float64)


def _slopes(shown: Floats, reward: Floats, fold: NDArray[np.int64]) -> Floats:
    """Each rollout's row: ridge slopes of the texts, fitted without its fold."""
    penalty = RIDGE * np.eye(shown.shape[1])
    fitted = np.zeros((FOLDS, shown.shape[1]))
    for number in range(FOLDS):
        rows, values = shown[fold != number], reward[fold != number]
        fitted[number] = np.linalg.solve(rows.T @ rows + penalty, rows.T @ values)
    return np.asarray(fitted[fold], dtype=np.float64)
