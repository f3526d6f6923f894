"""A switch that a lost file withholds, over the command line: listed, cancelled, retried and confirmed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run_command import CommandResult, run_assay
from tests.faults.inspection import query_rows
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    require_finished,
)
from tests.live_service import Live
from tests.settle import settle

REASON = ("--reason", "t4 shows an a.")
CORRECTED = [row | {"label": "a"} if row["id"] == "t4" else row for row in GOLD]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """Those of a service that soon gives up a file that is lost."""
    service = Live(tmp_path / "data", interruption_cap="1").start()
    yield People(service)
    service.stop()


def run(people: People, *words: object) -> CommandResult:
    """A command of the administrator."""
    return run_assay(*words, "--url", people.live.url, "--token", people.live.admin_token)


def file_of(people: People, submission: str) -> Path:
    """Where its predictions are stored."""
    ((key,),) = query_rows(people.live, f"SELECT file_key FROM submissions WHERE id = '{submission}'")
    return people.live.data_dir / "files" / str(key)


@pytest.mark.ci
def test_a_withheld_switch_is_listed_cancelled_retried_and_confirmed(people: People) -> None:
    slug = create_challenge(people.admin, "withheld")
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Kept"))
    lost = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Lost"))["id"]
    assert people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=CORRECTED).status_code == 201
    file = file_of(people, lost)
    away = file.rename(file.with_name("away"))

    waited = run(people, "gold", "activate", slug, 2, *REASON, "--wait")
    assert waited.status == 1
    hint = f"assay switch confirm {slug} 2 --phase main; or: assay switch cancel {slug} 2 --phase main"
    assert f"{lost} cannot be scored: " in waited.err
    assert hint in waited.err
    listed = run(people, "switch", "list", slug)
    assert "pending" in listed.out
    assert f"{lost} cannot be scored: " in listed.err
    assert hint in listed.err
    pending, first = run(people, "switch", "list", slug, "--json").value()
    assert (pending["status"], first["status"]) == ("pending", "done")
    assert [(each["submission"], each["code"]) for each in pending["blocked_by"]] == [(lost, "file_lost")]
    visitor = people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/switches").json()["items"]
    assert [each["status"] for each in visitor] == ["done"], visitor

    again = run(people, "gold", "activate", slug, 2, *REASON, "--json")
    assert (again.status, again.value()["code"]) == (1, "switch_pending")
    assert run(people, "switch", "cancel", slug, 2, "--reason", "Look for the file.").status == 0
    over = run(people, "switch", "confirm", slug, 2, "--json")
    assert (over.status, over.value()["code"]) == (1, "switch_ended")
    assert run(people, "switch", "list", slug, "--json").value()[0]["status"] == "cancelled"

    assert run(people, "gold", "activate", slug, 2, *REASON, "--wait").status == 1  # the file is still away
    away.rename(file)
    assert run(people, "rerun", slug, "--submission", lost, "--yes", "--wait").status == 0
    settle(people.live)
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/switches/3").json()["status"] == "done"
    assert len(people.admin.board(slug).json()["rows"]) == 2

    file.rename(away)
    back = run(people, "gold", "activate", slug, 1, *REASON, "--wait")
    assert back.status == 0, back.err  # its scores by the first gold are stored
    assert people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=GOLD[:3]).status_code == 201
    assert run(people, "gold", "activate", slug, 3, *REASON, "--wait").status == 1
    assert run(people, "switch", "confirm", slug, 5, "--reason", "The file is gone.").status == 0
    settle(people.live)
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/switches/5").json()["status"] == "done"
    (row,) = people.admin.board(slug).json()["rows"]
    assert row["team"]["name"] == "Kept"
    (latest, *_) = people.admin.get(f"/challenges/{slug}/errata").json()["items"]
    assert [each["submission"] for each in latest["unscored"]] == [lost]
    told = people.visitor.get(f"/challenges/{slug}/errata").json()["items"][0]["boards"]["all"]
    assert [(row["team"]["name"], row["change"]) for row in told["rows"] if row["change"] != "same"] == [
        ("Lost", "left")
    ]
