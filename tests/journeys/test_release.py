"""The final release: what organizers see before, when it is refused, and what everybody sees after it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.store.tables import AuditEntry, Phase, Submission
from tests.cli.run_command import run_assay
from tests.faults.inspection import frozen_scoring
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    metric_values,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.journeys.test_splits import GOLD, OTHER, PRIVATE_BEST, PUBLIC_BEST, answers
from tests.settle import settle

SELECTED = make_recipe("accuracy", "f1_macro", selection="selected", selection_max=2)
BOTH_PUBLIC = answers("t1", "t2", "t3")  # public 1, private 1/3


def close(people: People, slug: str) -> None:
    """Let the phase have closed a moment ago."""
    closed = {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat(), "opens_at": "2020-01-01T00:00:00Z"}
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json=closed).status_code == 200


def release_of(people: People, slug: str) -> str:
    return f"{MAIN_PHASE_PATH.format(slug)}/release"


def rows_of(board: Any) -> list[tuple[str, int | None, int | None, float | None]]:
    return [
        (row["team"]["name"], row["rank"], row["public_rank"], metric_values(row["scores"])["accuracy"])
        for row in board.json()["rows"]
    ]


def test_a_phase_with_splits_is_run_to_its_final_release(people: People) -> None:
    slug = create_challenge(people.admin, "release", GOLD, recipe=make_recipe("accuracy", "f1_macro"))
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = require_finished(blue.submit(slug, PUBLIC_BEST))
    require_finished(green.submit(slug, OTHER))
    path = release_of(people, slug)
    preview = people.admin.get(path).json()
    assert [(row["team"]["name"], row["public_rank"], row["private_rank"], row["move"]) for row in preview["rows"]] == [
        ("Green", 2, 1, 1),
        ("Blue", 1, 2, -1),
    ]
    assert [obstacle["code"] for obstacle in preview["obstacles"]] == ["not_closed"]
    for caller in (blue, people["Stranger"]):
        require_refused(caller.get(path), 403, "forbidden")
        require_refused(caller.post(path), 403, "forbidden")
    body = require_refused(people.admin.post(path), 409, "not_releasable")
    assert body["obstacles"] == preview["obstacles"]
    close(people, slug)
    assert people.admin.get(path).json()["obstacles"] == []
    before = people.visitor.board(slug)
    assert rows_of(before) == [("Blue", 1, None, 1.0), ("Green", 2, None, 0.5)]
    released = people.admin.post(path, json={"reason": "The workshop begins."})
    assert (released.status_code, released.json()["rows"]) == (200, preview["rows"])
    for caller in (people.visitor, blue, people.admin):
        board = caller.board(slug)
        assert board.json()["split"] == "private"
        name, rank, public_rank, value = rows_of(board)[0]
        assert (name, rank, public_rank) == ("Green", 1, 2)
        assert value == pytest.approx(1 / 3, abs=1e-6)
        assert board.headers["etag"] != before.headers["etag"]
    assert rows_of(people.visitor.board(slug, split="public")) == rows_of(before)
    assert ",2,0.333333" in people.visitor.board(slug, format="csv").text.splitlines()[1]
    require_refused(people.visitor.board(slug, split="all"), 403, "split_hidden")
    seen = blue.get(f"/submissions/{sent['id']}").json()
    assert (seen["split"], metric_values(seen["scores"])["accuracy"]) == ("private", 0)
    assert metric_values(seen["public_scores"])["accuracy"] == 1
    for query, value in {"": 0, "?split=private": 0, "?split=public": 1}.items():
        report = blue.get(f"/submissions/{sent['id']}/report{query}").json()
        assert metric_values(report["scores"])["accuracy"] == value
        assert (report["rank"], report["public_rank"]) == (2, 1)
    listed = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"][0]
    assert (seen["rank"], seen["public_rank"]) == (listed["rank"], listed["public_rank"]) == (2, 1)
    again = people.admin.post(path).json()
    assert again["released_at"] == released.json()["released_at"]
    with write_session_of(people.live) as session:
        phase_id = session.get_one(Submission, sent["id"]).phase_id
        acts = session.scalars(select(AuditEntry).where(AuditEntry.object_id == phase_id)).all()
        assert [(act.action, act.reason, act.role) for act in acts if act.action == "phase.release"] == [
            ("phase.release", "The workshop begins.", "owner")
        ]


def test_what_a_release_fixes_changes_by_a_correction_with_a_reason_at_most(people: People) -> None:
    slug = create_challenge(people.admin, "release-fixed", GOLD, recipe=SELECTED)
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, PUBLIC_BEST))
    close(people, slug)
    assert people.admin.post(release_of(people, slug)).status_code == 200
    phase = MAIN_PHASE_PATH.format(slug)
    require_refused(people.admin.patch(phase, json={"closes_at": None}), 409, "phase_released")
    assert people.admin.patch(phase, json={"quota": {"total": 3}}).status_code == 200
    later = people.admin.post(f"{phase}/gold", json=GOLD).json()["version"]
    require_refused(people.admin.post(f"{phase}/gold/{later}/activate"), 422, "reason_required")
    moved = [{**each, "split": {"public": "private", "private": "public"}[each["split"]]} for each in GOLD]
    require_refused(people.admin.post(f"{phase}/gold", json=moved), 422, "invalid_gold")
    override = {"reason": "They asked."}
    require_refused(people.admin.post(f"/submissions/{sent['id']}/select", json=override), 409, "phase_released")
    for change in ({"selection": "best"}, {"selection": "selected", "selection_max": 3}):
        recipe = make_recipe("accuracy", "f1_macro", **change)
        drafted = people.admin.put(f"/challenges/{slug}/recipe", json=recipe).json()
        assert (drafted["status"], drafted["selection"]) == ("draft", change["selection"])
        activation = f"/challenges/{slug}/recipe/{drafted['version']}/activate"
        require_refused(people.admin.post(activation), 422, "reason_required")
    assert people.visitor.get(f"/challenges/{slug}/recipe").json()["selection"] == "selected"
    assert people.admin.put(f"/challenges/{slug}/recipe", json=SELECTED | {"disclosure": {"digits": 4}}).is_success


def test_submissions_and_reports_show_the_ranks_that_count_now(people: People) -> None:
    slug = create_challenge(people.admin, "release-ranks", GOLD, recipe=SELECTED)
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    files = (PUBLIC_BEST, PRIVATE_BEST, OTHER)
    public, private, neither = (require_finished(blue.submit(slug, file))["id"] for file in files)
    rival = require_finished(green.submit(slug, OTHER))["id"]
    for one in (public, private):
        assert blue.post(f"/submissions/{one}/select").is_success
    close(people, slug)

    def ranks(who: Any, submission: str) -> tuple[int | None, int | None]:
        shown = who.get(f"/submissions/{submission}").json()
        return shown["rank"], shown["public_rank"]

    assert ranks(people.admin, private) == (None, None)
    assert "rank" not in blue.get(f"/submissions/{private}/report").json()
    assert people.admin.post(release_of(people, slug)).is_success
    board = blue.board(slug).json()["rows"]
    assert [(row["submission"], row["rank"], row["public_rank"]) for row in board] == [(private, 1, 1), (rival, 2, 2)]
    assert [ranks(blue, one) for one in (private, public, neither)] == [(1, 1), (None, 1), (None, None)]
    assert (ranks(green, rival), ranks(people.admin, rival)) == ((2, 2), (2, 2))
    body = {"reason": "Labels of the test set"}
    assert people.admin.post(f"/submissions/{private}/disqualify", json=body).is_success
    assert (ranks(blue, private), ranks(blue, public), ranks(green, rival)) == ((None, None), (2, 1), (1, 2))
    report = green.get(f"/submissions/{rival}/report").json()
    assert (report["rank"], report["public_rank"]) == (1, 2)
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"leaderboard": "hidden"}).is_success
    assert (ranks(green, rival), ranks(people.admin, rival)) == ((None, None), (1, 2))


def test_the_preview_tells_marked_entries_from_those_that_count(people: People) -> None:
    slug = create_challenge(people.admin, "release-marks", GOLD, recipe=make_recipe("accuracy"))
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    gone, kept = (require_finished(blue.submit(slug, file))["id"] for file in (OTHER, PUBLIC_BEST))
    other = require_finished(green.submit(slug, OTHER))["id"]
    assert blue.post(f"/submissions/{gone}/withdraw").is_success
    rows = people.admin.get(release_of(people, slug)).json()["rows"]
    names = ("submission", "public_submission", "mark", "public_rank", "private_rank", "move")
    assert sorted([tuple(row[name] for name in names) for row in rows], key=str) == sorted(
        [(gone, gone, "withdrawn", None, None, None), (kept, kept, None, 1, 2, -1), (other, other, None, 2, 1, 1)],
        key=str,
    )
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    assert "withdrawn" in run_assay("phase", "release", slug, *service).out


def test_labels_of_a_released_phase_stay_even_if_nothing_was_submitted(people: People) -> None:
    slug = create_challenge(people.admin, "release-empty", GOLD)
    close(people, slug)
    assert people.admin.post(release_of(people, slug)).is_success
    for path in (MAIN_PHASE_PATH.format(slug), f"/challenges/{slug}"):
        require_refused(people.admin.patch(path, json={"classes": ["a", "b", "c"]}), 409, "phase_released")
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/gold/1").json()["status"] == "active"


def test_a_release_waits_for_what_was_admitted(people: People) -> None:
    slug = create_challenge(people.admin, "release-waits", GOLD, recipe=make_recipe("accuracy"))
    blue = people["Blue"].join(slug, "Blue")
    with frozen_scoring(people.live):
        assert blue.submit(slug, PUBLIC_BEST, wait=0).status_code == 202
        close(people, slug)
        body = require_refused(people.admin.post(release_of(people, slug)), 409, "not_releasable")
        assert [obstacle["code"] for obstacle in body["obstacles"]] == ["unsettled"]
    settle(people.live)
    assert people.admin.post(release_of(people, slug)).status_code == 200


def test_without_splits_there_is_nothing_to_release(people: People) -> None:
    slug = create_challenge(people.admin, "release-nothing")
    close(people, slug)
    body = require_refused(people.admin.post(release_of(people, slug)), 409, "not_releasable")
    assert [obstacle["code"] for obstacle in body["obstacles"]] == ["no_splits"]


def test_of_several_selected_the_better_public_one_counts_before_and_the_better_private_one_after(
    people: People,
) -> None:
    slug = create_challenge(people.admin, "release-selected", GOLD, recipe=SELECTED)
    blue = people["Blue"].join(slug, "Blue")
    ids = [require_finished(blue.submit(slug, file))["id"] for file in (PUBLIC_BEST, PRIVATE_BEST, BOTH_PUBLIC)]
    board = blue.board(slug).json()
    assert board["rows"][0]["submission"] == ids[0]  # none is selected: the best public one, the earliest of equals
    assert board["selection"]["rule"] == "selected"
    assert board["selection"]["max"] == 2
    assert "Without a selection, its best" in board["selection"]["meaning"]
    for one in ids[1:]:
        assert blue.post(f"/submissions/{one}/select").json()["selected"]
    full = require_refused(blue.post(f"/submissions/{ids[0]}/select"), 409, "selection_full")
    assert full["selected"] == ids[1:]
    assert blue.board(slug).json()["rows"][0]["submission"] == ids[2]
    close(people, slug)
    preview = people.admin.get(release_of(people, slug)).json()["rows"][0]
    assert (preview["public_submission"], preview["submission"]) == (ids[2], ids[1])
    assert people.admin.post(release_of(people, slug)).status_code == 200
    assert blue.board(slug).json()["rows"][0]["submission"] == ids[1]
    assert blue.board(slug, split="public").json()["rows"][0]["submission"] == ids[2]


def test_the_selection_is_locked_at_the_close_but_for_what_was_not_scored_then(people: People) -> None:
    slug = create_challenge(people.admin, "selection-late", GOLD, recipe=SELECTED)
    blue = people["Blue"].join(slug, "Blue")
    early, late = (require_finished(blue.submit(slug, file))["id"] for file in (PUBLIC_BEST, PRIVATE_BEST))
    closed = datetime.now(UTC) - timedelta(hours=1)
    with write_session_of(people.live) as session:
        row = session.get_one(Submission, early)
        row.submitted_at, row.finished_at = closed - timedelta(minutes=2), closed - timedelta(minutes=1)
        other = session.get_one(Submission, late)
        other.submitted_at, other.finished_at = closed - timedelta(minutes=1), closed + timedelta(minutes=1)
        phase = session.get_one(Phase, row.phase_id)
        phase.opens_at, phase.closes_at = closed - timedelta(days=1), closed
    require_refused(blue.post(f"/submissions/{early}/select"), 409, "phase_closed")
    preview = people.admin.get(release_of(people, slug)).json()
    assert datetime.fromisoformat(preview["choices_until"]) == closed + timedelta(minutes=1, hours=24)
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    assert "scored after the close until" in run_assay("phase", "release", slug, *service).out
    assert blue.post(f"/submissions/{late}/select").json()["selected"]
    with write_session_of(people.live) as session:
        other, phase = session.get_one(Submission, late), session.get_one(Phase, phase.id)
        phase.closes_at = closed - timedelta(hours=24)
        other.submitted_at, other.finished_at = phase.closes_at - timedelta(minutes=1), phase.closes_at
    require_refused(blue.post(f"/submissions/{late}/unselect"), 409, "phase_closed")  # a day has passed
    assert people.admin.get(release_of(people, slug)).json()["choices_until"] is None
    body = require_refused(people.admin.post(f"/submissions/{late}/unselect"), 422, "invalid_request")
    assert body["errors"][0]["pointer"] == "/reason"
    override = {"reason": "Their file was lost in our outage."}
    assert not people.admin.post(f"/submissions/{late}/unselect", json=override).json()["selected"]


@pytest.mark.parametrize("recipe", [{"selection": "best", "selection_max": 2}, {"selection_max": 0}])
def test_a_maximum_without_effect_is_refused(people: People, recipe: dict[str, Any]) -> None:
    slug = create_challenge(people.admin, "selection-max", GOLD)
    body = make_recipe("accuracy", **({"selection": "selected"} | recipe))
    require_refused(people.admin.put(f"/challenges/{slug}/recipe", json=body), 422, "invalid_recipe")


def test_the_command_line_shows_the_preview_and_releases(people: People) -> None:
    slug = create_challenge(people.admin, "release-command", GOLD, recipe=make_recipe("accuracy"))
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, PUBLIC_BEST))
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    shown = run_assay("phase", "release", slug, *service)
    assert "Not yet: The phase has not closed." in shown.out
    close(people, slug)
    assert "--yes" in run_assay("phase", "release", slug, *service).err
    assert run_assay("phase", "release", slug, "--reason", "As announced", *service).status == 1
    done = run_assay("phase", "release", slug, "--phase", "main", "--yes", *service)
    assert (done.status, "Released at" in done.out) == (0, True)


def test_the_command_line_shows_private_scores_with_the_public_ones_beside_them(people: People) -> None:
    slug = create_challenge(people.admin, "release-shown", GOLD, recipe=make_recipe("accuracy"))
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = require_finished(blue.submit(slug, PUBLIC_BEST))["id"]
    require_finished(green.submit(slug, PRIVATE_BEST))
    token = blue.headers["Authorization"].removeprefix("Bearer ")
    service = ("--url", people.live.url, "--token", token)
    assert "public rank" not in run_assay("leaderboard", slug, *service).out
    assert run_assay("submission", sent, *service).out.splitlines()[1].split() == ["metric", "public"]
    close(people, slug)
    assert people.admin.post(release_of(people, slug)).status_code == 200
    board = run_assay("leaderboard", slug, *service).out.splitlines()
    assert board[1].split()[:4] == ["rank", "public", "rank", "team"]
    assert [line.split()[:3] for line in board[3:5]] == [["1", "2", "Green"], ["2", "1", "Blue"]]
    shown = run_assay("submission", sent, *service).out.splitlines()
    assert shown[1] == "rank: private 2, public 1"
    listed = run_assay("submissions", slug, *service).out.splitlines()
    assert listed[0].split()[-3:] == ["rank", "public", "rank"]
    assert listed[2].split()[-2:] == ["2", "1"]
    assert (shown[2].split(), shown[4].split()) == (["metric", "private", "public"], ["accuracy", "0", "1"])


@pytest.mark.parametrize(
    ("tie_breakers", "of_equal_ones"),
    [
        ([], "Of equal ones the earliest counts."),
        (["f1_macro"], "Equal ones are compared by the tie-breakers; of those that stay equal the earliest counts."),
    ],
)
def test_every_answer_says_what_counts_without_a_choice(
    people: People, tie_breakers: list[str], of_equal_ones: str
) -> None:
    slug = create_challenge(people.admin, "selection-said", GOLD, recipe=SELECTED | {"tie_breakers": tie_breakers})
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, PUBLIC_BEST))
    meaning = f"Without a selection, its best submission by the public value counts. {of_equal_ones}"
    path = f"/challenges/{slug}"
    chosen = blue.post(f"/submissions/{sent['id']}/select").json()
    listed = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"][0]
    preview = people.admin.get(release_of(people, slug)).json()
    for body in (sent, chosen, listed, blue.board(slug).json(), preview):
        assert (body["selection"]["rule"], body["selection"]["max"]) == ("selected", 2)
        assert body["selection"]["meaning"].endswith(meaning)
    for recipe in (blue.get(f"{path}/recipe").json(), blue.get(path).json()["recipe"]):
        assert recipe["selection_meaning"].endswith(meaning)
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    pages = [
        *(run_assay(*words, *service).out for words in (("leaderboard", slug), ("challenge", "show", slug))),
        *(run_assay(*words, *service).out for words in (("submission", sent["id"]), ("phase", "release", slug))),
        run_assay("unselect", sent["id"], "--reason", "They asked.", *service).err,
    ]
    assert all(meaning in " ".join(page.split()) for page in pages)
