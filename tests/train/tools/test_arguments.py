"""A model's arguments: read as they stand, repaired where that is safe."""

import pytest

from gym.train.grpo.tools.arguments import json_object


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"code": "x"}', {"code": "x"}),
        ('{"code": "a\nb"}', {"code": "a\nb"}),
        ('{"code": "x",}', {"code": "x"}),
        ("{'code': 'x'}", {"code": "x"}),
        ('"{\\"code\\": \\"x\\"}"', {"code": "x"}),
        ("", {}),
        ("print(1)", None),
        ("[1]", None),
        ("null", None),
        ("{" * 3000, None),
        ("[" * 100_000, None),
    ],
)
def test_json_is_read_strictly_then_repaired(text: str, read: object) -> None:
    assert json_object(text) == read
