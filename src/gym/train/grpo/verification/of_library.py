"""Whether a library is what was signed, by whom, and for which model."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gym.core.experience import Library
from gym.errors import ConfigError, LibraryError
from gym.signing import key_path, open_key, public_key
from gym.train.grpo.frozen import read_record, record_path
from gym.train.grpo.signature import Signed, Statement, read_signature, signature_path, text_digests
from gym.train.grpo.verification.check import Check, Reading, changed_since, digest_now, silent, weights_of


def verify_library(path: Path, model: str = "", key: str = "", reading: Reading = silent) -> Check:
    """A library file, or a run's, against its signature: the bytes, who signed, and the model they are bound to.

    `key` is the public key to expect, by default that of this user. A model that is not here is left out, and said.
    Raises `ConfigError` when there is no library or no signature.
    """
    file = path / "experiences.json" if path.is_dir() else path
    content = _content(file)
    try:
        signed = read_signature(signature_path(file))
    except LibraryError as error:
        return _judged(file, [str(error)], [])
    if not signed.is_valid:
        return _judged(file, [f"the signature is not valid: {signature_path(file)} is not as it was signed"], [])
    stated = signed.statement
    expected = public_key(key) if key else _own_key()
    found = [*_signer(stated, expected), *_content_changed(content, stated)]
    bound = _bound(file, stated, model, reading)
    return _judged(file, [*found, *bound.differences], bound.notes, signed, known=bool(expected))


def _judged(
    file: Path, found: Sequence[str], notes: Sequence[str], signed: Signed | None = None, *, known: bool = True
) -> Check:
    said = f"{file} is not what was signed"
    if not found and signed:
        said = (
            f"{file} is what {signed.statement.public_key} signed on {signed.statement.at} for {signed.statement.model}"
        )
    if not known and not found:
        said += ", a key that nothing here vouches for: give the one you expect with --key"
    return Check(
        subject=str(file),
        verdict="changed" if found else "unchanged" if known else "unknown",
        model=signed.statement.model if signed else "",
        said=said,
        differences=tuple(found),
        notes=tuple(notes),
    )


def _own_key() -> str:
    """The user's own public key; empty without one. None is made here."""
    return open_key(path).key.public if (path := key_path()).exists() else ""


def _signer(stated: Statement, expected: str) -> Sequence[str]:
    if expected in ("", stated.public_key):
        return ()
    return [f"it was signed by {stated.public_key}, not by {expected}"]


def _content_changed(content: bytes, stated: Statement) -> Sequence[str]:
    """What of the library's bytes is not as signed, experience by experience."""
    if hashlib.sha256(content).hexdigest() == stated.library_sha256:
        return ()
    try:
        now = text_digests(Library.from_json(content.decode("utf-8")))
    except (LibraryError, UnicodeDecodeError) as error:
        return [f"the library can no longer be read: {error}"]
    signed = stated.experiences
    found = [
        f"experience {id} {_how(signed.get(id), now.get(id))}" for id in signed | now if signed.get(id) != now.get(id)
    ]
    return found or ["the experiences are those that were signed, but their records or the file's form are not"]


def _how(signed: str | None, now: str | None) -> str:
    return "was added" if signed is None else "is missing" if now is None else "has another text"


class _Bound(NamedTuple):
    differences: Sequence[str] = ()
    notes: Sequence[str] = ()


def _bound(file: Path, stated: Statement, model: str, reading: Reading) -> _Bound:
    """Whether the model is the one that the library was signed with."""
    if stated.model_sha256 is None:
        behind = f"{stated.model!r} is behind an API"
        return _Bound([f"{behind}: it cannot be {model}"]) if model else _Bound(notes=[f"{behind}: not checked"])
    try:
        path = weights_of(model or stated.model)
    except ConfigError as error:
        if model:
            raise
        return _Bound(notes=[f"the model was not checked: {error}"])
    if (now := digest_now(path, reading)) == stated.model_sha256:
        return _Bound(notes=[f"the model is the one it was signed with: {path}, SHA-256 {now}"])
    record = read_record(record_path(file.parent))
    if record is None or record.files.before.whole != stated.model_sha256:
        return _Bound([f"the model is another: {path} has SHA-256 {now}, not {stated.model_sha256}"])
    return _Bound(
        [f"the model is another: {part}" for part in changed_since(stated.model_sha256, now, path, record, reading)]
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise LibraryError(f"there is no library {str(file)!r} to read: {error.strerror}") from error
