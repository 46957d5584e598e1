"""`gym dao …` as typed: arguments in, exit code and both streams out; each person at a folder with a key of their own."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from eth_account import Account

from gym.cli.main import main
from gym.dao.deployment import Deployment

MNEMONIC = "test test test test test test test test test test test junk"
"""Of the local node's accounts."""


def private_key(place: int) -> str:
    """Of the local node's account at this place."""
    Account.enable_unaudited_hdwallet_features()
    return str(Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{place}").key.to_0x_hex())


def keystore_of(place: int, password: str) -> str:
    """The same key as an encrypted file holds it."""
    return json.dumps(Account.encrypt(Account.from_key(private_key(place)).key, password, iterations=2))


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The one line on standard error, for a command that failed as it should."""
        assert "Traceback" not in self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.strip()


class Terminal:
    """A folder with a deployment file, and a way to type commands there."""

    def __init__(self, folder: Path, rpc: str, deployment: Deployment | None) -> None:
        self.folder, self.rpc = folder, rpc
        folder.mkdir(exist_ok=True)
        if deployment is not None:
            deployment.write(folder / "dao.json")

    def gym(self, *typed: object, by: int | str | None = None, answers: str = "", **environ: str) -> Done:
        """Type `gym dao …`; `by` is the place of the account that signs, or a private key."""
        told = {"ZOO_GYM_RPC": self.rpc, "PATH": os.environ["PATH"], "HOME": str(self.folder)} | environ
        if by is not None:
            told["ZOO_GYM_CHAIN_KEY"] = private_key(by) if isinstance(by, int) else by
        out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with (
                patch.dict(os.environ, told, clear=True), patch.object(sys, "argv", ["gym", "dao", *map(str, typed)]),
                patch.object(sys, "stdin", StringIO(answers)), redirect_stdout(out), redirect_stderr(err),
            ):  # fmt: skip
                code = _exit_code(main)
        finally:
            os.chdir(before)
        return Done(code, _written(out), _written(err))

    def done(self, *typed: object, by: int | str | None = None, code: int = 0) -> Any:
        """Type it with `--yes` (where somebody signs) and `--json`; it must end with `code`."""
        agreed = () if by is None else ("--yes",)
        found = self.gym(*typed, *agreed, "--json", by=by)
        assert found.code == code, found
        return found.told


def _written(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _exit_code(run: Callable[[], None]) -> int:
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("`main` exits")
