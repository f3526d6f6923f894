"""Quota and admission against a small model: time passes, windows move, and teams submit, cancel, merge and get grants."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select

from app.actions.access import Caller
from app.actions.challenges.pause_phase import pause_phase, resume_phase
from app.actions.challenges.team_registration import decide_registration, register_team
from app.actions.submissions.admission import SubmissionMetadata
from app.actions.submissions.cancel_submission import cancel_submission
from app.actions.submissions.read_quota import grant_quota, read_quota
from app.actions.submissions.read_submissions import SubmissionView
from app.actions.submissions.submit_prediction import submit_prediction
from app.actions.teams.merge_teams import merge_teams
from app.errors import AssayError, QuotaExceeded
from app.files import StoredFile
from app.formats import detect_file_kind
from app.queue.jobs import JobTable
from app.settings import Settings
from app.store.queries import quota, ranked_values, teams
from app.store.session import Database
from app.store.tables import Challenge, Organizer, Phase, ScoreTask, Submission, User
from tests import hypothesis_profiles
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables

SLUG, ZONE = "pets", ZoneInfo("Asia/Kathmandu")  # where a day begins at 18:15 UTC
OPENS = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMITS = {"total": 12, "per_day": 6, "concurrent": 4, "invalid_per_day": 5}
FILE, KIND = StoredFile("uploads/x", "0" * 64, 1), detect_file_kind("x.json", None, None)
people = st.integers(0, 2)
ENDINGS = ("finished", "rejected", "failed", "cpu_limit")


class NoWorkers(JobTable):
    """The queue of a service whose workers are elsewhere: nothing is scored but by the rules of the machine."""

    def enqueue(self, *_: Any, **__: Any) -> None:
        """SQLite has no table of jobs."""


@dataclass
class Entry:
    """A submission as the model knows it."""

    id: str
    sender: int
    day: str
    state: str = "queued"  # then running, and charged or refunded at the end
    invalid: bool = False


@dataclass
class ModelTeam:
    """What one team has sent and was granted."""

    id: str
    name: str
    members: list[int]
    entries: list[Entry] = field(default_factory=list)
    granted: dict[str, int] = field(default_factory=lambda: {"total": 0, "per_day": 0})

    def used(self, day: str) -> dict[str, int]:
        """By the words of the contract: what was refunded does not count, but an invalid file counts that day."""
        counting = [entry for entry in self.entries if entry.state != "refunded"]
        return {
            "total": len(counting),
            "per_day": sum(entry.day == day for entry in counting),
            "concurrent": sum(entry.state in {"queued", "running"} for entry in self.entries),
            "invalid_per_day": sum(entry.invalid and entry.day == day for entry in self.entries),
        }

    def limits(self) -> dict[str, int]:
        """The limits of the phase with what was granted or taken."""
        return {name: max(0, limit + self.granted.get(name, 0)) for name, limit in LIMITS.items()}

    def left(self, day: str) -> dict[str, int]:
        """What it may still send; any file in progress may turn out invalid."""
        used = self.used(day)
        used["invalid_per_day"] += used["concurrent"]
        return {name: max(0, limit - used[name]) for name, limit in self.limits().items()}


class LedgerMachine(RuleBasedStateMachine):
    """Acts in any order; after each the quota that a team reads is what the model says."""

    folder: Path

    @initialize(hours=st.sampled_from((1, 2, 30, -1)))  # after the opening, or before
    def start(self, hours: int) -> None:
        self.number = getattr(type(self), "number", 0) + 1
        type(self).number = self.number
        settings = Settings(data_dir=self.folder / str(self.number))
        migrate_by_copy(settings)
        self.now = OPENS + timedelta(hours=hours)
        self.db = Database(settings, lambda _: self.now)
        self.closes: datetime | None = None
        self.late, self.paused = "refuse", False
        self.barred: set[int] = set()
        self.teams: list[ModelTeam] = []
        with self.db.write() as session:
            ids = fill_tables(session)
            phase = session.get_one(Phase, ids.phase)
            phase.quota, phase.opens_at, phase.closes_at, phase.paused_at = dict(LIMITS), OPENS, None, None
            phase.released_at = phase.pause_reason = None
            challenge = session.get_one(Challenge, ids.challenge)
            challenge.timezone, challenge.team_size_limit, challenge.merge_deadline = str(ZONE), None, None
            self.phase_id, self.challenge_id, self.owner = ids.phase, ids.challenge, ids.user
            users = [User(email=f"u{number}@example.org", name=f"U{number}") for number in range(3)]
            session.add_all(users)
            session.flush()
            self.users = [user.id for user in users]
            assert session.scalar(select(Organizer.role).where(Organizer.user_id == self.owner)) == "owner"
            for number in range(3):
                register_team(session, self.caller(number), SLUG, f"Team {number}")
                found = teams.by_name(session, ids.challenge, f"Team {number}")
                assert found is not None
                self.teams.append(ModelTeam(found.id, f"Team {number}", [number]))

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()

    def caller(self, person: int) -> Caller:
        return Caller(user_id=self.users[person], scopes=frozenset({"read", "submit"}))

    def organizer(self) -> Caller:
        return Caller(user_id=self.owner, scopes=frozenset({"read", "submit", "organize"}))

    def today(self) -> str:
        return self.now.astimezone(ZONE).date().isoformat()

    def team_of(self, person: int) -> ModelTeam:
        return next(team for team in self.teams if person in team.members)

    def refusal(self, person: int) -> str:
        """Why a person may not submit now, by the contract; an empty text if they may."""
        if person in self.barred:
            return "registration_barred"
        closed = self.closes is not None and self.now >= self.closes
        if self.now < OPENS or (closed and self.late == "refuse"):
            return "no_open_phase"
        if self.paused:
            return "phase_paused"
        return "" if min(self.team_of(person).left(self.today()).values()) > 0 else "quota_exceeded"

    @rule(hours=st.integers(1, 30))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule(person=people, times=st.integers(1, 3))
    def submit(self, person: int, times: int) -> None:
        for _ in range(times):
            self.submit_once(person)

    def submit_once(self, person: int) -> None:
        expected, team = self.refusal(person), self.team_of(person)
        view, refused = self.try_to_submit(self.caller(person), SubmissionMetadata(method="m"))
        assert ("" if refused is None else refused.code) == expected
        if isinstance(refused, QuotaExceeded):
            assert team.left(self.today())[refused.extra["quota"]] == 0
        if view is None:
            return
        assert view.submission.unofficial == (self.closes is not None and self.now >= self.closes)
        team.entries.append(Entry(view.submission.id, person, self.today()))
        assert view.balance is not None
        assert view.balance.remaining == team.left(self.today())

    @rule(person=people)
    def submit_on_behalf(self, person: int) -> None:
        """An organizer does, at any time, and no quota is charged."""
        entry = SubmissionMetadata(method="m", team=self.team_of(person).name)
        assert self.try_to_submit(self.organizer(), entry)[1] is None
        _, refused = self.try_to_submit(self.caller(person), entry)
        assert refused is not None
        assert refused.code == "forbidden"

    def try_to_submit(
        self, caller: Caller, entry: SubmissionMetadata
    ) -> tuple[SubmissionView | None, AssayError | None]:
        try:
            with self.db.write() as session:
                args = session, NoWorkers(), caller, SLUG, "main"
                return submit_prediction(*args, entry=entry, stored=FILE, kind=KIND)[0], None
        except AssayError as refused:
            return None, refused

    def entry(self, pick: int, *states: str) -> tuple[ModelTeam, Entry] | None:
        found = [(team, entry) for team in self.teams for entry in team.entries if entry.state in states]
        return found[pick % len(found)] if found else None

    @rule(pick=st.integers(0, 20))
    def begin_scoring(self, pick: int) -> None:
        if (found := self.entry(pick, "queued")) is not None:
            with self.db.write() as session:
                session.get_one(Submission, found[1].id).status = "running"
            found[1].state = "running"

    @rule(endings=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(ENDINGS)), min_size=1, max_size=3))
    def settle_some(self, endings: list[tuple[int, str]]) -> None:
        for pick, ending in endings:
            self.settle(pick, ending)

    def settle(self, pick: int, ending: str) -> None:
        if (found := self.entry(pick, "queued", "running")) is None:
            return
        status = "failed" if ending == "cpu_limit" else ending
        with self.db.write() as session:
            session.get_one(Submission, found[1].id).status = status
            for task in session.scalars(select(ScoreTask).where(ScoreTask.submission_id == found[1].id)):
                task.status = "done"
            for _ in range(2):  # a repetition has no effect
                quota.settle(session, found[1].id, status, ending if status == "failed" else None)
        found[1].state = "charged" if ending == "finished" else "refunded"
        found[1].invalid = ending in {"rejected", "cpu_limit"}

    @rule(pick=st.integers(0, 20), by_organizer=st.booleans())
    def cancel(self, pick: int, by_organizer: bool) -> None:
        if (found := self.entry(pick, "queued", "running", "charged")) is None:
            return
        entry, closed = found[1], self.closes is not None and self.now >= self.closes
        if by_organizer:
            expected = "" if entry.state in {"queued", "running"} else "not_cancellable"
        elif entry.sender in self.barred:
            expected = "registration_barred"
        else:
            expected = "not_cancellable" if entry.state != "queued" else "phase_closed" if closed else ""
        code = ""
        try:
            with self.db.write() as session:
                cancel_submission(session, self.organizer() if by_organizer else self.caller(entry.sender), entry.id)
        except AssayError as refused:
            code = refused.code
        assert code == expected
        if not code:
            entry.state, entry.invalid = "refunded", not by_organizer

    @rule(person=people, total=st.integers(-3, 3), per_day=st.integers(-2, 2))
    def grant(self, person: int, total: int, per_day: int) -> None:
        team = self.team_of(person)
        with self.db.write() as session:
            given = {"total": total, "per_day": per_day}
            grant_quota(session, self.organizer(), SLUG, "main", team=team.name, reason="an outage", **given)
        team.granted = {name: team.granted[name] + given[name] for name in given}

    @rule()
    def pause_or_resume(self) -> None:
        with self.db.write() as session:
            if self.paused:
                resume_phase(session, self.organizer(), SLUG, "main")
            else:
                pause_phase(session, self.organizer(), SLUG, "main", reason="The gold is being checked.")
        self.paused = not self.paused

    @rule(hours=st.none() | st.integers(-2, 60), late=st.sampled_from(("refuse", "unofficial")))
    def move_the_close(self, hours: int | None, late: str) -> None:
        self.closes = None if hours is None else max(OPENS, self.now) + timedelta(hours=hours)
        self.late = late
        with self.db.write() as session:
            phase = session.get_one(Phase, self.phase_id)
            phase.closes_at, phase.late = self.closes, late

    @rule(person=people)
    def bar_or_approve(self, person: int) -> None:
        status = "approved" if person in self.barred else "barred"
        with self.db.write() as session:
            found = teams.registration_of(session, self.challenge_id, self.users[person])
            assert found is not None
            decide_registration(session, self.organizer(), SLUG, found.id, status=status, reason="r")
        if status == "approved":
            self.barred.remove(person)
            return
        self.barred.add(person)
        for entry in self.team_of(person).entries:
            if entry.sender == person and entry.state in {"queued", "running"}:
                entry.state = "refunded"  # and not invalid: the team did not do it

    @rule(first=people, second=people)
    def merge(self, first: int, second: int) -> None:
        one, other = self.team_of(first), self.team_of(second)
        if one is other or self.barred & {*one.members, *other.members}:
            return
        expected = "merge_exceeds_quota" if self.is_more_than_one_team(one, other) else ""
        code = ""
        try:
            for asks, of, joined in ((one.members[0], one, other), (other.members[0], other, one)):
                with self.db.write() as session:
                    state = merge_teams(session, self.caller(asks), SLUG, of.id, joined.id)
        except AssayError as refused:
            code = refused.code
        assert code == expected
        if code:
            return
        stays, goes = (one, other) if state.team.id == one.id else (other, one)
        stays.members, stays.entries = stays.members + goes.members, stays.entries + goes.entries
        stays.granted = {name: stays.granted[name] + goes.granted[name] for name in stays.granted}
        self.teams.remove(goes)

    def is_more_than_one_team(self, one: ModelTeam, other: ModelTeam) -> bool:
        """Whether both together used more than one team could have until now, with what both were granted."""
        if self.now < OPENS:
            return False
        until = self.now if self.closes is None or self.late == "unofficial" else min(self.now, self.closes)
        days = (until.astimezone(ZONE).date() - OPENS.astimezone(ZONE).date()).days + 1
        used = one.used("")["total"] + other.used("")["total"]
        limits = {name: LIMITS[name] + one.granted[name] + other.granted[name] for name in one.granted}
        return used > max(0, min(limits["total"], limits["per_day"] * days))

    @invariant()
    def quotas_say_what_the_model_says(self) -> None:
        if not hasattr(self, "db"):
            return
        with self.db.read() as session:
            for team in self.teams:
                balance = read_quota(session, self.organizer(), SLUG, "main", team.name).balance
                assert balance.used == team.used(self.today())
                assert balance.limits == team.limits()
                assert balance.remaining == team.left(self.today())
                assert balance.reset_at > self.now
            assert ranked_values.wrong_counts(session) == []


def test_quotas_and_admission_are_what_the_model_says(tmp_path: Path) -> None:
    machine = type("LedgerMachineHere", (LedgerMachine,), {"folder": tmp_path})
    examples = 10 if hypothesis_profiles.is_thorough() else 4
    run_state_machine_as_test(
        machine, settings=hypothesis_settings(max_examples=examples, stateful_step_count=40, deadline=None)
    )
