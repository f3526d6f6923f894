"""Hierarchies and folds of real data sets go through as JSON bodies; beyond their limit, and from others, they do not."""

from collections.abc import Iterator

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app

PATH = "/challenges/large/phases/main/gold/1"
MAX = 4 << 20


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("large") / "data", max_accessory=MAX)) as running:
        body = {"slug": "large", "title": "T", "task": "multiclass", "recipe": {"primary": "accuracy"}}
        assert running.admin().post("/challenges", json=body).status_code == 201
        gold = [{"id": f"instance-{at:08}", "label": "ab"[at % 2]} for at in range(60_000)]
        assert running.admin().post("/challenges/large/phases/main/gold", json=gold).status_code == 201
        yield running


@pytest.mark.ci
def test_folds_of_sixty_thousand_and_a_hierarchy_of_thirty_thousand(app: ServedApp) -> None:
    folds = {f"instance-{at:08}": str(at % 10) for at in range(60_000)}
    nodes = {f"a heading of some length {at}": [f"a heading of some length {at // 8}"] for at in range(1, 30_000)}
    for name, body in (
        ("folds", folds),
        ("hierarchy", {"parents": nodes | {key: ["a heading of some length 9"] for key in "ab"}}),
    ):
        answer = app.admin().put(f"{PATH}/{name}", json=body)
        assert answer.status_code == 200, answer.text
        assert int(answer.request.headers["content-length"]) > 1 << 20
        assert name in answer.json()["accessories"]


def test_larger_ones_are_refused(app: ServedApp) -> None:
    answer = app.admin().put(f"{PATH}/groups", json={"x": "y" * MAX})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert str(MAX) in answer.json()["detail"]
    assert "ASSAY_MAX_ACCESSORY" in answer.json()["remedy"]


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("assay_none.such", 401)])
def test_others_may_not_send_much(app: ServedApp, token: str | None, status: int) -> None:
    assert app.caller(token).put(f"{PATH}/groups", json={"x": "y" * (2 << 20)}).status_code == status
