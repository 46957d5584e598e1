"""Rows of a Hugging Face data set, through the library `datasets`: the extra [data].

Whether the hub is there is asked first: the library would try for half a minute, with a line for every attempt.
"""

import os
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from gym.errors import DataError, MissingExtra
from gym.llm.local.hub import HUB_URL

TIMEOUT_S = 10.0


def records(source: str) -> Iterable[Mapping[str, Any]]:
    """The rows of `owner/name`, `owner/name:split` or `owner/name:config:split`; of several splits `train` is taken.

    The hub is `$HF_ENDPOINT`, else the public one; with `HF_HUB_OFFLINE=1` it is not asked, and a copy that was loaded
    before is taken. Raises `DataError` when it does not answer or has no such set, `MissingExtra` without the library.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra(f"no file {source!r}, so it is taken for a Hugging Face data set, which", "data") from error
    if not datasets.config.HF_HUB_OFFLINE and (why := silent(os.environ.get("HF_ENDPOINT") or HUB_URL)):
        raise DataError(f"no file {source!r}, and {why}; HF_HUB_OFFLINE=1 takes a copy that was loaded before")
    name, *rest = source.split(":")
    config, split = (rest[0] if len(rest) == 2 else None), (rest[-1] if rest else "train")
    try:
        datasets.disable_progress_bars()
        found: Iterable[Mapping[str, Any]] = datasets.load_dataset(name, config, split=split)
    except Exception as error:  # the library raises whatever its many transports raise
        said = f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}"
        raise DataError(f"no file {source!r}, and the Hugging Face hub gave no such data set ({said})") from error
    return found


def silent(url: str) -> str | None:
    """Why a hub does not answer at all, in words; None when it does, whatever it says."""
    try:
        urlopen(Request(url, method="HEAD"), timeout=TIMEOUT_S).close()
    except HTTPError as error:
        error.close()
    except (HTTPException, OSError, ValueError) as error:
        return f"the hub {url} does not answer ({getattr(error, 'reason', error)})"
    return None
