"""A tiny random language model whose tokens are letters, made in a moment: it says nonsense, but says it the same every time."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from gym.llm.hf.adapter import HFAdapter

NEEDED = ("torch", "transformers", "trl", "peft", "gguf")
TRAIN = pytest.mark.skipif(
    not os.environ.get("CI") and any(find_spec(name) is None for name in NEEDED), reason="needs the extra [train]"
)
"""On the gate's machine nothing is skipped: there a missing package fails the test."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;!?'\"()[]{}<>/*#%+-=_|\n"
SPECIAL = ("<pad>", "<|im_start|>", "<|im_end|>", "<unk>")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Tiny(NamedTuple):
    """A causal model of some 25,000 parameters and its tokenizer."""

    model: Any
    tokenizer: Any

    def adapter(self, **settings: Any) -> "HFAdapter":
        """The model behind `ChatModel`."""
        from gym.llm.hf.adapter import HFAdapter

        return HFAdapter(self.model, self.tokenizer, name="hf:tiny", **settings)

    def saved(self, folder: Path) -> Path:
        """The folder, with both as `save_pretrained` leaves them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return folder


def letters() -> Any:
    """A tokenizer of letters with a ChatML template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: place for place, token in enumerate((*SPECIAL, *LETTERS))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<|im_end|>", unk_token="<unk>", padding_side="left"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = CHATML
    return tokenizer


def tiny(seed: int = 0, *, context: int = 4096, architecture: str = "llama") -> Tiny:
    """A random model; the same for the same seed."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = letters()
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        architecture, vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=context, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return Tiny(AutoModelForCausalLM.from_config(config).eval(), tokenizer)
