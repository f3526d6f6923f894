"""What organizers enter: baselines under names of their own, and files on behalf of teams."""

import httpx
import pytest
from sqlalchemy import select

from app.store.tables import ScoreTask
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    board_ranks,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
    write_session_of,
)
from tests.live_service import Caller

NAME = "Majority class"


def found(who: Caller, slug: str, name: str) -> httpx.Response:
    return who.post(f"/challenges/{slug}/registrations", json={"team": name})


def own_entries(who: Caller, slug: str) -> list[str]:
    return [each["id"] for each in who.get(f"/challenges/{slug}/phases/main/submissions").json()["items"]]


@pytest.mark.parametrize("first", ["team", "baseline"])
def test_a_team_gets_nothing_of_a_baseline_of_its_name(people: People, first: str) -> None:
    slug = create_challenge(people.admin, "baseline-name")
    if first == "team":
        people["Blue"].join(slug, NAME)
    entered = submit_for_teams(people.admin, slug, [(NAME, CORRECT_PREDICTIONS)], baseline="true")[0]
    if first == "baseline":
        people["Blue"].join(slug, NAME)
    blue = people["Blue"]
    for address in ("", "/predictions", "/report"):
        require_refused(blue.get(f"/submissions/{entered}{address}"), 404, "not_found")
    for verb in ("select", "unselect"):
        require_refused(blue.post(f"/submissions/{entered}/{verb}"), 404, "not_found")
    assert own_entries(blue, slug) == []
    own = require_finished(blue.submit(slug, predictions_with_hits(2)))["id"]
    assert own_entries(blue, slug) == [own]
    rows = people.visitor.board(slug).json()["rows"]
    assert sorted((row["baseline"], row["rank"], row["entries"]) for row in rows) == [(False, 1, 1), (True, None, 1)]
    assert len({row["team"]["id"] for row in rows}) == 2


def test_no_refusal_tells_that_there_is_a_baseline(people: People) -> None:
    with_one, without = create_challenge(people.admin, "told"), create_challenge(people.admin, "told")
    people.admin.patch(f"/challenges/{with_one}/phases/main", json={"leaderboard": "hidden"}).raise_for_status()
    submit_for_teams(people.admin, with_one, [(NAME, CORRECT_PREDICTIONS)], baseline="true")
    for name in (NAME, "MAJORITY CLASS"):
        answers = [found(people["Blue"], slug, name) for slug in (with_one, without)]
        assert answers[0].status_code == answers[1].status_code


def test_baselines_of_one_name_stand_together_and_may_be_called_anything(people: People) -> None:
    slug = create_challenge(people.admin, "baselines")
    people["Blue"].join(slug, "Blue")
    submit_for_teams(
        people.admin,
        slug,
        [
            ("Baselines", predictions_with_hits(1)),
            ("BASELINES", predictions_with_hits(3)),
            ("Blue", predictions_with_hits(2)),
        ],
        baseline="true",
    )
    teams = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    assert sorted((each["name"], each["baseline"]) for each in teams) == [
        ("Baselines", True),
        ("Blue", False),
        ("Blue", True),
    ]


def test_an_organizer_enters_a_baseline_under_a_name_and_founds_no_team(people: People) -> None:
    slug = create_challenge(people.admin, "baseline-own")
    olga = people["Olga"]
    body = {"email": olga.email, "role": "editor"}
    people.admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    require_refused(olga.submit(slug, CORRECT_PREDICTIONS, baseline="true"), 403, "not_registered")
    require_refused(olga.post(f"/challenges/{slug}/registrations", json={"team": "O"}), 403, "may_have_read_gold")
    mine = require_finished(olga.submit(slug, CORRECT_PREDICTIONS, baseline="true", team="Olgas"))
    assert board_ranks(people.visitor.board(slug)) == [(None, "Olgas")]
    assert olga.get(f"/submissions/{mine['id']}/predictions").status_code == 200


def test_what_several_organizers_enter_shares_one_lane_of_the_queue(people: People) -> None:
    slug = create_challenge(people.admin, "lanes")
    editor, blue = people["Olga"], people["Blue"].join(slug, "Blue")
    body = {"email": editor.email, "role": "editor"}
    people.admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    editor = people.with_scopes(editor, "read", "submit", "organize")
    entered = [
        submit_for_teams(people.admin, slug, [("Red", CORRECT_PREDICTIONS)])[0],
        submit_for_teams(editor, slug, [(NAME, CORRECT_PREDICTIONS)], baseline="true")[0],
        require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"],
    ]
    with write_session_of(people.live) as session:
        query = select(ScoreTask.submission_id, ScoreTask.lane).where(ScoreTask.submission_id.in_(entered))
        lanes = {row.submission_id: row.lane for row in session.execute(query)}
    of_admin, of_editor, of_blue = (lanes[submission] for submission in entered)
    assert of_admin == of_editor != of_blue


def test_a_file_that_an_organizer_sends_for_a_team_counts_and_stays_with_the_organizers(people: People) -> None:
    reports = ["scores", "per_class", "confusion", "curves"]
    slug = create_challenge(people.admin, "behalf", phases=[{"name": "main", "reports": reports}])
    blue = people["Blue"].join(slug, "Blue")
    entered = submit_for_teams(people.admin, slug, [("Blue", CORRECT_PREDICTIONS)])[0]
    assert own_entries(blue, slug) == [entered]
    seen = blue.get(f"/submissions/{entered}").json()
    assert (seen["status"], seen["scores"]["accuracy"]["value"]) == ("finished", 1.0)
    assert (seen["sha256"], seen["size"]) == (None, None)
    require_refused(blue.get(f"/submissions/{entered}/predictions"), 403, "forbidden")
    for asked in ({}, {"part": "confusion"}, {"format": "csv"}):
        require_refused(blue.get(f"/submissions/{entered}/report", params=asked), 403, "forbidden")
    assert people.admin.get(f"/submissions/{entered}/report").json()["confusion"]
    assert people.admin.get(f"/submissions/{entered}/predictions").json() == CORRECT_PREDICTIONS
    assert people.admin.get(f"/submissions/{entered}").json()["size"] is not None
    assert board_ranks(people.visitor.board(slug)) == [(1, "Blue")]
    assert blue.post(f"/submissions/{entered}/select").json()["sha256"] is None
    own = require_finished(blue.submit(slug, predictions_with_hits(2)))
    for address in ("predictions", "report"):
        assert blue.get(f"/submissions/{own['id']}/{address}").status_code == 200


def test_what_is_wrong_with_a_file_of_an_organizer_is_told_to_organizers(people: People) -> None:
    slug = create_challenge(people.admin, "behalf-wrong")
    blue = people["Blue"].join(slug, "Blue")
    sent = people.admin.submit(slug, {"t1": "a", "secret": "b"}, team="Blue").json()
    assert sent["status"] == "rejected"
    assert "secret" in str(sent["problems"])
    seen = blue.get(f"/submissions/{sent['id']}").json()
    listed = blue.get(f"/challenges/{slug}/phases/main/submissions").json()["items"][0]
    for body in (seen, listed):
        assert (body["status"], body["problems"], body["total"]) == ("rejected", [], {})
        assert "organizer" in body["notes"][0]
        assert "secret" not in str(body)
