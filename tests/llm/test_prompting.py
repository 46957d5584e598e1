"""The prompt layout: prefix first, nothing when empty, texts taken literally."""

import pytest

from gym.core.prompting import LIBRARY_HEADING, format_with_experiences, library_block, solve_messages

LIBRARY = "[G0]. When adding, align digits.\n[G1]. For sums, check twice."


@pytest.mark.parametrize("empty", [None, "", "None", " None\n"])
def test_an_empty_library_leaves_no_trace(empty: str | None) -> None:
    assert solve_messages("2 + 2?", empty, "Be brief.") == solve_messages("2 + 2?", instructions="Be brief.")
    assert [message.role for message in solve_messages("2 + 2?", empty)] == ["user"]
    assert format_with_experiences("2 + 2?", empty) == "Problem: 2 + 2?"
    assert library_block(empty) == ""


def test_instructions_and_library_come_before_the_query() -> None:
    system, user = solve_messages("2 + 2?", LIBRARY, "Be brief.")
    assert (system.role, system.content) == ("system", f"Be brief.\n\n{LIBRARY_HEADING}\n{LIBRARY}")
    assert (user.role, user.content) == ("user", "2 + 2?")


def test_the_common_prefix_of_two_problems_covers_instructions_and_library() -> None:
    first, second = (
        "\n".join(message.content for message in solve_messages(query, LIBRARY, "Be brief."))
        for query in ("2 + 2?", "5 - 1?")
    )
    differ = next(place for place, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
    assert first[:differ].startswith(f"Be brief.\n\n{LIBRARY_HEADING}\n{LIBRARY}")


def test_queries_and_experiences_are_taken_literally() -> None:
    query, library = "A={1;2} $x^2$ {{query}} {problem}", "[G0]. {{library}} $1 \\n {0}"
    system, user = solve_messages(query, library)
    assert user.content == query
    assert system.content.endswith(library)


def test_the_one_text_form_has_no_none_and_real_newlines() -> None:
    text = format_with_experiences("2 + 2?", LIBRARY)
    assert text == f"{LIBRARY_HEADING}\n{LIBRARY}\n\nProblem: 2 + 2?"
    assert "None" not in format_with_experiences("2 + 2?", None, system=None)
    assert "\\n" not in text
    assert format_with_experiences("2 + 2?", LIBRARY, "Be brief.").startswith("Be brief.\n\n")
