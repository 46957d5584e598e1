"""Are a run's weights, or a signed library and its model, what they were said to be?

Everything is read again; nothing is fetched, and no model is asked.
"""

from gym.train.grpo.verification.check import Check, Reading
from gym.train.grpo.verification.of_library import verify_library
from gym.train.grpo.verification.of_run import verify_run

__all__ = ["Check", "Reading", "verify_library", "verify_run"]
