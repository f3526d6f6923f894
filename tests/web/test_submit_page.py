"""The page to submit predictions, as a browser without scripts sends its form."""

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import httpx
import pytest

from app.api.http.form_file import FormFile
from app.errors import BadRequest
from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.people import NewReader, Person, new_person
from tests.web.reader import destination, heading

GOLD = [{"id": f"t{at}", "label": "cat" if at % 2 else "dog"} for at in range(4)]
VALID = b"id,label\n" + b"".join(f"{row['id']},{row['label']}\n".encode() for row in GOLD)
NUMBERS = count(1)


def open_new(app: ServedApp, **phase: Any) -> str:
    slug = f"upload-{next(NUMBERS)}"
    open_challenge(app.admin(), slug, GOLD, phases=[{"name": "main", "reports": ["scores"], **phase}])
    return slug


@pytest.fixture
def ada(app: ServedApp, new_reader: NewReader) -> Person:
    return new_person(app, new_reader, "ada")


def form_of(page: httpx.Response) -> tuple[str, str]:
    """The action of the upload form, and its token."""
    action = re.search(r'<form method="post" enctype="multipart/form-data" action="([^"]+)"', page.text)
    token = re.search(r'data-token="([^"]+)"', page.text)
    assert action is not None, page.text
    assert token is not None
    return action[1].replace("&amp;", "&"), token[1]


def upload(
    who: Person,
    page: httpx.Response,
    body: bytes = VALID,
    *,
    name: str = "mine.csv",
    check: bool = False,
    **fields: str,
) -> httpx.Response:
    action, token = form_of(page)
    texts = {"csrf": token, "method": "", "description": "", "link": ""} | fields
    parts: list[tuple[str, Any]] = [(key, (None, value)) for key, value in texts.items()]
    parts.append(("file", (name, body, "text/csv")))
    address = action + ("&check=true" if check else "")
    return who.browser.client.post(address, files=parts, headers={"Origin": who.browser.url})


def stored(who: Person, slug: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = who.api.get(f"/challenges/{slug}/phases/main/submissions").json()["items"]
    return items


def test_a_file_is_stored_once_and_its_page_follows(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    assert heading(page) == "Submit predictions"
    answer = upload(ada, page, method="Forest", link="https://example.org/paper", description="Trees,\r\nmany.")
    assert answer.status_code == 422
    assert "description" in answer.text  # one line, as in the API
    answer = upload(ada, page, method="Forest", link="https://example.org/paper", description="Trees.")
    assert answer.status_code == 303, answer.text
    again = upload(ada, page, method="Forest", link="https://example.org/paper", description="Trees.")
    assert again.headers["location"] == answer.headers["location"]
    (only,) = stored(ada, slug)
    assert destination(answer) == (f"/submissions/{only['id']}", "submitted")
    assert (only["method"], only["description"], only["link"]) == ("Forest", "Trees.", "https://example.org/paper")
    assert "Your file is stored" in ada.browser.get(answer.headers["location"]).text
    other = upload(ada, page, VALID.replace(b"t0,dog", b"t0,cat"), method="Forest")
    assert (other.status_code, len(stored(ada, slug))) == (422, 1)


def test_a_file_that_is_only_checked_is_not_stored(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, quota={"total": 3})
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    assert "<b>3</b> of 3 left in this phase" in page.text
    assert "The file is valid" in upload(ada, page, check=True).text
    faulty = upload(ada, page, b"id,label\nt0,dgo\n", check=True, method="Forest <b>")
    assert faulty.status_code == 200
    assert "The file has faults" in faulty.text
    assert "line 2" in faulty.text
    assert '<code class="line">t0,dgo</code>' in faulty.text
    assert 'value="Forest &lt;b&gt;"' in faulty.text
    assert stored(ada, slug) == []


def test_what_is_expected_is_said_before_a_file_is_chosen(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    assert "<code>cat</code>" in page.text
    template = ada.browser.get(f"/challenges/{slug}/phases/main/template?format=csv")
    assert template.text.splitlines()[:2] == ["id,label", "t0,"]
    assert f"/challenges/{slug}/phases/main/template?format=csv" in page.text.replace("&format", "&amp;format")


def test_refusals_are_shown_on_the_page(app: ServedApp, ada: Person, new_reader: NewReader) -> None:
    slug = open_new(app, quota={"total": 1})
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    assert upload(ada, page, name="").status_code == 400
    assert "No file was chosen" in upload(ada, page, b"", name="").text
    assert upload(ada, page, name="mine.xlsx").status_code in {303, 415}
    assert upload(ada, ada.browser.get(f"/challenges/{slug}/submit")).status_code in {303, 429}
    full = upload(ada, ada.browser.get(f"/challenges/{slug}/submit"))
    assert full.status_code == 429
    assert "There is a problem" in full.text
    stranger = new_person(app, new_reader, "eve")
    answer = upload(stranger, stranger.browser.get(f"/challenges/{slug}/submit"))
    assert answer.status_code == 403
    assert new_reader().get(f"/challenges/{slug}/submit").headers["location"].startswith("/log-in?next=")


def test_no_file_is_read_without_the_token_of_the_session(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    for token in ("", "wrong"):
        answer = upload(ada, page, csrf=token)
        assert answer.status_code == 403, answer.text
    action, token = form_of(page)
    late: list[tuple[str, Any]] = [("file", ("mine.csv", VALID, "text/csv")), ("csrf", (None, token))]
    assert ada.browser.client.post(action, files=late).status_code in {400, 403}
    foreign = ada.browser.client.post(
        action, files=[("csrf", (None, token)), *late[:1]], headers={"Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    extras: list[list[tuple[str, Any]]] = [[("other", (None, "x"))], [("csrf", (None, token))]]
    for extra in extras:
        answer = ada.browser.client.post(action, files=[("csrf", (None, token)), *extra, *late[:1]])
        assert answer.status_code == 400
    assert stored(ada, slug) == []
    header = ada.browser.client.post(action, files=late[:1], headers={"X-CSRF-Token": token})
    assert header.status_code == 303


def test_organizers_send_tests_and_baselines(app: ServedApp, new_reader: NewReader) -> None:
    slug = open_new(app)
    olga = new_person(app, new_reader, "olga", admin=True)
    assert upload(olga, olga.browser.get(f"/challenges/{slug}/submit?as=test")).status_code == 303
    page = olga.browser.get(f"/challenges/{slug}/submit?as=baseline")
    assert upload(olga, page).status_code == 400
    assert upload(olga, page, team="Majority").status_code == 303
    marks = {(item["test"], item["baseline"]) for item in stored(olga, slug)}
    assert marks == {(True, False), (False, True)}


def test_a_phase_that_is_closed_says_so(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    app.admin().patch(f"/challenges/{slug}/phases/main", json={"closes_at": "2020-01-01T00:00:00Z"})
    app.admin().post(f"/challenges/{slug}/phases/main/pause", json={"reason": "We <mend> it."}).raise_for_status()
    refused = upload(ada, page)
    assert refused.status_code == 409
    assert "There is a problem" in refused.text


def test_a_phase_that_is_paused_says_why(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    app.admin().post(f"/challenges/{slug}/phases/main/pause", json={"reason": "We <mend> it."}).raise_for_status()
    page = ada.browser.get(f"/challenges/{slug}/submit").text
    assert "This phase is paused and takes no files now. Reason: We &lt;mend&gt; it." in page


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_text_fields_before_the_file_are_read_however_the_form_is_cut(size: int) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="method"\r\n\r\nFor\xc3\xaat\r\n--x\r\n'
        b'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid,label\r\n\r\n--x--\r\n'
    )

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def read(*leading: str) -> tuple[dict[str, str], bytes]:
        form = FormFile("multipart/form-data; boundary=x", "", chunks(), leading)
        await form.open()
        return form.fields, b"".join([part async for part in form.content()])

    assert asyncio.run(read("method")) == ({"method": "Forêt"}, b"id,label\r\n")
    with pytest.raises(BadRequest, match="field 'method' that is not a file"):
        asyncio.run(read())


def test_text_fields_of_a_form_are_bounded(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    answer = upload(ada, ada.browser.get(f"/challenges/{slug}/submit"), description="x" * 70_000)
    assert answer.status_code == 400
    assert "bytes besides its file" in answer.text
