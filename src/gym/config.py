"""RunConfig: everything a run is told, parsed once at the edge (SPEC 4.2).

Order of precedence: command line, YAML, environment, default. An unknown key is an error that names the nearest
known one. Secrets are `SecretStr`: never printed, never saved.
"""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from gym.core.value import digest
from gym.errors import ConfigError

ALIASES = {
    "model": "model_name_or_path",
    "base_url": "api_base_url",
    "data": "dataset",
    "group_size": "grpo_group_size",
    "grpo_n": "grpo_group_size",
    "experiences": "experience_lib_path",
    "max_operations": "semantic_max_operations",
    "temperature": "rollout_temperature",
    "training_free": "continuous_learning_grpo",
    "use_ground_truth": "use_groundtruth",
    "ground_truth": "use_groundtruth",
}
"""Other names a key is known by: the command's short forms and the paper's."""

EXECUTION_KEYS = frozenset(
    {
        "rollout_concurrency",
        "executor",
        "ray_address",
        "ray_workers",
        "task_timeout",
        "call_timeout",
        "max_retries",
        "web_delay",
        "hedge",
        "outage_patience",
        "save_steps",
        "logging_steps",
        "signing_key",
        "output_dir",
        "experiment_name",
        "budget_usd",
        "budget_tokens",
        "budget_calls",
        "prices",
        "api_key",
        "reflector_api_key",
        "judge_api_key",
    }
)
"""Keys that may change between a stop and its resume: they alter how the work is done, not what comes out."""

YOUNGER_KEYS: Mapping[str, Any] = {"retrieval": "all", "encoder": "hashing"}
"""What held before there was the key, where that is not its default: a run that is older goes on so."""

ENDPOINT_KEYS = frozenset({"provider", "api_base_url", "api_key"})
"""Where the policy's model is and what opens it."""

_ENV = re.compile(r"\$\{(\w+)\}")


class McpServer(BaseModel):
    """Where a server of the Model Context Protocol is; `${NAME}` is read from the environment when it is started."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str = ""
    """Program to start; it speaks over its standard input and output."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    """Its environment, beside PATH and HOME."""
    url: str = ""
    """Of a server that runs already (streamable HTTP)."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Sent with every request to the URL."""
    tools: tuple[str, ...] = ()
    """Its tools that are mounted; all when empty."""
    shared: bool = True
    """One process for the whole run; false: one for each rollout that calls it."""
    start_timeout: float = Field(default=30.0, gt=0.0)
    """Seconds until it must have listed its tools."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either command (a program to start) or url")
        return self


class RunConfig(BaseModel):
    """The settings of one run; every field is also a `--option` of the command."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    model_name_or_path: str = Field(default="", description="model id, local:NAME, a path to a GGUF file, or hf:FOLDER")
    provider: str = Field(default="", description="deepseek, openai, local … (default: from the model and the URL)")
    api_mode: bool = Field(default=True, description="false: the model is a folder, as if it were written hf:FOLDER")
    api_base_url: str = Field(default="", description="an OpenAI-compatible endpoint, e.g. http://127.0.0.1:8080/v1")
    api_key: SecretStr | None = Field(default=None, description="its key; ${ENV} reads the environment")
    reflector_model: str = Field(default="", description="model of the three stages (default: the policy model)")
    reflector_base_url: str = Field(default="", description="endpoint of the reflector")
    reflector_api_key: SecretStr | None = Field(default=None, description="key of the reflector's endpoint")
    judge_model: str = Field(default="", description="model of the judge reward (default: the policy model)")
    judge_base_url: str = Field(default="", description="endpoint of the judge")
    judge_api_key: SecretStr | None = Field(default=None, description="key of the judge's endpoint")

    finetuning_type: Literal["grpo", "lora"] = Field(
        default="grpo", description="without continuous_learning_grpo: what gradients change, every weight or adapters"
    )
    continuous_learning_grpo: bool = Field(default=True, description="training-free: the library learns, not weights")
    grpo_group_size: int = Field(default=5, ge=1, description="G, answers to each training problem")
    group_size_min: int | None = Field(
        default=None,
        ge=2,
        description="stop a group of N answers or more as soon as their rewards differ (default: G answers always)",
    )
    group_size_max: int | None = Field(
        default=None,
        ge=2,
        description="draw on to N answers while all G of a group got the same reward (default: leave it)",
    )
    grpo_normalize_advantages: bool = Field(
        default=False, description="gradient GRPO divides by the group's spread unless this says false"
    )

    dataset: str = Field(default="", description="JSONL, CSV or Parquet file, Hugging Face id, or a domain's set")
    dataset_truncate: int | None = Field(default=None, ge=1, description="use the first N training problems")
    domain: str = Field(
        default="jsonl",
        description="jsonl (your own data), math, … or pkg.mod:DOMAIN (a known set brings its own)",
    )
    data_dir: str = Field(default="", description="folder with a domain's data files")
    val: str = Field(default="", description="validation file")
    test: str = Field(default="", description="held-out file: answered before and after, without and with the library")
    val_fraction: float = Field(default=0.0, ge=0.0, lt=1.0, description="share of the data split off as validation")
    test_fraction: float = Field(default=0.0, ge=0.0, lt=1.0, description="share of the data split off as held-out")
    input_key: str = Field(default="", description="column of the question")
    answer_key: str = Field(default="", description="column of the answer")
    reward: str = Field(default="", description="exact, normalized, numeric, regex, json, math, judge, or pkg.mod:fn")
    system_prompt: str = Field(default="", description="instructions in front of every problem (default: the domain's)")
    allow_overlap: bool = Field(default=False, description="let training and held-out problems overlap")

    mode: Literal["chat", "agent"] = Field(
        default="chat", description="agent: the model may call tools before it answers"
    )
    tools: tuple[str, ...] = Field(
        default=(), description="agent mode: python, web, mcp:NAME (one of mcp_servers), pkg.mod:TOOL (default: python)"
    )
    tool_calls: Literal["auto", "native", "text"] = Field(
        default="auto", description="by the server's tool calls or in plain text; auto: text where the server has none"
    )
    max_tool_steps: int = Field(default=8, ge=0, description="replies of one rollout that may call tools")
    tool_timeout: float = Field(
        default=90.0,
        gt=0.0,
        description="seconds after which a tool call is given up (Python has a shorter limit, the web its own)",
    )
    rollout_context: int = Field(
        default=32768,
        ge=256,
        description="agent mode: tokens of one whole conversation; an embedded model gets room for as many when set, else 4096",
    )
    mcp_servers: Mapping[str, McpServer] = Field(
        default_factory=dict, validate_default=True, description="{name: {command, args, env} or {url, headers}}"
    )

    web_sites: Mapping[str, str] = Field(
        default_factory=dict, description="{host name: folder of static pages, or http://ADDRESS:PORT} of the web tool"
    )
    web_hosts: tuple[str, ...] = Field(
        default=(), description="hosts that the web tool may visit, *.example.org for all below (default: the sites)"
    )
    web_fetcher: Literal["http", "browser"] = Field(
        default="http", description="how pages are fetched; browser: an installed Chromium, for pages that need scripts"
    )
    web_search: str = Field(
        default="site",
        description="what the web tool searches: site (the folders of web_sites), serper, brave, jina, tavily, searxng, none",
    )
    web_block: tuple[str, ...] = Field(
        default=(), description="URLs that the web tool refuses, * for anything, e.g. */sitemap.html"
    )
    web_max_visits: int = Field(default=20, ge=1, description="pages that one rollout may open")
    web_part: int = Field(
        default=6000, ge=500, description="characters of one part of a page, and about as many of a list of links"
    )
    web_delay: float = Field(default=1.0, ge=0.0, description="seconds between two requests to one host of web_hosts")

    epochs: int = Field(default=3, ge=1, description="passes over the training problems")
    batch_size: int = Field(default=100, ge=1, description="problems per step; the library changes between steps")
    seed: int = Field(default=0, description="of shuffling, splitting and sampling")
    rollout_concurrency: int | Literal["auto"] = Field(
        default="auto", description="model calls in flight at each endpoint; auto: as many as make it faster"
    )
    executor: Literal["local", "ray"] = Field(default="local", description="where models are asked and solvers run")
    ray_address: str = Field(
        default="", description="auto, host:port or ray://host:port (default: a cluster started here)"
    )
    ray_workers: int | None = Field(
        default=None, ge=1, description="processes (default: one a node for local models, else one a CPU, at most 8)"
    )
    rollout_temperature: float = Field(default=0.7, ge=0.0, description="of training answers")
    rollout_max_tokens: int = Field(default=4096, ge=1, description="limit of one answer")
    eval_temperature: float = Field(default=0.7, ge=0.0, description="of evaluation answers")
    eval_k: int = Field(default=3, ge=1, description="answers to each held-out problem")
    task_timeout: float = Field(default=600.0, gt=0.0, description="seconds for one answer, queueing not counted")
    reward_timeout: float = Field(default=30.0, gt=0.0, description="seconds for scoring one answer")
    call_timeout: float | None = Field(
        default=None,
        gt=0.0,
        description="seconds for one attempt, so that a hung one is repeated (default: task_timeout)",
    )
    max_retries: int = Field(default=4, ge=0, description="further attempts after a retryable failure")
    hedge: float | None = Field(
        default=None, gt=1.0, description="send a second copy of a call that takes longer than X times the median"
    )
    outage_patience: float = Field(
        default=600.0, ge=0.0, description="seconds to wait for an endpoint that answers nobody; 0: let each call fail"
    )

    use_groundtruth: bool = Field(default=True, description="false: rewards by majority vote, no labels in any prompt")
    semantic_max_operations: int = Field(default=3, ge=1, description="operations per critique")
    reflector_profile: Literal["auto", "small", "large"] = Field(
        default="auto", description="small: worked examples, one sentence a critique (for models under 7B)"
    )
    reflection_max_tokens: int = Field(default=2048, ge=16, description="limit of one reflection reply")
    reflector_context: int = Field(default=32768, ge=512, description="tokens that a reflection prompt may take")
    learn_from: Literal["mixed", "mixed+all_wrong"] = Field(
        default="mixed", description="which groups teach; all-wrong ones by contrast with the reference"
    )
    curriculum: bool = Field(
        default=False,
        description="from the second epoch on, problems whose last group taught nothing rest, and undecided ones are drawn twice",
    )
    critique_feedback: bool = Field(
        default=False, description="show the critic what the reward said of each attempt (needs ground truth)"
    )
    critique_contrast: bool = Field(
        default=False,
        description="tell the critic in what a short wrong answer differs from a right one (capital letters, spaces, …), or the "
        "right one's form",
    )
    critique_groups: int = Field(
        default=1,
        ge=1,
        le=16,
        description="informative groups of a step that one critique sees side by side, to find what they share; 1: each alone",
    )
    critique_samples: int = Field(
        default=1,
        ge=1,
        le=16,
        description="critiques of each informative group; those after the first at temperature 0.8",
    )
    screen_answers: int = Field(
        default=0,
        ge=0,
        description="try each proposed experience with N answers to each of 3 problems and drop it unless they improve by more "
        "than the standard error, or at all where a gate decides afterwards; 0: off",
    )
    screen_keep: int = Field(
        default=0,
        ge=0,
        description="with screen_answers: only the N best of a step stay, found by a race in which the better half goes on "
        "after each answer; 0: all that improve",
    )
    screen_when: Literal["before_gate", "after_gate"] = Field(
        default="before_gate",
        description="with screen_answers and a gate: try every step's experiences first, or hand all of them to the gate untried "
        "and try them when it takes the step back, for it to decide on the best once more, again with a chance of gate_error",
    )
    inclusion: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description="chance of each experience to stand in a training prompt: below 1 measures what each does, and "
        "proposes harmful and useless ones for removal (0.7 is a good value)",
    )
    credit_margin: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        description="with inclusion: an experience that surely adds less than this to the mean reward is useless; 0: "
        "only harmful ones are proposed",
    )
    gate: Literal["auto", "paired", "none"] = Field(
        default="auto",
        description="keep a step's library only when validation problems speak for it; auto: when there are any",
    )
    gate_error: float = Field(
        default=0.05,
        gt=0.0,
        lt=0.5,
        description="chance, at most, that the gate takes a step which changes nothing for better",
    )
    gate_margin: float | None = Field(
        default=None,
        ge=-1.0,
        le=1.0,
        description="accept an unclear step from this mean difference on (default: keep the older)",
    )
    descent: Literal["line", "pool"] = Field(
        default="line",
        description="a step goes on from the last library, or from one of all that the gate kept, drawn by how many validation "
        "problems it answers best",
    )
    experience_lib_path: str = Field(default="", description="library to start from")
    experience_max_size: int = Field(default=100, ge=1, description="entries at most")
    experience_token_budget: int = Field(
        default=4000, ge=32, description="tokens of experiences in a prompt; with retrieval: all, of the whole library"
    )
    retrieval: Literal["all", "top_k", "auto"] = Field(
        default="auto", description="what a prompt shows of the library; auto: all of it up to the budget, top_k above"
    )
    retrieval_k: int = Field(default=20, ge=1, description="experiences nearest to the query that top_k shows")
    relevance: float | None = Field(
        default=None, ge=0.0, le=1.0, description="leave out experiences with a lower cosine to the query, e.g. 0.3"
    )
    encoder: Literal["auto", "minilm", "hashing"] = Field(
        default="auto", description="of retrieval; auto: minilm (knows meaning) where it is installed and fetched"
    )

    budget_usd: float | None = Field(default=None, gt=0.0, description="stop cleanly before spending more dollars")
    budget_tokens: int | None = Field(default=None, ge=1, description="… more tokens")
    budget_calls: int | None = Field(default=None, ge=0, description="… more calls")
    prices: Mapping[str, Mapping[str, NonNegativeFloat]] = Field(
        default_factory=dict,
        description="dollars per million tokens: {model: {prompt, cached, completion}}, per 1,000 queries: {service: {per_1000}}",
    )

    output_dir: str = Field(default="output", description="where runs are kept")
    experiment_name: str = Field(default="", description="folder of this run below output_dir")
    signing_key: str = Field(
        default="", description="key file that signs the library (default: $ZOO_GYM_KEY, else one that is made for you)"
    )
    save_steps: int = Field(default=1, ge=1, description="accepted; every step is saved")
    logging_steps: int = Field(default=1, ge=1, description="log a line every N steps")

    @field_validator("tools", "web_hosts", "web_block", mode="before")
    @classmethod
    def _comma_separated(cls, given: object) -> object:
        return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given

    @field_validator("mcp_servers")
    @classmethod
    def _names_to_call_them_by(cls, servers: Mapping[str, McpServer], info: ValidationInfo) -> Mapping[str, McpServer]:
        if odd := [name for name in servers if not re.fullmatch(r"[a-zA-Z0-9_-]{1,32}", name)]:
            raise ValueError(f"{odd[0]!r} is no name for a server: letters, digits, _ and - only")
        wanted = [name.removeprefix("mcp:") for name in info.data.get("tools", ()) if name.startswith("mcp:")]
        if missing := [name for name in wanted if name not in servers]:
            raise ValueError(f"the tool mcp:{missing[0]} has no server here (there: {', '.join(servers) or 'none'})")
        return servers

    @field_validator("api_base_url", "reflector_base_url", "judge_base_url")
    @classmethod
    def _no_password_in_a_url(cls, url: str) -> str:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ValueError("a URL is saved and shown, so it must not hold a user or password: use the key option")
        return url

    @field_validator("rollout_concurrency", mode="before")
    @classmethod
    def _a_number_or_auto(cls, value: object) -> object:
        text = str(value).strip().lower()
        if text != "auto" and not (text.isdecimal() and int(text) >= 1):
            raise ValueError("give the calls in flight as a number of 1 or more, or auto")
        return text if text == "auto" else int(text)

    @property
    def retrieves(self) -> bool:
        """Whether a prompt may show a part of the library."""
        return self.retrieval != "all" or self.relevance is not None

    def identity(self) -> dict[str, Any]:
        """What decides the result: every field but the execution keys. Saved, compared on resume."""
        return self.model_dump(mode="json", exclude=set(EXECUTION_KEYS))

    def digest(self) -> str:
        """SHA-256 of the identity."""
        return digest(self.identity())

    def public(self) -> dict[str, Any]:
        """All fields but the secrets, for config.yaml."""
        return self.model_dump(mode="json", exclude={"api_key", "reflector_api_key", "judge_api_key"})


def canonical_key(key: str, where: str) -> str:
    """The field a key names, aliases and dashes allowed; raises `ConfigError` with the nearest known key."""
    name = ALIASES.get(plain := key.strip().lstrip("-").replace("-", "_"), plain)
    if name in RunConfig.model_fields:
        return name
    known = [*RunConfig.model_fields, *ALIASES]
    near = get_close_matches(plain, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(RunConfig.model_fields))}"
    raise ConfigError(f"{where}: unknown key {key!r}; {hint}")


def load_config(
    path: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> RunConfig:
    """The run's settings from a YAML file, then `overrides` (command line), then the environment where both are silent.

    A model that is its own place (`local:`, `hf:`, a GGUF file, `scripted:`) takes no endpoint from a weaker source than its own.
    Raises `ConfigError` for a missing file, bad YAML, an unknown key or a value of the wrong kind.
    """
    environ = os.environ if environ is None else environ
    in_file = {} if path is None else _settings(_read_yaml(path), str(path), environ)
    in_command = _settings(overrides or {}, "command line", environ)
    values = _over(_over(_from_environment(environ), in_file), in_command)
    for key in ("prices", "mcp_servers", "web_sites"):
        if isinstance(given := values.get(key), str):
            values[key] = _parse_yaml(given, key)
    try:
        return _in_place(RunConfig(**values))
    except ValidationError as error:
        mistakes = [f"{_where(one, path, in_command)}: {_told(one)}" for one in error.errors()]
        raise ConfigError("\n  ".join(mistakes)) from error


def _settings(said: Mapping[str, Any], where: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """What one source says, by field; a setting that it gives under two names is an error."""
    names: dict[str, str] = {}
    for key in said:
        if (known := names.setdefault(canonical_key(key, where), key)) != key:
            raise ConfigError(f"{where}: {known!r} and {key!r} are two names of one setting: give it once")
    return {field: _expand(key, said[key], environ) for field, key in names.items()}


def its_own_place(model: str) -> bool:
    """Whether a model's name says where it is: weights of this machine, or a script.

    >>> its_own_place("local:smollm2-135m"), its_own_place("gpt-4o")
    (True, False)
    """
    return model.startswith(("local:", "scripted:", "hf:")) or model.lower().endswith(".gguf")


def _in_place(config: RunConfig) -> RunConfig:
    """Without an API, a model's name is where it is."""
    model = config.model_name_or_path
    if config.api_mode or not model or its_own_place(model):
        return config
    return config.model_copy(update={"model_name_or_path": f"hf:{model}"})


def _over(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    own = its_own_place(str(stronger.get("model_name_or_path", "")))
    return {key: value for key, value in weaker.items() if not (own and key in ENDPOINT_KEYS)} | {**stronger}


def _parse_yaml(text: str, where: str) -> Any:
    """A value given as text, JSON or YAML."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: not valid JSON or YAML: {str(error).splitlines()[0]}") from error


def _read_yaml(path: str | Path) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        loaded, node = yaml.safe_load(text), yaml.compose(text, yaml.SafeLoader)
    except FileNotFoundError as error:
        raise ConfigError(f"config file {str(path)!r} does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"config file {str(path)!r} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"config file {str(path)!r} is not valid YAML: {str(error).splitlines()[0]}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"config file {str(path)!r}: expected `key: value` lines, found a {type(loaded).__name__}")
    assert isinstance(node, yaml.MappingNode)
    _each_once(node, str(path))
    return {str(key): value for key, value in loaded.items()}


def _each_once(node: yaml.MappingNode, where: str) -> None:
    """Raise `ConfigError` for a key that a YAML mapping has twice; the parser would take the last in silence."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if (first := lines.setdefault(key.value, line)) != line:
            raise ConfigError(f"config file {where!r}: {key.value!r} stands in line {first} and again in {line}")


def _expand(key: str, value: Any, environ: Mapping[str, str]) -> Any:
    """`${NAME}` from the environment, but for a mapping, which is saved as it is written; see `expanded`."""
    return expanded(key, value, environ) if isinstance(value, str) and key != "mcp_servers" else value


def expanded(key: str, value: str, environ: Mapping[str, str]) -> str | None:
    """`${NAME}` from the environment; for a key, a name that is not set counts as no value, else it is an error."""
    if not _ENV.search(value):
        return value
    missing = [name for name in _ENV.findall(value) if not environ.get(name)]
    if missing and not key.endswith("key"):
        raise ConfigError(f"{key}: the environment variable {missing[0]} is not set")
    return _ENV.sub(lambda match: environ.get(match[1], ""), value) or None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """UTU_LLM_* of the reference implementation; provider keys are read by the provider itself."""
    pairs = {
        "provider": "UTU_LLM_TYPE",
        "model_name_or_path": "UTU_LLM_MODEL",
        "api_base_url": "UTU_LLM_BASE_URL",
        "api_key": "UTU_LLM_API_KEY",
    }
    return {field: environ[name] for field, name in pairs.items() if environ.get(name)}


def _where(error: ErrorDetails, path: str | Path | None, in_command: Mapping[str, Any]) -> str:
    given_here = {str(part) for part in error["loc"][:1]} & in_command.keys()
    return "command line" if path is None or given_here else str(path)


def _told(error: ErrorDetails) -> str:
    key = ".".join(str(part) for part in error["loc"])
    secret = "key" in key or "url" in key or key.startswith("mcp_servers")
    got = "" if secret else f" (got {error.get('input')!r})"
    return f"{key}: {_wanted(error)}{got}"


def _wanted(error: ErrorDetails) -> str:
    """What is wrong with a value; of a mapping, how it should look."""
    match error["type"], error["loc"]:
        case "dict_type", (str(field),):
            return f"expected {RunConfig.model_fields[field].description}"
        case "model_type", _:
            return "expected {command, args, env} or {url, headers}"
    return error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
