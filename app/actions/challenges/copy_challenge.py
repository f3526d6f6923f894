"""Copy a challenge as a new draft: its rules, and its gold if asked to; never people, submissions or announcements."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.actions.access import Caller, load_organized_challenge
from app.actions.audit.record import record
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.change_recipe import add_recipe, normalize_recipe, parse_stored_recipe
from app.actions.challenges.create_challenge import (
    add_phase,
    raise_if_any,
    require_can_create_challenge,
    require_free_slug,
    rule_warnings,
)
from app.actions.challenges.phase_rules import LABEL_FIELDS
from app.actions.challenges.registration_rules import current_terms, set_terms
from app.actions.challenges.resolve_times import resolve_times
from app.errors import CommitUncertain, Conflict, InvalidRequest, Unavailable
from app.files import UPLOADS, FileStore, new_key
from app.queue import Queue
from app.store import clock
from app.store.queries import challenges, gold, label_rules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Organizer, Phase
from app.store.types import format_timestamp, new_id

COPIED_FIELDS = (
    "description",
    "task",
    "positive_label",
    "classes",
    "timezone",
    "visibility",
    "registration",
    "registration_fields",
    "contact",
    "team_size_limit",
)
COPIED_PHASE_FIELDS = ("late", "quota", "leaderboard", "reports", "anonymous", *LABEL_FIELDS)
NEW_IN_A_COPY = frozenset(
    {"id", "phase_id", "version", "status", "file_key", "draw_seed", "created_by", "created_at", "activated_at"}
)


class GoldReplaced(Conflict):
    """The gold of the challenge was replaced while it was being copied; nothing was stored."""

    code = "gold_replaced"
    remedy = "Repeat the request."


@dataclass(frozen=True, slots=True)
class GoldFile:
    """The file of a gold version that is to be copied."""

    version_id: str
    key: str
    size: int


def gold_files_to_copy(
    session: ReadSession, caller: Caller, slug: str, *, creation: str, with_gold: bool
) -> list[GoldFile]:
    """The files of the active gold, if it is to be copied. Raises Forbidden unless the caller may copy the challenge."""
    source = load_organized_challenge(session, caller, slug, writes=False)
    require_can_create_challenge(caller, creation)
    active = [gold.active(session, phase.id) for phase in challenges.phases_of(session, source.id)] if with_gold else []
    return [GoldFile(row.id, row.file_key, row.size) for row in active if row is not None]


@contextmanager
def copied_files(files: FileStore, originals: list[GoldFile]) -> Iterator[dict[str, str]]:
    """Keys of copies of these files, by the id of their version; if the block raises, the copies are deleted."""
    keys: dict[str, str] = {}
    try:
        for original in originals:
            keys[original.version_id] = key = new_key(UPLOADS)
            with files.local_path(original.key) as path:
                files.put(key, path, original.size)
        yield keys
    except CommitUncertain:
        raise  # rows may refer to the files
    except BaseException:
        for key in keys.values():
            with suppress(Unavailable):
                files.delete(key)
        raise


def copy_challenge(
    session: WriteSession,
    caller: Caller,
    slug: str,
    *,
    creation: str,
    signup: str,
    fields: Mapping[str, Any],
    gold_keys: Mapping[str, str] | None,
    queue: Queue,
) -> tuple[Challenge, list[str]]:
    """A draft with the rules of a challenge that the caller organizes, and warnings about what to check.

    `fields` has `slug`, `title` and `opens_at`, of which the last two may be None. `gold_keys` are those of
    `copied_files`; None leaves the gold out. With the gold, whoever could read it in the one challenge can register in
    neither. Raises Forbidden, SlugTaken, GoldReplaced, and InvalidRequest for a time that does not exist.
    """
    source = load_organized_challenge(session, caller, slug, writes=False)
    user_id = require_can_create_challenge(caller, creation)
    require_free_slug(session, fields["slug"])
    resolved, faults = resolve_times({"opens_at": fields["opens_at"]}, source.timezone)
    raise_if_any(faults)
    copy = Challenge(
        id=new_id(),
        slug=fields["slug"],
        title=fields["title"] or source.title,
        status="draft",
        lineage_id=None if gold_keys is None else source.lineage_id or source.id,
        created_by=user_id,
        **{name: getattr(source, name) for name in COPIED_FIELDS},
    )
    session.add(copy)
    session.flush()
    session.add(Organizer(challenge_id=copy.id, user_id=user_id, role="owner"))
    set_terms(session, copy, current_terms(session, source))
    shared = challenges.shared_recipe(session, source.id)
    scoring = normalize_recipe(shared.body, label_rules.of_challenge(source), stored=True)[1]
    add_recipe(session, copy, None, shared.body, scoring)
    changes = {"source": (None, source.id), "gold": (None, gold_keys is not None)}
    record(session, caller, "challenge.copy", challenge=copy, of=copy, changes=changes)
    warnings = _copy_phases(session, source, copy, resolved["opens_at"])
    if gold_keys is not None:
        warnings += _copy_gold(session, caller, source, copy, keys=gold_keys, queue=queue)
    session.flush()
    return copy, warnings + rule_warnings(session, challenges.phases_of(session, copy.id), signup=signup)


def _copy_phases(session: WriteSession, source: Challenge, copy: Challenge, opens_at: datetime | None) -> list[str]:
    """Copy the phases; with `opens_at` all windows move, so that the first one opens then; returns warnings.

    Otherwise they stay, except for times that have passed: such a phase opens now and does not close.
    """
    now, phases, warnings = clock.now(session), challenges.phases_of(session, source.id), []
    shift = _Shift(source.timezone, min(phase.opens_at for phase in phases), opens_at)
    for phase in phases:
        plan = {name: getattr(phase, name) for name in COPIED_PHASE_FIELDS}
        opens, closes = shift(phase.opens_at), None if phase.closes_at is None else shift(phase.closes_at)
        if closes is not None and closes <= now:
            warnings.append(
                f"Phase '{phase.slug}' of '{source.slug}' closed at {format_timestamp(closes)}; in the copy it opens now "
                "and does not close. Set its times before you publish."
            )
            opens, closes = now, None
        times = {"opens_at": opens, "closes_at": closes}
        added = add_phase(session, copy, {"name": phase.name, **plan, **times}, now)
        own = challenges.own_recipe(session, phase.id)
        if own is not None:
            add_recipe(session, copy, added, own.body, parse_stored_recipe(phase, own))
    if source.merge_deadline is not None:
        copy.merge_deadline = shift(source.merge_deadline)
        if copy.merge_deadline <= now:
            copy.merge_deadline = None
            warnings.append("The deadline for merges has passed; the copy has none.")
    return warnings


class _Shift:
    """Moves times by whole local time, so that what closed at noon closes at noon, in summer and in winter."""

    def __init__(self, timezone: str, first: datetime, opens_at: datetime | None) -> None:
        self._zone, self._first, self._opens_at = ZoneInfo(timezone), first, opens_at

    def __call__(self, moment: datetime) -> datetime:
        """The time in the copy; raises InvalidRequest for one outside the calendar."""
        if self._opens_at is None:
            return moment
        try:
            moved = self._local(moment) + (self._local(self._opens_at) - self._local(self._first))
            return moved.replace(tzinfo=self._zone).astimezone(UTC)
        except OverflowError:
            detail = f"the time {format_timestamp(moment)} would move outside the years 1 to 9999"
            raise InvalidRequest(errors=[{"pointer": "/opens_at", "detail": detail}]) from None

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(self._zone).replace(tzinfo=None)


def _copy_gold(
    session: WriteSession,
    caller: Caller,
    source: Challenge,
    copy: Challenge,
    *,
    keys: Mapping[str, str],
    queue: Queue,
) -> list[str]:
    """Copy the active gold of each phase as an active version 1; returns the remarks of its activation."""
    pairs = zip(challenges.phases_of(session, source.id), challenges.phases_of(session, copy.id), strict=True)
    copied, remarks = set(), []
    for phase, added in pairs:
        version = gold.active(session, phase.id)
        if version is None:
            continue
        if version.id not in keys:
            raise GoldReplaced
        copied.add(version.id)
        _copy_version(session, caller, version, added, keys[version.id])
        found = activate_gold(session, caller, copy.slug, added.slug, 1, queue=queue)[1]
        remarks += [f"Phase '{added.slug}': {remark}" for remark in found]
    if copied != set(keys):
        raise GoldReplaced
    return remarks


def _copy_version(session: WriteSession, caller: Caller, version: GoldVersion, phase: Phase, key: str) -> None:
    names = [column.key for column in GoldVersion.__mapper__.column_attrs if column.key not in NEW_IN_A_COPY]
    columns = {name: getattr(version, name) for name in names}
    session.add(
        GoldVersion(**columns, phase_id=phase.id, version=1, status="draft", file_key=key, created_by=caller.user_id)
    )
    session.flush()
    changes = {"gold": (None, 1), "sha256": (None, version.sha256)}
    record(session, caller, "gold.upload", challenge=phase.challenge, of=phase, changes=changes)
