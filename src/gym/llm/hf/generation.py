"""A batch of prompts through `generate`: one beginning for all where they share it, then left padding, then each row's rest."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from gym.core.chat import Completion, Sampling, Usage
from gym.errors import RequestRejected
from gym.llm.hf.draw import Draw, Ends, Row
from gym.llm.hf.prefix import Prefixes, Reused
from gym.llm.hf.prompt import ChatTemplate

NEUTRAL: dict[str, Any] = {"temperature": 1.0, "top_p": 1.0, "top_k": 50, "repetition_penalty": 1.0}
"""What `generate` takes for nothing said; otherwise it would take what the model's own settings say."""


class Asked(NamedTuple):
    """A prompt as tokens and how its reply is drawn, of at most `limit` tokens."""

    ids: tuple[int, ...]
    sampling: Sampling
    limit: int


class Generator:
    """A causal model with its template; `generate` is not to be called from two threads at once."""

    def __init__(self, model: Any, template: ChatTemplate, *, reuse_prefix: bool = True) -> None:
        self.model, self.template = model, template
        self._prefixes = Prefixes(model) if reuse_prefix else None

    def generate(
        self, batch: Sequence[Asked], abandoned: Callable[[int], bool] = lambda place: False
    ) -> tuple[Completion, ...]:
        """A completion for each, in order; a row that is `abandoned` on the way ends where it is.

        Raises `RequestRejected` when the batch does not fit into memory.
        """
        began = time.monotonic()
        rows = [Row(one.sampling.stop, one.limit, self.template.ends, self.template.text) for one in batch]
        with torch.no_grad(), evaluating(self.model):
            try:
                reused = self._prefixes.of([one.ids for one in batch]) if self._prefixes else None
                self._draw(batch, rows, reused, abandoned)
            except torch.OutOfMemoryError as error:
                raise RequestRejected(
                    f"{self.template.name}: no memory for {len(batch)} answers at once; lower --rollout-concurrency"
                ) from error
        seconds = time.monotonic() - began
        return tuple(
            self._completion(one, row, _cached(reused, place), seconds)
            for place, (one, row) in enumerate(zip(batch, rows, strict=True))
        )

    def _draw(
        self, batch: Sequence[Asked], rows: Sequence[Row], reused: Reused | None, abandoned: Callable[[int], bool]
    ) -> None:
        pad = _pad(self.template)
        ids, mask = padded([one.ids for one in batch], reused.length if reused else 0, pad)
        self.model.generate(
            ids.to(self.model.device),
            attention_mask=mask.to(self.model.device),
            generation_config=GenerationConfig(
                max_new_tokens=max(one.limit for one in batch),
                do_sample=False,  # `Draw` has drawn
                use_cache=True,
                **NEUTRAL,
                pad_token_id=pad,
                eos_token_id=sorted(self.template.ends),
            ),
            logits_processor=LogitsProcessorList([Draw([one.sampling for one in batch])]),
            stopping_criteria=StoppingCriteriaList([Ends(rows, abandoned)]),
            **({"cache": reused.cache} if reused else {}),
        )

    def _completion(self, asked: Asked, row: Row, cached: int, seconds: float) -> Completion:
        return Completion(
            text=row.text(),
            finish_reason=row.reason or "unknown",
            usage=Usage(prompt=len(asked.ids), cached=cached, completion=row.drawn),
            model=self.template.name,
            latency_s=seconds,
        )


def padded(prompts: Sequence[Sequence[int]], common: int, pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask, (rows, longest): the first `common` tokens, padding up to the longest, the rest.

    >>> [tensor.tolist() for tensor in padded([(1, 2, 3), (1, 4)], 1, 0)]
    [[[1, 2, 3], [1, 0, 4]], [[1, 1, 1], [1, 0, 1]]]
    """
    longest = max(map(len, prompts))
    gaps = [longest - len(ids) for ids in prompts]
    ids = [[*ids[:common], *[pad] * gap, *ids[common:]] for ids, gap in zip(prompts, gaps, strict=True)]
    mask = [[1] * common + [0] * gap + [1] * (longest - common - gap) for gap in gaps]
    return torch.tensor(ids), torch.tensor(mask)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Dropout and its like are off, and each module back as it was afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _cached(reused: Reused | None, place: int) -> int:
    """Prompt tokens that a row did not cost: the first one read what is new for all."""
    return 0 if reused is None else reused.known if place == 0 else reused.length


def _pad(template: ChatTemplate) -> int:
    """Any token will do: it is masked."""
    pad = template.tokenizer.pad_token_id
    return min(template.ends, default=0) if pad is None else int(pad)
