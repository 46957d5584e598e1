"""Train on web questions: the command `gym train configs/grpo_free_web.yaml` as a script.

Options are the command's: `python scripts/train_grpo_free_web.py --dataset data/site/train.jsonl --model NAME --base-url URL`.
"""

import sys
from pathlib import Path

from gym.cli.main import main

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "grpo_free_web.yaml"

if __name__ == "__main__":
    sys.argv[1:] = ["train", str(CONFIG), *sys.argv[1:]]
    main()
