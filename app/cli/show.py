"""How the service's objects look on a terminal: challenges, submissions, boards."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.output import clean, number, show_problems, table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Json = Mapping[str, Any]


def challenges(found: Sequence[Json]) -> "RenderableType":
    """A list of challenges."""
    columns = ("slug", "title", "task", "status", "visibility", "registration")
    return table(columns, ([one.get(column) for column in columns] for one in found))


def challenge(console: "Console", found: Json) -> None:
    """One challenge: what it is, the agreed metrics, the phases."""
    console.print(f"{clean(found.get('title'))} ({clean(found.get('slug'))})")
    if found.get("description"):
        console.print("\n".join(clean(line) for line in str(found["description"]).splitlines()))
    recipe = found.get("recipe") or {}
    facts = {
        "task": found.get("task"),
        "positive label": found.get("positive_label"),
        "classes": ", ".join(map(str, found.get("classes") or ())) or None,
        "primary metric": _metric_name(recipe.get("primary")),
        "metrics": ", ".join(_metric_name(metric) for metric in recipe.get("metrics") or ()) or None,
        "selection": recipe.get("selection"),
        "registration": found.get("registration"),
        "visibility": found.get("visibility"),
    }
    for name, value in facts.items():
        if value is not None:
            console.print(f"{name}: {clean(value)}")
    rows = (
        (one.get("name"), one.get("opens_at"), one.get("closes_at") or "never") for one in found.get("phases") or ()
    )
    console.print(table(("phase", "opens", "closes"), rows))


def _metric_name(metric: Any) -> str:
    return str(metric.get("key")) if isinstance(metric, Mapping) else str(metric)


def team_name(found: Json) -> str:
    """The name of the team that an object belongs to."""
    team = found.get("team")
    return str(team.get("name")) if isinstance(team, Mapping) else str(team or "")


def _value(score: Any) -> str:
    return number(score.get("value") if isinstance(score, Mapping) else score)


def submissions(found: Sequence[Json]) -> "RenderableType":
    """A list of submissions with their scores."""
    keys = list(dict.fromkeys(key for one in found for key in one.get("scores") or {}))
    rows = []
    for one in found:
        scores = one.get("scores") or {}
        values = (_value(scores[key]) if key in scores else "" for key in keys)
        chosen = "yes" if one.get("selected") else ""
        facts = ((one.get("timings") or {}).get("submitted_at"), team_name(one), one.get("method"), one.get("status"))
        rows.append((one.get("id"), *facts, *values, chosen))
    return table(("id", "submitted", "team", "method", "status", *keys, "chosen"), rows, right=keys)


def submission(console: "Console", found: Json) -> None:
    """One submission: status, then scores, problems or the reason of a failure."""
    console.print(f"Submission {clean(found.get('id'))}: {clean(found.get('status'))}")
    if found.get("queue_position") is not None:
        console.print(f"place in the queue: {found['queue_position']}")
    failure = found.get("failure")
    if failure:
        console.print(f"reason: {clean(failure.get('detail') or failure.get('code') or failure)}")
    scores = found.get("scores") or {}
    if scores:
        rows = [(key, _value(score), _reason(score)) for key, score in scores.items()]
        console.print(table(("metric", "value", "remark"), rows, right=["value"]))
    if found.get("problems"):
        show_problems(console, found)
    for note in found.get("notes") or ():
        console.print(f"note: {clean(note)}")


def _reason(score: Any) -> str | None:
    return score.get("reason") if isinstance(score, Mapping) else None


def board(console: "Console", found: Json, keys: Sequence[str] | None = None) -> None:
    """A leaderboard; `keys`: the metrics to show, else all of it."""
    rows: Sequence[Json] = found.get("rows") or ()
    shown = list(keys or dict.fromkeys(key for row in rows for key in row.get("scores") or {}))
    title = f"{found.get('challenge')} / {found.get('phase')}, ranked by {found.get('primary')} ({found.get('split')})"
    lines = []
    for row in rows:
        scores = row.get("scores") or {}
        rank = "baseline" if row.get("baseline") else row.get("rank", "") or "–"  # noqa: RUF001 (a dash is meant)
        values = (_value(scores[key]) if key in scores else "" for key in shown)
        lines.append((rank, team_name(row), row.get("method"), *values, row.get("entries")))
    columns = ("rank", "team", "method", *shown, "entries")
    console.print(table(columns, lines, title=title, right=("rank", *shown, "entries")))
