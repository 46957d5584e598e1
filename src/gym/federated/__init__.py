"""Nodes with data of their own share sentences, and no liar gets in (shared scheme: docs/federation.md).

Everything here is pure: from signed bundles, reviews and measurements every node computes the same decision with its
reasons. Whoever moves the bytes (a folder, a server) can delay, not decide.
"""
