"""Writing files so that a crash, a full disk or a kill leaves the old one or the new one, never half (SPEC 2.6)."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from gym.errors import StorageError


def beside(library: Path, name: str) -> Path:
    """Where a file lies that belongs to a library: `name` beside `experiences.json`, `x.name` beside `x.json`.

    >>> [beside(Path(file), "journal.jsonl").as_posix() for file in ("a/experiences.json", "b.json")]
    ['a/journal.jsonl', 'b.journal.jsonl']
    """
    return library.with_name(name if library.name == "experiences.json" else f"{library.stem}.{name}")


def write_atomic(path: str | Path, text: str | bytes | Iterable[str]) -> None:
    """Replace the file by `text`, whole or in pieces, in UTF-8: temporary file, fsync, rename. Missing folders are made.

    Raises `StorageError` naming the path; the old file is then intact.
    """
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.writelines(_encoded(text))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(target))
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        what = error.strerror or str(error)
        raise StorageError(f"cannot write {str(target)!r}: {what}; what was there before is intact") from error
    except BaseException:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def create_private(path: str | Path, data: bytes) -> bool:
    """A new file that only its owner can read, whole or not at all; false where there is one, which stays.

    Raises `StorageError` naming the path.
    """
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")  # for the owner alone
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return _linked(temporary, target)
    except OSError as error:
        raise StorageError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def append_durably(path: str | Path, text: str) -> None:
    """Put `text` at the end of the file, on the disk when this returns. A crash may leave its beginning.

    Raises `StorageError` naming the path; the file then ends where it did.
    """
    try:
        with open(path, "ab") as file:
            end = file.tell()
            try:
                file.writelines(_encoded(text))
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), end)
                raise
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}; what was there before is intact") from error


def _linked(source: str, target: Path) -> bool:
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    return True


def _encoded(text: str | bytes | Iterable[str]) -> Iterator[bytes]:
    if isinstance(text, bytes):
        return iter((text,))
    pieces = (text,) if isinstance(text, str) else text
    return (piece.encode("utf-8", "backslashreplace") for piece in pieces)


def _mode(target: Path) -> int:
    """The old file's permissions; for a new file, what the process's mask leaves of 0666."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
