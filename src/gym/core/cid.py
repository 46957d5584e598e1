"""The content address that a real IPFS node computes: CIDv1, raw leaf, sha2-256, base32 (SPEC 7.4).

It equals what IPFS gives a file of one block, so content must stay below `MAX_BLOCK`.
"""

import base64
import hashlib

MAX_BLOCK = 256 * 1024
"""Bytes; IPFS cuts anything longer into several blocks under another address."""
_RAW_SHA256 = bytes([0x01, 0x55, 0x12, 0x20])


def cid(content: bytes) -> str:
    """
    >>> cid(b"")
    'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
    """
    return "b" + base64.b32encode(_RAW_SHA256 + hashlib.sha256(content).digest()).decode().lower().rstrip("=")
