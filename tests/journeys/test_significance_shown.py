"""What a board says about the certainty of its order, as rows come and go, to whom, and in the digits of the tools."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    new_slug,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.journeys.test_significance import RANK_SET, board_of, settled_board, significance_of
from tests.live_service import Live

ANALYSES = True

ACCURACY = make_recipe("accuracy", "f1_macro")
WITHOUT = [{"name": "main", "reports": ["scores", "intervals"]}]
INTERVAL = ("low", "high", "method", "draws", "left_out", "notes", "reason")


def rank_sets(board: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in RANK_SET) for row in board["rows"]]


def make_gold(n: int) -> list[dict[str, str]]:
    return [{"id": f"i{place:04}", "label": "abc"[place * place % 7 % 3]} for place in range(n)]


def make_systems(gold: list[dict[str, str]], *shares: float) -> dict[str, dict[str, str]]:
    """Systems that give the right label for about this share of the instances."""
    draw = random.Random(7)
    return {
        f"team{place}": {
            row["id"]: row["label"] if draw.random() < share else draw.choice("abc")
            for row in draw.sample(gold, len(gold))
        }
        for place, share in enumerate(shares)
    }


def test_a_board_without_rows_has_nothing_to_compare(people: People) -> None:
    slug = create_challenge(people.admin, "unsure", recipe=ACCURACY)
    shown = board_of(people.visitor, slug)["significance"]
    assert (shown["status"], shown["computed_at"]) == ("none", None)
    assert "no ranked rows" in shown["reason"]
    found = significance_of(people.visitor, slug)
    assert (found["status"], found["rows"], found["pairs"], found["rests_on"]["entries"]) == ("none", [], [], 0)


def test_a_single_row_can_only_be_first(people: People) -> None:
    slug = create_challenge(people.admin, "alone", recipe=ACCURACY)
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(3))])
    board = settled_board(people, people.visitor, slug)
    assert rank_sets(board) == [(1, 1, 1)]
    found = significance_of(people.visitor, slug)
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in found["rows"]] == [(1, 1, 1)]
    assert found["pairs"] == []


def test_a_row_that_leaves_has_the_others_compared_again(people: People) -> None:
    slug = create_challenge(people.admin, "leaves", recipe=ACCURACY)
    entries = [("A", CORRECT_PREDICTIONS), ("B", predictions_with_hits(2)), ("C", predictions_with_hits(1))]
    first, *_ = submit_for_teams(people.admin, slug, entries)
    before = settled_board(people, people.visitor, slug)
    assert [row["rank_high"] for row in before["rows"]] == [3, 3, 3]
    withdrawn = people.admin.post(f"/submissions/{first}/withdraw", json={"reason": "Wrong file."})
    assert withdrawn.status_code == 200, withdrawn.text
    after = settled_board(people, people.visitor, slug)
    shown = {row["team"]["name"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in after["rows"]}
    assert shown == {"A": (None, None, None), "B": (1, 1, 2), "C": (2, 1, 2)}
    assert after["significance"]["computed_at"] > before["significance"]["computed_at"]
    assert [row["team"]["name"] for row in significance_of(people.visitor, slug)["rows"]] == ["B", "C"]


def test_a_test_entry_is_in_no_comparison_and_its_deletion_changes_none(people: People) -> None:
    slug = create_challenge(people.admin, "tried", recipe=ACCURACY)
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(3)), ("B", predictions_with_hits(2))])
    entry = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, test=True))
    path = f"/submissions/{entry['id']}"
    board = settled_board(people, people.visitor, slug)
    assert people.admin.get(path).json()["scores"]["accuracy"]["interval"] is not None
    assert [row["rank_high"] for row in board["rows"]] == [2, 2]
    assert people.admin.delete(path).status_code == 204
    assert people.admin.get(path).status_code == 404
    after = settled_board(people, people.visitor, slug)
    assert after["rows"] == board["rows"]
    assert [row["team"]["name"] for row in significance_of(people.admin, slug)["rows"]] == ["A", "B"]


def test_participants_see_rank_sets_only_where_the_phase_shows_them(people: People) -> None:
    slug = create_challenge(people.admin, "secretive", recipe=ACCURACY, phases=WITHOUT)
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(3)), ("B", predictions_with_hits(2))])
    member = people["Red"].join(slug, "Red")
    assert rank_sets(settled_board(people, people.admin, slug)) == [(1, 2, 1), (1, 2, 1)]
    for reader in (people.visitor, member):
        board = board_of(reader, slug)
        assert rank_sets(board) == [(None, None, None)] * 2
        assert (board["significance"]["status"], board["significance"]["computed_at"]) == ("none", None)
        path = MAIN_PHASE_PATH.format(slug) + "/leaderboard/"
        for comparison in ("significance", "rankings"):
            require_refused(reader.get(path + comparison), 403, "forbidden")
    assert significance_of(people.admin, slug)["status"] == "current"
    shown = people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"reports": ["scores", "significance"]})
    assert shown.status_code == 200, shown.text
    assert rank_sets(board_of(member, slug)) == [(1, 2, 1), (1, 2, 1)]


def test_each_gold_has_a_seed_of_its_own_that_nobody_chooses(people: People) -> None:
    slug = create_challenge(people.admin, "seeded", recipe=ACCURACY)
    gold = MAIN_PHASE_PATH.format(slug) + "/gold"
    (first,) = people.admin.get(gold).json()["items"]
    assert len(first["draw_seed"]) >= 32
    wish = {"activate": "true", "draw_seed": first["draw_seed"]}
    second = people.admin.post(gold, params=wish, json=GOLD)
    if second.status_code == 201:  # a parameter that no route knows is ignored or refused, never obeyed
        assert second.json()["draw_seed"] != first["draw_seed"]
    for method in ("PATCH", "PUT"):
        changed = people.admin.request(method, f"{gold}/1", json={"draw_seed": "0"})
        assert changed.status_code in {404, 405}
    copy = new_slug("seeded-copy")
    made = people.admin.post(f"/challenges/{slug}/copy", json={"slug": copy, "gold": True})
    assert made.status_code == 201, made.text
    seeds = {each["draw_seed"] for name in (slug, copy) for each in versions(people, name)}
    assert len(seeds) == len(versions(people, slug)) + len(versions(people, copy)) >= 2


def versions(people: People, slug: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = people.admin.get(MAIN_PHASE_PATH.format(slug) + "/gold").json()["items"]
    return items


@pytest.fixture(scope="module")
def agreed(people: People, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """A challenge with four teams, and a file of its gold and a folder of their predictions."""
    gold = make_gold(300)
    systems = make_systems(gold, 0.9, 0.86, 0.6, 0.1)
    slug = create_challenge(people.admin, "digits", gold=gold, recipe=make_recipe("f1_macro", "accuracy", "mcc"))
    submit_for_teams(people.admin, slug, list(systems.items()))
    tmp_path = tmp_path_factory.mktemp("agreed")
    folder = tmp_path / "systems"
    folder.mkdir()
    for name, predictions in systems.items():
        write_file(folder / f"{name}.json", predictions)
    return slug, write_file(tmp_path / "gold.json", gold), folder


def test_intervals_have_the_digits_of_the_command_line(people: People, agreed: tuple[str, Path, Path]) -> None:
    slug, gold, folder = agreed
    board = settled_board(people, people.admin, slug)
    names = ("f1_macro", "accuracy", "mcc")
    wanted = [word for name in names for word in ("--metric", name)]
    for row in board["rows"]:
        path = f"/submissions/{row['submission']}"
        scores = people.admin.get(path).json()["scores"]
        files = ("--gold", gold, "--predictions", folder / f"{row['team']['name']}.json")
        offline = run_assay("score", *files, *wanted, "--ci", "--draw-seed", board["draw_seed"], "--json").value()
        for name in names:
            assert scores[name]["value"] == offline["metrics"][name]
            online = scores[name]["interval"] | {end: scores[name][end] for end in ("low", "high")}
            assert {field: offline["intervals"][name].get(field) for field in INTERVAL} == online


def test_rank_sets_are_those_of_the_command_line(people: People, agreed: tuple[str, Path, Path]) -> None:
    slug, gold, folder = agreed
    seed = settled_board(people, people.admin, slug)["draw_seed"]
    for metric in ("f1_macro", "accuracy"):
        online = significance_of(people.admin, slug, metric=metric)
        assert online["status"] == "current"
        assert all(row["low"] is not None for row in online["rows"])
        command = ("order", folder, "--gold", gold, "--metric", metric, "--draw-seed", seed, "--json")
        offline = run_assay(*command).value()
        fields = ("value", "low", "high", "rank", "rank_low", "rank_high", "tie_group")
        assert {row["team"]["name"]: [row[field] for field in fields] for row in online["rows"]} == {
            row["system"]: [row[field] for field in fields] for row in offline["rows"]
        }
        assert {row["rank_high"] for row in online["rows"]} > {2}, "not every row may be last"
        assert online["rests_on"]["draws"] == offline["draws"]


def test_the_order_in_which_files_list_and_teams_come_changes_no_rank_set(people: People) -> None:
    gold = make_gold(120)
    systems = make_systems(gold, 0.8, 0.7)
    backwards = {name: dict(reversed(systems[name].items())) for name in reversed(systems)}
    found = []
    for entries in (systems, backwards):
        slug = create_challenge(people.admin, "shuffled", gold=gold, recipe=ACCURACY)
        submit_for_teams(people.admin, slug, list(entries.items()))
        settled_board(people, people.visitor, slug)
        rows = significance_of(people.visitor, slug)["rows"]
        found.append([(row["team"]["name"], row["value"], row["rank_low"], row["rank_high"]) for row in rows])
    assert found[0] == found[1]


def test_the_command_shows_how_sure_the_order_is(
    live: Live, people: People, agreed: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    slug, _gold, _folder = agreed
    monkeypatch.setenv("ASSAY_URL", live.url)
    monkeypatch.setenv("ASSAY_TOKEN", live.admin_token)
    monkeypatch.setenv("COLUMNS", "100")
    board = settled_board(people, people.admin, slug)
    shown = run_assay("leaderboard", slug, "--significance")
    assert shown.status == 0, shown.err
    assert f"{slug} / main, f1_macro (all): current" in shown.out
    lines = {row["team"]["name"]: row for row in board["rows"]}
    for name, row in lines.items():
        low, high = row["rank_low"], row["rank_high"]
        span = str(low) if low == high else f"{low} to {high}"
        (line,) = (each for each in shown.out.splitlines() if name in each.split())
        assert span in line
    assert f"300 instances, 10,000 draws, draw seed {board['draw_seed']}." in " ".join(shown.out.split())
    as_json = run_assay("leaderboard", slug, "--significance", "--json").value()
    assert as_json == significance_of(people.admin, slug)
    assert run_assay("leaderboard", slug, "--significance", "--csv").status == 2
    path = f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/rankings"
    ranks = run_assay("leaderboard", slug, "--rankings")
    assert ranks.status == 0, ranks.err
    best = min(lines, key=lambda name: lines[name]["rank"])
    assert next(line for line in ranks.out.splitlines() if line.startswith(best)).split()[1] == "1"
    assert "Kendall's tau-b between the rankings" in ranks.out
    assert run_assay("leaderboard", slug, "--rankings", "--json").value() == people.admin.get(path).json()
    assert run_assay("leaderboard", slug, "--rankings", "--metric", "accuracy").status == 2
    other = run_assay("leaderboard", slug, "--significance", "--metric", "no_such")
    assert other.status != 0
    assert "no_such" in other.err
