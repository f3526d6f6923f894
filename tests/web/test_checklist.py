"""The checklist tells organizers what is not ready, and where each point is mended."""

from typing import Any

import pytest

from app import errors
from app.actions import access
from app.actions.access import Caller as ActionCaller
from app.api.dependencies import AppState
from app.web.checklist import ChecklistItem, challenge_checklist
from tests.api.in_process_app import ServedApp

ADMIN = ActionCaller("unknown", admin=True, scopes=frozenset({"admin"}))
RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}


def checklist(app: ServedApp, slug: str) -> list[ChecklistItem]:
    state: AppState = app.app.state.service
    with state.db.read() as session:
        return challenge_checklist(session, ADMIN, slug, signup="open")


def create(app: ServedApp, slug: str, **fields: Any) -> None:
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": RECIPE, **fields}
    app.admin().post("/challenges", json=body).raise_for_status()


def test_a_new_draft_lists_everything_that_is_missing_with_the_page_that_mends_it(app: ServedApp) -> None:
    create(app, "draft", draft=True, recipe={"primary": "log_loss", "metrics": ["log_loss"]})
    found = {item.point.kind: item for item in checklist(app, "draft")}
    assert set(found) == {"draft", "gold", "description", "contact", "no_close", "quota", "inference", "accounts"}
    assert {kind for kind, item in found.items() if item.is_blocking} == {"draft", "gold"}
    assert found["gold"].path == "/challenges/draft/organize/phases/main/gold"
    assert found["draft"].path == "/challenges/draft/organize#publish"
    assert "log_loss" in found["inference"].detail


def test_a_finished_challenge_has_an_empty_checklist(app: ServedApp) -> None:
    phase = {"name": "main", "closes_at": "2090-01-01T00:00:00Z", "quota": {"per_day": 1}}
    ready = {"description": "Which animal?", "contact": "ada@example.org", "registration": "approval"}
    create(app, "ready", phases=[phase], **ready)
    assert [item.point.kind for item in checklist(app, "ready")] == ["gold"]
    gold = [{"id": "a", "label": "x"}, {"id": "b", "label": "y"}]
    app.admin().post("/challenges/ready/phases/main/gold", json=gold).raise_for_status()
    assert [item.point.kind for item in checklist(app, "ready")] == ["gold_inactive"]
    app.admin().post("/challenges/ready/phases/main/gold/1/activate").raise_for_status()
    assert checklist(app, "ready") == []


def test_a_board_after_a_close_that_never_comes_is_a_blocking_point(app: ServedApp) -> None:
    create(app, "never", phases=[{"name": "main", "leaderboard": "after_close"}])
    found = {item.point.kind: item for item in checklist(app, "never")}
    assert found["hidden_forever"].is_blocking
    assert "no_close" not in found


def test_scores_beside_a_ladder_against_the_same_gold_are_a_point(app: ServedApp) -> None:
    phases: list[dict[str, Any]] = [
        {"name": "main"},
        {"name": "dev", "recipe": RECIPE},
        {"name": "other", "recipe": RECIPE},
    ]
    create(app, "beside", recipe=RECIPE | {"ladder": {"step": 0.1}}, phases=phases)
    for phase, first, second in (("main", "x", "y"), ("dev", "x", "y"), ("other", "y", "x")):
        gold = [{"id": "a", "label": first}, {"id": "b", "label": second}]
        path = f"/challenges/beside/phases/{phase}/gold"
        app.admin().post(path, params={"activate": "true"}, json=gold).raise_for_status()
    found = [item for item in checklist(app, "beside") if item.point.kind == "ladder"]
    assert [item.path for item in found] == ["/challenges/beside/organize/phases/dev"]
    assert "Phase 'dev' shows scores against the same gold as phase 'main'" in found[0].detail
    app.admin().delete("/challenges/beside/recipe", params={"phase": "dev"}).raise_for_status()
    assert not [item for item in checklist(app, "beside") if item.point.kind == "ladder"]


def test_the_checklist_is_for_organizers(app: ServedApp) -> None:
    state: AppState = app.app.state.service
    with state.db.read() as session, pytest.raises(errors.Unauthorized):
        challenge_checklist(session, access.VISITOR, "digits", signup="open")
