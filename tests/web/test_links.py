"""Every link of the pages leads somewhere, for whoever finds it."""

import html
import itertools
import re
from collections.abc import Callable
from urllib.parse import urldefrag

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.desk import TRUTH, administrator, organizer
from tests.web.people import new_person
from tests.web.reader import Reader

SLUG = "linked"
GOLD = [
    {"id": f"t{at}", "label": "cat" if at % 3 else "dog", "split": ("public", "private")[at % 2]} for at in range(6)
]
MAX_PAGES = 400


def links_of(page: str) -> set[str]:
    """The addresses on this site to which a page leads."""
    found = {urldefrag(html.unescape(each))[0] for each in re.findall(r'<a [^>]*href="([^"]+)"', page)}
    return {each for each in found if each.startswith("/") and not each.startswith(("/api/", "/docs", "/catalogue/"))}


def asked_together(link: str) -> set[tuple[str, str, str]]:
    """The page of a link, with each two names of its query."""
    page, _, query = link.partition("?")
    names = sorted({each.partition("=")[0] for each in query.split("&")})
    return {(page, *two) for two in itertools.combinations_with_replacement(names, 2)}


def broken(reader: Reader, start: list[str]) -> dict[str, int]:
    """The links that lead to an error, from these pages on, with its status.

    Of the links to a page with queries, such as those that sort a table, those are followed that ask for two things at
    once that were not asked for together before, whatever their values.
    """
    seen, waiting, wrong, pages = set[tuple[str, str, str]](), list(start), dict[str, int](), 0
    while waiting:
        assert pages < MAX_PAGES, "there are more pages than were expected"
        path = waiting.pop()
        if seen >= (asked := asked_together(path)):
            continue
        seen |= asked
        pages += 1
        answer = reader.follow(path)
        if answer.status_code >= 400:
            wrong[path] = answer.status_code
        elif answer.headers["content-type"].startswith("text/html"):
            waiting += sorted(links_of(answer.text))
    return wrong


@pytest.mark.ci
def test_no_link_leads_to_an_error(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    open_challenge(app.admin(), SLUG, GOLD, phases=[{"name": "main", "reports": ["scores", "per_class", "confusion"]}])
    member = new_person(app, new_reader, "linda")
    member.api.join(SLUG, "Links & <b>")
    submission = member.api.submit(SLUG, TRUTH, method="all").json()["id"]
    member.api.submit(SLUG, {"stray": "cat"}, method="wrong")
    owner, admin = new_reader(), new_reader()
    organizer(app, owner, "owner", slug=SLUG)
    administrator(app, admin)
    challenge = f"/challenges/{SLUG}"
    starts = {
        new_reader(): ["/", challenge],
        member.browser: [challenge, f"/submissions/{submission}"],
        owner: [f"{challenge}/organize", f"/submissions/{submission}"],
        admin: ["/administration"],
    }
    assert {path: status for reader, start in starts.items() for path, status in broken(reader, start).items()} == {}
