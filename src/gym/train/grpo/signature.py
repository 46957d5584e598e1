"""signature.json: a library bound to the model it was learned on, by the key of whoever ran it.

What is signed is the file's bytes, so that a changed count breaks it as a changed text does; the digests of the single
texts are there to name the one that changed.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from pydantic import Field, ValidationError

from gym import __version__
from gym.core.experience import Library
from gym.core.value import Value, digest
from gym.errors import ConfigError, LibraryError, StorageError
from gym.files import beside, write_atomic
from gym.signing import is_signed, key_path, open_key
from gym.train.grpo.experience_manager import utc_now

PURPOSE = "library v1"
NAME = "signature.json"


class Statement(Value):
    """What the signer says: this library was learned on this model."""

    library_sha256: str
    """Of the file's bytes."""
    library: str
    """Of ids and texts alone: what a model is shown."""
    experiences: dict[str, str]
    """Id → SHA-256 of the text."""
    model: str
    model_sha256: str | None
    """As a whole, see `gym.train.grpo.frozen`; None for a model behind an API, whose weights nobody can know."""
    zoo_gym: str
    at: str
    """ISO 8601."""
    public_key: str = Field(pattern="^ed25519:[0-9a-f]{64}$")


class Signed(Value):
    """The file: a statement and its signature."""

    statement: Statement
    signature: str = Field(pattern="^[0-9a-f]{128}$")

    @property
    def is_valid(self) -> bool:
        """Whether the key in the statement signed it."""
        return is_signed(
            self.statement.public_key, PURPOSE, self.statement.model_dump(mode="json"), signature=self.signature
        )


def signature_path(library: Path) -> Path:
    """Where a library's signature lies: `signature.json` beside `experiences.json`, `x.signature.json` beside `x.json`."""
    return beside(library, NAME)


def sign_library(
    file: Path, model: str, model_sha256: str | None, *, key_file: str = "", clock: Callable[[], str] = utc_now
) -> str:
    """Sign the library in a file; one line that says with which key, or why it was not signed: a run never fails here.

    A signature that says the same already is kept.
    """
    try:
        key, path, created = open_key(key_path(key_file))
        content = file.read_bytes()
        stated = statement(content, model, model_sha256, at=clock(), public_key=key.public)
        if not _says(signature_path(file), stated):
            signed = Signed(statement=stated, signature=key.sign(PURPOSE, stated.model_dump(mode="json")))
            write_atomic(signature_path(file), signed.model_dump_json(indent=2) + "\n")
    except (ConfigError, StorageError, OSError) as error:
        return f"the library was not signed: {error}"
    made = f"; the key was made now and is in {path}" if created else ""
    return f"library signed by {key.public}{made}"


def statement(content: bytes, model: str, model_sha256: str | None, *, at: str, public_key: str) -> Statement:
    """What is said of a library file with that content."""
    library = Library.from_json(content.decode("utf-8"))
    return Statement(
        library_sha256=hashlib.sha256(content).hexdigest(),
        library=library.digest,
        experiences=text_digests(library),
        model=model,
        model_sha256=model_sha256,
        zoo_gym=__version__,
        at=at,
        public_key=public_key,
    )


def text_digests(library: Library) -> dict[str, str]:
    """Id → SHA-256 of the text, in order."""
    return {entry.id: digest(entry.text) for entry in library}


def read_signature(file: Path) -> Signed:
    """The signature in a file; raises `ConfigError` where there is none, and `LibraryError` when it is broken."""
    try:
        return Signed.model_validate_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"there is no signature {str(file)!r}: a run of gym train leaves one") from error
    except (OSError, ValidationError) as error:
        raise LibraryError(f"the signature {str(file)!r} is broken") from error


def _says(file: Path, stated: Statement) -> bool:
    """Whether a valid signature of the same is there, of any time."""
    try:
        saved = read_signature(file)
        return saved.statement.model_copy(update={"at": stated.at}) == stated and saved.is_valid
    except ConfigError:
        return False
