"""A reader of pages: keeps cookies, follows redirects and sends forms as a browser without scripts does."""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from tests.live_service import PASSWORD

HTML = {"Accept": "text/html,application/xhtml+xml"}


class _Forms(HTMLParser):
    """The forms of a page: action, and the fields that the browser would send unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, Any]] = []
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.forms.append({"action": given.get("action"), "method": given.get("method", "get"), "fields": {}})
        if not self.forms:
            return
        fields, name = self.forms[-1]["fields"], given.get("name")
        if tag == "input" and name and given.get("type") not in {"submit", "file"}:
            if given.get("type") in {"radio", "checkbox"} and "checked" not in given:
                return
            fields.setdefault(name, []).append(given.get("value") or "")
        if tag == "textarea" and name:
            self._area = name
            fields[name] = [""]
        if tag == "select" and name:
            self._select = name
        if tag == "option" and self._select and (self._select not in fields or "selected" in given):
            fields[self._select] = [given.get("value") or ""]

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None
        if tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1]["fields"][self._area][0] += data.removeprefix("\n")


class Reader:
    """A browser without scripts, for one person."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client(base_url=url, headers=HTML, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def get(self, path: str, **options: Any) -> httpx.Response:
        """A page; redirects are not followed."""
        return self.client.get(path, **options)

    def follow(self, path: str) -> httpx.Response:
        """A page, after all redirects."""
        return self.client.get(path, follow_redirects=True)

    def send(self, page: str | httpx.Response, action: str, **fields: Any) -> httpx.Response:
        """Send the form with this action that stands on a page, with some fields changed. Redirects are not followed."""
        answer = self.follow(page) if isinstance(page, str) else page
        parser = _Forms()
        parser.feed(answer.text)
        form = next(each for each in parser.forms if each["action"] == action and each["method"] == "post")
        data = form["fields"] | {name: value if isinstance(value, list) else [value] for name, value in fields.items()}
        return self.client.post(action, data=data, headers={"Origin": self.url})

    def log_in(self, email: str, password: str = PASSWORD) -> "Reader":
        """Log in, and stay so."""
        answer = self.send("/log-in", "/log-in", email=email, password=password)
        assert answer.status_code == 303, answer.text
        return self


def heading(answer: httpx.Response) -> str:
    """The text of the only h1 of a page."""
    found = re.findall(r"<h1[^>]*>(.*?)</h1>", answer.text, re.DOTALL)
    assert len(found) == 1
    return re.sub(r"<[^>]+>", "", found[0]).strip()


def csrf_of(answer: httpx.Response) -> str:
    """The token of the forms of a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
    assert found is not None, answer.text
    return found[1]


def destination(answer: httpx.Response) -> tuple[str, str]:
    """Where a redirect leads, and the code of the notice that the page there will show; empty without one."""
    assert answer.status_code == 303, answer.text
    left = next((each.value for each in answer.cookies.jar if each.name == "assay_notice"), "") or ""
    code, _, path = left.partition(":")
    location = answer.headers["location"]
    assert not left or unquote(path) == unquote(urlsplit(location).path)
    return location, code
