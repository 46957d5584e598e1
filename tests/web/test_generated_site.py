"""The generated site: the same everywhere, and its questions are what they are said to be, checked by other means."""

import json
import os
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gym.errors import ConfigError, StorageError
from gym.web.site.built import FRONT, build
from gym.web.site.forms import accepted, answer
from gym.web.site.making import Site, make, write
from gym.web.site.meaning import Description, Known, Located, Named, Step, anchor, meant
from gym.web.site.questions import questions
from gym.web.site.relations import RELATIONS
from gym.web.site.rows import answer_from
from gym.web.site.walks import Walks
from gym.web.site.world import Fact, World

PAGES = 120
DIGEST = """
from hashlib import sha256
from gym.web.site.making import make
site = make(3, pages=120)
print(sha256(repr((sorted(site.built.files.items()), site.rows)).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def site() -> Site:
    return make(3, pages=PAGES)


@pytest.fixture(scope="module")
def texts(site: Site) -> Mapping[str, str]:
    """By address."""
    return {f"http://{site.host}/{path}": page.text for path, page in site.built.shown.items()}


def test_a_seed_gives_the_same_bytes_in_every_process(site: Site) -> None:
    here = sha256(repr((sorted(site.built.files.items()), site.rows)).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", DIGEST], env=environ, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == here


def test_another_seed_is_another_world(site: Site) -> None:
    other = make(4, pages=PAGES)
    assert not {row["question"] for row in site.rows} & {row["question"] for row in other.rows}
    names, others = ({thing.name for thing in one.built.world.things.values()} for one in (site, other))
    assert len(names & others) < len(names) / 50


@pytest.mark.parametrize("pages", [100, 101, 137, 163, 260, 777])
def test_a_site_has_exactly_the_pages_that_were_asked_for(pages: int) -> None:
    assert len(build(1, pages).files) == pages


def test_there_is_a_question_for_every_second_page(site: Site) -> None:
    assert len(site.rows) == PAGES // 2


@pytest.mark.parametrize("pages", [0, 99, 3_001])
def test_a_size_that_cannot_be_made_is_refused(pages: int) -> None:
    with pytest.raises(ConfigError, match=f"100 to 3,000 pages, not {pages:,}"):
        make(0, pages=pages)


def test_every_answer_is_read_from_the_pages_by_its_evidence(site: Site, texts: Mapping[str, str]) -> None:
    assert [answer_from(row, texts.__getitem__) for row in site.rows] == [row["answer"] for row in site.rows]


def test_evidence_is_not_found_on_pages_of_something_else(site: Site, texts: Mapping[str, str]) -> None:
    """Else the patterns would match anything, and reading by them would prove nothing."""
    elsewhere = next(path for path in texts if path.endswith("contact.html"))
    assert not any(answer_from(row, lambda page: texts[elsewhere]) for row in site.rows)


def test_a_gold_path_follows_links_from_the_front_page_past_all_evidence(site: Site) -> None:
    shown = {f"http://{site.host}/{path}": page for path, page in site.built.shown.items()}
    for row in site.rows:
        path = row["gold_path"]
        assert path[0] == row["start"] == f"http://{site.host}/{FRONT}"
        assert len(path) == row["hops"] + 1 >= 3
        assert {piece["page"] for piece in row["evidence"]} <= set(path)
        leads = {
            here: {link.url.replace("site.invalid", site.host) for link in page.links} for here, page in shown.items()
        }
        assert all(there in leads[here] for here, there in pairwise(path))


def test_no_shorter_walk_leads_past_the_evidence(site: Site) -> None:
    """By another algorithm: breadth first over pages together with what was read so far."""
    ways = {
        path: [link.url.removeprefix("http://site.invalid/") for link in page.links if "site.invalid" in link.url]
        for path, page in site.built.shown.items()
    }
    for question in questions(site.built):
        groups = [{stated.page for stated in site.built.statements[fact]} for fact in question.draft.facts]
        assert question.proof.hops == fewest_clicks(ways, groups)


def fewest_clicks(ways: Mapping[str, Sequence[str]], groups: Sequence[set[str]]) -> int:
    """From the front page past a page of each group."""

    def read(here: str, before: frozenset[int]) -> frozenset[int]:
        return before | {number for number, pages in enumerate(groups) if here in pages}

    begin = (FRONT, read(FRONT, frozenset()))
    queue, known = deque([(begin, 0)]), {begin}
    while queue:
        (here, seen), clicks = queue.popleft()
        if len(seen) == len(groups):
            return clicks
        for there in ways.get(here, ()):
            state = (there, read(there, seen))
            if state not in known:
                known.add(state)
                queue.append((state, clicks + 1))
    raise AssertionError("no way")


def test_every_question_means_one_thing(site: Site) -> None:
    world = site.built.world
    for question in questions(site.built):
        for description in question.draft.about:
            (found,) = every(world, description)
            assert [found] == [one.thing for one in meant(description, world)]


def test_a_fact_stands_where_it_is_known_to_and_on_no_other_page_that_names_its_subject(site: Site) -> None:
    for question in questions(site.built):
        for fact in question.draft.facts:
            pages = saying(site, site.built.world.things[fact.subject].name) & saying(site, *spellings(fact))
            assert pages <= {stated.page for stated in site.built.statements[fact]}


def test_no_page_that_names_what_a_question_names_holds_the_answer_when_more_than_one_is_needed(site: Site) -> None:
    for question in questions(site.built):
        draft = question.draft
        if draft.reckoning == "read" and len(draft.facts) > 1:
            named = saying(site, *map(anchor, draft.about))
            assert not named & saying(site, *spellings(draft.operands[0]))


def spellings(fact: Fact) -> tuple[str, ...]:
    kind = RELATIONS[fact.relation].kind
    return answer(kind, fact.value), *accepted(kind, fact.value)


def saying(site: Site, *words: str) -> set[str]:
    """Pages on which any of these stands."""
    said = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
    return {path for path, page in site.built.shown.items() if said.search(f"{page.title}\n{page.text}")}


def every(world: World, description: Description) -> set[str]:
    """All things that satisfy a description, by sieving everything that there is."""
    return {name for name in world.things if satisfies(world, name, description)}


def satisfies(world: World, name: str, description: Description) -> bool:
    match description:
        case Named(words):
            return world.things[name].name == words
        case Known(relation, value):
            return any(fact[:3] == (name, relation, value) for fact in world.facts)
        case Located(trade, town):
            return world.things[name].trade == trade and any(fact[:3] == (name, "seat", town) for fact in world.facts)
        case Step(relation, of, back, qualifier):
            ends = ((fact.subject, fact.target)[:: -1 if back else 1] for fact in world.facts
                    if (fact.relation, fact.qualifier) == (relation, qualifier))  # fmt: skip
            return any(there == name and satisfies(world, here, of) for here, there in ends if here and there)


def test_splits_share_no_fact_and_no_answer_comes_twice(site: Site) -> None:
    owners: dict[str, set[str]] = {}
    for row in site.rows:
        for piece in row["evidence"]:
            owners.setdefault(piece["fact"], set()).add(row["split"])
    assert all(len(splits) == 1 for splits in owners.values())
    assert max(Counter(row["answer"] for row in site.rows).values()) == 1
    assert {split: len(site.split(split)) for split in ("train", "val", "test")} == {"train": 30, "val": 12, "test": 18}


def test_no_answer_is_yes_or_no_or_stands_in_its_question(site: Site) -> None:
    for row in site.rows:
        assert not {"yes", "no", "true", "false"} & {row["answer"].lower()}
        assert not any(part.lower() in row["question"].lower() for part in row["answer"].split("; "))


def test_every_shape_and_level_of_question_is_there(site: Site) -> None:
    assert {row["reckoning"] for row in site.rows} == {"read", "both", "sum", "difference", "earlier"}
    assert {row["type"] for row in site.rows} == {"single_source", "multi_source"}
    levels = [(row["level"], row["hops"]) for row in site.rows]
    assert {level for level, _ in levels} == {"easy", "medium", "hard"}
    assert all(level == ("easy" if hops <= 3 else "medium" if hops <= 5 else "hard") for level, hops in levels)


def test_relations_that_questions_ask_for_have_wordings_with_one_gap() -> None:
    for relation in RELATIONS.values():
        for wording in (*relation.step, *relation.back, *relation.asks):
            assert wording.count("{}") == 1
        assert relation.more.count("{}") in (0, 2)


def test_a_walk_may_visit_its_stops_in_any_order_and_choose_among_equals() -> None:
    walks = Walks({"a": ["b", "c"], "b": ["d"], "c": ["b"], "d": ["c"], "e": []})
    assert walks.shortest("a", [["d"], ["b"]]) == ("a", "b", "d")
    assert walks.shortest("a", [["d"], ["c"]]) == ("a", "b", "d", "c")
    assert walks.shortest("a", [["d", "c"], ["a"]]) == ("a", "c")
    assert walks.shortest("a", [["e"]]) is None
    assert walks.shortest("a", []) == ("a",)


def test_writing_a_site_again_changes_nothing_and_another_one_is_refused(site: Site, tmp_path: Path) -> None:
    place = tmp_path / "site"
    write(site, place)
    before = snapshot(place)
    write(site, place)
    assert snapshot(place) == before
    with pytest.raises(ConfigError, match=r"holds another site \(seed 3, 120 pages, halden.example\)"):
        write(make(4, pages=PAGES), place)
    assert snapshot(place) == before


def test_a_site_whose_writing_broke_off_is_written_to_its_end_by_the_same_command(site: Site, tmp_path: Path) -> None:
    place, files = tmp_path / "site", dict(site.built.files)
    files["a" * 999] = files.popitem()[1]
    with pytest.raises(StorageError, match="File name too long"):
        write(site._replace(built=replace(site.built, files=files)), place)
    assert not (place / "train.jsonl").exists()
    write(site, place)
    write(site, tmp_path / "other")
    assert snapshot(place) == snapshot(tmp_path / "other")


def test_a_folder_that_holds_something_else_is_left_alone(site: Site, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"):
        write(site, tmp_path)
    with pytest.raises(ConfigError, match=r"thesis.txt' is no folder: name another place with --output"):
        write(site, tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_written_rows_are_the_questions_together_and_by_split(site: Site, tmp_path: Path) -> None:
    write(site, tmp_path / "site")
    read = partial(lines, tmp_path / "site")
    assert read("questions") == [dict(row) for row in site.rows]
    assert sorted(row["id"] for split in ("train", "val", "test") for row in read(split)) == [
        row["id"] for row in site.rows
    ]


def lines(place: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def snapshot(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}
