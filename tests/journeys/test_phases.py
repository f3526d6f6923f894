"""Phases: windows, the one that is open now, and what a challenge without gold can do."""

from typing import Any

import pytest

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    SUBMIT_MODES,
    People,
    board_values,
    create_challenge,
    create_without_gold,
    make_recipe,
    new_slug,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)

PAST = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
FUTURE = {"opens_at": "2090-01-01T00:00:00+01:00"}
OPEN = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2090-01-01T00:00:00Z"}


@pytest.mark.parametrize("window", [PAST, FUTURE])
def test_a_phase_that_is_not_open_takes_no_submission(people: People, window: dict[str, Any]) -> None:
    slug = create_challenge(people.admin, "window", phases=[{"name": "main", **window}])
    blue = people["Blue"].join(slug, "Blue")
    assert people.visitor.get(MAIN_PHASE_PATH.format(slug)).json()["open"] is False
    for query in SUBMIT_MODES:
        body = require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **query), 409, "no_open_phase")
        assert body["opens_at"].startswith(("2020-01-01", "2089-12-31"))
    submit_for_teams(people.admin, slug, [("Late", CORRECT_PREDICTIONS)])  # organizers may


def test_the_window_is_shown_in_utc_as_it_was_given(people: People) -> None:
    slug = create_challenge(people.admin, "utc", phases=[{"name": "main", **FUTURE}])
    phase = people.visitor.get(MAIN_PHASE_PATH.format(slug)).json()
    assert (phase["opens_at"], phase["closes_at"]) == ("2089-12-31T23:00:00Z", None)
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json=OPEN).json()["open"] is True
    assert require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))


def test_a_date_without_a_time_and_a_close_before_the_opening_are_refused(people: People) -> None:
    slug = create_challenge(people.admin, "zones")
    bodies = [
        ({"opens_at": "2030-01-01"}, "/opens_at"),
        ({"closes_at": "2010-01-01T00:00:00Z"}, "/closes_at"),
        ({"opens_at": "tomorrow"}, "/opens_at"),
        ({"quota": {"per_day": 0}}, "/quota/per_day"),
        ({"quota": {"per_hour": 3}}, "/quota/per_hour"),
        ({"leaderboard": "secret"}, "/leaderboard"),
    ]
    for body, pointer in bodies:
        problem = require_refused(people.admin.patch(MAIN_PHASE_PATH.format(slug), json=body), 422, "invalid_request")
        assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


def test_the_short_address_finds_the_one_open_phase(people: People) -> None:
    phases = [{"name": "Past", **PAST}, {"name": "Now", **OPEN}, {"name": "Future", **FUTURE}]
    slug = create_challenge(people.admin, "short", phases=phases)
    blue = people["Blue"].join(slug, "Blue")
    short = f"/challenges/{slug}/submissions"
    answer = blue.post(short, json=CORRECT_PREDICTIONS, params={"method": "m"}, headers={"Prefer": "wait=60"})
    assert require_finished(answer)["phase"] == "now"
    assert blue.post(short, json=CORRECT_PREDICTIONS, params={"dry_run": "true"}).json()["valid"] is True
    assert people.admin.patch(f"/challenges/{slug}/phases/future", json={"opens_at": None}).json()["open"] is True
    body = require_refused(blue.post(short, json=CORRECT_PREDICTIONS), 409, "several_open_phases")
    assert body["phases"] == ["now", "future"]
    for phase in ("now", "future"):
        assert people.admin.patch(f"/challenges/{slug}/phases/{phase}", json=PAST).status_code == 200
    require_refused(blue.post(short, json=CORRECT_PREDICTIONS), 409, "no_open_phase")


def test_without_gold_nothing_can_be_submitted_and_no_template_made(people: People) -> None:
    slug = new_slug("no-gold")
    made = people.admin.post(
        "/challenges", json={"slug": slug, "title": "x", "task": "multiclass", "recipe": make_recipe("accuracy")}
    )
    assert made.status_code == 201
    blue = people["Blue"].join(slug, "Blue")
    for query in SUBMIT_MODES:
        require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **query), 409, "no_gold")
    require_refused(people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template"), 409, "no_gold")


def test_phases_are_addressed_by_the_slug_of_their_name(people: People) -> None:
    slug = create_without_gold(people.admin, "named", phases=[{"name": "Größe & Final Test"}])
    assert people.visitor.get(f"/challenges/{slug}/phases/groe-final-test").json()["name"] == "Größe & Final Test"
    again = people.admin.post(f"/challenges/{slug}/phases", json={"name": "GROE final  test"})
    require_refused(again, 409, "phase_name_taken")
    require_refused(people.admin.post(f"/challenges/{slug}/phases", json={"name": "!!!"}), 422, "invalid_request")
    require_refused(people.visitor.get(f"/challenges/{slug}/phases/main"), 404, "not_found")


def test_a_challenge_has_at_most_100_phases_because_every_reading_of_it_shows_them(people: People) -> None:
    slug = new_slug("phases")
    body = {"slug": slug, "title": "Phases", "task": "multiclass", "recipe": make_recipe("accuracy")}
    phases = [{"name": f"phase {number}"} for number in range(101)]
    require_refused(people.admin.post("/challenges", json=body | {"phases": phases}), 422, "invalid_request")
    assert people.admin.post("/challenges", json=body | {"phases": phases[:100]}).status_code == 201
    path = f"/challenges/{slug}/phases"
    require_refused(people.admin.post(path, json=phases[100]), 409, "too_many_phases")
    assert people.admin.delete(f"{path}/phase-0").status_code == 204
    assert people.admin.post(path, json=phases[100]).status_code == 201


def test_the_time_zone_of_a_challenge_must_exist(people: People) -> None:
    slug = create_challenge(people.admin, "zone")
    for name in ("Mars/Olympus", "", "../../etc/passwd", "localtime", "posixrules", "Factory", "right/UTC"):
        problem = require_refused(
            people.admin.patch(f"/challenges/{slug}", json={"timezone": name}), 422, "invalid_request"
        )
        assert problem["errors"][0]["pointer"] == "/timezone"
    assert people.admin.patch(f"/challenges/{slug}", json={"timezone": "Asia/Tokyo"}).json()["timezone"] == "Asia/Tokyo"
    assert require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))


def test_a_draft_is_published_once(people: People) -> None:
    slug = create_challenge(people.admin, "draft", draft=True)
    require_refused(people["Blue"].get(f"/challenges/{slug}"), 404, "not_found")
    assert people.admin.patch(f"/challenges/{slug}", json={"draft": False}).json()["status"] == "published"
    assert people["Blue"].get(f"/challenges/{slug}").status_code == 200
    require_refused(people.admin.patch(f"/challenges/{slug}", json={"draft": True}), 422, "invalid_request")


def test_creation_warns_of_a_phase_without_quota(people: People) -> None:
    body = {"title": "x", "task": "multiclass", "recipe": make_recipe("accuracy"), "registration": "approval"}
    bare = people.admin.post("/challenges", json=body | {"slug": new_slug("warned")}).json()
    assert "quota" in bare["warnings"][0]
    limited = body | {"slug": new_slug("warned"), "phases": [{"name": "main", "quota": {"per_day": 3}}]}
    assert people.admin.post("/challenges", json=limited).json()["warnings"] == []


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        ({}, True),
        ({"registration": "approval"}, False),
        ({"registration": "invitation"}, False),
        ({"visibility": "private"}, False),
    ],
)
def test_creation_warns_that_quotas_bind_accounts(people: People, fields: dict[str, str], warned: bool) -> None:
    phase = {"name": "main", "quota": {"per_day": 3}}
    body = {"title": "x", "task": "multiclass", "recipe": make_recipe("accuracy"), "phases": [phase], **fields}
    warnings = people.admin.post("/challenges", json=body | {"slug": new_slug("accounts")}).json()["warnings"]
    assert ["approval" in warning for warning in warnings] == [True] * warned


def test_the_choice_of_submissions_ends_when_the_phase_closes(people: People) -> None:
    """A board shown after the close must not tell a team which of its entries to pick."""
    began = "2020-01-01T00:00:00Z"
    agreed = make_recipe("accuracy", selection="selected")
    slug = create_challenge(people.admin, "late-choice", recipe=agreed, phases=[{"name": "main", "opens_at": began}])
    blue = people["Blue"].join(slug, "Blue")
    first, second = (require_finished(blue.submit(slug, predictions_with_hits(count)))["id"] for count in (1, 3))
    assert blue.post(f"/submissions/{first}/select").status_code == 200
    closed = people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"closes_at": "2020-01-02T00:00:00Z"})
    assert closed.status_code == 200, closed.text
    require_refused(blue.post(f"/submissions/{second}/select"), 409, "phase_closed")
    require_refused(blue.post(f"/submissions/{first}/unselect"), 409, "phase_closed")
    assert board_values(people.visitor.board(slug), "accuracy") == [0.25]
    override = {"reason": "Their choice came before the close, by e-mail."}
    assert people.admin.post(f"/submissions/{second}/select", json=override).status_code == 200
    assert board_values(people.visitor.board(slug), "accuracy") == [0.75]
