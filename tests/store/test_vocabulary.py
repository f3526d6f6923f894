"""Two first golds that cross: whichever comes into force first fixes the classes of the challenge."""

from app.actions.access import Caller
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.upload_gold import store_gold
from app.files import StoredFile
from app.formats import FileKind
from app.scoring_processes.messages import GoldSummary
from app.store.session import Database
from app.store.tables import Challenge, GoldVersion, Phase
from app.store.types import utcnow
from tests.store.sample_rows import add_row, fill_tables


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
