"""What index, meter and manifest take from a line of calls.jsonl, read without decoding its texts.

A line as `write_line` gives it is matched at its head and at its tail. That is sound because an unescaped quote never
stands inside a JSON string: `,"usage":{"prompt":` is therefore never text but the start of a member, and as every token
after the last of them must match, through the two braces that close the line, it is a member of the call's completion.
Any other line is parsed in full. Damage between head and tail shows when the line is served.
"""

import json
import re
from functools import lru_cache
from typing import NamedTuple

from gym.llm.call_line import Call, read_call
from gym.llm.spent import BILLED_FAILURES, Spent, answered, unanswered


class Facts(NamedTuple):
    """A call without its texts."""

    key: bytes
    stage: str
    model: str
    """As requested."""
    spent: Spent
    returned: str = ""
    """The model the server says it used."""
    fingerprint: str = ""


def read_facts(line: bytes) -> Facts | None:
    """The facts of the call on a line, or None when it holds none."""
    try:
        if found := _glance(line):
            return found
    except ValueError:
        pass
    call = read_call(line)
    return None if call is None else _facts(call)


_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_COUNT = rb"(\d{1,18})"
_HEAD = re.compile(rb'\{"key":"([0-9a-f]{64})","stage":(%b,"model":%b),"request":\{' % (_STRING, _STRING))
_ANSWER, _ERROR = b',"usage":{"prompt":', b',"completion":null,"error":{"type":"'
_ANSWERED = re.compile(
    rb',"usage":\{"prompt":%b,"cached":%b,"completion":%b,"reasoning":%b,"known":true\}' % ((_COUNT,) * 4)
    + rb',"model":(%b,"system_fingerprint":(?:null|%b))' % (_STRING, _STRING)
    + rb',"latency_s":(\d+(?:\.\d+)?(?:e[-+]\d+)?),"note":%b\},"error":null,"at":%b\}\n?\Z' % (_STRING, _STRING)
)
_FAILED = re.compile(
    rb',"completion":null,"error":\{"type":(%b),"message":%b,"status":(?:null|\d+)\},"at":%b\}\n?\Z' % ((_STRING,) * 3)
)


def _glance(line: bytes) -> Facts | None:
    """The facts of a line as we write it; None for others, and for those whose tokens are estimated from their texts."""
    if (head := _HEAD.match(line)) is None:
        return None
    key, (stage, model) = bytes.fromhex(head[1].decode()), _names(head[2])
    if (start := line.rfind(_ANSWER)) >= 0 and (tail := _ANSWERED.match(line, start)):
        prompt, cached, completion, reasoning, names, latency_s = tail.groups()
        spent = Spent(int(prompt), int(cached), int(completion), int(reasoning), False, float(latency_s))
        return Facts(key, stage, model, spent, *_names(names))
    if (start := line.rfind(_ERROR)) >= 0 and (tail := _FAILED.match(line, start)):
        return None if json.loads(tail[1]) in BILLED_FAILURES else Facts(key, stage, model, Spent(failed=True))
    return None


def _facts(call: Call) -> Facts | None:
    key, messages = bytes.fromhex(call.key), call.request.messages
    if call.completion is not None:
        said = call.completion
        spent = answered(messages, said)
        return Facts(key, call.stage, call.model, spent, said.model, said.system_fingerprint or "")
    if call.error is not None:
        return Facts(key, call.stage, call.model, unanswered(messages, call.error.type))
    return None


class Names(NamedTuple):
    """The two names on a line that stand beside each other, "" for null."""

    first: str
    second: str


@lru_cache(1024)
def _names(members: bytes) -> Names:
    """Of two JSON members, the first without its name; the same few stand in every line."""
    first, second = json.loads(b'{"":%b}' % members).values()
    return Names(first, second or "")
