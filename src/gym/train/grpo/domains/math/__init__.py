r"""Competition mathematics: named sets, a boxed answer, graded by the reward `math`."""

from gym.train.grpo.domains.base import Domain, Prompts
from gym.train.grpo.domains.math.dataset import load
from gym.train.grpo.domains.math.sets import preset

SOLVE = (
    "You solve mathematics problems. Reason step by step and check your result. "
    r"End with one line that holds the final answer alone, in \boxed{}."
)

DOMAIN = Domain(name="math", load=load, prompts=Prompts(solve=SOLVE), reward="math", preset=preset)
