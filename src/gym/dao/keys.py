"""The key that signs transactions: from an encrypted keystore file or from the environment, and never in any message.

Errors of the libraries below may quote what they were given, so they are never passed on, not even as a cause.
"""

import json
import os
from collections.abc import Callable, Mapping
from json import JSONDecodeError
from pathlib import Path

from gym.errors import ConfigError, MissingExtra

try:
    from eth_account import Account
    from eth_account.signers.local import LocalAccount
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

KEY, KEYSTORE, PASSWORD = "ZOO_GYM_CHAIN_KEY", "ZOO_GYM_KEYSTORE", "ZOO_GYM_KEYSTORE_PASSWORD"
MAX_KEYSTORE = 64 * 1024


def open_account(
    keystore: Path | None, *, ask: Callable[[str], str], environ: Mapping[str, str] = os.environ
) -> LocalAccount:
    """The account of a keystore file, else of the file `$ZOO_GYM_KEYSTORE`, else of the key `$ZOO_GYM_CHAIN_KEY`.

    A keystore's password is `$ZOO_GYM_KEYSTORE_PASSWORD`, else what `ask` gives for a question. Raises `ConfigError`.
    """
    if keystore is None and environ.get(KEYSTORE):
        keystore = Path(environ[KEYSTORE])
    if keystore is not None:
        return _unlocked(keystore, ask, environ.get(PASSWORD))
    if not environ.get(KEY):
        raise ConfigError(f"no key to sign with: give --keystore FILE, or set {KEYSTORE} or {KEY}")
    return _from_key(environ[KEY].strip(), f"{KEY} holds no private key: expected 64 hex digits")


def _unlocked(path: Path, ask: Callable[[str], str], password: str | None) -> LocalAccount:
    try:
        with open(path, encoding="utf-8") as file:
            locked = file.read(MAX_KEYSTORE)
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not a text"
        raise ConfigError(f"keystore {str(path)!r} cannot be read: {told}") from None
    damaged = ConfigError(f"{str(path)!r} is no keystore file (JSON, version 3) as geth, cast or eth-account writes it")
    if not _is_keystore(locked):
        raise damaged
    if password is None:
        password = ask(f"Password of {path.name}")
    try:
        return _from_key(Account.decrypt(locked, password), str(damaged))
    except (JSONDecodeError, KeyError, TypeError, AttributeError, ArithmeticError, NotImplementedError):
        raise damaged from None
    except ValueError as error:
        raise (ConfigError(f"wrong password for keystore {str(path)!r}") if "MAC" in str(error) else damaged) from None


def _is_keystore(text: str) -> bool:
    """Whether a password is worth asking for."""
    try:
        found = json.loads(text)
    except (JSONDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and {"crypto", "version"} <= {key.lower() for key in found}


def _from_key(key: str | bytes, otherwise: str) -> LocalAccount:
    try:
        account: LocalAccount = Account.from_key(key)
        return account
    except Exception:  # of any kind, and it may hold the key
        raise ConfigError(otherwise) from None
