"""Competition mathematics: named sets, a boxed answer, graded by the reward `math`."""

from gym.train.grpo.domains.base import Domain
from gym.train.grpo.domains.math.dataset import load
from gym.train.grpo.domains.math.prompts import PROMPTS
from gym.train.grpo.domains.math.sets import PRESETS, SETS, preset

DOMAIN = Domain(name="math", load=load, prompts=PROMPTS, reward="math", sets=(*SETS, *PRESETS), preset=preset)
