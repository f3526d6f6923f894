"""Files sent in multipart forms: the same answer as the plain file, and no file left behind by a hostile form."""

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.http.form_file import FormFile
from app.errors import BadRequest
from tests.api.in_process_app import ADMIN_TOKEN, ServedApp, app_settings, serve_app
from tests.faults.inspection import GOLD
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, eventually, open_challenge

SUBMISSIONS = "/challenges/pets/phases/main/submissions"
LABELS = {row["id"]: row["label"] for row in GOLD}
TABLE = "".join(f"{name},{label}\n" for name, label in [("id", "label"), *LABELS.items()]).encode()
MAX_UPLOAD = 1 << 20
BOUNDARY = "xYz-0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forms") / "data"


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[ServedApp]:
    with serve_app(app_settings(folder, max_upload=MAX_UPLOAD)) as running:
        open_challenge(running.admin(), "pets", GOLD)
        yield running


@pytest.fixture(scope="module")
def admin(service: ServedApp) -> Caller:
    return service.admin()


@pytest.fixture(scope="module")
def stranger(service: ServedApp) -> Caller:
    """Somebody with an account and no rights in the challenge."""
    login = {"email": "eve@example.org", "password": PASSWORD}
    service.caller().post("/users", json=login | {"name": "Eve"}).raise_for_status()
    return service.caller(service.caller().post("/tokens", json=login).json()["token"])


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "files" / "uploads").iterdir())


def dry_run(admin: Caller, **how: Any) -> httpx.Response:
    return admin.post(SUBMISSIONS, params={"dry_run": "true", "team": "T", **how.pop("params", {})}, **how)


def part(body: bytes, *headers: str) -> bytes:
    """One part of a form."""
    return f"--{BOUNDARY}\r\n".encode() + "".join(f"{line}\r\n" for line in headers).encode() + b"\r\n" + body + b"\r\n"


def disposition(filename: str | None = "p.csv", name: str = "file") -> str:
    extra = "" if filename is None else f'; filename="{filename}"'
    return f'Content-Disposition: form-data; name="{name}"{extra}'


END = f"--{BOUNDARY}--\r\n".encode()


def send(admin: Caller, body: bytes, content_type: str | None = None, **headers: str) -> httpx.Response:
    media = f"multipart/form-data; boundary={BOUNDARY}" if content_type is None else content_type
    return dry_run(admin, content=body, headers={"Content-Type": media, **headers})


# ---- the same as the plain file --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "media", "body"),
    [
        ("p.csv", None, TABLE),
        ("p.csv", "application/octet-stream", TABLE),
        ("p.bin", "text/csv", TABLE),
        ("p", "", json.dumps(LABELS).encode()),
        ("p.csv.gz", None, gzip.compress(TABLE, mtime=0)),
        ("p.tsv", None, TABLE.replace(b",", b"\t")),
        ("p.csv", None, b"\xef\xbb\xbf" + TABLE.replace(b",", b";")),
        ("p.csv", None, TABLE.replace(b"label", b"prediction")),
        ("p.csv", None, TABLE.replace(b"cat", b"cow")),
        ("p.csv", None, b""),
        ("p.csv", None, b"\r\n--" + BOUNDARY.encode()[:-1] + b"\r\n"),
    ],
)
def test_a_form_is_answered_like_the_file_that_it_holds(
    admin: Caller, name: str, media: str | None, body: bytes
) -> None:
    plain = dry_run(admin, content=body, params={"filename": name}, headers={"Content-Type": media or ""})
    form = dry_run(admin, files={"file": (name, body) if media is None else (name, body, media)})
    assert plain.status_code == form.status_code == 200
    assert form.json() == plain.json()


def test_a_field_called_file_needs_no_name_and_the_query_may_give_one(admin: Caller) -> None:
    body = part(TABLE, disposition(None)) + END
    headers = {"Content-Type": f'multipart/form-data; boundary="{BOUNDARY}"'}
    assert not dry_run(admin, content=body, headers=headers).json()["valid"]  # without a name it is JSON
    answer = dry_run(admin, content=body, headers=headers, params={"filename": "p.csv"})
    assert answer.json()["valid"], answer.text


def chunks(body: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_form_without_content_length_may_arrive_in_any_pieces(admin: Caller, size: int) -> None:
    body = part(TABLE, disposition()) + END
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = dry_run(admin, content=chunks(body, size), headers=headers)
    assert answer.status_code == 200
    assert answer.json()["valid"], answer.text


def test_the_same_file_is_the_same_request_however_it_is_sent(admin: Caller) -> None:
    how: dict[str, Any] = {"params": {"team": "Blue", "method": "one"}, "headers": {"Idempotency-Key": "k1"}}
    first = admin.post(SUBMISSIONS, content=TABLE, **{**how, "params": how["params"] | {"filename": "a.csv"}})
    again = admin.post(SUBMISSIONS, files={"file": ("b.csv", TABLE)}, **how)
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["id"] == first.json()["id"]
    other = admin.post(SUBMISSIONS, files={"file": ("b.csv", TABLE + b"x")}, **how)
    assert other.json()["code"] == "idempotency_mismatch"
    stored = admin.get(f"/submissions/{first.json()['id']}/predictions")
    assert stored.content == TABLE


def test_a_stored_form_is_the_file_alone(admin: Caller) -> None:
    sent = admin.post(
        SUBMISSIONS, files={"file": ("b.csv", TABLE)}, params={"team": "Red"}, headers={"Prefer": "wait=30"}
    )
    assert sent.json()["status"] == "finished", sent.text
    assert sent.json()["size"] == len(TABLE)
    assert admin.get(f"/submissions/{sent.json()['id']}/predictions").content == TABLE


@pytest.mark.parametrize("excess", [0, 1])
def test_the_limit_counts_the_bytes_of_the_file(admin: Caller, excess: int) -> None:
    body = json.dumps(LABELS).encode().ljust(MAX_UPLOAD + excess)
    form = dry_run(admin, files={"file": ("p.json", body)})
    plain = dry_run(admin, content=body)
    assert form.status_code == plain.status_code == (413 if excess else 200)
    length = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    streamed = part(body, disposition("p.json")) + END
    assert dry_run(admin, content=chunks(streamed, 1 << 16), headers=length).status_code == form.status_code


def test_gold_and_its_metadata_come_in_forms_too(admin: Caller) -> None:
    fields = {"slug": "forms", "title": "Forms", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    assert admin.post("/challenges", json=fields).status_code == 201
    gold = "/challenges/forms/phases/main/gold"
    made = admin.post(gold, files={"file": ("gold.csv", b"\xef\xbb\xbf" + TABLE)})
    assert made.status_code == 201, made.text
    assert any("byte order mark" in note for note in made.json()["notes"])
    assert made.json()["size"] == len(TABLE) + 3
    weights = dict.fromkeys(made.json()["classes"], 1.5)
    path = f"{gold}/{made.json()['version']}/class-weights"
    for file in (("w.json", json.dumps(weights)), ("w.json", json.dumps(weights), "application/octet-stream")):
        put = admin.put(path, files={"file": file})
        assert put.status_code == 200, put.text
        assert put.json()["class_weights"] == weights
    assert admin.put(path, files={"file": ("w.csv", "a,1", "text/csv")}).status_code == 415
    assert admin.put(path, files={"file": ("w.json", "{")}).status_code == 422
    assert admin.put(path, files={"file": ("w.json", "{}")}).status_code == 422
    assert admin.put(path, files={"file": ("w.json", json.dumps(weights)), "more": ("v.json", "{}")}).status_code == 400


# ---- hostile forms ----------------------------------------------------------------------------------

FILE = part(TABLE, disposition())
HOSTILE: dict[str, tuple[bytes, str]] = {
    "two files": (FILE + FILE + END, "more than one file"),
    "a field before": (part(b"x", disposition(None, "method")) + FILE + END, "?method=NAME"),
    "a field behind": (FILE + part(b"x", disposition(None, "method")) + END, "?method=NAME"),
    "no part": (END, "no file"),
    "nothing": (b"", "malformed"),
    "no file chosen": (part(b"", disposition(""), "Content-Type: application/octet-stream") + END, "no file"),
    "no end": (FILE, "malformed"),
    "cut in the file": (FILE[:-20], "malformed"),
    "cut in the headers": (FILE[:30], "malformed"),
    "another boundary": (FILE.replace(BOUNDARY.encode(), b"other") + END, ""),
    "a huge header": (part(TABLE, disposition(), "X-A: " + "a" * 70_000) + END, "malformed"),
    "many headers": (part(TABLE, disposition(), *(f"X-{at}: a" for at in range(1000))) + END, "malformed"),
    "a header twice": (part(TABLE, disposition(), disposition("q.csv")) + END, "twice"),
    "a header without a name": (part(TABLE, disposition(), ": x") + END, "malformed"),
    "LF alone": ((FILE + END).replace(b"\r\n", b"\n"), "malformed"),
    "CR alone in a header": (part(TABLE, disposition("p.csv\rContent-Type: text/csv")) + END, "control character"),
    "LF alone in a header": (part(TABLE, disposition("p.csv\nContent-Type: text/csv")) + END, "header"),
    "no disposition": (part(TABLE, "Content-Type: text/csv") + END, "malformed"),
    "another disposition": (part(TABLE, 'Content-Disposition: attachment; name="file"') + END, "malformed"),
    "base64": (part(b"aWQ=", disposition(), "Content-Transfer-Encoding: base64") + END, "as they are"),
    "a wrong length": (part(TABLE, disposition(), "Content-Length: 3") + END, "malformed"),
    "much before": (b"x" * 100_000 + b"\r\n" + FILE + END, ""),
    "much behind": (FILE + END + b"x" * 100_000, "besides its file"),
    "bytes that are not UTF-8": (part(TABLE, disposition()).replace(b"p.csv", b"\xff") + END, "malformed"),
}


def test_a_hostile_form_is_refused_and_leaves_no_file(admin: Caller, folder: Path) -> None:
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    before = files_in(folder)
    for name, (body, words) in HOSTILE.items():
        for query in ({"dry_run": "true"}, {}):
            answer = admin.post(SUBMISSIONS, params={"team": "T", **query}, content=body, headers=headers)
            assert answer.status_code == 400, (name, answer.text)
            assert answer.json()["code"] == "bad_request"
            assert words in answer.json()["detail"] + answer.json()["remedy"], name
        assert files_in(folder) == before, name


def test_a_hostile_form_is_refused_wherever_the_network_cuts_it() -> None:
    async def read(body: bytes, cut: int) -> str:
        async def received() -> AsyncIterator[bytes]:
            yield body[:cut]
            yield body[cut:]

        form = FormFile(f"multipart/form-data; boundary={BOUNDARY}", "", received())
        try:
            await form.open()
            async for _ in form.content():
                pass
        except BadRequest as refused:
            return f"{refused.detail} {refused.advice}"
        return "it is read"

    async def read_all() -> list[tuple[str, int, str]]:
        found = [
            (name, cut, await read(body, cut))
            for name, (body, _) in HOSTILE.items()
            for cut in range(min(len(body), 300) + 1)
        ]
        return [each for each in found if each[2] == "it is read" or HOSTILE[each[0]][1] not in each[2]]

    assert asyncio.run(read_all()) == []


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=", 400),
        ('multipart/form-data; boundary="a\tb"', 400),
        (f"multipart/form-data; boundary={'a' * 71}", 400),
        (f"multipart/mixed; boundary={BOUNDARY}", 415),
        (f"multipart/related; boundary={BOUNDARY}", 415),
    ],
)
def test_a_form_needs_a_boundary(admin: Caller, content_type: str, status: int) -> None:
    assert send(admin, FILE + END, content_type).status_code == status


def test_nested_forms_and_compressed_ones_are_refused(admin: Caller) -> None:
    inner = part(FILE + END, disposition(), "Content-Type: multipart/mixed; boundary=x") + END
    assert send(admin, inner).status_code == 415
    answer = send(admin, gzip.compress(FILE + END), **{"Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert "Compress the file in it instead" in answer.json()["remedy"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{SUBMISSIONS}?test=true"),
        ("POST", f"{SUBMISSIONS}?test=true&dry_run=true"),
        ("POST", "/challenges/pets/submissions?test=true"),
        ("POST", "/challenges/pets/phases/main/gold"),
        ("PUT", "/challenges/pets/phases/main/gold/1/class-weights"),
        ("POST", "/challenges/pets/files?name=a.csv&licence=CC0-1.0"),
    ],
)
def test_a_form_is_read_only_by_who_has_the_right_to_send_it(
    admin: Caller, service: ServedApp, stranger: Caller, method: str, path: str
) -> None:
    malformed: dict[str, Any] = {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}
    assert admin.request(method, path, **malformed).status_code == 400
    form: dict[str, Any] = {"files": {"file": ("p.csv", TABLE)}}
    for how in (malformed, form):
        assert service.caller().request(method, path, **how).status_code == 401
        assert stranger.request(method, path, **how).status_code == 403


@pytest.mark.parametrize("sent", [50, 300_000])
def test_a_client_that_hangs_up_within_a_form_leaves_no_file(service: ServedApp, folder: Path, sent: int) -> None:
    before = files_in(folder)
    host, port = service.url.removeprefix("http://").split(":")
    head = f"POST /api/v1{SUBMISSIONS}?team=Blue HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
    head += f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: 900000\r\n\r\n"
    body = part(b"a" * 500_000, disposition())
    with socket.create_connection((host, int(port)), timeout=MAX_WAIT_SECONDS) as connection:
        connection.sendall(head.encode() + body[:sent])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1000)
    eventually(lambda: files_in(folder) == before, "nothing of it is left")
