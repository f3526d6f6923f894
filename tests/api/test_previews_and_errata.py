"""Previews of other gold and recipes, and the errata of switches: who reads what of them, and when."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.store.queries import ranked_values
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import PASSWORD, Caller, open_challenge
from tests.settle import settle

N = 20
IDS = [f"t{number:02}" for number in range(2 * N)]
GOLD = [{"id": key, "label": "ab"[n % 2], "split": "public" if n < N else "private"} for n, key in enumerate(IDS)]
PHASE = {"name": "main", "opens_at": "2020-01-01T00:00:00Z"}
RECIPE: dict[str, Any] = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro"]}
MAIN = "/challenges/{}/phases/main"


def relabelled(count: int, drop: int = 0) -> list[dict[str, str]]:
    """The gold with the first labels of the public split turned round, and without its last instances."""
    turned = [row | {"label": "ab"[row["label"] == "a"]} for row in GOLD[:count]]
    return turned + GOLD[count : len(GOLD) - drop]


def answers(wrong: range) -> dict[str, str]:
    return {row["id"]: "ab"[row["label"] == "a"] if n in wrong else row["label"] for n, row in enumerate(GOLD)}


FOR_GREEN = [row | {"label": "ab"[row["label"] == "a"]} if 3 <= n < 8 else row for n, row in enumerate(GOLD)]
"""Gold in which Green was right all along."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("previews") / "data", background_pace=0.1)) as running:
        for name in ("Blue", "Green"):
            login = {"email": f"{name}@example.org", "password": PASSWORD}
            running.caller().post("/users", json=login | {"name": name}).raise_for_status()
        yield running


@pytest.fixture
def opened(app: ServedApp, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Opens a challenge of its own: Blue misses the first three instances, Green the fourth to the eighth."""

    def begin(recipe: dict[str, Any] = RECIPE, **phase: Any) -> str:
        slug = f"c{abs(hash(request.node.name)) % 10**9}"
        open_challenge(app.admin(), slug, GOLD, recipe=recipe, phases=[PHASE | phase])
        for name, wrong in (("Blue", range(3)), ("Green", range(3, 8))):
            assert person(app, name).join(slug, name).submit(slug, answers(wrong)).json()["status"] == "finished"
        return slug

    return begin


def person(app: ServedApp, name: str) -> Caller:
    login = {"email": f"{name}@example.org", "password": PASSWORD}
    return app.caller(app.caller().post("/tokens", json=login).json()["token"])


def computed(app: ServedApp, path: str) -> Any:
    """A preview that is started and awaited."""
    assert app.admin().post(path).status_code == 202
    settle(app)
    return app.admin().get(path).json()


def correct(app: ServedApp, slug: str, gold: list[dict[str, str]]) -> None:
    """Upload gold and activate it."""
    admin = app.admin()
    version = admin.post(f"{MAIN.format(slug)}/gold", json=gold).json()["version"]
    activate(app, slug, version)


def activate(app: ServedApp, slug: str, version: int, **order: Any) -> None:
    """Activate gold, and wait until the board has switched."""
    path = f"{MAIN.format(slug)}/gold/{version}"
    assert app.admin().post(f"{path}/activate", json={"reason": "Wrong labels."} | order).status_code == 202
    settle(app)
    assert app.admin().get(path).json()["status"] == "active"


def moves(part: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(row["team"]["name"], row["change"], row["move"]) for row in part["rows"]]


def test_a_preview_shows_both_boards_and_touches_none(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    settle(app)
    before = app.caller().board(slug).json()
    admin.post(f"{MAIN.format(slug)}/gold", json=relabelled(3, drop=1)).raise_for_status()
    path = f"{MAIN.format(slug)}/gold/2/preview"
    assert admin.get(path).status_code == 404
    found = computed(app, path)
    assert (found["status"], found["outdated"], found["progress"]["scored"]) == ("done", False, 2)
    assert (found["from"]["gold"], found["to"]["gold"]) == (1, 2)
    assert found["gold_changes"]["counts"]["relabelled"] == 3
    assert found["gold_changes"]["counts"]["voided"] == 1
    public, private = (found["result"]["splits"][split] for split in ("public", "private"))
    assert moves(public) == [("Blue", "same", 0), ("Green", "same", 0)]
    values = [[row[side]["scores"]["accuracy"]["value"] for side in ("before", "after")] for row in public["rows"]]
    assert values == [[0.85, 1.0], [0.75, 0.6]]
    assert [row["after"]["scores"]["accuracy"]["value"] for row in private["rows"]] == [1.0, 1.0]
    assert app.caller().board(slug).json() == before
    blue = person(app, "Blue")
    assert [who.get(path).status_code for who in (app.caller(), blue)] == [401, 403]
    assert [who.post(path).status_code for who in (app.caller(), blue)] == [401, 403]
    assert admin.post(f"{MAIN.format(slug)}/gold/1/preview").json()["code"] == "already_in_force"


def test_a_preview_is_outdated_once_the_board_changes(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    admin.post(f"{MAIN.format(slug)}/gold", json=relabelled(5)).raise_for_status()
    path = f"{MAIN.format(slug)}/gold/2/preview"
    computed(app, path)
    blue = person(app, "Blue")
    sent = blue.submit(slug, answers(range(0))).json()["id"]
    found = admin.get(path).json()
    assert (found["status"], found["outdated"]) == ("done", True)
    assert "Preview again" in found["remedy"]
    assert computed(app, path)["outdated"] is False
    blue.post(f"/submissions/{sent}/withdraw").raise_for_status()
    assert admin.get(path).json()["outdated"] is True
    assert admin.delete(f"{MAIN.format(slug)}/gold/2").status_code == 204
    assert admin.get(path).status_code == 404
    with app.app.state.service.db.read() as session:  # the scores of the preview went with it, and what counts them
        assert ranked_values.wrong_counts(session) == []


def test_a_recipe_is_previewed_in_every_phase_that_it_scores(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    admin.post(f"/challenges/{slug}/phases", json={"name": "second", "opens_at": "2020-01-01T00:00:00Z"})
    admin.post(f"/challenges/{slug}/phases/second/gold?activate=true", json=GOLD).raise_for_status()
    draft = admin.put(f"/challenges/{slug}/recipe", json=RECIPE | {"metrics": ["accuracy", "mcc"]}).json()
    assert draft["status"] == "draft"
    found = computed(app, f"/challenges/{slug}/recipe/{draft['version']}/preview")
    assert [each["phase"] for each in found["phases"]] == ["main", "second"]
    row = found["phases"][0]["result"]["splits"]["public"]["rows"][0]
    assert (sorted(row["before"]["scores"]), sorted(row["after"]["scores"])) == (
        ["accuracy", "f1_macro"],
        ["accuracy", "mcc"],
    )
    assert found["phases"][1]["result"]["splits"]["public"]["rows"] == []


def test_errata_show_what_moved_and_no_label(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    path = f"/challenges/{slug}/errata"
    assert app.caller().get(path).json()["items"] == []
    correct(app, slug, FOR_GREEN)
    erratum = app.caller().get(path).json()["items"][0]
    assert (erratum["reason"], erratum["from"]["gold"], erratum["to"]["gold"]) == ("Wrong labels.", 1, 2)
    assert erratum["gold_changes"]["counts"]["relabelled"] == 5
    assert (erratum["gold_changes"]["before"], erratum["instances"]) == (None, None)
    assert erratum["boards"].keys() == {"public"}
    assert moves(erratum["boards"]["public"]) == [("Green", "up", 1), ("Blue", "down", -1)]
    assert erratum["boards"]["public"]["leaders"]["changed"] is True
    seen = admin.get(path).json()["items"][0]
    assert seen["boards"].keys() == {"public", "private"}
    assert seen["gold_changes"]["before"] is not None
    assert seen["instances"]["relabelled"] == IDS[3:8]
    switch = f"{MAIN.format(slug)}/switches/2"
    assert app.caller().patch(switch, json={"lists_instances": True}).status_code == 401
    assert admin.patch(switch, json={"lists_instances": True}).json()["lists_instances"] is True
    assert app.caller().get(path).json()["items"][0]["instances"]["relabelled"] == IDS[3:8]
    activate(app, slug, 1, reason="They were right.", lists_instances=True)
    erratum, _ = app.caller().get(path).json()["items"]
    assert erratum["instances"]["relabelled"] == IDS[3:8]
    assert moves(erratum["boards"]["public"]) == [("Blue", "up", 1), ("Green", "down", -1)]


def test_a_change_of_selection_alone_has_an_erratum(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    person(app, "Blue").submit(slug, answers(range(12))).raise_for_status()
    admin.put(f"/challenges/{slug}/recipe", json=RECIPE | {"selection": "latest"}).raise_for_status()
    erratum = app.caller().get(f"/challenges/{slug}/errata").json()["items"][0]
    assert erratum["recipe_changes"]["changed"]["selection"] == {"before": "best", "after": "latest"}
    assert moves(erratum["boards"]["public"]) == [("Green", "up", 1), ("Blue", "down", -1)]


@pytest.mark.parametrize("leaderboard", ["hidden", "after_close"])
def test_ranks_of_a_hidden_board_are_withheld(app: ServedApp, opened: Callable[..., str], leaderboard: str) -> None:
    slug, admin = opened(leaderboard=leaderboard), app.admin()
    correct(app, slug, relabelled(5))
    erratum = app.caller().get(f"/challenges/{slug}/errata").json()["items"][0]
    assert (erratum["boards"], bool(erratum["withheld"]), erratum["reason"]) == ({}, True, "Wrong labels.")
    assert admin.get(f"/challenges/{slug}/errata").json()["items"][0]["boards"]


def test_an_anonymous_board_has_errata_without_names(app: ServedApp, opened: Callable[..., str]) -> None:
    slug = opened(anonymous=True)
    correct(app, slug, FOR_GREEN)
    answer = app.caller().get(f"/challenges/{slug}/errata")
    assert not any(name in answer.text for name in ("Blue", "Green"))
    rows = answer.json()["items"][0]["boards"]["public"]["rows"]
    board = app.caller().board(slug).json()["rows"]
    assert [row["team"]["name"] for row in rows] == [row["team"]["name"] for row in board]
    assert {row["before"]["submission"] for row in rows} == {None}
    own = person(app, "Blue").get(f"/challenges/{slug}/errata").json()["items"][0]["boards"]["public"]["rows"]
    assert [row["team"]["name"] for row in own if row["team"]["id"]] == ["Blue"]


def test_under_a_ladder_only_its_outputs_are_shown(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(recipe=RECIPE | {"ladder": {"step": 0.1}}), app.admin()
    admin.post(f"{MAIN.format(slug)}/gold", json=FOR_GREEN).raise_for_status()
    found = computed(app, f"{MAIN.format(slug)}/gold/2/preview")
    told = [row["after"]["scores"]["accuracy"]["value"] for row in found["result"]["ladder"]["rows"]]
    assert told == [1.0, 0.6]
    correct(app, slug, FOR_GREEN)
    erratum = app.caller().get(f"/challenges/{slug}/errata").json()["items"][0]
    assert erratum["ladder"] is True
    # Both were told 0.8 and tied; Green stays first, so only Blue moves.
    assert [
        {name: each["value"] for name, each in row[side]["scores"].items()}
        for row in erratum["boards"]["public"]["rows"]
        for side in ("before", "after")
    ] == [{"accuracy": value} for value in (0.8, 0.6)]


def test_errata_of_versions_that_were_drafted_side_by_side(app: ServedApp, opened: Callable[..., str]) -> None:
    slug, admin = opened(), app.admin()
    numbers = [
        admin.post(f"{MAIN.format(slug)}/gold", json=gold).json()["version"] for gold in (relabelled(3), relabelled(5))
    ]
    for number in numbers:
        activate(app, slug, number)
    newest = admin.get(f"/challenges/{slug}/errata").json()["items"][0]
    assert (newest["from"]["gold"], newest["to"]["gold"]) == (2, 3)
    assert newest["gold_changes"]["counts"]["relabelled"] == 2
    assert len(newest["instances"]["relabelled"]) == 2
