"""`gym verify`: weights and signed libraries that are not what they were are told by name, with exit code 4."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gym.cli.main import gym
from gym.errors import ConfigError, WeightsChanged
from gym.signing import open_key
from gym.train.grpo.frozen import Held, Weights, fingerprint, read_record
from gym.train.grpo.signature import sign_library
from tests.toy_weights import flip, folder, gguf, run_of

RULES = {"G0": "Count twice.", "G1": "Name the unit."}


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ZOO_GYM_KEY", str(tmp_path / "key" / "node.pem"))


def verify(*arguments: object) -> Result:
    return CliRunner().invoke(gym, ["verify", *map(str, arguments)])


def checked(*arguments: object) -> dict[str, Any]:
    result = verify(*arguments, "--json")
    (check,) = json.loads(result.stdout)["checks"]
    return {**check, "exit_code": result.exit_code}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return gguf(tmp_path / "toy.gguf")


@pytest.fixture
def run(tmp_path: Path, toy: Path) -> Path:
    """A run on the toy model, with a library that is signed."""
    made = run_of(tmp_path / "run", str(toy))
    (made / "experiences.json").write_text(json.dumps(RULES), encoding="utf-8")
    sign(made, str(toy))
    return made


def sign(made: Path, model: str, sha256: str | None = None, **more: Any) -> str:
    digest = sha256 if sha256 or not model.endswith(".gguf") else fingerprint(Path(model)).whole
    return sign_library(made / "experiences.json", model, digest, **more)


def test_weights_that_stayed_are_confirmed_in_one_line(run: Path, toy: Path) -> None:
    result = verify(run)
    assert result.exit_code == 0
    digest = fingerprint(toy).whole
    assert result.stdout == f"unchanged: {toy} is bit for bit what the run used (4 tensors, SHA-256 {digest})\n"
    found = checked(run)
    assert (found["verdict"], found["sha256"]) == ("unchanged", {"before": digest, "after": digest, "now": digest})


def test_one_flipped_bit_exits_with_4_and_names_the_tensor(run: Path, toy: Path) -> None:
    flip(toy, -80)
    result = verify(run)
    assert result.exit_code == WeightsChanged.exit_code == 4
    assert result.stdout.splitlines() == [
        f"changed: {toy} is not bit for bit what the run used",
        "  tensor 'output_norm.weight' changed",
    ]
    assert checked(run)["differences"] == ["tensor 'output_norm.weight' changed"]


def test_a_flipped_bit_of_the_first_byte_is_a_change_and_not_an_error(run: Path, toy: Path) -> None:
    flip(toy, 0)
    found = checked(run)
    assert found["exit_code"] == 4
    assert found["differences"] == ["header changed: its tensors can no longer be found"]


def test_the_weights_may_be_elsewhere_now(run: Path, toy: Path, tmp_path: Path) -> None:
    moved = toy.rename(tmp_path / "moved.gguf")
    with pytest.raises(ConfigError, match=r"no weights at .*toy\.gguf': give --model PATH"):
        CliRunner().invoke(gym, ["verify", str(run)], catch_exceptions=False)
    assert verify(run, "--model", moved).exit_code == 0
    other = gguf(tmp_path / "other.gguf", name="Boy")
    assert checked(run, "--model", other)["differences"] == ["metadata 'general.name' changed"]


def test_a_model_folder_is_verified_as_a_file_is(tmp_path: Path) -> None:
    model = folder(tmp_path / "model")
    run = run_of(tmp_path / "run", f"hf:{model}")
    assert verify(run).exit_code == 0
    flip(min(model.glob("*.safetensors")), -1)
    assert checked(run)["differences"] == ["tensor 'blk.0.ffn_up.weight' changed"]
    assert checked(run)["exit_code"] == 4


def test_many_differences_are_counted_and_all_are_in_json(tmp_path: Path) -> None:
    import numpy as np

    many = {f"blk.{n}.weight": np.full((2, 2), n, dtype=np.float32) for n in range(30)}
    toy = gguf(tmp_path / "toy.gguf", many)
    run = run_of(tmp_path / "run", str(toy))
    gguf(toy, {name: values + 1 for name, values in many.items()})
    assert verify(run).stdout.splitlines()[-1] == "  and 10 more: --json names all"
    assert len(checked(run)["differences"]) == 30


def test_a_model_behind_an_api_is_told_as_what_it_is(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", "gpt-4o-mini")
    assert not (run / "weights.json").exists()
    (run / "config.yaml").write_text("model_name_or_path: gpt-4o-mini\n", encoding="utf-8")
    result = verify(run)
    assert result.exit_code == 1
    assert result.stdout == (
        "unknown: gpt-4o-mini is behind an API: whether its weights stayed the same cannot be known from here\n"
    )


def test_a_run_that_has_not_ended_is_compared_with_its_beginning(tmp_path: Path, toy: Path) -> None:
    run = run_of(tmp_path / "run", str(toy), ended=False)
    assert "note: the run has not ended" in verify(run).stdout
    flip(toy, -80)
    assert checked(run)["exit_code"] == 4


def test_a_run_from_before_tensors_were_kept_is_compared_as_a_whole(run: Path, toy: Path) -> None:
    (run / "weights.json").unlink()
    (run / "config.yaml").write_text(f"model_name_or_path: {toy}\n", encoding="utf-8")
    assert verify(run).exit_code == 0
    flip(toy, -80)
    (told,) = checked(run)["differences"]
    assert "which tensor it is cannot be told" in told


def test_what_changed_during_the_run_is_told_apart(tmp_path: Path, toy: Path) -> None:
    run = run_of(tmp_path / "run", str(toy))
    began = Weights.of(str(toy))
    flip(toy, -80)
    ended = began.read_again()
    with pytest.raises(WeightsChanged, match=r"changed during the run: .*: tensor 'output_norm.weight' changed"):
        ended.require_unchanged()
    ended.keep(run, str(toy))
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["weights"]["sha256_after"] = ended.after
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert checked(run)["differences"] == ["during the run: tensor 'output_norm.weight' changed"]


def test_a_module_that_changed_in_memory_is_told_beside_its_files(run: Path, tmp_path: Path) -> None:
    record = read_record(run / "weights.json")
    assert record is not None
    was, became = record.files.before, fingerprint(gguf(tmp_path / "other.gguf", name="Boy"))
    for memory, code in ((Held(before=was, after=was.whole), 0), (Held(before=was, after="ab", became=became), 4)):
        held = record.model_copy(update={"memory": memory})
        (run / "weights.json").write_text(held.to_json(), encoding="utf-8")
        found = checked(run)
        assert found["exit_code"] == code
    assert found["differences"] == ["in memory: metadata 'general.name' changed"]


def test_a_run_that_goes_on_with_other_weights_is_stopped_and_told(run: Path, toy: Path) -> None:
    Weights.of(str(toy)).require_begun(run, str(toy))
    flip(toy, -80)
    with pytest.raises(WeightsChanged, match=r"not those that run .* began with: .*'output_norm.weight' changed; give"):
        Weights.of(str(toy)).require_begun(run, str(toy))
    Weights.of(str(toy)).require_begun(run, "another")
    (run / "weights.json").write_text("{", encoding="utf-8")
    with pytest.raises(WeightsChanged, match=r"SHA-256 \w+ then, \w+ now; give"):
        Weights.of(str(toy)).require_begun(run, str(toy))


def test_weights_that_are_gone_at_the_end_are_a_change(toy: Path) -> None:
    began = Weights.of(str(toy))
    toy.unlink()
    with pytest.raises(WeightsChanged, match="before, unreadable after"):
        began.read_again().require_unchanged()


def test_a_folder_that_is_no_run_or_a_damaged_manifest_is_the_users_mistake(run: Path, tmp_path: Path) -> None:
    (run / "manifest.json").write_text('{"weights": []}', encoding="utf-8")
    nowhere = tmp_path / "nowhere"
    for path, told in (
        (tmp_path, "has no manifest.json"),
        (nowhere, "has no manifest.json"),
        (run, "is no readable manifest"),
    ):
        result = verify(path)
        assert isinstance(result.exception, ConfigError)
        assert told in str(result.exception)
    assert verify().exit_code == 2
    assert verify(run, "--key", "ab").exit_code == 2
    assert "there is no library" in str(verify("--library", nowhere).exception)


def test_a_signed_library_is_confirmed_with_signer_and_model(run: Path, toy: Path, tmp_path: Path) -> None:
    result = verify("--library", run)
    assert result.exit_code == 0, result.stdout
    public = open_key(tmp_path / "key" / "node.pem").key.public
    said, note = result.stdout.splitlines()
    assert f"{run / 'experiences.json'} is what {public} signed on" in said
    assert f"the model is the one it was signed with: {toy}" in note
    assert verify("--library", run / "experiences.json", "--key", public).exit_code == 0


def test_a_changed_added_or_missing_experience_is_named(run: Path) -> None:
    changed = {"G0": "Count thrice.", "G2": "Be brief."}
    (run / "experiences.json").write_text(json.dumps(changed), encoding="utf-8")
    found = checked("--library", run)
    assert found["exit_code"] == 4
    assert found["differences"] == [
        "experience G0 has another text",
        "experience G1 is missing",
        "experience G2 was added",
    ]


def test_a_changed_record_breaks_a_signature_too(run: Path) -> None:
    counted = {"experiences": RULES, "records": {"G0": {"uses": 9}}}
    (run / "experiences.json").write_text(json.dumps(counted), encoding="utf-8")
    (told,) = checked("--library", run)["differences"]
    assert told.startswith("the experiences are those that were signed, but their records")
    (run / "experiences.json").write_text("{", encoding="utf-8")
    (told,) = checked("--library", run)["differences"]
    assert told.startswith("the library can no longer be read: not JSON")


def test_another_model_is_named_by_its_tensors_where_they_are_known(run: Path, toy: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(toy, tmp_path / "other.gguf"))
    flip(other, -80)
    found = checked("--library", run, "--model", other)
    assert found["exit_code"] == 4
    assert found["differences"] == ["the model is another: tensor 'output_norm.weight' changed"]
    (run / "weights.json").unlink()
    (told,) = checked("--library", run, "--model", other)["differences"]
    assert told.startswith(f"the model is another: {other} has SHA-256")


def test_a_model_that_is_not_here_is_left_out_and_said(run: Path, toy: Path) -> None:
    toy.unlink()
    found = checked("--library", run)
    assert found["exit_code"] == 0
    assert found["notes"][0].startswith("the model was not checked: ")


def test_another_key_is_named(run: Path, tmp_path: Path) -> None:
    other = open_key(tmp_path / "other.pem").key.public
    found = checked("--library", run, "--key", other)
    assert found["exit_code"] == 4
    (told,) = found["differences"]
    assert told.endswith(f", not by {other}")
    sign(run, str(tmp_path / "toy.gguf"), key_file=str(tmp_path / "other.pem"))
    assert checked("--library", run)["differences"][0].startswith(f"it was signed by {other}, not by")


def test_a_key_that_nothing_vouches_for_is_not_trusted(run: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "key")
    result = verify("--library", run)
    assert result.exit_code == 1
    assert "a key that nothing here vouches for: give the one you expect with --key" in result.stdout
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("field", ["library_sha256", "model", "model_sha256", "at", "public_key"])
def test_a_statement_that_was_edited_is_not_signed(run: Path, tmp_path: Path, field: str) -> None:
    file = run / "signature.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    other = open_key(tmp_path / "other.pem").key.public
    content["statement"][field] = other if field == "public_key" else "0" * 64
    file.write_text(json.dumps(content), encoding="utf-8")
    found = checked("--library", run)
    assert found["exit_code"] == 4
    assert "the signature is not valid" in found["differences"][0]
    content["statement"][field] = []
    file.write_text(json.dumps(content), encoding="utf-8")
    assert "is broken" in checked("--library", run)["differences"][0]


def test_a_broken_signature_is_a_difference_and_a_missing_one_a_mistake(run: Path) -> None:
    (run / "signature.json").write_text("{", encoding="utf-8")
    assert checked("--library", run)["exit_code"] == 4
    assert checked("--library", run)["differences"] == [f"the signature {str(run / 'signature.json')!r} is broken"]
    (run / "signature.json").unlink()
    assert "there is no signature" in str(verify("--library", run).exception)
    (run / "experiences.json").unlink()
    assert "there is no library" in str(verify("--library", run).exception)


def test_a_library_learned_behind_an_api_is_bound_to_a_name_alone(tmp_path: Path, toy: Path) -> None:
    (tmp_path / "experiences.json").write_text(json.dumps(RULES), encoding="utf-8")
    sign(tmp_path, "gpt-4o-mini")
    found = checked("--library", tmp_path)
    assert (found["exit_code"], found["notes"]) == (0, ["'gpt-4o-mini' is behind an API: not checked"])
    assert checked("--library", tmp_path, "--model", toy)["exit_code"] == 4


def test_signing_says_when_a_key_was_made_or_could_not_be_used_and_never_fails(run: Path, tmp_path: Path) -> None:
    made = sign(run, "m", "0" * 64, key_file=str(tmp_path / "new" / "key.pem"))
    assert made.endswith(f"the key was made now and is in {tmp_path / 'new' / 'key.pem'}")
    kept = (run / "signature.json").read_bytes()
    assert "made now" not in sign(run, "m", "0" * 64, key_file=str(tmp_path / "new" / "key.pem"))
    assert (run / "signature.json").read_bytes() == kept
    (tmp_path / "bad.pem").write_text("x", encoding="utf-8")
    assert sign(run, "m", key_file=str(tmp_path / "bad.pem")).startswith("the library was not signed: key file")


def test_verifying_files_loads_neither_torch_nor_http(run: Path) -> None:
    code = (
        "import sys; from gym.cli.main import gym\n"
        "for what in (['--library'], []):\n"
        "    assert gym.main(['verify', *what, sys.argv[1]], standalone_mode=False) == 0\n"
        "print(*{'torch', 'transformers', 'safetensors', 'gguf'} & set(sys.modules), sep='')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
