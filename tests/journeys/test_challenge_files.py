"""Files that a challenge offers: who sees and downloads them, hostile names, ranges, limits."""

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from app.errors import StorageAlmostFull
from app.files.folder import FolderUpload
from app.files.partial_upload import SPACE_CHECK_BYTES
from tests.api.in_process_app import app_settings, serve_app
from tests.journeys.support import People, create_without_gold, require_refused
from tests.live_service import Caller, Live
from tests.settle import settle

CONTENT = b"id,label\nt1,cat\n"


def upload(who: Caller, slug: str, name: str, content: bytes = CONTENT, **query: str) -> httpx.Response:
    params = {"name": name, "licence": "CC-BY-4.0", **query}
    return who.post(f"/challenges/{slug}/files", params=params, content=content)


def uploaded(who: Caller, slug: str, name: str, content: bytes = CONTENT, **query: str) -> dict[str, Any]:
    answer = upload(who, slug, name, content, **query)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def address(slug: str, name: str) -> str:
    return f"/challenges/{slug}/files/{quote(name, safe='')}"


def stored_files(live: Live) -> set[Path]:
    settle(live)  # what earlier tests began stores and removes files
    return set((live.data_dir / "files" / "uploads").iterdir())


def test_a_file_is_listed_with_licence_size_and_hash_and_downloaded_unchanged(people: People) -> None:
    slug = create_without_gold(people.admin, "files")
    made = uploaded(people.admin, slug, "train.csv", description="Labelled photographs")
    assert made | {"created_at": None} == {
        "name": "train.csv",
        "description": "Labelled photographs",
        "licence": "CC-BY-4.0",
        "audience": "public",
        "media_type": "text/csv",
        "size": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "created_at": None,
    }
    uploaded(people.admin, slug, "kit.zip", b"PK\x03\x04")
    listed = people.visitor.get(f"/challenges/{slug}/files").json()["items"]
    assert [(each["name"], each["media_type"]) for each in listed] == [
        ("kit.zip", "application/zip"),
        ("train.csv", "text/csv"),
    ]
    got = people.visitor.get(address(slug, "train.csv"))
    assert got.content == CONTENT
    assert got.headers["content-disposition"] == 'attachment; filename="train.csv"'
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["etag"] == f'"{made["sha256"]}"'
    tagged = people.visitor.get(address(slug, "train.csv"), headers={"If-None-Match": got.headers["etag"]})
    assert (tagged.status_code, tagged.content) == (304, b"")
    head = people.visitor.head(address(slug, "train.csv"))
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(CONTENT)), b"")


def test_a_file_for_teams_is_listed_for_everybody_and_downloaded_by_approved_teams(people: People) -> None:
    slug = create_without_gold(people.admin, "team-files", registration="approval")
    uploaded(people.admin, slug, "train.csv", audience="teams")
    blue = people["Blue"].join(slug, "Blue")
    own = blue.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    decision = f"/challenges/{slug}/registrations/{own}"
    for who in (people.visitor, people["Eve"], blue):
        assert [each["audience"] for each in who.get(f"/challenges/{slug}/files").json()["items"]] == ["teams"]
    require_refused(people.visitor.get(address(slug, "train.csv")), 401, "unauthorized")
    require_refused(people["Eve"].get(address(slug, "train.csv")), 403, "not_registered")
    require_refused(blue.get(address(slug, "train.csv")), 403, "registration_pending")
    assert people.admin.patch(decision, json={"status": "approved"}).status_code == 200
    assert blue.get(address(slug, "train.csv")).content == CONTENT
    narrow = people.with_scopes(blue, "submit")
    require_refused(narrow.get(address(slug, "train.csv")), 403, "insufficient_scope")
    assert people.admin.patch(decision, json={"status": "barred", "reason": "Two accounts"}).status_code == 200
    require_refused(blue.get(address(slug, "train.csv")), 403, "registration_barred")
    opened = people.admin.patch(address(slug, "train.csv"), json={"audience": "public", "licence": "CC0"})
    assert (opened.json()["audience"], opened.json()["licence"]) == ("public", "CC0")
    assert people.visitor.get(address(slug, "train.csv")).content == CONTENT


def test_a_replaced_file_keeps_its_address_and_nothing_is_left_behind(people: People, live: Live) -> None:
    slug = create_without_gold(people.admin, "replaced")
    before = stored_files(live)
    uploaded(people.admin, slug, "train.csv")
    require_refused(upload(people.admin, slug, "train.csv", b"other"), 409, "file_name_taken")
    assert len(stored_files(live) - before) == 1
    assert people.admin.delete(address(slug, "train.csv")).status_code == 204
    require_refused(people.visitor.get(address(slug, "train.csv")), 404, "not_found")
    assert stored_files(live) == before
    uploaded(people.admin, slug, "train.csv", b"other")
    assert people.visitor.get(address(slug, "train.csv")).content == b"other"


NO_FILE_NAMES = (
    "a/b.csv",
    "a\\b.csv",
    "..",
    ".",
    ".bashrc",
    "../x",
    "a\r\nX-Evil: 1",
    "a\x00b",
    "a\u202eb",
    " a",
    "a ",
)
ODD_NAMES = ('a "b"; filename=c.csv', "données.csv", "猫\U0001f600.txt", "100%25.csv", "a;b=c'd.csv", "a?b#c")


def test_a_name_that_is_no_file_name_is_refused(people: People, live: Live) -> None:
    slug = create_without_gold(people.admin, "bad-name")
    before = stored_files(live)
    for name in (*NO_FILE_NAMES, "", "x" * 201):
        require_refused(upload(people.admin, slug, name), 400, "bad_request")
    assert stored_files(live) == before


def test_any_other_name_comes_back_as_it_was(people: People) -> None:
    slug = create_without_gold(people.admin, "odd-name")
    for name in ODD_NAMES:
        assert uploaded(people.admin, slug, name)["name"] == name
        got = people.visitor.get(address(slug, name))
        assert got.content == CONTENT
        kind, _, value = got.headers["content-disposition"].partition("; ")
        assert kind == "attachment"
        assert value.startswith("filename*=utf-8''")
        assert unquote(value.removeprefix("filename*=utf-8''")) == name
        assert people.admin.delete(address(slug, name)).status_code == 204


ACTIVE = ["text/javascript", "application/x-ecmascript", "text/jscript", "text/livescript", "text/css", "image/svg+xml"]
ACTIVE += ["application/xhtml+xml", "text/xml", "application/wasm"]


def test_a_script_or_style_sheet_comes_as_a_type_that_browsers_do_not_run(people: People) -> None:
    slug = create_without_gold(people.admin, "active-file")
    for number, media in enumerate(ACTIVE):
        params, headers = {"name": f"x{number}", "licence": "CC0"}, {"Content-Type": media}
        made = people.admin.post(f"/challenges/{slug}/files", params=params, content=b"x", headers=headers)
        assert made.json()["media_type"] == media
        got = people.visitor.get(address(slug, f"x{number}"))
        assert got.headers["content-type"] == "application/octet-stream"
        assert got.headers["content-disposition"].startswith("attachment")
        assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert got.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_web_page_is_kept_as_its_type_but_never_shown(people: People) -> None:
    slug = create_without_gold(people.admin, "page")
    params = {"name": "x.html", "licence": "CC0"}
    headers = {"Content-Type": "Text/HTML; charset=utf-8"}
    made = people.admin.post(f"/challenges/{slug}/files", params=params, content=b"<script>", headers=headers)
    assert made.json()["media_type"] == "text/html"
    got = people.visitor.get(address(slug, "x.html"))
    assert got.headers["content-disposition"].startswith("attachment")
    assert got.headers["x-content-type-options"] == "nosniff"
    for hostile in ("text/html\x7f", "nonsense", "a/b/c"):
        params["name"] = f"{len(hostile)}.bin"
        sent = people.admin.post(
            f"/challenges/{slug}/files", params=params, content=b"x", headers={"Content-Type": hostile}
        )
        assert sent.json()["media_type"] == "application/octet-stream"


RANGES = (
    ("bytes=3-", 206, CONTENT[3:]),
    ("bytes=0-0", 206, CONTENT[:1]),
    ("bytes=2-4", 206, CONTENT[2:5]),
    ("bytes=-2", 206, CONTENT[-2:]),
    ("bytes=99-", 200, CONTENT),
    ("bytes=5-2", 200, CONTENT),
    ("bytes=-0", 200, CONTENT),
    ("bytes=0-1,3-4", 200, CONTENT),
    ("lines=1-2", 200, CONTENT),
    ("bytes=٣-", 200, CONTENT),
    ("bytes=" + "9" * 400 + "-", 200, CONTENT),
)


def test_a_range_that_the_file_has_is_served_and_any_other_is_ignored(people: People) -> None:
    slug = create_without_gold(people.admin, "ranges")
    uploaded(people.admin, slug, "train.csv")
    ranged = address(slug, "train.csv")
    for asked, status, got in RANGES:
        answer = people.visitor.get(ranged, headers={b"Range": asked.encode()})
        assert (answer.status_code, answer.content) == (status, got), asked
    changed = people.visitor.get(ranged, headers={"Range": "bytes=3-", "If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, CONTENT)


def test_what_is_not_the_file_itself_is_refused(people: People, live: Live) -> None:
    slug = create_without_gold(people.admin, "refused-files")
    before = stored_files(live)
    path, params = f"/challenges/{slug}/files", {"name": "a.csv", "licence": "CC0"}
    require_refused(people.admin.post(path, params=params, content=b""), 422, "invalid_content")
    coded = people.admin.post(path, params=params, content=b"x", headers={"Content-Encoding": "gzip"})
    require_refused(coded, 415, "unsupported_media_type")
    require_refused(people.admin.post(path, params={"name": "a.csv"}, content=b"x"), 400, "bad_request")
    require_refused(upload(people["Eve"], slug, "a.csv"), 403, "forbidden")
    assert stored_files(live) == before


def test_a_form_with_a_file_is_taken_like_the_file(people: People) -> None:
    slug = create_without_gold(people.admin, "form-files")
    params = {"name": "train.csv", "licence": "CC0"}
    answer = people.admin.post(
        f"/challenges/{slug}/files", params=params, files={"file": ("a.txt", CONTENT, "text/csv")}
    )
    assert (answer.status_code, answer.json()["media_type"]) == (201, "text/csv")
    assert people.visitor.get(address(slug, "train.csv")).content == CONTENT


def test_a_file_may_be_larger_than_predictions_but_not_without_limit(tmp_path: Path) -> None:
    with_limits = {"max_upload": 1024, "max_challenge_file": 4096}
    with serve_app(app_settings(tmp_path / "data", **with_limits)) as app:
        admin = app.admin()
        slug = create_without_gold(admin, "limits")
        uploaded(admin, slug, "a.bin", bytes(4096))
        problem = require_refused(upload(admin, slug, "b.bin", bytes(4097)), 413, "too_large")
        assert "ASSAY_MAX_CHALLENGE_FILE" in problem["remedy"]


def test_a_large_upload_ends_when_it_uses_up_the_space_that_must_stay_free(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    upload = FolderUpload(tmp_path, min_free=2**62)
    upload.write(bytes(SPACE_CHECK_BYTES - 1))
    with pytest.raises(StorageAlmostFull):
        upload.write(b"x")
    assert list((tmp_path / "uploads").iterdir()) == []
