"""Zoo Gym: a frozen language model gets better at a task by what it reads, not by what it weighs.

Continuous GRPO (Training-Free GRPO, arXiv:2510.08191). The method lives in `gym.train.grpo`; the command is `gym`.
"""

__version__ = "0.1.0"
