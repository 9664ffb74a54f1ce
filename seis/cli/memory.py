"""`seis memory`: what outlives a search - notes, hypotheses, and how rules fared."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import DATABASE, Database, Json, at_least

if TYPE_CHECKING:
    import db


class Action(StrEnum):
    """What is done."""

    list = "list"
    search = "search"
    show = "show"
    add = "add"
    prune = "prune"
    export = "export"
    load = "import"


class Author(StrEnum):
    """Who wrote it."""

    person = "person"
    llm = "llm"
    search = "search"


def memory(
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.list,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words to search for, an id to show, a note to add, or the file."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag of the new note; may be repeated.")] = None,
    model: Annotated[str, typer.Option(help="The model that a new note or hypothesis is about.")] = "",
    rule: Annotated[str, typer.Option(help="Add a hypothesis about this rule instead of a note.")] = "",
    resource: Annotated[str, typer.Option(help="Where the rule should help: what binds.")] = "",
    prediction: Annotated[float | None, typer.Option(help="Expected gain per trial: 0.05 is 5 %.")] = None,
    author: Annotated[Author | None, typer.Option(help="Prune what this one wrote.")] = None,
    days: Annotated[float | None, typer.Option(help="Prune what is older than so many days.")] = None,
    limit: Annotated[int, typer.Option(help="How many to list.")] = 20,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Read and write what searches remember; it drives the searches that come after."""
    from seis.cli.output import print_json
    from seis.cli.sources import open_database

    at_least("--limit", limit, 1)
    at_least("--days", days, 0)
    said = " ".join(words or [])
    creates = action in (Action.add, Action.load)
    with open_database(database, create=creates) as opened:
        match action:
            case Action.list | Action.search:
                found = _listed(opened, said if action is Action.search else "", limit)
            case Action.show:
                found = _shown(opened, said)
            case Action.add:
                found = _added(opened, said, tag or [], model, rule, resource, prediction)
            case Action.prune:
                found = _pruned(opened, author, days)
            case Action.export:
                _exported(opened, said)
                return
            case Action.load:
                found = _loaded(opened, said)
    if json:
        print_json(found)
    else:
        from seis.cli.memory_tables import print_memory

        print_memory(found)


def note_json(note: db.Note) -> dict[str, Any]:
    return {"id": note.note_id, "text": note.text, "author": note.author, "tags": list(note.tags),
            "model": note.model, "search": note.search_id, "created_at": note.created_at}  # fmt: skip


def hypothesis_json(h: db.Hypothesis) -> dict[str, Any]:
    return {"id": h.hypothesis_id, "statement": h.statement, "author": h.author, "rule": h.rule,
            "resource": h.resource, "model": h.model, "verdict": h.verdict, "prediction": h.prediction,
            "measurement": h.measurement, "trials": h.trials, "search": h.search_id,
            "updated_at": h.updated_at}  # fmt: skip


def _listed(database: db.Database, query: str, limit: int) -> dict[str, Any]:
    from agent.memory.notes import StoredNotes, words

    wanted = words(query)
    rules: list[dict[str, Any]] = [
        {"rule": r.rule, "resource": r.resource or None, "proposed": r.proposed, "accepted": r.accepted,
         "improved": r.improved, "mean_gain": r.gained / r.proposed if r.proposed else None}
        for r in database.rule_statistics()
    ]  # fmt: skip
    hypotheses = [hypothesis_json(h) for h in database.list_hypotheses()]
    if wanted:
        rules = [r for r in rules if wanted & words(f"{r['rule']} {r['resource']}")]
        hypotheses = [
            h
            for h in hypotheses
            if wanted & words(f"{h['statement']} {h['rule']} {h['resource']} {h['model']}")
        ]
    rules.sort(key=lambda r: (-(r["mean_gain"] or 0.0), str(r["rule"]), str(r["resource"])))
    notes = StoredNotes(database).search(query, limit=limit)
    return {
        "notes": [note_json(n) for n in notes],
        "hypotheses": hypotheses[:limit],
        "rules": rules[:limit],
    }


def _shown(database: db.Database, name: str) -> dict[str, Any]:
    from db import NotFoundError

    try:
        return {"notes": [note_json(database.get_note(name))], "hypotheses": [], "rules": []}
    except NotFoundError:
        return {"notes": [], "hypotheses": [hypothesis_json(database.get_hypothesis(name))], "rules": []}


def _added(
    database: db.Database,
    text: str,
    tags: list[str],
    model: str,
    rule: str,
    resource: str,
    prediction: float | None,
) -> dict[str, Any]:
    from agent.memory.notes import StoredNotes
    from catalogue.models.facts import full_name
    from db import Hypothesis
    from mutations.registry import rule as rule_of
    from mutations.rule import RESOURCES
    from seis.cli.problems import UsageError

    about = full_name(model) if model else ""
    if not text:
        raise UsageError("a note must have words, but got none; write them after `add`")
    if not rule:
        if resource or prediction is not None:
            raise UsageError("--resource and --prediction must come with --rule, but got none; name the rule")
        note = StoredNotes(database, model=about).write(text, tags)
        return {"notes": [note_json(note)], "hypotheses": [], "rules": []}
    if resource and resource not in RESOURCES:
        raise UsageError(f"--resource must be one of {', '.join(sorted(RESOURCES))}, but got {resource!r}")
    stated = Hypothesis(
        statement=text, rule=rule_of(rule).name, resource=resource, model=about, prediction=prediction
    )
    database.save_hypothesis(stated)
    return {"notes": [], "hypotheses": [hypothesis_json(stated)], "rules": []}


def _pruned(database: db.Database, author: Author | None, days: float | None) -> dict[str, Any]:
    from seis.cli.problems import UsageError

    if author is None and days is None:
        raise UsageError("prune must be told what: give --days or --author, or both")
    who: Any = author.value if author is not None else None
    seconds = (days or 0.0) * 86400
    with database.transaction() as tx:
        return {
            "removed": {
                "notes": tx.forget_notes(older_than_seconds=seconds, author=who),
                "hypotheses": tx.forget_hypotheses(older_than_seconds=seconds, author=who),
            }
        }


def _exported(database: db.Database, place: str) -> None:
    import json

    from agent.memory.exchange import export_memory
    from seis.cli.output import plain, print_json

    document = export_memory(database)
    if not place:
        print_json(document)
        return
    Path(place).write_text(json.dumps(plain(document), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _loaded(database: db.Database, place: str) -> dict[str, Any]:
    import json

    from agent.memory.exchange import import_memory
    from seis.cli.problems import UsageError

    try:
        document = json.loads(Path(place).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"import must be given a JSON file, but {place or 'nothing'} is none ({error})"
        ) from None
    return {"new": import_memory(database, document)}
