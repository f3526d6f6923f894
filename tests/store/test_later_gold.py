"""Later versions of the gold in the database: which may follow the active one, and what ends with a change of a draft."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from app.actions.access import Caller
from app.actions.challenges.upload_gold import FollowedGold, store_gold
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.actions.versions.require_comparable import require_comparable
from app.errors import InvalidGold
from app.files import StoredFile
from app.formats import FileKind
from app.scoring import SCORER_VERSION
from app.scoring_processes.messages import GoldSummary
from app.store.queries import draft_previews, label_rules, ranked_values
from app.store.session import Database
from app.store.tables import BoardPreview, GoldVersion, Phase, Score, ScoreTask, Submission
from app.store.types import utcnow
from tests.store.sample_rows import add_row, fill_tables, gold_version, task

SAME: dict[str, Any] = {"ids_hash": "1" * 64, "version": 2, "status": "draft"}


def difference(base: int, moved: int = 0) -> dict[str, Any]:
    return {"base": base, "counts": {"moved": moved}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, ""),
        ({"ids_hash": "2" * 64}, "other instances"),
        ({"ids_hash": None}, "other instances"),
        ({"classes": ["dog", "cat"]}, "other classes"),
        ({"has_splits": True}, "has splits"),
        ({"task": "binary", "positive_label": "cat"}, "another task"),
    ],
)
def test_a_version_that_cannot_replace_the_active_one_is_to_be_uploaded_again(
    db: Database, values: dict[str, Any], said: str
) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        active = session.get_one(GoldVersion, ids.gold)
        active.ids_hash = SAME["ids_hash"]
        version = gold_version(ids.phase, **(SAME | values))
        session.add(version)
        session.flush()
        phase = session.get_one(Phase, ids.phase)
        if not said:
            require_comparable(session, phase, active, version)
            require_comparable(session, phase, version, active)
            return
        with pytest.raises(InvalidGold, match=said) as refused:
            require_comparable(session, phase, active, version)
        assert "Upload the file again" in str(refused.value.advice)


def test_a_later_version_follows_one_whose_ids_an_older_program_did_not_name(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        active = session.get_one(GoldVersion, ids.gold)
        assert active.ids_hash is None
        found: dict[str, Any] = {"instances": 2, "classes": ["cat", "dog"], "has_splits": False, "notes": []}
        found |= {"public_instances": None, "weighted": False, "void_instances": 0, "longest_id": 2}
        summary = GoldSummary(**found, ids_hash=SAME["ids_hash"], difference={"counts": {}, "changes": []})
        version = store_gold(
            session,
            Caller(user_id=ids.user, scopes=frozenset({"organize"})),
            "pets",
            "main",
            stored=StoredFile("uploads/2", "1" * 64, 1),
            kind=FileKind(format="json", encoding=""),
            summary=summary,
            rules=label_rules.of_gold(active),
            followed=FollowedGold(active, "name", keeps_splits=False),
        )
        require_comparable(session, session.get_one(Phase, ids.phase), active, version)


@pytest.mark.parametrize(
    ("own", "of_active", "may"),
    [
        (difference(1), None, True),
        (difference(1, moved=2), None, False),
        (None, difference(2), True),
        (None, difference(2, moved=1), False),
        (difference(7), difference(7), True),
        (difference(7, moved=1), difference(7), False),
    ],
)
def test_no_instance_leaves_its_split_after_the_release(
    db: Database, own: dict[str, Any] | None, of_active: dict[str, Any] | None, *, may: bool
) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        active, phase = session.get_one(GoldVersion, ids.gold), session.get_one(Phase, ids.phase)
        active.ids_hash, active.difference = SAME["ids_hash"], of_active
        version = gold_version(ids.phase, **SAME, difference=own)
        session.add(version)
        session.flush()
        require_comparable(session, phase, active, version)
        phase.released_at = utcnow() - timedelta(hours=1)
        if may:
            require_comparable(session, phase, active, version)
        else:
            with pytest.raises(InvalidGold, match="other splits"):
                require_comparable(session, phase, active, version)


def test_a_changed_draft_loses_the_scores_of_its_preview_and_nothing_else(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        draft = add_row(session, gold_version(ids.phase, **SAME))
        session.get_one(Submission, ids.submission).status = "finished"
        session.flush()
        of = {"submission_id": ids.submission, "recipe_id": ids.recipe, "scorer_version": SCORER_VERSION}
        add_row(session, task(ids.submission, draft, ids.recipe))
        add_row(session, Score(split="all", metrics={"accuracy": {"value": 0.5}}, gold_id=draft, **of))
        versions = {"to_gold_id": draft, "to_recipe_id": ids.recipe, "to_scorer_version": SCORER_VERSION}
        add_row(session, BoardPreview(phase_id=ids.phase, status="scoring", **versions))
    with db.write() as session:
        draft_previews.delete_of_gold(session, draft)
    with db.read() as session:
        for rows, column in ((ScoreTask, ScoreTask.gold_id), (Score, Score.gold_id)):
            assert session.scalars(select(column)).all() == [ids.gold], rows
        own = select(func.count()).where(BoardPreview.to_gold_id == draft)
        assert session.scalar(own) == 0
        assert ranked_values.outdated_submissions(session, [ids.submission]) == []
        assert ranked_values.wrong_counts(session) == []


def test_an_activation_that_was_cancelled_leaves_no_old_gold_behind(db: Database) -> None:
    """Scoring processes know gold by the hash of its content, which may change until the gold was active."""
    with db.write() as session:
        ids = fill_tables(session)
        version = gold_version(ids.phase, **(SAME | {"status": "activating"}), accessories={})
        session.add(version)
        session.flush()
        before = gold_reference(version).name
        version.accessories = {"class_weights": {"cat": 1.0, "dog": 3.0}}
        session.flush()
        assert gold_reference(version).name != before
