"""Promises of the interface that belong to no single journey."""

import pytest

from tests.live_service import Caller, Live, open_challenge

GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]


def collected(who: Caller, path: str, limit: int) -> list[dict[str, object]]:
    """All rows of a list, read page by page."""
    rows: list[dict[str, object]] = []
    cursor: str | None = None
    for _ in range(300):
        page = who.get(path, params={"limit": limit} | ({"cursor": cursor} if cursor else {})).json()
        assert len(page["items"]) <= limit
        rows += page["items"]
        cursor = page["next"]
        if cursor is None:
            return rows
    raise AssertionError("the list does not end")


def test_every_list_pages_by_cursor(live: Live) -> None:
    admin = live.admin()
    open_challenge(admin, "paged", GOLD, phases=[{"name": f"phase {number}"} for number in range(3)])
    owner = live.person("Owner")
    admin.post("/challenges/paged/organizers", json={"email": owner.email, "role": "editor"}).raise_for_status()
    catalogue = collected(admin, "/metrics", 200)
    assert collected(admin, "/metrics", 7) == catalogue
    assert len(catalogue) >= 80
    for path, least in (
        ("/challenges/paged/phases", 3),
        ("/challenges/paged/organizers", 2),
        ("/challenges/paged/phases/phase-1/gold", 1),
    ):
        whole = admin.get(path, params={"limit": 200}).json()
        assert whole["next"] is None
        assert len(whole["items"]) >= least
        assert collected(admin, path, 1) == whole["items"]
        assert admin.get(path, params={"cursor": "nowhere"}).json()["code"] == "bad_cursor"
    assert len(collected(owner, "/tokens", 1)) == 1


def test_declared_classes_bind_every_phase_and_without_them_each_phase_has_its_own(live: Live) -> None:
    admin = live.admin()
    body = {"slug": "binding", "title": "t", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    phases = [{"name": "one"}, {"name": "two"}]
    assert admin.post("/challenges", json=body | {"phases": phases}).json()["classes"] is None
    gold = "/challenges/binding/phases/{}/gold"
    other = admin.post(gold.format("two"), json=[{"id": "a", "label": "cow"}]).json()["version"]
    admin.post(gold.format("one"), json=GOLD, params={"activate": "true"}).raise_for_status()
    assert admin.post(gold.format("two") + f"/{other}/activate").json()["classes"] == ["cow"]
    seen = live.caller().get("/challenges/binding").json()
    assert (seen["classes"], [phase["classes"] for phase in seen["phases"]]) == (None, [["cat", "dog"], ["cow"]])
    admin.patch("/challenges/binding", json={"classes": ["cat", "dog"]}).raise_for_status()
    refused = admin.post(gold.format("two") + f"/{other}/activate")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_gold")
    late = admin.post(gold.format("two"), json=[{"id": "a", "label": "dog"}], params={"activate": "true"})
    assert late.json()["classes"] == ["cat", "dog"]


UNFIT: tuple[tuple[object, str], ...] = (
    ("zz", "/recipe/decision"),
    ({"rule": "top_k", "k": 3}, "/recipe/decision"),
    ({"argmax": 1}, "/recipe/decision"),
    ({"rule": "threshold", "threshold": "high"}, "/recipe/decision/threshold"),
    ({"rule": "argmax", "k": 1}, "/recipe/decision/k"),
)


def test_a_decision_must_be_a_rule_that_fits_and_is_kept(live: Live) -> None:
    admin = live.admin()
    body = {"slug": "deciding", "title": "t", "task": "multiclass"}
    for decision, pointer in UNFIT:
        answer = admin.post("/challenges", json=body | {"recipe": {"primary": "accuracy", "decision": decision}})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == pointer
    sound: tuple[object, ...] = ("argmax", {"rule": "threshold", "threshold": 0.4, "strict": True}, None)
    for number, decision in enumerate(sound):
        body["slug"] = f"decided-{number}"
        answer = admin.post("/challenges", json=body | {"recipe": {"primary": "accuracy", "decision": decision}})
        assert answer.json()["recipe"]["decision"] == decision


def test_a_metric_is_listed_once_under_whatever_name(live: Live) -> None:
    recipe = {"primary": "accuracy", "metrics": ["f1_macro", "f_beta_macro:beta=1"]}
    answer = live.admin().post("/challenges", json={"slug": "s", "title": "t", "task": "multiclass", "recipe": recipe})
    assert answer.json()["errors"] == [
        {
            "pointer": "/recipe/metrics/1",
            "detail": "'f_beta_macro:beta=1' is the same metric as 'f1_macro'; call it by one name.",
        }
    ]


@pytest.mark.parametrize(
    ("options", "predictions", "note"),
    [
        ({"unknown_label": "drop"}, {"t1": "cow", "t2": "dog"}, "1 label outside the vocabulary was dropped"),
        ({"unknown_label": "count_as_fp"}, {"t1": "cow", "t2": "dog"}, "1 label outside the vocabulary was counted"),
        ({"missing": "empty_prediction"}, {"t2": "dog"}, "1 instance without a prediction counts as empty"),
    ],
)
def test_what_a_convention_lets_pass_is_said(
    live: Live, options: dict[str, str], predictions: dict[str, str], note: str
) -> None:
    slug = f"notes-{'-'.join(options.values()).replace('_', '-')}"
    open_challenge(live.admin(), slug, GOLD, classes=["cat", "dog"], recipe={"primary": "accuracy", "options": options})
    found = live.admin().submit(slug, predictions, team="T").json()
    assert found["status"] == "finished"
    assert any(note in each for each in found["notes"])
