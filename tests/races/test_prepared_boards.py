"""Whatever is written, a board that was prepared is the one that the pure query gives: every view of it, at every API."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.actions.access import VISITOR
from app.actions.accounts.issue_token import authenticate_token
from app.actions.submissions.read_leaderboard import read_leaderboard
from app.api.http.problem_documents import problem_response
from app.api.leaderboards import encode_board
from app.errors import AssayError
from app.settings import Settings
from app.store import board_invalidation
from app.store.session import Database
from app.store.tables import GoldVersion, Phase, Submission, Team
from app.store.types import utcnow
from tests.api.in_process_app import app_settings, serve_app
from tests.cluster import cluster
from tests.live_service import Caller, eventually, open_challenge
from tests.postgres import PostgresServer

IDS = [f"t{number}" for number in range(12)]
GOLD = [{"id": name, "label": "ab"[at % 2], "split": ("public", "private")[at % 3 == 0]} for at, name in enumerate(IDS)]
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"], "disclosure": {"digits": 3}}
BOARD = "/challenges/walk/phases/main"
ASKED: tuple[dict[str, str], ...] = (
    {},
    {"format": "csv"},
    {"metric": "accuracy"},
    {"metric": "f1_micro"},
    {"split": "private"},
    {"split": "all", "metric": "accuracy"},
)
STEPS = 14
OWNER, MEMBER = 1, 3  # among the people
PAST, FUTURE = "2021-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


class Walk:
    """A challenge that is changed in all ways, one at a time; whoever may look at its board does so after each."""

    def __init__(self, tokens: list[str | None], apis: list[Callable[[str | None], Caller]], db: Database) -> None:
        """`tokens` are those of a visitor, the owner, an outsider and the members of two teams."""
        self.db = db
        self.seen = [[api(token) for token in tokens] for api in apis]
        self.tokens = tokens
        self.draw = random.Random(20_261)
        self._checks = 0

    def person(self, number: int) -> tuple[int, Caller]:
        """An API, and somebody who talks to it."""
        api = self.draw.randrange(len(self.seen))
        return api, self.seen[api][number]

    def expected(self, token: str | None, query: dict[str, str]) -> tuple[int, bytes]:
        """What the pure query gives."""
        options: dict[str, Any] = {"split": query.get("split"), "metric": query.get("metric")}
        with self.db.read() as session:
            viewer = VISITOR if token is None else authenticate_token(session, token)
            try:
                board = read_leaderboard(session, viewer, "walk", "main", **options)
            except AssayError as refusal:
                return refusal.status, bytes(problem_response(refusal).body)
        return 200, encode_board(board, "csv" if query.get("format") == "csv" else "json")

    def check(self, changed: int, change_name: str) -> None:
        """At once at the API that made the change, and at the others as soon as they hear of it.

        A new score shows at once to its team, at each API, and to organizers; to others it may show a second later.
        """
        self._checks += 1
        for number, token in enumerate(self.tokens):
            # The owner and a member look at all of them after each change, others at half of them in turn.
            turn = slice(None) if number in {OWNER, MEMBER} else slice((number + self._checks) % 2, None, 2)
            for view, query in list(enumerate(ASKED))[turn]:
                # Each view is read at one API before a change and after it, and then as often at the next one.
                at = (self._checks + number + view) // 2 % len(self.seen)
                description = f"{change_name}: API {at}, caller {number}, {query}"

                def same(
                    caller: Caller = self.seen[at][number],
                    query: dict[str, str] = query,
                    token: str | None = token,
                ) -> bool:
                    answer = caller.get(f"{BOARD}/leaderboard", params=query)
                    return (answer.status_code, answer.content) == self.expected(token, query)

                # Organizers also see rank sets and intervals, which follow the scores.
                if at == changed and number != OWNER and change_name != "submits":
                    assert same(), description
                else:
                    eventually(same, description)

    # ---- changes

    def submits(self) -> int:
        """A team sends a file, good or bad, and looks at the board at every API."""
        number = self.draw.choice((3, 4))
        api, team = self.person(number)
        predictions = {row["id"]: self.draw.choice("ab") for row in GOLD}
        if self.draw.random() < 0.25:
            predictions["t1"] = "no such label"
        answer = team.submit("walk", predictions, method=self.draw.choice(("tree", "net")))
        assert answer.status_code == 201, answer.text
        for at, callers in enumerate(self.seen):
            board = callers[number].get(f"{BOARD}/leaderboard")
            assert (board.status_code, board.content) == self.expected(self.tokens[number], {}), f"own score, API {at}"
        return api

    def selects(self) -> int:
        """A team names a submission, or takes that back."""
        api, team = self.person(self.draw.choice((3, 4)))
        done = [row for row in team.get(f"{BOARD}/submissions").json()["items"] if row["status"] == "finished"]
        if done:
            verb = self.draw.choice(("select", "select", "unselect"))
            assert team.post(f"/submissions/{self.draw.choice(done)['id']}/{verb}").status_code == 200
        return api

    def phase(self) -> int:
        """The organizers change who sees what, and when."""
        rule: dict[str, Any] = self.draw.choice(
            (
                {"leaderboard": "public"},
                {"leaderboard": "hidden"},
                {"leaderboard": "after_close", "closes_at": FUTURE},
                {"leaderboard": "public", "anonymous": True},
                {"leaderboard": "public", "anonymous": False},
            )
        )
        return self._owner("PATCH", BOARD, rule)

    def shown_after_the_close(self) -> int:
        """A phase closes, and is open again."""
        self._owner(
            "PATCH", BOARD, {"leaderboard": "after_close", "opens_at": "2020-01-01T00:00:00Z", "closes_at": PAST}
        )
        self.check(-1, "closed")
        with self.db.write() as session:
            last = session.query(Submission).order_by(Submission.id.desc()).first()
            if last is not None:
                last.status = "queued"
                board_invalidation.invalidate(session, board_invalidation.waiting_tag(last.phase_id))
        self.check(0 if self.db.sqlite else -1, "closed while one still waits")
        if last is not None:
            api, owner = self.person(1)
            assert owner.post(f"/submissions/{last.id}/cancel").status_code == 200
            self.check(api, "closed when none waits any longer")
        return self._owner("PATCH", BOARD, {"closes_at": FUTURE})

    def challenge(self) -> int:
        """The challenge is hidden, shown or called otherwise."""
        change: dict[str, str] = self.draw.choice(
            ({"visibility": "private"}, {"visibility": "public"}, {"title": "New"})
        )
        return self._owner("PATCH", "/challenges/walk", change)

    def recipe(self) -> int:
        """Another rule of ranking, other digits."""
        body = RECIPE | {"selection": self.draw.choice(("best", "latest", "selected"))}
        digits = {"disclosure": {"digits": self.draw.choice((2, 5, "full"))}}
        return self._owner("PUT", "/challenges/walk/recipe", body | digits)

    def organizer(self) -> int:
        """The outsider becomes an organizer, or is none any longer."""
        email = self.seen[0][2].get("/me").json()["email"]
        if self.draw.random() < 0.5:
            return self._owner("POST", "/challenges/walk/organizers", {"email": email, "role": "viewer"})
        api, owner = self.person(1)
        owner.delete("/challenges/walk/organizers", params={"email": email})
        return api

    def bars(self) -> int:
        """A member is barred or let in."""
        api, owner = self.person(1)
        one = self.draw.choice(owner.get("/challenges/walk/registrations").json()["items"])
        decided = {"status": self.draw.choice(("approved", "barred")), "reason": "so"}
        assert owner.patch(f"/challenges/walk/registrations/{one['id']}", json=decided).status_code == 200
        return api

    def disqualifies(self) -> int:
        """A submission or a team leaves the ranking, or takes part again."""
        api, owner = self.person(1)
        verb = self.draw.choice(("withdraw", "disqualify", "reinstate"))
        if self.draw.random() < 0.4:
            teams = [team for team in owner.get("/challenges/walk/teams").json()["items"] if not team["baseline"]]
            path = f"/challenges/walk/teams/{self.draw.choice(teams)['id']}/{verb.replace('withdraw', 'disqualify')}"
        else:
            done = owner.get(f"{BOARD}/submissions").json()["items"]
            done = [row["id"] for row in done if row["status"] == "finished"]
            if not done:
                return api
            path = f"/submissions/{self.draw.choice(done)}/{verb}"
        answer = owner.post(path, json={"reason": "so"})
        assert answer.status_code == 200 or answer.json()["code"] == "on_no_board", answer.text
        return api

    def rows(self) -> int:
        """What has no route yet, and what is done by hand through the same sessions."""
        with self.db.write() as session:
            flags = ("baseline", "unofficial", "test")
            change = self.draw.choice((*flags, "rename", "release", "gold"))
            done = session.query(Submission).filter_by(status="finished").order_by(Submission.id).all()
            one = self.draw.choice(done) if done else None
            if change == "rename":
                team = self.draw.choice(session.query(Team).order_by(Team.id).all())
                team.name = f"Renamed {self.draw.randrange(100)}"
            elif change == "release":
                phase = session.query(Phase).one()
                phase.released_at = None if phase.released_at else utcnow()
            elif change == "gold":
                session.query(GoldVersion).one().activated_at = utcnow()
            elif one is not None:
                setattr(one, change, not getattr(one, change))
        return 0 if self.db.sqlite else -1

    def _owner(self, method: str, path: str, body: dict[str, Any]) -> int:
        api, owner = self.person(1)
        answer = owner.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return api

    def go(self) -> None:
        """Change and look, again and again."""
        ways = [self.submits, self.submits, self.selects, self.phase, self.shown_after_the_close, self.challenge]
        ways += [self.recipe, self.organizer, self.bars, self.rows, self.rows, self.rows]
        ways += [self.disqualifies, self.disqualifies]
        self.check(-1, "at first")
        for step in range(STEPS):
            change_once = ways[step % len(ways)] if step < len(ways) else self.draw.choice(ways)
            # what teams send is stored only while the challenge lets them
            if change_once in {self.submits, self.selects}:
                self._open_again()
            self.check(change_once(), change_once.__name__)

    def _open_again(self) -> None:
        owner = self.seen[0][1]
        assert owner.patch("/challenges/walk", json={"visibility": "public"}).status_code == 200
        for one in owner.get("/challenges/walk/registrations").json()["items"]:
            owner.patch(f"/challenges/walk/registrations/{one['id']}", json={"status": "approved"}).raise_for_status()
        for team in owner.get("/challenges/walk/teams").json()["items"]:
            owner.post(f"/challenges/walk/teams/{team['id']}/reinstate").raise_for_status()


def people(admin: Caller, person: Callable[[str], Caller]) -> list[str | None]:
    """The tokens of a visitor, the owner, an outsider and the members of two teams."""
    named = [person(name) for name in ("owner", "outsider", "blue", "green")]
    open_challenge(admin, "walk", GOLD, recipe=RECIPE, phases=[{"name": "main", "reports": ["scores"]}])
    email = named[0].get("/me").json()["email"]
    admin.post("/challenges/walk/organizers", json={"email": email, "role": "owner"}).raise_for_status()
    for caller, team in zip(named[2:], ("Blue", "Green"), strict=True):
        caller.join("walk", team)
    return [None, *(each.headers["authorization"].removeprefix("Bearer ") for each in named)]


@contextmanager
def on_sqlite(folder: Path) -> Iterator[Walk]:
    with serve_app(app_settings(folder / "data"), analyses=True) as service:
        tokens = people(service.admin(), lambda name: _person(service.admin(), service.caller, name))
        yield Walk(tokens, [service.caller], service.app.state.service.db)


def _person(admin: Caller, caller: Callable[[str | None], Caller], name: str) -> Caller:
    body = {"email": f"{name}@example.org", "name": name, "password": "a password for tests"}
    admin.post("/users", json=body).raise_for_status()
    scopes = ["read", "submit", "organize"]
    answer = caller(None).post("/tokens", json={"email": body["email"], "password": body["password"], "scopes": scopes})
    return caller(answer.raise_for_status().json()["token"])


@contextmanager
def on_postgresql(folder: Path, postgres: PostgresServer) -> Iterator[Walk]:
    with postgres.database() as url, cluster(folder, url) as parts:
        parts.with_analyses().start(apis=2, workers=1)
        tokens = people(parts.admin(), lambda name: _person(parts.admin(), parts.caller, name))
        db = Database(Settings(data_dir=folder / "data", database_url=url))
        apis = [lambda token: parts.caller(token, 0), lambda token: parts.caller(token, 1)]
        try:
            yield Walk(tokens, apis, db)
        finally:
            db.close()


@pytest.mark.ci
def test_every_view_is_that_of_the_pure_query_on_sqlite(tmp_path: Path) -> None:
    with on_sqlite(tmp_path) as walk:
        walk.go()


@pytest.mark.ci
def test_every_view_is_that_of_the_pure_query_at_two_apis(tmp_path: Path, postgres: PostgresServer) -> None:
    with on_postgresql(tmp_path, postgres) as walk:
        walk.go()
