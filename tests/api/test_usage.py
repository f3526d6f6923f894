"""Failures by cause, what challenges use, and the queue with its workers, on both databases."""

from pathlib import Path

import pytest

from app.settings import Settings
from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import PASSWORD, open_challenge

GOLD = [{"id": f"t{number}", "label": "cat" if number % 2 else "dog"} for number in range(4)]
TRUTH = {row["id"]: row["label"] for row in GOLD}


@pytest.mark.both_databases
def test_organizers_and_administrators_see_the_use_of_the_site(settings: Settings, tmp_path: Path) -> None:
    served = app_settings(tmp_path / "data", database_url=settings.database_url, files_shared=True)
    with serve_app(served) as service:
        admin = service.admin()
        open_challenge(admin, "pets", GOLD, phases=[{"name": "main"}, {"name": "final"}])
        login = {"email": "ada@example.org", "password": PASSWORD}
        service.caller().post("/users", json=login | {"name": "Ada"}).raise_for_status()
        ada = service.caller(service.caller().post("/tokens", json=login).json()["token"])
        ada.join("pets", "Blue")
        sent = [
            ada.submit("pets", TRUTH),
            ada.submit("pets", {"t0": "cat", "x": "cat", "y": "cat"}),
            ada.submit("pets", {}),
        ]
        assert [answer.json()["status"] for answer in sent] == ["finished", "rejected", "rejected"]
        assert admin.submit("pets", {"x": "cat"}, test="true").json()["status"] == "rejected"  # does not count
        days = admin.get("/challenges/pets/failures").json()["days"]
        day = sent[0].json()["timings"]["submitted_at"][:10]
        assert [each["day"] for each in days] == [day]
        assert days[0]["statuses"] == {"finished": 1, "rejected": 2}
        assert days[0]["rejected"] == {"missing_instances": 2, "unknown_id": 1}
        assert days[0]["failed"] == {}
        assert admin.get("/challenges/pets/failures", params={"phase": "final"}).json()["days"] == []
        assert ada.get("/challenges/pets/failures").status_code == 403
        use = admin.get("/usage").json()["items"][0]
        sizes = [admin.get(f"/submissions/{answer.json()['id']}").json()["size"] for answer in sent]
        assert (use["slug"], use["submissions"]) == ("pets", 4)
        assert use["bytes"] == sum(sizes) + len(b'{"x":"cat"}')
        queue = admin.get("/queue").json()
        assert (queue["queued"], queue["running"], queue["oldest_seconds"]) == (0, 0, 0.0)
        assert [worker["alive"] for worker in queue["workers"]] == ([True] if settings.on_postgresql else [])
        filtered = {"status": "rejected", "team": "blue", "q": sent[1].json()["id"][:32]}
        found = admin.get("/challenges/pets/phases/main/submissions", params=filtered).json()["items"]
        assert [row["id"] for row in found] == [sent[1].json()["id"]]
