"""Organizers try their challenge with test entries, which nobody else ever sees."""

from pathlib import Path

from sqlalchemy import func, select

from app.store.tables import QuotaEntry, Score, ScoreTask, Submission
from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.settle import settle

FUTURE = [{"name": "main", "opens_at": "2090-01-01T00:00:00Z", "quota": {"total": 1}}]


def test_organizers_try_a_phase_before_it_opens_and_leave_no_trace(people: People) -> None:
    slug = create_challenge(people.admin, "trial", phases=FUTURE)
    phase = MAIN_PHASE_PATH.format(slug)
    blue = people["Blue"].join(slug, "Blue")
    viewer = people["Eve"]
    added = people.admin.post(f"/challenges/{slug}/organizers", json={"email": viewer.email, "role": "viewer"})
    assert added.status_code == 201
    settle(people.live)
    before = {path: blue.get(path).content for path in (phase, f"{phase}/leaderboard", f"{phase}/submissions")}
    entry = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, test=True))
    assert (entry["test"], entry["baseline"], entry["on_behalf"], entry["scores"]["accuracy"]["value"]) == (
        *(True, False, False),
        1.0,
    )
    assert require_finished(people.admin.submit(slug, predictions_with_hits(1), test=True))["team"] == entry["team"]
    for path in ("", "/report", "/predictions"):
        missing = blue.get(f"/submissions/{'0' * 32}{path}")
        hidden = blue.get(f"/submissions/{entry['id']}{path}")
        assert (hidden.status_code, hidden.content) == (404, missing.content)
        assert viewer.get(f"/submissions/{entry['id']}{path}").status_code == 200
    settle(people.live)
    assert {path: blue.get(path).content for path in before} == before
    assert people.admin.board(slug).json()["rows"] == []
    assert len(viewer.get(f"{phase}/submissions").json()["items"]) == 2
    teams = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    assert [team["name"] for team in teams] == ["Blue"]
    hidden_team = f"/challenges/{slug}/teams/{entry['team']['id']}"
    require_refused(people.admin.patch(hidden_team, json={"name": "Shown"}), 404, "not_found")
    for verb in ("select", "withdraw", "disqualify"):
        refused = people.admin.post(f"/submissions/{entry['id']}/{verb}", json={"reason": "A try."})
        assert refused.status_code == 409, refused.text
    with write_session_of(people.live) as session:
        charged = select(func.count()).where(QuotaEntry.submission_id == entry["id"])
        assert session.scalar(charged) == 0


def test_only_test_entries_can_be_deleted_and_only_by_editors(people: People) -> None:
    slug = create_challenge(people.admin, "delete")
    blue, viewer = people["Blue"].join(slug, "Blue"), people["Eve"]
    people.admin.post(f"/challenges/{slug}/organizers", json={"email": viewer.email, "role": "viewer"})
    entry = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, test=True))["id"]
    real = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    require_refused(blue.delete(f"/submissions/{entry}"), 404, "not_found")
    require_refused(viewer.delete(f"/submissions/{entry}"), 403, "forbidden")
    require_refused(blue.delete(f"/submissions/{real}"), 403, "forbidden")
    require_refused(people.admin.delete(f"/submissions/{real}"), 409, "not_a_test_entry")
    assert people.admin.delete(f"/submissions/{entry}").status_code == 204
    require_refused(people.admin.get(f"/submissions/{entry}"), 404, "not_found")
    require_refused(people.admin.delete(f"/submissions/{entry}"), 404, "not_found")
    with write_session_of(people.live) as session:
        for table in (Score, ScoreTask):
            rows = session.scalars(select(func.count()).where(table.submission_id == entry)).one()
            assert rows == 0
        assert session.get(Submission, real) is not None


def test_a_former_organizer_who_was_registered_before_reads_no_test_entries(people: People) -> None:
    slug = create_challenge(people.admin, "former-tester")
    ada, path = people["Ada"], f"/challenges/{slug}/registrations"
    registration = ada.post(path, json={"team": "Ada"}).json()
    assert ada.delete(f"{path}/{registration['id']}").status_code == 204
    role = {"email": ada.email, "role": "editor"}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=role).status_code == 201
    entry = require_finished(ada.submit(slug, CORRECT_PREDICTIONS, test=True))
    assert people.admin.delete(f"/challenges/{slug}/organizers", params={"email": ada.email}).status_code == 204
    for part in ("", "/report", "/predictions", "/events"):
        require_refused(ada.get(f"/submissions/{entry['id']}{part}"), 404, "not_found")
    (own_data,) = ada.get("/me/data").json()["submissions"][-1:]
    assert (own_data["id"], own_data["scores"]) == (entry["id"], {})


def test_participants_cannot_send_test_entries_and_tests_belong_to_no_team(people: People) -> None:
    slug = create_challenge(people.admin, "rights")
    blue = people["Blue"].join(slug, "Blue")
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS, test=True), 403, "forbidden")
    for other in ({"team": "Blue"}, {"baseline": True}):
        require_refused(people.admin.submit(slug, CORRECT_PREDICTIONS, test=True, **other), 400, "bad_request")


def test_an_organizer_who_took_part_before_is_told_how_to_send(people: People) -> None:
    slug = create_challenge(people.admin, "changed-sides")
    blue = people["Blue"].join(slug, "Blue")
    mine = blue.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    assert blue.delete(f"/challenges/{slug}/registrations/{mine}").status_code == 204
    added = people.admin.post(f"/challenges/{slug}/organizers", json={"email": blue.email, "role": "editor"})
    assert added.status_code == 201
    refused = require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 403, "not_registered")
    assert "test=true" in refused["remedy"]


def test_test_entries_do_not_bind_the_gold_and_are_scored_again(people: People) -> None:
    slug = create_challenge(people.admin, "rescore")
    entry = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, test=True))
    other = [row | {"label": "ab"[number % 2]} for number, row in enumerate(GOLD)]
    replaced = people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", params={"activate": "true"}, json=other)
    assert replaced.status_code == 201, replaced.text
    settle(people.live)
    again = people.admin.get(f"/submissions/{entry['id']}").json()
    assert (again["gold_version"], again["scores"]["accuracy"]["value"]) == (2, 0.5)


def test_the_command_line_checks_sends_and_deletes_test_entries(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "command")
    file = write_file(tmp_path / "mine.json", CORRECT_PREDICTIONS)
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    checked = run_assay("validate", slug, "-f", file, "--test", *service)
    assert (checked.status, checked.out) == (0, "mine.json is valid.\n"), checked.err
    submit = ("submit", slug, "-f", file, "--wait", "--json", *service)
    sent = run_assay(*submit, "--test").value()
    assert sent["test"] is True
    assert "test entry: only organizers see it" in run_assay("submission", sent["id"], *service).out
    assert "test" in run_assay("submissions", slug, *service).out
    assert run_assay("delete", sent["id"], "--json", *service).value() == {"id": sent["id"], "deleted": True}
    assert run_assay("submissions", slug, "--json", *service).value() == []
    baseline = run_assay(*submit, "--team", "Majority", "--baseline").value()
    assert (baseline["team"]["name"], baseline["baseline"], baseline["test"]) == ("Majority", True, False)
