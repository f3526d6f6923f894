"""What the journeys share: people, challenges, and short ways to say what was sent and seen."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from app.settings import Settings
from app.store.session import Database, WriteSession
from tests.live_service import PASSWORD, Caller, Live, open_challenge

_NUMBERS = itertools.count(1)

GOLD = [{"id": f"t{number}", "label": label} for number, label in enumerate(("a", "a", "b", "b"), 1)]
CORRECT_PREDICTIONS = {"t1": "a", "t2": "a", "t3": "b", "t4": "b"}
MAIN_PHASE_PATH = "/challenges/{}/phases/main"
SUBMIT_MODES: tuple[dict[str, Any], ...] = ({}, {"dry_run": "true"})  # to submit in earnest, and to try


class People:
    """Named people, each with one account for all tests."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.admin = live.admin()
        self.visitor = live.caller()
        self._known: dict[str, Caller] = {}

    def __getitem__(self, name: str) -> Caller:
        """The person of this name."""
        if name not in self._known:
            self._known[name] = self.live.person(name)
        return self._known[name]

    def with_scopes(self, person: Caller, *scopes: str) -> Caller:
        """The same person with a token of these scopes."""
        body = {"email": person.email, "password": PASSWORD, "scopes": list(scopes)}
        answer = self.visitor.post("/tokens", json=body)
        assert answer.status_code == 201, answer.text
        return self.live.caller(answer.json()["token"], email=person.email)


@contextmanager
def write_session_of(live: Live) -> Iterator[WriteSession]:
    """A unit of work beside the service, to put rows back in time: what then reads them is the service itself."""
    database = Database(Settings(data_dir=live.data_dir))
    try:
        with database.write() as session:
            yield session
    finally:
        database.close()


def new_slug(stem: str) -> str:
    """A slug that no other test uses."""
    return f"{stem}-{next(_NUMBERS)}"


def create_challenge(who: Caller, stem: str, gold: Any = None, **fields: Any) -> str:
    """A challenge with active gold; gives its slug."""
    slug = new_slug(stem)
    open_challenge(who, slug, GOLD if gold is None else gold, **fields)
    return slug


def create_without_gold(who: Caller, stem: str, **fields: Any) -> str:
    """A challenge that takes no submissions yet; gives its slug."""
    slug = new_slug(stem)
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": make_recipe("accuracy"), **fields}
    made = who.post("/challenges", json=body)
    assert made.status_code == 201, made.text
    return slug


def make_recipe(primary: str, *others: str, **fields: Any) -> dict[str, Any]:
    """A recipe with these metrics."""
    return {"primary": primary, "metrics": [primary, *others], **fields}


def predictions_with_hits(count: int, out_of: int = 4) -> dict[str, str]:
    """Predictions for GOLD of which so many are right."""
    other = {"a": "b", "b": "a"}
    return {
        key: label if place < count else other[label] for place, (key, label) in enumerate(CORRECT_PREDICTIONS.items())
    }


def require_finished(answer: httpx.Response) -> dict[str, Any]:
    """The body of an answer to a submission that was scored."""
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    assert body["status"] == "finished", body
    return body


def require_refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["code"], body["status"]) == (code, status), body
    return body


def metric_values(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Metric values without what stands beside them."""
    return {name: each["value"] for name, each in scores.items()}


def board_ranks(board: httpx.Response) -> list[tuple[int | None, str]]:
    """Rank and team of each row, as the board lists them."""
    assert board.status_code == 200, board.text
    return [(row["rank"], row["team"]["name"]) for row in board.json()["rows"]]


def board_values(board: httpx.Response, metric: str) -> list[float | None]:
    """The values of a metric, as the board lists them."""
    return [row["scores"][metric]["value"] for row in board.json()["rows"]]


def submit_for_teams(
    who: Caller, slug: str, entries: Iterable[tuple[str, Mapping[str, Any]]], **query: Any
) -> list[str]:
    """Submissions of named teams by an organizer; gives their ids."""
    return [require_finished(who.submit(slug, dict(body), team=team, **query))["id"] for team, body in entries]
