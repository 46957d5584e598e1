"""`gym doctor`: one line a check, of what is installed, cached and answering."""

import importlib.metadata as metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from gym import __version__
from gym.cli.common import config_options, json_option, print_json
from gym.config import RunConfig, load_config
from gym.errors import GymError
from gym.llm.endpoint import Endpoint, open_model, preflight
from gym.llm.local.catalogue import EVERYTHING, find
from gym.llm.local.cores import available_cores
from gym.llm.local.weights import cache_dir, cached
from gym.loop import run_on_new_loop
from gym.plugins import names, resolve

DISTRIBUTION, IMPORT_NAME = "zoo-gym", "gym"
ROOM_GB = 3.0
"""Enough for the largest embedded model with its parts."""
_REQUIREMENT = re.compile(r"""^([\w.-]+).*extra\s*==\s*['"]([\w.-]+)['"]""")


class Check(NamedTuple):
    """One finding."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str


@click.command()
@config_options("model_name_or_path", "api_base_url", "provider", "api_key")
@json_option
@click.pass_context
def command(ctx: click.Context, overrides: Mapping[str, Any], as_json: bool) -> None:
    """Say what is installed, which models are here and, when one is named, whether it answers."""
    checks = [*_installation(), *_machine(), _keys(), *_endpoint(load_config(None, overrides))]
    if as_json:
        print_json({"checks": [check._asdict() for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            click.echo(f"{check.status:4}  {check.name:{width}}  {check.detail}")
    ctx.exit(int(any(check.status == "fail" for check in checks)))


def _installation() -> Iterable[Check]:
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield Check(DISTRIBUTION, "ok", f"{__version__} at {Path(__file__).parents[1]}")
    yield import_name()
    wanted = requirements_of_extras()
    for extra in sorted(wanted):
        yield _extra(extra, wanted[extra])


def import_name() -> Check:
    """Whether another distribution brings files for `import gym`, as OpenAI's old one does: two mix into one folder."""
    others = sorted(set(metadata.packages_distributions().get(IMPORT_NAME, ())) - {DISTRIBUTION})
    if not others:
        return Check("import name", "ok", f"`import {IMPORT_NAME}` is ours alone")
    fix = f"pip uninstall {' '.join(others)}, then pip install --force-reinstall --no-deps {DISTRIBUTION}"
    return Check("import name", "fail", f"`import {IMPORT_NAME}` is shared with {', '.join(others)}: {fix}; "
                 "or use an environment of its own")  # fmt: skip


def requirements_of_extras() -> dict[str, list[str]]:
    """The distributions that each extra asks for, from the installed metadata."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, requirements)):
        found.setdefault(match[2], []).append(match[1])
    return found


def _extra(extra: str, wanted: list[str]) -> Check:
    versions = {name: _version(name) for name in wanted}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return Check(f"[{extra}]", "warn", f"{', '.join(missing)} missing: pip install '{DISTRIBUTION}[{extra}]'")
    if "xllamacpp" in versions and (complaint := _import_error("xllamacpp")):
        return Check(f"[{extra}]", "fail", f"xllamacpp does not load ({complaint}); on Debian: apt install libgomp1")
    return Check(f"[{extra}]", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _import_error(module: str) -> str:
    """The last line of the error of importing it, "" when it loads; in a child, for a native library may crash."""
    done = subprocess.run([sys.executable, "-P", "-c", f"import {module}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}" if done.returncode else ""


def _machine() -> Iterable[Check]:
    here = [weights.name for weights in EVERYTHING.values() if cached(weights)]
    known = ", ".join(here) if here else "none yet; gym model get NAME"
    yield Check("models", "ok", f"{known} (in {cache_dir()})")
    folder = next(parent for parent in (cache_dir(), *cache_dir().parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free / 1e9
    yield Check("disk", "ok" if free >= ROOM_GB else "warn", f"{free:.1f} GB free in {folder}")
    yield Check("cores", "ok", f"{available_cores()} for this process")


def _keys() -> Check:
    """Which providers' keys the environment has; their values stay there."""
    wanted = [resolve("provider", name).key_env for name in names("provider")]
    return Check(
        "keys", "ok", ", ".join(f"{key} {'set' if os.environ.get(key) else 'not set'}" for key in wanted if key)
    )


def _endpoint(config: RunConfig) -> Iterable[Check]:
    """Nothing when no model is named anywhere; else whether it answers, with a server of ours started for it."""
    endpoint = Endpoint(
        model=config.model_name_or_path,
        provider=config.provider,
        base_url=config.api_base_url,
        api_key=config.api_key,
        timeout_s=30.0,
        max_retries=0,
        slots=1,
        context=256,
    )
    if not (endpoint.model or endpoint.provider or endpoint.base_url):
        return
    name = endpoint.model or endpoint.provider or endpoint.base_url
    try:
        answer = _not_here(endpoint) or run_on_new_loop(_ask(endpoint, name))
    except GymError as error:
        answer = Check("endpoint", "fail", str(error))
    yield answer


def _not_here(endpoint: Endpoint) -> Check | None:
    """A doctor downloads nothing: an embedded model that is not cached is told, not got."""
    if not endpoint.local or endpoint.model.lower().endswith(".gguf"):
        return None
    weights = find(endpoint.model or resolve("provider", "local").default_model)
    if cached(weights):
        return None
    return Check("endpoint", "fail", f"{weights.name} is not here: gym model get {weights.name}")


async def _ask(endpoint: Endpoint, name: str) -> Check:
    async with open_model(endpoint) as model:
        await preflight(model)
    return Check("endpoint", "ok", f"{name} answers" + (f" at {endpoint.base_url}" if endpoint.base_url else ""))
