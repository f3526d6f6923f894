"""Before the final release, nothing that others than organizers read depends on the labels of the private split."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    require_finished,
)
from tests.live_service import Caller
from tests.settle import settle

ANALYSES = True

IDS = [f"t{number}" for number in range(12)]
PUBLIC = {key: "abc"[number % 3] for number, key in enumerate(IDS[:6])}
PRIVATE = (dict.fromkeys(IDS[6:], "a") | {"t11": "b"}, dict.fromkeys(IDS[6:], "b") | {"t11": "c"})
"""The labels of the private split in one gold and in the other: no label is the same."""
FILES = [
    PUBLIC | PRIVATE[0],
    PUBLIC | PRIVATE[1],
    dict.fromkeys(IDS, "a"),
    dict.fromkeys(IDS, "b"),
]
QUOTA = {"per_day": 20, "total": 40, "invalid_per_day": 5}
PHASE = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "quota": QUOTA, "reports": []}
VARYING_HEADERS = {"date", "etag", "content-length", "x-request-id"}
ID = re.compile(r"[0-9a-f]{32}(?![0-9a-f])(?<![0-9a-f]{33})|Anonymous [2-9B-Z]{4,}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
DURATION = re.compile(r'"seconds_(queued|scoring)":[\d.]+')


class Normalizer:
    """Replaces what differs between any two challenges: the slug, times, and ids and pseudonyms by their order."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.known: dict[str, str] = {}

    def __call__(self, answer: httpx.Response) -> tuple[Any, ...]:
        """What a reader of this answer learns."""
        headers = sorted((name, value) for name, value in answer.headers.items() if name not in VARYING_HEADERS)
        return answer.status_code, [(name, self._replace(value)) for name, value in headers], self._replace(answer.text)

    def _replace(self, text: str) -> str:
        text = ID.sub(lambda found: self.known.setdefault(found[0], f"ID{len(self.known)}"), text)
        return DURATION.sub(r'"seconds_\1":0', MOMENT.sub("TIME", text.replace(self.slug, "SLUG")))


def readable(caller: Caller, slug: str, submissions: list[str]) -> Iterator[tuple[str, httpx.Response]]:
    """Every answer that this caller gets about the challenge, refusals included."""
    phase = MAIN_PHASE_PATH.format(slug)
    pages = [f"/challenges/{slug}", f"/challenges/{slug}/recipe", f"/challenges/{slug}/phases", phase]
    boards = ["", "?format=csv", "?metric=f1_macro", "?limit=1", "?limit=1&cursor=1"]
    boards += [f"?split={split}" for split in ("public", "private", "all")]
    pages += [f"{phase}/leaderboard{query}" for query in boards]
    pages += [f"{phase}/template{query}" for query in ("", "?format=csv", "?format=npz&values=scores")]
    pages += [f"{phase}/{name}" for name in ("submissions", "quota", "release", "gold", "gold/1", "gold/1/data")]
    for one in submissions:
        parts = [
            "",
            "/predictions",
            "/report",
            "/report?split=private",
            "/report?split=public",
            "/report?part=per_class",
        ]
        pages += [f"/submissions/{one}{part}" for part in parts]
    for page in pages:
        yield page.replace(slug, "SLUG"), caller.get(page)
    for one in submissions:
        for act in ("select", "unselect", "rerun", "cancel"):
            yield act, caller.post(f"/submissions/{one}/{act}")
    yield "release", caller.post(f"{phase}/release")


def run_challenge(
    people: People, stem: str, private: dict[str, str], recipe: dict[str, Any], rules: dict[str, Any]
) -> tuple[str, list[str]]:
    """A challenge with this private split, in which two teams have submitted; gives its slug and the submissions."""
    gold = [{"id": key, "label": label, "split": "public"} for key, label in PUBLIC.items()]
    gold += [{"id": key, "label": label, "split": "private"} for key, label in private.items()]
    slug = create_challenge(people.admin, stem, gold, recipe=recipe, phases=[PHASE | rules])
    teams = [people[name].join(slug, name) for name in ("Blue", "Green")]
    sent = [require_finished(teams[at % 2].submit(slug, file))["id"] for at, file in enumerate(FILES)]
    for at in (2, 3):
        assert teams[at % 2].post(f"/submissions/{sent[at]}/select").status_code == 200
    return slug, sent


@pytest.mark.ci
@pytest.mark.parametrize(
    ("selection", "rules"),
    [
        ({"selection": "selected", "selection_max": 1}, {"reports": ["scores", "per_class"], "anonymous": True}),
        ({"selection": "best"}, {"reports": ["confusion"], "leaderboard": "after_close"}),
    ],
)
def test_what_others_read_is_the_same_whatever_the_private_labels_are(
    people: People, selection: dict[str, Any], rules: dict[str, Any]
) -> None:
    recipe = make_recipe("accuracy", "f1_macro", "log_loss", **selection)
    runs = [run_challenge(people, f"private-{name}", PRIVATE[at], recipe, rules) for at, name in enumerate("xy")]
    settle(people.live)
    for reader in (people.visitor, people["Blue"], people["Stranger"]):
        normalizers = [Normalizer(slug) for slug, _ in runs]
        answers = zip(*(readable(reader, slug, sent) for slug, sent in runs), strict=True)
        for (page, first), (_, second) in answers:
            assert normalizers[0](first) == normalizers[1](second), page
    closed = {"closes_at": "2021-01-01T00:00:00Z"}
    seen = []
    for slug, _ in runs:  # the labels do differ: what the release shows does
        people.admin.patch(MAIN_PHASE_PATH.format(slug), json=closed).raise_for_status()
        assert people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/release").status_code == 200
        rows = people.admin.board(slug).json()["rows"]
        seen.append([(row["team"]["name"], row["scores"]["accuracy"]["value"]) for row in rows])
    assert seen[0] != seen[1]
