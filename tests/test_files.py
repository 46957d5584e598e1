"""Atomic writes (SPEC 2.6, FAULTS S2 and S7)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gym.errors import StorageError
from gym.files import append_durably, write_atomic


def test_a_file_is_replaced_and_its_folder_made(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "x.json"
    write_atomic(file, "one")
    write_atomic(str(file), "≤ é 数 \ud83c")
    assert file.read_bytes() == "≤ é 数 \\ud83c".encode()
    assert os.listdir(file.parent) == ["x.json"]


def test_permissions_of_the_old_file_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("old")
    file.chmod(0o640)
    write_atomic(file, "new")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_refusal_names_the_path_and_leaves_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    with pytest.raises(StorageError, match=r"x'.*intact"):
        write_atomic(folder, "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="below"):
        write_atomic(tmp_path / "file" / "below", "new")
    assert sorted(os.listdir(tmp_path)) == ["file", "x"]


def test_a_full_disk_is_one_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    """The kernel's own refusal to write: a limit on file size stands for the full disk."""
    file = tmp_path / "x.json"
    file.write_text("old")
    program = (
        "import resource, signal, sys\nfrom gym.errors import StorageError\nfrom gym.files import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    write_atomic(sys.argv[1], 'n' * 10_000)\nexcept StorageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert "x.json" in done.stdout
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_file_is_written_in_pieces_too(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", (f"{n}\n" for n in range(3)))
    assert (tmp_path / "x").read_text() == "0\n1\n2\n"


def test_what_is_appended_comes_after_what_was_there(tmp_path: Path) -> None:
    append_durably(tmp_path / "x", "one\n")
    append_durably(tmp_path / "x", "≤ \ud83c\n")
    assert (tmp_path / "x").read_bytes() == "one\n≤ \\ud83c\n".encode()


def test_a_full_disk_leaves_the_file_as_it_was_before_an_append(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_text("old\n")
    program = (
        "import resource, signal, sys\nfrom gym.errors import StorageError\nfrom gym.files import append_durably\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    append_durably(sys.argv[1], 'n' * 10_000)\nexcept StorageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert "journal.jsonl" in done.stdout
    assert file.read_text() == "old\n"
