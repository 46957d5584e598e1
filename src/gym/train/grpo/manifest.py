"""manifest.json: what a run was made of, and whether its weights stayed what they were (SPEC 5.4)."""

import platform
from collections.abc import Mapping
from typing import Any

from gym import __version__
from gym.config import RunConfig
from gym.embedding.encoders import encoder_name, resolved
from gym.llm.call_log import CallLog
from gym.train.grpo.frozen import Weights
from gym.train.grpo.tools.limits import Isolation


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
