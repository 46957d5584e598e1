"""Questions over web pages: an agent that searches, opens and reads, its answers compared part by part (reward `web`)."""

from gym.train.grpo.domains.base import Domain
from gym.train.grpo.domains.web.dataset import load
from gym.train.grpo.domains.web.experience import veto
from gym.train.grpo.domains.web.prompts import CLOSED_BOOK, PROMPTS
from gym.train.grpo.domains.web.sets import SETS

DOMAIN = Domain(
    name="web", load=load, prompts=PROMPTS, reward="web", veto=veto, sets=tuple(SETS), closed_book=CLOSED_BOOK
)
