"""Content addresses equal those of a real IPFS node: raw leaf, sha2-256, base32."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.cid import cid


@pytest.mark.parametrize(
    ("content", "address"),
    [
        (b"", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),  # as IPFS gives the empty file
        (
            b"beep boop",
            "bafkreieq5jui4j25lacwomsqgjeswwl3y5zcdrresptwgmfylxo2depppq",
        ),  # as the documentation of Rust's cid has it
    ],
)
def test_known_addresses(content: bytes, address: str) -> None:
    assert cid(content) == address


@given(st.binary(max_size=200))
def test_an_address_decodes_to_its_parts(content: bytes) -> None:
    address = cid(content)
    assert address[0] == "b"
    assert len(address) == 59
    raw = base64.b32decode(address[1:].upper() + "=" * (-len(address[1:]) % 8))
    assert raw == b"\x01\x55\x12\x20" + hashlib.sha256(content).digest()
