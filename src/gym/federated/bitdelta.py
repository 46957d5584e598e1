"""BitDelta: a unit vector as 384 signs and one scale, sign(v) · mean|v| (Liu et al. 2024, arXiv:2402.10193; SPEC 6.2).

A code is 52 bytes. Bytes 0 to 47 are the signs: coordinate `i` is the bit `7 - i % 8` (the highest first) of byte `i //
8`, 1 where `v[i] >= 0`, so that 0 and -0 count as +. Bytes 48 to 51 are mean|v|, an IEEE 754 float32, little-endian.
Signs keep the direction at a cosine of about 0.80. Two codes that agree in the share `(1 + s) / 2` of their signs stand
for a cosine of about sin(pi / 2 · s): the sign of a random projection sees angles (Charikar 2002).
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.embedding import DIM, Vectors

SIGN_BYTES = DIM // 8
CODE_BYTES = SIGN_BYTES + 4
LARGEST_SCALE = DIM**-0.5
"""mean|v| of a unit vector whose coordinates are all of one size."""
SMALLEST_SCALE = 1 / DIM
"""mean|v| of a unit vector along an axis."""
_SLACK = 1e-3

Codes: TypeAlias = NDArray[np.uint8]
Signs: TypeAlias = NDArray[np.int8]


def encode(rows: Vectors) -> Codes:
    """Codes of unit rows, (n, 384) float32 -> (n, 52) uint8, in order; raises `ValueError` for NaN or another shape."""
    if rows.ndim != 2 or rows.shape[1] != DIM:
        raise ValueError(f"rows of {DIM} coordinates are coded, not an array of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("a coordinate is not finite")
    scales = np.abs(rows).mean(axis=1, dtype=np.float64).astype("<f4")
    return np.hstack([np.packbits(rows >= 0, axis=1), scales[:, None].view(np.uint8)])


def decode(codes: Codes) -> Vectors:
    """What the codes stand for, (n, 52) uint8 -> (n, 384) float32 of +scale and -scale."""
    return signs(codes) * scales(codes)[:, None]


def read(codes: Iterable[bytes]) -> Codes:
    """Codes of 52 bytes each below each other, (n, 52) uint8."""
    return np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(-1, CODE_BYTES)


def signs(codes: Codes) -> Signs:
    """(n, 52) or (n, 48) uint8 -> (n, 384) int8 of 1 and -1."""
    bits = np.unpackbits(codes[:, :SIGN_BYTES], axis=1).astype(np.int8)
    return 2 * bits - 1


def scales(codes: Codes) -> Vectors:
    """The scale of each code, (n,) float32."""
    return np.ascontiguousarray(codes[:, SIGN_BYTES:]).view("<f4")[:, 0].astype(np.float32)


def is_unit_scale(scale: float) -> bool:
    """Whether a unit vector can have this scale: one outside would weigh more than its vote (NaN is outside)."""
    return bool(SMALLEST_SCALE * (1 - _SLACK) <= scale <= LARGEST_SCALE * (1 + _SLACK))


def distances(some: Codes, others: Codes) -> NDArray[np.int64]:
    """Signs in which codes differ, (n, m), 0 to 384."""
    agreed = signs(some).astype(np.float32) @ signs(others).astype(np.float32).T
    return ((DIM - agreed) / 2).astype(np.int64)


def cosines(some: Codes, others: Codes) -> Vectors:
    """The cosines that the codes stand for, (n, m) float32; on sentences they are off by about 0.035."""
    shares = 1 - 2 * distances(some, others) / DIM
    return np.sin(np.pi / 2 * shares).astype(np.float32)
