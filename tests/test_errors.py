"""Errors cross process borders whole."""

import pickle

import pytest

from gym import errors
from gym.errors import GymError, MissingExtra, ProviderError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GymError)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, ProviderError)])
def test_a_provider_error_is_the_same_after_pickling(kind: type[ProviderError]) -> None:
    error = pickle.loads(pickle.dumps(kind("429: slow down", status=429, retry_after_s=7.5)))
    assert type(error) is kind
    assert (str(error), error.status, error.retry_after_s) == ("429: slow down", 429, 7.5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not MissingExtra])
def test_every_error_keeps_its_message(kind: type[GymError]) -> None:
    error = pickle.loads(pickle.dumps(kind("what, where, what to do")))
    assert (type(error), str(error)) == (kind, "what, where, what to do")


def test_a_missing_extra_keeps_what_it_names() -> None:
    error = pickle.loads(pickle.dumps(MissingExtra("the page", "ui")))
    assert error.extra == "ui"
    assert str(error) == str(MissingExtra("the page", "ui"))
