"""What the math domain tells the model: how to answer, and what reflection on mathematics is to look at.

The instructions to solve are the same in training and evaluation, without and with a library (SPEC 1.11).
"""

from gym.train.grpo.domains.base import Prompts, StageWords

SOLVE = (
    "You solve mathematics problems. Reason step by step and check your result. "
    r"End with one line that holds the final answer alone, in \boxed{}."
)

_KINDS = """Here an experience names a kind of problem that can be recognised (a remainder of a power, a count with
restrictions, a sum of a sequence, a tangent circle) and the method or check that decided: a substitution, an invariant,
a small case to count by hand, a bound, a second way to the result. It holds no number, name or result of this problem."""

_CONSOLIDATE = """Keep methods apart by kind of problem (algebra, counting, number theory, geometry), and checks and the
form of the answer apart from methods. Advice that fits every problem, such as to be careful, is deleted."""

_SUMMARIZE = """This is mathematics. For each step name the method, and write the decisive equation or count. At the
first wrong step say what kind of error it is: a wrong idea, a case left out or counted twice, arithmetic, a misread
condition, or the form of the final answer."""

PROMPTS = Prompts(
    solve=SOLVE,
    labelled=StageWords(
        summarize=f"""{_SUMMARIZE} Compare the final answer with the reference answer; a right answer by a wrong way is
no success.""",
        critique=f"""{_KINDS} Prefer what led to the reference answer by reasoning over what met it by luck.""",
        consolidate=_CONSOLIDATE,
    ),
    unlabelled=StageWords(
        summarize=f"""{_SUMMARIZE} Nobody knows the right answer: verify each step by yourself and say which ones you could
not verify.""",
        critique=f"""{_KINDS} The rewards only say which final answer most attempts gave, and most may be wrong: where the
reasoning of a less rewarded attempt is sounder, learn from that attempt.""",
        consolidate=_CONSOLIDATE,
    ),
)
