"""Withdrawn, disqualified and unofficial entries, barred and disqualified teams: what becomes of them, and who sees it."""

import csv
from typing import Any

import pytest
from sqlalchemy import select

from app.store.queries import ranked_values
from app.store.tables import AuditEntry, Phase, Submission
from app.store.types import utcnow
from tests.cli.run_command import run_assay
from tests.faults.inspection import frozen_scoring
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    SUBMIT_MODES,
    People,
    board_ranks,
    create_challenge,
    make_recipe,
    new_slug,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
    write_session_of,
)
from tests.live_service import PASSWORD, Caller

assert ranked_values  # importing it makes the sessions of this process store ranked values


def enter(people: People, slug: str, name: str, *hits: int) -> list[str]:
    """Submissions of a person's own team with so many right answers; gives their ids."""
    people[name].join(slug, name)
    return [require_finished(people[name].submit(slug, predictions_with_hits(each)))["id"] for each in hits]


def act(who: Caller, submission: str, verb: str, **body: Any) -> dict[str, Any]:
    """The submission after a decision."""
    answer = who.post(f"/submissions/{submission}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def rows(who: Caller, slug: str) -> list[tuple[str, int | None, str | None, str | None, int]]:
    """Team, rank, mark, submission and number of attempts of each row."""
    board = who.board(slug).json()["rows"]
    return [(row["team"]["name"], row["rank"], row["mark"], row["submission"], row["entries"]) for row in board]


def test_a_withdrawn_submission_stays_on_the_board_without_a_rank_and_the_next_one_counts(people: People) -> None:
    quota = {"phases": [{"name": "main", "quota": {"total": 5}}]}
    slug = create_challenge(people.admin, "withdrawn", **quota)
    best, middle = enter(people, slug, "Blue", 4, 3)
    (other,) = enter(people, slug, "Green", 2)
    blue = people["Blue"]
    shown = act(blue, best, "withdraw", reason="Wrong file")
    assert (shown["status"], shown["withdrawn_reason"], shown["disqualified_at"]) == ("finished", "Wrong file", None)
    again = act(blue, best, "withdraw", reason="Another")
    assert again == shown
    expected = [("Blue", None, "withdrawn", best, 2), ("Blue", 1, None, middle, 2), ("Green", 2, None, other, 1)]
    assert rows(people.visitor, slug) == expected
    assert "Wrong file" not in people.visitor.board(slug).text
    usage = blue.get(f"/challenges/{slug}/phases/main/quota").json()
    assert usage["used"]["total"] == 2
    assert blue.get(f"/submissions/{best}").json()["withdrawn_at"] == shown["withdrawn_at"]
    assert blue.post(f"/submissions/{best}/reinstate").status_code == 403
    require_refused(people["Green"].post(f"/submissions/{best}/withdraw"), 404, "not_found")
    restored = blue.post(f"/submissions/{best}/withdraw")  # without a body, as curl sends it
    assert restored.json() == shown
    assert people.admin.post(f"/submissions/{best}/reinstate").json()["withdrawn_at"] is None
    assert rows(people.visitor, slug) == [("Blue", 1, None, best, 2), ("Green", 2, None, other, 1)]


def test_what_ended_without_scores_is_on_no_board_and_after_the_close_a_team_withdraws_nothing(people: People) -> None:
    slug = create_challenge(people.admin, "closed")
    (own,) = enter(people, slug, "Blue", 4)
    rejected = people["Blue"].submit(slug, {"t1": "a"}).json()
    assert rejected["status"] == "rejected"
    problem = require_refused(people["Blue"].post(f"/submissions/{rejected['id']}/withdraw"), 409, "on_no_board")
    assert "rejected" in problem["detail"]
    path = f"/submissions/{rejected['id']}/disqualify"
    require_refused(people.admin.post(path, json={"reason": "so"}), 409, "on_no_board")
    with write_session_of(people.live) as session:
        session.get_one(Phase, session.get_one(Submission, own).phase_id).closes_at = utcnow()
    require_refused(people["Blue"].post(f"/submissions/{own}/withdraw"), 409, "phase_closed")
    assert act(people.admin, own, "withdraw")["withdrawn_at"] is not None
    assert act(people["Blue"], own, "withdraw")["withdrawn_at"] is not None  # nothing left to change


def test_a_disqualification_has_a_reason_that_the_team_reads_and_promotes_the_next_entry(people: People) -> None:
    slug = create_challenge(people.admin, "disqualified", recipe=make_recipe("accuracy", selection="selected"))
    chosen, second, better = enter(people, slug, "Blue", 2, 1, 4)
    for each in (chosen, second):
        act(people["Blue"], each, "select")
    assert rows(people.visitor, slug) == [("Blue", 1, None, chosen, 3)]
    require_refused(people.admin.post(f"/submissions/{chosen}/disqualify"), 415, "unsupported_media_type")
    for body in ({}, {"reason": ""}, {"reason": "   "}, {"reason": "a", "by": "b"}):
        answer = people.admin.post(f"/submissions/{chosen}/disqualify", json=body)
        assert require_refused(answer, 422, "invalid_request")["errors"][0]["pointer"] in {"/reason", "/by"}
    # rights come before the body
    assert people["Blue"].post(f"/submissions/{chosen}/disqualify", json={}).status_code == 403
    require_refused(people["Green"].post(f"/submissions/{chosen}/disqualify", json={}), 404, "not_found")
    shown = act(people.admin, chosen, "disqualify", reason="Labels of the test set")
    assert act(people.admin, chosen, "disqualify", reason="Other") == shown
    assert people["Blue"].get(f"/submissions/{chosen}").json()["disqualified_reason"] == "Labels of the test set"
    assert rows(people.visitor, slug) == [
        ("Blue", None, "disqualified", chosen, 3),
        ("Blue", 1, None, second, 3),
    ]
    act(people["Blue"], chosen, "withdraw")
    assert rows(people.visitor, slug)[0][2] == "disqualified"  # a team cannot hide it by withdrawing
    act(people.admin, chosen, "reinstate", reason="A mistake")
    assert rows(people.visitor, slug) == [("Blue", 1, None, chosen, 3)]
    assert better
    with write_session_of(people.live) as session:
        entries = session.scalars(
            select(AuditEntry).where(AuditEntry.object_id == chosen).order_by(AuditEntry.id)
        ).all()
    entries = [entry for entry in entries if entry.action != "submission.select"]
    acts = [(entry.action, entry.role, entry.reason) for entry in entries]
    assert acts == [
        ("submission.disqualify", "owner", "Labels of the test set"),
        ("submission.withdraw", "captain", None),
        ("submission.reinstate", "owner", "A mistake"),
    ]
    assert entries[2].changes.keys() == {"withdrawn_at", "disqualified_at"}
    assert entries[2].changes["disqualified_at"] == {"from": shown["disqualified_at"], "to": None}


def test_a_cancelled_submission_says_who_cancelled_it_and_why(people: People) -> None:
    slug = create_challenge(people.admin, "cancelled")
    blue = people["Blue"].join(slug, "Blue")
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    with frozen_scoring(people.live):
        own, other = (blue.submit(slug, predictions_with_hits(count), wait=0).json()["id"] for count in (3, 4))
        failure = act(people.admin, own, "cancel", reason="The file of another team")["failure"]
        shown = run_assay("cancel", other, "--reason", "Sent twice", *service)
        assert shown.out == f"Cancelled submission {other}.\n"
    assert failure == {
        "code": "cancelled",
        "detail": "An organizer cancelled it before it was scored.",
        "reason": "The file of another team",
    }
    assert blue.get(f"/submissions/{own}").json()["failure"] == failure
    assert "before it was scored. Sent twice" in run_assay("submission", other, *service).out
    with write_session_of(people.live) as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.object_id == own)).one()
        assert (entry.action, entry.role, entry.reason) == ("submission.cancel", "owner", failure["reason"])
        assert entry.changes["status"]["to"] == "cancelled"


def test_a_disqualified_team_has_one_marked_row_and_submits_no_more_until_it_is_reinstated(people: People) -> None:
    slug = create_challenge(people.admin, "team")
    gone, best = enter(people, slug, "Blue", 4, 3)
    act(people["Blue"], gone, "withdraw")
    (other,) = enter(people, slug, "Green", 2)
    team = people["Blue"].get(f"/submissions/{best}").json()["team"]["id"]
    path = f"/challenges/{slug}/teams/{team}"
    decided = people.admin.post(f"{path}/disqualify", json={"reason": "Several accounts"})
    assert decided.status_code == 200, decided.text
    assert people.admin.post(f"{path}/disqualify", json={"reason": "Other"}).json() == decided.json()
    assert rows(people.visitor, slug) == [("Blue", None, "disqualified", best, 2), ("Green", 1, None, other, 1)]
    for mode in SUBMIT_MODES:
        refused = people["Blue"].submit(slug, CORRECT_PREDICTIONS, **mode)
        problem = require_refused(refused, 403, "team_disqualified")
        assert problem["reason"] == "Several accounts"
    own = people["Blue"].get(f"/challenges/{slug}/registrations").json()["items"][0]["team"]
    assert (own["disqualified_reason"], own["disqualified_at"] is None) == ("Several accounts", False)
    restored = people.admin.post(f"{path}/reinstate").json()
    assert (restored["disqualified_at"], restored["disqualified_reason"]) == (None, None)
    require_finished(people["Blue"].submit(slug, CORRECT_PREDICTIONS))
    assert board_ranks(people.visitor.board(slug))[0] == (1, "Blue")
    with write_session_of(people.live) as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.object_id == team).order_by(AuditEntry.id)).all()
    assert [(entry.action, entry.object_name) for entry in entries] == [
        ("team.found", "Blue"),
        ("team.disqualify", "Blue"),
        ("team.reinstate", "Blue"),
    ]


def test_baselines_are_no_teams_to_disqualify_and_leave_the_board_when_withdrawn(people: People) -> None:
    slug = create_challenge(people.admin, "baseline")
    (entered,) = submit_for_teams(people.admin, slug, [("Majority", CORRECT_PREDICTIONS)], baseline="true")
    team = people.admin.get(f"/submissions/{entered}").json()["team"]["id"]
    path = f"/challenges/{slug}/teams/{team}/disqualify"
    require_refused(people.admin.post(path, json={"reason": "so"}), 409, "baseline_team")
    act(people.admin, entered, "withdraw")
    assert rows(people.visitor, slug) == []


@pytest.mark.parametrize("anonymous", [False, True])
def test_every_mark_shows_in_every_format_and_an_anonymous_board_names_nobody(
    people: People, *, anonymous: bool
) -> None:
    slug = new_slug("marks")
    phases = [{"name": "main", "anonymous": anonymous}]
    slug = create_challenge(people.admin, slug, phases=phases)
    (first, second) = enter(people, slug, "Blue", 4, 2)
    (late,) = enter(people, slug, "Green", 3)
    enter(people, slug, "Red", 1)
    (sent,) = submit_for_teams(people.admin, slug, [("Red", predictions_with_hits(2))])
    registration = people["Red"].get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    act(people["Blue"], first, "withdraw")
    with write_session_of(people.live) as session:
        session.get_one(Submission, late).unofficial = True
    barred = {"status": "barred", "reason": "Several accounts"}
    path = f"/challenges/{slug}/registrations/{registration}"
    people.admin.patch(path, json=barred).raise_for_status()
    organizer = people.admin.board(slug).json()["rows"]
    assert [(row["submission"], row["mark"], row["rank"], row["entries"], row["on_behalf"]) for row in organizer] == [
        (first, "withdrawn", None, 2, False),
        (late, "unofficial", None, 1, False),
        (second, None, 1, 2, False),
        (sent, "barred", None, 2, True),
    ]
    assert all(row[name] is None for row in organizer if row["mark"] for name in ("rank_low", "rank_high", "tie_group"))
    shown = people.visitor.board(slug).json()["rows"]
    names = [row["team"]["name"] for row in shown]
    alike = [names.index(name) for name in names]
    assert alike == [0, 1, 0, 3]
    assert {name.startswith("Anonymous ") for name in names} == {anonymous}
    assert anonymous or names == ["Blue", "Green", "Blue", "Red"]
    assert {row["submission"] is None and row["team"]["id"] is None for row in shown} == {anonymous}
    assert [row["mark"] for row in shown] == ["withdrawn", "unofficial", None, "barred"]
    own = people["Blue"].board(slug).json()["rows"]
    assert [row["team"]["name"] for row in own if row["team"]["name"] == "Blue"] == ["Blue", "Blue"]
    lines = list(csv.DictReader(people.visitor.board(slug, format="csv").text.splitlines()))
    assert [(line["rank"], line["mark"], line["on_behalf"]) for line in lines] == [
        ("", "withdrawn", "false"),
        ("", "unofficial", "false"),
        ("1", "", "false"),
        ("", "barred", "true"),
    ]
    assert [line["team"] for line in lines] == names
    people.admin.patch(path, json={"status": "approved"}).raise_for_status()
    assert [row["mark"] for row in people.visitor.board(slug).json()["rows"]].count("barred") == 0


def bar(people: People, slug: str, who: Caller) -> None:
    """Bar a person from a challenge."""
    (registration,) = who.get(f"/challenges/{slug}/registrations").json()["items"]
    decision = {"status": "barred", "reason": "Several accounts"}
    people.admin.patch(f"/challenges/{slug}/registrations/{registration['id']}", json=decision).raise_for_status()


def test_no_code_from_before_a_bar_brings_a_team_back(people: People) -> None:
    slug = create_challenge(people.admin, "bar-code")
    enter(people, slug, "Blue", 4)
    blue = people["Blue"]
    (team,) = blue.get(f"/challenges/{slug}/teams").json()["items"]
    code = blue.post(f"/challenges/{slug}/teams/{team['id']}/invitations", json={}).json()["code"]
    bar(people, slug, blue)
    joining = people["Green"].post(f"/challenges/{slug}/registrations", json={"invitation": code})
    require_refused(joining, 422, "invalid_invitation")
    assert [row["mark"] for row in people.visitor.board(slug).json()["rows"]] == ["barred"]


def test_who_leaves_before_the_bar_leaves_no_ranked_team_behind(people: People) -> None:
    slug = create_challenge(people.admin, "bar-left")
    enter(people, slug, "Blue", 4)
    blue, green = people["Blue"], people["Green"]
    (team,) = blue.get(f"/challenges/{slug}/teams").json()["items"]
    path = f"/challenges/{slug}/teams/{team['id']}"
    code = blue.post(f"{path}/invitations", json={}).json()["code"]
    green.post(f"/challenges/{slug}/registrations", json={"invitation": code}).raise_for_status()

    def marks_after_leaving(who: Caller) -> list[str | None]:
        who.delete(f"{path}/members/{who.get('/me').json()['id']}").raise_for_status()
        return [row["mark"] for row in people.visitor.board(slug).json()["rows"]]

    assert marks_after_leaving(blue) == [None]
    bar(people, slug, blue)
    assert marks_after_leaving(green) == [None]  # not all who were in the team are barred
    bar(people, slug, green)
    assert [row["mark"] for row in people.visitor.board(slug).json()["rows"]] == ["barred"]


def test_a_deleted_account_does_not_keep_a_team_with_a_barred_member_ranked(people: People) -> None:
    slug = create_challenge(people.admin, "bar-deleted")
    enter(people, slug, "Blue", 4)
    blue, gone = people["Blue"], people.live.person("Gone")
    (team,) = blue.get(f"/challenges/{slug}/teams").json()["items"]
    code = blue.post(f"/challenges/{slug}/teams/{team['id']}/invitations", json={}).json()["code"]
    gone.post(f"/challenges/{slug}/registrations", json={"invitation": code}).raise_for_status()
    bar(people, slug, blue)
    assert [row["mark"] for row in people.visitor.board(slug).json()["rows"]] == [None]  # one member is not barred
    code = gone.post(f"/challenges/{slug}/teams/{team['id']}/invitations", json={}).json()["code"]
    gone.request("DELETE", "/me", json={"password": PASSWORD}).raise_for_status()
    joining = people["Green"].post(f"/challenges/{slug}/registrations", json={"invitation": code})
    require_refused(joining, 422, "invalid_invitation")
    assert [row["mark"] for row in people.visitor.board(slug).json()["rows"]] == ["barred"]


def test_unofficial_and_test_entries_are_never_chosen(people: People) -> None:
    slug = create_challenge(people.admin, "late", recipe=make_recipe("accuracy", selection="selected"))
    official, late, trial = enter(people, slug, "Blue", 1, 4, 3)
    for each in (late, trial):
        act(people["Blue"], each, "select")
    with write_session_of(people.live) as session:
        session.get_one(Submission, late).unofficial = True
        session.get_one(Submission, trial).test = True
    assert rows(people.visitor, slug) == [("Blue", None, "unofficial", late, 2), ("Blue", 1, None, official, 2)]
