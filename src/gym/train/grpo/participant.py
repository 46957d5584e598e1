"""A node of a federation, opened from its folder and the configuration of its own task: what it measures with, and on what."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gym.config import RunConfig
from gym.core.admission import Admission
from gym.core.operation import Refused
from gym.embedding import Embedder
from gym.embedding.encoders import encoder_name, open_encoder
from gym.errors import ConfigError
from gym.evaluation.gains import NO_BLUR, Blur, Gains
from gym.evaluation.target import target_of
from gym.federated.history import AcceptedExperience
from gym.federated.homes import LIBRARY, NodeHome
from gym.federated.node import Node
from gym.federated.round import NODE_CHARACTERS
from gym.federated.team import TEAM
from gym.llm.brake import Brake
from gym.train.grpo.continuous_learning import Fetched, pull
from gym.train.grpo.experience_manager import ExperienceManager
from gym.train.grpo.watch import Silent, Watch

MEASURED = "measured"


def open_node(
    home: NodeHome,
    config: RunConfig,
    *,
    watch: Watch | None = None,
    brake: Brake | None = None,
    blur: Blur = NO_BLUR,
) -> Node:
    """The member whose folder this is, measuring on the validation problems of `config` (`val`, else `dataset`).

    Raises `ConfigError` for a node that is no member, another model or encoder than the team's, and data without problems.
    """
    watch, team, card = watch or Silent(), home.team, home.card
    model = config.model_name_or_path
    model = model if model == team.model else _told(model)
    if team.model not in (None, model):
        raise ConfigError(f"the team's model is {team.model!r}, not {model!r}: give --model {team.model}")
    own = config.model_copy(update={"dataset": config.val or config.dataset, "output_dir": str(home.path / MEASURED)})
    return Node(
        address=card.member.address,
        key=home.own_key,
        team=team,
        board=home.board,
        encoder=_encoder(team.encoder),
        model=model,
        offers=home.offers,
        measure=Gains(own, watch, brake or Brake(), blur),
        removals=home.removals,
        refused=_gate(own),
        published=_keeper(home.path / LIBRARY),
        say=watch.say,
        renewed=lambda: home.team,
    )


def _told(model: str) -> str:
    """The model's name as it leaves: of one in a folder here the last part, for a path may name a person or a customer."""
    path = Path(model).expanduser()
    name = path.resolve().name if path.exists() else model
    if len(name) > NODE_CHARACTERS:
        raise ConfigError(
            f"the name of the model has {len(name)} characters, at most {NODE_CHARACTERS} travel: {name!r}"
        )
    return name


def _encoder(name: str) -> Embedder:
    for which in ("minilm", "hashing"):
        if encoder_name(which) == name:
            return open_encoder(which)
    raise ConfigError(f"{TEAM} asks for the encoder {name!r}, which is none of ours")


def _gate(config: RunConfig) -> Callable[[str], Refused | None]:
    """What its own admission has against a text: an answer of its problems in it, say."""
    problems = target_of(config, []).problems
    admission = Admission(
        max_size=sys.maxsize,
        token_budget=sys.maxsize,
        ground_truths={item.id: item.ground_truth for item in problems if item.ground_truth is not None},
        queries={item.id: item.query for item in problems},
    )

    def refused(text: str) -> Refused | None:
        verdict = admission(text, (), ())
        return verdict if isinstance(verdict, Refused) else None

    return refused


def _keeper(path: Path) -> Callable[[Sequence[AcceptedExperience]], None]:
    """Keeps the federation's library in a file."""

    def keep(library: Sequence[AcceptedExperience]) -> None:
        manager = ExperienceManager(path, admission=Admission(max_size=sys.maxsize, token_budget=sys.maxsize))
        pull(Fetched(library), manager)
        manager.save()

    return keep
