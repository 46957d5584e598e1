"""The same problems without tools and library: how much of an agent's result is what its model knows by heart.

Large models know many facts of the live web, so a mean reward over web questions says little alone. The closed-book answers
have the seeds, sampling and reward of the result, so that the difference is paired by problem.
"""

from gym.config import RunConfig
from gym.train.grpo.domains.base import Domain

NAME = "closed-book"
"""Of its record in the run's folder."""
LABEL = "closed book"
TOLD = "Closed book: the same problems without tools and library, from the model's memory."


def without_tools(config: RunConfig, domain: Domain) -> RunConfig | None:
    """The settings of the baseline; None where no agent is measured, or the domain has no such baseline."""
    if config.mode != "agent" or not domain.closed_book:
        return None
    return config.model_copy(update={"mode": "chat", "tools": (), "system_prompt": domain.closed_book})
