"""The examples of replies and files in the API documentation: a challenge about pets, its gold, one submission."""

import json
from collections.abc import Mapping
from typing import Any

from app.actions.submissions.board_scores import describe_selection
from app.api.openapi.inference_example import INFERENCE
from app.errors import DatabaseUnavailable
from app.formats.templates.build_template import TEMPLATES, build_template
from app.scoring import SCORER_VERSION
from app.scoring.catalogue.description import describe_call, describe_metric
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskSpec

JSON = dict[str, Any]

NULL_MARKER = "\0null"
TIMESTAMP = "2027-01-31T12:00:00Z"
DRAW_SEED = "9d3b2f6a51c84e07a6b1f0c2d4e59387"
SUBMISSION_ID = "01a1fbb9e19f7363aa2acd3d856536cf"
TEAM: JSON = {"id": "01a1fbb9e18a7212ae9d3c379d612133", "name": "Blue"}
TEAM_DETAILS: JSON = TEAM | {
    "baseline": False,
    "created_at": TIMESTAMP,
    "disqualified_at": None,
    "disqualified_reason": None,
}

USER: JSON = {
    "id": "01a1fbb9e0e472e8bb4827798eb0eace",
    "email": "ada@example.org",
    "name": "Ada",
    "admin": False,
    "approved": False,
    "created_at": TIMESTAMP,
    "disabled_at": None,
    "disabled_reason": None,
}
TOKEN: JSON = {
    "name": "laptop",
    "last_used_at": None,
    "id": "01a1fbb9e166769a847b420d51b59782",
    "scopes": ["read", "submit"],
    "created_at": TIMESTAMP,
    "expires_at": "2027-05-01T12:00:00Z",
}
RECIPE: JSON = {
    "version": 1,
    "status": "active",
    "phase": None,
    "primary": "f1_macro",
    "metrics": ["f1_macro", "accuracy"],
    "tie_breakers": [],
    "options": {},
    "selection": "best",
    "selection_max": None,
    "selection_meaning": describe_selection("best", None, ())["meaning"],
    "decision": None,
    "disclosure": {"digits": 6},
    "ladder": None,
    "ladder_meaning": None,
    "inference": [INFERENCE],
    "switches": [],
}
PHASE: JSON = {
    "slug": "main",
    "name": "main",
    "opens_at": TIMESTAMP,
    "opens_at_local": TIMESTAMP[:19] + "+00:00",
    "closes_at": None,
    "closes_at_local": None,
    "timezone": "UTC",
    "open": True,
    "late": "refuse",
    "paused_at": None,
    "paused_at_local": None,
    "pause_reason": None,
    "quota": {"per_day": 10, "total": None, "concurrent": None, "invalid_per_day": None},
    "leaderboard": "public",
    "reports": ["scores", "intervals", "significance"],
    "anonymous": False,
    "released_at": None,
    "released_at_local": None,
    "task": "multiclass",
    "positive_label": None,
    "classes": ["cat", "dog"],
    "own_recipe": False,
}
CHALLENGE_ROW: JSON = {
    "slug": "pets",
    "title": "Cats and dogs",
    "task": "multiclass",
    "status": "published",
    "visibility": "public",
    "registration": "open",
    "created_at": TIMESTAMP,
    "archived_at": None,
}
CHALLENGE: JSON = CHALLENGE_ROW | {
    "description": "Which animal is it?",
    "positive_label": None,
    "classes": ["cat", "dog"],
    "timezone": "UTC",
    "contact": "ada@example.org",
    "team_size_limit": None,
    "merge_deadline": None,
    "merge_deadline_local": None,
    "terms": None,
    "terms_version": 0,
    "registration_fields": [],
    "recipe": RECIPE,
    "phases": [PHASE],
    "warnings": [],
}
ORGANIZER: JSON = {"email": "ada@example.org", "name": "Ada", "role": "owner"}
REGISTRATION: JSON = {
    "id": "01a1fbb9e18b76928650f5e551830ffc",
    "status": "approved",
    "reason": None,
    "team": TEAM_DETAILS,
    "bound_team_id": None,
    "terms_version": None,
    "terms_accepted_at": None,
    "fields": {},
    "user": {"name": "Ada", "email": "ada@example.org"},
    "created_at": TIMESTAMP,
}
SCORES: JSON = {"f1_macro": {"value": 0.733333}, "accuracy": {"value": 0.75}}
SUBMISSION: JSON = {
    "id": SUBMISSION_ID,
    "status": "finished",
    "challenge": "pets",
    "phase": "main",
    "team": TEAM,
    "method": "guess",
    "description": "",
    "link": None,
    "baseline": False,
    "test": False,
    "selected": False,
    "selection": describe_selection("best", None, ()),
    "on_behalf": False,
    "unofficial": False,
    "withdrawn_at": None,
    "withdrawn_reason": None,
    "disqualified_at": None,
    "disqualified_reason": None,
    "sha256": "7510a09df5e9661f4c3921e1ed0c7dff031edd7d32232124e4d6517431256511",
    "size": 45,
    "file_deleted_at": None,
    "split": "all",
    "gold_version": 1,
    "recipe_version": 1,
    "scores": SCORES,
    "rank": None,
    "public_rank": None,
    "public_scores": None,
    "splits": None,
    "problems": [],
    "total": {},
    "total_at_least": False,
    "notes": [],
    "failure": None,
    "attempt": 1,
    "queue_position": None,
    "eta": None,
    "timings": {
        "submitted_at": TIMESTAMP,
        "started_at": None,
        "finished_at": None,
        "seconds_queued": None,
        "seconds_scoring": None,
    },
    "rerun": None,
    "ladder": None,
}
LISTED_SUBMISSION: JSON = SUBMISSION | {"counts": True}
RERUN: JSON = {
    "id": "01a1fbbde2c17d0a8f5a2f1a7f2f6a30",
    "status": "running",
    "challenge": "pets",
    "phase": "main",
    "scorer_version": SCORER_VERSION,
    "total": 10000,
    "done": 4200,
    "failed": 0,
    "different": 0,
    "differences": [],
    "started_at": TIMESTAMP,
    "finished_at": None,
    "rate": 140.0,
    "eta": "2027-01-31T12:01:11.428571Z",
    "next": {"total": 5800, "seconds": 41.4},
}
QUEUED: JSON = SUBMISSION | {
    "status": "queued",
    "scores": {},
    "attempt": 0,
    "queue_position": 1,
    "eta": "2027-01-31T12:00:02Z",
}
DRY_RUN: JSON = {
    "valid": False,
    "total": {"unknown_label": 1},
    "problems": [
        {
            "code": "unknown_label",
            "message": '"cow" is not in the vocabulary (labels are compared exactly). Use one of the labels of the vocabulary.',
            "pointer": "/predictions/0/label",
            "instance_id": "t1",
            "expected": '"cat", "dog"',
            "got": '"cow"',
        }
    ],
    "notes": [],
}
PROBLEMS: JSON = {
    "submission": SUBMISSION["id"],
    "total": DRY_RUN["total"],
    "total_at_least": False,
    "problems": [problem | {"excerpt": '{"id": "t1", "label": "cow"}'} for problem in DRY_RUN["problems"]],
    "left_out": None,
}
BOARD: JSON = {
    "challenge": "pets",
    "phase": "main",
    "split": "all",
    "primary": "f1_macro",
    "direction": "higher",
    "selection": describe_selection("best", None, ()),
    "gold_version": 1,
    "recipe_version": 1,
    "scorer_version": SCORER_VERSION,
    "draw_seed": DRAW_SEED,
    "significance": {"status": "current", "reason": None, "computed_at": TIMESTAMP},
    "as_of": TIMESTAMP,
    "unscored": 0,
    "former": None,
    "metrics": [describe_call(parse_metric(name)) for name in RECIPE["metrics"]],
    "ladder": None,
    "total": 1,
    "next": None,
    "rows": [
        {
            **dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group", "tied"), 1),
            "public_rank": None,
            "team": TEAM,
            "submission": SUBMISSION_ID,
            "method": "guess",
            "submitted_at": TIMESTAMP,
            "entries": 1,
            "baseline": False,
            "mark": None,
            "on_behalf": False,
            "scores": SCORES,
        }
    ],
}
METRIC: JSON = describe_metric(CATALOGUE["f1_macro"])
HEALTH: JSON = {"status": "ok"}
READY: JSON = {"status": "ready", "checks": {"database": "ok", "schema": "ok", "files": "ok", "space": "ok"}}
_DATABASE_ERROR = DatabaseUnavailable()
UNREADY: JSON = {
    "status": "unready",
    "checks": {
        "database": f"{_DATABASE_ERROR.detail} {_DATABASE_ERROR.advice}",
        "schema": f"{_DATABASE_ERROR.detail} {_DATABASE_ERROR.advice}",
        "files": "ok",
        "space": "ok",
    },
}

# The labels behind GOLD and SUBMISSION, whose sizes and digests are those of the two files as stored.
TRUE_LABELS = {"t1": "cat", "t2": "dog", "t3": "cat", "t4": "dog"}
PREDICTED_LABELS = {"t1": "cat", "t2": "dog", "t3": "dog", "t4": "dog"}
SPLITS = {"t1": "public", "t2": "public", "t3": "private", "t4": "private"}


def mark_nulls(value: Any) -> Any:
    """The value with a marker in place of each null, because the framework drops nulls from its document."""
    return _replace_value(value, None, NULL_MARKER)


def restore_nulls(value: Any) -> Any:
    """The value with nulls in place of markers."""
    return _replace_value(value, NULL_MARKER, None)


def _replace_value(value: Any, old: str | None, new: str | None) -> Any:
    if isinstance(value, dict):
        return {key: _replace_value(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_value(item, old, new) for item in value]
    return new if value == old else value


def named_examples(**values: Any) -> JSON:
    """Examples in the form of the document, by name."""
    return {name: {"value": mark_nulls(value)} for name, value in values.items()}


def _records(labels: Mapping[str, str]) -> list[JSON]:
    return [{"id": name, "label": label} for name, label in labels.items()]


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _label_file_examples(labels: Mapping[str, str]) -> dict[str, JSON]:
    """A file with these labels in each media type and layout."""
    records = _records(labels)
    lines = named_examples(lines="".join(json.dumps(record) + "\n" for record in records))
    return {
        "application/json": named_examples(
            records={"predictions": records},
            list=records,
            columns={"ids": list(labels), "labels": list(labels.values())},
            map=dict(labels),
        ),
        "application/x-ndjson": lines,
        "application/jsonl": lines,
        "text/csv": named_examples(table=_label_table(labels, ",")),
        "text/tab-separated-values": named_examples(table=_label_table(labels, "\t")),
    }


def _label_table(labels: Mapping[str, str], separator: str) -> str:
    return "".join(f"{name}{separator}{label}\n" for name, label in (("id", "label"), *labels.items()))


def _template_examples() -> dict[str, JSON]:
    """The template of these instances in each format."""
    templates: dict[str, JSON] = {}
    spec = TaskSpec("multiclass", tuple(sorted(set(TRUE_LABELS.values()))))
    for name, template in TEMPLATES.items():
        media = template.media_type
        if template.is_binary:  # JSON cannot show bytes.
            templates[media] = {}
            continue
        text = build_template(list(TRUE_LABELS), spec, name).decode()
        templates.setdefault(media, {})[name] = {"value": json.loads(text) if media == "application/json" else text}
    return templates


PREDICTION_FILE = _label_file_examples(PREDICTED_LABELS)
GOLD_FILE = _label_file_examples(TRUE_LABELS)
GOLD_FILE["application/json"] |= named_examples(
    splits=[record | {"split": SPLITS[record["id"]]} for record in _records(TRUE_LABELS)]
)
TEMPLATE_FILE = _template_examples()
PROMETHEUS_TEXT = {
    "text/plain": named_examples(
        queue="# HELP assay_queue_depth Tasks at this moment, by status.\n"
        "# TYPE assay_queue_depth gauge\n"
        'assay_queue_depth{status="queued"} 3.0\n'
        'assay_queue_depth{status="running"} 1.0\n'
    )
}
STORED_GOLD = {"application/octet-stream": named_examples(file=_compact(_records(TRUE_LABELS)))}
STORED_PREDICTIONS = {"application/octet-stream": named_examples(file=_compact(PREDICTED_LABELS))}
_REPORT = {
    "submission": SUBMISSION_ID,
    "challenge": "pets",
    "phase": "main",
    "split": "all",
    "gold_version": 1,
    "recipe_version": 1,
    "scorer_version": SCORER_VERSION,
    "scores": SCORES,
    "task": "multiclass",
    "classes": ["cat", "dog"],
}
REPORT = {
    "application/json": named_examples(scores=_REPORT),
    "text/csv": named_examples(confusion="gold,predicted,count\ncat,cat,1\ncat,dog,1\ndog,dog,2\n"),
}
