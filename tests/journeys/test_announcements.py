"""Announcements: organizers post, edit and delete them; everybody who sees the challenge reads them, also as a feed."""

import uuid
from datetime import datetime
from typing import Any
from xml.etree import ElementTree as ET

import httpx

from tests.journeys.support import People, create_without_gold, require_refused
from tests.live_service import Caller, Live

ATOM = "{http://www.w3.org/2005/Atom}"


def post(who: Caller, slug: str, title: str, body: str = "") -> dict[str, Any]:
    answer = who.post(f"/challenges/{slug}/announcements", json={"title": title, "body": body})
    assert answer.status_code == 201, answer.text
    posted: dict[str, Any] = answer.json()
    return posted


def feed(who: Caller, slug: str) -> ET.Element:
    answer = who.get(f"/challenges/{slug}/announcements.atom")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    return ET.fromstring(answer.content)


def test_announcements_are_listed_newest_first_edited_and_deleted(people: People) -> None:
    slug = create_without_gold(people.admin, "news")
    first, second = post(people.admin, slug, "First"), post(people.admin, slug, "Second", "**Soon**\r\nand again")
    assert second["body"] == "**Soon**\nand again"
    assert second["edited_at"] is None
    page = people.visitor.get(f"/challenges/{slug}/announcements", params={"limit": 1}).json()
    assert [each["title"] for each in page["items"]] == ["Second"]
    rest = people.visitor.get(f"/challenges/{slug}/announcements", params={"cursor": page["next"]}).json()
    assert [each["title"] for each in rest["items"]] == ["First"]
    edited = people.admin.patch(f"/challenges/{slug}/announcements/{first['id']}", json={"title": "Third"}).json()
    assert (edited["title"], edited["created_at"]) == ("Third", first["created_at"])
    assert datetime.fromisoformat(edited["edited_at"]) > datetime.fromisoformat(first["created_at"])
    assert people.admin.delete(f"/challenges/{slug}/announcements/{second['id']}").status_code == 204
    assert [each["title"] for each in people.visitor.get(f"/challenges/{slug}/announcements").json()["items"]] == [
        "Third"
    ]
    other = create_without_gold(people.admin, "other-news")
    for answer in (
        people.admin.patch(f"/challenges/{other}/announcements/{first['id']}", json={"title": "x"}),
        people.admin.delete(f"/challenges/{other}/announcements/{first['id']}"),
    ):
        require_refused(answer, 404, "not_found")


def test_a_title_is_one_visible_line(people: People) -> None:
    slug = create_without_gold(people.admin, "title")
    for title in ("", "two\nlines", "a\u202eb", "\u200b", "x" * 201):
        body = {"title": title}
        require_refused(people.admin.post(f"/challenges/{slug}/announcements", json=body), 422, "invalid_request")


def test_the_feed_holds_any_text_and_is_well_formed(people: People) -> None:
    title, body = "]]> & <script>\"'", "<b>&amp;</b>\n\ttab \ufffe\uffff\x7f \U0001f600 ü"
    slug = create_without_gold(people.admin, "feed", title="R&D <1>")
    posted = post(people.admin, slug, title, body)
    root = feed(people.visitor, slug)
    assert root.tag == f"{ATOM}feed"
    assert root.findtext(f"{ATOM}title") == "R&D <1>"
    entry = root.find(f"{ATOM}entry")
    assert entry is not None
    assert entry.findtext(f"{ATOM}title") == title
    content = entry.find(f"{ATOM}content")
    assert content is not None
    assert content.attrib == {"type": "text"}
    assert content.text == body.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{uuid.UUID(posted['id'])}"
    assert entry.findtext(f"{ATOM}published") == entry.findtext(f"{ATOM}updated") == posted["created_at"]
    assert root.findtext(f"{ATOM}updated") == posted["created_at"]
    assert root.find(f"{ATOM}author/{ATOM}name") is not None


def test_ids_of_the_feed_stay_when_texts_and_slug_change(people: People) -> None:
    slug = create_without_gold(people.admin, "stable-feed")
    empty = feed(people.visitor, slug)
    assert empty.find(f"{ATOM}updated") is not None
    posted = post(people.admin, slug, "First")
    before = feed(people.visitor, slug)
    edited = people.admin.patch(f"/challenges/{slug}/announcements/{posted['id']}", json={"body": "More"}).json()
    assert people.admin.patch(f"/challenges/{slug}", json={"slug": f"{slug}-new"}).status_code == 200
    after = feed(people.visitor, f"{slug}-new")
    for path in (f"{ATOM}id", f"{ATOM}entry/{ATOM}id", f"{ATOM}entry/{ATOM}published"):
        assert before.findtext(path) == after.findtext(path)
    assert after.findtext(f"{ATOM}entry/{ATOM}updated") == edited["edited_at"]
    assert after.findtext(f"{ATOM}updated") == edited["edited_at"]


def test_a_reader_of_the_feed_gets_it_again_only_when_it_changed(people: People) -> None:
    slug = create_without_gold(people.admin, "etag-feed")
    path = f"/challenges/{slug}/announcements.atom"
    tag = people.visitor.get(path).headers["etag"]
    assert people.visitor.get(path, headers={"If-None-Match": tag}).status_code == 304
    post(people.admin, slug, "News")
    assert people.visitor.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_addresses_of_the_feed_name_the_public_address_and_never_the_host(live: Live, people: People) -> None:
    slug = create_without_gold(people.admin, "links")
    answer = httpx.get(
        f"{live.url}/api/v1/challenges/{slug}/announcements.atom", headers={"Host": "evil.example"}, timeout=60
    )
    links = {link.get("rel"): link.get("href") for link in ET.fromstring(answer.content).findall(f"{ATOM}link")}
    path = f"/api/v1/challenges/{slug}/announcements"
    assert links == {"self": f"{path}.atom", "alternate": path}  # relative: ASSAY_PUBLIC_URL is not set
