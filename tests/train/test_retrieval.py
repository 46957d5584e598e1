"""What of a library each problem is shown (SPEC 2.9)."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gym.config import RunConfig
from gym.core.admission import estimate_tokens
from gym.core.chat import Message
from gym.core.experience import Experience, Library
from gym.core.problem import Problem
from gym.core.prompting import solve_messages
from gym.core.rollout import Rollout
from gym.embedding import DIM, Embedder, Vectors
from gym.embedding.store import Store
from gym.errors import ConfigError
from gym.llm.call_log import CallLog
from gym.train.grpo.retrieval import Retrieval, Rule
from gym.train.grpo.training_free_workflow import Run, train
from gym.train.grpo.watch import Silent

Configured = Callable[..., RunConfig]


class Digits:
    """Texts are as near as their numbers: the first axis turns into the second from 0 to 9."""

    name, dim = "digits", DIM

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(len(texts))
        rows = np.zeros((len(texts), DIM), dtype=np.float32)
        angles = np.array([int(text.split()[-1]) * np.pi / 18 for text in texts])
        rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
        return rows


def library_of(*digits: int) -> Library:
    entries = [Experience(id=f"G{n}", text=f"When asked, think of {digit}") for n, digit in enumerate(digits)]
    return Library.of(entries)


def problem(digit: int) -> Problem:
    return Problem(id=f"p{digit}", query=f"Which number is {digit}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


def retrieval(folder: Path, rule: Rule, encoder: Callable[[], Embedder] = Digits) -> Retrieval:
    return Retrieval(rule, encoder, store=lambda opened: Store(opened, folder))


def never() -> Embedder:
    raise AssertionError("nothing need be embedded")


def test_top_k_shows_the_nearest_in_id_order(folder: Path) -> None:
    nearest = retrieval(folder, Rule("top_k", k=3))
    library = library_of(9, 2, 0, 3, 1, 8)
    assert nearest(library, problem(2)).ids == ("G1", "G3", "G4")
    assert nearest(library, problem(9)).ids == ("G0", "G3", "G5")
    assert nearest(library_of(5, 5, 5, 5), problem(5)).ids == ("G0", "G1", "G2")
    assert nearest(library, problem(2)) is nearest(library, problem(2), 4, 7)


@pytest.mark.parametrize("rule", [Rule(), Rule("all"), Rule("top_k", k=6), Rule("auto", k=1)])
def test_a_library_that_fits_is_shown_whole_and_nothing_is_embedded(folder: Path, rule: Rule) -> None:
    shown = retrieval(folder, rule, never)
    for library in (library_of(9, 2, 0, 3, 1, 8), Library()):
        assert shown(library, problem(2)) is library
        assert shown.near(library, problem(2)) is library


def test_auto_takes_the_nearest_when_the_library_is_over_the_budget(folder: Path) -> None:
    library = library_of(9, 2, 0, 3, 1, 8)
    tokens = estimate_tokens(library.render())
    assert retrieval(folder, Rule("auto", k=2, token_budget=tokens))(library, problem(2)) is library
    assert retrieval(folder, Rule("auto", k=2, token_budget=tokens - 1))(library, problem(2)).ids == ("G1", "G3")


def test_entries_below_the_relevance_are_left_out(folder: Path) -> None:
    library, near = library_of(0, 9, 1, 0), problem(0)
    assert retrieval(folder, Rule("auto", relevance=0.9))(library, near).ids == ("G0", "G2", "G3")
    assert retrieval(folder, Rule("all", relevance=0.999))(library, near).ids == ("G0", "G3")
    assert retrieval(folder, Rule("top_k", k=1, relevance=0.9))(library, near).ids == ("G0",)
    assert retrieval(folder, Rule("top_k", relevance=0.9))(library, problem(5)).ids == ()
    assert retrieval(folder, Rule("auto", relevance=0.9)).near(library, problem(5)) is library


@given(
    st.lists(st.integers(0, 9), max_size=25),
    st.integers(0, 9),
    st.integers(1, 8),
    st.integers(0, 90),
    st.none() | st.floats(0, 1),
)
def test_what_is_shown_is_a_full_sort_cut_by_k_budget_and_relevance(
    folder: Path, digits: list[int], asked: int, k: int, budget: int, relevance: float | None
) -> None:
    library = library_of(*digits)
    shown = retrieval(folder, Rule("top_k", k, relevance, budget))(library, problem(asked))
    cosine = [round(float(np.float32(np.cos((digit - asked) * np.pi / 18))), 6) for digit in digits]
    ranked = sorted(library, key=lambda entry: (-cosine[entry.number], entry.number))[:k]
    if relevance is not None:
        ranked = [entry for entry in ranked if cosine[entry.number] >= relevance]
    fitting = [entry.id for n, entry in enumerate(ranked) if tokens_of(ranked[: n + 1]) <= budget]
    assert set(shown.ids) == set(fitting)
    assert shown == library.only(fitting)
    assert estimate_tokens(shown.render()) <= budget


def tokens_of(entries: Sequence[Experience]) -> int:
    return estimate_tokens("\n".join(entry.line for entry in entries))


@given(st.lists(st.integers(1, 9), max_size=6), st.sampled_from(["all", "top_k", "auto"]), st.text(max_size=30))
def test_when_nothing_is_relevant_the_prompt_is_that_without_a_library(
    folder: Path, digits: list[int], mode: str, instructions: str
) -> None:
    rule = Rule(mode, relevance=0.9999)  # type: ignore[arg-type]
    shown = retrieval(folder, rule)(library_of(*digits), problem(0))
    assert messages(shown, instructions) == messages(Library(), instructions)


def messages(library: Library, instructions: str) -> tuple[Message, ...]:
    return solve_messages(problem(0).query, library.render(), instructions)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(["e", "答", "🙂"]))
def test_tokens_are_counted_as_the_prompt_holds_them(folder: Path, one: str, other: str, wide: str) -> None:
    library = Library.of(
        [Experience(id=f"G{n}", text=f"{text} {wide} {n}") for n, text in enumerate((one, other, one))]
    )
    room = tokens_of(library.entries[:2])
    for budget, count in ((room, 2), (room - 1, 1)):
        found = retrieval(folder, Rule("top_k", k=2, token_budget=budget))(library, problem(0))
        assert len(found) == count


def test_expected_problems_are_embedded_and_ranked_at_once(folder: Path, tmp_path: Path) -> None:
    encoder = Digits()
    nearest = Retrieval(Rule("top_k", k=2), lambda: encoder, store=lambda opened: Store(opened, tmp_path))
    nearest.expect([problem(digit) for digit in range(10)])
    library = library_of(9, 2, 0, 3, 1, 8)
    found = [nearest(library, problem(digit)) for digit in range(10)]
    assert encoder.calls == [6, 10]
    assert found == [retrieval(folder, Rule("top_k", k=2))(library, problem(digit)) for digit in range(10)]


# Whole runs


def rollouts_of(run: Run) -> list[Rollout]:
    files = sorted(run.folder.rglob("rollout.jsonl"))
    return [Rollout.model_validate_json(line) for file in files for line in file.read_text("utf-8").splitlines()]


def keys_of(run: Run) -> list[str]:
    with CallLog.open(run.folder / "calls.jsonl") as log:
        return sorted(call.key for call in log)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))


class Heard(Silent):
    """A watch that keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_training_and_evaluation_show_each_problem_its_own_part(configured: Configured, tmp_path: Path) -> None:
    config, heard = configured(retrieval="top_k", retrieval_k=1, test=str(tmp_path / "test.jsonl")), Heard()
    run = train(config, watch=heard)
    (said,) = (line for line in heard.lines if line.startswith("retrieval:"))
    assert "hashing-384-v1 (it knows spelling" in said
    assert len(run.library) > 1
    assert {len(rollout.shown) for rollout in rollouts_of(run)} == {0, 1}
    with CallLog.open(run.folder / "calls.jsonl") as log:
        systems = [call.request.messages[0].content for call in log if call.stage == "evaluate"]
    assert {system.count("\n[G") for system in systems if "[G" in system} == {1}
    manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["encoder"] == "hashing-384-v1"


def test_a_run_whose_library_fits_asks_exactly_what_it_asked_without_retrieval(configured: Configured) -> None:
    plain = train(configured(retrieval="all", experiment_name="plain"))
    auto = train(configured(experiment_name="auto"))
    assert keys_of(auto) == keys_of(plain)
    assert auto.library == plain.library
    assert not (Path(auto.folder).parent.parent / "cache").exists()


def test_relevance_that_nothing_reaches_asks_what_a_run_without_library_asks(
    configured: Configured, tmp_path: Path
) -> None:
    run = train(configured(relevance=1.0, encoder="hashing", test=str(tmp_path / "test.jsonl")))
    assert len(run.library) > 0
    assert {rollout.shown for rollout in rollouts_of(run)} == {()}
    assert run.gain is not None
    assert run.gain.difference == 0.0
    assert run.after == run.before


def test_a_library_over_the_token_budget_is_learned_when_the_prompt_can_be_cut(configured: Configured) -> None:
    limits = {"experience_token_budget": 32, "retrieval_k": 1, "seed": 2}
    learned = train(configured(**limits, encoder="hashing", experiment_name="auto"))
    refused = train(configured(**limits, retrieval="all", experiment_name="all"))
    assert estimate_tokens(learned.library.render()) > 32 >= estimate_tokens(refused.library.render())
    assert all(len(rollout.shown) <= 1 for rollout in rollouts_of(learned))


def test_another_encoder_is_refused_and_auto_goes_on_with_the_one_in_use(configured: Configured) -> None:
    train(configured(retrieval="top_k", epochs=1))
    config = Path(configured().output_dir) / "run" / "config.yaml"
    assert yaml.safe_load(config.read_text(encoding="utf-8"))["encoder"] == "hashing"
    train(configured(retrieval="top_k", epochs=1))
    with pytest.raises(ConfigError, match="encoder: 'hashing' → 'minilm'"):
        train(configured(retrieval="top_k", epochs=1, encoder="minilm"))


def test_a_run_that_began_with_an_encoder_that_is_gone_says_how_to_get_it(configured: Configured) -> None:
    run = train(configured(retrieval="top_k", epochs=1))
    config = run.folder / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("encoder: hashing", "encoder: minilm"), "utf-8")
    with pytest.raises(ConfigError, match="gym model get all-minilm-l6-v2"):
        train(configured(retrieval="top_k", epochs=1))


def test_a_run_from_before_there_was_retrieval_goes_on_without_it(configured: Configured) -> None:
    before = train(configured(epochs=1, retrieval="all"))
    config = before.folder / "config.yaml"
    saved = yaml.safe_load(config.read_text(encoding="utf-8"))
    for key in ("retrieval", "retrieval_k", "relevance", "encoder"):
        del saved[key]
    config.write_text(yaml.safe_dump(saved), encoding="utf-8")
    paid = keys_of(before)
    for path in before.folder.rglob("step_*/*"):
        path.unlink()
    assert train(configured(epochs=1)).library == before.library
    assert keys_of(before) == paid
    assert "encoder" not in json.loads((before.folder / "manifest.json").read_text(encoding="utf-8"))
    with pytest.raises(ConfigError, match="retrieval: 'all' → 'top_k'"):
        train(configured(epochs=1, retrieval="top_k"))
