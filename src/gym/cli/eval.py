"""`gym eval`: a model on a data set, without or with a library, with its interval."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, load_config
from gym.core.experience import Library
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.evaluation.measure import Measured

OPTIONS = (
    "model_name_or_path", "provider", "api_base_url", "api_key", "judge_model", "judge_base_url", "judge_api_key",
    "dataset", "dataset_truncate", "domain", "data_dir", "input_key", "answer_key", "reward", "system_prompt", "seed",
    "mode", "tools", "tool_calls", "max_tool_steps", "tool_timeout", "rollout_context", "mcp_servers",
    "rollout_concurrency", "rollout_max_tokens", "task_timeout", "call_timeout", "reward_timeout", "max_retries", "hedge",
    "outage_patience", "executor", "ray_address", "ray_workers", "experience_lib_path", "retrieval", "retrieval_k", "relevance",
    "encoder", "experience_token_budget",
    "budget_usd", "budget_tokens", "budget_calls", "output_dir", "experiment_name",
)  # fmt: skip


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--k", "k", type=click.IntRange(min=1), help="Answers to each problem.  [default: 3]")
@click.option("--temperature", type=click.FloatRange(min=0), help="Of the answers; 0 is 0.  [default: 0.7]")
@click.option("--compare", is_flag=True, help="Answer without the library too, and show the paired difference.")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(*OPTIONS)
def command(
    config_file: Path | None,
    k: int | None,
    temperature: float | None,
    compare: bool,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Measure a model on a data set: mean@k with a 95 % interval over problems, pass@k, tokens and dollars.

    With --experiences FILE the library stands in every prompt; with --compare it is measured against the same problems
    without it. Answers are recorded: the same command again, or after a stop, repeats no finished call.

    \b
      gym eval --data test.jsonl --reward exact --model gpt-4o-mini --k 5 --json
      gym eval --data test.jsonl --reward exact --model gpt-4o-mini --experiences experiences.json --compare
    """
    given = {"eval_k": k, "eval_temperature": temperature}
    config = load_config(config_file, overrides | {key: value for key, value in given.items() if value is not None})
    library = _library(config)
    with Display(quiet=quiet) as display:
        measured = run_on_new_loop(_measure(_named(config), library, compare, display))
    if as_json:
        print_json(as_object(measured))
    else:
        _show(measured, library)


async def _measure(config: RunConfig, library: Library | None, compare: bool, display: Display) -> "Measured":
    from gym.evaluation.measure import measure  # numpy and the rest load only when there is work

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await measure(config, library, compare=compare, watch=display, brake=brake)


def as_object(measured: "Measured") -> dict[str, Any]:
    """The one object that `--json` prints (SPEC 4.1)."""
    found = measured.score.score.model_dump(mode="json")
    usage = measured.score.score.tokens
    return {
        **found,
        "tokens": usage.total,
        "usd": measured.spent["usd"],
        "usage": found["tokens"],
        "spent": measured.spent,
        "without_library": measured.plain.score.model_dump(mode="json") if measured.plain else None,
        "gain": {**measured.gain.model_dump(mode="json"), "verdict": measured.gain.verdict} if measured.gain else None,
        "notes": list(measured.notes),
    }


def _library(config: RunConfig) -> Library | None:
    if not config.experience_lib_path:
        return None
    from gym.core.admission import Admission
    from gym.embedding import similarity
    from gym.embedding.hashing import HashingEmbedder
    from gym.train.grpo.experience_manager import read_library

    path = Path(config.experience_lib_path)
    gate = Admission(similarity=similarity(HashingEmbedder()), max_size=sys.maxsize, token_budget=sys.maxsize)
    screened = read_library(path).screened(gate)
    for gone in screened.accepted:
        console.print(f"{path}: {gone.before[0].id} left out: {gone.warnings[0]}", markup=False)
    return screened.library


def _named(config: RunConfig) -> RunConfig:
    """A folder of its own unless one is given, so that a training run's folder is never mixed up with it."""
    if config.experiment_name:
        return config
    model = config.model_name_or_path.rpartition("/")[2]
    return config.model_copy(update={"experiment_name": f"eval-{Path(config.dataset).stem}-{model}"})


def _show(measured: "Measured", library: Library | None) -> None:
    from gym.cli.tables import money, out, points, print_scores, print_tools

    rows = [("no library", measured.plain.score)] if measured.plain else []
    rows.append((f"{len(library)} experiences" if library else "no library", measured.score.score))
    print_scores(rows)
    solved = "  ".join(f"pass@{k} {100 * value:.1f} %" for k, value in measured.score.score.pass_at.items())
    out.print(f"{solved}\n" if solved else "", end="")
    if measured.gain:
        out.print(f"difference on the same problems: {points(measured.gain)}")
    spent = measured.spent
    replayed = f", {spent['replayed']} answers from the record" if spent["replayed"] else ""
    print_tools([(name, score.tools) for name, score in rows])
    total = measured.score.score.tokens.total
    out.print(f"{spent['calls']} calls, {money(spent['usd'], total)}{replayed}; recorded in {measured.folder}")
