"""The page of a frozen board, with intervals as its content states them."""

from datetime import UTC, datetime
from pathlib import Path

from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import open_challenge
from tests.settle import settle

GOLD = [{"id": f"t{number:02}", "label": "cat" if number % 2 else "dog"} for number in range(12)]
RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}
PHASE = "/challenges/pets/phases/main"


def test_an_interval_that_begins_at_0_is_shown(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data"), analyses=True) as app:
        admin = app.admin()
        open_challenge(admin, "pets", GOLD, recipe=RECIPE)
        wrong = {row["id"]: "cat" if row["label"] == "dog" else "dog" for row in GOLD}
        admin.submit("pets", wrong, team="Blue").raise_for_status()
        settle(app)
        admin.patch(PHASE, json={"closes_at": datetime.now(UTC).isoformat()}).raise_for_status()
        frozen = admin.post(f"{PHASE}/frozen-boards", json={"reason": "Agreed."}).raise_for_status().json()
        score = frozen["content"]["rows"][0]["scores"]["accuracy"]
        assert score["low"] == "0"
        page = app.caller().get(f"{app.url}{PHASE}/frozen-boards/1").raise_for_status()
        assert f"0 to {score['high']}</span>" in page.text
