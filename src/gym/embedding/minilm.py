"""all-MiniLM-L6-v2 without torch: tokenizers, the weights of safetensors, and the forward pass in numpy.

A BERT encoder of six layers (Devlin et al. 2019, arXiv:1810.04805; Wang et al. 2020, arXiv:2002.10957), mean pooling over
tokens, unit length (Reimers & Gurevych 2019, arXiv:1908.10084). The tokens of a batch stand in one matrix one after
another, without padding: the dense layers read their weights once for all, attention is computed text by text.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gym.core.text import whole_characters
from gym.embedding import DIM, Vectors
from gym.embedding.threads import one_thread
from gym.errors import MissingExtra

log = logging.getLogger(__name__)

NAME = "all-minilm-l6-v2"
MAX_TOKENS = 256
"""Of one text, its two end marks included, as sentence-transformers has it; the rest of a longer text is not read."""
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_BATCH_TOKENS = 512
"""Tokens in one pass: enough to read the weights rarely, few enough for what lies between two layers to stay in the cache."""
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class MiniLM:
    """The encoder in memory: 91 MB of weights."""

    name = NAME
    dim = DIM

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        """From `model.safetensors` and `tokenizer.json`; raises `MissingExtra` without the extra [embeddings]."""
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(f"the encoder {NAME} (then: gym model get {NAME})", "embeddings") from error
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._weights: Mapping[str, Vectors] = load_file(weights)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One unit row a text, (n, 384) float32, in order; equal within 1e-6 whatever else is in the batch.

        A text of more than `MAX_TOKENS` tokens is embedded by its beginning; how many were is logged.
        """
        import numpy as np

        read = [self._tokenizer.encode(whole_characters(text)) for text in texts]
        if cut := sum(bool(item.overflowing) for item in read):
            log.warning(
                "%d of %d texts are longer than %d tokens: embedded by their beginning", cut, len(read), MAX_TOKENS
            )
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        with one_thread():
            for batch in _batches([item.ids for item in read]):
                rows[batch.start : batch.start + len(batch.texts)] = self._embedded(batch.texts)
        return rows

    def _embedded(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Unit rows of a few texts, each a sequence of token ids."""
        import numpy as np

        ends = np.cumsum([len(ids) for ids in texts])
        spans = [slice(end - len(ids), end) for ids, end in zip(texts, ends, strict=True)]
        hidden = self._tokens(texts)
        for layer in range(_LAYERS):
            prefix = f"encoder.layer.{layer}."
            mixed = self._attention(hidden, spans, f"{prefix}attention.self.")
            hidden = self._added(hidden, mixed, f"{prefix}attention.output.")
            inner = _gelu(self._dense(hidden, f"{prefix}intermediate.dense"))
            hidden = self._added(hidden, inner, f"{prefix}output.")
        means = np.stack([hidden[span].mean(axis=0) for span in spans])
        rows: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
        return rows

    def _tokens(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """What each token enters as: word, place in its text, and kind of segment (always the first)."""
        import numpy as np

        words = self._weights["embeddings.word_embeddings.weight"][np.concatenate(texts)]
        places = self._weights["embeddings.position_embeddings.weight"]
        placed = np.concatenate([places[: len(ids)] for ids in texts])
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normal(words + placed + segment, "embeddings.LayerNorm")

    def _attention(self, hidden: Vectors, spans: Sequence[slice], prefix: str) -> Vectors:
        """Each token's mixture of its own text's tokens, all heads beside each other."""
        import numpy as np

        query, key, value = (
            self._dense(hidden, prefix + part).reshape(len(hidden), _HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        mixed: Vectors = np.empty_like(value)
        for span in spans:
            scores = query[:, span] @ key[:, span].swapaxes(1, 2) / np.float32(np.sqrt(DIM / _HEADS))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed[:, span] = weights / weights.sum(axis=-1, keepdims=True) @ value[:, span]
        return mixed.swapaxes(0, 1).reshape(len(hidden), DIM)

    def _added(self, hidden: Vectors, change: Vectors, prefix: str) -> Vectors:
        return self._normal(hidden + self._dense(change, f"{prefix}dense"), f"{prefix}LayerNorm")

    def _dense(self, rows: Vectors, name: str) -> Vectors:
        return rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normal(self, rows: Vectors, name: str) -> Vectors:
        """Layer normalisation."""
        import numpy as np

        centred = rows - rows.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(_EPSILON))
        rows = centred / scale * self._weights[f"{name}.weight"]
        rows += self._weights[f"{name}.bias"]
        return rows


class _Batch(NamedTuple):
    """Texts of one pass, from the `start`-th on."""

    start: int
    texts: Sequence[Sequence[int]]


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[_Batch]:
    """The texts in order, as many together as `_BATCH_TOKENS` allow."""
    start, tokens = 0, 0
    for place, ids in enumerate(texts):
        if tokens and tokens + len(ids) > _BATCH_TOKENS:
            yield _Batch(start, texts[start:place])
            start, tokens = place, 0
        tokens += len(ids)
    if tokens:
        yield _Batch(start, texts[start:])


def _gelu(values: Vectors) -> Vectors:
    """x · Φ(x), the exact form, with erf by Abramowitz & Stegun 7.1.26 (absolute error below 1.5e-7)."""
    import numpy as np

    size = np.abs(values)
    size *= np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = np.zeros_like(t)
    for coefficient in _ERF:
        tail += np.float32(coefficient)
        tail *= t
    tail *= np.exp(-np.square(size, out=size), out=size)
    halves: Vectors = 1 + np.copysign(1 - tail, values)
    halves *= values
    halves *= np.float32(0.5)
    return halves
