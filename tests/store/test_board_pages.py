"""A page of a board equals the same rows of the whole board, though only the teams that may be on it are read."""

from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.actions.submissions.board_scores import board_scores
from app.actions.submissions.read_leaderboard import BoardAudience, BoardPage, build_board
from app.scoring.standings import standings
from app.store.queries import board_entries
from app.store.queries.board_versions import active_version
from app.store.queries.entry_choice import BoardScores
from app.store.session import Database, ReadSession
from app.store.tables import Phase
from tests.store.test_board_entries import ENTRY, RECIPES, TEAM, Filled

TEAMS = 12
# Every team has an entry, so that there are pages which most teams cannot be on.
ENTRIES = st.tuples(
    st.lists(ENTRY, min_size=TEAMS, max_size=TEAMS), st.lists(st.tuples(ENTRY, st.integers(0, TEAMS - 1)), max_size=8)
).map(
    lambda drawn: (
        [entry | {"team": number} for number, entry in enumerate(drawn[0])]
        + [entry | {"team": number} for entry, number in drawn[1]]
    )
)
PLAIN: dict[str, Any] = {
    "status": "finished",
    "baseline": False,
    "selected": None,
    "gone": (),
    "kind": (),
    "recipes": (0,),
    "versions": (1,),
    "age": 0,
    "as_object": False,
}


def board(session: ReadSession, phase: Phase, metric: str | None, page: BoardPage | None) -> dict[str, Any]:
    audience = BoardAudience(phase, organizer=False)
    found, rows, _ = build_board(session, audience, split=None, metric=metric, page=page)
    return found | {"rows": list(rows.load(lambda: nullcontext(session)))}


@pytest.mark.both_databases
@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    ENTRIES, st.lists(TEAM, max_size=3), RECIPES, st.booleans(), st.sampled_from([False, False, True]),
    st.sampled_from([None, None, "accuracy"]),
)  # fmt: skip
def test_pages_are_parts_of_the_whole_board(  # noqa: PLR0917 - drawn by position
    db: Database,
    drawn: list[dict[str, Any]],
    teams: list[dict[str, Any]],
    rules: dict[str, Any],
    has_splits: bool,
    anonymous: bool,
    metric: str | None,
) -> None:
    with db.write() as session:
        filled = Filled(session, rules, has_splits=has_splits, anonymous=anonymous, teams=TEAMS)
        for entry in drawn:
            filled.add(session, entry)
        for team, decisions in zip(filled.teams, teams, strict=False):
            filled.decide(session, team, decisions)
    with db.read() as session:
        phase = session.get_one(Phase, filled.phase)
        whole = board(session, phase, metric, None)
        for limit, start in [
            *((3, start) for start in range(0, TEAMS + 2, 3)),
            (1, 0),
            (1, TEAMS // 2),
            (1, TEAMS + 1),
        ]:
            end = start + limit
            following = str(end) if end < whole["total"] else None
            expected = whole | {"rows": whole["rows"][start:end], "next": following}
            assert board(session, phase, metric, BoardPage(limit, start)) == expected


VALUES: dict[str, tuple[list[float | None], int]] = {
    "all differ": ([0.9 - number / 100 for number in range(TEAMS)], 3),
    "the last of the page ties with others": ([0.9, 0.8, 0.7, 0.7, 0.7, *[0.1] * 7], 5),
    "another may tie once rounded": ([0.9, 0.8, 0.7000004, 0.7000001, *[0.1] * 8], 4),
    "few values": ([0.9, 0.8, 0.7, *[None] * 9], 3),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("selection", ["best", "selected"])
def test_a_page_needs_the_entries_of_few_teams(db: Database, name: str, selection: str) -> None:
    values, most = VALUES[name]
    with db.write() as session:
        filled = Filled(session, {"selection": selection}, has_splits=False, anonymous=False, teams=TEAMS)
        for number in reversed(range(TEAMS)):
            splits = {"all": {"f1_macro": values[number]}}
            filled.add(session, PLAIN | {"team": number, "splits": splits})
    with db.read() as session:
        scores = scores_of(session, session.get_one(Phase, filled.phase))
        rows = 3 if selection == "best" else 1  # Of selections, twice as many may be needed.
        whole, found = board_entries.entries(session, scores), board_entries.entries(session, scores, rows)
    assert found.total == len(whole.entries) == TEAMS
    assert len(found.entries) == len(found.names) <= most
    assert standings(found.entries)[:rows] == standings(whole.entries)[:rows]


def test_pages_have_the_marked_rows_and_the_baselines_of_the_whole_board(db: Database) -> None:
    with db.write() as session:
        filled = Filled(session, {}, has_splits=False, anonymous=False, teams=TEAMS)
        special: dict[int, dict[str, Any]] = {
            2: {"gone": ("withdrawn_at",)},
            4: {"kind": ("unofficial",)},
            6: {"baseline": True},
        }
        for number in range(TEAMS):
            splits = {"all": {"f1_macro": 0.9 - number / 100}}
            filled.add(session, PLAIN | {"team": number, "splits": splits} | special.get(number, {}))
        for team in (filled.teams[0], filled.teams[5], filled.teams[-1]):
            filled.decide(session, team, {"members": (), "marked": ("disqualified_at",)})
    with db.read() as session:
        phase = session.get_one(Phase, filled.phase)
        whole = board(session, phase, None, None)
        marks = [row["mark"] for row in whole["rows"] if row["mark"]]
        assert marks == ["disqualified", "withdrawn", "unofficial", "disqualified", "disqualified"]
        for start in range(TEAMS):
            page = board(session, phase, None, BoardPage(1, start))
            assert page["rows"] == whole["rows"][start : start + 1]
            assert page["total"] == whole["total"] == TEAMS
        scores = scores_of(session, phase)
        assert len(board_entries.entries(session, scores, 1).entries) < TEAMS


def test_entries_that_were_selected_over_better_ones_are_ranked_by_what_was_selected(db: Database) -> None:
    with db.write() as session:
        filled = Filled(session, {"selection": "selected"}, has_splits=False, anonymous=False, teams=TEAMS)
        for number in range(TEAMS):
            for value, selected in ((0.9 - number / 100, None), (0.5 if number < 8 else 0.1, 0)):
                splits = {"all": {"f1_macro": value}}
                filled.add(session, PLAIN | {"team": number, "selected": selected, "splits": splits})
    with db.read() as session:
        scores = scores_of(session, session.get_one(Phase, filled.phase))
        whole, found = board_entries.entries(session, scores), board_entries.entries(session, scores, 2)
    assert standings(found.entries)[:2] == standings(whole.entries)[:2]
    assert standings(found.entries)[0].tied == 8


def scores_of(session: ReadSession, phase: Phase) -> BoardScores:
    version = active_version(session, phase)
    assert version is not None
    return board_scores(session, phase, version, shown_split="all", ranked_by="f1_macro")
