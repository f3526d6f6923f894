"""The walk of a correction on the pages: difference, preview, activation with a reason, and what everybody reads then."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.in_process_app import ADMIN_TOKEN, ServedApp, app_settings, serve_app
from tests.cli.run_command import run_assay
from tests.live_service import eventually, open_challenge
from tests.settle import settle
from tests.web.desk import organizer
from tests.web.reader import Reader, destination

IDS = [f"t{number:02}" for number in range(12)]
GOLD = [{"id": key, "label": "cat" if number % 2 else "dog"} for number, key in enumerate(IDS)]
LATER = [each | {"label": "cat"} for each in GOLD[:3]] + GOLD[3:-1]
"""Two labels differ, and one instance is no longer scored."""
RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}
OTHER = RECIPE | {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]}
DESK = "/challenges/pets/organize"
PREVIEW = f"{DESK}/phases/main/gold/2/preview"


def predictions(wrong: set[int]) -> dict[str, str]:
    other = {"cat": "dog", "dog": "cat"}
    return {row["id"]: other[row["label"]] if n in wrong else row["label"] for n, row in enumerate(GOLD)}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("corrections") / "data")) as running:
        admin = running.admin()
        open_challenge(admin, "pets", GOLD, recipe=RECIPE)
        for team, wrong in (("Blue", {4}), ("Green", {0, 2, 4})):
            admin.submit("pets", predictions(wrong), team=team).raise_for_status()
        admin.post("/challenges/pets/phases/main/gold", json=LATER).raise_for_status()
        yield running


def test_a_correction_from_draft_to_errata(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    reader, visitor, admin = new_reader(), new_reader(), app.admin()
    organizer(app, reader, slug="pets")
    assert "2 relabelled, 1 no longer scored" in reader.get(f"{DESK}/corrections").text
    assert "Corrected on" not in visitor.get("/challenges/pets/leaderboard").text
    assert "Nothing was corrected so far." in visitor.get("/challenges/pets/errata").text
    page = reader.get(PREVIEW)
    assert "Compute the preview" in page.text
    assert destination(reader.send(page, PREVIEW))[0] == PREVIEW
    settle(app)
    assert admin.get("/challenges/pets/phases/main/gold/2/preview").json()["status"] == "done"
    page = reader.get(PREVIEW)
    assert "2 of 2 ranks move, the largest by 1." in page.text
    assert "The first place changes: Green." in page.text
    assert "up 1" in page.text
    assert visitor.get(PREVIEW).status_code != 200
    refused = reader.send(page, f"{DESK}/phases/main/gold/2/activate", part="activate-2")
    assert refused.status_code == 422
    assert "reason" in refused.text.lower()
    given = {"part": "activate-2", "reason": "Two labels were wrong.", "lists_instances": "yes"}
    answer = reader.send(page, f"{DESK}/phases/main/gold/2/activate", **given)
    assert destination(answer) == (f"{DESK}/corrections?phase=main", "switch_requested")
    settle(app)
    assert admin.get("/challenges/pets/phases/main/gold/2").json()["status"] == "active"
    assert "Gold 1 → 2" in reader.get(f"{DESK}/corrections").text
    for person in (visitor, reader):
        text = person.get("/challenges/pets/errata").text
        assert "Two labels were wrong." in text
        assert "2 relabelled, 1 no longer scored" in text
        assert "t00, t02" in text
        assert "Accuracy before" in text
        assert [cell for cell in re.findall(r'<td class="num">(0[.]\d+)</td>', text) if len(cell) != 8] == []
        assert "The first place changes: Green." in text
    assert "Corrected on" in visitor.get("/challenges/pets/leaderboard").text
    assert "/challenges/pets/errata" in visitor.get("/challenges/pets").text
    back = reader.get(f"{DESK}/phases/main/gold/1/preview")
    assert "Compute the preview" in back.text


def test_a_recipe_that_needs_new_scores_is_a_draft_first(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    reader, admin = new_reader(), app.admin()
    organizer(app, reader, slug="pets")
    stored = admin.put("/challenges/pets/recipe", json=OTHER)
    version = stored.json()["version"]
    assert stored.json()["status"] == "draft"
    path = f"{DESK}/recipe/{version}/preview"
    assert path in reader.get(f"{DESK}/corrections").text
    assert destination(reader.send(reader.get(path), path))[0] == path
    settle(app)
    assert "Macro F1 before" in reader.get(path).text
    page = reader.get(path)
    activate = f"{DESK}/recipe/{version}/activate"
    assert reader.send(page, activate, part=f"activate-{version}").status_code == 422
    answer = reader.send(page, activate, part=f"activate-{version}", reason="Classes are unequal.")
    assert destination(answer) == (f"{DESK}/corrections", "switch_requested")
    settle(app)
    assert admin.get(f"/challenges/pets/recipe/{version}").json()["status"] == "active"
    text = reader.get("/challenges/pets/errata").text
    assert "New metric <code>f1_macro</code>" in text
    assert "Classes are unequal." in text


def test_a_withheld_switch_shows_what_it_would_change(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", interruption_cap=1)) as running:
        admin, path = running.admin(), "/challenges/pets/phases/main"
        open_challenge(admin, "pets", GOLD, recipe=RECIPE)
        uploads = tmp_path / "data" / "files" / "uploads"
        admin.submit("pets", predictions({4}), team="Blue").raise_for_status()
        before = set(uploads.iterdir())
        admin.submit("pets", predictions({0, 2, 4}), team="Green").raise_for_status()
        (lost,) = set(uploads.iterdir()) - before
        lost.unlink()
        admin.post(f"{path}/gold", json=LATER).raise_for_status()
        admin.post(f"{path}/gold/2/activate", json={"reason": "Two labels were wrong."}).raise_for_status()
        number = admin.get(f"{path}/gold/2").json()["switch"]["number"]
        eventually(lambda: admin.get(f"{path}/switches/{number}").json()["blocked_by"], "the submission is named")
        with closing(Reader(running.url)) as reader:
            organizer(running, reader, slug="pets")
            page = reader.get(f"{DESK}/corrections").text
        assert "One submission cannot be scored" in page
        assert "What the switch would change" in page
        assert "One team loses its rank" in page
        connection = ("--url", running.url, "--token", ADMIN_TOKEN)
        shown = run_assay("switch", "preview", "pets", str(number), "--phase", "main", *connection)
        assert "Cannot be scored" in shown.out
