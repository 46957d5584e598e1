"""Continuous GRPO: the method, under the names the paper uses (arXiv:2510.08191).

A name's module loads when the name is first asked for, so that whoever wants the library alone loads no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym.llm.client import LLMClient
    from gym.train.grpo.experience_manager import ExperienceManager
    from gym.train.grpo.semantic_extractor import SemanticExtractor

__all__ = ["ExperienceManager", "LLMClient", "SemanticExtractor"]

_HOMES = {
    "ExperienceManager": "gym.train.grpo.experience_manager",
    "LLMClient": "gym.llm.client",
    "SemanticExtractor": "gym.train.grpo.semantic_extractor",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
