"""Phases that are paused, that take late entries, and that are deleted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.store.tables import AuditEntry, Challenge
from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    SUBMIT_MODES,
    People,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    write_session_of,
)

SECOND = timedelta(seconds=1)
CLOSED = {"opens_at": "2020-01-01T00:00:00Z"}


def closed_now() -> dict[str, Any]:
    return CLOSED | {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}


def test_a_paused_phase_refuses_participants_and_its_close_stays(people: People) -> None:
    closes_at = "2090-01-01T00:00:00Z"
    slug = create_challenge(people.admin, "pause", phases=[{"name": "main", "closes_at": closes_at}])
    blue = people["Blue"].join(slug, "Blue")
    phase = MAIN_PHASE_PATH.format(slug)
    require_refused(blue.post(f"{phase}/pause", json={"reason": "I am not ready"}), 403, "forbidden")
    require_refused(people.admin.post(f"{phase}/pause", json={}), 422, "invalid_request")
    paused = people.admin.post(f"{phase}/pause", json={"reason": "The gold is being checked."}).json()
    assert (paused["open"], paused["pause_reason"]) == (False, "The gold is being checked.")
    for mode in SUBMIT_MODES:
        refused = require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **mode), 409, "phase_paused")
        assert refused["reason"] == "The gold is being checked."
    to_open_phase = blue.post(f"/challenges/{slug}/submissions", json=CORRECT_PREDICTIONS)
    require_refused(to_open_phase, 409, "phase_paused")
    assert people.visitor.get(phase).json()["pause_reason"] == "The gold is being checked."
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))  # organizers try it meanwhile
    resumed = people.admin.post(f"{phase}/resume").json()
    assert (resumed["open"], resumed["paused_at"], resumed["closes_at"]) == (True, None, closes_at)
    assert people.admin.post(f"{phase}/resume").json() == resumed
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    with write_session_of(people.live) as session:
        challenge = select(Challenge.id).where(Challenge.slug == slug).scalar_subquery()
        of_phases = (AuditEntry.challenge_id == challenge, AuditEntry.action.startswith("phase."))
        acts = list(session.scalars(select(AuditEntry).where(*of_phases)))
        own = [(act.action, act.reason) for act in acts if act.reason is not None]
        assert own == [("phase.pause", "The gold is being checked.")]


def test_late_entries_are_scored_and_marked_and_keep_their_quota(people: People) -> None:
    slug = create_challenge(people.admin, "late", phases=[{"name": "main", "quota": {"total": 3}}])
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    phase = MAIN_PHASE_PATH.format(slug)
    require_finished(blue.submit(slug, predictions_with_hits(2)))
    assert people.admin.patch(phase, json=closed_now()).json()["late"] == "refuse"
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 409, "no_open_phase")
    assert people.admin.patch(phase, json={"late": "unofficial"}).json()["late"] == "unofficial"
    late = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    assert blue.get(f"{phase}/quota").json()["used"]["total"] == 2
    require_finished(green.submit(slug, predictions_with_hits(3)))
    rows = people.admin.board(slug).json()["rows"]
    shown = [(row["team"]["name"], row["rank"], row["mark"]) for row in rows]
    assert shown == [("Blue", None, "unofficial"), ("Green", None, "unofficial"), ("Blue", 1, None)]
    require_refused(blue.post(f"/submissions/{late['id']}/select"), 409, "phase_closed")
    bench = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    rows = people.admin.board(slug).json()["rows"]
    assert [row["mark"] for row in rows if row["submission"] == bench["id"]] == ["unofficial"]


def test_late_entries_go_to_a_phase_by_its_name_which_the_refusal_gives(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "late-named", timezone="Asia/Tokyo")
    blue = people["Blue"].join(slug, "Blue")
    phase, short = MAIN_PHASE_PATH.format(slug), f"/challenges/{slug}/submissions"
    assert people.admin.patch(phase, json=closed_now()).is_success
    without_phase = require_refused(blue.post(short, json=CORRECT_PREDICTIONS), 409, "no_open_phase")
    assert "late_phases" not in without_phase
    refused = require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 409, "no_open_phase")
    closed_at = refused["closes_at"]
    assert without_phase["detail"] == f"All phases have closed. 'main' closed last, at {closed_at}."
    assert refused["detail"] == f"The phase 'main' has closed, at {closed_at}."
    assert refused["timezone"] == "Asia/Tokyo"
    for name in ("opens_at", "closes_at"):
        assert datetime.fromisoformat(refused[name]) - datetime.fromisoformat(refused[f"{name}_local"]) < SECOND
        assert refused[f"{name}_local"].endswith("+09:00")
    assert people.admin.patch(phase, json={"late": "unofficial"}).is_success
    late = require_refused(blue.post(short, json=CORRECT_PREDICTIONS), 409, "no_open_phase")
    assert late["late_phases"] == ["main"]
    file = write_file(tmp_path / "mine.json", CORRECT_PREDICTIONS)
    service = ("--url", people.live.url, "--token", blue.headers["Authorization"].removeprefix("Bearer "))
    told = run_assay("submit", slug, "-f", file, *service).err
    assert "Closed at" in told
    assert "Takes late entries, which are never ranked: --phase main." in told
    sent = run_assay("submit", slug, "-f", file, "--phase", "main", "--wait", *service)
    assert "unofficial: sent after the close" in sent.out
    assert "state: closed" in run_assay("phase", "show", slug, *service).out


def test_a_phase_is_deleted_while_nothing_was_submitted(people: People) -> None:
    slug = create_challenge(people.admin, "phase-delete", phases=[{"name": "main"}, {"name": "extra"}])
    extra = f"/challenges/{slug}/phases/extra"
    assert people.admin.post(f"{extra}/gold", params={"activate": "true"}, json=GOLD).status_code == 201
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    require_refused(people.admin.delete(MAIN_PHASE_PATH.format(slug)), 409, "phase_in_use")
    require_refused(blue.delete(extra), 403, "forbidden")
    assert people.admin.delete(extra).status_code == 204
    require_refused(people.admin.get(extra), 404, "not_found")
    other = create_challenge(people.admin, "phase-only")
    require_refused(people.admin.delete(MAIN_PHASE_PATH.format(other)), 409, "only_phase")


def test_the_command_line_pauses_resumes_and_deletes(people: People) -> None:
    slug = create_challenge(people.admin, "phase-commands", phases=[{"name": "main"}, {"name": "extra"}])
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    paused = run_assay("phase", "pause", slug, "--phase", "main", "--reason", "A check", *service)
    assert "is paused" in paused.out, paused.err
    assert "paused" in run_assay("phase", "list", slug, *service).out
    assert "goes on" in run_assay("phase", "resume", slug, "--phase", "main", *service).out
    assert "is deleted" in run_assay("phase", "delete", slug, "--phase", "extra", *service).out
