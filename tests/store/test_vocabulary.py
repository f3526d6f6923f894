"""The classes of a challenge: which gold fixes them, who reads them, and what names gold by its content."""

from datetime import timedelta

from app.actions.access import VISITOR, Caller
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.plan_phases import visible_challenge_classes, visible_phase_classes
from app.actions.challenges.upload_gold import store_gold
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.files import StoredFile
from app.formats import FileKind
from app.scoring_processes.messages import GoldSummary
from app.store.session import Database
from app.store.tables import Challenge, GoldVersion, Phase
from app.store.types import utcnow
from tests.store.sample_rows import add_row, fill_tables, gold_version


def test_gold_inspected_before_other_gold_fixed_the_classes_takes_them_over(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        challenge = session.get_one(Challenge, ids.challenge)
        window = {"position": 1, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
        second = add_row(session, Phase(challenge_id=ids.challenge, slug="second", name="second", **window))
        session.expire_all()
        caller = Caller(user_id=ids.user, scopes=frozenset({"organize"}))
        found = {"instances": 2, "classes": ["cat", "dog"], "has_splits": False, "notes": []}
        found |= {"public_instances": None, "weighted": False, "void_instances": 0, "longest_id": 2}
        summary = GoldSummary(**found)  # type: ignore[arg-type]
        challenge.classes = ["ant", "cat", "dog"]  # other gold came into force while this file was being read
        stored = StoredFile("uploads/2", "1" * 64, 1)
        kind = FileKind(format="json", encoding="")
        row = store_gold(session, caller, "pets", "second", stored=stored, kind=kind, summary=summary, declared=False)
        active, remarks = activate_gold(session, caller, "pets", "second", row.version)
        assert (active.phase_id, active.classes, remarks) == (second, ["ant", "cat", "dog"], [])
        assert session.get_one(GoldVersion, ids.gold).classes == ["cat", "dog"]


def test_the_name_of_a_draft_follows_its_content_and_that_of_other_gold_is_fixed(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        challenge = session.get_one(Challenge, ids.challenge)
        draft = gold_version(ids.phase, created_by=ids.user)
        draft.version, draft.status = 2, "draft"
        add_row(session, draft)
        names = [gold_reference(draft, challenge).name]
        draft.classes = ["cat", "dog", "eel"]
        names.append(gold_reference(draft, challenge).name)
        draft.accessories = {"class_weights": {"cat": 2.0}}
        names.append(gold_reference(draft, challenge).name)
        assert len(set(names)) == 3
        active = session.get_one(GoldVersion, ids.gold)
        active.activated_at = utcnow()
        name = gold_reference(active, challenge).name
        assert name == names[0]  # the same content
        active.classes = ["cat", "dog", "eel"]  # which no request can do any more
        assert gold_reference(active, challenge).name == name


def test_gold_that_was_never_active_hides_no_declared_classes(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        challenge = session.get_one(Challenge, ids.challenge)
        phase = session.get_one(Phase, ids.phase)
        phase.opens_at = utcnow() + timedelta(days=1)
        challenge.classes = ["ant", "cat", "dog"]
        version = session.get_one(GoldVersion, ids.gold)
        version.status, version.classes_declared, version.activated_at = "draft", False, None
        session.flush()
        for shown in (
            visible_challenge_classes(session, VISITOR, challenge),
            visible_phase_classes(session, VISITOR, phase),
        ):
            assert shown == ["ant", "cat", "dog"]
        version.status, version.activated_at = "active", utcnow()
        session.flush()
        assert visible_challenge_classes(session, VISITOR, challenge) is None
        assert visible_phase_classes(session, VISITOR, phase) is None


def test_a_draft_of_an_open_phase_shows_no_classes_that_other_gold_named(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        challenge = session.get_one(Challenge, ids.challenge)
        window = {"position": 1, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
        second = add_row(session, Phase(challenge_id=ids.challenge, slug="second", name="second", **window))
        session.get_one(Phase, ids.phase).opens_at = utcnow() + timedelta(days=1)
        challenge.classes = ["cat", "dog"]
        session.get_one(GoldVersion, ids.gold).activated_at = utcnow()
        draft = gold_version(second, created_by=ids.user)
        draft.status = "draft"
        add_row(session, draft)
        assert visible_challenge_classes(session, VISITOR, challenge) is None
        draft.status, draft.activated_at = "active", utcnow()
        session.flush()
        assert visible_challenge_classes(session, VISITOR, challenge) == ["cat", "dog"]
