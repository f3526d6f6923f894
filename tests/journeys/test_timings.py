"""How long scoring took is for organizers: it depends on the gold, and on labels that no score tells of."""

import re
from datetime import datetime
from typing import Any

from tests.journeys.support import CORRECT_PREDICTIONS, MAIN_PHASE_PATH, People, create_challenge, require_finished

FINE = re.compile(r":\d\d\.\d0*[1-9]")  # more than tenths of a second


def moments(value: Any) -> set[str]:
    """Every text in a reply that is a moment of this service."""
    if isinstance(value, dict):
        return set().union(*map(moments, value.values()))
    if isinstance(value, list):
        return set().union(*map(moments, value))
    return {value} if isinstance(value, str) and value.endswith("Z") and value[:2] == "20" else set()


def require_in_order(times: dict[str, Any], *, exact: bool = False) -> None:
    """Compare as times: as texts, a whole second sorts after its own tenths."""
    submitted, started, finished = (
        datetime.fromisoformat(times[name]) for name in ("submitted_at", "started_at", "finished_at")
    )
    assert submitted < started < finished if exact else submitted <= started <= finished


def test_no_reply_to_participants_tells_to_less_than_100_ms_when_scoring_began_or_ended(people: People) -> None:
    slug = create_challenge(people.admin, "timings")
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    path, own = f"{MAIN_PHASE_PATH.format(slug)}/submissions", f"/submissions/{sent['id']}"
    select, repeated = (blue.post(f"{own}/{verb}").json() for verb in ("select", "unselect"))
    for seen in (sent, blue.get(own).json(), blue.get(path).json()["items"][0], select, repeated):
        times = seen["timings"]
        require_in_order(times)
        assert not FINE.search(times["started_at"] + times["finished_at"])
        for seconds in (times["seconds_queued"], times["seconds_scoring"]):
            assert seconds == round(seconds, 1)
    known = people.admin.get(own).json()["timings"]
    ends = {known["started_at"], known["finished_at"]}
    assert None not in ends
    replies = [who.board(slug) for who in (people.visitor, blue)]
    replies += [
        blue.get(address)
        for address in (f"{own}/report", f"/challenges/{slug}", f"{MAIN_PHASE_PATH.format(slug)}/quota")
    ]
    for reply in replies:
        assert reply.status_code == 200, reply.text
        assert not moments(reply.json()) & ends
    assert replies[0].json()["as_of"] == known["submitted_at"]
    (own_data,) = (row for row in blue.get("/me/data").json()["submissions"] if row["id"] == sent["id"])
    ledger = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["ledger"]
    assert [entry["kind"] for entry in ledger] == ["charge", "reserve"]
    assert not FINE.search(own_data["finished_at"] + ledger[0]["created_at"])


def test_organizers_read_the_times_of_each_submission(people: People) -> None:
    slug = create_challenge(people.admin, "timings-organizer")
    sent = require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))
    listed = people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"][0]
    seen = people.admin.get(f"/submissions/{sent['id']}").json()
    for body in (listed, seen):
        require_in_order(body["timings"], exact=True)
        assert body["timings"]["seconds_scoring"] > 0
