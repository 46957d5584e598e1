"""What weights are, part by part: a digest of the whole and one of each named part, so that a change can be named.

Every byte of a file belongs to exactly one part, so two fingerprints are equal exactly when the files are.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from gym.core.value import Value, digest

Kind = Literal["tensor", "metadata", "header", "file", "parameter", "buffer"]
"""`header`: what of a file is neither a tensor nor metadata; `file`: one that is not divided further."""


class Part(Value):
    """One named piece of a model."""

    kind: Kind
    name: str
    file: str = ""
    """The file of a model folder, or the number of a split GGUF's, that holds it."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    """As its file tells it."""
    size: int = Field(ge=0)
    """Bytes."""
    sha256: str
    tied_to: str = ""
    """Of a live module: the earlier name of the same memory."""


class Fingerprint(Value):
    """The digests of one model."""

    form: Literal["model file", "model folder", "module"]
    whole: str
    """SHA-256: of a single file its bytes, of anything else the parts in order."""
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, form: Literal["model file", "model folder", "module"], parts: Sequence[Part]) -> "Fingerprint":
        """Of what is no single file."""
        told = [[part.file, part.kind, part.name, part.dtype, part.shape, part.sha256, part.tied_to] for part in parts]
        return cls(form=form, whole=digest(told), parts=tuple(parts))

    @property
    def tensors(self) -> int:
        """How many tensors, parameters and buffers there are."""
        return sum(part.kind in ("tensor", "parameter", "buffer") for part in self.parts)


class Difference(NamedTuple):
    """What one part of a model is not any more; a part without a name is that of a single file."""

    kind: Kind
    name: str
    how: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} {self.how}" if self.name else f"{self.kind} {self.how}"


def differences(before: Fingerprint, now: Fingerprint) -> tuple[Difference, ...]:
    """Every part that changed, is missing or was added, file by file in the order of `before`; none when all are equal."""
    if before.whole == now.whole:
        return ()
    if before.form != now.form:
        return (Difference("file", now.form, f"is compared with a {before.form}"),)
    mine, theirs = _by_file(before.parts), _by_file(now.parts)
    found = [one for file in (mine | theirs) for one in _in_file(file, mine.get(file), theirs.get(file))]
    return tuple(found) or (Difference("file", "", "changed"),)


def named(found: Sequence[Difference], most: int = 3) -> str:
    """The first few differences in one phrase."""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(map(str, found[:most])) + more


_Key = tuple[Kind, str]


def _by_file(parts: Sequence[Part]) -> dict[str, dict[_Key, Part]]:
    found: dict[str, dict[_Key, Part]] = defaultdict(dict)
    for part in parts:
        found[part.file][part.kind, part.name] = part
    return dict(found)


def _in_file(file: str, before: Mapping[_Key, Part] | None, now: Mapping[_Key, Part] | None) -> Sequence[Difference]:
    """A file that came, went or broke is one difference, not one for each of its tensors."""
    if now is None:
        return [Difference("file", file, "is missing")]
    if before is None:
        return [Difference("file", file, "was added")]
    if len(before) > 1 and [kind for kind, _ in now] == ["file"]:
        return [Difference("header", file, "changed: its tensors can no longer be found")]
    found = list(_of_parts(before, now))
    return [one for one in found if one.kind != "header"] or found  # any other change may move the header too


def _of_parts(before: Mapping[_Key, Part], now: Mapping[_Key, Part]) -> Iterator[Difference]:
    for key, was in before.items():
        if key not in now:
            yield Difference(*key, "is missing")
        elif how := _change(was, now[key]):
            yield Difference(*key, how)
    for key in now:
        if key not in before:
            yield Difference(*key, "was added")


def _change(was: Part, now: Part) -> str:
    """How a part changed; empty when it did not."""
    if (was.dtype, was.shape) != (now.dtype, now.shape):
        return f"changed: it is {_form(now)} instead of {_form(was)}"
    if was.size != now.size:
        return f"changed: it has {now.size:,} bytes instead of {was.size:,}"
    if was.sha256 != now.sha256:
        return "changed"
    if was.tied_to != now.tied_to:
        return f"changed: it is {_tie(now)} instead of {_tie(was)}"
    return ""


def _form(part: Part) -> str:
    return f"{part.dtype} {'×'.join(map(str, part.shape)) or 'scalar'}"


def _tie(part: Part) -> str:
    return f"one with {part.tied_to!r}" if part.tied_to else "a tensor of its own"
