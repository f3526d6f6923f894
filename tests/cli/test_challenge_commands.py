"""Commands that archive, copy and delete challenges, about organizers, announcements and files, and the export."""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import CommandResult, run_assay, write_file
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer
from tests.cli.test_completion import press_tab
from tests.journeys.support import CORRECT_PREDICTIONS, People, create_challenge, new_slug, require_finished
from tests.live_service import Live

Run = Callable[..., CommandResult]


@pytest.fixture(scope="module")
def people(live: Live) -> People:
    return People(live)


@pytest.fixture
def admin(people: People) -> Run:
    """Runs a command as the administrator."""

    def run(*words: object, stdin: str | None = None) -> CommandResult:
        return run_assay(*words, "--url", people.live.url, "--token", people.live.admin_token, stdin=stdin)

    return run


def done(result: CommandResult) -> str:
    assert result.status == 0, result.err
    return result.out


def test_a_challenge_is_archived_and_goes_on(people: People, admin: Run) -> None:
    slug = create_challenge(people.admin, "cli-archive")
    archived = admin("challenge", "archive", slug, "--reason", "The workshop is over.")
    assert archived.out == f"The challenge {slug} is archived.\n"
    assert "Warning: Phase 'main' has not closed" in archived.err
    assert slug not in done(admin("challenge", "list"))
    assert slug in done(admin("challenge", "list", "--archived"))
    assert "archived: 2" in done(admin("challenge", "show", slug))
    refused = admin("announcement", "post", slug, "--title", "Late news", "--json")
    assert (refused.status, json.loads(refused.out or refused.err)["code"]) == (1, "challenge_archived")
    assert admin("challenge", "unarchive", slug).out == f"The challenge {slug} is no longer archived.\n"
    assert slug in done(admin("challenge", "list"))


def test_only_organizers_read_at_length_what_scores_disclose(people: People, admin: Run) -> None:
    slug = create_challenge(people.admin, "cli-disclosure")
    told = "What scores of main disclose: "
    assert told in done(admin("challenge", "show", slug))
    token = people["Ada"].headers["Authorization"].removeprefix("Bearer ")
    for given in (("--token", token), ()):
        shown = run_assay("challenge", "show", slug, "--url", people.live.url, *given).out
        assert told not in shown
        assert shown.splitlines()[-1].endswith(f"assay recipe show {slug}, docs/disclosure.md")
    assert told in run_assay("recipe", "show", slug, "--url", people.live.url).out


def test_a_copy_has_the_gold_and_the_times_that_were_asked_for(people: People, admin: Run) -> None:
    phase = {"name": "main", "opens_at": "2088-01-01T12:00", "closes_at": "2088-02-01T12:00"}
    slug = create_challenge(people.admin, "cli-copy", phases=[phase])
    new = new_slug("cli-copied")
    words = ("challenge", "copy", slug, new, "--title", "Again", "--gold", "--opens", "2089-01-01T12:00", "--json")
    result = admin(*words)
    made = json.loads(done(result))
    assert (made["slug"], made["title"], made["status"]) == (new, "Again", "draft")
    assert made["phases"][0]["closes_at"] == "2089-02-01T12:00:00Z"
    assert f"assay challenge publish {new}" in result.err
    assert json.loads(done(admin("gold", "list", new, "--json")))[0]["status"] == "active"


def test_a_deletion_needs_the_slug_typed_again(people: People, admin: Run) -> None:
    slug = create_challenge(people.admin, "cli-delete")
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))
    without = admin("challenge", "delete", slug)
    assert (without.status, "--confirm" in without.err) == (2, True)
    wrong = admin("challenge", "delete", slug, "--confirm", "other")
    assert (wrong.status, "nothing was deleted" in wrong.err) == (1, True)
    assert people.admin.get(f"/challenges/{slug}").status_code == 200
    assert admin("challenge", "delete", slug, "--confirm", slug).out == f"The challenge {slug} is deleted.\n"
    assert people.admin.get(f"/challenges/{slug}").status_code == 404


def test_organizers_are_added_listed_and_removed(people: People, admin: Run) -> None:
    slug, ada = create_challenge(people.admin, "cli-organizers"), people["Ada"]
    assert "is editor of" in done(admin("organizer", "add", slug, ada.email))
    done(admin("organizer", "add", slug, ada.email, "--role", "viewer"))
    rows = json.loads(done(admin("organizer", "list", slug, "--json")))
    assert [(row["name"], row["role"]) for row in rows] == [("Administrator", "owner"), ("Ada", "viewer")]
    assert "viewer" in done(admin("organizer", "list", slug))
    done(admin("organizer", "remove", slug, ada.email, "--reason", "Moved on"))
    assert json.loads(done(admin("audit", slug, "--json")))[0]["reason"] == "Moved on"
    assert len(json.loads(done(admin("organizer", "list", slug, "--json")))) == 1
    assert admin("organizer", "add", slug, ada.email, "--role", "captain").status == 2


def test_announcements_are_posted_from_text_files_and_pipes(people: People, admin: Run, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "cli-news")
    assert done(admin("announcement", "list", slug)) == "No announcements.\n"
    file = tmp_path / "news.md"
    file.write_bytes("\ufeffHello\r\n*world*\r\n".encode())
    posted = json.loads(done(admin("announcement", "post", slug, "--title", "One", "-f", file, "--json")))
    assert posted["body"] == "Hello\n*world*\n"
    done(admin("announcement", "post", slug, "--title", "Two", "-f", "-", stdin="from a pipe"))
    done(admin("announcement", "post", slug, "--title", "Three"))
    done(admin("announcement", "edit", slug, posted["id"], "--title", "Uno"))
    listed = done(admin("announcement", "list", slug))
    assert [line for line in listed.splitlines() if not line.startswith(" ")] == ["Three", "Two", "Uno"]
    assert "  from a pipe" in listed
    assert ", edited " in listed
    feed = admin("announcement", "list", slug).err.split()[-1]
    assert people.visitor.get(feed).headers["content-type"].startswith("application/atom+xml")
    both = admin("announcement", "edit", slug, posted["id"], "--body", "x", "-f", file)
    assert (both.status, "either" in both.err) == (1, True)
    assert "Nothing to change" in admin("announcement", "edit", slug, posted["id"]).err
    done(admin("announcement", "delete", slug, posted["id"]))
    assert "Uno" not in done(admin("announcement", "list", slug))


def test_files_are_uploaded_described_downloaded_and_deleted(
    people: People, admin: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = create_challenge(people.admin, "cli-files")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    content = os.urandom(3_000_000)
    source = tmp_path / "train.bin"
    source.write_bytes(content)
    made = json.loads(done(admin("file", "upload", slug, "-f", source, "--licence", "CC0", "--json")))
    assert (made["name"], made["size"], made["audience"]) == ("train.bin", len(content), "public")
    named = ("--name", 'a "b".csv', "--audience", "teams", "--description", "Labels")
    done(admin("file", "upload", slug, "-f", source, "--licence", "research only", *named))
    assert "research only" in done(admin("file", "list", slug))
    edited = admin("file", "edit", slug, "train.bin", "--licence", "CC-BY-4.0", "--audience", "teams", "--json")
    assert (json.loads(done(edited))["licence"], json.loads(edited.out)["audience"]) == ("CC-BY-4.0", "teams")
    assert "Wrote train.bin" in done(admin("file", "download", slug, "train.bin"))
    assert Path("train.bin").read_bytes() == content
    assert Path("train.bin").stat().st_mode & 0o777 == 0o666 & ~_umask()
    again = admin("file", "download", slug, "train.bin")
    assert (again.status, "--output" in again.err) == (1, True)
    done(admin("file", "download", slug, 'a "b".csv', "-o", "other.csv"))
    assert sorted(path.name for path in Path().iterdir()) == ["other.csv", "train.bin"]
    done(admin("file", "delete", slug, 'a "b".csv'))
    missing = admin("file", "download", slug, 'a "b".csv')
    assert (missing.status, "has no file" in missing.err) == (1, True)
    by_visitor = run_assay("file", "download", slug, "train.bin", "-o", "x", "--url", people.live.url)
    assert (by_visitor.status, Path("x").exists()) == (1, False)
    assert admin("file", "upload", slug, "-f", tmp_path / "absent", "--licence", "CC0").status == 2


def _umask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


def test_a_download_follows_the_new_slug_of_a_challenge(people: People, admin: Run, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "cli-moved")
    done(admin("file", "upload", slug, "-f", write_file(tmp_path / "a.txt", "x"), "--licence", "CC0"))
    people.admin.patch(f"/challenges/{slug}", json={"slug": f"{slug}-new"}).raise_for_status()
    done(admin("file", "download", slug, "a.txt", "-o", tmp_path / "b.txt"))
    assert (tmp_path / "b.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("name", "segment"), [("../evil.csv", "..%2Fevil.csv"), ("/etc/evil.csv", "%2Fetc%2Fevil.csv")]
)
def test_a_name_from_a_hostile_service_stays_in_this_folder(
    service: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, segment: str
) -> None:
    _offer(service, name, segment, "x", hashlib.sha256(b"x").hexdigest())
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    done(run_assay("file", "download", "pets", name, "--url", service.url))
    assert [path.name for path in Path().iterdir()] == ["evil.csv"]
    assert not (tmp_path / "evil.csv").exists()


def test_a_damaged_download_leaves_nothing(
    service: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer(service, "a.csv", "a.csv", "damaged", hashlib.sha256(b"sound").hexdigest())
    monkeypatch.chdir(tmp_path)
    result = run_assay("file", "download", "pets", "a.csv", "-o", "a.csv", "--url", service.url)
    assert (result.status, "damaged" in result.err) == (1, True)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


def _offer(service: ScriptedServer, name: str, segment: str, content: str, sha256: str) -> None:
    row: dict[str, Any] = {"name": name, "size": len(content), "licence": "CC0", "sha256": sha256}
    service.on("GET /api/v1/challenges/pets/files", ScriptedAnswer(200, {"items": [row], "next": None}))
    service.on(f"GET /api/v1/challenges/pets/files/{segment}", ScriptedAnswer(200, content))


def test_an_export_is_a_complete_archive_or_no_file(people: People, admin: Run, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "cli-export")
    sent = require_finished(people["Green"].join(slug, "Green").submit(slug, CORRECT_PREDICTIONS))
    archive = tmp_path / "out.zip"
    assert "Wrote" in done(admin("export", slug, "--phase", "main", "-o", archive))
    with zipfile.ZipFile(archive) as opened:
        assert json.loads(opened.read(f"predictions/{sent['id']}.json")) == CORRECT_PREDICTIONS
    refused = run_assay("export", slug, "-o", tmp_path / "no.zip", "--url", people.live.url)
    assert (refused.status, (tmp_path / "no.zip").exists()) == (1, False)


def test_tab_completes_announcements_files_organizers_and_archived_challenges(people: People, admin: Run) -> None:
    slug = create_challenge(people.admin, "cli-tab")
    posted = people.admin.post(f"/challenges/{slug}/announcements", json={"title": "News"}).json()["id"]
    for name in ("train.csv", "two words.csv"):
        params = {"name": name, "licence": "CC0"}
        people.admin.post(f"/challenges/{slug}/files", params=params, content=b"x").raise_for_status()
    done(admin("organizer", "add", slug, people["Ada"].email))
    as_admin = {"ASSAY_URL": people.live.url, "ASSAY_TOKEN": people.live.admin_token}
    assert press_tab(f"assay announcement delete {slug} ", **as_admin) == [posted]
    assert press_tab(f"assay file download {slug} ", **as_admin) == ["train.csv"]
    assert people["Ada"].email.lower() in press_tab(f"assay organizer remove {slug} ", **as_admin)
    assert press_tab("assay challenge unarchive cli-ta", **as_admin) == []
    done(admin("challenge", "archive", slug))
    assert press_tab("assay challenge unarchive cli-ta", **as_admin) == [slug]
