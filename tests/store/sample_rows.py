"""One row in every table, each joined to the others."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION
from app.store import board_invalidation
from app.store.queries import ranked_values
from app.store.tables import (
    AnalysisTask,
    Announcement,
    AuditEntry,
    Base,
    BoardAnalysis,
    BoardPreview,
    BoardSwitch,
    Challenge,
    ChallengeFile,
    ChallengeTerms,
    EntryCount,
    ForeignReceipt,
    FormerChallengeSlug,
    FormerPhaseSlug,
    FrozenBoard,
    GoldVersion,
    IdempotencyKey,
    ImportedId,
    Invitation,
    KnownAddress,
    LogCheckpoint,
    LogOrigin,
    LogRecord,
    LogTile,
    Organizer,
    PasswordReset,
    Phase,
    PhaseImport,
    PreparedGold,
    QuotaEntry,
    QuotaGrant,
    Receipt,
    Recipe,
    Registration,
    Rerun,
    Score,
    ScoreInterval,
    ScoreTask,
    SigningKey,
    Submission,
    Team,
    TeamMembership,
    TeamMerge,
    Token,
    User,
    UserSession,
    WorkerRow,
)
from app.store.types import utcnow

assert ranked_values  # importing it makes sessions store the ranked values of scores
assert board_invalidation  # and this one which boards change


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
    content |= {"task": "multiclass", "positive_label": None}
    row = {"version": 1, "status": "active"} | file | content | values
    activated = {"activated_at": utcnow()} if row["status"] == "active" else {}
    return GoldVersion(phase_id=phase, **activated | row)


def fill_tables(session: Session) -> RowIds:
    """A row in every table."""
    later = utcnow() + timedelta(days=1)
    user = add_row(session, User(email="ada@example.org", name="Ada"))
    add_row(session, Token(user_id=user, secret_hash="0" * 64, scopes=["read"], expires_at=later))
    add_row(session, UserSession(user_id=user, secret_hash="0" * 64, expires_at=later))
    add_row(session, PasswordReset(user_id=user, secret_hash="0" * 64, expires_at=later))
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
    add_row(session, ChallengeTerms(challenge_id=challenge, version=1, text="Be fair."))
    add_row(session, FormerChallengeSlug(slug="animals", challenge_id=challenge))
    add_row(session, FormerPhaseSlug(challenge_id=challenge, slug="first", phase_id=phase))
    add_row(session, Announcement(challenge_id=challenge, title="Open", body="", created_by=user))
    offered = {"name": "train.csv", "description": "", "licence": "CC0", "audience": "public", "media_type": "text/csv"}
    stored = {"file_key": "uploads/2", "sha256": "0" * 64, "size": 1}
    add_row(session, ChallengeFile(challenge_id=challenge, created_by=user, **offered, **stored))
    add_row(session, AuditEntry(actor_id=user, role="owner", action="phase.pause", challenge_id=challenge, changes={}))
    file = {"name": "0" * 64, "file_key": "prepared/0", "sha256": "0" * 64, "size": 1}
    add_row(session, PreparedGold(gold_id=gold, program="1", **file))
    team = add_row(session, Team(challenge_id=challenge, name="Blue", name_key="blue"))
    add_row(session, TeamMembership(team_id=team, user_id=user))
    add_row(session, TeamMerge(team_id=team, other_team_id=team, proposed_by=user))
    add_row(session, Invitation(kind="team", challenge_id=challenge, team_id=team, code_hash="0" * 64))
    add_row(session, QuotaGrant(phase_id=phase, team_id=team, reason="An outage"))
    add_row(session, Registration(challenge_id=challenge, user_id=user, team_id=team, status="approved"))
    submission_id = add_row(session, submission(phase, team, user))
    add_row(session, task(submission_id, gold, recipe))
    key = {"submission_id": submission_id, "gold_id": gold, "recipe_id": recipe, "scorer_version": SCORER_VERSION}
    add_row(session, Score(split="all", metrics={"accuracy": {"value": 1.0}}, **key))
    add_row(session, AnalysisTask(kind="intervals", key="0" * 64, status="queued", **key))
    add_row(session, ScoreInterval(split="all", intervals={}, **key))
    of_board = {"phase_id": phase, "kind": "significance", "split": "all", "metric": "accuracy", "gold_id": gold}
    compared = {
        "fingerprint": "f",
        "scorer_version": SCORER_VERSION,
        "entries": [submission_id],
        "rows": [],
        "result": {},
    }
    add_row(session, BoardAnalysis(**of_board, **compared))
    add_row(session, EntryCount(provenance="0" * 32, team_id=team, entries=0))
    ledger = {"phase_id": phase, "team_id": team, "submission_id": submission_id, "day": "2026-01-01"}
    add_row(session, QuotaEntry(kind="reserve", reason="admitted", **ledger))
    add_row(session, IdempotencyKey(user_id=user, key="k", fingerprint="f", submission_id=submission_id))
    beats = {"started_at": utcnow(), "heartbeat_at": utcnow()}
    add_row(session, WorkerRow(id="0" * 32, name="host:1", slots=1, **beats))
    order = {"phase_id": phase, "user_id": user, "scorer_version": SCORER_VERSION}
    add_row(session, Rerun(total=1, **order))
    versions = {"to_gold_id": gold, "to_recipe_id": recipe, "to_scorer_version": SCORER_VERSION}
    add_row(session, BoardSwitch(phase_id=phase, number=1, status="done", **versions))
    add_row(session, BoardPreview(phase_id=phase, status="scoring", **versions))
    frozen = {"title": "Final", "reason": "Agreed", "sha256": "0" * 64, "content": "{}"}
    add_row(session, FrozenBoard(phase_id=phase, number=1, frozen_by=user, **frozen))
    _fill_evidence(session, key)
    _fill_import(session, challenge, key)
    return RowIds(user, challenge, recipe, phase, gold, team, submission_id)


def _fill_evidence(session: Session, key: dict[str, Any]) -> None:
    add_row(session, Receipt(split="all", envelope="{}", payload_sha256="0" * 64, **key))
    key_id = add_row(session, SigningKey(id="0" * 43, purpose="log", public_key="0" * 43))
    origin = add_row(session, LogOrigin(name="example.org/log", key_id=key_id))
    add_row(session, LogRecord(kind="audit", entry="0" * 64, origin_id=origin, position=0))
    add_row(session, LogTile(origin_id=origin, level=0, number=0, hashes=b"0"))
    add_row(session, LogCheckpoint(origin_id=origin, size=1, note=""))


def _fill_import(session: Session, challenge: str, key: dict[str, Any]) -> None:
    came = {"slug": "digits", "origin": {}, "origin_phase_id": "0" * 32, "sha256": "0" * 64, "size": 1}
    import_id = add_row(session, PhaseImport(status="done", challenge_id=challenge, **came))
    add_row(session, ImportedId(import_id=import_id, kind="phase", origin_id="0" * 32, local_id="0" * 32))
    receipt = {"import_id": import_id, "origin_id": "0" * 32, "split": "all", "envelope": "{}"}
    add_row(session, ForeignReceipt(**receipt, **key))
