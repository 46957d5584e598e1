"""Why a session cannot have namespaces of its own is said in words that help."""

import errno
import os

import pytest

from gym.train.grpo.tools.jail import kernel, namespaces


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPERM, errno.EINVAL])
def test_a_system_without_user_namespaces_is_named_as_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([errno.EPERM, number])

    def refuse(flags: int) -> None:
        code = next(answers)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(kernel, "unshare", refuse)
    with pytest.raises(OSError, match="gives this user no user namespace") as raised:
        namespaces.enter({})
    assert raised.value.errno == number
