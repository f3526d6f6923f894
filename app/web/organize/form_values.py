"""How forms of the organizer's desk write numbers, lists and times, and how the API's requests get them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.actions.access import Caller
from app.api.dependencies import current_organizer
from app.web.forms import Form
from app.web.page import PageContext


def editor(page: PageContext, slug: str) -> Caller:
    """The caller, who may edit the challenge; raises what current_organizer does.

    The reason of a form is read with its other fields, so that a refused one is shown in the form, with all others.
    """
    return current_organizer(slug, page.account, page.state)


def text_lines(text: str) -> list[str] | None:
    """The lines of a text area that are not blank, without space around them; None if there are none."""
    return [line.strip() for line in text.splitlines() if line.strip()] or None


def local_text(moment: datetime | None, zone: str) -> str:
    """A time as a field shows it: the clocks of the zone, to the second where that is not a whole minute."""
    if moment is None:
        return ""
    local = moment.astimezone(ZoneInfo(zone))
    return local.strftime("%Y-%m-%d %H:%M:%S" if local.second else "%Y-%m-%d %H:%M")


def changed_time(form: Form, name: str, current: datetime | None, zone: str) -> dict[str, Any]:
    """The time of a field, if it differs from the one that the field showed: a field shows no fractions of seconds."""
    text = form.text(name)
    return {} if (text or "") == local_text(current, zone) else {name: text}


def with_field_names(form: Form, names: Mapping[str, str]) -> Form:
    """The form with faults at its own fields, given the field for each place in the request."""
    return Form(form.fields, [fault._replace(name=names.get(fault.name, fault.name)) for fault in form.faults])
