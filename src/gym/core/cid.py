"""The content address that a real IPFS node computes: CIDv1, raw leaf, sha2-256, base32 (SPEC 7.4).

It equals what IPFS gives a file of one block, so content must stay below `MAX_BLOCK`.
"""

import base64
import hashlib

MAX_BLOCK = 256 * 1024
"""Bytes; IPFS cuts anything longer into several blocks under another address."""
RAW_SHA256 = bytes([0x01, 0x55, 0x12, 0x20])
"""Before the digest: CIDv1, raw, SHA-256, 32 bytes."""


def cid(content: bytes) -> str:
    """
    >>> cid(b"")
    'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
    """
    return cid_of_digest(hashlib.sha256(content).digest())


def cid_of_digest(digest: bytes) -> str:
    """The address of the content with this SHA-256."""
    return "b" + base64.b32encode(RAW_SHA256 + digest).decode().lower().rstrip("=")
