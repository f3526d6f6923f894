"""The rows of a phase as the JSON of its archive: no person, no e-mail address, and no key that others rely on."""

from datetime import datetime
from typing import Any

from app.actions.challenges.upload_gold import stored_file_kind
from app.archives.layout import frozen_member, gold_member, proof_member, receipt_member
from app.store.queries.teams import TEST_TEAM_KEY
from app.store.tables import (
    Base,
    BoardSwitch,
    Challenge,
    FrozenBoard,
    GoldVersion,
    Phase,
    Receipt,
    Recipe,
    Score,
    ScoreInterval,
    Submission,
    Team,
)
from app.store.types import format_timestamp

Json = dict[str, Any]
_CHALLENGE = (
    *("id", "slug", "title", "description", "task", "positive_label", "classes", "timezone", "status", "visibility"),
    *("registration", "team_size_limit", "lineage_id", "archived_at", "created_at"),
)
_PHASE = (
    *("id", "slug", "name", "position", "opens_at", "closes_at", "late", "paused_at", "pause_reason", "task"),
    *("positive_label", "classes", "quota", "leaderboard", "reports", "anonymous", "released_at", "scorer_version"),
    "created_at",
)
_GOLD = (
    *("id", "version", "status", "sha256", "size", "format", "encoding", "layout", "task", "positive_label"),
    *("instances", "classes", "classes_declared", "has_splits", "public_instances", "weighted", "void_instances"),
    *("longest_id", "notes", "draw_seed", "void_ids", "ids_hash", "difference", "nonce", "commitment"),
    *("created_at", "activated_at"),
)
_TEAM = ("id", "name", "baseline", "disqualified_at", "disqualified_reason", "created_at")
_SUBMISSION = (
    *("id", "status", "method", "description", "link", "baseline", "on_behalf", "test", "unofficial", "sha256", "size"),
    *("format", "encoding", "layout", "submitted_at", "started_at", "finished_at", "attempt", "problems"),
    *("problem_totals", "notes", "failure", "file_removed_at", "selected_at", "withdrawn_at", "withdrawn_reason"),
    *("disqualified_at", "disqualified_reason"),
)
_SWITCH = (
    *("id", "number", "status", "reason", "requested_at", "confirmed_at", "switched_at", "cancelled_at"),
    *("lists_instances", "errata"),
)


class Versions:
    """The version numbers of gold and recipes by id, as an archive names them."""

    def __init__(self, golds: dict[str, int], recipes: dict[str, int]) -> None:
        self.golds, self.recipes = golds, recipes

    def have(self, row: Score | ScoreInterval | Receipt) -> bool:
        """Whether a row is of versions that existed when the export began."""
        return row.gold_id in self.golds and row.recipe_id in self.recipes

    def name(self, gold_id: str | None, recipe_id: str | None, scorer_version: int | None) -> Json | None:
        """Gold, recipe and scorer version by their numbers; None for nothing."""
        if gold_id is None or recipe_id is None:
            return None
        numbers = self.golds.get(gold_id), self.recipes.get(recipe_id)
        return dict(zip(("gold_version", "recipe_version", "scorer_version"), (*numbers, scorer_version), strict=True))


def _columns(row: Base, names: tuple[str, ...]) -> Json:
    return {name: _plain(getattr(row, name)) for name in names}


def _plain(value: Any) -> Any:
    return format_timestamp(value) if isinstance(value, datetime) else value


def archived_challenge(challenge: Challenge) -> Json:
    """The settings of a challenge. Its contact may be a person, so it stays here."""
    return _columns(challenge, _CHALLENGE)


def archived_phase(phase: Phase, active: Json | None) -> Json:
    """The settings of a phase, and the versions that its boards are computed from."""
    return _columns(phase, _PHASE) | {"active": active}


def archived_recipe(recipe: Recipe) -> Json:
    """A version of the recipe; `own` is whether it is one of this phase alone."""
    own = {"own": recipe.phase_id is not None}
    return _columns(recipe, ("id", "version", "status", "body", "fingerprint", "created_at")) | own


def archived_gold(version: GoldVersion, *, missing: bool) -> Json:
    """A gold version with its nonce; `file` is null if the service no longer has the file."""
    name = gold_member(version.version, stored_file_kind(version).ending)
    return _columns(version, _GOLD) | {"metadata": version.accessories, "file": None if missing else name}


def archived_team(team: Team) -> Json:
    """A team without its members."""
    more = {"test": team.name_key == TEST_TEAM_KEY, "merged_into": team.merged_into_id}
    return _columns(team, _TEAM) | more


def archived_submission(row: Submission, order: int, received_under: Json | None) -> Json:
    """A submission without its sender; `order` counts the submissions of the phase as they were accepted."""
    team = {"team": row.team_id, "sent_team": row.sent_team_id, "team_name": row.team.name}
    marks = {"selected": row.selected_at is not None}
    return {"order": order} | _columns(row, _SUBMISSION) | team | marks | {"received_under": received_under}


def archived_switch(switch: BoardSwitch, versions: Versions) -> Json:
    """A switch of the boards from some versions to others."""
    ends: Json = {"from": None, "to": None}
    for end in ends:
        names = (f"{end}_gold_id", f"{end}_recipe_id", f"{end}_scorer_version")
        ends[end] = versions.name(*(getattr(switch, name) for name in names))
    return _columns(switch, _SWITCH) | ends


def _provenance(row: Score | ScoreInterval | Receipt, versions: Versions) -> Json:
    named = versions.name(row.gold_id, row.recipe_id, row.scorer_version)
    return {"submission": row.submission_id, **(named or {}), "split": row.split}


def archived_score(row: Score, versions: Versions) -> Json:
    """The values of one split."""
    return _provenance(row, versions) | {
        "metrics": row.metrics,
        "empty_predictions": row.empty_predictions,
        "created_at": _plain(row.created_at),
    }


def archived_interval(row: ScoreInterval, versions: Versions) -> Json:
    """The intervals of one split."""
    return _provenance(row, versions) | {"intervals": row.intervals, "created_at": _plain(row.created_at)}


def archived_receipt(row: Receipt, versions: Versions, *, proved: bool) -> Json:
    """Of which score a receipt is; `proof` is null while the transparency log does not prove that it has the receipt."""
    files = {"file": receipt_member(row.id), "proof": proof_member(row.id) if proved else None}
    return {"id": row.id} | _provenance(row, versions) | files | {"created_at": _plain(row.created_at)}


def archived_frozen_board(row: FrozenBoard) -> Json:
    """A frozen board; its content is the file."""
    shown = _columns(row, ("number", "title", "reason", "sha256", "checkpoint"))
    return shown | {"frozen_at": _plain(row.created_at), "file": frozen_member(row.number)}
