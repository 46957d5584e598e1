"""The interpreter of one session: runs piece after piece of a model's code in one namespace and says what came of it.

What it sends is a claim, no more: the code runs in the same process and could say the same.
"""

import ast
import linecache
import os
import site
import sys
import traceback
from types import ModuleType
from typing import Any

from . import frames
from .clip import clip

_CODE_BYTES = 16 << 20


def converse(requests: int, reports: int, max_chars: int) -> None:
    """Answer each request, in order, until there are no more."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [""]
    site.setquit()  # exit() and quit()
    process, number = os.getpid(), 0
    while (request := frames.receive(requests, _CODE_BYTES)) is not None:
        number += 1
        report = _run(request["code"], f"<call {number}>", vars(main), max_chars)
        if os.getpid() != process:
            os._exit(0)  # a fork of the model's code came back here: its work is done
        _flush()
        frames.send(reports, {"nonce": request["nonce"], **report})


def _run(code: str, name: str, variables: dict[str, Any], max_chars: int) -> dict[str, str]:
    """The value of the last expression, or what was raised, SystemExit too."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        value = _executed(code, name, variables)
        return {"value": "" if value is None else clip(repr(value), max_chars)}
    except BaseException as error:  # whatever it is, it is the result
        return {"error": clip(_told(error), max_chars)}


def _executed(code: str, name: str, variables: dict[str, Any]) -> Any:
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, name, "exec", dont_inherit=True), variables)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), variables)


def _told(error: BaseException) -> str:
    """The traceback, only with lines of the model's code."""
    try:
        report = traceback.TracebackException.from_exception(error)
        told: traceback.TracebackException | None = report
        while told is not None:
            told.stack = traceback.StackSummary.from_list(
                [frame for frame in told.stack if frame.filename.startswith("<call ")]
            )
            told = told.__cause__ or told.__context__
        return "".join(report.format()).rstrip()
    except Exception:  # out of memory, or an exception that cannot be shown
        return type(error).__name__


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the model's code closed or replaced it
            continue
