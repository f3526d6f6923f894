"""Announcements of the organizers: list, post, edit and delete them."""

from collections.abc import Mapping

from app.actions.access import Caller, load_organized_challenge, load_visible_challenge
from app.actions.audit.record import changed_fields, record
from app.errors import NotFound
from app.store import clock
from app.store.queries import announcements, paging
from app.store.session import ReadSession, WriteSession
from app.store.tables import Announcement, Challenge
from app.store.types import id_at

FEED_LENGTH = 100


def list_announcements(
    session: ReadSession, caller: Caller, slug: str, *, limit: int, cursor: str | None
) -> tuple[list[Announcement], str | None]:
    """The announcements of a challenge that the caller may see, newest first."""
    challenge = load_visible_challenge(session, caller, slug)
    return paging.page(session, announcements.of_challenge(challenge.id), Announcement, limit=limit, cursor=cursor)


def read_feed(session: ReadSession, caller: Caller, slug: str) -> tuple[Challenge, list[Announcement]]:
    """The challenge, which the caller may see, and its newest announcements."""
    challenge = load_visible_challenge(session, caller, slug)
    return challenge, announcements.newest(session, challenge.id, FEED_LENGTH)


def read_announcement(session: ReadSession, caller: Caller, slug: str, announcement_id: str) -> Announcement:
    """An announcement of a challenge that the caller may see; raises NotFound."""
    return _of_challenge(session, load_visible_challenge(session, caller, slug), announcement_id)


def post_announcement(session: WriteSession, caller: Caller, slug: str, *, title: str, body: str) -> Announcement:
    """Tell everybody who sees the challenge something, as an organizer."""
    challenge = load_organized_challenge(session, caller, slug)
    row = Announcement(
        id=id_at(clock.steady(session)),
        challenge_id=challenge.id,
        title=title,
        body=body,
        created_by=caller.user_id,
        created_at=clock.now(session),
    )
    session.add(row)
    session.flush()
    changes = {"title": (None, title), "body": (None, body)}
    record(session, caller, "announcement.post", challenge=challenge, of=row, changes=changes)
    return row


def edit_announcement(
    session: WriteSession, caller: Caller, slug: str, announcement_id: str, changes: Mapping[str, str]
) -> Announcement:
    """Change the title or the body of an announcement, as an organizer; raises NotFound."""
    challenge, row = _load(session, caller, slug, announcement_id)
    changed = {name: pair for name, pair in changed_fields(row, changes).items() if pair[0] != pair[1]}
    if changed:
        record(session, caller, "announcement.edit", challenge=challenge, of=row, changes=changed)
        for name, value in changes.items():
            setattr(row, name, value)
        row.edited_at = clock.now(session)
        session.flush()
    return row


def delete_announcement(session: WriteSession, caller: Caller, slug: str, announcement_id: str) -> None:
    """Delete an announcement, as an organizer; the audit trail keeps its text. Raises NotFound."""
    challenge, row = _load(session, caller, slug, announcement_id)
    changes = {"title": (row.title, None), "body": (row.body, None)}
    record(session, caller, "announcement.delete", challenge=challenge, of=row, changes=changes)
    session.delete(row)
    session.flush()


def _load(session: WriteSession, caller: Caller, slug: str, announcement_id: str) -> tuple[Challenge, Announcement]:
    challenge = load_organized_challenge(session, caller, slug)
    return challenge, _of_challenge(session, challenge, announcement_id)


def _of_challenge(session: ReadSession, challenge: Challenge, announcement_id: str) -> Announcement:
    row = session.get(Announcement, announcement_id)
    if row is None or row.challenge_id != challenge.id:
        raise NotFound(f"The challenge '{challenge.slug}' has no announcement with this id.")
    return row
