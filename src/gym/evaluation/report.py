"""What a run did and what it was worth, in one value; `report.md`, `report.html` and JSON are views of it (SPEC 4.4).

Both pages are made from the same sections, so their numbers are the same strings. Every mean stands with its interval,
its counts and the mean that counts failures as 0 (SPEC 1.2); what is not known is said to be unknown.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from gym.core.experience import Experience, Library
from gym.core.value import Value
from gym.evaluation import page
from gym.evaluation.effort import Effort
from gym.evaluation.estimate import Estimate
from gym.evaluation.families import Family
from gym.evaluation.metrics import Paired, Score
from gym.evaluation.sections import lead, sections, title
from gym.train.grpo.run_dir import StepStats


class Report(Value):
    """Everything a reader needs to judge a run and to repeat it."""

    name: str
    """Of the experiment."""
    model: str
    config: Mapping[str, Any]
    """`RunConfig.public()`: without secrets."""
    weights: str
    """One line: unchanged with its digest, or not verifiable (SPEC 5.4)."""
    verified: bool | None = None
    """Whether the weights' digests before and after agree; None when that cannot be known."""
    digests: Mapping[str, str] = {}
    """SHA-256 of settings and data, by name."""
    problems: Mapping[str, int] = {}
    """How many there were, by role: training, validation, held-out."""
    before: Score | None = None
    """Held-out problems with the library the run started from (usually none)."""
    after: Score | None = None
    """The same problems with the library the run returns."""
    gain: Paired | None = None
    closed_book: Score | None = Field(default=None, exclude_if=lambda found: found is None)
    """The same problems without tools and library, where the domain has this baseline."""
    over_closed_book: Paired | None = Field(default=None, exclude_if=lambda found: found is None)
    """What `after` adds to it."""
    validated: Paired | None = Field(default=None, exclude_if=lambda found: found is None)
    """The same difference on the validation problems by which the library was chosen: optimistic; None without a gate."""
    went_back: str = Field(default="", exclude_if=lambda why: not why)
    """Why the run returns an older library than its last."""
    families: tuple[Family, ...] = ()
    kind: str = ""
    """The column of the data that `families` differ in."""
    library: Library = Library()
    removed: tuple[Experience, ...] = Field(default=(), exclude_if=lambda removed: not removed)
    """Entries that left for their measured effect, as they were."""
    start_size: int = 0
    """Entries before the first step."""
    steps: tuple[StepStats, ...] = ()
    spent: Mapping[str, Any] = {}
    """`Meter.snapshot()`: `total`, and `stages` by stage and model."""
    predicted: Estimate | None = None
    overhead_tokens: int = 0
    """Tokens that the returned library adds to a prompt."""
    overhead_share: float | None = None
    """Their share of a held-out prompt, in [0, 1]; None when unknown."""
    started: str = ""
    """ISO 8601; empty when not recorded."""
    finished: str = ""
    seconds: float = 0.0
    effort: Effort | None = Field(default=None, exclude_if=lambda told: told is None)
    """What learning took, for `gym compare`."""
    notes: tuple[str, ...] = ()
    """What a reader must know: overlap allowed, a model changed in mid-run, problems left out."""


def markdown(report: Report) -> str:
    """`report.md`."""
    return page.markdown(title(report), lead(report), sections(report))


def html(report: Report) -> str:
    """`report.html`: one file that loads nothing."""
    return page.html(title(report), lead(report), sections(report))
