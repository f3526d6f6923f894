"""The audit trail on pages: its filter as a form, and its entries in words."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query

from app.actions.audit.read_trail import AuditFilter
from app.api.audit import MAX_NAME_LENGTH, AuditEntryShape
from app.web.forms import FieldFault, Form

ROWS = 50
MAX_VALUE_LENGTH = 200
_HASH = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT.*Z")
_ACTION = re.compile(r"[a-z_]{1,30}(\.[a-z_]{0,40})?")
_Text = Annotated[str, Query(max_length=MAX_NAME_LENGTH)]


@dataclass(frozen=True, slots=True)
class AskedTrail:
    """What the filter of a page asks for."""

    fields: dict[str, str]
    cursor: str | None

    @property
    def query(self) -> str:
        """The filter as a query, without those fields that are empty."""
        return urlencode({name: value for name, value in self.fields.items() if value})

    def form(self) -> tuple[Form, AuditFilter]:
        """The form, with its faults, and the filter that follows from its valid fields."""
        form = Form({name: [value] for name, value in self.fields.items()})
        names = ("actor", "user", "object", "team", "phase")
        values: dict[str, Any] = {name: self.fields.get(name) or None for name in names}
        action = self.fields.get("action") or None
        if action is not None and not _ACTION.fullmatch(action):
            form.faults.append(FieldFault("action", "Give an action such as phase.pause, or the object alone: phase."))
            action = None
        for name in ("since", "until"):
            values[name] = None
            if self.fields.get(name):
                try:
                    given = datetime.fromisoformat(self.fields[name])
                    values[name] = given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
                except (ValueError, OverflowError):
                    form.faults.append(FieldFault(name, "Give a day such as 2027-03-01."))
        return form, AuditFilter(action=action, **values)


def _asked(
    action: _Text = "",
    actor: _Text = "",
    user: _Text = "",
    object: _Text = "",  # noqa: A002 - the name of the parameter
    team: _Text = "",
    phase: _Text = "",
    since: _Text = "",
    until: _Text = "",
    challenge: _Text = "",
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> AskedTrail:
    given = {"action": action, "actor": actor, "user": user, "object": object, "team": team, "phase": phase}
    given |= {"since": since, "until": until, "challenge": challenge}
    return AskedTrail({name: value.strip() for name, value in given.items()}, cursor)


AskedDep = Annotated[AskedTrail, Depends(_asked)]


@dataclass(frozen=True, slots=True)
class Change:
    """A field that an act changed, as text."""

    field: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class TrailRow:
    """An entry as pages show it."""

    entry: AuditEntryShape
    what: str
    about: str
    changes: list[Change]


def trail_row(entry: AuditEntryShape) -> TrailRow:
    """An entry in words: 'approve registration', of whom or what, and what changed."""
    thing, _, verb = entry.action.partition(".")
    what = f"{verb} {thing}".replace("_", " ").strip()
    changes = [
        Change(name.replace("_", " "), _before(pair, entry.names), _value(pair.get("to"), entry.names))
        for name, pair in entry.changes.items()
        if not (name == "reason" and entry.reason and pair.get("to") == entry.reason)
    ]
    return TrailRow(entry, what, _about(entry), changes)


def _about(entry: AuditEntryShape) -> str:
    """What the act concerns: the phase, and the name of its object, or of the user or team."""
    thing = entry.object
    parts: list[str] = []
    if thing is None or thing.type == "challenge":
        return ""
    if entry.phase is not None and thing.type != "phase":
        parts.append(entry.phase.slug or "a deleted phase")
    if thing.name:
        parts.append(thing.name)
    elif thing.type == "submission":
        parts += [entry.team.name or entry.team.id] if entry.team else []
        parts.append(f"submission {thing.id[:8]}…")
    elif entry.user is not None:
        parts.append(entry.user.name or entry.user.id)
    return ", ".join(parts)


def _before(pair: dict[str, Any], names: dict[str, str]) -> str | None:
    return None if pair.get("from") is None else _value(pair["from"], names)


def _value(value: Any, names: dict[str, str]) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        texts: list[str] = value
        text = ", ".join(names.get(each, each) for each in texts) or "none"
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, str):
        text = _text(value, names)
    else:
        text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def _text(value: str, names: dict[str, str]) -> str:
    """A text with a name for an id, a time without its fraction, and the beginning of a hash."""
    if _HASH.fullmatch(value):
        return f"{value[:12]}…"
    return f"{value[:16].replace('T', ' ')} UTC" if _TIME.fullmatch(value) else names.get(value, value)
