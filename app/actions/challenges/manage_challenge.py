"""List and edit challenges."""

from collections.abc import Mapping
from typing import Any

from app.actions import access
from app.actions.access import Caller, load_organized_challenge
from app.actions.audit.record import changed_fields, record
from app.actions.challenges.create_challenge import raise_if_any, timezone_faults
from app.actions.challenges.phase_rules import (
    LABEL_FIELDS,
    RULE_FIELDS,
    change_label_rules,
    recipe_within_body,
    unfit_recipe_faults,
)
from app.actions.challenges.registration_rules import set_terms
from app.actions.challenges.rename import order_phases, rename_challenge
from app.actions.challenges.replace_recipe import change_recipe
from app.actions.challenges.resolve_times import resolve_times
from app.errors import InvalidRequest
from app.queue import Queue
from app.store.queries import challenges, paging
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge


def list_challenges(
    session: ReadSession, caller: Caller, *, archived: bool = False, limit: int, cursor: str | None
) -> tuple[list[Challenge], str | None]:
    """The challenges that the caller may see, newest first: those that are not archived, or the archived ones."""
    query = access.visible_challenges(caller)
    query = query.where(Challenge.archived_at.is_not(None) if archived else Challenge.archived_at.is_(None))
    return paging.page(session, query, Challenge, limit=limit, cursor=cursor)


def edit_challenge(
    session: WriteSession, caller: Caller, slug: str, changes: Mapping[str, Any], *, queue: Queue
) -> Challenge:
    """Change a challenge, rename it, put its phases in order, or publish a draft.

    Raises SlugTaken, LabelRulesInUse, RecipeInUse, and InvalidRequest or InvalidRecipe with all faults.
    """
    challenge = load_organized_challenge(session, caller, slug)
    zone = changes.get("timezone", challenge.timezone)
    faults = timezone_faults(zone)
    if faults:
        raise InvalidRequest(f"timezone {faults[0]['detail']}.", errors=faults)
    changes, faults = resolve_times(changes, zone)
    raise_if_any(faults)
    _change_rules(session, queue, caller, challenge, changes)
    rest = {name: value for name, value in changes.items() if name not in RULE_FIELDS}
    if "terms" in rest:
        _edit_terms(session, caller, challenge, rest.pop("terms"))
    if "phase_order" in rest:
        _reorder_phases(session, caller, challenge, rest.pop("phase_order"))
    if "slug" in rest:
        before, slug = challenge.slug, rest.pop("slug")
        rename_challenge(session, challenge, slug)
        if before != slug:
            changed = {"slug": (before, slug)}
            record(session, caller, "challenge.rename", challenge=challenge, of=challenge, changes=changed)
    if "draft" in rest:
        rest["status"] = _status(challenge, draft=rest.pop("draft"))
    changed = {name: pair for name, pair in changed_fields(challenge, rest).items() if pair[0] != pair[1]}
    if changed:
        record(session, caller, "challenge.edit", challenge=challenge, of=challenge, changes=changed)
    for name, value in rest.items():
        setattr(challenge, name, value)
    session.flush()
    return challenge


def _reorder_phases(session: WriteSession, caller: Caller, challenge: Challenge, slugs: list[str]) -> None:
    phases = challenges.phases_of(session, challenge.id)
    before = [phase.slug for phase in phases]
    raise_if_any(order_phases(phases, slugs))
    if before != slugs:
        changes = {"phase_order": (before, slugs)}
        record(session, caller, "challenge.edit", challenge=challenge, of=challenge, changes=changes)


def _change_rules(
    session: WriteSession, queue: Queue, caller: Caller, challenge: Challenge, changes: Mapping[str, Any]
) -> None:
    """Change task, positive label, classes and the shared recipe."""
    labels = {name: changes[name] for name in LABEL_FIELDS if name in changes}
    if labels:
        raise_if_any(change_label_rules(session, caller, challenge, labels))
    if changes.get("recipe") is not None:
        with recipe_within_body():
            change_recipe(session, caller, challenge.slug, changes["recipe"], queue=queue, draft=False)
    if not labels:
        return
    for phase in challenges.phases_of(session, challenge.id):
        raise_if_any(unfit_recipe_faults(session, phase))


def _edit_terms(session: WriteSession, caller: Caller, challenge: Challenge, text: str | None) -> None:
    before = challenge.terms_version
    set_terms(session, challenge, text)
    changes = {"terms_version": (before, challenge.terms_version)}
    if before != challenge.terms_version:
        record(session, caller, "challenge.set_terms", challenge=challenge, of=challenge, changes=changes)


def _status(challenge: Challenge, *, draft: bool) -> str:
    if draft and challenge.status == "published":
        errors = [{"pointer": "/draft", "detail": "the challenge is already published"}]
        remedy = "Set visibility to 'private' to hide it."
        raise InvalidRequest("A published challenge cannot become a draft again.", remedy=remedy, errors=errors)
    return "draft" if draft else "published"
