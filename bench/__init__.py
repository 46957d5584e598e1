"""Benchmarks: every claim on speed and loss, beside its reference in the same run (`make bench`)."""
