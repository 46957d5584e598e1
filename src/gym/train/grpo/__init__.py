"""Continuous GRPO: the method, under the names the paper uses (arXiv:2510.08191).

A name's module loads when the name is first asked for, so that whoever wants the library alone loads no HTTP client.
`GRPOTrainer` and `HFAdapter` need the extra [train]; `import *` and `dir` leave them out, since they load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym.llm.client import LLMClient
    from gym.llm.hf.adapter import HFAdapter as HFAdapter
    from gym.train.grpo.experience_manager import ExperienceManager
    from gym.train.grpo.semantic_extractor import SemanticExtractor
    from gym.train.grpo.trainer import GRPOTrainer as GRPOTrainer
    from gym.train.grpo.trl.arguments import FinetuningArguments

__all__ = ["ExperienceManager", "FinetuningArguments", "LLMClient", "SemanticExtractor"]

_HOMES = {
    "ExperienceManager": "gym.train.grpo.experience_manager",
    "FinetuningArguments": "gym.train.grpo.trl.arguments",
    "GRPOTrainer": "gym.train.grpo.trainer",
    "HFAdapter": "gym.llm.hf.adapter",
    "LLMClient": "gym.llm.client",
    "SemanticExtractor": "gym.train.grpo.semantic_extractor",
}
_TRAIN = {"GRPOTrainer": ("trl", "peft"), "HFAdapter": ()}
"""What they load beside torch and transformers."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _TRAIN:
        from gym.llm.hf.place import require_extra

        require_extra(name, *_TRAIN[name])
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
