"""Proof that weights stay what they are: digests of every tensor of a GGUF file, a model folder or a live module.

`fingerprint` reads files without torch, `of_module` reads what is in memory; `differences` names what two of them do
not share. Only `module` imports torch, and only when it is called (SPEC 5.4).
"""

from gym.train.grpo.frozen.files import fingerprint, remembered, size_of, whole_digest
from gym.train.grpo.frozen.module import of_module
from gym.train.grpo.frozen.parts import Difference, Fingerprint, Part, differences, named
from gym.train.grpo.frozen.record import EVALUATION, Held, Record, manifest_path, read_record, record_path
from gym.train.grpo.frozen.weights import Weights, weights_at

__all__ = [
    "EVALUATION",
    "Difference",
    "Fingerprint",
    "Held",
    "Part",
    "Record",
    "Weights",
    "differences",
    "fingerprint",
    "manifest_path",
    "named",
    "of_module",
    "read_record",
    "record_path",
    "remembered",
    "size_of",
    "weights_at", "whole_digest",
]  # fmt: skip
