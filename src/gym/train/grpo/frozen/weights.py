"""The weights of a run: which they are, what they were before and after, and that they are the same (SPEC 5.4)."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gym.errors import ConfigError, WeightsChanged
from gym.files import write_atomic
from gym.llm.hf.place import PREFIX as HF
from gym.llm.hf.place import is_hf
from gym.llm.local.catalogue import PREFIX, find, is_embedded
from gym.llm.local.get import fetch
from gym.llm.local.weights import cached, check_gguf
from gym.train.grpo.frozen.files import fingerprint, remembered, whole_digest
from gym.train.grpo.frozen.parts import Fingerprint, differences, named
from gym.train.grpo.frozen.record import Held, Record, manifest_path, read_record, record_path

NOT_VERIFIABLE = "not verifiable: the weights are behind an API"
UNREADABLE = "unreadable"
"""In place of the digest of weights that were gone at the end of a run."""


@dataclass(frozen=True)
class Weights:
    """A model's weights before and after a run; all None for a model behind an API."""

    path: Path | None = None
    began: Fingerprint | None = None
    after: str | None = None
    """The whole digest at the end of the run; None until then."""
    became: Fingerprint | None = None
    """What they were at the end, where that is something else."""

    @classmethod
    def of(cls, model: str) -> "Weights":
        """The weights a model id names, read now; an embedded model that is not cached is fetched first."""
        if is_embedded(model) and not _is_gguf(model) and cached(find(model)) is None:
            fetch(find(model).name)
        if (path := weights_at(model)) is None:
            return cls()
        return cls(path, remembered(check_gguf(path) if _is_gguf(model) else path))

    @property
    def before(self) -> str | None:
        """The whole digest at the beginning of the run."""
        return self.began.whole if self.began else None

    def read_again(self) -> "Weights":
        """The same with the digest as it is after the run."""
        if self.path is None:
            return self
        try:
            after = whole_digest(self.path)
            return replace(self, after=after, became=fingerprint(self.path) if after != self.before else None)
        except ConfigError:
            return replace(self, after=UNREADABLE)

    def require_unchanged(self) -> None:
        """Raise `WeightsChanged` when the weights are not those the run started with."""
        if self.began is None or self.before == self.after:
            return
        what = f": {named(differences(self.began, self.became))}" if self.became else ""
        raise WeightsChanged(
            f"weights {str(self.path)!r} changed during the run: SHA-256 {self.before} before, {self.after} after{what}"
        )

    def require_begun(self, run: Path, model: str, ending: str = "") -> None:
        """Raise `WeightsChanged` when the run in that folder, which goes on now, began with other weights of the model."""
        kept = None
        with suppress(ConfigError):  # a damaged record names nothing; the manifest still has the whole
            kept = read_record(record_path(run, ending))
        saved = kept.files.before.whole if kept else _saved_digest(manifest_path(run, ending))
        if self.began is None or saved in (None, self.before) or (kept and kept.model != model):
            return
        what = f": {named(differences(kept.files.before, self.began))}" if kept else ""
        raise WeightsChanged(
            f"weights {str(self.path)!r} are not those that run {str(run)!r} began with: SHA-256 {saved} then, "
            f"{self.before} now{what}; give the run its weights back, or choose another --experiment-name"
        )

    def keep(self, run: Path, model: str, ending: str = "") -> None:
        """Leave weights.json in the run's folder; nothing for a model behind an API."""
        if self.began is not None:
            held = Held(before=self.began, after=self.after, became=self.became)
            write_atomic(record_path(run, ending), Record(model=model, files=held).to_json())

    @property
    def story(self) -> str:
        """One line for the report."""
        if self.path is None:
            return NOT_VERIFIABLE
        if self.after is None:
            return f"SHA-256 {self.before} before the run"
        return (
            f"unchanged, SHA-256 {self.before}"
            if self.before == self.after
            else f"CHANGED: {self.before} → {self.after}"
        )


def weights_at(model: str) -> Path | None:
    """The file or folder of weights that a model id names; None for a model behind an API.

    Raises `ConfigError` for an embedded model that is unknown or not cached; nothing is fetched, no path is looked at.
    """
    name = model.removeprefix(HF).removeprefix(PREFIX)
    if is_hf(model) or _is_gguf(model):
        return Path(name).expanduser().absolute()
    if not is_embedded(model):
        return None
    if (path := cached(find(name))) is None:
        raise ConfigError(f"the embedded model {name!r} is not here: gym model get {name}")
    return path


def _is_gguf(model: str) -> bool:
    return model.lower().endswith(".gguf")


def _saved_digest(file: Path) -> str | None:
    """The weights' digest in an earlier manifest, where there is a readable one."""
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))["weights"]["sha256_before"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return saved if isinstance(saved, str) else None
