"""Which part of a model's files changed, told by name and without torch."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import given
from hypothesis import strategies as st

from gym.errors import ConfigError
from gym.llm.local.catalogue import CATALOGUE
from gym.train.grpo.frozen import Fingerprint, differences, fingerprint, remembered, size_of, whole_digest
from tests.toy_weights import flip, folder, gguf, tensors


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))


def told(before: Fingerprint, now: Fingerprint) -> list[str]:
    return [str(one) for one in differences(before, now)]


def after(path: Path, change: Callable[[], object]) -> list[str]:
    """What differs once `change` has been made."""
    before = fingerprint(path)
    change()
    now = fingerprint(path)
    assert whole_digest(path) == now.whole
    return told(before, now)


def test_a_gguf_file_is_known_as_a_whole_and_by_its_tensors(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    found = fingerprint(path)
    assert found.whole == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.tensors == 4
    assert sum(part.size for part in found.parts) == path.stat().st_size == size_of(path)
    assert Fingerprint.model_validate_json(found.model_dump_json()) == found


def test_the_tensors_lie_where_the_gguf_package_says(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    content = path.read_bytes()
    mine = {part.name: (part.shape, part.sha256) for part in fingerprint(path).parts if part.kind == "tensor"}
    for tensor in GGUFReader(path).tensors:
        shape, digest = mine[tensor.name]
        assert shape == tuple(int(size) for size in tensor.shape)
        padded = content[tensor.data_offset : tensor.data_offset + -(-tensor.n_bytes // 32) * 32]
        assert digest == hashlib.sha256(padded).hexdigest()


def test_one_flipped_bit_names_its_tensor(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    place = int(next(tensor.data_offset for tensor in GGUFReader(path).tensors if tensor.name == "blk.0.ffn_up.weight"))
    assert after(path, lambda: flip(path, place + 9)) == ["tensor 'blk.0.ffn_up.weight' changed"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Sequence[tuple[Path, Path]]:
    """A model and a file of it, in both formats."""
    base = tmp_path_factory.mktemp("models")
    toy, model = gguf(base / "toy.gguf"), folder(base / "model")
    return [(toy, toy), (model, min(model.glob("*.safetensors")))]


@given(place=st.integers(min_value=0, max_value=2_000))
def test_no_bit_of_a_file_can_be_flipped_unseen(files: Sequence[tuple[Path, Path]], place: int) -> None:
    for model, file in files:
        before, at = fingerprint(model), place % file.stat().st_size
        flip(file, at)
        now = fingerprint(model)
        flip(file, at)
        assert differences(before, now)
        assert before.whole != now.whole


def test_a_changed_metadata_value_is_named(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf", name="Toy")
    assert after(path, lambda: gguf(path, name="Boy")) == ["metadata 'general.name' changed"]


def test_a_broken_header_is_told_as_one_difference(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    assert after(path, lambda: flip(path, 5)) == ["header changed: its tensors can no longer be found"]


def test_a_file_cut_short_names_what_it_lacks(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    found = after(path, lambda: path.write_bytes(path.read_bytes()[:-200]))
    assert found == [
        "tensor 'blk.0.ffn_up.weight' changed: it has 120 bytes instead of 160",
        "tensor 'output_norm.weight' changed: it has 0 bytes instead of 160",
    ]


def test_added_missing_and_reshaped_tensors_are_named(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    changed = dict(tensors(("token_embd.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight", "lora.weight")))
    changed["blk.0.attn_q.weight"] = changed["blk.0.attn_q.weight"].reshape(7, 5)
    assert after(path, lambda: gguf(path, changed)) == [
        "tensor 'blk.0.attn_q.weight' changed: it is GGML type 0 5×7 instead of GGML type 0 7×5",
        "tensor 'output_norm.weight' is missing",
        "tensor 'lora.weight' was added",
    ]


def test_a_split_model_is_all_of_its_files(tmp_path: Path) -> None:
    first = gguf(tmp_path / "big-00001-of-00002.gguf", tensors(("a.weight",)))
    second = gguf(tmp_path / "big-00002-of-00002.gguf", tensors(("b.weight",)))
    assert fingerprint(first).tensors == 2
    assert after(first, lambda: flip(second, -80)) == ["tensor 'b.weight' changed"]
    second.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        fingerprint(first)


def test_parts_that_are_known_by_the_whole_are_not_read_again(tmp_path: Path) -> None:
    path = gguf(tmp_path / "toy.gguf")
    assert remembered(path) == remembered(path) == fingerprint(path)
    (known,) = (tmp_path / "cache" / "fingerprints").iterdir()
    known.write_text("{}", encoding="utf-8")
    assert remembered(path) == fingerprint(path)  # a damaged memory is none
    flip(path, -80)
    assert remembered(path) == fingerprint(path)


def test_a_model_folder_is_known_by_tensors_and_files(tmp_path: Path) -> None:
    model = folder(tmp_path / "model")
    found = fingerprint(model)
    assert found.tensors == 4
    assert [part.name for part in found.parts if part.kind == "file"] == [
        "config.json",
        "model.safetensors.index.json",
        "tokenizer.json",
    ]
    assert sum(part.size for part in found.parts) == size_of(model)
    assert fingerprint(folder(tmp_path / "elsewhere")).whole == found.whole


def test_one_flipped_bit_in_a_folder_names_its_tensor_or_file(tmp_path: Path) -> None:
    model = folder(tmp_path / "model")
    first = model / "model-00001-of-00002.safetensors"
    assert after(model, lambda: flip(first, -1)) == ["tensor 'blk.0.ffn_up.weight' changed"]
    assert after(model, lambda: flip(model / "config.json", 3)) == ["file 'config.json' changed"]
    assert after(model, lambda: flip(model / "README.md", 3)) == []


def test_a_damaged_missing_or_added_file_of_a_folder_is_one_difference(tmp_path: Path) -> None:
    model = folder(tmp_path / "model")
    first, second = sorted(model.glob("*.safetensors"))
    gone = f"header {first.name!r} changed: its tensors can no longer be found"
    assert after(model, lambda: flip(first, 8)) == [gone]
    flip(first, 8)
    assert after(model, second.unlink) == [f"file {second.name!r} is missing"]
    added = model / "adapter.bin"
    assert after(model, lambda: added.write_bytes(b"x")) == ["file 'adapter.bin' was added"]


def test_bytes_that_no_tensor_owns_count_too(tmp_path: Path) -> None:
    model = folder(tmp_path / "model")
    first = min(model.glob("*.safetensors"))
    assert after(model, lambda: first.write_bytes(first.read_bytes() + b"more")) == [
        f"header {first.name!r} changed: it has 172 bytes instead of 168"
    ]


def test_a_folder_is_not_compared_with_a_file_tensor_by_tensor(tmp_path: Path) -> None:
    one, other = fingerprint(gguf(tmp_path / "toy.gguf")), fingerprint(folder(tmp_path / "model"))
    assert told(one, other) == ["file 'model folder' is compared with a model file"]


def test_a_folder_without_weights_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no weights"):
        fingerprint(tmp_path)


def test_a_real_model_is_known_by_all_its_tensors(smollm: Path) -> None:
    found = fingerprint(smollm)
    assert found.whole == CATALOGUE["smollm2-135m"].sha256
    norm = next(part for part in found.parts if part.name == "output_norm.weight")
    assert (found.tensors, norm.shape, norm.size) == (272, (576,), 576 * 4)


def test_files_are_read_without_torch_and_without_transformers(tmp_path: Path) -> None:
    gguf(tmp_path / "toy.gguf")
    folder(tmp_path / "model")
    code = (
        "import sys; from pathlib import Path; from gym.train.grpo.frozen import fingerprint\n"
        "print(*[fingerprint(Path(path)).tensors for path in sys.argv[1:]])\n"
        "print(*{'torch', 'transformers', 'numpy', 'safetensors'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "toy.gguf"), str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "4"]
