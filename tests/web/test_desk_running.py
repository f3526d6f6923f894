"""The organizer's desk: submissions, quota, announcements, files, the trail, failures, copies, act by act, by forms."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest

from app.api.usage import DayShape
from app.store.tables import Announcement
from app.store.types import new_id
from app.web.organize.failures import draw_causes, find_causes
from tests.api.in_process_app import ServedApp
from tests.live_service import Caller, open_challenge
from tests.web.conftest import GOLD
from tests.web.desk import DESK, TRUTH, organizer, person
from tests.web.reader import Reader, heading

LIMITED = {"name": "main", "quota": {"per_day": 5, "total": 9}}


@pytest.fixture(scope="module")
def sent(app: ServedApp) -> dict[str, str]:
    """A finished, a rejected and a baseline submission, by what they are."""
    blue = person(app, "Blue").join("digits", "Blue")
    finished = blue.submit("digits", TRUTH, method="knn")
    rejected = blue.submit("digits", {"stray": "cat"}, method="typo")
    baseline = app.admin().submit("digits", TRUTH, method="majority", team="Naive", baseline="true")
    found = {"finished": finished, "rejected": rejected, "baseline": baseline}
    assert all(answer.status_code == 201 for answer in found.values())
    return {name: answer.json()["id"] for name, answer in found.items()}


def status_of(app: ServedApp, submission: str) -> dict[str, object]:
    found: dict[str, object] = app.admin().get(f"/submissions/{submission}").json()
    return found


FILTERS: dict[str, set[str]] = {
    "": {"finished", "rejected", "baseline"},
    "status=rejected": {"rejected"},
    "mark=baseline": {"baseline"},
    "q=KN": {"finished"},
    "team=blue": {"finished", "rejected"},
    "q=naive": {"baseline"},
    "status=failed": set(),
    "q=100%25": set(),
}


def test_submissions_are_filtered(app: ServedApp, reader: Reader, sent: dict[str, str]) -> None:
    organizer(app, reader, "viewer")
    admin = app.admin()
    for query, shown in FILTERS.items():
        page = reader.get(f"{DESK}/submissions?{query}").text
        assert {name for name, submission in sent.items() if f'"/submissions/{submission}"' in page} == shown, query
        listed = admin.get(f"/challenges/digits/phases/main/submissions?{query}").json()["items"]
        assert {row["id"] for row in listed} >= {sent[name] for name in shown}, query
        assert "unknown_id" in page or "rejected" not in shown


def test_submissions_are_disqualified_reinstated_and_scored_again(
    app: ServedApp, reader: Reader, sent: dict[str, str]
) -> None:
    organizer(app, reader, "editor")
    path, ids = f"{DESK}/submissions", [sent["finished"], sent["baseline"]]
    refused = reader.send(path, path, ids=ids, act="disqualify")
    assert refused.status_code == 422
    assert status_of(app, ids[0])["disqualified_at"] is None
    assert reader.send(path, path, ids=ids, act="disqualify", reason="Leaked.").status_code == 303
    assert [status_of(app, each)["disqualified_reason"] for each in ids] == ["Leaked."] * 2
    assert reader.send(path, path, ids=ids, act="reinstate").status_code == 303
    assert status_of(app, ids[0])["disqualified_at"] is None
    assert reader.send(path, path, ids=ids[:1], act="rerun").status_code == 303
    assert status_of(app, ids[0])["rerun"] is not None
    mixed = reader.send(path, path, ids=[sent["rejected"], ids[0]], act="cancel")
    assert mixed.status_code == 422
    assert mixed.text.count("<li>") >= 2


def test_a_phase_is_scored_again(app: ServedApp, reader: Reader, sent: dict[str, str]) -> None:
    assert sent
    organizer(app, reader, "editor")
    path = f"{DESK}/submissions"
    answer = reader.send(path, f"{path}/rerun", act="start", reason="New library.")
    assert answer.status_code == 303
    rerun = app.admin().get("/challenges/digits/phases/main/rerun").json()
    assert rerun["status"] in {"running", "finished"}
    assert str(rerun["total"]) in reader.follow(answer.headers["location"]).text


def test_causes_are_counted_by_day(app: ServedApp, reader: Reader, sent: dict[str, str]) -> None:
    assert sent
    organizer(app, reader, "viewer")
    days = app.admin().get("/challenges/digits/failures").json()["days"]
    assert days[0]["statuses"]["rejected"] == 1
    assert days[0]["statuses"]["finished"] >= 2
    assert days[0]["rejected"]["unknown_id"] == 1
    page = reader.get(f"{DESK}/failures?phase=main&days=7").text
    assert "<svg" in page
    assert "<code>unknown_id</code>" in page
    assert "An id is not among the ids of the gold." in page
    assert person(app, "Nosy").get("/challenges/digits/failures").status_code == 403


def test_causes_of_several_days_are_drawn_by_day() -> None:
    today, earlier = DayShape(day="2026-11-26", statuses={}, rejected={"unknown_id": 3}, failed={}), "2026-11-24"
    before = DayShape(day=earlier, statuses={}, rejected={"unknown_id": 1, "duplicate_id": 2}, failed={"memory": 1})
    causes = find_causes([today, before])
    assert [(cause.code, cause.total, str(cause.latest)) for cause in causes] == [
        ("unknown_id", 4, "2026-11-26"),
        ("duplicate_id", 2, earlier),
        ("memory", 1, earlier),
    ]
    drawn = str(draw_causes(causes, [today, before]))
    for cell in ("unknown_id → 26 Nov: 3", "unknown_id → 24 Nov: 1", "duplicate_id → 24 Nov: 2", "memory → 24 Nov: 1"):
        assert f"<title>{cell}</title>" in drawn
    assert drawn.count(" → ") == 4
    assert "25 Nov" in drawn
    one_day = str(draw_causes(find_causes([today]), [today]))
    assert "<title>unknown_id: 3</title>" in one_day


def test_a_grant_changes_the_limits(app: ServedApp, reader: Reader) -> None:
    open_challenge(app.admin(), "limited", GOLD, phases=[LIMITED])
    organizer(app, reader, "editor", "limited")
    team = person(app, "Red").join("limited", "Red")
    path = "/challenges/limited/organize/quota"
    page = reader.get(f"{path}?phase=main&team=Red")
    assert reader.send(page, path, per_day="2").status_code == 422
    assert reader.send(page, path, per_day="two", reason="r").status_code == 422
    assert reader.send(page, path, per_day="2", total="-1", reason="An outage.").status_code == 303
    quota = team.get("/challenges/limited/phases/main/quota").json()
    assert (quota["limits"]["per_day"], quota["limits"]["total"]) == (7, 8)
    assert "An outage." in reader.get(f"{path}?phase=main&team=Red").text
    assert reader.get(f"{path}?phase=main&team=Rad").status_code == 404
    assert "Red" in reader.get(f"{path}?phase=main&team=Rad").text


def test_an_announcement_is_previewed_posted_edited_and_deleted(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "editor")
    path, text = f"{DESK}/announcements", "The **second** phase <script>alert(1)</script>"

    def posted() -> list[dict[str, str]]:
        rows: list[dict[str, str]] = app.admin().get("/challenges/digits/announcements").json()["items"]
        return rows

    preview = reader.send(path, path, title="News", body=text, act="preview")
    assert "<strong>second</strong>" in preview.text
    assert "<script>alert" not in preview.text
    assert posted() == []
    assert reader.send(preview, path, act="post").status_code == 303
    assert posted()[0]["body"] == text
    one = f"{path}/{posted()[0]['id']}"
    assert reader.send(one, f"{one}/edit", title="Old news").status_code == 303
    assert posted()[0]["title"] == "Old news"
    assert reader.send(one, f"{one}/delete", reason="Wrong.").status_code == 303
    assert posted() == []
    assert reader.get(one).status_code == 404


def test_an_old_announcement_can_be_edited_too(app: ServedApp, reader: Reader) -> None:
    open_challenge(app.admin(), "much-news", GOLD)
    organizer(app, reader, "editor", slug="much-news")
    path = "/challenges/much-news/announcements"
    first = app.admin().post(path, json={"title": "First", "body": ""}).json()["id"]
    with app.app.state.service.db.write() as session:
        old = session.get_one(Announcement, first)
        values = {"challenge_id": old.challenge_id, "title": "Later", "body": "", "created_at": old.created_at}
        session.add_all([Announcement(id=new_id(), **values) for _ in range(250)])
    assert "First" not in app.admin().get(path, params={"limit": 200}).text
    assert heading(reader.get(f"/challenges/much-news/organize/announcements/{first}")) == "First"


def upload(reader: Reader, path: str, *, csrf: str | None = None, **fields: str) -> int:
    page = reader.get(path).text
    token = csrf or page.partition('enctype="multipart/form-data"')[2].partition('name="csrf" value="')[2].split('"')[0]
    answer = reader.client.post(
        path,
        data={"csrf": token, **fields},
        files={"file": ("train.csv", b"id,label\nt1,cat\n", "text/csv")},
        headers={"Origin": reader.url},
    )
    return answer.status_code


def test_a_file_is_uploaded_described_and_deleted(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "editor")
    path = f"{DESK}/files"
    assert upload(reader, path, csrf="forged", licence="CC0-1.0") == 403
    assert upload(reader, path, licence="") == 422
    assert app.admin().get("/challenges/digits/files").json()["items"] == []
    assert upload(reader, path, licence="CC0-1.0", audience="teams", description="Training data") == 303
    assert upload(reader, path, licence="CC0-1.0") == 409
    row = app.admin().get("/challenges/digits/files").json()["items"][0]
    assert (row["name"], row["audience"], row["size"]) == ("train.csv", "teams", 16)
    one = f"{path}/train.csv"
    assert reader.send(one, f"{one}/edit", licence="CC-BY-4.0", audience="public").status_code == 303
    row = app.admin().get("/challenges/digits/files").json()["items"][0]
    assert (row["licence"], row["audience"], row["description"]) == ("CC-BY-4.0", "public", "Training data")
    assert reader.send(one, f"{one}/delete").status_code == 303
    assert app.admin().get("/challenges/digits/files").json()["items"] == []


def test_the_trail_is_filtered_and_readable(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "viewer")
    everything = reader.get(f"{DESK}/audit").text
    assert re.search(r"waits for the log|position \d+ in the <a href=\"/log\">", everything)
    assert "activate gold" in everything
    page = reader.get(f"{DESK}/audit?action=organizer&since=2020-01-01").text
    assert "activate gold" not in page
    assert "viewer" in page
    refused = reader.get(f"{DESK}/audit?since=yesterday")
    assert refused.status_code == 422
    assert "2027-03-01" in refused.text


def test_a_release_needs_the_typed_phase(app: ServedApp, reader: Reader) -> None:
    gold = [{**row, "split": "public" if number < 3 else "private"} for number, row in enumerate(GOLD)]
    phase = {"name": "main", "opens_at": "2020-01-01T00:00:00Z"}
    open_challenge(app.admin(), "final", gold, phases=[phase])
    person(app, "Gold").join("final", "Golden").submit("final", TRUTH)
    organizer(app, reader, "editor", "final")
    path = "/challenges/final/organize/release"
    page = reader.get(path).text
    assert "Golden" in page
    assert 'The phase has not closed. <a href="/challenges/final/organize/phases/main">' in page
    assert "Nothing stands in the way" not in page
    assert reader.send(path, path, confirm="main").status_code == 409
    past = {"closes_at": "2021-01-01T00:00:00Z"}
    app.admin().patch("/challenges/final/phases/main", json=past).raise_for_status()
    assert "Nothing stands in the way" in reader.get(path).text
    assert reader.send(path, path, confirm="final").status_code == 422
    assert reader.send(path, path, confirm="main", reason="All is scored.").status_code == 303
    assert app.admin().get("/challenges/final/phases/main/release").json()["released_at"] is not None
    assert "Released on" in reader.get(path).text


def test_a_challenge_is_copied_archived_exported_and_deleted(
    app: ServedApp, new_reader: Callable[[], Reader], sent: dict[str, str]
) -> None:
    owner, viewer = new_reader(), new_reader()
    organizer(app, owner)
    organizer(app, viewer, "viewer")
    path = f"{DESK}/copy"
    made = owner.send(path, path, slug="digits-2", opens_at="2030-01-01T12:00")
    assert made.headers["location"].startswith("/challenges/digits-2/organize")
    assert app.admin().get("/challenges/digits-2").json()["status"] == "draft"
    assert owner.send(path, path, slug="Not A Slug").status_code == 422
    archive = zipfile.ZipFile(io.BytesIO(viewer.get(f"{path}/export").content))
    assert f"predictions/{sent['finished']}.json" in archive.namelist()
    copy = "/challenges/digits-2/organize/copy"
    assert owner.send(copy, f"{copy}/archive", reason="Over.").status_code == 303
    assert app.admin().get("/challenges/digits-2").json()["archived_at"] is not None
    assert owner.send(copy, f"{copy}/unarchive").status_code == 303
    assert owner.send(copy, f"{copy}/delete", confirm="digits").status_code == 422
    assert owner.send(copy, f"{copy}/delete", confirm="digits-2").status_code == 303
    assert app.admin().get("/challenges/digits-2").status_code == 404
    refused = viewer.client.post(f"{path}/archive", data={"csrf": "x"}, headers={"Origin": viewer.url})
    assert refused.status_code == 403


def test_a_team_lists_its_own_submissions_by_the_same_filters(app: ServedApp, sent: dict[str, str]) -> None:
    assert sent
    green: Caller = person(app, "Green").join("digits", "Green")
    green.submit("digits", TRUTH, method="tree")
    path = "/challenges/digits/phases/main/submissions"
    assert green.get(path, params={"team": "Blue"}).json()["items"] == []
    assert [row["method"] for row in green.get(path, params={"q": "TREE"}).json()["items"]] == ["tree"]
    assert green.get(path, params={"status": "lost"}).status_code == 400


def test_the_desk_says_that_a_phase_is_paused_and_offers_no_entry_to_an_archived_challenge(
    app: ServedApp, reader: Reader
) -> None:
    open_challenge(app.admin(), "quiet", [{"id": "a", "label": "x"}, {"id": "b", "label": "y"}])
    organizer(app, reader, slug="quiet")
    desk = "/challenges/quiet/organize"
    assert "Send a test entry" in reader.get(desk).text
    app.admin().post("/challenges/quiet/phases/main/pause", json={"reason": "Gold."}).raise_for_status()
    assert '<span class="status warn">is paused</span>' in reader.get(desk).text
    app.admin().post("/challenges/quiet/archive", json={}).raise_for_status()
    page = reader.get(desk).text
    assert "is paused" not in page.split('aria-labelledby="now"')[1].split("</section>")[0]
    assert "Send a test entry" not in page
