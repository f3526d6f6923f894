"""Create a challenge with its recipe and phases."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.actions.access import Caller, require_scope
from app.actions.change_recipe import fingerprint, parsed
from app.errors import Forbidden, InvalidRequest, PhaseNameTaken, SlugTaken
from app.scoring.recipe import Recipe as ScoringRecipe
from app.store import challenges, clock
from app.store.session import WriteSession
from app.store.tables import Challenge, Organizer, Phase, Recipe

READS_GOLD = ("log_loss", "brier")  # metrics with which few submissions can spell out the gold labels


def open_challenge(
    session: WriteSession,
    caller: Caller,
    *,
    creation: str,
    fields: Mapping[str, Any],
    recipe: Mapping[str, Any],
    phases: Sequence[Mapping[str, Any]],
    draft: bool,
) -> tuple[Challenge, list[str]]:
    """A new challenge owned by the caller, and warnings about its rules.

    Raises Forbidden, SlugTaken, PhaseNameTaken, InvalidRequest and InvalidRecipe.
    """
    user_id = require_scope(caller, "organize")
    _require_creator(caller, creation)
    _check(fields)
    if challenges.by_slug(session, fields["slug"]) is not None:
        raise SlugTaken(f"A challenge with the slug '{fields['slug']}' exists already.")
    body, scoring = parsed(
        recipe, task=fields["task"], positive_label=fields["positive_label"], classes=fields["classes"]
    )
    challenge = Challenge(**fields, status="draft" if draft else "published", created_by=user_id)
    session.add(challenge)
    session.flush()
    session.add(Organizer(challenge_id=challenge.id, user_id=user_id, role="owner"))
    session.add(
        Recipe(challenge_id=challenge.id, version=1, status="active", body=body, fingerprint=fingerprint(scoring))
    )
    planned = list(phases) or [{"name": "main"}]
    now = clock.now(session)
    made = [add_phase(session, challenge, plan, now) for plan in planned]
    return challenge, warnings_of(scoring, made)


def add_phase(session: WriteSession, challenge: Challenge, plan: Mapping[str, Any], now: datetime) -> Phase:
    """A phase at the end of the challenge; raises PhaseNameTaken and InvalidRequest."""
    slug = slug_of(plan["name"])
    if challenges.phase_by_slug(session, challenge.id, slug) is not None:
        raise PhaseNameTaken(f"A phase '{slug}' exists already in this challenge.")
    opens_at = plan.get("opens_at") or now
    closes_at = plan.get("closes_at")
    check_window(opens_at, closes_at)
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
        created_at=now,
        challenge=challenge,
    )
    session.add(phase)
    session.flush()
    return phase


def check_window(opens_at: datetime, closes_at: datetime | None) -> None:
    """Raise InvalidRequest unless the phase closes after it opens."""
    if closes_at is not None and closes_at <= opens_at:
        raise InvalidRequest(
            f"The phase would close ({closes_at.isoformat()}) before it opens ({opens_at.isoformat()}).",
            errors=[{"pointer": "/closes_at", "detail": "must be later than opens_at"}],
        )


def slug_of(name: str) -> str:
    """The part of the address that a phase's name gives; raises InvalidRequest when nothing is left of it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64]
    if not slug:
        raise InvalidRequest(
            f"The phase name '{name}' has no letter or digit that an address could show.",
            errors=[{"pointer": "/name", "detail": "use at least one of a-z, 0-9"}],
        )
    return slug


def warnings_of(recipe: ScoringRecipe, phases: Sequence[Phase]) -> list[str]:
    """What an organizer should know about these rules before the first submission."""
    found = [
        f"Phase '{phase.slug}' has no quota: anybody may submit without end, and probe the gold labels by doing so."
        for phase in phases
        if not phase.quota
    ]
    shown = [call.text for call in recipe.metrics if call.metric.key.startswith(READS_GOLD)]
    if shown and any(phase.leaderboard == "public" for phase in phases):
        found.append(f"With {', '.join(shown)} on a public board, a few submissions can read the gold labels.")
    return found


def zone_faults(name: str) -> list[dict[str, str]]:
    """What is wrong with the name of a time zone, as faults of a request."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return [{"pointer": "/timezone", "detail": "is not the name of a time zone, such as Europe/Berlin"}]
    return []


def _require_creator(caller: Caller, creation: str) -> None:
    allowed = caller.rules_site or creation == "any" or (creation == "approved" and (caller.approved or caller.admin))
    if not allowed:
        who = "administrators" if creation == "admin" else "approved users"
        raise Forbidden(
            f"On this site only {who} may create challenges.",
            remedy="Ask the administrator to create it and to name you as its organizer.",
        )


def _check(fields: Mapping[str, Any]) -> None:
    """Raise InvalidRequest with every fault in what the fields say together."""
    faults = []
    task, classes, positive = fields["task"], fields["classes"], fields["positive_label"]
    if task == "binary" and not positive:
        faults.append({"pointer": "/positive_label", "detail": "a binary task needs its positive label"})
    if task != "binary" and positive:
        faults.append({"pointer": "/positive_label", "detail": f"a {task} task has no positive label"})
    if classes is not None:
        if len(set(classes)) != len(classes):
            faults.append({"pointer": "/classes", "detail": "a class is named twice"})
        if len(classes) < (1 if task == "multilabel" else 2):
            faults.append({"pointer": "/classes", "detail": "too few classes for this task"})
        if task == "binary" and len(classes) != 2:
            faults.append({"pointer": "/classes", "detail": f"a binary task has two classes, not {len(classes)}"})
        if positive and positive not in classes:
            faults.append({"pointer": "/positive_label", "detail": "is not among the classes"})
    faults += zone_faults(fields["timezone"])
    if faults:
        raise InvalidRequest(faults[0]["pointer"].lstrip("/") + " " + faults[0]["detail"] + ".", errors=faults)
