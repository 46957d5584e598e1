"""Nodes with data of their own share sentences, and no liar gets in (docs/federation.md).

What is decided is pure: from signed bundles, reviews and measurements every node computes the same decision with its reasons.
`Node` and `Coordinator` play rounds on boards over a carrier; whoever moves the bytes (this process, a folder, Flower) can
delay, not decide.
"""
