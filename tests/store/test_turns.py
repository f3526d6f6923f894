"""Queued tasks go round robin over users, then over a user's teams, the oldest first: compared with a plain oracle."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, event, text

from app.actions.scoring_tasks.claim_tasks import claim_tasks
from app.queue.jobs import JobTable
from app.queue.local import LocalQueue
from app.scoring import SCORER_VERSION
from app.settings import Settings
from app.store import clock
from app.store.queries import fair_scheduling, tasks
from app.store.queries.fair_scheduling import Lane
from app.store.queries.queue_positions import queue_positions
from app.store.session import Database
from app.store.tables import Score, ScoreTask, Team, User
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, add_row, fill_tables, submission

LEASE = timedelta(seconds=30)


class WorkList:
    """A list of tasks of several users and their teams."""

    def __init__(self, settings: Settings) -> None:
        migrate_by_copy(settings)
        self.db = Database(settings)
        with self.db.write() as session:
            self.ids: RowIds = fill_tables(session)
            session.execute(delete(Score))
            session.execute(delete(ScoreTask))
        self._made: dict[str, str] = {}

    def _user(self, name: str) -> str:
        if name not in self._made:
            with self.db.write() as session:
                self._made[name] = add_row(session, User(email=f"{name}@example.org", name=name))
        return self._made[name]

    def _team(self, name: str) -> str:
        if name not in self._made:
            with self.db.write() as session:
                team = Team(challenge_id=self.ids.challenge, name=name, name_key=name)
                self._made[name] = add_row(session, team)
        return self._made[name]

    def send(self, user: str, team: str = "", *, organizer: bool = False) -> str:
        """Queue a file of this user for this team of the user; gives the id of its task."""
        user_id, team_id = self._user(user), self._team(f"team {user} {team}")
        with self.db.write() as session:
            sent = add_row(session, submission(self.ids.phase, team_id, user_id))
            lane = Lane.of_organizer(user_id) if organizer else Lane.of_participant(user_id, team_id)
            key: dict[str, Any] = {"gold_id": self.ids.gold, "recipe_id": self.ids.recipe}
            task_id = tasks.add(session, submission_id=sent, scorer_version=SCORER_VERSION, lane=lane, **key)
        assert task_id is not None
        return task_id

    def claim(self) -> str | None:
        """Claim the next one, as a worker of this database does."""
        with self.db.write() as session:
            queue = LocalQueue(lambda _count, _woken: [], slots=1) if self.db.sqlite else JobTable()
            lease = None if self.db.sqlite else LEASE
            return next((one.task_id for one in claim_tasks(session, queue, 1, lease=lease)), None)

    def drain(self) -> list[str]:
        """Claim all that wait."""
        return list(iter(self.claim, None))

    def positions(self, queued: list[str]) -> list[str]:
        """The queued tasks in the order of the positions that their senders are told."""
        with self.db.read() as session:
            places = {place: each for each, place in queue_positions(session, queued).items()}
            page = queued[:: max(1, len(queued) // 4)]
            assert all(places[place] == each for each, place in queue_positions(session, page).items())
        assert set(places) == {*range(1, len(queued) + 1)}
        return [places[place] for place in range(1, len(queued) + 1)]

    def cancel(self, *task_ids: str) -> None:
        with self.db.write() as session:
            held = [session.get_one(ScoreTask, each) for each in task_ids]
            for task in held:
                tasks.cancel(session, task, clock.now(session))


@pytest.fixture
def work(settings: Settings) -> Iterator[WorkList]:
    work_list = WorkList(settings)
    yield work_list
    work_list.db.close()


@dataclass
class Oracle:
    """Round robin in plain Python: who is served, and who may be served next."""

    waiting: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # by user, by team, the oldest first
    rounds: dict[str, int] = field(default_factory=dict)  # the round in which a user is served next, or was last
    served: dict[str, int] = field(default_factory=dict)  # the round in which a user was served last
    now: int = 0
    last_team: dict[str, str] = field(default_factory=dict)

    def send(self, user: str, team: str, task: str) -> None:
        teams = self.waiting.setdefault(user, {})
        if not any(teams.values()):
            self.rounds[user] = max(self.now, self.served.get(user, -1) + 1)
        teams.setdefault(team, []).append(task)

    def users(self) -> list[str]:
        return [user for user, teams in self.waiting.items() if any(teams.values())]

    def cancel(self, task: str) -> None:
        for teams in self.waiting.values():
            for queue in teams.values():
                if task in queue:
                    queue.remove(task)

    def take(self, task: str) -> None:
        """The task that was served: it must be the oldest of its team, of a user whose turn it was."""
        ((user, team),) = [
            (user, team) for user, teams in self.waiting.items() for team, queue in teams.items() if task in queue
        ]
        first = min(self.rounds[each] for each in self.users())
        assert self.rounds[user] == first, "a user was served whose turn it was not"
        assert self.waiting[user][team].pop(0) == task, "the team has an older one"
        self.now = max(self.now, first)
        self.served[user] = first
        self.rounds[user] = first + 1


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(2))
def test_whatever_comes_whenever_is_served_round_robin_as_the_positions_say(work: WorkList, seed: int) -> None:
    chance, oracle, queued = random.Random(seed), Oracle(), list[str]()
    for _ in range(60):
        what = chance.random()
        if what < 0.5:
            user = chance.choice("aaaabc")
            team = chance.choice("xxy")
            task = work.send(user, team)
            oracle.send(user, team, task)
            queued.append(task)
        elif what < 0.6 and queued:
            gone = queued.pop(chance.randrange(len(queued)))
            work.cancel(gone)
            oracle.cancel(gone)
        elif queued:
            expected = work.positions(queued)[0]
            found = work.claim()
            assert found == expected
            oracle.take(found)
            queued.remove(found)
    expected_order = work.positions(queued)
    order = work.drain()
    assert order == expected_order
    for task in order:
        oracle.take(task)
    assert oracle.users() == []


def test_twenty_files_of_one_user_delay_that_of_another_by_one(work: WorkList) -> None:
    many = [work.send("greedy") for _ in range(20)]
    assert work.claim() == many[0]
    one = work.send("modest")
    assert work.positions([*many[1:], one]).index(one) <= 1
    assert one in {work.claim(), work.claim()}
    # Sent one after the other they do not overtake those who wait either.
    again = work.send("modest")
    assert [work.claim(), work.claim()] in ([many[2], again], [again, many[2]], [many[1], again])


@pytest.mark.both_databases
def test_a_task_that_is_claimed_while_a_writer_asks_for_its_position_has_none(work: WorkList) -> None:
    first, second = work.send("ann"), work.send("ann")
    with work.db.read() as session:
        assert queue_positions(session, [first]) == {first: 1}
    if work.db.sqlite:  # writers go one after the other
        assert work.claim() == first
    with work.db.write() as session:
        assert queue_positions(session, [second]) == {second: 1 if work.db.sqlite else 2}
        if not work.db.sqlite:
            assert work.claim() == first
        assert queue_positions(session, [first, second]) == {second: 1}
        if not work.db.sqlite:
            assert work.claim() == second
            assert queue_positions(session, [second]) == {}


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(2))
def test_tasks_that_were_interrupted_keep_their_turns_and_are_served_as_the_positions_say(
    work: WorkList, seed: int
) -> None:
    """A worker that dies gives back the turn, after later turns of the same lane were taken: such a lane has gaps."""
    chance = random.Random(seed)
    queued = [work.send(chance.choice("aaab"), chance.choice("xy")) for _ in range(16)]
    claimed = [task for _ in range(9) if (task := work.claim()) is not None]
    interrupted = chance.sample(claimed, 5)
    with work.db.write() as session:
        for task_id in interrupted:
            session.get_one(ScoreTask, task_id).status = "queued"
    waiting = [task for task in queued if task not in claimed or task in interrupted]
    expected = work.positions(waiting)
    with work.db.read() as session:
        ranks = {each: queue_positions(session, [each])[each] for each in waiting}
    assert ranks == {each: place for place, each in enumerate(expected, 1)}
    assert work.drain() == expected


def test_the_teams_of_a_user_take_turns_and_cost_the_others_nothing(work: WorkList) -> None:
    first = [work.send("a", "x") for _ in range(3)]
    other = [work.send("b") for _ in range(3)]
    second = [work.send("a", "y") for _ in range(2)]
    assert work.drain() == [
        *(first[0], other[0], second[0], other[1], first[1], other[2]),
        *(second[1], first[2]),
    ]


@pytest.mark.both_databases
def test_what_leaves_together_leaves_no_turn_unused(work: WorkList) -> None:
    mine, others = [work.send("a") for _ in range(6)], [work.send("b") for _ in range(4)]
    work.cancel(mine[0], mine[5], mine[1])
    order = work.drain()
    assert [each for each in order if each in mine] == mine[2:5]
    assert [each in mine for each in order] in ([True, False] * 3 + [False], [False, True] * 3 + [False])
    assert [each for each in order if each in others] == others


@pytest.mark.both_databases
def test_a_task_passes_on_a_turn_that_it_got_in_the_same_transaction(work: WorkList) -> None:
    mine, other = [work.send("a") for _ in range(3)], work.send("b")
    work.cancel(mine[0], mine[2])  # the first turn goes to the last task, and from there to the one that stays
    assert work.drain() == [mine[1], other]


def test_organizers_share_one_turn_so_that_they_neither_delay_nor_starve(work: WorkList) -> None:
    baselines = [work.send(each, organizer=True) for each in ("eve", "bob", "eve", "bob", "eve", "bob")]
    files = [work.send("a") for _ in range(6)]
    order = work.drain()
    assert order[::2] == baselines
    assert order[1::2] == files


@pytest.mark.both_databases
def test_a_task_that_had_its_turn_in_vain_takes_another_of_its_own_user(work: WorkList) -> None:
    mine = [work.send("a") for _ in range(2)]
    others = [work.send("b") for _ in range(3)]
    assert work.claim() == mine[0]
    with work.db.write() as session:
        task = session.get_one(ScoreTask, mine[0])
        fair_scheduling.take_another_turn(session, task)
        task.status = "queued"
    assert work.drain() == [others[0], mine[0], others[1], others[2], mine[1]]


def test_who_comes_new_is_no_better_off_than_who_was_served_thousands_of_times(work: WorkList) -> None:
    work.send("old")
    assert work.claim()
    with work.db.write() as session:
        session.execute(text("UPDATE score_tasks SET turn = 5000, served_turn = 5000"))
    fresh = [work.send("new") for _ in range(5)]
    old = work.send("old")
    assert work.drain() == [fresh[0], old, *fresh[1:]] or work.drain() == []


@pytest.mark.both_databases
def test_claims_at_the_same_time_take_each_task_once_and_are_fair(work: WorkList) -> None:
    sent = {user: [work.send(user) for _ in range(12 if user == "a" else 3)] for user in "abc"}
    with ThreadPoolExecutor(4) as workers:
        claimed = [each for each in workers.map(lambda _: work.claim(), range(18)) if each is not None]
    rest = work.drain()
    assert sorted([*claimed, *rest]) == sorted(task for each in sent.values() for task in each)
    with work.db.read() as session:
        rounds = {user: [session.get_one(ScoreTask, each).turn for each in sent[user]] for user in sent}
    assert all(each == list(range(len(each))) for each in rounds.values())


@pytest.mark.both_databases
def test_a_user_who_sends_from_many_connections_takes_one_turn_after_the_other(work: WorkList) -> None:
    work.send("a", "0")
    for number in range(8):
        work._team(f"team a {number}")
    with ThreadPoolExecutor(8) as senders:
        list(senders.map(lambda number: work.send("a", str(number)), range(8)))
    with work.db.read() as session:
        found = session.execute(text("SELECT turn FROM score_tasks ORDER BY turn")).scalars().all()
    assert list(found) == list(range(9))


MANY = 20_000
FILL = """
    WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < :many)
    INSERT INTO score_tasks (id, submission_id, gold_id, recipe_id, scorer_version, status, priority, attempt, crashes,
                             interruptions, created_at, lane, sublane, turn, ticket, subturn)
    SELECT 'task ' || n, 'submission ' || n, 'gold', 'recipe', :scorer, 'queued', 0, 0, 0,
           0, CURRENT_TIMESTAMP, 'user ' || n % 40, '', n / 40, 'task ' || n, n / 40
    FROM number
"""


@pytest.mark.both_databases
def test_a_claim_among_very_many_follows_indexes_and_sorts_nothing(work: WorkList) -> None:
    """Also before PostgreSQL has counted the rows."""
    engine, sent = work.db.engine(), list[tuple[str, Any]]()
    with engine.begin() as connection:
        if not work.db.sqlite:  # whose plans do not depend on the rows
            connection.execute(text("ALTER TABLE score_tasks SET (autovacuum_enabled = false)"))
            connection.execute(text("SET LOCAL session_replication_role = replica"))  # none of their parents is there
            connection.execute(text(FILL), {"many": MANY, "scorer": SCORER_VERSION})

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    with work.db.write() as session:
        event.listen(engine, "before_cursor_execute", note)
        found = fair_scheduling.start_next(session, SCORER_VERSION, fair_scheduling.prepare_claims(session), LEASE)
        fair_scheduling.take_turn(session, Lane("user 1", ""))
        event.remove(engine, "before_cursor_execute", note)
        assert found is None  # neither its submission nor its gold is there
        explain = "EXPLAIN QUERY PLAN " if work.db.sqlite else "EXPLAIN "
        queries = [(statement, arguments) for statement, arguments in sent if "score_tasks" in statement]
        plans = [
            "\n".join(map(str, session.connection().exec_driver_sql(explain + statement, arguments)))
            for statement, arguments in queries
        ]
    assert len(plans) >= 2
    for plan in plans:
        assert "ix_score_tasks_" in plan
        assert "Seq Scan on score_tasks" not in plan, plan
        assert "SCAN score_tasks\n" not in plan, plan
        assert "Sort" not in plan, plan
        assert "TEMP B-TREE" not in plan, plan


def test_a_task_that_comes_again_behind_a_backlog_puts_nobody_behind_that_backlog(work: WorkList) -> None:
    first, *_ = [work.send("mallory") for _ in range(30)]
    assert work.claim() == first
    with work.db.write() as session:  # its child crashed
        task = session.get_one(ScoreTask, first)
        fair_scheduling.take_another_turn(session, task)
        task.status = "queued"
    victim = work.send("victim")
    assert victim in {work.claim(), work.claim()}


def test_a_task_that_is_claimed_has_no_position_any_more(work: WorkList) -> None:
    task = work.send("grace")
    assert work.claim() == task
    with work.db.read() as session:
        assert queue_positions(session, [task]) == {}
