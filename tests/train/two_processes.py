"""One of two processes of a training-free run on loopback; its last line of output says what it ended with."""

import json
import sys

from datasets import Dataset
from trl import GRPOConfig

from gym.llm.scripted import Scripted
from gym.train.grpo import GRPOTrainer
from tests.tiny_model import tiny
from tests.train.test_trainer import changed, rows, share_of_vowels, tensors
from tests.train.tiny_script import reflect


def main(folder: str) -> None:
    """As the single process of the test, with the answers of a step dealt out over two."""
    made = tiny()
    args = GRPOConfig(
        folder, per_device_train_batch_size=4, gradient_accumulation_steps=1, num_generations=4, max_completion_length=10,
        num_train_epochs=1, report_to=[], bf16=False, use_cpu=True, disable_tqdm=True, save_strategy="no", seed=3,
        logging_steps=1, activation_checkpointing=False,
    )  # fmt: skip
    trainer = GRPOTrainer(
        made.model, share_of_vowels, args, Dataset.from_list(rows()), processing_class=made.tokenizer, training_free=True,
        reflector=Scripted(reflect),
    )  # fmt: skip
    before, generated = tensors(made.model), []
    inner = made.model.generate

    def counting(ids: object, **more: object) -> object:
        generated.append(ids)
        return inner(ids, **more)

    made.model.generate = counting
    trainer.train()
    print(
        json.dumps(
            {
                "library": json.loads(trainer.library.to_json()),
                "unchanged": not changed(before, tensors(made.model)),
                "steps": trainer.state.global_step,
                "generated": len(generated),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
