"""`gym federate keys|join|preview|remove|status|pull`: who takes part, and what leaves."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gym.cli.federate_told import removals, show
from gym.cli.main import gym
from gym.core.experience import Experience, Library
from gym.errors import ConfigError, GymError, MissingExtra
from gym.federated.carrier import Direct
from gym.federated.coordinator import Coordinator
from gym.federated.decision import Decision
from gym.federated.homes import NodeHome, ServerHome
from gym.federated.messages import text_digest
from gym.signing import open_key
from gym.train.grpo.experience_manager import read_library
from tests.federated.house import Topical
from tests.federated.teams import helps

MAIL = "When mail to jo@example.org bounces, ask Acme for another address."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*words: str) -> Result:
    return CliRunner().invoke(gym, ["federate", *words])


def said(*words: str) -> Any:
    done = ran(*words, "--json")
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def wrong(*words: str) -> str:
    done = ran(*words)
    assert isinstance(done.exception, ConfigError), done.output
    return str(done.exception)


def library(*texts: str, domain: str = "support") -> str:
    entries = [Experience(id=f"G{n}", text=text, domain=domain, confidence=0.9) for n, text in enumerate(texts)]
    made = Library.of(entries, len(entries))
    Path("experiences.json").write_text(made.to_json(), encoding="utf-8")
    return "experiences.json"


def test_keys_are_for_their_owner_alone_and_never_printed(here: Path) -> None:
    done = ran("keys", "mine", "--node", "berlin", "--domain", "support")
    assert done.exit_code == 0
    for name in ("signing.pem", "link.key", "runtime.secret"):
        file = here / "mine" / name
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_bytes() not in done.output.encode()
    card = json.loads((here / "mine" / "member.json").read_text(encoding="utf-8"))
    assert card["member"] == {
        "address": "berlin", "key": open_key(here / "mine" / "signing.pem").key.public, "stake": 0, "domains": ["support"],
    }  # fmt: skip
    assert "PRIVATE" not in json.dumps(card)


def test_making_them_again_changes_nothing_and_another_name_is_refused(here: Path) -> None:
    said("keys", "mine", "--node", "berlin")
    before = {file.name: file.read_bytes() for file in (here / "mine").iterdir()}
    said("keys", "mine", "--node", "berlin")
    assert {file.name: file.read_bytes() for file in (here / "mine").iterdir()} == before
    assert "is the folder of 'berlin'" in wrong("keys", "mine", "--node", "paris")


def test_a_certificate_is_for_the_hosts_that_were_named(here: Path) -> None:
    from cryptography import x509

    said("keys", "server", "--server", "--host", "gym.example.org", "--host", "10.0.0.7")
    server = x509.load_pem_x509_certificate((here / "server" / "server.pem").read_bytes())
    authority = x509.load_pem_x509_certificate((here / "server" / "ca.pem").read_bytes())
    server.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["gym.example.org", "10.0.0.7", "127.0.0.1", "localhost"]
    said("keys", "server", "--server", "--host", "gym.example.org")
    assert "is not for other.example.org" in wrong("keys", "server", "--server", "--host", "other.example.org")


def test_one_of_three_kinds_of_folders_is_asked_for() -> None:
    for words in (["keys", "x"], ["keys", "x", "--server", "--team", "3"]):
        assert "give one of --server, --node NAME and --team N" in ran(*words).output


def test_members_join_with_what_they_show_and_no_key_twice() -> None:
    said("keys", "server", "--server", "--encoder", "hashing", "--model", "m")
    for name in ("a", "b"):
        said("keys", name, "--node", name)
    assert said("join", "server", "a/member.json", "b/member.json") == {"members": ["a", "b"]}
    assert said("join", "server", "a/member.json") == {"members": ["a", "b"]}
    team = ServerHome("server").team
    assert (team.encoder, team.model, len(team.cards)) == ("hashing-384-v1", "m", 2)
    twin = json.loads(Path("a/member.json").read_text(encoding="utf-8"))
    twin["member"]["address"] = "c"
    Path("twin.json").write_text(json.dumps(twin), encoding="utf-8")
    assert "'c' has a key of 'a'" in wrong("join", "server", "twin.json")
    assert "there is no 'gone.json'" in wrong("join", "server", "gone.json")


def test_a_card_whose_connection_key_is_none_is_refused_before_it_can_stop_the_server() -> None:
    said("keys", "server", "--server", "--encoder", "hashing")
    said("keys", "a", "--node", "a")
    card = json.loads(Path("a/member.json").read_text(encoding="utf-8")) | {"link": "ecdsa-sha2-nistp384 AAAA"}
    Path("bad.json").write_text(json.dumps(card), encoding="utf-8")
    assert "is no connection key of a node" in wrong("join", "server", "bad.json")
    assert ServerHome("server").team.cards == ()


def test_a_team_has_nodes_and_a_model_a_name_that_travels() -> None:
    assert ran("keys", "x", "--team", "-1").exit_code == ran("keys", "x", "--team", "0").exit_code == 2
    assert "at most 80 characters" in wrong("keys", "x", "--server", "--encoder", "hashing", "--model", 81 * "m")
    assert not Path("x").exists()


@pytest.mark.parametrize("words", [("--node", "n"), ("--server",), ("--team", "2")])
def test_a_file_in_the_place_of_a_folder_is_told(words: tuple[str, ...]) -> None:
    Path("file").touch()
    done = ran("keys", "file", *words, "--encoder", "hashing")
    assert isinstance(done.exception, GymError), done.exception


def test_a_damaged_list_of_removals_is_told() -> None:
    said("keys", "mine", "--node", "berlin")
    Path("mine/removals.json").write_bytes(b"[1]")
    assert "'mine/removals.json' is no list of digests" in wrong("status", "mine")


def test_who_is_no_member_is_told_what_to_do() -> None:
    said("keys", "try", "--team", "2", "--encoder", "hashing")
    said("keys", "eve", "--node", "eve")
    Path("eve/team.json").write_bytes(Path("try/server/team.json").read_bytes())
    with pytest.raises(ConfigError, match=r"'eve' is no member of 'eve/team.json': have the server's operator run"):
        _ = NodeHome("eve").team


def test_nothing_leaves_that_was_not_opted_in() -> None:
    said("keys", "mine", "--node", "berlin")
    seen = said("preview", "mine", library(MAIL))
    assert [(row["sent"], row["reason"]) for row in seen["rows"]] == [(None, "the domain support is not opted in")]
    assert NodeHome("mine").offers(Topical()) == ()


def test_just_what_was_shown_is_released_redacted() -> None:
    said("keys", "mine", "--node", "berlin")
    words = ("preview", "mine", library(MAIL), "--domain", "support", "--name", "Acme")
    sent = "When mail to <e-mail> bounces, ask <name> for another address."
    assert [row["sent"] for row in said(*words)["rows"]] == [sent]
    assert NodeHome("mine").offers(Topical()) == ()
    assert f"leaves   G0: {sent}  (taken out: e-mail, name)" in ran(*words, "--release").stdout
    (item,) = NodeHome("mine").offers(Topical())
    assert (item.text, item.domain, item.evidence.confidence) == (sent, "support", 0.9)
    library(MAIL, "When it is new, wait.")
    assert [one.text for one in NodeHome("mine").offers(Topical())] == [sent]


def test_the_domains_that_a_library_has_are_named_and_may_leave_under_the_teams_name() -> None:
    said("keys", "mine", "--node", "berlin", "--domain", "support")
    made = library(MAIL, domain="jsonl")
    assert "not opted in: jsonl (1): --domain jsonl" in ran("preview", "mine", made).stderr
    told = ran("preview", "mine", made, "--domain", "jsonl").stderr
    assert "this node does not have problems of the domain jsonl, so somebody else must measure it" in told
    done = ran("preview", "mine", made, "--domain", "jsonl", "--as", "support", "--release")
    assert "1 experience of 1 leave berlin, from the next round on: gym federate node mine" in done.stderr
    assert "nobody can measure it" not in done.stderr
    assert [item.domain for item in NodeHome("mine").offers(Topical())] == ["support"]


def test_a_library_without_domains_says_so() -> None:
    said("keys", "mine", "--node", "berlin")
    assert "not opted in: '' (1): --domain ''" in ran("preview", "mine", library(MAIL, domain="")).stderr


def test_nothing_to_release_is_an_error_and_leaves_what_was_released() -> None:
    said("keys", "mine", "--node", "berlin")
    made = library(MAIL)
    assert "nothing is released: what was before stays so, 0 texts" in wrong("preview", "mine", made, "--release")
    said("preview", "mine", made, "--domain", "support", "--release")
    assert "what was before stays so, 1 text (to take that back, delete mine/released.json)" in wrong(
        "preview", "mine", made, "--domain", "suport", "--release"
    )
    assert len(NodeHome("mine").released.items) == 1


def test_what_is_not_confident_enough_is_told_with_what_to_give() -> None:
    said("keys", "mine", "--node", "berlin")
    Path("own.json").write_text(Library().minted("When late, call.").library.to_json(), encoding="utf-8")
    told = ran("preview", "mine", "own.json", "--domain", "").stderr
    assert "1 experience below --min-confidence 0.7, 0.50 at most: one that was written by hand has 0.50" in told


def test_each_command_says_what_comes_next_and_what_was_there() -> None:
    words = ("keys", "try", "--encoder", "hashing", "--team")
    first = ran(*words, "2").stderr
    assert "keys in try/n2" in first
    assert "kept" not in first
    assert "then gym federate server try/server" in first
    assert "kept the keys in try/n2" in ran(*words, "2").stderr
    more = ran(*words, "3").stderr
    assert "keys in try/n3" in more
    assert "n3 of 3 members is new, from round 0 on" in more
    assert "gym federate join s member.json" in ran("keys", "s", "--server", "--encoder", "hashing").stderr


@pytest.fixture
def played() -> str:
    """A team of three that has played a round; what it published."""
    said("keys", "try", "--team", "3", "--encoder", "hashing")
    for name in ("n1", "n2", "n3"):
        words = library(f"When adding units, {name} says check.")
        said("preview", f"try/{name}", words, "--domain", "support", "--release")
    return play().published[0].text


def play() -> Decision:
    """One more round of theirs."""
    from gym.embedding.hashing import HashingEmbedder
    from gym.federated.node import Node

    homes, server = {name: NodeHome(f"try/{name}") for name in ("n1", "n2", "n3")}, ServerHome("try/server")
    nodes = {
        name: Node(name, home.key, home.team, home.board, HashingEmbedder(), "m", home.offers, helps, home.removals)
        for name, home in homes.items()
    }
    (decision,) = Coordinator(server.team, server.board, Direct(nodes)).play(1)
    return decision


def test_status_tells_of_servers_and_nodes(played: str) -> None:
    server, node = said("status", "try/server"), said("status", "try/n2")
    assert (server["members"], server["rounds_closed"], server["round_open"]) == (["n1", "n2", "n3"], 1, None)
    assert [entry["text"] for entry in node["library"]] == [played]
    assert (node["node"], node["released"], node["library_digest"]) == ("n2", 1, server["library_digest"])
    assert "1 round closed; 1 experience accepted" in ran("status", "try/n2").stdout
    assert "is the folder of no server and no node" in wrong("status", ".")


def test_who_joins_a_team_that_has_played_takes_part_from_the_next_round_on(played: str) -> None:
    said("keys", "late", "--node", "late")
    said("join", "try/server", "late/member.json")
    assert ServerHome("try/server").team.since == {"late": 1}
    assert [len(ServerHome("try/server").team.members_of(number)) for number in (0, 1)] == [3, 4]
    told = ran("join", "try/server", "late/member.json").stderr.replace("\n", " ")
    assert "late takes part from round 1 on. Now put try/server/team.json into every node's folder" in told
    assert "try/server/ca.pem into that of late" in told


def test_what_was_accepted_is_pulled_into_a_library_of_ones_own(played: str) -> None:
    assert said("pull", "try/n1", "own.json")["added"] == ["G0"]
    assert said("pull", "try/n1", "own.json") == {"added": [], "removed": [], "refused": []}
    assert read_library("own.json").texts == (played,)


def test_a_folder_of_no_node_takes_nothing_out_of_a_library(played: str) -> None:
    said("pull", "try/n1", "own.json")
    assert "'try' is the folder of no node" in wrong("pull", "try", "own.json")
    assert read_library("own.json").texts == (played,)


def test_nothing_is_made_where_there_is_nothing_to_take() -> None:
    said("keys", "try", "--team", "2", "--encoder", "hashing")
    assert "no round is closed yet on n1" in ran("pull", "try/n1", "own.json").stderr
    assert [*Path().glob("*.json*")] == []


def test_a_library_that_was_not_there_is_said_to_be_new(played: str) -> None:
    assert "1 experience added, 0 removed: own.json, a new file" in ran("pull", "try/n1", "own.json").stderr
    assert "0 experiences added, 0 removed: own.json\n" in ran("pull", "try/n1", "own.json").stderr


ELSEWHERE = [
    (("server", "try/n1"), "'try/n1' is the folder of a node, not of a server"),
    (("run", "try/n1"), "'try/n1' is the folder of a node, not of a server"),
    (("run", "try/sever"), "there is no folder 'try/sever': did you mean 'try/server'?"),
    (("join", "sever", "m.json"), "there is no folder 'sever': gym federate keys makes one"),
    (("node", "try/n7", "--server", "127.0.0.1:1"), "there is no folder 'try/n7': did you mean 'try/n"),
    (("node", "try/server", "--server", "127.0.0.1:1"), "'try/server' is the folder of a server, not of a node"),
    (("preview", "try/n7", "x.json"), "there is no folder 'try/n7'"),
    (("pull", "try/server", "x.json"), "'try/server' is the folder of a server, not of a node"),
    (("remove", "try", "N0"), "'try' is the folder of no node"),
    (("propose", "try/n7"), "there is no folder 'try/n7'"),
]


@pytest.mark.parametrize(("words", "told"), ELSEWHERE)
def test_another_folder_is_one_line(words: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gym.federated import flower

    monkeypatch.setattr(flower, "require_flower", lambda: None)
    said("keys", "try", "--team", "2", "--encoder", "hashing")
    options = ("--data", "x", "--reward", "exact", "--model", "m") if words[0] == "node" else ()
    assert told in wrong(*words, *options)


def test_a_card_may_be_named_by_its_folder_and_a_servers_rounds_are_listed(played: str) -> None:
    said("keys", "late", "--node", "late")
    assert "late" in said("join", "try/server", "late")["members"]
    (row,) = said("explain", "try/server")["rounds"]
    assert row == {"round": 0, "path": "try/server/rounds/round-0", "closed": True}
    assert "round 0  1 text published: gym federate explain try/n1/rounds/round-0" in ran("explain", "try/n1").stdout


def test_a_key_that_the_team_does_not_know_is_told_at_the_start() -> None:
    said("keys", "try", "--team", "2", "--encoder", "hashing")
    Path("try/n1/signing.pem").unlink()
    said("keys", "other", "--node", "n1")
    Path("other/signing.pem").rename("try/n1/signing.pem")
    with pytest.raises(ConfigError, match=r"'try/n1/signing.pem' is not the key in member.json, which the team knows"):
        _ = NodeHome("try/n1").own_key


def test_a_copy_of_a_rounds_folder_is_no_round(played: str) -> None:
    shutil.copytree("try/n1/rounds/round-0", "try/n1/rounds/round-0-copy")
    told = said("status", "try/n1")
    assert (told["rounds_closed"], len(told["library"])) == (1, 1)


def test_a_removal_is_asked_for_by_id(played: str) -> None:
    assert "nothing published has the id 'N7'" in wrong("remove", "try/n1", "N7")
    said("remove", "try/n1", "N0")
    assert NodeHome("try/n1").removals() == (text_digest(played),)
    assert said("status", "try/n1")["removals_asked"] == [text_digest(played)]


def test_a_removal_is_told_with_its_text_and_who_asked_and_asked_for_no_more(played: str) -> None:
    assert "this node asks" not in ran("status", "try/n1").stdout
    for name in ("n1", "n3"):
        said("remove", f"try/{name}", "N0")
    assert f"N0  {played}  (this node asks that it leaves)" in ran("status", "try/n1").stdout
    assert play().removed == (text_digest(played),)
    told = f"N0  {played}  (asked by n1, n3)"
    assert removals(Path("try/server/rounds/round-1")) == [f"removed: {told}"]
    assert f"removed: 1\n  {told}" in ran("explain", "try/n2/rounds/round-1").stdout
    assert NodeHome("try/n1").removals() == play().removed == ()


def test_what_was_tried_before_is_told_with_what_became_of_it(played: str) -> None:
    *_, last = play(), play(), play()
    assert [topic.reason for topic in last.topics] == ["its texts were tried in earlier rounds"]
    shown = " ".join(ran("explain", "try/server/rounds/round-3").output.split())
    assert "tried in round 1: helps 0 of 3 nodes, 2 needed" in shown
    assert "published in round 0 as N0" in shown
    assert "tried before: measured in an earlier round; no text is measured twice" in shown


def test_a_text_that_was_published_before_is_not_told_as_refused(
    played: str, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, again = play(), play(), play()
    show([again], Path("try/server/rounds"))
    assert f"known: {played}  (published in round 0 as N0)" in " ".join(capsys.readouterr().out.split("\n"))


def test_a_damaged_round_is_told_when_a_node_starts(played: str) -> None:
    pytest.importorskip("flwr")
    Path("try/n1/rounds/round-0/decision.json").write_text("{", encoding="utf-8")
    Path("data.jsonl").write_text('{"problem": "2 + 2?", "answer": "4"}', encoding="utf-8")
    words = ("--server", "127.0.0.1:1", "--data", "data.jsonl", "--reward", "exact", "--model", "scripted:echo")
    assert "decision.json' is damaged" in (told := wrong("node", "try/n1", *words))
    assert "copy it from the same folder of the server or of another member" in told


@pytest.mark.parametrize("name", ["x" * 300, "taken/below"])
def test_a_folder_that_cannot_be_made_is_one_line(name: str) -> None:
    Path("taken").write_text("", encoding="utf-8")
    assert "is no place for a folder" in wrong("keys", name, "--node", "q")


def test_a_domain_that_no_member_measures_is_told_once_the_team_is_known() -> None:
    said("keys", "server", "--server", "--encoder", "hashing")
    said("keys", "mine", "--node", "berlin", "--domain", "support")
    said("join", "server", "mine/member.json")
    ServerHome("server").invite(NodeHome("mine"))
    told = ran("preview", "mine", library(MAIL, domain="jsonl"), "--domain", "jsonl").stderr
    assert "no member has problems of the domain jsonl, so nobody can measure it: --as one of support" in told


@pytest.mark.parametrize("words", [("server", "s"), ("run", "s"), ("node", "n", "--server", "127.0.0.1:1")])
def test_without_flower_one_line_names_the_extra(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flwr", None)
    done = ran(*words)
    assert isinstance(done.exception, MissingExtra)
    assert "zoo-gym[federated]" in str(done.exception)
