"""Create a challenge with its recipe and phases."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.actions.access import Caller, require_administrator, require_scope
from app.actions.challenges.change_recipe import normalize_recipe, recipe_fingerprint
from app.actions.challenges.inference_bounds import compute_inference_bounds
from app.errors import InvalidRecipe, InvalidRequest, PhaseNameTaken, SlugTaken
from app.scoring import SCORER_VERSION
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.disclosure.wording import inference_warning
from app.store import clock
from app.store.queries import challenges
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Organizer, Phase, Recipe
from app.store.types import format_timestamp

Fields = Mapping[str, Any]
Plans = Sequence[Fields]
FieldFaults = list[dict[str, str]]
EMPTY_SLUG_DETAIL = "the address is derived from the name, which needs at least one of a-z, 0-9"


def create_challenge(
    session: WriteSession, caller: Caller, *, creation: str, fields: Fields, recipe: Fields, phases: Plans, draft: bool
) -> tuple[Challenge, list[str]]:
    """A new challenge owned by the caller, and warnings about its rules.

    Raises Forbidden, SlugTaken, and InvalidRequest or InvalidRecipe with all faults.
    """
    user_id = require_can_create_challenge(caller, creation)
    plans = list(phases) or [{"name": "main"}]
    now = clock.now(session)
    body, scoring = _validate_challenge(fields, recipe, plans, now)
    if challenges.by_slug(session, fields["slug"]) is not None:
        raise SlugTaken(f"A challenge with the slug '{fields['slug']}' already exists.")
    challenge = Challenge(**fields, status="draft" if draft else "published", created_by=user_id)
    session.add(challenge)
    session.flush()
    session.add(Organizer(challenge_id=challenge.id, user_id=user_id, role="owner"))
    fingerprint = recipe_fingerprint(scoring)
    session.add(Recipe(challenge_id=challenge.id, version=1, status="active", body=body, fingerprint=fingerprint))
    created_phases = [add_phase(session, challenge, plan, now) for plan in plans]
    return challenge, rule_warnings(session, scoring, created_phases)


def add_phase(session: WriteSession, challenge: Challenge, plan: Fields, now: datetime) -> Phase:
    """Add a phase after the others of the challenge; raises PhaseNameTaken and InvalidRequest."""
    slug = require_slug(plan["name"])
    if challenges.phase_by_slug(session, challenge.id, slug) is not None:
        raise PhaseNameTaken(f"A phase '{slug}' already exists in this challenge.")
    opens_at = plan.get("opens_at") or now
    closes_at = plan.get("closes_at")
    require_valid_window(opens_at, closes_at)
    phase = Phase(
        challenge_id=challenge.id,
        slug=slug,
        name=plan["name"],
        position=challenges.next_position(session, challenge.id),
        opens_at=opens_at,
        closes_at=closes_at,
        quota=dict(plan.get("quota") or {}),
        leaderboard=plan.get("leaderboard", "public"),
        reports=list(plan.get("reports", ["scores"])),
        anonymous=plan.get("anonymous", False),
        scorer_version=SCORER_VERSION,
        created_at=now,
        challenge=challenge,
    )
    session.add(phase)
    session.flush()
    return phase


def require_valid_window(opens_at: datetime, closes_at: datetime | None) -> None:
    """Raise InvalidRequest unless the phase closes after it opens."""
    _raise_if_any(_window_faults(opens_at, closes_at))


def _window_faults(opens_at: datetime, closes_at: datetime | None) -> FieldFaults:
    if closes_at is None or closes_at > opens_at:
        return []
    opens, closes = format_timestamp(opens_at), format_timestamp(closes_at)
    return [{"pointer": "/closes_at", "detail": f"the phase would close ({closes}) before it opens ({opens})"}]


def _raise_if_any(faults: FieldFaults) -> None:
    """Raise InvalidRequest with these faults, if there are any."""
    if faults:
        raise InvalidRequest(_summarize_faults(faults), errors=faults)


def _summarize_faults(faults: FieldFaults) -> str:
    more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
    details = "; ".join(f"{fault['pointer']}: {fault['detail']}" for fault in faults[:5])
    return f"The request is not valid: {details}{more}."


def require_slug(name: str) -> str:
    """The slug derived from the name of a phase; raises InvalidRequest if it is empty."""
    slug = _slugify(name)
    _raise_if_any([] if slug else [{"pointer": "/name", "detail": EMPTY_SLUG_DETAIL}])
    return slug


def _slugify(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64]


def rule_warnings(session: ReadSession, recipe: ScoringRecipe, phases: Sequence[Phase]) -> list[str]:
    """Warnings about these rules, for the organizer to read before the first submission."""
    warnings = [
        f"Phase '{phase.slug}' has no quota: anybody can submit without limit, and so probe the gold labels."
        for phase in phases
        if not phase.quota
    ]
    for item in compute_inference_bounds(session, recipe, phases, organizer=True):
        warning = inference_warning(item.bound)
        warnings += [] if warning is None else [f"Phase '{item.phase}' {warning}"]
    for phase in phases:
        if "curves" in phase.reports:
            reason = "from these and their own scores they can infer the gold labels"
            warnings.append(f"Phase '{phase.name}' shows curves to its participants; {reason}.")
    return warnings


def timezone_faults(name: str) -> list[dict[str, str]]:
    """The fault of the name of a time zone, as a list of field faults; empty if it is valid."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return [{"pointer": "/timezone", "detail": "is not the name of a time zone, such as Europe/Berlin"}]
    return []


def require_can_create_challenge(caller: Caller, creation: str) -> str:
    """The caller's user id; raises Forbidden unless the settings let them create challenges."""
    user_id = require_scope(caller, "organize")
    approved = creation == "approved" and (caller.approved or caller.admin)
    if not (caller.has_admin_rights or creation == "any" or approved):
        group = "administrators" if creation == "admin" else "approved users"
        remedy = "Ask the administrator to create it and to add you as an organizer."
        require_administrator(caller, f"On this site only {group} may create challenges.", remedy=remedy)
    return user_id


def _validate_challenge(
    fields: Fields, recipe: Fields, phases: Plans, now: datetime
) -> tuple[dict[str, Any], ScoringRecipe]:
    """The recipe in both forms, if the whole description is valid.

    Raises InvalidRequest or InvalidRecipe with all faults.
    """
    faults = [*_field_faults(fields), *_phase_faults(phases, now)]
    try:
        rules = {name: fields[name] for name in ("task", "positive_label", "classes")}
        normalized = normalize_recipe(recipe, **rules)
    except InvalidRecipe as bad:
        own = [{**fault, "pointer": "/recipe" + fault["pointer"]} for fault in bad.extra["errors"]]
        if not faults:
            raise InvalidRecipe(bad.detail, errors=own) from bad
        # a fault of the recipe as a whole concerns the fields, whose faults are listed already
        faults += [fault for fault in own if fault["pointer"] != "/recipe"]
        raise InvalidRequest(_summarize_faults(faults), errors=faults) from bad
    _raise_if_any(faults)
    return normalized


def _phase_faults(phases: Plans, now: datetime) -> FieldFaults:
    faults: FieldFaults = []
    slugs: set[str] = set()
    for number, plan in enumerate(phases):
        own = _window_faults(plan.get("opens_at") or now, plan.get("closes_at"))
        slug = _slugify(plan["name"])
        if not slug:
            own.append({"pointer": "/name", "detail": EMPTY_SLUG_DETAIL})
        elif slug in slugs:
            own.append({"pointer": "/name", "detail": f"another phase already has the address '{slug}'"})
        slugs.add(slug)
        faults += [{**fault, "pointer": f"/phases/{number}{fault['pointer']}"} for fault in own]
    return faults


def _field_faults(fields: Fields) -> FieldFaults:
    """Faults of fields that contradict each other."""
    faults: FieldFaults = []
    task, classes, positive = fields["task"], fields["classes"], fields["positive_label"]
    if task == "binary" and not positive:
        faults.append({"pointer": "/positive_label", "detail": "a binary task needs its positive label"})
    if task != "binary" and positive:
        faults.append({"pointer": "/positive_label", "detail": f"a {task} task has no positive label"})
    if classes is not None:
        if len(set(classes)) != len(classes):
            faults.append({"pointer": "/classes", "detail": "a class is listed twice"})
        if len(classes) < (1 if task == "multilabel" else 2):
            faults.append({"pointer": "/classes", "detail": "too few classes for this task"})
        if task == "binary" and len(classes) != 2:
            faults.append({"pointer": "/classes", "detail": f"a binary task has two classes, not {len(classes)}"})
        if positive and positive not in classes:
            faults.append({"pointer": "/positive_label", "detail": "is not among the classes"})
    faults += timezone_faults(fields["timezone"])
    return faults
