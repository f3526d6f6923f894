"""Shows the service's objects on a terminal: challenges, phases, gold, submissions, quotas and leaderboards."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.cli.terminal.problem_tables import show_problems
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import (
    TIME_IN_ZONES_WIDTH,
    Column,
    format_numbers,
    format_time,
    score_column,
    show_table,
    time_column,
    time_in_zones,
)

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
_QUOTA_WORDS = {
    "per_day": "{} a day",
    "total": "{} in total",
    "concurrent": "{} at once",
    "invalid_per_day": "{} invalid a day",
}
_RANK_FIELDS = {"private": "rank", "public": "public_rank"}  # of a submission, after the final release


def _field_columns(rows: Sequence[Json], *names: str, **layout: Any) -> list[Column]:
    """Columns of the fields of these names, with the same layout."""
    return [Column(name, [row.get(name) for row in rows], **layout) for name in names]


def show_challenges(console: "Console", challenges: Sequence[Json]) -> None:
    """Print a list of challenges."""
    columns = [
        *_field_columns(challenges, "slug"),
        *_field_columns(challenges, "title", wrap=True),
        *_field_columns(challenges, "task"),
        *_field_columns(challenges, "status", "visibility", "registration", drop_priority=1),
    ]
    show_table(console, columns)


def show_challenge(console: "Console", challenge: Json, *, for_organizers: bool = True) -> None:
    """Print a challenge: description, metrics, phases and, for organizers, what the scores disclose."""
    console.print(f"{clean(challenge.get('title'))} ({clean(challenge.get('slug'))})", **PLAIN)
    if challenge.get("description"):
        console.print("\n".join(clean(line) for line in str(challenge["description"]).splitlines()), **PLAIN)
    recipe = challenge.get("recipe") or {}
    phases: Sequence[Json] = challenge.get("phases") or ()
    facts = {
        "task": challenge.get("task"),
        "positive label": challenge.get("positive_label"),
        "classes": list_classes(challenge.get("classes")),
        "primary metric": _metric_name(recipe.get("primary")),
        "metrics": ", ".join(_metric_names(recipe)) or None,
        "tie-breakers": ", ".join(map(_metric_name, recipe.get("tie_breakers") or ())) or None,
        "selection": ". ".join(recipe[name] for name in ("selection", "selection_meaning") if recipe.get(name)) or None,
        "limited feedback": recipe.get("ladder_meaning"),
        **{name: challenge.get(name) for name in ("status", "registration", "visibility", "contact")},
        "archived": f"{format_time(challenge['archived_at'])} UTC" if challenge.get("archived_at") else None,
        "team size": f"at most {challenge['team_size_limit']}" if challenge.get("team_size_limit") else None,
        "merging until": time_in_zones(challenge, "merge_deadline", challenge.get("timezone")),
    }
    for name, value in facts.items():
        if value is not None:
            console.print(f"{name}: {clean(value)}", **PLAIN)
    _show_what_registration_asks(console, challenge)
    for phase in phases:
        _show_own_rules(console, challenge, phase)
    show_phases(console, phases)
    _show_disclosure(console, challenge, for_organizers=for_organizers)


def _show_disclosure(console: "Console", challenge: Json, *, for_organizers: bool) -> None:
    """Print how much of the gold of a phase its scores can disclose, and what lowers that; or where that is said."""
    bounds = (challenge.get("recipe") or {}).get("inference") or ()
    if bounds and not for_organizers:
        command = f"assay recipe show {clean(challenge.get('slug'))}"
        console.print(f"How much scores disclose about the gold: {command}, docs/disclosure.md", **PLAIN)
        return
    for bound in bounds:
        console.print(f"What scores of {clean(bound.get('phase'))} disclose: {clean(bound.get('statement'))}", **PLAIN)
        if bound.get("lowered_by"):
            console.print(f"They would disclose less with: {clean('; '.join(bound['lowered_by']))}.", **PLAIN)


def _show_own_rules(console: "Console", challenge: Json, phase: Json) -> None:
    """Print where a phase differs from the challenge: task, positive label, classes, and a recipe of its own."""
    name = clean(phase.get("slug"))
    for field in ("task", "positive_label", "classes"):
        value = phase.get(field)
        if value and value != challenge.get(field):
            shown = list_classes(value) if field == "classes" else value
            console.print(f"{field.replace('_', ' ')} of {name}: {clean(shown)}", **PLAIN)
    if phase.get("own_recipe"):
        command = f"assay recipe show {clean(challenge.get('slug'))} --phase {name}"
        console.print(f"metrics and selection of {name}: its own, see {command}", **PLAIN)


def _show_what_registration_asks(console: "Console", challenge: Json) -> None:
    """Print the terms and the fields of a challenge."""
    for each in challenge.get("registration_fields") or ():
        required = "required" if each.get("required") else "optional"
        console.print(f"field {clean(each.get('name'))} ({required}): {clean(each.get('label'))}", **PLAIN)
    if challenge.get("terms"):
        console.print(f"terms, version {challenge.get('terms_version')}:", **PLAIN)
        console.print("\n".join(f"  {clean(line)}" for line in str(challenge["terms"]).splitlines()), **PLAIN)


def show_phases(console: "Console", phases: Sequence[Json]) -> None:
    """Print the phases of a challenge."""
    times: dict[str, Any] = {"wrap": True, "min_width": TIME_IN_ZONES_WIDTH}
    columns = [
        Column("phase", [phase.get("slug") or phase.get("name") for phase in phases]),
        Column("now", [phase_state(phase) for phase in phases]),
        Column("opens", [time_in_zones(phase, "opens_at") for phase in phases], **times),
        Column("closes", [time_in_zones(phase, "closes_at") or "never" for phase in phases], **times),
        Column("quota", [quota_words(phase.get("quota") or {}) for phase in phases], wrap=True),
        *_field_columns(phases, "leaderboard", drop_priority=1),
    ]
    show_table(console, columns)


def phase_state(phase: Json) -> str:
    """Whether a phase accepts submissions: open, paused, closed, or not open yet; empty if that is not known."""
    if phase.get("paused_at"):
        return "paused"
    if "open" not in phase:
        return ""
    if phase["open"]:
        return "open"
    is_past = phase.get("closes_at") and datetime.fromisoformat(str(phase["closes_at"])) <= datetime.now(UTC)
    return "closed" if is_past else "not open yet"


def quota_words(quota: Json) -> str:
    """The quota of a phase in words."""
    return (
        ", ".join(_QUOTA_WORDS.get(name, f"{name} {{}}").format(limit) for name, limit in quota.items() if limit)
        or "none"
    )


def list_classes(classes: Sequence[str] | None, limit: int = 30) -> str | None:
    """The first classes, and the number of the others."""
    if not classes:
        return None
    more = f", … {len(classes) - limit} more: --json" if len(classes) > limit else ""
    return ", ".join(map(str, classes[:limit])) + more


def _metric_names(recipe: Json) -> list[str]:
    """The metrics, with the primary metric first."""
    primary = _metric_name(recipe.get("primary"))
    names = [_metric_name(metric) for metric in recipe.get("metrics") or ()]
    return [primary, *(name for name in names if name != primary)]


def _metric_name(metric: Any) -> str:
    return str(metric.get("key")) if isinstance(metric, Mapping) else str(metric)


def show_gold_versions(console: "Console", versions: Sequence[Json]) -> None:
    """Print the gold versions of a phase."""
    columns = [
        *_field_columns(versions, "version", right=True),
        *_field_columns(versions, "status"),
        *_field_columns(versions, "instances", right=True),
        Column("classes", [len(version.get("classes") or ()) for version in versions], right=True),
        time_column("created", [version.get("created_at") for version in versions], drop_priority=1),
        time_column("activated", [version.get("activated_at") for version in versions], drop_priority=1),
    ]
    show_table(console, columns)


def show_quota(console: "Console", quota: Json) -> None:
    """Print a team's quota."""
    limits: Json = quota.get("limits") or {}
    used, remaining = quota.get("used") or {}, quota.get("remaining") or {}
    columns = [
        Column("quota", [quota_words({name: 1}).removeprefix("1 ") for name in limits]),
        Column("limit", ["none" if limit is None else limit for limit in limits.values()], right=True),
        Column("used", [used.get(name) for name in limits], right=True),
        Column("remaining", [remaining.get(name) for name in limits], right=True),
    ]
    show_table(console, columns)
    for grant in quota.get("grants") or ():
        numbers = {name: f"{grant[name]:+d}" for name in ("per_day", "total") if grant.get(name)}
        console.print(f"Granted {quota_words(numbers)}: {clean(str(grant.get('reason')))}", **PLAIN)
    _show_reset(console, quota)


def show_quota_left(console: "Console", submission: Json) -> None:
    """Print what the team may still submit after this submission, if the phase has limits."""
    left = {name: number for name, number in (submission.get("remaining") or {}).items() if number is not None}
    if left:
        numbers = ", ".join(_QUOTA_WORDS.get(name, f"{name} {{}}").format(number) for name, number in left.items())
        console.print(f"Quota left: {numbers.replace('a day', 'today')}.", **PLAIN)
    if left.keys() & {"per_day", "invalid_per_day"}:
        _show_reset(console, submission)


def _show_reset(console: "Console", quota: Json) -> None:
    if quota.get("reset_at"):
        console.print(f"The daily limits reset at {clean(time_in_zones(quota, 'reset_at'))}.", **PLAIN)


def team_name(row: Json) -> str:
    """The name of the team of a submission or leaderboard row."""
    team = row.get("team")
    return str(team.get("name")) if isinstance(team, Mapping) else str(team or "")


def _score_value(score: Any) -> Any:
    return score.get("value") if isinstance(score, Mapping) else score


def _metric_keys(rows: Sequence[Json]) -> list[str]:
    """The metrics for which any row has a score."""
    return list(dict.fromkeys(key for row in rows for key in row.get("scores") or {}))


def _score_columns(rows: Sequence[Json], keys: Sequence[str]) -> list[Column]:
    """A column for each metric; on a narrow terminal all but the first may be dropped."""
    scores = [row.get("scores") or {} for row in rows]
    columns: list[Column] = []
    for key in keys:
        values = [_score_value(row[key]) if key in row else "" for row in scores]
        columns.append(score_column(key, values, drop_priority=3 if columns else 0))
    return columns


def show_submissions(console: "Console", rows: Sequence[Json]) -> None:
    """Print a list of submissions with their scores, and with their teams if there are several."""
    teams = [team_name(row) for row in rows]
    submitted = [(row.get("timings") or {}).get("submitted_at") for row in rows]
    columns = [
        *_field_columns(rows, "id"),
        time_column("submitted", submitted, drop_priority=2),
        *([Column("team", teams, wrap=True)] if len(set(teams)) > 1 else []),
        *_field_columns(rows, "method", wrap=True),
        *_field_columns(rows, "status"),
        *_score_columns(rows, _metric_keys(rows)),
    ]
    if any(row.get("rank") is not None or row.get("public_rank") is not None for row in rows):
        ranks = {"rank": "rank", "public rank": "public_rank"}
        columns += [Column(word, [row.get(name) for row in rows], right=True) for word, name in ranks.items()]
    marks = [_submission_mark(row) for row in rows]
    if any(marks):
        columns.append(Column("mark", marks, drop_priority=1))
    if any(row.get("queue_position") is not None for row in rows):
        columns += _field_columns(rows, "queue_position", right=True, drop_priority=1)
        columns.append(time_column("eta", [row.get("eta") for row in rows], drop_priority=2))
    if any(row.get("selected") for row in rows):
        columns.append(Column("selected", ["yes" if row.get("selected") else "" for row in rows], drop_priority=1))
    show_table(console, columns)


def _submission_mark(submission: Json) -> str:
    """Why a submission has no rank; empty if it may have one."""
    facts = {"disqualified": "disqualified_at", "withdrawn": "withdrawn_at", "unofficial": "unofficial", "test": "test"}
    return next((mark for mark, field in facts.items() if submission.get(field)), "")


def queue_place(submission: Json) -> str:
    """The position of a submission in the queue and when its final status is expected; empty if it is not queued."""
    if submission.get("queue_position") is None:
        return ""
    expected = f", scores expected at {clean(format_time(submission['eta']))} UTC" if submission.get("eta") else ""
    return f", position {clean(submission['queue_position'])} in the queue{expected}"


def show_submission(console: "Console", submission: Json) -> None:
    """Print a submission: status, then scores, problems, or the reason of a failure."""
    console.print(f"Submission {clean(submission.get('id'))}: {clean(submission.get('status'))}", **PLAIN)
    if place := queue_place(submission):
        console.print(f"queued{place}", **PLAIN)
    failure = submission.get("failure")
    if failure:
        why = " ".join(str(failure[name]) for name in ("detail", "reason") if failure.get(name))
        console.print(f"reason: {clean(why or failure.get('code') or failure)}", **PLAIN)
    for fact in _standing_facts(submission):
        console.print(clean(fact), **PLAIN)
    scores = submission.get("scores") or {}
    if scores:
        columns = [Column("metric", list(scores)), *_value_columns(submission)]
        reasons = [score.get("reason") if isinstance(score, Mapping) else None for score in scores.values()]
        show_table(console, [*columns, Column("remark", reasons, wrap=True)] if any(reasons) else columns)
    if submission.get("problems"):
        show_problems(console, submission)
    for note in submission.get("notes") or ():
        console.print(f"note: {clean(note)}", **PLAIN)


def _standing_facts(submission: Json) -> Iterator[str]:
    """Whether a submission counts, and its file is kept: withdrawn, disqualified, a test, unofficial, selected."""
    for verb in ("withdrawn", "disqualified", "file_deleted"):
        if submission.get(f"{verb}_at"):
            why = f": {submission[f'{verb}_reason']}" if submission.get(f"{verb}_reason") else ""
            yield f"{verb.replace('_', ' ')} at {format_time(submission[f'{verb}_at'])} UTC{why}"
    if submission.get("test"):
        yield "test entry: only organizers see it"
    elif submission.get("unofficial"):
        yield "unofficial: sent after the close, so it has no rank"
    if told := submission.get("ladder"):
        waits = "its result is shown once all earlier files of the team have their final status. "
        yield f"limited feedback: {waits if told['waiting'] else ''}{told['meaning']}"
    ranks = [f"{word} {submission[name]}" for word, name in _RANK_FIELDS.items() if submission.get(name) is not None]
    if ranks:
        yield f"rank: {', '.join(ranks)}"
    if submission.get("selected"):
        yield f"selected: {(submission.get('selection') or {}).get('meaning')}"


def _value_columns(submission: Json) -> list[Column]:
    """The values of a submission; after the final release the private ones, with the public ones beside them."""
    shown = {"value": submission["scores"]}
    if submission.get("split") in {"public", "private"}:
        shown = {str(submission["split"]): submission["scores"]}
    if submission.get("public_scores"):
        shown["public"] = submission["public_scores"]
    return [
        score_column(name, [_score_value(scores.get(metric)) for metric in submission["scores"]])
        for name, scores in shown.items()
    ]


def _rank_or_mark(row: Json) -> Any:
    """The rank of a row of a leaderboard, or why it has none."""
    words = [*(["baseline"] if row.get("baseline") else []), *([row["mark"]] if row.get("mark") else [])]
    return ", ".join(words) or row.get("rank")


def show_board(console: "Console", board: Json, keys: Sequence[str] | None = None) -> None:
    """Print a leaderboard with the metrics in `keys`; by default all metrics, with the ranking one first."""
    rows: Sequence[Json] = board.get("rows") or ()
    primary = board.get("primary")
    ranks = [_rank_or_mark(row) for row in rows]
    columns = [
        Column("rank", ranks, format_numbers, right=True),
        Column("team", [team_name(row) for row in rows], wrap=True),
        *_field_columns(rows, "method", wrap=True),
        *_score_columns(rows, keys or sorted(_metric_keys(rows), key=lambda key: key != primary)),
        *_field_columns(rows, "entries", right=True, drop_priority=1),
    ]
    if any(row.get("public_rank") is not None for row in rows):
        columns.insert(1, Column("public rank", [row.get("public_rank") for row in rows], format_numbers, right=True))
    if any(row.get("on_behalf") for row in rows):
        columns.append(Column("sent by", ["organizer" if row.get("on_behalf") else "team" for row in rows]))
    title = f"{board.get('challenge')} / {board.get('phase')}, ranked by {primary} ({board.get('split')})"
    show_table(console, columns, title=title, more="--json or --csv")
    if board.get("selection"):
        console.print(clean(board["selection"]["meaning"]), **PLAIN)
    if board.get("ladder"):
        console.print(clean(board["ladder"]["meaning"]), **PLAIN)
