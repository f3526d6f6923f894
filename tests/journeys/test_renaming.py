"""Challenges and phases that are renamed: former addresses lead to the new ones, for those who may see them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.client import Client, ClientError
from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    create_without_gold,
    new_slug,
    require_finished,
    require_refused,
)
from tests.live_service import Caller


def rename(who: Caller, slug: str) -> str:
    new = new_slug("renamed")
    answer = who.patch(f"/challenges/{slug}", json={"slug": new})
    assert answer.status_code == 200, answer.text
    assert answer.json()["slug"] == new
    return new


def require_renamed(answer: httpx.Response, location: str) -> None:
    assert (answer.status_code, answer.headers.get("location")) == (308, f"/api/v1{location}"), answer.text
    assert answer.json()["code"] == "renamed"


def test_every_route_below_a_former_slug_redirects_with_path_and_query(people: People) -> None:
    slug = create_challenge(people.admin, "before")
    blue = people["Blue"].join(slug, "Blue")
    board = blue.board(slug)
    assert board.status_code == 200
    assert people.visitor.board(slug).status_code == 200  # cached under the former slug
    new = rename(people.admin, slug)
    for caller in (people.visitor, blue, people.admin):
        require_renamed(caller.get(f"/challenges/{slug}"), f"/challenges/{new}")
        require_renamed(
            caller.get(f"/challenges/{slug}/phases/main/leaderboard", params={"limit": 5, "metric": "accuracy"}),
            f"/challenges/{new}/phases/main/leaderboard?limit=5&metric=accuracy",
        )
    require_renamed(
        blue.submit(slug, CORRECT_PREDICTIONS, method="a b"), f"/challenges/{new}/phases/main/submissions?method=a+b"
    )
    require_renamed(people.admin.patch(f"/challenges/{slug}", json={"title": "T"}), f"/challenges/{new}")
    require_renamed(
        people.admin.post(f"/challenges/{slug}/phases/main/gold", json=GOLD), f"/challenges/{new}/phases/main/gold"
    )
    require_finished(blue.submit(new, CORRECT_PREDICTIONS))
    assert blue.get(f"/challenges/{new}/phases/main/submissions").json()["items"][0]["challenge"] == new


def test_who_may_not_see_the_challenge_learns_nothing_of_its_former_slug(people: People) -> None:
    slug = create_challenge(people.admin, "private", visibility="private")
    rename(people.admin, slug)
    for caller in (people.visitor, people["Eve"]):
        for tail in ("", "/phases/main", "/phases/main/leaderboard", "/recipe"):
            hidden, absent = caller.get(f"/challenges/{slug}{tail}"), caller.get(f"/challenges/absent{tail}")
            assert (hidden.status_code, hidden.content) == (404, absent.content)


def test_a_former_slug_is_never_given_to_another_but_back_to_its_own(people: People) -> None:
    slug = create_challenge(people.admin, "taken")
    other = create_challenge(people.admin, "other")
    new = rename(people.admin, slug)
    body = {
        "slug": slug,
        "title": "T",
        "task": "multiclass",
        "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
    }
    require_refused(people.admin.post("/challenges", json=body), 409, "slug_taken")
    for taken in (slug, new):
        require_refused(people.admin.patch(f"/challenges/{other}", json={"slug": taken}), 409, "slug_taken")
    assert people.admin.patch(f"/challenges/{new}", json={"slug": slug}).json()["slug"] == slug
    assert people.visitor.get(f"/challenges/{slug}").status_code == 200
    require_renamed(people.visitor.get(f"/challenges/{new}"), f"/challenges/{slug}")


def test_a_renamed_phase_redirects_and_keeps_its_name_from_others(people: People) -> None:
    slug = create_challenge(people.admin, "phases", phases=[{"name": "main"}, {"name": "Final"}])
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    phases = f"/challenges/{slug}/phases"
    renamed = people.admin.patch(f"{phases}/main", json={"name": "Development Phase"}).json()
    assert (renamed["name"], renamed["slug"]) == ("Development Phase", "development-phase")
    require_renamed(blue.get(f"{phases}/main/quota"), f"{phases}/development-phase/quota")
    require_renamed(people.visitor.board(slug), f"{phases}/development-phase/leaderboard")
    require_renamed(
        people.visitor.get(f"/challenges/{slug}/recipe", params={"phase": "main"}),
        f"/challenges/{slug}/recipe?phase=development-phase",
    )
    assert blue.get(f"/submissions/{sent['id']}").json()["phase"] == "development-phase"
    require_refused(people.admin.post(phases, json={"name": "Main"}), 409, "phase_name_taken")
    require_refused(people.admin.patch(f"{phases}/final", json={"name": "Main"}), 409, "phase_name_taken")
    again = people.admin.patch(f"{phases}/development-phase", json={"name": "Main"}).json()
    assert again["slug"] == "main"
    require_renamed(people.visitor.get(f"{phases}/development-phase"), f"{phases}/main")


def test_a_repetition_through_a_former_slug_returns_the_first_submission(people: People) -> None:
    slug = create_challenge(people.admin, "repeat")
    blue = people["Blue"].join(slug, "Blue")
    key = {"Idempotency-Key": "once"}
    first = blue.post(f"/challenges/{slug}/phases/main/submissions", json=CORRECT_PREDICTIONS, headers=key)
    new = rename(people.admin, slug)
    people.admin.patch(f"/challenges/{new}/phases/main", json={"name": "Development"})
    again = blue.post(f"/challenges/{slug}/phases/main/submissions", json=CORRECT_PREDICTIONS, headers=key)
    for _ in range(2):
        assert again.status_code == 308
        again = blue.post(again.headers["location"].removeprefix("/api/v1"), json=CORRECT_PREDICTIONS, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert len(blue.get(f"/challenges/{new}/phases/development/submissions").json()["items"]) == 1


def test_the_order_of_phases_names_each_once(people: People) -> None:
    slug = create_without_gold(people.admin, "order", phases=[{"name": name} for name in ("one", "two", "three")])
    for wrong in (["one"], ["one", "two", "two"], ["one", "two", "three", "four"], []):
        answer = people.admin.patch(f"/challenges/{slug}", json={"phase_order": wrong})
        assert require_refused(answer, 422, "invalid_request")["errors"][0]["pointer"] == "/phase_order"
    ordered = people.admin.patch(f"/challenges/{slug}", json={"phase_order": ["three", "one", "two"]}).json()
    assert [phase["slug"] for phase in ordered["phases"]] == ["three", "one", "two"]
    listed = people.visitor.get(f"/challenges/{slug}/phases").json()["items"]
    assert [phase["slug"] for phase in listed] == ["three", "one", "two"]


def test_the_client_follows_with_its_token_and_file_to_the_same_service_alone(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "client")
    people["Blue"].join(slug, "Blue")
    new = rename(people.admin, slug)
    token = people["Blue"].headers["Authorization"].removeprefix("Bearer ")
    file = write_file(tmp_path / "mine.json", CORRECT_PREDICTIONS)
    with Client(people.live.url, token) as client:
        assert client.challenge(slug)["slug"] == new
        assert client.submit(slug, file, phase="main", wait=60)["status"] == "finished"
        elsewhere = httpx.Response(308, headers={"Location": "http://127.0.0.2:1/api/v1/x"})
        elsewhere.request = httpx.Request("GET", people.live.url)
        with pytest.raises(ClientError, match=r"another service, http://127\.0\.0\.2:1"):
            client._new_path(elsewhere)


def test_the_command_line_adds_edits_renames_and_orders(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "commands", timezone="Europe/Berlin")
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    file = write_file(tmp_path / "phase.yaml", "classes: [x, y]\nreports: [scores, confusion]\n")
    added = run_assay(
        *("phase", "add", slug, "Final Test", "-f", file, "--opens", "2027-03-01T12:00"),
        *("--closes", "2027-03-08 AoE", "--total", 5, "--late", "unofficial", "--json", *service),
    ).value()
    assert (added["opens_at"], added["closes_at"]) == ("2027-03-01T11:00:00Z", "2027-03-09T12:00:00Z")
    assert added["opens_at_local"] == "2027-03-01T12:00:00+01:00"
    assert (added["classes"], added["quota"]["total"], added["late"]) == (["x", "y"], 5, "unofficial")
    edited = run_assay(
        *("phase", "edit", slug, "--phase", "final-test", "--per-day", 2, "--total", "none"),
        *("--closes", "never", "--json", *service),
    ).value()
    assert (edited["quota"]["per_day"], edited["quota"]["total"], edited["closes_at"]) == (2, None, None)
    shown = run_assay("phase", "show", slug, "--phase", "final-test", *service).out
    assert "opens: 2027-03-01 11:00:00 UTC (12:00:00 Europe/Berlin)" in shown
    gap = run_assay("phase", "edit", slug, "--phase", "final-test", "--opens", "2027-03-28T02:30", *service)
    assert (gap.status, "does not exist in Europe/Berlin" in gap.err) == (1, True)
    assert "its slug is test" in run_assay("phase", "rename", slug, "Test", "--phase", "final-test", *service).out
    ordered = run_assay("phase", "order", slug, "test", "main", "--json", *service).value()
    assert [phase["slug"] for phase in ordered] == ["test", "main"]
    new = new_slug("renamed")
    assert f"is {new} now" in run_assay("challenge", "rename", slug, new, *service).out
    assert run_assay("challenge", "show", slug, "--json", *service).value()["slug"] == new
    moved = run_assay("phase", "show", slug, "--phase", "final-test", "--json", *service).value()
    assert moved["slug"] == "test"


def test_a_change_of_the_zone_moves_no_stored_time(people: People) -> None:
    phases = [{"name": "main", "opens_at": "2027-03-01T12:00", "closes_at": "2027-03-01 AoE"}]
    slug = new_slug("zone")
    body: dict[str, Any] = {"slug": slug, "title": "Z", "task": "multiclass", "phases": phases}
    body["timezone"] = "America/New_York"
    body |= {"recipe": {"primary": "accuracy", "metrics": ["accuracy"]}, "merge_deadline": "2027-02-01T00:00"}
    created = people.admin.post("/challenges", json=body)
    assert created.status_code == 201, created.text
    made = created.json()
    assert made["merge_deadline"] == "2027-02-01T05:00:00Z"
    before = made["phases"][0]
    assert (before["opens_at"], before["opens_at_local"]) == ("2027-03-01T17:00:00Z", "2027-03-01T12:00:00-05:00")
    after = people.admin.patch(f"/challenges/{slug}", json={"timezone": "Asia/Tokyo"}).json()["phases"][0]
    assert (after["opens_at"], after["closes_at"]) == (before["opens_at"], before["closes_at"])
    assert after["opens_at_local"] == "2027-03-02T02:00:00+09:00"
    wrong = [{"name": "a", "opens_at": "2027-03-14T02:30"}, {"name": "b", "closes_at": "2027-11-07T01:30"}]
    answer = people.admin.post("/challenges", json=body | {"slug": new_slug("gap"), "phases": wrong})
    faults = require_refused(answer, 422, "invalid_request")["errors"]
    assert [fault["pointer"] for fault in faults] == ["/phases/0/opens_at", "/phases/1/closes_at"]
