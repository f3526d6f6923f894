"""Found a team, and the rules for its name."""

from app.actions.access import Caller, is_organizer
from app.actions.audit.record import record
from app.actions.teams.require_free import require_free_to_join
from app.errors import InvalidRequest, TeamNameTaken
from app.store import clock, locks
from app.store.queries import challenges, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Registration, Team, TeamMembership
from app.text.confusable_names import is_reserved, look_key, name_key, script_problem

MAX_NAME_KEY_LENGTH = 200  # normalization may turn one character of a name into many
MAX_LOOK_KEY_LENGTH = 400


def found_team(
    session: WriteSession, caller: Caller, challenge: Challenge, registration: Registration, name: str
) -> Team:
    """A new team with the user of this registration as captain and only member.

    Raises TeamNameTaken, BoundToTeam and InvalidRequest.
    """
    require_free_to_join(registration, None)
    reserved = is_organizer(session, caller, challenge)
    team = add_team(session, challenge, name, reserved=reserved, captain=registration.user_id)
    registration.team_id = team.id
    record(session, caller, "team.found", challenge=challenge, of=team, changes={"name": (None, team.name)})
    session.flush()
    return team


def add_team(
    session: WriteSession,
    challenge: Challenge,
    name: str,
    *,
    baseline: bool = False,
    reserved: bool = False,
    captain: str | None = None,
) -> Team:
    """A team with its captain, if it has one, as the only member; raises TeamNameTaken and InvalidRequest.

    `reserved` allows names that only organizers may give. A baseline and a team may have the same name, because the
    refusal of a name must not reveal that a hidden baseline exists, and a team cannot be mistaken for a baseline.
    """
    team = Team(challenge_id=challenge.id, baseline=baseline, captain_id=captain)
    name_team(session, challenge, team, name, reserved=reserved)
    session.add(team)
    session.flush()
    if captain is not None:
        session.add(TeamMembership(team_id=team.id, user_id=captain, joined_at=clock.now(session)))
    return team


def add_test_team(session: WriteSession, challenge: Challenge) -> Team:
    """The team that owns the test entries of organizers in this challenge."""
    names = {"name": teams.TEST_TEAM_NAME, "name_key": teams.TEST_TEAM_KEY}
    team = Team(challenge_id=challenge.id, baseline=True, **names)
    session.add(team)
    session.flush()
    return team


def name_team(session: WriteSession, challenge: Challenge, team: Team, name: str, *, reserved: bool) -> None:
    """Give a team a name that is free; raises TeamNameTaken and InvalidRequest."""
    clean, key, look = " ".join(name.split()), name_key(name), None if team.baseline else look_key(name)
    if not 0 < len(key) <= MAX_NAME_KEY_LENGTH or len(look or "") > MAX_LOOK_KEY_LENGTH:
        raise _invalid_team_name("is too long", "The team needs a shorter name.")
    if not team.baseline:
        locks.team_names(session, challenge.id)
        _require_distinct_name(session, challenge, clean, reserved=reserved, but=team.id)
    team.name, team.name_key, team.look_key = clean, key, look


def _require_distinct_name(
    session: ReadSession, challenge: Challenge, name: str, *, reserved: bool, but: str | None
) -> None:
    """Raise TeamNameTaken or InvalidRequest for a name that could be confused with another team or the organizers."""
    other = teams.find_confusable(session, challenge.id, name, but=but)
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
