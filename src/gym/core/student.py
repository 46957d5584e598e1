"""Student's t without tables: how far a mean of few observations may lie from what it was taken for."""

from statistics import NormalDist


def student(probability: float, freedom: int) -> float:
    """Quantile of Student's t, by its expansion around the normal one (Abramowitz & Stegun 26.7.5): 0.1 % off at 9 degrees.

    >>> round(student(0.975, 9), 2), round(student(0.95, 30), 3)
    (2.26, 1.697)
    """
    z = NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
