"""Real models for the tests that need one: fetched once, shared by all workers through the cache and its lock."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gym.embedding.minilm import MiniLM
from gym.llm.local.get import fetch

settings.register_profile("gate", derandomize=True, deadline=None)  # the gate must not depend on luck
settings.register_profile("hunt", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))  # HYPOTHESIS_PROFILE=hunt looks for new cases


@pytest.fixture(scope="session", autouse=True)
def _key_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs sign their library: with a key of the tests, not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_GYM_KEY", str(tmp_path_factory.mktemp("key") / "node.pem"))
        yield


@pytest.fixture(scope="session")
def smollm() -> Path:
    """SmolLM2-135M: answers, learns nothing."""
    return _model("smollm2-135m")


@pytest.fixture(scope="session")
def qwen_small() -> Path:
    """Qwen2.5-Coder-0.5B: follows a hand-written rule."""
    return _model("qwen2.5-coder-0.5b")


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """all-MiniLM-L6-v2, the encoder that knows meaning."""
    weights = _model("all-minilm-l6-v2")
    return MiniLM(weights, weights.with_name("all-minilm-l6-v2.tokenizer.json"))


def _model(name: str) -> Path:
    if os.environ.get("ZOO_GYM_NO_MODELS") == "1":
        pytest.skip("ZOO_GYM_NO_MODELS=1")
    return fetch(name)
