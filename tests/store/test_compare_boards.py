"""Boards compared under two versions equal the two boards that are computed from all scores, whatever is stored."""

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.actions.versions.compare_boards import compare_boards
from app.store.queries.board_versions import BoardVersion
from app.store.session import Database, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe, Submission
from tests.oracles.pure_board import pure_rows
from tests.store.sample_rows import add_row, gold_version
from tests.store.test_board_entries import ENTRY, RECIPES, SCORED, TEAMS, Filled

LATER = st.fixed_dictionaries(dict.fromkeys(("all", "public", "private"), SCORED))
ENTRIES = st.lists(st.tuples(ENTRY, st.one_of(st.none(), LATER, LATER, LATER)), max_size=14)
"""Submissions, each with its scores under the later gold, if it has any."""


@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ENTRIES, TEAMS, RECIPES, st.booleans(), st.booleans(), st.booleans())
def test_both_sides_are_the_boards_computed_from_all_scores(  # noqa: PLR0917 - drawn by position
    db: Database,
    drawn: list[tuple[dict[str, Any], dict[str, Any] | None]],
    teams: list[dict[str, Any]],
    rules: dict[str, Any],
    has_splits: bool,
    later_has_splits: bool,
    other_recipe: bool,
) -> None:
    with db.write() as session:
        filled = Filled(session, rules, has_splits=has_splits, anonymous=False)
        for entry, _ in drawn:
            filled.add(session, entry)
        for team, decisions in zip(filled.teams, teams, strict=False):
            filled.decide(session, team, decisions)
        later = gold_version(filled.phase, created_by=filled.user, has_splits=later_has_splits)
        later.version, later.status = 2, "draft"
        later_recipe = filled.recipes[2 if other_recipe else 0]
        gold, scored = add_row(session, later), set()
        for one, (entry, worth) in zip(filled.submissions, drawn, strict=True):
            if worth is not None and entry["status"] == "finished":
                splits = ("all", "public", "private") if later_has_splits else ("all",)
                key = {"submission_id": one, "gold_id": gold, "recipe_id": later_recipe, "scorer_version": 2}
                filled._store(
                    session, key, {split: filled._metrics(worth[split], False) for split in splits}, as_object=True
                )
                scored.add(one)
    with db.write() as session:
        phase = session.get_one(Phase, filled.phase)
        before = BoardVersion(session.get_one(GoldVersion, filled.gold), session.get_one(Recipe, filled.recipes[0]), 1)
        after = BoardVersion(session.get_one(GoldVersion, gold), session.get_one(Recipe, later_recipe), 2)
        found = compare_boards(session, phase, before, after)
        assert found["splits"].keys() == ({"public", "private"} if has_splits or later_has_splits else {"all"})
        for split, part in found["splits"].items():
            require_equal(session, phase, part, (before, after), split)
        assert {row["submission"] for row in found["unscored"]} == unscored(session, filled, scored)
        assert found["ladder"] is None


def require_equal(
    session: WriteSession, phase: Phase, part: dict[str, Any], pair: tuple[BoardVersion, BoardVersion], split: str
) -> None:
    """The rows of both sides, and what is counted from them."""
    was, is_now = (pure_rows(session, phase, of, split) for of in pair)
    owners = {
        key: session.get_one(Submission, row["submission"]) for rows in (was, is_now) for key, row in rows.items()
    }
    got: dict[str, dict[Any, Any]] = {"before": {}, "after": {}}
    for row in part["rows"]:
        for side in ("before", "after"):
            if row[side] is not None:
                key = (row["team"], row["mark"], row[side]["submission"] if row["baseline"] else None)
                assert owners[key].baseline == row["baseline"]
                got[side][key] = row[side]
    assert got == {"before": was, "after": is_now}
    assert list(got["after"]) == list(is_now)
    ranks = [(was.get(key, {}).get("rank"), is_now.get(key, {}).get("rank")) for key in {**was, **is_now}]
    both = [(old, new) for old, new in ranks if old and new]
    counts = part["counts"]
    assert counts["moved"] == sum(old != new for old, new in both)
    assert counts["largest_move"] == max((abs(old - new) for old, new in both), default=0)
    assert counts["entered"] == sum(old is None and new is not None for old, new in ranks)
    assert counts["left"] == sum(old is not None and new is None for old, new in ranks)
    assert sorted(row["move"] or 0 for row in part["rows"]) == sorted(
        old - new if old and new else 0 for old, new in ranks
    )
    leaders = [sorted(key[0] for key, row in rows.items() if row["rank"] == 1) for rows in (was, is_now)]
    assert part["leaders"] == {"before": leaders[0], "after": leaders[1], "changed": leaders[0] != leaders[1]}


def unscored(session: WriteSession, filled: Filled, scored: set[str]) -> set[str]:
    rows = (session.get_one(Submission, one) for one in filled.submissions)
    return {row.id for row in rows if row.status == "finished" and not row.test and row.id not in scored}
