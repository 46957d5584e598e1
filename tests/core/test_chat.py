"""What goes to a model keeps its shape on disk when nothing of it concerns tools."""

from gym.core.chat import Completion, Message, Sampling, ToolCall, ToolSpec
from gym.core.problem import ToolUse, Trajectory, tool_use
from gym.llm.asked import Asked

KEY_BEFORE_THERE_WERE_TOOLS = "7ea9d3b495ab43bfd1329fd190890cf293b35d4b7332e74838948aee7bb48ea0"
SPEC = ToolSpec(name="add", description="adds", parameters={"type": "object"})


def test_a_request_without_tools_has_the_key_it_had_before_there_were_tools() -> None:
    messages = [Message(role="system", content="s"), Message(role="user", content="é")]
    sampling = Sampling(temperature=0.7, max_tokens=5, seed=3, stop=("x",), sample=2)
    assert Asked.of("m", messages, sampling).key == KEY_BEFORE_THERE_WERE_TOOLS


def test_nothing_about_tools_is_written_where_there_are_none() -> None:
    assert Message(role="user", content="?").model_dump() == {"role": "user", "content": "?"}
    assert "tools" not in Sampling().model_dump()
    assert "tool_calls" not in Completion(text="4").model_dump()
    assert "tools" not in Trajectory(messages=(), output="").model_dump()


def test_tools_and_calls_are_part_of_a_requests_identity_and_survive_the_disk() -> None:
    asked = [Message(role="user", content="?")]
    call = ToolCall(id="a", name="add", arguments="{}")
    turns = [*asked, Message(role="assistant", content="", tool_calls=(call,), reasoning="hm")]
    answered = [*turns, Message(role="tool", content="4", tool_call_id="a")]
    keys = {Asked.of("m", said, Sampling()).key for said in (asked, turns, answered)}
    assert len(keys | {Asked.of("m", asked, Sampling(tools=(SPEC,))).key}) == 4
    for message in answered:
        assert Message.model_validate_json(message.model_dump_json()) == message
    assert Sampling.model_validate_json(Sampling(tools=(SPEC,)).model_dump_json()).tools == (SPEC,)


def test_tool_use_is_summed_by_name_and_by_what_the_errors_were() -> None:
    slow, both = ToolUse(calls=2, errors=1, labels={"wall": 1}), {"exception": 1, "wall": 2}
    used = [
        {"python": slow},
        {},
        {"python": ToolUse(calls=4, errors=3, labels=both), "add": ToolUse(calls=1, errors=1)},
    ]
    total = tool_use(used)
    assert list(total) == ["add", "python"]
    assert total["add"] == ToolUse(calls=1, errors=1)
    assert total["python"] == ToolUse(calls=6, errors=4, labels={"exception": 1, "wall": 3})


def test_a_trajectory_without_tools_says_nothing_of_them_on_disk() -> None:
    assert "tools" not in Trajectory(messages=(), output="").model_dump()
    assert ToolUse(calls=1).model_dump() == {"calls": 1, "errors": 0}
