"""Whether a run's weights are what its manifest says."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from gym.errors import ConfigError
from gym.train.grpo.frozen import EVALUATION, Held, Record, differences, manifest_path, read_record, record_path
from gym.train.grpo.verification.check import Check, Reading, changed_since, digest_now, silent, weights_of

UNFINISHED = "the run has not ended: compared with what it began with"


class _Told(NamedTuple):
    """What a run left behind of its weights."""

    manifest: Path
    model: str
    """As the run was told it; empty where an old run does not say."""
    answered: Sequence[str]
    """The names under which models answered."""
    before: str | None
    """None of a model behind an API."""
    after: str | None
    record: Record | None


def verify_run(run: Path, model: str = "", reading: Reading = silent) -> tuple[Check, ...]:
    """The weights of a training run, of an evaluation, or of both in one folder, against what its manifests say.

    `run` is the folder or one manifest; `model` is where the weights are now, by default where the run found them.
    Raises `ConfigError` when the one or the other is not there.
    """
    if run.is_file():
        return (_verify(_told(run.parent, run.stem.removeprefix("manifest")), model, reading),)
    endings = [ending for ending in ("", EVALUATION) if manifest_path(run, ending).exists()]
    if not endings:
        raise ConfigError(f"{str(run)!r} has no manifest.json: give the folder of a run of gym train or gym eval")
    return tuple(_verify(_told(run, ending), model, reading) for ending in endings)


def _verify(told: _Told, model: str, reading: Reading) -> Check:
    subject = str(told.manifest)
    if told.before is None:
        return Check(subject=subject, verdict="unknown", model=told.model, said=_behind_an_api(told))
    path = weights_of(model or told.model)
    now = digest_now(path, reading)
    since = () if now == told.after else changed_since(told.before, now, path, told.record, reading)
    found = (*_during(told), *since)
    return Check(
        subject=subject,
        verdict="changed" if found else "unchanged",
        model=told.model,
        file=str(path),
        sha256={"before": told.before, "after": told.after, "now": now},
        said=f"{path} is not bit for bit what the run used" if found else _confirmed(path, now, told.record),
        differences=found,
        notes=() if told.after else (UNFINISHED,),
    )


def _during(told: _Told) -> Sequence[str]:
    """What changed while the run was at it, in its files and in the module it held in memory, where it had one."""
    files, memory = (told.record.files, told.record.memory) if told.record else (None, None)
    found = [f"during the run: {what}" for what in _became(told.before, told.after, files)]
    if memory:
        found += [f"in memory: {what}" for what in _became(memory.before.whole, memory.after, memory)]
    return found


def _became(before: str | None, after: str | None, held: Held | None) -> Sequence[str]:
    if after in (None, before):
        return ()
    if held and held.became and held.before.whole == before:
        return [str(part) for part in differences(held.before, held.became)]
    return [f"SHA-256 {before} became {after}"]


def _told(run: Path, ending: str) -> _Told:
    """Raises `ConfigError` when the manifest or the record is damaged."""
    file, record = manifest_path(run, ending), read_record(record_path(run, ending))
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        before, after = found["weights"]["sha256_before"], found["weights"]["sha256_after"]
        answered = [name for asked in found["models"].values() for name in asked["returned"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{str(file)!r} is no readable manifest of a run") from error
    return _Told(file, record.model if record else _configured(run, ending), answered, before, after, record)


def _configured(run: Path, ending: str) -> str:
    """The model of a run that kept no record of weights; empty where nothing tells."""
    if ending:
        return ""
    try:
        return str(yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return ""


def _behind_an_api(told: _Told) -> str:
    names = f" (it answered as {', '.join(dict.fromkeys(told.answered))})" if told.answered else ""
    return f"{told.model or 'the model'}{names} is behind an API: whether its weights stayed the same cannot be known from here"


def _confirmed(path: Path, now: str, record: Record | None) -> str:
    tensors = f"{record.files.before.tensors} tensors, " if record else ""
    return f"{path} is bit for bit what the run used ({tensors}SHA-256 {now})"
