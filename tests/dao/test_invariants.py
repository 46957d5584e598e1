"""Invariants of the contracts under random sequences of calls, by forge (contracts/test); `make fuzz` runs far more of them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from gym.dao.local_node import find_foundry
from gym.errors import ConfigError

CONTRACTS = Path(__file__).parents[2] / "contracts"
RUNS = 4


@pytest.mark.slow
def test_invariants_hold_under_any_sequence_of_calls() -> None:
    try:
        forge = find_foundry("forge")
    except ConfigError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    few = {**os.environ, "FOUNDRY_INVARIANT_RUNS": str(RUNS)}
    done = subprocess.run([forge, "test"], cwd=CONTRACTS, env=few, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.findall(rf"\[PASS\] invariant_(\w+)\(\) \(runs: {RUNS}, calls: {RUNS * 100},", done.stdout)
    assert passed == [
        "activeSetIsReplayedEvents", "noTokenIsLost", "nobodyButTheGovernorWrites", "oneWeightPerSnapshot",
        "versionStrictlyRises",
    ]  # fmt: skip
