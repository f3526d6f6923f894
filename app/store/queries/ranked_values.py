"""Ranked values: the ranking keys of scores, kept beside them so that a board finds each team's entry by an index.

They follow from scores, recipes and submissions alone. `add` writes them in the transaction that stores scores; sessions
watch scores and submissions that are stored as objects. `rewrite` derives those of a submission again.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, bindparam, delete, event, func, insert, inspect, select, text

from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import TaskKind
from app.scoring.standings import ranking_key
from app.store.session import ReadSession, WriteSession
from app.store.tables import EntryCount, GoldVersion, RankedValue, Recipe, Score, Submission

SETTLING = frozenset({"queued", "running", "finished"})
"""The statuses from which a submission is finished once the transaction that stores its scores has committed."""
_MAX_CACHED_RECIPES = 256
_MAX_IN_STATEMENT = 500
_ADD = insert(RankedValue.__table__)

RankedRow = dict[str, Any]
"""The columns of a ranked value."""


class StoredScore(NamedTuple):
    """The columns of a score that its ranked values depend on."""

    id: str
    submission_id: str
    gold_id: str
    recipe_id: str
    scorer_version: int
    split: str
    metrics: Mapping[str, Mapping[str, Any]]


class Entrant(NamedTuple):
    """The columns of a submission that decide whether its scores are entries, and of which team."""

    team_id: str
    status: str
    baseline: bool
    test: bool
    unofficial: bool


@dataclass(frozen=True, slots=True)
class RankingRules:
    """What ranked values take from the recipe: the primary metric, and the directions by canonical string."""

    fingerprint: str
    primary: str
    directions: Mapping[str, str]


_ROW_COLUMNS = tuple(RankedValue.__table__.c.keys())
_SCORE_COLUMNS = tuple(Score.__table__.c[name] for name in StoredScore._fields)
_ENTRANT_COLUMNS = tuple(Submission.__table__.c[name] for name in Entrant._fields)
_ENTRANT_AND_SCORES = (
    select(*_ENTRANT_COLUMNS, select(func.count()).where(Score.submission_id == Submission.id).scalar_subquery())
    .where(Submission.id == bindparam("submission"))
    .with_for_update(of=Submission, key_share=True)
)
_PENDING_COUNTS = "pending entry counts"  # key in the info of a session
_ADD_TO_COUNT = text(
    "INSERT INTO entry_counts (provenance, team_id, entries) VALUES (:provenance, :team_id, :entries) "
    "ON CONFLICT (provenance, team_id) DO UPDATE SET entries = entry_counts.entries + excluded.entries"
)
_rules: dict[tuple[str, str], RankingRules] = {}  # by the ids of gold and recipe, which never change


def provenance_key(
    gold_id: str, fingerprint: str, scorer_version: int, split: str, primary: str, *, unofficial: bool = False
) -> str:
    """The key that the entries of one board share; recipes with the same fingerprint compute the same values.

    Unofficial entries have a key of their own, so that however many there are, the ranked ones are found without them.
    """
    parts = (gold_id, fingerprint, str(scorer_version), split, primary, *(("unofficial",) if unofficial else ()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def add(session: WriteSession, scores: Sequence[StoredScore]) -> None:
    """Store the ranked values of new scores of one submission, in the transaction that finishes it.

    The row of the submission is locked, because its status decides; this transaction is about to write it anyway.
    """
    submission_id = scores[0].submission_id
    row = session.connection().execute(_ENTRANT_AND_SCORES, {"submission": submission_id}).one()
    entrant, stored = Entrant(*row[:-1]), row[-1]
    if entrant.status in SETTLING:
        entrant = entrant._replace(status="finished")
    if stored == len(scores):
        _insert(session, scores, {submission_id: entrant})
    else:  # scores of another scorer version, which may not have been entries
        _replace(session, {submission_id: entrant})


def rewrite(session: WriteSession, submission_ids: Iterable[str]) -> None:
    """Derive all ranked values of these submissions again."""
    ids = sorted(set(submission_ids))
    for start in range(0, len(ids), _MAX_IN_STATEMENT):
        _replace(session, _entrants(session, ids[start : start + _MAX_IN_STATEMENT]))


def delete_scores_of_gold(session: WriteSession, gold_id: str) -> None:
    """Delete the scores computed against a draft of the gold, with their ranked values; no board shows them."""
    own = select(Score.id).where(Score.gold_id == gold_id)
    entries = select(RankedValue.provenance, RankedValue.team_id).where(
        RankedValue.score_id.in_(own), RankedValue.team_id.is_not(None)
    )
    _change_counts(session, [(str(row[0]), str(row[1]), -1) for row in session.connection().execute(entries)])
    session.connection().execute(delete(RankedValue.__table__).where(RankedValue.score_id.in_(own)))
    session.connection().execute(delete(Score.__table__).where(Score.gold_id == gold_id))


def outdated_submissions(session: ReadSession, ids: Sequence[str]) -> list[str]:
    """Of these submissions, those whose ranked values do not follow from their scores, sorted."""
    scores = _scores(session, ids)
    owners = {score.id: score.submission_id for score in scores}
    derived = {tuple(row.values()) for row in _rows(session, scores, _entrants(session, ids))}
    columns = RankedValue.__table__.c
    query = select(*(columns[name] for name in _ROW_COLUMNS)).where(_of_scores_of(ids))
    stored = {tuple(row) for row in session.connection().execute(query)}
    return sorted({owners[row[0]] for row in derived ^ stored})


def submission_ids(session: ReadSession, *, before: str | None, limit: int) -> list[str]:
    """The ids of up to `limit` submissions, newest first, from before this one."""
    query = select(Submission.id).order_by(Submission.id.desc()).limit(limit)
    return list(session.scalars(query if before is None else query.where(Submission.id < before)))


def lock_submissions(session: WriteSession, ids: Sequence[str]) -> None:
    """Lock these rows in the order of their ids, so that no scores are added to them meanwhile."""
    query = select(Submission.id).where(Submission.id.in_(ids)).order_by(Submission.id)
    session.connection().execute(query.with_for_update(key_share=True))


def wrong_counts(session: ReadSession) -> list[EntryCount]:
    """The numbers of entries that should be stored, where others are."""
    competing = select(RankedValue.provenance, RankedValue.team_id, func.count()).where(
        RankedValue.team_id.is_not(None)
    )
    counted = {
        (str(row[0]), str(row[1])): int(row[2])
        for row in session.execute(competing.group_by(RankedValue.provenance, RankedValue.team_id))
    }
    kept = {(row.provenance, row.team_id): row.entries for row in session.scalars(select(EntryCount))}
    differing = [key for key in counted.keys() | kept.keys() if counted.get(key, 0) != kept.get(key, 0)]
    return [EntryCount(provenance=key[0], team_id=key[1], entries=counted.get(key, 0)) for key in sorted(differing)]


def correct_counts(session: WriteSession) -> int:
    """Store the right numbers of entries where others are stored; returns how many were wrong.

    The table is locked on PostgreSQL, so that no transaction adds an entry between counting and storing.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("LOCK TABLE entry_counts IN SHARE ROW EXCLUSIVE MODE"))
    wrong = wrong_counts(session)
    for row in wrong:
        session.merge(row)
    return len(wrong)


def _replace(session: WriteSession, entrants: Mapping[str, Entrant]) -> None:
    own = _of_scores_of(entrants)
    gone = select(RankedValue.provenance, RankedValue.team_id).where(own, RankedValue.team_id.is_not(None))
    _change_counts(session, [(str(row[0]), str(row[1]), -1) for row in session.connection().execute(gone)])
    session.connection().execute(delete(RankedValue.__table__).where(own))
    _insert(session, _scores(session, entrants), entrants)


def _insert(session: WriteSession, scores: Iterable[StoredScore], entrants: Mapping[str, Entrant]) -> None:
    rows = _rows(session, scores, entrants)
    if rows:
        session.connection().execute(_ADD, rows)
        _change_counts(session, [(row["provenance"], row["team_id"], 1) for row in rows if row["team_id"] is not None])


def _change_counts(session: WriteSession, changes: Iterable[tuple[str, str, int]]) -> None:
    pending: Counter[tuple[str, str]] = session.info.setdefault(_PENDING_COUNTS, Counter())
    for provenance, team_id, change in changes:
        pending[provenance, team_id] += change


def _of_scores_of(submissions: Iterable[str]) -> ColumnElement[bool]:
    """Whether a ranked value is one of these submissions.

    A subquery, because PostgreSQL takes at most 65535 parameters: a submission may have more than a hundred scores.
    """
    return RankedValue.score_id.in_(select(Score.id).where(Score.submission_id.in_(list(submissions))))


def _scores(session: ReadSession, of: Iterable[str]) -> list[StoredScore]:
    query = select(*_SCORE_COLUMNS).where(Score.submission_id.in_(list(of))).order_by(Score.id)
    return [StoredScore(*row) for row in session.connection().execute(query)]


def _entrants(session: ReadSession, ids: Sequence[str]) -> dict[str, Entrant]:
    query = select(Submission.id, *_ENTRANT_COLUMNS).where(Submission.id.in_(ids))
    return {row[0]: Entrant(*row[1:]) for row in session.connection().execute(query)}


def _rows(session: ReadSession, scores: Iterable[StoredScore], entrants: Mapping[str, Entrant]) -> list[RankedRow]:
    """The ranked values of these scores.

    A submission is one entry even if it has scores of several recipes that compute the same.
    """
    rows: list[RankedRow] = []
    entered: set[tuple[str, str]] = set()
    for score in scores:
        rules, entrant = _rules_of(session, score), entrants[score.submission_id]
        provenance = _provenance_of(score, rules, entrant)
        is_entry = entrant.status == "finished" and not entrant.baseline and not entrant.test
        is_entry = is_entry and (score.submission_id, provenance) not in entered
        entered.add((score.submission_id, provenance))
        for metric, direction in rules.directions.items():
            primary = metric == rules.primary
            if not primary and metric not in score.metrics:
                continue
            undefined, key = ranking_key(direction, score.metrics.get(metric, {}).get("value"))
            entry = (provenance, entrant.team_id, score.submission_id) if is_entry and primary else (None, None, None)
            rows.append(dict(zip(_ROW_COLUMNS, (score.id, metric, undefined, key, *entry), strict=True)))
    return rows


def _provenance_of(score: StoredScore, rules: RankingRules, entrant: Entrant) -> str:
    versions = (score.gold_id, rules.fingerprint, score.scorer_version)
    return provenance_key(*versions, score.split, rules.primary, unofficial=entrant.unofficial)


def _rules_of(session: ReadSession, score: StoredScore) -> RankingRules:
    key = (score.gold_id, score.recipe_id)
    rules = _rules.get(key)
    if rules is None:
        columns = (Recipe.body, Recipe.fingerprint, GoldVersion.task, GoldVersion.positive_label)
        query = select(*columns).join(GoldVersion, GoldVersion.id == score.gold_id)
        query = query.where(Recipe.id == score.recipe_id)
        row = session.connection().execute(query).one()
        recipe = parse_recipe(row.body, cast("TaskKind", row.task), positive_label=row.positive_label, stored=True)
        rules = RankingRules(
            row.fingerprint, recipe.primary, {call.text: call.metric.direction for call in recipe.metrics}
        )
        if len(_rules) >= _MAX_CACHED_RECIPES:
            _rules.clear()
        _rules[key] = rules
    return rules


@event.listens_for(WriteSession, "before_commit")
def _store_counts(session: WriteSession) -> None:
    """Store the changed counts at the very end and in one order, so that no two transactions can deadlock by them."""
    session.flush()
    pending = session.info.pop(_PENDING_COUNTS, {})
    changes = [
        {"provenance": provenance, "team_id": team_id, "entries": change}
        for (provenance, team_id), change in sorted(pending.items())
        if change
    ]
    if changes:
        session.connection().execute(_ADD_TO_COUNT, changes)


@event.listens_for(WriteSession, "after_rollback")
def _forget_counts(session: WriteSession) -> None:
    session.info.pop(_PENDING_COUNTS, None)


# ---- scores and submissions that are stored as objects of the session


@event.listens_for(WriteSession, "after_flush")
def _after_flush(session: WriteSession, _context: Any) -> None:
    """Follow what is written as objects: scores of rescoring, and changes that decide which scores are entries."""
    scored = {row.submission_id for row in session.new if isinstance(row, Score)}
    changed = {row.id for row in session.dirty if isinstance(row, Submission) and _changes_entries(row)}
    if scored:  # another transaction may store other scores of them; those that changed are locked by their UPDATE
        lock_submissions(session, sorted(scored))
    if scored or changed:
        rewrite(session, scored | changed)


def _changes_entries(submission: Submission) -> bool:
    """Whether this change makes scores entries, or ends that. A submission that is not finished has no entry."""
    history = {name: inspect(submission).attrs[name].history for name in Entrant._fields}
    if not any(each.has_changes() for each in history.values()):
        return False
    status = history["status"]
    # A value that was never loaded leaves no history: then the submission may have been finished.
    return submission.status == "finished" or (status.has_changes() and "finished" in (status.deleted or ("finished",)))
