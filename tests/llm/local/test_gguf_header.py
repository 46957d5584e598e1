"""What a GGUF file says about itself, checked against the gguf package."""

from pathlib import Path

import pytest
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from gym.errors import ConfigError
from gym.llm.local.header import Header, read_header


def write(path: Path, *, template: str | None) -> None:
    """A header with every kind of value around the facts."""
    writer = GGUFWriter(path, "toy")
    writer.add_array("tokenizer.ggml.tokens", ["a", "ü" * 100, ""])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
    writer.add_bool("toy.flag", False)
    writer.add_float64("toy.double", 1.0)
    writer.add_int8("toy.tiny", -1)
    writer.add_name("Toy Model")
    writer.add_context_length(4096)
    if template is not None:
        writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


@pytest.mark.parametrize("template", ["{{ messages }}", None])
def test_a_header_tells_name_architecture_context_and_template(tmp_path: Path, template: str | None) -> None:
    write(tmp_path / "toy.gguf", template=template)
    assert read_header(tmp_path / "toy.gguf") == Header("Toy Model", "toy", 4096, template is not None)


def test_a_real_model_is_read(smollm: Path) -> None:
    header = read_header(smollm)
    assert (header.architecture, header.context, header.chat_template) == ("llama", 8192, True)


def test_a_header_cut_short_anywhere_is_a_clear_error(tmp_path: Path) -> None:
    write(tmp_path / "toy.gguf", template="{{ messages }}")
    whole = (tmp_path / "toy.gguf").read_bytes()
    for end in range(4, len(whole), 7):
        (tmp_path / "cut.gguf").write_bytes(whole[:end])
        with pytest.raises(ConfigError, match=r"cut\.gguf' has a broken GGUF header"):
            read_header(tmp_path / "cut.gguf")


@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_header_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(8) + content)
    try:
        read_header(path)
    except ConfigError:
        return


def test_deeply_nested_arrays_are_a_clear_error(tmp_path: Path) -> None:
    nested = b"GGUF\x03\x00\x00\x00" + bytes(8) + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"k"
    nested += (9).to_bytes(4, "little") + ((9).to_bytes(4, "little") + (1).to_bytes(8, "little")) * 20_000
    (tmp_path / "deep.gguf").write_bytes(nested)
    with pytest.raises(ConfigError, match="broken GGUF header"):
        read_header(tmp_path / "deep.gguf")
