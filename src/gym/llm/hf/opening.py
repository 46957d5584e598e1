"""Opens `hf:PATH`: from files of this machine alone, on a GPU where there is one."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gym.errors import ConfigError
from gym.llm.hf.place import locate, require_extra

if TYPE_CHECKING:
    from gym.llm.hf.adapter import HFAdapter


BATCH = 8
"""Requests that are generated together, when nothing else is said."""


class Loaded(NamedTuple):
    """A transformers model and its tokenizer."""

    model: Any
    tokenizer: Any


@asynccontextmanager
async def open_hf(model: str, batch_size: int, timeout_s: float | None = None) -> AsyncIterator["HFAdapter"]:
    """The model that `hf:PATH` names, until the context ends.

    Raises `ConfigError` when there is none or it cannot chat, `MissingExtra` without torch or transformers.
    """
    path = locate(model)
    require_extra(f"a model hf:{path.name}")
    found = await asyncio.to_thread(load, path)
    from gym.llm.hf.adapter import HFAdapter

    adapter = HFAdapter(
        found.model, found.tokenizer, name=f"hf:{path.name}", batch_size=batch_size, timeout_s=timeout_s
    )
    try:
        yield adapter
    finally:
        await asyncio.to_thread(adapter.close)


def load(path: Path) -> Loaded:
    """The model at a folder or GGUF file, ready to answer; no hub is asked.

    On a CPU in float32: half precision is slower there, and rounds more. Raises `ConfigError` when it cannot be loaded.
    """
    require_extra(f"a model hf:{path.name}", *(["gguf"] if path.is_file() else []))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gpu = torch.cuda.is_available()
    folder, file = (path.parent, {"gguf_file": path.name}) if path.is_file() else (path, {})
    offline: dict[str, Any] = {"local_files_only": True, **file}
    try:
        with quiet(), _no_bar_of_gguf():
            tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left", **offline)
            model, found = AutoModelForCausalLM.from_pretrained(
                str(folder), dtype="auto" if gpu else torch.float32, output_loading_info=True, **offline
            )
    except Exception as error:  # a folder may hold anything, and its loader has no error of its own
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(f"{str(path)!r} cannot be loaded by transformers: {reason}") from error
    if absent := sorted(found["missing_keys"]):
        raise ConfigError(
            f"{str(path)!r} is no whole causal language model: {len(absent)} of its tensors are in no file, {absent[0]!r} say; "
            "they would be random"
        )
    if file:
        _unmark(model)
    return Loaded(model.to("cuda" if gpu else "cpu").eval(), tokenizer)


def _unmark(model: Any) -> None:
    """A GGUF file's weights come out of it as plain numbers: without the mark of its form they can be trained and saved."""
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is not None and not getattr(quantizer, "packed_modules", None):
        quantizer.remove_quantization_config(model)


@contextmanager
def _no_bar_of_gguf() -> Iterator[None]:
    """Transformers reads GGUF files under a bar that its own switch does not reach."""
    from transformers import modeling_gguf_pytorch_utils as reader

    bar, reader.tqdm = reader.tqdm, partial(reader.tqdm, disable=True)
    try:
        yield
    finally:
        reader.tqdm = bar


@contextmanager
def quiet() -> Iterator[None]:
    """Transformers says nothing about itself: its bars and warnings would run through a command's output."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
