"""Which problems speak of a figure."""

import pytest

from gym.train.grpo.domains.math.figures import needs_figure


@pytest.mark.parametrize(
    "text",
    [
        "Find the area. [asy] draw((0,0)--(1,1)); [/asy]",
        "Find the area.\n<asy>\nsize(7cm);\n</asy>",
        "\\begin{tikzpicture}\\draw (0,0);\\end{tikzpicture}",
        "How many? ![Grid](https://example.org/a.png)",
        "How many? [img]https://example.org/a.png[/img]",
        "In the figure, $ABCD$ is a square.",
        "In the adjoining figure, points lie on a line.",
        "The diagram shows twenty circles.",
        "Consider the following diagram.",
        "A square is divided as shown. Find its area.",
        "In the five-sided star shown, find $x$.",
        "The grid below is an example.",
        "(See figure.)",
        "如图，$AB$ 是单位圆的直径。",
        "图中有几个三角形？",
    ],
)
def test_a_drawing_or_words_about_one_need_a_figure(text: str) -> None:
    assert needs_figure(text)


@pytest.mark.parametrize(
    "text",
    [
        "It can be shown that $f$ is constant. Find $f(0)$.",
        "The graph of $y = x^2$ meets the line $y = 4$ twice.",
        "The two figures are congruent.",
        "She figures the value of $30^2$.",
        "Find the image of $P$ after a reflection.",
        "The scores are shown in the table. \\begin{tabular}{cc}1&2\\end{tabular}",
        "Rows 1 to 3 are shown below: \\begin{array}{c}1\\end{array}",
        "某简单图 $G=(V,E)$ 有 $5$ 条边。",
    ],
)
def test_mathematical_use_of_the_same_words_needs_none(text: str) -> None:
    assert not needs_figure(text)
