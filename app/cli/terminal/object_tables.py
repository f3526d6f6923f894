"""How the service's objects look on a terminal: challenges, phases, gold, submissions, quotas, boards."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.problem_tables import show_problems
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_numbers, format_time, format_times, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def _field_column(found: Sequence[Json], name: str, **given: Any) -> Column:
    """A column of the field of that name."""
    return Column(name, [one.get(name) for one in found], **given)


def show_challenges(console: "Console", found: Sequence[Json]) -> None:
    """A list of challenges."""
    columns = [_field_column(found, "slug"), _field_column(found, "title", wrap=True), _field_column(found, "task")]
    columns += [_field_column(found, name, drop_priority=1) for name in ("status", "visibility", "registration")]
    show_table(console, columns)


def show_challenge(console: "Console", found: Json) -> None:
    """One challenge: what it is, the agreed metrics, the phases."""
    console.print(f"{clean(found.get('title'))} ({clean(found.get('slug'))})", **PLAIN)
    if found.get("description"):
        console.print("\n".join(clean(line) for line in str(found["description"]).splitlines()), **PLAIN)
    recipe = found.get("recipe") or {}
    phases: Sequence[Json] = found.get("phases") or ()
    facts = {
        "task": found.get("task"),
        "positive label": found.get("positive_label"),
        "classes": _list_classes(found.get("classes")),
        "primary metric": _metric_name(recipe.get("primary")),
        "metrics": ", ".join(_metric_names(recipe)) or None,
        "tie-breakers": ", ".join(map(_metric_name, recipe.get("tie_breakers") or ())) or None,
        "selection": recipe.get("selection"),
        "status": found.get("status"),
        "registration": found.get("registration"),
        "visibility": found.get("visibility"),
    }
    for name, value in facts.items():
        if value is not None:
            console.print(f"{name}: {clean(value)}", **PLAIN)
    for one in phases:
        # Where the challenge declares none, each phase has those of its gold.
        if one.get("classes") and not found.get("classes"):
            console.print(f"classes of {clean(one.get('slug'))}: {clean(_list_classes(one['classes']))}", **PLAIN)
    _show_phases(console, phases)
    for one in recipe.get("inference") or ():
        show_inference(console, one)


def show_inference(console: "Console", found: Json) -> None:
    """How much of the gold of a phase its scores can tell at most, and what lowers that."""
    console.print(f"What scores of {clean(found.get('phase'))} tell: {clean(found.get('statement'))}", **PLAIN)
    if found.get("lowered_by"):
        console.print(f"Less is told by: {clean('; '.join(found['lowered_by']))}.", **PLAIN)


def _show_phases(console: "Console", phases: Sequence[Json]) -> None:
    columns = [
        Column("phase", [one.get("slug") or one.get("name") for one in phases]),
        Column("now", ["" if "open" not in one else "open" if one["open"] else "not open" for one in phases]),
        Column("opens", [one.get("opens_at") for one in phases], formatter=format_times),
        Column("closes", [one.get("closes_at") or "never" for one in phases], formatter=format_times),
        Column("quota", [_quota_words(one.get("quota") or {}) for one in phases], wrap=True),
        _field_column(phases, "leaderboard", drop_priority=1),
    ]
    show_table(console, columns)


def _quota_words(quota: Json) -> str:
    """The limits of a phase in words."""
    words = {
        "per_day": "{} a day",
        "total": "{} in all",
        "concurrent": "{} at once",
        "invalid_per_day": "{} invalid a day",
    }
    return ", ".join(words.get(name, f"{name} {{}}").format(limit) for name, limit in quota.items() if limit) or "none"


def _list_classes(classes: Sequence[str] | None, most: int = 30) -> str | None:
    """The classes, or the first of very many."""
    if not classes:
        return None
    more = f", … {len(classes) - most} more: --json" if len(classes) > most else ""
    return ", ".join(map(str, classes[:most])) + more


def _metric_names(recipe: Json) -> list[str]:
    """The metrics, the primary one first."""
    primary = _metric_name(recipe.get("primary"))
    names = [_metric_name(metric) for metric in recipe.get("metrics") or ()]
    return [primary, *(name for name in names if name != primary)]


def _metric_name(metric: Any) -> str:
    return str(metric.get("key")) if isinstance(metric, Mapping) else str(metric)


def show_gold_versions(console: "Console", found: Sequence[Json]) -> None:
    """The versions of a phase's gold."""
    columns = [
        _field_column(found, "version", right=True),
        _field_column(found, "status"),
        _field_column(found, "instances", right=True),
    ]
    columns.append(Column("classes", [len(one.get("classes") or ()) for one in found], right=True))
    columns += [
        _field_column(found, name, formatter=format_times, drop_priority=1) for name in ("created_at", "activated_at")
    ]
    show_table(console, columns)


def show_quota(console: "Console", found: Json) -> None:
    """What a team may still hand in."""
    limits: Json = found.get("limits") or {}
    used, remaining = found.get("used") or {}, found.get("remaining") or {}
    columns = [
        Column("quota", [_quota_words({name: 1}).removeprefix("1 ") for name in limits]),
        Column("limit", ["none" if limit is None else limit for limit in limits.values()], right=True),
        Column("used", [used.get(name) for name in limits], right=True),
        Column("left", [remaining.get(name) for name in limits], right=True),
    ]
    show_table(console, columns)
    if found.get("reset_at"):
        console.print(f"A new day begins {clean(format_time(found['reset_at']))} UTC.", **PLAIN)


def team_name(found: Json) -> str:
    """The name of the team that an object belongs to."""
    team = found.get("team")
    return str(team.get("name")) if isinstance(team, Mapping) else str(team or "")


def _score_value(score: Any) -> Any:
    return score.get("value") if isinstance(score, Mapping) else score


def _score_columns(found: Sequence[Json], keys: Sequence[str]) -> list[Column]:
    """A column for each metric; all but the first may be left out where room is short."""
    every = [one.get("scores") or {} for one in found]
    return [
        score_column(
            key,
            [_score_value(scores[key]) if key in scores else "" for scores in every],
            drop_priority=3 if place else 0,
        )
        for place, key in enumerate(keys)
    ]


def show_submissions(console: "Console", found: Sequence[Json]) -> None:
    """A list of submissions with their scores; whose they are is said where there are several teams."""
    keys = list(dict.fromkeys(key for one in found for key in one.get("scores") or {}))
    teams = [team_name(one) for one in found]
    submitted = [(one.get("timings") or {}).get("submitted_at") for one in found]
    columns = [
        _field_column(found, "id"),
        Column("submitted", submitted, formatter=format_times, drop_priority=2),
        *([Column("team", teams, wrap=True)] if len(set(teams)) > 1 else []),
        _field_column(found, "method", wrap=True),
        _field_column(found, "status"),
        *_score_columns(found, keys),
    ]
    if any(one.get("selected") for one in found):
        columns.append(Column("chosen", ["yes" if one.get("selected") else "" for one in found], drop_priority=1))
    show_table(console, columns)


def show_submission(console: "Console", found: Json) -> None:
    """One submission: status, then scores, problems or the reason of a failure."""
    console.print(f"Submission {clean(found.get('id'))}: {clean(found.get('status'))}", **PLAIN)
    if found.get("queue_position") is not None:
        console.print(f"place in the queue: {found['queue_position']}")
    failure = found.get("failure")
    if failure:
        console.print(f"reason: {clean(failure.get('detail') or failure.get('code') or failure)}", **PLAIN)
    scores = found.get("scores") or {}
    if scores:
        columns = [
            Column("metric", list(scores)),
            score_column("value", [_score_value(one) for one in scores.values()]),
        ]
        remarks = [_score_reason(score) for score in scores.values()]
        show_table(console, [*columns, Column("remark", remarks, wrap=True)] if any(remarks) else columns)
    if found.get("problems"):
        show_problems(console, found)
    for note in found.get("notes") or ():
        console.print(f"note: {clean(note)}", **PLAIN)


def _score_reason(score: Any) -> str | None:
    return score.get("reason") if isinstance(score, Mapping) else None


def show_board(console: "Console", found: Json, keys: Sequence[str] | None = None) -> None:
    """A leaderboard; `keys`: the metrics to show, else all of it, the one that ranks first."""
    rows: Sequence[Json] = found.get("rows") or ()
    primary = found.get("primary")
    every = list(dict.fromkeys(key for row in rows for key in row.get("scores") or {}))
    shown = list(keys or sorted(every, key=lambda key: key != primary))
    ranks = ["baseline" if row.get("baseline") else row.get("rank") for row in rows]
    columns = [
        Column("rank", ranks, formatter=format_numbers, right=True),
        Column("team", [team_name(row) for row in rows], wrap=True),
        Column("method", [row.get("method") for row in rows], wrap=True),
        *_score_columns(rows, shown),
        _field_column(rows, "entries", right=True, drop_priority=1),
    ]
    title = f"{found.get('challenge')} / {found.get('phase')}, ranked by {primary} ({found.get('split')})"
    show_table(console, columns, title=title, more="--json or --csv")
