"""Issue 2 item 9: the report tells what a run was worth, the same in Markdown, HTML and JSON, and loads nothing."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

from gym.core.chat import Usage
from gym.core.experience import Effect, Experience, Library
from gym.core.problem import Failure, Problem, ToolUse, Trajectory, Verdict
from gym.core.rollout import Group, Rollout, Tally
from gym.evaluation import figures
from gym.evaluation.estimate import Shape, estimate
from gym.evaluation.families import families
from gym.evaluation.metrics import paired, score
from gym.evaluation.report import Report, html, markdown
from gym.train.grpo.run_dir import StepStats

HOSTILE = 'For <script>alert("x")</script> & *stars* | pipes, write `code` [G0](https://example.org/x).'


def group(name: str, family: str, *rewards: float) -> Group:
    problem = Problem(id=name, query=name, metadata={"family": family})
    answers = [
        Rollout(
            problem=problem,
            index=index,
            trajectory=Trajectory(messages=(), output="x", usage=Usage(prompt=90, completion=4)),
            verdict=Verdict(reward=reward),
        )
        for index, reward in enumerate(rewards)
    ]
    return Group(problem=problem, rollouts=tuple(answers))


def evaluations() -> tuple[list[Tally], list[Tally]]:
    before = [group(f"p{place}", ("csv", "time")[place % 2], 0, 0, place % 3 == 0).tally for place in range(24)]
    after = [group(f"p{place}", ("csv", "time")[place % 2], 1, place % 4 != 0, 1).tally for place in range(24)]
    return before, after


def bill(calls: int, usd: float | None) -> dict[str, Any]:
    return {
        "calls": calls, "replayed": 0, "failed": 1, "estimated": 0, "prompt_tokens": 90 * calls, "cached_tokens": 40 * calls,
        "completion_tokens": 4 * calls, "reasoning_tokens": 0, "latency_s": 1.5, "usd": usd,
    }  # fmt: skip


def full() -> Report:
    before, after = evaluations()
    steps = tuple(
        StepStats(
            epoch=0, step=place, problems=8, rollouts=40, failed=place, no_answer=0, mean=0.3 + place / 10,
            mean_failed_as_0=0.3, informative=5, homogeneous=3, proposed=6, accepted={"add": 2, "merge": 1}, rejected=3,
            library_size=2 * place + 2, library_tokens=40, seconds=31.4,
        )
        for place in range(3)
    )  # fmt: skip
    entries = (
        Experience(id="G0", text=HOSTILE, confidence=0.71),
        Experience(id="G3", text="For times of day, write h:mm AM or PM and nothing else.", created_step=2),
    )
    spent = {
        "total": bill(400, None),
        "stages": {"rollout": {"m": bill(300, None)}, "critique": {"m": bill(100, 0.25)}},
    }
    return Report(
        name="support-desk", model="local:qwen2.5-coder-1.5b", config={"epochs": 3, "seed": 7, "val": ""},
        weights="unchanged, SHA-256 abc", digests={"settings": "f00"}, before=score(before), after=score(after),
        gain=paired(before, after), families=families(before, after), library=Library(entries=entries, next_id=4),
        steps=steps, spent=spent, predicted=estimate(Shape(problems=24, test_problems=24)), overhead_tokens=44,
        overhead_share=0.31, seconds=187.0, notes=("2 problems are in both the training and the held-out set",),
    )  # fmt: skip


class Page(HTMLParser):
    """What a browser would see: tags with their attributes, the text, and the table cells."""

    VOID = frozenset({"meta", "br", "img", "link", "use", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.shown: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.shown.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_the_page_is_well_formed_and_ids_are_unique() -> None:
    page = Page(html(full()))
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    names = {(attributes["href"] or "").removeprefix("#") for tag, attributes in page.tags if tag == "use"}
    assert names <= set(ids)


def test_the_page_loads_nothing() -> None:
    text = html(full())
    tags = Page(text).tags
    assert {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "object", "base"} == set()
    places = [
        value or "" for _, attributes in tags for key, value in attributes.items() if key.endswith(("src", "href"))
    ]
    assert all(place.startswith("#") for place in places)
    assert re.findall(r"https?://\S*", text.replace("https://example.org/x", "")) == []
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []


def test_what_a_model_wrote_appears_literally() -> None:
    report = full()
    assert HOSTILE in Page(html(report)).cells
    assert "<script" not in html(report)
    line = next(line for line in markdown(report).splitlines() if line.startswith("| G0 "))
    assert "\\<script\\>" in line
    assert "\\| pipes" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 5


def test_a_lone_surrogate_can_be_written() -> None:
    report = full().model_copy(
        update={"library": Library(entries=(Experience(id="G0", text="so \ud83c it is"),), next_id=1)}
    )
    assert html(report).encode("utf-8")
    assert markdown(report).encode("utf-8")


def test_kinds_of_problems_in_any_script_are_drawn_and_none_steers_a_terminal() -> None:
    before, after = evaluations()
    names = {"csv": "数 $x$", "time": "\x1b[31m\ud83c\x00"}
    old, new = (
        [one._replace(metadata={"level": names[one.metadata["family"]]}) for one in side] for side in (before, after)
    )
    report = full().model_copy(update={"families": families(old, new), "kind": "level"})
    for page in (html(report), markdown(report)):  # a warning of the chart library would be an error here
        assert "数 " in page
        assert not {"\x1b", "\x00"} & set(page)
        assert page.encode("utf-8")
    assert "## By level\n" in markdown(report)


def test_markdown_and_html_show_the_same_numbers() -> None:
    report = full()
    unescaped = re.sub(r"\\([^|])", r"\1", markdown(report)).replace("&amp;", "&")
    rows = [line for line in unescaped.splitlines() if line.startswith("| ") and not set(line) <= set("|-: ")]
    cells = [cell.strip().replace("\\|", "|") for row in rows for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
    assert cells == Page(html(report)).cells
    assert len(cells) > 100


def test_the_first_lines_say_what_it_is_worth() -> None:
    report = full()
    assert report.gain is not None
    assert report.gain.interval is not None
    lead = markdown(report).split("\n\n")[1].replace("\\", "")
    for said in ("2 experiences", "3 min 7 s", "24 held-out problems", f"{report.gain.difference:+.3f}", "a gain"):
        assert said in lead
    assert f"[{report.gain.interval.low:+.3f}, {report.gain.interval.high:+.3f}]" in lead


@pytest.mark.parametrize(
    "said",
    ["0.889", "failed as 0", "no answer", "2 add, 1 merge", "5 / 3", "1 / 40", "31.0 %", "unknown", "$0.2500", "SHA-256 abc",
     "2 problems are in both", "support-desk", "at most", "spent", "calls predicted", "csv", "time"],
)  # fmt: skip
def test_everything_a_reader_needs_is_there(said: str) -> None:
    shown = " ".join(Page(html(full())).shown)
    assert said in shown
    assert said in re.sub(r"\\(.)", r"\1", markdown(full()))


def test_every_chart_has_its_numbers_in_words() -> None:
    charts = [attributes for tag, attributes in Page(html(full())).tags if tag == "svg"]
    assert all(chart["role"] == "img" for chart in charts)
    labels = [chart["aria-label"] or "" for chart in charts]
    told = ("before 0.111", "time after 1.000", "each: 0, 2, 4, 6", "2: 0.500", "rollout 28,200")
    assert len(labels) == len(told)
    assert all(said in label for said, label in zip(told, labels, strict=True))


def test_dollars_are_drawn_only_when_every_stage_has_them() -> None:
    report = full()
    known = {"total": bill(400, 1.25), "stages": {"rollout": {"m": bill(300, 1.0)}, "critique": {"m": bill(100, 0.25)}}}
    assert "Dollars by stage" not in html(report)
    assert "Dollars by stage: rollout $1.00, critique $0.2500" in html(report.model_copy(update={"spent": known}))


def test_what_costs_nothing_is_free_and_what_has_no_price_is_unknown() -> None:
    def spent(usd: float | None) -> str:
        row = bill(10, usd)
        report = full().model_copy(update={"spent": {"total": row, "stages": {"rollout": {"local:x": row}}}})
        return markdown(report)

    assert "940 tokens, free" in spent(0.0)
    assert "940 tokens, dollars unknown" in spent(None)
    assert "$0" not in spent(None)


def test_each_stage_is_predicted_beside_what_it_spent() -> None:
    rows = [line for line in markdown(full()).partition("## Predicted beside spent")[2].splitlines() if "| " in line]
    rollout = next(row for row in rows if row.startswith("| rollout")).split(" | ")
    assert (rollout[1], rollout[2], rollout[4]) == ("360", "300", "28,200")
    assert next(row for row in rows if row.startswith("| critique")).split(" | ")[1:3] == ["36 … 72", "100"]
    assert next(row for row in rows if row.startswith("| total")).split(" | ")[2] == "400"


def test_failed_answers_stand_beside_the_mean_and_in_the_second_mean() -> None:
    """FAULTS S8: of 8 samples 2 are right and 2 failed: 2/6 of the scored, 2/8 of all."""
    answers = group("p", "csv", 1, 1, 0, 0, 0, 0).rollouts
    lost = tuple(
        Rollout(problem=answers[0].problem, index=6 + n, failure=Failure(boundary="generate", type="X", message="x"))
        for n in range(2)
    )
    found = score([Group(problem=answers[0].problem, rollouts=answers + lost).tally])
    text = markdown(full().model_copy(update={"before": found}))
    rows = {
        line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1] for line in text.splitlines() if " | " in line
    }
    assert (rows["mean \\[95 %\\]"], rows["failed as 0"], rows["failed"]) == ("0.333", "0.250", "2")


def test_warnings_come_first() -> None:
    text = markdown(full())
    assert text.index("2 problems are in both") < text.index("## What it is worth")


def test_reading_a_report_loads_no_chart_library() -> None:
    code = "import sys, gym.evaluation.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_charts_follow_the_colours_of_the_page() -> None:
    text = html(full())
    assert "prefers-color-scheme: dark" in text
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.S))
    assert "var(--accent)" in drawn
    assert re.findall(r"#[0-9a-f]{6}\b", re.sub(r"(href|url\()[^ >]*", "", drawn)) == []


def test_the_same_report_gives_the_same_bytes() -> None:
    assert html(full()) == html(full())


def test_a_run_without_held_out_problems_says_that_its_worth_is_unknown() -> None:
    report = Report(name="x", model="m", config={}, weights="not verifiable")
    assert "not known" in markdown(report)
    assert Page(html(report)).open == []


def test_a_report_is_json() -> None:
    report = full()
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_tool_use_is_a_table_of_its_own_and_absent_where_no_tool_was_used() -> None:
    report = full()
    assert "## Tools" not in markdown(report)
    assert '"tools"' not in report.model_dump_json()
    assert report.before is not None
    used = {"python": ToolUse(calls=36, errors=3, labels={"exception": 2, "wall": 1})}
    told = markdown(report.model_copy(update={"before": report.before.model_copy(update={"tools": used})}))
    assert "| before | python | 36 | 0.50 | 3 (2 exception, 1 wall) |" in told.partition("## Tools")[2]


def test_the_name_of_a_tool_that_a_model_made_up_cannot_steer_a_terminal() -> None:
    assert figures.tools({"\x1b[2Jgone": ToolUse(calls=1, errors=1)}) == r"'\x1b[2Jgone' 1 call, errors 1"


def test_what_each_experience_does_is_told_where_anything_is_known_of_it() -> None:
    """Issue 5, credit: uses, effect, interval, verdict, also of what was removed."""
    report = full()
    assert "## What each experience does" not in markdown(report)
    cited, plain = report.library.entries
    cited = cited.model_copy(update={"uses": 12, "helpful": 8, "harmful": 2})
    told = markdown(report.model_copy(update={"library": Library(entries=(cited, plain), next_id=4)}))
    assert "| 12 | 8 / 2 | 0.800 \\[0.490, 0.943\\] | – | – | not measured |" in told
    assert "No effect was measured" in told

    def seen(mean: float, reach: float) -> Experience:
        effect = Effect(mean=mean, low=mean - reach, high=mean + reach, rollouts=240, problems=24)
        return plain.model_copy(update={"effect": effect})

    library = Library(entries=(cited.model_copy(update={"effect": seen(0.2, 0.1).effect}), seen(0.1, 0.2)), next_id=4)
    gone = (seen(-0.3, 0.1), seen(0.0, 0.04))
    config = {**report.config, "credit_margin": 0.05}
    told = markdown(report.model_copy(update={"library": library, "removed": gone, "config": config}))
    assert "+0.200 \\[+0.100, +0.300\\] | 240 answers, 24 problems | helps |" in told
    for verdict in ("| unclear |", "| harms: removed |", "| adds too little: removed |"):
        assert verdict in told


def test_families_need_the_key() -> None:
    before, after = evaluations()
    assert [family.name for family in families(before, after)] == ["csv", "time"]
    assert families(before, after, key="level") == ()
