"""From a server's refusal to one of our errors: a status, headers and a body become one clear line.

The line says where, the status, the server's own words and what to do; never a key (SPEC 4.7).
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from gym.errors import (
    AccessDenied,
    ContextExceeded,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    ToolsRefused,
)
from gym.llm.rate_headers import number

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTEXT_WORDS = re.compile(
    r"maximum context length|context (size|window|length) (is )?exceeded|exceeds? .*context", re.I
)
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|unavailable|deprecated|only the default"
    r"|max_completion_tokens",
    re.I,
)
_UNSUPPORTED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_NO_TOOLS = re.compile(
    r"not support(ed)?\b.{0,40}\b(tools?|function calling)\b|support tool use|tools? (param )?(choice )?requires --"
    r"|\btools\b.{0,40}\b(not support|unsupported|unrecogni[sz]ed|unknown|unexpected|not permitted)",
    re.I,
)
"""Ollama, OpenRouter, vLLM, llama.cpp: as they say it, under whatever status."""
OPTIONAL_PARAMETERS = ("max_completion_tokens", "max_tokens", "response_format", "temperature", "top_p", "seed", "stop")
"""What a request can do without, when the server says that it must (FAULTS P1)."""


class Refusal(NamedTuple):
    """What can be read of an error reply."""

    status: int
    message: str
    code: str = ""
    param: str = ""
    retry_after_s: float | None = None


def refusal(status: int, headers: Mapping[str, str], text: str, now: datetime | None = None) -> Refusal:
    """Any server's error body, in one shape: OpenAI's, FastAPI's, a plain text or an HTML page."""
    wait = retry_after_s(headers, now or datetime.now(UTC))
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(status, _plain(text), retry_after_s=wait)
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return Refusal(status, _one_line(error), retry_after_s=wait)
    message = error.get("message") or error.get("detail") or error
    code = " ".join(str(error[key]) for key in ("code", "type") if error.get(key))
    return Refusal(status, _one_line(message), code, str(error.get("param") or ""), wait)


def provider_error(found: Refusal, where: str, model: str) -> ProviderError:
    """The error of our own for a refusal by the server at `where`; `str()` of it is the line to show."""
    kind, advice = _kind(found, model)
    said = f": {found.message}" if found.message else ""
    text = f"{where} answered {found.status}{said}{f' ({advice})' if advice else ''}"
    return kind(text, status=found.status, retry_after_s=found.retry_after_s)


def unsupported_parameter(found: Refusal, sent: Mapping[str, Any]) -> str | None:
    """Which of the parameters in `sent` the server refuses to know, or None: then the request itself is wrong."""
    if found.status not in (400, 422):
        return None
    if not (_UNSUPPORTED.search(found.message) or _UNSUPPORTED_CODES & set(found.code.split())):
        return None
    present = [name for name in OPTIONAL_PARAMETERS if name in sent]
    named = [name for name in present if found.param == name or found.param.startswith(f"{name}.")]
    places = {name: match.start() for name in present if (match := re.search(rf"\b{name}\b", found.message))}
    return named[0] if named else min(places, key=lambda name: places[name], default=None)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the server asks to wait, from milliseconds, seconds or an HTTP date; None when nothing readable."""
    text = headers.get("Retry-After", "").strip()
    if (milliseconds := number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if (seconds := number(text)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def _kind(found: Refusal, model: str) -> tuple[type[ProviderError], str]:
    status, codes = found.status, set(found.code.split())
    if status == 401:
        return AccessDenied, "check the API key"
    if status == 402 or "insufficient_quota" in codes:
        return AccessDenied, "the account has no credit left"
    if status == 403:
        return AccessDenied, "this key may not use it"
    if _NO_TOOLS.search(found.message) or (found.param == "tools" and codes & _UNSUPPORTED_CODES):
        return ToolsRefused, "it takes no tools: use --tool-calls text"
    if status == 404:
        return AccessDenied, f"check the model {model!r} and the URL, which usually ends in /v1"
    if status == 429:
        return RateLimited, ""
    if status >= 500 or status in (408, 425):
        return ServerFailed, ""
    if codes & _CONTEXT_CODES or _CONTEXT_WORDS.search(found.message):
        return ContextExceeded, "the prompt does not fit into the model's context"
    if 300 <= status < 400:
        return RequestRejected, "the URL redirects; give the final one"
    return RequestRejected, ""


def _plain(text: str) -> str:
    return "an HTML page" if text.lstrip()[:1] == "<" else _one_line(text)


def _one_line(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
