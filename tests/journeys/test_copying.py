"""Copies of challenges: a draft with the rules, the gold if asked for, and nobody in it."""

from typing import Any

import httpx
import pytest

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    new_slug,
    require_finished,
    require_refused,
)
from tests.live_service import Caller, Live

LATER = "2090-03-01T12:00:00Z"
RULES: dict[str, Any] = {
    "title": "Pets",
    "description": "Which animal is it?",
    "timezone": "Europe/Berlin",
    "registration": "approval",
    "team_size_limit": 3,
    "merge_deadline": "2089-01-01T00:00:00Z",
    "contact": "https://pets.example/forum",
    "terms": "Be fair.",
    "registration_fields": [{"name": "affiliation", "label": "Affiliation", "required": True}],
    "phases": [
        {
            "name": "Development set",
            "opens_at": "2088-01-01T12:00",
            "closes_at": "2088-03-01T12:00",
            "quota": {"per_day": 3},
            "late": "unofficial",
            "reports": ["scores", "confusion"],
        },
        {
            "name": "Test",
            "opens_at": "2088-03-01T12:00",
            "closes_at": "2088-07-01T12:00",
            "quota": {"total": 2},
            "leaderboard": "after_close",
            "anonymous": True,
            "recipe": {"primary": "accuracy", "metrics": ["accuracy"], "disclosure": {"digits": 3}},
        },
    ],
}
OF_THE_COPY = {"slug", "created_at", "status", "warnings"}


def copy(who: Caller, source: str, **body: Any) -> httpx.Response:
    return who.post(f"/challenges/{source}/copy", json={"slug": new_slug(f"{source}-copy"), **body})


def copied(who: Caller, slug: str, **body: Any) -> dict[str, Any]:
    answer = copy(who, slug, **body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def without(challenge: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in challenge.items() if name not in {*OF_THE_COPY, *names}}


def test_a_copy_is_a_draft_with_the_same_rules_and_nothing_else(people: People) -> None:
    slug = create_challenge(people.admin, "original", **RULES)
    people.admin.patch(f"/challenges/{slug}/phases/test", json={"name": "Final test"}).raise_for_status()
    people.admin.post(f"/challenges/{slug}/announcements", json={"title": "News"}).raise_for_status()
    files = {"name": "train.csv", "licence": "CC0"}
    people.admin.post(f"/challenges/{slug}/files", params=files, content=b"x").raise_for_status()
    people["Blue"].post(
        f"/challenges/{slug}/registrations", json={"team": "Blue", "terms": 1, "fields": {"affiliation": "X"}}
    ).raise_for_status()
    original = people.admin.get(f"/challenges/{slug}").json()
    made = copied(people.admin, slug)
    assert (made["status"], made["title"], made["terms_version"]) == ("draft", "Pets", 1)
    varying = ("recipe", "phases")  # what scores disclose depends on the gold
    assert without(made, *varying) == without(original, *varying)
    # classes that nobody declared come from gold, which was not copied
    assert [without(phase, "classes") for phase in made["phases"]] == [
        without(phase, "classes") for phase in original["phases"]
    ]
    for phase in (None, "final-test"):
        path = "/challenges/{}/recipe" + ("" if phase is None else f"?phase={phase}")
        mine, theirs = (people.admin.get(path.format(each)).json() for each in (made["slug"], slug))
        assert without(mine, "inference", "version") == without(theirs, "inference", "version")
    for noun in ("teams", "registrations", "announcements", "files", "phases/final-test/gold"):
        assert people.admin.get(f"/challenges/{made['slug']}/{noun}").json()["items"] == [], noun
    require_refused(people.visitor.get(f"/challenges/{made['slug']}"), 404, "not_found")
    require_refused(people.admin.get(f"/challenges/{made['slug']}/phases/test"), 404, "not_found")


def test_all_windows_move_with_the_first_opening_in_local_time(people: People) -> None:
    slug = create_challenge(people.admin, "moved", **RULES)
    made = copied(people.admin, slug, title="Pets again", opens_at="2090-01-01T12:00")
    assert made["title"] == "Pets again"
    windows = [(phase["opens_at_local"], phase["closes_at_local"]) for phase in made["phases"]]
    assert windows == [  # 2088 is a leap year, 2090 is not; the last close is in summer
        ("2090-01-01T12:00:00+01:00", "2090-03-02T12:00:00+01:00"),
        ("2090-03-02T12:00:00+01:00", "2090-07-02T12:00:00+02:00"),
    ]
    assert made["merge_deadline_local"] == "2091-01-02T01:00:00+01:00"  # 731 days later, as everything else


def test_a_phase_that_has_closed_opens_in_the_copy_and_the_answer_says_so(people: People) -> None:
    past = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
    slug = create_challenge(people.admin, "closed-original", phases=[past], merge_deadline="2020-01-15T00:00:00Z")
    made = copied(people.admin, slug)
    assert (made["phases"][0]["open"], made["phases"][0]["closes_at"], made["merge_deadline"]) == (True, None, None)
    assert "closed at 2020-02-01T00:00:00Z" in made["warnings"][0]
    assert "deadline for merges has passed" in made["warnings"][1]
    assert any("no quota" in warning for warning in made["warnings"])
    moved = copied(people.admin, slug, opens_at=LATER)
    assert moved["phases"][0]["closes_at"] == "2090-04-01T12:00:00Z"
    faults = require_refused(copy(people.admin, slug, opens_at="9999-12-31T12:00:00Z"), 422, "invalid_request")
    assert faults["errors"][0]["pointer"] == "/opens_at"
    gap = create_challenge(people.admin, "gap-original", **RULES)
    require_refused(copy(people.admin, gap, opens_at="2090-03-26T02:30"), 422, "invalid_request")


def test_copied_gold_is_active_and_independent_of_the_original(people: People, live: Live) -> None:
    slug = create_challenge(people.admin, "gold-original")
    before = set((live.data_dir / "files" / "uploads").iterdir())
    made = copied(people.admin, slug, gold=True)["slug"]
    assert len(set((live.data_dir / "files" / "uploads").iterdir()) - before) == 1
    versions = people.admin.get(f"/challenges/{made}/phases/main/gold").json()["items"]
    assert [(each["version"], each["status"]) for each in versions] == [(1, "active")]
    assert people.admin.get(f"/challenges/{made}/phases/main/gold/1/data").json() == GOLD
    assert people.admin.delete(f"/challenges/{slug}", params={"confirm": slug}).status_code == 204
    scored = require_finished(people.admin.submit(made, CORRECT_PREDICTIONS, test="true"))
    assert scored["scores"]["accuracy"]["value"] == 1.0


def test_whoever_could_read_the_gold_competes_in_neither(people: People) -> None:
    slug = create_challenge(people.admin, "line")
    editor, viewer, later = people["Editor"], people["Viewer"], people["Later"]
    for who, role in ((editor, "editor"), (viewer, "viewer")):
        body = {"email": who.email, "role": role}
        assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    people.admin.delete(f"/challenges/{slug}/organizers", params={"email": viewer.email}).raise_for_status()
    with_gold, without_gold = (copied(people.admin, slug, gold=gold)["slug"] for gold in (True, False))
    second = copied(people.admin, with_gold, gold=True)["slug"]
    for each in (with_gold, without_gold, second):
        people.admin.patch(f"/challenges/{each}", json={"draft": False}).raise_for_status()
    body = {"email": later.email, "role": "viewer"}
    assert people.admin.post(f"/challenges/{second}/organizers", json=body).status_code == 201

    def refused(who: Caller, each: str) -> None:
        answer = who.post(f"/challenges/{each}/registrations", json={"team": "E"})
        require_refused(answer, 403, "may_have_read_gold")

    for each in (slug, with_gold, second):
        for who in (editor, viewer, later):
            refused(who, each)
    editor.join(without_gold, "Editor")
    green = people["Green"].join(with_gold, "Green")
    answer = people.admin.post(f"/challenges/{second}/organizers", json={"email": green.email, "role": "viewer"})
    assert with_gold not in require_refused(answer, 409, "still_registered")["detail"]
    assert people.admin.delete(f"/challenges/{slug}", params={"confirm": slug}).status_code == 204
    for who in (editor, viewer):  # who read the gold of the original is remembered
        refused(who, with_gold)
        refused(who, second)


def test_slugs_of_others_now_and_before_are_taken(people: People) -> None:
    slug, other = create_challenge(people.admin, "taken-copy"), create_challenge(people.admin, "other-copy")
    former = other
    people.admin.patch(f"/challenges/{other}", json={"slug": f"{other}-new"}).raise_for_status()
    for taken in (slug, former, f"{other}-new"):
        require_refused(copy(people.admin, slug, slug=taken), 409, "slug_taken")
    require_refused(copy(people.admin, slug, slug="Not A Slug"), 422, "invalid_request")


def test_organizers_of_any_role_copy_where_they_may_create_challenges(
    people: People, creators: tuple[Live, Caller, Caller]
) -> None:
    live, approved, plain = creators
    slug = new_slug("policy")
    admin = live.admin()
    body = {
        "slug": slug,
        "title": "T",
        "task": "multiclass",
        "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
    }
    assert admin.post("/challenges", json=body).status_code == 201
    require_refused(copy(approved, slug), 403, "forbidden")
    for who in (approved, plain):
        role = {"email": who.email, "role": "viewer"}
        assert admin.post(f"/challenges/{slug}/organizers", json=role).status_code == 201
    require_refused(copy(plain, slug), 403, "forbidden")
    made = copied(approved, slug)["slug"]
    organizers = approved.get(f"/challenges/{made}/organizers").json()["items"]
    assert [(each["name"], each["role"]) for each in organizers] == [("Approved", "owner")]


@pytest.fixture(scope="module")
def creators(tmp_path_factory: pytest.TempPathFactory) -> Any:
    live = Live(tmp_path_factory.mktemp("copying") / "data", challenge_creation="approved").start()
    yield live, live.person("Approved", approved=True), live.person("Plain")
    live.stop()
