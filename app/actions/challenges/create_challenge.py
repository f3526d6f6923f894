"""Create a challenge with its recipe and phases."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple
from zoneinfo import available_timezones

from app.actions.access import Caller, require_administrator, require_scope
from app.actions.audit.record import created_fields, record
from app.actions.challenges.change_recipe import NormalizedRecipe, add_recipe, normalize_recipe
from app.actions.challenges.inference_bounds import compute_inference_bounds
from app.actions.challenges.phase_rules import LABEL_FIELDS, own_rule_faults, planned_rules, recipe_faults, rule_faults
from app.actions.challenges.registration_rules import set_terms
from app.actions.challenges.resolve_times import resolve_times
from app.actions.challenges.scores_beside_ladder import find_scores_beside_ladders
from app.errors import InvalidRecipe, InvalidRequest, PhaseNameTaken, SlugTaken
from app.scoring import SCORER_VERSION
from app.scoring.disclosure.wording import inference_warning
from app.store import clock
from app.store.queries import challenges, label_rules
from app.store.queries.label_rules import LabelRules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Organizer, Phase
from app.store.types import format_timestamp

DEFAULT_REPORTS = ("scores", "intervals", "significance")

Fields = Mapping[str, Any]
Plans = Sequence[Fields]
FieldFaults = list[dict[str, str]]
MAX_PHASES = 100
"""Of a challenge: every reading of it shows all of them."""
MAX_FAULTS = 100
"""Of the phases of a new challenge: with so many, the phases that follow are not checked."""
EMPTY_SLUG_DETAIL = "the address is derived from the name, which needs at least one of a-z, 0-9"


OPEN_ACCOUNTS = (
    "Sign-up and registration are open, so quotas bind accounts, not people: one person can take part with several "
    "accounts. With registration by approval, organizers decide who takes part."
)


class RuleWarning(NamedTuple):
    """A warning about the rules of a challenge: what it is about, the slug of its phase, and the sentence."""

    kind: Literal["quota", "inference", "curves", "ladder", "accounts"]
    phase: str | None
    detail: str


class ChallengePlan(NamedTuple):
    """A valid description of a new challenge, with instants instead of times as they were written."""

    fields: Fields
    recipe: NormalizedRecipe
    phases: Plans


def plan_challenge(session: ReadSession, *, fields: Fields, recipe: Fields, phases: Plans) -> ChallengePlan:
    """Check the description of a new challenge, before the transaction that stores it: many metrics take a while.

    Raises InvalidRequest or InvalidRecipe with the faults.
    """
    fields, plans, faults = _resolve_all_times(fields, list(phases) or [{"name": "main"}])
    return ChallengePlan(fields, _validate_challenge(fields, recipe, plans, clock.now(session), faults), plans)


def create_challenge(
    session: WriteSession, caller: Caller, plan: ChallengePlan, *, creation: str, signup: str, draft: bool
) -> tuple[Challenge, list[str]]:
    """A new challenge owned by the caller, and warnings about its rules; raises Forbidden and SlugTaken."""
    user_id = require_can_create_challenge(caller, creation)
    now, fields = clock.now(session), plan.fields
    require_free_slug(session, fields["slug"])
    columns = {name: value for name, value in fields.items() if name != "terms"}
    challenge = Challenge(**columns, status="draft" if draft else "published", created_by=user_id)
    session.add(challenge)
    session.flush()
    session.add(Organizer(challenge_id=challenge.id, user_id=user_id, role="owner"))
    set_terms(session, challenge, fields.get("terms"))
    add_recipe(session, challenge, None, *plan.recipe)
    shown = {**columns, "status": challenge.status, "terms_version": challenge.terms_version or None}
    shown["recipe"] = plan.recipe[0]
    record(session, caller, "challenge.create", challenge=challenge, of=challenge, changes=created_fields(shown))
    created_phases = []
    for phase in plan.phases:
        created_phases.append(add_phase(session, challenge, phase, now))
        shown_phase = {**phase, "opens_at": created_phases[-1].opens_at}
        changes = created_fields(shown_phase)
        record(session, caller, "phase.create", challenge=challenge, of=created_phases[-1], changes=changes)
    return challenge, rule_warnings(session, created_phases, signup=signup)


def _resolve_all_times(fields: Fields, phases: Plans) -> tuple[Fields, Plans, FieldFaults]:
    """A new challenge and its phases with instants instead of times as they were written, and the faults of these."""
    faults = timezone_faults(fields["timezone"])
    zone = "UTC" if faults else fields["timezone"]
    fields, own = resolve_times(fields, zone)
    faults, plans = faults + own, []
    for number, plan in enumerate(phases):
        resolved, own = resolve_times(plan, zone)
        plans.append(resolved)
        faults += [{**fault, "pointer": f"/phases/{number}{fault['pointer']}"} for fault in own]
    return fields, plans, faults


def add_phase(session: WriteSession, challenge: Challenge, plan: Fields, now: datetime) -> Phase:
    """Add a phase after the others of the challenge; raises PhaseNameTaken and InvalidRequest."""
    slug = require_slug(plan["name"])
    require_free_phase_slug(session, challenge.id, slug)
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
        **{name: plan.get(name) for name in LABEL_FIELDS},
        late=plan.get("late", "refuse"),
        quota=dict(plan.get("quota") or {}),
        leaderboard=plan.get("leaderboard", "public"),
        reports=list(plan.get("reports", DEFAULT_REPORTS)),
        anonymous=plan.get("anonymous", False),
        scorer_version=SCORER_VERSION,
        created_at=now,
        challenge=challenge,
    )
    session.add(phase)
    session.flush()
    if plan.get("recipe") is not None:
        body, scoring = normalize_recipe(plan["recipe"], label_rules.of_phase(phase))
        add_recipe(session, challenge, phase, body, scoring)
    return phase


def require_free_slug(session: ReadSession, slug: str, *, of: str | None = None) -> None:
    """Raise SlugTaken for the slug, now or before, of another challenge than the one with the id `of`."""
    if challenges.slug_owner(session, slug) not in {None, of}:
        raise SlugTaken(f"A challenge with the slug '{slug}' already exists.")


def require_free_phase_slug(session: ReadSession, challenge_id: str, slug: str, *, of: str | None = None) -> None:
    """Raise PhaseNameTaken for the slug, now or before, of another phase than the one with the id `of`."""
    if challenges.phase_slug_owner(session, challenge_id, slug) not in {None, of}:
        raise PhaseNameTaken(f"A phase '{slug}' already exists in this challenge.")


def require_valid_window(opens_at: datetime, closes_at: datetime | None) -> None:
    """Raise InvalidRequest unless the phase closes after it opens."""
    raise_if_any(_window_faults(opens_at, closes_at))


def _window_faults(opens_at: datetime, closes_at: datetime | None) -> FieldFaults:
    if closes_at is None or closes_at > opens_at:
        return []
    opens, closes = format_timestamp(opens_at), format_timestamp(closes_at)
    return [{"pointer": "/closes_at", "detail": f"the phase would close ({closes}) before it opens ({opens})"}]


def raise_if_any(faults: FieldFaults) -> None:
    """Raise InvalidRequest with these faults, if there are any."""
    if faults:
        raise InvalidRequest(_summarize_faults(faults), errors=faults)


def _summarize_faults(faults: FieldFaults) -> str:
    more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
    details = "; ".join(f"{fault['pointer']}: {fault['detail'].rstrip('.')}" for fault in faults[:5])
    return f"The request is not valid: {details}{more}."


def require_slug(name: str) -> str:
    """The slug derived from the name of a phase; raises InvalidRequest if it is empty."""
    slug = _slugify(name)
    raise_if_any([] if slug else [{"pointer": "/name", "detail": EMPTY_SLUG_DETAIL}])
    return slug


def _slugify(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64]


def propose_slug(title: str) -> str:
    """A slug for a challenge with this title; empty if the title has none of a-z, 0-9."""
    return _slugify(title)[:63].strip("-")


def rule_warnings(session: ReadSession, phases: Sequence[Phase], *, signup: str) -> list[str]:
    """Warnings about the rules of these phases of one challenge, for the organizer to read before the first submission.

    `signup` says who may create an account on this site.
    """
    return [warning.detail for warning in group_rule_warnings(session, phases, signup=signup)]


def group_rule_warnings(session: ReadSession, phases: Sequence[Phase], *, signup: str) -> list[RuleWarning]:
    """The warnings of `rule_warnings`, each with what it is about and the slug of its phase."""
    warnings = [
        RuleWarning(
            "quota",
            phase.slug,
            f"Phase '{phase.slug}' has no quota: anybody can submit without limit, and so probe the gold labels.",
        )
        for phase in phases
        if not phase.quota
    ]
    for item in compute_inference_bounds(session, phases, organizer=True):
        warning = inference_warning(item.bound)
        if warning is not None:
            warnings.append(RuleWarning("inference", item.phase, f"Phase '{item.phase}' {warning}"))
    for phase in phases:
        if "curves" in phase.reports:
            reason = "from these and their own scores they can infer the gold labels"
            detail = f"Phase '{phase.name}' shows curves to its participants; {reason}."
            warnings.append(RuleWarning("curves", phase.slug, detail))
    beside = find_scores_beside_ladders(session, phases)
    warnings += [RuleWarning("ladder", found.other.slug, found.warning) for found in beside]
    if signup == "open" and phases and _anybody_can_register(phases[0].challenge):
        warnings.append(RuleWarning("accounts", None, OPEN_ACCOUNTS))
    return warnings


def _anybody_can_register(challenge: Challenge) -> bool:
    return challenge.registration == "open" and challenge.visibility == "public"


def timezone_faults(name: str) -> list[dict[str, str]]:
    """The fault of the name of a time zone, as a list of field faults; empty if it is valid."""
    if name in _timezones():
        return []
    return [{"pointer": "/timezone", "detail": "is not the name of a time zone, such as Europe/Berlin"}]


@cache
def _timezones() -> frozenset[str]:
    """The names of time zones, without those that mean no zone or that of this machine."""
    return frozenset(available_timezones() - {"localtime", "posixrules", "Factory"})


def require_can_create_challenge(caller: Caller, creation: str) -> str:
    """The caller's user id; raises Forbidden unless the settings let them create challenges."""
    user_id = require_scope(caller, "organize")
    approved = creation == "approved" and (caller.approved or caller.admin)
    if not (caller.has_admin_rights or creation == "any" or approved):
        group = "administrators" if creation == "admin" else "approved users"
        remedy = "Ask an administrator to create it and to add you as an organizer."
        if creation == "approved":
            remedy = "Ask an administrator to approve your account (assay user approve ADDRESS), then try again."
        require_administrator(caller, f"On this site only {group} may create challenges.", remedy=remedy)
    return user_id


def _validate_challenge(
    fields: Fields, recipe: Fields, phases: Plans, now: datetime, known_faults: FieldFaults
) -> NormalizedRecipe:
    """The recipe in both forms, if the whole description is valid.

    Raises InvalidRequest or InvalidRecipe with all faults; those of the phases end after MAX_FAULTS.
    """
    faults = [*rule_faults(_rules_of(fields)), *known_faults, *_phase_faults(phases, now, _rules_of(fields))]
    try:
        normalized = normalize_recipe(recipe, _rules_of(fields))
    except InvalidRecipe as bad:
        own = [{**fault, "pointer": "/recipe" + fault["pointer"]} for fault in bad.extra["errors"]]
        if not faults:
            raise InvalidRecipe(bad.detail, errors=own) from bad
        # a fault of the recipe as a whole concerns the fields, whose faults are listed already
        faults += [fault for fault in own if fault["pointer"] != "/recipe"]
        raise InvalidRequest(_summarize_faults(faults), errors=faults) from bad
    raise_if_any(faults)
    raise_if_any(_sharing_faults(phases, normalized[0], _rules_of(fields)))
    return normalized


def _sharing_faults(phases: Plans, recipe: Fields, rules: LabelRules) -> FieldFaults:
    """Faults of the recipe of the challenge in phases without one of their own."""
    return [
        {**fault, "pointer": f"/phases/{number}{fault['pointer']}"}
        for number, plan in enumerate(phases)
        if plan.get("recipe") is None
        for fault in recipe_faults(recipe, planned_rules(plan, rules), own=False)
    ]


def _phase_faults(phases: Plans, now: datetime, rules: LabelRules) -> FieldFaults:
    faults: FieldFaults = []
    slugs: set[str] = set()
    for number, plan in enumerate(phases):
        if len(faults) >= MAX_FAULTS:  # one unknown metric takes milliseconds, because names like it are suggested
            break
        own = _window_faults(plan.get("opens_at") or now, plan.get("closes_at"))
        own += own_rule_faults(plan, rules)
        if plan.get("recipe") is not None:
            own += recipe_faults(plan["recipe"], planned_rules(plan, rules), own=True)
        slug = _slugify(plan["name"])
        if not slug:
            own.append({"pointer": "/name", "detail": EMPTY_SLUG_DETAIL})
        elif slug in slugs:
            own.append({"pointer": "/name", "detail": f"another phase already has the address '{slug}'"})
        slugs.add(slug)
        faults += [{**fault, "pointer": f"/phases/{number}{fault['pointer']}"} for fault in own]
    return faults


def _rules_of(fields: Fields) -> LabelRules:
    return LabelRules(*(fields[name] for name in LABEL_FIELDS))
