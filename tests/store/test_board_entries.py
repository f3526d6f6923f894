"""A board that is read by the index of ranked values equals the one computed from all scores, whatever is stored."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.actions.challenges.change_recipe import normalize_recipe, recipe_fingerprint
from app.actions.history.former_board import PRESENT, AskedBoard
from app.actions.submissions import read_leaderboard
from app.actions.submissions.read_leaderboard import BoardAudience, BoardPage
from app.api.leaderboards import Board, encode_board
from app.store.queries import ranked_values, submissions
from app.store.queries.label_rules import LabelRules
from app.store.session import Database, WriteSession
from app.store.tables import BoardSwitch, Challenge, Phase, Recipe, Registration, Score, Submission, Team, User
from app.store.types import utcnow
from tests.oracles.pure_board import pure_board
from tests.store.sample_rows import add_row, gold_version, submission

BODY = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy", "error_rate"]}
NEAR = [0.5, 0.5000001, 0.5000004, 0.5000006, 0.499]
"""Values of which some are equal once they are rounded to the digits of a recipe."""
VALUES = st.one_of(
    st.sampled_from([*NEAR * 2, None, None, 0.0, -0.0, 1.0, 1e-300, 1.7e308, 1e-320]),
    st.sampled_from(NEAR),
    st.floats(-1, 1),
)
SCORED = st.fixed_dictionaries({"f1_macro": VALUES}, optional={"accuracy": VALUES, "error_rate": VALUES})
# Most entries are on the board, and many are of one team: its choice among several is what queries may get wrong.
ENTRY = st.fixed_dictionaries(
    {
        "team": st.sampled_from([0, 0, 0, 1, 2, 3]),
        "status": st.sampled_from(["finished"] * 12 + ["failed", "rejected"]),
        "baseline": st.sampled_from([False] * 9 + [True]),
        "selected": st.sampled_from([None, None, None, 0, 1, 1, 2]),  # days ago
        "gone": st.sampled_from(
            [()] * 9 + [("withdrawn_at",)] * 2 + [("disqualified_at",)] + [("withdrawn_at", "disqualified_at")]
        ),
        "kind": st.sampled_from([()] * 9 + [("unofficial",)] * 2 + [("test",), ("on_behalf",)]),
        "recipes": st.sampled_from([(0,)] * 9 + [(1,), (0, 1), (2,), ()]),
        "versions": st.sampled_from([(1,)] * 8 + [(2,), (1, 2)]),
        "splits": st.fixed_dictionaries(dict.fromkeys(("all", "public", "private"), SCORED)),
        "age": st.integers(0, 5),
        "as_object": st.booleans(),
    }
)
ENTRIES = st.integers(0, 14).flatmap(lambda size: st.lists(ENTRY, min_size=size, max_size=size))
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(
            ["status", "baseline", "withdrawn_at", "disqualified_at", "selected_at", "team_id", "unofficial", "test"]
        ),
    ),
    max_size=4,
)
TEAM = st.fixed_dictionaries(
    {
        "members": st.sampled_from(
            [
                *((), ("approved",), ("approved", "barred"), ("barred",)),
                *(("barred", "barred"), ("barred", "pending"), ("barred", "deleted")),
            ]
        ),
        "marked": st.sampled_from([()] * 8 + [("disqualified_at",)] * 2),
    }
)
TEAMS: st.SearchStrategy[list[dict[str, Any]]] = st.one_of(st.just([]), st.lists(TEAM, min_size=4, max_size=4))
"""Members and marks of all teams; in many boards nobody is barred."""
RECIPES = st.fixed_dictionaries(
    {
        "selection": st.sampled_from(["best", "best", "latest", "selected"]),
        "tie_breakers": st.sampled_from([[], [], ["error_rate"], ["accuracy", "error_rate"]]),
        "selection_max": st.sampled_from([None, 1, 2, 3]),
        "disclosure": st.sampled_from([{"digits": 6}, {"digits": 2}, {"digits": 1}, {"digits": "full"}]),
    }
)


class Filled:
    """A challenge with one phase, several recipes, and drawn submissions."""

    def __init__(
        self, session: WriteSession, rules: dict[str, Any], *, has_splits: bool, anonymous: bool, teams: int = 4
    ) -> None:
        slug = uuid4().hex
        self.user = add_row(session, User(email=f"{slug}@example.org", name="Ada"))
        texts = {"title": "Pets", "description": "", "task": "multiclass", "timezone": "UTC", "slug": slug}
        policy = {"status": "published", "visibility": "public", "registration": "open"}
        self.challenge = add_row(session, Challenge(created_by=self.user, **texts, **policy))
        if rules.get("selection") != "selected":
            rules = rules | {"selection_max": None}
        bodies = [BODY | rules, BODY | {"selection": "latest"}, BODY | {"options": {"zero_division": "1"}}]
        self.recipes = [self._recipe(session, body, version) for version, body in enumerate(bodies)]
        window = {"position": 0, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
        phase = Phase(challenge_id=self.challenge, slug="main", name="main", anonymous=anonymous, **window)
        phase.scorer_version = 1
        self.phase = add_row(session, phase)
        self.gold = add_row(session, gold_version(self.phase, created_by=self.user, has_splits=has_splits))
        switch = BoardSwitch(phase_id=self.phase, number=1, status="done", to_gold_id=self.gold, to_scorer_version=1)
        switch.to_recipe_id, switch.switched_at = self.recipes[0], utcnow() - timedelta(days=9)
        add_row(session, switch)
        self.teams = [
            add_row(session, Team(challenge_id=self.challenge, name=name, name_key=name))
            for name in (f"Team {number}" for number in range(teams))
        ]
        self.splits = ("all", "public", "private") if has_splits else ("all",)
        self.submissions: list[str] = []

    def _recipe(self, session: WriteSession, body: dict[str, Any], version: int) -> str:
        stored, recipe = normalize_recipe(body, LabelRules("multiclass", None, None))
        status = "retired" if version else "active"
        row = Recipe(challenge_id=self.challenge, version=version, status=status, body=stored)
        row.fingerprint = recipe_fingerprint(recipe)
        return str(add_row(session, row))

    def add(self, session: WriteSession, entry: dict[str, Any]) -> None:
        """A submission with scores, stored as the settling transaction does it or as objects of the session."""
        at_once = entry["as_object"] or entry["status"] != "finished"
        values: dict[str, Any] = {"status": entry["status"] if at_once else "running", "baseline": entry["baseline"]}
        now = utcnow()
        values["submitted_at"] = now - timedelta(days=entry["age"])
        chosen = entry["selected"]
        values["selected_at"] = None if chosen is None else now - timedelta(days=chosen)
        values |= dict.fromkeys(entry["gone"], now) | dict.fromkeys(entry["kind"], True)
        one = add_row(session, submission(self.phase, self.teams[entry["team"]], self.user, **values))
        self.submissions.append(one)
        for recipe in entry["recipes"]:
            for version in entry["versions"]:
                # Scores of recipes that compute the same are the same.
                worth = {split: self._metrics(entry["splits"][split], recipe == 2) for split in self.splits}
                key = {"submission_id": one, "gold_id": self.gold, "recipe_id": self.recipes[recipe]}
                self._store(session, key | {"scorer_version": version}, worth, as_object=entry["as_object"])
        if not at_once:
            findings: dict[str, Any] = {"problems": [], "total": {}, "notes": []}
            submissions.set_final_status(session, one, "finished", now, findings)
            session.expire_all()

    def decide(self, session: WriteSession, team: str, drawn: dict[str, Any]) -> None:
        """Give a team its members, and decide on both."""
        for number, status in enumerate(drawn["members"]):
            user = User(email=f"{number}-{team}@example.org", name="Bob")
            if status == "deleted":
                user.deleted_at, status = utcnow(), "approved"  # noqa: PLW2901 - what an account leaves behind
            own = {"challenge_id": self.challenge, "user_id": add_row(session, user), "team_id": team}
            add_row(session, Registration(**own, status=status))
        for column in drawn["marked"]:
            setattr(session.get_one(Team, team), column, utcnow())

    def _metrics(self, values: dict[str, float | None], other: bool) -> dict[str, Any]:
        return {name: {"value": None if other and value is None else value} for name, value in values.items()}

    def _store(self, session: WriteSession, key: dict[str, Any], worth: dict[str, Any], *, as_object: bool) -> None:
        if as_object:
            session.add_all(Score(split=split, metrics=metrics, **key) for split, metrics in worth.items())
            session.flush()
        else:
            submissions.add_scores(session, key, worth)

    def change(self, session: WriteSession, which: int, column: str) -> None:
        """What organizers, later versions or hands do to a submission."""
        if not self.submissions:
            return
        row = session.get_one(Submission, self.submissions[which % len(self.submissions)])
        if column == "status":
            row.status = "queued" if row.status == "finished" else "finished"
        elif column in {"baseline", "unofficial", "test"}:
            setattr(row, column, not getattr(row, column))
        elif column == "team_id":
            row.team_id = self.teams[which % len(self.teams)]
        else:
            setattr(row, column, None if getattr(row, column) else utcnow())
        session.flush()


@pytest.mark.both_databases
@hypothesis_settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    ENTRIES, TEAMS, RECIPES, st.booleans(), st.sampled_from([False, False, True]), CHANGES,
    st.sampled_from([None, None, "accuracy", "error_rate"]),
)  # fmt: skip
def test_the_board_is_that_of_the_pure_query_over_all_scores(  # noqa: PLR0917 - drawn by position
    db: Database,
    drawn: list[dict[str, Any]],
    teams: list[dict[str, Any]],
    rules: dict[str, Any],
    has_splits: bool,
    anonymous: bool,
    changes: list[tuple[int, str]],
    metric: str | None,
) -> None:
    with db.write() as session:
        filled = Filled(session, rules, has_splits=has_splits, anonymous=anonymous)
        for entry in drawn:
            filled.add(session, entry)
        for team, decisions in zip(filled.teams, teams, strict=False):
            filled.decide(session, team, decisions)
        for which, column in changes:
            filled.change(session, which, column)
    with db.write() as session:
        phase = session.get_one(Phase, filled.phase)
        require_equal_boards(session, phase, metric)
        if has_splits:
            organizer = BoardAudience(phase, organizer=True)
            require_equal_boards(session, phase, metric, organizer, "private")
            phase.released_at = utcnow()
            session.flush()
            require_equal_boards(session, phase, metric)
            require_equal_boards(session, phase, metric, organizer, "all")
            require_equal_boards(session, phase, metric, split="public")
        assert ranked_values.outdated_submissions(session, filled.submissions) == []
        assert ranked_values.wrong_counts(session) == []


def require_equal_boards(
    session: WriteSession,
    phase: Phase,
    metric: str | None,
    audience: BoardAudience | None = None,
    split: str | None = None,
) -> None:
    """The whole board byte for byte, and its pages."""
    audience = audience or BoardAudience(phase, organizer=False)

    def board(page: BoardPage | None) -> dict[str, Any]:
        return whole_board(session, audience, split, metric, page)

    found = board(None)
    expected = pure_board(session, audience, split=split, metric=metric) | {"significance": found["significance"]}
    assert found == expected
    assert encode_board(found, "json") == Board.model_validate(expected).model_dump_json().encode()
    assert encode_board(found, "csv") == encode_board(expected, "csv")
    rows, page = [], BoardPage(2)
    while True:
        part = board(page)
        rows += part["rows"]
        assert part | {"rows": [], "next": None} == expected | {"rows": []}
        if part["next"] is None:
            break
        page = replace(page, start=int(part["next"]))
    assert rows == expected["rows"]
    if audience.organizer:
        return
    former = whole_board(session, audience, split, metric, asked=AskedBoard(at=utcnow()))
    other = {"former", "significance", "as_of", "unscored"}
    assert former.pop("former")["in_force_until"] is None
    assert {name: former[name] for name in former if name not in other} == {
        name: found[name] for name in found if name not in other
    }


def whole_board(  # noqa: PLR0917 - the parameters of a request
    session: WriteSession,
    audience: BoardAudience,
    split: str | None,
    metric: str | None,
    page: BoardPage | None = None,
    asked: AskedBoard = PRESENT,
) -> dict[str, Any]:
    """A board or a page of it with its rows."""
    found, rows, _ = read_leaderboard.build_board(session, audience, split=split, metric=metric, page=page, asked=asked)
    return found | {"rows": list(rows.load(lambda: nullcontext(session)))}
