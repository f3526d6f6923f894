"""Gold that is corrected after the final release of a phase with splits: everybody reads which ranks moved on both."""

from typing import Any

from tests.cli.run_command import run_assay
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    board_ranks,
    create_challenge,
    require_finished,
)
from tests.settle import settle

PAST = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
LABELS = {"t1": "a", "t2": "b", "t3": "a", "t4": "b", "t5": "a", "t6": "b"}
"""The first three are public."""
FLIPPED = {"a": "b", "b": "a"}
BLUE = LABELS | {"t1": "b", "t2": "a"}
"""Behind on the public split, ahead on the private one."""
RED = LABELS | {"t4": "a", "t5": "b"}


def gold(*flipped: str) -> list[dict[str, str]]:
    """The gold with other labels for these ids."""
    return [
        {
            "id": key,
            "label": FLIPPED[label] if key in flipped else label,
            "split": "public" if key in ("t1", "t2", "t3") else "private",
        }
        for key, label in LABELS.items()
    ]


def correct(people: People, slug: str, version: int, *flipped: str) -> None:
    """Bring a correction into force."""
    path = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    assert people.admin.post(path, json=gold(*flipped)).status_code == 201
    assert people.admin.post(f"{path}/{version}/activate", json={"reason": "Unclear."}).is_success
    settle(people.live)
    assert people.admin.get(f"{path}/{version}").json()["status"] == "active"


def ranks_told(errata: dict[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """By split, the ranks of each team before and after."""
    return {
        split: {row["team"]["name"]: (row["before"]["rank"], row["after"]["rank"]) for row in board["rows"]}
        for split, board in errata["boards"].items()
    }


def test_ranks_of_both_splits_are_told_once_the_final_result_is_out(people: People) -> None:
    slug = create_challenge(people.admin, "errata-release", gold())
    for team, predictions in (("Blue", BLUE), ("Red", RED)):
        require_finished(people.admin.submit(slug, predictions, team=team))
    correct(people, slug, 2, "t1", "t2", "t4", "t5")
    errata = f"/challenges/{slug}/errata"
    (first,) = people.visitor.get(errata).json()["items"]
    assert ranks_told(first) == {"public": {"Red": (1, 2), "Blue": (2, 1)}}

    path = MAIN_PHASE_PATH.format(slug)
    assert people.admin.patch(path, json=PAST).is_success
    assert people.admin.post(f"{path}/release", json={"reason": "agreed"}).is_success
    (released,) = people.visitor.get(errata).json()["items"]
    moved = {"Blue": (1, 2), "Red": (2, 1)}
    assert ranks_told(released) == {"private": moved, "public": {"Red": (1, 2), "Blue": (2, 1)}}

    correct(people, slug, 3)
    second, _ = people.visitor.get(errata).json()["items"]
    back = {"Red": (1, 2), "Blue": (2, 1)}
    assert ranks_told(second) == {"private": back, "public": moved}
    assert second["gold_changes"]["counts"]["relabelled"] == 4
    assert board_ranks(people.visitor.board(slug)) == [(1, "Blue"), (2, "Red")]
    assert board_ranks(people.visitor.board(slug, split="public")) == [(1, "Red"), (2, "Blue")]
    shown = run_assay("errata", slug, "--url", people.live.url)
    assert shown.status == 0, shown.err
    page = people.visitor.get(f"{people.live.url}/challenges/{slug}/errata", headers={"Accept": "text/html"}).text
    for split in ("private", "public"):
        assert shown.out.count(f"{split}: 2 of 2 ranks move") == 2, shown.out
        assert page.count(f"<caption>Ranks, {split} split</caption>") == 2
