"""What copies of problem sets break, and that it is undone without touching what is whole."""

import pytest

from gym.train.grpo.domains.math import repair
from gym.train.grpo.domains.math.repair import COMMAND, CONTROL, INTEGER, WRAPPER


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("in the form \x0crac{m}{n}, where", r"in the form \frac{m}{n}, where"),
        ("$\x0corall x$", r"$\forall x$"),
        ("$2 \times 3^{n}$", r"$2 \times 3^{n}$".replace("\t", r"\t")),
        ("area of $\triangle ABC$", r"area of $\triangle ABC$".replace("\t", r"\t")),
        ("$a=\text{min}$ and $\theta$", r"$a=\text{min}$ and $\theta$"),
        ("$x \to 0$", r"$x \to 0$"),
        ("$\x08eta = \x08inom{4}{2}$, \x08oxed{2}", r"$\beta = \binom{4}{2}$, \boxed{2}"),
        ("$\\left(x\right)$", r"$\left(x\right)$"),
        ("$a \rightarrow b$", r"$a \rightarrow b$"),
        ("$\x0barphi = \x0bec{v}$", r"$\varphi = \vec{v}$"),
        ("$\x07lpha + \x07ngle A$", r"$\alpha + \angle A$"),
        ("angle $\nabla ABD$", r"angle $\nabla ABD$"),
    ],
)
def test_a_command_that_lost_its_head_to_an_escape_gets_it_back(broken: str, whole: str) -> None:
    assert repair.latex(broken) == (whole, (COMMAND,))


@pytest.mark.parametrize(
    "text",
    [
        "One.\n\tDetermine $n$.",
        "Walk\to the shop.",
        "In two steps:\tan apple, a pear",
        "[asy]\n\tdraw((0,0)--(1,1));\n\tdot((0,0));\n[/asy]",
        "If\neq is a name",
        r"$\frac{1}{2}$ and $\times$",
    ],
)
def test_honest_tabs_and_line_ends_stay(text: str) -> None:
    assert repair.latex(text) == (text, ())


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("fi\x0cve men", "five men"),
        ("the \x0cfirst pill", "the first pill"),
        ("\x0cnd the area", "find the area"),
        ("we de\x0cne $a$", "we define $a$"),
        ("it satis\x0ces", "it satisfies"),
        ("a di\x0bfference", "a difference"),
        ("$b \x14 \\le c$", "$b  \\le c$"),
        ("$m^2=\x0c\\frac{p}{q}$", "$m^2= \\frac{p}{q}$"),
        ("the end.\x0cNext page", "the end. Next page"),
        ("\x0c\x0cand", "and"),
        ("one\r\ntwo", "one\ntwo"),
    ],
)
def test_stray_control_characters_go_and_words_are_whole_again(broken: str, whole: str) -> None:
    found = repair.latex(broken)
    assert found.text == whole
    assert found.damage == (() if "\r" in broken else (CONTROL,))


@pytest.mark.parametrize(
    "wrapped",
    [
        "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
        "$Answer (without quotes) where $Answer is the answer to the problem.\n\nWhat is $1+1$?\n\n"
        'Remember to put your answer on its own line after "Answer:".',
        "What is $1+1$?\n让我们一步一步地思考。请以“Answer: \\boxed{<final_answer>}”的格式输出最终答案。",
        "What is $1+1$? Please reason step by step, and put your final answer within \\boxed{}.",
        "What is $1+1$?\nLet's think step by step and output the final answer within \\boxed{}.",
    ],
)
def test_a_trainers_wrapper_is_taken_off(wrapped: str) -> None:
    assert repair.question(wrapped) == ("What is $1+1$?", (WRAPPER,))


@pytest.mark.parametrize(
    "asked",
    [
        "What is $\\frac12$? Express your answer as a common fraction.",
        "The original answer is in \\(\\frac{k}{m}\\) format, please give the value of k + m.",
        "Find $x$. Provide your answer as an integer.",
    ],
)
def test_what_the_problem_itself_asks_for_is_kept(asked: str) -> None:
    assert repair.question(asked) == (asked, ())


@pytest.mark.parametrize(
    ("written", "plain"),
    [("025", "25"), ("000", "0"), ("58,500", "58500"), ("1{,}024", "1024"), ("336^\\circ", "336"), ("336^{\\circ}", "336"),
     ("70.0", "70"), ("$12$", "12"), ("−7", "-7"), ("-012", "-12"), (" 5. ", "5")],
)  # fmt: skip
def test_an_integer_is_written_plainly(written: str, plain: str) -> None:
    assert repair.integer(written) == (plain, (INTEGER,))


@pytest.mark.parametrize("answer", ["25", "-7", "0", "2.5", "1,24", "(1,000, 2)", "p - q", "12,34,567", "", "1/2"])
def test_any_other_answer_stays_as_it_is(answer: str) -> None:
    assert repair.integer(answer) == (answer, ())
