"""What the pages of a phase under a Ladder say to its team, to visitors and to organizers."""

from collections.abc import Callable

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.desk import TRUTH, organizer, person
from tests.web.reader import Reader

RECIPE = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro"], "ladder": {"step": 0.3}}
PHASE = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": ["scores", "per_class"]}


def test_everybody_is_told_what_limits_feedback_and_organizers_what_was_spent(
    app: ServedApp, new_reader: Callable[[], Reader]
) -> None:
    open_challenge(app.admin(), "steps", GOLD, recipe=RECIPE, phases=[PHASE])
    blue = person(app, "Blue").join("steps", "Blue")
    halves = [TRUTH | dict.fromkeys(keys, "cat") for keys in (["t0", "t3"], [])]
    sent = [blue.submit("steps", labels).json()["id"] for labels in (halves[0], halves[1])]
    member, visitor, owner = new_reader(), new_reader(), new_reader()
    member.log_in(blue.email)
    limits = "This phase limits feedback by the Ladder"
    first, second = (member.get(f"/submissions/{submission}").text for submission in sent)
    assert "Best so far" in first
    assert "This file is the team's best so far." in first
    assert "0.6" in first
    assert "0.666667" not in first
    assert "f1_macro" not in first
    assert "This file is the team's best so far." in second  # 1 is more than 0.3 better than 0.6
    score = member.get(f"/submissions/{sent[0]}/scores/accuracy").text
    assert "only organizers see counts" in score
    for reader in (member, visitor):
        for path in ("/challenges/steps", "/challenges/steps/leaderboard"):
            assert limits in reader.get(path).text
    organizer(app, owner, "owner", "steps")
    desk = owner.get("/challenges/steps/organize/phases/main").text
    assert "Feedback spent" in desk
    assert "Theorem 3.1 of Blum and Hardt" in desk
    assert "0.66666" in owner.get(f"/submissions/{sent[0]}").text
    assert "Feedback spent" not in owner.get("/challenges/digits/organize/phases/main").text
