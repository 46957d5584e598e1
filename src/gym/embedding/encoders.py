"""Which encoder a run uses: the one that knows meaning where it is installed and fetched, else the one that needs nothing."""

from importlib.util import find_spec
from typing import Literal

from gym.embedding import Embedder
from gym.embedding.hashing import HashingEmbedder
from gym.embedding.minilm import NAME, MiniLM
from gym.errors import ConfigError
from gym.llm.local.catalogue import ENCODER
from gym.llm.local.weights import cached

Encoder = Literal["minilm", "hashing"]

HOW_TO_GET = f"pip install 'zoo-gym[embeddings]', then gym model get {NAME}"


def resolved(asked: Literal["auto", "minilm", "hashing"]) -> Encoder:
    """The encoder that `auto` means on this machine now; any other is itself."""
    if asked != "auto":
        return asked
    return "minilm" if find_spec("tokenizers") and find_spec("safetensors") and cached(ENCODER) else "hashing"


def open_encoder(which: Encoder) -> Embedder:
    """The encoder, loaded; raises `ConfigError` that says how to get what is missing."""
    if which == "hashing":
        return HashingEmbedder()
    weights, (tokenizer,) = cached(ENCODER), ENCODER.beside
    beside = cached(tokenizer)
    if weights is None or beside is None:
        raise ConfigError(f"the encoder {NAME} is not here: {HOW_TO_GET}; or --encoder hashing")
    return MiniLM(weights, beside)


def encoder_name(which: Encoder) -> str:
    """The name its vectors go by."""
    return NAME if which == "minilm" else HashingEmbedder.name
