"""`gym eval`: a model on a data set, without or with a library, with its interval, and checks of the measurement itself."""

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
    from gym.evaluation.compare import Comparison
    from gym.evaluation.measure import Checks
    from gym.evaluation.measured import Elsewhere, Measured

OPTIONS = (
    "model_name_or_path", "provider", "api_base_url", "api_key", "judge_model", "judge_base_url", "judge_api_key",
    "dataset", "dataset_truncate", "domain", "data_dir", "input_key", "answer_key", "reward", "system_prompt", "seed",
    "mode", "tools", "tool_calls", "max_tool_steps", "tool_timeout", "rollout_context", "mcp_servers",
    "web_sites", "web_hosts", "web_fetcher", "web_search", "web_block", "web_max_visits", "web_part",
    "web_delay",
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
@click.option("--aa", is_flag=True, help="Measure the same a second time with the next seed: is there a difference?")
@click.option(
    "--also",
    multiple=True,
    metavar="OTHER",
    help="Another set, or the YAML file of another task: answered without and with the library. May be given several times.",
)
@click.option(
    "--also-reward", default="", metavar="R", help="What scores all others.  [default: the run's, or their own]"
)
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(*OPTIONS)
def command(
    config_file: Path | None,
    k: int | None,
    temperature: float | None,
    compare: bool,
    aa: bool,
    also: tuple[str, ...],
    also_reward: str,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Measure a model on a data set: mean@k with a 95 % interval over problems, pass@k, tokens and dollars.

    With --experiences FILE the library stands in every prompt; with --compare it is measured against the same problems
    without it. Answers are recorded: the same command again, or after a stop, repeats no finished call. The folder also gets
    report.md, report.html, report.json, and the figures of every problem for `gym compare`.

    \b
      gym eval --data test.jsonl --reward exact --model gpt-4o-mini --k 5 --json
      gym eval --data test.jsonl --reward exact --model gpt-4o-mini --experiences experiences.json --compare
      gym eval --data test.jsonl --reward exact --model gpt-4o-mini --aa
      gym eval ... --experiences experiences.json --compare --also gsm8k
      gym eval web.yaml --experiences math.json --compare --also math.yaml
    """
    from gym.evaluation.measure import Checks  # numpy and the rest load only when there is work

    given = {"eval_k": k, "eval_temperature": temperature}
    config = load_config(config_file, overrides | {key: value for key, value in given.items() if value is not None})
    library = gated_library(config)
    with Display(quiet=quiet) as display:
        checks = Checks(again=aa, also=also, also_reward=also_reward)
        measured = run_on_new_loop(_measure(named(config, "eval"), library, compare, checks, display))
    report = _report(measured)
    if as_json:
        print_json(as_object(measured))
    else:
        _show(measured, report)


async def _measure(
    config: RunConfig, library: Library | None, compare: bool, checks: "Checks", display: Display
) -> "Measured":
    from gym.evaluation.measure import measure

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await measure(config, library, compare=compare, checks=checks, watch=display, brake=brake)


def as_object(measured: "Measured") -> dict[str, Any]:
    """The one object that `--json` prints (SPEC 4.1), and report.json."""
    found = measured.score.score.model_dump(mode="json")
    usage = measured.score.score.tokens
    return {
        **found,
        "tokens": usage.total,
        "usd": measured.taken.usd,
        "usage": found["tokens"],
        "spent": measured.spent,
        "without_library": measured.plain.score.model_dump(mode="json") if measured.plain else None,
        "gain": {**measured.gain.model_dump(mode="json"), "verdict": measured.gain.verdict} if measured.gain else None,
        "measured": measured.taken.made.model_dump(mode="json"),
        "comparison": measured.comparison.as_object() if measured.comparison else None,
        "again": measured.again.as_object() if measured.again else None,
        "elsewhere": [one.as_object() for one in measured.elsewhere],
        **({"closed_book": measured.closed_book.as_object()} if measured.closed_book else {}),
        "notes": list(measured.notes),
        "folder": str(measured.folder),
    }


def _report(measured: "Measured") -> Path:
    """report.md, report.html and report.json in the folder; where they are a training run's, eval-report.* beside them."""
    import json

    from gym.evaluation import eval_page
    from gym.files import write_atomic

    folder = measured.folder
    stem = "eval-report" if (folder / "config.yaml").exists() else "report"
    write_atomic(folder / f"{stem}.json", json.dumps(as_object(measured), ensure_ascii=False, indent=2) + "\n")
    write_atomic(folder / f"{stem}.md", eval_page.markdown(measured))
    write_atomic(folder / f"{stem}.html", eval_page.html(measured))
    return folder / f"{stem}.html"


def gated_library(config: RunConfig) -> Library | None:
    """The library of `experience_lib_path` without what the gate refuses, which is told; None without a path."""
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


def named(config: RunConfig, what: str) -> RunConfig:
    """A folder of its own unless one is given, so that a training run's folder is never mixed up with it."""
    if config.experiment_name:
        return config
    model = config.model_name_or_path.rpartition("/")[2]
    return config.model_copy(update={"experiment_name": f"{what}-{Path(config.dataset).stem}-{model}"})


def _show(measured: "Measured", report: Path) -> None:
    from gym.cli.tables import out, print_comparison, print_pass_at, print_scores, print_tools, spent
    from gym.evaluation.closed_book import TOLD
    from gym.evaluation.eval_page import said_again
    from gym.evaluation.measured import told_size

    rows = [("no library", measured.plain.score)] if measured.plain else []
    rows.append((told_size(measured.taken.made.library_size), measured.score.score))
    print_scores(rows)
    print_pass_at(rows)
    if measured.comparison:
        print_comparison(measured.comparison)
    if measured.closed_book:
        _show_check("\nclosed book", measured.closed_book, TOLD)
    if measured.again:
        _show_check("\nthe same twice (A/A)", measured.again, said_again(measured.again))
    print_tools([(name, score.tools) for name, score in rows])
    for there in measured.elsewhere:
        _show_elsewhere(there)
    for note in measured.warnings:
        out.print(f"note: {note}", markup=False)
    replayed = f", {measured.spent['replayed']} answers from the record" if measured.spent["replayed"] else ""
    out.print(f"{spent(measured.spent)} in all{replayed}; recorded in {measured.folder}", markup=False)
    out.print(f"report: {report}", markup=False)


def _show_elsewhere(there: "Elsewhere") -> None:
    from gym.cli.tables import out, overhead, print_tools
    from gym.evaluation.closed_book import TOLD
    from gym.evaluation.eval_page import said_elsewhere

    found, closed = there
    name = f"elsewhere: {found.after.made.dataset}"
    _show_check(f"\n{name}", found, said_elsewhere(found))
    if found.overhead:
        out.print(overhead(found.overhead))
    print_tools([(side.label, side.score.tools) for side in (found.before, found.after)])
    if closed:
        _show_check(f"\n{name}, closed book", closed, TOLD)


def _show_check(title: str, found: "Comparison", said: str) -> None:
    from gym.cli.tables import out, points, print_scores

    out.print(title, markup=False)
    print_scores([(found.before.label, found.before.score), (found.after.label, found.after.score)])
    out.print(f"difference on the same problems: {points(found.gain)}\n{said}")
