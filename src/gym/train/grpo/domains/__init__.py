"""Domains: what a task brings (data, instructions, reward); one file or folder each, `DOMAIN = …`, found by name."""
