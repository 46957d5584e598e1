"""manifest.json: what a run was made of, and whether its weights stayed what they were (SPEC 5.4)."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gym import __version__
from gym.config import RunConfig
from gym.embedding.encoders import encoder_name, resolved
from gym.errors import WeightsChanged
from gym.llm.call_log import CallLog
from gym.llm.hf.place import digest, is_hf, locate
from gym.llm.local.catalogue import PREFIX, find, is_embedded
from gym.llm.local.get import fetch
from gym.llm.local.weights import cached, check_gguf, weights_digest
from gym.train.grpo.tools.limits import Isolation

NOT_VERIFIABLE = "not verifiable: the weights are behind an API"


@dataclass(frozen=True)
class Weights:
    """The digests of a weights file, or of a folder's, before and after a run; both None for a model behind an API."""

    path: Path | None = None
    before: str | None = None
    after: str | None = None

    @classmethod
    def of(cls, model: str) -> "Weights":
        """The weights a model id names, read now; an embedded model that is not cached is fetched first."""
        if is_hf(model):
            path = locate(model)
            return cls(path, digest(path))
        if not is_embedded(model):
            return cls()
        name = model.removeprefix(PREFIX)
        if name.lower().endswith(".gguf"):
            path = check_gguf(Path(name).expanduser().absolute())
        else:
            path = cached(find(name)) or fetch(name)
        return cls(path, weights_digest(path))

    def read_again(self) -> "Weights":
        """The same with the digest as it is after the run."""
        return self if self.path is None else replace(self, after=digest(self.path))

    def require_unchanged(self) -> None:
        """Raise `WeightsChanged` when the file is not the one the run started with."""
        if self.path is not None and self.before != self.after:
            raise WeightsChanged(
                f"weights {str(self.path)!r} changed during the run: SHA-256 {self.before} before, {self.after} after"
            )

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


def manifest(
    config: RunConfig, inputs: Mapping[str, str], weights: Weights, log: CallLog, isolation: Isolation | None = None
) -> dict[str, Any]:
    """The run's identity as plain JSON: versions, digests of settings and data, weights, the models that answered.

    `isolation`: what kept the model's Python code apart from this machine, where it could run any.
    """
    ran = isolation and {**isolation.model_dump(mode="json"), "missing": list(isolation.missing)}
    return {
        "zoo_gym": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "config_sha256": config.digest(),
        "data_sha256": dict(inputs),
        "models": answered_by(log),
        "weights": {
            "file": weights.path.name if weights.path else None,
            "sha256_before": weights.before,
            "sha256_after": weights.after,
            "verified": None if weights.path is None else weights.before == weights.after if weights.after else None,
            "story": weights.story,
        },
        **({"encoder": encoder_name(resolved(config.encoder))} if config.retrieves else {}),
        **({"python_tool": ran} if ran else {}),
    }


def answered_by(log: CallLog) -> dict[str, dict[str, list[str]]]:
    """Per requested model, the names and fingerprints under which the server answered, in order of appearance."""
    return {
        model: {
            "returned": [name for name in names.returned if name],
            "system_fingerprints": [name for name in names.fingerprints if name],
        }
        for model, names in log.models.items()
    }


def model_changes(log: CallLog) -> tuple[str, ...]:
    """A line for every requested model that was answered by more than one model or fingerprint in the run."""
    return tuple(
        f"{model}: the server answered under several {kind.replace('_', ' ')}: {', '.join(names)}"
        for model, seen in answered_by(log).items()
        for kind, names in seen.items()
        if len(names) > 1
    )
