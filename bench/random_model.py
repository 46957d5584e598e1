"""Random language models of any size whose tokens are letters, made in a moment: they say nonsense, the same every time."""

from typing import Any, NamedTuple

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;!?'\"()[]{}<>/*#%+-=_|\n"
SPECIAL = ("<pad>", "<|im_start|>", "<|im_end|>", "<unk>")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class RandomModel(NamedTuple):
    """A causal model and its tokenizer, as transformers has them."""

    model: Any
    tokenizer: Any


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


def random_model(
    seed: int = 0, *, architecture: str = "llama", context: int = 4096, width: int = 32, layers: int = 2, heads: int = 4
) -> RandomModel:
    """The same for the same seed and shape; `width` is that of the hidden states."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = letters()
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        architecture, vocab_size=len(tokenizer), hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads // 2, max_position_embeddings=context, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return RandomModel(AutoModelForCausalLM.from_config(config).eval(), tokenizer)
