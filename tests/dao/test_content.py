"""What a digest on the chain stands for: canonical JSON under the address that IPFS gives it (SPEC 7.4)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.cid import MAX_BLOCK, cid_of_digest
from gym.core.cid import cid as cid_of
from gym.dao.content import Content, Missing, digest_of_cid, fetch
from gym.dao.stores import ALTERED, Folder
from gym.errors import ConfigError

LESSON = Content.of("When a sum is long, split it.", domain="math")


def test_content_is_canonical_json_that_any_two_finders_write_alike() -> None:
    assert LESSON.data == (
        b'{"domain":"math","format":"zoo-gym/experience/1","text":"When a sum is long, split it."}'
    )  # fmt: skip
    assert Content.of(' - "When a sum\n is long, split it."', domain="math").cid == LESSON.cid
    assert (
        Content.of("Prüfe é: 数").data.decode() == '{"domain":"","format":"zoo-gym/experience/1","text":"Prüfe é: 数"}'
    )


@pytest.mark.parametrize(
    ("data", "cid"),
    [
        # what kubo says: `printf DATA | ipfs add --cid-version 1 --raw-leaves --only-hash`
        (b"hello", "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"),
        (b"", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),
    ],
)
def test_addresses_are_those_of_ipfs(data: bytes, cid: str) -> None:
    assert cid_of(data) == cid


@given(st.binary(min_size=32, max_size=32))
def test_an_address_and_a_digest_are_two_forms_of_one_thing(digest: bytes) -> None:
    assert digest_of_cid(cid_of_digest(digest)) == digest


@pytest.mark.parametrize(
    "cid",
    [
        "", "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG", LESSON.cid.upper(), LESSON.cid[:-1], LESSON.cid + "a",
        "../" + LESSON.cid, LESSON.cid[:-1] + "b", "bafybei" + LESSON.cid[7:], f"{LESSON.cid}\n",
    ],
)  # fmt: skip
def test_another_kind_of_address_is_refused(cid: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no address of a raw block"):
        digest_of_cid(cid)
    with pytest.raises(ConfigError):
        Folder(tmp_path).get(cid)


@given(st.text(max_size=60), st.text(max_size=10))
def test_content_is_read_back_as_it_was_written(text: str, domain: str) -> None:
    content = Content.of(text, domain=domain)
    assert Content.parse(content.data) == content


@pytest.mark.parametrize(
    "altered",
    [
        LESSON.data + b"\n", LESSON.data.replace(b",", b", ", 1), LESSON.data.replace(b"math", b" math"), b"{}", b"[]", b"\xff",
        LESSON.data.replace(b"experience/1", b"experience/2"),
        LESSON.data[:-1] + b',"x":1}', LESSON.data.replace(b"sum", b"sum\\n"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_canonical_experience_is_reported_though_it_hashes_right(altered: bytes, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    cid = folder.put(altered)
    fetched = fetch([cid], [folder])
    assert not fetched.contents
    assert fetched.missing[0].reason.startswith("hashes right, but is no experience: ")
    assert "\n" not in fetched.missing[0].reason


def test_every_address_asked_for_is_either_found_or_reported(tmp_path: Path) -> None:
    near, far = Folder(tmp_path / "near"), Folder(tmp_path / "far")
    here, there, nowhere = LESSON, Content.of("If stuck, draw it."), Content.of("Never seen.")
    near.put(here.data)
    far.put(there.data)
    fetched = fetch([there.cid, nowhere.cid, here.cid, there.cid], [near, far])
    assert dict(fetched.contents) == {there.cid: there, here.cid: here}
    assert [missing.cid for missing in fetched.missing] == [nowhere.cid]
    told = fetched.missing[0].reason
    assert told == f"{near.name}: no such file or directory; {far.name}: no such file or directory"
    assert near.get(there.cid) == there.data  # what came from afar is kept here


def test_a_folder_never_gives_out_what_was_altered(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    cid = folder.put(LESSON.data)
    (tmp_path / cid).write_bytes(LESSON.data.replace(b"split it", b"skip it "))
    assert folder.get(cid) == Missing(cid, ALTERED)
    assert folder.put(LESSON.data) == cid  # and mends it
    assert folder.get(cid) == LESSON.data


def test_more_than_one_block_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"262,145 bytes"):
        Folder(tmp_path).put(bytes(MAX_BLOCK + 1))
