"""Request the switch of a board to other versions, confirm or cancel it, and record one that needs no scoring."""

import hashlib
from typing import NamedTuple

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.actions.transparency.add_record import add_record
from app.actions.versions.compare_boards import compare_boards
from app.actions.versions.target_scores import target_provenance
from app.errors import NotFound, ReasonRequired, SwitchEnded, SwitchPending
from app.store import clock
from app.store.queries import board_switches, challenges, target_scores
from app.store.queries.board_versions import BoardVersion
from app.store.session import ReadSession, WriteSession
from app.store.tables import BoardSwitch, GoldVersion, Phase, Recipe, User
from app.store.types import format_timestamp


class PendingSwitch(NamedTuple):
    """A pending switch, and the challenge whose lock it needs."""

    id: str
    slug: str


def pending_switches(session: ReadSession) -> list[PendingSwitch]:
    """All pending switches, the oldest first."""
    return [PendingSwitch(*row) for row in board_switches.all_pending(session)]


def require_no_pending_switch(session: ReadSession, phase: Phase) -> None:
    """Raise SwitchPending if the board of this phase is about to switch; one that the service requested gives way."""
    row = board_switches.pending(session, phase.id)
    if row is not None and row.requested_by is not None:
        detail = f"The switch {row.number} of '{phase.slug}' is pending; until it ends, gold and recipe cannot change."
        raise SwitchPending(detail, switch=row.number)


def require_reason(caller: Caller) -> str:
    """The reason that the caller gave; raises ReasonRequired without one."""
    if not (caller.reason or "").strip():
        raise ReasonRequired
    return str(caller.reason)


def request_switch(
    session: WriteSession,
    caller: Caller | None,
    phase: Phase,
    before: BoardVersion | None,
    target: BoardVersion,
    *,
    lists_instances: bool = False,
) -> BoardSwitch:
    """Request a switch, which a worker does once all scores are there; the caller has checked that none is pending.

    Without a `caller`, the service requests it. A pending request of the service gives way to one of an organizer,
    whose target has the newer scorer version too. Tasks of the target that failed for good get new tries.
    """
    _withdraw_request_of_service(session, phase)
    row = _new_row(session, caller, phase, before, target, status="pending")
    row.lists_instances = lists_instances
    if caller is not None and target.gold.status != "active":
        target.gold.status = "activating"
    session.add(row)
    session.flush()
    target_scores.requeue_failed(session, phase.id, target_provenance(session, target))
    return row


def record_switch(
    session: WriteSession, caller: Caller | None, phase: Phase, before: BoardVersion | None, target: BoardVersion
) -> BoardSwitch:
    """Record a switch that the caller does in this transaction; `before` and `target` are what was and is in force."""
    _withdraw_request_of_service(session, phase)
    row = _new_row(session, caller, phase, before, target, status="done")
    row.switched_at = row.requested_at
    if before is not None and challenges.has_submissions(session, phase.id):
        row.errata = compare_boards(session, phase, before, target)
    session.add(row)
    session.flush()
    log_switch(session, phase, row, before, target)
    return row


def log_switch(
    session: WriteSession, phase: Phase, row: BoardSwitch, before: BoardVersion | None, target: BoardVersion
) -> None:
    """Have the transparency log record a switch, and the commitment to gold that it puts into force."""
    reason = hashlib.sha256(row.reason.encode()).hexdigest()  # people write names into reasons, and leaves stay
    entry = {"phase": phase.id, "number": row.number, "reason_sha256": reason, "to": _numbers(target)}
    entry |= {} if before is None else {"from": _numbers(before)}
    entry |= {} if row.switched_at is None else {"switched_at": format_timestamp(row.switched_at)}
    add_record(session, "switch", entry, challenge_id=phase.challenge_id, object_id=row.id)
    changed = before is None or before.gold.id != target.gold.id
    if changed and target.gold.commitment is not None:
        opening = {"phase": phase.id, "version": target.gold.version, "commitment": target.gold.commitment}
        add_record(session, "gold", opening, challenge_id=phase.challenge_id, object_id=target.gold.id)


def _numbers(version: BoardVersion) -> dict[str, int]:
    numbers = {"gold": version.gold.version, "recipe": version.recipe.version}
    return numbers | {"scorer_version": version.scorer_version}


def _new_row(
    session: WriteSession,
    caller: Caller | None,
    phase: Phase,
    before: BoardVersion | None,
    target: BoardVersion,
    *,
    status: str,
) -> BoardSwitch:
    return BoardSwitch(
        phase_id=phase.id,
        number=board_switches.next_number(session, phase.id),
        status=status,
        from_gold_id=None if before is None else before.gold.id,
        from_recipe_id=None if before is None else before.recipe.id,
        from_scorer_version=None if before is None else before.scorer_version,
        to_gold_id=target.gold.id,
        to_recipe_id=target.recipe.id,
        to_scorer_version=target.scorer_version,
        reason="" if caller is None else caller.reason or "",
        requested_by=None if caller is None else caller.user_id,
        requested_at=clock.now(session),
    )


def _withdraw_request_of_service(session: WriteSession, phase: Phase) -> None:
    row = board_switches.pending(session, phase.id)
    if row is not None and row.requested_by is None:
        row.status, row.cancelled_at = "cancelled", clock.now(session)
        session.flush()


def target_of(session: ReadSession, row: BoardSwitch) -> BoardVersion:
    """The versions that a switch leads to."""
    gold, recipe = session.get_one(GoldVersion, row.to_gold_id), session.get_one(Recipe, row.to_recipe_id)
    return BoardVersion(gold, recipe, row.to_scorer_version)


def switch_group(session: ReadSession, row: BoardSwitch) -> list[BoardSwitch]:
    """The pending switches that are done together: of all phases that share the recipe to be activated."""
    if session.get_one(Recipe, row.to_recipe_id).status == "active":
        return [row]
    return board_switches.pending_to_recipe(session, row.to_recipe_id)


def load_switch(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, writes: bool = False
) -> tuple[Phase, BoardSwitch]:
    """A switch of a phase, for organizers; raises NotFound."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=writes)
    row = board_switches.by_number(session, phase.id, number)
    if row is None:
        raise NotFound(f"The phase has no switch {number}.")
    return phase, row


def confirm_switch(session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int) -> BoardSwitch:
    """Accept that the submissions that failed for good until now leave the board; raises SwitchEnded."""
    phase, row = load_switch(session, caller, slug, phase_slug, number, writes=True)
    if row.status != "pending":
        raise SwitchEnded
    provenance = target_provenance(session, target_of(session, row))
    failed = [task.submission_id for task in target_scores.failed_tasks(session, phase.id, provenance)]
    row.confirmed_at = clock.now(session)
    session.flush()
    changes = {"switch": (None, number), "off_the_board": (None, failed)}
    record(session, caller, "switch.confirm", challenge=phase.challenge, of=phase, changes=changes)
    return row


def list_instances(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int, *, lists: bool
) -> BoardSwitch:
    """Let everybody read which instances a switch changed, or organizers alone."""
    phase, row = load_switch(session, caller, slug, phase_slug, number, writes=True)
    if row.lists_instances != lists:
        changes = {"switch": (None, number), "lists_instances": (row.lists_instances, lists)}
        row.lists_instances = lists
        session.flush()
        record(session, caller, "switch.edit", challenge=phase.challenge, of=phase, changes=changes)
    return row


def cancel_switch(session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int) -> BoardSwitch:
    """Take a pending switch back, with those that would be done together with it; raises SwitchEnded."""
    phase, row = load_switch(session, caller, slug, phase_slug, number, writes=True)
    if row.status != "pending" or row.requested_by is None:
        detail = "A new scorer version is not a matter of organizers, so its switch stays."
        raise SwitchEnded if row.status != "pending" else SwitchEnded(detail)
    for each in switch_group(session, row):
        _cancel(session, each)
    changes = {"switch": (number, None)}
    record(session, caller, "switch.cancel", challenge=phase.challenge, of=phase, changes=changes)
    return row


def _cancel(session: WriteSession, row: BoardSwitch) -> None:
    now, target = clock.now(session), target_of(session, row)
    row.status, row.cancelled_at = "cancelled", now
    if target.gold.status == "activating":
        target.gold.status = "draft" if target.gold.activated_at is None else "retired"
    session.flush()
    target_scores.cancel_tasks(session, row.phase_id, target_provenance(session, target), now)


def retry_for_switch(session: WriteSession, phase: Phase, submission_id: str) -> None:
    """Give the task of a submission new tries that withholds the pending switch of its board."""
    row = board_switches.pending(session, phase.id)
    if row is not None:
        provenance = target_provenance(session, target_of(session, row))
        target_scores.requeue_failed(session, phase.id, provenance, submission_id)


def caller_of(session: ReadSession, row: BoardSwitch) -> Caller | None:
    """Who requested a switch, as the audit trail names them when it is done; None for the service."""
    user = None if row.requested_by is None else session.get(User, row.requested_by)
    if user is None:
        return None
    scopes = frozenset({"organize", *(("admin",) if user.admin else ())})
    return Caller(user.id, admin=user.admin, scopes=scopes, reason=row.reason)
