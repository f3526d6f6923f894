"""The classes of a phase: where they come from, who reads them, and what names gold by its content."""

from datetime import timedelta

from app.actions.access import VISITOR, Caller
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.phase_rules import rule_faults
from app.actions.challenges.plan_phases import visible_phase_classes
from app.actions.challenges.upload_gold import store_gold
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.files import StoredFile
from app.formats import FileKind
from app.queue.local import LocalQueue
from app.scoring_processes.messages import GoldSummary
from app.store.queries import label_rules
from app.store.queries.label_rules import LabelRules
from app.store.session import Database
from app.store.tables import GoldVersion, Phase
from app.store.types import utcnow
from tests.each_case import for_each
from tests.store.sample_rows import add_row, fill_tables, gold_version


def test_gold_inspected_before_the_phase_declared_classes_takes_them_over(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        window = {"position": 1, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
        second = add_row(session, Phase(challenge_id=ids.challenge, slug="second", name="second", **window))
        session.expire_all()
        caller = Caller(user_id=ids.user, scopes=frozenset({"organize"}))
        found = {"instances": 2, "classes": ["cat", "dog"], "has_splits": False, "notes": []}
        found |= {"public_instances": None, "weighted": False, "void_instances": 0, "longest_id": 2}
        summary = GoldSummary(**found)  # type: ignore[arg-type]
        phase = session.get_one(Phase, second)
        rules = label_rules.of_phase(phase)
        phase.classes = ["ant", "cat", "dog"]  # while this file was being read
        stored = StoredFile("uploads/2", "1" * 64, 1)
        kind = FileKind(format="json", encoding="")
        row = store_gold(session, caller, "pets", "second", stored=stored, kind=kind, summary=summary, rules=rules)
        active, remarks = activate_gold(
            session, caller, "pets", "second", row.version, queue=LocalQueue(lambda _count, _woken: [], 1)
        )
        assert (active.phase_id, active.classes) == (second, ["ant", "cat", "dog"])
        assert remarks == ["The classes differ from those of the phase 'main': 'ant' only here."]
        assert session.get_one(GoldVersion, ids.gold).classes == ["cat", "dog"]


@for_each(
    "rules, pointers",
    [
        (LabelRules("multiclass", None, ["a", "b"]), []),
        (LabelRules("multilabel", None, ["a"]), []),
        (LabelRules("binary", "a", None), []),
        (LabelRules("binary", None, None), ["/positive_label"]),
        (LabelRules("binary", "", ["a", "b"]), ["/positive_label"]),
        (LabelRules("multilabel", "a", ["a", "b"]), ["/positive_label"]),
        (LabelRules("multiclass", None, ["a", "b", "a"]), ["/classes"]),
        (LabelRules("multilabel", None, []), ["/classes"]),
        (LabelRules("multiclass", None, ["a"]), ["/classes"]),
        (LabelRules("binary", "a", ["a", "b", "c"]), ["/classes"]),
        (LabelRules("binary", "c", ["a", "b"]), ["/positive_label"]),
        (LabelRules("binary", "c", ["a"]), ["/classes", "/positive_label"]),
    ],
)
def test_label_rules_that_contradict_each_other_are_told_each_once(rules: LabelRules, pointers: list[str]) -> None:
    assert [fault["pointer"] for fault in rule_faults(rules)] == pointers


def test_the_name_of_a_draft_follows_its_content_and_that_of_other_gold_is_fixed(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        draft = gold_version(ids.phase, created_by=ids.user, version=2, status="draft")
        add_row(session, draft)
        names = [gold_reference(draft).name]
        draft.classes = ["cat", "dog", "eel"]
        names.append(gold_reference(draft).name)
        draft.accessories = {"class_weights": {"cat": 2.0}}
        names.append(gold_reference(draft).name)
        assert len(set(names)) == 3
        active = session.get_one(GoldVersion, ids.gold)
        name = gold_reference(active).name
        assert name == names[0]  # the same content
        active.classes = ["cat", "dog", "eel"]  # which no request can do any more
        assert gold_reference(active).name == name


def test_classes_of_a_phase_are_hidden_until_it_opens_and_those_of_the_challenge_never(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        phase, version = session.get_one(Phase, ids.phase), session.get_one(GoldVersion, ids.gold)
        phase.opens_at = utcnow() + timedelta(days=1)
        session.flush()
        assert visible_phase_classes(session, VISITOR, phase) is None
        version.classes_declared = True  # by the phase, or by the organizer who uploaded the gold
        assert visible_phase_classes(session, VISITOR, phase) is None
        version.classes_declared, phase.opens_at = False, utcnow()
        session.flush()
        assert visible_phase_classes(session, VISITOR, phase) == ["cat", "dog"]
        version.status, phase.opens_at = "draft", utcnow() + timedelta(days=1)
        phase.challenge.classes = ["ant", "cat", "dog"]
        session.flush()
        assert visible_phase_classes(session, VISITOR, phase) == ["ant", "cat", "dog"]
