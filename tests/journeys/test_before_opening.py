"""Before a phase opens, its ids and the labels of its gold are for the organizers alone."""

from typing import Any

from app.formats.templates.build_template import TEMPLATES
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    SUBMIT_MODES,
    People,
    create_challenge,
    make_recipe,
    new_slug,
    require_finished,
    require_refused,
)

LATER = "2090-01-01T00:00:00Z"
FUTURE: list[dict[str, Any]] = [{"name": "main", "opens_at": LATER}]


def classes_shown(people: People, slug: str, phase: str = "main") -> list[Any]:
    """The vocabulary as visitors find it: of the phase alone, in both lists of phases."""
    whole = people.visitor.get(f"/challenges/{slug}").json()
    alone = people.visitor.get(f"/challenges/{slug}/phases/{phase}").json()
    listed = people.visitor.get(f"/challenges/{slug}/phases").json()["items"]
    of_phase = [each["classes"] for each in [*whole["phases"], *listed] if each["slug"] == phase]
    return [alone["classes"], *of_phase]


def test_no_template_tells_the_ids_before_the_opening(people: People) -> None:
    slug = create_challenge(people.admin, "early-template", phases=FUTURE)
    template, blue = f"{MAIN_PHASE_PATH.format(slug)}/template", people["Blue"].join(slug, "Blue")
    asked = [{"format": form, "values": "scores"} for form in TEMPLATES]
    for query in asked:
        assert people.admin.get(template, params=query).status_code == 200
        for who in (people.visitor, blue):  # it is made by now, and still not theirs
            body = require_refused(who.get(template, params=query), 409, "no_open_phase")
            assert body["opens_at"] == LATER
            assert "t1" not in str(body)
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"opens_at": None}).raise_for_status()
    assert {people.visitor.get(template, params=query).status_code for query in asked} == {200}


def test_a_closed_phase_shows_its_template_still(people: People) -> None:
    closed = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-01-02T00:00:00Z"}
    slug = create_challenge(people.admin, "late-template", phases=[closed])
    assert people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template").status_code == 200


def test_a_phase_that_is_to_open_does_not_tell_whether_it_has_gold(people: People) -> None:
    body = {"title": "x", "task": "multiclass", "recipe": make_recipe("accuracy"), "phases": FUTURE}
    slug = new_slug("early-bare")
    people.admin.post("/challenges", json=body | {"slug": slug}).raise_for_status()
    without = people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template")
    people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", params={"activate": "true"}, json=GOLD).raise_for_status()
    assert people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template").content == without.content


def test_labels_that_gold_named_are_public_from_the_opening_on(people: People) -> None:
    slug = create_challenge(people.admin, "early-classes", phases=FUTURE)
    assert classes_shown(people, slug) == [None] * 3
    blue = people["Blue"].join(slug, "Blue")
    assert blue.get(MAIN_PHASE_PATH.format(slug)).json()["classes"] is None
    assert people.admin.get(MAIN_PHASE_PATH.format(slug)).json()["classes"] == ["a", "b"]
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"opens_at": None}).raise_for_status()
    assert classes_shown(people, slug) == [["a", "b"]] * 3


def test_classes_that_a_phase_declares_are_public_from_its_opening_on(people: People) -> None:
    phases = [{"name": "main"}, {"name": "later", "opens_at": "2999-01-01T00:00:00Z", "classes": ["veiled", "masked"]}]
    slug = create_challenge(people.admin, "own-classes", phases=[phases[0]])
    path = f"/challenges/{slug}/phases/later"
    made = people.admin.post(f"/challenges/{slug}/phases", json=phases[1])
    assert made.json()["classes"] == ["veiled", "masked"]
    for caller in (people.visitor, people["Blue"].join(slug, "Blue")):
        for page in (path, f"/challenges/{slug}", f"/challenges/{slug}/phases", f"/challenges/{slug}/recipe"):
            answer = caller.get(page)
            assert answer.status_code == 200
            assert "veiled" not in answer.text
        assert caller.get(path).json()["classes"] is None
    assert people.admin.patch(path, json={"opens_at": None}).is_success
    assert people.visitor.get(path).json()["classes"] == ["veiled", "masked"]


def test_declared_classes_are_public_at_once(people: People) -> None:
    slug = create_challenge(people.admin, "early-declared", phases=FUTURE, classes=["b", "a", "c"])
    assert classes_shown(people, slug) == [["b", "a", "c"]] * 3


def test_what_an_open_phase_shows_says_nothing_of_one_that_is_to_open(people: People) -> None:
    phases = [{"name": "now", "opens_at": "2020-01-01T00:00:00Z"}, {"name": "later", "opens_at": LATER}]
    slug = create_challenge(people.admin, "early-second", phases=phases)
    assert classes_shown(people, slug, "now") == [["a", "b"]] * 3
    require_refused(people.visitor.get(f"/challenges/{slug}/phases/later/template"), 409, "no_open_phase")
    blue = people["Blue"].join(slug, "Blue")
    for query in SUBMIT_MODES:
        body = require_refused(blue.submit(slug, CORRECT_PREDICTIONS, phase="later", **query), 409, "no_open_phase")
        assert "missing" not in str(body)
        assert body["detail"] == f"The phase 'later' has not opened yet; it opens at {LATER}."
    assert people.admin.patch(f"/challenges/{slug}/phases/now", json={"closes_at": "2021-01-01T00:00:00Z"}).is_success
    body = require_refused(blue.post(f"/challenges/{slug}/submissions", json=CORRECT_PREDICTIONS), 409, "no_open_phase")
    assert (body["opens_at"], "'later' opens next" in body["detail"]) == (LATER, True)


def test_a_team_reads_no_report_before_the_opening(people: People) -> None:
    phase = FUTURE[0] | {"reports": ["scores", "per_class", "confusion"]}
    slug = create_challenge(people.admin, "early-report", phases=[phase])
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Blue"))["id"]
    require_refused(blue.get(f"/submissions/{sent}/report"), 403, "forbidden")
    assert people.admin.get(f"/submissions/{sent}/report").status_code == 200
    seen = blue.get(f"/submissions/{sent}")
    assert (seen.status_code, seen.json()["problems"]) == (200, [])
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"opens_at": None}).raise_for_status()
    own = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    assert "per_class" in blue.get(f"/submissions/{own}/report").json()
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"opens_at": phase["opens_at"]}).raise_for_status()
    require_refused(blue.get(f"/submissions/{own}/report"), 409, "no_open_phase")
