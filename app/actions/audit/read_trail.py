"""Read the audit trail: of a challenge, for its organizers, or of the whole site, for administrators."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.actions.access import Caller, load_organized_challenge, require_administrator
from app.errors import NotFound
from app.store.queries import audit_entries, log_records, paging, users
from app.store.queries.audit_entries import AuditFilter
from app.store.session import ReadSession
from app.store.tables import AuditEntry

__all__ = ["AuditFilter", "TrailPage", "read_challenge_trail", "read_site_trail"]

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class TrailPage:
    """Entries, the next cursor, and what is called how now: challenges, phases, and users and teams, by id."""

    entries: list[AuditEntry]
    following: str | None
    challenges: Mapping[str, str]
    phases: Mapping[str, str]
    names: Mapping[str, str]
    positions: Mapping[str, int | None]
    """Positions in the transparency log by entry; None while the record waits, no key for acts before the log."""

    def names_in(self, entry: AuditEntry) -> dict[str, str]:
        """The names of the users and teams whose ids stand in the changes of an entry."""
        return {each: self.names[each] for each in _ids_in(entry.changes) if each in self.names}


def read_challenge_trail(
    session: ReadSession,
    caller: Caller,
    slug: str,
    wanted: AuditFilter,
    *,
    limit: int,
    cursor: str | None,
    oldest_first: bool,
) -> TrailPage:
    """What was done in a challenge, for all of its organizers: viewers too, since they see everything else of it.

    Of a deleted challenge administrators can still read it. Raises NotFound, Forbidden and BadCursor.
    """
    try:
        ids = [load_organized_challenge(session, caller, slug, writes=False).id]
    except NotFound:
        ids = audit_entries.deleted_challenges(session, slug) if caller.has_admin_rights else []
        if not ids:
            raise
    return _page(session, wanted, ids, limit=limit, cursor=cursor, oldest_first=oldest_first)


def read_site_trail(
    session: ReadSession,
    caller: Caller,
    challenge: str | None,
    wanted: AuditFilter,
    *,
    limit: int,
    cursor: str | None,
    oldest_first: bool,
) -> TrailPage:
    """What was done on the site, with accounts and in all challenges, or in one; for administrators.

    Raises Forbidden and BadCursor.
    """
    require_administrator(caller, "Only administrators may read the audit trail of the site.")
    ids = None if challenge is None else audit_entries.challenges_called(session, challenge)
    return _page(session, wanted, ids, limit=limit, cursor=cursor, oldest_first=oldest_first)


def _page(
    session: ReadSession,
    wanted: AuditFilter,
    challenge_ids: Iterable[str] | None,
    *,
    limit: int,
    cursor: str | None,
    oldest_first: bool,
) -> TrailPage:
    wanted = replace(wanted, actor=_account(session, wanted.actor), user=_account(session, wanted.user))
    query = audit_entries.matching(wanted, challenge_ids)
    rows, following = paging.page(session, query, AuditEntry, limit=limit, cursor=cursor, oldest_first=oldest_first)
    return TrailPage(
        rows,
        following,
        challenges=audit_entries.challenge_slugs(session, _present(row.challenge_id for row in rows)),
        phases=audit_entries.phase_slugs(session, _present(row.phase_id for row in rows)),
        names=audit_entries.names(session, _people_and_teams(rows)),
        positions=log_records.positions(session, [row.id for row in rows], "audit"),
    )


def _account(session: ReadSession, given: str | None) -> str | None:
    """The id of the account with this address; any other text as it is."""
    if given is None or "@" not in given:
        return given
    user = users.by_email(session, given)
    return given if user is None else user.id


def _people_and_teams(rows: Sequence[AuditEntry]) -> set[str]:
    found = {each for row in rows for each in (row.actor_id, row.user_id, row.team_id, row.object_id)}
    return _present(found) | {each for row in rows for each in _ids_in(row.changes)}


def _present(ids: Iterable[str | None]) -> set[str]:
    return {each for each in ids if each is not None}


def _ids_in(changes: Mapping[str, Any]) -> set[str]:
    """The ids among the values of changes."""
    values = [value for pair in changes.values() for value in (pair["from"], pair["to"])]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return {each for each in flat if isinstance(each, str) and _ID.fullmatch(each)}
