"""Gold with unknown cells on the service: agreed before it is in force, scored, and known to organizers alone."""

import re

from tests.journeys.support import (
    GOLD as ONE_LABEL_GOLD,
)
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    metric_values,
    new_slug,
    require_finished,
    require_refused,
    submit_for_teams,
)

GOLD = [{"id": "t1", "labels": ["a"]}, {"id": "t2", "labels": ["b"]}, {"id": "t3", "labels": ["a", "c"]}]
CELLS = {"t1": ["b"], "t2": ["a", "c"]}
SENT = {"t1": ["a", "b"], "t2": ["b", "a"], "t3": ["a"]}
OTHER = {"t1": ["a"], "t2": ["b", "c"], "t3": ["a"]}
SKIP = {"unknown_cells": "skip"}


def sets(people: People, stem: str, *others: str, options: dict[str, str] | None = None) -> tuple[str, str]:
    """A multi-label challenge with a draft of the gold that leaves cells open, and the path of its gold."""
    recipe = make_recipe("f1_macro", "hamming_loss", *others, options=options or {})
    slug = new_slug(stem)
    body = {"slug": slug, "title": "Sets", "task": "multilabel", "recipe": recipe, "classes": ["a", "b", "c"]}
    assert people.admin.post("/challenges", json=body).status_code == 201
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    draft = people.admin.post(gold, json=GOLD)
    assert draft.status_code == 201, draft.text
    stored = people.admin.put(f"{gold}/1/unknown-cells", json=CELLS)
    assert stored.status_code == 200, stored.text
    assert stored.json()["accessories"] == ["unknown_cells"]
    return slug, gold


def test_unknown_cells_count_nowhere(people: People) -> None:
    slug, gold = sets(people, "unknown-cells", "levenshtein", options=SKIP)
    remarks = people.admin.post(f"{gold}/1/activate").json()["remarks"]
    assert "levenshtein will be null: not defined for gold with unknown cells." in remarks
    first, second = submit_for_teams(people.admin, slug, [("Blue", SENT), ("Green", OTHER)])
    values = metric_values(people.admin.get(f"/submissions/{first}").json()["scores"])
    # known cells: a of t1 and t3, b of t2 and t3, c of t1 and t3; only c of t3 is wrong
    assert values == {"f1_macro": 2 / 3, "hamming_loss": 1 / 6, "levenshtein": None}
    assert metric_values(people.admin.get(f"/submissions/{second}").json()["scores"]) == values


def test_a_recipe_that_says_nothing_of_unknown_cells_is_refused_with_them(people: People) -> None:
    slug, gold = sets(people, "unknown-refused")
    refused = require_refused(people.admin.post(f"{gold}/1/activate"), 422, "invalid_recipe")
    assert "unknown_cells=skip" in refused["remedy"]
    recipe = make_recipe("f1_macro", "hamming_loss", options=SKIP)
    assert people.admin.put(f"/challenges/{slug}/recipe", json=recipe).status_code == 200
    assert people.admin.post(f"{gold}/1/activate").status_code == 201
    for body in (make_recipe("f1_macro"), make_recipe("levenshtein", options=SKIP)):
        require_refused(people.admin.put(f"/challenges/{slug}/recipe", json=body), 422, "invalid_recipe")
        require_refused(people.admin.post(f"/challenges/{slug}/recipe/check", json=body), 422, "invalid_recipe")


def test_cells_that_do_not_fit_the_gold_are_refused(people: People) -> None:
    _, gold = sets(people, "unknown-faults", options=SKIP)
    for cells, code, says in (
        ({"t1": ["a"]}, "invalid_gold", "'a' of 't1'"),
        ({"t9": ["a"]}, "invalid_gold", "t9"),
        ({"t1": ["z"]}, "invalid_request", "'z'"),
        ({"t1": ["b", "b"]}, "invalid_request", "twice"),
    ):
        refused = require_refused(people.admin.put(f"{gold}/1/unknown-cells", json=cells), 422, code)
        assert says in refused["detail"], refused
    single = create_challenge(people.admin, "unknown-single")
    path = f"{MAIN_PHASE_PATH.format(single)}/gold"
    draft = people.admin.post(path, json=ONE_LABEL_GOLD).json()["version"]
    refused = require_refused(
        people.admin.put(f"{path}/{draft}/unknown-cells", json={"t1": ["b"]}), 422, "invalid_gold"
    )
    assert "multi-label" in refused["detail"]


def test_participants_do_not_learn_which_cells_are_unknown(people: People) -> None:
    """Two golds that differ in unknown cells alone give the same answers, to a file that both score alike."""
    ada, answers = people["ada"], []
    for cells in (CELLS, {"t1": ["c"], "t2": ["a", "c"]}):
        slug, gold = sets(people, "unknown-secret", options=SKIP)
        assert people.admin.put(f"{gold}/1/unknown-cells", json=cells).status_code == 200
        assert people.admin.post(f"{gold}/1/activate").status_code == 201
        assert ada.post(f"/challenges/{slug}/registrations", json={"team": "Blue"}).status_code == 201
        phase = MAIN_PHASE_PATH.format(slug)
        sent = require_finished(ada.submit(slug, {"t1": ["a"], "t2": ["b"], "t3": ["a", "c"]}))
        found = [ada.get(path) for path in (phase, f"{phase}/template", f"/challenges/{slug}", f"{phase}/leaderboard")]
        found += [ada.submit(slug, SENT, dry_run="true"), ada.get(f"/submissions/{sent['id']}")]
        assert ada.get(gold).status_code == ada.get(f"{gold}/1").status_code == 403
        answers.append([_without_names(answer.text, slug) for answer in found])
    assert answers[0] == answers[1]
    assert "unknown_cells" in answers[0][2], "the recipe says how unknown cells count"


def _without_names(text: str, slug: str) -> str:
    """An answer without what differs between any two challenges: ids, times, durations and the slug."""
    text = re.sub(r"[0-9a-f]{32,64}|\d{4}-\d\d-\d\dT[0-9:.]+Z?", "·", text)
    text = re.sub(r'("seconds_[a-z]+":)[0-9.]+', r"\1·", text)
    return text.replace(slug, "SLUG")
