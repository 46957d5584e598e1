"""One Ray cluster of two CPUs for all tests of a module; each test finds the folder of `ray_script` empty."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that workers write to; Ray is initialised by us, the tests' executors find it so."""
    ray = pytest.importorskip("ray")
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_SCRIPT_FOLDER", str(folder))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.syspath_prepend(str(HERE.parent))
        patch.syspath_prepend(str(HERE))
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=100 * 2**20,
        )
        yield folder
        ray.shutdown()
    for name in ("ray_script", "desk_script"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(cluster: Path) -> Path:
    """The workers' folder, empty."""
    for path in cluster.iterdir():
        path.unlink()
    return cluster
