"""Governance: an experience lives by vote, and everyone can rebuild and check the library from the chain's events (SPEC 7).

`artifacts` are the compiled contracts (their sources: `contracts/` in a checkout), `contracts` deploys and finds them,
`history` replays their events, `content` holds what the digests stand for. Needs the extra [dao].
"""
