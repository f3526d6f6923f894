"""Reading a board: who may, when, how exactly, as JSON and CSV, and again without sending it twice."""

import csv
import io
import re
from typing import Any

import pytest

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    board_ranks,
    board_values,
    create_challenge,
    make_recipe,
    metric_values,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.live_service import Caller
from tests.settle import settle

PSEUDONYM = re.compile("Anonymous [2-9B-Z]{4,}")
PAST = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00+02:00"}
FIFTY = {f"t{number}": "ab"[number % 2] for number in range(50)}


def of_fifty(right: int) -> dict[str, str]:
    other = {"a": "b", "b": "a"}
    return {key: label if place < right else other[label] for place, (key, label) in enumerate(FIFTY.items())}


def main_phase(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "main", **fields}]


def test_a_hidden_board_is_for_organizers_only(people: People) -> None:
    slug = create_challenge(people.admin, "hidden", phases=main_phase(leaderboard="hidden"))
    blue = people["Blue"].join(slug, "Blue")
    own = require_finished(blue.submit(slug, predictions_with_hits(3)))
    for caller in (people.visitor, blue):
        for form in ("json", "csv"):
            require_refused(caller.board(slug, format=form), 403, "leaderboard_hidden")
    assert board_ranks(people.admin.board(slug)) == [(1, "Blue")]
    assert own["scores"]["accuracy"]["value"] == 0.75  # the board is hidden, the own score is not


def test_a_board_shown_after_the_close_appears_when_the_phase_closes(people: People) -> None:
    slug = create_challenge(people.admin, "after-close", phases=main_phase(leaderboard="after_close"))
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(3))])
    require_refused(people.visitor.board(slug), 403, "leaderboard_hidden")
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json=PAST).status_code == 200
    assert board_ranks(people.visitor.board(slug)) == [(1, "Blue")]


def test_each_phase_has_a_board_of_its_own(people: People) -> None:
    phases = [{"name": "Dev"}, {"name": "Final test", "leaderboard": "hidden"}]
    slug = create_challenge(people.admin, "phases", phases=phases)
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(3))], phase="dev")
    submit_for_teams(people.admin, slug, [("Green", predictions_with_hits(2))], phase="final-test")
    assert board_ranks(people.visitor.board(slug, "dev")) == [(1, "Blue")]
    require_refused(people.visitor.board(slug, "final-test"), 403, "leaderboard_hidden")
    assert board_ranks(people.admin.board(slug, "final-test")) == [(1, "Green")]


def numbers(caller: Caller, slug: str, key: str) -> list[float]:
    """Every accuracy that a team can read about one submission of its own."""
    row = caller.board(slug).json()["rows"]
    line = list(csv.DictReader(io.StringIO(caller.board(slug, format="csv").text)))
    listed = caller.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"]
    single = caller.get(f"/submissions/{key}").json()
    return [
        *(each["scores"]["accuracy"]["value"] for each in [*listed, single] if each["id"] == key),
        *(each["scores"]["accuracy"]["value"] for each in row if each["submission"] == key),
        *(float(each["accuracy"]) for each in line if each["submission"] == key),
    ]


def test_numbers_are_disclosed_at_the_agreed_digits_and_ranked_on_all(people: People) -> None:
    gold = [{"id": key, "label": label} for key, label in FIFTY.items()]
    agreed = make_recipe("accuracy", disclosure={"digits": 1})
    slug = create_challenge(people.admin, "digits", gold, recipe=agreed)
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = require_finished(blue.submit(slug, of_fifty(35)))
    require_finished(green.submit(slug, of_fifty(36)))
    assert metric_values(sent["scores"]) == {"accuracy": 0.7}
    assert numbers(blue, slug, sent["id"]) == [0.7] * 4
    assert board_values(people.visitor.board(slug), "accuracy") == [0.7, 0.7]
    assert board_ranks(people.visitor.board(slug)) == [(1, "Green"), (2, "Blue")]
    assert board_values(people.admin.board(slug), "accuracy") == [0.72, 0.7]
    people.admin.put(f"/challenges/{slug}/recipe", json=agreed | {"disclosure": {"digits": "full"}})
    assert board_values(people.visitor.board(slug), "accuracy") == [0.72, 0.7]


def test_six_digits_unless_said_otherwise(people: People) -> None:
    gold = [{"id": f"t{n}", "label": "ab"[n % 2]} for n in range(3)]
    slug = create_challenge(people.admin, "six", gold, recipe=make_recipe("accuracy"))
    key = submit_for_teams(people.admin, slug, [("Blue", {"t0": "a", "t1": "b", "t2": "b"})])[0]
    assert board_values(people.visitor.board(slug), "accuracy") == [0.666667]
    assert people.admin.get(f"/submissions/{key}").json()["scores"]["accuracy"]["value"] == 2 / 3


def test_an_anonymous_phase_tells_others_nothing_of_a_team(people: People) -> None:
    slug = create_challenge(people.admin, "anonymous", phases=main_phase(anonymous=True))
    blue, green = people["Blue"].join(slug, "Azurite"), people["Green"].join(slug, "Malachite")
    mine = require_finished(blue.submit(slug, predictions_with_hits(3), method="azure method"))
    theirs = require_finished(green.submit(slug, predictions_with_hits(4), method="malachite method"))
    for caller, allowed in ((people.visitor, []), (people["Stranger"], []), (blue, [mine]), (green, [theirs])):
        for form in ("json", "csv"):
            text = caller.board(slug, format=form).text
            for sent in (mine, theirs):
                said = [word in text for word in (sent["team"]["name"], sent["method"], sent["id"])]
                assert all(said) if sent in allowed else not any(said), (form, sent["team"]["name"])
    shown = board_ranks(people.visitor.board(slug))
    assert [(rank, PSEUDONYM.fullmatch(name) is not None) for rank, name in shown] == [(1, True), (2, True)]
    assert board_ranks(people.admin.board(slug)) == [(1, "Malachite"), (2, "Azurite")]


def test_a_pseudonym_stays_while_the_board_lives_and_tells_nothing_on_another_board(people: People) -> None:
    phases = [{"name": name, "anonymous": True} for name in ("first", "second")]
    slug = create_challenge(people.admin, "pseudonyms", phases=phases)
    teams = {name: people[name].join(slug, name) for name in ("Blue", "Green", "Red")}

    def names(phase: str) -> dict[Any, Any]:
        """The names by the number of right answers, which differs for each team."""
        rows = people.visitor.board(slug, phase).json()["rows"]
        return {round(4 * row["scores"]["accuracy"]["value"]): row["team"]["name"] for row in rows}

    for phase in ("first", "second"):
        for hits, team in enumerate(teams.values(), start=1):
            require_finished(team.submit(slug, predictions_with_hits(hits), phase=phase))
    before, elsewhere = names("first"), names("second")
    assert len({*before.values(), *elsewhere.values()}) == 6
    require_finished(teams["Blue"].submit(slug, predictions_with_hits(4), phase="first"))  # now it leads
    after: dict[Any, Any] = {4: before[1], 3: before[3], 2: before[2]}
    settle(people.live, shown=True)
    assert names("first") == after
    rows = teams["Green"].board(slug, "first").json()["rows"]
    assert [row["team"]["name"] for row in rows] == [before[1], before[3], "Green"]
    assert people.admin.patch(f"/challenges/{slug}/phases/first", json={"name": "Another"}).is_success
    assert names("another") == after


def test_an_anonymous_phase_shows_the_names_of_baselines(people: People) -> None:
    slug = create_challenge(people.admin, "anonymous-baseline", phases=main_phase(anonymous=True))
    submit_for_teams(people.admin, slug, [("Majority", predictions_with_hits(4))], baseline="true")
    submit_for_teams(people.admin, slug, [("Azurite", predictions_with_hits(3))])
    assert board_ranks(people.visitor.board(slug))[0] == (None, "Majority")
    assert [rank for rank, name in board_ranks(people.visitor.board(slug)) if PSEUDONYM.fullmatch(name)] == [1]


def test_csv_says_what_json_says(people: People) -> None:
    slug = create_challenge(people.admin, "csv", recipe=make_recipe("f1_macro", "accuracy", "f1:label=a"))
    submit_for_teams(
        people.admin,
        slug,
        [
            ("=Formula()", predictions_with_hits(3)),
            ("With, comma", predictions_with_hits(2)),
            ('"Quoted"', predictions_with_hits(4)),
        ],
        method="-m",
    )
    submit_for_teams(people.admin, slug, [("Majority", predictions_with_hits(1))], baseline="true")
    answer = people.visitor.board(slug, format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    board = people.visitor.board(slug).json()
    names = [metric["key"] for metric in board["metrics"]]
    assert len(lines) == len(board["rows"]) == 4
    for line, row in zip(lines, board["rows"], strict=True):
        assert line["rank"] == ("" if row["rank"] is None else str(row["rank"]))
        assert line["team"] == re.sub("^=", "'=", row["team"]["name"])  # a spreadsheet must not run it
        assert line["method"] == re.sub("^-", "'-", row["method"])
        assert line["submission"] == row["submission"]
        assert line["submitted_at"] == row["submitted_at"]
        assert int(line["entries"]) == row["entries"]
        assert line["baseline"] == str(row["baseline"]).lower()
        assert [float(line[text]) for text in row["scores"]] == [each["value"] for each in row["scores"].values()]
    sure = ["rank_low", "rank_high", "tie_group", *(f"{name} {end}" for name in names for end in ("low", "high"))]
    versions = ["gold_version", "recipe_version", "scorer_version"]
    assert all([line[name] for name in versions] == [str(board[name]) for name in versions] for line in lines)
    columns = [*names, *sure, *versions]
    assert list(lines[0])[-len(columns) :] == columns
    assert names == list(board["rows"][0]["scores"])


@pytest.mark.parametrize("form", ["json", "csv"])
def test_an_unchanged_board_is_not_sent_again(people: People, form: str) -> None:
    slug = create_challenge(people.admin, "etag", phases=[{"name": "main", "reports": ["scores"]}])
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, predictions_with_hits(2)))
    for caller in (people.visitor, blue):
        first = caller.board(slug, format=form)
        tag = first.headers["etag"]
        assert tag.startswith('"')
        path = f"{MAIN_PHASE_PATH.format(slug)}/leaderboard"
        for header in (tag, f'"other", {tag}', "*"):
            again = caller.get(path, params={"format": form}, headers={"If-None-Match": header})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert caller.get(path, params={"format": form}, headers={"If-None-Match": '"other"'}).status_code == 200
    before = people.visitor.board(slug, format=form).headers["etag"]
    require_finished(blue.submit(slug, predictions_with_hits(4)))
    changed = blue.get(path, params={"format": form}, headers={"If-None-Match": before})  # its team sees it at once
    assert changed.status_code == 200
    assert changed.headers["etag"] != before


def test_what_was_read_with_a_token_is_not_for_shared_caches(people: People) -> None:
    slug = create_challenge(people.admin, "cache")
    blue = people["Blue"].join(slug, "Blue")
    own = require_finished(blue.submit(slug, predictions_with_hits(2)))
    paths = [
        f"{MAIN_PHASE_PATH.format(slug)}/leaderboard",
        f"/submissions/{own['id']}",
        f"/submissions/{own['id']}/predictions",
        "/me",
    ]
    for path in paths:
        answer = blue.get(path)
        again = blue.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (answer.status_code, again.status_code) == (200, 304), path
        for each in (answer, again):
            assert each.headers["cache-control"] == "private, no-cache"
            assert "authorization" in each.headers["vary"].lower()
    assert "authorization" in people.visitor.board(slug).headers["vary"].lower()
    assert "private" not in people.visitor.board(slug).headers["cache-control"]


def test_entries_count_what_was_scored(people: People) -> None:
    slug = create_challenge(people.admin, "entries")
    blue = people["Blue"].join(slug, "Blue")
    for body in (predictions_with_hits(1), predictions_with_hits(2), {"t1": "a"}, predictions_with_hits(0)):
        blue.submit(slug, body)
    submit_for_teams(people.admin, slug, [("Majority", predictions_with_hits(4))], baseline="true")
    rows = people.visitor.board(slug).json()["rows"]
    assert {row["team"]["name"]: row["entries"] for row in rows} == {"Blue": 3, "Majority": 1}


def test_a_board_without_gold_says_so(people: People) -> None:
    body = {"slug": "no-gold-board", "title": "x", "task": "multiclass", "recipe": make_recipe("accuracy")}
    assert people.admin.post("/challenges", json=body).status_code == 201
    require_refused(people.visitor.board("no-gold-board"), 409, "no_gold")


def test_a_phase_that_does_not_show_scores_shows_none_to_its_teams(people: People) -> None:
    slug = create_challenge(people.admin, "no-scores", phases=main_phase(reports=[], leaderboard="hidden"))
    blue = people["Blue"].join(slug, "Blue")
    own = require_finished(blue.submit(slug, predictions_with_hits(2)))
    assert own["scores"] == {}
    assert people.admin.get(f"/submissions/{own['id']}").json()["scores"]["accuracy"]["value"] == 0.5
