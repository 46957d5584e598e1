"""`gym library`: list, edit, trace and undo the experiences of a library.

PATH is a library file or a run folder (its experiences.json is meant); by default ./experiences.json.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gym.cli.common import console, json_option, print_json
from gym.cli.library_ablate import command as ablate
from gym.cli.library_export import FORMATS, export
from gym.core import journal
from gym.core.experience import Experience, Library, Rejected
from gym.core.journal import Event
from gym.core.text import count
from gym.errors import LibraryError
from gym.files import write_atomic
from gym.train.grpo.experience_manager import ExperienceManager, read_journal, read_library

ACTOR = "person"
NAME = "experiences.json"

path_argument = click.argument("path", required=False, default=NAME, type=click.Path(path_type=Path))
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.group()
def command() -> None:
    """List, edit, trace and undo the experiences of a library.

    PATH is a library file or a run folder; by default ./experiences.json.
    """


command.add_command(ablate)


@command.command("list")
@path_argument
@json_option
def list_(path: Path, as_json: bool) -> None:
    """Every experience with its record."""
    library = _opened(path).library
    if as_json:
        print_json({"path": str(_file(path)), "next_id": library.next_id, "experiences": [_dump(e) for e in library]})
        return
    columns: tuple[str, ...] = ("id", "experience", "confidence", "uses", "helpful", "harmful")
    rows: list[tuple[object, ...]] = [
        (e.id, e.text, f"{e.confidence:.2f}", e.uses, e.helpful, e.harmful) for e in library
    ]
    if any(entry.effect for entry in library):
        rows = [(*row, e.effect.figures if e.effect else "") for row, e in zip(rows, library, strict=True)]
        columns = (*columns, "effect [95 %]")
    _print_table(columns, rows)
    console.print(f"{count(len(library), 'experience')} in {_file(path)}", markup=False)


@command.command()
@click.argument("id")
@path_argument
@json_option
def show(id: str, path: Path, as_json: bool) -> None:
    """One experience, its record and its history."""
    manager = _opened(path)
    entry = _entry(manager.library, id)
    history = [event for event in manager.journal if entry.id in event.after]
    if as_json:
        print_json(_dump(entry) | {"history": [_event(event) for event in history]})
        return
    _out().print(entry.line, markup=False)
    for name, value in (_dump(entry) | ({"effect": str(entry.effect)} if entry.effect else {})).items():
        if name not in ("id", "text"):
            _out().print(f"{name}: {', '.join(value) if isinstance(value, list) else value}", markup=False)
    _print_events(history)


@command.command()
@click.argument("query")
@path_argument
@click.option("-k", "k", type=click.IntRange(min=1), default=5, show_default=True, help="How many to show.")
@click.option(
    "--encoder",
    type=click.Choice(["auto", "minilm", "hashing"]),
    default="auto",
    show_default=True,
    help="What measures: meaning (minilm) or spelling (hashing); auto: minilm where it is.",
)
@json_option
def search(query: str, path: Path, k: int, encoder: Literal["auto", "minilm", "hashing"], as_json: bool) -> None:
    """The experiences nearest to QUERY, with their cosines: what retrieval would show for it."""
    from gym.embedding.encoders import open_encoder, resolved
    from gym.embedding.search import best, cosines
    from gym.embedding.store import Store

    library = _opened(path).library
    store = Store(open_encoder(resolved(encoder)))
    scores = cosines(store.rows(library.texts), store.rows([query]))[0]
    found = [(float(scores[place]), library.entries[place]) for place in best(scores, k)]
    if as_json:
        print_json(
            {
                "encoder": store.encoder.name,
                "found": [{"id": e.id, "cosine": round(cosine, 4), "text": e.text} for cosine, e in found],
            }
        )
        return
    _print_table(("id", "cosine", "experience"), [(e.id, f"{cosine:.2f}", e.text) for cosine, e in found])
    console.print(f"{len(found)} of {len(library)} experiences, by {store.encoder.name}")


@command.command()
@click.argument("text")
@path_argument
@json_option
def add(text: str, path: Path, as_json: bool) -> None:
    """Add an experience; it passes the same gate as a learned one."""
    manager = _opened(path, missing_ok=True)
    before = manager.library.ids
    with _saved(manager):
        id = manager.add(text)
    entry, new = _entry(manager.library, id), id not in before
    if as_json:
        print_json({"id": id, "new": new, "text": entry.text, "warnings": _warnings(manager) if new else []})
        return
    _out().print(entry.line if new else f"{id} says this already: {entry.text}", markup=False)
    for warning in _warnings(manager) if new else []:
        console.print(f"note: {warning}", markup=False)


@command.command()
@click.argument("id")
@click.argument("text")
@path_argument
@json_option
def edit(id: str, text: str, path: Path, as_json: bool) -> None:
    """Give an experience another text; its id and record stay."""
    manager = _opened(path)
    known = _entry(manager.library, id)
    with _saved(manager):
        manager.modify(known.id, text)
    entry = _entry(manager.library, known.id)
    if as_json:
        print_json({"id": entry.id, "before": known.text, "after": entry.text, "warnings": _warnings(manager)})
        return
    _print_change(known.text, entry.text, entry.id)


@command.command()
@click.argument("id")
@path_argument
@yes_option
@json_option
def rm(id: str, path: Path, yes: bool, as_json: bool) -> None:
    """Remove an experience; `gym library undo` brings it back."""
    manager = _opened(path)
    entry = _entry(manager.library, id)
    _confirm(f"Remove {entry.line}", yes)
    manager.delete(entry.id)
    manager.save()
    seq = manager.journal[-1].seq
    if as_json:
        print_json({"removed": entry.id, "text": entry.text, "event": seq})
        return
    _out().print(f"removed {entry.line}", markup=False)
    console.print(f"to take it back: gym library undo {seq} {path}", markup=False)


@command.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@json_option
def diff(before: Path, after: Path, as_json: bool) -> None:
    """What AFTER has that BEFORE has not, by id."""
    old, new = read_library(_file(before)), read_library(_file(after))
    added = [entry for entry in new if entry.id not in old]
    removed = [entry for entry in old if entry.id not in new]
    changed = [(was, now) for was in old if (now := new.get(was.id)) and now.text != was.text]
    if as_json:
        print_json(
            {
                "added": {entry.id: entry.text for entry in added},
                "removed": {entry.id: entry.text for entry in removed},
                "changed": {was.id: {"before": was.text, "after": now.text} for was, now in changed},
            }
        )
        return
    for entry in removed:
        _out().print(Text(f"- {entry.line}", style="red"))
    for was, now in changed:
        _print_change(was.text, now.text, was.id)
    for entry in added:
        _out().print(Text(f"+ {entry.line}", style="green"))
    console.print(f"{len(added)} added, {len(removed)} removed, {len(changed)} changed")


@command.command()
@path_argument
@click.option("--last", type=click.IntRange(min=1), default=None, metavar="N", help="Only the last N events.")
@json_option
def log(path: Path, last: int | None, as_json: bool) -> None:
    """Every change and every refusal, with its reason."""
    events = _opened(path).journal[-last if last else None :]
    if as_json:
        print_json({"events": [_event(event) for event in events]})
        return
    _print_events(events)


@command.command()
@click.argument("seq", type=int)
@path_argument
@yes_option
@json_option
def undo(seq: int, path: Path, yes: bool, as_json: bool) -> None:
    """Take back the event SEQ of `gym library log`."""
    manager = _opened(path)
    undone = manager.undo(seq)
    if undone.reason:
        raise LibraryError(f"not undone: {undone.reason}")
    target = next(event for event in manager.journal if event.seq == seq)
    _confirm(f"Undo event {seq} ({_what(target)})", yes)
    manager.save()
    event = undone.events[-1]
    if as_json:
        print_json(_event(event))
        return
    _print_events([event])


@command.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@path_argument
@json_option
def import_(source: Path, path: Path, as_json: bool) -> None:
    """Add the texts of SOURCE (a library, a run folder, or a text file with one a line) through the gate.

    Confidence is not taken over: it comes from evidence, and there is none here yet.
    """
    manager = _opened(path, missing_ok=True)
    applied = manager.apply_operations([{"option": "add", "experience": text} for text in _texts(source)])
    manager.save()
    taken = [entry for accepted in applied.accepted for entry in accepted.after]
    if as_json:
        print_json({"added": {e.id: e.text for e in taken}, "rejected": [_refusal(item) for item in applied.rejected]})
        return
    for entry in taken:
        _out().print(f"+ {entry.line}", markup=False)
    for item in applied.rejected:
        _out().print("not taken: {text} ({reason})".format(**_refusal(item)), markup=False)
    console.print(f"{len(taken)} added, {len(applied.rejected)} not taken")


@command.command("export")
@path_argument
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), default=None, help="A file instead of the screen.")
@click.option("--name", default="", help="Name of the skill; by default the folder's.")
@click.option("--description", default="", help="When to use the skill, in one line.")
@json_option
def export_(path: Path, form: str, output: Path | None, name: str, description: str, as_json: bool) -> None:
    """The library as text, JSON, Markdown, or a SKILL.md for agents."""
    library = _opened(path).library
    text = export(library, form, name=name or _file(path).resolve().parent.name, description=description)
    if output is not None:
        write_atomic(output, text)
    if as_json:
        print_json({"format": form, "path": str(output) if output else None, "content": text})
    elif output is None:
        click.echo(text.encode(), nl=False)
    else:
        console.print(f"{count(len(library), 'experience')} written to {output}", markup=False)


@command.command()
@path_argument
@json_option
def verify(path: Path, as_json: bool) -> None:
    """Check that the journal is unbroken and gives the file, byte for byte."""
    file = _file(path)
    library, (events, warnings) = read_library(file), read_journal(file)
    journal.verify(events)
    if not events:
        raise LibraryError(f"{str(file)!r} has no journal to check it against")
    if journal.replay(events) != library:
        raise LibraryError(f"{str(file)!r} is not what its journal of {count(len(events), 'event')} gives")
    if as_json:
        print_json({"ok": True, "events": len(events), "experiences": len(library), "warnings": list(warnings)})
        return
    _out().print(
        f"ok: {count(len(events), 'event', verb='gives/give')} the {count(len(library), 'experience')} of {file}",
        markup=False,
    )
    for warning in warnings:
        console.print(f"note: {warning}", markup=False)


def _file(path: Path) -> Path:
    return path / NAME if path.is_dir() else path


def _opened(path: Path, *, missing_ok: bool = False) -> ExperienceManager:
    """The library at `path`; what was odd about its files is told."""
    file = _file(path)
    manager = ExperienceManager(file, actor=ACTOR)
    if not file.exists() and not manager.journal and not missing_ok:
        raise LibraryError(f"there is no library at {str(path)!r}: give an experience file or a run folder")
    for warning in manager.warnings:
        console.print(f"note: {warning}", markup=False)
    return manager


@contextmanager
def _saved(manager: ExperienceManager) -> Iterator[None]:
    """Save what the block did, a refusal too: the journal keeps it."""
    try:
        yield
    finally:
        manager.save()


def _entry(library: Library, id: str) -> Experience:
    entry = library.get(id.strip("[]. ").upper())
    if entry is None:
        raise LibraryError(f"{id!r} is unknown: the library holds {', '.join(library.ids) or 'nothing'}")
    return entry


def _texts(source: Path) -> Sequence[str]:
    file = _file(source)
    if file.suffix.lower() in (".txt", ".md", ".text"):
        try:
            return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip(" -*#")]
        except OSError as error:
            raise LibraryError(f"cannot read {str(file)!r}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise LibraryError(f"{str(file)!r} is not UTF-8 text (byte {error.start})") from error
    return read_library(file).texts


def _confirm(question: str, yes: bool) -> None:
    if not yes and not click.confirm(f"{question}?", err=True):
        raise LibraryError("nothing was changed")


def _dump(entry: Experience) -> dict[str, Any]:
    return entry.model_dump(mode="json")


def _event(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json")


def _warnings(manager: ExperienceManager) -> list[str]:
    """Of the last change."""
    return [manager.journal[-1].reason] if manager.journal[-1].reason else []


def _refusal(item: Rejected) -> dict[str, str]:
    text = getattr(item.operation, "experience", "")
    return {"text": text, "reason": item.reason}


def _what(event: Event) -> str:
    if not event.accepted:
        return f"{event.option} refused"
    signed = event.option == "import"  # which may bring, change and take out at once
    ids = (f"{_sign(event, id)}{id}" if signed else id for id in event.after)
    return f"{event.option} {', '.join(ids)}".strip()


def _sign(event: Event, id: str) -> str:
    """`-` for what an event took out, `+` for what it brought."""
    if event.after[id] is None:
        return "-"
    return "" if event.before.get(id) else "+"


def _story(event: Event) -> str:
    """What an event changed, or would have, and why."""
    counted = event.option == "credit"
    now = [
        f"{entry.line}{_counts(event.before.get(id), entry) if counted else ''}" if entry else f"[{id}] left"
        for id, entry in event.after.items()
    ]
    texts = "; ".join(now) or str(getattr(event.operation, "experience", event.operation) or "")
    return f"{texts}\n({event.reason})" if event.reason else texts


def _counts(before: Experience | None, after: Experience) -> str:
    """What was counted or measured: ` (uses 2 → 3, effect +0.100 [-0.020, +0.220])`."""
    was = before or Experience(id=after.id, text=after.text)
    told = [f"{name} {getattr(was, name)} → {getattr(after, name)}" for name in ("uses", "helpful", "harmful")
            if getattr(was, name) != getattr(after, name)]  # fmt: skip
    told += [f"effect {after.effect.figures}"] if after.effect and after.effect != was.effect else []
    return f" ({', '.join(told)})" if told else ""


def _print_events(events: Sequence[Event]) -> None:
    rows = [(e.seq, e.at[:16].replace("T", " "), e.actor, _what(e), _story(e)) for e in events]
    _print_table(("event", "when", "who", "what", "text and reason"), rows)


def _print_change(before: str, after: str, id: str) -> None:
    _out().print(Text(f"- [{id}]. {before}", style="red"))
    _out().print(Text(f"+ [{id}]. {after}", style="green"))


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their columns; only the texts wrap."""
    from gym.cli.tables import print_table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        wraps = column in ("experience", "text and reason")
        table.add_column(column, no_wrap=not wraps, min_width=30 if wraps else None)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    print_table(table)


def _out() -> Console:
    """Standard output, where results go."""
    return Console(highlight=False, soft_wrap=True)
