"""Teams against a simple model: who is in which team, who leads it, whom usage binds, and what a team has used."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select

from app.actions.access import Caller
from app.actions.challenges.team_registration import decide_registration, register_team, register_with_invitation
from app.actions.teams.edit_team import edit_team
from app.actions.teams.join_team import invite_to_team
from app.actions.teams.leave_team import allow_to_join, remove_member
from app.actions.teams.merge_teams import merge_teams
from app.errors import AssayError
from app.settings import Settings
from app.store.queries import memberships, quota, ranked_values, teams
from app.store.session import Database, WriteSession
from app.store.tables import Challenge, Phase, QuotaEntry, Submission, Team, User
from tests import hypothesis_profiles
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables

SLUG, SIZE_LIMIT, TOTAL = "pets", 3, 4
people = st.integers(0, 4)


class ModelTeam:
    """What the model knows of a team."""

    def __init__(self, captain: int) -> None:
        self.members = [captain]  # who is longest in it first
        self.captain: int | None = captain
        self.used = 0
        self.merged: ModelTeam | None = None


def outcome(act: Any, *arguments: Any, **options: Any) -> str:
    """The code of the refusal of an act, or an empty text."""
    try:
        act(*arguments, **options)
    except AssayError as refusal:
        return refusal.code
    return ""


class TeamMachine(RuleBasedStateMachine):
    """Acts on teams, in any order; after each the rows say what the model says."""

    folder: Path
    made = Bundle("made")

    @initialize()
    def start(self) -> None:
        self.number = getattr(type(self), "number", 0) + 1
        type(self).number = self.number
        settings = Settings(data_dir=self.folder / str(self.number))
        migrate_by_copy(settings)
        self.db = Database(settings)
        self.teams: dict[str, ModelTeam] = {}
        self.place: dict[int, str] = {}
        self.bound: dict[int, str] = {}
        self.barred: set[int] = set()
        with self.db.write() as session:
            ids = fill_tables(session)
            self.phase_id = ids.phase
            session.get_one(Phase, ids.phase).quota = {"total": TOTAL}
            challenge = session.get_one(Challenge, session.get_one(Phase, ids.phase).challenge_id)
            challenge.team_size_limit, challenge.registration, challenge.status = SIZE_LIMIT, "open", "published"
            challenge.merge_deadline = None
            session.get_one(Phase, ids.phase).released_at = None
            self.challenge_id = challenge.id
            users = [User(email=f"u{number}@example.org", name=f"U{number}") for number in range(5)]
            session.add_all(users)
            session.flush()
            self.users = [user.id for user in users]

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()

    def caller(self, person: int) -> Caller:
        return Caller(user_id=self.users[person], scopes=frozenset({"read", "submit"}))

    def registration(self, session: WriteSession, person: int) -> str:
        found = teams.registration_of(session, self.challenge_id, self.users[person])
        return "0" * 32 if found is None else found.id

    def refused_entry(self, person: int, team: str | None) -> str:
        """Why a person may not found a team (None) or join this one."""
        if person in self.place:
            return "already_registered"
        if person in self.barred:
            return "registration_barred"
        if self.bound.get(person, team) != team:
            return "bound_to_team"
        return "team_full" if team is not None and len(self.teams[team].members) >= SIZE_LIMIT else ""

    @rule(target=made, person=people)
    def found(self, person: int) -> str | None:
        with self.db.write() as session:
            key = f"Team {len(self.teams)}"
            refused = outcome(register_team, session, self.caller(person), SLUG, key)
            assert refused == self.refused_entry(person, None)
            if refused:
                session.rollback()
                return next(iter(self.teams), None)
            found = teams.by_name(session, self.challenge_id, key)
            assert found is not None
        self.teams[found.id] = ModelTeam(person)
        self.place[person] = found.id
        self.bound.pop(person, None)
        return found.id

    @rule(person=people, team=made)
    def join(self, person: int, team: str | None) -> None:
        if team is None or self.teams[team].captain is None:
            return
        leader = self.teams[team].captain
        assert leader is not None
        with self.db.write() as session:
            challenge = session.get_one(Challenge, self.challenge_id)
            challenge.team_size_limit = None  # the captain has invited while there was a place
            if leader in self.barred:
                assert outcome(invite_to_team, session, self.caller(leader), SLUG, team) == "registration_barred"
                session.rollback()
                return
            _, code = invite_to_team(session, self.caller(leader), SLUG, team)
            challenge.team_size_limit = SIZE_LIMIT
            refused = outcome(register_with_invitation, session, self.caller(person), SLUG, code)
            assert refused == self.refused_entry(person, team)
            if refused:
                session.rollback()
                return
        self.teams[team].members.append(person)
        self.place[person] = team
        self.bound.pop(person, None)

    @rule(actor=people, person=people)
    def leave_or_remove(self, actor: int, person: int) -> None:
        team = self.place.get(person)
        if team is None:
            return
        model = self.teams[team]
        if actor in {person, model.captain}:
            expected = "registration_barred" if actor in self.barred else ""
        else:
            expected = "not_captain" if self.place.get(actor) == team else "not_found"
        with self.db.write() as session:
            refused = outcome(remove_member, session, self.caller(actor), SLUG, team, self.users[person])
            assert refused == expected
            if refused:
                session.rollback()
                return
        self.quit(person)

    def quit(self, person: int) -> None:
        team = self.place.pop(person)
        model = self.teams[team]
        model.members.remove(person)
        if model.used:
            self.bound[person] = team
        if model.captain == person:
            self.succeed(model)

    def succeed(self, model: ModelTeam) -> None:
        able = [each for each in model.members if each not in self.barred]
        if able or model.captain not in model.members:
            model.captain = next(iter(able or model.members), None)

    @rule(person=people)
    def bar_or_approve(self, person: int) -> None:
        status = "approved" if person in self.barred else "barred"
        with self.db.write() as session:
            registration = self.registration(session, person)
            if registration == "0" * 32:
                return
            decide_registration(session, self.admin_of(session), SLUG, registration, status=status, reason="r")
        if status == "approved":
            self.barred.remove(person)
            return
        self.barred.add(person)
        model = self.teams.get(self.place.get(person, ""))
        if model is not None and model.captain == person:
            self.succeed(model)

    def admin_of(self, session: WriteSession) -> Caller:
        return Caller(user_id=session.scalars(select(User.id).limit(1)).one(), admin=True, scopes=frozenset({"admin"}))

    @rule(person=people, heir=people)
    def hand_over(self, person: int, heir: int) -> None:
        team = self.place.get(person)
        if team is None:
            return
        model = self.teams[team]
        able = heir in model.members and heir not in self.barred
        expected = "not_captain" if model.captain != person else "registration_barred" if person in self.barred else ""
        expected = expected or ("" if able else "invalid_request")
        with self.db.write() as session:
            heir_id = self.users[heir]
            assert outcome(edit_team, session, self.caller(person), SLUG, team, name=None, captain=heir_id) == expected
        if not expected:
            model.captain = heir

    @rule(person=people)
    def submit(self, person: int) -> None:
        team = self.place.get(person)
        if team is None or self.teams[team].used >= TOTAL:
            return
        with self.db.write() as session:
            row = Submission(phase_id=self.phase_id, team_id=team, user_id=self.users[person], status="finished")
            for name in ("method", "description", "file_key", "sha256", "format"):
                setattr(row, name, "x")
            row.size, row.problems, row.problem_totals, row.notes = 1, [], {}, []
            session.add(row)
            session.flush()
            ledger = {"phase_id": self.phase_id, "team_id": team, "submission_id": row.id}
            for kind, reason in (("reserve", "admitted"), ("charge", "finished")):
                session.add(QuotaEntry(**ledger, kind=kind, day="2026-03-01", reason=reason))
        self.teams[team].used += 1

    @rule(first=made, second=made)
    def merge(self, first: str | None, second: str | None) -> None:
        if first is None or second is None or first == second:
            return
        one, other = self.teams[first], self.teams[second]
        if one.captain is None or other.captain is None or {one.captain, other.captain} & self.barred:
            return
        expected = "team_full" if len(one.members) + len(other.members) > SIZE_LIMIT else ""
        expected = expected or ("merge_exceeds_quota" if one.used + other.used > TOTAL else "")
        with self.db.write() as session:
            refused = outcome(merge_teams, session, self.caller(one.captain), SLUG, first, second)
            assert refused == expected
            if refused:
                return
        with self.db.write() as session:
            done = merge_teams(session, self.caller(other.captain), SLUG, second, first)
            assert done.merged
            kept = done.team.id
        gone = second if kept == first else first
        stays, goes = self.teams[kept], self.teams[gone]
        for person in goes.members:
            self.place[person] = kept
        stays.members += goes.members
        stays.used += goes.used
        goes.members, goes.captain, goes.used, goes.merged = [], None, 0, stays
        self.bound = {person: kept if team == gone else team for person, team in self.bound.items()}

    @rule(person=people)
    def allow(self, person: int) -> None:
        with self.db.write() as session:
            registration = self.registration(session, person)
            if registration != "0" * 32:
                allow_to_join(session, self.admin_of(session), SLUG, registration)
        self.bound.pop(person, None)

    @invariant()
    def rows_say_what_the_model_says(self) -> None:
        if not hasattr(self, "db"):
            return
        number = {user: place for place, user in enumerate(self.users)}
        with self.db.read() as session:
            for team_id, model in self.teams.items():
                row = session.get_one(Team, team_id)
                members = [number[each.registration.user_id] for each in memberships.members_of(session, team_id)]
                assert (members, row.captain_id) == (
                    model.members,
                    None if model.captain is None else self.users[model.captain],
                )
                assert quota.usage_and_grants(session, self.phase_id, team_id, "2026-03-01")[0].total == model.used
                assert (row.merged_into_id is not None) == (model.merged is not None)
                assert len(session.scalars(select(Submission).where(Submission.team_id == team_id)).all()) == model.used
            for person, user in enumerate(self.users):
                registration = teams.registration_of(session, self.challenge_id, user)
                if registration is not None:
                    assert registration.team_id == self.place.get(person)
                    assert registration.bound_team_id == self.bound.get(person)
            assert ranked_values.wrong_counts(session) == []


@pytest.mark.ci
def test_teams_are_what_the_model_says(tmp_path: Path) -> None:
    machine = type("TeamMachineHere", (TeamMachine,), {"folder": tmp_path})
    examples = 10 if hypothesis_profiles.is_thorough() else 4
    run_state_machine_as_test(
        machine, settings=hypothesis_settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
