"""Gradient GRPO, LoRA and the training-free mode side by side, on a tiny random model: no download, a minute on one core.

The model says random letters and is paid for vowels. It cannot reflect, so a function stands in for the reflector; with a
model of your own leave `reflector` out, or name a better one ("deepseek-chat", say).
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig

from gym.core.chat import Message, Sampling
from gym.llm.scripted import Scripted
from gym.train.grpo import FinetuningArguments, GRPOTrainer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;!?'\"()[]{}<>/*#%+-=_|\n"
TEMPLATE = (
    "{% for m in messages %}<start>{{ m.role }}\n{{ m.content }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)
WORDS = ("first", "second", "third", "fourth")
DATA = Dataset.from_list([{"prompt": [{"role": "user", "content": f"Say the {word} word."}]} for word in WORDS])


def random_model() -> tuple[Any, Any]:
    """Some 25,000 parameters and a tokenizer of letters, the same every time."""
    vocabulary = {token: place for place, token in enumerate(("<pad>", "<start>", "<end>", "<unk>", *LETTERS))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<end>", unk_token="<unk>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<start>"]})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=4096, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return LlamaForCausalLM(config), tokenizer


def vowels(completions: Sequence[Any], **columns: Any) -> list[float]:
    """The share of vowels in each reply."""
    texts = [turns[0]["content"] for turns in completions]
    return [sum(letter in "aeiouAEIOU" for letter in text) / max(len(text), 1) for text in texts]


def reflect(messages: Sequence[Message], sampling: Sampling) -> str:
    """What a reflector would write, by the stage that asks."""
    system, told = messages[0].content, messages[1].content
    if not system.startswith("You compare"):
        return "1. Wrote letters." if system.startswith("You review") else "[]"
    word = next(word for word in WORDS if f"the {word} word" in told)
    return f'[{{"option": "add", "experience": "When asked for the {word} word, write {word} and vowels only."}}]'


def main() -> None:
    """Train each way, and say what changed."""
    ways: dict[str, dict[str, Any]] = {
        "gradient": {},
        "lora": {"finetuning_args": FinetuningArguments(finetuning_type="lora")},
        "training-free": {"continuous_learning_grpo": True, "reflector": Scripted(reflect)},
    }
    for name, way in ways.items():
        model, tokenizer = random_model()
        before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        with tempfile.TemporaryDirectory() as folder:
            args = GRPOConfig(
                str(Path(folder)), per_device_train_batch_size=4, gradient_accumulation_steps=2, num_generations=4,
                max_completion_length=10, learning_rate=2e-2, num_train_epochs=10, logging_steps=1, report_to=[],
                save_strategy="no", disable_tqdm=True, bf16=False, use_cpu=True, seed=3,
            )  # fmt: skip
            trainer = GRPOTrainer(model, vowels, args, DATA, processing_class=tokenizer, **way)
            trainer.train()
        rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
        after = {key.replace(".base_layer", ""): tensor for key, tensor in model.state_dict().items()}
        changed = sum(not tensor.equal(after[key]) for key, tensor in before.items())
        first, last = sum(rewards[:4]) / 4, sum(rewards[-4:]) / 4
        print(f"{name}: mean reward {first:.2f} → {last:.2f}, {changed} of {len(before)} tensors of the model changed")
        for experience in trainer.library:
            print(f"  [{experience.id}] {experience.text}")


if __name__ == "__main__":
    main()
