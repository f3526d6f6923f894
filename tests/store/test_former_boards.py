"""A board at a former time is the board that was shown then, whatever happened since; so is each point of its history."""

from contextlib import nullcontext
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.actions.access import Caller
from app.actions.challenges import team_disqualification
from app.actions.challenges.team_registration import decide_registration
from app.actions.history.former_board import PRESENT, AskedBoard
from app.actions.history.rank_history import read_rank_history
from app.actions.submissions import disqualification
from app.actions.submissions.read_leaderboard import BoardAudience, build_board
from app.actions.submissions.select_submission import select_submission
from app.errors import AssayError, BadRequest, NoSuchBoard
from app.store import clock
from app.store.queries import submissions
from app.store.session import Database, WriteSession
from app.store.tables import BoardSwitch, GoldVersion, Organizer, Phase, Registration, Submission
from app.store.types import utcnow
from tests.hypothesis_profiles import is_exploring
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import add_row, gold_version, submission
from tests.store.test_board_entries import NEAR, RECIPES, Filled

VALUE = st.sampled_from([*NEAR, None, 0.1, 0.9])
SCORES = st.fixed_dictionaries(dict.fromkeys(("f1_macro", "accuracy", "error_rate"), VALUE))
SUBMISSION = st.fixed_dictionaries(
    {
        "verb": st.just("submit"),
        "team": st.integers(0, 3),
        "kind": st.sampled_from([{}] * 8 + [{"baseline": True}, {"unofficial": True}, {"test": True}]),
        "scores": st.lists(SCORES, min_size=6, max_size=6),
    }
)
ACT = st.fixed_dictionaries(
    {
        "verb": st.sampled_from(["withdraw", "disqualify", "reinstate", "select", "select", "unselect"]),
        "which": st.integers(0, 9),
    }
)
OTHER = st.fixed_dictionaries(
    {
        "verb": st.sampled_from(["disqualify_team", "reinstate_team", "barred", "approved", "switch", "release"]),
        "which": st.integers(0, 3),
    }
)
ACTS = st.integers(6, 14).flatmap(
    lambda size: st.lists(st.one_of(SUBMISSION, SUBMISSION, ACT, ACT, OTHER), min_size=size, max_size=size)
)
NOT_KEPT = {"former", "significance", "unscored", "as_of"}
"""What a former board says otherwise; the names of teams and their members are those of now."""


class Told(Filled):
    """A challenge in which people act, by the actions of the service, one transaction each."""

    def __init__(self, session: WriteSession, rules: dict[str, Any], *, anonymous: bool) -> None:
        super().__init__(session, rules, has_splits=True, anonymous=anonymous)
        session.add(Organizer(challenge_id=self.challenge, user_id=self.user, role="owner"))
        self.golds = [self.gold]
        other = gold_version(self.phase, created_by=self.user, has_splits=True)
        other.version, other.status, other.draw_seed = 2, "draft", "1" * 32
        self.golds.append(add_row(session, other))
        for team in self.teams:
            self.decide(session, team, {"members": ("approved",), "marked": ()})
        self.owner = Caller(user_id=self.user, scopes=frozenset(("read", "submit", "organize")), reason="agreed")

    def act(self, session: WriteSession, drawn: dict[str, Any]) -> None:
        """Do what was drawn, unless the service refuses it."""
        verb = drawn["verb"]
        if verb == "submit":
            self.submit(session, drawn)
        elif verb in {"switch", "release"}:
            getattr(self, verb)(session)
        elif "team" in verb or verb in {"barred", "approved"}:
            self.decide_on_team(session, verb, self.teams[drawn["which"]])
        elif self.submissions:
            self.decide_on_submission(session, verb, self.submissions[drawn["which"] % len(self.submissions)])

    def submit(self, session: WriteSession, drawn: dict[str, Any]) -> None:
        row = submission(self.phase, self.teams[drawn["team"]], self.user, status="running", **drawn["kind"])
        row.submitted_at = clock.now(session)
        one = add_row(session, row)
        self.submissions.append(one)
        for number, gold in enumerate(self.golds):  # as while a switch is pending
            key = {"submission_id": one, "gold_id": gold, "recipe_id": self.recipes[0], "scorer_version": 1}
            of_gold = drawn["scores"][3 * number :]
            worth = {split: self._metrics(of_gold[place], False) for place, split in enumerate(self.splits)}
            submissions.add_scores(session, key, worth)
        submissions.set_final_status(session, one, "finished", utcnow(), {"problems": [], "total": {}, "notes": []})
        session.expire_all()

    def decide_on_submission(self, session: WriteSession, verb: str, one: str) -> None:
        if verb in {"select", "unselect"}:
            select_submission(session, self.owner, one, selected=verb == "select", reason="agreed")
        elif verb == "reinstate":
            disqualification.reinstate_submission(session, self.owner, one)
        else:
            getattr(disqualification, f"{verb}_submission")(session, self.owner, one, reason="agreed")

    def decide_on_team(self, session: WriteSession, verb: str, team: str) -> None:
        slug = session.get_one(Phase, self.phase).challenge.slug
        if verb == "disqualify_team":
            team_disqualification.disqualify_team(session, self.owner, slug, team, reason="agreed")
        elif verb == "reinstate_team":
            team_disqualification.reinstate_team(session, self.owner, slug, team)
        else:
            member = session.query(Registration).where(Registration.team_id == team).one()
            decide_registration(session, self.owner, slug, member.id, status=verb, reason="agreed")

    def switch(self, session: WriteSession) -> None:
        """Move the board to the other gold."""
        of_phase = BoardSwitch.phase_id == self.phase
        last = session.query(BoardSwitch).where(of_phase).order_by(BoardSwitch.number.desc()).limit(1).one()
        before = session.get_one(GoldVersion, last.to_gold_id)
        after = session.get_one(GoldVersion, next(gold for gold in self.golds if gold != before.id))
        before.status = "retired"
        session.flush()
        after.status, after.activated_at = "active", clock.now(session)
        done = BoardSwitch(phase_id=self.phase, number=last.number + 1, status="done", to_gold_id=after.id)
        done.to_recipe_id, done.to_scorer_version, done.switched_at = self.recipes[0], 1, clock.now(session)
        add_row(session, done)

    def release(self, session: WriteSession) -> None:
        phase = session.get_one(Phase, self.phase)
        phase.released_at = phase.released_at or clock.now(session)


def board(
    session: WriteSession, audience: BoardAudience, split: str | None = None, asked: AskedBoard = PRESENT
) -> dict[str, Any]:
    head, rows, _ = build_board(session, audience, split=split, metric=None, page=None, asked=asked)
    return head | {"rows": list(rows.load(lambda: nullcontext(session)))}


def kept(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in NOT_KEPT}


def audiences(phase: Phase, own: str) -> list[tuple[BoardAudience, str | None]]:
    organizer = BoardAudience(phase, organizer=True)
    return [(BoardAudience(phase, organizer=False, own_team=own), None), (organizer, "all"), (organizer, "private")]


def sent(team: int, *values: float) -> dict[str, Any]:
    """A submission with these values on all, public and private instances, by either gold."""
    scores = [dict.fromkeys(("f1_macro", "accuracy", "error_rate"), value) for value in (*values, *reversed(values))]
    return {"verb": "submit", "team": team, "kind": {}, "scores": scores}


EVERYTHING = [
    *(sent(0, 0.5, 0.6, 0.4), sent(0, 0.6, 0.7, 0.3), sent(1, 0.55, 0.65, 0.2), sent(2, 0.1, 0.1, 0.9)),
    *({"verb": verb, "which": 0} for verb in ("select", "unselect", "select")),
    *({"verb": verb, "which": 1} for verb in ("withdraw", "disqualify", "reinstate", "disqualify", "reinstate")),
    *({"verb": verb, "which": 1} for verb in ("disqualify_team", "reinstate_team", "barred", "approved")),
    *({"verb": "switch"}, sent(1, 0.8, 0.9, 0.1), {"verb": "withdraw", "which": 2}, {"verb": "release"}),
    *({"verb": "withdraw", "which": 0}, {"verb": "switch"}, {"verb": "reinstate", "which": 0}),
]
"""Each act once, in a phase whose board every one of them changes."""

FEW = 40 if is_exploring() else 3  # each is compared at every time of its history


@hypothesis_settings(max_examples=FEW, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ACTS, RECIPES, st.booleans(), st.integers(0, 2))
@example(EVERYTHING, {"selection": "best"}, False, 0)
@example(EVERYTHING, {"selection": "selected", "selection_max": 1}, True, 1)
@example(EVERYTHING, {"selection": "latest"}, False, 2)
def test_a_former_board_is_the_one_that_was_shown(
    db: Database, acts: list[dict[str, Any]], rules: dict[str, Any], anonymous: bool, first: int
) -> None:
    require_former_boards(db, acts, rules, anonymous=anonymous, first=first)


@only_postgresql
def test_a_former_board_on_postgresql_is_the_one_that_was_shown(db: Database) -> None:
    require_former_boards(db, EVERYTHING, {"selection": "best"}, anonymous=False)


def require_former_boards(
    db: Database, acts: list[dict[str, Any]], rules: dict[str, Any], *, anonymous: bool, first: int = 0
) -> None:
    """Act, and compare a board after each act with the one at its time: those of the three audiences in turn."""
    with db.write() as session:
        told = Told(session, rules, anonymous=anonymous)
    shown: list[tuple[datetime, int, dict[str, Any]]] = []
    for drawn in acts:
        try:
            with db.write() as session:
                told.act(session, drawn)
        except AssayError:
            continue  # nothing was stored
        with db.write() as session:
            phase = session.get_one(Phase, told.phase)
            turn = (len(shown) + first) % 3
            shown.append((clock.now(session), turn, kept(board(session, *audiences(phase, told.teams[0])[turn]))))
    with db.write() as session:
        phase = session.get_one(Phase, told.phase)
        for at, turn, then in shown:
            audience, split = audiences(phase, told.teams[0])[turn]
            assert kept(board(session, audience, split, AskedBoard(at=at))) == then
        require_history(session, told, phase)


def require_history(session: WriteSession, told: Told, phase: Phase) -> None:
    """Each point of the history gives the ranks of the board at its time, whatever page it is on."""
    whole = read_rank_history(session, told.owner, phase.challenge.slug, phase.slug, split=None, limit=1000)
    organizer = BoardAudience(phase, organizer=True)
    places: dict[str, dict[str, Any]] = {}
    by_time: dict[datetime, dict[str, dict[str, Any]]] = {}
    for point in whole["points"]:
        places |= {change["team"]["id"]: change for change in point["changes"]}
        by_time[point["at"]] = {team: change for team, change in places.items() if change["rank"]}
    for at, ranked in by_time.items():
        then = board(session, organizer, asked=AskedBoard(at=at))
        expected = {
            row["team"]["id"]: (row["rank"], row["scores"][then["primary"]]["value"])
            for row in then["rows"]
            if row["rank"]
        }
        assert {team: (change["rank"], change["value"]) for team, change in ranked.items()} == expected
    for start in {1, whole["total"] // 2, whole["total"] - 1} & set(range(1, whole["total"])):
        part = read_rank_history(
            session, told.owner, phase.challenge.slug, phase.slug, split=None, limit=2, cursor=str(start)
        )
        assert [point["at"] for point in part["points"]] == [
            point["at"] for point in whole["points"][start : start + 2]
        ]
    now = board(session, organizer)
    assert {team: change["rank"] for team, change in places.items() if change["rank"]} == {
        row["team"]["id"]: row["rank"] for row in now["rows"] if row["rank"]
    }


def test_a_time_before_the_first_board_and_one_to_come_are_refused(db: Database) -> None:
    with db.write() as session:
        told = Told(session, {}, anonymous=False)
        audience = BoardAudience(session.get_one(Phase, told.phase), organizer=False)
        with pytest.raises(NoSuchBoard, match=r"had no board at .*: its first one is of"):
            board(session, audience, asked=AskedBoard(at=datetime.fromisoformat("2001-01-01T00:00:00Z")))
        with pytest.raises(BadRequest, match="future"):
            board(session, audience, asked=AskedBoard(at=datetime.fromisoformat("9001-01-01T00:00:00Z")))


def test_versions_that_were_never_in_force_have_no_board(db: Database) -> None:
    with db.write() as session:
        told = Told(session, {}, anonymous=False)
        phase = session.get_one(Phase, told.phase)
        for audience in (BoardAudience(phase, organizer=False), BoardAudience(phase, organizer=True)):
            for asked in (AskedBoard(gold_version=2), AskedBoard(recipe_version=7), AskedBoard(gold_version=99)):
                with pytest.raises(NoSuchBoard, match="was ever computed by"):
                    board(session, audience, asked=asked)
            assert board(session, audience, asked=AskedBoard(gold_version=1))["gold_version"] == 1


def test_a_board_by_a_former_version_says_what_it_lacks(db: Database) -> None:
    """Organizers see how many submissions have no scores by the former gold; others see what was sent until its end."""
    with db.write() as session:
        told = Told(session, {}, anonymous=False)
        told.submit(session, sent(0, 0.5, 0.5, 0.5))
        told.switch(session)
        told.golds = told.golds[1:]
        told.submit(session, sent(1, 0.5, 0.5, 0.5))
        phase = session.get_one(Phase, told.phase)
        audience = BoardAudience(phase, organizer=False)
        for reader, unscored in ((BoardAudience(phase, organizer=True), 1), (audience, 0)):
            former = board(session, reader, asked=AskedBoard(gold_version=1))
            assert (former["unscored"], len(former["rows"]), former["gold_version"]) == (unscored, 1, 1)
        assert "gold version 1" in former["former"]["meaning"]
        present = board(session, audience)
        assert (present["unscored"], len(present["rows"]), present["former"]) == (0, 2, None)
        assert session.query(Submission).count() >= 2
