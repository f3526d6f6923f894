"""Announcements as an Atom feed (RFC 4287)."""

import re
import uuid
from collections.abc import Iterator, Sequence
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from app.store.tables import Announcement, Challenge
from app.store.types import format_timestamp

MEDIA_TYPE = "application/atom+xml"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def atom_feed(challenge: Challenge, announcements: Sequence[Announcement], public_url: str) -> bytes:
    """The feed of a challenge. Its addresses are absolute if the public address of the service is known.

    Ids are those of the rows, so they stay when a challenge is renamed or the service moves.
    """
    return "".join(_lines(challenge, announcements, public_url.rstrip("/"))).encode()


def _lines(challenge: Challenge, announcements: Sequence[Announcement], base: str) -> Iterator[str]:
    path = f"{base}/api/v1/challenges/{quote(challenge.slug)}/announcements"
    newest = max((_changed_at(each) for each in announcements), default=format_timestamp(challenge.created_at))
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
    yield f"  <id>{_urn(challenge.id)}</id>\n  <title>{_text(challenge.title)}</title>\n"
    yield f"  <updated>{newest}</updated>\n"
    yield f"  <author><name>{_text(challenge.title)}</name></author>\n"
    yield f'  <link rel="self" type="{MEDIA_TYPE}" href={quoteattr(path + ".atom")}/>\n'
    yield f'  <link rel="alternate" type="application/json" href={quoteattr(path)}/>\n'
    for each in announcements:
        yield f"  <entry>\n    <id>{_urn(each.id)}</id>\n    <title>{_text(each.title)}</title>\n"
        yield f"    <published>{format_timestamp(each.created_at)}</published>\n"
        yield f"    <updated>{_changed_at(each)}</updated>\n"
        yield f'    <content type="text">{_text(each.body)}</content>\n  </entry>\n'
    yield "</feed>\n"


def _changed_at(announcement: Announcement) -> str:
    return format_timestamp(announcement.edited_at or announcement.created_at)


def _urn(row_id: str) -> str:
    return uuid.UUID(hex=row_id).urn


def _text(text: str) -> str:
    """The text as XML; characters that XML cannot hold are replaced."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))
