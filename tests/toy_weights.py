"""Small models in the formats that real ones have, and the one bit that is wrong in them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray
from safetensors.numpy import save_file

from gym.config import RunConfig
from gym.llm.call_log import CallLog
from gym.train.grpo.frozen import Weights
from gym.train.grpo.manifest import manifest
from gym.train.grpo.run_dir import RunDir

Tensors = Mapping[str, NDArray[np.float32]]
TENSORS = ("token_embd.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight", "output_norm.weight")


def tensors(names: tuple[str, ...] = TENSORS) -> Tensors:
    """Of other values each, 5 × 7: no multiple of the alignment."""
    return {name: np.full((5, 7), place, dtype=np.float32) for place, name in enumerate(names)}


def gguf(path: Path, content: Tensors | None = None, *, name: str = "Toy") -> Path:
    """A GGUF file with metadata of several kinds."""
    writer = GGUFWriter(path, "toy")
    writer.add_name(name)
    writer.add_array("tokenizer.ggml.tokens", ["a", "ü" * 50, ""])
    writer.add_context_length(128)
    for tensor, values in (tensors() if content is None else content).items():
        writer.add_tensor(tensor, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def folder(path: Path, content: Tensors | None = None) -> Path:
    """A model folder of two files of tensors, their index, a configuration and a tokenizer."""
    path.mkdir()
    made = dict(tensors() if content is None else content)
    names = sorted(made)
    for number, part in enumerate((names[:2], names[2:]), 1):
        save_file({name: made[name] for name in part}, path / f"model-{number:05}-of-00002.safetensors")
    for name in ("config.json", "tokenizer.json", "model.safetensors.index.json"):
        (path / name).write_text(f'{{"of": "{name}"}}', encoding="utf-8")
    (path / "README.md").write_text("What it is.", encoding="utf-8")
    return path


def flip(path: Path, place: int) -> None:
    """Turn one bit of one byte; a negative place counts from the end."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def run_of(run: Path, model: str, *, ended: bool = True) -> Path:
    """What a run on `model` leaves of its weights."""
    with RunDir(run) as folder, CallLog.open(run / "calls.jsonl") as log:
        weights = Weights.of(model)
        checked = weights.read_again() if ended else weights
        folder.write_json("manifest.json", manifest(RunConfig(model_name_or_path=model), {}, checked, log))
        checked.keep(run, model)
    return run
