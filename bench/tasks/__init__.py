"""Task families of ours: seeded problems whose answers follow a house rule that no question states, and the rule in words.

from bench.tasks import FAMILIES
train, val, test = FAMILIES["csv"].splits(seed=0)
"""

from collections.abc import Mapping

from bench.tasks import conventions, labels, numbers, priorities
from bench.tasks.family import Family

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (*conventions.FAMILIES, *labels.FAMILIES, *numbers.FAMILIES, *priorities.FAMILIES)
}
