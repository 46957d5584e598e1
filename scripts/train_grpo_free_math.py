"""Train on mathematics as the paper does: the command `gym train configs/grpo_free_math.yaml` as a script.

Options are the command's: `python scripts/train_grpo_free_math.py --dataset aime24 --model NAME --base-url URL`.
"""

import sys
from pathlib import Path

from gym.cli.main import main

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "grpo_free_math.yaml"

if __name__ == "__main__":
    sys.argv[1:] = ["train", str(CONFIG), *sys.argv[1:]]
    main()
