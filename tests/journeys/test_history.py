"""Former boards, ranks over time and frozen boards, as a visitor, a team and an organizer meet them over HTTP."""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.text.canonical_json import content_hash
from tests.cli.run_command import run_assay
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    metric_values,
    predictions_with_hits,
    require_finished,
    require_refused,
)
from tests.journeys.test_release import close
from tests.settle import settle

OPEN = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": ["scores", "history"]}
RECIPE = make_recipe("accuracy", "f1_macro")


def now() -> str:
    return datetime.now(UTC).isoformat()


def shown(board: Any) -> dict[str, Any]:
    """A board without what a former one says of itself, and with the values of its scores alone."""
    assert board.status_code == 200, board.text
    apart = {"former", "significance", "as_of", *("rank_low", "rank_high", "tie_group")}
    rows = [
        {name: value for name, value in row.items() if name not in apart} | {"scores": metric_values(row["scores"])}
        for row in board.json()["rows"]
    ]
    return {name: value for name, value in board.json().items() if name not in apart} | {"rows": rows}


def points(people: People, slug: str, **query: Any) -> list[tuple[str, str | None, dict[str, int | None]]]:
    """What happened, to whom, and the ranks that changed by it."""
    answer = people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history", params=query)
    assert answer.status_code == 200, answer.text
    return [
        (
            point["kind"],
            point["team"] and point["team"]["name"],
            {change["team"]["name"]: change["rank"] for change in point["changes"]},
        )
        for point in answer.json()["points"]
    ]


@pytest.fixture(scope="module")
def story(people: People) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """A challenge in which much happened, and its board after each act."""
    slug = create_challenge(people.admin, "history", recipe=RECIPE, phases=[OPEN])
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    boards: list[tuple[str, dict[str, Any]]] = []

    def keep() -> None:
        boards.append((now(), shown(people.admin.board(slug))))  # visitors may get a new score a second later

    first = require_finished(blue.submit(slug, predictions_with_hits(2), method="one"))["id"]
    keep()
    require_finished(green.submit(slug, predictions_with_hits(3)))
    keep()
    second = require_finished(blue.submit(slug, predictions_with_hits(4), method="two"))["id"]
    keep()
    require_finished(blue.submit(slug, predictions_with_hits(1)))
    keep()
    assert people.admin.post(f"/submissions/{second}/disqualify", json={"reason": "by hand"}).status_code == 200
    keep()
    assert blue.post(f"/submissions/{first}/withdraw", json={"reason": "a bug"}).status_code == 200
    keep()
    assert people.admin.post(f"/submissions/{second}/reinstate", json={}).status_code == 200
    keep()
    return slug, boards


def test_every_former_board_is_read_as_it_was_shown(people: People, story: Any) -> None:
    slug, boards = story
    for at, board in boards:
        assert shown(people.admin.board(slug, as_of=at)) == board
    csv = people.visitor.board(slug, as_of=boards[1][0], format="csv").text.splitlines()
    assert [line.split(",")[:2] for line in csv[1:]] == [["1", "Green"], ["2", "Blue"]]
    assert csv[0].endswith("gold_version,recipe_version,scorer_version")


def test_the_history_names_every_act_and_the_ranks_that_it_changed(people: People, story: Any) -> None:
    slug, _ = story
    assert points(people, slug) == [
        ("activation", None, {}),
        ("submission", "Blue", {"Blue": 1}),
        ("submission", "Green", {"Blue": 2, "Green": 1}),
        ("submission", "Blue", {"Blue": 1, "Green": 2}),
        ("disqualification", "Blue", {"Blue": 2, "Green": 1}),
        ("withdrawal", "Blue", {"Blue": 2}),
        ("reinstatement", "Blue", {"Blue": 1, "Green": 2}),
    ]
    assert points(people, slug, limit=1, cursor="4") == [("disqualification", "Blue", {"Blue": 2, "Green": 1})]
    require_refused(
        people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history", params={"cursor": "x"}),
        400,
        "bad_cursor",
    )


def test_reasons_are_for_the_team_and_organizers(people: People, story: Any) -> None:
    path = f"{MAIN_PHASE_PATH.format(story[0])}/leaderboard/history"

    def reasons(who: Any) -> list[str]:
        return [point["reason"] for point in who.get(path).json()["points"] if point["reason"]]

    assert reasons(people["Blue"]) == reasons(people.admin) == ["by hand", "a bug"]
    assert reasons(people["Green"]) == reasons(people.visitor) == []


def test_the_page_shows_a_former_board_and_the_chart(people: People, story: Any) -> None:
    slug, boards = story
    former = httpx.get(f"{people.live.url}/challenges/{slug}/leaderboard", params={"as_of": boards[1][0]})
    assert "A former board." in former.text
    chosen = re.search(r'id="as-of"[^>]* value="([^"]+)"', former.text)
    assert chosen is not None
    assert chosen[1] == datetime.fromisoformat(boards[1][0]).strftime("%Y-%m-%dT%H:%M:%S")  # the field takes no zone
    for wrong in ("yesterday", "9999-01-01T00:00:00", "0001-01-01T00:00:00+14:00"):
        page = httpx.get(f"{people.live.url}/challenges/{slug}/leaderboard", params={"as_of": wrong})
        assert page.status_code == 400, page.text
    assert former.text.index("Green") < former.text.index("Blue")
    history = httpx.get(f"{people.live.url}/challenges/{slug}/leaderboard/history")
    assert "<svg" in history.text
    assert "Disqualification" in history.text


def test_a_phase_without_the_report_shows_no_history(people: People) -> None:
    slug = create_challenge(people.admin, "no-history", recipe=RECIPE)
    require_refused(people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history"), 403, "forbidden")
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history").status_code == 200


def test_boards_that_nobody_saw_are_not_shown_later(people: People) -> None:
    """A board that is shown after the close: former boards from before the close stay with the organizers."""
    phase = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "leaderboard": "after_close", "reports": ["history"]}
    slug = create_challenge(people.admin, "unseen", recipe=RECIPE, phases=[phase])
    require_finished(people.admin.submit(slug, predictions_with_hits(2), team="Blue"))
    before = now()
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"closes_at": now()}).status_code == 200
    assert people.visitor.board(slug).status_code == 200
    require_refused(people.visitor.board(slug, as_of="2020-02-01T00:00:00Z"), 403, "leaderboard_hidden")
    assert people.admin.board(slug, as_of=before).status_code == 200
    history = people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history").json()
    assert [point["kind"] for point in history["points"]] == ["close"]
    assert [(change["team"]["name"], change["rank"]) for change in history["points"][0]["changes"]] == [("Blue", 1)]
    of_organizers = people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history").json()
    assert [point["kind"] for point in of_organizers["points"]] == ["activation", "submission"]


def freeze(people: People, slug: str, **body: Any) -> Any:
    return people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/frozen-boards", json={"reason": "agreed"} | body)


def test_a_final_board_is_frozen_cited_and_superseded(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "frozen", recipe=RECIPE, phases=[OPEN], title="Pets")
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, predictions_with_hits(3), method="=1+1"))["id"]
    require_finished(people["Green"].join(slug, "Green").submit(slug, predictions_with_hits(2)))
    refused = require_refused(freeze(people, slug), 409, "not_freezable")
    assert refused["obstacles"][0]["code"] == "not_closed"
    assert refused["detail"] == "The phase has no close, so its board is not final."
    assert f"assay phase edit {slug} --phase main --closes TIME" in refused["remedy"]
    close(people, slug)
    require_refused(blue.post(f"{MAIN_PHASE_PATH.format(slug)}/frozen-boards", json={"reason": "x"}), 403, "forbidden")
    made = freeze(people, slug, title="Final results of Pets")
    assert made.status_code == 201, made.text
    first = made.json()
    assert require_refused(freeze(people, slug), 409, "already_frozen")["number"] == 1

    path = f"{MAIN_PHASE_PATH.format(slug)}/frozen-boards"
    served = people.visitor.get(f"{path}/1").json()
    assert served["content"] == first["content"]
    plain = json.dumps(served["content"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(plain.encode()).hexdigest() == served["sha256"]
    assert people.visitor.get(f"{path}/{served['sha256']}").json()["number"] == 1
    told = json.dumps(served["content"])
    assert sent not in told
    assert slug not in told
    assert served["content"]["rows"][0] == {
        **dict.fromkeys(("rank_low", "rank_high", "tie_group", "public_rank", "mark")),
        "rank": 1,
        "team": "Blue",
        "method": "=1+1",
        "entries": 1,
        "baseline": False,
        "on_behalf": False,
        "submitted_at": served["content"]["rows"][0]["submitted_at"],
        "scores": {"accuracy": {"value": "0.75"}, "f1_macro": {"value": "0.733333"}},
    }
    assert served["sha256"] in served["citation"]
    entry = hashlib.sha256(bytes.fromhex(served["log"]["salt"]) + served["log"]["record"].encode()).hexdigest()
    assert entry == served["log"]["entry"]
    assert served["sha256"] in served["log"]["record"]

    assert people.admin.post(f"/submissions/{sent}/disqualify", json={"reason": "by hand"}).status_code == 200
    second = freeze(people, slug).json()
    assert (second["number"], second["title"]) == (2, "Final board of Pets, main")
    assert people.visitor.get(f"{path}/1").json()["superseded_by"] == 2
    assert people.visitor.get(f"{path}/1").json()["content"] == first["content"]
    assert [board["superseded_by"] for board in people.visitor.get(path).json()["items"]] == [None, 2]
    require_refused(people.visitor.get(f"{path}/3"), 404, "not_found")

    csv = people.visitor.get(f"{path}/1", params={"format": "csv"}).text
    assert "1,Blue,'=1+1," in csv
    assert served["sha256"] in people.visitor.get(f"{path}/1", params={"format": "latex"}).text
    page = httpx.get(f"{people.live.url}/challenges/{slug}/phases/main/frozen-boards/1")
    assert "Superseded." in page.text
    assert served["sha256"] in page.text

    require_verified_offline(tmp_path, served)


def require_verified_offline(folder: Path, served: dict[str, Any]) -> None:
    """The command line computes the hash without a service, and refuses any other content."""
    good, bad = folder / "good.json", folder / "bad.json"
    good.write_text(json.dumps(served, indent=2), encoding="utf-8")
    served["content"]["rows"][0]["rank"] = 2
    bad.write_text(json.dumps(served), encoding="utf-8")
    assert run_assay("board", "verify", good, "--json").value()["valid"] is True
    assert run_assay("board", "verify", bad, "--json").status == 1
    assert run_assay("board", "verify", good, "--sha256", "0" * 64).status == 1
    assert content_hash(served["content"]) != served["sha256"]


def test_a_correction_shows_in_the_history_and_the_old_board_stays_readable(people: People) -> None:
    """By the switch of the service itself: the former gold's board, the point of the switch, and back to now."""
    slug = create_challenge(people.admin, "corrected", recipe=RECIPE, phases=[OPEN])
    require_finished(people.admin.submit(slug, predictions_with_hits(3), team="Blue"))
    require_finished(people.admin.submit(slug, predictions_with_hits(2), team="Green"))
    settle(people.live)
    before = now()
    old = shown(people.admin.board(slug))
    path = MAIN_PHASE_PATH.format(slug)
    gold = [{"id": f"t{number}", "label": label} for number, label in enumerate(("b", "b", "a", "a"), 1)]
    assert people.admin.post(f"{path}/gold", json=gold).status_code == 201
    activated = people.admin.post(f"{path}/gold/2/activate", json={"reason": "all labels were swapped"})
    assert activated.status_code < 300, activated.text
    settle(people.live, shown=True)
    assert people.visitor.board(slug).json()["gold_version"] == 2
    assert shown(people.admin.board(slug, as_of=before)) == old
    assert shown(people.admin.board(slug, gold_version=1)) == old
    assert people.visitor.board(slug, gold_version=1).json()["former"]["in_force_until"] is not None
    corrected = people.visitor.board(slug, gold_version=2, as_of=before).json()
    assert [row["team"]["name"] for row in corrected["rows"]] == ["Green", "Blue"]
    switch = points(people, slug)[-1]
    assert switch == ("switch", None, {"Blue": 2, "Green": 1})
    history = people.visitor.get(f"{path}/leaderboard/history").json()["points"][-1]
    assert (history["gold_version"], history["reason"]) == (2, "all labels were swapped")
    listed = run_assay(
        "leaderboard", slug, "--history", "--url", people.live.url, "--token", people.live.admin_token
    ).out
    assert "swapped" in listed  # the reason wraps


def test_a_ladder_tells_its_outputs_of_former_boards_too(people: People) -> None:
    gold = [{"id": f"t{number:02}", "label": "ab"[number % 2]} for number in range(20)]
    slug = create_challenge(people.admin, "ladder", gold, recipe=RECIPE | {"ladder": {"step": 0.2}}, phases=[OPEN])
    blue = people["Blue"].join(slug, "Blue")

    def answers(right: int) -> dict[str, str]:
        return {each["id"]: each["label"] if n < right else "ba"[n % 2] for n, each in enumerate(gold)}

    boards = []
    for right in (10, 11, 16):
        require_finished(blue.submit(slug, answers(right)))
        boards.append((now(), shown(blue.board(slug))))  # the team itself sees its scores at once
    for at, board in boards:
        assert shown(people.visitor.board(slug, as_of=at)) == board
    assert boards[0][1]["rows"][0]["scores"] == boards[1][1]["rows"][0]["scores"]
    path = f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/history"
    told = [point["changes"][0]["value"] for point in people.visitor.get(path).json()["points"][1:]]
    known = [point["changes"][0]["value"] for point in people.admin.get(path).json()["points"][1:]]
    assert len(told) == 2
    assert known == [0.5, 0.55, 0.8]


def test_a_time_needs_an_offset_and_may_not_come(people: People, story: Any) -> None:
    slug = story[0]
    refused = require_refused(people.visitor.board(slug, as_of="2026-01-01T00:00:00"), 400, "bad_request")
    assert (refused["detail"], "2026-01-01T00:00:00Z" in refused["remedy"]) == ("'as_of' has no time zone.", True)
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    require_refused(people.visitor.board(slug, as_of=later), 400, "bad_request")
    early = require_refused(people.visitor.board(slug, as_of="2020-01-01T00:00:00Z"), 404, "no_such_board")
    example = early["remedy"].rpartition(" ")[2].rstrip(".")
    assert people.visitor.board(slug, as_of=example).status_code == 200
    printed = run_assay("leaderboard", slug, "--as-of", "yesterday", "--url", people.live.url)
    assert printed.status == 1
    assert "'as_of' is not a time." in printed.err
    assert "2026-05-01T12:00:00Z" in printed.err
    require_refused(people.visitor.board(slug, recipe_version=77), 404, "no_such_board")
