"""One row in every table, each joined to the others."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION
from app.store.tables import (
    Base,
    Challenge,
    EntryCount,
    GoldVersion,
    IdempotencyKey,
    KnownAddress,
    Organizer,
    Phase,
    PreparedGold,
    QuotaEntry,
    Recipe,
    Registration,
    Rerun,
    Score,
    ScoreTask,
    Submission,
    Team,
    Token,
    User,
    WorkerRow,
)
from app.store.types import utcnow


@dataclass(frozen=True)
class RowIds:
    """The ids that other rows need."""

    user: str
    challenge: str
    recipe: str
    phase: str
    gold: str
    team: str
    submission: str


def add_row(session: Session, row: Base) -> Any:
    """The row's id, once it is stored."""
    session.add(row)
    session.flush()
    return getattr(row, "id", None)


def submission(phase: str, team: str, user: str, **values: Any) -> Submission:
    """A queued submission."""
    stored_file = {
        "file_key": "uploads/1",
        "sha256": "0" * 64,
        "size": 1,
        "format": "json",
        "encoding": "",
        "layout": "",
    }
    texts = {"status": "queued", "method": "m", "description": ""}
    lists: dict[str, Any] = {"problems": [], "problem_totals": {}, "notes": []}
    return Submission(phase_id=phase, team_id=team, user_id=user, **(stored_file | texts | lists | values))


def task(of: str, gold: str, recipe: str, **values: Any) -> ScoreTask:
    """A queued task."""
    fields = {"submission_id": of, "gold_id": gold, "recipe_id": recipe, "scorer_version": SCORER_VERSION}
    return ScoreTask(**(fields | {"status": "queued"} | values))


def gold_version(phase: str, **values: Any) -> GoldVersion:
    """Active gold of two classes."""
    file = {"file_key": "uploads/0", "sha256": "0" * 64, "size": 1, "format": "json", "encoding": "", "layout": ""}
    content = {"instances": 2, "classes": ["cat", "dog"], "classes_declared": False, "has_splits": False, "notes": []}
    return GoldVersion(phase_id=phase, version=1, status="active", **(file | content | values))


def fill_tables(session: Session) -> RowIds:
    """A row in every table."""
    later = utcnow() + timedelta(days=1)
    user = add_row(session, User(email="ada@example.org", name="Ada"))
    add_row(session, Token(user_id=user, secret_hash="0" * 64, scopes=["read"], expires_at=later))
    add_row(session, KnownAddress(user_id=user, block="192.0.2.7", last_at=utcnow()))
    texts = {"title": "Pets", "description": "", "task": "multiclass", "timezone": "UTC"}
    rules = {"status": "published", "visibility": "public", "registration": "open"}
    challenge = add_row(session, Challenge(slug="pets", created_by=user, **texts, **rules))
    add_row(session, Organizer(challenge_id=challenge, user_id=user, role="owner"))
    body = {"primary": "accuracy", "metrics": ["accuracy"]}
    recipe = add_row(session, Recipe(challenge_id=challenge, version=1, status="active", body=body, fingerprint="f"))
    window = {"position": 0, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
    phase = add_row(session, Phase(challenge_id=challenge, slug="main", name="main", **window))
    gold = add_row(session, gold_version(phase, created_by=user))
    file = {"name": "0" * 64, "file_key": "prepared/0", "sha256": "0" * 64, "size": 1}
    add_row(session, PreparedGold(gold_id=gold, program="1", **file))
    team = add_row(session, Team(challenge_id=challenge, name="Blue", name_key="blue"))
    add_row(session, Registration(challenge_id=challenge, user_id=user, team_id=team, status="approved"))
    submission_id = add_row(session, submission(phase, team, user))
    add_row(session, task(submission_id, gold, recipe))
    key = {"submission_id": submission_id, "gold_id": gold, "recipe_id": recipe, "scorer_version": SCORER_VERSION}
    add_row(session, Score(split="all", metrics={"accuracy": {"value": 1.0}}, **key))
    add_row(session, EntryCount(provenance="0" * 32, team_id=team, entries=0))
    ledger = {"phase_id": phase, "team_id": team, "submission_id": submission_id, "day": "2026-01-01"}
    add_row(session, QuotaEntry(kind="reserve", reason="admitted", **ledger))
    add_row(session, IdempotencyKey(user_id=user, key="k", fingerprint="f", submission_id=submission_id))
    beats = {"started_at": utcnow(), "heartbeat_at": utcnow()}
    add_row(session, WorkerRow(id="0" * 32, name="host:1", slots=1, **beats))
    order = {"phase_id": phase, "user_id": user, "scorer_version": SCORER_VERSION}
    add_row(session, Rerun(total=1, **order))
    return RowIds(user, challenge, recipe, phase, gold, team, submission_id)
