"""Queries for receipts, the scores that lack one, and the public keys of receipts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, exists, insert, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import aliased, undefer

from app.store.queries.phase_for_user import ACTIVE
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, LogRecord, Phase, Receipt, Recipe, Score, SigningKey, Submission

RECEIPT_KEYS = "receipts"
"""The purpose of the keys that sign receipts."""


class ScoredFacts(NamedTuple):
    """What a receipt says of a submission, and what decides whether others may know its scores now."""

    team_id: str
    sha256: str
    test: bool
    challenge_id: str
    challenge: str
    phase_id: str
    phase: str
    released_at: datetime | None
    gold_version: int
    commitment: str | None
    has_splits: bool
    gold_status: str
    phase_scorer_version: int
    recipe_in_force: bool


class LoggedReceipt(NamedTuple):
    """What the transparency log records of a receipt."""

    id: str
    submission_id: str
    split: str
    payload_sha256: str


_active_recipe = aliased(Recipe)
_RECIPE_IN_FORCE = exists().where(
    _active_recipe.status == ACTIVE,
    _active_recipe.challenge_id == Phase.challenge_id,
    or_(_active_recipe.phase_id.is_(None), _active_recipe.phase_id == Phase.id),
    _active_recipe.fingerprint == Recipe.fingerprint,
)
_FACTS = (
    select(
        Submission.id,
        Submission.team_id,
        Submission.sha256,
        Submission.test,
        Challenge.id,
        Challenge.slug,
        Phase.id,
        Phase.slug,
        Phase.released_at,
        GoldVersion.version,
        GoldVersion.commitment,
        GoldVersion.has_splits,
        GoldVersion.status,
        Phase.scorer_version,
        _RECIPE_IN_FORCE,
    )
    .select_from(Submission.__table__)
    .join(Phase.__table__, Phase.id == Submission.phase_id)
    .join(Challenge.__table__, Challenge.id == Phase.challenge_id)
    .join(GoldVersion.__table__, GoldVersion.id == bindparam("gold_id"))
    .join(Recipe.__table__, Recipe.id == bindparam("recipe_id"))
    .where(Submission.id.in_(bindparam("submission_ids", expanding=True)))
)
_ADD_RECEIPTS = insert(Receipt.__table__)
_KEY = ("submission_id", "gold_id", "recipe_id", "scorer_version", "split")


def scored_facts(
    session: ReadSession, gold_id: str, recipe_id: str, submission_ids: Collection[str]
) -> dict[str, ScoredFacts]:
    """The facts about scores of submissions by one gold and recipe; without those of which a row was deleted."""
    of = {"gold_id": gold_id, "recipe_id": recipe_id, "submission_ids": list(submission_ids)}
    return {row[0]: ScoredFacts._make(row[1:]) for row in session.connection().execute(_FACTS, of)}


def add(session: WriteSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store receipts, by their columns."""
    session.connection().execute(_ADD_RECEIPTS, [*map(dict, rows)])


def existing_splits(session: ReadSession, key: Mapping[str, Any]) -> set[str]:
    """The splits for which the scores of a task have receipts."""
    own = and_(*(getattr(Receipt, name) == key[name] for name in _KEY[:-1]))
    return set(session.scalars(select(Receipt.split).where(own)))


def find(
    session: ReadSession, submission_id: str, gold_id: str, split: str, *, versions: ColumnElement[bool] | None = None
) -> Receipt | None:
    """The newest receipt of a submission under a gold version, with its envelope; `versions` narrows it."""
    query = select(Receipt).join(Recipe, Recipe.id == Receipt.recipe_id)
    query = query.where(Receipt.submission_id == submission_id, Receipt.gold_id == gold_id, Receipt.split == split)
    if versions is not None:
        query = query.where(versions)
    newest = query.order_by(Receipt.scorer_version.desc(), Recipe.version.desc()).limit(1)
    return session.scalar(newest.options(undefer(Receipt.envelope)))


def computed_by(recipe_ids: Collection[str], scorer_version: int) -> ColumnElement[bool]:
    """Receipts of scores by one of these recipes and this scorer version."""
    return Receipt.recipe_id.in_(list(recipe_ids)) & (Receipt.scorer_version == scorer_version)


def by_recipe_version(number: int) -> ColumnElement[bool]:
    """Receipts of scores by the recipe with this number."""
    return Recipe.version == number


def unlogged(
    session: ReadSession,
    phase_id: str,
    *,
    gold_id: str,
    recipe_ids: Collection[str],
    scorer_version: int,
    splits: Iterable[str],
) -> list[LoggedReceipt]:
    """The receipts of these versions and splits that the log does not have."""
    logged = exists().where(LogRecord.object_id == Receipt.id, LogRecord.kind == "receipt")
    query = (
        select(Receipt.id, Receipt.submission_id, Receipt.split, Receipt.payload_sha256)
        .join(Submission, Submission.id == Receipt.submission_id)
        .where(
            Submission.phase_id == phase_id,
            Receipt.gold_id == gold_id,
            computed_by(recipe_ids, scorer_version),
            Receipt.split.in_(list(splits)),
            ~logged,
        )
        .order_by(Receipt.id)
    )
    return [LoggedReceipt(*row) for row in session.execute(query)]


class ScoresWithoutReceipt(NamedTuple):
    """Scores of one submission under one gold, recipe and scorer version."""

    submission_id: str
    gold_id: str
    recipe_id: str
    scorer_version: int


def scores_without_receipt(session: ReadSession, *, after: str, limit: int) -> list[ScoresWithoutReceipt]:
    """Scores of finished submissions without a receipt, in the order of submissions after this id."""
    same = and_(*(getattr(Receipt, name) == getattr(Score, name) for name in _KEY))
    columns = [getattr(Score, name) for name in ScoresWithoutReceipt._fields]
    query = (
        select(*columns)
        .join(Submission, Submission.id == Score.submission_id)
        .where(
            Submission.status == "finished", Submission.test.is_(False), Submission.id > after, ~exists().where(same)
        )
        .distinct()
        .order_by(*columns)
        .limit(limit)
    )
    return [ScoresWithoutReceipt(*row) for row in session.execute(query)]


def stored_scores(session: ReadSession, key: Mapping[str, Any]) -> list[Score]:
    """The scores of a task, by split."""
    own = and_(*(getattr(Score, name) == key[name] for name in _KEY[:-1]))
    return list(session.scalars(select(Score).where(own).order_by(Score.id)))


def is_first_scoring(session: ReadSession, key: Mapping[str, Any]) -> bool:
    """Whether the scores of a task are the first ones of their submission."""
    query = select(Score.gold_id, Score.recipe_id, Score.scorer_version)
    first = session.execute(query.where(Score.submission_id == key["submission_id"]).order_by(Score.id).limit(1)).one()
    return tuple(first) == tuple(key[name] for name in _KEY[1:4])


# ---- public keys


def register_key(session: WriteSession, key_id: str, public_key: str, now: datetime) -> bool:
    """Store a public key of receipts, unless it is stored; returns whether it is one of receipts then."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    row = {"id": key_id, "purpose": RECEIPT_KEYS, "public_key": public_key, "created_at": now}
    session.connection().execute(dialect.insert(SigningKey.__table__).values(row).on_conflict_do_nothing())
    return session.scalar(select(SigningKey.purpose).where(SigningKey.id == key_id)) == RECEIPT_KEYS


def receipt_keys(session: ReadSession) -> list[SigningKey]:
    """All public keys of receipts, the newest first."""
    query = select(SigningKey).where(SigningKey.purpose == RECEIPT_KEYS)
    return list(session.scalars(query.order_by(SigningKey.created_at.desc(), SigningKey.id)))
