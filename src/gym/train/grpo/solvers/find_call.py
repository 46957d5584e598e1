"""Find the tool call that a model wrote into its text.

Small models write the right JSON under the wrong tags (or none), so every form that can only be a call is read: a block
`tool_call`, the tags of Qwen and Hermes, a JSON object that names a known tool; and, where there is a Python tool, a last
block of Python, and any that has not been run yet, since small models write an answer behind their code that they cannot
know. Code fences of other languages are part of the answer. The last call wins: models draft first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from gym.core.chat import ToolCall, ToolSpec
from gym.train.grpo.tools.arguments import json_object

PYTHON = "python"
"""The tool that a block of Python calls; its code is its one required argument."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)")
_BARE_STARTS = 5
"""Lines from the end at which a JSON object without any marks may begin."""


class Found(NamedTuple):
    """A call in a text, and where the text of the call ends."""

    call: ToolCall
    end: int


def find_call(text: str, specs: Sequence[ToolSpec], ran: AbstractSet[str] = frozenset()) -> Found | None:
    """The last whole call after the last closed thought, or None. `ran`: Python that was run before."""
    thought, tag, _ = text.rpartition("</think>")
    start = len(thought) + len(tag)
    if "<think>" in text[start:]:
        return None
    known = {spec.name: spec for spec in specs}
    found = (_fenced(text, start, known, ran), _tagged(text, start, known), _bare(text, start, known))
    return max((one for one in found if one is not None), key=lambda one: one.end, default=None)


def _fenced(text: str, start: int, known: Mapping[str, ToolSpec], ran: AbstractSet[str]) -> Found | None:
    last = None
    for block in _blocks(text, start):
        content = text[block.start : block.stop]
        if block.closed:
            runs = content.strip() not in ran or not text[block.end :].strip()
            call = _in_block(block.language, content, runs, known)
        else:
            call = _strict(content, known) if block.language == "tool_call" else None
        last = last if call is None else Found(call, block.end)
    return last


class _Block(NamedTuple):
    language: str
    start: int
    stop: int
    end: int
    """Behind the closing fence."""
    closed: bool


def _blocks(text: str, start: int) -> Iterator[_Block]:
    """Fenced blocks line by line, the last perhaps open; linear in the text, whatever is in it."""
    fence = language = ""
    place = begin = start
    for line in text[start:].splitlines(keepends=True):
        if fence and line.strip() == fence:
            yield _Block(language, begin, place, place + len(line.rstrip("\r\n")), True)
            fence = ""
        elif not fence and (opened := _FENCE.match(line)) is not None:
            fence, language, begin = opened[1], opened[2].lower(), place + len(line)
        place += len(line)
    if fence:
        yield _Block(language, begin, place, place, False)


def _tagged(text: str, start: int, known: Mapping[str, ToolSpec]) -> Found | None:
    """The tags of Qwen and Hermes; the last may be left open at the end of the reply."""
    closing = text.rfind("</tool_call>", start)
    opening = text.rfind("<tool_call>", start, None if closing < 0 else closing)
    if opening < 0:
        return None
    content = text[opening + len("<tool_call>") : None if closing < 0 else closing]
    call = _strict(content, known) if closing < 0 else _call(content)
    return None if call is None else Found(call, len(text) if closing < 0 else closing + len("</tool_call>"))


def _bare(text: str, start: int, known: Mapping[str, ToolSpec]) -> Found | None:
    """A JSON object that ends the text, names a known tool and stands on lines of its own."""
    lines = text[start:].splitlines(keepends=True)
    place, tried = len(text), 0
    for line in reversed(lines):
        place -= len(line)
        if line.lstrip().startswith("{"):
            if (call := _strict(text[place:], known)) is not None:
                return Found(call, len(text))
            if (tried := tried + 1) == _BARE_STARTS:
                break
    return None


def _in_block(language: str, content: str, runs: bool, known: Mapping[str, ToolSpec]) -> ToolCall | None:
    match language:
        case "tool_call" | "tool_calls" | "tool":
            return _call(content)
        case "json" | "":
            return _strict(content, known)
        case "python" | "py" | "python3" if runs and PYTHON in known:
            return _made(PYTHON, {_code_argument(known[PYTHON]): content})
    return None


def _call(text: str) -> ToolCall:
    """The call in a text that is certainly meant as one; without a name when it cannot be read."""
    found = json_object(text) or {}
    name = found.get("name")
    return _made(name if isinstance(name, str) else "", _arguments(found))


def _strict(text: str, known: Mapping[str, ToolSpec]) -> ToolCall | None:
    """The call in a text that may be anything: only JSON as it should be, with a known name, counts."""
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("name") not in list(known) or len(found) < 2:
        return None
    return _made(found["name"], _arguments(found))


def _arguments(found: Mapping[str, Any]) -> Any:
    """Under their name, under another name, or beside the tool's name: models vary."""
    if "arguments" in found:
        return found["arguments"]
    return found.get("parameters", {key: value for key, value in found.items() if key != "name"})


def _made(name: str, arguments: Any) -> ToolCall:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id="text", name=name, arguments=written)


def _code_argument(spec: ToolSpec) -> str:
    return str(next(iter(spec.parameters.get("required", ())), "code"))
