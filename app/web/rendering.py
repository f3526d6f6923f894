"""Templates and the replies that they make."""

import gzip
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from app import __version__
from app.api.http.negotiation import prefers_gzip
from app.web import formatting
from app.web.assets import asset_url
from app.web.forms import Form
from app.web.markdown import first_sentence, markdown
from app.web.page import PageContext
from app.web.remedies import remedy_of
from app.web.symbols import symbol

TEMPLATES = Path(__file__).parent / "templates"
CONTENT_SECURITY_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors "
MIN_COMPRESSED_BYTES = 1024
NO_FORM = Form()


@cache
def environment() -> Environment:
    """The templates. Every value is escaped; an undefined name is an error."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= formatting.FILTERS | {
        "markdown": markdown,
        "first_sentence": first_sentence,
        "mathml": mathml,
        "remedy": remedy_of,
        "symbol": symbol,
    }
    templates.globals |= {"asset": asset_url, "version": __version__}
    return templates


def mathml(equation: Mapping[str, str] | str) -> Markup:
    """The MathML of an equation of the catalogue, which is made from our own formulas only."""
    text = equation if isinstance(equation, str) else equation["mathml"]
    return Markup(text)  # noqa: S704 - never from users


def render(page: PageContext, template: str, *, status: int = 200, form: Form = NO_FORM, **values: Any) -> Response:
    """A page as a reply. `form` is the one to show again with its faults, if there is one."""
    html = render_text(page, template, form=form, **values)
    return html_reply(page, html, status=status)


def render_text(page: PageContext, template: str, *, form: Form = NO_FORM, **values: Any) -> str:
    """The text of a page, or of a part of one."""
    settings = page.state.settings
    shared = {"page": page, "form": form, "notice": page.take_notice(), "now": datetime.now(UTC), "settings": settings}
    shared["operator_links"] = [("Privacy", settings.privacy_url), ("Imprint", settings.imprint_url)]
    text = environment().get_template(template).render(shared | values)
    if form.labels:  # The summary of the faults stands above the fields whose labels it uses.
        text = environment().get_template(template).render(shared | values)
    return text


def html_reply(page: PageContext, html: str, *, status: int = 200, frame_ancestors: str = "'none'") -> Response:
    """HTML as a reply: compressed if the browser accepts that, and never cached for somebody who is logged in."""
    body, headers = html.encode(), {"Vary": "Accept-Encoding, Cookie"}
    encodings = ",".join(page.request.headers.getlist("accept-encoding"))
    if len(body) >= MIN_COMPRESSED_BYTES and prefers_gzip(encodings):
        body, headers["Content-Encoding"] = gzip.compress(body, compresslevel=6, mtime=0), "gzip"
    headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY + frame_ancestors
    headers["Referrer-Policy"] = "same-origin"  # With no-referrer, browsers would send 'Origin: null' with forms.
    headers["Cache-Control"] = "no-store" if page.is_personal else "no-cache"
    reply = Response(body, status_code=status, media_type="text/html; charset=utf-8", headers=headers)
    return page.set_cookies(reply)
