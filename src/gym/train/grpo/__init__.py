"""Continuous GRPO: the method, under the names the paper uses (arXiv:2510.08191)."""

from gym.llm.client import LLMClient
from gym.train.grpo.experience_manager import ExperienceManager
from gym.train.grpo.semantic_extractor import SemanticExtractor

__all__ = ["ExperienceManager", "LLMClient", "SemanticExtractor"]
