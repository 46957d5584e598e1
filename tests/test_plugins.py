"""What a user names as `pkg.mod:NAME` may be misspelt, missing or broken: each is one message that says where."""

import sys
from pathlib import Path

import pytest

from gym.errors import ConfigError
from gym.plugins import import_attribute


@pytest.mark.parametrize(
    ("source", "path", "words"),
    [
        ("X = 1\n", "mine:Y", "'mine' has no 'Y'"),
        ("X = 1\n", ":X", "give it as pkg.mod:NAME"),
        ("X = 1\n", "mine:", "give it as pkg.mod:NAME"),
        ("def f(:\n", "mine:f", r"importing 'mine' raised SyntaxError: .*mine\.py, line 1"),
        ("\n1 / 0\n", "mine:f", r"importing 'mine' raised ZeroDivisionError: division by zero \(mine\.py, line 2\)"),
        ("import no_such_thing\n", "mine:f", "cannot import 'mine' .*no_such_thing"),
    ],
)
def test_a_module_that_gives_nothing_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, path: str, words: str
) -> None:
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(ConfigError, match=words):
        import_attribute(path, what="tool")
