"""Register a new team for a challenge, and decide on registrations."""

from app.actions.access import Caller, is_organizer, load_organized_challenge, load_visible_challenge, require_scope
from app.actions.submissions.cancel_submission import cancel_member_submissions
from app.errors import AlreadyRegistered, Forbidden, InvalidRequest, NotFound, TeamNameTaken
from app.store import locks
from app.store.queries import challenges, paging, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Registration, Team
from app.text.confusable_names import is_reserved, look_key, name_key, script_problem

MAX_NAME_KEY_LENGTH = 200  # normalization may turn one character of a name into many
MAX_LOOK_KEY_LENGTH = 400


def register_team(session: WriteSession, caller: Caller, slug: str, name: str) -> Registration:
    """A new team with the caller as its first member; raises TeamNameTaken, AlreadyRegistered."""
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "submit")
    existing = teams.registration_of(session, challenge.id, user_id)
    if existing is not None:
        raise AlreadyRegistered(f"You are already registered, in the team '{existing.team.name}'.")
    if challenge.registration == "invitation":
        raise Forbidden("This challenge admits invited teams only.", remedy="Ask the organizers for an invitation.")
    team = add_team(session, challenge, name, reserved=is_organizer(session, caller, challenge))
    registration = Registration(challenge_id=challenge.id, user_id=user_id, team_id=team.id, team=team)
    registration.status = "pending" if challenge.registration == "approval" else "approved"
    session.add(registration)
    session.flush()
    session.refresh(registration)
    return registration


def add_team(
    session: WriteSession, challenge: Challenge, name: str, *, baseline: bool = False, reserved: bool = False
) -> Team:
    """A team without members; raises TeamNameTaken and InvalidRequest.

    `reserved` allows names that only organizers may give. A baseline and a team may have the same name, because the
    refusal of a name must not reveal that a hidden baseline exists, and a team cannot be mistaken for a baseline.
    """
    clean, key, look = " ".join(name.split()), name_key(name), None if baseline else look_key(name)
    if not 0 < len(key) <= MAX_NAME_KEY_LENGTH or len(look or "") > MAX_LOOK_KEY_LENGTH:
        raise _invalid_team_name("is too long", "The team needs a shorter name.")
    if not baseline:
        locks.team_names(session, challenge.id)
        _require_distinct_name(session, challenge, clean, reserved=reserved)
    team = Team(challenge_id=challenge.id, name=clean, name_key=key, look_key=look, baseline=baseline)
    session.add(team)
    session.flush()
    return team


def _require_distinct_name(session: ReadSession, challenge: Challenge, name: str, *, reserved: bool) -> None:
    """Raise TeamNameTaken or InvalidRequest for a name that could be confused with another team or the organizers."""
    other = teams.find_confusable(session, challenge.id, name)
    if other is not None:
        same = name_key(other.name) == name_key(name)
        if not reserved and any(phase.anonymous for phase in challenges.phases_of(session, challenge.id)):
            raise TeamNameTaken(f"'{name}' is the name of a team of this challenge, or hard to distinguish from one.")
        raise TeamNameTaken(
            f"A team named '{other.name}' already exists in this challenge"
            + ("." if same else f", and '{name}' is hard to distinguish from it.")
        )
    fault = script_problem(name) or (None if look_key(name) else "has no visible letter, digit or symbol")
    if fault is not None:
        raise _invalid_team_name(fault, f"This cannot be the name of a team: it {fault}.")
    if not reserved and is_reserved(name):
        sentence = "This name suggests the organizers or the service; choose another one."
        raise _invalid_team_name("is reserved", sentence)


def _invalid_team_name(detail: str, sentence: str) -> InvalidRequest:
    return InvalidRequest(sentence, errors=[{"pointer": "/team", "detail": detail}])


def list_registrations(
    session: ReadSession, caller: Caller, slug: str, *, limit: int, cursor: str | None
) -> tuple[list[Registration], str | None]:
    """All registrations for organizers, the caller's own for everybody else."""
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "read")
    only = None if is_organizer(session, caller, challenge) else user_id
    query = teams.registrations_of(challenge.id, only)
    return paging.page(session, query, Registration, limit=limit, cursor=cursor)


def decide_registration(
    session: WriteSession, caller: Caller, slug: str, registration_id: str, *, status: str, reason: str | None
) -> tuple[Registration, list[str]]:
    """Approve or bar a registration, as an organizer; cancels the queued submissions of a barred member.

    Returns the ids of the cancelled submissions. The lock on the challenge keeps out new ones of that member meanwhile.
    """
    locks.challenge(session, slug)
    challenge = load_organized_challenge(session, caller, slug)
    registration = session.get(Registration, registration_id)
    if registration is None or registration.challenge_id != challenge.id:
        raise NotFound
    if reason is not None or status != registration.status:  # the same status without a reason keeps the earlier reason
        registration.reason = reason
    registration.status = status
    session.flush()
    return registration, cancel_member_submissions(session, registration) if status == "barred" else []


def list_teams(
    session: ReadSession, caller: Caller, slug: str, *, limit: int, cursor: str | None
) -> tuple[list[Team], str | None]:
    """The teams of a challenge, for its organizers."""
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    return paging.page(session, teams.teams_of(challenge.id), Team, limit=limit, cursor=cursor)
